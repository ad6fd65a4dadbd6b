"""Properties that hold for any shapes, strides and dtypes: broadcasting, promotion, reductions, in-place forms."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

import rushlight as torch
from rushlight.core.base import make
from rushlight.core.dtypes import BY_NUMPY, promote_numpy

DTYPES = [np.dtype(name) for name in ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "complex64")]


def values(dtype: np.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    stream = np.random.default_rng(seed)
    if dtype.kind == "b":
        return stream.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return stream.integers(0, 5, shape).astype(dtype)
    found = stream.uniform(-2, 2, shape)
    return (found + 1j * stream.uniform(-2, 2, shape) if dtype.kind == "c" else found).astype(dtype)


@st.composite
def layouts(draw: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of a shape, in any order of dimensions, with gaps between elements or without."""
    order = draw(st.permutations(range(len(shape))))
    gaps = [draw(st.integers(1, 2)) for _ in shape]
    large = values(dtype, tuple(shape[i] * gaps[i] for i in order), draw(st.integers(0, 99)))
    return np.asarray(large[tuple(slice(None, None, gaps[i]) for i in order)]).transpose(np.argsort(order))


@st.composite
def pairs(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0)).input_shapes
    return tuple(draw(layouts(shape, draw(st.sampled_from(DTYPES)))) for shape in shapes)


def common(a: np.ndarray, b: np.ndarray) -> np.dtype:
    """PyTorch's rule in words: dimensioned tensors first, a 0-dim one only if its category is higher."""
    if bool(a.ndim) == bool(b.ndim):
        return promote_numpy(a.dtype, b.dtype)
    strong, weak = (a, b) if a.ndim else (b, a)
    higher = BY_NUMPY[weak.dtype].category > BY_NUMPY[strong.dtype].category
    if not higher:
        return strong.dtype
    if weak.dtype.kind == "c" and strong.dtype.kind == "f":
        return BY_NUMPY[strong.dtype].to_complex().numpy
    return promote_numpy(strong.dtype, weak.dtype) if weak.dtype.kind != "c" else weak.dtype


@given(pairs())
def test_multiplication_broadcasts_and_promotes(pair: Any) -> None:
    a, b = pair
    result = make(a) * make(b)
    dtype = common(a, b)
    assert result.dtype.numpy == dtype
    wide = np.float32 if dtype == np.float16 else dtype
    expected = np.multiply(a.astype(wide), b.astype(wide)).astype(dtype)
    np.testing.assert_allclose(result.numpy(), expected, rtol=2e-3 if dtype == np.float16 else 1e-6)


@given(pairs())
def test_comparison_is_bool_and_broadcasts(pair: Any) -> None:
    a, b = (np.asarray(x.real) if x.dtype.kind == "c" else x for x in pair)
    result = make(a) <= make(b)
    assert result.dtype is torch.bool
    wide = common(a, b)
    np.testing.assert_array_equal(result.numpy(), a.astype(wide) <= b.astype(wide))


@st.composite
def reductions(draw: Any) -> tuple[np.ndarray, Any, bool]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=3))
    array = draw(layouts(shape, draw(st.sampled_from([d for d in DTYPES if d.kind in "ifb" and d != np.float16]))))
    dims = draw(st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda d: d % len(shape), min_size=1))
    return array, tuple(dims), draw(st.booleans())


@given(reductions())
def test_sum_and_its_gradient(case: Any) -> None:
    array, dims, keepdim = case
    result = make(array).sum(dims, keepdim)
    dtype = array.dtype if array.dtype.kind == "f" else np.int64
    np.testing.assert_allclose(result.numpy(), array.sum(dims, keepdims=keepdim, dtype=dtype), rtol=1e-5, atol=1e-5)
    if array.dtype.kind == "f":
        leaf = make(array).requires_grad_()
        weights = np.arange(result.numel(), dtype=array.dtype).reshape(tuple(result.shape))
        (leaf.sum(dims, keepdim) * make(weights)).sum().backward()
        kept = weights if keepdim else np.expand_dims(weights, tuple(sorted(d % array.ndim for d in dims)))
        np.testing.assert_allclose(leaf.grad.numpy(), np.broadcast_to(kept, array.shape))


@given(pairs())
def test_in_place_writes_through_every_layout(pair: Any) -> None:
    a, b = pair
    dtype = common(a, b)
    wide = np.broadcast_shapes(a.shape, b.shape)
    target = make(a.copy(order="K"))
    fits = wide == a.shape and BY_NUMPY[dtype].category <= BY_NUMPY[a.dtype].category
    if not fits:
        with pytest.raises(RuntimeError):
            target.add_(make(b))
        return
    alias = target.view(-1) if target.is_contiguous() else target[...]
    target.add_(make(b))
    expected = (make(a) + make(b)).to(target.dtype).numpy()
    np.testing.assert_allclose(target.numpy(), expected, rtol=2e-3 if a.dtype == np.float16 else 1e-6)
    np.testing.assert_array_equal(alias.numpy().reshape(-1), target.numpy().reshape(-1))


@given(st.data())
def test_matrix_products_agree_with_numpy(data: Any) -> None:
    batch = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3)).input_shapes
    n, m, k = (data.draw(st.integers(0, 4)) for _ in range(3))
    a = data.draw(layouts((*batch[0], n, m), np.dtype(np.float64)))
    b = data.draw(layouts((*batch[1], m, k), np.dtype(np.float64)))
    np.testing.assert_allclose((make(a) @ make(b)).numpy(), a @ b, atol=1e-12)


@given(st.data())
def test_a_gradient_does_not_depend_on_the_layout(data: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=3, max_side=3))
    array = data.draw(layouts(shape, np.dtype(np.float64)))
    strided, plain = make(array).requires_grad_(), make(np.ascontiguousarray(array)).requires_grad_()
    for leaf in (strided, plain):
        ((leaf * leaf).exp().sum(0) / (leaf.abs().sum() + 1)).transpose(0, -1).sum().backward()
    np.testing.assert_allclose(strided.grad.numpy(), plain.grad.numpy())
