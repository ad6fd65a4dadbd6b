"""Gradients of the ONNX project's test cases against differences: a copy of each case in float64, along a random direction.

What is asked of a case is one number: how fast a weighted sum of its outputs changes along a random direction of its inputs.  The gradient says it, and so
do differences.  A case that lies at a corner of its operator, or at the end of where it is defined, is moved a little, or into that range.
"""

from __future__ import annotations

import collections
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx_cases import data_of, model_of

import rushlight
from rushlight.onnx.load import load
from rushlight.onnx.load.arrays import to_value
from rushlight.onnx.load.registry import find

AGREES, ZERO, STRAIGHT, NOTHING, OTHER = (
    "agrees",
    "zero, as the differences are",
    "rounds: passed straight through",
    "nothing to vary",
    "differs",
)
NARROW = (1, 10, 16)  # float32, float16, bfloat16
FIXED = onnx.defs.OpSchema.DifferentiationCategory.NonDifferentiable
# Conversions to floating types of 8 bits are steps; their gradient is that of a conversion, as it is for float16.
ROUNDS = re.compile(r"node/(cast|castlike)_(FLOAT|FLOAT16)_to_FLOAT8E|node/quantizelinear_e[45]m[23]")
STEP = 1e-6


class Case:
    """A case in float64: its module, its inputs, and the tensors among them that are varied."""

    def __init__(self, case: Any) -> None:
        given = model_of(case)
        model = in_float64(given)
        initialized = {each.name for each in model.graph.initializer}
        inputs = [each for each in model.graph.input if each.name not in initialized]
        self.module = load(model)
        arrays, _ = next(iter(data_of(case, given)))
        self.values = [to_value(widened(each), kind.type) for each, kind in zip(arrays, inputs)]
        fixed = set(fixed_inputs(model))
        self.leaves = [
            each
            for value, kind in zip(self.values, inputs)
            if kind.name not in fixed
            for each in tensors_in(value)
            if each.dtype is rushlight.float64 and each.numel()
        ]
        self.stream = np.random.default_rng(5)
        self.points = [each.numpy().copy() for each in self.leaves]
        self.directions = [self.stream.standard_normal(each.shape) for each in self.points]
        self.weights: dict[int, Any] = {}

    def loss(self, points: list[Any], module: Any = None, gradient: bool = False) -> tuple[Any, list[Any]]:
        """A weighted sum of the outputs that are floating and finite, and the variables; None where no output is floating."""
        variables = [rushlight.tensor(np.asarray(each), dtype=rushlight.float64).requires_grad_(gradient) for each in points]
        placed = {id(each): one for each, one in zip(self.leaves, variables)}
        rushlight.manual_seed(0)
        made = (module or self.module)(*[replaced(each, placed) for each in self.values])
        total = None
        for at, each in enumerate(tensors_in(made)):
            if each.is_floating_point() and each.numel():
                if at not in self.weights or self.weights[at].shape != each.shape:
                    self.weights[at] = rushlight.tensor(self.stream.standard_normal(tuple(each.shape)))
                wide = each.double()
                term = (rushlight.where(wide.detach().isfinite(), wide, 0.0) * self.weights[at]).sum()
                total = term if total is None else total + term
        return total, variables

    def gradients(self, points: list[Any], module: Any = None) -> list[Any]:
        """The gradients of the loss by the variables; zeros where it does not depend on one."""
        total, variables = self.loss(points, module, True)
        if total is None or not total.requires_grad:
            return [rushlight.zeros_like(each) for each in variables]
        made = rushlight.autograd.grad(total, variables, allow_unused=True)
        return [rushlight.zeros_like(one) if each is None else each for one, each in zip(variables, made)]

    def slopes(self, points: list[Any]) -> tuple[float, float, float]:
        """How fast the loss changes along the direction: by the gradient, and by differences to either side."""
        slope = sum(float((each * rushlight.tensor(one)).sum()) for each, one in zip(self.gradients(points), self.directions))
        with rushlight.no_grad():
            here = self.loss(points)[0]
            below, above = (self.loss([one + sign * STEP * way for one, way in zip(points, self.directions)])[0] for sign in (-1, 1))
        return slope, float(here - below) / STEP, float(above - here) / STEP

    def places(self) -> Iterator[list[Any]]:
        """The points at which the case is tried: its own, some near it, and some above one, not too far off."""
        yield self.points
        for _ in range(2):
            yield [each + self.stream.uniform(-1e-3, 1e-3, each.shape) for each in self.points]
        yield [np.minimum(np.abs(each), 10) + 1.1 for each in self.points]


