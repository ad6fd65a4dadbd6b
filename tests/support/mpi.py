"""Programs in several processes, started by mpiexec; tests that need them are skipped where none can be started."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rushlight.distributed.launcher_path import LaunchError, find_launcher

from .processes import ROOT

SECONDS = 60.0  # no program of these tests takes longer; one that does has failed


def environment(**variables: str) -> dict[str, str]:
    """Variables for programs in processes: few threads each, and rushlight from this repository."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    }
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}


@functools.cache
def launcher() -> str:
    """The path of mpiexec; the reason why there is none is that of the skipped test."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    try:
        found = find_launcher()
    except LaunchError as error:
        pytest.skip(str(error))
    tried = subprocess.run(
        [found, "-n", "2", sys.executable, "-c", "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2"],
        capture_output=True, text=True, timeout=SECONDS, env=environment(), check=False,
    )  # fmt: skip
    if tried.returncode:
        pytest.skip(f"mpiexec can't start processes here: {tried.stderr.strip()[-200:]}")
    return found


def start_ranks(count: int, file: Path, *arguments: str, seconds: float = SECONDS, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in several processes to its end, whatever its exit status."""
    return subprocess.run(
        [launcher(), "-n", str(count), sys.executable, str(file), *arguments],
        capture_output=True, text=True, timeout=seconds, env=environment(**variables), check=False,
    )  # fmt: skip


def run_ranks(count: int, file: Path, *arguments: str, **variables: str) -> str:
    """What a program prints in several processes; it must succeed in all."""
    done = start_ranks(count, file, *arguments, **variables)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def write_program(folder: Path, text: str) -> Path:
    """A program in a file."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    return file


def launch(count: int, file: Path, *arguments: str, options: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program by ``rushlight launch``."""
    launcher()
    return subprocess.run(
        [sys.executable, "-m", "rushlight", "launch", "-n", str(count), *options, str(file), *arguments],
        capture_output=True, text=True, timeout=SECONDS, env=environment(**variables), check=False,
    )  # fmt: skip
