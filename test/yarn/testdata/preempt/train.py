"""Train with two ranks, and be preempted twice: the first time save in time, the second time not listen."""

import os
import signal
import sys
import time
from datetime import datetime, timezone

import muster
import torch
import torch.distributed as dist
from torch import nn

EPOCH = int(os.environ["MUSTER_EPOCH"])
LAST = 3  # the epoch that comes to an end by itself
told = torch.zeros(1)


def hear(number, frame):
    told[0] = 1
    left = (muster.deadline() - datetime.now(timezone.utc)).total_seconds()
    print(f"told: {left:.1f} s left", flush=True)


signal.signal(signal.SIGUSR1, hear if EPOCH == 1 else signal.SIG_IGN)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
net = nn.parallel.DistributedDataParallel(nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
checkpoint = os.path.join(os.environ["MUSTER_CHECKPOINT_DIR"], "newest.pt")
done = 0
if os.path.exists(checkpoint):
    done, weights = torch.load(checkpoint)
    net.load_state_dict(weights)


def save(step):
    if rank == 0:
        torch.save((step, net.state_dict()), checkpoint + ".new")
        os.replace(checkpoint + ".new", checkpoint)
    dist.barrier()


step = done
begin = time.monotonic()
while EPOCH < LAST or step < done + 10:
    step += 1
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(32, 64)), torch.randint(10, (32,))).backward()
    optimizer.step()
    if rank == 0:
        print(f"epoch {EPOCH} step {step}", flush=True)
        muster.report(step=step)
    stop = told.clone()  # a signal reaches the ranks in different steps; they leave after the same one
    dist.all_reduce(stop, op=dist.ReduceOp.MAX)
    if stop.item():
        save(step)
        sys.stdout.flush()
        os._exit(75)  # what an interpreter takes down at its end takes seconds that are not there
    if EPOCH == 2 and step == done + 5:
        save(step)  # the only one that the next epoch finds
        if rank == 0:
            print("saved, and deaf from now on", flush=True)
    time.sleep(0.1)
    if time.monotonic() - begin > 120:
        sys.exit("nobody preempts this training")
print(f"rank {rank}: done", flush=True)
dist.barrier()
dist.destroy_process_group()
