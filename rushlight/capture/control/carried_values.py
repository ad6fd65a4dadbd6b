"""Values that a captured loop carries from one iteration to the next: how each is represented in the body."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase, alias, make
from ...core.declare import lookup
from ...core.dtypes import BY_NUMPY
from ...core.errors import CaptureError
from ...core.symbolic import SymbolicInt
from ...graph import Node
from .branches import (
    blank,
    equal,
    is_unset,
    kind_of,
    known_sizes,
)  # fmt: skip
from .dynamic_lists import (
    argument,
)
from .python_functions import as_tensor
from .region_tracer import RegionTracer, copied, in_body


class CarriedValue:
    """A value that may be carried along: how, from which value on, and which of its sizes change."""

    __slots__ = ("initial", "kind", "node", "open", "placed", "value")

    def __init__(self, initial: Any, kind: str) -> None:
        self.initial = initial
        self.kind = kind
        self.open: set[int] = set()
        self.node: Node | None = None
        self.value: Any = None
        self.placed: tuple[int, ...] = ()

    def place(self, tracer: RegionTracer, capture: Any) -> Any:
        """A placeholder for it in a body, and the value that stands for it there."""
        self.node = None
        if self.kind == "constant":
            self.value = self.initial
            return self.value
        self.node = tracer.parameter("carried")
        if self.kind == "int":
            self.value = self.node.meta["val"] = tracer.new_symbol(self.node, None, int.__int__(self.initial))
            return self.value
        if self.kind == "extra":
            self.value = self.initial
        elif isinstance(self.initial, TensorBase):
            capture.node_of(self.initial)  # a body that uses the tensor itself, too, finds it around, not by its memory
            # Another name of the same memory: a write is seen by the tensor that it is a view of.
            self.value = alias(self.initial, self.initial._array) if isinstance(self.initial._array, np.ndarray) else copied(self.initial)
            if self.initial._view is not None:
                self.value._view = self.initial._view
            if id(self.initial) in capture.aliases.partners:
                capture.aliases.share(self.value, self.initial)
        else:
            self.value = make(np.asarray(self.initial, np.bool_ if self.kind == "bool" else np.float32))
        shape = capture.shape_of(self.initial) if isinstance(self.initial, TensorBase) else ()
        empty = {dim for dim in self.open if not int.__int__(shape[dim])}
        if empty and self.kind == "tensor" and isinstance(self.initial._array, np.ndarray):
            # A list that is empty before the loop has items in most iterations: branches that read them are captured on some.
            shape = tuple([1 if dim in empty else size for dim, size in enumerate(shape)])
            self.value = make(np.zeros([int.__int__(size) for size in shape], self.initial._array.dtype))
        self.placed = tuple(
            [tracer.new_symbol(self.node, dim, int.__int__(size)) if dim in self.open else size for dim, size in enumerate(shape)]
        )
        tracer.bind(self.value, self.node, self.placed)
        if self.kind == "extra":
            tracer.outside[id(self.initial)] = (self.initial, self.node)
        return self.value

    def changed(self, new: Any, shape: tuple[int, ...], capture: Any) -> bool:
        """Whether what an iteration made of it needs it to be carried in another way."""
        if self.kind == "constant":
            if equal(new, self.value):
                return False
            kind = kind_of(new)
            if is_unset(self.initial) and isinstance(new, (TensorBase, int, float)):
                self.initial, self.kind = blank(None, new), kind  # type: ignore[arg-type]
                return True
            if kind == "tensor" and not isinstance(self.initial, TensorBase):
                kind = kind_of(self.initial)
                kind = "float" if kind == "int" and new._array.dtype.kind == "f" else kind
            if kind in ("constant", "optional", "unset") or not isinstance(self.initial, (int, float)):
                raise CaptureError(
                    f"a loop changes a variable from {self.initial!r} to {new!r}: that can't be captured, use tensors or numbers"
                )
            self.kind = kind if kind != "int" or isinstance(self.initial, int) else "float"
            return True
        if self.kind == "int":
            if isinstance(new, (TensorBase, float)):
                self.kind = "float"
                return True
            return False
        if self.kind in ("bool", "float") and not isinstance(new, TensorBase):
            return False
        if not isinstance(new, TensorBase):
            kinds = {bool: "b", float: "f"}  # a bool or a float that depends on the inputs is a tensor here
            if self.placed or kinds.get(type(new)) != self.initial._array.dtype.kind:
                raise CaptureError(f"a loop changes a variable from a tensor to {new!r}: that can't be captured")
            return False
        array = new._array
        if isinstance(self.initial, TensorBase) and array.dtype != self.initial._array.dtype:
            self.initial = lookup("cast").call(self.initial, BY_NUMPY[array.dtype])
            return True
        if len(shape) != len(self.placed):
            raise CaptureError(
                f"a loop changes the number of dimensions of a tensor from {len(self.placed)} to {len(shape)}: that can't be captured"
            )
        differ = {dim for dim, (size, before) in enumerate(zip(shape, self.placed)) if dim not in self.open and not equal(size, before)}
        self.open |= differ
        return bool(differ)

    def output(self, tracer: RegionTracer, new: Any) -> Any:
        """What an iteration made of it, as an output of the body."""

        def compute() -> Any:
            value = new if self.kind == "int" else as_tensor(new)
            if self.kind == "float" and value._array.dtype.kind != "f":
                value = value + 0.0
            return argument(tracer, value)

        return in_body(tracer, compute)


def result_shape(capture: Any, made: Node, leaf: CarriedValue, actual: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what a loop carried: sizes that it changes are not known."""
    sizes: list[int] = []
    for dim, size in enumerate(actual):
        placed = leaf.placed[dim]
        if dim in leaf.open or not known_sizes(capture, (placed,)):
            sizes.append(capture.new_symbol(made, dim, size))
        else:
            sizes.append(SymbolicInt(size, placed.expression) if isinstance(placed, SymbolicInt) else size)
    return tuple(sizes)
