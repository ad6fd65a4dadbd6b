"""Private functions of `torch` that libraries call."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.declare import exports, table
from ..core.dtypes import BY_NAME
from ..core.errors import ArgumentError, NotSupported
from ..core.in_place import overlaps_itself
from ..core.lazy_views import memory_of
from ..tensor.construct import tensor


def _shape_as_tensor(self: Any) -> Any:
    """The sizes of a tensor as a tensor."""
    return tensor(list(self.shape), dtype=BY_NAME["int64"])


def _dim_arange(like: Any, dim: int) -> Any:
    """The positions along a dimension of a tensor."""
    return exports["", "arange"](like.size(dim), device=like.device)


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    benchmark: bool, deterministic: bool, cudnn_enabled: bool, allow_tf32: bool = True,
) -> Any:  # fmt: skip
    """A convolution, with what only other devices look at."""
    return exports["", "convolution"](input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def all_true(input: Any) -> bool:
    """Whether every element is true; a capture calls this natively, and later runs of its graph check the answer."""
    return bool(input.all())


def _assert_async(input: Any, assert_msg: str = "") -> None:
    """Raise where the one element of a tensor is zero."""
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'more than one value' if input.numel() else 'no values'} is ambiguous")
    if not input.is_meta and not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of softmax, from its result."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _amp_update_scale_(
    self: Any, growth_tracker: Any, found_inf: Any, scale_growth_factor: float, scale_backoff_factor: float, growth_interval: int
) -> Any:
    """Change the scale of a loss by whether infinite gradients were found."""
    with no_grad():
        if bool(found_inf):
            self.mul_(scale_backoff_factor)
            growth_tracker.zero_()
        elif int(growth_tracker) + 1 == growth_interval:
            grown = self * scale_growth_factor
            if bool(grown.isfinite()):
                self.copy_(grown)
            growth_tracker.zero_()
        else:
            growth_tracker.add_(1)
    return self


def _conj(input: Any) -> Any:
    """The conjugate view of a complex tensor."""
    return table["conj_view"].call(input)


def _conj_physical(input: Any) -> Any:
    """The conjugate, computed at once."""
    return table["conj_physical"].call(input)


def _neg_view(input: Any) -> Any:
    """The memory of a tensor, read negated."""
    return table["neg_view"].call(input)


def _unique(input: Any, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, Any]:
    """The unique elements, and where each element is among them (empty where that is not asked for)."""
    found, inverse, _ = table["unique_slices"].call(input, None, return_inverse, False)
    return found, inverse


def _unique2(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Any, Any, Any]:
    """The unique elements, where each element is among them, and how often each occurs."""
    return tuple(table["unique_slices"].call(input, None, return_inverse, return_counts))  # type: ignore[return-value]


def _aminmax(input: Any, dim: int | None = None, keepdim: bool = False) -> tuple[Any, Any]:
    """The least and the greatest element."""
    return tuple(table["aminmax"].call(input, dim=dim, keepdim=keepdim))  # type: ignore[return-value]


def _debug_has_internal_overlap(input: Any) -> int:
    """0 where no elements share memory, 1 where some do, 2 where that is not known."""
    array = memory_of(input._array)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return 0
    if overlaps_itself(array):
        return 1
    return 2  # PyTorch looks no further at memory with gaps


def _scaled_mm(
    self: Any, mat2: Any, scale_a: Any, scale_b: Any, bias: Any = None, scale_result: Any = None, out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """The product of matrices of 8-bit floating-point numbers with their scales (of a tensor, or of rows and columns), summed in float32."""
    if self.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError("mat1 and mat2 must be matrices")
    made = (self.float() * scale_a) @ (mat2.float() * scale_b)
    made = made if bias is None else made + bias.float()
    made = made if scale_result is None else made * scale_result
    return made.to(self.dtype if out_dtype is None else out_dtype)


_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}  # what a reduction of nothing gives


def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0, unsafe: bool = False,
    initial: Any = None,
) -> Any:  # fmt: skip
    """Sums, means, products, largest or smallest elements of segments along a dimension; those before it have segments of their own."""
    if not isinstance(reduce, str):
        raise ArgumentError(f"segment_reduce(): argument 'reduce' (position 2) must be str, not {type(reduce).__name__}")
    if reduce not in _EMPTY:
        raise RuntimeError(f"unsupported reduction given! {reduce}")
    if indices is not None:
        raise NotSupported("segment_reduce(indices=...): indices based reduction is not supported yet")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if data.dim() <= axis or (lengths if lengths is not None else offsets).dim() != axis + 1:
        raise RuntimeError(f"segment_reduce(): Expected lengths or offsets of {axis + 1} dimensions, for segments along dimension {axis}")
    if lengths is None:
        starts = offsets.narrow(axis, 0, offsets.shape[axis] - 1)
        lengths = offsets.diff(dim=axis)
    else:
        starts = lengths.cumsum(axis) - lengths
    size = data.shape[axis]
    if not unsafe and lengths.numel() and bool((lengths < 0).any()):
        raise RuntimeError("lengths contains negative value!")
    if not unsafe and bool((lengths.sum(axis) != size).any()):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
    # The number of the segment that each element is in: the first that ends behind it.
    ends = (starts + lengths).contiguous()
    places = exports["", "arange"](size, dtype=ends.dtype, device=ends.device).expand(*ends.shape[:axis], size).contiguous()
    number = exports["", "searchsorted"](ends, places, right=True)
    inside = number < ends.shape[axis]
    number = number.clamp(max=max(ends.shape[axis] - 1, 0))
    covered = inside & (places >= starts.gather(axis, number)) if ends.shape[axis] else inside
    behind = (slice(None),) * (axis + 1) + (None,) * (data.dim() - axis - 1)
    shape = (*data.shape[:axis], lengths.shape[axis], *data.shape[axis + 1 :])
    start = data.new_full(shape, _EMPTY[reduce] if initial is None else initial)
    how = {"max": "amax", "min": "amin", "mean": "sum"}.get(reduce, reduce)
    kept = data if bool(covered.all()) else data.where(covered[behind], data.new_tensor(_EMPTY[reduce]))
    made = start.scatter_reduce(axis, number[behind].expand(data.shape), kept, how, include_self=True)
    if reduce != "mean":
        return made
    counts = lengths[behind].to(data.dtype)
    means = made / counts.clamp(min=1)
    return means if initial is not None else means.masked_fill(counts == 0, math.nan)


_segment_reduce = segment_reduce


def _removed(name: str, instead: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed. `torch.{name}` is deprecated in favor of {instead}"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


symeig = _removed("symeig", "`torch.linalg.eigh`")
eig = _removed("eig", "`torch.linalg.eig`")
matrix_rank = _removed("matrix_rank", "`torch.linalg.matrix_rank`")
lstsq = _removed("lstsq", "`torch.linalg.lstsq`")
solve = _removed("solve", "`torch.linalg.solve`")


def _cast(name: str) -> Any:
    def cast(input: Any, non_blocking: bool = False) -> Any:
        return input.to(BY_NAME[name])

    cast.__name__ = cast.__qualname__ = f"_cast_{name}"
    return cast


_cast_Long, _cast_Float, _cast_Double, _cast_Half = map(_cast, ("int64", "float32", "float64", "float16"))
_cast_Int, _cast_Short, _cast_Char, _cast_Byte = map(_cast, ("int32", "int16", "int8", "uint8"))


def _has_compatible_shallow_copy_type(input: Any, from_: Any) -> bool:
    """Whether ``tensor.data = other`` can take another's memory: tensors of the same kind."""
    return bool(input.layout == from_.layout and input.device.type == from_.device.type)


