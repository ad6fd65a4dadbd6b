"""Ops on quantized tensors; as a module, ``torch.ops.quantized`` with the functions that take a layer's packed parameters.

In: quantized tensors (integers with a scale and a zero point, ``core/quantized.py``).  Out: quantized or real tensors.  ``rules.py``
registers how ops for all tensors run on quantized ones.  Read ``quantize.py`` first.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ...core.declare import public, table
from ...core.dtypes import float16, float32
from ...core.errors import ArgumentError
from ...core.missing import missing
from .layers import quantized_convolution, quantized_embedding, quantized_linear, quantized_linear_dynamic
from .packed import Packed
from .rnn import gru_step, lstm_step

globals().update(public("ops.quantized"))


def linear_prepack(W: Any, B: Any = None) -> Packed:
    """The parameters of a quantized linear layer as one object."""
    if not getattr(W, "is_quantized", False):
        raise ArgumentError("linear_prepack(): the weight must be a quantized tensor")
    return Packed(W, B)


def linear_prepack_fp16(W: Any, B: Any = None) -> Packed:
    """The parameters of a linear layer whose weight is held in float16 as one object."""
    return Packed(W.to(float16), B)


def linear_unpack_fp16(W_prepack: Packed) -> tuple[Any, Any]:
    """The weight, in float32, and the bias that were packed."""
    return W_prepack.weight.to(float32), W_prepack.bias


def linear_dynamic_fp16(X: Any, W_prepack: Packed) -> Any:
    """A linear layer on a float tensor, with a weight that is held in float16."""
    return table["linear"].call(X, W_prepack.weight.to(float32), W_prepack.bias)


def linear_relu_dynamic_fp16(X: Any, W_prepack: Packed) -> Any:
    """A linear layer with a weight that is held in float16, followed by ReLU."""
    return linear_dynamic_fp16(X, W_prepack).relu()


def linear_unpack(W_prepack: Packed) -> tuple[Any, Any]:
    """The weight and the bias that were packed."""
    return W_prepack.unpack()


def linear(X: Any, W_prepack: Packed, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """A linear layer on quantized tensors."""
    return quantized_linear(X, W_prepack.weight, W_prepack.bias, float(Y_scale_i), int(Y_zero_point_i))


def linear_relu(X: Any, W_prepack: Packed, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """A linear layer on quantized tensors, followed by ReLU."""
    return quantized_linear(X, W_prepack.weight, W_prepack.bias, float(Y_scale_i), int(Y_zero_point_i), True)


def linear_dynamic(X: Any, W_prepack: Packed, reduce_range: bool = False) -> Any:
    """A linear layer on a float tensor, which is quantized dynamically."""
    return quantized_linear_dynamic(X, W_prepack.weight, W_prepack.bias, reduce_range)


def linear_relu_dynamic(X: Any, W_prepack: Packed, reduce_range: bool = False) -> Any:
    """A linear layer on a float tensor, followed by ReLU."""
    return quantized_linear_dynamic(X, W_prepack.weight, W_prepack.bias, reduce_range, True)


def _prepack(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Packed:
    if not getattr(weight, "is_quantized", False):
        raise ArgumentError("conv_prepack(): the weight must be a quantized tensor")
    return Packed(weight, bias, stride=tuple(stride), padding=tuple(padding), dilation=tuple(dilation), groups=groups)


def _named(name: str, function: Any) -> Any:
    """A function under a name of its own, by which files know it."""
    made = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__qualname__, made.__doc__, made.__module__ = name, function.__doc__, __name__
    made.__annotations__ = function.__annotations__
    return made


def _transposed_prepack(weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int) -> Packed:
    made = _prepack(weight, bias, stride, padding, dilation, groups)
    made.options |= {"transposed": True, "output_padding": tuple(output_padding)}
    return made


conv_prepack = _named("conv_prepack", _prepack)
conv1d_prepack, conv2d_prepack, conv3d_prepack = (_named(f"conv{dims}d_prepack", _prepack) for dims in (1, 2, 3))
conv_unpack = _named("conv_unpack", linear_unpack)
conv1d_unpack, conv2d_unpack, conv3d_unpack = (_named(f"conv{dims}d_unpack", linear_unpack) for dims in (1, 2, 3))

conv_transpose1d_prepack, conv_transpose2d_prepack, conv_transpose3d_prepack = (
    _named(f"conv_transpose{dims}d_prepack", _transposed_prepack) for dims in (1, 2, 3)
)
conv_transpose1d_unpack, conv_transpose2d_unpack, conv_transpose3d_unpack = (
    _named(f"conv_transpose{dims}d_unpack", linear_unpack) for dims in (1, 2, 3)
)


def _convolve(qx: Any, packed: Packed, output_scale: float, output_zero_point: int, relu: bool) -> Any:
    how = packed.options
    more = how.get("output_padding", (0,) * len(how["stride"]))
    return quantized_convolution(
        qx, packed.weight, packed.bias, how["stride"], how["padding"], how["dilation"], how.get("transposed", False), more, how["groups"], float(output_scale),
        int(output_zero_point), relu,
    )  # fmt: skip


def conv2d(qx: Any, packed_weight: Packed, output_scale: float, output_zero_point: int) -> Any:
    """A convolution of quantized tensors."""
    return _convolve(qx, packed_weight, output_scale, output_zero_point, False)


def conv2d_relu(qx: Any, packed_weight: Packed, output_scale: float, output_zero_point: int) -> Any:
    """A convolution of quantized tensors, followed by ReLU."""
    return _convolve(qx, packed_weight, output_scale, output_zero_point, True)


conv1d, conv3d = (_named(f"conv{dims}d", conv2d) for dims in (1, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_named(f"conv_transpose{dims}d", conv2d) for dims in (1, 2, 3))
conv1d_relu, conv3d_relu = (_named(f"conv{dims}d_relu", conv2d_relu) for dims in (1, 3))


def quantized_lstm_cell_dynamic(input: Any, hx: Any, w_ih: Packed, w_hh: Packed, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """One step of an LSTM with quantized weights, whose biases are packed with them: the new hidden state and cell."""
    return lstm_step(linear_dynamic(input, w_ih, True), hx[0], hx[1], lambda hidden: linear_dynamic(hidden, w_hh, True))


def quantized_gru_cell_dynamic(input: Any, hx: Any, w_ih: Packed, w_hh: Packed, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a GRU with quantized weights: the new hidden state."""
    return gru_step(linear_dynamic(input, w_ih, True), hx, lambda hidden: linear_dynamic(hidden, w_hh, True))


