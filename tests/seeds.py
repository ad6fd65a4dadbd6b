"""Random programs beyond those that the tests run: ``python tests/test_..._fuzz.py FIRST LAST [BACKEND]``."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from rushlight import compiler


def run_seeds(run: Callable[..., Any], shown: int = 300) -> None:
    """Run the programs of the seeds that the command line names, and print those that fail."""
    failures = 0
    options = {"backend": sys.argv[3]} if len(sys.argv) > 3 else {}
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            run(number, **options)
        except AssertionError as problem:
            failures += 1
            print("seed", number, str(problem)[:shown].replace("\n", " | "), flush=True)
        except Exception as problem:
            failures += 1
            where = traceback.extract_tb(problem.__traceback__)[-1]
            print("seed", number, "raised", type(problem).__name__, str(problem)[:200], where.filename[-30:], where.lineno, flush=True)
        compiler.reset()
    print(failures, "failures")
