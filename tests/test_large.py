"""Large arrays, which are computed in blocks on several threads: the same numbers as NumPy, for any number of threads."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.core.parallel import LARGE, pool

SHAPE = (520, 521)  # a little more than LARGE, and no multiple of the block


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = pool.threads
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def arrays(dtype=np.float32):
    stream = np.random.default_rng(0)
    return stream.uniform(0.1, 2, SHAPE).astype(dtype), stream.uniform(0.1, 2, SHAPE).astype(dtype)


@pytest.mark.parametrize("name", ["exp", "tanh", "sqrt", "negative", "log1p"])
def test_unary(threads, name):
    a, _ = arrays()
    assert a.size > LARGE
    np.testing.assert_array_equal(getattr(torch.from_numpy(a), name)().numpy(), getattr(np, name)(a))


def test_binary(threads):
    a, b = arrays()
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    np.testing.assert_array_equal((x * y).numpy(), a * b)
    np.testing.assert_array_equal((x < y).numpy(), a < b)
    np.testing.assert_array_equal((x + 1.5).numpy(), a + np.float32(1.5))
    np.testing.assert_array_equal((x.t() + y.t()).numpy(), (a + b).T)
    np.testing.assert_array_equal((x + y[0]).numpy(), a + b[0])
    np.testing.assert_array_equal(torch.where(x < y, x, y).numpy(), np.minimum(a, b))
    np.testing.assert_array_equal(
        (x.half() * y.half()).numpy(),
        (a.astype(np.float16).astype(np.float32) * b.astype(np.float16)).astype(np.float16),
    )


def test_products_are_not_pointwise(threads):
    a, b = arrays()
    np.testing.assert_allclose((torch.from_numpy(a) @ torch.from_numpy(b).t()).numpy(), a @ b.T, rtol=1e-4)
    np.testing.assert_allclose(
        torch.matmul(torch.from_numpy(a[:, :520]), torch.from_numpy(b[:, :520])).numpy(),
        a[:, :520] @ b[:, :520],
        rtol=1e-4,
    )
    square = np.ascontiguousarray(a[:520, :520])
    np.testing.assert_allclose(
        (torch.from_numpy(square) @ torch.from_numpy(square)).numpy(), square @ square, rtol=1e-4
    )


def test_sums_and_softmax(threads):
    a, _ = arrays()
    x = torch.from_numpy(a)
    np.testing.assert_allclose(x.sum().item(), a.sum(dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(x.sum(1).numpy(), a.sum(1, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(x.mean(0).numpy(), a.mean(0, dtype=np.float64), rtol=1e-6)
    wide = np.exp(a.astype(np.float64))
    np.testing.assert_allclose(torch.softmax(x, 1).numpy(), wide / wide.sum(1, keepdims=True), rtol=1e-5)


def test_an_error_in_a_block_reaches_the_caller(threads):
    x = torch.ones(SHAPE, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="[Zz]ero"):
        torch.div(x, torch.zeros(SHAPE, dtype=torch.int64), rounding_mode="floor")


def test_in_place(threads):
    a, b = arrays()
    x = torch.from_numpy(a.copy())
    x.mul_(torch.from_numpy(b)).add_(1)
    np.testing.assert_array_equal(x.numpy(), a * b + 1)
