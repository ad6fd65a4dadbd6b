"""Reductions beyond the small samples of the op table: large tensors (other paths of the kernels), call forms, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight.core.base import make
from rushlight.core.declare import exports

stream = np.random.default_rng(0)
SHAPES = [(20_001,), (150, 201), (3000, 7), (7, 3000), (20_000, 3), (5, 60, 70), (3, 40, 11, 13), (1, 9000), (2, 9001)]


def dims_of(shape: tuple[int, ...]) -> list[Any]:
    count = len(shape)
    found: list[Any] = [None, *range(count)]
    if count > 2:
        found += [(0, 1), (0, count - 1), (1, count - 1), (-1, -2)]
    return found


CASES = [(shape, dim) for shape in SHAPES for dim in dims_of(shape)]


@pytest.mark.parametrize(("shape", "dim"), CASES)
@pytest.mark.parametrize("keepdim", [False, True])
def test_large_sums_and_means(shape: tuple[int, ...], dim: Any, keepdim: bool) -> None:
    array = stream.uniform(0, 1, shape).astype(np.float32)
    exact = array.astype(np.float64).sum(axis=dim, keepdims=keepdim)
    result = make(array).sum(dim, keepdim)._array
    assert result.shape == np.shape(exact) and result.dtype == np.float32
    np.testing.assert_allclose(result, exact, rtol=1e-6)
    mean = array.astype(np.float64).mean(axis=dim, keepdims=keepdim)
    np.testing.assert_allclose(make(array).mean(dim, keepdim)._array, mean, rtol=1e-6)
    variance = array.astype(np.float64).var(axis=dim, keepdims=keepdim)
    np.testing.assert_allclose(make(array).var(dim, False, keepdim)._array, variance, rtol=1e-5)


def test_long_sums_round_little() -> None:
    for shape, dim in [((1 << 20,), 0), ((1 << 18, 4), 0), ((1 << 14, 64), 0), ((4, 1 << 18), 1)]:
        array = stream.uniform(0, 1, shape).astype(np.float32)
        np.testing.assert_allclose(make(array).sum(dim)._array, array.sum(axis=dim, dtype=np.float64), rtol=2e-6)


def test_large_sums_of_views_and_odd_values() -> None:
    array = stream.uniform(-1, 1, (130, 170)).astype(np.float32)
    np.testing.assert_allclose(make(array.T).sum(0)._array, array.astype(np.float64).sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(make(array[::2, 1:]).sum()._array, array[::2, 1:].astype(np.float64).sum(), rtol=1e-4, atol=1e-4)
    array[3, 5], array[4, 6], array[5, 7] = np.inf, -np.inf, np.nan
    rows = make(array).sum(1)._array
    assert rows[3] == np.inf and rows[4] == -np.inf and np.isnan(rows[5]) and np.isfinite(rows[6:]).all()
    assert make(np.ones((200, 100), np.float16)).sum().item() == 20_000  # added in float32: 2048 + 1 would stay 2048


@pytest.mark.parametrize(("shape", "dim"), [((20_000,), 0), ((150, 201), 0), ((150, 201), 1), ((3000, 7), 1), ((3, 5000), -1)])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_large_softmax(shape: tuple[int, ...], dim: int, scale: float) -> None:
    array = (stream.standard_normal(shape) * scale).astype(np.float32)
    wide = array.astype(np.float64)
    logarithm = wide - wide.max(axis=dim, keepdims=True)
    logarithm = logarithm - np.log(np.exp(logarithm).sum(axis=dim, keepdims=True))
    np.testing.assert_allclose(make(array).softmax(dim)._array, np.exp(logarithm), rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(make(array).log_softmax(dim)._array, logarithm, rtol=2e-6, atol=5e-5)
    tensor = make(array.astype(np.float64))
    tensor.requires_grad_()
    weights = make(stream.standard_normal(shape))
    (tensor.softmax(dim) * weights).sum().backward()
    share = np.exp(logarithm)
    expected = share * (weights._array - (weights._array * share).sum(axis=dim, keepdims=True))
    np.testing.assert_allclose(tensor.grad._array, expected, rtol=1e-7, atol=1e-12)


def test_large_softmax_with_infinities() -> None:
    array = stream.standard_normal((100, 100)).astype(np.float32)
    array[0], array[1, 3], array[2, 4], array[3, 5] = -np.inf, np.inf, np.nan, -np.inf
    result = make(array).softmax(1)._array
    assert np.isnan(result[:3]).all() and np.isfinite(result[3:]).all() and result[3, 5] == 0


@pytest.mark.parametrize(("shape", "dim"), [((20_001,), 0), ((150, 201), 0), ((150, 201), 1), ((3000, 7), 0), ((5, 60, 70), 1)])
def test_large_extremes(shape: tuple[int, ...], dim: int) -> None:
    array = stream.integers(-500, 500, shape).astype(np.float32)
    tensor = make(array)
    values, indices = tensor.max(dim)
    np.testing.assert_array_equal(values._array, array.max(axis=dim))
    np.testing.assert_array_equal(indices._array, array.argmax(axis=dim))
    np.testing.assert_array_equal(tensor.amin(dim)._array, array.min(axis=dim))
    array.flat[5] = np.nan
    assert np.isnan(tensor.max().item()) and np.isnan(tensor.amax().item()) and tensor.argmax().item() == 5


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("missing", [0, 3])
def test_topk_of_long_rows_is_the_start_of_a_stable_sort(largest: bool, missing: int) -> None:
    array = stream.integers(0, 60, (4, 300, 2)).astype(np.float32)
    array[1, stream.choice(300, missing, False), 0] = np.nan
    tensor = make(array)
    for k in (1, 2, 5, 40):
        values, indices = tensor.topk(k, 1, largest)
        expected = tensor.sort(1, largest, stable=True)
        np.testing.assert_array_equal(values._array, expected.values._array[:, :k])
        np.testing.assert_array_equal(indices._array, expected.indices._array[:, :k])


@pytest.mark.parametrize("missing", [0, 2])
def test_ranks_in_long_rows(missing: int) -> None:
    array = stream.integers(0, 40, (3, 301)).astype(np.float32)
    array[1, stream.choice(301, missing, False)] = np.nan
    tensor = make(array)
    ordered = tensor.sort(1, stable=True)
    for k in (1, 7, 150, 301):
        values, indices = tensor.kthvalue(k, 1)
        np.testing.assert_array_equal(values._array, ordered.values._array[:, k - 1])
        np.testing.assert_array_equal(indices._array, ordered.indices._array[:, k - 1])
    values, indices = tensor.median(1)
    assert np.isnan(values._array[1]) == bool(missing)
    rank = np.array([150, 301 - missing if missing else 150, 150])
    np.testing.assert_array_equal(indices._array, ordered.indices._array[range(3), rank])
    known = [np.sort(row[~np.isnan(row)]) for row in array]
    np.testing.assert_array_equal(tensor.nanmedian(1).values._array, [row[(len(row) - 1) // 2] for row in known])


def test_named_results_and_out() -> None:
    tensor = make(np.array([[1.0, 3.0], [4.0, 2.0]], np.float32))
    result = tensor.max(1)
    assert result.values.tolist() == [3, 4] and result.indices.tolist() == [1, 0]
    assert repr(result).startswith("torch.return_types.max(\nvalues=") and type(result).__name__ == "max"
    assert repr(tensor.sort()).startswith("torch.return_types.sort(")
    assert rushlight.aminmax(tensor).min.item() == 1
    values, indices = make(np.zeros(2, np.float32)), make(np.zeros(2, np.int64))
    rushlight.max(tensor, 0, out=(values, indices))
    assert values.tolist() == [4, 3] and indices.tolist() == [1, 0]
    target = make(np.zeros(2, np.float32))
    assert rushlight.sum(tensor, 0, out=target) is target and target.tolist() == [5, 5]
    assert tensor.sum(axis=0, keepdims=True).tolist() == [[5, 5]]


def test_names_of_nodes() -> None:
    tensor = make(np.array([[1.0, 3.0], [4.0, 2.0]], np.float32)).requires_grad_()
    expected = {
        "max_all": (tensor.max(), "MaxBackward1"), "max_dim": (tensor.max(0)[0], "MaxBackward0"),
        "var": (tensor.var(), "VarBackward0"), "median": (tensor.median(), "MedianBackward0"),
        "softmax": (tensor.softmax(0), "SoftmaxBackward0"), "unique": (tensor.unique(), "Unique2Backward0"),
        "sort": (tensor.sort()[0], "SortBackward0"), "cumsum": (tensor.cumsum(0), "CumsumBackward0"),
    }  # fmt: skip
    assert {name: result.grad_fn.name() for name, (result, _) in expected.items()} == {k: v[1] for k, v in expected.items()}


def test_gradients_at_ties_zeros_and_single_elements() -> None:
    def gradient(function: Any, values: Any) -> list[Any]:
        tensor = make(np.array(values, np.float32)).requires_grad_()
        function(tensor).sum().backward()
        return tensor.grad.tolist()

    assert gradient(lambda x: x.amax(), [1, 2, 2]) == [0, 0.5, 0.5]
    assert gradient(lambda x: x.max(), [1, 2, 2]) == [0, 0.5, 0.5]
    assert gradient(lambda x: x.max(), [1, np.nan, np.nan]) == [0, 0.5, 0.5]
    assert gradient(lambda x: x.max(0).values, [1, 2, 2]) == [0, 1, 0]
    assert gradient(lambda x: x.median(), [2, 2, 1, 3]) == [0.5, 0.5, 0, 0]
    assert gradient(lambda x: x.prod(), [0, 2, 3]) == [6, 0, 0]
    assert gradient(lambda x: x.prod(), [0, 0, 3]) == [0, 0, 0]
    assert gradient(lambda x: x.cumprod(0), [0, 2, 3]) == [9, 0, 0]
    assert gradient(lambda x: x.std(), [2, 2]) == [0, 0]
    assert np.isnan(gradient(lambda x: x.var(), [1])).all() and np.isnan(gradient(lambda x: x.std(), [1])).all()
    assert gradient(lambda x: x.nansum(), [1, np.nan]) == [1, 0]
    assert gradient(lambda x: x.cummax(0).values, [1, 3, 3, 2]) == [1, 1, 2, 0]
    with pytest.raises(NotImplementedError, match="unique"):
        gradient(lambda x: x.unique(), [1, 2])


def test_in_place_running_sums() -> None:
    tensor = make(np.array([1, 2, 3], np.int8))
    assert tensor.cumsum_(0) is tensor and tensor.tolist() == [1, 3, 6] and tensor.dtype is make(np.zeros(1, np.int8)).dtype
    tensor = make(np.array([1.0, 2.0, 3.0], np.float32)).requires_grad_()
    result = (tensor * 2).cumprod_(0)
    result.sum().backward()
    assert result.tolist() == [2, 8, 48] and tensor.grad.tolist() == [58, 28, 16]


def test_softmax_without_dim_warns() -> None:
    softmax = exports["nn.functional", "softmax"]
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        assert softmax(make(np.zeros((2, 4), np.float32))).tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize("dtype", [rushlight.uint8, rushlight.int8, rushlight.int16, rushlight.int32])
def test_running_sums_and_products_have_the_type_asked_for(dtype: Any) -> None:
    """Also where it is that of the input: NumPy accumulates small integers in large ones unless it is told not to."""
    x = rushlight.tensor([1, 2, 3], dtype=dtype)
    for function in (rushlight.cumsum, rushlight.cumprod):
        result = function(x, 0, dtype=dtype)
        assert result.dtype is dtype and result.tolist()[-1] == 6


def test_types_of_python_are_dtypes() -> None:
    x = rushlight.ones(3)
    assert x.sum(dtype=float).dtype is rushlight.float64 and x.prod(dtype=int).dtype is rushlight.int64
    assert rushlight.softmax(x, 0, dtype=float).dtype is rushlight.float64 and x.cumsum(0, dtype=complex).dtype is rushlight.complex128
    assert rushlight.finfo(float).eps == rushlight.finfo(rushlight.float64).eps and rushlight.iinfo(int).max == 2**63 - 1
    assert rushlight.promote_types(float, rushlight.int32) is rushlight.float64 and not rushlight.can_cast(float, rushlight.int32)


@pytest.mark.parametrize(("shape", "size"), [((2, 4, 3), (4, 3)), ((2, 4, 3), (1, 3)), ((4, 3), (3,))])
def test_a_sum_to_a_size_is_the_same_with_a_gradient_and_without(shape: tuple[int, ...], size: tuple[int, ...]) -> None:
    """Where nothing is recorded, it is one op; the recorded graph ends in a view, as PyTorch's does."""
    x = rushlight.randn(shape, requires_grad=True)
    recorded = x.sum_to_size(*size)
    assert recorded.grad_fn.name() == "ViewBackward0"
    np.testing.assert_array_equal(recorded.detach().numpy(), x.detach().sum_to_size(*size).numpy())
    with rushlight.no_grad():
        np.testing.assert_array_equal(recorded.detach().numpy(), x.sum_to_size(*size).numpy())


@pytest.mark.parametrize("shape", [(5, 10), (5, 1000)])
def test_the_variance_of_numbers_far_from_zero(shape: tuple[int, int]) -> None:
    """Rounding the mean must not show: it made a variance of 1e-4 beside a mean of 1e4 wrong in the third digit."""
    array = (np.random.default_rng(1).standard_normal(shape) * 0.01 + 1e4).astype(np.float32)
    exact = array.astype(np.float64).var(axis=1, ddof=1)
    np.testing.assert_allclose(make(array).var(1)._array, exact, rtol=1e-6)
    np.testing.assert_allclose(rushlight.var_mean(make(array.T.copy()), 0)[0]._array, exact, rtol=1e-6)
    np.testing.assert_allclose(make(array).std(1)._array, np.sqrt(exact), rtol=1e-6)
    assert make(np.full((3, 7), 0.1, np.float32)).var(1).tolist() == [0, 0, 0]
