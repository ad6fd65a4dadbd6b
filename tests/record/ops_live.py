"""Record what PyTorch gives for the samples of every op with varied values.

python tests/record/ops_live.py FILE     # run by tests/test_ops_live.py, so that PyTorch is never loaded into the tests' own process
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import torch
from op_samples import vary
from ops import record, resolve
from samples import makers, samples_of

from rushlight.core.declare import table


def main(file: str) -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, Any] = {}
    for op in table.values():
        function = resolve(op)
        if op.functional is None and op in makers and function is not None:
            more_arrays, more_notes = record(op, function, vary(op, samples_of(op)))
            arrays.update(more_arrays)
            notes.update(more_notes)
    np.savez(file, notes=np.frombuffer(json.dumps(notes).encode(), np.uint8), **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
