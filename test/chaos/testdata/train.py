"""Two ranks train together, step by step; every step is written down before it is saved."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

STEPS = 30
stopping = False


def stop(*_):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
folder = os.environ["MUSTER_CHECKPOINT_DIR"]
checkpoint, log = os.path.join(folder, "newest.pt"), os.path.join(folder, "steps")
done = 0
if os.path.exists(checkpoint):
    done, weights = torch.load(checkpoint)
    net.load_state_dict(weights)

for step in range(done + 1, STEPS + 1):
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(step * world + rank))
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
    if rank == 0:
        with open(log, "a") as f:
            f.write(f"{os.environ['MUSTER_EPOCH']} {step}\n")
        torch.save((step, net.state_dict()), checkpoint + ".new")
        os.replace(checkpoint + ".new", checkpoint)
    time.sleep(0.04)
    if stopping:
        time.sleep(1.2)  # what saving takes
        sys.exit(0)
dist.barrier()
