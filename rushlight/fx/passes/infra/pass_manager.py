"""``PassManager``: passes in an order that their constraints allow, run until they are done."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from .pass_base import PassResult


def pass_result_wrapper(fn: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A pass that returns a :class:`PassResult`: one that returns nothing is taken to have changed its Module."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm: Any) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Callable[..., Any], that: Callable[..., Any]) -> Callable[..., bool]:
    """A constraint: one pass does not come after another."""

    def depends_on(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return a is not that or b is not this

    return depends_on


def _check(constraint: Callable[..., bool], passes: list[Callable[..., Any]]) -> None:
    for index, a in enumerate(passes):
        for b in passes[index + 1 :]:
            if not constraint(a, b):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {index} and {b} at later index"
                )


class PassManager:
    """Runs passes: in an order by constraints, several times, with checks in between."""

    def __init__(
        self, passes: list[Any] | None = None, constraints: list[Any] | None = None, steps: int | None = None,
        run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        self.passes = list(passes or [])
        self.constraints = list(constraints or [])
        self.steps = steps or 1
        self._validated = not self.constraints
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """A further pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """A further constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise where the order of the passes breaks a constraint."""
        if not self._validated:
            for each in self.constraints:
                _check(each, self.passes)
        self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes into an order that the constraints allow."""
        left, placed = list(self.passes), []
        while left:
            free = [
                a
                for a in left
                if all(constraint(b, a) is False or constraint(a, b) for b in left if b is not a for constraint in self.constraints)
            ]
            if not free:
                raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
            placed.append(free[0])
            left.remove(free[0])
        self.passes = placed
        self._validated = True

    def add_checks(self, check: Callable[[Any], Any]) -> None:
        """A function of the Module that is called after passes."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign, assignment]

    def check(self, module: Any) -> None:
        """What is called after passes: nothing, unless one was set."""

    def __call__(self, module: Any) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for number, each in enumerate(self.passes):
                wrapped = pass_result_wrapper(each)
                assert wrapped is not None
                try:
                    result = wrapped(module)
                except Exception as error:
                    names = [getattr(done, "__name__", type(done).__name__) for done in self.passes[:number]]
                    raise Exception(
                        f"An error occurred when running the '{wrapped.__name__}' pass after the following passes: {names}"
                    ) from error
                module = result.graph_module
                changed = changed or result.modified
                if self.run_checks_after_each_pass:
                    try:
                        self.check(module)
                    except Exception as error:
                        if not self.suppress_check_failures:
                            raise
                        warnings.warn(str(error), stacklevel=2)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)
