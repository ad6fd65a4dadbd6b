"""Timing of small programs.

In: a statement and its setup (`timer.py`).  Out: `Measurement`s that say how sure they are (`measurement.py`), tables of them (`compare.py`),
and random inputs to measure with (`fuzzer.py`).  Read `timer.py` first.

>>> measured = Timer("x + 1", globals={"x": 1}).timeit(100)
>>> measured.number_per_run
100
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.missing import absents, missing
from .compare import Colorize, Compare
from .fuzzer import FuzzedParameter, FuzzedSparseTensor, FuzzedTensor, Fuzzer, ParameterAlias
from .measurement import Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english
from .timer import Language, Timer, timer

__all__ = [
    "Colorize", "Compare", "FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "Language", "Measurement", "ParameterAlias",
    "TaskSpec", "Timer", "ordered_unique", "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english",
]  # fmt: skip

if not TYPE_CHECKING:
    absents(
        globals(),
        "instructions are not counted here, which needs Valgrind and PyTorch's own binaries: use blocked_autorange",
        classes="CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts",
    )
    __getattr__ = missing(__name__)
