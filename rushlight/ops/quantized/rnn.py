"""Recurrent layers whose weights are quantized, and whose products are, on the way, by the range of their inputs."""

from __future__ import annotations

from typing import Any

from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
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


@composite(**_INTERNAL)
def quantized_lstm_layer(
    input: Tensor, hidden: Tensor, cell: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None, bias_hh: Tensor | None,
    reverse: bool, reduce_range: bool,
) -> Tensor:  # fmt: skip
    """One direction of one layer of a dynamically quantized LSTM over a sequence (time first): outputs, hidden state, cell."""
    steps = quantized_linear_dynamic(input, weight_ih, bias_ih, reduce_range).unbind(0)

    def recurrent(state: Any) -> Any:
        return quantized_linear_dynamic(state, weight_hh, bias_hh, reduce_range)

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
    steps = quantized_linear_dynamic(input, weight_ih, bias_ih, reduce_range).unbind(0)

    def recurrent(state: Any) -> Any:
        return quantized_linear_dynamic(state, weight_hh, bias_hh, reduce_range)

    outputs = []
    for step in reversed(steps) if reverse else steps:
        hidden = gru_step(step, hidden, recurrent)
        outputs.append(hidden)
    return table["stack"].call(outputs[::-1] if reverse else outputs), hidden  # type: ignore[return-value]
