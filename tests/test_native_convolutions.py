"""Convolutions as native code against the NumPy kernels: many shapes, both gradients, any number of threads, no byte beyond an array."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiled import another_thread_count
from support.processes import run_python

import rushlight
from rushlight.core import kernel_providers
from rushlight.ops.nn.convolution_kernels import convolve, spread, weight_gradient

pytest.importorskip("llvmlite")
from rushlight.backends.native.eager import ops
from rushlight.codegen.llvm.conv import convolution, cost
from rushlight.codegen.llvm.gemm.choose import fastest_tile
from rushlight.schedule.routines.convolution import forward_sweep
from rushlight.schedule.tensor_ir import Call

TOLERANCE = {"f": 3e-6, "d": 1e-14}


class Case:
    """A convolution of some shape, with arrays and the NumPy results in double precision."""

    def __init__(self, size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int, channels: int, rows: int, images: int,
                 extra: Any = None, dtype: str = "f") -> None:  # fmt: skip
        self.size, self.kernel, self.stride, self.padding, self.dilation, self.groups = size, kernel, stride, padding, dilation, groups
        self.counts = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation))
        random = np.random.default_rng(len(size) * 7 + images)
        self.input, self.weight, self.grad, self.bias = (
            random.standard_normal(shape).astype(dtype) for shape in
            ((images, channels * groups, *size), (rows * groups, channels, *kernel), (images, rows * groups, *self.counts), (rows * groups,))
        )  # fmt: skip

    @property
    def possible(self) -> bool:
        return all(count > 0 for count in self.counts)

    def calls(self) -> dict[str, tuple[tuple[Any, ...], Any]]:
        """Of each kernel: the arguments of the op, and what NumPy finds."""
        options = (self.stride, self.padding, self.dilation)
        none = (0,) * len(self.size)
        extra = tuple(n - ((count - 1) * s - 2 * p + d * (k - 1) + 1) for n, count, k, s, p, d in
                      zip(self.size, self.counts, self.kernel, self.stride, self.padding, self.dilation))  # fmt: skip
        pads = [(p, p) for p in self.padding]
        x, w, g, b = (each.astype(np.float64) for each in (self.input, self.weight, self.grad, self.bias))
        back = np.zeros(w.shape[1] * self.groups)
        return {
            "convolution": (
                (self.input, self.weight, self.bias, *options, False, none, self.groups),
                convolve(np, x, w, b, self.stride, pads, self.dilation, self.groups),
            ),
            "transposed": (
                (self.grad, self.weight, back.astype(self.grad.dtype), *options, True, extra, self.groups),
                spread(np, g, w, back, *options, self.groups, self.size),
            ),
            "convolution_weight_gradient": (
                (self.input, self.grad, self.kernel, *options, self.groups),
                weight_gradient(np, x, g, self.kernel, self.stride, pads, self.dilation, self.groups),
            ),
        }


def native(name: str, args: Any) -> Any:
    """The result of native code, which must be all native."""
    program = ops.program_for("convolution" if name == "transposed" else name, args)
    assert not any(isinstance(part, Call) for part in program.parts)
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    return program, arrays


def assert_native_convolution(case: Case) -> None:
    """Native code gives what NumPy does, on any number of threads."""
    for name, (args, expected) in case.calls().items():
        program, arrays = native(name, args)
        found = program(arrays)[0]
        assert found.shape == expected.shape
        scale = np.abs(expected).max(initial=1e-30)
        assert np.abs(found - expected).max(initial=0) <= TOLERANCE[found.dtype.char] * scale * 4, name
        with another_thread_count():
            np.testing.assert_array_equal(program(arrays)[0], found, err_msg=f"{name} depends on the number of threads")


SHAPES = {
    "plain": Case((8, 8), (3, 3), (1, 1), (1, 1), (1, 1), 1, 3, 4, 2),
    "strides": Case((33, 17), (3, 3), (2, 2), (1, 1), (1, 1), 1, 16, 24, 3),
    "more strides": Case((9, 14), (2, 5), (3, 4), (1, 2), (1, 1), 1, 3, 5, 2),
    "one by one": Case((7, 9), (1, 1), (1, 1), (0, 0), (1, 1), 1, 19, 33, 2),
    "one by one, strides": Case((8, 9), (1, 1), (2, 2), (0, 0), (1, 1), 1, 6, 5, 2),
    "one by one, many channels": Case((7, 7), (1, 1), (1, 1), (0, 0), (1, 1), 1, 40, 72, 3),
    "one by one, many channels, strides": Case((15, 13), (1, 1), (2, 2), (0, 0), (1, 1), 1, 33, 50, 4),
    "one by one, deep": Case((5, 9), (1, 1), (1, 1), (0, 0), (1, 1), 1, 400, 20, 2),
    "one by one, double": Case((6, 11), (1, 1), (1, 2), (0, 0), (1, 1), 1, 24, 31, 2, dtype="d"),
    "one by one, three dimensions": Case((3, 4, 5), (1, 1, 1), (1, 2, 1), (0, 0, 0), (1, 1, 1), 1, 18, 17, 2),
    "dilation": Case((12, 11), (3, 2), (1, 2), (2, 1), (2, 3), 1, 4, 6, 2),
    "groups": Case((9, 9), (3, 3), (1, 1), (1, 1), (1, 1), 4, 2, 3, 2),
    "depthwise": Case((10, 20), (3, 3), (1, 1), (1, 1), (1, 1), 8, 1, 1, 2),
    "depthwise, strides": Case((11, 20), (5, 3), (2, 2), (2, 1), (1, 1), 8, 1, 2, 2),
    "one channel out": Case((16, 40), (3, 3), (1, 1), (1, 1), (1, 1), 1, 5, 1, 1),
    "a long row": Case((5000,), (9,), (1,), (4,), (1,), 1, 2, 3, 1),
    "a long row, strides": Case((3001,), (10,), (5,), (3,), (1,), 1, 3, 20, 2),
    "a wide kernel": Case((900,), (40,), (1,), (0,), (2,), 1, 2, 4, 2),
    "three dimensions": Case((4, 6, 7), (2, 3, 3), (1, 2, 1), (1, 1, 0), (1, 1, 1), 1, 3, 5, 2),
    "three dimensions, strides": Case((5, 8, 7), (3, 2, 3), (2, 2, 2), (1, 0, 1), (1, 1, 1), 2, 2, 4, 1),
    "large planes": Case((3, 40, 33), (2, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1, 4, 5, 2),
    "large planes, strides": Case((5, 71, 65), (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1, 4, 5, 1),
    "many channels": Case((6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 1, 700, 40, 1),
    "one image, many rows": Case((61, 30), (3, 3), (1, 1), (1, 1), (1, 1), 1, 8, 100, 1),
    "window as large as the image": Case((7, 7), (7, 7), (1, 1), (0, 0), (1, 1), 1, 5, 9, 3),
    "more padding than image": Case((3, 3), (2, 2), (2, 3), (4, 3), (1, 1), 1, 2, 2, 2),
    "a stride beyond the kernel": Case((13, 10), (2, 1), (5, 3), (0, 0), (1, 1), 1, 3, 4, 2),
    "fewer multiplications": Case((14, 13), (3, 3), (1, 1), (1, 1), (1, 1), 1, 16, 20, 9),
    "fewer multiplications, strides": Case((17, 33), (3, 3), (2, 2), (1, 1), (1, 1), 1, 17, 16, 8),
    "fewer multiplications, all images at once": Case((14, 13), (3, 3), (1, 1), (1, 1), (1, 1), 1, 65, 70, 3),
    "fewer multiplications, strides, all images at once": Case((28, 28), (3, 3), (2, 2), (1, 1), (1, 1), 1, 64, 66, 3),
    "double": Case((13, 16), (3, 3), (2, 1), (1, 1), (1, 1), 2, 3, 4, 2, dtype="d"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    assert_native_convolution(SHAPES[name])


@st.composite
def cases(draw: Any) -> Case:
    ndim = draw(st.integers(1, 3))
    several = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(ndim))
    sizes = several(1, (70, 24, 9)[ndim - 1])
    return Case(sizes, several(1, 5 - ndim // 2), several(1, 3), several(0, 3), several(1, 2), draw(st.integers(1, 3)), draw(st.integers(1, 9)),
                draw(st.integers(1, 18)), draw(st.integers(1, 5)), dtype=draw(st.sampled_from("fd")))  # fmt: skip


@settings(max_examples=25, deadline=None, derandomize=True)
@given(cases())
def test_any_shape(case: Case) -> None:
    if case.possible:
        assert_native_convolution(case)


def test_inputs_that_lie_otherwise() -> None:
    case = SHAPES["strides"]
    args, expected = case.calls()["convolution"]
    turned = np.ascontiguousarray(case.input.swapaxes(1, 3)).swapaxes(1, 3)
    expanded = np.broadcast_to(case.grad[:1, :, :1, :1], case.grad.shape)
    program, arrays = native("convolution", (turned, *args[1:]))
    np.testing.assert_allclose(program(arrays)[0], expected, 1e-4, 1e-4)
    args, _ = case.calls()["convolution_weight_gradient"]
    program, arrays = native("convolution_weight_gradient", (args[0], expanded, *args[2:]))
    expected = weight_gradient(np, case.input, expanded, case.kernel, case.stride, [(1, 1)] * 2, case.dilation, 1)
    np.testing.assert_allclose(program(arrays)[0], expected, 1e-3, 1e-3)


def test_nan_and_infinity_stay_where_they_belong() -> None:
    input, weight = np.ones((1, 2, 6, 9), np.float32), np.ones((3, 2, 3, 3), np.float32)
    input[0, 0, 0, 0], input[0, 1, 5, 8] = np.nan, np.inf
    args = (input, weight, None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1)
    program, arrays = native("convolution", args)
    np.testing.assert_array_equal(program(arrays)[0], convolve(np, input, weight, None, (1, 1), [(1, 1)] * 2, (1, 1), 1))


def test_no_byte_beyond_an_array() -> None:
    """In a process of its own: arrays that end, or begin, where memory that can't be read begins (or ends)."""
    program = """
        import ctypes, mmap, sys
        import numpy as np
        sys.path.insert(0, TESTS)
        import test_native_convolutions as tests
        from rushlight.runtime.cpu import arena

        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        page, held = mmap.PAGESIZE, []

        def guarded(shape, dtype, at_end):
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            length = -(-max(size, 1) // page) * page
            memory = mmap.mmap(-1, length + 2 * page)
            held.append(memory)
            start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            assert protect(start, page, 0) == 0 and protect(start + page + length, page, 0) == 0
            offset = page + (length - size if at_end else 0)
            return np.ndarray(shape, dtype, memory, offset)

        class Guarding:
            at_end = True
            def __getattr__(self, name):
                return getattr(np, name)
            def empty(self, shape, dtype):
                return guarded(shape if isinstance(shape, tuple) else (shape,), dtype, self.at_end)

        arena.np = Guarding()
        for at_end in (True, False):
            Guarding.at_end = at_end
            for name, case in tests.SHAPES.items():
                for kind, (args, expected) in case.calls().items():
                    given = []
                    for each in args:
                        if isinstance(each, np.ndarray):
                            copy = guarded(each.shape, each.dtype, at_end)
                            copy[...] = each
                            each = copy
                        given.append(each)
                    compiled, arrays = tests.native(kind, tuple(given))
                    found = compiled(arrays)[0]
                    assert np.allclose(found, expected, 1e-3, 1e-3), (name, kind)
                    del compiled, arrays, found
        print("fine")
    """
    here = os.path.dirname(os.path.abspath(__file__))
    text = textwrap.dedent(program).replace("TESTS", repr(here))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0 and "fine" in done.stdout, done.stderr[-2000:] or f"ended by signal {-done.returncode}"


