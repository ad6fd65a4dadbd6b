"""What runs a model on tensors: eager mode, native code; in the form in which comparisons take ONNX Runtime, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..onnx.comparison import copied, flat


class ModuleSession:
    """A program, called with tensors by position."""

    def __init__(self, program: Any, outputs: Sequence[str] = ()) -> None:
        self.program = program
        self.inputs: list[str] = []
        self.outputs = list(outputs) or [f"output {at}" for at in range(256)]

    def run(self, tensors: Sequence[Any]) -> list[np.ndarray]:
        """The outputs, as arrays."""
        with no_grad():
            return flat(self.program(*copied(tuple(tensors))))
