"""Recurrent networks over whole sequences (all layers and directions), and their single steps."""

from __future__ import annotations

from typing import Any

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, table
from ...core.errors import DimensionError, DtypeError, OperationError, ShapeError
from ...core.state import flags
from .rnn import gru_layer, lstm_layer, rnn_layer
from .rnn_onnx import network_form


def _direction(
    kind: str, data: Any, state: Any, weights: list[Any], has_biases: bool, sizes: Any, reverse: bool
) -> tuple[Any, tuple[Any, ...]]:
    """One direction of one layer over packed rows: the outputs, and the last states."""
    input_weight, hidden_weight, *rest = weights
    input_bias: Any = rest[0] if has_biases else None
    hidden_bias: Any = rest[1] if has_biases else None
    projection = rest[-1] if len(rest) > 2 * has_biases else None
    if has_biases and kind != "gru":
        input_bias = input_bias + hidden_bias
    gates = table["linear"].call(data, input_weight, input_bias)
    if kind == "lstm":
        output, hidden, cell, *_ = lstm_layer(gates, state[0], state[1], hidden_weight, projection, sizes, reverse)
        return output, (hidden, cell)
    if kind == "gru":
        output, hidden, *_ = gru_layer(gates, state[0], hidden_weight, hidden_bias, sizes, reverse)
    else:
        output, hidden, *_ = rnn_layer(gates, state[0], hidden_weight, kind == "relu", sizes, reverse)
    return output, (hidden,)


def _check_types(data: Any, others: list[Any]) -> None:
    """Refuse hidden states and their weights and biases of another dtype than the input's."""
    for each in others:
        if each._array.dtype != data._array.dtype:
            raise DtypeError(
                f"expected hidden states and weights to have the same dtype as the input, but got: {each.dtype} != {data.dtype}"
            )


def _network(
    kind: str, data: Any, sizes: Any, states: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool,
) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
    directions = 2 if bidirectional else 1
    cells = num_layers * directions
    if kind == "lstm" and len(states) != 2:
        raise OperationError("lstm expects two hidden states")
    counts = [each._array.shape[0] if each._array.ndim else 0 for each in states]
    if not all(each._array.ndim for each in states) or (kind == "lstm" and min(counts) < cells):
        raise DimensionError(
            f"hidden states of {cells} layers and directions are needed, got {[list(each._array.shape) for each in states]}"
        )
    if kind != "lstm" and counts != [cells]:
        raise OperationError(f"Expected hidden states of {num_layers} layers and {directions} directions, one after the other")
    width = len(params) // max(cells, 1)
    least = 4 if has_biases else 2
    if len(params) != cells * width or width not in ((least, least + 1) if kind == "lstm" else (least,)):
        raise OperationError(f"got an incorrect number of RNN parameters: {len(params)} for {num_layers} layers of {directions} directions")
    if not flags.special:  # autocast casts them
        _check_types(data, [*states, *params[1::width], *([] if kind == "lstm" or not has_biases else params[3::width])])
    last: list[tuple[Any, ...]] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            weights = list(params[index * width : (index + 1) * width])
            output, ended = _direction(kind, data, [each[index] for each in states], weights, has_biases, sizes, direction == 1)
            outputs.append(output)
            last.append(ended)
        data = outputs[0] if directions == 1 else table["cat"].call(outputs, -1)
        if dropout > 0 and train and layer < num_layers - 1:
            data = table["dropout"].call(data, dropout, True)
    return data, tuple(table["stack"].call(list(each)) for each in zip(*last))


def _run(kind: str, args: tuple[Any, ...]) -> Any:
    """Both call forms: sequences of equal length, or packed ones with their batch sizes."""
    states: Any
    if isinstance(args[3], (list, tuple)):  # data, batch_sizes, hx, params, ...
        data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
        states = hx if isinstance(hx, (list, tuple)) else (hx,)
        sizes = None if batch_sizes._array.__class__ is Spec else batch_sizes.tolist()  # without data, shapes do without
        output, ended = _network(kind, data, sizes, states, params, has_biases, num_layers, dropout, train, bidirectional)
        return (output, *ended)
    data, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
    states = hx if isinstance(hx, (list, tuple)) else (hx,)
    if data._array.ndim != 3:
        raise ShapeError(f"input must have 3 dimensions, got {data._array.ndim}")
    if batch_first:
        data = data.transpose(0, 1)
    length, batch, _ = data._array.shape
    if length.__class__ is int and not length:
        raise OperationError("Expected sequence length to be larger than 0 in RNN")
    if any(each._array.ndim == 3 and each._array.shape[1] != batch for each in states):
        raise ShapeError(f"Expected hidden states of a batch of {batch}, got {[list(each._array.shape) for each in states]}")
    rows = data.reshape(length * batch, data._array.shape[2])
    output, ended = _network(kind, rows, length, states, params, has_biases, num_layers, dropout, train, bidirectional)
    output = output.reshape(length, batch, output._array.shape[-1])
    return (output.transpose(0, 1) if batch_first else output, *ended)


