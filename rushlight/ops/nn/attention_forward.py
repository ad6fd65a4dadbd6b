"""Attention with several heads, as one function: projections, masks, attention, projection."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import OperationError
from ...core.symbolic import sqrt
from .attention import scaled_dot_product_attention

_MINUS_INFINITY = float("-inf")


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether there is a batch dimension; an error where the dimensions do not fit together."""
    dims = query.dim()
    _check(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = f"{'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`"
    _check(
        key.dim() == dims and value.dim() == dims,
        f"For {kind}, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if key_padding_mask is not None:
        _check(
            key_padding_mask.dim() == dims - 1,
            f"For {kind}, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _check(
            attn_mask.dim() in (2, 3),
            f"For {kind}, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _check(
                tuple(attn_mask.shape) == expected,
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
            )
    return bool(dims == 3)


def canonical_mask(mask: Any, name: str, other: Any, other_name: str, dtype: Any, check_other: bool = True) -> Any:
    """A mask as numbers to add to the scores: minus infinity where a mask of booleans is true."""
    if mask is None:
        return None
    is_bool = mask._array.dtype.kind == "b"
    _check(is_bool or mask.is_floating_point(), f"only bool and floating types of {name} are supported")
    if check_other and other is not None and other._array.dtype != mask._array.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
    if not is_bool:
        return mask
    return table["zeros_like"].call(mask, dtype=dtype).masked_fill_(mask, _MINUS_INFINITY)


def _projected(query: Any, key: Any, value: Any, weights: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Queries, keys and values, with one matrix product where they come from the same tensor."""
    linear = table["linear"].call
    if isinstance(weights, (tuple, list)):
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        return tuple(linear(each, w, b) for each, w, b in zip((query, key, value), weights, biases))  # type: ignore[return-value]
    width = query.shape[-1]
    if query is key and key is value:
        return linear(query, weights, bias).split(width, -1)  # type: ignore[no-any-return]
    if key is value:
        first, rest = weights.split([width, 2 * width])
        first_bias, rest_bias = (None, None) if bias is None else bias.split([width, 2 * width])
        keys, values = linear(key, rest, rest_bias).split(width, -1)
        return linear(query, first, first_bias), keys, values
    return _projected(query, key, value, weights.chunk(3), bias)


def _attention_mask(attn_mask: Any, batch: int, heads: int, length: int, source: int) -> Any:
    """The mask with a dimension for batch and heads."""
    if attn_mask.dim() == 2:
        if tuple(attn_mask.shape) != (length, source):
            raise OperationError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(length, source)}.")
        return attn_mask.unsqueeze(0)
    if tuple(attn_mask.shape) != (batch * heads, length, source):
        raise OperationError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(batch * heads, length, source)}.")
    return attn_mask


def _split_heads(tensor: Any, batch: int, heads: int) -> Any:
    """(length, batch, heads * size) as (batch * heads, length, size)."""
    length, _, width = tensor.shape
    return tensor.reshape(length, batch * heads, width // heads).transpose(0, 1)


def _given(static: Any, name: str, heads: int, size: int) -> Any:
    """Keys or values that were projected before."""
    _check(static.size(0) == heads, f"expecting {name}.size(0) of {heads}, but got {static.size(0)}")
    _check(static.size(2) == size, f"expecting {name}.size(2) of {size}, but got {static.size(2)}")
    return static


def _padded(mask: Any) -> Any:
    """A mask with one more source, which is not masked."""
    return None if mask is None else table["pad"].call(mask, (0, 1))


@composite(namespace="nn.functional", name="multi_head_attention_forward")
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> Any:  # fmt: skip
    """Attention with several heads over (length, batch, width): the output, and the weights of attention (or None)."""
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same_key, same_value = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    source = key.shape[0]
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise OperationError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint says as much
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = False
    _check(width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    size = width // num_heads
    _check(size * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _check(
            tuple(key.shape[:2]) == tuple(value.shape[:2]),
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        for name, each in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            _check(each is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
        projected = _projected(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        _check(tuple(key.shape) == tuple(value.shape), f"key shape {key.shape} does not match value shape {value.shape}")
        _check(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        projected = _projected(query, key, value, in_proj_weight, in_proj_bias)
    queries, keys, values = projected
    if attn_mask is not None:
        attn_mask = _attention_mask(attn_mask, batch, num_heads, length, source)
    if bias_k is not None and bias_v is not None:
        _check(static_k is None and static_v is None, "bias cannot be added to static key or value.")
        keys = table["cat"].call([keys, bias_k.repeat(1, batch, 1)])
        values = table["cat"].call([values, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _padded(attn_mask), _padded(key_padding_mask)
    queries = _split_heads(queries, batch, num_heads)
    rows = batch * num_heads
    keys = _split_heads(keys, batch, num_heads) if static_k is None else _given(static_k, "static_k", rows, size)
    values = _split_heads(values, batch, num_heads) if static_v is None else _given(static_v, "static_v", rows, size)
    if add_zero_attn:
        zeros = table["zeros"].call((rows, 1, size), dtype=keys.dtype, device=keys.device)
        keys, values = table["cat"].call([keys, zeros], 1), table["cat"].call([values, zeros], 1)
        attn_mask, key_padding_mask = _padded(attn_mask), _padded(key_padding_mask)
    source = keys.shape[1]
    if key_padding_mask is not None:
        for dim, expected in enumerate((batch, source)):
            found = key_padding_mask.shape[dim]
            _check(found == expected, f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got {found}")
        spread = key_padding_mask.reshape(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(rows, 1, source)
        attn_mask = spread if attn_mask is None else attn_mask + spread
    dropout = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (queries * sqrt(1.0 / size)) @ keys.transpose(-2, -1)
        weights = (scores if attn_mask is None else scores + attn_mask).softmax(-1)
        if dropout > 0:
            weights = table["dropout"].call(weights, dropout, True)
        attended = weights @ values
        weights = weights.reshape(batch, num_heads, length, source)
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        if attn_mask is not None:
            attn_mask = attn_mask.unsqueeze(0) if attn_mask.shape[0] == 1 else attn_mask.reshape(batch, num_heads, -1, source)
        queries, keys, values = (each.reshape(batch, num_heads, each._array.shape[1], size) for each in (queries, keys, values))
        attended = scaled_dot_product_attention(queries, keys, values, attn_mask, dropout, is_causal).reshape(rows, length, size)
    joined = attended.transpose(0, 1).reshape(length * batch, width)
    output = table["linear"].call(joined, out_proj_weight, out_proj_bias).reshape(length, batch, out_proj_weight._array.shape[0])
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)
