"""What the operators of ONNX compute, in calls of ops: each file registers a family of them when it is imported.

In: a node's inputs and attributes.  Out: its outputs.  ``../registry.py`` says how an importer is written; read ``elementwise.py`` first.
"""

from __future__ import annotations

from . import (
    activations,
    casts,
    convolution,
    elementwise,
    indexing,
    linalg,
    normalization,
    pooling,
    recurrent,
    reductions,
    resize,
    sequences,
    shapes,
)

__all__ = [
    "activations", "casts", "convolution", "elementwise", "indexing", "linalg", "normalization", "pooling", "recurrent", "reductions",
    "resize", "sequences", "shapes",
]  # fmt: skip
