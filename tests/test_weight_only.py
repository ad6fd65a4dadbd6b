"""Products with weights of 8 and 4 bits, by PyTorch's private names: by NumPy, natively, and in compiled programs."""

import numpy as np
import pytest

import rushlight
from rushlight.compat.weight_only import _convert_weight_to_int4pack_for_cpu as pack
from rushlight.compat.weight_only import _int_mm, _weight_int4pack_mm_for_cpu, _weight_int8pack_mm
from rushlight.core.declare import table
from rushlight.core.kernel_providers import SWITCH

SIZES = [(1, 32, 64), (3, 48, 192), (6, 16, 256), (4, 80, 32)]


def given(rows, width, depth, group=32):
    random = np.random.default_rng(rows)
    x = random.standard_normal((rows, depth)).astype(np.float32)
    values = random.integers(0, 16, (width, depth)).astype(np.int32)
    numbers = random.random((depth // group, width, 2)).astype(np.float32)
    grouped = (values.reshape(width, -1, group) - 8) * numbers[..., 0].T[..., None] + numbers[..., 1].T[..., None]
    return rushlight.tensor(x), rushlight.tensor(values), rushlight.tensor(numbers), x @ grouped.reshape(width, depth).T


def bytes_given(rows, width, depth):
    random = np.random.default_rng(width)
    x, w = random.standard_normal((rows, depth)).astype(np.float32), random.integers(-128, 128, (width, depth)).astype(np.int8)
    scales = random.random(width).astype(np.float32)
    return *map(rushlight.tensor, (x, w, scales)), (x @ w.T.astype(np.float32)) * scales


@pytest.mark.parametrize("rows, width, depth", [*SIZES, (2, 33, 37)])
def test_int8_first_later_and_compiled(rows, width, depth):
    *args, wanted = bytes_given(rows, width, depth)
    compiled = rushlight.compile(_weight_int8pack_mm)
    for number in range(SWITCH + 2):
        made = _weight_int8pack_mm(*args)
        if number in (0, SWITCH + 1):
            assert np.abs(made.numpy() - wanted).max() < 1e-5 * np.abs(wanted).max()
    for _ in range(2):
        assert np.abs(compiled(*args).numpy() - wanted).max() < 1e-5 * np.abs(wanted).max()
    assert np.abs(table["_weight_int8pack_mm"].body(*args).numpy() - wanted).max() < 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("group", [32, 64])
@pytest.mark.parametrize("rows, width, depth", SIZES)
def test_int4_first_later_and_compiled(rows, width, depth, group):
    if depth % group:
        pytest.skip("no whole groups")
    x, values, numbers, wanted = given(rows, width, depth, group)
    packed = pack(values, 2)
    assert packed.shape == (width, depth // 2) and packed.dtype == rushlight.uint8
    compiled = rushlight.compile(lambda x, w, n: _weight_int4pack_mm_for_cpu(x, w, group, n))
    for number in range(SWITCH + 2):
        made = _weight_int4pack_mm_for_cpu(x, packed, group, numbers)
        if number in (0, SWITCH + 1):
            assert np.abs(made.numpy() - wanted).max() < 2e-5 * np.abs(wanted).max()
    assert np.abs(compiled(x, packed, numbers).numpy() - wanted).max() < 2e-5 * np.abs(wanted).max()
    assert np.abs(table["_weight_int4pack_mm_for_cpu"].body(x, packed, group, numbers).numpy() - wanted).max() < 2e-5 * np.abs(wanted).max()


def test_half_precision_is_computed_in_float32():
    *args, wanted = bytes_given(2, 32, 64)
    made = _weight_int8pack_mm(args[0].bfloat16(), args[1], args[2].bfloat16())
    assert made.dtype == rushlight.bfloat16
    assert np.abs(made.float().numpy() - wanted).max() < 0.02 * np.abs(wanted).max()


def test_bytes_times_bytes_are_exact():
    random = np.random.default_rng(0)
    a, b = random.integers(-128, 128, (3, 2000)).astype(np.int8), random.integers(-128, 128, (2000, 5)).astype(np.int8)
    made = _int_mm(rushlight.tensor(a), rushlight.tensor(b))
    assert made.dtype == rushlight.int32 and np.array_equal(made.numpy(), a.astype(np.int64) @ b.astype(np.int64))


def test_names_of_pytorch():
    x, w, scales, wanted = bytes_given(1, 16, 32)
    assert np.allclose(rushlight.ops.aten._weight_int8pack_mm(x, w, scales).numpy(), wanted, rtol=1e-4)
    assert rushlight.ops.aten._int_mm(w, w.t()).dtype == rushlight.int32


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: _weight_int8pack_mm(rushlight.ones(2, 4), rushlight.ones(3, 4), rushlight.ones(3)), "expect B to be int8"),
        (lambda: _weight_int8pack_mm(rushlight.ones(2, 4).double(), rushlight.ones(3, 4).to(rushlight.int8), rushlight.ones(3)), "16-bit float"),
        (lambda: _weight_int8pack_mm(rushlight.ones(2, 4), rushlight.ones(3, 4).to(rushlight.int8), rushlight.ones(2)), "scales to be 1d tensor with size 3"),
        (lambda: pack(rushlight.ones(16, 8).long(), 2), "expect weight to be kInt"),
        (lambda: pack(rushlight.ones(15, 8).int(), 2), "expect N to be dividable by 16"),
        (lambda: pack(rushlight.ones(16, 7).int(), 2), "expect K to be dividable by 2"),
        (lambda: _int_mm(rushlight.ones(2, 3).int(), rushlight.ones(3, 2)), "self dtype to be int8 or uint8"),
        (lambda: _int_mm(rushlight.ones(2, 3), rushlight.ones(2, 2)), r"needs to match mat2.size\(0\) but got 3 and 2"),
        (lambda: _weight_int4pack_mm_for_cpu(rushlight.ones(1, 32), rushlight.ones(16, 16).byte(), 33, rushlight.ones(1, 16, 2)), "got 33"),
    ],
)  # fmt: skip
def test_what_pytorch_refuses(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()
