"""Guards: a printed program that says whether a captured segment holds for the present values."""

from __future__ import annotations

import enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...core.base import TensorBase
from ...core.devices import device
from ...core.dtypes import dtype
from ...core.sizes import SymbolicInt
from ...core.state import state
from .sources import Names, Source

# Values that are compared by equality, and are the same wherever they come from.
PRIMITIVES = (
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    dtype,
    device,
    np.dtype,
    slice,
)


class Guards:
    """Collects conditions while a program is captured, each once, and compiles them to a function of the state."""

    def __init__(self) -> None:
        self.lines: list[str] = []  # of the program
        self.reasons: list[Any] = []  # of each condition: (what is checked, a function that words a failure)
        self.names = Names()
        self.values: dict[Source, str] = {}  # the variable of the program that holds a source's value
        self.made: set[Any] = set()
        self.sizes: list[Any] = []  # (source, dimension, size) of sizes that are fixed
        self.grad_enabled = state.grad_enabled
        self.condition("grad mode", "state.grad_enabled is " + str(state.grad_enabled), ("grad",))

    def variable(self, source: Source) -> str:
        """The variable that holds a source's value in the program."""
        found = self.values.get(source)
        if found is None:
            base = self.variable(source.base) if source.base is not None else ""
            found = self.values[source] = f"v{len(self.values)}"
            self.lines.append(f"{found} = {source.expression(base, self.names)}")
        return found

    def condition(self, about: str, expression: str, key: Any, failed: Any = None) -> None:
        """Add a condition, unless it is there."""
        if key in self.made:
            return
        self.made.add(key)
        self.lines.append(f"if not ({expression}): return {len(self.reasons)}  # {about}")
        self.reasons.append((about, failed))

    # -- kinds of guards -----------------------------------------------------------------------------------------

    def value(self, source: Source, value: Any) -> None:
        """Guard a value by what kind it is: by equality, by identity, or by its type."""
        if isinstance(value, TensorBase):
            return  # when it is used
        if isinstance(value, PRIMITIVES):
            self.equal(source, value)
        elif by_identity(value):
            self.identity(source, value)
        else:
            self.type(source, value)

    def equal(self, source: Source, value: Any) -> None:
        """The value is the same, and of the same type."""
        name = self.variable(source)
        if value is None or value is Ellipsis or isinstance(value, bool):
            self.condition(f"{source.describe()} is {value}", f"{name} is {value}", ("equal", source))
            return
        constant = repr(value) if type(value) in (int, str) else self.names.of(value)
        kind = type(value).__name__ if type(value) in (int, float, str) else self.names.of(type(value), "t")
        test = f"type({name}) is {kind} and {name} == {constant}"
        if isinstance(value, float) and value != value:
            test = f"type({name}) is float and {name} != {name}"
        self.condition(f"{source.describe()} == {value!r}", test, ("equal", source))

    def identity(self, source: Source, value: Any) -> None:
        """The value is the same object."""
        name = self.variable(source)
        self.condition(
            f"{source.describe()} is the same {type(value).__name__}",
            f"{name} is {self.names.of(value)}",
            ("identity", source),
        )

    def type(self, source: Source, value: Any) -> None:
        """The value is of the same type."""
        name, kind = self.variable(source), type(value)
        self.condition(
            f"type of {source.describe()} is {kind.__name__}",
            f"type({name}) is {self.names.of(kind, 't')}",
            ("type", source),
        )

    def length(self, source: Source, value: Any) -> None:
        """A container has as many elements."""
        self.type(source, value)
        name = self.variable(source)
        if isinstance(value, dict):
            keys = self.names.of(tuple(value))
            self.condition(f"keys of {source.describe()}", f"tuple({name}) == {keys}", ("length", source))
        else:
            self.condition(
                f"length of {source.describe()} is {len(value)}", f"len({name}) == {len(value)}", ("length", source)
            )

    def absent(self, source: Source, name: str) -> None:
        """An object has no attribute of a name."""
        self.condition(
            f"{source.describe()} has no {name}",
            f"not hasattr({self.variable(source)}, {name!r})",
            ("absent", source, name),
        )

    def tensor(self, source: Source, value: Any, shape: tuple[int, ...]) -> None:
        """A tensor has the same type, rank, sizes (those that are not symbolic) and need for a gradient."""
        if ("tensor", source) in self.made:
            return
        self.made.add(("tensor", source))
        name, array = self.variable(source), value._array
        about = f"tensor {source.describe()}"
        kind, element = self.names.of(type(value), "t"), self.names.of(array.dtype, "t")
        self.condition(
            f"{about}: type, dtype, requires_grad",
            f"type({name}) is {kind} and {name}._array.dtype is {element} and {name}._requires_grad is {value._requires_grad}",
            ("tensor type", source),
        )
        fixed = all(not isinstance(each, SymbolicInt) for each in shape)
        sizes = tuple(int.__int__(each) for each in shape)
        if fixed:
            self.sizes.append((source, None, sizes))
            self.condition(
                f"{about}: sizes {sizes}",
                f"{name}._array.shape == {sizes}",
                ("tensor sizes", source),
                _sizes(source, sizes),
            )
            return
        self.condition(
            f"{about}: {array.ndim} dimensions", f"{name}._array.ndim == {array.ndim}", ("tensor rank", source)
        )
        for dim, size in enumerate(shape):
            if not isinstance(size, SymbolicInt):
                self.sizes.append((source, dim, sizes[dim]))
                self.condition(
                    f"{about}: size {dim} is {sizes[dim]}",
                    f"{name}._array.shape[{dim}] == {sizes[dim]}",
                    ("tensor size", source, dim),
                    _sizes(source, sizes),
                )

    def strides(self, source: Source, value: Any) -> None:
        """A tensor lies in memory in the same way."""
        name = self.variable(source)
        self.condition(f"strides of {source.describe()}", f"{name}.stride() == {value.stride()}", ("strides", source))

    def formula(self, expression: Any, sources: dict[str, tuple[Source, int]]) -> None:
        """A relation between sizes holds (a comparison that the program has made)."""
        text, names = expression
        for symbol in sorted(names, key=len, reverse=True):
            source, dim = sources[symbol]
            text = text.replace(symbol, f"{self.variable(source)}._array.shape[{dim}]")
        self.condition(f"sizes: {expression[0]}", text, ("formula", text))

    # -- the program ---------------------------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The program: it gives None where all conditions hold, else the number of the one that does not."""
        body = "\n".join("    " + line for line in self.lines)
        return f"def check(frames):\n{body}\n    return None\n"

    def compiled(self) -> Any:
        """The program as a function; a value that is not there (any more) counts as a failure."""
        namespace = {**self.names.values, "state": state}
        exec(compile(self.source, "<guards>", "exec"), namespace)
        check = namespace["check"]

        def guarded(frames: Any) -> Any:
            try:
                return check(frames)
            except (AttributeError, KeyError, IndexError, ValueError, TypeError):
                return -1

        return guarded

    def why(self, number: int, frames: Any) -> str:
        """A failure in words."""
        if number < 0:
            return "a value that the program read is not there any more"
        about, failed = self.reasons[number]
        return failed(frames) if failed is not None else f"this no longer holds: {about}"


def _sizes(source: Source, sizes: tuple[int, ...]) -> Any:
    def failed(frames: Any) -> str:
        return f"argument `{source.describe()}`: its sizes were {sizes}, and are others now; mark it dynamic or let it generalise"

    return failed


def by_identity(value: Any) -> bool:
    """Whether a value stands for itself: functions, classes, modules, members of an enum, Modules."""
    return (
        isinstance(value, (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type, enum.Enum))
        or hasattr(value, "_parameters") or not hasattr(value, "__dict__") and not isinstance(value, (list, tuple, dict, set, frozenset))
    )  # fmt: skip
