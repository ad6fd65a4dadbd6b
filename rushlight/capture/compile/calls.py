"""What a captured program calls: functions that are looked into, ops, builtins that only compute, and what ends a graph."""

from __future__ import annotations

import builtins
import collections
import functools
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ...autograd.function import Function
from ...core.base import TensorBase
from ...core.state import state
from ..tracer import PACKAGE_FOLDER
from .breaks import Break
from .frame import Frame, Inline
from .frame_builtins import FRAME_BUILTINS
from .functions import capture_function
from .guards import by_identity
from .recorder import PACKAGE, Effect, Observer, marks
from .sources import Cell, Known

# Builtin functions that only compute.  Functions that they call (key=, map) run as they are.
_PURE_BUILTINS = frozenset(
    id(each)
    for each in (
        abs, all, any, ascii, bin, bool, bytes, callable, chr, complex, dict, divmod, enumerate, filter, float, format, frozenset, getattr,
        hasattr, hash, hex, id, int, isinstance, issubclass, iter, len, list, map, max, min, next, object, oct, ord, pow, range, repr,
        reversed, round, set, slice, sorted, str, sum, tuple, type, zip, super, property, staticmethod, classmethod, vars, dir, locals, globals,
    )
)  # fmt: skip
_PURE_MODULES = frozenset(("math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections", "_collections", "copy", "enum", "dataclasses", "typing", "numbers", "string", "re", "types", "abc", "_abc", "numpy"))
_MUTATORS = {
    list: frozenset("append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__".split()),
    dict: frozenset("update setdefault pop popitem clear __setitem__ __delitem__".split()),
    set: frozenset("add discard remove pop clear update difference_update intersection_update symmetric_difference_update".split()),
    collections.deque: frozenset("append appendleft extend extendleft pop popleft clear rotate".split()),
}
_VALUE_METHODS = frozenset("item tolist numpy __bool__ __int__ __float__ __index__ __array__ __complex__".split())
# Parts of the package whose Python is looked into; all others are called as they are, and their ops seen.
_LOOKED_INTO = (f"{PACKAGE}.nn.modules", f"{PACKAGE}.nn.utils", f"{PACKAGE}.autograd.function")


