"""Large arrays in eager mode: native loops give what the kernels in NumPy give."""

from __future__ import annotations

import numpy as np
import pytest
from support.compiled import thread_count

import rushlight as torch
from rushlight.core import kernel_providers
from rushlight.nn import functional as F

pytest.importorskip("llvmlite")

SIZE = (1 << 19) + 37
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -1e-42, 88.8, -88.8, 104.0, 1e30, -1e30, 1.0, -1.0]


def numbers(dtype, seed=0):
    values = np.random.default_rng(seed).normal(size=SIZE) * 4
    values[: len(SPECIAL)] = SPECIAL
    with np.errstate(over="ignore"):
        return torch.tensor(values.astype(dtype))


def plainly(function, *args):
    kernel_providers.switch_off()
    try:
        return function(*args)
    finally:
        kernel_providers.switch_on()


UNARY = {
    name: getattr(torch, name)
    for name in ("exp", "log", "log1p", "log2", "log10", "exp2", "expm1", "sigmoid", "sign", "rsqrt", "erf", "erfc", "abs", "neg", "square", "floor",
                 "round", "isnan", "isinf", "signbit", "reciprocal", "relu", "logit", "frac", "sinc", "acosh", "tan")
}  # fmt: skip
UNARY |= {
    name: getattr(F, name)
    for name in ("silu", "gelu", "softplus", "elu", "selu", "celu", "leaky_relu", "mish", "logsigmoid", "hardswish", "hardsigmoid", "hardtanh", "softsign",
                 "relu6", "tanhshrink", "softshrink", "hardshrink")
}  # fmt: skip
UNARY |= {
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"), "clamp": lambda x: x.clamp(-1, 2), "leaky 0.3": lambda x: F.leaky_relu(x, 0.3),
    "threshold": lambda x: F.threshold(x, 0.5, 7.0), "cube": lambda x: x**3, "nan_to_num": torch.nan_to_num,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, dtype):
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        made, expected = UNARY[name](x).numpy(), plainly(UNARY[name], x).numpy()
    assert made.dtype == expected.dtype
    special = slice(0, len(SPECIAL))
    zeros = expected[special] == 0
    assert np.array_equal(np.signbit(made[special][zeros]), np.signbit(expected[special][zeros]))
    if made.dtype == bool:
        assert np.array_equal(made, expected)
    else:
        close = 2e-6 if dtype is np.float32 else 4e-15
        np.testing.assert_allclose(
            made, expected, rtol=close, atol=close if name in ("erfc", "sinc", "tanhshrink", "gelu", "gelu by tanh", "logit") else 1e-36
        )


BINARY = {
    "add with alpha": lambda a, b: torch.add(a, b, alpha=0.5), "lerp": lambda a, b: torch.lerp(a, b, 0.3), "atan2": torch.atan2,
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5), "maximum": torch.maximum, "fmod": torch.fmod, "remainder": torch.remainder,
    "where": lambda a, b: torch.where(a > b, a, b), "less": lambda a, b: a < b, "xlogy": torch.xlogy, "hypot": torch.hypot,
    "number": lambda a, b: torch.maximum(a, torch.tensor(0.5, dtype=a.dtype)), "divide down": lambda a, b: torch.div(a, b, rounding_mode="floor"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, dtype):
    a, b = numbers(dtype), torch.tensor(np.roll(numbers(dtype, 1).numpy(), 5))
    with np.errstate(all="ignore"):
        made, expected = BINARY[name](a, b).numpy(), plainly(BINARY[name], a, b).numpy()
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=2e-6 if dtype is np.float32 else 4e-15, atol=1e-44)


def test_exp_and_log_are_rounded_once_whatever_the_size():
    x = numbers(np.float32)
    for function in (torch.exp, torch.log):
        with np.errstate(all="ignore"):
            parts = np.concatenate([function(each).numpy() for each in x.split(1 << 12)])
            assert np.array_equal(function(x).numpy(), parts, equal_nan=True)


def test_integers_types_and_layouts():
    whole = torch.arange(SIZE, dtype=torch.int64)
    assert np.array_equal(F.relu(whole - 100).numpy(), np.maximum(np.arange(SIZE) - 100, 0))
    assert torch.allclose(torch.sigmoid(whole), plainly(torch.sigmoid, whole), rtol=2e-6)
    matrix = torch.randn(1 << 10, 1 << 10)
    for view in (matrix.t(), matrix[:, ::2], matrix.flip(0)[3:]):
        assert torch.allclose(F.silu(view), plainly(F.silu, view), rtol=2e-6)
    askew = np.frombuffer(bytearray(4 * SIZE + 1), np.float32, SIZE, 1)
    assert torch.equal(F.silu(torch.from_numpy(askew)), torch.zeros(SIZE))


def test_gradients_in_place_and_out():
    x = numbers(np.float32)[len(SPECIAL) :].clone().requires_grad_()
    F.silu(x).sum().backward()
    kept = x.grad.clone()
    x.grad = None
    plainly(lambda: F.silu(x).sum().backward())
    assert torch.allclose(kept, x.grad, rtol=1e-5, atol=1e-6)
    y = x.detach().clone()
    out = torch.empty_like(y)
    torch.sigmoid(y, out=out)
    assert torch.equal(out, torch.sigmoid(y))
    assert torch.equal(y.sigmoid_(), out)


def test_any_option_works_however_many_there_are():
    x = torch.randn(SIZE)
    for slope in np.linspace(0, 1, 24):
        assert torch.equal(F.leaky_relu(x, float(slope)), torch.where(x > 0, x, x * float(slope)))


ROWS = {
    "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1), "sum": lambda x: x.sum(-1), "sum of all": torch.sum,
    "amax": lambda x: x.amax(-1), "amin": lambda x: x.amin(-1), "amax of all": lambda x: x.amax(), "mean": lambda x: x.mean(-1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("shape", [(700, 1000), (3, 200_003), (524_300, 1), (75_000, 7), (16, 16, 2500)], ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, shape, dtype):
    values = np.random.default_rng(0).normal(size=shape).astype(dtype) * 30
    flat = values.reshape(-1, shape[-1])
    flat[0, 0], flat[1, -1], flat[2] = np.nan, np.inf, -np.inf
    x = torch.tensor(values)
    with np.errstate(all="ignore"):
        made, expected = ROWS[name](x).numpy(), plainly(ROWS[name], x).numpy()
    np.testing.assert_allclose(made, expected, rtol=1e-4 if dtype is np.float32 else 1e-12, atol=1e-5 if dtype is np.float32 else 1e-12)


def test_sums_are_accurate_and_the_same_for_any_number_of_threads():
    x = torch.rand(1 << 22) + 1
    exact = float(np.sum(x.numpy(), dtype=np.float64))
    assert abs(x.sum().item() - exact) < 1e-6 * exact
    rows = x.reshape(2048, 2048)
    several = [x.sum(), rows.softmax(1), F.silu(x)]
    with thread_count(1):
        assert all(torch.equal(a, b) for a, b in zip(several, [x.sum(), rows.softmax(1), F.silu(x)]))
