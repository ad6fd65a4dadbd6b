"""The swaps of a random permutation (Fisher-Yates), in sequence, which NumPy has no function for."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from ....codegen.llvm.ir import IRBuilder, Module, Scalar
from ....core.process_safety import free_after_fork
from ....runtime.cpu.jit import jit, log

_lock = free_after_fork(threading.Lock())
_compiled: list[Any] = []
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def run(order: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> bool:
    """Swap ``order[i]`` with ``order[others[i]]`` for each ``i`` in sequence; False where there is no native code for it."""
    with _lock:
        if not _compiled:
            _compiled.append(_prepare())
    if _compiled[0] is None:
        return False
    _compiled[0][0](order.ctypes.data, others.ctypes.data, len(others))
    return True


def _prepare() -> Any:
    try:
        compiled = jit().compile(text())
        return _SIGNATURE(compiled.address("exchange")), compiled
    except Exception as error:  # falls back to Python
        log.info("no native code for permutations: %s: %s", type(error).__name__, error)
        return None


def text() -> str:
    """The function ``exchange(order, others, count)``, as text."""
    module = Module()
    c = IRBuilder(module)
    with c.loop(c.integer(0), Scalar("%count", "i64")) as index:
        other = c.load("%others", index, "i64")
        here, there = c.load("%order", index, "i64"), c.load("%order", other, "i64")
        c.store(there, "%order", index)
        c.store(here, "%order", other)
    module.functions.append(c.function("exchange", "ptr noalias %order, ptr noalias %others, i64 %count"))
    return str(module)
