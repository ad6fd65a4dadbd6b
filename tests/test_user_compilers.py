"""Compilers of a user's own for forward and backward graphs: ``aot_autograd``, ``functorch.compile``."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compat.dynamo.backends.common import aot_autograd
from rushlight.compat.functorch.compile import aot_function, aot_module, make_boxed_compiler, make_boxed_func, nop
from rushlight.core.errors import NotSupported


class Compilers:
    """Compilers that note which graphs they get, and with how many inputs."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def named(self, name: str) -> Any:
        def compiler(gm: Any, example_inputs: list[Any]) -> Any:
            assert len([node for node in gm.graph.nodes if node.op == "placeholder"]) == len(example_inputs)
            self.seen.append((name, len(example_inputs)))
            return gm.forward

        return compiler


def test_compilers_get_the_forward_and_the_backward_graph() -> None:
    torch.manual_seed(0)
    model, compilers = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), Compilers()
    names = {f"{short}_compiler": compilers.named(short) for short in ("fw", "bw", "inference")}
    compiled = torch.compile(model, backend=aot_autograd(**names))
    x = torch.randn(2, 4, requires_grad=True)
    compiled(x)
    assert compilers.seen == [("fw", 3)]
    compiled(x).square().sum().backward()
    assert [name for name, _ in compilers.seen] == ["fw", "bw"]
    found, x.grad = [x.grad, *(each.grad for each in model.parameters())], None
    model.zero_grad()
    model(x).square().sum().backward()
    assert all(torch.allclose(a, b) for a, b in zip(found, [x.grad, *(each.grad for each in model.parameters())]))
    with torch.no_grad():
        compiled(x)
        assert torch.allclose(compiled(x), model(x)) and compilers.seen[-1] == ("inference", 3)


def test_functions_and_modules() -> None:
    a, b = torch.randn(3, requires_grad=True), torch.randn(3)
    compilers = Compilers()
    function = aot_function(lambda a, b: ((a * b).sin(), a + 1), fw_compiler=make_boxed_compiler(compilers.named("fw")))
    for _ in range(2):
        a.grad = None
        first, second = function(a, b)
        (first.sum() + second.sum()).backward()
        assert torch.allclose(a.grad, b * (a * b).cos() + 1)
    assert [name for name, _ in compilers.seen] == ["fw", "fw"]  # its backward, too
    layer = nn.Linear(2, 2)
    made = aot_module(layer, fw_compiler=nop, bw_compiler=nop)
    assert [name for name, _ in made.named_parameters()] == ["orig_module.weight", "orig_module.bias"]
    assert all(torch.allclose(made(torch.ones(1, 2)), layer(torch.ones(1, 2))) for _ in range(2))
    assert make_boxed_func(lambda x, y: x - y)([5, 2]) == 3


def test_what_a_compiler_raises_is_raised() -> None:
    def failing(gm: Any, example_inputs: list[Any]) -> Any:
        raise ZeroDivisionError("of the compiler")

    with pytest.raises(Exception, match="of the compiler"):
        torch.compile(lambda x: x * 2, backend=aot_autograd(fw_compiler=failing))(torch.ones(2))
    with pytest.raises(Exception, match="decompositions is not supported"):
        torch.compile(lambda x: x * 2, backend=aot_autograd(fw_compiler=nop, decompositions={1: 2}))(torch.ones(2))
    with pytest.raises(NotSupported, match="partition_fn"):
        aot_function(torch.sin, nop, partition_fn=len)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bw'"):
        aot_function(torch.sin, nop, bw=nop)
