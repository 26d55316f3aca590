"""Find the line behind scattered points: each rank sees its own share of them."""

import hashlib
import sys

import horovod.torch as hvd
import torch

STEPS = 60
TRUE = torch.tensor([[3.0], [-2.0], [0.5]])  # what is to be found

hvd.init()  # meets the others at the store that muster serves
rank, size = hvd.rank(), hvd.size()
torch.manual_seed(100 + rank)  # other points, and other first weights, on every rank
x = torch.randn(256, 3)
y = x @ TRUE + 0.01 * torch.randn(256, 1)

model = torch.nn.Linear(3, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)

for step in range(1, STEPS + 1):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()  # with the mean of all ranks' gradients
    if step % 10 == 0:
        loss = hvd.allreduce(loss.detach(), name="loss").item()
        if rank == 0:
            print(f"step {step} of {STEPS}: loss {loss:.6f}", flush=True)

weights = hashlib.sha256(model.weight.detach().numpy().tobytes()).hexdigest()[:16]
everyones = hvd.allgather_object((rank, hvd.local_rank(), hvd.cross_rank(), weights))
places = sorted(place[:3] for place in everyones)
error = (model.weight.detach().T - TRUE).abs().max().item()
print(f"rank {rank} of {size}, local {hvd.local_rank()} of {hvd.local_size()}, "
      f"cross {hvd.cross_rank()} of {hvd.cross_size()}: weights {weights}, off by {error:.4f}", flush=True)
hvd.shutdown()
if {place[3] for place in everyones} != {weights} or error > 0.01:
    sys.exit("the training went wrong: different weights, or not those that were to be found")
if places != [(r, r % 2, r // 2) for r in range(4)]:  # two in each of two tasks
    sys.exit(f"ranks are not where they should be: {places}")