def quantized_rnn_tanh_cell_dynamic(input: Any, hx: Any, w_ih: Packed, w_hh: Packed, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent layer with quantized weights and a hyperbolic tangent: the new hidden state."""
    return (linear_dynamic(input, w_ih, True) + linear_dynamic(hx, w_hh, True)).tanh()


def quantized_rnn_relu_cell_dynamic(input: Any, hx: Any, w_ih: Packed, w_hh: Packed, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent layer with quantized weights and ReLU: the new hidden state."""
    return (linear_dynamic(input, w_ih, True) + linear_dynamic(hx, w_hh, True)).relu()


def embedding_bag_prepack(weight: Any) -> Packed:
    """The parameters of a quantized embedding as one object."""
    return Packed(weight, None, table=True)


def embedding_byte(weight: Packed, indices: Any, pruned_weights: bool = False) -> Any:
    """Rows of a quantized table."""
    if pruned_weights:
        raise ArgumentError("embedding_byte(): pruned weights are not supported")
    return quantized_embedding(indices, weight.weight)


def embedding_bag_unpack(W_prepack: Packed) -> Any:
    """The table that was packed."""
    return W_prepack.weight


def embedding_bag_byte(
    weight: Packed, indices: Any, offsets: Any = None, scale_grad_by_freq: bool = False, mode: int = 0, pruned_weights: bool = False,
    per_sample_weights: Any = None, compressed_indices_mapping: Any = None, include_last_offset: bool = False,
) -> Any:  # fmt: skip
    """Sums of rows of a quantized table."""
    if pruned_weights or compressed_indices_mapping is not None:
        raise ArgumentError("embedding_bag_byte(): pruned weights are not supported")
    width = int(weight.weight.shape[1])
    if indices._array.ndim == 2:
        if offsets is not None:
            raise ArgumentError("embedding_bag_byte(): a matrix of indices has no offsets")
        rows = quantized_embedding(indices, weight.weight)
        return (rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(-1)).sum(1)
    rows = quantized_embedding(indices, weight.weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    starts = offsets[:-1] if include_last_offset else offsets
    places = table["arange"].call(int(indices.shape[0]))
    bags = table["searchsorted"].call(starts, places, right=True) - 1
    return rows.new_zeros(int(starts.shape[0]), width).index_add(0, bags, rows)


__getattr__ = missing(__name__)
