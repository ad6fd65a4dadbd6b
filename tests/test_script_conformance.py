"""Scripted and traced programs print what they print under PyTorch, and end with the same class of error."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import script_conformance

import rushlight
import rushlight.compat

PROGRAMS = script_conformance.programs()
EXPECTED = json.loads(script_conformance.EXPECTED.read_text())


@pytest.fixture(autouse=True, scope="module")
def installed():
    before = dict(sys.modules)
    rushlight.compat.install()
    yield
    for name in set(sys.modules) - set(before):
        if name.partition(".")[0] == "torch":
            del sys.modules[name]


@pytest.mark.parametrize("number, name", list(enumerate(PROGRAMS)), ids=list(PROGRAMS))
def test_program(number: int, name: str, tmp_path: Path) -> None:
    """A program's output is that of PyTorch."""
    assert script_conformance.run(PROGRAMS[name], rushlight, tmp_path, number) == EXPECTED[name]
