"""Recurrent layers: one direction of one layer as one op.

Sequences come packed: the rows of all sequences at time 0, then at time 1, and so on; ``batch_sizes`` says how many sequences
are still running at each time (never more than before); where all sequences are of one length, that length stands in its place, and
may be symbolic.  The input's part of the gates is computed before, for all times at once, as one matrix product.
"""

from __future__ import annotations

from typing import Any

from ...core.base import Spec
from ...core.base import TensorBase as Tensor
from ...core.declare import composite, joint, primitive, table
from ...core.devices import device_type_of
from ...core.kernel_providers import compiled
from ...core.recording import differentiate_body
from ...core.state import state
from . import rnn_layers_onnx as onnx_forms

_LEAST = 1 << 12  # elements from which on compiled code pays: there are many small steps


def steps(batch_sizes: Any, states: Any, reverse: bool) -> list[tuple[int, int]]:
    """For every time in the order of running: where its rows begin, and how many they are.  ``states`` has a row for each sequence."""
    found = []
    start = 0
    for count in [states.shape[0]] * batch_sizes if isinstance(batch_sizes, int) else batch_sizes:
        found.append((start, count))
        start += count
    return found[::-1] if reverse else found


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + device_type_of(x).arrays.exp(-x))


# -- LSTM --------------------------------------------------------------------------------------------------------


def _lstm_meta(gates: Any, hidden: Any, cell: Any, weight: Any, projection: Any, batch_sizes: Any, reverse: bool) -> list[Spec]:
    total, dtype = gates.shape[0], gates.dtype
    return [
        Spec((total, hidden.shape[1]), dtype), Spec(hidden.shape, dtype), Spec(cell.shape, dtype), Spec(gates.shape, dtype),
        Spec((total, cell.shape[1]), dtype), Spec((total, hidden.shape[1]), dtype),
    ]  # fmt: skip


@compiled("lstm_layer", _LEAST)
def _lstm_kernel(xp: Any, gates: Any, hidden: Any, cell: Any, weight: Any, projection: Any, batch_sizes: Any, reverse: bool) -> list[Any]:
    size = cell.shape[1]
    hidden, cell = hidden.copy(), cell.copy()
    activated = xp.empty(gates.shape, gates.dtype)
    output = xp.empty((gates.shape[0], hidden.shape[1]), gates.dtype)
    cells, before = xp.empty((gates.shape[0], size), gates.dtype), xp.empty(output.shape, gates.dtype)
    transposed = weight.T
    for start, count in steps(batch_sizes, hidden, reverse):
        rows = slice(start, start + count)
        before[rows], cells[rows] = hidden[:count], cell[:count]
        now = xp.matmul(hidden[:count], transposed, out=activated[rows])
        now += gates[rows]
        candidate = xp.tanh(now[:, 2 * size : 3 * size])
        xp.negative(now, out=now)
        xp.exp(now, out=now)
        now += 1
        xp.reciprocal(now, out=now)
        now[:, 2 * size : 3 * size] = candidate
        cell[:count] *= now[:, size : 2 * size]
        cell[:count] += now[:, :size] * candidate
        result = xp.tanh(cell[:count]) * now[:, 3 * size :]
        hidden[:count] = result if projection is None else result @ projection.T
        output[rows] = hidden[:count]
    return [output, hidden, cell, activated, cells, before]


def _lstm_gradient(
    needs: Any, g: Any, gates: Any, hidden: Any, cell: Any, weight: Any, projection: Any, batch_sizes: Any, reverse: bool,
    activated: Any, cells: Any, before: Any,
) -> Any:  # fmt: skip
    args = (gates, hidden, cell, weight, projection, batch_sizes, reverse)
    if state.grad_enabled:
        return differentiate_body(table["lstm_layer"], needs, g[:3], args)
    zeros = table["zeros_like"].call
    incoming = [zeros(like) if each is None else each for each, like in zip(g[:3], (before, hidden, cell))]
    found = lstm_backward(*incoming, weight, projection, activated, cells, before, batch_sizes, reverse)
    return (*found[:4], found[4] if projection is not None else None)


