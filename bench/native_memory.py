"""Peak memory of training steps: what a model, its compiled code and its steps add to a process that has the package loaded.

python bench/native_memory.py PACKAGE FORM CASE        (what native.py starts: prints kilobytes)
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

from cases import Made, maker
from peers import progress
from serving import kilobytes
from tables import header, line
from worker import runner, seeded

FORMS = (("rushlight", "model"), ("rushlight", "step"), ("torch", "eager"), ("torch", "model"))
ALLOWED = 1.0  # of PyTorch's
NEGLIGIBLE = 4  # megabytes that compiled code and Python's objects may take however small the tensors are


def tiny(package: Any) -> Made:
    """A model whose steps load what steps need."""
    return package.nn.Linear(4, 4), (package.ones(2, 4),), package.zeros(2, 4), package.nn.functional.mse_loss


def give_back() -> None:
    """Return memory that is free to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def added(package: Any, form: str, make: Callable[[Any], Made]) -> int:
    """Kilobytes at the peak of steps that follow the first ones, over what there was before the model was made."""
    first = runner(package, form, "training", seeded(package, tiny))
    for _ in range(3):
        first()
    give_back()
    before = kilobytes("VmRSS")
    step = runner(package, form, "training", seeded(package, make))
    for _ in range(3):
        step()
    give_back()  # what compiling took and freed is not of the steps
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # forget the peak so far
    for _ in range(3):
        step()
    return kilobytes("VmHWM") - before


def megabytes(package: str, form: str, case: str) -> float:
    """The same, in a process of its own."""
    progress(f"{case}: memory of {package} ({form})")
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": "", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    command = [sys.executable, __file__, package, form, case]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended:\n{done.stderr}")
    return int(done.stdout.split()[-1]) / 1024


HEAD = header("case", "native", "native step", "PyTorch", "torch.compile", "ratio", "ratio of the step", "allowed", "")


def row(case: str) -> str:
    """The peaks of a case, against the least of PyTorch's."""
    found = {form: megabytes(*form, case) for form in FORMS}
    progress("")
    least = min(found["torch", form] for form in ("eager", "model"))
    ours = [found["rushlight", form] for form in ("model", "step")]
    missed = any(each > max(ALLOWED * least, NEGLIGIBLE) for each in ours)
    cells = [*(f"{each:.1f} MB" for each in found.values()), *(f"{each / least:.2f}" for each in ours)]
    return line(case, *cells, f"{ALLOWED:g}", "**missed**" if missed else "")


def main() -> None:
    package, form, case = sys.argv[1:]
    warnings.simplefilter("ignore")
    print(added(importlib.import_module(package), form, maker(case)))


if __name__ == "__main__":
    main()
