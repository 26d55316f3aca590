"""Find the line behind noisy points, with as many ranks as torchrun starts."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

SLOPE, SHIFT = 3.0, -1.0

dist.init_process_group("gloo")  # by the variables that torchrun sets
rank, world = dist.get_rank(), dist.get_world_size()
points = torch.Generator().manual_seed(1 + rank)  # each rank has points of its own
x = torch.rand(512, 1, generator=points)
y = SLOPE * x + SHIFT + 0.01 * torch.randn(512, 1, generator=points)

torch.manual_seed(rank)  # different at first: DDP gives every rank the weights of rank 0
net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for step in range(1, 201):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()  # here the gradients of all ranks are averaged
    optimizer.step()
    if rank == 0 and step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)

found = torch.cat([p.detach().flatten() for p in net.parameters()])
everyones = [torch.zeros(2) for _ in range(world)]
dist.all_gather(everyones, found)
task, local = os.environ["MUSTER_TASK"], os.environ["LOCAL_RANK"]
print(f"rank {rank} of {world} in {task}, local {local}: y = {found[0]:.2f} x + {found[1]:.2f}", flush=True)
dist.barrier()  # leave together: rank 0 holds what the others still use
dist.destroy_process_group()
right = torch.allclose(found, torch.tensor([SLOPE, SHIFT]), atol=0.05)
if not right or any(not torch.equal(found, other) for other in everyones):
    sys.exit("the training went wrong: another line, or different weights")
