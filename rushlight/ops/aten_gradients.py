"""``aten`` operators that compute gradients, as programs call them by hand and decomposed programs hold them: ``convolution_backward``, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.declare import table
from .nn.convolution import _input_gradient, _weight_gradient
from .pointwise.activations import unlike_half


def _convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, output_mask: Any,
) -> Any:  # fmt: skip
    by_input, by_weight, by_bias = output_mask
    options = (stride, padding, dilation, transposed)
    return (
        _input_gradient(grad_output, input.shape, weight, *options, groups) if by_input else None,
        _weight_gradient(grad_output, input, weight.shape, *options, groups) if by_weight else None,
        grad_output.sum((0, *range(2, grad_output.dim()))) if by_bias else None,
    )


def _softmax(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    scaled = grad_output * output
    return (scaled - output * scaled.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _gelu(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * self**3)
        tanh, slope = inner.tanh(), math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * self * self)
        return grad_output * (0.5 * (1 + tanh) + 0.5 * self * (1 - tanh * tanh) * slope)
    density = (-0.5 * self * self).exp() / math.sqrt(2 * math.pi)
    return grad_output * (0.5 * (1 + (self / math.sqrt(2)).erf()) + self * density)


def _silu(grad_output: Any, self: Any) -> Any:
    sigmoid = self.sigmoid()
    return grad_output * sigmoid * (1 + self * (1 - sigmoid))


def _embedding(grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    places = indices.reshape(-1)
    rows = grad_output.reshape(places.shape[0], -1).masked_fill((places == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        rows = rows / table["bincount"].call(places, minlength=num_weights)[places].unsqueeze(1)
    return rows.new_zeros(num_weights, rows.shape[1]).index_add(0, places, rows)


GRADIENTS: dict[str, Callable[..., Any]] = {
    "convolution_backward": _convolution_backward,
    "_softmax_backward_data": _softmax,
    "_log_softmax_backward_data": _log_softmax,
    "gelu_backward": _gelu,
    "silu_backward": _silu,
    "sigmoid_backward": lambda grad_output, output: grad_output * (1 - output) * output,
    "tanh_backward": lambda grad_output, output: grad_output * (1 - output * output),
    "threshold_backward": lambda grad_output, self, threshold: grad_output.masked_fill(unlike_half(self) <= threshold, 0),
    "native_dropout_backward": lambda grad_output, mask, scale: grad_output * mask * scale,
    "embedding_dense_backward": _embedding,
}
