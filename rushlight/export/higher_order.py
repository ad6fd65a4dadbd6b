"""Operators that take functions, as exported graphs call them: ``torch.ops.higher_order.cond`` and its like.

They run what they are given: graph modules in an exported graph, any functions elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..amp.autocast_mode import autocast
from ..autograd.grad_mode import set_grad_enabled
from ..capture.compile.annotations import mark
from ..capture.control.operators import cond as _cond
from ..capture.control.operators import while_loop as _while_loop
from ..capture.control.scans import mapped, scanned


class HigherOrderOperator:
    """An operator that takes functions among its arguments."""

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self._name = self.__name__ = self.__qualname__ = name
        self.__module__ = "rushlight.ops.higher_order"
        self._qualified_op_name = f"higher_order.{name}"
        self.namespace = "higher_order"
        self._run = run

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def name(self) -> str:
        """Its name."""
        return self._name

    def __str__(self) -> str:
        return f"higher_order.{self._name}"

    __repr__ = __str__

    def __deepcopy__(self, memo: Any = None) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> Any:
        return (operator_of, (self._name,))


def _run_cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    return _cond(pred, true_fn, false_fn, tuple(operands))


def _run_while(cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any = ()) -> Any:
    more = tuple(additional_inputs)
    return _while_loop(lambda *values: cond_fn(*values, *more), lambda *values: body_fn(*values, *more), tuple(carried_inputs))


def _run_scan(combine_fn: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    return scanned(lambda *values: list(combine_fn(*values)), init, xs, additional_inputs)


def _run_map(f: Any, xs: Any, args: Any = ()) -> Any:
    return mapped(lambda *values: list(f(*values)), xs, args)


def _run_wrapped(func: Any, *args: Any, **kwargs: Any) -> Any:
    return func(*args, **kwargs)


def _run_with_grad(enabled: bool, wrapped: Any, *args: Any, **kwargs: Any) -> Any:
    with set_grad_enabled(enabled):
        return wrapped(*args, **kwargs)


def _run_with_autocast(device_type: str, dtype: Any, enabled: bool, cache_enabled: Any, wrapped: Any, *args: Any, **kwargs: Any) -> Any:
    with autocast(device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled):
        return wrapped(*args, **kwargs)


OPERATORS = {
    name: HigherOrderOperator(name, run)
    for name, run in (
        ("cond", _run_cond),
        ("while_loop", _run_while),
        ("scan", _run_scan),
        ("map_impl", _run_map),
        ("wrap", _run_wrapped),
        ("wrap_with_set_grad_enabled", _run_with_grad),
        ("wrap_with_autocast", _run_with_autocast),
    )  # fmt: skip
}


for _operator in OPERATORS.values():
    # A capture by compile interprets the functions that they are given.
    mark(_operator, "wrap" if _operator.name() == "wrap" else "control")


def operator_of(name: str) -> HigherOrderOperator:
    """The operator of a name."""
    return OPERATORS[name]


def packet(namespace: str, name: str) -> HigherOrderOperator | None:
    """The operator of a name, for ``torch.ops.higher_order``."""
    return OPERATORS.get(name)


def names(namespace: str) -> set[str]:
    """The names of the operators."""
    return set(OPERATORS)
