"""Learn to read handwritten digits, with as many ranks as the job has."""

import hashlib
import importlib.util
import sys

import muster  # every task finds it
import numpy
import torch
import torch.distributed as dist
from torch import nn

EPOCHS, BATCH = 12, 32


def digits():
    """1797 pictures of 8 by 8 pixels, shuffled: 1437 to learn from, 360 to be tested on.

    They come with scikit-learn. Its file is read directly, because an import
    of scikit-learn takes longer than the whole training.
    """
    folder = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    table = numpy.loadtxt(folder + "/datasets/data/digits.csv.gz", delimiter=",", dtype=numpy.float32)
    table = torch.from_numpy(table)[torch.randperm(len(table), generator=torch.Generator().manual_seed(1))]
    x, y = table[:, :-1] / 16, table[:, -1].long()
    return x[:1437], y[:1437], x[1437:], y[1437:]


dist.init_process_group("gloo")  # finds the others by the variables that muster sets
rank, world = dist.get_rank(), dist.get_world_size()
x, y, test_x, test_y = digits()
x, y = x[rank::world], y[rank::world]  # each rank learns from its own share
torch.manual_seed(rank)  # different at first: DDP gives every rank the weights of rank 0
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
batches = 1437 // world // BATCH  # the same number on every rank

for epoch in range(1, EPOCHS + 1):
    total = torch.zeros(1)
    for picks in torch.randperm(len(x))[: batches * BATCH].split(BATCH):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[picks]), y[picks])
        loss.backward()  # here the gradients of all ranks are averaged
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    if rank == 0:
        loss = total.item() / batches / world
        print(f"epoch {epoch:2} of {EPOCHS}: loss {loss:.4f}", flush=True)
        muster.report(step=epoch, total=EPOCHS, loss=loss)

weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest()[:16]
everyones = [None] * world
dist.all_gather_object(everyones, weights)
accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
print(f"rank {rank}: weights {weights}, accuracy {accuracy:.3f} on {len(test_x)} digits never seen before", flush=True)
dist.barrier()  # leave together: rank 0 holds what the others still use
dist.destroy_process_group()
if accuracy < 0.90 or set(everyones) != {weights}:
    sys.exit("the training went wrong: low accuracy, or different weights")
