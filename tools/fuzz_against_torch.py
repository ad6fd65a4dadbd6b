"""Random calls of every op, run here and in PyTorch, and where they differ.

    python tools/fuzz_against_torch.py --torch .venv-record/bin/python            # 200 calls of each op
    python tools/fuzz_against_torch.py --torch PYTHON --calls 2000 softmax topk    # of these ops

PyTorch runs in its own environment (``make record`` makes one), in a process that gets calls and gives outcomes; one that crashes is started anew.
Values, dtypes, shapes, aliasing, classes of errors and gradients are compared, with ``--strides`` strides too; what differs is shrunk.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from fuzz.calls import Call, Mutator  # noqa: E402
from fuzz.compare import difference, shrink, wrong_in_two_ways  # noqa: E402
from fuzz.outcome import Outcome, outcome  # noqa: E402
from fuzz.peer import PyTorch  # noqa: E402
from fuzz.spellings import Speller  # noqa: E402
from samples import makers, samples_of  # noqa: E402

import rushlight  # noqa: E402
from rushlight.core.declare import table  # noqa: E402


def fuzz(op: Any, peer: PyTorch, count: int, seed: int, strides: bool, spellings: bool) -> list[tuple[Call, str]]:
    """Differences found in random calls of an op, shrunk, one of each kind."""
    mutator = Mutator(op, seed)
    if not mutator.bases:
        return []
    maker: Any = Speller(mutator) if spellings else mutator
    found: dict[str, tuple[Call, str]] = {}

    def both(call: Call) -> tuple[Outcome, Outcome]:
        return outcome(rushlight, call), peer.ask([call])[0]

    for start in range(0, count, 100):
        calls = pickle.loads(
            pickle.dumps([maker.call() for _ in range(min(100, count - start))])
        )  # arrays lie as they do in the other process
        for call, theirs in zip(calls, peer.ask(calls)):
            if theirs.error in ("crash", "AttributeError"):
                continue
            said = difference(call, outcome(rushlight, call), theirs, strides)
            kind = " ".join(word for word in said.split() if not any(letter.isdigit() for letter in word))[:60]
            if said and kind not in found:
                small = shrink(call, lambda other: bool(difference(other, outcome(rushlight, other), peer.ask([other])[0], strides)))
                if not wrong_in_two_ways(small, *both(small), both):
                    found[kind] = small, difference(small, *both(small), strides) or said
    return list(found.values())


def main() -> int:
    """Fuzz the ops that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", help="names of ops; all by default")
    parser.add_argument("--torch", required=True, metavar="PYTHON", help="the Python of an environment with PyTorch")
    parser.add_argument("--calls", type=int, default=200, help="of each op")
    parser.add_argument("--family", default="", help="only ops of this folder: pointwise, reduce, shape, index, linalg, nn, special, ...")
    parser.add_argument("--from", dest="first", default="", metavar="OP", help="begin with this op")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strides", action="store_true", help="compare strides of results too")
    parser.add_argument(
        "--spellings", action="store_true", help="the same arguments in other forms: keywords, NumPy's names and numbers, lists"
    )
    given = parser.parse_args()
    ops = [
        op
        for op in table.values()
        if op.functional is None
        and op in makers
        and samples_of(op)
        and (not given.ops or op.name in given.ops)
        and f".{given.family}" in op.source_module
    ]
    ops = ops[next((at for at, op in enumerate(ops) if op.name == given.first), 0) :]
    peer = PyTorch(given.torch)
    total: Counter[str] = Counter()
    for number, op in enumerate(ops, 1):
        differences = fuzz(op, peer, given.calls, given.seed, given.strides, given.spellings)
        total["ops"] += bool(differences)
        total["differences"] += len(differences)
        print(f"[{number}/{len(ops)}] {op.name}: {len(differences) or 'no'} differences", file=sys.stderr)
        for call, said in differences:
            print(f"{op.name}: {call}\n    {said}", flush=True)
    print(f"{len(ops)} ops, {given.calls} calls each: {total['differences']} kinds of difference in {total['ops']} ops")
    return 1 if total["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
