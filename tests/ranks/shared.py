"""Reductions in shared memory: of every length, several at a time, mixed with other collectives, and of arrays that do not fit together."""

from __future__ import annotations

from datetime import timedelta

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import ReduceOp
from rushlight.distributed.engines import shared

dist.init_process_group("mpi", timeout=timedelta(seconds=20))
rank, size = dist.get_rank(), dist.get_world_size()
segment = dist.group.WORLD._engine.segment
assert isinstance(segment, shared.SharedSegment)
PIECE = shared.CHUNK // 4
LENGTHS = (0, 1, 7, segment.whole // 4, segment.whole // 4 + 1, PIECE - 1, PIECE, 2 * PIECE + 3, 5 * PIECE + 1)


def values(of: int, length: int, turn: int) -> torch.Tensor:
    """What a process has: numbers whose sums are exact."""
    return ((torch.arange(length) + 3 * of + turn) % 17).float()


for turn, length in enumerate((*LENGTHS, *reversed(LENGTHS))):  # waited for at once
    x = values(rank, length, turn)
    dist.all_reduce(x)
    assert torch.equal(x, sum(values(each, length, turn) for each in range(size))), (length, x)
    x = values(rank, length, turn)
    dist.all_reduce(x, ReduceOp.AVG)
    assert torch.equal(x, sum(values(each, length, turn) for each in range(size)) / size), (length, x)

tensors = [values(rank, length, 0) for length in LENGTHS]  # all under way together, a broadcast by MPI among them
works = [dist.all_reduce(each, ReduceOp.MAX if at % 2 else ReduceOp.SUM, async_op=True) for at, each in enumerate(tensors)]
y = torch.full((3,), float(rank))
works.append(dist.broadcast(y, size - 1, async_op=True))
last = values(rank, 9, 0)
dist.all_reduce(last)
for work in reversed(works):
    work.wait()
assert y.tolist() == [size - 1] * 3 and torch.equal(last, sum(values(each, 9, 0) for each in range(size)))
for at, (each, length) in enumerate(zip(tensors, LENGTHS)):
    all_values = torch.stack([values(other, length, 0) for other in range(size)])
    assert torch.equal(each, all_values.amax(0) if at % 2 else all_values.sum(0)), length

irrational = torch.sin(torch.arange(1000.0) + rank)  # the same to the last bit on all processes, whatever the order of additions
for length in (10, 1000):
    x = irrational[:length].clone()
    dist.all_reduce(x)
    first = x.clone()
    dist.broadcast(first, 0)
    assert torch.equal(first, x)

parts = [dist.new_group([each for each in range(size) if each % 2 == kind]) for kind in (0, 1)]
mine = parts[rank % 2]
x = torch.full((2 * PIECE,), float(rank))
dist.all_reduce(x, group=mine)
assert x[0] == x[-1] == sum(each for each in range(size) if each % 2 == rank % 2)
dist.barrier()
try:
    dist.all_reduce(torch.ones(5 + rank % 2))
except dist.DistBackendError as error:
    assert "all_reduce" in str(error) and "shared.py" in str(error), error
    print("refused", flush=True)
