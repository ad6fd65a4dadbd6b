"""Recurrent layers whose weights are quantized, and whose products are, on the way, by the range of their inputs."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.dtypes import float32
from ...core.errors import ArgumentError, NotSupported
from .layers import quantized_linear_dynamic
from .quantize_onnx import decline

_INTERNAL: dict[str, Any] = {"namespace": None, "method": False, "out": False, "onnx": {9: decline}}


def lstm_step(projected: Any, hidden: Any, cell: Any, recurrent: Any) -> tuple[Any, Any]:
    """One step of an LSTM from its projected input: the new hidden state and cell."""
    entry, forget, change, exit = (projected + recurrent(hidden)).chunk(4, -1)
    cell = forget.sigmoid() * cell + entry.sigmoid() * change.tanh()
    return exit.sigmoid() * cell.tanh(), cell


def gru_step(projected: Any, hidden: Any, recurrent: Any) -> Any:
    """One step of a GRU from its projected input."""
    reset, update, change = projected.chunk(3, -1)
    of_reset, of_update, of_change = recurrent(hidden).chunk(3, -1)
    change = (change + (reset + of_reset).sigmoid() * of_change).tanh()
    return change + (update + of_update).sigmoid() * (hidden - change)


def _product(input: Any, weight: Any, bias: Any, reduce_range: bool) -> Any:
    """A linear layer on a weight that is quantized, or held in float16."""
    if weight.is_quantized:
        return quantized_linear_dynamic(input, weight, bias, reduce_range)
    return table["linear"].call(input, weight.to(float32), bias)


@composite(**_INTERNAL)
def quantized_lstm_layer(
    input: Tensor, hidden: Tensor, cell: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None, bias_hh: Tensor | None,
    reverse: bool, reduce_range: bool,
) -> Tensor:  # fmt: skip
    """One direction of one layer of a dynamically quantized LSTM over a sequence (time first): outputs, hidden state, cell."""
    steps = _product(input, weight_ih, bias_ih, reduce_range).unbind(0)

    def recurrent(state: Any) -> Any:
        return _product(state, weight_hh, bias_hh, reduce_range)

    outputs = []
    for step in reversed(steps) if reverse else steps:
        hidden, cell = lstm_step(step, hidden, cell, recurrent)
        outputs.append(hidden)
    return table["stack"].call(outputs[::-1] if reverse else outputs), hidden, cell  # type: ignore[return-value]


@composite(**_INTERNAL)
def quantized_gru_layer(
    input: Tensor, hidden: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None, bias_hh: Tensor | None,
    reverse: bool, reduce_range: bool,
) -> Tensor:  # fmt: skip
    """One direction of one layer of a dynamically quantized GRU over a sequence (time first): outputs, hidden state."""
    steps = _product(input, weight_ih, bias_ih, reduce_range).unbind(0)

    def recurrent(state: Any) -> Any:
        return _product(state, weight_hh, bias_hh, reduce_range)

    outputs = []
    for step in reversed(steps) if reverse else steps:
        hidden = gru_step(step, hidden, recurrent)
        outputs.append(hidden)
    return table["stack"].call(outputs[::-1] if reverse else outputs), hidden  # type: ignore[return-value]


class CellParameters:
    """The packed parameters of one direction of a recurrent layer, as PyTorch's files have them."""

    def __init__(self, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None, bias_hh: Tensor | None, reduce_range: bool) -> None:
        self.tensors = (weight_ih, weight_hh, bias_ih, bias_hh)
        self.reduce_range = reduce_range


def _recurrent(input: Any, params: list[CellParameters], num_layers: int, bidirectional: bool, batch_first: bool, run: Any) -> Any:
    """All layers of a dynamically quantized recurrent network; ``run`` computes one direction of one layer."""
    if any(not isinstance(each, CellParameters) for each in params) or len(params) != num_layers * (2 if bidirectional else 1):
        raise ArgumentError("a quantized recurrent layer has other parameters than its layers and directions need")
    values = input.transpose(0, 1) if batch_first else input
    index = 0
    for _ in range(num_layers):
        outputs = []
        for direction in range(2 if bidirectional else 1):
            outputs.append(run(index, values, bool(direction)))
            index += 1
        values = outputs[0] if len(outputs) == 1 else table["cat"].call(outputs, -1)
    return values.transpose(0, 1) if batch_first else values


def quantized_lstm(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool = False,
    dtype: Any = None, use_dynamic: bool = True,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """A dynamically quantized LSTM on its packed parameters: outputs, the last hidden states and cells."""
    if isinstance(hx, TensorBase):
        raise NotSupported("a quantized LSTM on packed sequences is not supported: give it a padded tensor")
    lasts: list[Any] = []

    def run(index: int, values: Any, reverse: bool) -> Any:
        output, *last = quantized_lstm_layer(
            values, hx[0][index], hx[1][index], *params[index].tensors, reverse, params[index].reduce_range
        )
        lasts.append(last)
        return output

    output = _recurrent(input, params, num_layers, bidirectional, batch_first, run)
    return output, table["stack"].call([each[0] for each in lasts]), table["stack"].call([each[1] for each in lasts])


def quantized_gru(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """A dynamically quantized GRU on its packed parameters: outputs and the last hidden states."""
    if isinstance(params, TensorBase):
        raise NotSupported("a quantized GRU on packed sequences is not supported: give it a padded tensor")
    lasts: list[Any] = []

    def run(index: int, values: Any, reverse: bool) -> Any:
        output, last = quantized_gru_layer(values, hx[index], *params[index].tensors, reverse, params[index].reduce_range)
        lasts.append(last)
        return output

    output = _recurrent(input, params, num_layers, bidirectional, batch_first, run)
    return output, table["stack"].call(lasts)
