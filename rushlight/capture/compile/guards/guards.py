"""Guards: a printed program that says whether a captured segment holds for the present values."""

from __future__ import annotations

import collections
import enum
import operator
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from ....core.base import TensorBase
from ....core.declare import Op
from ....core.devices import device, device_type_of
from ....core.dtypes import default, dtype
from ....core.state import flags, state
from ....core.symbolic import SymbolicInt
from ....nn.modules.module import Module
from .modes import ambient
from .sources import Attribute, Names, Slot, Source, Stacked, root_of

# Values that are compared by equality, and are the same wherever they come from.
PRIMITIVES = (
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), dtype, device, np.dtype, np.generic, slice,
    range,
)  # fmt: skip
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Guards:
    """Collects conditions while a program is captured, each once, and compiles them to a function of the state."""

    def __init__(self, entry: bool = False) -> None:
        self.lines: list[Any] = []  # of the program: text that fetches something, or the number of a condition and its text
        self.reasons: list[Any] = []  # of each condition: (what is checked, a function that words a failure)
        self.names = Names()
        self.names.entry = entry
        self.values: dict[Source, str] = {}  # the variable of the program that holds a source's value
        self.made: set[Any] = set()
        self.tensors: dict[Source, range] = {}  # of tensors: the lines that look at nothing but their kind, type and sizes
        self.sizes: list[Any] = []  # (source, dimension, size) of sizes that are fixed
        self.numbers: list[Any] = []  # (source, value) of numbers that are fixed
        self.grad_enabled, self.inference = state.grad_enabled, state.inference
        self.condition("grad mode", f"state.grad_enabled is {state.grad_enabled}", ("grad",))
        self.fields: dict[Source, tuple[str, frozenset[str]]] = {}  # of Modules: the variable of their attributes, and the names of those
        modes = ambient()
        special = bool(state.interceptors or state.inference)
        test = (
            f"ambient() == {self.names.of(modes)}" if special else "not flags.special or (not state.interceptors and not state.inference)"
        )
        self.condition("autocast and inference mode", test, ("modes",))
        self.condition("default type", f"default.floating is {self.names.of(default.floating)}", ("default",))

    def variable(self, source: Source) -> str:
        """The variable that holds a source's value in the program."""
        found = self.values.get(source)
        if found is None:
            base = self.variable(source.base) if source.base is not None else ""
            beside = [self.variable(each) for each in source.beside]
            found = self.values[source] = f"v{len(self.values)}"
            expression = source.expression(base, self.names, *beside)
            if isinstance(source, Attribute) and source.base in self.fields:
                fields, known = self.fields[source.base]
                expression = f"{fields}[{source.name!r}]" if source.name in known else expression
            self.lines.append(f"{found} = {expression}")
        return found

    def condition(self, about: Any, expression: str, key: Any, failed: Any = None) -> None:
        """Add a condition, unless it is there.  ``about`` says in words what is checked, or is a function that does."""
        if key in self.made:
            return
        self.made.add(key)
        self.lines.append((len(self.reasons), expression))
        self.reasons.append((about, failed))

    def about(self, number: int) -> str:
        """What a condition checks, in words."""
        found = self.reasons[number][0]
        return str(found() if callable(found) else found)

    # -- kinds of guards -----------------------------------------------------------------------------------------

    def value(self, source: Source, value: Any) -> None:
        """Guard a value by what kind it is: by equality, by identity, or by its type."""
        if isinstance(value, TensorBase):
            return  # when it is used
        if isinstance(value, PRIMITIVES):
            self.equal(source, value)
        elif isinstance(value, FunctionType) and not is_op(value):
            self.code(source, value)
        elif by_identity(value):
            self.identity(source, value)
        else:
            self.type(source, value)

    def equal(self, source: Source, value: Any) -> None:
        """The value is the same, and of the same type."""
        if ("equal", source) in self.made:
            return
        name = self.variable(source)
        if value is None or value is Ellipsis or isinstance(value, bool):
            self.condition(lambda: f"{source.describe()} is {value}", f"{name} is {value}", ("equal", source))
            return
        constant = repr(value) if type(value) in (int, str) else self.names.of(value)
        kind = type(value).__name__ if type(value) in (int, float, str) else self.names.of(type(value), "t")
        test = f"type({name}) is {kind} and {name} == {constant}"
        if isinstance(value, float):
            if value != value:
                test = f"type({name}) is float and {name} != {name}"
            elif value == 0:
                test += f" and str({name}) == {str(value)!r}"  # the sign of a zero
        text = _short(value)
        if type(value) in (int, float):
            self.numbers.append((source, value))
        self.condition(lambda: f"{source.describe()} == {text}", test, ("equal", source))

    def number(self, source: Source, kind: Any) -> None:
        """A number that may differ: its type alone."""
        test = f"type({self.variable(source)}) is {kind.__name__}"
        self.condition(lambda: f"{source.describe()} is {'a whole number' if kind is int else 'a fraction'}", test, ("number", source))

    def finite(self, source: Source) -> None:
        """A fraction has a whole part."""
        name = self.variable(source)
        self.condition(lambda: f"{source.describe()} is finite", f"{name} - {name} == 0", ("finite", source))

    def identity(self, source: Source, value: Any) -> None:
        """The value is the same object.  What comes with the arguments is not kept alive for that."""
        if ("identity", source) in self.made:
            return
        name = self.variable(source)
        from_outside = isinstance(root_of(source), (Slot, Stacked)) and not isinstance(value, (BuiltinFunctionType, ModuleType, enum.Enum))
        same = self.names.weak(value) if from_outside else self.names.of(value)
        kind = type(value).__name__
        self.condition(lambda: f"{source.describe()} is the same {kind}", f"{name} is {same}", ("identity", source))

    def code(self, source: Source, value: Any) -> None:
        """A function has the same code; what it reads besides is guarded when it is called."""
        if ("code", source) in self.made:
            return
        name = self.variable(source)
        function = value.__qualname__
        self.condition(
            lambda: f"{source.describe()} is the function {function}",
            f"{name}.__code__ is {self.names.of(value.__code__)}",
            ("code", source),
        )

    def type(self, source: Source, value: Any) -> None:
        """The value is of the same type."""
        if ("type", source) in self.made:
            return
        name, kind = self.variable(source), type(value)
        same = self.names.weak(kind) if kind.__module__ != "builtins" else self.names.of(kind, "t")
        title = kind.__name__
        self.condition(lambda: f"type of {source.describe()} is {title}", f"type({name}) is {same}", ("type", source))

    def length(self, source: Source, value: Any, content: Any) -> None:
        """A container has as many elements (of a dict: the same keys)."""
        self.type(source, value)
        name = self.variable(source)
        if isinstance(value, dict):
            test = f"[*{name}] == {self.names.of(list(content))}" if content else f"not {name}"
            self.condition(lambda: f"keys of {source.describe()}", test, ("length", source))
        else:
            count = len(content)
            self.condition(lambda: f"length of {source.describe()} is {count}", f"len({name}) == {len(content)}", ("length", source))

    def emptiness(self, source: Source, value: Any) -> None:
        """A container is empty, or it is not."""
        word = "not " if value else ""
        self.condition(
            lambda: f"{source.describe()} is {word}empty", f"{'' if value else 'not '}{self.variable(source)}", ("empty", source)
        )

    def no_hooks(self, source: Source, module: Module) -> None:
        """A Module has no hooks, and is not compiled itself."""
        if ("hooks", source) not in self.made:
            fields = f"d{len(self.fields)}"
            known = [name for name in module.__dict__ if not hasattr(getattr(type(module), name, None), "__set__")]
            self.fields[source] = fields, frozenset(known)
            self.lines.append(f"{fields} = {self.variable(source)}.__dict__")
            test = " or ".join(f"{fields}[{name!r}]" for name in HOOKS)
            self.condition(
                lambda: f"{source.describe()} has no hooks", f"not ({test} or '_compiled_call_impl' in {fields})", ("hooks", source)
            )

    def related(self, first: Source, second: Source, same: bool) -> None:
        """Two values are the same object, or they are not."""
        a, b = self.variable(first), self.variable(second)
        word = "is" if same else "is not"
        self.condition(f"{first.describe()} {word} {second.describe()}", f"{a} {word} {b}", ("related", frozenset((first, second)), same))

    def distinct(self, sources: list[Source]) -> None:
        """No two of several values are the same object."""
        about = f"{', '.join(each.describe() for each in sources)} are different objects"
        self.condition(about, all_differ([self.variable(each) for each in sources]), ("distinct", tuple(sources)))

    def absent(self, source: Source, name: str, plain: bool = False) -> None:
        """An object has no attribute of a name; ``plain``: without asking its class's ``__getattr__``."""
        test = f"{self.names.of(lacks)}({self.variable(source)}, {name!r})" if plain else f"not hasattr({self.variable(source)}, {name!r})"
        self.condition(f"{source.describe()} has no {name}", test, ("absent", source, name))

    def method(self, source: Source, value: Any, name: str, function: Any) -> None:
        """A method of an object is the same function."""
        if ("method", source, name) in self.made:
            return
        about = lambda: f"{source.describe()}.{name} is the same method"  # noqa: E731
        kind = type(value)
        if source not in self.fields or getattr(kind, name, None) is not function or name in value.__dict__:
            self.condition(about, f"{self.variable(source)}.{name}.__func__ is {self.names.weak(function)}", ("method", source, name))
            return
        same = self.names.weak(kind)  # a Module: its class has the method, and that is asked once
        self.condition(
            about, f"{name!r} not in {self.fields[source][0]} and type({self.variable(source)}) is {same}", ("method", source, name)
        )
        self.condition(
            lambda: f"{kind.__name__}.{name} is the same function",
            f"{same}.{name} is {self.names.weak(function)}",
            ("method of", kind, name),
        )

    def array(self, source: Source, value: Any) -> None:
        """A small NumPy array has the same elements."""
        name = self.variable(source)
        same = self.names.of(same_array)
        copied = self.names.of(value.copy())
        self.condition(f"elements of {source.describe()}", f"{same}({name}, {copied})", ("array", source))

    def tensor(self, source: Source, value: Any, shape: tuple[int, ...]) -> None:
        """A tensor has the same type, rank, sizes (those that are not symbolic) and need for a gradient."""
        if ("tensor", source) in self.made:
            return
        self.made.add(("tensor", source))
        name, array, before = self.variable(source), value._array, len(self.lines)
        kind, element = self.names.of(type(value), "t"), self.names.of(array.dtype, "t")
        fixed = all(not isinstance(each, SymbolicInt) for each in shape)
        sizes = tuple(int.__int__(each) for each in shape)
        self.lines.append(f"a = {name}._array")
        self.condition(
            lambda: f"tensor {source.describe()}: type, device, dtype, requires_grad",
            f"type({name}) is {kind} and type(a) is {self.names.of(type(array), 't')} and a.dtype is {element} "
            f"and {name}._requires_grad is {value._requires_grad}",
            ("tensor type", source), _tensor(source, value),
        )  # fmt: skip
        if device_type_of(array).name != "cpu":  # the class of an array says that it is on the CPU, but not which one of other devices
            self.condition(
                lambda: f"tensor {source.describe()}: device {value.device}",
                f"{name}.device == {self.names.of(value.device, 't')}", ("tensor device", source), _tensor(source, value),
            )  # fmt: skip
        if fixed:
            self.sizes.append((source, None, sizes))
            self.condition(
                lambda: f"tensor {source.describe()}: sizes {sizes}", f"a.shape == {sizes}", ("tensor sizes", source), _sizes(source, sizes)
            )
            self.tensors[source] = range(before, len(self.lines))
            return
        self.condition(
            lambda: f"tensor {source.describe()}: {len(sizes)} dimensions",
            f"a.ndim == {array.ndim}",
            ("tensor rank", source),
            _sizes(source, sizes),
        )
        for dim, size in enumerate(shape):
            if not isinstance(size, SymbolicInt):
                self.sizes.append((source, dim, sizes[dim]))
                self.condition(
                    f"tensor {source.describe()}: size {dim} is {sizes[dim]}",
                    f"a.shape[{dim}] == {sizes[dim]}",
                    ("tensor size", source, dim),
                    _sizes(source, sizes),
                )
        self.tensors[source] = range(before, len(self.lines))

    def strides(self, source: Source, value: Any) -> None:
        """A tensor lies in memory in the same way."""
        name = self.variable(source)
        self.condition(f"strides of {source.describe()}", f"{name}.stride() == {value.stride()}", ("strides", source))

    def layout(self, source: Source, value: Any) -> None:
        """A tensor lies in rows, whatever its sizes are, or as it does now."""
        if not value.is_contiguous():
            self.strides(source, value)
        else:
            self.condition(f"{source.describe()} lies in rows", f"{self.variable(source)}.is_contiguous()", ("rows", source))

    def formula(self, expression: Any, sources: dict[str, tuple[Source, int | None]]) -> None:
        """A relation between sizes holds (a comparison that the program has made)."""
        text, names = expression
        about = text
        for symbol in sorted(names, key=len, reverse=True):
            source, dim = sources[symbol]
            about = about.replace(symbol, source.describe() if dim is None else f"{source.describe()}.shape[{dim}]")
            text = text.replace(symbol, self.variable(source) if dim is None else f"{self.variable(source)}._array.shape[{dim}]")
        self.condition(about, text, ("formula", text))

    # -- the program ---------------------------------------------------------------------------------------------

    @property
    def start(self) -> str:
        """The name of what the program begins with: the variables of a call, or frames."""
        return "slots" if self.names.entry else "frames"

    @property
    def source(self) -> str:
        """The program: it gives None where all conditions hold, else the number of the one that does not."""
        lines = [f"def check({self.start}):"]
        for line in self.lines:
            if isinstance(line, str):
                lines.append(f"    {line}")
            else:
                lines.append(f"    if not ({line[1]}): return {line[0]}  # {self.about(line[0])}")
        return "\n".join([*lines, "    return None", ""])

    def tests(self, apart: Iterable[Source] = ()) -> tuple[list[str], list[str]]:
        """The same as lines that give MISS where a condition does not hold; those about tensors that are asked for ``apart`` by themselves."""
        lines = [line if isinstance(line, str) else f"if not ({line[1]}): return MISS" for line in self.lines]
        chosen = self.numbers_of(apart)
        left = set(chosen)
        return [line for number, line in enumerate(lines) if number not in left], [lines[number] for number in chosen]

    def asked(self, apart: Iterable[Source]) -> list[Any]:
        """The lines, without those about tensors that are asked for apart."""
        left = set(self.numbers_of(apart))
        return [line for number, line in enumerate(self.lines) if number not in left]

    def numbers_of(self, sources: Iterable[Source]) -> list[int]:
        """Which lines ask about tensors of some sources."""
        return [number for source in sources for number in self.tensors.get(source, ())]

    @property
    def namespace(self) -> dict[str, Any]:
        """What the program refers to."""
        return {**self.names.values, "state": state, "flags": flags, "ambient": ambient, "default": default}

    def checked(self, start: Any) -> int | None:
        """Which condition does not hold, if any; a value that is not there (any more) counts as -1."""
        namespace = self.namespace
        exec(compile(self.source, "<guards>", "exec"), namespace)
        try:
            return namespace["check"](start)  # type: ignore[no-any-return]
        except MISSING:
            return -1

    def why(self, start: Any) -> str:
        """Why the program does not hold, in words."""
        number = self.checked(start)
        if number is None:
            return "it holds now: another thread has changed something"
        if number < 0:
            return "a value that the program read is not there any more"
        about, failed = self.about(number), self.reasons[number][1]
        return self.failure(failed, start) if failed is not None else f"this no longer holds: {about}"

    def failure(self, failed: Any, start: Any) -> str:
        """A failure in the words of who made the condition, with the value that is there now."""
        source, words = failed
        lines = [f"def find({self.start}):"]
        values: dict[Source, str] = {}

        def variable(each: Source) -> str:
            if each not in values:
                base = variable(each.base) if each.base is not None else ""
                beside = [variable(other) for other in each.beside]
                values[each] = f"v{len(values)}"
                lines.append(f"    {values[each]} = {each.expression(base, self.names, *beside)}")
            return values[each]

        lines.append(f"    return {variable(source)}")
        namespace = dict(self.names.values)
        exec(compile("\n".join(lines), "<guards>", "exec"), namespace)
        return str(words(namespace["find"](start)))


