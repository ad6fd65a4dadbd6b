"""Bernoulli samples from NumPy's Mersenne Twister, advanced in its own state: the same stream.

An element takes two words of 32 bits, and is one where 53 of their bits are less than a number.
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import Any

import numpy as np

from ....codegen.llvm.instructions import LlvmFunction
from ....codegen.llvm.ir import TYPES, IRBuilder, Module, Scalar
from ....core.process_safety import free_after_fork
from ....runtime.cpu.jit import jit, log

WORDS, AHEAD = 624, 397  # of the twister: words of its state, and its middle word offset
CHUNK = 1024  # elements whose words are generated together
_lock = free_after_fork(threading.Lock())
_functions: dict[np.dtype[Any], Any] = {}
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def run(twister: Any, count: int, dtype: np.dtype[Any], p: float) -> Any:
    """So many elements that are one with probability ``p``, or None where there is no native code for it.  The twister advances."""
    if dtype not in _functions:
        prepare(dtype)
    found = _functions[dtype]
    if found is None:
        return None
    made = np.empty(count, dtype)
    found[0](twister.ctypes.state_address, made.ctypes.data, count, math.ceil(p * 2.0**53))
    return made


def prepare(dtype: np.dtype[Any]) -> None:
    """Compile the function for a type, or find out that there is none."""
    with _lock:
        if dtype in _functions:
            return
        found = None
        try:
            if dtype in TYPES and has_known_layout():
                compiled = jit().compile(text(TYPES[dtype]))
                found = (_SIGNATURE(compiled.address("choose")), compiled)
        except Exception as error:  # falls back to NumPy
            log.info("no native code for bernoulli: %s: %s", type(error).__name__, error)
        _functions[dtype] = found


def has_known_layout() -> bool:
    """Whether the state of NumPy's twister is its words, followed by the position."""
    twister = np.random.MT19937(1)
    twister.random_raw(3)
    inner: Any = twister.state["state"]
    words = (ctypes.c_uint32 * (WORDS + 1)).from_address(twister.ctypes.state_address)
    return words[WORDS] == inner["pos"] and bool(np.array_equal(words[:WORDS], inner["key"]))


def text(type: str) -> str:
    """The function ``choose(state, result, count, bound)``, as text."""
    module = Module()
    c = IRBuilder(module)
    words, zero, chunk = c.slot("i32", 2 * CHUNK), c.integer(0), c.integer(CHUNK)
    count, bound = Scalar("%count", "i64"), Scalar("%bound", "i64")
    chunks = c.ceil_div(count, CHUNK)
    with c.loop(zero, chunks) as number:
        start = c.scale(number, CHUNK)
        length = c.min(c.sub(count, start), chunk)
        c.call_function("draw", "%state", words, c.scale(length, 2))
        with c.loop(zero, length) as index:
            at = c.scale(index, 2)
            high, low = (c.convert("zext", c.load(words, each, "i32"), "i64") for each in (at, c.add(at, 1)))
            both = c.binary("or", c.binary("shl", high, c.integer(32)), low)
            taken = c.compare("ult", c.binary("and", both, c.integer(2**53 - 1)), bound)
            made = taken if type == "i1" else c.select(taken, c.constant(type, 1), c.constant(type, 0))
            c.store(made, "%result", c.add(start, index))
    choose = c.function("choose", "ptr noalias %state, ptr noalias %result, i64 %count, i64 %bound")
    module.functions += [draw(module), turn(module), choose]
    return str(module)


def draw(module: Module) -> LlvmFunction:
    """``draw(state, words, count)``: the next words."""
    c = IRBuilder(module)
    done, whole = c.slot("i64"), c.integer(WORDS)
    c.write(c.integer(0), done)
    c.jump("more")
    c.label("more")
    used = c.convert("sext", c.load("%state", whole, "i32"), "i64")
    c.branch(c.less(used, whole), "take", "turn")
    c.label("turn")
    c.call_function("turn", "%state")
    c.store(Scalar("0", "i32"), "%state", whole)
    c.jump("more")
    c.label("take")
    before = c.read(done, "i64")
    length = c.min(c.sub(Scalar("%count", "i64"), before), c.sub(WORDS, used))
    with c.loop(length) as index:
        y = c.load("%state", c.add(used, index), "i32")
        for how, shift, mask in (("lshr", 11, -1), ("shl", 7, 0x9D2C5680), ("shl", 15, 0xEFC60000), ("lshr", 18, -1)):
            y = c.binary("xor", y, c.binary("and", c.binary(how, y, c.like(y, shift)), c.like(y, mask)))
        c.store(y, "%words", c.add(before, index))
    c.store(c.convert("trunc", c.add(used, length), "i32"), "%state", whole)
    c.write(c.add(before, length), done)
    c.branch(c.less(c.read(done, "i64"), Scalar("%count", "i64")), "more", "finish")
    c.label("finish")
    return c.function("draw", "ptr noalias %state, ptr noalias %words, i64 %count")


def turn(module: Module) -> LlvmFunction:
    """``turn(state)``: new words for all of the state."""
    c = IRBuilder(module)

    def renew(at: Scalar, following: Scalar, ahead: Scalar) -> None:
        own, after = c.load("%state", at, "i32"), c.load("%state", following, "i32")
        mixed = c.binary("or", c.binary("and", own, c.like(own, 0x80000000)), c.binary("and", after, c.like(own, 0x7FFFFFFF)))
        odd = c.binary("and", c.binary("sub", c.like(own, 0), c.binary("and", after, c.like(own, 1))), c.like(own, 0x9908B0DF))
        c.store(
            c.binary("xor", c.load("%state", ahead, "i32"), c.binary("xor", c.binary("lshr", mixed, c.like(own, 1)), odd)), "%state", at
        )

    with c.loop(WORDS - AHEAD) as index:
        renew(index, c.add(index, 1), c.add(index, AHEAD))
    with c.loop(WORDS - AHEAD, WORDS - 1) as index:
        renew(index, c.add(index, 1), c.add(index, AHEAD - WORDS))
    renew(c.integer(WORDS - 1), c.integer(0), c.integer(AHEAD - 1))
    return c.function("turn", "ptr noalias %state")
