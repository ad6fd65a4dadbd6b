"""``__torch_function__``: objects and modes that answer for public functions in PyTorch's place.

A call is offered to the function modes of the thread, innermost first, then to the arguments whose class defines ``__torch_function__``:
in their order, but a subclass before its bases.  Plain tensors pay nothing for it:

- An argument that is no tensor fails in an op's fast path anyway; the general path then looks whether it has ``__torch_function__``.
- Tensors of subclasses count while they are alive: ``flags.special`` keeps calls off the fast paths, and ``flags.overrides`` has
  :func:`~rushlight.core.interception.intercept` look at the classes of all arguments.
- Properties and methods of tensors that are no ops, and functions marked with :func:`overridable`, have their code exchanged for one
  that asks, when the first mode is entered or the first tensor of a subclass is made.
"""

from __future__ import annotations

import functools
import opcode
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .base import TensorBase, runtime
from .declare import STUB
from .errors import ArgumentError
from .process_safety import free_after_fork, load_module
from .state import flags, state

ENABLED, NO_SUBCLASSES, DISABLED = 0, 1, 2  # values of `state.overrides`


class _Disabled:
    """What a class has as ``__torch_function__`` to be treated as a plain tensor: the function runs as it is."""

    __name__ = "_disabled_torch_function_impl"

    def __call__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return "<built-in function _disabled_torch_function_impl>"


disabled = _Disabled()


class DisableTorchFunctionSubclass:
    """While it is on, ``__torch_function__`` of arguments is not asked; modes are."""

    level = NO_SUBCLASSES

    def __init__(self) -> None:
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(state.overrides)
        state.overrides = max(state.overrides, self.level)

    def __exit__(self, *error: object) -> None:
        state.overrides = self._before.pop()


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """While it is on, neither modes nor ``__torch_function__`` of arguments are asked."""

    level = DISABLED


@contextmanager
def enabled_again() -> Iterator[None]:
    """Arguments are asked again, inside a handler that runs with them off."""
    before, state.overrides = state.overrides, ENABLED
    try:
        yield
    finally:
        state.overrides = before


_BASIC = frozenset((int, float, bool, complex, str, bytes, type(None), type(Ellipsis), slice, dict, set, frozenset))


def overrides_functions(kind: type) -> bool:
    """Whether functions on objects of a class are left to its ``__torch_function__``."""
    if kind in _BASIC or kind is runtime.tensor_type:
        return False
    found = getattr(kind, "__torch_function__", disabled)
    return found is not disabled


def check_tensor_class(cls: Any) -> None:
    """Raise for what is no class of tensors."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, TensorBase):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class inherits from Tensor."
        )


def overloaded(values: Iterable[Any]) -> list[Any]:
    """The arguments to ask, one of each class: in order, but a subclass before its bases."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is tuple or kind is list:
            for each in value:
                if overrides_functions(type(each)):
                    _insert(found, each)
        elif overrides_functions(kind):
            _insert(found, value)
    return found


def _insert(found: list[Any], value: Any) -> None:
    kind = type(value)
    if any(type(each) is kind for each in found):
        return
    place = next((index for index, each in enumerate(found) if issubclass(kind, type(each))), len(found))
    found.insert(place, value)


def modes_are_on() -> bool:
    """Whether a function mode of this thread is to be asked."""
    return bool(state.function_modes) and state.overrides != DISABLED


