"""Native code against eager mode: the gradients of every op's samples, as the back-end computes them."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest
from native_samples import OPS, Case, same
from samples import samples_of

import rushlight as torch
from rushlight.backends.check import Outcome
from rushlight.capture.graph_module import GraphModule
from rushlight.core.declare import Op

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends.native import native

SAMPLES = 2  # of an op, with a gradient


def gradients_agree(op: Op, sample: Any, kind: Any = None) -> bool:
    """Whether there was a gradient to compare; raises where it differs from eager's."""
    with torch.no_grad():
        case = Case(op, sample, kind)
    if case.graph is None:
        return False
    for each in case.tensors:
        each._requires_grad = each._array.dtype.kind in "fcV"
    module = GraphModule({}, case.graph)
    torch.manual_seed(0)
    random = torch.get_rng_state()
    try:
        wanted = Outcome(module.forward, case.tensors, random)
    except Exception:  # what has no gradient says so
        return False
    if not any(each is not None for each in wanted.gradients):
        return False
    found = Outcome(native(module, case.tensors), case.tensors, random)
    for name in ("outputs", "after", "gradients"):
        for number, (one, other) in enumerate(zip(getattr(found, name), getattr(wanted, name), strict=True)):
            about = f"{name} {number} of {sample}"
            assert (one is None) is (other is None), about
            if one is not None:
                assert one._requires_grad is other._requires_grad, about
                scale = (
                    1.0 if not other._array.size else float(np.abs(np.nan_to_num(other._array.astype(complex), posinf=0, neginf=0)).max())
                )
                same(one._array, other._array, max(4.0, 4.0 * scale), about)
    return True


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_gradients(op: Op, caplog: pytest.LogCaptureFixture) -> None:
    """The gradient of what is compiled is eager's, in single and double precision; nothing fails and is done another way."""
    count = 0
    for sample in samples_of(op):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            count += gradients_agree(op, sample)
            if count == 1:
                gradients_agree(op, sample, np.float64)
        if count >= SAMPLES:
            break
    assert not [each for each in caplog.records if each.name == "rushlight.native"], caplog.text
