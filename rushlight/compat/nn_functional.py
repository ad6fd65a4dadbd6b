"""Private names of `torch.nn.functional`: the steps of multi-head attention, and checks that layers of other people call."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.declare import exports
from ..nn import _reduction as _Reduction
from ..nn import functional as F
from ..nn.modules.utils import _list_with_default, _pair, _single, _triple
from ..overrides import handle_torch_function, has_torch_function, has_torch_function_unary, has_torch_function_variadic
from .jit_internal import boolean_dispatch


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    return exports["nn.functional", "linear"](x, weight, bias)


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> list[Any]:
    """Query, key and value by one weight of three parts; one product where they are the same tensor."""
    size = q.size(-1)
    if k is v:
        if q is k:
            made = _linear(q, w, b)
            made = made.unflatten(-1, (3, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return [made[0], made[1], made[2]]
        w_q, w_kv = w.split([size, size * 2])
        b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
        both = _linear(k, w_kv, b_kv).unflatten(-1, (2, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return [_linear(q, w_q, b_q), both[0], both[1]]
    weights = w.chunk(3)
    biases = (None, None, None) if b is None else b.chunk(3)
    return [_linear(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases)]


def _in_projection(
    q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None, b_v: Any = None
) -> tuple[Any, Any, Any]:
    """Query, key and value by a weight each."""
    size, key_size, value_size = q.size(-1), k.size(-1), v.size(-1)
    for weight, wanted in ((w_q, size), (w_k, key_size), (w_v, value_size)):
        if tuple(weight.shape) != (size, wanted):
            raise AssertionError(f"expecting weights shape of {(size, wanted)}, but got {tuple(weight.shape)}")
    return _linear(q, w_q, b_q), _linear(k, w_k, b_k), _linear(v, w_v, b_v)


def _mha_shape_check(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether the input of multi-head attention is a batch; raise where sizes do not fit."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    batched = query.dim() == 3
    how = "batched (3-D)" if batched else "unbatched (2-D)"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {how} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {how} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {how} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    if not batched and attn_mask is not None and attn_mask.dim() == 3:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {tuple(attn_mask.shape)}")
    return batched


def _none_or_dtype(input: Any) -> Any:
    """The type of the elements of a tensor, or None."""
    if input is None or hasattr(input, "dtype"):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True) -> Any:
    """A mask as numbers to add: minus infinity where a mask of bools is True."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    is_bool = str(mask.dtype).endswith("bool")
    if not is_bool and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=2)
    return mask if is_float else exports["", "zeros_like"](mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_key_padding_mask(key_padding_mask: Any, src_len: int, bsz: int) -> None:
    """Raise where a mask of padding does not fit a batch."""
    for axis, wanted in enumerate((bsz, src_len)):
        if key_padding_mask.size(axis) != wanted:
            raise AssertionError(f"Expected key_padded_mask.shape[{axis}] to be {wanted}, but got {key_padding_mask.size(axis)}")


def _verify_batch_size(size: list[int]) -> None:
    """Raise where batch statistics would be of one value per channel."""
    count = size[0]
    for each in size[2:]:
        count *= each
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: list[int]) -> None:
    """Raise where statistics of an instance would be of one value."""
    count = 1
    for each in size[2:]:
        count *= each
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that softmax takes where none is named: the older rule of PyTorch's, with its warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.", stacklevel=stacklevel
    )
    return 0 if ndim in (0, 1, 3) else 1


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Raise where an argument is neither a number nor a pair."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


__all__ = [
    "_Reduction", "_list_with_default", "_pair", "_single", "_triple", "boolean_dispatch", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic",
]  # fmt: skip
