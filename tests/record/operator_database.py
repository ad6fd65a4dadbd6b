"""Records calls of the operators in PyTorch's own database of operators: small samples, results and gradients."""

from __future__ import annotations

import gzip
import json
import sys
import types
import unittest
import warnings
from pathlib import Path

import torch
from operator_calls import call, encode, function_of

if "expecttest" not in sys.modules:  # which PyTorch's test files import for a class that nothing here uses
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase  # type: ignore[attr-defined]

from torch.testing._internal.common_methods_invocations import op_db

LARGEST = 700  # characters of the arguments of a sample
COUNTS = {torch.float64: 3, torch.complex128: 1, torch.int64: 1}
UNDEFINED = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted")


def main() -> None:
    """Record the first small samples of every operator."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    recorded = []
    for op in op_db:
        if op.name.startswith(("_", "sparse", "masked.", "torch.")) or op.name in UNDEFINED or function_of(torch, op.name) is None:
            continue
        for dtype, count in COUNTS.items():
            if dtype not in op.dtypes:
                continue
            torch.manual_seed(1)
            left = count
            for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
                try:
                    args, kwargs = encode(torch, (sample.input, *sample.args)), encode(torch, dict(sample.kwargs))
                    if len(json.dumps((args, kwargs))) > LARGEST:
                        continue
                    results, gradients = call(torch, op.name, args, kwargs, op.supports_autograd and dtype is not torch.int64)
                    entry = [op.name, args, kwargs, encode(torch, results), encode(torch, gradients)]
                except (TypeError, RuntimeError, NotImplementedError, IndexError, ValueError, AssertionError, AttributeError):
                    continue  # the sample is for a form that is called otherwise, or can't be differentiated
                recorded.append(entry)
                left -= 1
                if not left:
                    break
    path = Path(__file__).resolve().parent.parent / "data" / "operator_database.json.gz"
    text = "[\n" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in recorded) + "\n]\n"
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(len(recorded), "calls of", len({each[0] for each in recorded}), "operators,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
