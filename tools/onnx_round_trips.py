"""Exports every sample of every op, reads the file, runs it, exports it again at another opset, and compares all results.

    python tools/onnx_round_trips.py [--only OP] [--step N]

``make test`` does this, too.
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import onnx_round_trips  # noqa: E402
from samples import makers  # noqa: E402

from rushlight.core.declare import table  # noqa: E402


def main() -> int:
    """Run the samples; returns whether anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="ops whose names contain this")
    parser.add_argument("--step", type=int, default=1, help="every so manieth sample")
    options = parser.parse_args()
    found: collections.Counter[str] = collections.Counter()
    for op in table.values():
        if op.functional is None and op in makers and options.only in op.name:
            for sample, outcome in onnx_round_trips.outcomes(op, options.step):  # type: ignore[attr-defined]
                kind = outcome.partition(":")[0]
                found[kind if kind in ("ok", "refused") else "wrong"] += 1
                if kind not in ("ok", "refused"):
                    print(f"{op.name}: {outcome} {sample}"[:400], flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in found.items()))
    return int(found["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
