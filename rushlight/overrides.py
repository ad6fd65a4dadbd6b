"""``__torch_function__``: what programs need to answer for functions on objects of their own, and to write such functions.

    >>> import rushlight as torch
    >>> class Diagonal:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of a diagonal of {args[0].value}"
    >>> torch.sum(Diagonal(3))
    'sum of a diagonal of 3'

How calls find such objects is in :mod:`rushlight.core.overrides`.
"""

from __future__ import annotations

import collections
import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import fft, linalg, special
from .core.declare import exports, public_names, table
from .core.errors import ArgumentError
from .core.overrides import (
    DisableTorchFunction,
    ask,
    enabled_again,
    exchange,
    modes_are_on,
    overloaded,
    overrides_functions,
    pop_mode,
    public_name_of,
    push_mode,
    redispatch,
)
from .core.overrides import disabled as _disabled
from .core.state import state
from .nn import functional
from .tensor import Tensor
from .tensor.methods import Late
from .tensor.tensor import nowrap_functions

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]


# -- in functions of one's own -----------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a function has to ask: a mode is on, or an argument's class has ``__torch_function__``."""
    if redispatch.taken():
        return False
    return modes_are_on() or (state.overrides == 0 and any(overrides_functions(type(each)) for each in relevant_args))


def has_torch_function_unary(argument: Any) -> bool:
    """``has_torch_function`` of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments: Any) -> bool:
    """``has_torch_function`` of arguments that are given one by one."""
    return has_torch_function(arguments)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Ask the modes, then the relevant arguments, for the result of ``public_api(*args, **kwargs)``."""
    found = overloaded(relevant_args) if state.overrides == 0 else []
    if not found and not modes_are_on():
        raise ArgumentError(f"no implementation found for '{resolve_name(public_api)}' on types that implement __torch_function__: []")
    return ask(public_api, resolve_name(public_api) or public_name_of(public_api), found, args, kwargs)