def ask(func: Any, name: str, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the innermost mode, then each of the objects, until one does not return NotImplemented."""
    kinds = tuple([type(each) for each in found])
    asked = []
    if modes_are_on():
        stack = state.function_modes
        mode = stack.pop()
        try:
            result = mode.__torch_function__(func, kinds, args, kwargs)
        finally:
            stack.append(mode)
        if result is not NotImplemented:
            return result
        asked.append(f"mode object {mode!r}")
    for each in found:
        result = each.__torch_function__(func, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
        asked.append(f"tensor subclass {type(each)!r}")
    lines = "\n".join(f"\n  - {each}" for each in asked)
    raise ArgumentError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:{lines}")


class _Redispatch(threading.local):
    """Whether the next function that would ask is not to: it is run by the one that was asked."""

    pending = False

    def taken(self) -> bool:
        """Whether this is that function; the next one asks again."""
        pending, self.pending = self.pending, False
        return pending


redispatch = _Redispatch()


def ask_plain(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], relevant: Iterable[Any] | None = None) -> Any:
    """Offer the call of a function that is no op, in the form it was made; NotImplemented where nobody is concerned."""
    if state.overrides == DISABLED or redispatch.taken():
        return NotImplemented
    found = overloaded((*args, *kwargs.values()) if relevant is None else relevant) if state.overrides == ENABLED else []
    if not found and not state.function_modes:
        return NotImplemented
    return ask(func, public_name_of(func), found, args, kwargs)


def ask_modes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Offer the call of a function that is no op to modes alone."""
    return ask(func, public_name_of(func), [], args, kwargs) if modes_are_on() and not redispatch.taken() else NotImplemented


def ask_or_refuse(func: Any, *args: Any) -> Any:
    """Offer the call of a function whose first argument is no tensor, or say that it has to be one."""
    handled = ask_plain(func, args, {})
    if handled is NotImplemented:
        raise ArgumentError(f"{func.__name__}(): argument 'input' (position 1) must be Tensor, not {type(args[0]).__name__}")
    return handled


def public_name_of(func: Any) -> str:
    """The name for messages: ``torch.add``, ``torch.Tensor.size``."""
    op = getattr(func, "op", None)
    if op is not None:
        return f"torch.{op.qualified_name}"
    return f"torch.{getattr(func, '__qualname__', None) or getattr(func, '__name__', repr(func))}"


def ask_operator(func: Any, input: Any, other: Any) -> Any:
    """Offer ``input + other`` and the like."""
    return ask_plain(func, (input, other), {})


# -- the form of a call ------------------------------------------------------------------------------------------
# Entry points name their parameters, so that which of them were given by keyword is lost.  The calling instruction tells.

_KW_NAMES, _CALL_KW = opcode.opmap.get("KW_NAMES"), opcode.opmap.get("CALL_KW")
_CALLS = {opcode.opmap[name] for name in ("CALL", "PRECALL") if name in opcode.opmap}
_EXTENDED, _CACHE, _LOAD_CONST = opcode.opmap["EXTENDED_ARG"], opcode.opmap.get("CACHE", -1), opcode.opmap["LOAD_CONST"]


def keywords_of_call() -> frozenset[str]:
    """The names of the keyword arguments with which the running entry point was called, as far as its caller's code tells."""
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith("<call of "):
        frame = frame.f_back
    while frame is not None and (frame.f_code.co_filename.startswith("<call of ") or frame.f_code is STUB):
        frame = frame.f_back
    if frame is None:
        return frozenset()
    code, place = frame.f_code.co_code, frame.f_lasti
    while place > 0 and code[place] == _CACHE:  # in 3.11 it is the end of the instruction
        place -= 2
    if code[place] == _CALL_KW:
        wanted = _LOAD_CONST
    elif code[place] in _CALLS and _KW_NAMES is not None:
        wanted = _KW_NAMES
    else:
        return frozenset()
    place -= 2
    while place >= 0 and code[place] in (_CACHE, *_CALLS):
        place -= 2
    if place < 0 or code[place] != wanted:
        return frozenset()
    index, shift = code[place + 1], 8
    while place >= 2 and code[place - 2] == _EXTENDED:
        place -= 2
        index, shift = index | code[place + 1] << shift, shift + 8
    constants = frame.f_code.co_consts
    names = constants[index] if index < len(constants) else ()
    return frozenset(names) if isinstance(names, tuple) and all(isinstance(each, str) for each in names) else frozenset()


# -- functions that are no ops -----------------------------------------------------------------------------------


def _asking(*args, **kwargs):  # type: ignore[no-untyped-def]
    ask: Any = "ask"  # these three constants are exchanged
    plain: Any = "plain"
    handled = ask("function", args, kwargs)
    return plain(*args, **kwargs) if handled is NotImplemented else handled


_ENCLOSED = """
def enclosing({free}):
    def asking(*args, **kwargs):
        if False:
            {free}
        ask = "ask"
        plain = "plain"
        handled = ask("function", args, kwargs)
        return plain(*args, **kwargs) if handled is NotImplemented else handled
"""


@functools.cache
def _asking_code(free: tuple[str, ...]) -> types.CodeType:
    """The code that asks, for functions with these free variables.

    A function keeps its closure, so that its code has to have as many.  Nothing reads them, but the code has to copy them to its frame: debuggers
    and pytest read the variables of every frame of a traceback, and CPython crashes where a free one is not there.
    """
    if not free:
        return _asking.__code__
    outer = compile(_ENCLOSED.format(free=", ".join(free)), __file__, "exec").co_consts[0]
    found: types.CodeType = next(each for each in outer.co_consts if isinstance(each, types.CodeType))
    return found.replace(co_freevars=free, co_firstlineno=_asking.__code__.co_firstlineno)


class Exchange:
    """The functions and properties of tensors whose code is exchanged for one that asks, while somebody is to be asked."""

    def __init__(self) -> None:
        self.functions: list[tuple[types.FunctionType, types.FunctionType, types.CodeType]] = []
        self.properties: list[tuple[property, Callable[[property], None], Callable[[property], None]]] = []
        self.users = 0
        self.lock = free_after_fork(threading.RLock())

    def add_function(self, function: types.FunctionType, who: Callable[..., Any] = ask_plain) -> None:
        """Have a function asked about."""
        if any(each is function for each, _, _ in self.functions):
            return
        plain = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )  # fmt: skip
        plain.__kwdefaults__, plain.__annotations__ = function.__kwdefaults__, function.__annotations__
        new: dict[Any, Any] = {"ask": who, "function": function, "plain": plain}
        template = _asking_code(function.__code__.co_freevars)
        constants = tuple([new.get(each, each) if isinstance(each, str) else each for each in template.co_consts])
        asking = template.replace(co_consts=constants, co_name=function.__name__, co_qualname=function.__qualname__)
        with self.lock:
            self.functions.append((function, plain, asking))
            if self.users:
                self._exchange(function, plain, asking)

    def add_property(self, attribute: property) -> None:
        """Have a property asked about, by its ``__get__``, ``__set__`` and ``__delete__``."""
        get, put, remove, doc = attribute.fget, attribute.fset, attribute.fdel, attribute.__doc__

        def asking_get(self: Any) -> Any:
            handled = ask_plain(attribute.__get__, (self,), {})
            return get(self) if handled is NotImplemented else handled  # type: ignore[misc]

        def asking_set(self: Any, value: Any) -> None:
            if ask_plain(attribute.__set__, (self, value), {}) is NotImplemented:
                put(self, value)  # type: ignore[misc]

        def asking_delete(self: Any) -> None:
            if ask_plain(attribute.__delete__, (self,), {}) is NotImplemented:
                remove(self)  # type: ignore[misc]

        if get is not None:
            asking_get.__annotations__, asking_get.__doc__ = get.__annotations__, get.__doc__

        def plain(self: property) -> None:
            self.__init__(get, put, remove, doc)  # type: ignore[misc]

        def asks(self: property) -> None:
            self.__init__(asking_get, put and asking_set, remove and asking_delete, doc)  # type: ignore[misc]

        self.properties.append((attribute, plain, asks))

    def enter(self) -> None:
        """One more reason to ask."""
        with self.lock:
            self.users += 1
            if self.users == 1:
                for each in self.functions:
                    self._exchange(*each)
                for attribute, _, asks in self.properties:
                    asks(attribute)
                self._renew()

    def leave(self) -> None:
        """One reason less."""
        with self.lock:
            self.users -= 1
            if not self.users:
                for function, plain, _ in self.functions:
                    function.__code__ = plain.__code__
                    del function.__wrapped__  # type: ignore[attr-defined]
                for attribute, restore, _ in self.properties:
                    restore(attribute)
                self._renew()

    def _exchange(self, function: Any, plain: types.FunctionType, asking: types.CodeType) -> None:
        function.__code__ = asking
        function.__wrapped__ = plain  # for `inspect.signature`

    def _renew(self) -> None:
        # The interpreter remembers a property's getter by the version of the class, which an assignment changes.
        kind: Any = runtime.tensor_type
        kind._renewed = True
        del kind._renewed


