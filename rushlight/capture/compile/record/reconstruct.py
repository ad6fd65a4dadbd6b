"""Reconstruction: generated Python that rebuilds the values at the end of a segment from the graph's outputs and the state at its start.

What the graph computed is one of its outputs; pre-existing objects are reached by their
sources; containers and objects that the program made are made again, each once, so that sharing among them is kept.
"""

from __future__ import annotations

import collections
import copyreg
import dataclasses
import enum
import functools
import itertools
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.base import TensorBase
from ....core.symbolic import SymbolicFloat, SymbolicInt
from ..decode import NULL
from ..guards.guards import PRIMITIVES, Guards, holds_attributes
from ..guards.sources import Source
from ..vm.exceptions import entries_of, traceback_of
from ..vm.generator import InterpretedGenerator
from .callbacks import InterpretedCallback, native
from .graph_functions import DeferredHook, freed_node, is_freed

# Builtin classes that hold values, and how an instance of a class derived from them is filled.
_BASES: dict[type, str] = {list: "extend", dict: "update", set: "update", collections.deque: "extend", collections.OrderedDict: "update"}
_SAME = (
    types.ModuleType,
    type,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    range,
    property,
    enum.Enum,
    dataclasses.Field,
    functools._lru_cache_wrapper,
    types.UnionType,
    types.GenericAlias,
)


def _view_of(base: np.ndarray, shape: tuple[int, ...], dtype: np.dtype, offset: int, strides: tuple[int, ...]) -> np.ndarray:
    """The view of a dense array that begins at an offset in bytes."""
    return np.ndarray(shape, dtype, base if base.flags.c_contiguous else base.T, offset, strides)


def _flat_from(array: np.ndarray, index: int) -> Any:
    """The iterator over an array's elements, at an index."""
    flat = array.flat
    next(itertools.islice(flat, index, index), None)
    return flat


class CannotReconstruct(Exception):
    """A value that a later call can't reconstruct."""


