"""Fit a linear model of which every worker sees one input only."""

import sys

import mxnet as mx  # a scheduler or server gets no further than this line
import muster  # every task finds it
import numpy

store = mx.kv.create("dist_sync")  # finds the others by the variables that muster sets
rank, world = store.rank, store.num_workers
STEPS, ROWS = 60, 64
answer = numpy.arange(1, world + 1, dtype=numpy.float32)  # the weights to be found: 1, 2, …

# In this worker's data only input number rank is ever other than 0: alone it
# could learn one weight out of all.
x = numpy.zeros((ROWS, world), numpy.float32)
x[:, rank] = numpy.random.default_rng(rank).normal(size=ROWS)
x, y = mx.nd.array(x), mx.nd.array(x @ answer)

weights = mx.nd.zeros((world,))
store.init("weights", weights)
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, wd=0))  # the server does the steps
weights.attach_grad()
for number in range(1, STEPS + 1):
    store.pull("weights", out=weights)
    with mx.autograd.record():
        loss = ((mx.nd.dot(x, weights) - y) ** 2).mean()
    loss.backward()
    store.push("weights", weights.grad)  # the server adds up what the workers push
    if rank == 0 and number % 5 == 0:
        print(f"step {number} of {STEPS}: loss {loss.asscalar():.6f}", flush=True)
        muster.report(step=number, total=STEPS, loss=loss.asscalar())

store.pull("weights", out=weights)
found = weights.asnumpy()
print(f"worker {rank} of {world}: weights {found.round(3).tolist()}", flush=True)
if not numpy.allclose(found, answer, atol=1e-3):
    sys.exit(f"the training went wrong: {found.tolist()}, want {answer.tolist()}")
