"""Worker threads that wait inside native code, so that a kernel can be split over them in about a microsecond.

A job is split into pieces, and each thread owns a range of them: from job to job it gets the same rows, which are then in its own cache (fetching them
from another core's takes ten times as long).  A thread that has finished its range steals pieces from the ends of others', so a
busy core, or a sleeping thread, costs nothing: the calling thread takes part, and at the end waits for pieces that others have
begun, never for a thread to wake up.  Pieces are independent, so results are the same for any number of threads.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading

from ...codegen.llvm.ir import Part
from ...core.parallel import pool as eager_pool
from .jit import CompiledCode, jit, log

SPIN = 2000  # iterations that a worker spins before it sleeps: some 40 microseconds (longer helps no eager step: other threads are slower meanwhile)
PIECES = 4  # for each thread
# System call numbers of futex and sched_yield, and the spin-wait hint (arm64's own, yield, does not wait: a barrier takes
# about as long as x86's pause).
_CALLS = {"x86_64": (202, 24, "llvm.x86.sse2.pause", ""), "aarch64": (98, 124, "llvm.aarch64.isb", "i32 15")}

# The state: words written by different threads are in different cache lines; the description of a job is in one line.  A range has its own
# word: the job number in its upper bits; in its lower ones, how many pieces were taken from its end, and from its front.  A word of an
# older job means none.  So a piece is taken by one compare-and-swap, and the words need no clearing: a job ends when all its pieces are done, and so all
# nonempty ranges have its number.  A late thread with the number of a finished job finds its ranges empty, or a newer number.
# While a job is being described, its number is odd (a seqlock): a reader of a torn description sees an odd or a changed number.  On processors
# with weak memory ordering (arm64), `acquire` and `release` enforce this.
_JOB, _DONE, _SLEEPERS, _BUSY, _USERS, _LIMIT, _TASK, _RANGE = range(0, 64, 8)  # the ranges' words follow, a line for each
_TABLE, _COUNT, _PIECES, _RANGES = range(_TASK + 1, _TASK + 5)
MOST = 256  # threads
WORDS = _RANGE + 8 * MOST

_TEXT = """
declare i64 @syscall(i64, ...)
declare void @PAUSE_DECLARED

define internal void @run_pieces(ptr %state, i64 %id) {
entry:
  %job = load atomic i64, ptr %state acquire, align 8
  %rangesp = getelementptr i64, ptr %state, i64 RANGES
  %ranges = load atomic i64, ptr %rangesp acquire, align 8
  %piecesp = getelementptr i64, ptr %state, i64 PIECES
  %pieces = load atomic i64, ptr %piecesp acquire, align 8
  %taskp = getelementptr i64, ptr %state, i64 TASK
  %task = load atomic i64, ptr %taskp acquire, align 8
  %tablep = getelementptr i64, ptr %state, i64 TABLE
  %table = load atomic i64, ptr %tablep acquire, align 8
  %countp = getelementptr i64, ptr %state, i64 COUNT
  %count = load atomic i64, ptr %countp acquire, align 8
  %function = inttoptr i64 %task to ptr
  %argument = inttoptr i64 %table to ptr
  %donep = getelementptr i64, ptr %state, i64 DONE
  %high = shl i64 %job, 16
  %same = load atomic i64, ptr %state acquire, align 8
  %changed = icmp ne i64 %same, %job
  %odd = trunc i64 %job to i1
  %unfit = or i1 %changed, %odd
  br i1 %unfit, label %none, label %described
described:
  %idle = icmp sge i64 %id, %ranges
  br i1 %idle, label %none, label %range
range:
  %who = phi i64 [ %id, %described ], [ %wrapped, %next ]
  %visited = phi i64 [ 1, %described ], [ %visited1, %next ]
  %r0 = mul i64 %who, %pieces
  %from = udiv i64 %r0, %ranges
  %r1 = add i64 %r0, %pieces
  %to = udiv i64 %r1, %ranges
  %size = sub i64 %to, %from
  %line = shl i64 %who, 3
  %first_range = getelementptr i64, ptr %state, i64 RANGE
  %wordp = getelementptr i64, ptr %first_range, i64 %line
  %own = icmp eq i64 %who, %id
  br label %look
look:
  %mine = phi i64 [ 0, %range ], [ %mine, %try ], [ %mine1, %run ]
  %word = load atomic i64, ptr %wordp acquire, align 8
  %of = lshr i64 %word, 16
  %newer = icmp ugt i64 %of, %job
  br i1 %newer, label %leave, label %there
there:
  %current = icmp eq i64 %of, %job
  %kept = select i1 %current, i64 %word, i64 %high
  %front = and i64 %kept, 255
  %shifted = lshr i64 %kept, 8
  %back = and i64 %shifted, 255
  %taken = add i64 %front, %back
  %left = icmp ult i64 %taken, %size
  br i1 %left, label %try, label %leave
try:
  %step = select i1 %own, i64 1, i64 256
  %following = add i64 %kept, %step
  %pair = cmpxchg ptr %wordp, i64 %word, i64 %following seq_cst seq_cst
  %got = extractvalue { i64, i1 } %pair, 1
  br i1 %got, label %run, label %look
run:
  %ahead = add i64 %from, %front
  %behind = sub i64 %to, %back
  %behind1 = sub i64 %behind, 1
  %piece = select i1 %own, i64 %ahead, i64 %behind1
  %a = mul i64 %piece, %count
  %first = udiv i64 %a, %pieces
  %after = add i64 %piece, 1
  %b = mul i64 %after, %count
  %last = udiv i64 %b, %pieces
  call void %function(ptr %argument, i64 %first, i64 %last)
  %mine1 = add i64 %mine, 1
  br label %look
leave:
  %any = icmp ne i64 %mine, 0
  br i1 %any, label %tell, label %next
tell:
  %before = atomicrmw add ptr %donep, i64 %mine seq_cst
  br label %next
next:
  %who1 = add i64 %who, 1
  %over = icmp eq i64 %who1, %ranges
  %wrapped = select i1 %over, i64 0, i64 %who1
  %visited1 = add i64 %visited, 1
  %all = icmp ugt i64 %visited1, %ranges
  br i1 %all, label %none, label %range
none:
  ret void
}

