"""The recorder's semantics of calls: functions that are inlined, ops, pure builtins, and what breaks the graph."""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import itertools
import re
import types
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from ....amp.autocast_mode import autocast
from ....autograd.function import FunctionCtx
from ....autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ....core.base import TensorBase
from ....core.errors import ArgumentError
from ....core.missing import home_module
from ....core.symbolic import is_symbolic, plain
from ....nn.modules import module_hooks
from ....nn.modules.container import ModuleDict, ModuleList
from ....nn.modules.module import Module
from ....nn.modules.module_hooks import _global_module_registration_hooks
from ....utils import trees
from ...control.region_tracer import RegionTracer
from ...tracer.tracer import PACKAGE_FOLDER
from ..annotations import marks, substitutes
from ..guards.guard import Kind
from ..guards.guards import CONTAINERS, PRIMITIVES, is_op
from ..guards.python_guards import HOOKS
from ..vm import operator_forms
from ..vm.frame import Frame, Inline
from ..vm.frame_builtins import FRAME_BUILTINS
from ..vm.generator import InterpretedGenerator
from ..vm.semantics import Semantics, is_interpretable
from .callables import (
    CONSTRUCTORS,
    DECIDED,
    DESCRIPTIONS,
    EFFECTS_OF_TENSORS,
    HAND_ON,
    IMPURE,
    IMPURE_PARTS,
    LOOKED_INTO,
    LOOKED_INTO_FUNCTIONS,
    MUTATORS,
    PACKAGE,
    PURE_BUILTINS,
    PURE_MODULES,
    SHALLOW,
    TAKE_FUNCTIONS,
    TAKE_ITERABLES,
    UNCHANGING,
    VALUE_METHODS,
    asks_files,
    calls_argument,
    class_attribute,
    is_callback,
    is_generated,
    is_users,
    is_users_callback,
    iterates_in_python,
    module_of,
    python_methods,
    takes_iterable,
)
from .callbacks import InterpretedCallback, KeptResult
from .containers import ContainerRecorder
from .getters import GETTERS, converted_by_method, copied_mapping, inlined_getter
from .graph_breaks import Break
from .new_modules import LEAVES, new_leaves, refuse_destructor, refuse_missing
from .registry import flagged, handler_of, marked
from .symbolic_numbers import MATH, computed, converted, numbers_in, plain_arguments, tensor_of

# Parts of the package whose Python is inlined; all others are called natively, and their ops recorded.
_PARTS_LOOKED_INTO = (
    f"{PACKAGE}.nn.modules", f"{PACKAGE}.nn.utils", f"{PACKAGE}.nn.parallel", f"{PACKAGE}.nn.attention", f"{PACKAGE}.autograd.function",
    f"{PACKAGE}.compat.higher_order", f"{PACKAGE}.compat.checks", f"{PACKAGE}.func.modules", f"{PACKAGE}.capture.control.scans",
)  # fmt: skip
# Parts whose functions call what they are given, or wrap it, and do nothing else with it: it is interpreted.
_PARTS_WITH_CALLBACKS = (f"{PACKAGE}.compat.pytree", f"{PACKAGE}.utils.trees", f"{PACKAGE}.graph.node", f"{PACKAGE}.autograd.grad_mode")
GLOBAL_HOOKS = (
    module_hooks._global_forward_hooks, module_hooks._global_forward_pre_hooks, module_hooks._global_backward_hooks,
    module_hooks._global_backward_pre_hooks,
)  # fmt: skip
# Functions that are decorated with a mode are wrapped by functions of these files.
_FILES_LOOKED_INTO = frozenset((no_grad.__call__.__code__.co_filename, autocast.__call__.__code__.co_filename))
_GATHERING = (list, tuple, set, frozenset, collections.deque, sorted, sum, max, min, any, all)  # builtins that may run a whole generator
_OF_MODULES = (ModuleList, ModuleDict)
_OF_NUMBERS = (range, bytes, bytearray, complex)  # builtin classes whose instances depend on a number
_FRAME_FUNCTIONS = frozenset(id(each) for each in (globals, vars, dir, eval, exec))


