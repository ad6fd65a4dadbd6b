"""Record what PyTorch gives for the samples of every op with varied values.

python tests/record/ops_live.py FILE     # run by tests/test_ops_live.py, so that PyTorch is never loaded into the tests' own process
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import numpy as np
import torch
from op_samples import vary
from ops import record, resolve
from samples import makers, samples_of

from rushlight.core.declare import table


def record_ops(ops: list[Any], file: str) -> None:
    """Write the results of some ops."""
    torch.manual_seed(0)
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, Any] = {}
    for op in ops:
        more_arrays, more_notes = record(op, resolve(op), vary(op, samples_of(op)))
        arrays.update(more_arrays)
        notes.update(more_notes)
    np.savez(file, notes=np.frombuffer(json.dumps(notes).encode(), np.uint8), **arrays)


def main(file: str) -> None:
    """Record in child processes: PyTorch itself may crash on a sample (a division by zero, with some numbers of threads)."""
    warnings.simplefilter("ignore")
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, Any] = {"version": torch.__version__}
    ops = [op for op in table.values() if op.functional is None and op in makers and resolve(op) is not None]
    waiting = [ops[at : at + 40] for at in range(0, len(ops), 40)]
    while waiting:
        some = waiting.pop()
        child = os.fork()
        if not child:
            record_ops(some, file + ".part.npz")
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            with np.load(file + ".part.npz") as data:
                found = dict(data)
            notes.update(json.loads(found.pop("notes").tobytes()))
            arrays.update(found)
        elif status > 0:
            sys.exit(f"recording {some[0]} to {some[-1]} failed")
        elif len(some) > 1:
            waiting += [[op] for op in some]
        else:
            print(f"PyTorch is killed by signal {-status} on the samples of {some[0].name}")
    np.savez(file, notes=np.frombuffer(json.dumps(notes).encode(), np.uint8), **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
