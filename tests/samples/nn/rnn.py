"""Samples of the ops of ``ops/nn/rnn.py``."""

from __future__ import annotations

from typing import Any

from ..make import Sample, cases, samples


def _layer_samples(gates: int, *states: str) -> Any:
    def build(m: Any) -> list[Sample]:
        found = []
        for sizes, total in ((2, 4), ([2, 1], 3)):
            for reverse in (False, True):
                initial = [m.real(2, 2) for _ in states]
                found.append(Sample(m.real(total, gates * 2), *initial, m.real(gates * 2, 2), None, sizes, reverse, compare=False))
        return found

    return cases(build)


samples("lstm_layer", _layer_samples(4, "hidden", "cell"))
samples("gru_layer", _layer_samples(3, "hidden"))

samples("rnn_layer", cases(lambda m: [
    Sample(m.real(total, 2), m.real(count, 2), m.real(2, 2), relu, sizes, reverse, compare=False)
    for sizes, total, count in ((2, 4, 2), ([3, 1], 4, 3)) for relu in (False, True) for reverse in (False, True)
]))  # fmt: skip
