"""Count primes with tasks on every node of the cluster."""

import sys

import primes
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

NODES, PARTS, HIGH = 2, 8, 1_000_000
TRUE = 78498  # primes below a million

ray.init(log_to_driver=False)  # finds the cluster by the variable that muster sets


@ray.remote
def work(low, high):
    return ray.get_runtime_context().get_node_id(), primes.count(low, high)


# The driver starts as soon as the head runs; this waits until the others have joined.
nodes = placement_group([{"CPU": 1}] * NODES, strategy="STRICT_SPREAD")
ray.get(nodes.ready())
step = HIGH // PARTS
parts = ray.get([
    work.options(scheduling_strategy=PlacementGroupSchedulingStrategy(nodes, part % NODES)).remote(part * step, (part + 1) * step)
    for part in range(PARTS)
])
total, where = sum(found for _, found in parts), {node for node, _ in parts}
print(f"{total} primes below {HIGH}, counted by {PARTS} tasks on {len(where)} nodes", flush=True)
if total != TRUE or len(where) != NODES:
    sys.exit(f"want {TRUE} primes, from {NODES} nodes")
