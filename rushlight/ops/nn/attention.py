"""Attention."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.devices import CPU, META, device_of, sole_accelerator
from ...core.dtypes import bool_, c_name
from ...core.errors import NotSupported, OperationError, ShapeError
from ...core.families import broadcast_shapes
from ...core.fast_paths import shortcuts
from ...core.kernel_providers import compiled, faster
from ...core.parallel import over_rows
from ...core.recording import differentiate_body
from ...core.state import flags, state
from ...core.symbolic import sqrt
from ...core.upcast import computed_in_single, in_single
from ..reduce.sums import sum_axes
from . import attention_onnx as onnx_forms
from .softmax import near_zero

MANY_WEIGHTS = 1 << 22  # that are not kept for the gradient, but computed again: a sequence of 2,048 has as many for each head
BLOCK_OF_WEIGHTS = 1 << 21  # that are computed at a time


def _scores(query: Any, key: Any, mask: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    """Scaled products of queries and keys with what is masked at -inf, and which rows may attend to nothing."""
    if causal:
        length, source = query._array.shape[-2], key._array.shape[-2]
        mask = table["ones"].call(length, source, dtype=bool_, device=query.device).tril()
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask is None:
        return scores, None
    if mask._array.dtype.kind == "b":
        return scores.masked_fill(~mask, float("-inf")), ~mask.any(-1, True)
    return (scores + mask).to(scores.dtype), (mask == float("-inf")).all(-1, True)  # a wider mask does not make wider weights


def _weights(query: Any, key: Any, mask: Any, causal: bool, scale: float) -> Any:
    scores, empty = _scores(query, key, mask, causal, scale)
    if empty is None:
        return scores.softmax(-1)
    return scores.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)  # filled before, too: the derivative of a row of -inf is nan


def _attention_meta(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> list[Spec]:
    batch = broadcast_shapes([tuple(each.shape[:-2]) for each in (query, key, value)])
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: shapes {list(query.shape)}, {list(key.shape)} and {list(value.shape)} do not fit together"
        )
    if mask is not None:
        broadcast_shapes([tuple(mask.shape), (*batch, query.shape[-2], key.shape[-2])])
    rows = (*broadcast_shapes([tuple(query.shape[:-2]), tuple(key.shape[:-2])]), query.shape[-2])
    return [Spec((*batch, query.shape[-2], value.shape[-1]), query.dtype), Spec((*rows, key.shape[-2]), query.dtype)]


def _in_parts(task: Any, arrays: list[Any], work: int) -> None:
    """``task(slice of the batch)``: on several threads where arrays have the same first dimension, to be cut there."""
    count = len(arrays[0])
    if (
        arrays[0].__class__ is not np.ndarray
        or arrays[0].ndim < 3
        or any(each.ndim != arrays[0].ndim or len(each) != count for each in arrays)
    ):
        task(...)
        return
    over_rows(lambda start, end: task(slice(start, end)), count, arrays[-1].size, work)


def _attention_kernel(xp: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> list[Any]:
    """The output and the weights; of many, no weights are kept, and those of some rows computed at a time."""
    specs = _attention_meta(query, key, value, mask, causal, scale)
    if xp is not np or specs[1].size < MANY_WEIGHTS:
        return _whole_attention(xp, query, key, value, mask, causal, scale)  # type: ignore[no-any-return]
    output = _native("attention.output", query, key, value, mask, causal, scale)
    if output is not None:
        return [output, np.empty(0, query.dtype)]
    output = np.empty(specs[0].shape, specs[0].dtype)
    for rows, columns, masked in _blocks(specs[1].shape, mask, causal):
        part = _attention_of(np, query[..., rows, :], key[..., columns, :], value[..., columns, :], masked, False, scale)
        output[..., rows, :] = part[0]
    return [output, np.empty(0, query.dtype)]


def _native(name: str, first: Any, *args: Any) -> Any:
    """What native code computes of a long sequence, block by block in the cache; None where it does not take these arguments."""
    return faster(name, first, *args) if first.dtype.char in "fd" else None


def _blocks(shape: tuple[int, ...], mask: Any, causal: bool) -> Iterator[tuple[slice, slice, Any]]:
    """Rows of a matrix of weights that are computed at a time, the columns that they need, and the mask of those."""
    *batch, length, source = shape
    step = max(1, BLOCK_OF_WEIGHTS // (math.prod(batch) * source))
    for start in range(0, length, step):
        end = min(start + step, length)
        if causal:
            columns = min(source, end)
            yield slice(start, end), slice(columns), np.tri(end - start, columns, start, dtype=bool)
        else:
            own = mask if mask is None or mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., start:end, :]
            yield slice(start, end), slice(None), own


@compiled("attention")
def _whole_attention(xp: Any, *args: Any) -> list[Any]:
    return _attention_of(xp, *args)


def _attention_of(xp: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> list[Any]:
    output, weights = [xp.empty(spec.shape, spec.dtype) for spec in _attention_meta(query, key, value, mask, causal, scale)]
    if causal:
        mask = xp.tri(*weights.shape[-2:], dtype=bool)

    def attend(part: Any) -> None:
        masked = mask[part] if mask is not None and mask.ndim == weights.ndim and len(mask) > 1 else mask
        made = weights[part]
        xp.matmul(query[part] * query.dtype.type(scale), key[part].swapaxes(-1, -2), out=made)
        _softmax_masked(xp, made, masked)
        xp.matmul(made, value[part], out=output[part])

    _in_parts(attend, [query, key, value, output, weights], 16 + query.shape[-1] // 2 + value.shape[-1] // 2)
    return [output, weights]


def _softmax_masked(xp: Any, weights: Any, mask: Any) -> None:
    """Turn scores into weights of attention, in place."""
    kind = weights.dtype.type
    chosen = mask is not None and mask.dtype.kind == "b"
    if mask is not None and not chosen:
        weights += mask.astype(weights.dtype, copy=False)
    if weights.size and xp is np and near_zero(xp, weights):
        xp.exp(weights, out=weights)
        if chosen:  # a product with zeros and ones is faster than filling in -inf
            weights *= mask.astype(weights.dtype)
    else:
        if chosen:
            xp.copyto(weights, kind(-np.inf), where=~mask)
        highest = xp.maximum.reduce(weights, axis=-1, keepdims=True, initial=-np.inf)
        weights -= xp.where(xp.isneginf(highest), kind(0), highest)
        xp.exp(weights, out=weights)
    total = sum_axes(xp, weights, (weights.ndim - 1,), True)
    weights *= 1 / xp.where(total == 0, kind(1), total)  # a row that may attend to nothing gives zeros


def _attention_gradient(needs: Any, g: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, weights: Any) -> Any:
    if state.grad_enabled or needs[3]:
        return differentiate_body(table["attention"], needs, g, (query, key, value, mask, causal, scale))
    made = (
        None
        if sole_accelerator.array_type is None
        else shortcuts("attention_gradients", g, query, key, value, weights, scale, causal, mask)
    )
    if made is not None:
        return (*made, None)
    # Weights that were not kept, or what a device keeps to compute them again, need the mask.
    if device_of(weights._array) in (CPU, META):
        kept = weights._array.ndim == query._array.ndim
        return (*attention_backward(g, query, key, value, weights if kept else None, scale, causal, *(() if kept else (mask,))), None)
    return (*attention_backward(g, query, key, value, weights, scale, causal, mask), None)


def _backward_meta(grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, causal: bool, mask: Any) -> list[Spec]:
    kept = weights is not None and len(weights.shape) == len(query.shape)
    shape = (weights if kept else _attention_meta(query, key, value, mask, causal, scale)[1]).shape
    return [
        Spec((*shape[:-1], key.shape[-1]), grad.dtype),
        Spec((*shape[:-2], shape[-1], query.shape[-1]), grad.dtype),
        Spec((*grad.shape[:-2], shape[-1], grad.shape[-1]), grad.dtype),
    ]


def _attention_backward_kernel(
    xp: Any, grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, causal: bool, mask: Any
) -> list[Any]:
    shape = _attention_meta(query, key, value, mask, causal, scale)[1].shape
    if xp is not np or weights is not None or math.prod(shape) < MANY_WEIGHTS:
        return _whole_backward(xp, grad, query, key, value, weights, scale, causal, mask)  # type: ignore[no-any-return]
    gradients = _native("attention_backward", grad, query, key, value, None, scale, causal, mask)
    if gradients is not None:
        return gradients  # type: ignore[no-any-return]
    made = [np.zeros(spec.shape, spec.dtype) for spec in _backward_meta(grad, query, key, value, weights, scale, causal, mask)]
    for rows, columns, masked in _blocks(shape, mask, causal):
        own = (query[..., rows, :], key[..., columns, :], value[..., columns, :])
        part = _attention_of(np, *own, masked, False, scale)[1]
        found = _backward_of(np, grad[..., rows, :], *own, part, scale, False, None)
        made[0][..., rows, :] = found[0]
        for total, one in zip(made[1:], found[1:]):
            total[..., columns, :] += one
    return made


@compiled("attention_backward")
def _whole_backward(xp: Any, *args: Any) -> list[Any]:
    return _backward_of(xp, *args)


def _backward_of(xp: Any, grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, causal: bool, mask: Any) -> list[Any]:
    if weights is None:
        weights = _attention_kernel(xp, query, key, value, mask, causal, scale)[1]
    specs = _backward_meta(grad, query, key, value, weights, scale, causal, mask)
    made = [xp.empty(spec.shape, spec.dtype) for spec in specs]

    def run(part: Any) -> None:
        given = weights[part]
        slope = xp.matmul(grad[part], value[part].swapaxes(-1, -2))
        slope -= xp.einsum("...j,...j->...", slope, given)[..., None]
        slope *= given
        slope *= query.dtype.type(scale)
        xp.matmul(slope, key[part], out=made[0][part])
        xp.matmul(slope.swapaxes(-1, -2), query[part], out=made[1][part])
        xp.matmul(given.swapaxes(-1, -2), grad[part], out=made[2][part])

    _in_parts(run, [query, key, value, grad, weights], 16 + query.shape[-1] + value.shape[-1])
    return made


@primitive(
    meta=_backward_meta,
    kernel=_attention_backward_kernel,
    vjp={},
    returns=("query", "key", "value"),
    namespace=None,
    method=False,
    out=False,
    notes="second derivatives go through the body of attention",
    onnx={9: onnx_forms.attention_backward},
)
def attention_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor | None, scale: float, causal: bool = False,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The gradients of queries, keys and values; ``causal`` says that weights above the diagonal are zeros.

    Weights that were not kept are computed again, with the mask.
    """


