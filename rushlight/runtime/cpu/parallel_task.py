"""A native function over a range, which the thread pool splits when it is called from Python."""

from __future__ import annotations

import ctypes

from ...codegen.llvm.ir import Module
from .jit import jit
from .thread_pool import pool

_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_ALONE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Task:
    """A function of a module that takes ``count`` words (addresses, or sizes by value) and a range, compiled."""

    def __init__(self, module: Module, inner: str, count: int) -> None:
        self.compiled = jit().compile(f"{module}\n{entry(inner, count)}")
        self.address = self.compiled.address("task")
        self.words = ctypes.c_int64 * count
        self.workers = pool() if pool().compiled is not None else None
        self.alone = _ALONE(self.address)
        self.parallel = None if self.workers is None else _PARALLEL(self.workers.parallel)

    def __call__(self, words: list[int], extent: int) -> None:
        """Run it from 0 to ``extent``."""
        table = self.words(*words)
        if self.workers is None or self.parallel is None:
            self.alone(ctypes.addressof(table), 0, extent)
        else:
            self.workers.prepare()
            self.parallel(self.workers.address, self.address, ctypes.addressof(table), extent)


def entry(inner: str, count: int) -> str:
    """An adapter that loads the words from a table, with the pool's signature."""
    lines = ["define void @task(ptr %table, i64 %first, i64 %last) {"]
    for at in range(count):
        lines += [f"  %p{at} = getelementptr ptr, ptr %table, i64 {at}", f"  %a{at} = load ptr, ptr %p{at}"]
    given = ", ".join(f"ptr %a{at}" for at in range(count))
    return "\n".join([*lines, f"  call void @{inner}({given}, i64 %first, i64 %last)", "  ret void", "}", ""])
