"""Find the line behind noisy points with Hugging Face's Accelerate."""

import os
import sys

import torch
from accelerate import Accelerator
from torch import nn

SLOPE, SHIFT = 3.0, -1.0

accelerator = Accelerator(cpu=True)  # on GPUs: Accelerator()
rank, world = accelerator.process_index, accelerator.num_processes
points = torch.Generator().manual_seed(1 + rank)  # each rank has points of its own
x = torch.rand(512, 1, generator=points)
y = SLOPE * x + SHIFT + 0.01 * torch.randn(512, 1, generator=points)

net = nn.Linear(1, 1)
net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.5))
for step in range(1, 201):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    accelerator.backward(loss)  # here the gradients of all ranks are averaged
    optimizer.step()
    if rank == 0 and step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)

found = torch.cat([p.detach().flatten() for p in accelerator.unwrap_model(net).parameters()])
everyones = accelerator.gather(found).reshape(world, 2)
print(f"rank {rank} of {world} in {os.environ['MUSTER_TASK']}: y = {found[0]:.2f} x + {found[1]:.2f}", flush=True)
accelerator.wait_for_everyone()  # leave together: rank 0 holds what the others still use
del net, optimizer  # what uses the group goes before it
accelerator.free_memory()
torch.distributed.destroy_process_group()
right = torch.allclose(found, torch.tensor([SLOPE, SHIFT]), atol=0.05)
if not right or not torch.equal(everyones, found.expand(world, 2)):
    sys.exit("the training went wrong: another line, or different weights")
