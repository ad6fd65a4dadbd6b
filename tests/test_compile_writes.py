"""Writes that are easily missed when a program is captured: through tensors whose history was cut off (``detach``, ``data``), and by ops that write
only where they are told to (``inplace``, ``max_norm``)."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import nn, optim
from rushlight.nn import functional as F

BACKENDS = ["eager", "aot_eager", *(["native"] if importlib.util.find_spec("llvmlite") else [])]


def all_of_it(x: Any) -> Any:
    y = x * 2
    y.detach().mul_(3)
    return y


def by_data(x: Any) -> Any:
    y = x * 2
    y.data.mul_(3)
    return y + 0


def a_part(x: Any) -> Any:
    y = x * 2
    y.detach()[1:].mul_(3)
    return y + 0


def a_view(x: Any) -> Any:
    y = x * 2
    y.view(2, 2).detach().mul_(3)
    return y + 0


def a_part_of_a_part(x: Any) -> Any:
    y = x * 2
    z = y[1:].detach()
    z[1:].mul_(3)
    return y + 0, z * 1


def the_source(x: Any) -> Any:
    y = x * 2
    z = y[1:].detach()
    y.mul_(3)
    return y + 0, z * 1


def both(x: Any) -> Any:
    y = x * 2
    z = y.detach()
    part, other = y[1:], z.view(2, 2)[0]
    part.add_(1)
    other.mul_(3)
    return y + 0, z * 1, part * 1, other * 1


def in_turn(x: Any) -> Any:
    y = x * 2
    z = y.data
    w = z.data[2:]
    w.add_(1)
    y[3:].mul_(2)
    z.sub_(1)
    return y * 1, z * 1, w * 1


def an_input(x: Any) -> Any:
    z = x.detach()[1:]
    z.add_(1)
    return x * 2


FUNCTIONS = [all_of_it, by_data, a_part, a_view, a_part_of_a_part, the_source, both, in_turn, an_input]


def outcome(function: Any, gradients: bool) -> list[Any]:
    leaf = (torch.arange(4.0) + 1).requires_grad_(gradients)
    x = leaf * 1
    results = function(x)
    results = results if isinstance(results, tuple) else (results,)
    if gradients:
        sum((each * each).sum() for each in results if each.requires_grad).backward()
    return [leaf.grad, x, *results]


@pytest.mark.parametrize("gradients", [False, True], ids=["plain", "with gradients"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled(function: Any, backend: str, gradients: bool) -> None:
    compiled = torch.compile(function, backend=backend)
    wanted = outcome(function, gradients)
    for _ in range(3):
        for got, want in zip(outcome(compiled, gradients), wanted, strict=True):
            assert (got is None) == (want is None)
            if want is not None:
                assert got.device == want.device and got.tolist() == want.tolist()


class Called(nn.Module):
    """A function as a Module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_exported(function: Any) -> None:
    file = io.BytesIO()
    torch.onnx.export(Called(function), (torch.ones(4),), file, dynamo=False)
    session = onnx_session(file.getvalue())
    x = torch.arange(4.0) + 1
    found = session.run(None, {session.get_inputs()[0].name: x.numpy().copy()})
    wanted = function(x)
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_array_equal(got, want.numpy())


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_clamped_in_a_step(backend: str) -> None:
    """As it was written before there was clip_grad_value_."""
    runs = []
    for compile_it in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = optim.SGD(model.parameters(), 0.1, momentum=0.9)

        def step(x: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            loss.backward()
            for each in model.parameters():
                each.grad.data.clamp_(-0.1, 0.1)
            optimizer.step()
            return loss

        function = torch.compile(step, backend=backend, fullgraph=True) if compile_it else step
        x = torch.randn(4, 3)
        losses = [float(function(x)) for _ in range(4)]
        runs.append([*losses, *model.weight.flatten().tolist(), *model.weight.grad.flatten().tolist()])
    np.testing.assert_allclose(runs[1], runs[0], 1e-5)


# -- ops that write where they are told to -------------------------------------------------------------------------

ACTIVATIONS = "relu relu6 hardtanh elu selu celu leaky_relu silu mish hardswish hardsigmoid".split()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_in_place_with_nobody_to_use_the_result(name: str, backend: str) -> None:
    function = getattr(F, name)

    def program(x: Any) -> None:
        function(x, inplace=True)

    compiled = torch.compile(program, backend=backend)
    for number in range(3):
        x = torch.tensor([-2.0, 1.0, 9.0]) + number
        wanted = function(x)
        compiled(x)
        np.testing.assert_allclose(x.numpy(), wanted.numpy(), 1e-6)


class Broken(nn.Module):
    """A layer that ends a graph."""

    def forward(self, x: Any) -> Any:
        torch.compiler.graph_break()
        return x * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_place_after_a_break(backend: str) -> None:
    """The graph after the break begins with a write to its input."""
    compiled = torch.compile(nn.Sequential(Broken(), nn.ReLU(inplace=True)), backend=backend)
    for _ in range(4):
        assert compiled(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("gradients", [False, True], ids=["plain", "with gradients"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["embedding", "embedding_bag"])
@pytest.mark.parametrize("rows", [5, 400])
def test_rows_of_a_table_that_are_too_long(name: str, backend: str, gradients: bool, rows: int) -> None:
    function = getattr(F, name)
    program = lambda index, weight: function(index, weight, max_norm=1.0) * 2
    compiled = torch.compile(program, backend=backend)
    index = torch.tensor([[0, 1, 1], [3, 0, 4]])
    for number in range(4):
        outcomes = []
        for run in (program, compiled):
            torch.manual_seed(number)
            weight = (torch.randn(rows, 300) * torch.linspace(0.01, 1, rows)[:, None]).requires_grad_(gradients)
            result = run(index, weight)
            if gradients:
                result.square().sum().backward()
            outcomes.append((result.detach(), weight.detach(), weight.grad))
        for got, want in zip(outcomes[1], outcomes[0], strict=True):
            assert (got is None) == (want is None)
            if want is not None:
                np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-5, 1e-6)
        assert (outcomes[1][1][index.reshape(-1)].norm(dim=1) < 1.0001).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_stay_as_they_are_where_an_index_is_wrong(backend: str) -> None:
    compiled = torch.compile(lambda index, weight: F.embedding(index, weight, max_norm=1.0)[0], backend=backend)
    for _ in range(3):
        weight = torch.full((4, 3), 2.0)
        compiled(torch.tensor([1, 2]), weight)
        with pytest.raises(IndexError):
            compiled(torch.tensor([0, 4]), weight)
        assert weight[0].tolist() == weight[3].tolist() == [2.0] * 3


class Reassigned(nn.Module):
    """Buffers that are replaced, and read again in the same call."""

    total: torch.Tensor
    seen: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.register_buffer("seen", torch.zeros(2))
        self.other = self.total

    def forward(self, x: Any) -> Any:
        self.total = self.total + x
        y = x + self.total + self.seen
        self.seen, self.total = self.total, self.total * 2
        return y * self.seen + self.total


@pytest.mark.parametrize("backend", BACKENDS)
def test_buffers_that_are_replaced_and_read_again(backend: str) -> None:
    """A buffer was read as if the program had not replaced it: from the second call on it kept its value."""
    module, wanted = Reassigned(), Reassigned()
    compiled = torch.compile(module, backend=backend)
    for at in range(4):
        x = torch.full((2,), at + 1.0)
        assert compiled(x).tolist() == wanted(x).tolist()
        assert module.total.tolist() == wanted.total.tolist() and module.seen.tolist() == wanted.seen.tolist()
    assert module.total.tolist() == [52.0, 52.0] and module.seen.tolist() == [26.0, 26.0]


class Swapped(nn.Module):
    """Parameters and submodules that are exchanged, deleted and made anew."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.register_buffer("gone", torch.ones(2))

    def forward(self, x: Any) -> Any:
        self.a, self.b = self.b, self.a
        y = self.a(x)
        gone = self.gone
        del self.gone
        self.register_buffer("gone", gone + y.detach().sum(0))
        return y * self.gone


@pytest.mark.parametrize("backend", BACKENDS)
def test_members_of_a_module_that_are_exchanged(backend: str) -> None:
    torch.manual_seed(0)
    module = Swapped()
    wanted = Swapped()
    wanted.load_state_dict(module.state_dict())
    compiled = torch.compile(module, backend=backend)
    for at in range(4):
        x = torch.full((3, 2), at + 1.0)
        assert torch.allclose(compiled(x), wanted(x)) and torch.allclose(module.gone, wanted.gone)
        assert torch.equal(module.a.weight, wanted.a.weight)


def detached_leaf(x: Any) -> Any:
    leaf = x.detach().requires_grad_()
    return x * 2, leaf


def viewed_leaf(x: Any) -> Any:
    leaf = x.view(x.shape)
    leaf.unsqueeze_(0)
    return x * 2, leaf


def detached_of_a_result(x: Any) -> Any:
    y = x * 2
    return y, y.detach().requires_grad_()


def result_after_its_detached_one(x: Any) -> Any:
    y = x * 2
    return y.detach().requires_grad_(), y


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", [detached_leaf, viewed_leaf, detached_of_a_result, result_after_its_detached_one])
def test_a_detached_tensor_is_another_one(program: Any, dynamic: Any) -> None:
    """A graph without gradients gave back an input, or its first output, for a tensor that is detached from it: ``requires_grad_`` changed both."""
    compiled = torch.compile(program, dynamic=dynamic)
    for n in (3, 3, 3, 4, 4):
        x, y = torch.ones(n, 2), torch.ones(n, 2)
        found, wanted = compiled(x), program(y)
        assert x.requires_grad == y.requires_grad and x.shape == y.shape
        assert [each.requires_grad for each in found] == [each.requires_grad for each in wanted]
        assert [each.shape for each in found] == [each.shape for each in wanted] and not any(each is x for each in found)
        with torch.no_grad():
            found[0].add_(1), wanted[0].add_(1)
        assert [each.tolist() for each in (*found, x)] == [each.tolist() for each in (*wanted, y)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("through", ["the argument", "a view of it", "a detached tensor"])
def test_later_arguments_whose_elements_share_memory_are_refused(through: str, backend: str) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        target = x if through == "the argument" else x[:, 1:] if through == "a view of it" else x.detach()
        target.mul_(2)
        return x + 1

    compiled = torch.compile(program, backend=backend)
    compiled(torch.ones(2, 3))
    compiled(torch.ones(3, 2).t())
    for run in (program, compiled):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            run(torch.ones(1, 3).expand(2, 3))
