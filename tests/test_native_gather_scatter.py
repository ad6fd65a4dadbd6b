"""Gather, scatter and copies in native code against eager mode: values, gradients, errors, threads."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiled import assert_compiled_matches_eager, assert_threads_change_nothing, results_and_gradients

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)


def tensors() -> Any:
    return torch.randn(3, 4, 5), torch.randn(3, 2, 5), torch.randn(4, 5, 3).permute(2, 0, 1)


A, B, C = tensors()
INDEX, ROWS = torch.tensor([2, 0, 2, 1]), torch.tensor([[1, 0], [3, 3]], dtype=torch.int32)
ALONG, FIRST = torch.randint(0, 4, (3, 6, 5)), torch.randint(0, 3, (2, 3, 5))
CASES: dict[str, Any] = {
    "cat": (lambda a, b: torch.cat([a * 2, b], 1), A, B),
    "cat of views": (lambda a, c: torch.cat([c[:, 1:3], a.flip(0)[:, :1], c], -2), A, C),
    "cat of first dimension": (lambda a, c: torch.cat([a, c]), A, C),
    "cat of types": (lambda a, b: torch.cat([a, b.to(torch.float64), INDEX.reshape(1, 4, 1).expand(3, 4, 5)], 1), A, B),
    "stack": (lambda a, c: torch.stack([a, c, a], 2), A, C),
    "split and cat": (lambda a: torch.cat(a.split(2, 1)[::-1], 1), A),
    "pad": (lambda a: F.pad(a, (1, 2, 0, 1), value=1.5), A),
    "pad that cuts": (lambda c: F.pad(c, (-1, 2, 1, -2)), C),
    "flip": (lambda a: a.flip(0, 2), A),
    "roll": (lambda a: a.roll((1, -2), (0, 2)), A),
    "repeat": (lambda c: c.repeat(2, 1, 3, 2), C),
    "slices": (lambda a: a[:, ::2].sum() + a[1, 2:] * 2, A),
    "tril": (lambda a: a.tril(1) + a.triu(-1), A),
    "cumsum": (lambda a: a.cumsum(1) + a.cumsum(-1), A),
    "embedding": (lambda w: F.embedding(ROWS, w), torch.randn(4, 7)),
    "embedding with padding": (lambda w: F.embedding(ROWS, w, padding_idx=3), torch.randn(4, 40)),
    "index_select": (lambda a: a.index_select(0, INDEX), A),
    "index_select of another dimension": (lambda c: c.index_select(2, INDEX), C),
    "index_add": (lambda a: torch.zeros(4, 4, 5).index_add(0, torch.tensor([1, 1, 3]), a), A),
    "index": (lambda a: a[:, torch.tensor([[-1, 0], [1, 1]])], A),
    "index of the last": (lambda c: c[..., INDEX], C),
    "indices of several dimensions": (lambda a: a[INDEX[:3] - 2, torch.tensor([[-1], [0]])], A),
    "indices of the last dimensions": (lambda a: a[:, torch.tensor([[-1, 0], [1, 1]]), INDEX[:2]], A),
    "indices of all dimensions": (lambda a: a[INDEX[:1] - INDEX[0], INDEX, torch.tensor([[4], [4], [0]])], A),
    "indices of dimensions apart": (lambda c: c[INDEX[:2] - INDEX[0], :, torch.tensor([[1], [0], [1]])], C),
    "gather": (lambda a: a.gather(1, ALONG), A),
    "gather of the first": (lambda a: a.gather(0, FIRST), A),
    "scatter_add": (lambda a, b: a.scatter_add(1, ALONG[:, :2], b), A, B),
    "scatter_add of the last": (lambda a, b: a.scatter_add(2, ALONG[:, :2], b), A, B),
    "integers": (lambda i: torch.cat([i, i.flip(0)]).cumsum(0), INDEX),
    "booleans": (lambda a: torch.stack([a > 0, a < 1]).tril(), A),
}


@pytest.mark.parametrize("name", CASES)
def test_ops(name: str, calls: list[str]) -> None:
    function, *inputs = CASES[name]
    assert_compiled_matches_eager(function, *inputs)
    assert not calls


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_rows_by_index(data: Any) -> None:
    """Sums over rows in all shapes: along any dimension, with repeats, in both types."""
    shape = tuple(data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=3)))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.integers(1, 9))
    torch.manual_seed(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    index = torch.randint(0, shape[dim], (count,))
    x = torch.randn(*shape, dtype=dtype)
    assert_compiled_matches_eager(lambda x: x.index_select(dim, index) * 2, x)
    assert_compiled_matches_eager(lambda x: torch.ones_like(x).index_add(dim, index, x.index_select(dim, index)), x)


@pytest.mark.parametrize("bad", [4, -1, 2**40])
def test_an_index_out_of_range(bad: int) -> None:
    """Nothing is read there; the error is eager's, and later calls are none the worse."""
    compiled = torch.compile(lambda w, i: F.embedding(i, w) * 2, backend="native")
    weight, good, index = torch.randn(4, 3), torch.tensor([0, 3]), torch.tensor([0, bad])
    for _ in range(2):
        compiled(weight, good)
    for _ in range(2):
        with pytest.raises(IndexError, match="index out of range"):
            compiled(weight, index)
        np.testing.assert_array_equal(compiled(weight, good).numpy(), (weight[good] * 2).numpy())