@compiled("lstm_backward", _LEAST)
def _lstm_backward_kernel(
    xp: Any, grad_output: Any, grad_hidden: Any, grad_cell: Any, weight: Any, projection: Any, activated: Any, cells: Any,
    before: Any, batch_sizes: Any, reverse: bool,
) -> list[Any]:  # fmt: skip
    size = cells.shape[1]
    grad_hidden, grad_cell = grad_hidden.copy(), grad_cell.copy()
    grad_gates = xp.empty(activated.shape, activated.dtype)
    unprojected: Any = None if projection is None else xp.empty(cells.shape, cells.dtype)
    projected_grads: Any = None if projection is None else xp.empty(before.shape, before.dtype)
    for start, count in reversed(steps(batch_sizes, grad_hidden, reverse)):
        rows = slice(start, start + count)
        now, previous = activated[rows], cells[rows]
        i, f, c, o = (now[:, k * size : (k + 1) * size] for k in range(4))
        squashed = xp.tanh(f * previous + i * c)
        grad = grad_hidden[:count] + grad_output[rows]
        if projection is not None:
            projected_grads[rows] = grad
            unprojected[rows] = o * squashed
            grad = grad @ projection
        carried = grad_cell[:count] + grad * o * (1 - squashed * squashed)
        to = grad_gates[rows]
        to[:, :size] = carried * c * i * (1 - i)
        to[:, size : 2 * size] = carried * previous * f * (1 - f)
        to[:, 2 * size : 3 * size] = carried * i * (1 - c * c)
        to[:, 3 * size :] = grad * squashed * o * (1 - o)
        grad_cell[:count] = carried * f
        grad_hidden[:count] = to @ weight
    grad_projection = xp.zeros((0,), cells.dtype) if projection is None else projected_grads.T @ unprojected
    return [grad_gates, grad_hidden, grad_cell, grad_gates.T @ before, grad_projection]


@primitive(
    meta=lambda go, gh, gc, weight, projection, activated, cells, before, batch_sizes, reverse: [
        Spec(activated.shape, activated.dtype), Spec(gh.shape, gh.dtype), Spec(gc.shape, gc.dtype), Spec(weight.shape, weight.dtype),
        Spec((0,) if projection is None else projection.shape, weight.dtype),
    ],
    kernel=_lstm_backward_kernel,
    vjp={},
    returns=("gates", "hidden", "cell", "weight", "projection"),
    namespace=None,
    method=False,
    out=False,
    notes="second derivatives go through the body of lstm_layer",
    onnx={9: onnx_forms.lstm_backward},
)  # fmt: skip
def lstm_backward(
    grad_output: Tensor, grad_hidden: Tensor, grad_cell: Tensor, weight: Tensor, projection: Tensor | None, activated: Tensor,
    cells: Tensor, before: Tensor, batch_sizes: Any, reverse: bool,
) -> Tensor:  # fmt: skip
    """The gradient of one direction of one LSTM layer, backwards through time."""


