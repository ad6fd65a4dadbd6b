"""Process groups of several processes, started by mpiexec: collectives, faults, the launcher, and how bad input is answered."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.mpi import environment, launch, launcher, run_ranks, start_ranks, write_program
from support.processes import start_python

from rushlight.distributed.forward import share

RANKS = Path(__file__).parent / "ranks"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_collective_on_every_dtype(count) -> None:
    assert run_ranks(count, RANKS / "collectives.py").count("done") == count


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="counters in shared memory need the order of x86")
@pytest.mark.parametrize("count", [2, 3, 4])
def test_reductions_in_shared_memory(count) -> None:
    done = start_ranks(count, RANKS / "shared.py")
    assert done.returncode and "refused" in done.stdout, f"{done.stdout}\n{done.stderr}"  # the last one differs, and ends the program


def test_every_collective_without_shared_memory() -> None:
    assert run_ranks(3, RANKS / "collectives.py", RUSHLIGHT_SHARED_MEMORY="0").count("done") == 3


def test_collectives_with_gradients() -> None:
    assert run_ranks(3, RANKS / "gradients.py").count("done") == 3


def test_modules_that_are_replicated_in_place() -> None:
    assert run_ranks(2, RANKS / "composed.py").count("done") == 2


def test_hooks_on_gradients_and_averages_of_models() -> None:
    assert run_ranks(4, RANKS / "hooks.py").count("done") == 4


@pytest.mark.parametrize("count", [2, 3])
def test_pipelines_have_the_gradients_of_the_whole_model(count) -> None:
    assert run_ranks(count, RANKS / "pipeline.py").count("done") == count


# -- faults --------------------------------------------------------------------------------------------------------

START = """\
import os, sys, time
from datetime import timedelta
import torch, torch.distributed as dist
dist.init_process_group("mpi", timeout=timedelta(seconds=30))
rank = dist.get_rank()
x = torch.ones(3)
dist.all_reduce(x)
dist.group.WORLD.set_timeout(timedelta(seconds=2))  # from here on: a busy machine may need longer to start
"""
FAULTS = {
    "raises": ("if rank == 1: raise ValueError('boom')", r"rank 1 has raised ValueError at program.py:9: boom"),
    "dies": ("if rank == 1: os.kill(os.getpid(), 9)", r"rank 1 has died"),
    "hangs": ("if rank == 1: time.sleep(60)", r"has not ended within 2 seconds: rank 1 has not called it: it is at program.py:9"),
    "ends": ("if rank == 1: sys.exit(3)", r"rank 1 has ended with exit status 3"),
    "leaves": ("if rank == 1: os._exit(0)", r"rank 1 has died"),
    "comes to its end": ("if rank == 1: sys.exit()", r"rank 1 has come to the end of its program"),
    "calls another": ("if rank == 1: dist.broadcast(x, 0)", r"rank 1 .*broadcast\(torch.float32, 3, 0\) at program.py:9"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("ending", ["sys.exit(4)", "sys.exit()", "raise ValueError('in the child')"])
def test_the_end_of_a_forked_child_is_not_that_of_its_rank(ending, tmp_path) -> None:
    child = f"if rank == 1:\n    child = os.fork()\n    if not child: {ending}\n    os.waitpid(child, 0)\n"
    done = launch(2, write_program(tmp_path, f"{START}{child}dist.all_reduce(x)\nprint('sum', x[0].item())\n"))
    assert done.returncode == 0 and done.stdout.count("sum 4.0") == 2, done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_rank_ends_all_with_its_name_and_the_line(fault, tmp_path) -> None:
    line, words = FAULTS[fault]
    program = write_program(tmp_path, f"{START}{line}\nelse: dist.all_reduce(x)\n" + "time.sleep(1.5)\ndist.all_reduce(x)\n")
    begun = time.monotonic()
    done = launch(3, program, options=("--grace", "8"))
    assert time.monotonic() - begun < 30 and done.returncode not in (0, None)
    for rank in (0, 2):
        told = [each for each in done.stderr.splitlines() if each.startswith(f"[{rank}] ") and f"on rank {rank}" in each]
        assert any("all_reduce at program.py:" in each for each in told), done.stderr
    assert re.search(words, done.stderr), done.stderr
    if fault in ("raises", "dies", "ends", "leaves"):
        assert "rank 1 failed first" in done.stderr


def test_a_difference_in_the_last_call_is_an_error_at_the_end(tmp_path) -> None:
    program = write_program(tmp_path, """\
