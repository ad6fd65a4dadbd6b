"""Convolution, pooling and resampling where inputs are too large for one block: the splits must not show."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rushlight.core.base import make
from rushlight.core.declare import exports
from rushlight.ops.nn import convolution_kernels, interpolation_kernels, pooling_kernels

CASES = [
    # size, kernel, stride, padding, dilation, groups, channels of a group in and out
    ((9,), (3,), (1,), (1,), (1,), 1, 2, 3),
    ((8, 7), (3, 3), (1, 1), (1, 1), (1, 1), 1, 3, 4),
    ((8, 7), (3, 2), (2, 3), (1, 0), (1, 2), 2, 2, 1),
    ((6, 6), (3, 3), (1, 1), (2, 2), (2, 2), 3, 1, 1),
    ((7, 6), (3, 3), (2, 2), (1, 1), (1, 1), 4, 1, 1),
    ((5, 6), (1, 1), (1, 1), (0, 0), (1, 1), 1, 4, 3),
    ((5, 6), (1, 1), (2, 2), (0, 0), (1, 1), 2, 2, 2),
    ((4, 5, 4), (2, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 2), 1, 2, 2),
]
SPLITS = [(1 << 20, 512), (1 << 8, 4), (1 << 10, 32)]


def windows(array: np.ndarray, kernel: Any, stride: Any, dilation: Any, counts: Any) -> Any:
    """Each place and each tap: (place, tap, the index of the input's element)."""
    for place in itertools.product(*map(range, counts)):
        for tap in itertools.product(*map(range, kernel)):
            yield place, tap, tuple(o * s + k * d for o, k, s, d in zip(place, tap, stride, dilation))


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_and_its_gradients_by_definition(case: Any, split: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size, kernel, stride, padding, dilation, groups, inner, outer = case
    monkeypatch.setattr(convolution_kernels, "PANEL_BYTES", split[0])
    monkeypatch.setattr(convolution_kernels, "ENOUGH_COLUMNS", split[1])
    stream = np.random.default_rng(0)
    batch = 5
    pads = [(p, p) for p in padding]
    x = stream.normal(size=(batch, groups * inner, *size))
    weight = stream.normal(size=(groups * outer, inner, *kernel))
    bias = stream.normal(size=groups * outer)
    result = convolution_kernels.convolve(np, x, weight, bias, stride, pads, dilation, groups)
    grad = stream.normal(size=result.shape)
    border = np.pad(x, [(0, 0), (0, 0), *pads]).reshape(batch, groups, inner, *(n + 2 * p for n, p in zip(size, padding)))
    parts = weight.reshape(groups, outer, inner, *kernel)
    expected = np.zeros((batch, groups, outer, *result.shape[2:]))
    of_input, of_weight = np.zeros_like(border), np.zeros_like(parts)
    grads = grad.reshape(expected.shape)
    for place, tap, source in windows(border, kernel, stride, dilation, result.shape[2:]):
        taps, there, here = parts[(..., *tap)], (..., *source), (..., *place)
        expected[here] += np.einsum("ngi,goi->ngo", border[there], taps)
        of_input[there] += np.einsum("ngo,goi->ngi", grads[here], taps)
        of_weight[(..., *tap)] += np.einsum("ngi,ngo->goi", border[there], grads[here])
    np.testing.assert_allclose(result, expected.reshape(result.shape) + bias.reshape(-1, *[1] * len(size)), atol=1e-12)
    inside = of_input[(..., *(slice(p, p + n) for p, n in zip(padding, size)))].reshape(x.shape)
    spread = convolution_kernels.spread(np, grad, weight, None, stride, padding, dilation, groups, size)
    np.testing.assert_allclose(spread, inside, atol=1e-12)
    found = convolution_kernels.weight_gradient(np, x, grad, kernel, stride, pads, dilation, groups)
    np.testing.assert_allclose(found, of_weight.reshape(weight.shape), atol=1e-12)


@pytest.mark.parametrize("block", [1, 300, 1 << 19])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling_by_definition(block: int, ceil_mode: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling_kernels, "BLOCK_BYTES", block)
    x = np.random.default_rng(1).normal(size=(3, 2, 8, 9))
    values, indices = exports["nn.functional", "max_pool2d"](make(x), (3, 2), (2, 3), (1, 1), (1, 2), ceil_mode, True)
    means = exports["nn.functional", "avg_pool2d"](make(x), (3, 2), (2, 3), (1, 1), ceil_mode, False)
    low = np.pad(x, [(0, 0), (0, 0), (1, 4), (1, 4)], constant_values=-np.inf)
    rows, columns = values._array.shape[2:]
    for i, j in itertools.product(range(rows), range(columns)):
        window = low[:, :, 2 * i : 2 * i + 3, 3 * j : 3 * j + 3 : 2]
        np.testing.assert_array_equal(values._array[:, :, i, j], window.max((2, 3)))
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(3, 2, -1), indices._array.reshape(3, 2, -1), 2), values._array.reshape(3, 2, -1)
    )
    for i, j in itertools.product(*map(range, means._array.shape[2:])):
        window = low[:, :, 2 * i : 2 * i + 3, 3 * j : 3 * j + 2]
        inside = np.isfinite(window)
        expected = np.where(inside, window, 0).sum((2, 3)) / inside.sum((2, 3))
        np.testing.assert_allclose(means._array[:, :, i, j], expected, atol=1e-12)


@pytest.mark.parametrize("mode", ["linear", "cubic", "area", "lanczos"])
@pytest.mark.parametrize("sizes", [((7, 5), (11, 8)), ((9, 12), (4, 5)), ((6, 6), (6, 3))])
def test_resampling_by_matrix_and_by_gathering_agree(mode: str, sizes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size, counts = sizes
    stream = np.random.default_rng(2)
    x, g = stream.normal(size=(2, 3, *size)), stream.normal(size=(2, 3, *counts))
    options = (size, counts, mode, False, (None, None), mode == "lanczos")
    results = []
    for dense, block in ((40, 1 << 18), (0, 1)):
        monkeypatch.setattr(interpolation_kernels, "DENSE_TAPS", dense)
        monkeypatch.setattr(interpolation_kernels, "BLOCK_ELEMENTS", block)
        forward = interpolation_kernels.resample(np, x, *options)
        backward = interpolation_kernels.resample(np, g, *options, backward=True)
        np.testing.assert_allclose((forward * g).sum(), (x * backward).sum(), rtol=1e-10)  # each is the other's transpose
        results.append((forward, backward))
    for by_matrix, by_gathering in zip(*results):
        np.testing.assert_allclose(by_matrix, by_gathering, atol=1e-12)


def test_resampling_keeps_what_is_not_finite_in_its_place() -> None:
    x = np.zeros((1, 1, 1, 8))
    x[..., 0] = np.inf
    result = interpolation_kernels.resample(np, x, (1, 8), (1, 16), "linear", False, (None, None), False)
    assert np.isinf(result[..., :2]).all() and not result[..., 3:].any()


def test_float32_is_as_exact_as_it_can_be() -> None:
    stream = np.random.default_rng(3)
    x, weight = stream.normal(size=(4, 32, 24, 24)), stream.normal(size=(16, 32, 3, 3))
    exact = convolution_kernels.convolve(np, x, weight, None, (1, 1), [(1, 1)] * 2, (1, 1), 1)
    found = convolution_kernels.convolve(np, x.astype(np.float32), weight.astype(np.float32), None, (1, 1), [(1, 1)] * 2, (1, 1), 1)
    assert np.abs(found - exact).max() < 1e-5 * np.abs(exact).max()
