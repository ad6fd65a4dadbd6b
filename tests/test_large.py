"""Large arrays, which are computed in blocks on several threads: the same numbers as NumPy, for any number of threads."""

import math

import numpy as np
import pytest
from support.compiled import thread_count

import rushlight as torch
from rushlight.core.parallel import LARGE

SHAPE = (730, 731)  # a little more than LARGE, and no multiple of the block


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    with thread_count(request.param):
        yield request.param


def arrays(dtype=np.float32):
    stream = np.random.default_rng(0)
    return stream.uniform(0.1, 2, SHAPE).astype(dtype), stream.uniform(0.1, 2, SHAPE).astype(dtype)


@pytest.mark.parametrize("name", ["exp", "log"])
def test_exp_and_log_are_rounded_once(threads, name):
    """NumPy's own float32 forms are off by up to 3 units in the last place."""
    a, _ = arrays()
    expected = getattr(np, name)(a.astype(np.float64)).astype(np.float32)
    for x, want in ((a, expected), (a.reshape(-1)[:50], expected.reshape(-1)[:50])):
        np.testing.assert_array_equal(getattr(torch.from_numpy(x), name)().numpy(), want)


@pytest.mark.parametrize("name", ["tanh", "sqrt", "negative", "log1p"])
def test_unary(threads, name):
    a, _ = arrays()
    assert a.size > LARGE
    made, expected = getattr(torch.from_numpy(a), name)().numpy(), getattr(np, name)(a)
    assert np.abs(made.view(np.int32) - expected.view(np.int32)).max() <= (2 if name == "log1p" else 0)  # units in the last place


def test_binary(threads):
    a, b = arrays()
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    np.testing.assert_array_equal((x * y).numpy(), a * b)
    np.testing.assert_array_equal((x < y).numpy(), a < b)
    np.testing.assert_array_equal((x + 1.5).numpy(), a + np.float32(1.5))
    np.testing.assert_array_equal((x.t() + y.t()).numpy(), (a + b).T)
    np.testing.assert_array_equal((x + y[0]).numpy(), a + b[0])
    one = torch.tensor(1.5).expand(SHAPE)
    for found, wanted in ((one * x, a * np.float32(1.5)), (x - one, a - np.float32(1.5)), (one + one, np.full(SHAPE, 3, np.float32))):
        np.testing.assert_array_equal(found.numpy(), wanted)
    np.testing.assert_array_equal(torch.where(x < y, x, y).numpy(), np.minimum(a, b))
    np.testing.assert_array_equal(
        (x.half() * y.half()).numpy(),
        (a.astype(np.float16).astype(np.float32) * b.astype(np.float16)).astype(np.float16),
    )


def test_products_are_not_pointwise(threads):
    a, b = arrays()
    np.testing.assert_allclose((torch.from_numpy(a) @ torch.from_numpy(b).t()).numpy(), a @ b.T, rtol=1e-4)
    np.testing.assert_allclose(
        torch.matmul(torch.from_numpy(a[:, :730]), torch.from_numpy(b[:, :730])).numpy(),
        a[:, :730] @ b[:, :730],
        rtol=1e-4,
    )
    square = np.ascontiguousarray(a[:730, :730])
    np.testing.assert_allclose((torch.from_numpy(square) @ torch.from_numpy(square)).numpy(), square @ square, rtol=1e-4)


