"""Arithmetic on symbolic sizes at compile time: comparisons are guarded, and no size is used as a plain number unnoticed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rushlight.core.symbolic import Expression, SymbolicInt
from rushlight.schedule.symbolic_shape import Fixed, Sizes, SymbolicSize, if_many, least, may_reach, most, same, written


def size(value: int = 33) -> tuple[Sizes, Any]:
    sizes = Sizes({"n": value})
    return sizes, sizes.size(Expression.symbol("n"))


@pytest.mark.parametrize(
    "leak", [int, float, range, np.empty, np.float32, math.sqrt, math.ceil, round, lambda n: [0] * n, lambda n: "ab"[n:], lambda n: np.zeros((n, 2)), lambda n: f"{n / 2}"]
)  # fmt: skip
def test_a_size_is_no_number(leak: Callable[[Any], Any]) -> None:
    """Nothing takes its value unnoticed."""
    with pytest.raises((Fixed, TypeError)):
        leak(size()[1])


def test_comparisons_are_guarded() -> None:
    sizes, n = size()
    assert n * 64 > 200 and not n < 8 and n != 40 and 2.5 * n > 10
    assert list(sizes.guards) == ["(64*n) > 200", "not ((n) < 8)", "(n) != 40", "(2.5 * (n)) > 10"]
    assert n + 1 > n and n * 4 == 2 * n + n * 2 and n != 1 and (n, 3) == (n, 3) and len({n, n * 2, n}) == 2
    assert len(sizes.guards) == 4  # what holds for all sizes is not asked
    holds = sizes.function(" and ".join(sizes.guards))
    assert holds(n=33) and holds(n=1000) and not holds(n=40) and not holds(n=7)


def test_arithmetic() -> None:
    sizes, n = size()
    for made, wanted in (
        (-(-n // 16), 3),
        (n % 8, 1),
        (math.prod((n, 2, n)), 2178),
        (sum([n, n, 1]), 67),
        (7 - n, -26),
        (np.prod((n, 3)), 99),
        (abs(n), 33),
    ):
        assert isinstance(made, SymbolicSize) and made.value == wanted
    assert n * 0 == 0 and n - n == 0 and n // n == 1 and not sizes.guards
    assert (
        least(n, 16).value == 16 and most(n, 50).value == 50 and least(3, 4) == 3 and if_many(n, 20, 5, 6).value == 5 and may_reach(n, 1000)
    )
    assert sizes.function(f"({most(n, 50)!r}, {if_many(n, 20, 5, 6)!r}, {-(-n // 16)!r})")(n=10) == (50, 6, 1)


def test_what_is_certain_is_not_guarded() -> None:
    """Sizes are at least 2 and not immense, and what follows from them lies between bounds."""
    sizes = Sizes({"n": 5, "m": 7})
    n, m = (sizes.size(Expression.symbol(each)) for each in ("n", "m"))
    assert n >= 2 and not n < 2 and n * m > n and 16 * n < 16 * n * m and 4 * n < 2**63 and n * m != 3 and n + m > 3
    rows = least(most(-(-n * m // 64), 16), 128)
    assert rows > 0 and rows >= 16 and not rows > 128 and -(-n // rows) > 0 and n % 8 < 8 and (n - 1) // 2 >= 0 and if_many(n, 9, 4, 2) > 1
    assert not sizes.guards
    assert -(-n // rows) == 1 and n // 2 == 2 and not n - 1 > 4 and n - 3 >= 0
    assert len(sizes.guards) == 4


def test_what_is_equal_by_chance_is_not_the_same() -> None:
    sizes = Sizes({"n": 6, "m": 6})
    n, m = (sizes.size(Expression.symbol(each)) for each in ("n", "m"))
    assert (
        same((n, 3), (n, 3))
        and same(2 * n, n + n)
        and not same(n, 6)
        and not same((n, m), (m, n))
        and not same((n,), (n, 1))
        and same((4, 5), (4, 5))
    )
    assert not sizes.guards
    assert n == m and sizes.equal == {"m": Expression.symbol("n")}  # under a guard, which those that are made later know
    assert same(sizes.of(SymbolicInt(12, Expression({("m",): 2}))), 2 * n) and list(sizes.guards) == ["(n) == (m)"]


def test_functions_of_sizes() -> None:
    def half(number: int, more: int) -> int:
        return number // 2 + more

    sizes, n = size()
    found = sizes.found_by(half, n, 3, bounds=(4, 1000))
    assert found.value == 19 and found > 3 and not sizes.guards and sizes.function(f"({written(found * 2)}, 1)")(n=10) == (16, 1)
