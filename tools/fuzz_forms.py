"""Random calls of every op in the other forms of a program, and where they differ from the eager call.

    python tools/fuzz_forms.py                                   # 20 calls of each op, in every form
    python tools/fuzz_forms.py --calls 200 --forms compiled exported -- softmax topk

No PyTorch is needed: that the eager calls are right is what ``tools/fuzz_against_torch.py`` looks into.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from fuzz.calls import Call, Mutator  # noqa: E402
from fuzz.compare import shrink  # noqa: E402
from fuzz.forms import FORMS, difference_in  # noqa: E402
from samples import makers, samples_of  # noqa: E402

from rushlight.core.declare import table  # noqa: E402


def main() -> int:
    """Fuzz the ops and forms that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", help="names of ops; all by default")
    parser.add_argument("--calls", type=int, default=20, help="of each op")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--family", default="", help="only ops of this folder: pointwise, reduce, shape, index, linalg, nn, special, ...")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1", help="of the ops: 3/16 is the fourth of sixteen parts")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    total: Counter[str] = Counter()
    for number, op in enumerate(table.values()):
        if number % parts != part:
            continue
        if op.functional is not None or op not in makers or not samples_of(op) or op.random or (given.ops and op.name not in given.ops):
            continue
        if f".{given.family}" not in op.source_module or "dropout" in op.name or "lowrank" in op.name or "fractional" in op.name:
            continue
        mutator = Mutator(op, given.seed)
        seen: set[str] = set()
        for _ in range(given.calls if mutator.bases else 0):
            call = mutator.call()
            call.out = None
            for form in given.forms:
                total["calls"] += 1
                said = difference_in(call, form)
                kind = " ".join(word for word in said.split() if not any(letter.isdigit() for letter in word))[:60]
                if said and kind not in seen:
                    seen.add(kind)
                    total["differences"] += 1

                    def differs(other: Call, form: str = form, kind: str = kind) -> bool:
                        return difference_in(other, form)[:30] == kind[:30] or bool(difference_in(other, form)) and kind[:30] == ""

                    small = shrink(call, differs, 10)
                    print(f"{op.name}: {small}\n    {difference_in(small, form) or said}", flush=True)
    print(f"{total['calls']} calls: {total['differences']} kinds of difference")
    return 1 if total["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
