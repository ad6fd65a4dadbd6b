"""Runs the scripts of this folder: what PyTorch computes is recorded anew under tests/data.

    python tests/record/run.py [name ...]          (what `make record` runs, in an environment with PyTorch and mpmath)

Each script runs in a process of its own, so that none sees the settings of another.  The list of failures is printed at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "run"))


def main(wanted: list[str]) -> int:
    """Run the named scripts, or all of them."""
    unknown = set(wanted) - set(NAMES)
    if unknown:
        print(f"no such recording: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join((str(ROOT), str(ROOT / "tests"))))
    failed = []
    for name in wanted or NAMES:
        start = time.perf_counter()
        status = subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], cwd=ROOT, env=environment, check=False).returncode
        print(
            f"{name}: {'recorded' if not status else f'failed with status {status}'} after {time.perf_counter() - start:.0f} s", flush=True
        )
        failed += [name] if status else []
    if failed:
        print(f"failed: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
