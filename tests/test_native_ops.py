"""Native code against eager mode: the samples of every op, compiled as a graph of one node."""

from __future__ import annotations

import importlib.util
import operator
import warnings
from typing import Any

import numpy as np
import pytest
from op_samples import convert, same_layout

import rushlight as torch
from rushlight.core.base import Spec, TensorBase, make
from rushlight.core.declare import Op, table
from rushlight.core.dtypes import BY_NUMPY
from rushlight.graph import Graph

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends.native.expanding import Declined
from rushlight.backends.native.program import compile_graph
from rushlight.backends.native.values import elements

UNDEFINED = ("empty", "new_empty")  # what they make holds anything
OPS = [op for op in table.values() if op.functional is None and op.sample_maker and not op.name.startswith(UNDEFINED)]
TOLERANCE = {"f": {2: 2e-3, 4: 3e-6, 8: 1e-12}, "c": {8: 3e-6, 16: 1e-12}}


def as_graph(op: Op, args: list[Any], kwargs: dict[str, Any], result: Any) -> tuple[Graph, list[Any]]:
    """A graph that calls an op, and the tensors that are its inputs."""
    graph = Graph()
    tensors: list[Any] = []

    def node(value: Any) -> Any:
        if isinstance(value, TensorBase):
            tensors.append(value)
            return graph.placeholder(f"x{len(tensors)}")
        if isinstance(value, (tuple, list)):
            return type(value)(node(each) for each in value)
        return value

    given, named = tuple(node(args)), {name: node(each) for name, each in kwargs.items()}
    call = graph.call_function(op.call, given, named)
    call.meta["val"] = spec_of(result)
    several = isinstance(result, (tuple, list))
    graph.output(tuple(graph.call_function(operator.getitem, (call, at)) for at in range(len(result))) if several else (call,))
    return graph, tensors


def spec_of(result: Any) -> Any:
    return tuple(map(spec_of, result)) if isinstance(result, (tuple, list)) else Spec(result._array.shape, result._array.dtype)


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    limit = TOLERANCE.get(wanted.dtype.kind, {}).get(wanted.dtype.itemsize)
    if limit is None:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, limit, limit)


def tensor(array: np.ndarray) -> Any:
    return make(same_layout(array))


def compiled(op: Op, sample: Any) -> Any:
    """What native code and eager mode give for a sample; or why there is nothing to compare."""
    args = list(convert(sample.args, tensor, BY_NUMPY.__getitem__))
    kwargs = {name: convert(each, tensor, BY_NUMPY.__getitem__) for name, each in sample.kwargs.items()}
    torch.manual_seed(0)
    try:
        result = op.call(*args, **kwargs)
    except Exception:
        return "refused"
    wanted = list(result) if isinstance(result, (tuple, list)) else [result]
    if not all(isinstance(each, TensorBase) and each._array.__class__ is np.ndarray for each in wanted):
        return "no tensors"
    graph, tensors = as_graph(op, args, kwargs, result)
    if any(each._array.__class__ is not np.ndarray for each in tensors):
        return "no plain arrays"
    torch.manual_seed(0)
    try:
        program = compile_graph(graph, [Spec(each._array.shape, each._array.dtype, elements(each._array)) for each in tensors])
    except Declined as error:
        return f"declined: {error}"
    torch.manual_seed(0)
    return program([each._array for each in tensors]), [each._array for each in wanted], program


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_samples(op: Op) -> None:
    """What is compiled gives what eager mode gives."""
    for sample in op.samples:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            outcome = compiled(op, sample)
        if not isinstance(outcome, str):
            for found, wanted in zip(*outcome[:2], strict=True):
                same(found, wanted)


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
        _, _, program = compiled(table[name], table[name].samples[0])
    assert not [part for part in program.parts if hasattr(part, "target")], program.describe()
