"""Recurrent networks and packed sequences in ONNX.

ONNX's LSTM, GRU and RNN work on padded sequences with their lengths.  A packed batch is therefore written twice: as packed rows,
for what works on rows, and (in the mark ``packed`` of the value) as the padded batch, the lengths and whether there is zero
behind the ends, for what works on sequences.  What is not used in the end is dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.symbolic import Expression

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_NODES = {"lstm": "LSTM", "gru": "GRU", "tanh": "RNN", "relu": "RNN"}
_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "tanh": (0,), "relu": (0,)}  # our gates in ONNX's order


# -- packed sequences --------------------------------------------------------------------------------------------


def _running(g: Any, padded: Any, lengths: Any) -> Any:
    """Which sequences of a padded batch run at each time: (time, batch)."""
    mask = g.Less(g.unsqueeze(g.range(0, g.size(padded, 0)), [1]), g.unsqueeze(lengths, [0]))
    mask.shape = padded.shape[:2]
    return mask


def _flat(g: Any, x: Any) -> Any:
    """The first two dimensions as one."""
    return g.op("Reshape", x, g.sizes([-1, *x.shape[2:]]))


def _rows(g: Any, padded: Any, lengths: Any, zero: bool) -> Any:
    """The packed rows of a padded batch, marked with it."""
    data = g.Compress(_flat(g, padded), _flat(g, _running(g, padded, lengths)), axis=0)
    data.packed = (padded, lengths, zero)
    return data


def pack_form(g: Any, input: Any, lengths: Any, batch_first: bool) -> Any:
    """Rows and batch sizes of a padded batch."""
    padded = g.swap(input, 0, 1) if batch_first else input
    counts = g.reduce("ReduceSum", g.cast(_running(g, padded, lengths), _INT64), [1])
    batch_sizes = g.Compress(counts, g.Greater(counts, 0), axis=0)  # behind the longest sequence nothing runs
    return _rows(g, padded, lengths, False), batch_sizes


def _sequences(g: Any, data: Any, batch_sizes: Any) -> tuple[Any, Any, bool]:
    """The padded batch of packed rows (time first), the lengths, and whether there is zero behind the ends."""
    if data.packed is not None:
        return data.packed  # type: ignore[no-any-return]
    if g.opset < 11:
        raise g.unsupported("packed sequences that don't come from pack_padded_sequence can't be padded", since=11)
    batch = g.gather(batch_sizes, 0, 0)
    mask = g.Less(g.unsqueeze(g.range(0, batch), [0]), g.unsqueeze(batch_sizes, [1]))
    mask.shape = (batch_sizes.shape[0], None)
    counted = g.cast(mask, _INT64)
    rows = g.Sub(g.CumSum(_flat(g, counted), g.constant(0, _INT64)), 1)  # a place behind an end repeats another row
    padded = g.op("Reshape", g.gather(data, rows, 0), g.sizes([batch_sizes.shape[0], -1, *data.shape[1:]]))
    padded.shape = (batch_sizes.shape[0], None, *data.shape[1:])
    return padded, g.reduce("ReduceSum", counted, [0]), False


def pad_form(g: Any, data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: Any) -> Any:
    """A packed batch with padding, and the lengths."""
    padded, lengths, zero = _sequences(g, data, batch_sizes)
    time, *rest = padded.shape
    if not (zero and padding_value == 0):
        padded = g.where(g.unsqueeze(_running(g, padded, lengths), range(2, len(rest) + 1)), padded, padding_value)
    if not (total_length > 0 and Expression.of(time) == Expression.of(total_length)):
        longest: Any = time
        if data.packed is not None:  # there may be times at which nothing runs
            longest = g.reduce("ReduceMax", lengths, None)
            if g.opset < 10:
                padded = g.Compress(padded, g.Less(g.range(0, time), longest), axis=0)
            else:
                padded = g.slice(padded, [0], [longest], [0])
        if total_length > 0:
            missing = g.Sub(g.number(total_length, _INT64), g.number(longest, _INT64))
            missing.shape = ()
            padded = g.pad(padded, [*[0] * (len(rest) + 1), missing, *[0] * len(rest)], value=padding_value)
    padded.shape = (None, *rest)
    return (g.swap(padded, 0, 1) if batch_first else padded), lengths


# -- networks ----------------------------------------------------------------------------------------------------


def network_form(kind: str) -> Any:
    """The form of a recurrent network, of padded or packed sequences: a node for each layer."""

    def form(g: Any, args: tuple[Any, ...]) -> Any:
        packed = isinstance(args[3], (list, tuple))
        if packed:
            data, batch_sizes, hx, params, has_biases, layers, dropout, train, bidirectional = args
            x, lengths, _ = _sequences(g, data, batch_sizes)
            batch_first = False
        else:
            x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first = args
            lengths = None
        if kind == "lstm" and len(params) // (layers * (1 + bidirectional)) > 2 + 2 * has_biases:
            if packed or type(x.shape[1 if batch_first else 0]) is not int:
                raise g.unsupported("ONNX's LSTM has no projections (proj_size): only sequences of one fixed length can be exported")
            return NotImplemented
        states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
        x = g.swap(x, 0, 1) if batch_first else x
        directions = 2 if bidirectional else 1
        width = len(params) // (layers * directions)
        last: list[Any] = []
        for layer in range(layers):
            first = layer * directions
            weights = [params[(first + each) * width : (first + each + 1) * width] for each in range(directions)]
            x, ended = _layer(g, kind, x, lengths, [_part(g, each, first, directions, layers) for each in states], weights, has_biases)
            last.append(ended)
            if dropout > 0 and train and layer < layers - 1:
                x = _dropped(g, x, dropout)
        ends = [g.concat(list(each), 0) for each in zip(*last)]
        if packed:
            return (_rows(g, x, lengths, True), *ends)
        return (g.swap(x, 0, 1) if batch_first else x, *ends)

    return {9: form}


def _layer(g: Any, kind: str, x: Any, lengths: Any, states: list[Any], weights: list[Any], has_biases: bool) -> tuple[Any, Any]:
    """One layer in all its directions: the outputs at all times, and the last states."""
    directions, hidden = len(weights), weights[0][1].shape[1]
    if type(hidden) is not int:
        raise g.unsupported(f"ONNX's {_NODES[kind]} has a fixed number of hidden units, but the weights' sizes are open")
    order = _GATES[kind]
    inputs = [
        x, _stacked(g, [each[0:1] for each in weights], order), _stacked(g, [each[1:2] for each in weights], order),
        _stacked(g, [each[2:4] for each in weights], order) if has_biases else None,
        None if lengths is None else _narrow(g, lengths), *[None if _is_zero(each) else each for each in states],
    ]  # fmt: skip
    options: dict[str, Any] = {"hidden_size_i": hidden, "direction_s": "bidirectional" if directions > 1 else "forward"}
    if kind == "gru":
        options["linear_before_reset_i"] = 1
    if kind == "relu":
        options["activations_s"] = ["Relu"] * directions
    output, *ended = g.op(_NODES[kind], *inputs, outputs=1 + len(states), **options)
    time, batch = x.shape[:2]
    output.shape = (time, directions, batch, hidden)
    for each in ended:
        each.shape = (directions, batch, hidden)
    if directions == 1:
        return g.squeeze(output, [1]), ended
    transposed = g.transpose(output, [0, 2, 1, 3])
    joined = g.op("Reshape", transposed, g.sizes([0, 0, directions * hidden]))
    joined.shape = (time, batch, directions * hidden)
    return joined, ended


def _part(g: Any, state: Any, first: int, directions: int, layers: int) -> Any:
    """The initial states of one layer."""
    if layers == 1 or _is_zero(state):
        return state
    return g.slice(state, [first], [first + directions], [0])


def _is_zero(state: Any) -> bool:
    """Whether an initial state is zero, which is what ONNX takes where there is none."""
    if state.constant is not None:
        return not state.constant.any()
    node = state.owner
    if node is None or node.kind() not in ("onnx::ConstantOfShape", "onnx::Expand"):
        return False
    if node.op_type == "Expand":
        return _is_zero(node.inputsAt(0))
    return not np.any(node.attributes.get("value", 0))


def _narrow(g: Any, lengths: Any) -> Any:
    """Lengths as ONNX takes them; those that were int32 to begin with as they were."""
    if lengths.owner is not None and lengths.owner.kind() == "onnx::Cast" and lengths.owner.inputsAt(0).dtype == _INT32:
        return lengths.owner.inputsAt(0)
    return g.cast(lengths, _INT32)


def _stacked(g: Any, weights: list[Any], order: tuple[int, ...]) -> Any:
    """Parameters (of each direction one or more, which are joined) with their gates in ONNX's order, a row for each direction."""
    values = [each for direction in weights for each in direction]
    if g.folding and all(each.constant is not None for each in values):
        return g.derived("stacked", values, lambda arrays: _stack_arrays(arrays, len(weights), order))
    stacked = []
    for direction in weights:
        parts = []
        for each in direction:
            gates = g.split(each, [each.shape[0] // len(order)] * len(order), 0)
            parts += [gates[gate] for gate in order]
        stacked.append(g.unsqueeze(g.concat(parts, 0), [0]))
    return g.concat(stacked, 0)


def _stack_arrays(arrays: list[Any], directions: int, order: tuple[int, ...]) -> Any:
    ordered = [np.concatenate([np.split(each, len(order))[gate] for gate in order]) for each in arrays]
    joined = len(arrays) // directions
    return np.stack([np.concatenate(ordered[at * joined : (at + 1) * joined]) for at in range(directions)])


def _dropped(g: Any, x: Any, p: float) -> Any:
    """Dropout between layers, while a model trains."""
    if g.opset < 12:
        made = g.op("Dropout", x, ratio_f=p)
    else:
        made = g.op("Dropout", x, g.constant(p, np.float32), g.constant(True, np.bool_))
    made.shape = x.shape
    return made
