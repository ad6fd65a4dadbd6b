"""Layers with quantized weights on float tensors, which are quantized on the way by the range of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....core.declare import table
from ....core.dtypes import float16, qint8
from ....core.errors import NotSupported
from ....nn.modules.module import Module
from ....ops.quantized.layers import keep_rows, quantized_linear_dynamic
from ....ops.quantized.quantize import _make_per_tensor_quantized_tensor
from ....ops.quantized.rnn import gru_step, lstm_step, quantized_gru_layer, quantized_lstm_layer
from ....tensor.construct import tensor
from ...quantization.observer import default_weight_observer
from .. import intrinsic as nni
from . import linear as static
from .quantize import quantize_weight


def weight_type(mod: Any) -> Any:
    """The type of a module's weights, as its QConfig says."""
    return made_observer(mod).dtype


def made_observer(mod: Any) -> Any:
    """What observes a module's weights, as its QConfig says."""
    qconfig = getattr(mod, "qconfig", None)
    return (qconfig.weight if qconfig is not None and qconfig.weight is not None else default_weight_observer)()


def halved(weight: Any) -> Any:
    """Numbers of half the precision, and of its range."""
    return weight.detach().float().clamp(-65504.0, 65504.0).half().float()


def weight_observer(mod: Any) -> Any:
    """The observer for weights that are quantized."""
    observer = made_observer(mod)
    if observer.dtype is not qint8:
        raise NotSupported(f"dynamic quantization with weights of {observer.dtype} is not supported: use qint8")
    return observer


def _quantized(weight: Any, mod: Any) -> Any:
    observer = weight_observer(mod)
    observer(weight)
    return quantize_weight(weight.float(), observer)


class Linear(static.Linear):
    """``input @ weight.T + bias`` with a quantized weight; the input is quantized by its range, to seven bits."""

    _version = 4

    def forward(self, x: Any) -> Any:
        """The result, in real numbers."""
        weight, bias = self._packed_params._weight_bias()
        if self._packed_params.dtype is float16:
            made = table["linear"].call(x, weight, bias)
            return made.relu() if self._relu else made
        keep_rows(weight)
        return quantized_linear_dynamic(x, weight, bias, True, self._relu)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Sizes, type, and the weight's scheme."""
        scheme = "" if self._packed_params.dtype is float16 else f", qscheme={self.weight().qscheme()}"
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}{scheme}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float layer."""
        source = mod[0] if isinstance(mod, nni._FusedModule) else mod
        weight = halved(source.weight) if weight_type(mod) is float16 else _quantized(source.weight, mod)
        made = cls(source.in_features, source.out_features, dtype=weight_type(mod))
        made.set_weight_bias(weight, source.bias)
        return made


class LinearReLU(Linear):
    """The same, not below zero."""

    _relu = True


class PackedParameter(Module):
    """The quantized weights and the biases of one direction of a recurrent layer."""

    def __init__(self, param: tuple[Any, ...]) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        if prefix + "param" in state_dict:
            self.param = tuple(state_dict.pop(prefix + "param"))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _zeros(rows: int, input_size: int, hidden_size: int, bias: bool) -> tuple[Any, ...]:
    """Parameters before any are loaded."""
    weights = [_make_per_tensor_quantized_tensor(tensor(np.zeros((rows, size), np.int8)), 1.0, 0) for size in (input_size, hidden_size)]
    return *weights, *[tensor(np.zeros(rows, np.float32)) if bias else None for _ in range(2)]


class RNNBase(Module):
    """What dynamically quantized recurrent layers have in common."""

    __repr__ = static.QuantizedModule.__repr__

    _gates = 4

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, dtype: Any = qint8,
    ) -> None:  # fmt: skip
        super().__init__()
        if dtype is not qint8:
            raise NotSupported(f"dynamic quantization with weights of {dtype} is not supported: use qint8")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.dtype, self.training = dtype, False
        self._all_weight_values = nn.ModuleList(
            PackedParameter(_zeros(self._gates * hidden_size, size, hidden_size, bias))
            for layer in range(num_layers)
            for size in [hidden_size * self._directions() if layer else input_size] * self._directions()
        )

    def _get_name(self) -> str:
        return "DynamicQuantized" + type(self).__name__

    def extra_repr(self) -> str:
        """Sizes, and what differs from the usual."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float layer."""
        if getattr(mod, "proj_size", 0):
            raise NotSupported("a recurrent layer with a projection can't be quantized")
        made = cls(mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional)
        packed = iter(made._all_weight_values)
        for layer in range(mod.num_layers):
            for suffix in ("", "_reverse") if mod.bidirectional else ("",):
                weights = [_quantized(getattr(mod, f"weight_{kind}_l{layer}{suffix}"), mod) for kind in ("ih", "hh")]
                biases = [getattr(mod, f"bias_{kind}_l{layer}{suffix}").detach() if mod.bias else None for kind in ("ih", "hh")]
                next(packed).param = (*weights, *biases)
        return made

    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _start(self, input: Any, hx: Any) -> Any:
        """States before the first step: those given, or zeros."""
        if hx is not None:
            return hx
        return input.new_zeros((self.num_layers * self._directions(), input.size(1), self.hidden_size))

    def _prepared(self, input: Any) -> tuple[Any, bool]:
        if not hasattr(input, "dim"):
            raise NotSupported("packed sequences are not supported by quantized recurrent layers: pad them")
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        return (input.transpose(0, 1) if self.batch_first else input), batched

    def _layers(self, input: Any, run: Any) -> Any:
        """Run all layers and directions: ``run(index, input, reverse)`` gives one direction's output."""
        for layer in range(self.num_layers):
            outputs = [run(layer * self._directions() + direction, input, bool(direction)) for direction in range(self._directions())]
            input = outputs[0] if len(outputs) == 1 else table["cat"].call(outputs, -1)
        return input

    def _finished(self, output: Any, batched: bool, states: list[Any]) -> tuple[Any, ...]:
        output = output.transpose(0, 1) if self.batch_first else output
        if not batched:
            output, states = output.squeeze(0 if self.batch_first else 1), [each.squeeze(1) for each in states]
        return output, *states


