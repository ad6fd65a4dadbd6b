"""What the operators of ONNX compute, in calls of ops: each file registers a family of them when it is imported.

In: a node's inputs and attributes.  Out: its outputs.  ``../registry.py`` says how an importer is written; read ``elementwise.py`` first.
"""

from __future__ import annotations

from . import (
    activations,
    attention,
    casts,
    classic,
    convolution,
    elementwise,
    indexing,
    linalg,
    losses,
    microsoft,
    microsoft_attention,
    normalization,
    pooling,
    quantization,
    random,
    recurrent,
    reductions,
    resize,
    sequences,
    shapes,
    signal,
    text,
    training,
    trees,
    vision,
)

__all__ = [
    "activations", "attention", "casts", "classic", "convolution", "elementwise", "indexing", "linalg", "losses", "microsoft", "microsoft_attention", "normalization",
    "pooling", "quantization", "random", "recurrent", "reductions", "resize", "sequences", "shapes", "signal", "text", "training",
    "trees", "vision",
]  # fmt: skip
