"""Builtin functions that a capture treats in ways of their own: those that read attributes, lengths and types, and ``min`` and ``max``."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import inspect
import math
import operator
import sys
import traceback
from types import FunctionType, MethodType
from typing import Any

from ....core.base import TensorBase
from ....core.missing import is_own
from ....core.symbolic import is_symbolic
from ..guards.guards import CONTAINERS
from ..guards.sources import Slot, Stacked
from ..record.callables import class_attribute, python_methods
from ..record.callbacks import InterpretedCallback
from ..record.graph_breaks import Break
from ..record.registry import handles
from ..record.symbolic_numbers import absolute
from ..vm import operator_forms
from ..vm.frame import Inline


@handles(getattr)
def _getattr(recorder: Any, *args: Any) -> Any:
    if len(args) == 3:
        return Inline(operator_forms.attribute_or, args, {})
    return recorder.load_attr(*args) if len(args) == 2 and isinstance(args[1], str) else NotImplemented


@handles(hasattr)
def _hasattr(recorder: Any, *args: Any) -> Any:
    return Inline(operator_forms.has_attribute, args, {})


@handles(setattr)
def _setattr(recorder: Any, *args: Any) -> Any:
    return recorder.store_attr(*args)


@handles(operator.setitem)
def _setitem(recorder: Any, *args: Any) -> Any:
    return recorder.set_item(*args)


@handles(operator.delitem)
def _delitem(recorder: Any, *args: Any) -> Any:
    return recorder.delete_item(*args)


@handles(operator.getitem)
def _getitem(recorder: Any, *args: Any) -> Any:
    return recorder.get_item(*args)


@handles(delattr)
def _delattr(recorder: Any, *args: Any) -> Any:
    return recorder.delete_attr(*args)


@handles(object.__setattr__)
def _plain_setattr(recorder: Any, *args: Any) -> Any:
    return recorder.store_plain(*args)


@handles(object.__delattr__)
def _plain_delattr(recorder: Any, *args: Any) -> Any:
    return recorder.delete_plain(*args)


@handles(object.__getattribute__, type.__getattribute__)
def _plain_getattr(recorder: Any, *args: Any) -> Any:
    return recorder.load_plain(*args)


@handles(iter)
def _iter(recorder: Any, *args: Any) -> Any:
    """Of one argument whose class has an ``__iter__`` in Python: its own iterator, at once."""
    if len(args) != 1 or isinstance(args[0], TensorBase) or recorder.special(args[0], "__iter__") is None:
        return NotImplemented
    return recorder.get_iter(args[0])


@handles(functools.cmp_to_key)
def _cmp_to_key(recorder: Any, compare: Any) -> Any:
    """A key that compares by a function, which is interpreted."""
    return functools.cmp_to_key(InterpretedCallback(recorder, compare, decides=True))


@handles(next)
def _next(recorder: Any, *args: Any) -> Any:
    if not args:
        return NotImplemented
    iterator = args[0]
    if id(iterator) in recorder.sources and not python_methods(type(iterator)) & {"__next__"}:
        raise Break("loop")
    return recorder.next(iterator) if len(args) == 1 else NotImplemented


@handles(sys.exc_info)
def _exc_info(recorder: Any) -> Any:
    """The exception that the program handles: an ``except`` block runs inside of one of the interpreter's."""
    return recorder.track_fresh(sys.exc_info())


@handles(sys.exception)
def _exception(recorder: Any) -> Any:
    return recorder.track_fresh(sys.exception())


@handles(sys.getrecursionlimit)
def _recursion_limit(recorder: Any) -> Any:
    return sys.getrecursionlimit()


@handles(id)
def _id(recorder: Any, *args: Any) -> Any:
    """The number of an object that was there before the capture, and has to be the same one later."""
    source = recorder.sources.get(id(args[0])) if len(args) == 1 else None
    if (
        source is None or isinstance(args[0], TensorBase) and type(source) in (Slot, Stacked)
    ):  # an argument, which is another one in each call
        return NotImplemented
    recorder.guards.identity(source, args[0])
    return id(args[0])


