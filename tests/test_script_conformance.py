"""Scripted and traced programs print what they print under PyTorch, and end with the same class of error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import script_conformance

import rushlight
import rushlight.compat

PROGRAMS = script_conformance.programs()
EXPECTED = json.loads(script_conformance.EXPECTED.read_text())


pytestmark = pytest.mark.usefixtures("module_alias")


@pytest.mark.parametrize("number, name", list(enumerate(PROGRAMS)), ids=list(PROGRAMS))
def test_program(number: int, name: str, tmp_path: Path) -> None:
    """A program's output is that of PyTorch."""
    assert script_conformance.run(PROGRAMS[name], rushlight, tmp_path, number) == EXPECTED[name]


def test_scripting_can_be_switched_off() -> None:
    """With PYTORCH_JIT=0 scripts and traces are the Python that they are made of."""
    text = "from rushlight import jit, nn, ones\nprint(jit.script(lambda x: x).__name__, type(jit.script(nn.ReLU())).__name__, jit.trace(len, ones(1)) is len)"
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, "PYTORCH_JIT": "0"}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["<lambda>", "ReLU", "True"]