MISSING = (AttributeError, KeyError, IndexError, ValueError, TypeError)


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) < 80 else text[:77] + "..."


def _tensor(source: Source, value: Any) -> tuple[Source, Any]:
    kind, needs, place = str(value.dtype), value._requires_grad, value.device

    def words(now: Any) -> str:
        if not isinstance(now, TensorBase):
            return f"argument `{source.describe()}`: it was a tensor, and is a {type(now).__name__} now"
        if str(now.dtype) != kind:  # type: ignore[attr-defined]
            return f"argument `{source.describe()}`: its type was {kind}, and is {now.dtype} now"  # type: ignore[attr-defined]
        if now.device != place:  # type: ignore[attr-defined]
            return f"argument `{source.describe()}`: it was on {place}, and is on {now.device} now"  # type: ignore[attr-defined]
        if now._requires_grad is not needs:
            return f"argument `{source.describe()}`: requires_grad was {needs}, and is {now._requires_grad} now"
        return f"argument `{source.describe()}`: its class is {type(now).__name__} now"

    return source, words


def _sizes(source: Source, sizes: tuple[int, ...]) -> tuple[Source, Any]:
    def words(now: Any) -> str:
        found = now._array.shape
        if len(found) != len(sizes):
            return f"argument `{source.describe()}`: it had {len(sizes)} dimensions, and has {len(found)} now"
        parts = [f"size {dim} was {was}, now {is_now}" for dim, (was, is_now) in enumerate(zip(sizes, found)) if was != is_now]
        return f"argument `{source.describe()}`: {', '.join(parts)}; mark it dynamic or let it generalise"

    return source, words


