"""Native code against eager mode: the samples of every op, compiled as a graph of one node."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import pytest
from native_samples import OPS, Case, same
from samples import samples_of

import rushlight as torch
from rushlight.core.base import Spec
from rushlight.core.declare import Op, table

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends.native.executable import compile_graph
from rushlight.passes.decompose import Declined
from rushlight.runtime.call.launcher import Refused
from rushlight.schedule.tensor_ir import elements


def compiled(op: Op, sample: Any, kind: Any = None) -> Any:
    """What native code and eager mode give for a sample, and the program; None where there is nothing to compare."""
    case = Case(op, sample, kind)
    if case.graph is None:
        return None
    torch.manual_seed(0)
    try:
        program = compile_graph(case.graph, [Spec(each._array.shape, each._array.dtype, elements(each._array)) for each in case.tensors])
    except Declined:
        return None
    torch.manual_seed(0)
    try:
        found = program([each._array for each in case.tensors])
    except Refused:  # eager mode then runs the graph
        return None
    return found, [each._array for each in case.wanted], program


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_samples(op: Op) -> None:
    """What is compiled gives what eager mode gives."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for sample in samples_of(op):
            outcome = compiled(op, sample)
            if outcome is not None:
                for found, wanted in zip(*outcome[:2], strict=True):
                    same(found, wanted, about=str(sample))


NATIVE = (
    "add sub mul div neg pow exp exp2 expm1 log log2 log10 log1p sigmoid logit sqrt rsqrt reciprocal abs sign ceil floor trunc round frac "
    "nan_to_num relu hardtanh leaky_relu elu gelu_exact gelu_tanh silu softplus logsigmoid hardsigmoid hardshrink softshrink threshold clamp "
    "maximum minimum fmax fmin eq ne lt le gt ge isnan isinf isfinite logical_and logical_not sin cos sinh cosh tanh erf erfc where_elements "
    "addcmul addcdiv lerp copysign heaviside xlogy sum mean amax amin any all softmax log_softmax layer_norm matmul linear masked_fill "
    "transpose permute expand unsqueeze slice select mse_loss binary_cross_entropy_with_logits smooth_l1_loss"
).split()


@pytest.mark.parametrize("name", NATIVE)
def test_native_without_calls(name: str) -> None:
    """These ops become native code in single precision: on their first sample nothing is called."""
    with torch.no_grad():
        *_, program = compiled(table[name], samples_of(table[name])[0])
    assert not [part for part in program.parts if hasattr(part, "target")], program.describe()
