"""Pooling as native code against the NumPy kernels: every sample of the ops, many shapes, ties, NaN, and any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiled import another_thread_count

import rushlight
import rushlight.nn.functional as F
from rushlight.core import kernel_providers
from rushlight.core.declare import table

pytest.importorskip("llvmlite")
from rushlight.backends.native.eager import ops
from rushlight.schedule.tensor_ir import Call


def expected(name: str, args: tuple[Any, ...]) -> list[Any]:
    """What eager mode finds."""
    made = table[name].call(*[rushlight.tensor(each) if isinstance(each, np.ndarray) else each for each in args])
    return [each.numpy() for each in (made if isinstance(made, (tuple, list)) else (made,))]


def assert_native_pooling(name: str, *args: Any) -> list[Any]:
    """Native code, all of it, finds what eager mode does, on any number of threads."""
    program = ops.program_for(name, args)
    assert not any(isinstance(part, Call) for part in program.parts), program.describe()
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    found, wanted = program(arrays), expected(name, args)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-6 if one.dtype != np.float64 else 1e-14, 1e-6 if one.dtype != np.float64 else 1e-14)
    with another_thread_count():
        for one, other in zip(program(arrays), found):
            np.testing.assert_array_equal(one, other)
    return wanted


def numbers(*shape: int, seed: int = 0, dtype: str = "f", ties: bool = False) -> Any:
    random = np.random.default_rng(seed)
    return (random.integers(0, 3, shape) if ties else random.standard_normal(shape)).astype(dtype)


@st.composite
def pools(draw: Any) -> tuple[Any, ...]:
    ndim = draw(st.integers(1, 3))
    several = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(ndim))
    kernel = several(1, 4)
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    size = tuple(draw(st.integers(k, (40, 15, 7)[ndim - 1])) for k in kernel)
    lead = (draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    return (
        ndim,
        numbers(*lead, *size, dtype=draw(st.sampled_from("fd")), ties=draw(st.booleans())),
        kernel,
        several(1, 3),
        padding,
        draw(st.booleans()),
    )


@settings(max_examples=25, deadline=None, derandomize=True)
@given(pools())
def test_maxima(pool: tuple[Any, ...]) -> None:
    ndim, x, kernel, stride, padding, ceil_mode = pool
    options = (kernel, stride, padding, 1, ceil_mode)
    values, _ = assert_native_pooling(f"max_pool{ndim}d_with_indices", x, *options)
    assert_native_pooling(f"max_pool{ndim}d", x, *options)
    grad = numbers(*values.shape, seed=1, dtype=x.dtype.char)
    assert_native_pooling("max_pool_backward", grad, x, values, ndim, *options)
    assert_native_pooling("max_pool_select", numbers(*x.shape, seed=2, dtype=x.dtype.char), x, values, ndim, *options)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(pools(), st.booleans(), st.sampled_from([None, None, 3]))
def test_means(pool: tuple[Any, ...], padding_counts: bool, override: Any) -> None:
    ndim, x, kernel, stride, padding, ceil_mode = pool
    if ndim == 1:
        override = None
    options = (kernel, stride, padding, ceil_mode, padding_counts)
    (made,) = assert_native_pooling(f"avg_pool{ndim}d", x, *options, *([] if ndim == 1 else [override]))
    assert_native_pooling("avg_pool_backward", numbers(*made.shape, seed=1, dtype=x.dtype.char), x.shape, ndim, *options, override)


@pytest.mark.parametrize(
    "shape, counts", [((9,), (4,)), ((12, 9), (4, 3)), ((7, 10), (3, 4)), ((5, 6), (7, 2)), ((8, 8), (1, 1)), ((4, 5, 6), (2, 3, 4))]
)
def test_adaptive_pooling(shape: Any, counts: Any) -> None:
    ndim = len(shape)
    for dtype in "fd":
        x = numbers(2, 3, *shape, dtype=dtype)
        assert_native_pooling(f"adaptive_avg_pool{ndim}d", x, counts)
        assert_native_pooling(f"adaptive_max_pool{ndim}d_with_indices", numbers(2, 3, *shape, dtype=dtype, ties=True), counts)
        assert_native_pooling("resample_backward", numbers(2, 3, *counts, seed=1, dtype=dtype), shape, "area", False, (None,) * ndim, False)


def test_dilated_maxima() -> None:
    assert_native_pooling("max_pool2d_with_indices", numbers(2, 2, 9, 11), (2, 3), (1, 2), 0, (3, 2), False)


def test_nan_and_infinity() -> None:
    x = numbers(1, 2, 8, 8)
    x[0, 0, ::3, ::2] = np.nan
    x[0, 1] = -np.inf
    assert_native_pooling("max_pool2d_with_indices", x, 3, 2, 1, 1, False)
    assert_native_pooling("adaptive_max_pool2d_with_indices", x, (3, 3))


def test_a_model_with_pools_is_one_call() -> None:
    rushlight.manual_seed(0)
    nn = rushlight.nn
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AvgPool2d(2),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))  # fmt: skip
    x = rushlight.randn(4, 3, 16, 16)
    compiled = rushlight.compile(model, backend="native")
    gradients = []
    for run in (model, compiled, compiled):
        model.zero_grad()
        F.cross_entropy(run(x), rushlight.tensor([0, 1, 2, 3])).backward()
        gradients.append([each.grad.numpy().copy() for each in model.parameters()])
    for found in gradients[1:]:
        for one, other in zip(found, gradients[0]):
            np.testing.assert_allclose(one, other, 1e-3, 1e-5)


@pytest.mark.parametrize("name", ("max", "max and places", "mean"))
def test_large_pools_of_eager_mode_are_native(name: str) -> None:
    rushlight.manual_seed(0)
    x = rushlight.randn(32, 16, 40, 41, requires_grad=True)

    def step() -> list[Any]:
        x.grad = None
        if name == "mean":
            y, *others = (F.avg_pool2d(x, 3, 2, [1, 1]),)
        else:
            made = F.max_pool2d(x, [3, 2], 2, 1, return_indices=name != "max")
            y, *others = made if isinstance(made, tuple) else (made,)
        (y * y).sum().backward()
        return [each.detach().numpy() for each in (y, x.grad, *others)]

    ops._programs.clear()
    first = step()
    assert len(ops._programs) == 2 and all(hasattr(each, "parts") for each in ops._programs.values())
    for one, other in zip(step(), first):
        np.testing.assert_array_equal(one, other)
    kernel_providers.switch_off()
    try:
        for one, other in zip(step(), first):
            np.testing.assert_allclose(one, other, 1e-5, 1e-6)
    finally:
        kernel_providers.switch_on()
        ops._programs.clear()


def test_small_pools_stay_with_numpy() -> None:
    ops._programs.clear()
    F.max_pool2d(rushlight.randn(2, 3, 8, 8), 2)
    assert not ops._programs


@pytest.mark.parametrize(
    ("shape", "size", "mode"),
    [
        ((2, 3, 7), (13,), "linear"), ((2, 3, 7, 9), (14, 5), "bilinear"), ((2, 3, 7, 9), (7, 5), "bilinear"), ((2, 3, 7, 9), (3, 20), "bicubic"),
        ((2, 3, 7, 9), (7, 9), "bicubic"), ((1, 2, 3, 4, 5), (6, 4, 1), "trilinear"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("aligned", [False, True])
def test_interpolation(shape: tuple[int, ...], size: tuple[int, ...], mode: str, aligned: bool) -> None:
    """Weighted neighbours along each dimension, which fuse, give what the kernel gives; gradients too."""
    for dtype, tolerance in ((rushlight.float32, 1e-5), (rushlight.float64, 1e-12)):
        x = rushlight.randn(*shape, generator=rushlight.Generator().manual_seed(0)).to(dtype).requires_grad_()

        def function(x: rushlight.Tensor) -> rushlight.Tensor:
            return rushlight.nn.functional.interpolate(x, size, mode=mode, align_corners=aligned)

        run = rushlight.compile(function, backend="native")
        wanted = function(x)
        (gradient,) = rushlight.autograd.grad(wanted.square().sum(), x)
        for _ in range(2):
            found = run(x)
            rushlight.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)
            rushlight.testing.assert_close(
                rushlight.autograd.grad(found.square().sum(), x)[0], gradient, rtol=10 * tolerance, atol=10 * tolerance
            )
