"""The guards of one capture: conditions that are collected while a program is captured, each once, in the order in which they are checked."""

from __future__ import annotations

import array
import collections
import enum
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from ....core.base import TensorBase
from ....core.declare import Op
from ....core.devices import device, device_type_of
from ....core.dtypes import BY_NUMPY, default, dtype
from ....core.missing import is_own
from ....core.state import state
from ....core.symbolic import SymbolicInt
from ....nn.modules.module import Module
from ...tracer.tracer import PACKAGE_FOLDER
from .guard import Guard, Kind, Read, Relation, TensorProperties, describe, failure, sources_in
from .modes import ambient
from .python_guards import MISSING, GuardPrinter, namespace_of, read_source, stride_order
from .sources import Attribute, Item, Known, Names, OwnDict, Slot, Source, Stacked, root_of

# Values that are compared by equality, and are the same wherever they come from.
PRIMITIVES = (
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), dtype, device, np.dtype, np.generic, slice,
    range,
)  # fmt: skip
_WITHOUT_ATTRIBUTES = frozenset((int, float, complex, str, bytes, bool, type(None)))
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
# Objects without attributes whose elements may change, or are those of another container.
_CHANGING: tuple[type, ...] = (bytearray, memoryview, array.array, MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))


class Guards:
    """The guard program of a capture: an ordered list of reads (`Read`) and conditions (`Guard`)."""

    def __init__(self, entry: bool = False, observer: Any = None) -> None:
        self.bytecode: list[Read | Guard] = []
        self.conditions: list[Guard] = []
        self.names = Names()
        self.names.entry = entry
        self.observer = observer  # whose `frame` is being captured; None when the capture is over
        self.variables: dict[Source, str] = {}  # that hold the values of sources
        self.results: set[str] = set()  # variables that are used after the guards
        self.made: set[Any] = set()
        self.sizes: list[Any] = []  # (source, dimension, size) of sizes that are fixed
        self.numbers: list[Any] = []  # (source, value) of numbers that are fixed; of arrays, their bytes
        self.fields: dict[Source, tuple[OwnDict, frozenset[str]]] = {}  # of Modules: the dict of their attributes, and the names in it
        self.grad_enabled, self.inference = state.grad_enabled, state.inference
        self.add(Kind.GRAD_MODE, None, state.grad_enabled)
        self.add(Kind.MODES, None, ambient() if state.interceptors or state.inference else None)
        self.add(Kind.DEFAULT_DTYPE, None, default.floating)

    def variable(self, source: Source) -> str:
        """The variable of the program that holds a source's value."""
        found = self.variables.get(source)
        if found is None and isinstance(source, Known):
            found = self.variables[source] = self.names.of(source.value)
        elif found is None:
            read = source
            if isinstance(source, Attribute) and source.base in self.fields:
                own, known = self.fields[source.base]
                read = Item(own, source.name) if source.name in known else source
            for each in (read.base, *read.beside):
                if each is not None:
                    self.variable(each)
            found = self.variables[source] = f"v{len(self.variables)}"
            self.bytecode.append(Read(found, source, read))
        return found

    def result(self, source: Source) -> str:
        """The same, of a value that is used after the guards hold."""
        found = self.variable(source)
        self.results.add(found)
        return found

    def add(
        self, kind: Kind, source: Source | None, expected: Any = None, others: Iterable[Source] = (), message: Any = None, key: Any = None
    ) -> None:
        """Add a guard, unless it is there.  ``key`` tells guards of one kind and source apart."""
        identity = (kind, source, key)
        if identity in self.made:
            return
        self.made.add(identity)
        others = tuple(others)
        for each in (source, *others):
            if each is not None and each not in self.variables:
                self.variable(each)
        frame = None if self.observer is None else self.observer.frame
        while frame is not None and frame.code.co_filename.startswith(PACKAGE_FOLDER):
            frame = frame.caller
        guard = Guard(kind, source, expected, others, message, None if frame is None else (frame.code, frame.bytecode, frame.index))
        self.bytecode.append(guard)
        self.conditions.append(guard)

    def has(self, kind: Kind, source: Source) -> bool:
        """Whether there is a guard of a kind on a source."""
        return (kind, source, None) in self.made

    # -- kinds of guards -----------------------------------------------------------------------------------------

    def value(self, source: Source, value: Any) -> None:
        """Guard a value by its nature: by equality, by identity, or by its type."""
        if isinstance(value, TensorBase):
            return  # guarded when it is used
        if isinstance(value, PRIMITIVES):
            self.equal(source, value)
        elif isinstance(value, FunctionType) and not is_op(value):
            self.add(Kind.CODE, source, value.__code__)  # what it reads is guarded when it is called
        elif by_identity(value):
            self.identity(source, value)
        else:
            self.type(source, value)

    def equal(self, source: Source, value: Any) -> None:
        """The value is the same, and of the same type."""
        if type(value) in (int, float) and not self.has(Kind.EQUAL, source):
            self.numbers.append((source, value))
        self.add(Kind.EQUAL, source, value)

    def identity(self, source: Source, value: Any) -> None:
        """The value is the same object.  One that comes with the arguments is not kept alive for that."""
        if self.has(Kind.IDENTITY, source):
            return
        from_outside = isinstance(root_of(source), (Slot, Stacked)) and not isinstance(value, (BuiltinFunctionType, ModuleType, enum.Enum))
        self.add(Kind.IDENTITY, source, self.names.weak(value) if from_outside else value)

    def type(self, source: Source, value: Any) -> None:
        """The value is of the same type."""
        kind = type(value)
        self.add(Kind.TYPE, source, self.names.weak(kind) if kind.__module__ != "builtins" else kind)

    def length(self, source: Source, value: Any, content: Any) -> None:
        """A container has as many elements (a dict: the same keys)."""
        self.type(source, value)
        if isinstance(value, dict):
            self.add(Kind.KEYS, source, list(content))
        else:
            self.add(Kind.LENGTH, source, len(content))

    def no_hooks(self, source: Source, module: Module) -> None:
        """A Module has no hooks, and is not compiled itself."""
        if not self.has(Kind.NO_HOOKS, source):
            known = [name for name in module.__dict__ if not hasattr(getattr(type(module), name, None), "__set__")]
            own = OwnDict(source)
            self.fields[source] = own, frozenset(known)
            self.add(Kind.NO_HOOKS, source, None, (own,))

    def related(self, first: Source, second: Source, same: bool) -> None:
        """Two values are the same object, or they are not."""
        if (Kind.SAME_OBJECT, second, (first, same)) not in self.made:
            self.add(Kind.SAME_OBJECT, first, same, (second,), key=(second, same))

    def method(self, source: Source, value: Any, name: str, function: Any) -> None:
        """A method of an object is the same function."""
        if (Kind.METHOD, source, name) in self.made or (Kind.INHERITED, source, name) in self.made:
            return
        kind = type(value)
        if source not in self.fields or getattr(kind, name, None) is not function or name in value.__dict__:
            self.add(Kind.METHOD, source, (name, self.names.weak(function)), key=name)
            return
        weak = self.names.weak(kind)  # a Module: its class has the method, and that is checked once
        self.add(Kind.INHERITED, source, (name, weak), (self.fields[source][0],), key=name)
        self.add(Kind.CLASS_METHOD, None, (weak, name, self.names.weak(function)), key=(kind, name))

    def tensor(self, source: Source, value: Any, shape: tuple[int, ...]) -> None:
        """A tensor has the same type, rank, sizes (those that are not symbolic) and ``requires_grad``."""
        if self.has(Kind.TENSOR, source):
            return
        sizes = tuple(int.__int__(each) for each in shape)
        array = value._array
        self.add(
            Kind.TENSOR, source, TensorProperties(type(value), type(array), array.dtype, value._requires_grad, value.dtype, value.device)
        )
        if device_type_of(array).name != "cpu":  # the class of an array says that it is on the CPU, but not which one of other devices
            self.add(Kind.DEVICE, source, value.device)
        if not any(isinstance(each, SymbolicInt) for each in shape):
            self.sizes.append((source, None, sizes))
            self.add(Kind.SHAPE, source, sizes)
            return
        self.add(Kind.RANK, source, sizes)
        for dim, size in enumerate(shape):
            if not isinstance(size, SymbolicInt):
                self.sizes.append((source, dim, sizes[dim]))
                self.add(Kind.SIZE, source, (dim, sizes), key=dim)

    def elements(self, source: Source, array: Any) -> None:
        """The array of a tensor has the same elements."""
        if not self.has(Kind.ARRAY, source):
            self.numbers.append((source, array.tobytes()))
            self.add(Kind.ARRAY, source, array.copy())

    def strides(self, source: Source, value: Any) -> None:
        """A tensor has the same strides."""
        self.add(Kind.STRIDES, source, value.stride())

    def layout(self, source: Source, value: Any) -> None:
        """A tensor is contiguous, whatever its sizes are, or has the strides that it has now."""
        if value.is_contiguous():
            self.add(Kind.CONTIGUOUS, source)
        else:
            self.strides(source, value)

    def stride_order(self, source: Source, value: Any) -> None:
        """A tensor is contiguous, or its dimensions are in the same order in memory: whatever is computed from it has the same layout."""
        if value.is_contiguous():
            self.add(Kind.CONTIGUOUS, source)
        else:
            self.add(Kind.STRIDE_ORDER, source, stride_order(value))

    def relation(self, op: str, left: Any, right: Any, outcome: bool, symbols: Mapping[str, tuple[Source, int | None]]) -> None:
        """The outcome of a comparison that the program has made (see :class:`.guard.Relation`); ``symbols`` are those that occur in it."""
        read = [*[source for source, _ in symbols.values()], *sources_in(left), *sources_in(right)]
        self.add(Kind.RELATION, None, Relation(op, left, right, outcome, symbols), read, key=(op, left, right, outcome))

    # -- evaluation ----------------------------------------------------------------------------------------------

    @property
    def start(self) -> str:
        """The parameter of the program: the variables of a call, or frames."""
        return "slots" if self.names.entry else "frames"

    def printer(self) -> GuardPrinter:
        """Prints this program as Python."""
        return GuardPrinter(self.names, self.variables)

    @property
    def source(self) -> str:
        """The program as Python: a function that gives None where all guards hold, else the number of the first that does not."""
        numbers = {id(guard): number for number, guard in enumerate(self.conditions)}
        lines = self.printer().lines(self.bytecode, lambda guard: f"return {numbers[id(guard)]}  # {describe(guard)}{_place(guard)}")
        return "\n".join([f"def check({self.start}):", *[f"    {line}" for line in lines], "    return None", ""])

    def split(self, apart: Iterable[Source]) -> tuple[list[Read | Guard], list[Guard]]:
        """The program without the guards on the type and sizes of some tensors, and those guards."""
        left, sources = [], set(apart)
        kept: list[Read | Guard] = []
        for step in self.bytecode:
            if isinstance(step, Guard) and step.kind in TENSOR_KINDS and step.source in sources:
                left.append(step)
            else:
                kept.append(step)
        return kept, left

    @property
    def namespace(self) -> dict[str, Any]:
        """The globals of the printed program."""
        return namespace_of(self.names)

    def failed(self, start: Any) -> Guard | None:
        """The first guard that does not hold; a read of a value that is gone raises one of `MISSING`."""
        source, namespace = self.source, self.namespace
        exec(compile(source, "<guards>", "exec"), namespace)
        number = namespace["check"](start)
        return None if number is None else self.conditions[number]

    def why(self, start: Any) -> str:
        """Why the program does not hold, in words."""
        try:
            guard = self.failed(start)
        except MISSING:
            return "a value that the program read is not there any more"
        if guard is None:
            return "it holds now: another thread has changed something"
        now = None if guard.source is None else read_source(guard.source, self.names, self.start, start)
        return failure(guard, now)


