"""Random numbers in native code: the values of the generator's stream, and the state of the generator afterwards."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

import rushlight as torch
from rushlight.backends.native.eager import bernoulli
from rushlight.core import random
from rushlight.core.random import Generator


@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.float64, np.int64, np.uint8])
@pytest.mark.parametrize("p", [0.0, 1e-9, 1 / 3, 0.5, 0.9, 1.0])
def test_the_stream_is_the_same(dtype: Any, p: float, monkeypatch: Any) -> None:
    streams = [Generator().manual_seed(5), Generator().manual_seed(5)]
    for count in (20000, 3, 1, 0, 40001, 17, 1024, 623, 100000):
        found = streams[0].bernoulli(count, dtype, p)
        with monkeypatch.context() as plain:
            plain.setattr(random, "faster_choices", lambda *args: None)
            wanted = streams[1].bernoulli(count, dtype, p)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        if count == 3:  # from here on, pairs of words begin at odd places
            assert streams[0].words(1) == streams[1].words(1)
    np.testing.assert_array_equal(streams[0].get_state(), streams[1].get_state())
    assert bernoulli._functions[np.dtype(dtype)] is not None


def test_a_fresh_generator_is_touched() -> None:
    one, other = Generator().manual_seed(1), Generator().manual_seed(1)
    one.bernoulli(1 << 15, np.float32, 0.5)
    other.words(1 << 16)
    np.testing.assert_array_equal(one.get_state(), other.get_state())


def test_dropout_in_compiled_code_is_that_of_eager_mode() -> None:
    x = torch.randn(200, 300)
    model = torch.nn.Sequential(torch.nn.Dropout(0.3), torch.nn.Tanh(), torch.nn.Dropout(0.5))
    compiled = torch.compile(model)
    for _ in range(3):
        torch.manual_seed(3)
        found = compiled(x)
    torch.manual_seed(3)
    np.testing.assert_allclose(found.numpy(), model(x).numpy(), 1e-6, 1e-6)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.dropout(torch.relu(x.transpose(1, 2)), 0.4),
        lambda x: torch.nn.functional.alpha_dropout(x.transpose(0, 2) * 2, 0.4, True),
        lambda x: torch.rand_like(x.permute(2, 0, 1) + 1) * x.permute(2, 0, 1),
        lambda x: torch.nn.functional.dropout(x.transpose(1, 2), 0.4) + 1,
        lambda x: torch.nn.functional.dropout((x * 2).transpose(1, 2), 0.4) + 1,
    ],
)
def test_numbers_are_drawn_in_the_order_of_memory(function: Any, turned: bool) -> None:
    """Values that eager mode lays out otherwise than in rows get the same numbers."""
    compiled = torch.compile(function)
    for layout in (turned, turned, not turned, turned):
        x = torch.linspace(-1, 2, 3 * 4 * 5).reshape(3, 4, 5)
        x = (x.transpose(0, 2).contiguous().transpose(0, 2) if layout else x).requires_grad_()
        found = []
        for run in (function, compiled):
            torch.manual_seed(5)
            x.grad = None
            result = run(x)
            result.sum().backward()
            found.append((result.detach().numpy(), x.grad.numpy().copy(), torch.rand(1).item()))
        for got, want in zip(found[1], found[0], strict=True):
            np.testing.assert_allclose(got, want, 1e-6, 1e-6)
