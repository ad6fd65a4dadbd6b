"""compile: programs in which a guard, an effect or a shared object is easily lost; call after call they are eager's."""

from __future__ import annotations

import compile_programs_effects  # noqa: F401 - it adds its programs to the table
import pytest
from compile_comparison import compare
from compile_programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    source, calls = PROGRAMS[name]
    compare(source, calls)
