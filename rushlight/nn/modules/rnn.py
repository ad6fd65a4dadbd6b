"""Recurrent layers."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...core.symbolic import as_size
from ...ops.create.factories import zeros
from ...ops.nn.rnn_sequences import gru, lstm, rnn_relu, rnn_tanh
from .. import init
from ..utils.rnn import PackedSequence
from .module import Module
from .rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .utils import new_parameter

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_RNN_FUNCTIONS = {"RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}


def _permuted(tensor: Any, permutation: Any) -> Any:
    """A state with its sequences (dimension 1) in another order."""
    return tensor if permutation is None else tensor.index_select(1, permutation)


class RNNBase(Module):
    """What the recurrent layers have in common: options, parameters, checks."""

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
    ]  # fmt: skip
    __jit_unused_properties__ = ["all_weights"]

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _check_options(input_size, hidden_size, num_layers, bias, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                shapes = self._shapes(layer)
                names = {f"{kind}_l{layer}{suffix}": shape for kind, shape in shapes.items()}
                for name, shape in names.items():
                    self.register_parameter(name, new_parameter(shape, device, dtype))
                self._all_weights.append(list(names))
        self.reset_parameters()

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The kinds of parameters of one direction of a layer, and their shapes."""
        gates = _GATES[self.mode] * self.hidden_size
        state_size = self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else state_size * (1 + self.bidirectional)
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, state_size)}
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size:
            shapes.update(weight_hr=(self.proj_size, self.hidden_size))
        return shapes

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, a list for each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for names in self._all_weights for name in names]

    def flatten_parameters(self) -> None:
        """Do nothing: the kernels do not need contiguous weights."""

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # -- checks --------------------------------------------------------------------------------------------------

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Refuse an input whose type, rank or width does not fit."""
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")
        if batch_sizes is None and input._array.shape[1 if self.batch_first else 0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def _state_size(self, input: Any, batch_sizes: Any, width: int) -> tuple[int, int, int]:
        batch = as_size(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (1 + self.bidirectional), batch, width

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The size that hidden states have for an input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Any, expected_hidden_size: Any, msg: str = "Expected hidden size {}, got {}") -> None:
        """Refuse a state of another size."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Refuse arguments that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """A state with its sequences in another order."""
        return _permuted(hx, permutation)

    # -- calling -------------------------------------------------------------------------------------------------

    def _run(self, input: Any, batch_sizes: Any, states: Any, function: Any) -> Any:
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return function(input, states, self._flat_weights, *options, self.batch_first)
        return function(input, batch_sizes, states, self._flat_weights, *options)

    def _zero_state(self, input: Any, batch_sizes: Any, width: int) -> Any:
        size = self._state_size(input, batch_sizes, width)
        return zeros(size, dtype=input.dtype, device=input.device)

    def _check_rank(self, input: Any, what: str = "") -> bool:
        """Whether there is a batch dimension."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{what} instead")
        return bool(input.dim() == 3)

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        shown = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False,
        }  # fmt: skip
        for name, default in defaults.items():
            value = getattr(self, name)
            if value != default:
                shown += f", {name}={value}"
        return shown

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch's layers keep these, and miss them in a file.
        return {**self.__dict__, "_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("_flat_weights", "_flat_weights_names", "_flat_weight_refs"):  # here they are worked out
            state.pop(name, None)
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)


def _check_options(input_size: Any, hidden_size: Any, num_layers: Any, bias: Any, dropout: Any, proj_size: int) -> None:
    for name, value, kind in (("input_size", input_size, int), ("hidden_size", hidden_size, int), ("bias", bias, bool)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if float(dropout) > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
            f"but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=5,
        )
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class _OneState(RNNBase):
    """Layers whose state is one tensor: plain ones and gated recurrent units."""

    _function: Any = None
    _what = ""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The hidden states of the last layer at all times, and those of all layers at the end."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            hidden = (
                self._zero_state(data, batch_sizes, self.hidden_size) if hx is None else self.permute_hidden(hx, sorted_indices)
            )  # fmt: skip
            self.check_forward_args(data, hidden, batch_sizes)
            output, last = self._run(data, batch_sizes, hidden, self._op())
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(last, unsorted_indices)
        batched = self._check_rank(input, self._what)
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zero_state(input, None, self.hidden_size)
        else:
            _check_state_rank(batched, "hx should also be {}-D but got {}-D tensor", hx)
            hx = hx if batched else hx.unsqueeze(1)
        self.check_forward_args(input, hx, None)
        output, last = self._run(input, None, hx, self._op())
        return (output, last) if batched else (output.squeeze(batch_dim), last.squeeze(1))

    def _op(self) -> Any:
        raise NotImplementedError


def _check_state_rank(batched: bool, message: str, *states: Any) -> None:
    expected = 3 if batched else 2
    if any(each.dim() != expected for each in states):
        kind = "batched 3-D" if batched else "unbatched 2-D"
        raise RuntimeError(f"For {kind} input, " + message.format(expected, *(each.dim() for each in states)))


class RNN(_OneState):
    """Plain recurrence: ``tanh(x @ W_ih.T + b_ih + h @ W_hh.T + b_hh)``, or with ``relu``."""

    _what = " tensor"

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
        *, proj_size: int = 0,
    ) -> None:  # fmt: skip
        if proj_size:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device,
            dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def _op(self) -> Any:
        return _RNN_FUNCTIONS[self.mode]


class GRU(_OneState):
    """Gated recurrent units."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None, *, proj_size: int = 0,
    ) -> None:  # fmt: skip
        if proj_size:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)

    def _op(self) -> Any:
        return gru


class LSTM(RNNBase):
    """Long short-term memory; with ``proj_size`` the hidden state is a projection."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        )  # fmt: skip

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The size that cells have for an input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Refuse arguments that do not fit."""
        self.check_input(input, batch_sizes)
        expected = (self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes))
        for position in (0, 1):
            self.check_hidden_size(hidden[position], expected[position], f"Expected hidden[{position}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """Hidden state and cell with their sequences in another order."""
        return hx if permutation is None else (_permuted(hx[0], permutation), _permuted(hx[1], permutation))

    def _zero_states(self, input: Any, batch_sizes: Any) -> tuple[Any, Any]:
        hidden = self._zero_state(input, batch_sizes, self.proj_size or self.hidden_size)
        return hidden, self._zero_state(input, batch_sizes, self.hidden_size)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The hidden states of the last layer at all times, and hidden states and cells of all layers at the end."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            states = self._zero_states(data, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, states, batch_sizes)
            output, *last = self._run(data, batch_sizes, states, lstm)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(tuple(last), unsorted_indices)
        batched = self._check_rank(input)
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            states = self._zero_states(input, None)
        else:
            _check_state_rank(batched, "hx and cx should also be {}-D but got ({}-D, {}-D) tensors", hx[0], hx[1])
            states = (hx[0], hx[1]) if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self.check_forward_args(input, states, None)
        output, hidden, cell = self._run(input, None, states, lstm)
        if batched:
            return output, (hidden, cell)
        return output.squeeze(batch_dim), (hidden.squeeze(1), cell.squeeze(1))


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]
