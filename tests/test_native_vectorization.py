"""Explicitly vectorized kernels against eager mode: sizes, dtypes, broadcasting, reductions, and kernels that stay scalar."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from support.compiled import assert_compiled_matches_eager

import rushlight as torch
from rushlight.codegen.llvm import kernel
from rushlight.codegen.llvm.vectors import Wide

assert_matches_eager = functools.partial(assert_compiled_matches_eager, tolerance=3e-6, absolute=1e-6, gradients=False)


pytest.importorskip("llvmlite")


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each kernel that is written: whether its vectors are written out."""
    seen: list[bool] = []
    emit = kernel.KernelEmitter.emit

    def watched(self: Any) -> None:
        seen.append(isinstance(self.code, Wide))
        emit(self)

    monkeypatch.setattr(kernel.KernelEmitter, "emit", watched)
    return seen


@pytest.mark.parametrize("size", [64, 128, 1024, 64 * 37])
def test_flat(size: int, kinds: list[bool]) -> None:
    x, y = torch.randn(size), torch.randn(size)
    assert_matches_eager(lambda x, y: (x.sigmoid() * y - 3, x.abs() + 1), x, y)
    assert kinds and all(kinds)


@pytest.mark.parametrize("size", [1, 63, 65, 100])
def test_sizes_that_are_no_multiple(size: int, kinds: list[bool]) -> None:
    assert_matches_eager(lambda x: (x * 2 + 1).exp(), torch.randn(size))
    assert kinds and not any(kinds)


def test_numbers_and_rows_for_all(kinds: list[bool]) -> None:
    x, row, column, one = torch.randn(50, 96), torch.randn(96), torch.randn(50, 1), torch.randn(())
    assert_matches_eager(lambda x, row, column, one: x * row + column / (one * one + 1), x, row, column, one)
    assert any(kinds)


def test_other_types(kinds: list[bool]) -> None:
    x = torch.randn(256) * 5
    assert_matches_eager(
        lambda x: (x > 0, torch.where(x > 1, x, -x), (x > 0) & (x < 2), x.to(torch.int32) * 3, (x > 0).to(torch.float32)), x
    )
    assert kinds and all(kinds)
    del kinds[:]
    assert_matches_eager(lambda x: x.to(torch.float64) * 2, x)
    assert kinds and not any(kinds)


def test_strides(kinds: list[bool]) -> None:
    x = torch.randn(128, 64)
    assert_matches_eager(lambda x: x.t() * 2 + 1, x)
    assert_matches_eager(lambda x: x[:, ::2] * 2, x)
    assert_matches_eager(lambda x: x[::2] * 2 + x[1::2], x)


@pytest.mark.parametrize("shape", [(33, 64), (5, 7, 96), (3, 1024), (1, 4096), (17, 32)])
def test_rows(shape: tuple[int, ...], kinds: list[bool]) -> None:
    x = torch.randn(*shape)
    weight, bias = torch.randn(shape[-1]), torch.randn(shape[-1])
    assert_matches_eager(lambda x: x.softmax(-1), x)
    assert_matches_eager(lambda x, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b), x, weight, bias, tolerance=2e-5)
    assert_matches_eager(lambda x: ((x * x).mean(-1), x.amax(-1), x.amin(-1, True) - x), x)
    assert any(kinds) or shape[-1] > 1024  # a sum of more may go on in double precision


def test_gradients_of_rows() -> None:
    """Sums of columns are begun in the same pass, block by block."""
    layer = torch.nn.Sequential(torch.nn.LayerNorm(256), torch.nn.GELU(), torch.nn.Softmax(-1))
    x = torch.randn(70, 256)
    target = torch.randn(70, 256)
    found = []
    for run in (layer, torch.compile(layer)):
        for _ in range(2):
            layer.zero_grad()
            given = x.clone().requires_grad_()
            (run(given) * target).sum().backward()
        found.append([given.grad.numpy(), *(each.grad.numpy() for each in layer.parameters())])
    for want, got in zip(*found):
        np.testing.assert_allclose(got, want, rtol=3e-4, atol=1e-5)


def test_strange_numbers() -> None:
    """NaN, infinities and zeros, in folds and outside."""
    nan, inf = float("nan"), float("inf")
    x = torch.randn(6, 64)
    x[0, 3], x[1, 60], x[2, 5], x[3] = nan, inf, -inf, 0.0
    assert_matches_eager(lambda x: (x.amax(1), x.amin(1), x.sum(1), x.softmax(1), x.exp(), x.tanh()), x)
    found = torch.compile(lambda x: x * 2)(torch.full((64,), -0.0))
    assert np.signbit(found.numpy()).all()


@pytest.mark.parametrize("size", [64, 100, 7])
def test_angles(size: int) -> None:
    """A function that is used often is called: for vectors, and for what is left over; far angles too."""
    x = torch.randn(size) * 3
    x[0], x[size // 2] = 1e30, -3e6
    factors = (1.0, 0.5, 3.0, 1e3, 7e5)

    def function(x: Any) -> Any:
        return tuple([each for factor in factors for each in ((x * factor).sin(), (x * factor).cos())])

    compiled = torch.compile(function)
    with torch.no_grad():
        compiled(x)
        found = compiled(x)
    for number, factor in enumerate(factors):
        angle = (x * factor).numpy().astype(np.float64)  # NumPy is exact to the last digits for any angle in double precision
        np.testing.assert_allclose(found[2 * number].numpy(), np.sin(angle), rtol=2.5e-7, atol=1e-9)
        np.testing.assert_allclose(found[2 * number + 1].numpy(), np.cos(angle), rtol=2.5e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sinh", "expm1", "log1p", "log2", "exp2"])
def test_called_functions_are_those_that_are_written_out(name: str) -> None:
    """The same bits, called for vectors and called for one."""
    x = torch.rand(64) + 0.1

    def often(x: Any) -> Any:
        made = [getattr(x * factor, name)() for factor in (1.0, 0.9, 0.8, 0.7, 0.6)]
        return made[0], made[4]

    def once(x: Any) -> Any:
        return getattr(x * 1.0, name)(), getattr(x * 0.6, name)()

    with torch.no_grad():
        results = []
        for function in (often, once):
            compiled = torch.compile(function)
            for given in (x, x[:37].clone()):
                compiled(given)
                results.append([each.numpy() for each in compiled(given)])
    for a, b in ((0, 2), (1, 3)):
        for one, other in zip(results[a], results[b]):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [lambda x: x + x[0], lambda x: (x * x[1]).exp(), lambda x: (x - x[:, :1] + x[2]).sum(-1)])
def test_two_views_of_one_buffer(function):
    """Loads of one buffer with the same innermost stride and offset, but other outer strides, are two loads."""
    x = torch.randn(64, 1024, generator=torch.Generator().manual_seed(0)) * 0.1
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function)(x), function(x), rtol=1e-5, atol=1e-5)