@composite(
    kernel=_attention_kernel,
    meta=_attention_meta,
    vjp=joint("query", "key", "value", "mask")(_attention_gradient),
    returns=("output", "weights"),
    nondifferentiable=("weights",),
    namespace=None,
    method=False,
    onnx={9: onnx_forms.attention},
)
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """Attention without dropout: the output and the weights."""
    weights = _weights(query, key, mask, causal, scale)
    return weights @ value, weights  # type: ignore[return-value]


# -- by the flash kernel of an accelerator ------------------------------------------------------------------------


def _flash_meta(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, dropout_p: float) -> list[Spec]:
    shape = tuple(query.shape)
    return [Spec((*shape[:-1], value.shape[-1]), query.dtype), Spec(shape[:-1], np.dtype(np.float32))]


def _flash_kernel(xp: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, dropout_p: float) -> list[Any]:
    raise NotSupported("flash attention: this device has no kernel for it")


def _flash_gradient(
    needs: Any, g: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, dropout_p: float, rows: Any
) -> Any:
    if state.grad_enabled or needs[3]:
        if dropout_p:
            raise NotSupported("scaled_dot_product_attention with dropout: the flash kernel's gradient has no gradient, nor a mask's")
        return differentiate_body(table["flash_attention"], needs, g, (query, key, value, mask, causal, scale, dropout_p))
    return (*flash_attention_backward(g, query, key, value, rows, mask, causal, scale), None)


