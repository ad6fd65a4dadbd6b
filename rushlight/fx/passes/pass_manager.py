"""``PassManager`` of functions that change a module in place or return one: run in an order that constraints allow."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from .infra.pass_manager import this_before_that_pass_constraint

_logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A pass that gives its Module back, made of a function that changes it."""

    @wraps(fn)
    def run(gm: Any) -> Any:
        fn(gm)
        return gm

    return run


def log_hook(fn: Callable[..., Any], level: int = logging.INFO) -> Callable[..., Any]:
    """A pass that writes to the log that it ran."""

    @wraps(fn)
    def run(gm: Any) -> Any:
        result = fn(gm)
        _logger.log(level, "Ran pass %s\t Return value: %s", fn, result)
        return result

    return run


def loop_pass(
    base_pass: Callable[[Any], Any], n_iter: int | None = None, predicate: Callable[[Any], bool] | None = None
) -> Callable[[Any], Any]:
    """A pass that is run a number of times, or as long as something holds of its result."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @wraps(base_pass)
    def run(source: Any) -> Any:
        if n_iter is not None:
            for _ in range(n_iter):
                source = base_pass(source)
            return source
        assert predicate is not None
        while predicate(source):
            source = base_pass(source)
        return source

    return run


def these_before_those_pass_constraint(these: Callable[..., Any], those: Callable[..., Any]) -> Callable[..., bool]:
    """A constraint: passes made by wrapping one function do not come after those that wrap another."""

    def depends_on(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return _unwrapped(a) is not those or _unwrapped(b) is not these

    return depends_on


def _unwrapped(fn: Any) -> Any:
    """The function that a wrapper was made of."""
    return getattr(fn, "__wrapped__", fn)


class PassManager:
    """Runs passes one after another, each on what the one before gave."""

    def __init__(self, passes: list[Callable[..., Any]] | None = None, constraints: list[Callable[..., Any]] | None = None) -> None:
        self.passes = list(passes or [])
        self.constraints = list(constraints or [])
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Callable[..., Any]]) -> PassManager:
        """A manager of these passes, without constraints."""
        return cls(passes)

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """A further pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., Any]) -> None:
        """A further constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Take out the passes of these names."""
        self.passes = [each for each in self.passes if each.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Callable[..., Any], _replacement: Callable[..., Any]) -> None:
        """Put another pass in the place of one."""
        self.passes = [_replacement if each.__name__ == _target.__name__ else each for each in self.passes]
        self._validated = False

    def validate(self) -> None:
        """Raise where the order of the passes breaks a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            for index, a in enumerate(self.passes):
                for later, b in enumerate(self.passes[index + 1 :], index + 1):
                    if not constraint(a, b):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {index} and {b} at index "
                            f"{later} in pass list."
                        )
        self._validated = True

    def __call__(self, source: Any) -> Any:
        self.validate()
        for each in self.passes:
            source = each(source)
        return source


__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint", "this_before_that_pass_constraint",
]  # fmt: skip