import rushlight as torch, rushlight.distributed as dist
dist.init_process_group("mpi")
length = 2 + dist.get_rank()
dist.all_gather_into_tensor(torch.zeros(2 * length), torch.ones(length))
dist.destroy_process_group()
""")  # fmt: skip
    done = launch(2, program)
    assert done.returncode and re.search(
        r"ranks \d and \d differ in call 1 .*all_gather_into_tensor\(torch.float32, [23]\) at", done.stderr
    ), done


def test_a_rank_that_ends_before_mpi_has_started(tmp_path) -> None:
    begun = time.monotonic()
    done = start_ranks(2, write_program(tmp_path, """\
import os, sys
from datetime import timedelta
if os.environ["PMI_RANK"] == "1":
    sys.exit(3)
import rushlight.distributed as dist
dist.init_process_group("mpi", timeout=timedelta(seconds=3))
"""))  # fmt: skip
    assert done.returncode and "MPI has not started on all processes within 3 seconds" in done.stderr and time.monotonic() - begun < 30


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="shared memory has no folder here")
def test_a_killed_program_leaves_no_shared_memory_behind(tmp_path) -> None:
    done = start_ranks(2, write_program(tmp_path, """\
import os, rushlight as torch, rushlight.distributed as dist
dist.init_process_group("mpi")
dist.all_reduce(torch.ones(3))
names = {line.split()[5] for line in open("/proc/self/maps") if "/dev/shm/" in line}
print("mapped", len(names), "left", [each for each in names if os.path.exists(each)], flush=True)
dist.barrier()
os.kill(os.getpid(), 9)
"""))  # fmt: skip
    assert done.stdout.count("left []") == 2, f"{done.stdout}\n{done.stderr}"


def test_groups_that_are_interleaved(tmp_path) -> None:
    done = start_ranks(2, write_program(tmp_path, f"""\
{START.replace("import torch, torch.distributed as dist", "import rushlight as torch, rushlight.distributed as dist")}
groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
for group in groups if rank else groups[::-1]:
    dist.all_reduce(x, group=group)
"""))  # fmt: skip
    assert done.returncode and "collectives of two groups are interleaved" in done.stderr


def test_the_debug_mode_compares_each_call_on_all_ranks(tmp_path) -> None:
    program = write_program(tmp_path, """\
import rushlight as torch, rushlight.distributed as dist
dist.init_process_group("mpi")
rank = dist.get_rank()
for call in (
    lambda: dist.all_reduce(torch.ones(3 + rank)),
    lambda: dist.all_reduce(torch.ones(3, dtype=torch.float64 if rank else torch.float32)),
    lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM),
    lambda: dist.broadcast(torch.ones(3), rank),
    lambda: dist.barrier() if rank else dist.all_reduce(torch.ones(1)),
):
    try:
        call()
    except RuntimeError as error:
        assert "Detected mismatch between collectives on ranks" in str(error) and "rank 0:" in str(error) and "rank 1:" in str(error), error
        print("refused")
x = torch.ones(2)
dist.all_reduce(x)  # nothing was exchanged, so the group goes on
assert x.tolist() == [2, 2]
""")  # fmt: skip
    assert run_ranks(2, program, TORCH_DISTRIBUTED_DEBUG="DETAIL").count("refused") == 10


def test_monitored_barrier_names_who_is_missing(tmp_path) -> None:
    done = start_ranks(2, write_program(tmp_path, """\
import time, rushlight.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    try:
        dist.monitored_barrier(timeout=timedelta(seconds=1))
    except RuntimeError as error:
        print(error)
else:
    time.sleep(2)
"""))  # fmt: skip
    assert done.returncode == 0 and "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 1000 ms" in done.stdout, done.stderr
    assert done.stderr.count("exchanged by MPI") == 1  # gloo means MPI, which is said once


# -- the launcher --------------------------------------------------------------------------------------------------


def test_launch_sets_what_torchrun_sets(tmp_path) -> None:
    program = write_program(tmp_path, """\
