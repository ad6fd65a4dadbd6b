"""Gradients of loaded ONNX models: by differences on the ONNX project's cases whose operators are differentiable, and compiled as in eager mode."""

from __future__ import annotations

import collections
import functools
from typing import Any

import numpy as np
import onnx
import onnx_cases
import pytest

import rushlight as torch
from rushlight.onnx.load.arrays import to_value

CASES_OF_OPERATOR = 2
STEP = 1e-6
FIXED = onnx.defs.OpSchema.DifferentiationCategory.NonDifferentiable
# Operators whose results are floating, but follow their inputs in steps or by chance, and those that only write down what others give.
NOT_DIFFERENTIABLE = {"Bernoulli", "Hardmax", "BitCast", "Binarizer", "TreeEnsemble", "QuantizeLinear", "DynamicQuantizeLinear", "Gradient"}
# Inputs that are numbers of the capture, or that are quantized.
NUMBERS = {"Range": (0, 1, 2), "Resize": (1, 2), "Clip": (), "MelWeightMatrix": (3, 4), "DequantizeLinear": (0, 2), "Pad": ()}
# Cases whose functions are written for float32, or whose inputs lie where a function has no derivative.
LEFT_OUT = {"FlexAttention", "CastLike"}
COMPILED = (
    "Attention AveragePool BatchNormalization Conv ConvTranspose DeformConv Einsum Gelu Gemm GridSample GRU LayerNormalization LSTM MatMul "
    "MaxPool Pad PRelu ReduceLogSumExp Resize RoiAlign RotaryEmbedding ScatterND Softmax TopK"
).split()


@functools.cache
def cases_by_operator() -> dict[str, list[tuple[str, Any]]]:
    """The cases of one node, by its operator."""
    found = collections.defaultdict(list)
    for name, case in onnx_cases.cases().items():
        if name.startswith("node/") and "_expanded" not in name and "edge_cases" not in name and "empty_set" not in name:
            nodes = onnx_cases.model_of(case).graph.node
            if len(nodes) == 1 and nodes[0].op_type not in NOT_DIFFERENTIABLE | LEFT_OUT:
                found[nodes[0].op_type].append((name, case))
    return found


class Varied:
    """A case in float64: its model, its inputs, which of them are varied, and a weight for each element of its results."""

    def __init__(self, case: Any) -> None:
        model = onnx_cases.model_of(case)
        node = model.graph.node[0]
        stream = np.random.RandomState(0)
        self.module = torch.onnx.load(model).double()
        inputs, _ = next(iter(onnx_cases.data_of(case, model)))
        self.values = [to_value(each, value.type) for each, value in zip(inputs, model.graph.input)]
        schema = onnx.defs.get_schema(node.op_type, model.opset_import[-1 if node.domain else 0].version, node.domain)
        categories = {name: schema.inputs[min(at, len(schema.inputs) - 1)].differentiation_category for at, name in enumerate(node.input)}
        numbers = {node.input[at] for at in NUMBERS.get(node.op_type, ()) if at < len(node.input)}
        self.places = []
        for place, value in enumerate(model.graph.input):
            given = self.values[place]
            if isinstance(given, torch.Tensor) and given.dtype in (torch.float32, torch.float64):
                noise = stream.uniform(-1e-3, 1e-3, tuple(given.shape))  # away from where a function has a corner
                self.values[place] = given.double() + (0 if value.name in numbers else torch.from_numpy(np.asarray(noise)))
                if categories.get(value.name) is not FIXED and value.name not in numbers:
                    self.places.append(place)
        self.directions = [torch.from_numpy(np.asarray(stream.randn(*self.values[place].shape))) for place in self.places]
        self.stream = stream
        self.weights: list[Any] = []

    def loss(self, module: Any, moved: list[Any]) -> Any:
        """A weighted sum of the results, at inputs that are varied; None where no result is floating."""
        values = list(self.values)
        for place, each in zip(self.places, moved):
            values[place] = each
        results = module(*values)
        floating = [
            each
            for each in (results if isinstance(results, tuple | list) else (results,))
            if isinstance(each, torch.Tensor) and each.dtype is torch.float64 and bool(each.isfinite().all())
        ]
        if not floating:
            return None
        if not self.weights:
            self.weights = [torch.from_numpy(np.asarray(self.stream.randn(*each.shape))) for each in floating]
        return sum((each * weight).sum() for each, weight in zip(floating, self.weights, strict=True))

    def gradients(self, module: Any) -> list[Any] | None:
        """The gradients of the loss by what is varied; None where nothing can be varied."""
        variables = [self.values[place].clone().requires_grad_() for place in self.places]
        loss = self.loss(module, variables) if variables else None
        if loss is None:
            return None
        made = torch.autograd.grad(loss, variables, allow_unused=True)
        return [torch.zeros_like(variable) if each is None else each for variable, each in zip(variables, made)]


@pytest.mark.parametrize("operator", sorted(cases_by_operator()))
@pytest.mark.filterwarnings("ignore")
def test_gradients_by_differences(operator: str) -> None:
    """The derivative along a random direction."""
    found = 0
    for name, case in cases_by_operator()[operator]:
        varied = Varied(case)
        gradients = varied.gradients(varied.module)
        if gradients is None:
            continue
        derivative = sum((each * direction).sum().item() for each, direction in zip(gradients, varied.directions))
        with torch.no_grad():
            above, below = (
                varied.loss(
                    varied.module, [varied.values[place] + sign * STEP * each for place, each in zip(varied.places, varied.directions)]
                )
                for sign in (1, -1)
            )
        assert derivative == pytest.approx(((above - below) / (2 * STEP)).item(), rel=1e-4, abs=1e-4), name
        found += 1
        if found == CASES_OF_OPERATOR:
            break


@pytest.mark.parametrize("operator", COMPILED)
@pytest.mark.filterwarnings("ignore")
def test_compiled_gradients(operator: str) -> None:
    """Native code gives the gradients of eager mode, at its second call as at its first."""
    each = ((varied, varied.gradients(varied.module)) for varied in (Varied(case) for _, case in cases_by_operator()[operator]))
    varied, wanted = next((varied, gradients) for varied, gradients in each if gradients is not None)
    compiled = torch.compile(varied.module)
    for _ in range(2):
        found = varied.gradients(compiled)
        assert found is not None
        for one, other in zip(found, wanted):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)
