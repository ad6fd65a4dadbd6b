"""Compiled and eager code where threads are many, few, or gone: right results, and no program hangs.

Each case is a program of its own, which the test ends if it takes too long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight.core import parallel

pytest.importorskip("llvmlite")

BEGIN = """
import os, sys, threading, time
import numpy as np
import rushlight as torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256), torch.nn.LayerNorm(256))
x = torch.randn(512, 256)

def work(x):
    return net(x).softmax(-1)

with torch.no_grad():
    want = work(x).numpy()
compiled = torch.compile(work, backend="native")

def check():
    with torch.no_grad():
        assert np.allclose(compiled(x).numpy(), want, atol=1e-5)

"""
SEVERAL = "torch.set_num_threads(max(16, torch.get_num_threads()))\n"  # the pool works, whatever the machine


def run(program: str, **environment: str) -> str:
    """What a program prints that ends well and soon."""
    root = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": root, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_more_threads_than_the_machine_has() -> None:
    assert run("for count in (1000, 3, 64, 1):\n    torch.set_num_threads(count)\n    check()\nprint(torch.get_num_threads())") == "1\n"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="there is no affinity here")
def test_affinity_that_changes_while_code_runs() -> None:
    program = (
        SEVERAL
        + """
cores = os.sched_getaffinity(0)
stop = []
thread = threading.Thread(target=lambda: [check() for _ in iter(lambda: bool(stop), True)])
thread.start()
for turn in range(10):
    chosen = cores if turn % 2 else {min(cores)}
    for task in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(task), chosen)
        except ProcessLookupError:
            continue
    time.sleep(0.02)
stop.append(True)
thread.join()
"""
    )
    run(program)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("cached", [True, False])
def test_a_fork_in_the_middle(cached: bool, tmp_path: Path) -> None:
    """Also of a compilation, where no code is cached: a child does not wait for LLVM's lock, which a thread of its parent held."""
    program = (
        SEVERAL
        + """
stop = []
thread = threading.Thread(target=lambda: [check() for _ in iter(lambda: bool(stop), True)])
thread.start()
for turn in range(6):
    time.sleep(0.01 * turn)
    child = os.fork()
    if not child:
        try:
            for _ in range(3):
                check()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.append(True)
thread.join()
"""
    )
    run(program, **({} if cached else {"RUSHLIGHT_CACHE_DIR": str(tmp_path)}))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_another_thread_imports(tmp_path: Path) -> None:
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.3)\nvalue = 7\n")
    program = f"""
sys.path.insert(0, {str(tmp_path)!r})
thread = threading.Thread(target=lambda: __import__("slowly_imported"))
thread.start()
while "slowly_imported" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if not child:
    import slowly_imported
    os._exit(slowly_imported.value)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
thread.join()
"""
    run(program)


def test_threads_of_the_user_at_once() -> None:
    program = (
        SEVERAL
        + """
failed = []
def user():
    try:
        for _ in range(20):
            check()
    except BaseException as error:
        failed.append(error)
users = [threading.Thread(target=user) for _ in range(6)]
for each in users: each.start()
for each in users: each.join()
assert not failed, failed
"""
    )
    run(program)


@pytest.mark.parametrize("allowed", [0, 1])
def test_no_more_threads_from_the_system(allowed: int) -> None:
    """As where RLIMIT_NPROC is reached: what can't be started is not waited for."""
    program = f"""
start, count = threading.Thread.start, []
def limited(thread):
    if thread.name.startswith("rushlight"):
        count.append(thread)
        if len(count) > {allowed}:
            raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = limited
torch.set_num_threads(8)
check()
check()
large = torch.ones(1 << 21)
assert float((large.exp() + 1).sum()) > 0
assert len(count) >= 2
"""
    run(program)


@pytest.mark.parametrize(("text", "cores"), [("150000 100000", 2), ("max 100000", None), ("50000 100000", 1), ("", None)])
def test_quotas_of_control_groups(text: str, cores: int | None, tmp_path: Any, monkeypatch: Any) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(text)
    monkeypatch.setattr(parallel, "QUOTAS", ((str(file),),))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(12)), raising=False)
    assert parallel.usable_cores() == (cores or 12)


def test_a_number_of_threads_is_a_positive_int() -> None:
    for wrong in (0, -1):
        with pytest.raises(RuntimeError, match="positive"):
            torch.set_num_threads(wrong)
    with pytest.raises(TypeError, match="expects an int"):
        torch.set_num_threads(2.0)  # type: ignore[arg-type]