class Reconstruction:
    """Writes the code that reconstructs values: it runs after the graph, with its outputs ``outs`` and what the guards have read."""

    def __init__(
        self,
        guards: Guards,
        output: Callable[[Any], int],
        source_of: Callable[[Any], Source | None],
        is_fresh: Callable[[Any], bool],
        array_recipe: Callable[[Any], Any],
    ) -> None:
        self.guards = guards
        self.names = guards.names
        self.output = output  # gives the number of the graph's output that a tensor or size is
        self.source_of = source_of
        self.is_fresh = is_fresh  # whether the program has made an object
        self.array_recipe = array_recipe  # what a NumPy array of the graph is made of
        self.lines: list[str] = []
        self.made: dict[int, str] = {}
        self.held: list[Any] = []
        self.numbers = itertools.count()
        self.gradients: dict[Source, tuple[int, str]] = {}  # that tensors get: which output of the graph each is, and the line

    def gradient(self, tensor: Any, gradient: Any) -> None:
        """The line that sets the gradient of a tensor."""
        owner, written, source = self.value(tensor), self.value(gradient), self.source_of(tensor)
        self.lines.append(f"{owner}._grad = {written}")
        if source is not None and written.startswith("outs["):
            self.gradients[source] = self.output(gradient), self.lines[-1]

    def replaces(self, inputs: list[Source]) -> dict[int, int]:
        """Of outputs that are gradients of inputs: which input's."""
        return {number: inputs.index(source) for source, (number, _) in self.gradients.items() if source in inputs}

    def left_lines(self, inputs: list[Source]) -> list[str]:
        """The lines, where a back-end may have given inputs their gradients."""
        done = {line for source, (_, line) in self.gradients.items() if source in inputs}
        return [f"if left: {line}" if line in done else line for line in self.lines]

    def from_source(self, source: Source) -> str:
        """A value by its source; the guards read it, before anything is written."""
        return self.guards.result(source)

    def value(self, value: Any) -> str:
        """The expression of a value."""
        if value is NULL:
            return "NULL"
        if isinstance(value, (SymbolicInt, SymbolicFloat)):
            source = self.source_of(value)
            return f"outs[{self.output(value)}]" if source is None else self.from_source(source)
        if isinstance(value, slice):
            return f"slice({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
        if isinstance(value, PRIMITIVES) and not holds_attributes(value):
            return repr(value) if type(value) in (int, str, bool, type(None)) else self.names.of(value)
        found = self.made.get(id(value))
        if found == "":
            raise CannotReconstruct("a tuple that is part of itself")
        if found is not None:
            return found
        source = self.source_of(value)
        if source is not None:
            return self.from_source(source)
        if isinstance(value, TensorBase):
            if not value._requires_grad or not is_freed(value):
                return f"outs[{self.output(value)}]"
            name = self.made[id(value)] = f"m{next(self.numbers)}"
            self.lines.append(
                f"{name} = with_freed_history(outs[{self.output(value)}], {value._grad_fn.name()!r}, {freed_node(value).name()!r})"
            )
            return name
        if isinstance(value, InterpretedCallback):
            return self.value(value.function)
        if isinstance(value, DeferredHook) and value.number >= 0:
            return f"outs[{self.output(value)}]"
        return self.fresh(value)

    def fresh(self, value: Any) -> str:
        """Make an object that the program made."""
        kind = type(value)
        self.held.append(value)
        if isinstance(value, tuple):
            self.made[id(value)] = ""
            parts = "".join(self.value(each) + ", " for each in value)
            name = self.made[id(value)] = f"m{next(self.numbers)}"
            self.lines.append(f"{name} = ({parts})" if kind is tuple else f"{name} = tuple.__new__({self.names.of(kind, 't')}, ({parts}))")
            if kind is not tuple:
                self.fields(name, value)
            return name
        name = self.made[id(value)] = f"m{next(self.numbers)}"
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
                contents = value.cell_contents
            except ValueError:  # it is empty
                return name
            self.lines.append(f"{name}.cell_contents = {self.value(contents)}")
        elif kind is types.MethodType:
            self.lines.append(f"{name} = MethodType({self.value(value.__func__)}, {self.value(value.__self__)})")
        elif kind is types.FunctionType:
            self.function(name, value)
        elif kind is functools.partial:
            self.lines.append(
                f"{name} = {self.names.of(kind)}({self.value(value.func)}, *{self.value(value.args)}, **{self.value(value.keywords)})"
            )
        elif (
            kind is types.BuiltinMethodType
            and not isinstance(value.__self__, (types.ModuleType, type))
            and value.__self__ is not None
            or kind is types.MethodWrapperType
        ):
            self.lines.append(f"{name} = {self.value(value.__self__)}.{value.__name__}")
        elif kind is super:
            given = f"{self.value(value.__thisclass__)}, {self.value(value.__self__)}"
            self.lines.append(f"{name} = super({given})")
        elif kind is np.ndarray:
            self.lines.append(f"{name} = {self.array(value)}")
        elif kind is np.flatiter:
            self.lines.append(f"{name} = {self.names.of(_flat_from)}({self.value(value.base)}, {value.index})")
        elif isinstance(value, _SAME):
            self.made[id(value)] = self.names.of(value)
            return self.made[id(value)]
        elif kind is types.TracebackType:
            self.lines.append(f"{name} = {self.traceback(value)}")
        elif kind is DeferredHook:
            self.lines.append(f"{name} = {self.names.of(DeferredHook)}()")
        elif kind is InterpretedGenerator:
            self.lines.append(
                f"{name} = {self.names.of(InterpretedGenerator.restored)}({self.names.of(native)}, {self.names.of(value.gi_code)}, {value.gi_running})"
            )
            if value.frame is not None:
                self.lines.append(f"{name}.frame = {self.frame(value.frame, f'f{name}', 'None', {})}")
        elif isinstance(value, types.GeneratorType):
            raise CannotReconstruct("a generator of Python's own that has not come to its end")
        else:
            self.object(name, value)
        return name

    def array(self, array: Any) -> str:
        """A NumPy array: a view of another where it is one, so that what is written to either is seen in both."""
        recipe = self.array_recipe(array)
        if isinstance(recipe, TensorBase):
            return f"{self.value(recipe)}.numpy()"
        if recipe is not None:
            call, given, index = recipe
            made = f"{self.names.of(call)}.run([{', '.join(map(self.value, given))}])"
            return made if index is None else f"{made}[{index}]"
        base = array.base
        if type(base) is not np.ndarray or not (base.flags.c_contiguous or base.flags.f_contiguous):
            return f"{self.names.of(array.copy('K'))}.copy('K')"
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return f"{self.names.of(_view_of)}({self.value(base)}, {array.shape}, {self.names.of(array.dtype)}, {offset}, {array.strides})"

    def traceback(self, traceback: Any) -> str:
        """A traceback with the same lines."""
        return f"{self.names.of(traceback_of)}({self.names.of(entries_of(traceback))})"

    def frame(self, frame: Any, name: str, caller: str, same: dict[int, Source]) -> str:
        """The state of a frame that waits; what is as it was is taken from where it was (variables by slot, stack slots by -1 - place)."""
        if frame.namespace is not None:
            raise CannotReconstruct("the state of the body of a class")

        def value(at: int, each: Any) -> str:
            return self.from_source(same[at]) if at in same and each is not NULL else self.value(each)

        slots = ", ".join(value(at, each) for at, each in enumerate(frame.slots))
        stack = ", ".join(value(-1 - at, each) for at, each in enumerate(frame.stack))
        code, program = self.names.of(frame.code), self.names.of(frame.bytecode)
        scope, builtins = self.names.of(frame.globals, "g"), self.names.of(frame.builtins, "b")
        self.lines.append(
            f"{name} = restored({code}, {program}, [{slots}], [{stack}], {scope}, {builtins}, {frame.index}, {caller}, {frame.depth})"
        )
        for part in ("handled", "inherited", "generator"):
            if getattr(frame, part) is not None:
                self.lines.append(f"{name}.{part} = {self.value(getattr(frame, part))}")
        return name

    def function(self, name: str, value: Any) -> None:
        """A function that the program defined; a pre-existing one is itself."""
        if not self.is_fresh(value):
            self.lines.append(f"{name} = {self.names.of(value)}")
            return
        closure = "".join(self.value(cell) + ", " for cell in value.__closure__ or ())
        defaults = self.value(value.__defaults__) if value.__defaults__ else "None"
        code, scope = self.names.of(value.__code__), self.names.of(value.__globals__, "g")
        self.lines.append(f"{name} = FunctionType({code}, {scope}, {value.__name__!r}, {defaults}, ({closure}) or None)")
        for part in ("__qualname__", "__module__", "__doc__"):
            if (
                getattr(value, part) != getattr(value.__code__, "co_qualname", None)
                and part == "__qualname__"
                or part != "__qualname__"
                and getattr(value, part)
            ):
                self.lines.append(f"{name}.{part} = {self.value(getattr(value, part))}")
        if value.__kwdefaults__:
            self.lines.append(f"{name}.__kwdefaults__ = {self.value(value.__kwdefaults__)}")
        if value.__annotations__:
            self.lines.append(f"{name}.__annotations__ = {self.value(value.__annotations__)}")
        for key, each in vars(value).items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.value(each)}")

    def object(self, name: str, value: Any) -> None:
        """An instance of a class: an iterator by how it is pickled, others with the same attributes."""
        kind = type(value)
        if hasattr(kind, "__next__") and kind.__flags__ & (1 << 9) == 0:
            self.iterator(name, value)
            return
        if kind is object:
            self.lines.append(f"{name} = object()")
            return
        base = next(each for each in kind.__mro__ if not each.__flags__ & (1 << 9))  # the class that lays out its memory
        base = next((each for each in kind.__mro__ if each in _BASES or each is collections.defaultdict), base)
        if isinstance(value, BaseException):
            self.lines.append(f"{name} = {self.names.of(kind, 't')}.__new__({self.names.of(kind, 't')}, *{self.value(value.args)})")
            self.lines.append(f"{name}.args = {self.value(value.args)}")
            for part in ("__context__", "__cause__"):
                if getattr(value, part) is not None:
                    self.lines.append(f"{name}.{part} = {self.value(getattr(value, part))}")
            if value.__suppress_context__ is not (value.__cause__ is not None):
                self.lines.append(f"{name}.__suppress_context__ = {value.__suppress_context__}")
            if value.__traceback__ is not None:
                self.lines.append(f"{name}.__traceback__ = {self.traceback(value.__traceback__)}")
        elif base is collections.defaultdict:
            self.lines.append(f"{name} = {self.names.of(kind, 't')}({self.value(value.default_factory)})")
            self.lines.append(f"{name}.update({{{', '.join(f'{self.value(k)}: {self.value(v)}' for k, v in value.items())}}})")
        elif base in _BASES:
            self.container(name, value, base)
        elif base in (int, float, complex, str, bytes):
            native: Any = base
            given = self.names.of(native.__getnewargs__(value))
            self.lines.append(f"{name} = {self.names.of(base)}.__new__({self.names.of(kind, 't')}, *{given})")
        elif base is object and not _has_hidden_fields(kind):
            self.lines.append(f"{name} = object.__new__({self.names.of(kind, 't')})")
        elif kind.__module__ in ("datetime", "decimal", "re", "uuid", "pathlib", "fractions"):
            self.made[id(value)] = self.names.of(value)
            self.lines.append(f"{name} = {self.names.of(value)}")
            return
        else:
            raise CannotReconstruct(f"an object of type {kind.__name__}")
        self.fields(name, value)

    def container(self, name: str, value: Any, base: type) -> None:
        """An instance of a class that derives from a builtin container."""
        kind = self.names.of(type(value), "t")
        below = self.names.of(base, "t")
        if base is collections.deque and value.maxlen is not None:
            self.lines.append(f"{name} = {kind}(maxlen={value.maxlen})")
        else:
            self.lines.append(f"{name} = {below}.__new__({kind})")
            if base is collections.deque:
                self.lines.append(f"{below}.__init__({name})")
        if isinstance(value, dict):  # item by item: a class may have a `__setitem__` of its own
            for key, each in base.items(value):  # type: ignore[attr-defined]
                self.lines.append(f"{below}.__setitem__({name}, {self.value(key)}, {self.value(each)})")
            return
        else:
            parts = f"[{', '.join(self.value(each) for each in base.__iter__(value))}]"  # type: ignore[attr-defined]
        self.lines.append(f"{below}.{_BASES[base]}({name}, {parts})")

    def fields(self, name: str, value: Any) -> None:
        """The attributes of an object, in its `__dict__` and in slots."""
        for key, each in getattr(value, "__dict__", {}).items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.value(each)}")
        for slot in copyreg._slotnames(type(value)) or ():  # type: ignore[attr-defined]
            try:
                found = object.__getattribute__(value, slot)
            except AttributeError:
                continue
            self.lines.append(f"{self.names.of(object.__setattr__)}({name}, {slot!r}, {self.value(found)})")

    def iterator(self, name: str, value: Any) -> None:
        """An iterator that has not come to its end."""
        try:
            reduced = value.__reduce__()
        except TypeError as error:
            raise CannotReconstruct(f"an iterator of type {type(value).__name__}") from error
        make, arguments, *state = reduced
        if make is copyreg.__newobj__:  # type: ignore[attr-defined]
            raise CannotReconstruct(f"an iterator of type {type(value).__name__}")
        given = ", ".join(self.value(each) for each in arguments)
        self.lines.append(f"{name} = {self.names.of(make)}({given})")
        if state and state[0] is not None:
            self.lines.append(f"{name}.__setstate__({self.value(state[0])})")


def _has_hidden_fields(kind: type) -> bool:
    """Whether instances of a class have memory that no attribute shows, as those of extension modules have."""
    shown = len(copyreg._slotnames(kind) or ()) + bool(kind.__dictoffset__) + bool(kind.__weakrefoffset__)  # type: ignore[attr-defined]
    return kind.__basicsize__ > object.__basicsize__ + shown * struct.calcsize("P")