def test_sums_and_softmax(threads):
    a, _ = arrays()
    x = torch.from_numpy(a)
    np.testing.assert_allclose(x.sum().item(), a.sum(dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(x.sum(1).numpy(), a.sum(1, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(x.mean(0).numpy(), a.mean(0, dtype=np.float64), rtol=1e-6)
    wide = np.exp(a.astype(np.float64))
    np.testing.assert_allclose(torch.softmax(x, 1).numpy(), wide / wide.sum(1, keepdims=True), rtol=1e-5)


def test_extremes(threads):
    stream = np.random.default_rng(1)
    a = stream.normal(size=(2200, 1000)).astype(np.float32)  # reading is fast: it takes more of it to pay
    np.testing.assert_allclose(torch.from_numpy(a).sum(1).numpy(), a.sum(1, dtype=np.float64), atol=1e-4)
    a[3, 5] = np.nan
    x = torch.from_numpy(a)
    np.testing.assert_array_equal(x.amax(1).numpy(), a.max(1))
    np.testing.assert_array_equal(x.amin(1, keepdim=True).numpy(), a.min(1, keepdims=True))
    np.testing.assert_array_equal(x.amax(0).numpy(), a.max(0))
    np.testing.assert_array_equal(x.reshape(22, 100, 1000).amin(-1).numpy(), a.min(1).reshape(22, 100))
    values, indices = x.max(1)
    np.testing.assert_array_equal(values.numpy(), a.max(1))
    np.testing.assert_array_equal(indices.numpy(), a.argmax(1))
    np.testing.assert_array_equal(x.argmin(1).numpy(), a.argmin(1))
    assert x.max().isnan() and x[4:].min() == a[4:].min()


def test_activations(threads):
    a = np.linspace(-120, 120, 600_000, dtype=np.float32)  # exp overflows in some blocks
    a[[7, 599_000]] = np.nan, np.inf
    x = torch.from_numpy(a)
    wide = a.astype(np.float64)
    np.testing.assert_allclose(x.sigmoid().numpy(), 1 / (1 + np.exp(-wide)), rtol=1e-6, atol=1e-37)
    np.testing.assert_array_equal(x.relu().numpy(), np.maximum(a, 0))
    np.testing.assert_array_equal(x.double().relu().numpy(), np.maximum(wide, 0))


def test_gelu_and_its_gradient(threads):
    a = np.linspace(-9, 9, 600_001, dtype=np.float32)  # with a 0 in the middle
    assert (a == 0).any()
    wide = a.astype(np.float64)
    below = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in wide])
    x = torch.from_numpy(a).requires_grad_()
    y = torch.nn.functional.gelu(x)
    y.sum().backward()
    np.testing.assert_allclose(y.detach().numpy(), wide * below, rtol=2e-7, atol=4e-7)
    slope = below + wide * np.exp(-0.5 * wide * wide) / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=4e-7, atol=3e-7)
    x.grad = None
    torch.nn.functional.gelu(x).backward(torch.ones(600_001))
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=4e-7, atol=3e-7)


def test_layer_norm(threads):
    a, b = arrays()
    x = torch.from_numpy(a).requires_grad_()
    layer = torch.nn.LayerNorm(SHAPE[1])
    y = layer(x)
    y.backward(torch.from_numpy(b))
    other = torch.from_numpy(a).double().requires_grad_()  # in ops that know nothing of rows and blocks
    scale = (((other - other.mean(1, True)) ** 2).mean(1, True) + layer.eps).rsqrt()
    expected = (other - other.mean(1, True)) * scale
    expected.backward(torch.from_numpy(b).double())
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(x.grad.double(), other.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(layer.bias.grad.numpy(), b.sum(0), rtol=1e-5, atol=1e-5)


def test_attention(threads):
    stream = np.random.default_rng(2)
    parts = [torch.from_numpy(stream.normal(size=(6, 2, 210, 32))).requires_grad_() for _ in range(3)]
    attend = torch.nn.functional.scaled_dot_product_attention
    for factor in (1, 100):  # scores that exp takes as they are, and scores that have to be shifted first
        query, key, value = parts[0] * factor, parts[1], parts[2]
        scores = (query @ key.mT) * 32**-0.5
        expected = scores.masked_fill(torch.ones(210, 210, dtype=torch.bool).triu(1), float("-inf")).softmax(-1) @ value
        y = attend(query, key, value, is_causal=True)
        torch.testing.assert_close(y, expected)
        g = torch.randn_like(y)
        gradients = [torch.autograd.grad(each, parts, g, retain_graph=True) for each in (y, expected)]
        for found, wanted in zip(*gradients):
            torch.testing.assert_close(found, wanted)


def test_an_error_in_a_block_reaches_the_caller(threads):
    x = torch.ones(SHAPE, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="[Zz]ero"):
        torch.div(x, torch.zeros(SHAPE, dtype=torch.int64), rounding_mode="floor")


def test_in_place(threads):
    a, b = arrays()
    x = torch.from_numpy(a.copy())
    x.mul_(torch.from_numpy(b)).add_(1)
    np.testing.assert_array_equal(x.numpy(), a * b + 1)
