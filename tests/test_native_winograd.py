"""Convolutions with fewer multiplications: the sums themselves, many shapes against NumPy, when they are used, and how exact they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight

pytest.importorskip("llvmlite")
from test_native_convolutions import Case, assert_native_convolution, native

from rushlight.backends.native.eager import ops
from rushlight.codegen.llvm.conv import cost, winograd, winograd_batched, winograd_transforms
from rushlight.codegen.llvm.conv.winograd_transforms import axis_for
from rushlight.codegen.llvm.gemm.choose import choose_tile
from rushlight.codegen.llvm.vectors import lanes
from rushlight.ops.nn.convolution_kernels import convolve
from rushlight.runtime.cpu.jit import jit


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every convolution that can be is done with fewer multiplications."""
    monkeypatch.setattr(cost, "FEWEST", 1)
    monkeypatch.setattr(cost, "SAVING", 0.0)
    monkeypatch.setattr(cost, "UNITS", 1)


@pytest.mark.parametrize("stride", (1, 2))
@pytest.mark.parametrize("padding", (0, 1, 2, 3))
def test_sums_along_one_dimension(stride: int, padding: int) -> None:
    """A tile of results is what a convolution has there; whole numbers, so nothing is rounded."""
    random = np.random.default_rng(padding)
    source, weight = random.integers(-9, 9, 24), random.integers(-9, 9, 3) * 2
    padded = np.concatenate([np.zeros(8), source, np.zeros(16)])
    for transposed in (False, True):
        axis = axis_for(stride, padding, transposed)
        if transposed:
            long = np.zeros(24 * stride + 2)
            for at, each in enumerate(source):
                long[at * stride : at * stride + 3] += each * weight
            expected = np.concatenate([long[padding:], np.zeros(8)])
        else:
            begin = 8 - padding
            expected = np.array([padded[begin + at * stride : begin + at * stride + 3] @ weight for at in range(12)])
        for tile in range(3):
            first = 8 + axis.begin + tile * axis.step
            products = (np.array(axis.source) @ padded[first : first + axis.reach]) * (np.array(axis.weight) @ weight)
            count = len(axis.result)
            np.testing.assert_array_equal(np.array(axis.result) @ products, expected[tile * count : (tile + 1) * count])


def test_products_are_fewer() -> None:
    plain, steps, back = (axis_for(stride, 1, transposed) for stride, transposed in ((1, False), (2, False), (2, True)))
    assert [len(each.source) for each in (plain, steps, back)] == [4, 5, 5]
    assert [len(each.result) for each in (plain, steps, back)] == [2, 2, 4]


@st.composite
def cases(draw: Any) -> Case:
    several = lambda low, high: (draw(st.integers(low, high)), draw(st.integers(low, high)))
    size = draw(st.integers(4, 20)), draw(st.sampled_from((6, 7, 8, 13, 16, 33, 40)))
    return Case(size, (3, 3), several(1, 2), several(0, 2), (1, 1), draw(st.integers(1, 2)), draw(st.integers(1, 20)), draw(st.integers(1, 20)),
                draw(st.integers(1, 9)), dtype=draw(st.sampled_from("ffd")))  # fmt: skip