@composite(
    meta=_lstm_meta,
    kernel=_lstm_kernel,
    vjp=joint("gates", "hidden", "cell", "weight", "projection")(_lstm_gradient),
    returns=("output", "last_hidden", "last_cell", "activated", "cells", "before"),
    nondifferentiable=("activated", "cells", "before"),
    namespace=None,
    method=False,
    onnx={9: onnx_forms.lstm_layer},
)
def lstm_layer(
    gates: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor, projection: Tensor | None, batch_sizes: Any, reverse: bool
) -> Tensor:
    """One direction of one LSTM layer, given the input's part of the gates (biases included)."""
    size = cell._array.shape[1]
    rows: list[tuple[Any, ...]] = []
    for start, count in steps(batch_sizes, hidden._array, reverse):
        before, old = hidden.narrow(0, 0, count), cell.narrow(0, 0, count)
        i, f, c, o = (gates.narrow(0, start, count) + before @ weight.t()).split(size, 1)
        i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
        fresh = f * old + i * c
        result = o * fresh.tanh()
        result = result if projection is None else result @ projection.t()
        rows.append((result, table["cat"].call([i, f, c, o], 1), old, before))
        hidden, cell = _advance(hidden, result, count), _advance(cell, fresh, count)
    output, activated, cells, earlier = _joined(rows, reverse)
    return output, hidden, cell, activated, cells, earlier  # type: ignore[return-value]


def _joined(rows: list[tuple[Any, ...]], reverse: bool) -> list[Any]:
    """What a layer made of each time, in the order of the times."""
    return [table["cat"].call(list(each[::-1] if reverse else each)) for each in zip(*rows)]


def _advance(old: Any, new: Any, count: int) -> Any:
    """The states of the sequences that still run, followed by those of the ones that ended."""
    rest = old._array.shape[0] - count
    return table["cat"].call([new, old.narrow(0, count, rest)]) if rest else new


# -- GRU ---------------------------------------------------------------------------------------------------------


@compiled("gru_layer", _LEAST)
def _gru_kernel(xp: Any, gates: Any, hidden: Any, weight: Any, bias: Any, batch_sizes: Any, reverse: bool) -> list[Any]:
    size = hidden.shape[1]
    hidden = hidden.copy()
    activated = xp.empty((gates.shape[0], 4 * size), gates.dtype)  # reset, update, candidate, hidden's part of the candidate
    output, before = xp.empty((gates.shape[0], size), gates.dtype), xp.empty((gates.shape[0], size), gates.dtype)
    transposed = weight.T
    for start, count in steps(batch_sizes, hidden, reverse):
        rows = slice(start, start + count)
        before[rows] = hidden[:count]
        own = hidden[:count] @ transposed
        if bias is not None:
            own += bias
        now = activated[rows]
        now[:, : 2 * size] = _sigmoid(gates[rows, : 2 * size] + own[:, : 2 * size])
        now[:, 3 * size :] = own[:, 2 * size :]
        now[:, 2 * size : 3 * size] = xp.tanh(gates[rows, 2 * size :] + now[:, :size] * own[:, 2 * size :])
        update = now[:, size : 2 * size]
        hidden[:count] = now[:, 2 * size : 3 * size] * (1 - update) + update * hidden[:count]
        output[rows] = hidden[:count]
    return [output, hidden, activated, before]


def _gru_gradient(
    needs: Any, g: Any, gates: Any, hidden: Any, weight: Any, bias: Any, batch_sizes: Any, reverse: bool, activated: Any, before: Any
) -> Any:
    if state.grad_enabled:
        return differentiate_body(table["gru_layer"], needs, g[:2], (gates, hidden, weight, bias, batch_sizes, reverse))
    zeros = table["zeros_like"].call
    incoming = [zeros(like) if each is None else each for each, like in zip(g[:2], (before, hidden))]
    found = gru_backward(*incoming, weight, activated, before, batch_sizes, reverse)
    return (*found[:3], found[3] if bias is not None else None)


