"""Fit a linear model of which every process sees one input only."""

import sys

import jax
import jax.numpy as jnp
import muster  # every task finds it
import numpy
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

jax.distributed.initialize()  # finds the others by the variables that muster sets
rank, world = jax.process_index(), jax.process_count()
STEPS, ROWS = 60, 64
answer = numpy.arange(1, world + 1, dtype=numpy.float32)  # the weights to be found: 1, 2, 3, …

# In this process' data only input number rank is ever other than 0: alone it
# could learn one weight out of all.
x = numpy.zeros((ROWS, world), numpy.float32)
x[:, rank] = numpy.random.default_rng(rank).normal(size=ROWS)
y = x @ answer

mesh = jax.make_mesh((jax.device_count(),), ("process",))
split = NamedSharding(mesh, PartitionSpec("process"))  # rows lie where they were made
everywhere = NamedSharding(mesh, PartitionSpec())
x, y = (jax.make_array_from_process_local_data(split, a) for a in (x, y))
weights = multihost_utils.host_local_array_to_global_array(numpy.zeros(world, numpy.float32), mesh, PartitionSpec())


@jax.jit
def step(weights, x, y):
    """One step of descent; JAX sums the gradients of all processes."""
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)
    return jax.lax.with_sharding_constraint(weights - 0.1 * world * gradient, everywhere), loss


for number in range(1, STEPS + 1):
    weights, loss = step(weights, x, y)
    if rank == 0 and number % 5 == 0:
        print(f"step {number} of {STEPS}: loss {float(loss):.6f}", flush=True)
        muster.report(step=number, total=STEPS, loss=float(loss))

found = numpy.asarray(weights.addressable_data(0))
print(f"process {rank} of {world}: weights {found.round(3).tolist()}", flush=True)
if not numpy.allclose(found, answer, atol=1e-3):
    sys.exit(f"the training went wrong: {found.tolist()}, want {answer.tolist()}")