exchange = Exchange()
_permanent = False


def overridable(function: Any) -> Any:
    """Mark a function that is no op as one that modes and ``__torch_function__`` are asked about."""
    exchange.add_function(function)
    return function


def seen_by_modes(function: Any) -> Any:
    """Mark a function that is no op as one that modes are asked about, but no argument."""
    exchange.add_function(function, ask_modes)
    return function


# -- modes, and tensors of subclasses ----------------------------------------------------------------------------


def push_mode(mode: Any) -> None:
    """Make a mode the innermost of this thread."""
    state.function_modes.append(mode)
    flags.enter()
    exchange.enter()


def pop_mode() -> Any:
    """Leave the innermost mode."""
    mode = state.function_modes.pop()
    flags.leave()
    exchange.leave()
    return mode


@contextmanager
def asking() -> Iterator[None]:
    """While it is on, every call looks at all its arguments for ``__torch_function__``, and not only where it would fail."""
    flags.enter()
    flags.overrides += 1
    try:
        yield
    finally:
        flags.overrides -= 1
        flags.leave()


def as_class(result: Any, cls: type) -> Any:
    """The tensors of a result as instances of a subclass."""
    if isinstance(result, TensorBase) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)([as_class(each, cls) for each in result])
    return result


class CountedArray:
    """The field ``_array`` of subclasses with ``__torch_function__``: its first assignment counts the tensor, until it is freed."""

    def __init__(self) -> None:
        self.slot: Any = TensorBase.__dict__["_array"]
        self.alive: set[Any] = set()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else self.slot.__get__(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        if "_counted" not in instance.__dict__:
            self.count(instance)
        self.slot.__set__(instance, value)

    def count(self, instance: Any) -> None:
        """Keep calls off the fast paths while a tensor is alive."""
        global _permanent
        if not _permanent:  # tensors come and go: the code stays exchanged
            _permanent = True
            exchange.enter()
        instance.__dict__["_counted"] = True
        self.alive.add(weakref.ref(instance, self.gone))
        flags.enter()
        flags.overrides += 1

    def is_count(self, reference: Any) -> bool:
        """Whether a weak reference to a tensor is the one that counts it."""
        return bool(reference.__callback__ == self.gone)

    def gone(self, reference: Any) -> None:
        """A tensor was freed."""
        self.alive.discard(reference)
        flags.overrides -= 1
        flags.leave()


counted_array = CountedArray()


def watch_subclass(cls: type) -> None:
    """Have tensors of a subclass counted, if functions or operators on them are left to the class."""
    dispatches = dispatches_operators(cls)
    if dispatches:
        load_module(f"{__name__.partition('.')[0]}.ops.python_dispatch")  # where they are asked
        asks = getattr(cls, "__torch_function__", None)
        if getattr(asks, "__func__", None) is runtime.tensor_type.__torch_function__.__func__:  # type: ignore[attr-defined]
            cls.__torch_function__ = disabled  # type: ignore[attr-defined]  # it would make tensors of the class of what operators return
    found = cls.__dict__.get("_array", getattr(cls, "_array", None))
    if (dispatches or overrides_functions(cls)) and not isinstance(found, CountedArray):
        cls._array = counted_array  # type: ignore[attr-defined]


# -- __torch_dispatch__ ------------------------------------------------------------------------------------------


class _DispatchDisabled:
    """What a class has as ``__torch_dispatch__`` that is not asked: the operator runs as one of plain tensors."""

    __name__ = "_disabled_torch_dispatch_impl"

    def __call__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before, state.dispatch_disabled = state.dispatch_disabled, True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            state.dispatch_disabled = before


dispatch_disabled = _DispatchDisabled()


def dispatches_operators(kind: type) -> bool:
    """Whether operators on tensors of a class are left to its ``__torch_dispatch__``."""
    return getattr(kind, "__torch_dispatch__", dispatch_disabled) is not dispatch_disabled


def dispatched(values: Iterable[Any]) -> list[Any]:
    """The tensors to ask, one of each class: in order, but a subclass before its bases."""
    found: list[Any] = []
    plain = runtime.tensor_type
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            kind = type(each)
            if kind is not plain and isinstance(each, TensorBase) and dispatches_operators(kind):
                _insert(found, each)
    return found


def push_dispatch_mode(mode: Any) -> None:
    """Make a dispatch mode the innermost of this thread."""
    load_module(f"{__name__.partition('.')[0]}.ops.python_dispatch")  # where they are asked
    state.dispatch_modes.append(mode)
    flags.enter()


def pop_dispatch_mode() -> Any:
    """Leave the innermost dispatch mode."""
    mode = state.dispatch_modes.pop()
    flags.leave()
    return mode