@compiled("gru_backward", _LEAST)
def _gru_backward_kernel(
    xp: Any, grad_output: Any, grad_hidden: Any, weight: Any, activated: Any, before: Any, batch_sizes: Any, reverse: bool
) -> list[Any]:
    size = before.shape[1]
    grad_hidden = grad_hidden.copy()
    grad_gates = xp.empty((activated.shape[0], 3 * size), activated.dtype)
    grad_own = xp.empty(grad_gates.shape, activated.dtype)
    for start, count in reversed(steps(batch_sizes, grad_hidden, reverse)):
        rows = slice(start, start + count)
        reset, update, candidate, own = (activated[rows, k * size : (k + 1) * size] for k in range(4))
        grad = grad_hidden[:count] + grad_output[rows]
        to_candidate = grad * (1 - update) * (1 - candidate * candidate)
        to, to_own = grad_gates[rows], grad_own[rows]
        to[:, :size] = to_candidate * own * reset * (1 - reset)
        to[:, size : 2 * size] = grad * (before[rows] - candidate) * update * (1 - update)
        to[:, 2 * size :] = to_candidate
        to_own[:, : 2 * size] = to[:, : 2 * size]
        to_own[:, 2 * size :] = to_candidate * reset
        grad_hidden[:count] = grad * update + to_own @ weight
    return [grad_gates, grad_hidden, grad_own.T @ before, grad_own.sum(0)]


@primitive(
    meta=lambda go, gh, weight, activated, before, batch_sizes, reverse: [
        Spec((activated.shape[0], weight.shape[0]), weight.dtype), Spec(gh.shape, gh.dtype), Spec(weight.shape, weight.dtype),
        Spec((weight.shape[0],), weight.dtype),
    ],
    kernel=_gru_backward_kernel,
    vjp={},
    returns=("gates", "hidden", "weight", "bias"),
    namespace=None,
    method=False,
    out=False,
    notes="second derivatives go through the body of gru_layer",
    onnx={9: onnx_forms.gru_backward},
)  # fmt: skip
def gru_backward(
    grad_output: Tensor, grad_hidden: Tensor, weight: Tensor, activated: Tensor, before: Tensor, batch_sizes: Any, reverse: bool
) -> Tensor:
    """The gradient of one direction of one GRU layer, backwards through time."""


@composite(
    meta=lambda gates, hidden, weight, bias, batch_sizes, reverse: [
        Spec((gates.shape[0], hidden.shape[1]), gates.dtype),
        Spec(hidden.shape, gates.dtype),
        Spec((gates.shape[0], 4 * hidden.shape[1]), gates.dtype),
        Spec((gates.shape[0], hidden.shape[1]), gates.dtype),
    ],
    kernel=_gru_kernel,
    vjp=joint("gates", "hidden", "weight", "bias")(_gru_gradient),
    returns=("output", "last_hidden", "activated", "before"),
    nondifferentiable=("activated", "before"),
    namespace=None,
    method=False,
    onnx={9: onnx_forms.gru_layer},
)
def gru_layer(gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None, batch_sizes: Any, reverse: bool) -> Tensor:
    """One direction of one GRU layer, given the input's part of the gates (its bias included)."""
    size = hidden._array.shape[1]
    rows: list[tuple[Any, ...]] = []
    for start, count in steps(batch_sizes, hidden._array, reverse):
        old = hidden.narrow(0, 0, count)
        own = old @ weight.t()
        own = own if bias is None else own + bias
        given_r, given_z, given_n = gates.narrow(0, start, count).split(size, 1)
        own_r, own_z, own_n = own.split(size, 1)
        reset, update = (given_r + own_r).sigmoid(), (given_z + own_z).sigmoid()
        candidate = (given_n + reset * own_n).tanh()
        result = candidate * (1 - update) + update * old
        rows.append((result, table["cat"].call([reset, update, candidate, own_n], 1), old))
        hidden = _advance(hidden, result, count)
    output, activated, before = _joined(rows, reverse)
    return output, hidden, activated, before  # type: ignore[return-value]


# -- plain recurrence --------------------------------------------------------------------------------------------


