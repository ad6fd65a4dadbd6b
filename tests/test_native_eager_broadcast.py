"""Eager ops on broadcast and strided arrays: compiled loops and copies give NumPy's bits and strides."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight.core import kernel_providers
from rushlight.core.declare import table

pytest.importorskip("llvmlite")
from rushlight.backends.native.eager import copies, pointwise

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.le,
    operator.lt,
    operator.ge,
    operator.gt,
    operator.eq,
    operator.ne,
]
SHAPES = [
    ((64, 1024), (64, 1024)), ((8, 16, 32, 32), (1, 16, 1, 1)), ((512, 128), (128,)), ((512, 128), (512, 1)), ((1 << 16,), (1,)),
    ((40, 40, 41), (40, 1, 41)), ((1 << 16, 2), (2,)), ((2, 1 << 15), (2, 1)), ((3, 5, 7, 11, 64), (3, 1, 7, 1, 64)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def several_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four threads, and loops that are used from the first call on."""
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(4)
    monkeypatch.setattr(kernel_providers, "SWITCH", 0)
    yield
    rushlight.set_num_threads(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    made = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    made.flat[:1] = 0
    made.flat[7:10] = np.nan, np.inf, 0
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("function", OPERATORS, ids=lambda each: each.__name__)
def test_binary_ops(function: Any, dtype: Any) -> None:
    for first, second in SHAPES:
        a, b = numbers(first, dtype, 0), numbers(second, dtype, 1)
        x, y = rushlight.from_numpy(a), rushlight.from_numpy(b)
        with np.errstate(all="ignore"):
            cases = [(function(x, y), function(a, b)), (function(y, x), function(b, a))]
            cases += [(function(x, 2.5), function(a, dtype(2.5))), (function(x, 3), function(a, dtype(3)))]
        for made, expected in cases:
            assert made.numpy().dtype == expected.dtype and made.numpy().strides == expected.strides
            np.testing.assert_array_equal(made.numpy(), expected)


def test_broadcast_operands_run_in_a_loop() -> None:
    pointwise._loops.clear()
    rushlight.randn(8, 16, 32, 32) * rushlight.randn(1, 16, 1, 1)
    assert [key[0] for key, loop in pointwise._loops.items() if loop is not None] == ["multiply"]


def test_random_shapes() -> None:
    chosen = random.Random(0)
    for _ in range(150):
        full = tuple(chosen.choice([1, 2, 3, 16, 20, 64]) for _ in range(chosen.randint(1, 4)))
        others = []
        for _ in range(2):
            shape = tuple(size if chosen.random() < 0.5 else 1 for size in full)
            others.append(shape[chosen.randint(0, len(full) - 1) :] if chosen.random() < 0.4 else shape)
        arrays = [np.random.default_rng(at).normal(size=shape).astype(np.float32) for at, shape in enumerate((full, *others))]
        chosen.shuffle(arrays)
        if pointwise.arranged(arrays) is None:
            continue
        pointwise._variants.clear()
        made = pointwise.run(kernel_table("scale_shift"), arrays, [0, 1, 2], arrays[0].dtype, arrays[0].dtype)
        np.testing.assert_array_equal(made, arrays[0] * arrays[1] + arrays[2])


def kernel_table(name: str) -> Any:
    rushlight.nn.functional.layer_norm(rushlight.ones(2), (2,))  # loads the file of ops
    return table[name]


def test_an_expanded_operand_of_another_shape_is_left_to_numpy() -> None:
    x, y, wide = rushlight.randn(64, 1024), rushlight.randn(1, 1024), rushlight.ones(1).expand(3, 64, 1024)
    made = rushlight.where(wide > 0, x, y)
    np.testing.assert_array_equal(made.numpy(), np.broadcast_to(x.numpy(), (3, 64, 1024)))


@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.int64, rushlight.bool, rushlight.bfloat16, rushlight.complex64], ids=str)
def test_where(dtype: Any) -> None:
    condition, x = rushlight.randn(64, 1024) > 0, (rushlight.randn(64, 1024) * 3).to(dtype)
    zero = rushlight.zeros((), dtype=dtype)
    for case in (condition, condition[:, :1].contiguous()):
        expected = np.where(case.numpy(), x.to(rushlight.complex128).numpy(), 0)
        np.testing.assert_array_equal(rushlight.where(case, x, zero).to(rushlight.complex128).numpy(), expected)


def test_copies() -> None:
    chosen, taken = random.Random(0), 0
    for _ in range(300):
        shape = [chosen.choice([1, 2, 3, 8, 16, 17, 64]) for _ in range(chosen.randint(1, 5))]
        source = np.random.default_rng(0).integers(0, 100, size=shape).astype(chosen.choice(["f4", "f8", "i1", "i2", "c16"]))
        order = list(range(len(shape) - 1))
        chosen.shuffle(order)
        source = source.transpose([*order, len(shape) - 1])
        if chosen.random() < 0.2:
            source = np.broadcast_to(source, (3, *source.shape))
        around = np.zeros([size + 2 for size in source.shape], source.dtype)
        target = around[(slice(1, -1),) * source.ndim]
        if copies.run(target, source):
            taken += 1
            assert np.array_equal(target, source) and np.count_nonzero(around) == np.count_nonzero(source)
        else:
            assert not around.any()
    assert taken > 50


def test_reshape_and_cat() -> None:
    x = rushlight.randn(8, 64, 4, 32)
    np.testing.assert_array_equal(x.transpose(1, 2).reshape(32, 2048).numpy(), x.numpy().swapaxes(1, 2).reshape(32, 2048))
    parts = [rushlight.randn(8, 64, size) for size in (128, 1, 300)]
    np.testing.assert_array_equal(rushlight.cat(parts, -1).numpy(), np.concatenate([each.numpy() for each in parts], 2))
    with pytest.raises(RuntimeError, match="[Ss]izes of tensors must match"):
        rushlight.cat(parts, 0)
