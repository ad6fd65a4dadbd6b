"""Record what PyTorch makes of random calls of every op, as far as rushlight makes the same of them.

    python tests/record/fuzz_slice.py          # in an environment with torch 2.13

Writes tests/data/fuzz_slice.json.xz: for every op a list of [checksum of the call, digest of the outcome]; ``tests/fuzz`` makes the calls anew from
the same seed.  Calls on which the two differ are left out: finding those is the work of ``tools/fuzz_against_torch.py``.
"""

from __future__ import annotations

import json
import lzma
import pathlib
import sys
from typing import Any

from fuzz.calls import Mutator
from fuzz.compare import difference
from fuzz.digest import digest, disagreement, name_of
from fuzz.outcome import outcome
from fuzz.peer import PyTorch
from samples import makers, samples_of

import rushlight
from rushlight.core.declare import table

TARGET = pathlib.Path(__file__).resolve().parent.parent / "data" / "fuzz_slice.json.xz"
SEED, CALLS = 2026, 34


def main() -> None:
    """Record every op that has samples."""
    peer = PyTorch(sys.executable)
    recorded: dict[str, Any] = {}
    made = 0
    for op in table.values():
        if op.functional is not None or op.random or op not in makers or not samples_of(op):
            continue
        mutator = Mutator(op, SEED)
        calls = [mutator.call() for _ in range(CALLS)] if mutator.bases else []
        kept = []
        for call, theirs in zip(calls, peer.ask(calls) if calls else []):
            made += 1
            ours = outcome(rushlight, call)
            entry = digest(call, theirs, op)
            if theirs.error != "crash" and not difference(call, ours, theirs) and not disagreement(call, ours, entry, op):
                kept.append([name_of(call), entry])
        recorded[op.name] = kept
    with lzma.open(TARGET, "wt") as file:
        json.dump(recorded, file, separators=(",", ":"))
    print(f"{sum(map(len, recorded.values()))} of {made} calls of {len(recorded)} ops recorded")


if __name__ == "__main__":
    main()
