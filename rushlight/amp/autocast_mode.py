"""Autocast: products in a narrow dtype, sensitive ops in float32, by one interceptor and the facet of :mod:`rushlight.amp.autocast_classes`.

>>> import rushlight as torch
>>> with torch.autocast("cpu"):
...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
torch.bfloat16
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.declare import Op
from ..core.devices import accelerator, as_device
from ..core.dispatch import dispatch
from ..core.dtypes import BY_NUMPY, bfloat16, float16, float32, float64
from ..core.errors import ValueRangeError
from ..core.state import flags, state
from ..ops.pointwise.copy_cast import cast
from .autocast_classes import FLOAT16, FLOAT32, LOWER, WIDEST, autocast_class, on_cuda

_SUPPORTED = (bfloat16, float16)


class _Settings(threading.local):
    """Autocast's state in this thread, by kind of device."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, Any] = {"cpu": bfloat16, "cuda": float16}
        self.cache_enabled = True
        self.nesting = 0
        # (id of a tensor, type) -> the tensor (so that the id stays its own), its version and its cast
        self.cache: dict[Any, tuple[Any, int, Any]] = {}
        self.entered: list[autocast] = []  # the contexts that are open
        self.casting = False  # whether what runs is a cast that was not asked for
        self.always: _Casting | None = None  # the interceptor that `set_autocast_enabled` puts in


_settings = _Settings()


# -- casting -----------------------------------------------------------------------------------------------------


class _Casting:
    """Intercepts ops and casts their inputs."""

    def __enter__(self) -> _Casting:
        state.interceptors.append(self)
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.interceptors.remove(self)

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        if out is not None:
            return dispatch(op, args, out)  # what writes to a tensor takes that tensor's type, in the ops that a composite is made of, too
        if op.functional is not None:
            return NotImplemented
        kind = _device_kind(args)
        found = (on_cuda if kind == "cuda" else autocast_class).of(op)
        if found is None or not _settings.enabled.get(kind):
            return NotImplemented
        if found is LOWER:
            args = _cast_all(args, _settings.dtypes[kind])
        elif found is FLOAT32:
            args = _cast_all(args, float32)
        elif found is FLOAT16:
            args = _cast_all(args, float16)
        elif found is WIDEST:
            args = _cast_all(args, _widest(args))
        return dispatch(op, args)


def put_beneath(interceptor: Any) -> None:
    """Have an interceptor that was just put in see what the autocasts around it make of calls: the casts, too, none of which was made before."""
    stack = state.interceptors
    at = stack.index(interceptor)
    while at and isinstance(stack[at - 1], _Casting):
        stack[at - 1], stack[at], at = stack[at], stack[at - 1], at - 1
    clear_autocast_cache()


def _device_kind(args: tuple[Any, ...]) -> str:
    """The kind of device that a call is on: that of its first tensor."""
    first = next(_tensors(args), None)
    if first is None or first._array.__class__ is np.ndarray:
        return "cpu"
    return str(first.device.type)


def _tensors(args: Any) -> Any:
    for value in args:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _eligible(tensor: Any) -> bool:
    """Only floating-point types are cast, and float64 was chosen on purpose."""
    kind = BY_NUMPY[tensor._array.dtype]
    return kind.is_floating_point and kind is not float64


def _widest(args: tuple[Any, ...]) -> Any:
    found = {BY_NUMPY[each._array.dtype] for each in _tensors(args) if _eligible(each)}
    wide = [kind for kind in found if kind not in _SUPPORTED]
    if len(found) == 1:
        return found.pop()
    return wide[0] if wide else float32