def _check_type(recorder: Any, value: Any, kinds: Any) -> None:
    """The type of a value is asked for; a user's metaclass has no say in it."""
    for each in kinds if isinstance(kinds, tuple) else (kinds,):
        if python_methods(type(each)) & {"__instancecheck__", "__subclasscheck__"}:
            raise Break("hidden", name=f"{type(each).__name__}.__instancecheck__")
    recorder.is_same(value, None)


@handles(isinstance)
def _isinstance(recorder: Any, *args: Any) -> Any:
    if len(args) != 2:
        return NotImplemented
    _check_type(recorder, *args)
    return isinstance(*args)


@handles(issubclass)
def _issubclass(recorder: Any, *args: Any) -> Any:
    if len(args) != 2:
        return NotImplemented
    _check_type(recorder, *args)
    return issubclass(*args)


@handles(len)
def _len(recorder: Any, *args: Any) -> Any:
    if len(args) != 1:
        return NotImplemented
    (value,) = args
    if isinstance(value, TensorBase) and value._array.ndim:
        return recorder.tracer.shape_of(value)[0]
    if "__len__" in python_methods(type(value)):
        recorder.special(value, "__len__")
        return Inline(class_attribute(type(value), "__len__"), (value,), {})
    source = recorder.sources.get(id(value))
    if source is not None and isinstance(value, (list, tuple, collections.deque)) and id(value) not in recorder.snapshots:
        recorder.guards.length(source, value, value)
    elif isinstance(value, CONTAINERS):
        recorder.guard_elements(value)
    else:
        recorder.guard_contents(value)
    return len(value)


