"""Samples of ops as graphs, for native code against eager mode; shared by its tests."""

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np
from op_samples import convert, same_layout
from samples import makers

import rushlight as torch
from rushlight.core.base import Spec, TensorBase, make
from rushlight.core.declare import Op, table
from rushlight.core.dtypes import BY_NUMPY
from rushlight.graph import Graph

UNDEFINED = ("empty", "new_empty")  # what they make holds anything
OPS = [op for op in table.values() if op.functional is None and op in makers and not op.name.startswith(UNDEFINED)]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 3e-6, "float64": 1e-12, "complex64": 3e-6, "complex128": 1e-12}


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


class Case:
    """A sample as a graph of one node, and what eager mode gives for it; ``graph`` is None where there is nothing to compare.

    With ``kind``, arrays of float32 in the sample (or all real ones, where there are none) are of that type instead.
    """

    graph: Graph | None = None
    tensors: list[Any]
    wanted: list[Any]

    def __init__(self, op: Op, sample: Any, kind: Any = None) -> None:
        self.op = op

        def tensor(array: np.ndarray) -> Any:
            array = same_layout(array)
            if kind is not None and array.dtype == np.float32:
                array = np.array(np.abs(array) if np.dtype(kind).kind == "u" else array, order="K").astype(kind)
            return make(array)

        args = list(convert(sample.args, tensor, BY_NUMPY.__getitem__))
        kwargs = {name: convert(each, tensor, BY_NUMPY.__getitem__) for name, each in sample.kwargs.items()}
        torch.manual_seed(0)
        try:
            result = op.call(*args, **kwargs)
        except Exception:  # a call that is refused
            return
        wanted = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(each, TensorBase) and each._array.__class__ is np.ndarray for each in wanted):
            return
        graph, tensors = as_graph(op, args, kwargs, result)
        if all(each._array.__class__ is np.ndarray for each in tensors):
            self.graph, self.tensors, self.wanted = graph, tensors, wanted


def same(found: np.ndarray, wanted: np.ndarray, looser: float = 1.0, about: str = "") -> None:
    """That two arrays agree: exactly, or of floats as well as their type and the order of sums let them."""
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, about
    limit = TOLERANCE.get(wanted.dtype.name)
    if limit is None:
        np.testing.assert_array_equal(found, wanted, about)
        return
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(found.astype(wide), wanted.astype(wide), limit * looser, limit * looser, err_msg=about)