# -- the choice of blocks ----------------------------------------------------------------------------------------


def test_tiles_fit_the_registers_and_leave_little_over() -> None:
    for number in (16, 32):
        for rows in (1, 3, 8, 27, 64, 100, 576):
            for vectors in (1, 2, 4, 7, 16, 64):
                height, width = fastest_tile(rows, vectors, number)
                assert height * width + width + 1 <= number
                if rows >= 8:
                    assert height * width >= 8  # enough sums at once that none waits for another


def test_blocks_fit_the_cache() -> None:
    for size, channels in (((224, 224), 64), ((56, 56), 256), ((7, 7), 2048), ((32, 32), 3), ((160_000,), 8), ((16, 112, 112), 32)):
        kernel, ones = (3,) * len(size), (1,) * len(size)
        sweep = forward_sweep(size, kernel, size, ones, ones, ones)
        axis, length, block = cost.blocks(sweep, channels, 4, 32)
        row = int(np.prod(sweep.counts[axis + 1 :]))
        assert 1 <= length <= sweep.counts[axis] and channels % block == 0
        assert block * 3 ** len(size) * length * row * 4 <= 2 * cost.PANEL_BYTES


def test_few_images_give_enough_units() -> None:
    sweep = forward_sweep((64, 64), (3, 3), (64, 64), (1, 1), (1, 1), (1, 1))
    assert 64 // cost.blocks(sweep, 16, 4, 1).length >= cost.UNITS


