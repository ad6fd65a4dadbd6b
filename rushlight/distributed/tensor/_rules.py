"""How ops run on the parts of distributed tensors: which placements they take, and which their results have.

A rule looks at one dimension of the mesh at a time.  It is given the op, its arguments (with the shapes of whole tensors), the tensors among
these and the placement of each, and returns the placements that the op is to be run with and those of its results.  An op without a rule is
run on whole tensors, which is right for every op.  Ops of a family share a rule, so that one declared tomorrow has it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.facets import Facet
from ...core.families import Elementwise, Reduction
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

Rule = Callable[[Any, tuple[Any, ...], list[Any], list[Placement]], tuple[list[Placement], Any]]
sharding: Facet[Rule] = Facet("sharding", "which placements of distributed tensors an op takes, and which its results have")
# What becomes of parts of a sum: "same" for a linear op of one tensor, "both" where two sums add up, "scaled" where the second is a number.
of_sums: Facet[str] = Facet("of sums", "how an op treats tensors that are parts of a sum")
reduces_to: Facet[str] = Facet("reduces to", "of what the reductions of parts are parts: a sum, a mean, a maximum")
shape_argument: Facet[int] = Facet("shape argument", "which argument is the shape of the result")
WHOLE = Replicate()

for _fact, _names in {"same": "neg clone detach alias cast lay_out", "both": "add sub", "scaled": "mul div"}.items():
    of_sums.set(_fact, *_names.split())
for _fact, _names in {"sum": "sum", "avg": "mean", "max": "amax", "min": "amin"}.items():
    reduces_to.set(_fact, _names)
shape_argument.set(1, "view_shape", "reshape_copy", "expand", "expand_copy", "reduction_backward")


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
        return _StridedShard(dim, placement.split_factor)
    return Shard(dim)


def _normal(dim: int, ndim: int) -> int:
    return dim + ndim if dim < 0 else dim


# -- element by element ------------------------------------------------------------------------------------------


def elementwise(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    """Operands are split where one is, as far as they are not broadcast there; sums stay sums where the op is linear."""
    ndim = max(len(each.shape) for each in tensors)
    shape = [max([1] + [t.shape[at - ndim + t.dim()] for t in tensors if at - ndim + t.dim() >= 0]) for at in range(ndim)]
    if any(t.numel() == 0 for t in tensors):
        return whole(op, args, tensors, placed)
    sums = {each for each in placed if isinstance(each, Partial)}
    if sums == {Partial("sum")} or sums == {Partial("avg")}:
        how = of_sums.of(op.functional or op)
        if len(tensors) == 1 and how in ("same", "scaled"):
            return list(placed), placed[0]
        if len(tensors) == 2 and how == "both" and placed[0] == placed[1]:
            return list(placed), placed[0]
        if len(tensors) == 2 and how == "scaled" and isinstance(placed[0], Partial) and tensors[1].numel() == 1:
            return [placed[0], WHOLE], placed[0]
    chosen = _chosen(op, tensors, placed, shape)
    if chosen is None:
        return whole(op, args, tensors, placed)
    target, dim = chosen
    wanted: list[Placement] = []
    for each in tensors:
        own = dim - ndim + each.dim()
        wanted.append(_moved(target, own) if own >= 0 and each.shape[own] == shape[dim] else WHOLE)
    return wanted, _moved(target, dim)


def _chosen(op: Any, tensors: list[Any], placed: list[Placement], shape: list[int]) -> tuple[Placement, int] | None:
    """The split that an element-wise op runs with, and its dimension in the result: what is written to in place stays as it is."""
    ndim = len(shape)
    order = list(range(len(tensors)))
    if op.functional is None:
        order.sort(key=lambda at: -tensors[at].numel())
    for at in order:
        each = placed[at]
        if isinstance(each, Shard):
            dim = each.dim + ndim - tensors[at].dim()
            if tensors[at].shape[each.dim] == shape[dim]:
                return each, dim
        if op.functional is not None and at == 0:
            return None
    return None


@sharding.register("clone", "detach", "alias", "cast", "copy", "lay_out", "detach_copy", "alias_copy")
def _kept(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    if len(tensors) == 1:
        return list(placed), placed[0]
    return elementwise(op, args, tensors, placed)


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
    if given is None or each.dim in gone:  # a part of size 1 would be squeezed where the whole is not
        return [WHOLE], WHOLE
    return [each], _moved(each, each.dim - sum(at < each.dim for at in gone))


@sharding.register("select", "select_copy")
def _selected(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, dim = placed[0], _normal(args[1], tensors[0].dim())
    if isinstance(each, Shard):
        return ([WHOLE], WHOLE) if each.dim == dim else ([each], _moved(each, each.dim - (each.dim > dim)))
    return [each], each


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
    dim = _normal(args[1], tensors[0].dim())
    each = placed[0]
    if len({one.dim() for one in tensors}) > 1 or (isinstance(each, Shard) and each.dim == dim):
        return whole(op, args, tensors, placed)
    return [each] * len(tensors), each


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
            return ([each], _StridedShard(new[0], outer)) if len(old) == len(new) == 1 else ([WHOLE], WHOLE)
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
                return [each], _StridedShard(dim, outer)
            size *= after[dim]
        return [WHOLE], WHOLE
    return [WHOLE], WHOLE


def _parts(tensor: Any, placement: Placement) -> int:
    """Into how many parts a tensor is split."""
    mesh = tensor._spec.mesh
    return next((mesh.size(at) for at, each in enumerate(tensor._spec.placements) if each == placement), 1)


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


@sharding.register("topk", "sort", "cumsum", "cumprod", "logcumsumexp", "flip", "roll")
def _worked_along(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0]
    dims = _asked(op, args, tensors[0].dim())
    kept = each if isinstance(each, Shard) and each.dim not in dims else WHOLE
    return [kept], [kept] * len(op.returns) if isinstance(op.returns, tuple) else kept


@sharding.register("argmax", "argmin", "logsumexp", "max_dim", "min_dim", "vector_norm", "prod", "median_dim")
def _reduced_along(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each, ndim = placed[0], tensors[0].dim()
    dims = _asked(op, args, ndim)
    keepdim = bool(next((args[at] for at, one in enumerate(op.parameters) if one.name == "keepdim" and at < len(args)), False))
    several = len(op.returns) if isinstance(op.returns, tuple) else 0
    if not isinstance(each, Shard) or each.dim in dims:
        return [WHOLE], [WHOLE] * several or WHOLE
    made = _moved(each, each.dim - (0 if keepdim else sum(at < each.dim for at in dims)))
    return [each], [made] * several or made


@sharding.register("stack")
def _stacked(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    each = placed[0]
    if not isinstance(each, Shard):
        return [each] * len(tensors), each
    dim = _normal(args[1] if len(args) > 1 else 0, tensors[0].dim() + 1)
    return [each] * len(tensors), _moved(each, each.dim + (each.dim >= dim))


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


# -- products ----------------------------------------------------------------------------------------------------


@sharding.register("linear")
def _linear(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    last = tensors[0].dim() - 1
    x, w = placed[0], placed[1]
    bias = len(tensors) > 2

    def taken(x: Placement, w: Placement, b: Placement, out: Placement) -> tuple[list[Placement], Any]:
        return [x, w, b] if bias else [x, w], out

    if tensors[1].dim() != 2:
        return whole(op, args, tensors, placed)
    if w.is_shard(0):
        return taken(WHOLE, w, Shard(0), Shard(last))
    if w.is_shard(1) or x.is_shard(last):
        return taken(Shard(last), Shard(1), Partial(), Partial())
    if isinstance(x, Shard):
        return taken(x, WHOLE, WHOLE, x)
    if x.is_partial("sum"):
        return taken(x, WHOLE, Partial(), x)
    return whole(op, args, tensors, placed)


@sharding.register("addmm")
def _product_and_sum(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    added, (a, b) = tensors[0], placed[1:]
    for dim, split in ((0, a), (1, b)):
        if split.is_shard(dim):
            own = dim - 2 + added.dim()
            like = Shard(own) if own >= 0 and added.shape[own] == tensors[1 + dim].shape[dim] else WHOLE
            return [like, *((split, WHOLE) if dim == 0 else (WHOLE, split))], Shard(dim)
    return whole(op, args, tensors, placed)


@sharding.register("matmul")
def _product(op: Any, args: tuple[Any, ...], tensors: list[Any], placed: list[Placement]) -> tuple[list[Placement], Any]:
    (left, right), (a, b) = tensors, placed
    if left.dim() < 2 or right.dim() < 2:
        return whole(op, args, tensors, placed)
    m, k, rows, n = left.dim() - 2, left.dim() - 1, right.dim() - 2, right.dim() - 1
    ndim = max(left.dim(), right.dim())
    if a.is_shard(k) or b.is_shard(rows):
        split = a if a.is_shard(k) else b
        return [_moved(split, k), _moved(split, rows)], Partial()
    if isinstance(a, Shard) and a.dim == m:
        return [a, WHOLE], _moved(a, ndim - 2)
    if isinstance(b, Shard) and b.dim == n:
        return [WHOLE, b], _moved(b, ndim - 1)
    for one, tensor in ((a, left), (b, right)):
        if isinstance(one, Shard):
            dim = one.dim + ndim - tensor.dim()
            sizes = [each.shape[dim - ndim + each.dim()] if dim - ndim + each.dim() >= 0 else 1 for each in (left, right)]
            wanted = [
                _moved(one, dim - ndim + each.dim()) if size == max(sizes) and size > 1 else WHOLE
                for each, size in zip((left, right), sizes)
            ]
            return wanted, _moved(one, dim)
    if a.is_partial("sum") and b.is_replicate():
        return [a, WHOLE], a
    if b.is_partial("sum") and a.is_replicate():
        return [WHOLE, b], b
    return whole(op, args, tensors, placed)


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
