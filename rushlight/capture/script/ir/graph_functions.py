"""Functions that graphs of scripts call besides ops and Python's own, each under its name here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device as Device
from ....core.dtypes import dtype as Dtype
from ....core.errors import CaptureError, NotSupported
from ....core.size import Size
from ....core.state import state
from ....core.symbolic import Expression, SymbolicInt, is_symbolic, size_of
from ....graph import has_side_effect
from ....graph.control import UNSET
from ....nn.modules.module import Module
from ...control.branches import capture_warning
from ...control.python_functions import is_traced, power, unpack
from ...control.region_tracer import RegionTracer
from ...graph_module import UNDER_CAPTURE
from ..frontend.conversions import from_python
from ..frontend.errors import RaisedInScript, UnusedCallError
from ..frontend.type_checks import is_exactly
from ..frontend.types import ANY, class_type, parse_type
from . import type_numbers


def range_length(start: Any, stop: Any, step: Any) -> Any:
    """How many numbers a range has; of sizes that a capture knows by formulas, also a formula."""
    if is_symbolic(start) or is_symbolic(stop):
        if type(step) is int and step:
            distance = Expression.of(stop) - Expression.of(start) if step > 0 else Expression.of(start) - Expression.of(stop)
            stride = abs(step)
            count = (distance + Expression({(): stride - 1})) // Expression({(): stride}) if stride > 1 else distance
            value = len(range(plain(start), plain(stop), step))
            if Expression.of(start).constant != 0 or step < 0:  # may be negative; a size never is
                count = Expression({(("max", count, Expression({})),): 1})
            return size_of(value, count)
    return len(range(start, stop, step))


def plain(value: Any) -> int:
    """A size as a plain number."""
    return int.__int__(value) if isinstance(value, SymbolicInt) else int(value)


@has_side_effect
def raise_error(kind: Any, *arguments: Any) -> None:
    """Raise an exception of a class (or what a builtin exception of that name is)."""
    error: Any = EXCEPTIONS[kind] if isinstance(kind, str) else kind
    raise RaisedInScript(error(*arguments))


@has_side_effect
def check(condition: Any, message: Any = None) -> None:
    """``assert``."""
    if not condition:
        raise RaisedInScript(AssertionError(*(() if message is None else (message,))))


def checked(condition: Any, message: Any = None) -> None:
    """``assert`` under a capture: what depends on the inputs holds for this run, and is left out."""
    if is_traced(condition):
        check(bool(condition._array), message)
        capture_warning(state.capture, "an assertion about values that depend on the inputs is not part of the capture")
        return
    check(condition, message)


UNDER_CAPTURE[check] = checked


@has_side_effect
def unused_call(name: str) -> None:
    """Stands for a call of a function that was marked as unused."""
    raise UnusedCallError(
        f"This Python function is annotated to be ignored and cannot be run: {name}() is marked as unused (jit.unused), and was called by a scripted program"
    )


@has_side_effect
def missing_operator(name: str, *arguments: Any) -> None:
    """Stands for a call, on a way that may never be taken, of an operator that is not there."""
    raise NotSupported(f"the operator {name} is not known here, and was called by a scripted program")


@has_side_effect
def python_result(value: Any, wanted: str, name: str) -> Any:
    """What a Python function called ``name`` gave, as a value of the type that it says it returns."""
    try:
        return _from_python(wanted)(value)
    except (TypeError, ValueError) as error:
        raise RuntimeError(
            f"expected value of type {wanted} for return value but instead got value of type {type(value).__name__}. {name}(): {error}"
        ) from error


@functools.cache
def _from_python(wanted: str) -> Callable[[Any], Any]:
    return from_python(parse_type(wanted))


def is_kind(value: Any, names: tuple[str, ...]) -> bool:
    """``isinstance`` with the types of scripts, by name."""
    return any(kind_test(name)(value) for name in names)


@functools.cache
def kind_test(name: str) -> Callable[[Any], bool]:
    """What says whether a value is of a type with a name; classes of the user's are looked for by that name."""
    if name in KINDS:
        kind = KINDS[name]
        return lambda value: isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    wanted = parse_type(name)
    if wanted == ANY:
        return lambda value: any(each.__name__ == name.removeprefix("Enum<").rstrip(">") for each in type(value).__mro__)
    return lambda value: is_exactly(value, wanted)


def listed(value: Any, wanted: str) -> Any:
    """What ``tolist()`` gave, which must be of the type that the program says."""
    if not kind_test(wanted)(value):
        raise RuntimeError(f"Output annotation element type and runtime tensor element type must match for tolist(): {wanted}")
    return value


