"""The pool of threads: each piece of a job is run once, whatever comes after what."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import time
import weakref

import pytest

import rushlight

pytest.importorskip("llvmlite")
from rushlight.codegen.llvm.ir import Part
from rushlight.core.blas import blas
from rushlight.runtime.cpu import arena
from rushlight.runtime.cpu.jit import jit
from rushlight.runtime.cpu.thread_pool import _LIMIT, _SLEEPERS, pool

TIMES = 300_000
# Jobs of few pieces and of many in turn: a worker that looks for one more piece of the first meets the second while it is described.
TEXT = """
define void @count(ptr %table, i64 %first, i64 %last) {
entry:
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %n, %body ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %body, label %done
body:
  %place = getelementptr i64, ptr %table, i64 %i
  %before = load i64, ptr %place
  %after = add i64 %before, 1
  store i64 %after, ptr %place
  %n = add i64 %i, 1
  br label %head
done:
  ret void
}

define void @drive(ptr %parallel, ptr %state, ptr %few, ptr %many, i64 %times) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %n, %body ]
  %more = icmp slt i64 %i, %times
  br i1 %more, label %body, label %done
body:
  call void %parallel(ptr %state, ptr @count, ptr %few, i64 2)
  call void %parallel(ptr %state, ptr @count, ptr %many, i64 8)
  %n = add i64 %i, 1
  br label %head
done:
  ret void
}
"""


def test_pieces_are_run_once() -> None:
    workers = pool()
    if workers.compiled is None:
        pytest.skip("no pool on this system")
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(max(2, before))
    try:
        workers.prepare()
        compiled = jit().compile([Part(TEXT, 0)])
        drive = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(compiled.address("drive"))
        few, many = (ctypes.c_int64 * 8)(), (ctypes.c_int64 * 8)()
        drive(workers.parallel, workers.address, ctypes.addressof(few), ctypes.addressof(many), TIMES)
    finally:
        rushlight.set_num_threads(before)
        workers.prepare()
    assert list(few) == [TIMES] * 2 + [0] * 6
    assert list(many) == [TIMES] * 8


def test_blas_keeps_its_threads() -> None:
    """While native code splits products, BLAS uses one thread; afterwards as many as before, which may be fewer than at an earlier time."""
    workers, found = pool(), blas().threads
    if workers.compiled is None or found is None:
        pytest.skip("no pool on this system, or no BLAS with threads")
    get, set_ = ctypes.CFUNCTYPE(ctypes.c_int)(found[0]), ctypes.CFUNCTYPE(None, ctypes.c_int)(found[1])
    quiet, restore = (ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(each) for each in (workers.quiet, workers.restore))
    given = (workers.address, *found)
    before = get()
    try:
        for count in (2, 1, 2):
            set_(count)
            if get() != count:
                pytest.skip("BLAS has one thread alone")
            quiet(*given)
            assert get() == 1
            quiet(*given)
            restore(*given)
            assert get() == 1  # there is still a user
            restore(*given)
            assert get() == count
    finally:
        set_(before)


def test_garbage_is_freed_before_a_large_arena_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Link:
        own: object = None

    link = Link()
    link.own, gone = link, weakref.ref(link)
    del link
    monkeypatch.setattr(arena, "HUGE", 1 << 16)
    x = rushlight.randn(300, 300)
    compiled = rushlight.compile(lambda x: ((x @ x).softmax(1) @ x).sum(), backend="native")
    gc.disable()
    try:
        with rushlight.no_grad():
            compiled(x)
            compiled(x)
        assert gone() is None
    finally:
        gc.enable()


def test_workers_beyond_the_number_of_threads_wait_for_it_to_change() -> None:
    """Jobs are done whole on any number of threads, also on more of them again after a time in which some had no part in jobs."""
    workers = pool()
    if workers.compiled is None:
        pytest.skip("no pool on this system")
    before = rushlight.get_num_threads()
    compiled = jit().compile([Part(TEXT, 0)])
    drive = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(compiled.address("drive"))
    few, many = (ctypes.c_int64 * 8)(), (ctypes.c_int64 * 8)()
    counts = (4, 2, 4, 1, 3)
    try:
        for count in counts:
            rushlight.set_num_threads(count)
            workers.prepare()
            assert workers.state[_LIMIT] == count
            drive(workers.parallel, workers.address, ctypes.addressof(few), ctypes.addressof(many), 1000)
            time.sleep(0.02)  # longer than workers look for a job
        rushlight.set_num_threads(2)
        workers.prepare()
        time.sleep(0.02)
        drive(workers.parallel, workers.address, ctypes.addressof(few), ctypes.addressof(many), 1)
        time.sleep(0.02)
        assert workers.state[_SLEEPERS] <= 1  # one has a part in jobs; the others do not wait for any
    finally:
        rushlight.set_num_threads(before)
        workers.prepare()
    assert list(few) == [1000 * len(counts) + 1] * 2 + [0] * 6
    assert list(many) == [1000 * len(counts) + 1] * 8


def test_a_program_ends_while_workers_look_for_jobs() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import rushlight as rl; rl.set_num_threads(8); x = rl.randn(1000, 1000); x.exp(); x.exp()"
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", code, os.getcwd()], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
