"""Worker threads that wait inside native code, so that a kernel can be split over them in less than a microsecond.

A job is cut into pieces.  Whoever is free takes the next one; the thread that asks takes part, and at the end waits for
pieces that others have begun, never for a thread to wake up: a processor that is busy elsewhere costs nothing.  Pieces do
not depend on each other, so results are the same for any number of threads.

The thread that asks begins in front, every other one at the back: from job to job they come to the same rows, and find in their
own caches what they have computed.  To fetch that from another processor's takes ten times as long.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading

from ...codegen.llvm.ir import Part
from ...core.parallel import pool as eager_pool
from .jit import CompiledCode, jit

SPIN = 2000  # how often a worker looks for a job before it sleeps: some 40 microseconds
PIECES = 4  # for each thread
# Numbers of the system's futex and sched_yield, and what makes a processor wait for a moment (arm64's own hint for that does not: a barrier takes
# about as long as x86's pause).
_CALLS = {"x86_64": (202, 24, "llvm.x86.sse2.pause", ""), "aarch64": (98, 124, "llvm.aarch64.isb", "i32 15")}

# The state is one word for each line of the cache: see the names.  `next` has the number of the job in its upper half; in its lower one, how
# many pieces were taken from the front, and from the back.  So a piece is taken by one exchange, which fails for a job that is over.
# While a job is described, `next` says that all its pieces are taken (CLOSED, more than there ever are): whoever reads a part of the new
# description has read that, too, or finds the word changed.  Processors that reorder what is read and written (arm64) are held to it by
# `acquire` and `release`.
_NEXT, _DONE, _WAKE, _SLEEPERS, _TASK, _TABLE, _COUNT, _PIECES, _LIMIT, _BUSY, _USERS = range(0, 88, 8)

_TEXT = """
declare i64 @syscall(i64, ...)
declare void @PAUSE_DECLARED

define internal i1 @take_piece(ptr %state, i64 %id) {
entry:
  %limitp = getelementptr i64, ptr %state, i64 LIMIT
  %limit = load atomic i64, ptr %limitp monotonic, align 8
  %idle = icmp sge i64 %id, %limit
  br i1 %idle, label %none, label %look
look:
  %word = load atomic i64, ptr %state acquire, align 8
  %front = and i64 %word, 65535
  %shifted = lshr i64 %word, 16
  %back = and i64 %shifted, 65535
  %taken = add i64 %front, %back
  %piecesp = getelementptr i64, ptr %state, i64 PIECES
  %pieces = load atomic i64, ptr %piecesp acquire, align 8
  %taskp = getelementptr i64, ptr %state, i64 TASK
  %task = load atomic i64, ptr %taskp acquire, align 8
  %tablep = getelementptr i64, ptr %state, i64 TABLE
  %table = load atomic i64, ptr %tablep acquire, align 8
  %countp = getelementptr i64, ptr %state, i64 COUNT
  %count = load atomic i64, ptr %countp acquire, align 8
  %left = icmp slt i64 %taken, %pieces
  br i1 %left, label %try, label %none
try:
  %side = and i64 %id, 1
  %even = icmp eq i64 %side, 0
  %step = select i1 %even, i64 1, i64 65536
  %following = add i64 %word, %step
  %reversed = sub i64 %pieces, %back
  %last_left = sub i64 %reversed, 1
  %piece = select i1 %even, i64 %front, i64 %last_left
  %pair = cmpxchg ptr %state, i64 %word, i64 %following seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %run, label %look
run:
  %a = mul i64 %piece, %count
  %first = sdiv i64 %a, %pieces
  %after = add i64 %piece, 1
  %b = mul i64 %after, %count
  %last = sdiv i64 %b, %pieces
  %function = inttoptr i64 %task to ptr
  %argument = inttoptr i64 %table to ptr
  call void %function(ptr %argument, i64 %first, i64 %last)
  %donep = getelementptr i64, ptr %state, i64 DONE
  %before = atomicrmw add ptr %donep, i64 1 seq_cst
  ret i1 true
none:
  ret i1 false
}

