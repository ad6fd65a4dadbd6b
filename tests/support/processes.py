"""Programs in fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def start_python(*arguments: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with arguments to its end, whatever its exit status; it imports rushlight from this repository."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=variables, check=False)


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """What a program prints; it must succeed."""
    done = start_python("-c", textwrap.dedent(code), *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
