"""Sobol's sequences are PyTorch's, point for point."""

from __future__ import annotations

import json
import pathlib
import pickle

import numpy as np
import pytest
from quasirandom_programs import PROGRAMS, outcome

import rushlight
from rushlight.quasirandom import SobolEngine

EXPECTED = json.loads((pathlib.Path(__file__).resolve().parent / "data" / "quasirandom.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_points_are_pytorchs(name: str) -> None:
    assert outcome(rushlight, name) == EXPECTED[name]


def test_every_interval_has_its_point() -> None:
    for scramble in (False, True):
        points = SobolEngine(40, scramble=scramble, seed=1).draw(64, dtype=rushlight.float64).numpy()
        assert all(len(np.unique(np.floor(column * 64))) == 64 for column in points.T)


def test_an_engine_goes_on_after_pickling() -> None:
    engine = SobolEngine(3, scramble=True, seed=4)
    engine.draw(5)
    again = pickle.loads(pickle.dumps(engine))
    assert rushlight.equal(again.draw(4), engine.draw(4))