define void @worker(ptr %state, i64 %id) {
entry:
  %wakep = getelementptr i64, ptr %state, i64 WAKE
  %sleepersp = getelementptr i64, ptr %state, i64 SLEEPERS
  br label %top
top:
  %seen = load atomic i64, ptr %wakep seq_cst, align 8
  br label %work
work:
  %more = call i1 @take_piece(ptr %state, i64 %id)
  br i1 %more, label %work, label %spin
spin:
  %n = phi i64 [ 0, %work ], [ %n1, %again ]
  %now = load atomic i64, ptr %wakep acquire, align 8
  %changed = icmp ne i64 %now, %seen
  br i1 %changed, label %top, label %again
again:
  call void @PAUSE
  %n1 = add i64 %n, 1
  %tired = icmp sge i64 %n1, SPIN
  br i1 %tired, label %sleep, label %spin
sleep:
  %s0 = atomicrmw add ptr %sleepersp, i64 1 seq_cst
  %value = and i64 %seen, 4294967295
  %w = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %wakep, i64 128, i64 %value, i64 0, i64 0, i64 0)
  %s1 = atomicrmw sub ptr %sleepersp, i64 1 seq_cst
  br label %top
}

define void @parallel(ptr %state, ptr %task, ptr %table, i64 %count) {
entry:
  %limitp = getelementptr i64, ptr %state, i64 LIMIT
  %limit = load atomic i64, ptr %limitp monotonic, align 8
  %alone = icmp slt i64 %limit, 2
  br i1 %alone, label %serial, label %claim
claim:
  %busyp = getelementptr i64, ptr %state, i64 BUSY
  %pair = cmpxchg ptr %busyp, i64 0, i64 1 seq_cst seq_cst
  %free = extractvalue { i64, i1 } %pair, 1
  br i1 %free, label %publish, label %serial
serial:
  call void %task(ptr %table, i64 0, i64 %count)
  ret void
publish:
  %old = load atomic i64, ptr %state monotonic, align 8
  %job = lshr i64 %old, 32
  %newjob = add i64 %job, 1
  %word = shl i64 %newjob, 32
  %closed = or i64 %word, CLOSED
  store atomic i64 %closed, ptr %state monotonic, align 8
  %taskp = getelementptr i64, ptr %state, i64 TASK
  %tasknumber = ptrtoint ptr %task to i64
  store atomic i64 %tasknumber, ptr %taskp release, align 8
  %tablep = getelementptr i64, ptr %state, i64 TABLE
  %tablenumber = ptrtoint ptr %table to i64
  store atomic i64 %tablenumber, ptr %tablep release, align 8
  %countp = getelementptr i64, ptr %state, i64 COUNT
  store atomic i64 %count, ptr %countp release, align 8
  %many = mul i64 %limit, PER_THREAD
  %few = icmp slt i64 %count, %many
  %pieces = select i1 %few, i64 %count, i64 %many
  %piecesp = getelementptr i64, ptr %state, i64 PIECES
  store atomic i64 %pieces, ptr %piecesp release, align 8
  %donep = getelementptr i64, ptr %state, i64 DONE
  store atomic i64 0, ptr %donep monotonic, align 8
  store atomic i64 %word, ptr %state seq_cst, align 8
  %wakep = getelementptr i64, ptr %state, i64 WAKE
  %w = atomicrmw add ptr %wakep, i64 1 seq_cst
  %sleepersp = getelementptr i64, ptr %state, i64 SLEEPERS
  %sleepers = load atomic i64, ptr %sleepersp seq_cst, align 8
  %any = icmp sgt i64 %sleepers, 0
  br i1 %any, label %rouse, label %work
rouse:
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %wakep, i64 129, i64 %limit, i64 0, i64 0, i64 0)
  br label %work
work:
  %more = call i1 @take_piece(ptr %state, i64 0)
  br i1 %more, label %work, label %join
join:
  %n = phi i64 [ 0, %work ], [ %n1, %again ], [ 0, %yield ]
  %done = load atomic i64, ptr %donep acquire, align 8
  %all = icmp sge i64 %done, %pieces
  br i1 %all, label %finish, label %again
again:
  call void @PAUSE
  %n1 = add i64 %n, 1
  %tired = icmp sge i64 %n1, SPIN
  br i1 %tired, label %yield, label %join
yield:
  %y = call i64 (i64, ...) @syscall(i64 YIELD)
  br label %join
finish:
  store atomic i64 0, ptr %busyp seq_cst, align 8
  ret void
}

define i64 @take(ptr %flag) {
  %before = atomicrmw xchg ptr %flag, i64 1 seq_cst, align 8
  ret i64 %before
}

