"""Decorators of pipes: a class as a method of pipes, and what is said about determinism and types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints

from .datapipe import IterDataPipe, MapDataPipe

_determinism = False
_runtime_validation_enabled = True


class functional_datapipe:
    """Make a class of pipes a method of pipes, by a name."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        return cls


class guaranteed_datapipes_determinism:
    """While it is on, pipes that say of themselves that they are not deterministic can't be made."""

    def __init__(self) -> None:
        global _determinism
        self.before = _determinism
        _determinism = True

    def __enter__(self) -> None:
        """Nothing: it is on since it was made."""

    def __exit__(self, *error: object) -> None:
        global _determinism
        _determinism = self.before


class non_deterministic:
    """Say that a class of pipes is not deterministic: always, or where a function of its arguments says so."""

    def __init__(self, arg: Any) -> None:
        self.cls: Any = None
        self.deterministic_fn: Callable[..., bool] | None = None
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found")
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _determinism:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. You can turn off "
                    "determinism for this DataPipe if that is acceptable for your application"
                )
            return self.cls(*args, **kwargs)
        if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
        self.decorated = args[0]
        return self.deterministic_wrapper

    def deterministic_wrapper(self, *args: Any, **kwargs: Any) -> Any:
        """Make a pipe, where its arguments are fine."""
        assert self.deterministic_fn is not None
        result = self.deterministic_fn(*args, **kwargs)
        if not isinstance(result, bool):
            raise TypeError(
                f"deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but {type(result)} is found"
            )
        if _determinism and result:
            raise TypeError(
                f"{self.decorated.__name__} is non-deterministic with the inputs, but you set 'guaranteed_datapipes_determinism'. You "
                "can turn off determinism for this DataPipe if that is acceptable for your application"
            )
        return self.decorated(*args, **kwargs)


def argument_validation(f: Any) -> Any:
    """Have arguments that are pipes checked by the types of their samples where both are given."""
    signature = inspect.signature(f)
    hints = get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            wanted = get_origin(hints.get(name)) or hints.get(name)
            if isinstance(wanted, type) and issubclass(wanted, IterDataPipe) and not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
        return f(*args, **kwargs)

    return wrapper


class runtime_validation_disabled:
    """While it is on, samples are not checked by the types that pipes promise."""

    def __init__(self) -> None:
        global _runtime_validation_enabled
        self.before = _runtime_validation_enabled
        _runtime_validation_enabled = False

    def __enter__(self) -> None:
        """Nothing: it is on since it was made."""

    def __exit__(self, *error: object) -> None:
        global _runtime_validation_enabled
        _runtime_validation_enabled = self.before


def runtime_validation(f: Any) -> Any:
    """Have the samples of an ``__iter__`` checked by the type that it promises."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self: Any) -> Any:
        promised = get_args(get_type_hints(f).get("return"))
        plain = promised[0] if promised and isinstance(promised[0], type) else None
        for sample in f(self):
            if _runtime_validation_enabled and plain is not None and not isinstance(sample, plain):
                raise RuntimeError(f"Expected an instance as subtype of {plain}, but found {sample}({type(sample)})")
            yield sample

    return wrapper
