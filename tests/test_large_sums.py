"""Sums of arrays that are large enough to be added up in blocks, rows or groups: every size near the borders of those, every choice of axes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rushlight as torch

SHAPES = (
    (3, 40_000), (40_000, 3), (2, 70_000), (5000, 33), (8192, 16), (17, 9001), (4097, 40), (260, 1024), (577, 1024), (601, 1100), (40, 70, 50), (3, 5, 30_000), (70_000,),
    (131_072,), (100_001,), (2, 33_000, 3), (1500, 100),
)  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_means(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(-8, 9, shape)  # sums are exact
    for kind in (torch.float32, torch.float64, torch.int64):
        x = torch.from_numpy(values).to(kind)
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                assert np.array_equal(x.sum(axes).numpy(), values.sum(axes)), (kind, axes)
                kept = x.sum(axes, keepdim=True)
                assert np.array_equal(kept.numpy(), values.sum(axes, keepdims=True)), (kind, axes)
        assert x.sum() == values.sum()
    x = torch.from_numpy(values.T.copy()).permute(*range(len(shape))[::-1]).float()
    assert np.array_equal(x.sum(0).numpy(), values.sum(0)) and float(x.sum()) == values.sum()


@pytest.mark.parametrize("shape", SHAPES[:10], ids=str)
def test_sums_round_little(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).random(shape)
    x = torch.from_numpy(values).float()
    for axes in ((0,), (1,), (0, 1)):
        wanted = values.sum(axes)
        assert np.abs(x.sum(axes).numpy() - wanted).max() < 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("shape", ((4097, 40), (70_000, 3), (300, 1025), (3, 70_000)), ids=str)
def test_extremes_and_products(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    x = torch.from_numpy(values)
    for axis in (0, 1):
        assert np.array_equal(x.amax(axis).numpy(), values.max(axis)) and np.array_equal(x.min(axis).values.numpy(), values.min(axis))
        assert np.array_equal(x.argmax(axis).numpy(), values.argmax(axis))
    signs = np.sign(values)
    assert np.array_equal(torch.from_numpy(signs).prod(0).numpy(), signs.prod(0))