def _cast_all(args: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    return tuple([_cast_value(value, dtype) for value in args])


def _cast_value(value: Any, dtype: Any) -> Any:
    if isinstance(value, TensorBase):
        if not _eligible(value) or value._array.dtype is dtype.numpy:
            return value
        _settings.casting = True
        try:
            return cached_cast(value, dtype)
        finally:
            _settings.casting = False
    if value.__class__ in (list, tuple) and any(isinstance(each, TensorBase) for each in value):
        return type(value)([_cast_value(each, dtype) for each in value])
    return value


def cached_cast(tensor: Any, dtype: Any) -> Any:
    """A cast; that of a parameter to a narrow type is kept until the outermost autocast ends."""
    keep = (
        _settings.cache_enabled and dtype in _SUPPORTED and state.grad_enabled and tensor._requires_grad
        and tensor._grad_fn is None and tensor._value is None and tensor._array.dtype is float32.numpy
    )  # fmt: skip
    if not keep:
        return cast(tensor, dtype)
    key = (id(tensor), dtype.name)
    found = _settings.cache.get(key)
    version = tensor._version
    if found is None or found[1] != version or found[0]._array is not tensor._array:
        found = _settings.cache[key] = (tensor, version, cast(tensor, dtype))
    return found[2]


# -- the mode ----------------------------------------------------------------------------------------------------


def _kind_of(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueRangeError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return str(as_device(device_type).type)


class autocast:
    """A context (or decorator) in which ops run in types chosen for them.

    ``dtype`` is bfloat16 (the default on the CPU) or float16 (the default on CUDA).  For a device that is not here it is off.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        self.device = _kind_of(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = _settings.cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled)
        self._entered: list[Any] = []
        if self.device != "cpu" and self._enabled and (self.device != "cuda" or accelerator() is None):
            warnings.warn(f"{self.device.upper()} is not available. Disabling autocast.", UserWarning, stacklevel=2)
            self._enabled = False
        elif self._enabled and self.fast_dtype not in _SUPPORTED:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtypes of "
                f"{', '.join(map(str, _SUPPORTED))} currently.",
                UserWarning,
                stacklevel=2,
            )
            self._enabled = False

    def __enter__(self) -> autocast:
        before = _settings.enabled.get(self.device, False), get_autocast_dtype(self.device), _settings.cache_enabled
        _settings.enabled[self.device] = self._enabled
        _settings.dtypes[self.device] = self.fast_dtype
        _settings.cache_enabled = self._cache_enabled
        autocast_increment_nesting()
        casting = _Casting().__enter__() if self._enabled else None
        self._entered.append((before, casting))
        _settings.entered.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self in _settings.entered:  # it may have been entered in another thread
            _settings.entered.remove(self)
        before, casting = self._entered.pop()
        if casting is not None:
            casting.__exit__()
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        _settings.enabled[self.device], _settings.dtypes[self.device], _settings.cache_enabled = before

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return wrapped

    def clone(self) -> autocast:
        """Another one with the same settings: a decorated function may be called while it runs."""
        made = object.__new__(type(self))
        made.device, made.fast_dtype, made._enabled, made._cache_enabled = self.device, self.fast_dtype, self._enabled, self._cache_enabled
        made._entered = []
        return made


def entered() -> tuple[autocast, ...]:
    """The contexts that are open in this thread, the outermost first."""
    return tuple(_settings.entered)


def is_casting() -> bool:
    """Whether the op that runs is a cast that autocast has put in."""
    return _settings.casting


# -- its settings ------------------------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device."""
    return _kind_of(device_type) in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a kind of device."""
    return bool(_settings.enabled.get(_kind_of(device_type), False))


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off for this thread: ``set_autocast_enabled("cpu", True)``."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = _kind_of(device_type)
    _settings.enabled[kind] = bool(enabled)
    if kind != "cpu":
        return
    if enabled and _settings.always is None:
        _settings.always = _Casting().__enter__()
    elif not enabled and _settings.always is not None:
        _settings.always.__exit__()
        _settings.always = None


def get_autocast_dtype(device_type: str) -> Any:
    """The narrow type that autocast uses on a kind of device."""
    return _settings.dtypes.get(_kind_of(device_type), float16)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Choose the narrow type that autocast uses on a kind of device."""
    _settings.dtypes[_kind_of(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept."""
    return _settings.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the cache of casts on or off."""
    _settings.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    _settings.cache.clear()


def autocast_increment_nesting() -> int:
    """Count one more autocast that has been entered."""
    _settings.nesting += 1
    return _settings.nesting


def autocast_decrement_nesting() -> int:
    """Count one less autocast that has been entered."""
    _settings.nesting -= 1
    return _settings.nesting


def _deprecated(name: str, instead: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any) -> Any:
        warnings.warn(f"torch.{name}() is deprecated. Please use torch.{instead} instead.", DeprecationWarning, stacklevel=2)
        return function(*args)

    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"The old name of ``{instead}``."
    return called


def _old_names() -> dict[str, Callable[..., Any]]:
    found = {}
    for old, kind in (("cpu", "cpu"), ("gpu", "cuda")):
        get, set_ = functools.partial(get_autocast_dtype, kind), functools.partial(set_autocast_dtype, kind)
        found[f"get_autocast_{old}_dtype"] = _deprecated(f"get_autocast_{old}_dtype", f"get_autocast_dtype('{kind}')", get)
        found[f"set_autocast_{old}_dtype"] = _deprecated(f"set_autocast_{old}_dtype", f"set_autocast_dtype('{kind}', dtype)", set_)
    enabled, enable = functools.partial(is_autocast_enabled, "cpu"), functools.partial(set_autocast_enabled, "cpu")
    found["is_autocast_cpu_enabled"] = _deprecated("is_autocast_cpu_enabled", "is_autocast_enabled('cpu')", enabled)
    found["set_autocast_cpu_enabled"] = _deprecated("set_autocast_cpu_enabled", "set_autocast_enabled('cpu', enabled)", enable)
    return found


# What stands at the top of the package, under these names.
FACE: dict[str, Any] = {
    **{each.__name__: each for each in (
        autocast, autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache, get_autocast_dtype,
        is_autocast_cache_enabled, is_autocast_enabled, set_autocast_cache_enabled, set_autocast_dtype, set_autocast_enabled,
    )},
    **_old_names(),
}  # fmt: skip


# -- custom Functions --------------------------------------------------------------------------------------------


def _cast_inputs(value: Any, device_type: str, dtype: Any) -> Any:
    if isinstance(value, TensorBase):
        here = value.device.type == device_type  # type: ignore[attr-defined]
        return cast(value, dtype) if here and _eligible(value) and value._array.dtype is not dtype.numpy else value
    if isinstance(value, dict):
        return {_cast_inputs(k, device_type, dtype): _cast_inputs(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast_inputs(each, device_type, dtype) for each in value])
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorator of a custom Function's ``forward``, for autocast.

    Without ``cast_inputs`` forward runs in the mode of the caller.  With it, floating-point inputs are cast to that type and
    autocast is off inside.  ``backward``, decorated with :func:`custom_bwd`, runs in the mode that forward ran in.
    """
    if not isinstance(device_type, str):
        raise ValueRangeError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = is_autocast_enabled(device_type)
            return fwd(*args, **kwargs)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = False
        if not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast_inputs(args, device_type, cast_inputs), **_cast_inputs(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator of a custom Function's ``backward``: it runs under autocast as its forward did."""
    if not isinstance(device_type, str):
        raise ValueRangeError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated


__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
