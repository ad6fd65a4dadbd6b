"""Where MPI's launcher is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig


class LaunchError(RuntimeError):
    """Why the processes can't be started: one sentence."""


def find_launcher() -> str:
    """MPI's ``mpiexec``: the one beside this Python (``pip install mpich`` puts it there), or the first on PATH."""
    for folder in (os.path.dirname(sys.executable), sysconfig.get_path("scripts")):
        for name in ("mpiexec", "mpirun"):
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
    found = shutil.which("mpiexec") or shutil.which("mpirun")
    if found is None:
        raise LaunchError("no mpiexec was found, neither beside this Python nor on PATH: pip install 'rushlight[mpi]' brings one")
    return found