def _extreme(recorder: Any, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``min`` or ``max`` of numbers, some of them symbolic: each comparison is guarded by its outcome."""
    if len(args) < 2 or kwargs or not any(map(is_symbolic, args)) or not all(isinstance(each, (int, float)) for each in args):
        return NotImplemented
    found = args[0]
    for each in args[1:]:
        found = each if recorder.compare(op, each, found) else found
    return found


@handles(max)
def _max(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    return _extreme(recorder, ">", args, kwargs)


@handles(min)
def _min(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    return _extreme(recorder, "<", args, kwargs)


@handles(abs)
def _abs(recorder: Any, *args: Any) -> Any:
    return absolute(recorder, args[0]) if len(args) == 1 and is_symbolic(args[0]) else _method_of(recorder, "__abs__", args)


def _method_of(recorder: Any, name: str, args: tuple[Any, ...]) -> Any:
    """A builtin that is a special method of its first argument: inlined where that is written in Python."""
    method = recorder.special(args[0], name) if args and not isinstance(args[0], TensorBase) else None
    return NotImplemented if method is None else Inline(method, args, {})


@handles(round)
def _round(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    return NotImplemented if kwargs else _method_of(recorder, "__round__", args)


@handles(math.floor)
def _floor(recorder: Any, *args: Any) -> Any:
    return _method_of(recorder, "__floor__", args)


@handles(math.ceil)
def _ceil(recorder: Any, *args: Any) -> Any:
    return _method_of(recorder, "__ceil__", args)


@handles(math.trunc)
def _trunc(recorder: Any, *args: Any) -> Any:
    return _method_of(recorder, "__trunc__", args)


@handles(hash)
def _hash(recorder: Any, *args: Any) -> Any:
    method = recorder.special(args[0], "__hash__") if len(args) == 1 and not isinstance(args[0], TensorBase) else None
    return NotImplemented if method is None else Inline(operator_forms.hash_of, (method, args[0]), {})


@handles(repr)
def _repr(recorder: Any, *args: Any) -> Any:
    written = recorder.written_text(args[0], "__repr__") if len(args) == 1 else None
    return NotImplemented if written is None else written


@handles(format)
def _format(recorder: Any, *args: Any) -> Any:
    written = recorder.written_text(args[0], "__format__", *args[1:] or ("",)) if len(args) in (1, 2) else None
    return NotImplemented if written is None else written


@handles(object.__init__)
def _plain_init(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    """What classes without an ``__init__`` have: it looks at how many arguments there are, and at nothing else."""
    return object.__init__(*args, **kwargs) if args else NotImplemented


@handles(traceback.clear_frames)
def _clear_frames(recorder: Any, found: Any) -> None:
    """What the frames of an error hold is let go, which changes nothing that a program reads; a graph that runs has no such frames."""
    traceback.clear_frames(found)


@handles(dataclasses.fields)
def _fields(recorder: Any, *args: Any) -> Any:
    """The fields of a data class: they belong to the class, and are read without looking at the instance."""
    kind = args[0] if len(args) == 1 and isinstance(args[0], type) else type(args[0]) if len(args) == 1 else None
    if kind is None or class_attribute(kind, "__dataclass_fields__") is None:
        return NotImplemented
    if not isinstance(args[0], type):
        recorder.is_same(args[0], None)
    recorder.guard_class_attribute(kind, "__dataclass_fields__", class_attribute(kind, "__dataclass_fields__"))
    return dataclasses.fields(kind)


_COPYING = frozenset("__copy__ __deepcopy__ __reduce__ __reduce_ex__ __getnewargs__ __getnewargs_ex__".split())


@handles(copy.deepcopy)
def _deepcopy(recorder: Any, *args: Any) -> Any:
    method = recorder.special(args[0], "__deepcopy__") if len(args) == 1 and not isinstance(args[0], TensorBase) else None
    if method is not None:
        return Inline(method, (args[0], {}), {})
    return _copied(recorder, copy.deepcopy, args)


@handles(copy.copy)
def _copy(recorder: Any, *args: Any) -> Any:
    if (inlined := _method_of(recorder, "__copy__", args)) is not NotImplemented:
        return inlined
    return _copied(recorder, copy.copy, args)


def _copied(recorder: Any, function: Any, args: tuple[Any, ...]) -> Any:
    """A copy of something: all that it holds is guarded, and the copy is the program's own."""
    if len(args) != 1 or isinstance(args[0], TensorBase) or is_own(type(args[0])):
        return NotImplemented
    recorder.guard_contents(args[0], called=_COPYING)
    recorder.specialize(args[0])
    return NotImplemented if holds_tensors(args[0]) else recorder.track_fresh(function(args[0]))


def holds_tensors(value: Any, depth: int = 8) -> bool:
    """Whether a value that is to be copied holds tensors, or is nested too deeply to say."""
    if isinstance(value, TensorBase) or depth == 0:
        return True
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else list(value) if isinstance(value, CONTAINERS) else []
    return any(holds_tensors(each, depth - 1) for each in (*parts, *getattr(value, "__dict__", {}).values()) if not isinstance(each, type))


@handles(inspect.signature)
def _signature(recorder: Any, *args: Any) -> Any:
    """The signature of a function, which follows from its code and its default values."""
    if len(args) != 1:
        return NotImplemented
    found = args[0].__func__ if isinstance(args[0], MethodType) else args[0]
    while isinstance(found, FunctionType):
        if id(found) not in recorder.fresh:
            recorder.guard_function(found)
        if "__wrapped__" not in found.__dict__:
            return recorder.track_fresh(inspect.signature(args[0]))
        found = found.__dict__["__wrapped__"]
    return NotImplemented


@handles(collections.namedtuple, deferrable=True)
def _namedtuple(recorder: Any, *args: Any, **kwargs: Any) -> Any:
    """A class of named tuples, made once for all calls of what was captured."""
    if any(isinstance(each, TensorBase) for each in kwargs.get("defaults") or ()):
        return NotImplemented
    recorder.guard_contents(*args, *kwargs.values())
    return collections.namedtuple(*args, **{"module": recorder.frame.globals.get("__name__"), **kwargs})  # type: ignore[call-overload]
