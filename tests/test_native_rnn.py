"""Recurrent networks in native code against eager mode: results and gradients, packed sequences, projections, threads."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiled import assert_compiled_matches_eager, assert_threads_change_nothing, results_and_gradients, thread_count

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends import native
from rushlight.codegen.llvm import rnn, time_loop


def assert_matches_eager(model: nn.Module, *inputs: Any, tolerance: float) -> None:
    assert_compiled_matches_eager(model, *inputs, tolerance=tolerance, scaled=True, parameters=model.parameters())


class Network(nn.Module):
    """A network whose states come out beside its outputs, and go in where asked."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__()
        self.kind = kind
        self.net = getattr(nn, kind)(**options)

    def forward(self, x: Any, *states: Any) -> Any:
        output, last = self.net(x, states if len(states) > 1 else states[0]) if states else self.net(x)
        return (output, *last) if isinstance(last, tuple) else (output, last)


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_networks(data: Any) -> None:
    pick = lambda *values: data.draw(st.sampled_from(values))
    kind = pick("LSTM", "GRU", "RNN")
    torch.manual_seed(data.draw(st.integers(0, 99)))
    size, hidden, layers = pick(1, 3, 8), pick(1, 5, 16, 37), pick(1, 2)
    options: dict[str, Any] = {
        "bias": pick(True, False),
        "bidirectional": pick(True, False),
        "batch_first": pick(True, False),
        "num_layers": layers,
    }
    dtype = pick(torch.float32, torch.float64)
    if kind == "RNN":
        options["nonlinearity"] = pick("tanh", "relu")
    proj = pick(0, 0, 2) if kind == "LSTM" and hidden > 2 else 0
    if proj:
        options["proj_size"] = proj
    model = Network(kind, input_size=size, hidden_size=hidden, **options).to(dtype)
    batch, length = pick(1, 3, 8, 11, 17), pick(1, 2, 5)
    x = torch.randn(*((batch, length) if options["batch_first"] else (length, batch)), size, dtype=dtype)
    states: list[Any] = []
    if data.draw(st.booleans()):
        rows = layers * (2 if options["bidirectional"] else 1)
        states = [torch.randn(rows, batch, proj or hidden, dtype=dtype)] + (
            [torch.randn(rows, batch, hidden, dtype=dtype)] if kind == "LSTM" else []
        )
    assert_matches_eager(model, x, *states, tolerance=2e-4 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed(kind: str) -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = getattr(nn, kind)(4, 6, bidirectional=True, batch_first=True)

        def forward(self, x: Any) -> Any:
            packed = pack_padded_sequence(x, [5, 5, 4, 3, 3, 2, 2, 2, 1, 1], batch_first=True)
            return pad_packed_sequence(self.net(packed)[0], batch_first=True)[0]

    torch.manual_seed(1)
    assert_matches_eager(Packed(), torch.randn(10, 5, 4), tolerance=1e-4)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_no_op_is_called(kind: str, calls: list[str]) -> None:
    torch.manual_seed(0)
    model = Network(kind, input_size=8, hidden_size=16, batch_first=True)
    assert_matches_eager(model, torch.randn(4, 3, 8), tolerance=1e-4)
    assert not [each for each in calls if "layer" in each or "backward" in each]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_threads_do_not_change_results(kind: str) -> None:
    torch.manual_seed(0)
    model = Network(kind, input_size=32, hidden_size=64, batch_first=True)
    x = torch.randn(20, 12, 32)
    compiled = torch.compile(model, backend="native")
    results_and_gradients(compiled, [x], model.parameters())
    assert_threads_change_nothing(lambda: results_and_gradients(compiled, [x], model.parameters()))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {}),
        ("LSTM", {"bidirectional": True, "num_layers": 2}),
        ("GRU", {}),
        ("GRU", {"bias": False}),
        ("RNN", {}),
        ("RNN", {"nonlinearity": "relu"}),
    ],
)
def test_columns_of_the_states_split_over_threads(kind: str, options: dict[str, Any], monkeypatch: Any) -> None:
    """Where there are more threads than blocks of sequences; the results are the same to the bit."""
    split: list[bool] = []

    def decide(*args: Any) -> bool:
        split.append(time_loop.are_columns_split(*args))
        return split[-1]

    monkeypatch.setattr(rnn, "are_columns_split", decide)
    monkeypatch.setattr(time_loop, "MEETING", 0)
    size = time_loop.panel_width("float") * 2
    found = []
    for threads in (1, 16):
        torch.manual_seed(0)
        model = Network(kind, input_size=8, hidden_size=size, **options)
        x = torch.randn(5, 20, 8)
        with thread_count(threads):
            compiled = torch.compile(model, backend="native")
            results_and_gradients(compiled, [x], model.parameters())  # the first call is deferred
            found.append(results_and_gradients(compiled, [x], model.parameters()))
    assert not split[0] and split[-1]
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_a_large_batch_of_a_wide_network() -> None:
    torch.manual_seed(0)
    model = Network("LSTM", input_size=8, hidden_size=300)
    assert_matches_eager(model, torch.randn(2, 40, 8), tolerance=1e-3)
    assert native.available()
