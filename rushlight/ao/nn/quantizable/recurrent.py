"""A long short-term memory of linear layers and operations that can be observed one by one."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from .... import nn
from ....core.declare import table
from ....core.dtypes import quint8
from ....nn.parameter import Parameter
from ....ops.quantized.quantize import quantize_per_tensor
from ...quantization.observer_insertion import add_observers, convert_children, propagate_qconfig_
from ...quantization.quantization_mappings import get_default_qconfig_propagation_list, get_default_static_quant_module_mappings
from ..quantized import FloatFunctional

_GATES = ("input", "forget", "cell", "output")


def observed(module: Any, qconfig: Any) -> Any:
    """A module with observers at all its steps."""
    module.qconfig = qconfig
    propagate_qconfig_(module)
    add_observers(module, get_default_qconfig_propagation_list(), set(), {})
    return module


def converted(cls: type, other: Any) -> Any:
    """A quantized copy of an observed module."""
    made = copy.deepcopy(other)
    convert_children(made, get_default_static_quant_module_mappings(), {})
    for each in made.modules():
        each.__dict__.pop("qconfig", None)
    made.__class__ = cls
    return made


class LSTMCell(nn.Module):
    """One step of a long short-term memory."""

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None, dtype: Any = None, *, split_gates: bool = False
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias, self.split_gates = input_dim, hidden_dim, bias, split_gates
        if split_gates:
            self.igates: Any = nn.ModuleDict({gate: nn.Linear(input_dim, hidden_dim, bias=bias, **options) for gate in _GATES})
            self.hgates: Any = nn.ModuleDict({gate: nn.Linear(hidden_dim, hidden_dim, bias=bias, **options) for gate in _GATES})
            self.gates: Any = nn.ModuleDict({gate: FloatFunctional() for gate in _GATES})
        else:
            self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **options)
            self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **options)
            self.gates = FloatFunctional()
        self.input_gate, self.forget_gate, self.cell_gate, self.output_gate = nn.Sigmoid(), nn.Sigmoid(), nn.Tanh(), nn.Sigmoid()
        self.fgate_cx, self.igate_cgate, self.fgate_cx_igate_cgate, self.ogate_cy = (FloatFunctional() for _ in range(4))

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """The next state and cell."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        before, cell = hidden
        if self.split_gates:
            first, second, third, fourth = (self.gates[gate].add(self.igates[gate](x), self.hgates[gate](before)) for gate in _GATES)
        else:
            first, second, third, fourth = self.gates.add(self.igates(x), self.hgates(before)).chunk(4, 1)
        entering, kept = self.input_gate(first), self.forget_gate(second)
        new, shown = self.cell_gate(third), self.output_gate(fourth)
        cell = self.fgate_cx_igate_cgate.add(self.fgate_cx.mul(kept, cell), self.igate_cgate.mul(entering, new))
        return self.ogate_cy.mul(shown, table["tanh"].call(cell)), cell

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> Any:
        """A state and a cell of zeros."""
        zeros = table["zeros"].call(batch_size, self.hidden_size)
        made = quantize_per_tensor(zeros, 1.0, 0, quint8) if is_quantized else zeros
        return made, made

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(cls, wi: Any, wh: Any, bi: Any = None, bh: Any = None, split_gates: bool = False) -> LSTMCell:
        """A cell with given weights and biases."""
        if (bi is None) != (bh is None):
            raise AssertionError("bi and bh must both be None or both have values")
        made = cls(wi.shape[1], wh.shape[1], bi is not None, split_gates=split_gates)
        for layers, weight, bias in ((made.igates, wi, bi), (made.hgates, wh, bh)):
            count = 4 if split_gates else 1
            weights = weight.detach().chunk(count, 0)
            biases = [None] * count if bias is None else bias.detach().chunk(count, 0)
            for layer, part, shift in zip(layers.values() if split_gates else [layers], weights, biases):
                layer.weight = Parameter(part)
                if shift is not None:
                    layer.bias = Parameter(shift)
        return made

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False) -> LSTMCell:
        """In the place of an ``nn.LSTMCell``."""
        if type(other) is not nn.LSTMCell or not hasattr(other, "qconfig"):
            raise AssertionError("The float module must be an nn.LSTMCell with a 'qconfig'")
        first, second = (other.bias_ih, other.bias_hh) if other.bias else (None, None)
        return observed(cls.from_params(other.weight_ih, other.weight_hh, first, second, split_gates), other.qconfig)  # type: ignore[no-any-return]


