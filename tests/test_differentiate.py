"""Graphs differentiated ahead of time: every op on its samples, the joint graph, and what is kept between its two parts."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from op_samples import flatten, same_layout
from test_ops import GRADIENT_CASES, SAMPLES, name_of

import rushlight as torch
from rushlight.backends.aot import AheadOfTime
from rushlight.capture.compile.record.graph_breaks import counters
from rushlight.capture.graph_module import GraphModule
from rushlight.capture.trace.capture import capture
from rushlight.core.base import TensorBase, make
from rushlight.core.dtypes import BY_NUMPY, FLOATING
from rushlight.passes.differentiate import differentiate
from rushlight.passes.partition import Flow, is_cheap, partition

# Ops whose results have sizes, or whose Python takes ways, that depend on data: they run as eager runs them.
DATA_DEPENDENT = {
    "nonzero", "argwhere", "masked_select", "index", "index_put", "narrow", "linalg_lstsq", "_pack_padded_sequence", "_pad_packed_sequence",
    "repeat_interleave", "combinations", "ctc_loss",
}  # fmt: skip


def prepared(case: Any) -> tuple[Any, list[Any]]:
    """A sample as a function of its tensors, and those."""
    op, number = case
    sample = SAMPLES[op.name][number]
    leaves: list[Any] = []

    def part(value: Any, constant: bool) -> Any:
        if isinstance(value, np.ndarray):
            tensor = make(same_layout(value))
            tensor._requires_grad = not constant and BY_NUMPY[value.dtype].category >= FLOATING
            leaves.append(tensor)
            place = len(leaves) - 1
            return lambda given: given[place]
        if isinstance(value, (list, tuple)):
            parts = [part(each, constant) for each in value]
            return lambda given: type(value)([each(given) for each in parts])
        return lambda given: BY_NUMPY[value] if isinstance(value, np.dtype) else value

    args = [part(value, at in sample.constants) for at, value in enumerate(sample.args)]
    named = {key: part(value, key in sample.constants) for key, value in sample.kwargs.items()}

    def function(*given: Any) -> Any:
        return op.call(*[each(given) for each in args], **{key: each(given) for key, each in named.items()})

    return function, leaves


def results(function: Any, leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """Outputs of a function and the gradients of its inputs."""
    given = [make(same_layout(each._array)) for each in leaves]
    for fresh, each in zip(given, leaves):
        fresh._requires_grad = each._requires_grad
    outputs = [each for each in flatten(function(*given)) if isinstance(each, TensorBase)]
    roots = [each for each in outputs if each.requires_grad]
    targets = [each for each in given if each.requires_grad]
    stream = np.random.default_rng(0)
    tangents = [make(np.asarray(stream.standard_normal(each.shape)).astype(each._array.dtype)) for each in roots]
    found = torch.autograd.grad(roots, targets, tangents, allow_unused=True) if roots and targets else ()
    return outputs, list(found)


def assert_same(expected: Any, got: Any) -> None:
    if expected is None or got is None:
        assert expected is got
        return
    assert expected.dtype == got.dtype and expected.shape == got.shape and expected.requires_grad == got.requires_grad
    a, b = (np.asarray(each._array.astype(np.float32) if each._array.dtype.kind == "V" else each._array) for each in (expected, got))
    np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-7, equal_nan=True)


def captured(function: Any, inputs: list[Any]) -> GraphModule:
    found = capture(function, tuple(inputs))
    return GraphModule(found.constants, found.graph)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", GRADIENT_CASES, ids=name_of)
def test_every_op_as_in_eager(case: Any) -> None:
    function, leaves = prepared(case)
    try:
        expected = results(function, leaves)
    except Exception:
        return  # refused by eager too: test_ops.py has those
    ahead = AheadOfTime(captured(function, leaves))
    before = sum(counters["aot_fallback"].values())
    got = results(ahead, leaves)
    if case[0].name not in DATA_DEPENDENT:
        assert sum(counters["aot_fallback"].values()) == before, counters["aot_fallback"]
    for each in zip((*expected[0], *expected[1]), (*got[0], *got[1]), strict=True):
        assert_same(*each)


# -- the joint graph -------------------------------------------------------------------------------------------------


def layer(x: Any, weight: Any, bias: Any) -> Any:
    hidden = torch.nn.functional.gelu(x @ weight + bias)
    return torch.nn.functional.layer_norm(hidden, (4,)).sum(), hidden


def inputs_of_layer() -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(*size, requires_grad=True) for size in ((2, 3), (3, 4), (4,))]


def test_the_joint_graph_is_functional_and_knows_the_lines() -> None:
    inputs = inputs_of_layer()
    joint = differentiate(captured(layer, inputs), inputs)
    joint.graph.lint()
    names = [node.name for node in joint.graph.nodes if node.op == "placeholder"]
    assert len(names) == 5 and names[3:] == ["tangent_0", "tangent_1"]
    assert all(node.table_op is None or node.table_op.functional is None for node in joint.graph.nodes)
    sources = {node.meta["source"][2] for node in joint.graph.nodes if node.op == "call_function"}
    assert sources == {"layer"}, "every node, of the backward too, comes from a line of the program"
    lines = {node.meta["source"][1] for node in joint.graph.nodes if node.op == "call_function" and node not in joint.forward}
    assert len(lines) == 2, "each step of the backward has the line of its own step of the forward"


def test_both_parts_together_give_values_and_gradients() -> None:
    inputs = inputs_of_layer()
    joint = differentiate(captured(layer, inputs), inputs)
    parts = partition(joint)
    parts.forward.lint()
    parts.backward.lint()
    forward, backward = GraphModule(joint.constants, parts.forward), GraphModule(joint.constants, parts.backward)
    with torch.no_grad():
        made = forward(*inputs)
        tangents = [torch.tensor(2.0), torch.ones(2, 4)]
        gradients = backward(*made[2:], *tangents)
    expected = layer(*inputs)
    wanted = torch.autograd.grad(expected, inputs, tangents)
    for each in zip((*expected, *wanted), (*made[:2], *gradients)):
        np.testing.assert_array_equal(each[0]._array, each[1]._array)


def test_an_input_that_gets_no_gradient() -> None:
    inputs = [torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True), torch.randn(3)]
    joint = differentiate(captured(lambda x, y, z: (x * z, y.detach() * 2), inputs), inputs)
    assert [each is None for each in joint.gradients] == [False, True, True]
    assert joint.differentiable == [0] and len(joint.tangents) == 1


def test_arithmetic_is_computed_again_and_products_are_kept() -> None:
    def program(x: Any, w: Any) -> Any:
        h = x @ w
        return ((h * 2 + 1).t() * h.t() * 3).exp().sum()

    inputs = [torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)]
    joint = differentiate(captured(program, inputs), inputs)
    parts = partition(joint)
    assert set(parts.kept) >= {"x", "w", "matmul", "exp"} and len(parts.kept) == 4, parts.kept
    again = [node for node in parts.backward.nodes if node.table_op is not None and node.table_op.name in ("mul", "add", "t")]
    assert again and all(is_cheap(node) for node in again)
    products = [node for node in parts.backward.nodes if node.table_op is not None and node.table_op.name == "matmul"]
    assert len(products) == 2, "the product of the forward is not computed again"


def test_random_numbers_are_never_drawn_again() -> None:
    inputs = [torch.randn(5, requires_grad=True)]
    joint = differentiate(captured(lambda x: torch.nn.functional.dropout(x, 0.5) * torch.rand(5), inputs), inputs)
    parts = partition(joint)
    assert joint.random and sum(node.is_impure() for node in parts.forward.nodes if node.op == "call_function") == 2
    assert not any(node.is_impure() for node in parts.backward.nodes if node.op == "call_function")


def test_differentiating_draws_no_numbers_and_writes_nothing() -> None:
    def program(x: Any) -> Any:
        x.mul_(2)
        return torch.nn.functional.dropout(x, 0.5) + torch.rand(3)

    x = torch.ones(3)
    module = captured(program, [x.clone()])
    torch.manual_seed(3)
    before = torch.get_rng_state()
    joint = differentiate(module, [x])
    assert torch.equal(before, torch.get_rng_state()) and x.tolist() == [1.0] * 3 and x._version == 0
    assert [(each.index, each.tracked) for each in joint.writes] == [(0, False)]


def test_a_choice_by_a_value_is_refused() -> None:
    class Choosing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = captured(lambda x: Choosing.apply(x), [x])
    with pytest.raises(RuntimeError, match="asks for the value of a tensor"):
        differentiate(module, [x])


# -- the smallest cut ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_flow_is_the_smallest_of_all_cuts(seed: int) -> None:
    stream = np.random.default_rng(seed)
    count = 7
    edges = [(a, b, float(stream.integers(1, 10))) for a in range(count) for b in range(count) if a != b and stream.random() < 0.4]
    flow = Flow(count)
    for each in edges:
        flow.edge(*each)
    reached = set(flow.reachable(0, count - 1))

    def cost(side: set[int]) -> float:
        return sum(capacity for a, b, capacity in edges if a in side and b not in side)

    sides = [{0, *chosen} for size in range(count - 1) for chosen in itertools.combinations(range(1, count - 1), size)]
    assert 0 in reached and count - 1 not in reached and cost(reached) == min(map(cost, sides))
