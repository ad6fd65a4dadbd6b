"""What a training step keeps and where values lie: little is kept for the backward, and memory is used again, in place where that is safe."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as torch
from rushlight.backends.native import printer
from rushlight.backends.native.executable import CompiledSchedule, compile_graph
from rushlight.core.base import Spec
from rushlight.core.declare import table
from rushlight.graph import Graph
from rushlight.passes.differentiate import differentiate
from rushlight.passes.partition import partition, size_of
from rushlight.passes.rematerialize import rematerialize
from rushlight.schedule.memory_plan import ALIGNMENT, first_fit
from rushlight.schedule.tensor_ir import elements

pytest.importorskip("llvmlite")

FLOAT = np.dtype(np.float32)
PIECES = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 12), st.integers(0, 6)).map(lambda each: (each[0], each[1], each[1] + each[2])),
    max_size=25,
)


@given(PIECES)
@settings(max_examples=200, deadline=None)
def test_pieces_that_are_used_at_the_same_time_do_not_overlap(pieces: list[tuple[int, int, int]]) -> None:
    made = first_fit(pieces)
    for one, (size, start, end) in enumerate(pieces):
        assert made[one] >= 0
        for other in range(one):
            length, begin, last = pieces[other]
            assert end < begin or last < start or made[one] + size <= made[other] or made[other] + length <= made[one]


def test_pieces_take_the_least_memory_where_that_is_easy() -> None:
    # What a forward keeps, last made first used, and between it what lives for two steps.
    kept = [(10, at, 20 - at) for at in range(10)]
    others = [(25, at, at + 1) for at in range(20)]
    pieces = kept + others
    live = max(sum(size for size, start, end in pieces if start <= at <= end) for at in range(21))
    assert max(offset + size for offset, (size, _, _) in zip(first_fit(pieces), pieces)) == live
    assert first_fit([]) == []


def chain(*ops: Any, size: int = 64) -> CompiledSchedule:
    """A program of matrices of one size: each op is a name and the numbers of what it reads, of which 0 is the input."""
    graph = Graph()
    values = [graph.placeholder("x")]
    spec = Spec((size, size), FLOAT)
    for name, *places in ops:
        values.append(graph.call_function(table[name].call, tuple(values[at] for at in places)))
    for node in values:
        node.meta["val"] = spec
    graph.output((values[-1],))
    return compile_graph(graph, [Spec(spec.shape, FLOAT, elements(np.empty(spec.shape, FLOAT)))])


def test_a_result_reuses_the_memory_of_its_operand() -> None:
    made = chain(("matmul", 0, 0), ("sin", 1), ("matmul", 2, 0))
    product, sine = (step.members[0] for step in made.schedule.steps[:2])
    assert sine.alias_of is product and made.slots[sine] == made.slots[product]
    array = (np.random.default_rng(0).random((64, 64)) / 64).astype(FLOAT)
    np.testing.assert_allclose(made([array])[0], np.sin(array @ array) @ array, 1e-5)


def test_what_is_read_later_or_elsewhere_is_not_overwritten() -> None:
    array = (np.random.default_rng(0).random((64, 64)) / 8).astype(FLOAT)
    product = array @ array
    later = chain(("matmul", 0, 0), ("sin", 1), ("matmul", 2, 1))  # the product is read again, by another step
    assert later.schedule.steps[1].members[0].alias_of is None
    np.testing.assert_allclose(later([array])[0], np.sin(product) @ product, 1e-4)
    graph = Graph()  # sin(product).T + product: in the step that computes the sum, an element is read that another row has replaced
    x = graph.placeholder("x")
    values = [x]
    for name, args in (("matmul", (0, 0)), ("transpose", (1,)), ("add", (1, 2)), ("matmul", (3, 0))):
        given_to = tuple(values[at] for at in args) + ((0, 1) if name == "transpose" else ())
        values.append(graph.call_function(table[name].call, given_to))
    for node in values:
        node.meta["val"] = Spec((64, 64), FLOAT)
    graph.output((values[-1],))
    turned = compile_graph(graph, [Spec((64, 64), FLOAT, elements(array))])
    assert all(value.alias_of is None for step in turned.schedule.steps for value in step.members)
    np.testing.assert_allclose(turned([array])[0], (product.T + product) @ array, 1e-4)


def test_long_chains_need_memory_for_two_values() -> None:
    ops: list[Any] = [("matmul", 0, 0)]
    for at in range(1, 21, 2):
        ops += [("tanh", at), ("matmul", at + 1, 0)]
    made = chain(*ops, size=128)
    scratch = sum(value.size * 4 for value in made.schedule.steps[0].members[1:])
    assert made.arena <= 2 * 128 * 128 * 4 + scratch + 4 * ALIGNMENT


# -- what is kept for the backward ----------------------------------------------------------------------------------


class Block(torch.nn.Module):
    """A layer norm and two linear layers with GELU between them, and what was given added."""

    def __init__(self, width: int = 16, affine: str = "both") -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width, elementwise_affine=affine != "none", bias=affine == "both")
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def kept_bytes(model: Any, x: Any) -> tuple[float, float]:
    """What a graph of a model keeps beside its inputs: as it is, and lightened."""
    found: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        found.append((gm, [each.detach().requires_grad_(each.requires_grad) for each in inputs]))
        return gm.forward

    torch.compile(model, backend=backend)(x)
    made = []
    for light in (False, True):
        joint = differentiate(*found[0])
        if light:
            rematerialize(joint)
            joint.graph.lint()
        parts = partition(joint)
        values = parts.forward.output_node().args[0][len(joint.values) :]
        made.append(sum(size_of(node) for node in values if node.op != "placeholder"))
    return made[0], made[1]


def test_layer_norms_and_gelu_are_not_kept() -> None:
    x = torch.randn(8, 32, 16)
    unit = 8 * 32 * 16 * 4
    before, after = kept_bytes(torch.nn.Sequential(Block(), Block()), x)
    assert before > 20 * unit
    assert 10 * unit <= after < 10.5 * unit  # of each block: the standardized input, and what GELU is computed from


@pytest.mark.parametrize("affine", ["both", "weight", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradients_are_those_of_eager_mode(affine: str, dtype: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(Block(affine=affine), Block(affine=affine)).to(dtype)
    x = torch.randn(8, 32, 16).to(dtype).requires_grad_()
    (model(x) ** 2).mean().backward()
    wanted = [each.grad.double().numpy() for each in (x, *model.parameters())]
    compiled = torch.compile(model)
    tolerance = {torch.float32: 2e-5, torch.float64: 1e-12, torch.bfloat16: 0.03}[dtype]
    for _ in range(4):
        x.grad = None
        model.zero_grad()
        (compiled(x) ** 2).mean().backward()
        for have, want in zip((x, *model.parameters()), wanted, strict=True):
            np.testing.assert_allclose(have.grad.double().numpy(), want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def test_a_training_step_keeps_as_little() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block() for _ in range(4)))
    twin = torch.nn.Sequential(*(Block() for _ in range(4)))
    twin.load_state_dict(model.state_dict())
    x = torch.randn(32, 32, 16)

    def stepper(module: Any) -> Any:
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step() -> Any:
            optimizer.zero_grad()
            loss = (module(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return step

    eager, compiled = stepper(twin), torch.compile(stepper(model))
    for _ in range(4):
        np.testing.assert_allclose(compiled().item(), eager().item(), 1e-5)
    programs = [each for _, part in printer.parts_of(compiled) for each in part.programs]
    unit = 32 * 32 * 16 * 4
    assert min(each.arena for each in programs) < (4 * 5 + 10) * unit  # of each block 5 are kept; the rest is in use at the same time


def test_gradients_of_some_outputs_alone() -> None:
    torch.manual_seed(0)
    first, second = Block(), Block()

    def both(x: Any) -> Any:
        y = first(x)
        return y, second(y)

    x = torch.randn(4, 8, 16, requires_grad=True)
    compiled = torch.compile(both)
    for which in (0, 1, 1, 0):
        x.grad = None
        both(x)[which].sum().backward()
        wanted, x.grad = x.grad, None
        compiled(x)[which].sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), wanted.numpy(), 1e-4, 1e-5)


def test_gelu_whose_gradient_is_the_models() -> None:
    """The node that is replaced is itself a gradient that the joint graph gives."""
    x = torch.randn(8, 16, requires_grad=True)
    weight = torch.randn(16, 16)
    function = torch.compile(lambda a: torch.nn.functional.gelu(a) @ weight * torch.nn.functional.gelu(a))
    (torch.nn.functional.gelu(x) @ weight * torch.nn.functional.gelu(x)).sum().backward()
    wanted, x.grad = x.grad, None
    for _ in range(3):
        x.grad = None
        function(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), wanted.numpy(), 1e-4, 1e-4)


def test_the_share_of_a_normal_distribution() -> None:
    x = torch.linspace(-6, 6, 41).double().requires_grad_()
    share = table["normal_share"].call
    wanted = np.array([math.erfc(-each / math.sqrt(2)) / 2 for each in x.tolist()])
    np.testing.assert_allclose(share(x).detach().numpy(), wanted, 1e-12, 1e-16)
    np.testing.assert_allclose(share(x.detach().float()).numpy(), wanted, 1e-5, 1e-7)
    assert torch.autograd.gradcheck(share, (x,)) and torch.autograd.gradgradcheck(share, (x,))
    compiled = torch.compile(lambda a: share(a) * 1)
    with torch.no_grad():
        for given_to in (x.detach(), x.detach().float()):
            tolerance = 1e-15 if given_to.dtype is torch.float64 else 1e-7
            np.testing.assert_allclose(compiled(given_to).numpy(), wanted, 1e-9 if given_to.dtype is torch.float64 else 1e-5, tolerance)


def test_after_is_the_input() -> None:
    x, other = torch.randn(3, 4, requires_grad=True), torch.randn(2)
    made = table["after"].call(x, other)
    assert np.array_equal(made.detach().numpy(), x.detach().numpy())
    made.sum().backward()
    assert np.array_equal(x.grad.numpy(), np.ones((3, 4)))


def test_what_comes_after_is_computed_late() -> None:
    """sin(x) is needed at the end alone: a group that could compute it at the beginning does not."""
    graph = Graph()
    x = graph.placeholder("x")
    spec = Spec((64, 64), FLOAT)
    call = lambda name, *args: graph.call_function(table[name].call, args)
    start = call("cos", x)
    product = call("matmul", start, x)
    late = call("sin", call("after", start, product))
    last = call("matmul", late, product)
    for node in graph.nodes:
        node.meta["val"] = spec
    graph.output((last,))
    made = compile_graph(graph, [Spec((64, 64), FLOAT, elements(np.empty((64, 64), FLOAT)))])
    order = [step.members[-1].node.name for step in made.schedule.steps]
    assert order.index("sin") > order.index("matmul")
    array = (np.random.default_rng(0).random((64, 64)) / 8).astype(FLOAT)
    product_ = np.cos(array) @ array
    np.testing.assert_allclose(made([array])[0], np.sin(np.cos(array)) @ product_, 1e-4)


# -- attention ------------------------------------------------------------------------------------------------------


def attention_inputs(shape: tuple[int, ...], source: int, width: int, dtype: Any) -> list[Any]:
    torch.manual_seed(0)
    *batch, length, size = shape
    shapes = (shape, (*batch, source, size), (*batch, source, width))
    return [torch.randn(*each).to(dtype).requires_grad_() for each in shapes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("how", ["plain", "causal", "chosen", "added"])
@pytest.mark.parametrize("sizes", [((2, 3, 64, 16), 64, 16), ((3, 37, 8), 50, 5), ((2, 1, 100, 12), 100, 7)])
def test_weights_of_attention_are_computed_again(sizes: Any, how: str, dtype: Any) -> None:
    shape, source, width = sizes
    mask: Any = None
    if how == "chosen":
        mask = torch.rand(shape[-2], source) < 0.7
        mask[3] = False  # a row that may attend to nothing
    elif how == "added":
        mask = torch.randn(shape[-2], source).to(dtype)
    given_to = attention_inputs(shape, source, width, dtype)

    def function(q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=how == "causal")

    weights = torch.randn(*shape[:-1], width).to(dtype)
    (function(*given_to) * weights).sum().backward()
    wanted = [each.grad.double().numpy() for each in given_to]
    compiled = torch.compile(function)
    tolerance = {torch.float32: 2e-5, torch.float64: 1e-12, torch.bfloat16: 0.03}[dtype]
    for _ in range(3):
        for each in given_to:
            each.grad = None
        (compiled(*given_to) * weights).sum().backward()
        for have, want in zip(given_to, wanted, strict=True):
            np.testing.assert_allclose(have.grad.double().numpy(), want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def test_weights_of_attention_are_not_kept() -> None:
    class Attending(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = torch.nn.Linear(16, 48)

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(*self.project(x).split(16, -1), is_causal=True)

    before, after = kept_bytes(Attending(), torch.randn(2, 256, 16))
    unit = 2 * 256 * 16 * 4
    assert before > 2 * 256 * 256 * 4 and after < 4.5 * unit


def test_the_gradient_of_attention_without_its_weights() -> None:
    """As an op: with the weights, and without them."""
    q, k, v = (each.detach() for each in attention_inputs((2, 3, 10, 8), 12, 6, torch.float64))
    mask = torch.rand(10, 12) < 0.6
    gradient = torch.randn(2, 3, 10, 6).double()
    for causal, chosen in ((False, mask), (False, None), (True, None)):
        _, weights = table["attention"].call(q, k, v, chosen, causal, 0.3)
        kept = table["attention_backward"].call(gradient, q, k, v, weights, 0.3, causal)
        again = table["attention_backward"].call(gradient, q, k, v, None, 0.3, causal, chosen)
        for one, other in zip(kept, again, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-12, 1e-14)


def test_weights_of_attention_that_are_asked_for_are_kept() -> None:
    """Multi-head attention that returns its weights: they are there, and gradients go through them."""
    torch.manual_seed(0)
    model = torch.nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.randn(2, 5, 16, requires_grad=True)

    def value(run: Any) -> Any:
        made, weights = run(x, x, x, need_weights=True)
        return (made**2).sum() + (weights**2).sum()

    value(model).backward()
    wanted, x.grad = x.grad, None
    compiled = torch.compile(model)
    for _ in range(3):
        x.grad = None
        value(compiled).backward()
        np.testing.assert_allclose(x.grad.numpy(), wanted.numpy(), 1e-4, 1e-5)
