"""Recurrent layers: RNN, GRU and LSTM with all their attributes.

What PyTorch's layers compute too goes to the layers of the op table; the rest (other activations, clipping, peepholes, coupled gates, sequences
of different lengths) is computed step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....core.symbolic import is_symbolic
from ....nn import functional as F
from ....ops.nn.rnn_sequences import gru as gru_layer
from ....ops.nn.rnn_sequences import lstm as lstm_layer
from ....ops.nn.rnn_sequences import rnn_relu, rnn_tanh
from .. import calls as rl
from ..control_flow import repeat
from ..registry import NodeContext, importer
from .activations import hard_sigmoid, thresholded_relu
from .indexing import reversed_sequences

Activation = Callable[[Any], Any]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
# The order of PyTorch's gates among ONNX's: of GRU update, reset, hidden; of LSTM input, output, forget, cell.
ORDER = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}

# Activation -> the function, and the defaults of its alpha and beta.
ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "Relu": (rl.relu, ()),
    "Tanh": (rl.tanh, ()),
    "Sigmoid": (rl.sigmoid, ()),
    "Affine": (lambda x, alpha, beta: alpha * x + beta, (1.0, 0.0)),
    "LeakyRelu": (lambda x, alpha: F.leaky_relu(x, alpha), (0.01,)),
    "ThresholdedRelu": (thresholded_relu, (1.0,)),
    "ScaledTanh": (lambda x, alpha, beta: alpha * rl.tanh(beta * x), (1.0, 1.0)),
    "HardSigmoid": (hard_sigmoid, (0.2, 0.5)),
    "Elu": (lambda x, alpha: F.elu(x, alpha), (1.0,)),
    "Softsign": (F.softsign, ()),
    "Softplus": (F.softplus, ()),
}


def activations(node: NodeContext, directions: int) -> list[Activation]:
    """The activations of a node, direction after direction; alphas and betas belong to those that take one, in order."""
    names = node.get("activations") or DEFAULTS[node.kind] * directions
    alphas, betas = list(node.get("activation_alpha") or []), list(node.get("activation_beta") or [])
    result: list[Activation] = []
    for name in names:
        if name not in ACTIVATIONS:
            raise node.not_supported(f"the activation {name!r} is not known")
        function, defaults = ACTIVATIONS[name]
        given = [values.pop(0) if values else default for values, default in zip((alphas, betas), defaults)]
        result.append(with_numbers(function, given))
    return result


def with_numbers(function: Callable[..., Any], given: list[float]) -> Activation:
    """An activation with its alpha and beta."""
    return lambda x: function(x, *given)


@dataclass
class Direction:
    """The weights of one direction, and what its cell does with gates."""

    w: Any  # (gates * hidden, input)
    r: Any  # (gates * hidden, hidden)
    input_bias: Any
    hidden_bias: Any
    act: list[Activation]
    clip: float | None
    peepholes: Any = None

    def clipped(self, x: Any) -> Any:
        """A gate before its activation."""
        return x if self.clip is None else rl.clamp(x, -self.clip, self.clip)


def rnn_step(node: NodeContext, own: Direction, inputs: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """One step of a plain cell."""
    return own.act[0](own.clipped(inputs + F.linear(h, own.r, own.hidden_bias))), c


def gru_step(node: NodeContext, own: Direction, inputs: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """One step of a gated recurrent unit."""
    size = h.shape[-1]
    update_x, reset_x, hidden_x = inputs.split(size, -1)
    rows = own.r.split(size, 0)
    biases = (None,) * 3 if own.hidden_bias is None else own.hidden_bias.split(size, 0)
    update = own.act[0](own.clipped(update_x + F.linear(h, rows[0], biases[0])))
    reset = own.act[0](own.clipped(reset_x + F.linear(h, rows[1], biases[1])))
    if node.get("linear_before_reset", 0):
        hidden = reset * F.linear(h, rows[2], biases[2])
    else:
        hidden = F.linear(reset * h, rows[2], biases[2])
    hidden = own.act[1](own.clipped(hidden_x + hidden))
    return (1 - update) * hidden + update * h, c


def lstm_step(node: NodeContext, own: Direction, inputs: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """One step of a long short-term memory."""
    size = h.shape[-1]
    i, o, f, cell = (inputs + F.linear(h, own.r, own.hidden_bias)).split(size, -1)
    peep = None if own.peepholes is None else own.peepholes.split(size, -1)  # of input, output, forget
    if peep is not None:
        i, f = i + peep[0] * c, f + peep[2] * c
    i = own.act[0](own.clipped(i))
    f = 1 - i if node.get("input_forget", 0) else own.act[0](own.clipped(f))
    new = f * c + i * own.act[1](own.clipped(cell))
    if peep is not None:
        o = o + peep[1] * new
    return own.act[0](own.clipped(o)) * own.act[2](new), new


STEPS = {"RNN": rnn_step, "GRU": gru_step, "LSTM": lstm_step}


def run_direction(node: NodeContext, own: Direction, x: Any, h: Any, c: Any, lengths: Any, backwards: bool) -> tuple[Any, Any, Any]:
    """The outputs of all steps and the last states of one direction, over (time, batch, input)."""
    step = STEPS[node.kind]
    flip = (lambda y: reversed_sequences(y, lengths, 0, 1)) if lengths is not None else (lambda y: y.flip(0))
    inputs = F.linear(flip(x) if backwards else x, own.w, own.input_bias)

    def advance(time: Any, here: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
        new_h, new_c = step(node, own, here, h, c)
        if lengths is None:
            return new_h, new_c, new_h
        running = (lengths > time).reshape(-1, 1)
        kept = rl.where(running, new_h, h), None if c is None else rl.where(running, new_c, c)
        return *kept, rl.where(running, new_h, rl.zeros_like(new_h))

    if is_symbolic(x.shape[0]):  # so many steps as there will be: a loop of the graph

        def body(time: Any, h: Any, *cell: Any) -> tuple[Any, ...]:
            new_h, new_c, output = advance(time, rl.select(inputs, 0, time), h, *(cell or (None,)))
            return (True, new_h, *(() if new_c is None else (new_c,)), output)

        *states, y = repeat(x.shape[0], True, (h,) if c is None else (h, c), (), ((1, ()),), bodies={"body": body})
        h, c = states[0], None if c is None else states[1]
    else:
        outputs = []
        for time, here in enumerate(inputs.unbind(0)):
            h, c, output = advance(time, here, h, c)
            outputs.append(output)
        y = rl.stack(outputs) if outputs else x.new_zeros((0, x.shape[1], h.shape[-1]))
    return flip(y) if backwards else y, h, c


def recurrent(node: NodeContext, x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, c: Any = None, peepholes: Any = None) -> Any:
    """All directions of a recurrent layer: the outputs of all steps, and the last states."""
    batch_first = bool(node.get("layout", 0))
    if batch_first:
        x, h, c = x.transpose(0, 1), *(None if each is None else each.transpose(0, 1) for each in (h, c))
    directions, size = r.shape[0], r.shape[-1]
    if h is None:
        h = x.new_zeros((directions, x.shape[1], size))
    if c is None and node.kind == "LSTM":
        c = x.new_zeros((directions, x.shape[1], size))
    if layer := plain_layer(node, directions, lengths, peepholes):
        y, last_h, last_c = run_layer(node, layer, x, w, r, b, h, c)
    else:
        y, last_h, last_c = run_steps(node, x, w, r, b, lengths, h, c, peepholes)
    if batch_first:
        y, last_h = y.permute(2, 0, 1, 3), last_h.transpose(0, 1)
        last_c = None if last_c is None else last_c.transpose(0, 1)
    return (y, last_h) if last_c is None else (y, last_h, last_c)


def run_steps(node: NodeContext, x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, c: Any, peepholes: Any) -> tuple[Any, Any, Any]:
    """A layer step by step: (time, directions, batch, hidden), and the last states of all directions."""
    directions, size = r.shape[0], r.shape[-1]
    half = GATES[node.kind] * size
    acts = activations(node, directions)
    each_act = len(acts) // directions
    ys, hs, cs = [], [], []
    for index in range(directions):
        own = Direction(
            w[index], r[index], None if b is None else b[index, :half], None if b is None else b[index, half:],
            acts[index * each_act : (index + 1) * each_act], node.get("clip"), None if peepholes is None else peepholes[index],
        )  # fmt: skip
        backwards = node["direction"] == "reverse" or index == 1
        y, last_h, last_c = run_direction(node, own, x, h[index], None if c is None else c[index], lengths, backwards)
        ys.append(y)
        hs.append(last_h)
        cs.append(last_c)
    return rl.stack(ys, 1), rl.stack(hs), None if c is None else rl.stack(cs)


# -- layers of the op table -------------------------------------------------------------------------------------------------------


def plain_layer(node: NodeContext, directions: int, lengths: Any, peepholes: Any) -> Any:
    """The layer of the op table that computes what a node asks for; None where there is none."""
    usual = DEFAULTS[node.kind] * directions
    names = node.get("activations") or usual
    if lengths is not None or peepholes is not None or node.get("clip") is not None or node.get("input_forget", 0):
        return None
    if node.kind == "RNN":
        return {"Tanh": rnn_tanh, "Relu": rnn_relu}.get(names[0]) if len(set(names)) == 1 else None
    if names != usual or (node.kind == "GRU" and not node.get("linear_before_reset", 0)):
        return None
    return lstm_layer if node.kind == "LSTM" else gru_layer


def run_layer(node: NodeContext, layer: Any, x: Any, w: Any, r: Any, b: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
    """The same as ``run_steps`` by a layer of the op table, with the gates in its order."""
    directions, size = r.shape[0], r.shape[-1]
    order, gates = ORDER[node.kind], GATES[node.kind]

    def arranged(parameter: Any) -> Any:
        parts = parameter.split(size, 0)
        return parameter if gates == 1 else rl.cat([parts[index] for index in order], 0)

    parameters = []
    for index in range(directions):
        parameters += [arranged(w[index]), arranged(r[index])]
        if b is not None:
            parameters += [arranged(half) for half in b[index].split(gates * size, 0)]
    backwards = node["direction"] == "reverse"
    if backwards:
        x = x.flip(0)
    state = (h, c) if node.kind == "LSTM" else h
    y, *last = layer(x, state, parameters, b is not None, 1, 0.0, False, directions == 2, False)
    if backwards:
        y = y.flip(0)
    y = y.reshape(x.shape[0], x.shape[1], directions, size).permute(0, 2, 1, 3)
    return y, last[0], last[1] if len(last) > 1 else None


@importer("RNN")
def rnn(node: NodeContext, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None) -> Any:
    return recurrent(node, x, w, r, b, lengths, h)


@importer("GRU")
def gru(node: NodeContext, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None) -> Any:
    return recurrent(node, x, w, r, b, lengths, h)


@importer("LSTM")
def lstm(node: NodeContext, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None, p: Any = None) -> Any:
    return recurrent(node, x, w, r, b, lengths, h, c, p)
