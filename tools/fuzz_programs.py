"""Random small programs, run here and in PyTorch, and where they differ.

python tools/fuzz_programs.py --torch .venv-record/bin/python                    # 200 programs of each kind
python tools/fuzz_programs.py --torch PYTHON --count 2000 modules optimizers     # of these kinds
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from fuzz.compare import difference_of_programs  # noqa: E402
from fuzz.outcome import run_program  # noqa: E402
from fuzz.peer import PyTorch  # noqa: E402
from fuzz.programs import KINDS, program  # noqa: E402

import rushlight  # noqa: E402


def main() -> int:
    """Run the kinds that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--torch", required=True, metavar="PYTHON", help="the Python of an environment with PyTorch")
    parser.add_argument("--count", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    given = parser.parse_args()
    peer, total = PyTorch(given.torch), 0
    for kind in given.kinds or KINDS:
        seen: set[str] = set()
        for seed in range(given.seed, given.seed + given.count):
            source = program(kind, seed)
            theirs = peer.ask([source])[0]
            said = difference_of_programs(run_program(rushlight, source), theirs) if theirs.error != "crash" else ""
            short = " ".join(word for word in said.split() if not any(letter.isdigit() for letter in word))[:80]
            if said and short not in seen:
                seen.add(short)
                print(f"{kind} {seed}: {said}\n{source.strip()}\n", flush=True)
        print(f"{kind}: {len(seen)} kinds of difference in {given.count} programs")
        total += len(seen)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
