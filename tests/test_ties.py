"""Which of several equal elements sort, topk, kthvalue and mode name: those of PyTorch's CPU kernels, whose algorithms are not stable."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rushlight
from rushlight.ops.index.unstable_order import TIED, kth_place, sorting_order, topk_order

NAN = math.nan


@pytest.fixture
def tied() -> rushlight.Tensor:
    return rushlight.tensor([(i * i * 7 + 3 * i) % 11 for i in range(40)]).float()


@pytest.fixture
def missing(tied: rushlight.Tensor) -> rushlight.Tensor:
    tied[::7] = NAN
    return tied


def test_sort_is_an_introsort(tied: rushlight.Tensor) -> None:
    expected = [0, 22, 20, 31, 33, 11, 9, 35, 13, 7, 18, 2, 24, 29, 27, 37, 26, 5, 4, 15, 16, 38, 32, 21, 10, 39, 28, 36, 25, 17, 14, 6, 3, 23, 30, 19, 34, 12, 8, 1]  # fmt: skip
    assert rushlight.sort(tied).indices.tolist() == expected
    assert rushlight.argsort(tied.unsqueeze(1), 0).flatten().tolist() == expected
    assert rushlight.argsort(rushlight.stack([tied, rushlight.arange(40.0)])).tolist() == [expected, list(range(40))]


def test_sort_of_missing_numbers_in_falling_order(missing: rushlight.Tensor) -> None:
    expected = [0, 14, 35, 21, 7, 28, 1, 19, 12, 23, 8, 30, 34, 25, 36, 39, 17, 3, 6, 10, 32, 16, 15, 38, 37, 4, 26, 27, 5, 18, 2, 29, 24, 13, 31, 33, 9, 11, 22, 20]  # fmt: skip
    assert rushlight.sort(missing, descending=True).indices.tolist() == expected


def test_a_stable_sort_keeps_the_order(tied: rushlight.Tensor) -> None:
    assert rushlight.sort(tied, stable=True).indices.tolist() == np.argsort(tied.numpy(), kind="stable").tolist()


def test_topk_selects_and_sorts(tied: rushlight.Tensor) -> None:
    assert tied.topk(6).indices.tolist() == [1, 12, 19, 8, 23, 30]
    assert tied.topk(6, largest=False).indices.tolist() == [31, 9, 11, 33, 0, 20]
    assert sorted(tied.topk(6, sorted=False).indices.tolist()) == [1, 8, 12, 19, 23, 30]


def test_topk_of_missing_numbers(missing: rushlight.Tensor) -> None:
    assert missing.topk(8).indices.tolist() == [21, 28, 7, 35, 14, 0, 23, 19]


def test_topk_of_few_among_many_is_a_heap() -> None:
    x = rushlight.zeros(200)
    x[[50, 120, 7]] = 1.0
    assert x.topk(3).indices.tolist() == [120, 50, 7]
    assert x.topk(2, largest=False).indices.tolist() == [0, 1]
    assert x.topk(5).indices.tolist() == [120, 7, 50, 136, 134]


def test_kthvalue_is_a_quickselect(tied: rushlight.Tensor) -> None:
    assert [tied.kthvalue(k).indices.item() for k in (1, 7, 20, 40)] == [11, 31, 4, 19]


def test_kthvalue_of_missing_numbers(missing: rushlight.Tensor) -> None:
    assert [missing.kthvalue(k).indices.item() for k in (1, 7, 20, 40)] == [9, 18, 32, 0]
    assert missing.expand(2, 40).kthvalue(20, 1, True).indices.tolist() == [[32], [32]]


def test_mode(tied: rushlight.Tensor) -> None:
    assert [each.item() for each in tied.mode()] == [3.0, 38]


def test_mode_compares_missing_numbers_as_they_are(missing: rushlight.Tensor) -> None:
    assert [each.item() for each in missing.mode()] == [0.0, 33]
    assert [each.item() for each in rushlight.tensor([2.0, NAN, 0.0, 1.0, 1.0, 0.0]).mode()] == [1.0, 4]
    values, indices = rushlight.tensor([[NAN, 1e-30, 0.5], [0.5, NAN, 0.5]]).mode()
    np.testing.assert_array_equal(values.numpy(), [NAN, 0.5])
    assert indices.tolist() == [0, 0]


def test_more_tied_elements_than_the_limit_keep_their_order() -> None:
    x = rushlight.zeros(TIED + 1)
    assert x.sort().indices.tolist() == list(range(TIED + 1))
    assert x.topk(3).indices.tolist() == [0, 1, 2]


def test_the_orders_are_orders() -> None:
    """Of random rows of any length, and of those that make partitions unbalanced, so that heaps take over."""
    stream = np.random.default_rng(0)
    organ_pipe = np.concatenate([np.arange(0, 300, 2), np.arange(299, 0, -2)])
    killer = np.array([i + 1 if i % 2 else i // 2 + 300 for i in range(600)])
    rows = [stream.integers(0, max(1, n // 4) + 1, (3, n)) for n in (1, 2, 3, 4, 17, 33, 100, 700)]
    for elements in [*rows, organ_pipe[None], killer[None], np.zeros((1, 500), int)]:
        length = elements.shape[1]
        for descending in (False, True):
            ordered = np.sort(elements, axis=1)[:, :: -1 if descending else 1]
            order = sorting_order(elements, descending)
            np.testing.assert_array_equal(np.take_along_axis(elements, order, 1), ordered)
            np.testing.assert_array_equal(np.sort(order, axis=1), np.broadcast_to(np.arange(length), order.shape))
            for k in {1, min(3, length), length // 2 + 1, length}:
                chosen = topk_order(elements, k, descending)
                np.testing.assert_array_equal(np.take_along_axis(elements, chosen, 1), ordered[:, :k])
        for k in {0, length // 2, length - 1}:
            place = kth_place(elements, k)[:, None]
            np.testing.assert_array_equal(np.take_along_axis(elements, place, 1), np.sort(elements, axis=1)[:, k : k + 1])


def test_each_of_several_largest_differences_has_the_gradient_of_the_distance() -> None:
    x = rushlight.tensor([[-1.0, -1.5, -1.0], [0.5, -0.5, 0.5]], requires_grad=True)
    rushlight.pdist(x, math.inf).sum().backward()
    assert x.grad.tolist() == [[-1, 0, -1], [1, 0, 1]]
    x.grad = None
    rushlight.cdist(x, rushlight.tensor([[0.5, -0.5, 0.5]]), math.inf).sum().backward()
    assert x.grad.tolist() == [[-1, 0, -1], [0, 0, 0]]
