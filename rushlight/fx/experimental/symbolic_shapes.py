"""Names of symbolic sizes that libraries ask for."""

from __future__ import annotations

from typing import Any

from ...core.symbolic import SymbolicInt, is_symbolic


def is_concrete_int(a: Any) -> bool:
    """Whether a size is a plain number."""
    return isinstance(a, int) and not isinstance(a, SymbolicInt)


def is_symbolic_size(a: Any) -> bool:
    """Whether a size has a formula."""
    return is_symbolic(a)


def is_nested_int(a: Any) -> bool:
    """Whether a size is that of the dimension in which the parts of a nested tensor differ."""
    return isinstance(a, SymbolicInt) and hasattr(a, "nested_int")


def guard_int(a: Any) -> int:
    """The value of a size."""
    return int(a)


def guard_bool(a: Any) -> bool:
    """The value of a condition."""
    return bool(a)


def guard_or_false(a: Any) -> bool:
    """A condition; False where its value is not known (here it always is)."""
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = definitely_true = guard_or_false


def sym_and(x: bool, *others: bool) -> bool:
    """Whether all of some conditions hold."""
    return all((x, *others))


def sym_or(x: bool, *others: bool) -> bool:
    """Whether one of some conditions holds."""
    return any((x, *others))


def hint_int(a: Any, fallback: int | None = None) -> int:
    """The value that a size has in this run."""
    return int(a)


def has_hint(a: Any) -> bool:
    """Whether a size has a value in this run: all have."""
    return True


def has_free_symbols(val: Any) -> bool:
    """Whether a value has sizes with formulas."""
    return any(is_symbolic(each) for each in getattr(val, "shape", ())) or is_symbolic(val)


free_symbols = has_free_symbols


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two sizes, or sequences of them, are equal."""
    return bool(x == y)


def constrain_range(a: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Constrain a size to a range, which is checked at once."""
    if (min is not None and a < min) or (max is not None and a > max):
        raise ValueError(f"Invalid value {a} for range [{min}:{max}]")


class GuardOnDataDependentSymNode(RuntimeError):
    """A branch on a size that depends on data."""


class ConstraintViolationError(RuntimeError):
    """Sizes that are not within what was said of them."""


class DimDynamic:
    """How a dimension is treated."""

    DYNAMIC, DUCK, STATIC, SIZE_LIKE_UNBACKED, INFER_STRIDE = range(5)
