"""Batching rules of ops whose dimension arguments shift by one: ops along a dimension, views, ops on leading dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.declare import Op, table
from ..core.dispatch import dispatch
from ..core.families import normalize_dim, normalize_dims
from ..ops.shape.concat import cat, stack
from ..ops.shape.memory import infer_size
from ..ops.shape.views import expand
from .batched import padded
from .level import Level, batching, each_example, reduce

rule = batching.register  # a rule is a function of the level, the op and its complete arguments


def decomposed(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give ops a batching rule in the form of a body: a function of their arguments, which runs on batched tensors."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        rule(*names)(lambda level, op, args: level.inside(function, *args))
        return function

    return register


# -- the same op on the whole batch ------------------------------------------------------------------------------

# Ops of one tensor that accept any number of leading dimensions.
_ONE_TENSOR = """
    clone zero cast alias_copy detach_copy detach alias real_part imag view_as_real view_as_complex lu_order pixel_shuffle pixel_unshuffle
    constant_pad_nd frexp zeros_like ones_like empty_like full_like resample_backward
"""
_ONE_MATRIX = """
    tril triu matrix_cofactors linalg_det cholesky_inverse linalg_slogdet linalg_inv_ex matrix_exp linalg_cholesky_ex linalg_svd linalg_svdvals
    linalg_eigh linalg_eigvalsh linalg_eig linalg_eigvals linalg_lu_factor_ex geqrf
"""


@rule(*_ONE_TENSOR.split())
def on_the_whole(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The op as it is, on the batch."""
    return level.wrap(dispatch(op, tuple(level.peel(value) for value in args)), op)