class _LSTMSingleLayer(nn.Module):
    """A cell run over all steps, in one direction."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """The states of all steps, and the last state and cell."""
        found = []
        for at in range(x.shape[0]):
            hidden = self.cell(x[at], hidden)
            found.append(hidden[0])
        return table["stack"].call(found, 0), hidden


class _LSTMLayer(nn.Module):
    """One layer: in one direction or in both."""

    def __init__(self, forwards: LSTMCell, backwards: LSTMCell | None, batch_first: bool) -> None:
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, backwards is not None
        self.layer_fw = _LSTMSingleLayer(forwards)
        if backwards is not None:
            self.layer_bw = _LSTMSingleLayer(backwards)

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """The states of all steps, and the last states and cells."""
        if self.batch_first:
            x = x.transpose(0, 1)
        if not self.bidirectional:
            result, last = self.layer_fw(x, hidden)
        else:
            sides = [None if hidden is None else (hidden[0][side], hidden[1][side]) for side in (0, 1)]
            forwards, first = self.layer_fw(x, sides[0])
            backwards, second = self.layer_bw(x.flip(0), sides[1])
            result = table["cat"].call([forwards, backwards.flip(0)], forwards.dim() - 1)
            last = tuple(table["stack"].call([one, other], 0) for one, other in zip(first, second))
        return (result.transpose(0, 1) if self.batch_first else result), last


class LSTM(nn.Module):
    """A long short-term memory of layers that can be observed."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, device: Any = None, dtype: Any = None, *, split_gates: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.training = batch_first, float(dropout), bidirectional, False
        if not 0 <= self.dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if self.dropout > 0:
            warnings.warn("dropout option for quantizable LSTM is ignored. If you are training, please, use nn.LSTM version.", stacklevel=2)
        cells = [
            [LSTMCell(input_size if at == 0 else hidden_size * (1 + bidirectional), hidden_size, bias, device, dtype, split_gates=split_gates) for _ in range(1 + bidirectional)]
            for at in range(num_layers)
        ]  # fmt: skip
        self._fill(cells)

    def _fill(self, cells: list[list[LSTMCell]]) -> None:
        self.layers = nn.ModuleList([_LSTMLayer(each[0], each[1] if self.bidirectional else None, False) for each in cells])

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """The states of the last layer at all steps, and the last states and cells of all layers."""
        if self.batch_first:
            x = x.transpose(0, 1)
        count = 1 + self.bidirectional
        given: list[Any] = [None] * self.num_layers
        if hidden is not None:
            parts = [each.reshape((self.num_layers, count, *each.shape[1:])) for each in hidden]
            given = [tuple(part[at] if count == 2 else part[at, 0] for part in parts) for at in range(self.num_layers)]
        ends: list[Any] = []
        for layer, start in zip(self.layers, given):
            x, last = layer(x, start)
            ends.append(last)
        states, cells = ([each[side] for each in ends] for side in (0, 1))
        join = table["cat" if count == 2 else "stack"].call
        return (x.transpose(0, 1) if self.batch_first else x), (join(states, 0), join(cells, 0))

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> Any:
        """In the place of an ``nn.LSTM``, with observers."""
        if not isinstance(other, nn.LSTM):
            raise AssertionError("other must be an instance of nn.LSTM")
        if qconfig is None and getattr(other, "qconfig", None) is None:
            raise AssertionError("the LSTM has no qconfig")
        if other.proj_size:
            raise NotImplementedError("an LSTM with proj_size can't be quantized")
        made = cls(
            other.input_size,
            other.hidden_size,
            other.num_layers,
            other.bias,
            other.batch_first,
            other.dropout,
            other.bidirectional,
            split_gates=split_gates,
        )
        cells = []
        for at in range(other.num_layers):
            ends = [f"_l{at}", *([f"_l{at}_reverse"] if other.bidirectional else [])]
            names = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if other.bias else ()))
            options = {"split_gates": split_gates}
            cells.append([LSTMCell.from_params(*[getattr(other, name + end) for name in names], **options) for end in ends])
        made._fill(cells)
        made.train(other.training)
        return observed(made, qconfig or other.qconfig)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Refuse: what is quantized is made by :class:`QuantizedLSTM`."""
        raise NotImplementedError("It looks like you are trying to convert a non-quantized LSTM: use convert()")


class QuantizedLSTM(LSTM):
    """A long short-term memory on quantized tensors."""

    def _get_name(self) -> str:
        return "QuantizedLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> Any:
        """Refuse: it is made of one that was observed."""
        raise NotImplementedError(
            "It looks like you are trying to convert a non-observed LSTM module. Please, see the examples on quantizable LSTMs."
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """In the place of one that was observed."""
        if type(other) is not LSTM:
            raise AssertionError(f"an observed LSTM is wanted, not {type(other).__name__}")
        return converted(cls, other)
