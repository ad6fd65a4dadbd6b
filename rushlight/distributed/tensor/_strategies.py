"""The choice among the placements that an op can run with: the cheapest, by a model of the times of collectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

Strategy = tuple[list[Placement], Any]  # the placements of the operands, and that of the result (a list of them for several results)

# The model: microseconds to start a collective, and for each hop; bytes in a microsecond.  Only their relation matters here.
_START, _HOP, _BANDWIDTH = 6.6, 2.7, 2e4


def cost(tensor: Any, count: int, current: Placement, target: Placement) -> float:
    """The time to bring a tensor from one placement to another along a dimension of a mesh with ``count`` processes."""
    if current == target or isinstance(current, Replicate):
        return 0.0
    hops = count - 1
    size = tensor.numel() * tensor.element_size() * hops / count / _BANDWIDTH
    if isinstance(current, Partial):
        if isinstance(target, Partial):
            return math.inf
        return _START + (2 * hops * _HOP + 2 * size if isinstance(target, Replicate) else hops * _HOP + size)
    if isinstance(target, Partial):
        return math.inf
    if isinstance(target, Replicate):
        return _START + hops * _HOP + size
    return _START + hops * _HOP + size / count + 1.0  # an exchange waits for all others: the gathering of one operand is preferred


def mesh_dim_of(tensors: Sequence[Any], placed: Sequence[Placement]) -> int:
    """The dimension of the mesh along which tensors are placed so."""
    mesh = tensors[0]._spec.mesh
    return next((at for at in range(mesh.ndim) if all(t._spec.placements[at] == each for t, each in zip(tensors, placed))), 0)


def cheapest(tensors: Sequence[Any], placed: Sequence[Placement], candidates: Sequence[Strategy], results: int = 0) -> Strategy:
    """The strategy that moves least; running on whole tensors is always one.

    One that moves nothing comes first, then one that only cuts whole tensors.  A split along a dimension that is shorter than the
    number of processes is not chosen, unless an operand has it already.
    """
    count = tensors[0]._spec.mesh.size(mesh_dim_of(tensors, placed))
    whole: Strategy = [Replicate()] * len(tensors), [Replicate()] * results if results else Replicate()
    best, lowest = whole, math.inf
    for wanted, made in (whole, *_with_strides(candidates, placed)):
        if list(wanted) == list(placed):
            return wanted, made
        if any(
            isinstance(each, Shard) and each != held and tensor.shape[each.dim] < count
            for tensor, held, each in zip(tensors, placed, wanted)
        ):
            continue
        total = sum(cost(tensor, count, held, each) for tensor, held, each in zip(tensors, placed, wanted))
        if total < lowest:
            best, lowest = (wanted, made), total
    return best


def _with_strides(candidates: Sequence[Strategy], placed: Sequence[Placement]) -> list[Strategy]:
    """Candidates, and those with the strided splits that operands have in place of plain ones; none that splits where no operand is split."""
    if not any(isinstance(each, Shard) for each in placed):
        return [each for each in candidates if not any(isinstance(one, Shard) for one in each[0])]
    factors = dict.fromkeys(each.split_factor for each in placed if isinstance(each, _StridedShard))
    if not factors:
        return list(candidates)

    def strided(each: Any, factor: int) -> Any:
        if isinstance(each, list):
            return [strided(one, factor) for one in each]
        return _StridedShard(each.dim, split_factor=factor) if type(each) is Shard else each

    return [*candidates, *((strided(list(wanted), factor), strided(made, factor)) for factor in factors for wanted, made in candidates)]