define void @worker(ptr %state, i64 %id) {
entry:
  %sleepersp = getelementptr i64, ptr %state, i64 SLEEPERS
  %limitp = getelementptr i64, ptr %state, i64 LIMIT
  br label %top
top:
  %seen = load atomic i64, ptr %state seq_cst, align 8
  call void @run_pieces(ptr %state, i64 %id)
  br label %spin
spin:
  %n = phi i64 [ 0, %top ], [ %n1, %again ]
  %now = load atomic i64, ptr %state acquire, align 8
  %changed = icmp ne i64 %now, %seen
  br i1 %changed, label %top, label %again
again:
  call void @PAUSE
  %n1 = add i64 %n, 1
  %tired = icmp sge i64 %n1, SPIN
  br i1 %tired, label %sleep, label %spin
sleep:
  %limit = load atomic i64, ptr %limitp seq_cst, align 8
  %surplus = icmp sge i64 %id, %limit
  br i1 %surplus, label %park, label %doze
park:
  %known = and i64 %limit, 4294967295
  %p = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %limitp, i64 128, i64 %known, i64 0, i64 0, i64 0)
  br label %top
doze:
  %s0 = atomicrmw add ptr %sleepersp, i64 1 seq_cst
  %value = and i64 %seen, 4294967295
  %w = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %state, i64 128, i64 %value, i64 0, i64 0, i64 0)
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
  %begun = atomicrmw add ptr %state, i64 1 seq_cst
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
  %rangesp = getelementptr i64, ptr %state, i64 RANGES
  store atomic i64 %limit, ptr %rangesp release, align 8
  %donep = getelementptr i64, ptr %state, i64 DONE
  store atomic i64 0, ptr %donep release, align 8
  %published = atomicrmw add ptr %state, i64 1 seq_cst
  %sleepersp = getelementptr i64, ptr %state, i64 SLEEPERS
  %sleepers = load atomic i64, ptr %sleepersp seq_cst, align 8
  %any = icmp sgt i64 %sleepers, 0
  br i1 %any, label %rouse, label %work
rouse:
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %state, i64 129, i64 %limit, i64 0, i64 0, i64 0)
  br label %work
work:
  call void @run_pieces(ptr %state, i64 0)
  br label %join
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

