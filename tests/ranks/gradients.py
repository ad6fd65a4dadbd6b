"""Collectives with gradients: the gradients are those of the same computation in one process."""

from __future__ import annotations

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed._functional_collectives as funcol
from rushlight.distributed.nn import functional as F

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()


def inputs(length: int = 2 * 3):
    return torch.arange(float(length)).mul(rank + 1).add(rank).requires_grad_()


def weights(of: int, *shape: int):
    """The weights that a process multiplies its result by; its loss is their sum."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape) * (of + 1)


def total(*shape: int):
    return sum(weights(each, *shape) for each in range(size))


def grad_of(result, x, weight):
    x.grad = None
    (result * weight).sum().backward()
    return x.grad


x = inputs()
for made in (F.all_reduce(x), funcol.all_reduce_autograd(x, "sum", dist.group.WORLD)):
    assert torch.equal(grad_of(made, x, weights(rank, 6)), total(6))
parts = F.all_gather(x)
assert len(parts) == size and torch.equal(parts[rank], x)
wanted = total(size, 6)[rank]
assert torch.equal(grad_of(torch.stack(parts), x, weights(rank, size, 6)), wanted)
assert torch.equal(grad_of(funcol.all_gather_tensor_autograd(x, 0, dist.group.WORLD).reshape(size, 6), x, weights(rank, size, 6)), wanted)
y = torch.ones(2, 3, requires_grad=True)
wide = funcol.all_gather_tensor_autograd(y, 1, dist.group.WORLD)
assert wide.shape == (2, 3 * size)
assert torch.equal(grad_of(wide, y, weights(rank, 2, 3 * size)), total(2, 3 * size)[:, 3 * rank : 3 * rank + 3])
narrow = torch.ones(2, 2 * size, requires_grad=True)
made = funcol.reduce_scatter_tensor_autograd(narrow, "sum", 1, dist.group.WORLD)
assert made.tolist() == [[size] * 2] * 2
assert torch.equal(grad_of(made, narrow, weights(rank, 2, 2)), torch.cat([weights(each, 2, 2) for each in range(size)], 1))
assert torch.equal(funcol.all_reduce(torch.ones(2), "avg", dist.group.WORLD), torch.ones(2))
assert torch.equal(grad_of(F.broadcast(x, 1), x, weights(rank, 6)), total(6) if rank == 1 else torch.zeros(6))
assert torch.equal(grad_of(F.reduce(x, 0), x, weights(rank, 6)), weights(0, 6))
scattered = [torch.full((2,), float(each), requires_grad=True) for each in range(size)]
mine = F.scatter(scattered, 0)
assert mine.tolist() == [rank] * 2
mine.mul(weights(rank, 2)).sum().backward()
if rank == 0:
    assert all(torch.equal(each.grad, weights(of, 2)) for of, each in enumerate(scattered))
gathered = F.gather(x, 0)
assert torch.equal(grad_of(torch.stack(gathered), x, weights(rank, size, 6)), weights(0, size, 6)[rank])
lists = [torch.full((2,), float(each), requires_grad=True) for each in range(size)]
part = F.reduce_scatter(torch.zeros(2), lists)
assert part.tolist() == [rank * size] * 2
part.mul(weights(rank, 2)).sum().backward()
assert all(torch.equal(each.grad, weights(of, 2)) for of, each in enumerate(lists))
rows = torch.arange(float(size)).add(10 * rank).requires_grad_()
moved = F.all_to_all_single(torch.zeros(size), rows)
assert moved.tolist() == [10.0 * each + rank for each in range(size)]
assert torch.equal(grad_of(moved, rows, weights(rank, size)), torch.tensor([(rank + 1.0) * (each + 1) for each in range(size)]))
assert torch.equal(grad_of(funcol.all_to_all_single_autograd(rows, None, None, dist.group.WORLD), rows, weights(rank, size)), rows.grad)
outs = F.all_to_all([torch.zeros(1) for _ in range(size)], list(rows.chunk(size)))
assert torch.cat(outs).tolist() == moved.tolist()
assert torch.equal(grad_of(torch.cat(outs), rows, weights(rank, size)), torch.tensor([(rank + 1.0) * (each + 1) for each in range(size)]))
z = torch.full((2,), 0.5, requires_grad=True)  # twice differentiable
(g,) = torch.autograd.grad((F.all_reduce(z) ** 3).sum(), z, create_graph=True)
g.sum().backward()
assert torch.allclose(z.grad, torch.full((2,), 6 * (0.5 * size) * size * size))
assert (
    funcol.permute_tensor(torch.tensor([float(rank)]), [(each + 1) % size for each in range(size)], dist.group.WORLD).item()
    == (rank - 1) % size
)
print("done", rank)
