"""Single steps of recurrent layers (``nn.modules.rnn.LSTMCell`` and the others)."""

from __future__ import annotations

import math
from typing import Any

from ...ops.create.factories import zeros
from ...ops.nn.rnn_sequences import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from .. import init
from .module import Module
from .utils import new_parameter


class RNNCellBase(Module):
    """What the cells have in common: sizes and parameters."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_ih: Any
    weight_hh: Any

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = new_parameter((gates, input_size), device, dtype)
        self.weight_hh = new_parameter((gates, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter((gates,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return shown if nonlinearity == "tanh" else f"{shown}, nonlinearity={nonlinearity}"

    def _check(self, tensor: Any, what: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    def _check_batch(self, input: Any, state: Any) -> None:
        if input.size(-1) == self.input_size and input.size(0) != state.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden0 batch size {state.size(0)}")

    def _zeros(self, input: Any) -> Any:
        return zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _parameters_in_order(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class _OneStateCell(RNNCellBase):
    """Cells whose state is one tensor."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state."""
        self._check(input, "input")
        if hx is not None:
            self._check(hx, "hidden")
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not batched:
            hx = hx.unsqueeze(0)
        self._check_batch(input, hx)
        result = self._step(input, hx)
        return result if batched else result.squeeze(0)

    def _step(self, input: Any, hx: Any) -> Any:
        raise NotImplementedError


class RNNCell(_OneStateCell):
    """One step of a plain recurrence."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, input: Any, hx: Any) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        step = rnn_tanh_cell if self.nonlinearity == "tanh" else rnn_relu_cell
        return step(input, hx, *self._parameters_in_order())


class GRUCell(_OneStateCell):
    """One step of gated recurrent units."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _step(self, input: Any, hx: Any) -> Any:
        return gru_cell(input, hx, *self._parameters_in_order())


class LSTMCell(RNNCellBase):
    """One step of long short-term memory."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The next hidden state and cell."""
        self._check(input, "input")
        for position, state in enumerate(hx or ()):
            self._check(state, f"hx[{position}]")
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if hx is None:
            hidden = self._zeros(input)
            hx = (hidden, hidden)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        self._check_batch(input, hx[0])
        hidden, cell = lstm_cell(input, hx, *self._parameters_in_order())
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))


__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]
