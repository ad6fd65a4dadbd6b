"""Results that a node saved only to be faster may be written to in place: backward computes them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F

OPS: dict[str, Callable[[Any], Any]] = {
    "max_pool1d": lambda x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d with indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "max_pool3d": lambda x: F.max_pool3d(x, 2),
    "gelu": F.gelu,
    "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "erfinv": lambda x: x.tanh().erfinv(),
    "sinc": torch.sinc,
}


@pytest.mark.parametrize("name", OPS)
def test_a_result_may_be_written_to(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn_like(OPS[name](x))
    (wanted,) = torch.autograd.grad((OPS[name](x) * 3 * weight).sum(), x)
    written = OPS[name](x)
    written.mul_(3)
    (found,) = torch.autograd.grad((written * weight).sum(), x)
    torch.testing.assert_close(found, wanted)


def test_a_result_that_is_needed_may_not() -> None:
    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_an_input_that_was_written_to_is_told() -> None:
    x = torch.randn(2, 2, 4, 4, requires_grad=True) * 1
    y = F.gelu(x)
    y.mul_(2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
