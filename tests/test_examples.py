"""The example programs say `import torch`, know nothing of rushlight, and lose what they lose under PyTorch, step by step.

tests/record/examples.py recorded the losses. Weights are initialised and data are drawn at random, so a loss agrees only if
the random streams do; a few steps on, only if the gradients and the optimizers do too.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from support.processes import start_python

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted(file for file in (ROOT / "examples").glob("*.py") if file.name != "demo.py")
RECORDED = json.loads((ROOT / "tests" / "data" / "examples.json").read_text(encoding="utf8"))
ELSEWHERE = set(sys.stdlib_module_names) | {"torch"}


def test_every_program_is_recorded() -> None:
    assert sorted(RECORDED) == [program.stem for program in PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_it_imports_torch_alone(program: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(program.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert "torch" in imported and imported <= ELSEWHERE


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_the_losses_are_those_of_pytorch(program: Path, tmp_path: Path) -> None:
    expected = RECORDED[program.stem]
    file = tmp_path / "losses.json"
    done = start_python("-m", "rushlight", "run", str(program), *expected["arguments"], "--losses", str(file))
    assert done.returncode == 0, done.stderr
    assert " 1   loss" in done.stdout and "\r" not in done.stdout
    assert json.loads(file.read_text()) == pytest.approx(expected["losses"], rel=1e-4, abs=0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_the_readme_tells_of_it(program: Path) -> None:
    assert f"`{program.name}`" in (ROOT / "examples" / "README.md").read_text(encoding="utf8")
