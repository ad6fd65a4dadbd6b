"""One direction of one recurrent layer in ONNX, forward and backward through time: a Scan over the times.

ONNX's own LSTM, GRU and RNN do not give what a gradient needs, the gates at all times.  What does not depend on the time before is
computed for all times at once, outside of the Scan.  Sequences that end at different times are written out, time by time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Step = Callable[[Any, Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]


def through_time(g: Any, batch_sizes: Any, backwards: bool, states: list[Any], rows: list[Any], step: Step) -> tuple[list[Any], list[Any]]:
    """The last states, and the rows that ``step(g, states, rows)`` makes at each time: it gives new states and such rows."""
    if not is_fixed(states):
        raise g.unsupported("a recurrent layer has a fixed number of hidden units, but the weights' sizes are open")
    if isinstance(batch_sizes, int):
        return _scan(g, batch_sizes, states[0].shape[0], backwards, states, rows, step)
    if len(batch_sizes) > 1 and all(g.same_size(each, batch_sizes[0]) for each in batch_sizes):
        return _scan(g, len(batch_sizes), batch_sizes[0], backwards, states, rows, step)
    starts = [sum(batch_sizes[:at]) for at in range(len(batch_sizes))]
    order = list(zip(starts, batch_sizes))
    made = []
    for start, count in reversed(order) if backwards else order:
        now = [g.slice(each, [start], [start + count], [0]) for each in rows]
        running = [_first(g, each, count) for each in states]
        new, outputs = step(g, running, now)
        states = [_followed(g, each, old, count) for each, old in zip(new, states)]
        made.append(outputs)
    return states, [g.concat(list(each[::-1] if backwards else each), 0) for each in zip(*made)]


def is_fixed(states: list[Any]) -> bool:
    """Whether the number of hidden units is a plain number."""
    return all(type(each.shape[1]) is int for each in states)


def _first(g: Any, state: Any, count: Any) -> Any:
    return state if g.same_size(state.shape[0], count) else g.slice(state, [0], [count], [0])


def _followed(g: Any, new: Any, old: Any, count: Any) -> Any:
    """New states of the sequences that run, then those of the ones that do not."""
    new.shape = (count, old.shape[1])
    return new if g.same_size(old.shape[0], count) else g.concat([new, g.slice(old, [count], [g.TO_THE_END], [0])], 0)


def _scan(g: Any, times: int, batch: Any, backwards: bool, states: list[Any], rows: list[Any], step: Step) -> tuple[list[Any], list[Any]]:
    def body(inner: Any, *values: Any) -> list[Any]:
        new, outputs = step(inner, values[: len(states)], values[len(states) :])
        for each, old in zip(new, states):
            each.dtype, each.shape = old.dtype, old.shape
        return [*new, *outputs]

    stacked = [g.reshape(each, (times, batch, each.shape[1])) for each in rows]
    kinds = [(each.dtype, each.shape) for each in states] + [(each.dtype, (batch, each.shape[1])) for each in rows]
    graph = g.subgraph(kinds, body)
    count = len(graph._outputs) - len(states)
    ways = {"scan_input_directions_i": [1] * len(rows), "scan_output_directions_i": [1] * count} if backwards else {}
    made = g.op("Scan", *states, *stacked, outputs=len(states) + count, body_g=graph, num_scan_inputs_i=len(rows), **ways)
    made = [made] if not isinstance(made, tuple) else list(made)
    for value, inside in zip(made, graph._outputs):
        value.dtype, value.shape = inside.dtype, inside.shape
    flat = []
    for value in made[len(states) :]:
        value.shape = (times, batch, value.shape[-1])
        flat.append(g.reshape(value, (rows[0].shape[0], value.shape[-1])))
    return made[: len(states)], flat


def _shaped(value: Any, like: Any, width: Any) -> Any:
    value.dtype, value.shape = like.dtype, (like.shape[0], width)
    return value


def _parts(g: Any, x: Any, count: int) -> list[Any]:
    size = x.shape[1] // count
    return [_shaped(each, x, size) for each in g.split(x, [size] * count, 1)]


def _one_less(g: Any, x: Any) -> Any:
    return g.Sub(g.constant(1, x.dtype), x)


def _slope(g: Any, x: Any) -> Any:
    """The derivative of a sigmoid, from its value."""
    return g.Mul(x, _one_less(g, x))


def _weights(g: Any, grads: Any, before: Any) -> Any:
    return g.MatMul(g.swap(grads), before)


# -- LSTM --------------------------------------------------------------------------------------------------------


def lstm_layer(g: Any, gates: Any, hidden: Any, cell: Any, weight: Any, projection: Any, batch_sizes: Any, reverse: bool) -> Any:
    """Output, last states, activated gates, and the states before each time."""
    if not is_fixed([hidden, cell]):
        return NotImplemented
    transposed = g.place(g.swap(weight))
    narrowed = None if projection is None else g.place(g.swap(projection))
    size, width = cell.shape[1], hidden.shape[1]

    def step(inner: Any, states: Any, rows: Any) -> Any:
        old_hidden, old_cell = states
        now = _shaped(inner.Add(rows[0], inner.MatMul(old_hidden, transposed)), old_hidden, rows[0].shape[1])
        i, f, c, o = _parts(inner, now, 4)
        i, f, c, o = inner.Sigmoid(i), inner.Sigmoid(f), inner.Tanh(c), inner.Sigmoid(o)
        fresh = _shaped(inner.Add(inner.Mul(f, old_cell), inner.Mul(i, c)), old_cell, size)
        result = inner.Mul(o, inner.Tanh(fresh))
        result = _shaped(result if narrowed is None else inner.MatMul(result, narrowed), old_hidden, width)
        activated = _shaped(inner.concat([i, f, c, o], 1), old_hidden, 4 * size)
        return (result, fresh), (result, activated, old_cell, old_hidden)

    states, rows = through_time(g, batch_sizes, reverse, [hidden, cell], [gates], step)
    return (rows[0], *states, *rows[1:])


def lstm_backward(
    g: Any, grad_output: Any, grad_hidden: Any, grad_cell: Any, weight: Any, projection: Any, activated: Any, cells: Any, before: Any,
    batch_sizes: Any, reverse: bool,
) -> Any:  # fmt: skip
    """The gradients of gates, first states, weight and projection."""
    weight = g.place(weight)
    widened = None if projection is None else g.place(projection)
    i, f, c, o = _parts(g, activated, 4)
    squashed = g.Tanh(g.Add(g.Mul(f, cells), g.Mul(i, c)))
    to_cell = _shaped(g.Mul(o, _one_less(g, g.Mul(squashed, squashed))), cells, cells.shape[1])
    factors = g.concat(
        [g.Mul(c, _slope(g, i)), g.Mul(cells, _slope(g, f)), g.Mul(i, _one_less(g, g.Mul(c, c))), g.Mul(squashed, _slope(g, o))], 1
    )
    _shaped(factors, activated, activated.shape[1])

    def step(inner: Any, states: Any, rows: Any) -> Any:
        later_hidden, later_cell = states
        from_output, slope, forget, factor = rows
        arrived = _shaped(inner.Add(later_hidden, from_output), later_hidden, later_hidden.shape[1])
        grad = arrived if widened is None else inner.MatMul(arrived, widened)
        carried = inner.Add(later_cell, inner.Mul(grad, slope))
        to = _shaped(inner.Mul(inner.concat([carried, carried, carried, grad], 1), factor), later_cell, activated.shape[1])
        outputs = (to,) if widened is None else (to, arrived)
        return (inner.MatMul(to, weight), inner.Mul(carried, forget)), outputs

    states, rows = through_time(g, batch_sizes, not reverse, [grad_hidden, grad_cell], [grad_output, to_cell, f, factors], step)
    found = g.constant(np.zeros(0, cells.dtype)) if projection is None else _weights(g, rows[1], g.Mul(o, squashed))
    return (rows[0], *states, _weights(g, rows[0], before), found)


# -- GRU ---------------------------------------------------------------------------------------------------------


def gru_layer(g: Any, gates: Any, hidden: Any, weight: Any, bias: Any, batch_sizes: Any, reverse: bool) -> Any:
    """Output, last state, activated gates, and the states before each time."""
    if not is_fixed([hidden]):
        return NotImplemented
    transposed, bias = g.place(g.swap(weight)), None if bias is None else g.place(bias)
    size = hidden.shape[1]

    def step(inner: Any, states: Any, rows: Any) -> Any:
        old = states[0]
        own = inner.MatMul(old, transposed)
        own = _shaped(own if bias is None else inner.Add(own, bias), old, 3 * size)
        given_r, given_z, given_n = _parts(inner, rows[0], 3)
        own_r, own_z, own_n = _parts(inner, own, 3)
        reset, update = inner.Sigmoid(inner.Add(given_r, own_r)), inner.Sigmoid(inner.Add(given_z, own_z))
        candidate = inner.Tanh(inner.Add(given_n, inner.Mul(reset, own_n)))
        result = _shaped(inner.Add(inner.Mul(candidate, _one_less(inner, update)), inner.Mul(update, old)), old, size)
        return (result,), (result, _shaped(inner.concat([reset, update, candidate, own_n], 1), old, 4 * size), old)

    states, rows = through_time(g, batch_sizes, reverse, [hidden], [gates], step)
    return (rows[0], *states, *rows[1:])


def gru_backward(
    g: Any, grad_output: Any, grad_hidden: Any, weight: Any, activated: Any, before: Any, batch_sizes: Any, reverse: bool
) -> Any:
    """The gradients of gates, first state, weight and bias."""
    weight = g.place(weight)
    reset, update, candidate, own = _parts(g, activated, 4)
    size = before.shape[1]
    to_candidate = g.Mul(_one_less(g, update), _one_less(g, g.Mul(candidate, candidate)))
    to_reset = g.Mul(g.Mul(to_candidate, own), _slope(g, reset))
    to_update = g.Mul(g.Sub(before, candidate), _slope(g, update))
    to_own = _shaped(g.concat([to_reset, to_update, g.Mul(to_candidate, reset)], 1), before, 3 * size)
    to_gates = g.concat([to_reset, to_update, to_candidate], 1)

    def step(inner: Any, states: Any, rows: Any) -> Any:
        from_output, kept, factor = rows
        grad = _shaped(inner.Add(states[0], from_output), states[0], size)
        wide = inner.Mul(inner.concat([grad, grad, grad], 1), factor)
        return (inner.Add(inner.Mul(grad, kept), inner.MatMul(wide, weight)),), (grad,)

    states, (grad,) = through_time(g, batch_sizes, not reverse, [grad_hidden], [grad_output, update, to_own], step)
    wide = g.concat([grad, grad, grad], 1)
    own_grads = _shaped(g.Mul(wide, to_own), before, 3 * size)
    return (g.Mul(wide, to_gates), *states, _weights(g, own_grads, before), g.reduce("ReduceSum", own_grads, [0]))


# -- plain recurrence --------------------------------------------------------------------------------------------


def rnn_layer(g: Any, gates: Any, hidden: Any, weight: Any, relu: bool, batch_sizes: Any, reverse: bool) -> Any:
    """Output, last state, and the states before each time."""
    if not is_fixed([hidden]):
        return NotImplemented
    transposed = g.place(g.swap(weight))

    def step(inner: Any, states: Any, rows: Any) -> Any:
        now = inner.Add(rows[0], inner.MatMul(states[0], transposed))
        result = _shaped(inner.Relu(now) if relu else inner.Tanh(now), states[0], states[0].shape[1])
        return (result,), (result, states[0])

    states, rows = through_time(g, batch_sizes, reverse, [hidden], [gates], step)
    return (rows[0], *states, rows[1])


def rnn_backward(
    g: Any, grad_output: Any, grad_hidden: Any, weight: Any, output: Any, before: Any, relu: bool, batch_sizes: Any, reverse: bool
) -> Any:
    """The gradients of gates, first state and weight."""
    weight = g.place(weight)
    if relu:
        slope = g.cast(g.Greater(output, g.constant(0, output.dtype)), output.dtype)
    else:
        slope = _one_less(g, g.Mul(output, output))
    _shaped(slope, output, output.shape[1])

    def step(inner: Any, states: Any, rows: Any) -> Any:
        to = _shaped(inner.Mul(inner.Add(states[0], rows[0]), rows[1]), states[0], output.shape[1])
        return (inner.MatMul(to, weight),), (to,)

    states, (grads,) = through_time(g, batch_sizes, not reverse, [grad_hidden], [grad_output, slope], step)
    return (grads, *states, _weights(g, grads, before))
