"""Random calls of every op, with what PyTorch made of them: a recorded slice of what ``tools/fuzz_against_torch.py`` does at length."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.calls import Mutator
from fuzz.digest import disagreement, name_of
from fuzz.outcome import outcome

import rushlight
from rushlight.core.declare import table

DATA = Path(__file__).parent / "data" / "fuzz_slice.json.xz"
SEED, CALLS, GROUP = 2026, 34, 24  # as tests/record/fuzz_slice.py has them; ops of a test


@cache
def recorded() -> dict[str, dict[int, Any]]:
    """What PyTorch made of each op's calls, by the calls' checksums."""
    with lzma.open(DATA, "rt") as file:
        return {name: dict(entries) for name, entries in json.load(file).items()}


NAMES = [op.name for op in table.values() if op.functional is None and not op.random]


def compared(name: str) -> tuple[list[str], int]:
    """How an op's calls differ from what is recorded, and how many were compared."""
    op, known = table[name], recorded().get(name, {})
    mutator = Mutator(op, SEED)
    wrong, count = [], 0
    for _ in range(CALLS if known else 0):
        call = mutator.call()
        entry = known.get(name_of(call))
        if entry is not None:
            count += 1
            with np.errstate(all="ignore"):
                said = disagreement(call, outcome(rushlight, call), entry, op)
            if said:
                wrong.append(f"{call}\n    {said}")
    return wrong, count


@pytest.mark.parametrize("first", range(0, len(NAMES), GROUP))
def test_random_calls_are_as_pytorch_has_them(first: int) -> None:
    wrong = [said for name in NAMES[first : first + GROUP] for said in compared(name)[0]]
    assert not wrong, "\n".join(wrong[:20])


def test_the_record_is_of_the_calls_that_are_made() -> None:
    """Samples that change make other calls; when too many have, the slice is to be recorded again (``make record ONLY=fuzz_slice``)."""
    names = NAMES[:: max(len(NAMES) // 40, 1)]
    count = sum(compared(name)[1] for name in names)
    assert count > 0.7 * sum(len(recorded().get(name, ())) for name in names)
    assert sum(map(len, recorded().values())) > 18_000


def test_a_wrong_result_is_seen() -> None:
    """The digests tell a result from one with a sign, an element or a type of another kind."""
    op = table["softmax"]
    mutator = Mutator(op, SEED)
    seen = 0
    for _ in range(CALLS):
        call = mutator.call()
        entry = recorded()["softmax"].get(name_of(call))
        found = outcome(rushlight, call)
        if entry is None or found.error or not found.results[0].size or not np.isfinite(found.results[0]).all() or "16" in repr(call):
            continue
        flat = found.results[0].reshape(-1)
        flat[0] += 0.1
        seen += 1
        assert disagreement(call, found, entry, op)
    assert seen >= 5
