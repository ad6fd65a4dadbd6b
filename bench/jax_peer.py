"""The cases of native.py in JAX, compiled by ``jit``: prints their times as JSON.  Runs in an environment of its own that has JAX."""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

RANDOM = np.random.default_rng(0)


def normal(*shape: int, scale: float = 1.0) -> Any:
    return jnp.asarray(RANDOM.standard_normal(shape) * scale, jnp.float32)


def linear(inputs: int, outputs: int) -> dict[str, Any]:
    return {"w": normal(inputs, outputs, scale=inputs**-0.5), "b": normal(outputs, scale=0.1)}


def apply(p: Any, x: Any) -> Any:
    return x @ p["w"] + p["b"]


def norm(p: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p["w"] + p["b"]


def cross_entropy(out: Any, y: Any) -> Any:
    return -jnp.take_along_axis(nn.log_softmax(out), y[:, None], 1).mean()


def mlp() -> tuple[Any, Any, Any, Any]:
    y = normal(32, 1)

    def forward(p: Any, x: Any) -> Any:
        return apply(p[2], nn.relu(apply(p[1], nn.relu(apply(p[0], x)))))

    return [linear(64, 64), linear(64, 64), linear(64, 1)], normal(32, 64), forward, lambda out: ((out - y) ** 2).mean()


def pointwise() -> tuple[Any, Any, Any, Any]:
    y = normal(4096, 1024)

    def forward(p: Any, x: Any) -> Any:
        return nn.softmax(norm(p, 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.044715 * x * x * x)))))

    return {"w": jnp.ones(1024), "b": jnp.zeros(1024)}, normal(4096, 1024), forward, lambda out: (out * y).sum()


def gpt() -> tuple[Any, Any, Any, Any]:
    width, heads, length, words = 128, 4, 64, 65

    def flat() -> dict[str, Any]:
        return {"w": jnp.ones(width), "b": jnp.zeros(width)}

    blocks = [
        {"n1": flat(), "n2": flat(), "qkv": linear(width, 3 * width), "out": linear(width, width), "up": linear(width, 4 * width), "down": linear(4 * width, width)}
        for _ in range(4)
    ]
    y = jnp.asarray(RANDOM.integers(0, words, 8 * length))
    mask = jnp.tril(jnp.ones((length, length), bool))

    def forward(p: Any, index: Any) -> Any:
        x = p["tokens"][index] + p["places"]
        for block in p["blocks"]:
            b, t, c = x.shape
            q, k, v = (each.reshape(b, t, heads, -1).transpose(0, 2, 1, 3) for each in jnp.split(apply(block["qkv"], norm(block["n1"], x)), 3, 2))
            weights = nn.softmax(jnp.where(mask, q @ k.swapaxes(-1, -2) * (c // heads) ** -0.5, -jnp.inf))
            x = x + apply(block["out"], (weights @ v).transpose(0, 2, 1, 3).reshape(b, t, c))
            x = x + apply(block["down"], nn.gelu(apply(block["up"], norm(block["n2"], x)), approximate=False))
        return norm(p["norm"], x) @ p["head"]

    parameters = {"tokens": normal(words, width), "places": normal(length, width), "blocks": blocks, "norm": flat(), "head": normal(width, words, scale=0.1)}
    return parameters, jnp.asarray(RANDOM.integers(0, words, (8, length))), forward, lambda out: cross_entropy(out.reshape(-1, words), y)


def cnn() -> tuple[Any, Any, Any, Any]:
    layers = [
        {"w": normal(b, a, 3, 3, scale=(9 * a) ** -0.5), "b": jnp.zeros(b), "scale": jnp.ones(b), "shift": jnp.zeros(b)}
        for a, b in ((3, 32), (32, 64), (64, 128))
    ]
    y = jnp.asarray(RANDOM.integers(0, 10, 32))

    def forward(p: Any, x: Any) -> Any:
        for at, each in enumerate(p["layers"]):
            x = lax.conv_general_dilated(x, each["w"], (1, 1) if at == 0 else (2, 2), ((1, 1), (1, 1))) + each["b"][:, None, None]
            centred = x - x.mean((0, 2, 3), keepdims=True)
            x = centred * lax.rsqrt((centred**2).mean((0, 2, 3), keepdims=True) + 1e-5)
            x = nn.relu(x * each["scale"][:, None, None] + each["shift"][:, None, None])
        return apply(p["head"], x.mean((2, 3)))

    return {"layers": layers, "head": linear(128, 10)}, normal(32, 3, 32, 32), forward, lambda out: cross_entropy(out, y)


def lstm() -> tuple[Any, Any, Any, Any]:
    size = 128
    y = normal(16, 50, 1)

    def forward(p: Any, x: Any) -> Any:
        gates = apply(p["in"], x).swapaxes(0, 1)

        def step(state: Any, now: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(now + h @ p["hidden"], 4, -1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[0], size))
        return apply(p["head"], lax.scan(step, (zero, zero), gates)[1].swapaxes(0, 1))

    parameters = {"in": linear(64, 4 * size), "hidden": normal(size, 4 * size, scale=size**-0.5), "head": linear(size, 1)}
    return parameters, normal(16, 50, 64), forward, lambda out: ((out - y) ** 2).mean()


@jax.custom_vjp
def scaled_sine(x: Any) -> Any:
    return jnp.sin(x) * 0.9


scaled_sine.defvjp(lambda x: (scaled_sine(x), x), lambda x, g: (g * jnp.cos(x) * 0.9,))


def chain() -> tuple[Any, Any, Any, Any]:
    def forward(p: Any, x: Any) -> Any:
        y = p
        for _ in range(20):
            y = scaled_sine(y)
        return y

    return jnp.asarray(RANDOM.random(128), jnp.float32), jnp.zeros(0), forward, lambda out: out.sum()


CASES = {
    "pointwise, 4M floats": pointwise, "MLP, batch 32": mlp, "GPT, 4 layers": gpt, "CNN, batch 32": cnn, "LSTM, length 50": lstm,
    "20 Functions, 128 elements": chain,
}  # fmt: skip


def best(function: Callable[[], Any], budget: float) -> float:
    once = max(timeit.timeit(function, number=1), 1e-7)
    number = max(1, int(budget / once / 3))
    return min(timeit.repeat(function, number=number, repeat=9)) / number


def timed(make: Any) -> dict[str, float]:
    """The times of inference and of a training step, and of the first step."""
    parameters, x, forward, loss = make()
    infer = jax.jit(forward)

    @jax.jit
    def step(p: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(lambda p: loss(forward(p, x)))(p)
        return jax.tree.map(lambda a, g: a - 1e-3 * g, p, gradients), value

    kept = [parameters]

    def train() -> None:
        kept[0], value = step(kept[0], x)
        value.block_until_ready()

    first = timeit.timeit(train, number=1)
    infer(parameters, x).block_until_ready()
    return {"inference": best(lambda: infer(parameters, x).block_until_ready(), 0.3), "training": best(train, 0.3), "first": first}


def main() -> None:
    only = sys.argv[1] if sys.argv[1:] else ""
    print(json.dumps({name: timed(make) for name, make in CASES.items() if only in name}))


if __name__ == "__main__":
    main()
