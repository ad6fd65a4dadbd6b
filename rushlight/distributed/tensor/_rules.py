"""How ops run on the parts of distributed tensors: which placements they take, and which their results have.

A rule looks at one dimension of the mesh at a time.  It is given the op, its arguments (with the shapes of whole tensors), the tensors among
these and the placement of each, and returns the placements that the op is to be run with and those of its results.  An op without a rule is
run on whole tensors, which is right for every op.  Ops of a family share a rule, so that one declared tomorrow has it, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.base import TensorBase
from ...core.facets import Facet
from ...core.families import Elementwise, Reduction
from ._strategies import Strategy, cheapest
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard

Rule = Callable[[Any, tuple[Any, ...], list[Any], list[Placement]], tuple[list[Placement], Any]]
sharding: Facet[Rule] = Facet("sharding", "which placements of distributed tensors an op takes, and which its results have")
# What becomes of parts of a sum: "same" for a linear op of one tensor, "both" where two sums add up, "scaled" where one of two factors is a
# sum, "divided" where the first is.
of_sums: Facet[str] = Facet("of sums", "how an op treats tensors that are parts of a sum")
reduces_to: Facet[str] = Facet("reduces to", "of what the reductions of parts are parts: a sum, a mean, a maximum")
shape_argument: Facet[int] = Facet("shape argument", "which argument is the shape of the result")
WHOLE = Replicate()

for _fact, _names in {"same": "neg clone detach alias cast lay_out", "both": "add sub copy", "scaled": "mul", "divided": "div"}.items():
    of_sums.set(_fact, *_names.split())
for _fact, _names in {"sum": "sum any", "avg": "mean", "max": "amax", "min": "amin", "product": "all"}.items():
    reduces_to.set(_fact, *_names.split())
shape_argument.set(1, "view_shape", "reshape_copy", "expand", "expand_copy", "reduction_backward", "select_backward", "slice_backward")
shape_argument.set(2, "placed")


def whole(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    """Every op can be run on whole tensors."""
    return [WHOLE] * len(tensors), WHOLE


def rule_of(op: Any) -> Rule:
    """The rule of an op: its own, or that of its family."""
    found = sharding.of(op.functional or op)
    if found is not None:
        return found
    if isinstance(op.family, Elementwise):
        return elementwise
    if isinstance(op.family, Reduction):
        return reduction
    return whole


def _moved(placement: Placement, dim: int) -> Placement:
    """The same split along another dimension."""
    if isinstance(placement, _StridedShard):
        return _StridedShard(dim, split_factor=placement.split_factor)
    return Shard(dim)


def _normal(dim: int, ndim: int) -> int:
    return dim + ndim if dim < 0 else dim


# -- element by element ------------------------------------------------------------------------------------------


def elementwise(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    """Operands are split alike, as far as they are not broadcast there; sums stay sums where the op is linear.  What is written to in place stays as it is."""
    first = placed[0]
    if not isinstance(first, Partial) and all(each == first for each in placed):
        if isinstance(first, Replicate) or len(tensors) == 1 or all(each.shape == tensors[0].shape for each in tensors):
            return list(placed), first
    if any(t.numel() == 0 for t in tensors):
        return whole(op, args, tensors, placed)
    ndim = max(len(each.shape) for each in tensors)
    shape = [max([1] + [t.shape[at - ndim + t.dim()] for t in tensors if at - ndim + t.dim() >= 0]) for at in range(ndim)]
    candidates: list[Strategy] = []
    for dim in range(ndim):
        split: list[Placement] = []
        for each in tensors:
            own = dim - ndim + each.dim()
            split.append(Shard(own) if own >= 0 and each.shape[own] == shape[dim] else WHOLE)
        candidates.append((split, Shard(dim)))
    for kind in dict.fromkeys(each for each in placed if each in (Partial("sum"), Partial("avg"))):
        candidates += [(wanted, kind) for wanted in _linear_in(op, args, tensors, kind)]
    if op.functional is not None:
        candidates = [each for each in candidates if each[0][0] == first == each[1]]
        if isinstance(first, Shard) and not candidates:
            return as_written(tensors, first), first
    return cheapest(tensors, placed, candidates)


def as_written(tensors: list[Any], held: Any) -> list[Placement]:
    """The placements of operands of an op in place: as what is written to, as far as they have its dimensions."""
    needed: list[Placement] = [held]
    for each in tensors[1:]:
        own = held.dim - tensors[0].dim() + each.dim() if isinstance(held, Shard) else -1
        needed.append(_moved(held, own) if own >= 0 and each.shape[own] == tensors[0].shape[held.dim] else WHOLE)
    return needed


def _linear_in(op: Any, args: tuple[Any, ...], tensors: list[Any], kind: Placement) -> list[list[Placement]]:
    """The operands that may be sums so that the result is one."""
    how, unrounded = of_sums.of(op.functional or op), args[2:3] in ((), (None,))
    if len(tensors) == 1:
        return [[kind]] if how in ("same", "scaled") or (how == "divided" and isinstance(args[0], TensorBase) and unrounded) else []
    if len(tensors) != 2:
        return []
    if how == "both":
        return [[kind, kind]]
    if how == "scaled":
        return [[kind, WHOLE], [WHOLE, kind]]
    return [[kind, WHOLE]] if how == "divided" and unrounded else []


@sharding.register("clone", "detach", "alias", "copy", "lay_out", "detach_copy", "alias_copy")
def _kept(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    return (list(placed), placed[0]) if len(tensors) == 1 else elementwise(op, args, tensors, placed)


@sharding.register("cast")
def _cast(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    if isinstance(placed[0], Partial) and not args[1].is_floating_point and not args[1].is_complex:
        return [WHOLE], WHOLE  # the sum of rounded parts is not the rounded sum
    return _kept(op, args, tensors, placed)


@sharding.register("masked_fill")
def _masked(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    return elementwise(op, args, tensors, placed)


@sharding.register("zero", "zeros_like", "empty_like")
def _zeroed(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    return list(placed), placed[0]


@sharding.register("fill", "ones_like", "full_like")
def _filled(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    kept = WHOLE if isinstance(placed[0], Partial) else placed[0]
    return [kept, *[WHOLE] * (len(tensors) - 1)], kept


# -- shapes ------------------------------------------------------------------------------------------------------


@sharding.register("permute", "permute_copy")
def _permuted(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    dims = [_normal(each, tensors[0].dim()) for each in args[1]]
    each = placed[0]
    return [each], _moved(each, dims.index(each.dim)) if isinstance(each, Shard) else each


@sharding.register("t", "t_copy", "transpose", "transpose_copy")
def _transposed(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    ndim, each = tensors[0].dim(), placed[0]
    if not isinstance(each, Shard) or ndim < 2:
        return [each], each
    a, b = (_normal(one, ndim) for one in args[1:3]) if len(args) > 2 else (0, 1)
    return [each], _moved(each, {a: b, b: a}.get(each.dim, each.dim))


@sharding.register("unsqueeze", "unsqueeze_copy")
def _unsqueezed(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, dim = placed[0], _normal(args[1], tensors[0].dim() + 1)
    return [each], _moved(each, each.dim + (each.dim >= dim)) if isinstance(each, Shard) else each


@sharding.register("squeeze", "squeeze_copy")
def _squeezed(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, shape = placed[0], tensors[0].shape
    given = args[1] if len(args) > 1 else None
    asked = (
        range(len(shape))
        if given is None
        else [_normal(one, len(shape)) for one in (given if isinstance(given, (list, tuple)) else [given])]
    )
    gone = [at for at in asked if shape[at] == 1]
    if not isinstance(each, Shard):
        return [each], each
    if each.dim in gone:
        return [WHOLE], WHOLE
    return [each], _moved(each, each.dim - sum(at < each.dim for at in gone))


@sharding.register("unbind", "unbind_copy", "select", "select_copy")
def _selected(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, dim = placed[0], _normal(args[1], tensors[0].dim())
    if isinstance(each, Shard):
        return ([WHOLE], WHOLE) if each.dim == dim else ([each], _moved(each, each.dim - (each.dim > dim)))
    return [each], each


@sharding.register("select_backward")
def _select_back(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, dim = placed[0], _normal(args[2], tensors[0].dim() + 1)
    return [each], _moved(each, each.dim + (each.dim >= dim)) if isinstance(each, Shard) else each


@sharding.register("slice_backward")
def _slice_back(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    return _along(placed[0], args[2], tensors[0].dim())


@sharding.register("placed")
def _scattered(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    dim = _normal(args[3], tensors[0].dim())
    kept: list[Strategy] = [([Shard(at), Shard(at)], Shard(at)) for at in range(tensors[0].dim()) if at != dim]
    return cheapest(tensors, placed, [*kept, ([Partial(), WHOLE], Partial())])


@sharding.register("constant_pad_nd")
def _padded(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, ndim = placed[0], tensors[0].dim()
    if not isinstance(each, Shard):
        return [WHOLE], WHOLE
    at = 2 * (ndim - 1 - each.dim)
    return ([each], each) if not any(args[1][at : at + 2]) else ([WHOLE], WHOLE)


@sharding.register("repeat")
def _repeated(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, added = placed[0], len(args[1]) - tensors[0].dim()
    if not isinstance(each, Shard):
        return [each], each
    return ([each], _moved(each, each.dim + added)) if args[1][each.dim + added] == 1 else ([WHOLE], WHOLE)


@sharding.register("tril", "triu")
def _triangle(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0]
    kept = each.is_partial("sum") or isinstance(each, Shard) and each.dim < tensors[0].dim() - 2
    return ([each], each) if kept else ([WHOLE], WHOLE)


def _along(placement: Placement, dim: int | None, ndim: int) -> tuple[list[Placement], Any]:
    """A dimension is cut: it has to be whole."""
    at = _normal(dim or 0, ndim)
    return ([WHOLE], WHOLE) if isinstance(placement, Shard) and placement.dim == at else ([placement], placement)


@sharding.register("slice", "slice_copy")
def _sliced(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    return _along(placed[0], args[1], tensors[0].dim())


@sharding.register("split_evenly", "split_with_sizes")
def _split(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    return _along(placed[0], args[2], tensors[0].dim())


@sharding.register("cat")
def _joined(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    dim, count = _normal(args[1], tensors[0].dim()), len(tensors)
    if len({one.dim() for one in tensors}) > 1:
        return whole(op, args, tensors, placed)
    kept: list[Strategy] = [([Shard(at)] * count, Shard(at)) for at in range(tensors[0].dim()) if at != dim]
    return cheapest(tensors, placed, [*kept, ([Partial()] * count, Partial())])


@sharding.register("expand", "expand_copy")
def _expanded(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, added = placed[0], len(args[1]) - tensors[0].dim()
    if isinstance(each, Shard):
        if args[1][each.dim + added] not in (-1, tensors[0].shape[each.dim]):
            return [WHOLE], WHOLE
        return [each], _moved(each, each.dim + added)
    return [each], each


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Dimensions before and after a change of shape that hold the same elements."""
    result, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        left: list[int] = []
        right: list[int] = []
        a = b = 1
        while True:
            if a == b and left and right and not (i < len(before) and before[i] == 1) and not (j < len(after) and after[j] == 1):
                break
            if a <= b and i < len(before):
                a *= before[i]
                left.append(i)
                i += 1
            elif j < len(after):
                b *= after[j]
                right.append(j)
                j += 1
            elif i < len(before):
                a *= before[i]
                left.append(i)
                i += 1
            else:
                break
        result.append((left, right))
    return result


