"""Learn to read handwritten digits; crash at step 25; go on from the checkpoint."""

import hashlib
import importlib.util
import os
import sys

import muster  # every task finds it
import numpy
import torch
import torch.distributed as dist
from torch import nn

STEPS, SAVE_EVERY, CRASH_AT = 60, 5, 25


def digits():
    """The pictures that come with scikit-learn: 1437 to learn from, 360 to be tested on."""
    folder = importlib.util.find_spec("sklearn").submodule_search_locations[0]
    table = numpy.loadtxt(folder + "/datasets/data/digits.csv.gz", delimiter=",", dtype=numpy.float32)
    table = torch.from_numpy(table)[torch.randperm(len(table), generator=torch.Generator().manual_seed(1))]
    x, y = table[:, :-1] / 16, table[:, -1].long()
    return x[:1437], y[:1437], x[1437:], y[1437:]


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
x, y, test_x, test_y = digits()
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

# The directory is the same for every task and every start of it.
checkpoint = os.path.join(os.environ["MUSTER_CHECKPOINT_DIR"], "newest.pt")
resumed = os.path.exists(checkpoint)
done = 0
if resumed:
    done, weights, state = torch.load(checkpoint)
    net.load_state_dict(weights)
    optimizer.load_state_dict(state)
    print(f"rank {rank}: going on after step {done}", flush=True)

for step in range(done + 1, STEPS + 1):
    torch.manual_seed(step * world + rank)  # the same pictures, had there been no crash
    picks = torch.randint(len(x), (64,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x[picks]), y[picks])
    loss.backward()
    optimizer.step()
    if rank == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
        muster.report(step=step, total=STEPS, loss=loss.item())
        if step % SAVE_EVERY == 0:  # to another name first: a crash leaves the old one or the new one
            torch.save((step, net.state_dict(), optimizer.state_dict()), checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)
    if step % SAVE_EVERY == 0:
        dist.barrier()  # nobody goes on, and nobody crashes, before it is written
    if step == CRASH_AT and rank == 1 and not resumed:
        sys.exit("crashing on purpose")

weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest()[:16]
accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
print(f"rank {rank}: weights {weights}, accuracy {accuracy:.3f}", flush=True)
dist.barrier()
dist.destroy_process_group()
sys.exit(accuracy < 0.90)