def redispatch_function(func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """Run a function from within ``__torch_function__`` as if nobody was to be asked for it; the functions that it calls ask again."""
    if hasattr(func, "op"):  # an op calls no functions
        with DisableTorchFunction():
            return func(*args, **(kwargs or {}))
    redispatch.pending = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        redispatch.pending = False


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Make a function ask; ``dispatcher`` has its signature and returns the relevant arguments."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside a handler arguments are asked again, and calls are recorded for backward as outside of it."""
    grad = state.grad_enabled
    with enabled_again():
        if state.grad_outside is not None:
            state.grad_enabled = state.grad_outside
        try:
            yield
        finally:
            state.grad_enabled = grad


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or has ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# -- modes -------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """A context whose ``__torch_function__`` is asked about every public function that is called in it.

    While it is asked it is off, so that it may call the function.
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance, to be entered."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls every function as it is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    """The innermost mode, or None."""
    return state.function_modes[-1] if state.function_modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """The modes of this thread, outermost first."""
    return list(state.function_modes)


def _push_mode(mode: Any) -> None:
    push_mode(mode)


def _pop_mode() -> Any:
    return pop_mode()


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """The innermost mode is off."""
    mode = pop_mode()
    try:
        yield mode
    finally:
        push_mode(mode)


# -- what can be overridden --------------------------------------------------------------------------------------

# Public functions of `torch` that take no tensor, or about which nobody is asked.
_IGNORED = frozenset(
    "typename is_tensor is_storage set_default_tensor_type set_default_device get_default_device set_rng_state get_rng_state "
    "manual_seed initial_seed seed save load set_printoptions compile cond while_loop vmap check from_dlpack from_numpy frombuffer "
    "asarray as_tensor tensor arange as_strided bartlett_window blackman_window can_cast empty empty_permuted empty_strided "
    "empty_quantized eye fill full hamming_window hann_window kaiser_window linspace logspace normal ones promote_types rand rand_like "
    "randint randint_like randn randn_like randperm range result_type scalar_tensor zeros broadcast_shapes get_num_threads "
    "set_num_threads get_num_interop_threads set_num_interop_threads set_flush_denormal is_grad_enabled set_grad_enabled "
    "get_default_dtype set_default_dtype tril_indices triu_indices".split()
)
# The files whose functions read and set modes.
_OF_MODES = tuple(
    f"{__name__.partition('.')[0]}.{name}" for name in "amp.autocast_mode autograd.anomaly_mode autograd.grad_mode settings".split()
)
_IGNORED_METHODS = frozenset(
    "__class__ __delitem__ __dir__ __getattribute__ __init__ __iter__ __init_subclass__ __delattr__ __setattr__ __torch_function__ "
    "__new__ __subclasshook__ __hash__ as_subclass new new_empty new_empty_strided new_full new_ones new_tensor new_zeros stride "
    "unflatten _make_subclass _make_wrapper_subclass __torch_dispatch__ __getstate__ __array_wrap__ __buffer__ __str__ __sizeof__".split()
)


def _torch() -> Any:
    """The package itself, which is loaded before its parts."""
    return sys.modules[__name__.partition(".")[0]]


@functools.cache
def get_ignored_functions() -> set[Any]:
    """The public functions about which ``__torch_function__`` is never asked."""
    torch = _torch()
    found = {getattr(torch, name) for name in _IGNORED if hasattr(torch, name)}
    found |= {value for name, value in list(vars(torch).items()) if not name.startswith("_") and _takes_no_tensor(name, value)}
    found -= {value for _, value in _methods()}  # a function that is a method, too, asks
    return found | {getattr(Tensor, name) for name in _IGNORED_METHODS if hasattr(Tensor, name)}


def _takes_no_tensor(name: str, value: Any) -> bool:
    """Whether a public value of ``torch`` is a small class, as `device` is, or a function about modes and settings."""
    if isinstance(value, type):
        return name.islower()
    if not isinstance(value, types.FunctionType) or hasattr(value, "op"):
        return False
    return name.startswith("set_") or value.__module__ in _OF_MODES or not inspect.signature(value).parameters


def _methods() -> Iterator[tuple[str, Any]]:
    """The attributes of tensors that ask, by name; properties as their ``__get__``."""
    for name in dir(Tensor):
        if name in _IGNORED_METHODS or (name.startswith("_") and not (name.startswith("__") or name in ("_base", "_version"))):
            continue
        if isinstance(inspect.getattr_static(Tensor, name), (property, types.FunctionType, Late)):
            yield name, getattr(Tensor, name)


@functools.cache
def _overridable() -> tuple[dict[Any, list[Callable[..., Any]]], dict[Any, str]]:
    torch = _torch()
    found: dict[Any, list[Callable[..., Any]]] = collections.defaultdict(list)
    names: dict[Any, str] = {}
    for name, value in _methods():
        if isinstance(value, property):
            found[value].append(value.__get__)
            names[value.__get__] = f"torch.Tensor.{name}.__get__"
            if value.fset:
                names[value.__set__] = f"torch.Tensor.{name}.__set__"
        else:
            found[Tensor].append(value)
            if value not in names or name == value.__name__:
                names[value] = f"torch.Tensor.{name}"
    ignored = get_ignored_functions()
    for module, namespace in ((special, "special"), (fft, "fft"), (linalg, "linalg"), (functional, "nn.functional"), (torch, "")):
        for name in public_names(namespace):
            if name.startswith("_") or (namespace == "" and name in _IGNORED):
                continue
            function = exports[namespace, name]
            if function not in ignored:
                found[module].append(function)
                names[function] = ".".join(filter(None, ("torch", namespace, name)))
    for name in ("is_complex", "is_floating_point", "is_inference", "numel", "is_same_size"):
        found[torch].append(getattr(torch, name))
        names[getattr(torch, name)] = f"torch.{name}"
    return found, names


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions about which ``__torch_function__`` is asked, by the module or class that has them."""
    return _overridable()[0]


def resolve_name(f: Any) -> str | None:
    """The full name of an overridable function: ``"torch.Tensor.add"``."""
    if isinstance(f, type(_disabled)):
        return None
    op = getattr(f, "op", None)
    if op is not None and table.get(op.name) is op and f is op.call:
        return f"torch.{op.qualified_name}"
    try:
        return _overridable()[1].get(f)
    except TypeError:  # not hashable
        return None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of tensors, or ``__get__`` or ``__set__`` of a property.

    Functions that are both, as ``torch.add`` and ``Tensor.add`` are one here, count as functions.
    """
    if getattr(func, "__name__", "") in ("__get__", "__set__"):
        return True
    op = getattr(func, "op", None)
    if op is not None:
        return op.namespace is None or (op.functional is not None and exports.get((op.namespace, op.public_name)) is not func)
    name = getattr(func, "__name__", None)
    return name is not None and inspect.getattr_static(Tensor, name, None) is func


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose results ``Tensor.__torch_function__`` does not convert to the subclass."""
    return set(nowrap_functions())


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For every overridable function one of the same signature that returns -1."""
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = _dummy(function)
    return found


def _dummy(function: Any) -> Callable[..., Any]:
    op = getattr(function, "op", None)
    target = getattr(op.call, "__wrapped__", None) if op is not None else function
    if not isinstance(target, types.FunctionType):
        return lambda self, value=None: -1
    plain = next((original for each, original, _ in exchange.functions if each is target), target).__code__
    count, only = plain.co_argcount, plain.co_kwonlyargcount
    names, defaults = plain.co_varnames, target.__defaults__ or ()
    parts = [f"{name}=None" if index >= count - len(defaults) else name for index, name in enumerate(names[:count])]
    if plain.co_flags & inspect.CO_VARARGS:
        parts.append(f"*{names[count + only]}")
    elif only:
        parts.append("*")
    parts += [f"{name}=None" for name in names[count : count + only]]
    if op is not None and op.has_out:
        parts.append("out=None" if "*" in "".join(parts) else "*, out=None")
    if plain.co_flags & inspect.CO_VARKEYWORDS:
        parts.append("**kwargs")
    made: Callable[..., Any] = eval(f"lambda {', '.join(parts)}: -1")
    return made