class Recorder(ContainerRecorder):
    """The semantics of a captured program: records what it does while it runs on its real values."""

    # -- calls -------------------------------------------------------------------------------------------------------

    def should_inline(self, function: FunctionType) -> bool:
        module = str(function.__module__)
        root = module.partition(".")[0]
        if root == PACKAGE or function.__code__.co_filename.startswith((PACKAGE_FOLDER, "<call of ")):
            code = function.__code__
            looked_into = module.startswith(_PARTS_LOOKED_INTO) or (
                code.co_name in ("wrapper", "wrapped", "clone", "decorated") and code.co_filename in _FILES_LOOKED_INTO
            )
            return looked_into and is_interpretable(function)
        return (root in LOOKED_INTO or function in LOOKED_INTO_FUNCTIONS or Semantics.should_inline(self, function)) and is_interpretable(
            function
        )

    def call(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if kwargs and id(kwargs) in self.sources:
            self.guard_elements(kwargs)
        if marks:
            kind = marks.get(id(function)) or marks.get(id(getattr(function, "__func__", None)))
            if kind == "substitute":
                return self.inline(substitutes[id(function)][1], args, kwargs)
            if kind is not None:
                return self.marked(kind, function, args, kwargs)
        if isinstance(function, MethodType):
            return self.call_method(frame, function, args, kwargs)
        if isinstance(function, FunctionType):
            return self.call_function(frame, function, args, kwargs)
        if isinstance(function, functools.partial):
            self.guard_object(function, False)
            self.guard_elements(function.args)
            self.guard_elements(function.keywords)
            return self.call(frame, function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if isinstance(function, type):
            return self.construct(frame, function, args, kwargs)
        if isinstance(function, functools._lru_cache_wrapper):
            return self.cached_call(function, args, kwargs)
        if isinstance(function, InterpretedCallback):
            return self.call(frame, function.function, args, kwargs)
        if isinstance(function, Module) and self.is_plain_module(function):
            forward = self.load_attr(function, "forward")
            if isinstance(forward, Inline):
                return Inline(operator_forms.call_attribute, (function, "forward", args, kwargs), {})
            return self.call(frame, forward, args, kwargs)
        called = class_attribute(type(function), "__call__")
        if isinstance(called, FunctionType) and not isinstance(function, BuiltinFunctionType):
            source = self.sources.get(id(function))
            if source is not None:
                self.guards.value(source, function)
            if self.should_inline(called):
                if is_users(type(function)):
                    self.guard_class_attribute(type(function), "__call__", called)
                return self.inline(called, (function, *args), kwargs)
            if marks.get(id(called)) == "compiled":  # a compiled function inside of another: its own Python is inlined
                return self.call(frame, function.__wrapped__, args, kwargs)
        return self.native(frame, function, args, kwargs)

    def is_plain_module(self, module: Module) -> bool:
        """Whether a call of a Module is a call of its forward alone."""
        return type(module).__call__ is Module.__call__ and self.has_no_hooks(module)

    def has_no_hooks(self, module: Module) -> bool:
        """Whether ``Module.__call__`` only calls the forward: no hooks, which is guarded."""
        fields = module.__dict__
        if id(fields) in self.snapshots or "_compiled_call_impl" in fields:
            return False
        own = [fields.get(name) for name in HOOKS]
        if None in own or any(own) or any(GLOBAL_HOOKS) or any(id(each) in self.snapshots for each in (*own, *GLOBAL_HOOKS)):
            return False
        source = self.sources.get(id(module))
        if source is not None:
            self.guards.identity(source, module)
            self.guards.no_hooks(source, module)
        hooks = [self.new_source.known(each) for each in GLOBAL_HOOKS]
        self.guards.add(Kind.ALL_EMPTY, None, None, hooks, "no hooks of all Modules", "global hooks")
        return True

    def call_method(self, frame: Frame, function: MethodType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A bound method."""
        owner, target = function.__self__, function.__func__
        handler = handler_of(target)
        if handler is not None:
            found = handler(self, owner, *args, **kwargs)
            if found is not NotImplemented:
                return found
        if isinstance(target, FunctionType) and not is_op(target) and self.should_inline(target):
            return self.inline(target, (owner, *args), kwargs)
        if isinstance(target, FunctionType):
            return self.call_function(frame, target, (owner, *args), kwargs, function)
        if isinstance(target, functools._lru_cache_wrapper):
            return self.cached_call(target, (owner, *args), kwargs)
        return self.native(frame, function, args, kwargs)

    def cached_call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function that keeps its results: it is called now, and a later call gives the same result and does nothing else, which is guarded."""
        source = self.sources.get(id(function))
        if self.pure or id(function) in self.fresh or not isinstance(function.__wrapped__, FunctionType):
            raise Break("native", name=function.__name__)
        self.specialize(*args, *kwargs.values())
        args, kwargs = [*map(plain, args)], {name: plain(each) for name, each in kwargs.items()}  # which it keeps
        for each in (each for each in (*args, *kwargs.values()) if not isinstance(each, PRIMITIVES)):
            if isinstance(each, TensorBase) or type(each).__hash__ is not object.__hash__ or id(each) in self.fresh:
                if not self.should_inline(function.__wrapped__):
                    raise Break("native", name=f"{function.__name__}, which keeps its results,")
                return self.inline(function.__wrapped__, args, kwargs)  # as PyTorch does: computed again, as if nothing were kept
            elif id(each) in self.sources:
                self.guards.identity(self.sources[id(each)], each)
        if source is not None:
            self.guards.identity(source, function)
        result = self.unrecorded(function, args, kwargs)
        self.guards.add(
            Kind.PREDICATE,
            source or self.new_source.known(function),
            KeptResult(tuple(args), dict(kwargs), result, bool(self.effects)),
            key=tuple(map(id, args)) + tuple(kwargs.items()),
        )
        self.register(result, self.new_source.known(result))
        return result

    def call_function(
        self, frame: Frame, function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any], method: Any = None
    ) -> Any:
        """A Python function: an op, one that is inlined, or one that is called natively."""
        if is_op(function):
            try:
                return function(*args, **kwargs)
            except ArgumentError:  # which names the types of numbers
                if not (self.numbers or self.tracer.symbols):
                    raise
            return function(*trees.transform(plain, list(args)), **trees.transform(plain, dict(kwargs)))
        handler = handler_of(function) if method is None else None  # a method's was asked already
        if handler is not None:
            found = handler(self, *args, **kwargs)
            if found is not NotImplemented:
                return found
        for name in flagged.keys() & function.__dict__.keys() if function.__dict__ else ():
            found = flagged[name](self, function, args, kwargs)
            if found is not NotImplemented:
                return found
        if self.should_inline(function):
            return self.inline(function, args, kwargs)
        owner = args[0] if args else None
        if isinstance(owner, TensorBase) and hasattr(type(owner), function.__name__):
            self.tensor_method(owner, function.__name__, args[1:])
            return function(*args, **kwargs)
        if method is not None:
            self.package_method(owner, function)
            return self.native(frame, method, args[1:], kwargs)
        return self.native(frame, function, args, kwargs)

    def inline(self, function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Inline:
        """Inline a function: what it reads besides its arguments is guarded."""
        if id(function) not in self.fresh:
            self.guard_function(function)
        return Inline(function, args, kwargs)

    def guard_function(self, function: FunctionType) -> None:
        """Guard code, default values and closure of a pre-existing function."""
        own = str(function.__module__).partition(".")[0] == PACKAGE
        if own and not function.__closure__ and not function.__kwdefaults__:
            return
        source = self.sources.get(id(function))
        if source is None:
            source = self.new_source.known(function)
            self.register(function, source)
        if not own:
            self.guards.add(Kind.CODE, source, function.__code__)
            if function.__defaults__:
                place = self.new_source.attribute(source, "__defaults__")
                if "<locals>" not in function.__qualname__ and all(isinstance(each, PRIMITIVES) for each in function.__defaults__):
                    self.guards.add(
                        Kind.IDENTITY, place, function.__defaults__
                    )  # made once, where the function is defined: one guard is enough
                else:
                    for index, each in enumerate(function.__defaults__):
                        self.guard_value(self.new_source.item(place, index), each)
                    self.guards.length(place, function.__defaults__, function.__defaults__)
        if function.__kwdefaults__:
            place = self.new_source.attribute(source, "__kwdefaults__")
            for name, each in function.__kwdefaults__.items():
                self.guard_value(self.new_source.item(place, name), each)
        for index, (name, cell) in enumerate(zip(function.__code__.co_freevars, function.__closure__ or ())):
            if id(cell) in self.fresh:
                continue
            self.guard_cell(cell, self.new_source.item(self.new_source.attribute(source, "__closure__"), index), name)

    def make_function(self, frame: Frame, code: Any, parts: Mapping[str, Any]) -> Any:
        return self.track_fresh(super().make_function(frame, code, parts))

    # -- classes -----------------------------------------------------------------------------------------------------

    def construct(self, frame: Frame, kind: type, args: Sequence[Any], kwargs: Mapping[str, Any], by_type: bool = False) -> Any:
        """An instance of a class (``by_type``: as ``type.__call__`` makes it, which the ``__call__`` of a metaclass has called)."""
        if kind in _GATHERING and args and type(args[0]) is InterpretedGenerator and not kwargs:
            return Inline(operator_forms.gather, (kind, args[0], tuple(args[1:])), {})
        if kind is type and len(args) == 1:
            source = self.sources.get(id(args[0]))
            if isinstance(args[0], TensorBase):
                self.tracer.node_of(args[0])
            elif source is not None:
                self.guards.type(source, args[0])
            return type(plain(args[0]))
        if issubclass(kind, type):
            raise Break("native", name=kind.__name__)
        if ((is_users(kind) and kind not in DESCRIPTIONS) or str(kind.__module__).partition(".")[0] in LOOKED_INTO) and not issubclass(
            kind, TensorBase
        ):
            inlined = self.instance(kind, args, kwargs, by_type)
            if inlined is not None:
                return inlined
        if (copied := copied_mapping(kind, args, kwargs)) is not None:
            return copied
        if len(args) == 1 and is_symbolic(args[0]) and (found := converted(self, kind, args[0])) is not NotImplemented:
            return found
        if (inlined := converted_by_method(self, kind, args, kwargs)) is not None:
            return inlined
        if kind in (int, float, bool, str, complex) or issubclass(kind, (int, float, str, complex, enum.Enum)):
            refuse_missing(kind, args)
            self.specialize(*args, *kwargs.values())
            if args and isinstance(args[0], TensorBase) and not self.assumes_value(args[0]):
                raise Break("value", name=kind.__name__)
            if args and kind is str:
                self.guard_text(args[0], "str")
        if kind is bool and args:
            return self.truth(args[0])
        replacement = FRAME_BUILTINS.get(id(kind))
        if replacement is not None:
            return replacement(frame, *args, **kwargs)
        if kind is autocast and self.careful:
            raise Break("state", name=kind.__name__)
        return self.track_fresh(self.native_class(kind, args, kwargs, by_type))

    def native_class(self, kind: type, args: Sequence[Any], kwargs: Mapping[str, Any], by_type: bool) -> Any:
        """An instance of a class that is not inlined."""
        root = home_module(kind).partition(".")[0]
        if kind in _OF_MODULES and not kwargs and len(args) <= 1 and not _global_module_registration_hooks:  # they only keep what they get
            self.guard_shallow(*args)
            return kind(*args)
        if kind is reversed and len(args) == 1 and isinstance(args[0], CONTAINERS) and not python_methods(type(args[0])):
            self.guard_elements(args[0])  # which it hands on, whatever they are
            return kind(*args)
        if issubclass(kind, LEAVES) and root == PACKAGE:
            return new_leaves(self, kind, args, kwargs)
        if id(kind) in TAKE_ITERABLES:
            args = self.interpreted_arguments(kind, args, kwargs)
            kwargs = {key: InterpretedCallback(self, v, id(kind) in DECIDED) if is_callback(v) else v for key, v in kwargs.items()}
            self.specialize(*[each for each in (*args[1:], *kwargs.values()) if is_symbolic(each) and not issubclass(kind, dict)])
            if args and (kind in (set, frozenset, itertools.groupby) or issubclass(kind, dict) and not isinstance(args[0], dict)):
                first = list(args[0])  # what it holds is compared
                self.specialize(
                    [each[0] if issubclass(kind, dict) and isinstance(each, (tuple, list)) and each else each for each in first]
                )
                args = [first, *args[1:]]
        elif kind not in (functools.partial, types.MethodType, collections.defaultdict) and id(kind) not in SHALLOW:
            self.guard_contents(*args, *kwargs.values())
            if root in PURE_MODULES or kind in _OF_NUMBERS:
                kept = 1 if kind is itertools.repeat else 0  # what it hands on
                made, kwargs = plain_arguments(self, args[kept:], kwargs)
                args = [*args[:kept], *made]
        known = root in ("builtins", PACKAGE) or root in PURE_MODULES or issubclass(kind, BaseException) or issubclass(kind, tuple)
        no_users = not known and not is_users(kind)
        if no_users or kind.__name__ in IMPURE or kind is memoryview or issubclass(kind, functools._lru_cache_wrapper):
            raise Break("native", name=kind.__name__)
        return type.__call__(kind, *args, **kwargs) if by_type else kind(*args, **kwargs)

    def instance(self, kind: type, args: Sequence[Any], kwargs: Mapping[str, Any], by_type: bool) -> Any:
        """An instance of a user's class: its ``__new__`` and ``__init__`` are inlined.  None where neither is written in Python."""
        refuse_destructor(self, kind)
        caller = class_attribute(type(kind), "__call__")
        if isinstance(caller, FunctionType) and not by_type:
            if self.should_inline(caller):
                return self.inline(caller, (kind, *args), kwargs)
            return None  # an enum
        new, init = class_attribute(kind, "__new__"), class_attribute(kind, "__init__")
        new = new.__func__ if isinstance(new, staticmethod) else new
        if isinstance(new, FunctionType) and not is_generated(new) and self.should_inline(new):
            return Inline(operator_forms.instantiate_anew, (kind, tuple(args), dict(kwargs)), {})
        if isinstance(init, FunctionType) and self.should_inline(init):
            plain = kind.__new__ is object.__new__
            return Inline(operator_forms.instantiate if plain else operator_forms.instantiate_anew, (kind, tuple(args), dict(kwargs)), {})
        if hasattr(kind, "_fields") and issubclass(kind, tuple):  # a named tuple only puts its arguments in place
            return self.track_fresh(kind(*args, **kwargs))
        return None

    # -- what is called natively ---------------------------------------------------------------------------------------

    def marked(self, kind: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if kind == "break":
            raise Break("asked")
        if kind == "disable":
            raise Break("disabled", name=getattr(function, "__qualname__", str(function)))
        if kind == "compiling":
            return True
        if kind == "allow":
            return self.opaque(function, args, kwargs)
        if kind == "nothing":
            return None
        if kind in marked:
            return marked[kind](self, function, args, kwargs)
        return self.track_fresh(function(*args, **kwargs))

    def opaque(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call that is one opaque node of the graph."""
        tracer = self.tracer
        tracer.note_grad_mode()
        for each in (*args, *kwargs.values()):
            if isinstance(each, (list, tuple, dict)):
                self.guard_contents(each)
        recorded, named = tracer.argument(tuple(args)), tracer.argument(dict(kwargs))
        result = self.unrecorded(function, args, kwargs)
        node = tracer.graph.call_function(function, recorded, named)
        node.meta.update(impure=True)
        node.meta["source"], node.meta["module"] = tracer.where()
        tracer.depends.add(node)
        tracer.function_results(node, result)
        return result

    def tensor_method(self, tensor: Any, name: str, args: Sequence[Any]) -> None:
        """A method of a tensor that is no op: a graph break where it gives a value or has side effects."""
        if name in VALUE_METHODS and not self.assumes_value(tensor):
            raise Break("value", name=name)
        if name in EFFECTS_OF_TENSORS:
            raise Break("tensor", name=name)
        self.guard_contents(*args)
        self.specialize(*(args if name == "new_tensor" else numbers_in(self, tuple(args))))

    def package_method(self, owner: Any, function: FunctionType) -> None:
        """A method of one of the package's objects, which is called natively."""
        kind = owner if isinstance(owner, type) else type(owner)
        mode = isinstance(owner, (autocast, no_grad, enable_grad, set_grad_enabled, inference_mode))
        if (
            isinstance(owner, autocast)
            and self.careful
            or isinstance(owner, inference_mode)
            and not owner.mode
            or mode
            and isinstance(self.tracer, RegionTracer)
        ):
            raise Break("state", name=kind.__name__)
        if id(owner) in self.sources and not isinstance(owner, (type, *PRIMITIVES)):
            if isinstance(owner, (no_grad, enable_grad, set_grad_enabled, inference_mode)) and function.__name__ == "__exit__":
                self.guard_attributes(owner)  # it sets the mode back to what it was
                self.guard_contents(owner.previous)
                return
            if type(owner) is InterpretedGenerator:
                raise Break("loop")
            if isinstance(owner, (autocast, Module, FunctionCtx)) or not isinstance(owner, tuple):
                raise Break("state" if hasattr(kind, "__exit__") else "native", name=f"{kind.__name__}.{function.__name__}")

    def native(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call of something that is not inlined."""
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", type(function).__name__)
        if isinstance(owner, type) and name == "__call__" and isinstance(function, MethodWrapperType):
            return self.construct(frame, owner, args, kwargs, by_type=True)
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            if isinstance(owner, TensorBase):
                self.tensor_method(owner, name, args)
                return function(*args, **kwargs)
            if isinstance(function, MethodWrapperType):
                return self.slot_wrapper(frame, owner, name, function, args, kwargs)
            for kind in MUTATORS:
                if isinstance(owner, kind):
                    if kwargs.get("key") is not None:
                        kwargs = {**kwargs, "key": InterpretedCallback(self, kwargs["key"], decides=True)}
                    elif name in ("extend", "update", "extendleft"):
                        args = self.interpreted_arguments(function, args, {})
                    return self.container_method(kind, owner, name, function, args, kwargs)
        if args and type(args[0]) is InterpretedGenerator and not kwargs and function in _GATHERING:
            if function is any or function is all:
                return Inline(operator_forms.any_of if function is any else operator_forms.all_of, tuple(args), {})
            return Inline(operator_forms.gather, (function, args[0], tuple(args[1:])), {})
        if type(function) in GETTERS and len(args) == 1:
            return inlined_getter(self, function, args[0])
        if id(function) in _FRAME_FUNCTIONS or id(function) in FRAME_BUILTINS:
            return self.frame_function(frame, function, args, kwargs)
        if name == "__new__" and isinstance(owner, type):
            return self.new_instance(function, args, kwargs)
        handler = handler_of(function)
        if handler is not None:
            found = handler(self, *args, **kwargs)
            if found is not NotImplemented:
                return found
        for flag in flagged.keys() & vars(type(function)).keys():
            return flagged[flag](self, function, args, kwargs)
        return self.track_fresh(self.call_pure(function, owner, name, args, kwargs))

    def call_pure(self, function: Any, owner: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function that is known to be pure; a graph break for others."""
        module = module_of(function)
        root = module.partition(".")[0]
        if id(function) in PURE_BUILTINS or id(type(function)) in PURE_BUILTINS:
            if id(function) not in SHALLOW:
                args = self.interpreted_arguments(function, args, kwargs)
                if function in (sorted, min, max) and len(args) == 1:
                    args = [list(args[0])]
                self.specialize(*args, *[each for each in kwargs.values() if not is_callback(each)])
            if kwargs.get("key") is not None:
                kwargs = {**kwargs, "key": InterpretedCallback(self, kwargs["key"], decides=True)}
            return function(*args, **kwargs)
        if len(args) == 1 and is_symbolic(args[0]) and function in MATH:
            return computed(self, function, args[0])
        if root == PACKAGE:
            return self.package_function(function, owner, name, module, args, kwargs)
        if name in CONSTRUCTORS and isinstance(owner, type) and owner.__module__ in ("builtins", "collections", "itertools"):
            args = [self.iterables(name, args[0]), *args[1:]] if name.startswith("from") and args else args
            self.specialize(*args)
            return function(*args, **kwargs)
        kind = type(owner) if owner is not None else getattr(function, "__objclass__", object)  # of `s.upper` or `str.upper`
        immutable = issubclass(kind, (*PRIMITIVES, tuple, frozenset, range, *UNCHANGING))
        if asks_files(owner, name) or (root == "re" or issubclass(kind, re.Pattern)) and any(map(is_callback, (*args, *kwargs.values()))):
            raise Break("native", name=name)
        if immutable or (root in PURE_MODULES and name not in IMPURE and not (isinstance(function, FunctionType) and root == "functools")):
            args = self.interpreted_arguments(function, args, kwargs) if id(function) in TAKE_ITERABLES or name == "join" else args
            self.guard_contents(*args, *kwargs.values(), text=name in ("format", "join", "__mod__"))
            self.specialize(owner if immutable else None)  # `slice(n).indices`
            if id(function) in TAKE_FUNCTIONS or root in ("operator", "_operator"):
                self.specialize(*args, *kwargs.values())
            else:
                args, kwargs = plain_arguments(self, args, kwargs)
            if root == "numpy" and any(isinstance(each, TensorBase) for each in (*args, *kwargs.values())):
                raise Break("value", name=f"numpy.{name}")
            if owner is None or isinstance(owner, (ModuleType, type)) or immutable:
                if isinstance(function, functools._lru_cache_wrapper):
                    raise Break("native", name=name)
                return function(*args, **kwargs)
        own = id(owner) in self.fresh or isinstance(owner, BaseException) and id(owner) not in self.sources  # it made it, or raised it
        if isinstance(function, BuiltinFunctionType) and module in ("builtins", "io", "sys", "_io") and not own:
            raise Break("builtin", name=name)
        if own and (not is_users(type(owner)) or isinstance(owner, BaseException)):
            self.guard_contents(*args, *kwargs.values())
            self.specialize(owner)
            args, kwargs = plain_arguments(self, args, kwargs)
            return function(*args, **kwargs)  # a method of an object that the program made
        raise Break("builtin" if vars(builtins).get(name) is function else "native", name=name)

    def package_function(self, function: Any, owner: Any, name: str, module: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function of the package that is no op."""
        if module.startswith(IMPURE_PARTS) and id(owner) not in self.fresh:
            raise Break("native", name=name)
        if name in IMPURE and any(not isinstance(each, (TensorBase, list, tuple, *PRIMITIVES)) for each in args):
            raise Break("native", name=name)
        callbacks = {
            id(each): InterpretedCallback(self, each) for each in (*args, *kwargs.values()) if is_users_callback(each) and not is_op(each)
        }
        if callbacks and not module.startswith(_PARTS_WITH_CALLBACKS):
            raise Break("native", name=f"{name} with a function")
        self.guard_contents(*[each for each in (*args, *kwargs.values()) if id(each) not in callbacks])
        args = [callbacks.get(id(each), each) for each in args]
        kwargs = {key: callbacks.get(id(each), each) for key, each in kwargs.items()}
        if name in ("tensor", "as_tensor", "asarray"):
            found = (
                tensor_of(self, function, args[0], kwargs) if len(args) == 1 and (self.tracer.symbols or self.numbers) else NotImplemented
            )
            if found is not NotImplemented:
                return found
            self.specialize(*args)
        else:
            self.specialize(*numbers_in(self, (*args, *kwargs.values())))
        return function(*args, **kwargs)

    def interpreted_arguments(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Arguments of a builtin: functions that it calls, and users' iterators, are interpreted."""
        found = []
        for index, each in enumerate(args):
            if calls_argument(function, index) and (is_callback(each) or isinstance(each, (type, BuiltinFunctionType))):
                each = InterpretedCallback(self, each, decides=id(function) in DECIDED)
            elif takes_iterable(function, index, len(args)) and (id(function) in HAND_ON or iterates_in_python(type(each))):
                each = self.as_late_iterable(each) if function is itertools.chain else self.as_iterable(each)
            else:
                if takes_iterable(function, index, len(args)) and isinstance(each, TensorBase):
                    self.as_iterable(each)
                self.guard_contents(each)
            found.append(each)
        self.guard_contents(*[each for each in kwargs.values() if not is_callback(each)])
        return found

    def slot_wrapper(self, frame: Frame, owner: Any, name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A special method of a builtin class: what ``super().__setattr__`` and its like are."""
        if name == "__setattr__":
            return self.store_plain(owner, *args)
        if name == "__delattr__":
            return self.delete_plain(owner, *args)
        if name == "__getattribute__":
            return self.load_plain(owner, *args)
        for kind in MUTATORS:
            if isinstance(owner, kind):
                return self.container_method(kind, owner, name, function, args, kwargs)
        if name == "__init__" and self.is_old(owner):
            raise Break("native", name=f"{type(owner).__name__}.__init__")
        self.guard_contents(*args)
        self.specialize(*args)
        return function(*args, **kwargs)

    def frame_function(self, frame: Frame, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Functions that read the frame of their caller."""
        if function is vars and len(args) == 1 and not isinstance(args[0], (TensorBase, type, ModuleType)):
            return self.load_attr(args[0], "__dict__")
        if function is locals or function is super:
            return FRAME_BUILTINS[id(function)](frame, *args, **kwargs)
        raise Break("builtin", name=function.__name__)
