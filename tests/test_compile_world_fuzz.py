"""Random programs whose globals, classes, Modules and modes change between the calls of a compiled function, against eager mode."""

from __future__ import annotations

import pytest
from fuzz.run_python import FORMS, run_python
from fuzz.world_programs import world_program

import rushlight


def assert_same(seed: int, form: str) -> None:
    """Results, errors, gradients and what is left behind are those of eager mode."""
    source = world_program(seed)
    wanted = run_python(rushlight, source, FORMS["eager"])
    found = run_python(rushlight, source, FORMS[form])
    rushlight.compiler.reset()
    assert found == wanted, f"seed {seed}"


@pytest.mark.parametrize("group", range(8))
def test_captured(group: int) -> None:
    for seed in range(group * 10, group * 10 + 10):
        assert_same(seed, "captured")


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_compiled(seed: int) -> None:
    assert_same(seed, "compiled")
