"""Samples: the inputs that the tests run each op on, in files like those of ``rushlight/ops``.

In: an op.  Out: its samples, plain data (NumPy arrays stand for tensors; the tests turn them into tensors of whatever package they run).  They feed the comparison with
recorded PyTorch results, the gradient and meta checks, every code generator and ONNX opset.  The arrays come from a stream that depends on the op's name alone,
and recorded results are found by a sample's number: append new samples, and record anew (tests/record/ops.py).  Read ``make.py`` first.
"""

from __future__ import annotations

import importlib
import pathlib

from .make import Sample, makers, samples_of

for _path in sorted(pathlib.Path(__file__).parent.glob("*/[!_]*.py")):
    importlib.import_module(f"{__name__}.{_path.parent.name}.{_path.stem}")

__all__ = ["Sample", "makers", "samples_of"]