@composite(method=False, onnx=network_form("lstm"))
def lstm(*args: Any) -> Tensor:
    """A long short-term memory network: ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``."""
    return _run("lstm", args)


@composite(method=False, onnx=network_form("gru"))
def gru(*args: Any) -> Tensor:
    """A network of gated recurrent units; arguments as of ``lstm``."""
    return _run("gru", args)


@composite(method=False, onnx=network_form("tanh"))
def rnn_tanh(*args: Any) -> Tensor:
    """A plain recurrent network with tanh; arguments as of ``lstm``."""
    return _run("tanh", args)


@composite(method=False, onnx=network_form("relu"))
def rnn_relu(*args: Any) -> Tensor:
    """A plain recurrent network with relu; arguments as of ``lstm``."""
    return _run("relu", args)


# -- single steps ------------------------------------------------------------------------------------------------


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    return table["linear"].call(input, weight, bias)


def _check_cell(input: Any, hidden: Any, w_ih: Any, w_hh: Any, gates: int = 1) -> None:
    if input._array.shape[-1] != w_ih._array.shape[1]:
        raise ShapeError(f"input has inconsistent input_size: got {input._array.shape[-1]} expected {w_ih._array.shape[1]}")
    if hidden._array.shape[-1] != w_hh._array.shape[1]:
        raise ShapeError(f"hidden0 has inconsistent hidden_size: got {hidden._array.shape[-1]}, expected {w_hh._array.shape[1]}")
    if input._array.ndim == 2 == hidden._array.ndim and input._array.shape[0] != hidden._array.shape[0]:
        raise ShapeError(f"Input batch size {input._array.shape[0]} doesn't match hidden0 batch size {hidden._array.shape[0]}")
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        size = hidden._array.shape[-1]
        if weight._array.shape[0] != gates * size:
            raise ShapeError(f"{name} first dim must be {gates} * hidden_size = {gates * size}, but got {weight._array.shape[0]}")


@composite(method=False)
def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of an LSTM: the new hidden state and the new cell."""
    hidden, cell = hx
    _check_cell(input, hidden, w_ih, w_hh, 4)
    if cell._array.shape[-1] != hidden._array.shape[-1]:
        raise ShapeError(f"hidden1 has inconsistent hidden_size: got {cell._array.shape[-1]}, expected {hidden._array.shape[-1]}")
    if input._array.ndim == 2 == cell._array.ndim and cell._array.shape[0] != input._array.shape[0]:
        raise ShapeError(f"Input batch size {input._array.shape[0]} doesn't match hidden1 batch size {cell._array.shape[0]}")
    i, f, c, o = (_linear(input, w_ih, b_ih) + _linear(hidden, w_hh, b_hh)).chunk(4, -1)
    fresh = f.sigmoid() * cell + i.sigmoid() * c.tanh()
    return o.sigmoid() * fresh.tanh(), fresh  # type: ignore[return-value]


@composite(method=False)
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a GRU: the new hidden state."""
    _check_cell(input, hx, w_ih, w_hh, 3)
    given_r, given_z, given_n = _linear(input, w_ih, b_ih).chunk(3, -1)
    own_r, own_z, own_n = _linear(hx, w_hh, b_hh).chunk(3, -1)
    update = (given_z + own_z).sigmoid()
    candidate = (given_n + (given_r + own_r).sigmoid() * own_n).tanh()
    return candidate * (1 - update) + update * hx


@composite(method=False)
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a plain recurrent network with tanh."""
    _check_cell(input, hx, w_ih, w_hh)
    return (_linear(input, w_ih, b_ih) + _linear(hx, w_hh, b_hh)).tanh()


@composite(method=False)
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a plain recurrent network with relu."""
    _check_cell(input, hx, w_ih, w_hh)
    return (_linear(input, w_ih, b_ih) + _linear(hx, w_hh, b_hh)).relu()
