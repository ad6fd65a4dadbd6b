"""Parametrised tests for unittest classes: one method written, one method for each set of arguments run.

    @instantiate_parametrized_tests
    class Arithmetic(TestCase):
        @parametrize("x,y", [(1, 2), subtest((3, 4), name="larger")])
        def test_sum(self, x, y): ...

gives `test_sum_x_1_y_2` and `test_sum_larger`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import rushlight

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class subtest:
    """The arguments of one test, with a name and decorators of its own."""

    arg_values: Any
    name: str | None = None
    decorators: list[Callable[..., Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Axis:
    """One `parametrize`: its arguments' names, their values, and how a test is named after them."""

    names: tuple[str, ...]
    values: tuple[Any, ...]
    name_function: Callable[..., str] | None

    def cases(self) -> Iterable[tuple[str, dict[str, Any], list[Callable[..., Any]]]]:
        """The suffix of the test's name, its arguments and its decorators, once for each set of values."""
        for index, value in enumerate(self.values):
            given = value if isinstance(value, subtest) else subtest(value)
            values = (given.arg_values,) if len(self.names) == 1 else tuple(given.arg_values)
            if len(values) != len(self.names):
                raise RuntimeError(f"{len(self.names)} arguments ({', '.join(self.names)}) were given {values!r}")
            if given.name is not None:
                suffix = given.name
            elif self.name_function is not None:
                suffix = self.name_function(*values)
            else:
                suffix = "_".join(_label(name, each, index) for name, each in zip(self.names, values, strict=True))
            yield suffix, dict(zip(self.names, values, strict=True)), list(given.decorators or ())


def _label(name: str, value: Any, index: int) -> str:
    """How an argument appears in a test's name: by its value where that is a word, else by its place in the list."""
    if isinstance(value, (rushlight.dtype, rushlight.device)):
        return str(value).removeprefix("torch.")
    if isinstance(value, (int, float, str)):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{index}"


class parametrize:
    """Run a test once for each value of an argument, or of several whose names are separated by commas.

    `name_fn` makes the suffix of the test's name from the values. Two decorators give every combination. The class
    must be decorated by `instantiate_parametrized_tests`.
    """

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        names = tuple(name.strip() for name in arg_str.split(",") if name.strip())
        self.axis = _Axis(names, tuple(arg_values), name_fn)

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        # Decorators are applied from the innermost out, and a test is named after its outermost axis first.
        test.__dict__["axes"] = (self.axis, *test.__dict__.get("axes", ()))
        return test


def instantiate_parametrized_tests(generic_cls: Class) -> Class:
    """Replace every parametrised method of a class by one method for each set of arguments."""
    for name, test in list(vars(generic_cls).items()):
        axes = getattr(test, "axes", None)
        if axes is None:
            continue
        delattr(generic_cls, name)
        for suffix, arguments, decorators in _combinations(axes):
            full_name = f"{name}_{suffix}" if suffix else name
            if hasattr(generic_cls, full_name):
                raise RuntimeError(f"two tests of {generic_cls.__name__} would be named {full_name}")
            setattr(generic_cls, full_name, _bind(test, full_name, arguments, decorators))
    return generic_cls


def _combinations(axes: tuple[_Axis, ...]) -> Iterable[tuple[str, dict[str, Any], list[Callable[..., Any]]]]:
    if not axes:
        yield "", {}, []
        return
    for suffix, arguments, decorators in axes[0].cases():
        for rest, more_arguments, more_decorators in _combinations(axes[1:]):
            joined = "_".join(part for part in (suffix, rest) if part)
            yield joined, {**arguments, **more_arguments}, [*decorators, *more_decorators]


def _bind(test: Callable[..., Any], name: str, arguments: dict[str, Any], decorators: list[Callable[..., Any]]) -> Callable[..., Any]:
    @functools.wraps(test)
    def bound(self: Any, *args: Any, **options: Any) -> Any:
        return test(self, *args, **arguments, **options)

    # pytest would ask for the arguments as fixtures if it saw the signature of the test that was written.
    del bound.__wrapped__  # type: ignore[attr-defined]
    del bound.__dict__["axes"]
    bound.__name__, bound.__qualname__ = name, f"{test.__qualname__.rpartition('.')[0]}.{name}"
    for decorate in reversed(decorators):
        bound = decorate(bound)
    return bound
