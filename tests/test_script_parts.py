"""Parts of tensors by numbers that loops change: split, chunk, unbind, slices and diagonals, exported and run in ONNX Runtime on several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import jit

pytest.importorskip("onnxruntime")
torch.manual_seed(9)


def split(x):
    total = x.sum()
    for part in x.split(2):
        total = total * 0.5 + part.sum() * part.size(0)
    return total


def split_by_a_number(x):
    total = x.sum()
    for i in range(x.size(0)):
        for part in torch.split(x, i + 1):
            total = total * 0.5 + part.sum()
    return total


def split_in_two(x):
    first, second = x.split(x.size(0) // 2 + 1)
    return first.sum(), second.sum(), second


def parts(x):
    found = x.split(2)
    return found[0], found[-1], len(found)


def all_parts(x):
    return list(x.split(2)), x * 2


def columns(x):
    wide = x.reshape(1, -1) * torch.ones(2, 1)
    found = wide.split(2, dim=1)
    return found[1], found[-1], len(found), torch.cat(found, 1)


def chunk(x):
    total = x.sum()
    for i in range(1, x.size(0)):
        for part in torch.chunk(x, i):
            total = total * 0.5 + part.sum()
    first, second = x.chunk(2)
    return total, first, second


def every_chunk(x):
    found = torch.chunk(x, x.size(0))
    return found[0], found[-1], len(found), torch.cat(found)


def unbind(x):
    total = x.sum()
    for part in x.unbind(0):
        total = total * 0.5 + part.sum()
    return total, len(x.unbind()), x.unbind()[-1]


def tensor_split(x):
    total = x.sum()
    for i in range(x.size(0)):
        for part in torch.tensor_split(x, i + 1):
            total = total * 0.5 + part.sum() * part.size(0)
    return total


def sections(x):
    total = x.sum()
    for i in range(1, x.size(0)):
        found = x.split([i, x.size(0) - i])
        total = total * 0.1 + found[0].sum() - found[1].sum()
    return total


def diagonals(x):
    total = x.sum()
    for i in range(x.size(0)):
        total = total * 0.5 + torch.diagonal(torch.ones(4, 3) * total, i - 3).sum()
        cube = torch.ones(2, 5, 4) * total
        found = torch.diagonal(cube, i - 1, 0, 2)
        total = total * 0.1 + found.sum() + found.size(-1)
    return total


def matrices(x):
    total = x.sum()
    for i in range(x.size(0)):
        made = torch.diag_embed(x, i - 2)
        total = total * 0.1 + made.sum() + made.size(0) + torch.diag(x, 1 - i).sum() + torch.diag(torch.ones(3, 3), i - 3).sum()
    return total


def windows(x):
    total = x.sum()
    for i in range(x.size(0)):
        part = x[i : i + 2]
        total = total * 0.5 + part.size(0)
        total = total + x[i:].size(0) + x[: i + 1].sum() / x[: i + 1].size(0)
        for j in range(i + 1):
            total = total * 0.5 + x[j : i + 1].size(0)
    return total


def until(x):
    at = 0
    total = x.sum()
    while at < 12:
        total = total * 0.5 + x[at : at + 3].size(0) + x[-at:].size(0) + x[:-at].sum()
        at += 2
    return total


PROGRAMS = [
    split, split_by_a_number, split_in_two, parts, all_parts, columns, chunk, every_chunk, unbind, tensor_split, sections, diagonals, matrices, windows, until,
]  # fmt: skip


def same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
    else:
        assert np.asarray(got).shape == np.asarray(want).shape
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("program", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
@pytest.mark.parametrize("opset", [13, 17])
def test_parts(program: Any, opset: int) -> None:
    scripted = jit.script(program)
    exported = torch.onnx.export(scripted, (torch.randn(5),), input_names=["x"], dynamic_axes={"x": [0]}, opset_version=opset)
    for size in (5, 3, 4, 6, 9):
        x = torch.randn(size)
        want = program(x)
        same(scripted(x), want)
        same(exported.run(x), want if isinstance(want, tuple) else (want,))
