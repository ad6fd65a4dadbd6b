"""Settings that programs written for PyTorch read and write: each keeps its type, and unless it says so has no effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..core.errors import ArgumentError, OperationError

_FLOAT32 = ("none", "ieee", "tf32", "bf16")


def check(name: str, present: Any, value: Any) -> None:
    """Refuse a value that a setting can't have."""
    if isinstance(present, bool) and not isinstance(value, bool):
        raise OperationError(f"{name} expects a bool, but got {type(value).__name__}")
    if name == "fp32_precision":
        if not isinstance(value, str):
            raise ArgumentError(f"{name} expects a str, but got {type(value).__name__}")
        if value not in _FLOAT32:
            raise OperationError(f"Unknown precision: {value}; it is one of {', '.join(_FLOAT32)}")


class Frozen:
    """Whether settings can be changed only within ``flags(...)``."""

    on = False


frozen = Frozen()


@contextlib.contextmanager
def thawed() -> Iterator[None]:
    """A ``with`` block in which settings can be changed, also after ``disable_global_flags()``."""
    before, frozen.on = frozen.on, False
    try:
        yield
    finally:
        frozen.on = before


def check_not_frozen(name: str) -> None:
    """Refuse to change a setting after ``disable_global_flags()``."""
    if frozen.on:
        raise OperationError(f"not allowed to set {name} flags after disable_global_flags; please use flags() context manager instead")


class FlagModule(ModuleType):
    """A module whose variables are settings: ``sys.modules[__name__].__class__ = FlagModule`` makes it one."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ and not isinstance(value, ModuleType):
            check_not_frozen(self.__name__)
        check(name, self.__dict__.get(name), value)
        super().__setattr__(name, value)


class FlagGroup:
    """Settings that belong together, such as ``backends.cuda.matmul``; there are no others than those it began with.

    They can be changed after ``disable_global_flags()`` too, as PyTorch's can: only modules' own settings are frozen.
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}", name=name)
        check(name, getattr(self, name), value)
        super().__setattr__(name, value)


def change(module: ModuleType, wanted: dict[str, Any]) -> tuple[Any, ...]:
    """Set those settings whose value is not None, and return what all of them were before."""
    before = tuple(getattr(module, name) for name in wanted)
    for name, value in wanted.items():
        if value is not None:
            setattr(module, name, value)
    return before


@contextlib.contextmanager
def changed(module: ModuleType, wanted: dict[str, Any]) -> Iterator[None]:
    """Settings that hold within a ``with`` block."""
    with thawed():
        before = change(module, wanted)
    try:
        yield
    finally:
        module.__dict__.update(zip(wanted, before))