@primitive(
    meta=lambda grad, query, key, value, rows, mask, causal, scale: [Spec(tuple(each.shape), grad.dtype) for each in (query, key, value)],
    kernel=_flash_kernel,
    vjp={},
    returns=("query", "key", "value"),
    namespace=None,
    method=False,
    out=False,
    onnx="it is called on accelerators alone, in eager mode",
)
def flash_attention_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, rows: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> Tensor:
    """The gradients of :func:`flash_attention`."""


@composite(
    kernel=_flash_kernel,
    meta=_flash_meta,
    vjp=joint("query", "key", "value", "mask")(_flash_gradient),
    returns=("output", "rows"),
    nondifferentiable=("rows",),
    namespace=None,
    method=False,
    onnx="it is called on accelerators alone, in eager mode",
)
def flash_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float, dropout_p: float) -> Tensor:
    """Attention with dropout, or of heads that share keys and values, without a matrix of weights: the output, and what the gradient needs of its rows."""
    return _through_weights(query, key, value, mask, dropout_p, causal, scale, True), query  # type: ignore[return-value]


def _by_flash(query: Any, key: Any, value: Any, mask: Any) -> bool:
    """Whether the accelerator there is has a kernel for heads that share keys and values, and for dropout."""
    if sole_accelerator.kind is None or flags.special or state.inference:
        return False
    arrays = [None if each is None else each._array for each in (query, key, value, mask)]
    takes = sole_accelerator.kind.shortcuts.get("takes_attention")
    return takes is not None and all(each is None or each.__class__ is sole_accelerator.array_type for each in arrays) and takes(*arrays)


