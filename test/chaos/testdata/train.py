"""Ranks train together, step by step; every step is written down before it is saved.

CHAOS_DIR, where it is set, is a directory that all nodes see, and by which the test
holds moments open: training goes on until «end» is there, and while «hold-checkpoint»
or «hold-stop» are, a checkpoint is half written, or what saves at the end isn't done.
"""

import io
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

STEPS = 30
stopping = False
stage = os.environ.get("CHAOS_DIR")
folder = stage or os.environ["MUSTER_CHECKPOINT_DIR"]


def stop(*_):
    global stopping
    stopping = True


def held(moment):
    """Says that the moment has come, and waits as long as the test wants."""
    while stage and os.path.exists(os.path.join(stage, "hold-" + moment)):
        open(os.path.join(stage, "at-" + moment), "w").close()
        time.sleep(0.02)


def over(step):
    """Whether this was the last step: one rank says so for all."""
    if not stage:
        return step == STEPS
    end = torch.tensor([float(rank == 0 and os.path.exists(os.path.join(stage, "end")))])
    dist.all_reduce(end)
    return end.item() > 0


def save(step):
    """A checkpoint is there as a whole or not at all."""
    whole = io.BytesIO()
    torch.save((step, net.state_dict()), whole)
    text = whole.getvalue()
    with open(checkpoint + ".new", "wb") as f:
        f.write(text[: len(text) // 2])
        f.flush()
        held("checkpoint")
        f.write(text[len(text) // 2 :])
    os.replace(checkpoint + ".new", checkpoint)


signal.signal(signal.SIGTERM, stop)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
checkpoint, log = os.path.join(folder, "newest.pt"), os.path.join(folder, "steps")
step, last = 0, False
if os.path.exists(checkpoint):
    step, weights = torch.load(checkpoint)
    net.load_state_dict(weights)
    last = not stage and step == STEPS

while not last:
    step += 1
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(step * world + rank))
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
    last = over(step)
    if rank == 0:
        with open(log, "a") as f:
            f.write(f"{os.environ['MUSTER_EPOCH']} {step} {time.time():.6f}\n")
        save(step)
        if stage:
            print(f"step {step}/1000000", flush=True)
    time.sleep(0.1)  # the third failure of a sidecar must find the workers at it
    if stopping:
        time.sleep(1.2)  # what saving takes
        held("stop")
        sys.exit(0)
dist.barrier()
