"""Fit a linear model of which every trainer sees one input only."""

import sys

import muster  # every task finds it
import numpy
import paddle
import paddle.distributed as dist

dist.init_parallel_env()  # finds the others by the variables that muster sets
rank, world = dist.get_rank(), dist.get_world_size()
STEPS, ROWS = 60, 64
answer = numpy.arange(1, world + 1, dtype=numpy.float32)  # the weights to be found: 1, 2, …

# In this trainer's data only input number rank is ever other than 0: alone it
# could learn one weight out of all.
x = numpy.zeros((ROWS, world), numpy.float32)
x[:, rank] = numpy.random.default_rng(rank).normal(size=ROWS)
x, y = paddle.to_tensor(x), paddle.to_tensor((x @ answer)[:, None])

net = paddle.DataParallel(paddle.nn.Linear(world, 1, bias_attr=False))
optimizer = paddle.optimizer.SGD(0.1 * world, parameters=net.parameters())
for number in range(1, STEPS + 1):
    loss = paddle.nn.functional.mse_loss(net(x), y)
    loss.backward()  # here the gradients of all trainers are averaged
    optimizer.step()
    optimizer.clear_grad()
    dist.all_reduce(loss)
    if rank == 0 and number % 5 == 0:
        print(f"step {number} of {STEPS}: loss {float(loss) / world:.6f}", flush=True)
        muster.report(step=number, total=STEPS, loss=float(loss) / world)

found = net.parameters()[0].numpy().ravel()
print(f"trainer {rank} of {world}: weights {found.round(3).tolist()}", flush=True)
if not numpy.allclose(found, answer, atol=1e-3):
    sys.exit(f"the training went wrong: {found.tolist()}, want {answer.tolist()}")