@rule(*_ONE_MATRIX.split())
def on_all_matrices(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The op on the batch of matrices; an example that is no matrix is refused as it is outside, and not taken for a row of one."""
    return (on_the_whole if args[0]._array.ndim > 1 else each_example)(level, op, args)


@rule("linalg_qr")
def factored(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Orthogonal and triangular factors; of the former nothing, where it was not asked for."""
    if args[0]._array.ndim < 2:
        return each_example(level, op, args)
    first, second = dispatch(op, (level.peel(args[0]), args[1]))
    if args[1] == "r":
        first = first.reshape(1, 0).expand(level.size, 0)
    return level.wrap((first, second), op)


@rule("matrix_rank_within", "pinv_within")
def within_tolerance(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The matrices may be batched; tolerances that are go one by one."""
    whole = level.holds(args[0]) and not any(map(level.holds, args[1:])) and args[0]._array.ndim > 1
    return (on_the_whole if whole else each_example)(level, op, args)


@rule("complex", "polar")
def pointwise(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Ops whose tensors broadcast."""
    return level.wrap(dispatch(op, level.aligned(op, args)))


@rule("copy")
def overwritten(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Ops that broadcast into the shape of their first tensor, which is repeated for every example."""
    if args[0]._array.ndim < max(v._array.ndim for v in args if hasattr(v, "_array")):
        return each_example(level, op, args)
    return pointwise(level, op, (level.wrap(level.lift(args[0])), *args[1:]))


@rule("masked_fill")
def filled_by_mask(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The same; a value for each example is a choice between two tensors."""
    input, mask, value = args
    if level.holds(value) and input._array.ndim >= max(mask._array.ndim, value._array.ndim):
        return level.inside(lambda: table["where"].call(mask, value.to(input.dtype), input))
    return overwritten(level, op, args)


@decomposed("fill")
def _fill(input: Any, value: Any) -> Any:
    if isinstance(value, (int, float, complex)):
        return table["full_like"].call(input, value)
    return table["copy"].call(input, value)


@rule("euclidean_distances", "solve_system", "linalg_solve_triangular", "cholesky_solve")
def on_matrices(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Ops on pairs of matrices whose leading dimensions broadcast."""
    pair = args[:2]
    if min(each._array.ndim for each in pair) < 2:
        return each_example(level, op, args)
    rank = max(each._array.ndim for each in pair)
    values = [padded(level.lift(each), rank - each._array.ndim) for each in pair]
    return level.wrap(dispatch(op, (*values, *args[2:])), op)


# -- along dimensions --------------------------------------------------------------------------------------------


class Along:
    """Ops that work along some of their dimensions: the others are a batch already, and one more makes no difference.

    ``dims`` names the parameters that hold dimensions, counted in the first tensor, or in ``shape`` where there is such a
    parameter; ``extra`` is by how many dimensions the result that they are counted in is larger.
    """

    def __init__(self, dims: str, extra: int = 0) -> None:
        self.dims = dims.split()
        self.extra = extra

    def __call__(self, level: Level, op: Op, args: tuple[Any, ...]) -> Any:
        named = {parameter.name: value for parameter, value in zip(op.parameters, args)}
        tensors = [args[position] for position, _ in op.tensor_positions if args[position] is not None]
        shape = named.get("shape")
        rank = len(shape) if shape is not None else tensors[0]._array.ndim
        uneven = hasattr(named.get("index"), "_array") and len({each._array.ndim for each in tensors if hasattr(each, "_array")}) > 1
        if (not rank and not self.extra) or uneven:
            return each_example(level, op, args)
        rank += self.extra
        values = list(args)
        for position, parameter in enumerate(op.parameters):
            value = args[position]
            if parameter.name in self.dims:
                values[position] = shifted(value, rank)
            elif parameter.name == "shape":
                values[position] = (level.size, *value)
            elif parameter.kind != "value" and hasattr(value, "_array"):
                values[position] = level.lift(value)
        return level.wrap(dispatch(op, tuple(values)), op)


def shifted(dims: Any, rank: int) -> Any:
    """Dimensions (or all, for None) of an example as dimensions of the batch."""
    if dims is None:
        return tuple(range(1, rank + 1))
    if isinstance(dims, (tuple, list)):
        return tuple(normalize_dim(dim, rank) + 1 for dim in dims)
    return normalize_dim(dims, rank) + 1


_ALONG = {
    "dim": """
        slice slice_copy slice_backward slice_scatter select select_copy select_backward select_scatter unbind unbind_copy
        split_with_sizes split_with_sizes_copy split_evenly unsafe_split_with_sizes gather gather_backward scatter_elements
        scatter_add scatter_reduce cumsum cumsum_reversed cumprod logcumsumexp cummax cummin shift linear_recurrence softmax
        log_softmax softmax_backward log_softmax_backward sort argsort topk kthvalue median_dim nanmedian_dim mode max_dim
        min_dim placed reduction_backward
    """,
    "dims": "standardize standardize_backward fourier to_half from_half",
    "dim0 dim1": "transpose transpose_copy",
    "dim1 dim2": "diagonal diagonal_copy diagonal_backward diagonal_scatter",
    "dimension": "unfold unfold_copy unfold_backward",
}
for _dims, _names in _ALONG.items():
    rule(*_names.split())(Along(_dims))
rule("unsqueeze", "unsqueeze_copy")(Along("dim", extra=1))
rule("diag_embed")(Along("dim1 dim2", extra=1))
rule("vector_norm", "var_correction", "std_correction", "var_mean_correction", "logsumexp", "aminmax", "argmax", "argmin")(reduce)


def _places(value: Any, dims: Any) -> list[int]:
    """Dimensions of an example as dimensions of the batch."""
    return [each + 1 for each in normalize_dims(dims, value._array.ndim, empty_is_all=False)]


@rule("flip")
def flipped(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Dimensions reversed, given one by one."""
    value, dims = args
    return level.wrap(dispatch(op, (level.peel(value), tuple(_places(value, dims)))))


@rule("permute", "permute_copy")
def permuted(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """All dimensions in another order; the batch stays in front."""
    value, dims = args
    if len(dims) != value._array.ndim:
        return each_example(level, op, args)  # which raises the error
    return level.wrap(dispatch(op, (level.peel(value), (0, *_places(value, dims)))))


def _transposed(name: str, by: str) -> None:
    @rule(name)
    def transposed(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
        """The transpose of a matrix; vectors and scalars stay."""
        if args[0]._array.ndim > 2:
            return each_example(level, op, args)
        ends = (1, 2) if args[0]._array.ndim == 2 else (0, 0)
        return level.wrap(dispatch(table[by], (level.peel(args[0]), *ends)))


_transposed("t", "transpose")
_transposed("t_copy", "transpose_copy")


@rule("squeeze", "squeeze_copy")
def squeezed(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Dimensions of size 1 left out, but not the batch."""
    value, dim = args
    dims = normalize_dims(dim, value._array.ndim, empty_is_all=False)
    return level.wrap(dispatch(op, (level.peel(value), tuple(each + 1 for each in dims if each < value._array.ndim))))


@rule("roll")
def rolled(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Without dimensions, all elements are one line."""
    value, shifts, dims = args
    shape, batch = tuple(value._array.shape), level.peel(value)
    if not shape:
        return each_example(level, op, args)
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        return level.wrap(dispatch(op, (batch.reshape(level.size, math.prod(shape)), shifts, 1)).reshape((level.size, *shape)))
    return level.wrap(dispatch(op, (batch, shifts, shifted(dims, len(shape)))))


decomposed("max_all")(lambda input: table["amax"].call(input))
decomposed("min_all")(lambda input: table["amin"].call(input))


def _median(name: str, along: str) -> None:
    @rule(name)
    def median(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
        """The median of all elements is that of the flattened tensor along its one dimension."""
        if not args[0]._array.size:
            return each_example(level, op, args)
        return level.wrap(dispatch(table[along], (level.peel(args[0]).reshape(level.size, args[0]._array.size), 1, False))[0])


_median("median_all", "median_dim")
_median("nanmedian_all", "nanmedian_dim")


# -- other shapes ------------------------------------------------------------------------------------------------


@rule("view_shape", "reshape_copy")
def reshaped(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Another shape for every example."""
    value, shape = args
    wanted = infer_size(shape, value._array.size)
    return level.wrap(dispatch(op, (level.peel(value), (level.size, *wanted))))


@rule("view_dtype")
def read_as(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The same bytes as another type; a scalar stays one."""
    if not args[0]._array.ndim:
        return each_example(level, op, args)
    return on_the_whole(level, op, args)


@rule("expand", "expand_copy")
def expanded(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Dimensions of size 1, and new ones in front, repeated."""
    value, size = args
    extra = len(size) - value._array.ndim
    if extra < 0:
        return each_example(level, op, args)
    if any(each == -1 for each in size[:extra]):
        expand(table["empty"].call(value._array.shape), size)  # raises the error
    return level.wrap(dispatch(op, (padded(level.peel(value), extra), (level.size, *size))))


@rule("repeat")
def repeated(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Examples repeated along their dimensions, and along new ones in front."""
    value, repeats = args
    extra = len(repeats) - value._array.ndim
    if extra < 0:
        return each_example(level, op, args)
    return level.wrap(dispatch(op, (padded(level.peel(value), extra), (1, *repeats))))


@rule("lay_out")
def laid_out(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """A copy whose examples have the given strides, one after the other."""
    value, strides = args
    step = 1 + sum((size - 1) * each for size, each in zip(value._array.shape, strides))
    return level.wrap(dispatch(op, (level.peel(value), (max(step, 1), *strides))))


@rule("as_strided")
def by_strides(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """A view by strides of every example; the offset is that of the first one's."""
    value, size, stride, offset = args[:4]
    batch = level.peel(value)
    return level.wrap(table["as_strided"].call(batch, (level.size, *size), (batch.stride(0), *stride), offset))


@rule("strided_view")
def by_strides_from_here(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """The same with an offset from the tensor's own."""
    value, size, stride, offset = args[:4]
    return by_strides(level, op, (value, size, stride, offset + level.peel(value).storage_offset()))


def _viewed_in_place(name: str, view: str) -> None:
    @rule(name)
    def become(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
        """A tensor takes the shape of a view of itself."""
        seen = level.inside(table[view].call, *args)
        args[0]._array, args[0]._value = seen._array, seen._value
        return args[0]


_viewed_in_place("unsqueeze_", "unsqueeze")
_viewed_in_place("squeeze_", "squeeze")
_viewed_in_place("transpose_", "transpose")
_viewed_in_place("t_", "t")
_viewed_in_place("as_strided_", "as_strided")


@rule("new_zeros", "new_ones", "new_empty", "new_full")
def made(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """A new tensor beside a batched one is batched: it will be written to by the examples."""
    names = [parameter.name for parameter in op.parameters]
    values = list(args)
    where = names.index("size")
    size = args[where]
    values[where] = (level.size, *(size if isinstance(size, (tuple, list)) else (size,)))
    values[0] = level.peel(args[0])
    return level.wrap(dispatch(op, tuple(values)))


# -- lists of tensors --------------------------------------------------------------------------------------------


@rule("cat")
def joined(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Tensors one behind the other; empty vectors among others count for nothing, as in PyTorch."""
    tensors, dim = args
    ranks = {each._array.ndim for each in tensors}
    if len(ranks) > 1:
        tensors = [each for each in tensors if tuple(each._array.shape) != (0,)]
        if len({each._array.ndim for each in tensors}) > 1:
            return each_example(level, op, args)
    rank = tensors[0]._array.ndim
    if not rank:
        return each_example(level, op, args)
    return level.wrap(cat([level.lift(each) for each in tensors], normalize_dim(dim, rank) + 1))


@rule("stack")
def stacked(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Tensors of one shape along a new dimension."""
    tensors, dim = args
    place = normalize_dim(dim, tensors[0]._array.ndim + 1) + 1
    return level.wrap(stack([level.lift(each) for each in tensors], place))


__all__ = ["Along", "decomposed", "on_the_whole", "rule", "shifted"]
