"""How the values at the end of a segment are made again in a later call, from the graph's outputs and the state at its beginning.

A recipe is a line of generated Python.  What the graph computed is one of its outputs; what was there before is reached by its
source; containers and objects that the program made are made anew, each once, so that sharing among them is kept.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.sizes import SymbolicFloat, SymbolicInt
from .decode import NULL
from .frame import Frame
from .generator import Generator
from .guards import PRIMITIVES, Guards, by_identity
from .sources import Source


class CannotRebuild(Exception):
    """A value that a later call can't make again."""


class Recipes:
    """Writes the program that makes values again: it runs after the graph, with ``outs`` and the ``frames`` of the beginning."""

    def __init__(self, guards: Guards, output: Callable[[Any], int], source_of: Callable[[Any], Source | None]) -> None:
        self.guards = guards
        self.names = guards.names
        self.output = output  # gives the number of the graph's output that a tensor or size is
        self.source_of = source_of
        self.lines: list[str] = []
        self.made: dict[int, str] = {}
        self.held: list[Any] = []
        self.sources: dict[Source, str] = {}

    def from_source(self, source: Source) -> str:
        """A value by its source; read before anything is written."""
        found = self.sources.get(source)
        if found is None:
            base = self.from_source(source.base) if source.base is not None else ""
            found = self.sources[source] = f"s{len(self.sources)}"
            self.lines.insert(len(self.sources) - 1, f"{found} = {source.expression(base, self.names)}")
        return found

    def value(self, value: Any) -> str:
        """The expression of a value."""
        if value is NULL:
            return "NULL"
        if isinstance(value, (SymbolicInt, SymbolicFloat)):
            return f"outs[{self.output(value)}]"
        if isinstance(value, PRIMITIVES):
            return repr(value) if type(value) in (int, str, bool, type(None)) else self.names.of(value)
        found = self.made.get(id(value))
        if found is not None:
            return found
        if isinstance(value, TensorBase):
            source = self.source_of(value)
            return self.from_source(source) if source is not None else f"outs[{self.output(value)}]"
        source = self.source_of(value)
        if source is not None:
            return self.from_source(source)
        return self.fresh(value)

    def fresh(self, value: Any) -> str:
        """Make an object that the program made."""
        kind = type(value)
        if kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
            parts = "".join(self.value(each) + ", " for each in value)
            return f"({parts})" if kind is tuple else f"tuple.__new__({self.names.of(kind, 't')}, ({parts}))"
        if isinstance(value, tuple):
            return f"tuple.__new__({self.names.of(kind, 't')}, ({''.join(self.value(each) + ', ' for each in value)}))"
        name = self.made[id(value)] = f"m{len(self.made)}"
        self.held.append(value)
        if kind is list:
            self.lines.append(f"{name} = []")
            self.lines.append(f"{name} += [{', '.join(self.value(each) for each in value)}]")
        elif kind is dict:
            self.lines.append(f"{name} = {{}}")
            self.lines.append(f"{name}.update({{{', '.join(f'{self.value(k)}: {self.value(v)}' for k, v in value.items())}}})")
        elif kind in (set, frozenset):
            self.lines.append(f"{name} = {kind.__name__}([{', '.join(self.value(each) for each in value)}])")
        elif kind is types.CellType:
            self.lines.append(f"{name} = CellType()")
            try:
                self.lines.append(f"{name}.cell_contents = {self.value(value.cell_contents)}")
            except ValueError:
                pass  # an empty cell
        elif kind is types.MethodType:
            self.lines.append(f"{name} = MethodType({self.value(value.__func__)}, {self.value(value.__self__)})")
        elif kind is types.FunctionType:
            self.function(name, value)
        elif kind is types.BuiltinMethodType and not isinstance(value.__self__, (types.ModuleType, type)) and value.__self__ is not None:
            self.lines.append(f"{name} = {self.value(value.__self__)}.{value.__name__}")
        elif by_identity(value) and not _iterator(value):
            self.made[id(value)] = self.names.of(value)
            return self.made[id(value)]
        elif isinstance(value, Generator) or kind is Generator:
            raise CannotRebuild("a generator that has not come to its end")
        else:
            self.object(name, value)
        return name

    def function(self, name: str, value: Any) -> None:
        """A function that the program defined; one without a closure is the same for all calls."""
        if not value.__closure__ and not value.__defaults__ and not value.__kwdefaults__:
            self.lines.append(f"{name} = {self.names.of(value)}")
            return
        closure = "".join(self.value(cell) + ", " for cell in value.__closure__ or ())
        defaults = self.value(value.__defaults__) if value.__defaults__ else "None"
        code, scope = self.names.of(value.__code__), self.names.of(value.__globals__, "g")
        self.lines.append(f"{name} = FunctionType({code}, {scope}, {value.__name__!r}, {defaults}, ({closure}) or None)")
        if value.__kwdefaults__:
            self.lines.append(f"{name}.__kwdefaults__ = {self.value(value.__kwdefaults__)}")

    def object(self, name: str, value: Any) -> None:
        """An instance of a class: an iterator by how it is pickled, others with the same attributes."""
        kind = type(value)
        if _iterator(value):
            try:
                reduced = value.__reduce__()
            except TypeError as error:
                raise CannotRebuild(f"an iterator of type {kind.__name__}") from error
            make, arguments, *state = reduced
            given = ", ".join(self.value(each) for each in arguments)
            self.lines.append(f"{name} = {self.names.of(make)}({given})")
            if state and state[0] is not None:
                self.lines.append(f"{name}.__setstate__({self.value(state[0])})")
            return
        fields = getattr(value, "__dict__", None)
        if fields is None or kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__:
            if isinstance(value, BaseException):
                self.lines.append(f"{name} = {self.names.of(kind, 't')}(*{self.value(value.args)})")
                return
            raise CannotRebuild(f"an object of type {kind.__name__}")
        base = next(each for each in kind.__mro__ if not each.__flags__ & (1 << 9))  # the class that lays out its memory
        if base is not object:
            raise CannotRebuild(f"an object of type {kind.__name__}, which derives from {base.__name__}")
        self.lines.append(f"{name} = object.__new__({self.names.of(kind, 't')})")
        for key, each in fields.items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.value(each)}")

    def compiled(self, result: str) -> Any:
        """The program as a function of the graph's outputs and the frames of the beginning."""
        body = "\n".join("    " + line for line in self.lines) or "    pass"
        self.source = f"def finish(outs, frames):\n{body}\n    return {result}\n"
        namespace = {
            **self.names.values, "NULL": NULL, "CellType": types.CellType, "MethodType": types.MethodType,
            "FunctionType": types.FunctionType, "Frame": Frame,
        }  # fmt: skip
        exec(compile(self.source, "<after the graph>", "exec"), namespace)
        return namespace["finish"]


def _iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__") and hasattr(type(value), "__reduce__") and not hasattr(value, "__dict__")