import os, sys, torch
assert "rushlight" in torch.__file__
print(sys.argv[1:], *(os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")))
int(os.environ["MASTER_PORT"])
""")  # fmt: skip
    done = launch(2, program, "--epochs", "3")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] ['--epochs', '3'] {rank} 2 {rank} 2 127.0.0.1" for rank in (0, 1)], done.stderr
    assert "never called torch.distributed.init_process_group: 2 processes did the same work" in done.stderr


def test_torchrun_is_launch(tmp_path) -> None:
    program = write_program(
        tmp_path, "import torch.distributed as dist\ndist.init_process_group('gloo')\nprint(dist.get_rank(), dist.get_world_size())"
    )
    launcher()
    done = start_python("-m", "rushlight", "run", "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", str(program))
    assert sorted(done.stdout.splitlines()) == ["[0] 0 2", "[1] 1 2"], done.stderr


def test_launch_restarts_all_processes(tmp_path) -> None:
    program = write_program(tmp_path, """\
import os, sys
print("attempt", os.environ["TORCHELASTIC_RESTART_COUNT"])
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(5)
""")  # fmt: skip
    done = launch(2, program, options=("--restarts", "2"))
    assert done.returncode == 0 and sorted(done.stdout.split("\n"))[1:] == [f"[{rank}] attempt {k}" for rank in (0, 1) for k in (0, 1)]
    assert "rank 1 failed first: it ended with exit status 5" in done.stderr
    assert launch(1, write_program(tmp_path, "raise SystemExit(7)"), options=("--restarts", "1")).returncode == 7


TRAINING = """\
import os, signal, sys
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
dist.init_process_group("mpi")
rank, folder = dist.get_rank(), sys.argv[1]
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
model(torch.zeros(1, 4)).sum().mul(0).backward()
optimizer.step()  # so that there is a state to load
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 0}
if os.path.exists(os.path.join(folder, ".metadata")):
    dcp.load(state, checkpoint_id=folder)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    print("goes on from", state["step"])
for step in range(state["step"], 5):
    if sys.argv[2:] == ["dies"] and rank == 1 and step == 3 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    optimizer.zero_grad()
    model(torch.full((1, 4), step + rank + 1.0)).square().sum().backward()
    optimizer.step()
    dcp.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, checkpoint_id=folder)
print("ends with", [round(each, 5) for each in model.module.weight.flatten().tolist()])
"""


def test_a_restart_goes_on_from_the_last_checkpoint(tmp_path) -> None:
    program = write_program(tmp_path, TRAINING)
    whole = launch(2, program, str(tmp_path / "whole"))
    broken = launch(2, program, str(tmp_path / "broken"), "dies", options=("--restarts", "1", "--grace", "3"))
    assert whole.returncode == broken.returncode == 0, broken.stderr
    assert "rank 1 failed first: it was killed by signal 9" in broken.stderr and "restarting all 2 processes (1 of 1)" in broken.stderr
    assert broken.stdout.count("goes on from 3") == 2
    ends = [{line.partition("] ")[2] for line in each.stdout.splitlines() if "ends with" in line} for each in (whole, broken)]
    assert len(ends[0]) == 1 and ends[0] == ends[1]


def test_launch_gives_processes_cores_of_their_own(tmp_path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    done = launch(2, write_program(tmp_path, "import os; print(sorted(os.sched_getaffinity(0)))"), options=("--bind",))
    found = [set(eval(line.partition("] ")[2])) for line in done.stdout.splitlines()]
    assert len(found) == 2 and all(found) and not found[0] & found[1], done.stderr


def test_processes_share_no_core(tmp_path) -> None:
    """Hardware threads of a core go to one process, in whatever order the system numbers them."""
    for processor in range(8):  # four cores: 0 and 4, 1 and 5, …
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text("0\n")
        (folder / "core_id").write_text(f"{processor % 4}\n")
    assert [share(list(range(8)), rank, 4, str(tmp_path)) for rank in range(4)] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert [share(list(range(8)), rank, 2, str(tmp_path)) for rank in range(2)] == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert [share([1, 2, 5], rank, 2, str(tmp_path)) for rank in range(2)] == [[1], [5]]
    assert share([0, 1, 2, 3], 1, 2, str(tmp_path / "nothing")) == [2, 3] and share([0], 1, 2, str(tmp_path)) == []


def test_launch_starts_modules(tmp_path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import sys, os\nprint(__name__, os.environ['RANK'], sys.argv[1:])")
    launcher()
    done = start_python("-m", "rushlight", "launch", "-n", "2", "-m", "package.train", "--lr", "3", folder=tmp_path)
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] __main__ {rank} ['--lr', '3']" for rank in (0, 1)], done.stderr


def test_launch_passes_signals_on(tmp_path) -> None:
    program = write_program(tmp_path, """\
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *details: (print("told to end"), sys.exit(0)))
print("ready")
time.sleep(30)
""")  # fmt: skip
    launcher()
    process = subprocess.Popen(
        [sys.executable, "-m", "rushlight", "launch", "-n", "2", str(program)], stdout=subprocess.PIPE, text=True, env=environment()
    )
    lines = [process.stdout.readline() for _ in range(2)]
    assert sorted(lines) == ["[0] ready\n", "[1] ready\n"]
    os.kill(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert sorted(out.splitlines()) == ["[0] told to end", "[1] told to end"] and process.returncode == 128 + signal.SIGTERM


def test_processes_of_multiprocessing_are_a_group_and_groups_are_made_again(tmp_path) -> None:
    launcher()
    program = write_program(tmp_path, """\
import os
import rushlight as torch, rushlight.distributed as dist, rushlight.multiprocessing as mp

def work(rank, size):
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "12355"}
    for _ in range(2):
        dist.init_process_group("mpi", rank=rank, world_size=size)
        x = torch.ones(2)
        dist.all_reduce(x)
        assert x.tolist() == [size, size] and dist.get_rank() == rank
        dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
    print("done")
