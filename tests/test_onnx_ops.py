"""Every op's samples at several opsets, run in ONNX Runtime against eager: right, or refused with a clear error."""

from __future__ import annotations

import json
import pathlib

import pytest
from onnx_samples import NEWEST, OPSETS, export_outcomes
from samples import makers

from rushlight.core.declare import table

COVERAGE = json.loads((pathlib.Path(__file__).parent / "data" / "onnx_coverage.json").read_text())
OPS = [op for op in table.values() if op.functional is None and op in makers]


@pytest.mark.parametrize("opset", (*OPSETS, NEWEST))
@pytest.mark.parametrize("name", [op.name for op in OPS])
def test_samples(name: str, opset: int) -> None:
    outcomes = export_outcomes(table[name], opset)
    wrong = [(sample, outcome) for sample, outcome in outcomes if outcome != "ok" and not outcome.startswith("refused")]
    assert not wrong, wrong
    refused = [(sample, outcome) for sample, outcome in outcomes if outcome.startswith("refused")]
    assert name in COVERAGE, f"{name} is not in tests/data/onnx_coverage.json: run tests/record/onnx_coverage.py"
    assert len(refused) <= COVERAGE[name][str(opset)][1], refused


@pytest.mark.parametrize("name", [op.name for op in OPS])
def test_samples_with_open_sizes(name: str) -> None:
    """All sizes of all inputs open: what exports must still be right."""
    outcomes = export_outcomes(table[name], 20, dynamic=True)
    wrong = [(sample, outcome) for sample, outcome in outcomes if outcome != "ok" and not outcome.startswith("refused")]
    assert not wrong, wrong
