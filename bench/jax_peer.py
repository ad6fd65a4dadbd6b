"""One case of native.py in JAX, compiled by ``jit``, in a process and an environment of its own.

python bench/jax_peer.py KIND CASE FOLDER        (what native.py starts; serving.py has what it answers)

The numbers are those of the other packages: FOLDER/numbers.npz has the parameters, the input and the target.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from serving import serve

Numbers = dict[str, Any]
Made = tuple[Any, Callable[[Any, Any, bool], Any], Callable[[Any, Any], Any]]  # parameters, forward, loss


def layer(numbers: Numbers, name: str) -> Numbers:
    """The parameters of a linear layer, convolution or norm."""
    return {each: numbers[f"{name}.{each}"] for each in ("weight", "bias")}


def apply(p: Numbers, x: Any) -> Any:
    return x @ p["weight"].T + p["bias"]


def norm(p: Numbers, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p["weight"] + p["bias"]


def cross_entropy(out: Any, y: Any) -> Any:
    return -jnp.take_along_axis(nn.log_softmax(out), y[:, None], 1).mean()


def squares(out: Any, y: Any) -> Any:
    return ((out - y) ** 2).mean()


def mlp(numbers: Numbers) -> Made:
    def forward(p: Any, x: Any, training: bool) -> Any:
        return apply(p[2], nn.relu(apply(p[1], nn.relu(apply(p[0], x)))))

    return [layer(numbers, name) for name in "024"], forward, squares


def pointwise(numbers: Numbers) -> Made:
    def forward(p: Any, x: Any, training: bool) -> Any:
        return nn.softmax(norm(p, 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.044715 * x * x * x)))))

    return layer(numbers, "norm"), forward, lambda out, y: (out * y).sum()


def gpt(numbers: Numbers) -> Made:
    heads, length, words = 4, 64, 65
    parts = ("norm1", "norm2", "qkv", "out", "mlp.0", "mlp.2")
    blocks = [{part: layer(numbers, f"blocks.{at}.{part}") for part in parts} for at in range(4)]
    others = {name: numbers[f"{name}.weight"] for name in ("tokens", "places", "head")}
    mask = jnp.tril(jnp.ones((length, length), bool))

    def forward(p: Any, index: Any, training: bool) -> Any:
        x = p["tokens"][index] + p["places"]
        b, t, c = x.shape
        for block in p["blocks"]:
            qkv = jnp.split(apply(block["qkv"], norm(block["norm1"], x)), 3, 2)
            q, k, v = (each.reshape(b, t, heads, -1).transpose(0, 2, 1, 3) for each in qkv)
            weights = nn.softmax(jnp.where(mask, q @ k.swapaxes(-1, -2) * (c // heads) ** -0.5, -jnp.inf))
            x = x + apply(block["out"], (weights @ v).transpose(0, 2, 1, 3).reshape(b, t, c))
            x = x + apply(block["mlp.2"], nn.gelu(apply(block["mlp.0"], norm(block["norm2"], x)), approximate=False))
        return norm(p["norm"], x) @ p["head"].T

    parameters = {**others, "blocks": blocks, "norm": layer(numbers, "norm")}
    return parameters, forward, lambda out, y: cross_entropy(out.reshape(-1, words), y)


def cnn(numbers: Numbers) -> Made:
    names = [(str(at), str(at + 1)) for at in (0, 3, 6)]
    fixed = [(numbers[f"{norm}.running_mean"], numbers[f"{norm}.running_var"]) for _, norm in names]

    def forward(p: Any, x: Any, training: bool) -> Any:
        for at, (taps, scale) in enumerate(p["layers"]):
            x = lax.conv_general_dilated(x, taps["weight"], (1, 1) if at == 0 else (2, 2), ((1, 1), (1, 1)))
            x = x + taps["bias"][:, None, None]
            if training:
                mean = x.mean((0, 2, 3), keepdims=True)
                variance = ((x - mean) ** 2).mean((0, 2, 3), keepdims=True)
            else:
                mean, variance = (each[:, None, None] for each in fixed[at])
            x = (x - mean) * lax.rsqrt(variance + 1e-5)
            x = nn.relu(x * scale["weight"][:, None, None] + scale["bias"][:, None, None])
        return apply(p["head"], x.mean((2, 3)))

    layers = [(layer(numbers, taps), layer(numbers, scale)) for taps, scale in names]
    return {"layers": layers, "head": layer(numbers, "11")}, forward, cross_entropy


def lstm(numbers: Numbers) -> Made:
    def forward(p: Any, x: Any, training: bool) -> Any:
        gates = (x @ p["weight_ih_l0"].T + p["bias_ih_l0"] + p["bias_hh_l0"]).swapaxes(0, 1)

        def step(state: Any, now: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(now + h @ p["weight_hh_l0"].T, 4, -1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[0], 128))
        return apply(p["head"], lax.scan(step, (zero, zero), gates)[1].swapaxes(0, 1))

    parameters = {name: numbers[f"lstm.{name}"] for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")}
    return {**parameters, "head": layer(numbers, "head")}, forward, squares


@jax.custom_vjp
def scaled_sine(x: Any) -> Any:
    return jnp.sin(x) * 0.9


scaled_sine.defvjp(lambda x: (scaled_sine(x), x), lambda x, g: (g * jnp.cos(x) * 0.9,))


def chain(numbers: Numbers) -> Made:
    def forward(p: Any, x: Any, training: bool) -> Any:
        for _ in range(20):
            p = scaled_sine(p)
        return p

    return numbers["start"], forward, lambda out, y: out.sum()


CASES = {
    "pointwise, 4M floats": pointwise,
    "MLP, batch 32": mlp,
    "GPT, 4 layers": gpt,
    "CNN, batch 32": cnn,
    "LSTM, length 50": lstm,
    "20 Functions, 128 elements": chain,
}


def runner(kind: str, made: Made, x: Any, y: Any) -> Callable[[], Any]:
    """A training step or an inference."""
    parameters, forward, loss = made
    if kind == "inference":
        infer = jax.jit(lambda p, x: forward(p, x, False))
        return lambda: infer(parameters, x).block_until_ready()

    @jax.jit
    def step(p: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(lambda p: loss(forward(p, x, True), y))(p)
        return jax.tree.map(lambda a, g: a - 1e-3 * g, p, gradients), value

    kept = [parameters]

    def train() -> Any:
        kept[0], value = step(kept[0], x, y)
        return value.block_until_ready()

    return train


def main() -> None:
    kind, case, folder = sys.argv[1:]
    numbers = {name: jnp.asarray(each) for name, each in np.load(os.path.join(folder, "numbers.npz")).items()}
    x, y = numbers.pop("input"), numbers.pop("target")
    jax.block_until_ready((numbers, x, y))
    results = os.path.join(folder, f"jax step {kind}.npy")
    serve(lambda: runner(kind, CASES[case](numbers), x, y), results, 5 if kind == "training" else 2)


if __name__ == "__main__":
    main()
