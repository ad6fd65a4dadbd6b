"""Rules for products: an operand may be split along any dimension, a contracted one leaves parts of a sum, and sums stay sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._rules import WHOLE, sharding, whole
from ._strategies import Strategy, cheapest
from .placement_types import Partial, Placement, Shard

Labels = Sequence[Any]  # a name for each dimension, as in `einsum`; None for one that is broadcast


def _product(left: Labels, right: Labels, out: Labels) -> list[Strategy]:
    """The strategies of a product of two operands: batches, contracted dimensions, those of one operand, and linearity."""
    batch = [each for each in out if each is not None and each in left and each in right]
    contracted = [each for each in left if each is not None and each in right and each not in out]
    alone = [each for labels in (left, right) for each in labels if each is not None and each in out and each not in batch]
    found: list[Strategy] = []
    for each in (*batch, *contracted, *alone):
        wanted: list[Placement] = [Shard(labels.index(each)) if each in labels else WHOLE for labels in (left, right)]
        found.append((wanted, Shard(out.index(each)) if each in out else Partial()))
    return [*found, ([Partial(), WHOLE], Partial()), ([WHOLE, Partial()], Partial())]


def _of_added(added: Any, made: Placement, ndim: int) -> Placement:
    """The placement of what is added to a product, by that of the result: it may be broadcast."""
    if not isinstance(made, Shard):
        return made
    own = made.dim - ndim + added.dim()
    return Shard(own) if own >= 0 and added.shape[own] != 1 else WHOLE


@sharding.register("matmul")
def _matmul(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    left, right = tensors
    batch = max(left.dim(), right.dim(), 2) - 2
    sizes = [
        max([1] + [each.shape[at - batch + each.dim() - 2] for each in tensors if each.dim() > 2 and at - batch + each.dim() - 2 >= 0])
        for at in range(batch)
    ]

    def labels(tensor: Any, last: tuple[str, ...]) -> list[Any]:
        own = range(batch - max(tensor.dim() - 2, 0), batch)
        return [at if tensor.shape[at - own.start] == sizes[at] else None for at in own] + list(last)

    rows = ("m", "k") if left.dim() > 1 else ("k",)
    columns = ("k", "n") if right.dim() > 1 else ("k",)
    out = [*range(batch), *rows[:-1], *columns[1:]]
    return cheapest(tensors, placed, _product(labels(left, rows), labels(right, columns), out))


@sharding.register("linear")
def _linear(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    if tensors[1].dim() != 2:
        return whole(op, args, tensors, placed)
    ndim = tensors[0].dim()
    found = _product([*range(ndim - 1), "k"], ["n", "k"], [*range(ndim - 1), "n"])
    if len(tensors) > 2:
        found = [([*wanted, _of_added(tensors[2], made, ndim)], made) for wanted, made in found]
    return cheapest(tensors, placed, found)


@sharding.register("addmm", "baddbmm")
def _product_and_sum(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    ndim = tensors[1].dim()
    batch = ["b"] * (ndim - 2)
    found = _product([*batch, "m", "k"], [*batch, "k", "n"], [*batch, "m", "n"])
    return cheapest(tensors, placed, [([_of_added(tensors[0], made, ndim), *wanted], made) for wanted, made in found])


@sharding.register("convolution")
def _convolution(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    if tensors[0].dim() != tensors[1].dim():  # no batch
        return whole(op, args, tensors, placed)
    return cheapest(tensors, placed, [([Shard(0), *[WHOLE] * (len(tensors) - 1)], Shard(0))])


@sharding.register("convolution_weight_gradient")
def _of_weights(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    if tensors[0].dim() != len(args[2]) + 2:
        return whole(op, args, tensors, placed)
    return cheapest(tensors, placed, [([Shard(0), Shard(0)], Partial())])
