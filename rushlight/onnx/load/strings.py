"""Tensors of strings, which ONNX has and the op table does not: an array of Python's strings that some operators take and give."""

from __future__ import annotations

from typing import Any

import numpy as np


class Strings:
    """A tensor of strings: ``array`` is a NumPy array of objects.  It has no gradient and is part of no compiled graph."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array, dtype=object)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.array.shape

    def dim(self) -> int:
        """How many dimensions it has."""
        return self.array.ndim

    def tolist(self) -> Any:
        """Nested lists of strings."""
        return self.array.tolist()

    def __repr__(self) -> str:
        return f"Strings({self.array.tolist()!r})"
