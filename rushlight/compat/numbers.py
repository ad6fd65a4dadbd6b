"""Private functions of `torch` that libraries call."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.declare import table
from ..core.dtypes import BY_NAME
from ..core.lazy_views import memory_of
from ..core.overlap import overlaps_itself
from ..tensor.construct import tensor


def _shape_as_tensor(self: Any) -> Any:
    """The sizes of a tensor as a tensor."""
    return tensor(list(self.shape), dtype=BY_NAME["int64"])


def _assert_async(input: Any, assert_msg: str = "") -> None:
    """Raise where the one element of a tensor is zero."""
    if input.numel() != 1:
        raise RuntimeError("Expected Tensor with single value, but got Tensor with size " + str(input.numel()))
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
    steps = sorted((abs(step), size) for step, size in zip(array.strides, array.shape) if size > 1)
    reached = array.itemsize
    for step, size in steps:
        if step < reached:
            return 2
        reached = step * size
    return 0