def outcome(name: str, case: Any) -> str:
    """What came of a case: one of the words above, with what differs."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        varied = Case(case)
        if not varied.leaves or varied.loss(varied.points)[0] is None:
            return NOTHING
        said = ""
        for points in varied.places():
            slope, below, above = varied.slopes(points)
            said = f"{OTHER}: gradient {slope:.6g}, differences {below:.6g} and {above:.6g}"
            if not np.isfinite([slope, below, above]).all():
                continue
            if abs((below + above) / 2 - slope) <= 1e-4 * (1 + abs(slope)):
                return AGREES if slope else ZERO
            if ROUNDS.match(name) and below == above == 0:
                return STRAIGHT
        return said


def rows(counts: collections.Counter[str]) -> list[str]:
    """The table of the documentation."""
    said = (
        (AGREES, "agrees with differences"),
        (ZERO, "is zero, and so are the differences"),
        (STRAIGHT, "passes straight through a rounding to 8 bits"),
    )
    said += ((OTHER, "differs"), (NOTHING, "there is none: no floating input, or no floating output"))
    return ["| the gradient | cases |", "|---|---:|", *(f"| {words} | {counts[kind]} |" for kind, words in said)]


def counted(cases: dict[str, Any]) -> tuple[collections.Counter[str], dict[str, str]]:
    """How many cases came out how, and what differs or raises, by name."""
    counts: collections.Counter[str] = collections.Counter()
    others = {}
    for name, case in cases.items():
        try:
            found = outcome(name, case)
        except Exception as error:
            found = f"{OTHER}: {type(error).__name__}: {error}"
        counts[found.partition(":")[0] if found.startswith(OTHER) else found] += 1
        if found.startswith(OTHER):
            others[name] = found
    return counts, others


# -- a model in float64 ----------------------------------------------------------------------------------------------------------


def in_float64(model: Any) -> Any:
    """A copy of a model whose floating values are float64, also those that it computes in between."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    widen_graph(made.graph)
    for each in made.functions:
        widen_nodes(each.node)
    return made


def widen_graph(graph: Any) -> None:
    for each in (*graph.input, *graph.output, *graph.value_info):
        widen_type(each.type)
    for each in graph.initializer:
        widen_tensor(each)
    widen_nodes(graph.node)


def widen_type(kind: Any) -> None:
    form = kind.WhichOneof("value")
    if form in ("sequence_type", "optional_type"):
        widen_type(getattr(kind, form).elem_type)
    elif form == "tensor_type" and kind.tensor_type.elem_type in NARROW:
        kind.tensor_type.elem_type = 11


def widen_tensor(tensor: Any) -> None:
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(numpy_helper.to_array(tensor).astype(np.float64)), tensor.name))


def widen_nodes(nodes: Any) -> None:
    for node in nodes:
        for each in node.attribute:
            if each.type == onnx.AttributeProto.GRAPH:
                widen_graph(each.g)
            elif each.type == onnx.AttributeProto.TENSOR:
                widen_tensor(each.t)
            elif each.type == onnx.AttributeProto.TYPE_PROTO:
                widen_type(each.tp)
            elif each.name in ("to", "dtype", "output_dtype", "stash_type", "softmax_precision") and each.i in NARROW:
                each.i = 11
        said = {each.name: each for each in node.attribute}
        value = None
        if node.op_type == "Constant" and ("value_float" in said or "value_floats" in said):
            value = np.array(said["value_float"].f if "value_float" in said else said["value_floats"].floats, np.float64)
            del node.attribute[:]
        elif node.op_type == "ConstantOfShape" and not said:
            value = np.zeros(1)
        if value is not None:
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(value)))
        if node.op_type in ("LayerNormalization", "RMSNormalization") and "stash_type" not in said:
            node.attribute.append(helper.make_attribute("stash_type", 11))


def widened(value: Any) -> Any:
    """An array of an input in float64, also within a sequence."""
    if isinstance(value, list):
        return [widened(each) for each in value]
    narrow = isinstance(value, np.ndarray) and (value.dtype in (np.float16, np.float32) or value.dtype.name == "bfloat16")
    return value.astype(np.float64) if narrow else value


def fixed_inputs(model: Any) -> Iterator[str]:
    """Names of inputs that an operator can't be differentiated by: the standard says so, or they are sizes and counts."""
    opsets = {each.domain: each.version for each in model.opset_import}
    for node in model.graph.node:
        if node.domain not in opsets or not onnx.defs.has(node.op_type, node.domain):
            continue
        schema = onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain)
        entry = find(node.domain, node.op_type, opsets[node.domain])
        for at, name in enumerate(node.input):
            number = entry.form(at) if entry is not None and node.op_type != "Range" else ""
            if number or schema.inputs[min(at, len(schema.inputs) - 1)].differentiation_category is FIXED:
                yield name


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors of a value, also within sequences."""
    if isinstance(value, rushlight.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)


def replaced(value: Any, placed: dict[int, Any]) -> Any:
    """A value with others in place of some of its tensors."""
    if isinstance(value, (list, tuple)):
        return [replaced(each, placed) for each in value]
    return placed.get(id(value), value)
