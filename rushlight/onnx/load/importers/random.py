"""Random numbers.

A node with a seed gives the numbers that NumPy's generator of that seed gives, which ONNX's reference uses, at each call; one without draws from
the default generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import calls as rl
from ..registry import NodeContext, importer


def uniform(node: NodeContext, shape: Any) -> Any:
    """Numbers between zero and one."""
    seed = node.get("seed")
    return rl.rand(list(shape)) if seed is None else rl.from_numpy(np.random.RandomState(int(seed)).uniform(0.0, 1.0, tuple(shape)))


def normal(node: NodeContext, shape: Any) -> Any:
    """Numbers of the standard normal distribution."""
    seed = node.get("seed")
    return rl.randn(list(shape)) if seed is None else rl.from_numpy(np.random.RandomState(int(seed)).standard_normal(tuple(shape)))


@importer("RandomUniform", "RandomUniformLike")
def random_uniform(node: NodeContext, like: Any = None) -> Any:
    low, high = node["low"], node["high"]
    drawn = uniform(node, node["shape"] if like is None else like.shape)
    return (low + (high - low) * drawn).to(kind(node, like))


@importer("RandomNormal", "RandomNormalLike")
def random_normal(node: NodeContext, like: Any = None) -> Any:
    drawn = normal(node, node["shape"] if like is None else like.shape)
    return (node["mean"] + node["scale"] * drawn).to(kind(node, like))


def kind(node: NodeContext, like: Any) -> Any:
    """The type of what is drawn: the one that the node names, or that of a value."""
    return node.dtype("dtype", rl.float32 if like is None else like.dtype)


@importer("Bernoulli")
def bernoulli(node: NodeContext, probabilities: Any) -> Any:
    return (uniform(node, probabilities.shape) < probabilities).to(kind(node, probabilities))


@importer("Multinomial")
def multinomial(node: NodeContext, logits: Any) -> Any:
    """Classes by the logarithms of their probabilities: the largest with noise of a Gumbel distribution."""
    noise = -rl.log(-rl.log(uniform(node, (logits.shape[0], node["sample_size"], logits.shape[1]))))
    return rl.argmax(logits.unsqueeze(1) + noise, -1).to(kind(node, None) if node.get("dtype") else rl.int32)
