"""Samples of the ops of ``ops/nn/rnn_sequences.py``."""

from __future__ import annotations

from typing import Any

from ..make import Sample, cases, samples


def _weights(m: Any, gates: int, size: int, hidden: int, layers: int = 1, directions: int = 1, bias: bool = True) -> list[Any]:
    found = []
    for layer in range(layers):
        for _ in range(directions):
            width = size if layer == 0 else hidden * directions
            found += [m.real(gates * hidden, width, low=-0.5, high=0.5), m.real(gates * hidden, hidden, low=-0.5, high=0.5)]
            found += [m.real(gates * hidden), m.real(gates * hidden)] if bias else []
    return found


def _samples(gates: int, count: int) -> Any:
    def hx(m: Any, rows: int) -> Any:
        found = [m.real(rows, 2, 2) for _ in range(count)]
        return found if count > 1 else found[0]

    return cases(lambda m: [
        Sample(m.real(3, 2, 2), hx(m, 1), _weights(m, gates, 2, 2), True, 1, 0.0, False, False, False),
        Sample(m.real(2, 3, 2), hx(m, 4), _weights(m, gates, 2, 2, 2, 2), True, 2, 0.0, True, True, True, gradient=False),
        Sample(m.real(2, 2, 2), hx(m, 1), _weights(m, gates, 2, 2, bias=False), False, 1, 0.0, False, False, False, gradient=False),
    ])  # fmt: skip


samples("lstm", _samples(4, 2))
samples("gru", _samples(3, 1))
samples("rnn_tanh", _samples(1, 1))
samples("rnn_relu", _samples(1, 1))


def _cell_samples(gates: int, count: int) -> Any:
    def hx(m: Any) -> Any:
        found = [m.real(2, 3) for _ in range(count)]
        return found if count > 1 else found[0]

    return cases(lambda m: [
        Sample(m.real(2, 4), hx(m), m.real(gates * 3, 4), m.real(gates * 3, 3), m.real(gates * 3), m.real(gates * 3)),
        Sample(m.real(2, 4), hx(m), m.real(gates * 3, 4), m.real(gates * 3, 3)),
        Sample(m.real(2, 5), hx(m), m.real(gates * 3, 4), m.real(gates * 3, 3), gradient=False),
    ])  # fmt: skip


samples("lstm_cell", _cell_samples(4, 2))
samples("gru_cell", _cell_samples(3, 1))
samples("rnn_tanh_cell", _cell_samples(1, 1))
samples("rnn_relu_cell", _cell_samples(1, 1))