; BLAS has threads of its own.  While products are split here, it is told to use one; the last user gives it back the others.  One word has the
; number of users in its lower half, and in its upper one how many threads BLAS had when the first of them came.
define void @quiet_blas(ptr %state, ptr %get, ptr %set) {
entry:
  %usersp = getelementptr i64, ptr %state, i64 USERS
  %before = atomicrmw add ptr %usersp, i64 1 seq_cst
  %others = and i64 %before, 4294967295
  %first = icmp eq i64 %others, 0
  br i1 %first, label %ask, label %done
ask:
  %threads = call i32 %get()
  %had = zext i32 %threads to i64
  %earlier = lshr i64 %before, 32
  %more = sub i64 %had, %earlier
  %upper = shl i64 %more, 32
  %kept = atomicrmw add ptr %usersp, i64 %upper seq_cst
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %one, label %done
one:
  call void %set(i32 1)
  br label %done
done:
  ret void
}

define void @restore_blas(ptr %state, ptr %get, ptr %set) {
entry:
  %usersp = getelementptr i64, ptr %state, i64 USERS
  %before = atomicrmw sub ptr %usersp, i64 1 seq_cst
  %users = and i64 %before, 4294967295
  %last = icmp eq i64 %users, 1
  %had = lshr i64 %before, 32
  %several = icmp ugt i64 %had, 1
  %gives = and i1 %last, %several
  br i1 %gives, label %give, label %done
give:
  %threads = trunc i64 %had to i32
  call void %set(i32 %threads)
  br label %done
done:
  ret void
}
"""


class Pool:
    """The workers and the state that they share with whoever has work for them."""

    def __init__(self) -> None:
        self.raw = ctypes.create_string_buffer(96 * 8 + 64)
        start = -(-ctypes.addressof(self.raw) // 64) * 64
        self.state = (ctypes.c_int64 * 96).from_address(start)
        self.address = start
        self.workers = 0
        self.lock = threading.Lock()
        self.compiled: CompiledCode | None = None
        if code():
            self.compiled = jit().compile(code())
            self.parallel = self.compiled.address("parallel")
            self.quiet, self.restore = self.compiled.address("quiet_blas"), self.compiled.address("restore_blas")
            # Called with Python's own lock held, as the native code is that looks at the same flags.
            self.take = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.compiled.address("take"))
            self.work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.compiled.address("worker"))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """After a fork: the child has none of its parent's threads."""
        self.workers = 0
        self.state[_SLEEPERS] = self.state[_BUSY] = self.state[_USERS] = 0
        self.lock = threading.Lock()

    def prepare(self) -> None:
        """Have as many workers as ``set_num_threads`` asks for."""
        wanted = eager_pool.threads
        if self.state[_LIMIT] != wanted:
            self.state[_LIMIT] = wanted
        if self.compiled is not None and self.workers < wanted - 1:
            with self.lock:
                while self.workers < wanted - 1:
                    self.workers += 1
                    threading.Thread(target=self.work, args=(self.address, self.workers), daemon=True, name="rushlight").start()


def code() -> list[Part]:
    """The pool's code, where this system can have one."""
    return (
        [Part(text_for(platform.machine()), 0)] if sys.platform == "linux" and platform.machine() in _CALLS else []
    )  # it waits most of the time


def text_for(processor: str) -> str:
    """The functions of the pool for a kind of processor."""
    futex, yields, pause, given = _CALLS[processor]
    text = _TEXT.replace("PAUSE_DECLARED", f"{pause}({given.partition(' ')[0]})").replace("PAUSE", f"{pause}({given})")
    text = text.replace("PER_THREAD", str(PIECES))
    text = text.replace("FUTEX", str(futex)).replace("YIELD", str(yields)).replace("SPIN", str(SPIN)).replace("CLOSED", "65535")
    places = {"LIMIT": _LIMIT, "PIECES": _PIECES, "TASK": _TASK, "TABLE": _TABLE, "COUNT": _COUNT, "DONE": _DONE, "WAKE": _WAKE}
    for name, place in {**places, "SLEEPERS": _SLEEPERS, "BUSY": _BUSY, "USERS": _USERS}.items():
        text = text.replace(f"i64 {name}\n", f"i64 {place}\n")
    return text


_pool: list[Pool] = []


def pool() -> Pool:
    """The one pool."""
    if not _pool:
        _pool.append(Pool())
    return _pool[0]