def _attend(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, repeat: bool) -> Any:
    if is_causal and mask is not None:
        raise OperationError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    width = query._array.shape[-1]
    factor = (1 / sqrt(width) if width else 1.0) if scale is None else scale
    if (dropout_p or repeat and query._array.shape != key._array.shape) and dropout_p < 1 and _by_flash(query, key, value, mask):
        if mask is None or not mask._requires_grad:
            return flash_attention(query, key, value, mask, is_causal, factor, dropout_p)[0]
    if computed_in_single(query):
        return in_single(
            lambda query, key, value, mask: _through_weights(query, key, value, mask, dropout_p, is_causal, factor, repeat),
            query, key, value, mask,
        )  # fmt: skip
    return _through_weights(query, key, value, mask, dropout_p, is_causal, factor, repeat)


def _through_weights(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, causal: bool, factor: Any, repeat: bool) -> Any:
    """Attention with keys and values repeated for the heads that share them, and weights that dropout can take from."""
    if repeat:
        heads = query._array.shape[-3]
        key = key.repeat_interleave(heads // key._array.shape[-3], -3)
        value = value.repeat_interleave(heads // value._array.shape[-3], -3)
    if dropout_p == 0:
        return attention(query, key, value, mask, causal, factor)[0]
    weights = table["dropout"].call(_weights(query, key, mask, causal, factor), dropout_p, True)
    return weights @ value


@composite(namespace="nn.functional", name="scaled_dot_product_attention", onnx={23: onnx_forms.scaled_dot_product_attention})
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """``softmax(query @ key.T * scale + mask) @ value``."""
    if query._array.ndim < 2 or key._array.ndim < 2 or value._array.ndim < 2:
        raise ShapeError("scaled_dot_product_attention: all inputs must have at least 2 dimensions")
    if not query._array.dtype == key._array.dtype == value._array.dtype:
        raise OperationError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {c_name(query._array.dtype)} "
            f"key.dtype: {c_name(key._array.dtype)} and value.dtype: {c_name(value._array.dtype)} instead."
        )
    if attn_mask is not None and attn_mask._array.dtype not in (np.bool_, np.float32, query._array.dtype):
        raise OperationError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {attn_mask.dtype} and  "
            f"query.dtype: {query.dtype} instead."
        )
    if enable_gqa and query._array.ndim > 2:
        heads, keys, values = (each._array.shape[-3] for each in (query, key, value))
        if not keys or not values or heads % keys or heads % values:
            raise OperationError("Number of heads in key and value must divide the number of heads in query.")
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