; Workers beyond the number of threads wait for that to change, and not for jobs: a job wakes none that has no part in it.
define void @set_limit(ptr %state, i64 %limit) {
  %limitp = getelementptr i64, ptr %state, i64 LIMIT
  store atomic i64 %limit, ptr %limitp seq_cst, align 8
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %limitp, i64 129, i64 2147483647, i64 0, i64 0, i64 0)
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


class ThreadPool:
    """The worker threads and the state that they share with callers."""

    def __init__(self) -> None:
        self.raw = ctypes.create_string_buffer(8 * WORDS + 64)
        start = -(-ctypes.addressof(self.raw) // 64) * 64
        self.state = (ctypes.c_int64 * WORDS).from_address(start)
        self.address = start
        self.workers = 0
        self.most = MOST  # threads that the system allows this process
        self.lock = threading.Lock()
        self.compiled: CompiledCode | None = None
        if code():
            self.compiled = jit().compile(code())
            self.parallel = self.compiled.address("parallel")
            self.set_limit = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.compiled.address("set_limit"))
            self.quiet, self.restore = self.compiled.address("quiet_blas"), self.compiled.address("restore_blas")
            # Called with the GIL held, as is the native code that reads the same flags.
            self.take = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.compiled.address("take"))
            self.work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(self.compiled.address("worker"))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """After a fork: the child has none of its parent's threads."""
        self.workers = 0
        self.state[_SLEEPERS] = self.state[_BUSY] = self.state[_USERS] = 0
        self.state[_JOB] += self.state[_JOB] & 1  # a job that another thread was describing
        self.lock = threading.Lock()

    def prepare(self) -> None:
        """Start as many workers as ``set_num_threads`` asks for, or as the system allows this process."""
        wanted = eager_pool.threads
        if wanted > self.most:
            wanted = self.most
        if self.state[_LIMIT] != wanted:
            self.limit(wanted)
        if self.workers < wanted - 1 and self.compiled is not None:
            self.start_workers(wanted)

    def limit(self, threads: int) -> None:
        """Split jobs into so many threads' ranges from now on."""
        if self.compiled is None:
            self.state[_LIMIT] = threads
        else:
            self.set_limit(self.address, threads)

    def start_workers(self, wanted: int) -> None:
        """Start workers.  Where the system refuses more threads (RLIMIT_NPROC), the existing ones do the work."""
        with self.lock:
            while self.workers < wanted - 1:
                thread = threading.Thread(target=self.work, args=(self.address, self.workers + 1), daemon=True, name="rushlight")
                try:
                    thread.start()
                except RuntimeError as error:
                    self.most = self.workers + 1
                    self.limit(self.most)
                    log.warning("%s: native code continues with %d of %d threads", error, self.most, wanted)
                    return
                self.workers += 1


def code() -> list[Part]:
    """The pool's code, where this system supports it."""
    return [Part(text_for(platform.machine()), 0)] if sys.platform == "linux" and platform.machine() in _CALLS else []  # it mostly waits


def text_for(processor: str) -> str:
    """The functions of the pool for a kind of processor."""
    futex, yields, pause, given = _CALLS[processor]
    text = _TEXT.replace("PAUSE_DECLARED", f"{pause}({given.partition(' ')[0]})").replace("PAUSE", f"{pause}({given})")
    text = text.replace("PER_THREAD", str(PIECES))
    text = text.replace("FUTEX", str(futex)).replace("YIELD", str(yields)).replace("SPIN", str(SPIN))
    places = {"LIMIT": _LIMIT, "PIECES": _PIECES, "TASK": _TASK, "TABLE": _TABLE, "COUNT": _COUNT, "DONE": _DONE, "RANGES": _RANGES}
    for name, place in {**places, "SLEEPERS": _SLEEPERS, "BUSY": _BUSY, "USERS": _USERS, "RANGE": _RANGE}.items():
        text = text.replace(f"i64 {name}\n", f"i64 {place}\n")
    return text


_pool: list[ThreadPool] = []


def pool() -> ThreadPool:
    """The one pool.  It is never freed: workers run its code until the process exits, after the interpreter's end."""
    if not _pool:
        _pool.append(ThreadPool())
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_pool[0]))
    return _pool[0]