def test_strips_are_even_where_that_costs_little() -> None:
    assert cost.strip_length(56, 20) == 14
    assert cost.strip_length(61, 20) == 16  # 61 is prime: four strips, the last one shorter
    assert cost.strip_length(5, 100) == 5


# -- eager mode --------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh() -> Any:
    ops._programs.clear()
    yield
    ops._programs.clear()


def test_large_convolutions_of_eager_mode_are_native(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rushlight.manual_seed(0)
    layer = rushlight.nn.Conv2d(16, 32, 3, 2, 1)
    x = rushlight.randn(16, 16, 32, 32, requires_grad=True)

    def step() -> list[Any]:
        x.grad = None
        layer.zero_grad()
        y = layer(x)
        (y * y).sum().backward()
        return [y.detach().numpy(), x.grad.numpy(), layer.weight.grad.numpy(), layer.bias.grad.numpy()]

    first = step()
    assert len(ops._programs) == 3 and all(hasattr(each, "parts") for each in ops._programs.values())
    for found, expected in zip(step(), first):
        np.testing.assert_array_equal(found, expected)
    kernel_providers.switch_off()
    try:
        for found, expected in zip(step(), first):
            np.testing.assert_allclose(found, expected, 2e-4, 2e-4 * np.abs(expected).max())
    finally:
        kernel_providers.switch_on()


def test_small_convolutions_stay_with_numpy(fresh: None) -> None:
    for _ in range(3):
        rushlight.nn.Conv2d(3, 4, 3)(rushlight.randn(2, 3, 8, 8))
    assert not ops._programs


def test_the_number_of_kept_programs_is_bounded(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "LIMIT", 3)
    weight = rushlight.randn(32, 16, 3, 3)
    for height in range(30, 36):
        rushlight.nn.functional.conv2d(rushlight.randn(4, 16, height, 40), weight)
    assert len(ops._programs) == 3


def test_without_llvmlite_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_providers.importlib.util, "find_spec", lambda name: None)
    kernel_providers.switch_on()
    try:
        assert kernel_providers.faster("convolution", 1) is None
    finally:
        kernel_providers.switch_on()


