"""Every rank integrates its part of 4/(1+x²), and all of them learn pi."""

import math
import os
import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
task = os.environ["MUSTER_TASK"]  # of this process, not of mpirun

# One number: each rank has every size-th strip under the curve.
strips = 1_000_000
part = sum(4 / (1 + ((i + 0.5) / strips) ** 2) for i in range(rank, strips, size)) / strips
pi = world.allreduce(part)

# A vector of a megabyte, as gradients are: the sum of all ranks' has a known value.
mine = array("d", (i * (rank + 1) for i in range(1 << 17)))
total = array("d", bytes(8 << 17))
world.Allreduce(mine, total)
factor = size * (size + 1) // 2
wrong = sum(total[i] != i * factor for i in range(1 << 17))

tasks = world.allgather(task)
library = MPI.Get_library_version().split(",")[0].split("\n")[0]
node = MPI.Get_processor_name()
line = f"rank {rank} of {size} in {task} on {node}: pi is {pi:.10f}, {wrong} sums wrong, {library}"
lines = world.gather(line)  # mpirun would mix what several ranks print at once
if lines:
    print("\n".join(lines), flush=True)

problems = []
if abs(pi - math.pi) > 1e-9:
    problems.append(f"pi is {pi}")
if wrong:
    problems.append(f"{wrong} of {len(total)} sums are wrong")
if size != int(os.environ["MUSTER_WORLD_SIZE"]):
    problems.append(f"{size} ranks, the job has {os.environ['MUSTER_WORLD_SIZE']}")
if len(set(tasks)) != int(os.environ["MUSTER_TASKS"]) or tasks != sorted(tasks):
    problems.append(f"ranks run in {tasks}")
if problems:
    sys.exit(f"rank {rank}: " + "; ".join(problems))