class LSTM(RNNBase):
    """A long short-term memory with quantized weights."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs, and the last hidden states and cells."""
        input, batched = self._prepared(input)
        first, second = (None, None) if hx is None else (each if batched else each.unsqueeze(1) for each in hx)
        hidden, cell = self._start(input, first), self._start(input, second)
        lasts: list[tuple[Any, Any]] = []

        def run(index: int, values: Any, reverse: bool) -> Any:
            parameters = self._all_weight_values[index].param
            output, *last = quantized_lstm_layer(values, hidden[index], cell[index], *parameters, reverse, True)
            lasts.append(tuple(last))
            return output

        output = self._layers(input, run)
        states = [table["stack"].call([each[which] for each in lasts]) for which in (0, 1)]
        output, *states = self._finished(output, batched, states)
        return output, tuple(states)


class GRU(RNNBase):
    """Gated recurrent units with quantized weights."""

    _gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs, and the last hidden states."""
        input, batched = self._prepared(input)
        hidden = self._start(input, hx if hx is None or batched else hx.unsqueeze(1))
        lasts: list[Any] = []

        def run(index: int, values: Any, reverse: bool) -> Any:
            output, last = quantized_gru_layer(values, hidden[index], *self._all_weight_values[index].param, reverse, True)
            lasts.append(last)
            return output

        output = self._layers(input, run)
        return self._finished(output, batched, [table["stack"].call(lasts)])


class _Cell(Module):
    """One step of a recurrent layer."""

    _gates = 1
    __repr__ = static.QuantizedModule.__repr__

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = qint8) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.dtype = input_size, hidden_size, bias, dtype
        self._packed = PackedParameter(_zeros(self._gates * hidden_size, input_size, hidden_size, bias))

    def _get_name(self) -> str:
        return "DynamicQuantized" + type(self).__name__

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.input_size}, {self.hidden_size}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """In the place of a float cell."""
        made = cls(mod.input_size, mod.hidden_size, mod.bias)
        if hasattr(mod, "nonlinearity"):
            made.nonlinearity = mod.nonlinearity  # type: ignore[attr-defined]
        biases = [each.detach() for each in (mod.bias_ih, mod.bias_hh)] if mod.bias else [None, None]
        made._packed.param = (_quantized(mod.weight_ih, mod), _quantized(mod.weight_hh, mod), *biases)
        return made

    def _projected(self, input: Any) -> Any:
        weight_ih, _, bias_ih, _ = self._packed.param
        return quantized_linear_dynamic(input, weight_ih, bias_ih, True)

    def _recurrent(self, hidden: Any) -> Any:
        _, weight_hh, _, bias_hh = self._packed.param
        return quantized_linear_dynamic(hidden, weight_hh, bias_hh, True)

    def _state(self, input: Any, hx: Any) -> Any:
        return input.new_zeros((*input.shape[:-1], self.hidden_size)) if hx is None else hx


class LSTMCell(_Cell):
    """One step of an LSTM with quantized weights."""

    _gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The new hidden state and cell."""
        hidden, cell = (None, None) if hx is None else hx
        return lstm_step(self._projected(input), self._state(input, hidden), self._state(input, cell), self._recurrent)


class GRUCell(_Cell):
    """One step of a GRU with quantized weights."""

    _gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The new hidden state."""
        return gru_step(self._projected(input), self._state(input, hx), self._recurrent)


class RNNCell(_Cell):
    """One step of a plain recurrent layer with quantized weights."""

    nonlinearity = "tanh"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The new hidden state."""
        total = self._projected(input) + self._recurrent(self._state(input, hx))
        return total.tanh() if self.nonlinearity == "tanh" else total.relu()


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]