def test_importing_loads_no_compiler() -> None:
    assert run_python("import sys, rushlight; print('llvmlite' in sys.modules)") == "False\n"


# -- what follows a convolution ----------------------------------------------------------------------------------


def followed(name: str) -> Any:
    """A convolution and what is computed from each image while that is in the cache."""
    nn = rushlight.nn
    rushlight.manual_seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.norm = nn.Conv2d(6, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.BatchNorm2d(8)
            self.up = nn.ConvTranspose2d(8, 6, 3, 2, 1, 1)

        def forward(self, x: Any) -> Any:
            y = self.one(x)
            if name == "activation":
                return y.relu()
            if name == "normalised":
                return self.norm(y).relu()
            if name == "residual":
                y = y.relu()
                return (self.norm(self.two(y)) + y).relu()
            if name == "mean":
                return self.norm(y).relu().mean((2, 3))
            if name == "transposed":
                return self.up(y).sigmoid()
            if name == "used twice":
                return y.relu() + y.sum((2, 3), True)
            if name == "over images":
                return y.relu() + y.sum((0, 2, 3), True)
            if name == "returned":
                return y, y.relu()
            raise AssertionError(name)

    return Model().eval()


JOINED = {"activation": 1, "normalised": 1, "residual": 2, "mean": 1, "transposed": 1, "used twice": 1, "over images": 1, "returned": 1}


@pytest.mark.parametrize("name, joined", JOINED.items())
def test_what_follows_is_computed_image_by_image(name: str, joined: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    original = convolution.Im2colConvolution.with_epilogue
    monkeypatch.setattr(convolution.Im2colConvolution, "with_epilogue", lambda self, *rest: seen.append(self) or original(self, *rest))
    model = followed(name)
    compiled = rushlight.compile(model, backend="native")
    with rushlight.no_grad():
        for batch in (16, 9):
            x = rushlight.randn(batch, 6, 12, 10)
            wanted = model(x)
            for _ in range(2):
                for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (compiled(x), wanted))):
                    np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-4, 1e-5)
    assert seen and len(seen) % joined == 0
    seen.clear()
    with rushlight.no_grad():
        x = rushlight.randn(2, 6, 12, 10)  # few images: strips of them are units
        for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (compiled(x), model(x)))):
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-4, 1e-5)
    assert not seen


def test_gradients_of_a_model_are_those_of_eager_mode() -> None:
    model = followed("residual").train()
    x = rushlight.randn(8, 6, 12, 10)
    compiled = rushlight.compile(model, backend="native")
    found = []
    for run in (model, compiled, compiled):
        model.zero_grad()
        (run(x) ** 2).mean().backward()
        found.append([each.grad.numpy().copy() for each in model.parameters() if each.grad is not None])
    for gradients in found[1:]:
        for one, other in zip(gradients, found[0]):
            np.testing.assert_allclose(one, other, 1e-3, 1e-5)


def test_tiles_of_all_images_are_multiplied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for kind in (convolution.BatchedWinogradConvolution, convolution.BatchedWinogradWeightGradient):
        original = kind.write

        def write(self: Any, *rest: Any, original: Any = original) -> Any:
            seen.append(type(self).__name__ + (" transposed" if getattr(self, "transposed", False) else ""))
            return original(self, *rest)

        monkeypatch.setattr(kind, "write", write)
    for name in ("fewer multiplications, all images at once", "fewer multiplications, strides, all images at once"):
        for kind_, (args, _) in SHAPES[name].calls().items():
            native(kind_, args)
    assert seen == 2 * ["BatchedWinogradConvolution", "BatchedWinogradConvolution transposed", "BatchedWinogradWeightGradient"]