def shown(value: Any) -> Any:
    """A number or container as scripts write it; what is known by formulas, or is a tensor, stays."""
    if isinstance(value, float):
        if abs(value) < 1e17 and value == int(value):
            return f"{int(value)}."
        return f"{value:.17g}"
    return shown_item(value) if isinstance(value, (list, tuple, dict)) else value


def shown_item(value: Any) -> str:
    """An item of a container as scripts write it: texts without quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown_item(key)}: {shown_item(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, Size)):  # sizes are lists in scripts
        return "[" + ", ".join(map(shown_item, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(shown_item, value)) + ("," if len(value) == 1 else "") + ")"
    return str(shown(value))


def formatted(value: Any, conversion: str, specification: str) -> str:
    """One part of an f-string."""
    if conversion:
        value = repr(value) if conversion == "r" else str(value) if conversion == "s" else ascii(value)
    return format(value, specification)


def format_text(text: str, *values: Any) -> str:
    """``text.format(*values)`` as scripts do it: only ``{}`` is a place, whatever else stands in braces is text."""
    parts = text.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {text}")
    return parts[0] + "".join(f"{value}{part}" for value, part in zip(values, parts[1:]))


def joined(*parts: str) -> str:
    """An f-string of its parts."""
    return "".join(parts)


def slice_of(start: Any, stop: Any, step: Any) -> slice:
    """A slice with bounds that are computed."""
    return slice(start, stop, step)


@has_side_effect
def set_attribute(owner: Any, name: str, value: Any) -> None:
    """``object.name = value`` of an object of a scripted class."""
    kind = class_type(type(owner))
    if kind is None or name not in kind.described.attributes:
        raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}' that a script can set")
    if isinstance(state.capture, RegionTracer) and getattr(owner, "_script_capture", None) is not state.capture:
        raise CaptureError(
            f"the attribute '{name}' of an object of the class '{kind}' is set inside of a branch or a loop, which can't be captured: keep the value in a "
            "variable, and set the attribute after it"
        )
    object.__setattr__(owner, name, value)  # whatever __setattr__ the class has, as that of a frozen dataclass


@has_side_effect
def present(value: Any) -> Any:
    """A value of which the program says that it is not None."""
    if value is None:
        raise RuntimeError("Unwrapping null optional")
    return value


@has_side_effect
def call_interface(owner: Any, name: str, *args: Any) -> Any:
    """Call a method of an object, or of a Module, which an interface says it has: a scripted one, or the forward of a Module of the package."""
    kind = class_type(type(owner))
    if kind is not None:
        return kind.described.method(name)(owner, *args)
    found = getattr(owner, name, None)
    if isinstance(owner, Module) and (hasattr(found, "_program") or name == "forward"):
        return found(*args)  # type: ignore[misc]
    raise RuntimeError(f"'{type(owner).__name__}' has no scripted method '{name}'")


class DefaultTensor:
    """A function that gives one tensor: the default of a parameter, where a script calls another without it."""

    __name__ = "default_tensor"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


class Exiting:
    """The end of a ``with`` over an object of a scripted class, which was entered before."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        kind = class_type(type(self.owner))
        assert kind is not None
        kind.described.methods["__exit__"](self.owner, None, None, None)


def exiting(owner: Any) -> Exiting:
    """The context that ends a ``with`` over an object."""
    return Exiting(owner)


@has_side_effect
def delete_item(container: Any, key: Any) -> None:
    """``del container[key]``."""
    del container[key]


KINDS: dict[str, Any] = {
    "Tensor": TensorBase, "int": int, "float": float, "bool": bool, "str": str, "complex": complex, "NoneType": type(None),
    "list": list, "tuple": tuple, "dict": dict, "Device": Device, "dtype": Dtype,
}  # fmt: skip
EXCEPTIONS: dict[str, type[BaseException]] = {
    each.__name__: each
    for each in (
        ArithmeticError, AssertionError, AttributeError, Exception, FloatingPointError, ImportError, IndexError, KeyError, LookupError,
        MemoryError, NameError, NotImplementedError, OSError, OverflowError, RuntimeError, StopIteration, TypeError, UnicodeError,
        ValueError, Warning, ZeroDivisionError,
    )
}  # fmt: skip
FUNCTIONS = {
    each.__name__: each
    for each in (
        unpack, range_length, raise_error, check, unused_call, python_result, missing_operator, is_kind, formatted, format_text, joined, power, slice_of, delete_item, set_attribute, exiting, listed, shown, present, call_interface,
        *type_numbers.FUNCTIONS.values(),
    )
}  # fmt: skip

__all__ = ["EXCEPTIONS", "FUNCTIONS", "KINDS", "UNSET"]
