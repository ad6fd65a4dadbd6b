"""`torch._dynamo.utils`: what captures count, and small helpers that libraries import."""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...capture.compile.config import settings
from ...capture.compile.record.graph_breaks import counters
from ...core.missing import missing
from ...tensor import Tensor

__getattr__ = missing("rushlight._dynamo.utils")
_warned: set[str] = set()
compilation_time_metrics: dict[str, list[float]] = defaultdict(list)
common_constant_types: set[type] = {int, float, complex, bool, str, bytes, type(None), type(Ellipsis), slice, range}


def is_compile_supported(device_type: str) -> bool:
    """Whether programs on a kind of device can be compiled."""
    return device_type == "cpu"


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn, the first time that a message is given."""
    if msg not in _warned:
        _warned.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """A context in which a program may be compiled as often as it likes."""
    before = settings.recompile_limit
    settings.recompile_limit = 2**31
    try:
        yield
    finally:
        settings.recompile_limit = before


@contextlib.contextmanager
def dynamo_timed(key: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context whose time is kept in ``compilation_time_metrics``."""
    start = time.perf_counter()
    try:
        yield
    finally:
        compilation_time_metrics[key].append(time.perf_counter() - start)


@contextlib.contextmanager
def maybe_enable_compiled_autograd(should_enable: bool, fullgraph: bool = True, dynamic: bool = True) -> Iterator[None]:
    """A context for the backward pass: compiled functions have a compiled backward of their own, so there is nothing to enable."""
    yield


def istype(obj: object, allowed_types: Any) -> bool:
    """Whether the class of a value is one of some, and no subclass of them."""
    return type(obj) in allowed_types if isinstance(allowed_types, (tuple, list, set)) else type(obj) is allowed_types


def is_namedtuple(obj: Any) -> bool:
    """Whether a value is a named tuple."""
    return isinstance(obj, tuple) and hasattr(type(obj), "_fields")


def is_namedtuple_cls(cls: Any) -> bool:
    """Whether a class is one of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A copy of an input, that requires a gradient where the input does."""
    made = x.detach().clone() if dtype is None else x.detach().to(dtype, copy=True)
    return made.requires_grad_(x.requires_grad)


def clone_inputs(example_inputs: Any) -> Any:
    """Copies of inputs."""
    return [clone_input(each) if isinstance(each, Tensor) else each for each in example_inputs]


def same(a: Any, b: Any, *args: Any, tol: float = 1e-4, equal_nan: bool = False, **options: Any) -> bool:
    """Whether two results are equal but for rounding."""
    if isinstance(a, (list, tuple, deque)):
        return (
            isinstance(b, (list, tuple, deque)) and len(a) == len(b) and all(same(x, y, tol=tol, equal_nan=equal_nan) for x, y in zip(a, b))
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and set(a) == set(b) and all(same(a[key], b[key], tol=tol, equal_nan=equal_nan) for key in a)
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.shape == b.shape and bool(a.allclose(b.to(a.dtype), rtol=tol, atol=tol, equal_nan=equal_nan))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and bool(np.allclose(a, b, rtol=tol, atol=tol, equal_nan=equal_nan))
    return bool(a == b)


def get_first_attr(obj: Any, *attrs: str) -> Any:
    """The first of several attributes that is there."""
    for each in attrs:
        if hasattr(obj, each):
            return getattr(obj, each)
    raise AssertionError(f"{obj} does not has any of the attributes: {attrs}")


def compile_times(repr: str = "str", aggregate: bool = False) -> Any:
    """The times that were kept, as text or as a table of names and numbers."""
    totals = {key: sum(values) for key, values in compilation_time_metrics.items()}
    if repr == "str":
        return "\n".join(f"{key}: {value:.4f}" for key, value in totals.items())
    return list(totals), [[f"{value:.4f}"] for value in totals.values()]


def cached(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps its results."""
    return functools.cache(fn)


__all__ = ["counters"]
