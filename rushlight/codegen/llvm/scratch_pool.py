"""A pool of scratch memory: its size grows with the number of threads, not of units of work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.base import Spec
from ...core.parallel import pool as eager_pool
from ...schedule.symbolic_shape import at_most
from .ir import BITS, IRBuilder, Module, Scalar, pointers
from .native_call import NativeCall

LINE = 64  # bytes of a cache line
MOST = 64  # slots: a word has a bit for each


def cache_lines(type: str, elements: int) -> int:
    """The bytes of an array, rounded up to a cache line."""
    return -(-elements * (BITS[type] // 8) // LINE) * LINE


class ScratchPool:
    """A pool of slots of equal size, for so many units of work.  Its first word has a bit for each slot that is in use."""

    def __init__(self, units: Any, bytes: int) -> None:
        self.slots: int = max(1, at_most(units, min(MOST, max(8, eager_pool.threads))))
        self.bytes = bytes

    @property
    def spec(self) -> Spec:
        """The memory of the pool."""
        return Spec((LINE + self.slots * self.bytes,), np.dtype(np.uint8))

    def clear(self, module: Module, pool: Any) -> NativeCall:
        """Mark all slots as free."""
        c = IRBuilder(module)
        c.effect("store", "i64", (c.integer(0), Scalar("%pool", "ptr")), f", align {LINE}")
        return NativeCall(module.add("clear_pool", c.function("", pointers(("%pool",)))), [pool], 1, 0.0)

    @contextmanager
    def slot(self, c: IRBuilder, pool: str) -> Iterator[str]:
        """The address of a slot that is acquired for the enclosed code."""
        pointer = Scalar(pool, "ptr")
        head, body, done = c.fresh("head"), c.fresh("body"), c.fresh("done")
        c.jump(head)
        c.label(head)
        used = c.emit("load atomic", "i64", (pointer,), f" monotonic, align {LINE}")
        free = c.binary("xor", used, c.integer(-1))
        number = c.call_external("@llvm.cttz.i64", "i64", (free, Scalar("false", "i1")))
        c.branch(c.in_range(number, self.slots), body, head)
        c.label(body)
        bit = c.binary("shl", c.integer(1), number)
        operands = (pointer, used, c.binary("or", used, bit))
        pair = c.emit("cmpxchg", "i64", operands, " seq_cst seq_cst", "{ i64, i1 }")
        c.branch(c.emit("extractvalue", pair.type, (pair,), ", 1", "i1"), done, head)
        c.label(done)
        yield c.address(pool, c.add(LINE, c.scale(number, self.bytes)), "i8")
        c.emit("atomicrmw xor", "i64", (pointer, bit), " seq_cst")
