"""Native code, compared with PyTorch's eager mode and compiler, JAX and ONNX Runtime, in one run.

python bench/native.py [--quick] [--only CASE] [--part PART] [--packages rushlight,torch]

Needs torch and llvmlite in the same environment; prints tables and keeps them in bench/RESULTS.md.  ONNX Runtime takes part where it is
installed; JAX where ``JAX_PYTHON`` names the Python of an environment that has it.  It takes some ten minutes, most of them torch.compile's.
"""

from __future__ import annotations

import argparse
import time

import native_growth
import native_limits
import native_memory
from cases import CASES
from native_speed import BESIDE, COLD, FORMS, SPEED, busy_rows, cold_rows, measure, speed_rows
from peers import progress
from sidebyside import keep, machine

# The parts, and what stands over the table of each.
PARTS = {
    "speed": "",
    "cold": "The first two calls in a new process without a disk cache, and with one. The import of the package is not in it, nor what `compile()` itself "
    "imports, which has a column of its own. torch.compile leaves the LSTM as it is where the model alone is compiled: no limit is stated there.",
    "limits": "How far from the machine's limit, {rates}: products and convolutions at that rate, or parameters, inputs and results moved once, "
    "whichever takes longer; pointwise work counts for nothing. Below 1 are convolutions that need fewer products than were counted (Winograd's).",
    "busy": "With one core kept busy by another process: what calls take on average.",
    "memory": "Peak memory of training steps, over that of the process before the model was made; a few MB are not counted as missed.",
    "growth": "How the time of a training step and the time to compile it grow with the number of layers.",
}
HEADS = {
    "speed": SPEED,
    "cold": COLD,
    "limits": native_limits.HEAD,
    "busy": BESIDE,
    "memory": native_memory.HEAD,
    "growth": native_growth.HEAD,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds; nothing is kept")
    parser.add_argument("--only", default="", help="cases whose names contain this; nothing is kept")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part (it can be given again); nothing is kept")
    parser.add_argument("--packages", default="", help="who takes part, as in rushlight,torch; nothing is kept")
    args = parser.parse_args()
    cases = [name for name in CASES if args.only in name]
    if not cases:
        parser.error(f"no case's name contains {args.only!r}: they are {', '.join(CASES)}")
    parts = args.part or list(PARTS)
    packages = args.packages.split(",") if args.packages else ["rushlight", "torch", "jax", "onnxruntime"]
    rounds, budget = (2, 0.1) if args.quick else (5, 0.2)
    about, started = machine(), time.perf_counter()
    rates = native_limits.rates() if "limits" in parts else None
    tables: dict[str, list[str]] = {part: [] for part in parts}

    def add(part: str, *rows: str) -> None:
        if part in tables:
            tables[part] += rows
            for row in rows:
                progress(f"{part}: {row}\n")

    for case in cases:
        for kind in FORMS if {"speed", "cold", "limits", "busy"} & set(parts) else ():
            found = measure(case, kind, packages, rounds, budget, "busy" in parts)
            add("speed", *speed_rows(case, kind, found))
            add("cold", *cold_rows(case, kind, found))
            if rates:
                add("limits", *native_limits.rows(case, kind, found, rates))
            if "busy" in parts:
                add("busy", *busy_rows(case, kind, found))
        if "memory" in parts:
            add("memory", native_memory.row(case))
    for model in native_growth.MODELS if "growth" in parts else ():
        if args.only in model:
            add("growth", *native_growth.rows(model, rounds, budget))
    for part, rows in tables.items():
        explained = [PARTS[part].format(rates=rates), ""] if PARTS[part] else []
        rows[:0] = [*explained, *HEADS[part]]
    body = "\n\n".join("\n".join(rows) for rows in tables.values())
    print(f"\n{body}\n\n(in {(time.perf_counter() - started) / 60:.1f} minutes)")
    if not (args.quick or args.only or args.part or args.packages):
        keep("Native code", about, body)


if __name__ == "__main__":
    main()