@settings(max_examples=15, deadline=None, derandomize=True)
@given(case=cases())
def test_any_shape(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FEWEST", "SAVING", "UNITS"):
            patch.setattr(cost, name, 0 if name != "UNITS" else 1)
        if case.possible:
            assert_native_convolution(case)


def test_strips(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "SUM_BYTES", 40_000)
    monkeypatch.setattr(cost, "NEAR_BYTES", 10_000)
    assert_native_convolution(Case((45, 19), (3, 3), (1, 1), (1, 1), (1, 1), 1, 8, 37, 3))
    assert_native_convolution(Case((50, 47), (3, 3), (2, 2), (1, 1), (1, 1), 2, 9, 16, 3))


def used(case: Case, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of a convolution, its transpose and the gradient of its weights: whether multiplications are saved."""
    seen: list[str] = []
    for kind in (winograd.WinogradConvolution, winograd.WinogradWeightGradient):
        monkeypatch.setattr(kind, "write", lambda self, *rest, original=kind.write: seen.append("") or original(self, *rest))
    found = []
    for name, (args, _) in case.calls().items():
        ops.program_for("convolution" if name == "transposed" else name, args)
        found.append(bool(seen))
        seen.clear()
    return found


def test_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    yes, no = [True] * 3, [False] * 3
    assert used(Case((16, 16), (3, 3), (2, 2), (1, 1), (1, 1), 1, 16, 32, 8), monkeypatch) == yes
    assert used(Case((14, 14), (3, 3), (1, 1), (1, 1), (1, 1), 1, 32, 16, 8), monkeypatch) == yes
    assert used(Case((16, 16), (3, 3), (1, 1), (1, 1), (1, 1), 1, 3, 32, 8), monkeypatch) == no  # few channels
    small = used(Case((3, 3), (3, 3), (1, 1), (1, 1), (1, 1), 1, 32, 32, 8), monkeypatch)
    fits = lanes("float") <= 4  # otherwise most of a vector of 4 tiles would be empty; a gradient of weights takes those of several images
    assert small == [fits, fits, True]
    assert used(Case((16, 16), (3, 3), (1, 1), (2, 2), (2, 2), 1, 16, 16, 8), monkeypatch) == no
    assert used(Case((16, 16), (5, 3), (1, 1), (1, 1), (1, 1), 1, 16, 16, 8), monkeypatch) == no


def test_what_is_saved_must_pay_for_the_sums() -> None:
    def saves(plain: float, fewer: float, rows: int, channels: int) -> bool:
        return cost.saves(cost.ConvolutionCost(plain, 9, 1 << 20), cost.ConvolutionCost(fewer, 16, 1 << 20), rows, channels)

    assert saves(36, 25, 64, 32) and saves(36, 16, 16, 16)
    assert not saves(36, 33, 64, 64) and not saves(36, 16, 15, 64) and not saves(36, 16, 64, 15)
    large = 1 << 24  # weights that no cache holds
    assert not cost.saves(cost.ConvolutionCost(9 * 49, 9, large), cost.ConvolutionCost(16 * 16, 16, large), 512, 512)
    assert cost.saves(cost.ConvolutionCost(9 * 784, 9, large), cost.ConvolutionCost(16 * 208, 16, large), 512, 512)


def test_tiles_of_a_product() -> None:
    for vectors in range(1, 20):
        for rows in (None, 27, 36, 64):
            height, width = choose_tile(rows, vectors)
            assert vectors % width == 0 and height * width + width + 1 <= jit().processor.registers
            assert rows is None or height <= 9
    assert choose_tile(27, 2)[0] in (4, 9)  # no row is left over, or few


def test_memory_fits_the_cache() -> None:
    for channels, size, target in ((32, (32, 32), (16, 16)), (64, (56, 56), (56, 56)), (512, (14, 14), (14, 14))):
        axes = winograd_transforms.WinogradAxes(*(axis_for(size[0] // target[0], 1, False),) * 2)
        tiles = winograd.WinogradTiles("float", axes, size, target, channels, 1)
        assert tiles.rows == 1 or tiles.panel_bytes <= 1.3 * cost.SUM_BYTES
        assert tiles.block * 4 % 4096, "matrices that compete for one place in the cache"


def test_results_are_as_exact_as_those_of_plain_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case((16, 16), (3, 3), (2, 2), (1, 1), (1, 1), 1, 32, 32, 8)
    for name, (args, expected) in case.calls().items():
        errors = []
        for saving in (0.0, 100.0):
            monkeypatch.setattr(cost, "SAVING", saving)
            program, arrays = native(name, args)
            errors.append(float(np.sqrt(np.mean((program(arrays)[0] - expected) ** 2))))
        assert errors[0] < 3 * errors[1], name


def test_nan_and_infinity_stay_where_they_belong() -> None:
    """Where a window has one, the result is no number; other results are not touched."""
    input, weight = np.ones((8, 16, 12, 16), np.float32), np.ones((16, 16, 3, 3), np.float32)
    input[0, 0, 0, 0], input[1, 3, 5, 8] = np.nan, np.inf
    for stride in ((1, 1), (2, 2)):
        program, arrays = native("convolution", (input, weight, None, stride, (1, 1), (1, 1), False, (0, 0), 1))
        found, expected = program(arrays)[0], convolve(np, input, weight, None, stride, [(1, 1)] * 2, (1, 1), 1)
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
        np.testing.assert_array_equal(found[np.isfinite(found)], expected[np.isfinite(expected)])


def test_what_follows_is_computed_image_by_image(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    original = winograd.WinogradConvolution.with_epilogue
    monkeypatch.setattr(winograd.WinogradConvolution, "with_epilogue", lambda self, *rest: seen.append(self) or original(self, *rest))
    nn = rushlight.nn
    rushlight.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(16, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 16, 3, 1, 1), nn.ReLU())
    compiled = rushlight.compile(model, backend="native")
    x = rushlight.randn(9, 16, 16, 32)
    found = []
    for run in (model, compiled, compiled):
        model.zero_grad()
        (run(x) ** 2).mean().backward()
        found.append([each.grad.numpy().copy() for each in model.parameters()])
    for gradients in found[1:]:
        for one, other in zip(gradients, found[0]):
            np.testing.assert_allclose(one, other, 2e-3, 1e-5)
    assert seen


def test_gradients_of_weights_fall_into_enough_units() -> None:
    """Few images, or weights too large for many sums of them: then channels are split."""
    for channels, size, images in ((256, 14, 32), (64, 56, 1), (512, 8, 16)):
        found: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            for kind in (winograd.WinogradWeightGradient, winograd_batched.BatchedWinogradWeightGradient):
                original = kind.scratch
                patch.setattr(kind, "scratch", lambda self, found=found, original=original: found.append(self) or original(self))
            input, grad = (np.zeros((images, channels, size, size), np.float32) for _ in range(2))
            ops.program_for("convolution_weight_gradient", (input, grad, (3, 3), (1, 1), (1, 1), (1, 1), 1))
        assert found[0].units >= cost.UNITS
        assert found[0].parts * found[0].part * 4 <= max(cost.PARTIAL_BYTES, 4 * found[0].part)


def test_channels_that_are_split(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "UNITS", 8)
    assert_native_convolution(Case((20, 18), (3, 3), (1, 1), (1, 1), (1, 1), 2, 32, 17, 1))