""")  # fmt: skip
    done = start_python(str(program))
    assert done.stdout == "done\n" and done.stderr == "", done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_end_at_different_times_and_say_what_they_raise(method, tmp_path) -> None:
    launcher()
    program = write_program(tmp_path, """\
import os, sys, time
import rushlight as torch, rushlight.distributed as dist, rushlight.multiprocessing as mp

def work(rank, fails):
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "12356"}
    dist.init_process_group("mpi", rank=rank, world_size=2)
    dist.all_reduce(torch.ones(2))
    if rank == 0 and fails:
        raise KeyError("of rank 0")
    if rank == 1:
        if fails:
            dist.all_reduce(torch.ones(2))
        time.sleep(6.5)  # longer than a process has after a fault
        print("rank 1 has ended", flush=True)

if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    processes = [mp.Process(target=work, args=(rank, len(sys.argv) > 2)) for rank in range(2)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    print([each.exitcode for each in processes])
""")  # fmt: skip
    done = start_python(str(program), method)
    assert done.stdout == "rank 1 has ended\n[0, 0]\n" and done.stderr == "", done.stderr
    failed = start_python(str(program), method, "fails")
    assert failed.stdout == "[1, 1]\n" and "KeyError: 'of rank 0'" in failed.stderr
    assert "on rank 1 can't end: rank 0 has raised KeyError at " in failed.stderr


def test_processes_that_a_shell_has_started_are_a_group(tmp_path) -> None:
    launcher()
    program = write_program(tmp_path, """\
import rushlight as torch, rushlight.distributed as dist
dist.init_process_group("mpi")
x = torch.full((2,), 1.0 + dist.get_rank())
dist.all_reduce(x)
print("sum", x.tolist())
dist.destroy_process_group()
""")  # fmt: skip
    with socket.socket() as free:
        free.bind(("", 0))
        variables = environment(WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT=str(free.getsockname()[1]))
    started = [
        subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True, env={**variables, "RANK": str(rank)})
        for rank in (1, 0)
    ]
    assert [each.communicate(timeout=60)[0] for each in started] == ["sum [3.0, 3.0]\n"] * 2


# -- bad input -----------------------------------------------------------------------------------------------------


def test_bad_input_is_answered_in_one_sentence(tmp_path) -> None:
    program = write_program(tmp_path, "import rushlight.distributed as dist\ndist.init_process_group('mpi')\n")
    without = start_python(str(program), WORLD_SIZE="2", RANK="0", MASTER_ADDR="x", MASTER_PORT="1")
    assert "no launcher of MPI has started this one: start the program with `rushlight launch -n 2 program.py`" in without.stderr
    unfit = start_ranks(2, program, WORLD_SIZE="4")
    assert unfit.returncode and "WORLD_SIZE is 4, but the launcher has started 2 processes" in unfit.stderr
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = launch(2, program, options=("--master-port", str(port)))
    assert done.returncode == 2 and f"port {port} is taken" in done.stderr
    assert "at least 1" in launch(0, program).stderr
    assert "there is no file" in launch(2, tmp_path / "absent.py").stderr


def test_without_mpi4py_one_sentence_says_what_to_install(tmp_path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')")
    program = write_program(tmp_path, "import rushlight.distributed as dist\ndist.init_process_group('gloo')\n")
    done = start_python(str(program), PMI_RANK="0", PMI_SIZE="2", PYTHONPATH=f"{tmp_path}{os.pathsep}{environment()['PYTHONPATH']}")
    assert done.returncode and "pip install 'rushlight[mpi]'" in done.stderr.splitlines()[-1]


def test_parts_of_other_sizes_than_expected_are_refused(tmp_path) -> None:
    done = start_ranks(2, write_program(tmp_path, """\
        import rushlight as torch
        import rushlight.distributed as dist
        from datetime import timedelta
        dist.init_process_group("mpi", timeout=timedelta(seconds=10))
        rank = dist.get_rank()
        out = torch.zeros(4)
        try:
            dist.all_to_all_single(out, torch.ones(4), [1, 3], [2, 2])
        except RuntimeError as error:
            assert ("sends itself 2 elements, and expects 1" if rank == 0 else "sends itself 2 elements, and expects 3") in str(error), error
            print("refused at once")
        sizes = [3, 1] if rank else [2, 2]
        dist.all_to_all_single(out[: 4], torch.ones(4), [2, 2] if rank == 0 else [3, 1], sizes)
        """))  # fmt: skip
    assert done.stdout.count("refused at once") == 2 and done.returncode != 0
    assert "all_to_all_single" in done.stderr and "of the group sends" in done.stderr and "are expected from it" in done.stderr, done.stderr
