"""Two processes: the placements that ops give, and their gradients have, as PyTorch's DTensor has them; and the values, which are those of whole tensors."""

from __future__ import annotations

import itertools

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.device_mesh import init_device_mesh
from rushlight.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from rushlight.distributed.tensor.placement_types import _StridedShard

F = nn.functional
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
PLACEMENTS = {"R": Replicate(), "0": Shard(0), "1": Shard(1), "2": Shard(2), "P": Partial()}
NAMES = {each: name for name, each in PLACEMENTS.items()} | {Partial("avg"): "A", Partial("max"): "M", Partial("product"): "X"}


def shown(value: DTensor) -> str:
    """The placement of a tensor, as the tables below write it."""
    return NAMES.get(value.placements[0], repr(value.placements[0]))


def drawn(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def distributed(value: torch.Tensor, placement: str) -> DTensor:
    made = DTensor.from_local(value / 2, mesh, [Partial()]) if placement == "P" else distribute_tensor(value, mesh, [PLACEMENTS[placement]])
    return made.detach().requires_grad_()


def check(function, shapes, table: str) -> None:
    """Each entry of a table is ``operands>result:gradients``; without gradients they are not looked at."""
    for entry in table.split():
        given, _, wanted = entry.partition(">")
        result_wanted, _, gradients_wanted = wanted.partition(":")
        values = [drawn(shape, at).requires_grad_() for at, shape in enumerate(shapes)]
        operands = [distributed(value.detach(), each) for value, each in zip(values, given)]
        found, plain = function(*operands), function(*values)
        several = isinstance(found, (tuple, list))
        assert shown(found[0] if several else found) == result_wanted, (entry, found)
        for one, other in zip(found if several else [found], plain if several else [plain]):
            torch.testing.assert_close(one.full_tensor(), other, rtol=1e-4, atol=1e-4)
        if not gradients_wanted:
            continue
        sum(each.full_tensor().square().sum() for each in (found if several else [found])).backward()
        sum(each.square().sum() for each in (plain if several else [plain])).backward()
        assert "".join(shown(each.grad) for each in operands) == gradients_wanted, (entry, [each.grad.placements for each in operands])
        for one, other in zip(operands, values):
            torch.testing.assert_close(one.grad.full_tensor(), other.grad, rtol=1e-4, atol=1e-4)


SQUARE = [(5, 4)]
check(lambda x: x.exp(), SQUARE, "R>R:R 0>0:0 1>1:1 P>R:R")
check(lambda x: x * 2.5, SQUARE, "0>0:0 P>P:R")
check(lambda x: torch.div(x, 0.5, rounding_mode="floor"), SQUARE, "0>0 P>R")  # the sum of floors is not the floor of the sum
check(lambda x: x.to(torch.int32), SQUARE, "0>0 P>R")
check(lambda x, y: x + y, SQUARE * 2, "RR>R:RR R0>0:00 01>0:00 10>0:00 RP>P:RR PR>P:RR PP>P:RR 0P>0:00 P1>1:11")
check(lambda x, y: x * y, SQUARE * 2, "R1>1:11 10>0:00 RP>P:PR PR>P:RP PP>P:PP 0P>0:00")
check(lambda x, y: x * y, [(5, 4), (1, 4)], "R1>1:11 0R>0:0P 1R>1:11")
check(lambda x, y: torch.lerp(x, y, 0.3), SQUARE * 2, "10>0:00 PP>R:RR")
check(lambda x: x.sum(), SQUARE, "R>R:R 0>P:R 1>P:R P>P:R")
check(lambda x: x.sum(1), SQUARE, "0>0:0 1>P:R")
check(lambda x: x.var(0), SQUARE, "0>R 1>0:1")
check(lambda x: x.std(1), SQUARE, "0>0:0 1>R")
check(lambda x: x.norm(), SQUARE, "0>_NormPartial(2) 1>_NormPartial(2)")
check(lambda x: x.norm(1, dim=1), SQUARE, "0>0:0 1>_NormPartial(1)")
check(lambda x: x.norm(float("inf")), SQUARE, "0>M R>R:R")
check(lambda x: (x > 0).all(), SQUARE, "0>X 1>X R>R")
check(lambda x: (x > 0).any(1), SQUARE, "0>0 1>P R>R")
check(lambda x: x.max(1)[0], SQUARE, "0>0:0 1>R:R")
check(lambda x: x.sort(1)[0], SQUARE, "0>0:0 1>R:R")
check(lambda x: x.cumsum(0), SQUARE, "0>R:R 1>1:1")
check(lambda x: x.softmax(-1), SQUARE, "0>0:0 1>R:R")
check(lambda x, y: x @ y, [(5, 4), (4, 6)], "R0>P:1R R1>1:P1 0R>0:0P 00>0:0P 01>1:P1 1R>P:R0 10>P:10 11>1:P1 RP>P:PR PR>P:RP PP>P:PP")
check(torch.bmm, [(4, 3, 5), (4, 5, 2)], "R0>0:00 00>0:00 R1>P:2R 1R>1:1P 2R>P:R1 R2>2:P2")
check(torch.mv, [(5, 4), (4,)], "R0>P:1R 0R>0:0P 1R>P:R0 10>P:10")
check(torch.dot, [(6,), (6,)], "R0>P:0R 0R>P:R0 00>P:00")
check(F.linear, [(2, 5, 4), (6, 4), (6,)], "RR0>2:P00 R0R>2:P00 R1R>P:2RR 0RR>0:0PP 2RR>P:R1R 21R>P:21R")
check(torch.addmm, [(6,), (5, 4), (4, 6)], "RR0>P:R1R RR1>1:0P1 R0R>0:P0P R1R>P:RR0 0RR>1:0P1")
check(torch.baddbmm, [(4, 3, 2), (4, 3, 5), (4, 5, 2)], "RR0>0:000 R0R>0:000 0RR>0:000")
check(F.conv2d, [(4, 3, 6, 6), (2, 3, 3, 3)], "RR>R:RR 0R>0:0P")
check(lambda x: x[1:3], SQUARE, "0>R:R 1>1:1")
check(lambda x: x[:, 1], SQUARE, "0>0:0 1>R:R")
check(lambda x: x.unbind(1), SQUARE, "0>0:0")
check(lambda x: F.pad(x, (1, 1)), SQUARE, "0>0:0 1>R")
check(lambda x: x.repeat(2, 1), SQUARE, "0>R:R 1>1:1")
check(lambda x: x.squeeze(), [(2, 1)], "0>0:0")  # parts of size 1 of a dimension that is longer
check(lambda x, y: torch.cat([x, y], 1), [(4, 3), (4, 2)], "R0>0:00 0R>0:00 RR>R:RR")
check(lambda x, y: torch.stack([x, y]), [(4, 3), (4, 3)], "R0>1:00 1R>2:11 PP>P:RR")

# In place: a sum is added up where the op is not linear; other placements stay.
other = drawn((5, 4), 3)
writes = {
    lambda x: x.mul_(2): lambda x: 2 * x,
    lambda x: x.mul_(2).add_(1): lambda x: 2 * x + 1,
    lambda x: x.add_(distributed(other, "1").detach()): lambda x: x + other,
}
for placement, (write, plain) in itertools.product("R01P", writes.items()):
    written = distributed(drawn((5, 4), 0), placement).detach().clone()
    assert write(written) is written and (placement == "P" or shown(written) == placement), (placement, written)
    torch.testing.assert_close(written.full_tensor(), plain(drawn((5, 4), 0)))

# What is written to in place is kept for the gradient of the other factor.
check(lambda x, y: x.clone().mul_(y), SQUARE * 2, "00>0:00 R0>R:0R RP>R 1P>1:11")
check(lambda x, y: x.clone().div_(y.abs() + 1), SQUARE * 2, "00>0:00 01>0:00")

# Optimizers take gradients of other placements than those of parameters.
weight = nn.Parameter(distributed(drawn((4, 6), 1), "0").detach())
plain = nn.Parameter(drawn((4, 6), 1))
for make in (torch.optim.SGD, torch.optim.AdamW):
    optimizers = [make([each], 0.1, **({"momentum": 0.9} if make is torch.optim.SGD else {})) for each in (weight, plain)]
    for seed in range(3):
        for optimizer, parameter, x in zip(
            optimizers, (weight, plain), (distributed(drawn((5, 4), seed), "R").detach(), drawn((5, 4), seed))
        ):
            optimizer.zero_grad()
            loss = (x @ parameter).square().sum()
            (loss.full_tensor() if isinstance(loss, DTensor) else loss).backward()
            optimizer.step()
    torch.testing.assert_close(weight.full_tensor(), plain)
for size in (9, 5, 1):  # parts of uneven pieces are put together in the order of the whole
    whole = drawn((size, 2), 0)
    assert torch.equal(distribute_tensor(whole, mesh, [_StridedShard(0, split_factor=3)]).full_tensor(), whole), size
plain = drawn((4, 6), 0)
for name, arguments in (("transpose_", (0, 1)), ("t_", ()), ("unsqueeze_", (0,)), ("squeeze_", (0,))):  # the parts change with the whole
    changed = distribute_tensor(plain[:, None].movedim(1, 0) if name == "squeeze_" else plain, mesh, [Shard(1)])
    wanted = changed.full_tensor()
    getattr(changed, name)(*arguments)
    assert torch.equal(changed.full_tensor(), getattr(wanted, name)(*arguments)) and changed.add_(1).shape == wanted.shape, name
print("done")
