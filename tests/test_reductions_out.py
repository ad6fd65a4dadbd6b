"""Reductions and running sums compute in the dtype of ``out=`` where they are given none."""

from __future__ import annotations

import pytest

import rushlight as rl

X = rl.tensor([[1.5, 2.5], [3.5, 4.5]])


@pytest.mark.parametrize("way", ["eager", "compiled"])
@pytest.mark.parametrize(
    "name, integers",
    [("sum", [3, 7]), ("prod", [2, 12]), ("cumsum", [[1, 3], [3, 7]]), ("cumprod", [[1, 2], [3, 12]])],
)
def test_the_type_of_out(name: str, integers: list[object], way: str) -> None:
    def function(x: rl.Tensor, out: rl.Tensor) -> rl.Tensor:
        return getattr(rl, name)(x, 1, out=out)

    call = rl.compile(function) if way == "compiled" else function
    shape = (2,) if name in ("sum", "prod") else (2, 2)
    assert call(X, rl.empty(shape, dtype=rl.int64)).tolist() == integers
    assert call(X, rl.empty(shape, dtype=rl.complex64)).real.tolist() == getattr(rl, name)(X, 1).tolist()
    assert call(X + 1j, rl.empty(shape)).tolist() == getattr(rl, name)(X, 1).tolist()


def test_what_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype double, but got float instead"):
        rl.sum(X, 1, dtype=rl.float64, out=rl.empty(2))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        rl.mean(X, 1, out=rl.empty(2, dtype=rl.int64))
    with pytest.raises(RuntimeError, match="provided dtype must match dtype of result. Got Float and Double"):
        rl.nansum(X, 1, dtype=rl.float64, out=rl.empty(2))
    assert rl.mean(X + 1j, 1, out=rl.empty(2)).tolist() == [2.0, 4.0]