def _addmm_activation(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False, out: Any = None) -> Any:
    """A product with a sum, and an activation of it."""
    made = exports["", "addmm"](input, mat1, mat2, beta=beta, alpha=alpha)
    made = exports["nn.functional", "gelu"](made) if use_gelu else made.relu()
    return made if out is None else out.resize_(made.shape).copy_(made)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any, layout: Any, check_pinning: bool = True
) -> None:
    """Raise where the parts of a compressed tensor do not fit together."""
    exports["", "sparse_compressed_tensor"](compressed_indices, plain_indices, values, size, layout=layout, check_invariants=True)


def _sparse_broadcast_to(self: Any, size: Any) -> Any:
    """A sparse tensor with dimensions of size 1, or none, repeated."""
    return self.to_dense().broadcast_to(tuple(size)).to_sparse()


def _masked_softmax(input: Any, mask: Any, dim: int | None = None, mask_type: int | None = None) -> Any:
    """Softmax with what a mask marks left out; ``mask_type`` 0 is a mask of (L, L) for all heads, 1 one of (B, L), 2 of the input's shape."""
    length = input.shape[-1]
    if mask_type == 0:
        if tuple(mask.shape) != (length, length):
            raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
    elif mask_type == 1:
        if tuple(mask.shape) != (input.shape[0], length):
            raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
        mask = mask.reshape(input.shape[0], *(1,) * (input.dim() - 2), length)
    return input.masked_fill(mask, float("-inf")).softmax(input.dim() - 1 if dim is None else dim)
