"""torch._dynamo.export: functions and Modules as graph modules with the same signature."""

import inspect

import pytest

import rushlight as torch
from rushlight.compat import dynamo
from rushlight.export import Dim
from rushlight.export.errors import GuardOnDataDependentSymNode
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError


def test_nested_arguments_and_results():
    def f(pair, *, scale):
        return {"sum": pair[0] + pair[1], "list": [pair[0] * scale]}

    graph, guards = dynamo.export(f)((torch.ones(2, 3), torch.ones(2, 3)), scale=torch.tensor(2.0))
    found = graph((torch.ones(4, 5), torch.full((4, 5), 3.0)), scale=torch.tensor(0.5))
    assert found["sum"].tolist() == [[4.0] * 5] * 4 and found["list"][0].tolist() == [[0.5] * 5] * 4
    assert isinstance(graph, torch.fx.GraphModule) and isinstance(guards, list)


def test_signature():
    def f(first, pair, *rest, named=None, **others):
        return first * pair[0] * rest[1] * named * others["extra"]

    args = (torch.ones(3), (torch.ones(3), torch.ones(3)), torch.ones(3), torch.ones(3))
    graph = dynamo.export(f, *args, named=torch.ones(3), extra=torch.full((3,), 2.0)).graph_module
    assert inspect.getfullargspec(graph.forward).args[1:] == ["first", "pair", "rest_0", "rest_1", "named", "extra"]
    assert graph(*args, named=torch.ones(3), extra=torch.full((3,), 2.0)).tolist() == [2.0] * 3


@pytest.mark.parametrize("of", ["module", "method"])
def test_modules(of):
    module = torch.nn.Linear(3, 4)
    graph = dynamo.export(module if of == "module" else module.forward, aten_graph=True)(torch.ones(2, 3))[0]
    x = torch.randn(5, 3)
    assert torch.allclose(graph.train().eval()(x), module(x))


def test_sizes_that_the_program_fixes():
    """A branch on a size is not taken silently for sizes on the other side of it."""
    graph, _ = dynamo.export(lambda x: x.cos() if x.shape[0] > 4 else x.sin())(torch.ones(6))
    assert torch.equal(graph(torch.ones(7)), torch.ones(7).cos())
    with pytest.raises((AssertionError, RuntimeError)):
        graph(torch.ones(3))


def test_static_and_constrained_sizes():
    def f(x):
        return x.sum() if x.shape[0] == 3 else x

    assert dynamo.export(f, assume_static_by_default=True)(torch.ones(3))[0](torch.ones(3)).item() == 3
    with pytest.raises(ConstraintViolationError, match="Constraints violated"):
        dynamo.export(f, dynamic_shapes=({0: Dim("size")},))(torch.ones(3))


@dynamo.assume_constant_result
def constant_of_a_size(size):
    return size


class OfConstantResults(torch.nn.Module):
    """A choice by the values of a tensor, and tensors among the results of functions marked as constant."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((2,), 3.0))

    @dynamo.assume_constant_result
    def choice(self, x):
        return 5 if x.sum() > 0 else None

    @dynamo.assume_constant_result
    def parts(self, x):
        return {"rows": torch.nonzero(x), "same": x, "scale": self.scale}

    def forward(self, x):
        taken = self.parts(x - 1)
        if self.choice(x * 2) is None:
            return x - taken["same"]
        return x * 10 + taken["rows"].sum() + taken["same"].sum() + taken["scale"].sum()


def test_constant_results():
    module, x = OfConstantResults(), torch.tensor([1.0, 3.0])
    wanted = lambda given: given * 10 + 1 + 2 + 6
    graph, _ = dynamo.export(module)(x)
    for given in (x, -x, torch.arange(5.0)):
        assert torch.equal(graph(given), wanted(given))
    strict = torch.export.export(module, (x,), strict=True).module()
    assert torch.equal(strict(-x), wanted(-x))
    assert torch.equal(module(-x), -x - (-x - 1))  # eager mode as ever
    with pytest.raises(GuardOnDataDependentSymNode):
        torch.export.export(OfConstantResults(), (x,), strict=False)
    with pytest.raises(dynamo.exc.Unsupported, match="assume_constant_result argument conversion failed"):
        dynamo.export(lambda x: x * constant_of_a_size(x.shape[0]))(x)
    compiled = torch.compile(OfConstantResults(), backend="eager")
    assert torch.equal(compiled(x), module(x))