# What launchers compare by themselves.
TENSOR_KINDS = frozenset((Kind.TENSOR, Kind.DEVICE, Kind.SHAPE, Kind.RANK, Kind.SIZE, Kind.CONTIGUOUS, Kind.STRIDE_ORDER))


def _place(guard: Guard) -> str:
    line = guard.line
    return "" if line is None else f" ({line[0].rpartition('/')[2]}:{line[1]})"


def is_op(function: Any) -> bool:
    """Whether a function is an op of the table."""
    return isinstance(getattr(function, "op", None), Op)


def is_native_method(value: Any) -> bool:
    """Whether something is a method, not written in Python, that is bound to an object: made anew by every look-up."""
    if type(value) is BuiltinFunctionType:
        return value.__self__ is not None and not isinstance(value.__self__, (ModuleType, type))
    return type(value) is MethodWrapperType


def is_numeric_memory(array: Any) -> bool:
    """Whether an array is memory of numbers that may change: what a graph takes as an input."""
    return bool(array.flags.writeable) and array.dtype in BY_NUMPY and min(array.strides, default=0) >= 0


def holds_attributes(value: Any) -> bool:
    """Whether a number or text has attributes of its own: it is of a user's class, and no member of an enum."""
    kind = type(value)
    if kind in _WITHOUT_ATTRIBUTES or not isinstance(value, (int, float, complex, str, bytes)):
        return False
    return hasattr(value, "__dict__") and not isinstance(value, enum.Enum) and not is_own(kind)


def by_identity(value: Any) -> bool:
    """Whether a value stands for itself: classes, modules, members of an enum, Modules, ops, and what has no attributes or elements to change."""
    if is_native_method(value) or isinstance(value, _CHANGING):
        return False
    if isinstance(value, (type, ModuleType, BuiltinFunctionType, enum.Enum, Module)):
        return True
    if isinstance(value, FunctionType):
        return is_op(value)
    if type(value) is np.ndarray and is_numeric_memory(value):
        return False
    return not hasattr(value, "__dict__") and not isinstance(value, CONTAINERS) and not hasattr(type(value), "__next__")
