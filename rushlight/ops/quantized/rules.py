"""Which of the ops for all tensors also take quantized ones, and how: the facts of the ``quantized`` facet.

Ops that move elements move the integers.  Others are computed in real numbers and rounded to the input's quantizer (or, of
functions with a known range, to one that fits the range).  An op that is not named here refuses quantized tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.declare import Op
from ...core.dtypes import qint8, quint8
from ...core.errors import OperationError
from ...core.quantized import QuantizedArray, Quantizer, per_tensor, rules


class Rule:
    """How an op runs on quantized arrays.  ``rounds`` says that its result is rounded, which an exporter has to write down."""

    __slots__ = ("function", "rounds")

    def __init__(self, function: Callable[[Op, list[Any]], Any], rounds: bool) -> None:
        self.function = function
        self.rounds = rounds

    def __call__(self, op: Op, values: list[Any]) -> Any:
        return self.function(op, values)


def _first(values: list[Any]) -> Any:
    """The array whose quantizer the result has."""
    value = values[0][0] if isinstance(values[0], (list, tuple)) else values[0]
    if value.__class__ is not QuantizedArray:
        raise OperationError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float Tensor from a "
            "quantized Tensor"
        )
    return value


def _move(op: Op, values: list[Any]) -> Any:
    """Run the kernel as it is: it moves elements, whatever they are."""
    per_tensor(_first(values), op.public_name)
    return _keep(op, values)


def _keep(op: Op, values: list[Any]) -> Any:
    """The same where channels stay where they are."""
    source = _first(values)
    result = op.family.execute(op, np, [source.view(np.ndarray), *values[1:]])
    return source.moved(result) if op.returns is None else [source.moved(each) for each in result]


def _on_integers(op: Op, values: list[Any]) -> Any:
    """Run the kernel on the integers: their order is that of the real numbers."""
    source = _first(values)
    per_tensor(source, op.public_name)
    result = op.family.execute(op, np, [source.integers, *values[1:]])
    if op.returns is None:
        return source.like(result)
    return [source.like(each) if name not in op.nondifferentiable else np.asarray(each) for name, each in zip(op.returns, result)]


def _plain(value: Any) -> Any:
    """An argument with real numbers in the place of a quantized array."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.real_numbers if value.__class__ is QuantizedArray else value


def _on_reals(result: Quantizer | None = None, signed: Quantizer | None = None) -> Callable[[Op, list[Any]], Any]:
    """Run the kernel on real numbers and round to the input's quantizer, or to a fixed one (``signed``: that for qint8)."""

    def run(op: Op, values: list[Any]) -> Any:
        own = per_tensor(_first(values), op.public_name)
        made = op.family.execute(op, np, [_plain(each) for each in values])
        chosen = own if result is None else (signed if own.dtype is qint8 and signed is not None else result)
        return chosen.quantize(np.asarray(made, np.float32))

    return run


def _compare(op: Op, values: list[Any]) -> Any:
    return op.family.execute(op, np, [_plain(each) for each in values])


def _join(op: Op, values: list[Any]) -> Any:
    """Tensors in the first one's quantizer, one after the other."""
    arrays = values[0]
    for each in arrays:
        if each.__class__ is not QuantizedArray:
            raise OperationError(f"{op.public_name}(): all tensors must be quantized, or none")
        per_tensor(each, op.public_name)
        if each.dtype != arrays[0].dtype:
            raise OperationError(f"{op.public_name}(): all quantized tensors must be of one type")
    own = arrays[0].quantizer
    integers = [each.integers if each.quantizer == own else own.integers(each.real_numbers) for each in arrays]
    return own.over(op.family.execute(op, np, [integers, *values[1:]]))


def _copy(op: Op, values: list[Any]) -> Any:
    """Real numbers are quantized as the target is; of a quantized source the quantizer is taken over."""
    target, source = _first(values), values[1]
    if source.__class__ is not QuantizedArray:
        return target.quantizer.quantize(np.broadcast_to(np.asarray(source, np.float32), target.shape))
    if source.dtype != target.dtype:
        raise OperationError("Quantized Copy only works with same data type")
    if source.quantizer.scheme is not target.quantizer.scheme:
        raise OperationError("Quantized Copy only works with same qscheme")
    return source.like(np.broadcast_to(source.integers, target.shape))


def _written(value: Any, quantizer: Quantizer) -> Any:
    """A number or array to be written into a quantized array, as integers of its quantizer."""
    value = np.asarray(_plain(value))
    return quantizer.integers(value.astype(np.float32))


def _fill(op: Op, values: list[Any]) -> Any:
    target = _first(values)
    per_tensor(target, op.public_name)
    return target.like(np.broadcast_to(_written(values[1], target.quantizer), target.shape))


def _masked_fill(op: Op, values: list[Any]) -> Any:
    target, mask, value = values
    per_tensor(_first(values), op.public_name)
    return target.like(np.where(mask, _written(value, target.quantizer), target.integers))


def _index_put(op: Op, values: list[Any]) -> Any:
    target = _first(values)
    own = per_tensor(target, op.public_name)
    if values[3]:
        raise OperationError("index_put for quantized tensors is currently only supported for accumulate=False")
    given = [target.integers, values[1], _written(values[2], own), values[3]]
    return target.like(op.family.execute(op, np, given))


def _pad(op: Op, values: list[Any]) -> Any:
    source = _first(values)
    own = per_tensor(source, op.public_name)
    filling = own.integers(np.asarray(values[2] or 0, np.float32)).item()
    return source.like(op.family.execute(op, np, [source.integers, values[1], filling]))


_SIGMOID = _on_reals(Quantizer(quint8, 1 / 256, 0), Quantizer(qint8, 1 / 256, -128))
_TANH = _on_reals(Quantizer(quint8, 2 / 256, 128), Quantizer(qint8, 2 / 256, 0))

_RULES: list[tuple[Callable[[Op, list[Any]], Any], bool, str]] = [
    (_keep, False, "clone detach alias lay_out empty_like"),
    (_move, False, "view_shape expand unsqueeze squeeze slice select permute transpose t unbind split_with_sizes split_evenly "
                   "strided_view unfold reshape_copy index_select index repeat flip channel_shuffle pixel_shuffle pixel_unshuffle "
                   "diagonal border_pad"),
    (_on_integers, False, "sort topk max_dim min_dim max_all min_all amax amin"),
    (_on_reals(), False, "relu max_pool1d max_pool2d max_pool3d"),
    (_on_reals(), True, "hardtanh clamp clamp_min clamp_max leaky_relu threshold avg_pool1d avg_pool2d avg_pool3d "
                        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d mean resample gelu_exact gelu_tanh"),
    (_SIGMOID, True, "sigmoid hardsigmoid"),
    (_TANH, True, "tanh"),
    (_compare, False, "eq ne lt le gt ge"),
    (_join, True, "cat stack"),
    (_copy, True, "copy"),
    (_fill, True, "fill"),
    (_masked_fill, True, "masked_fill"),
    (_index_put, True, "index_put"),
    (_pad, False, "constant_pad_nd"),
]  # fmt: skip
for _function, _rounds, _names in _RULES:
    rules.set(Rule(_function, _rounds), *_names.split())