@sharding.register("view_shape", "reshape_copy")
def _viewed(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, before = placed[0], list(tensors[0].shape)
    if not isinstance(each, Shard):
        return [each], each
    after = [int(one) for one in args[1]]
    total = tensors[0].numel()
    known = 1
    for one in after:
        known *= one if one != -1 else 1
    after = [total // known if one == -1 else one for one in after] if known else after
    if total == 0:
        return [WHOLE], WHOLE
    parts = _parts(tensors[0], each)
    for left, right in _groups(before, after):
        if each.dim not in left:
            continue
        old = [at for at in left if before[at] != 1 or at == each.dim]
        new = [at for at in right if after[at] != 1]
        at = old.index(each.dim)
        if isinstance(each, _StridedShard):
            outer = each.split_factor
            if len(new) >= 2 and len(old) == 1:
                size = 1
                for position, dim in enumerate(new[:-1]):
                    size *= after[dim]
                    if size == outer:
                        return [each], Shard(new[position + 1])
            return ([each], _StridedShard(new[0], split_factor=outer)) if len(old) == len(new) == 1 else ([WHOLE], WHOLE)
        if at == 0 and new:
            even = before[each.dim] % parts == 0 and after[new[0]] % parts == 0
            return ([each], Shard(new[0])) if even or after[new[0]] == before[each.dim] else ([WHOLE], WHOLE)
        outer = 1
        for one in old[:at]:
            outer *= before[one]
        size = 1
        for position, dim in enumerate(new):  # the same dimension again, or flattened with those before it
            if size == outer and after[dim] == before[each.dim]:
                return [each], Shard(dim)
            if position == 0 and len(new) == 1 and before[each.dim] % parts == 0:
                return [each], _StridedShard(dim, split_factor=outer)
            size *= after[dim]
        return [WHOLE], WHOLE
    return [WHOLE], WHOLE


def _parts(tensor: Any, placement: Placement) -> int:
    """Into how many parts the dimension of a split is cut, by all dimensions of the mesh that split it."""
    spec = tensor._spec
    split = [spec.mesh.size(at) for at, each in enumerate(spec.placements) if isinstance(each, Shard) and each.dim == placement.dim]  # type: ignore[attr-defined]
    return math.prod(split)


# -- reductions --------------------------------------------------------------------------------------------------


def _reduced_dims(given: Any, ndim: int) -> list[int]:
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return list(range(ndim))
    return [_normal(each, ndim) for each in (given if isinstance(given, (list, tuple)) else [given])]


def reduction(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    """A split dimension that is reduced leaves parts of a sum (or of a maximum); others stay split."""
    each, kind = placed[0], reduces_to.of(op)
    dims, keepdim = _reduced_dims(args[1], tensors[0].dim()), bool(args[2]) if len(args) > 2 else False
    if isinstance(each, Partial):
        return ([each], each) if kind == "sum" and each.reduce_op in ("sum", "avg") else ([WHOLE], WHOLE)
    if not isinstance(each, Shard):
        return [each], each
    if each.dim in dims:
        if kind == "avg" and tensors[0].shape[each.dim] % _parts(tensors[0], each):  # parts of several sizes weigh differently
            kind = None
        parts, length = _parts(tensors[0], each), tensors[0].shape[each.dim]
        if kind in ("max", "min") and -(-length // parts) * (parts - 1) >= length:  # a part without elements has no maximum
            kind = None
        return ([each], Partial(kind)) if kind else ([WHOLE], WHOLE)
    return [each], _moved(each, each.dim - (0 if keepdim else sum(at < each.dim for at in dims)))


sharding.set(reduction, "amax", "amin", "sum", "mean")


@sharding.register("reduction_backward")
def _spread(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, shape = placed[0], args[1]
    if not isinstance(each, Shard):
        return [WHOLE], WHOLE
    dims, keepdim = _reduced_dims(args[2], len(shape)), args[3]
    if keepdim:
        return ([WHOLE], WHOLE) if each.dim in dims else ([each], each)
    left = [at for at in range(len(shape)) if at not in dims]
    return [each], _moved(each, left[each.dim])


# -- along a dimension -------------------------------------------------------------------------------------------


def _asked(op: Any, args: tuple[Any, ...], ndim: int) -> list[int]:
    """The dimensions that an op works along: all of them where none is given."""
    at = next(number for number, each in enumerate(op.parameters) if each.name in ("dim", "dims"))
    return _reduced_dims(args[at] if at < len(args) else None, ndim)


@sharding.register("topk", "sort", "cumsum", "cumsum_reversed", "cumprod", "logcumsumexp", "flip", "roll", "shift")
def _worked_along(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0]
    dims = _asked(op, args, tensors[0].dim())
    kept = each if isinstance(each, Shard) and each.dim not in dims else WHOLE
    return [kept], [kept] * len(op.returns) if isinstance(op.returns, tuple) else kept


@sharding.register(
    "argmax", "argmin", "logsumexp", "max_dim", "min_dim", "prod", "median_dim", "var_correction", "std_correction", "var_mean_correction"
)
def _reduced_along(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, ndim = placed[0], tensors[0].dim()
    dims = _asked(op, args, ndim)
    keepdim = bool(next((args[at] for at, one in enumerate(op.parameters) if one.name == "keepdim" and at < len(args)), False))
    several = len(op.returns) if isinstance(op.returns, tuple) else 0
    if not isinstance(each, Shard) or each.dim in dims:
        return [WHOLE], [WHOLE] * several or WHOLE
    made = _moved(each, each.dim - (0 if keepdim else sum(at < each.dim for at in dims)))
    return [each], [made] * several or made


@sharding.register("vector_norm")
def _norm(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    """Norms of parts are parts of a norm; the largest of largest values is the largest."""
    each, order = placed[0], args[1]
    dims = _asked(op, args, tensors[0].dim())
    if not isinstance(each, Shard) or each.dim not in dims or isinstance(order, complex):
        return _reduced_along(op, args, tensors, placed)
    parts = _parts(tensors[0], each)
    if -(-tensors[0].shape[each.dim] // parts) * (parts - 1) >= tensors[0].shape[each.dim] and order in (math.inf, -math.inf):
        return [WHOLE], WHOLE  # a part without elements has no maximum
    if order in (math.inf, -math.inf):
        return [each], Partial("max" if order > 0 else "min")
    return [each], Partial() if order == 0 else _NormPartial(int(order) if order == int(order) else order)


@sharding.register("stack")
def _stacked(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    ndim, count = tensors[0].dim(), len(tensors)
    dim = _normal(args[1] if len(args) > 1 else 0, ndim + 1)
    kept: list[Strategy] = [([Shard(at)] * count, Shard(at + (at >= dim))) for at in range(ndim)]
    return cheapest(tensors, placed, [*kept, ([Partial()] * count, Partial())])


@sharding.register("gather")
def _gathered(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, (source, index) = placed[0], tensors
    if not isinstance(each, Shard) or each.dim == _normal(args[1], source.dim()) or index.shape[each.dim] != source.shape[each.dim]:
        return whole(op, args, tensors, placed)
    return [each, each], each


@sharding.register("index_select")
def _chosen_rows(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0]
    if not isinstance(each, Shard) or each.dim == _normal(args[1], tensors[0].dim()):
        return whole(op, args, tensors, placed)
    return [each, WHOLE], each


# -- layers ------------------------------------------------------------------------------------------------------


@sharding.register("softmax", "log_softmax")
def _softmax(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, dim = placed[0], _normal(args[1], tensors[0].dim())
    return ([each], each) if isinstance(each, Shard) and each.dim != dim else ([WHOLE], WHOLE)


@sharding.register("softmax_backward", "log_softmax_backward")
def _softmax_back(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, dim = placed[1], _normal(args[2], tensors[0].dim())
    return ([each, each], each) if isinstance(each, Shard) and each.dim != dim else ([WHOLE, WHOLE], WHOLE)


def _before(placement: Placement, dims: Any, ndim: int) -> bool:
    return isinstance(placement, Shard) and placement.dim not in [_normal(each, ndim) for each in dims]


@sharding.register("standardize")
def _standardized(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0]
    return ([each], [each] * 3) if _before(each, args[1], tensors[0].dim()) else ([WHOLE], [WHOLE] * 3)


@sharding.register("layer_standardize")
def _layer(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0] if _before(placed[0], args[3], tensors[0].dim()) else WHOLE
    return [each, *[WHOLE] * (len(tensors) - 1)], [each] * 3


@sharding.register("layer_standardize_backward")
def _layer_back(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[1] if _before(placed[1], args[5], tensors[0].dim()) else WHOLE
    wanted: list[Placement] = [WHOLE if value is args[2] else each for value in args[:5] if value is not None]
    return wanted, [each, Partial(), Partial()] if isinstance(each, Shard) else [WHOLE] * 3


@sharding.register("attention")
def _attention(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = next((one for one in placed[:3] if isinstance(one, Shard)), WHOLE)
    if args[3] is not None or (isinstance(each, Shard) and each.dim >= tensors[0].dim() - 2):
        return whole(op, args, tensors, placed)
    return [each] * 3, [each] * 2


@sharding.register("attention_backward")
def _attention_back(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = next((one for one in placed[1:4] if isinstance(one, Shard)), WHOLE)
    if args[7] is not None or (isinstance(each, Shard) and each.dim >= tensors[1].dim() - 2):
        return [WHOLE] * len(tensors), [WHOLE] * 3
    return [each] * len(tensors), [each] * 3


@sharding.register("embedding")
def _embedding(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    w, x = placed
    if w.is_shard(1):
        return [w, WHOLE], Shard(tensors[1].dim())
    if w.is_shard(0):  # each process has some of the rows: `_dispatch` masks the others
        return [w, WHOLE], Partial()
    return ([WHOLE, x], x) if isinstance(x, Shard) else ([WHOLE, WHOLE], WHOLE)


@sharding.register("embedding_backward")
def _embedding_back(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    g, x = placed
    last = tensors[0].dim() - 1
    if g.is_shard(last):
        return [g, WHOLE], Shard(1)
    if isinstance(g, Shard) or isinstance(x, Shard):
        each = g if isinstance(g, Shard) else x
        return ([each, each], Partial()) if not args[4] else ([WHOLE, WHOLE], WHOLE)
    if g.is_partial("sum"):
        return [g, WHOLE], g
    return [WHOLE, WHOLE], WHOLE