@compiled("rnn_layer", _LEAST)
def _rnn_kernel(xp: Any, gates: Any, hidden: Any, weight: Any, relu: bool, batch_sizes: Any, reverse: bool) -> list[Any]:
    hidden = hidden.copy()
    output, before = xp.empty(gates.shape, gates.dtype), xp.empty(gates.shape, gates.dtype)
    transposed = weight.T
    for start, count in steps(batch_sizes, hidden, reverse):
        rows = slice(start, start + count)
        before[rows] = hidden[:count]
        now = xp.matmul(hidden[:count], transposed, out=output[rows])
        now += gates[rows]
        hidden[:count] = xp.maximum(now, 0, out=now) if relu else xp.tanh(now, out=now)
    return [output, hidden, before]


def _rnn_gradient(
    needs: Any, g: Any, gates: Any, hidden: Any, weight: Any, relu: bool, batch_sizes: Any, reverse: bool, output: Any, before: Any
) -> Any:
    if state.grad_enabled:
        return differentiate_body(table["rnn_layer"], needs, g[:2], (gates, hidden, weight, relu, batch_sizes, reverse))
    zeros = table["zeros_like"].call
    incoming = [zeros(like) if each is None else each for each, like in zip(g[:2], (before, hidden))]
    return tuple(rnn_backward(*incoming, weight, output, before, relu, batch_sizes, reverse))


@compiled("rnn_backward", _LEAST)
def _rnn_backward_kernel(
    xp: Any, grad_output: Any, grad_hidden: Any, weight: Any, output: Any, before: Any, relu: bool, batch_sizes: Any, reverse: bool
) -> list[Any]:
    grad_hidden = grad_hidden.copy()
    grad_gates = xp.empty(output.shape, output.dtype)
    for start, count in reversed(steps(batch_sizes, grad_hidden, reverse)):
        rows = slice(start, start + count)
        now = output[rows]
        to = xp.multiply(grad_hidden[:count] + grad_output[rows], (now > 0) if relu else (1 - now * now), out=grad_gates[rows])
        grad_hidden[:count] = to @ weight
    return [grad_gates, grad_hidden, grad_gates.T @ before]


@primitive(
    meta=lambda go, gh, weight, output, before, relu, batch_sizes, reverse: [
        Spec(output.shape, output.dtype), Spec(gh.shape, gh.dtype), Spec(weight.shape, weight.dtype),
    ],
    kernel=_rnn_backward_kernel,
    vjp={},
    returns=("gates", "hidden", "weight"),
    namespace=None,
    method=False,
    out=False,
    notes="second derivatives go through the body of rnn_layer",
    onnx={9: onnx_forms.rnn_backward},
)  # fmt: skip
def rnn_backward(
    grad_output: Tensor, grad_hidden: Tensor, weight: Tensor, output: Tensor, before: Tensor, relu: bool, batch_sizes: Any, reverse: bool
) -> Tensor:
    """The gradient of one direction of one plain recurrent layer, backwards through time."""


@composite(
    meta=lambda gates, hidden, weight, relu, batch_sizes, reverse: [
        Spec(gates.shape, gates.dtype),
        Spec(hidden.shape, gates.dtype),
        Spec(gates.shape, gates.dtype),
    ],
    kernel=_rnn_kernel,
    vjp=joint("gates", "hidden", "weight")(_rnn_gradient),
    returns=("output", "last_hidden", "before"),
    nondifferentiable=("before",),
    namespace=None,
    method=False,
    onnx={9: onnx_forms.rnn_layer},
)
def rnn_layer(gates: Tensor, hidden: Tensor, weight: Tensor, relu: bool, batch_sizes: Any, reverse: bool) -> Tensor:
    """One direction of one plain recurrent layer, given the input's part of the gates (biases included)."""
    rows: list[tuple[Any, ...]] = []
    for start, count in steps(batch_sizes, hidden._array, reverse):
        old = hidden.narrow(0, 0, count)
        now = gates.narrow(0, start, count) + old @ weight.t()
        result = now.relu() if relu else now.tanh()
        rows.append((result, old))
        hidden = _advance(hidden, result, count)
    output, before = _joined(rows, reverse)
    return output, hidden, before  # type: ignore[return-value]