class Recorder(Observer):
    """The machine that captures a program."""

    fresh_functions: frozenset[int] = frozenset()

    # -- calls -------------------------------------------------------------------------------------------------------

    def should_inline(self, function: FunctionType) -> bool:
        module = str(function.__module__)
        if module.partition(".")[0] == PACKAGE or function.__code__.co_filename.startswith((PACKAGE_FOLDER, "<call of ")):
            return module.startswith(_LOOKED_INTO) and super().should_inline(function)
        return super().should_inline(function)

    def call(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        kind = marks.get(id(function)) or marks.get(id(getattr(function, "__func__", None)))
        if kind is not None:
            return self.marked(kind, function, args, kwargs)
        if isinstance(function, MethodType):
            owner = function.__self__
            if isinstance(owner, type) and issubclass(owner, Function) and function.__func__ is Function.apply.__func__:
                return self.apply(owner, args, kwargs)
            self.closure_of(function.__func__)
            return super().call(frame, function, args, kwargs)
        if isinstance(function, FunctionType):
            self.closure_of(function)
            if hasattr(function, "op"):  # one of the table
                return function(*args, **kwargs)
            if self.should_inline(function) or id(function) in FRAME_BUILTINS:
                return super().call(frame, function, args, kwargs)
            return self.native(frame, function, args, kwargs)
        if isinstance(function, functools.partial):
            return self.call(frame, function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if isinstance(function, type):
            return self.construct(frame, function, args, kwargs)
        called = _class_call(function)
        if isinstance(called, FunctionType) and not isinstance(function, BuiltinFunctionType):
            if hasattr(function, "_parameters"):
                source = self.sources.get(id(function))
                if source is not None:
                    self.guards.value(source, function)
            if self.should_inline(called):
                self.closure_of(called)
                return Inline(called, (function, *args), kwargs)
            if marks.get(id(called)) == "compiled":  # a compiled function inside of another: its own Python is looked into
                return self.call(frame, function.__wrapped__, args, kwargs)
        return self.native(frame, function, args, kwargs)

    def call_arguments(self, function: Any, args: Any) -> tuple[Any, ...]:
        self.look(args)
        return super().call_arguments(function, args)

    def closure_of(self, function: Any) -> None:
        """The variables that a function shares with the place where it was made: guarded by what they hold."""
        if not isinstance(function, FunctionType):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if id(function) in self.sources or (id(cell) not in self.sources and id(function) not in self.fresh_functions):
                try:
                    self.seen(Cell(cell, name), cell.cell_contents)
                    self.register(cell, Known(cell))
                except ValueError:
                    continue

    def make_function(self, frame: Frame, code: Any, parts: Mapping[str, Any]) -> Any:
        made = super().make_function(frame, code, parts)
        self.fresh_functions = self.fresh_functions | {id(made)}
        self.held.append(made)
        return made

    def construct(self, frame: Frame, kind: type, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An instance of a class: made as it is, with the arguments seen."""
        self.look(*args, *kwargs.values())
        if kind is type and len(args) == 1:
            source = self.sources.get(id(args[0]))
            if source is not None and not isinstance(args[0], TensorBase):
                self.guards.type(source, args[0])
            return type(args[0])
        if issubclass(kind, (int, float, bool, str, complex)) and args and isinstance(args[0], TensorBase):
            if self.tracer.is_traced(args[0]) or id(args[0]) in self.sources:
                raise Break("value", name=kind.__name__)
        replacement = FRAME_BUILTINS.get(id(kind))
        return kind(*args, **kwargs) if replacement is None else replacement(frame, *args, **kwargs)

    def marked(self, kind: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if kind == "break":
            raise Break("asked")
        if kind == "disable":
            raise Break("disabled", name=getattr(function, "__qualname__", str(function)))
        if kind == "compiling":
            return True
        if kind == "allow":
            return self.opaque(function, args, kwargs)
        return function(*args, **kwargs)

    def opaque(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call that goes into the graph as one node, unseen."""
        tracer = self.tracer
        tracer.note_grad_mode()
        self.look(*args, *kwargs.values())
        recorded, named = tracer.argument(tuple(args)), tracer.argument(dict(kwargs))
        state.capture = None
        state.interceptors.remove(tracer)
        try:
            result = function(*args, **kwargs)
        finally:
            state.interceptors.append(tracer)
            state.capture = tracer
        node = tracer.graph.call_function(function, recorded, named)
        node.meta.update(impure=True)
        node.meta["source"], node.meta["module"] = tracer.where()
        tracer.depends.add(node)
        tracer.function_results(node, result)
        return result

    def native(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call of something that is not looked into."""
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", type(function).__name__)
        if isinstance(owner, TensorBase) or (isinstance(function, FunctionType) and args and isinstance(args[0], TensorBase) and hasattr(TensorBase, name)):
            target = owner if isinstance(owner, TensorBase) else args[0]
            if name in _VALUE_METHODS and (self.tracer.is_traced(target) or id(target) in self.sources):
                raise Break("value", name=name)
        self.look(*args, *kwargs.values())
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            for kind, names in _MUTATORS.items():
                if isinstance(owner, kind):
                    if name in names and self.affect(owner, name):
                        self.expand(owner)
                        self.effects.append(Effect(function, *args) if not kwargs else Effect(functools.partial(function, **kwargs), *args))
                        self.touched(owner)
                    else:
                        self.look(owner)
                    return function(*args, **kwargs)
        replacement = FRAME_BUILTINS.get(id(function))
        if replacement is not None:
            return replacement(frame, *args, **kwargs)
        if function is getattr or function is hasattr:
            return self.get_attribute(function, *args)
        if function is setattr and len(args) == 3:
            return self.store_attr(*args)
        if function is next and args and id(args[0]) in self.sources:
            raise Break("loop")
        if function is isinstance or function is callable:
            self.is_same(args[0], None)
        if id(function) in _PURE_BUILTINS or id(type(function)) in _PURE_BUILTINS:
            return function(*args, **kwargs)
        module = str(getattr(function, "__module__", None) or getattr(type(function), "__module__", ""))
        root = module.partition(".")[0]
        if root == PACKAGE:
            return function(*args, **kwargs)
        if root in _PURE_MODULES or isinstance(owner, (str, bytes, int, float, tuple, frozenset, range)):
            if any(isinstance(each, TensorBase) for each in (*args, *kwargs.values())) and root == "numpy":
                raise Break("value", name=f"numpy.{name}")
            return function(*args, **kwargs)
        if isinstance(function, BuiltinFunctionType) and module in ("builtins", "io", "sys", "_io"):
            raise Break("builtin", name=name)
        if owner is not None and id(owner) not in self.sources and not by_identity(owner):
            return function(*args, **kwargs)  # a method of an object that the program made
        raise Break("builtin" if vars(builtins).get(name) is function else "native", name=name)

    def get_attribute(self, function: Any, *args: Any) -> Any:
        """getattr and hasattr."""
        try:
            result = self.load_attr(args[0], args[1])
        except AttributeError:
            if function is hasattr:
                return False
            if len(args) > 2:
                return args[2]
            raise
        if function is hasattr:
            return True
        return result

    def apply(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A custom Function."""
        return capture_function(self, function, tuple(args), dict(kwargs))


def _class_call(value: Any) -> Any:
    """What a call of an object runs: the method of its class."""
    return next((vars(kind)["__call__"] for kind in type(value).__mro__ if "__call__" in vars(kind)), None)