def all_differ(names: list[str]) -> str:
    """An expression: no two of some variables hold the same object."""
    if len(names) > 6:
        return f"len({{*map(id, ({', '.join(names)}))}}) == {len(names)}"
    return " and ".join(f"{a} is not {b}" for at, a in enumerate(names) for b in names[at + 1 :])


def same_options(options: dict[str, Any], known: list[Any], apart: int) -> bool:
    """Whether the values of a dict are those of a list, each the same object, but for one of its own."""
    values = [*options.values()]
    del values[apart]
    return len(values) == len(known) and all(map(operator.is_, values, known))


def lacks(value: Any, name: str) -> bool:
    """Whether an object has no attribute of a name, without asking its class's ``__getattr__``."""
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return True
    return False


def same_array(value: Any, known: Any) -> bool:
    """Whether a NumPy array has the known type and elements."""
    return type(value) is type(known) and value.dtype == known.dtype and value.shape == known.shape and value.tobytes() == known.tobytes()


def is_op(function: Any) -> bool:
    """Whether a function is an op of the table."""
    return isinstance(getattr(function, "op", None), Op)


def is_native_method(value: Any) -> bool:
    """Whether something is a method, not written in Python, that is bound to an object: made anew by every look-up."""
    if type(value) is BuiltinFunctionType:
        return value.__self__ is not None and not isinstance(value.__self__, (ModuleType, type))
    return type(value) is MethodWrapperType


def by_identity(value: Any) -> bool:
    """Whether a value stands for itself: classes, modules, members of an enum, Modules, ops, and what has no attributes."""
    if is_native_method(value):
        return False
    if isinstance(value, (type, ModuleType, BuiltinFunctionType, enum.Enum, Module)):
        return True
    if isinstance(value, FunctionType):
        return is_op(value)
    return not hasattr(value, "__dict__") and not isinstance(value, CONTAINERS) and not hasattr(type(value), "__next__")
