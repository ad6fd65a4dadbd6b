"""Native code reads and writes nothing but its own arrays: seen by valgrind, where it is installed."""

from __future__ import annotations

import shutil

import memory_check
import pytest

pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")

# Reads one more element than there are, which the checker has to see.
MISTAKEN = """
import ctypes, numpy as np
from rushlight.runtime.cpu.jit import jit
text = '''
define float @sum(ptr %array) {
  %far = getelementptr float, ptr %array, i64 300
  %value = load float, ptr %far
  ret float %value
}'''
compiled = jit().compile(text)
ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p)(compiled.address("sum"))(np.zeros(300, np.float32).ctypes.data)
"""


def test_generated_code_stays_in_its_arrays() -> None:
    """Of random graphs and of one kernel with a mistake, only the mistake is seen."""
    option, program = memory_check.graphs(1, 3)
    (error,) = memory_check.invalid_accesses([option, f"{program}\n{MISTAKEN}"], 900)
    assert error.startswith("Invalid read of size 4") and "0 bytes after a block of size 1,200" in error


def test_programs_for_any_size_stay_in_their_arrays() -> None:
    """Numbers that are filled in for a size lead nowhere else."""
    assert memory_check.invalid_accesses(memory_check.sizes(3, 5), 900) == []
