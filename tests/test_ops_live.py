"""Every op against PyTorch itself on varied values, where PyTorch is installed beside rushlight (it never has to be)."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import sys
from typing import Any

import numpy as np
import pytest
from op_samples import flatten, vary
from support.processes import ROOT, start_python
from test_ops import OPS, SAMPLES, TOLERANCE, call, wide

from rushlight.core.base import TensorBase
from rushlight.core.dtypes import BY_NUMPY

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)

EXCEPT = {
    "igamma": "PyTorch loses NaN beside 0 and inf",
    "igammac": "PyTorch loses NaN beside 0 and inf",
}
# Ops that PyTorch 2.13 computes otherwise than versions before it (seen in 2.11), and how.
CHANGED = {
    "addmv": "operands of several dtypes are refused",
    "clamp": "a bound that is NaN gives NaN",
    "interpolate": "there is a mode lanczos",
}


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """PyTorch's results, computed once for all workers in a process that no test shares: the alias `import torch` needs that."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    file = folder / "ops_live.npz"
    with open(folder / "ops_live.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
            done = start_python(str(ROOT / "tests" / "record" / "ops_live.py"), str(file), PYTHONPATH=path)
            assert done.returncode == 0, done.stderr
    with np.load(file) as data:
        arrays = dict(data)
    return arrays, json.loads(arrays.pop("notes").tobytes())


@pytest.mark.parametrize("op", [op for op in OPS if op.name not in EXCEPT], ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore")
def test_against_live_pytorch(op: Any, live: tuple[dict[str, np.ndarray], dict[str, Any]]) -> None:
    arrays, notes = live
    if op.name in CHANGED and tuple(map(int, notes["version"].split(".")[:2])) < (2, 13):
        pytest.skip(f"since PyTorch 2.13 {CHANGED[op.name]}; here is {notes['version']}")
    compared = 0
    for number, sample in enumerate(vary(op, SAMPLES[op.name])):
        key = f"{op.name}/{number}"
        if key not in notes:
            continue
        compared += 1
        if "error" in notes[key]:
            with pytest.raises(Exception):  # noqa: B017  (its type is compared in test_ops)
                call(op, sample)
            continue
        found = flatten(call(op, sample))
        assert len(found) == len(notes[key]["dtypes"])
        for index, (result, dtype) in enumerate(zip(found, notes[key]["dtypes"])):
            assert isinstance(result, TensorBase) == (dtype is not None)
            if dtype is None:
                continue
            assert BY_NUMPY[result._array.dtype].name == dtype
            relative, absolute = TOLERANCE.get(dtype, (0, 0))
            want = arrays[f"{key}/{index}"]
            assert result._array.shape == want.shape
            np.testing.assert_allclose(wide(result._array), wide(want), rtol=10 * relative, atol=10 * absolute, equal_nan=True)
    if not compared:
        pytest.skip("PyTorch has no such function, or its results are random")


def test_pytorch_is_not_loaded(live: Any) -> None:
    assert not [name for name in sys.modules if name.partition(".")[0] == "torch" and "rushlight" not in str(sys.modules[name])]
