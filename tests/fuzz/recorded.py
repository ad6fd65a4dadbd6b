"""A slice of the fuzzer's calls with PyTorch's outcomes, recorded, so that tests need no PyTorch.

A call is made again from its op and number; of the outcome a digest of what must be equal exactly (class of the error, dtypes, shapes, aliasing) and the
rounded values are kept.
"""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .calls import Call, Mutator
from .compare import difference
from .outcome import Outcome, outcome

FILE = Path(__file__).resolve().parent.parent / "data" / "fuzz_ops.pickle.gz"


def write_recorded(ops: list[Any], ask: Callable[[list[Call]], list[Outcome]], count: int, seed: int) -> None:
    """Record PyTorch's outcomes of ``count`` calls of each op."""
    found: dict[str, list[tuple[Call, Outcome]]] = {}
    for op in ops:
        mutator = Mutator(op, seed)
        if mutator.bases:
            calls = [mutator.call() for _ in range(count)]
            found[op.name] = [(c, o) for c, o in zip(calls, ask(calls)) if o.error not in ("crash", "AttributeError")]
    with gzip.open(FILE, "wb", compresslevel=9) as file:
        pickle.dump(found, file)


def read_recorded() -> dict[str, list[tuple[Call, Outcome]]]:
    """The recorded calls with their outcomes, by op."""
    with gzip.open(FILE, "rb") as file:
        return pickle.load(file)  # type: ignore[no-any-return]


def differences(torch: Any, cases: list[tuple[Call, Outcome]]) -> list[str]:
    """Where outcomes here differ from the recorded ones."""
    return [f"{call}\n    {said}" for call, theirs in cases if (said := difference(call, outcome(torch, call), theirs))]
