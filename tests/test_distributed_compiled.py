"""Compiled programs in several processes: reductions of gradients, and collectives, are nodes of their graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mpi import start_ranks

RANKS = Path(__file__).parent / "ranks"


@pytest.mark.parametrize("count", [2, 3])
def test_compiled_programs_train_as_one_process_does(count) -> None:
    done = start_ranks(count, RANKS / "compiled.py", seconds=180)
    assert done.returncode == 0 and done.stdout.count("done") == count, f"{done.stdout}\n{done.stderr[-6000:]}"