def test_points_out_of_range_and_of_other_counts() -> None:
    """Several indices: of any count, repeated, and out of range in one dimension."""
    x = torch.randn(4, 6, 3)
    compiled = torch.compile(lambda x, i, j: x[i, j] * 2, backend="native", dynamic=True)
    for count in (2, 5, 7):
        i, j = torch.arange(count) % 4 - 1, torch.arange(count)[:, None] % 6
        given = x.clone().requires_grad_()
        made, eager = compiled(given, i, j), x[i, j] * 2
        assert torch.equal(made, eager)
        (slope,) = torch.autograd.grad(made.sum(), given)
        counts = torch.zeros(4, 6)
        counts.index_put_((i.expand(count, count), j.expand(count, count)), torch.tensor(2.0), accumulate=True)
        assert torch.equal(slope, counts[..., None].expand(4, 6, 3))
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([0, 1]), torch.tensor([[6], [0]]))


def test_an_index_out_of_range_after_a_call() -> None:
    """The same in a program of several parts."""
    compiled = torch.compile(lambda w, i: F.embedding(i, w).sort(0)[0], backend="native")
    weight, good = torch.randn(4, 3), torch.tensor([0, 3])
    with torch.no_grad():
        for _ in range(2):
            compiled(weight, good)
        with pytest.raises(IndexError):
            compiled(weight, torch.tensor([0, 9]))
        np.testing.assert_array_equal(compiled(weight, good).numpy(), weight[good].sort(0)[0].numpy())


def test_threads_do_not_change_sums() -> None:
    torch.manual_seed(0)
    index = torch.randint(0, 50, (3000,))
    weight = torch.randn(50, 64)
    compiled = torch.compile(lambda w: F.embedding(index, w), backend="native")
    results_and_gradients(compiled, (weight,))
    assert_threads_change_nothing(lambda: results_and_gradients(compiled, (weight,)))


def test_a_language_model_needs_no_call(calls: list[str]) -> None:
    """Embedding, attention, their gradients and the loss: forward and backward are one native call each."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(11, 16)
            self.qkv, self.head = nn.Linear(16, 48), nn.Linear(16, 11)

        def forward(self, index: Any, target: Any) -> Any:
            x = self.tokens(index)
            q, k, v = (each.reshape(*each.shape[:2], 2, 8).transpose(1, 2) for each in self.qkv(x).split(16, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            return F.cross_entropy(self.head(x + y).reshape(-1, 11), target.reshape(-1))

    torch.manual_seed(0)
    model, index = Model(), torch.randint(0, 11, (3, 7))
    compiled = torch.compile(model, backend="native")
    found = []
    for each in (model, compiled, compiled):
        model.zero_grad()
        loss = each(index, index)
        loss.backward()
        found.append([loss.detach().numpy(), *(p.grad.numpy() for p in model.parameters())])
    for one, other in zip(found[2], found[0], strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-6)
    assert not calls


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_by_class(reduction: str, weighted: bool, calls: list[str]) -> None:
    torch.manual_seed(0)
    weight = torch.rand(5) if weighted else None
    target = torch.tensor([[1, 4, 0], [2, -100, 3]])
    assert_compiled_matches_eager(lambda x: F.cross_entropy(x, target, weight, reduction=reduction), torch.randn(2, 5, 3))
    assert_compiled_matches_eager(lambda x: F.nll_loss(x, target[0], weight, reduction=reduction, ignore_index=4), torch.randn(3, 5))
    assert not calls


def test_a_class_out_of_range() -> None:
    compiled = torch.compile(F.cross_entropy, backend="native")
    x, good = torch.randn(2, 3), torch.tensor([0, 2])
    for _ in range(2):
        compiled(x, good)
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        compiled(x, torch.tensor([0, 3]))


def test_running_sums_of_many() -> None:
    """They are added up in double precision, as in eager mode."""
    torch.manual_seed(0)
    x, compiled = torch.randn(300_000) + 1, torch.compile(lambda x: x.cumsum(0))
    with torch.no_grad():
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x).numpy(), x.cumsum(0).numpy())
