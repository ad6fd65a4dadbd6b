"""Running scripts: regions of the gradient graph, arguments, and functions around scripting."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import jit


def close(got, want):
    assert got.shape == want.shape
    assert torch.allclose(got, want, atol=1e-6)


def test_regions_record_one_node():
    @jit.script
    def run(x, y):
        return (x * y).sin().exp() + y

    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    out = run(x, y)
    assert type(out.grad_fn).__name__ == "DifferentiableGraphBackward"
    assert "differentiable" in str(run.graph_for(x, y))
    assert out.grad_fn.input_names == ("x", "y")
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    plain = (x * y).sin().exp() + y
    (want,) = torch.autograd.grad(plain.sum(), x, create_graph=True)
    close(first, want)
    close(second, torch.autograd.grad(want.sum(), x)[0])
    assert torch.autograd.gradcheck(run, (x.double().detach().requires_grad_(), y.double().detach().requires_grad_()))
    assert torch.autograd.gradgradcheck(run, (x.double().detach().requires_grad_(), y.double().detach().requires_grad_()))
    assert not run(x.detach(), y.detach()).requires_grad
    with torch.no_grad():
        assert not run(x, y).requires_grad
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    z = torch.randn(3, requires_grad=True)
    made = run(z, z)
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        made.sum().backward()


def test_is_scripting():
    def run(x):
        if jit.is_scripting():
            return x + 1
        return x - 1

    x = torch.zeros(1)
    assert run(x).item() == -1 and jit.script(run)(x).item() == 1


def test_arguments_are_checked():
    @jit.script
    def run(x, n: int, names: list[str]):
        return x * n

    with pytest.raises(RuntimeError, match="expected a value of type 'Tensor' for argument 'x'"):
        run(3, 1, ["a"])
    with pytest.raises(RuntimeError, match="expected a value of type 'int' for argument 'n'"):
        run(torch.ones(1), 1.5, ["a"])
    with pytest.raises(RuntimeError, match="argument 'names'"):
        run(torch.ones(1), 1, [1])
    with pytest.raises(RuntimeError, match="missing value for argument 'names'"):
        run(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match="at most 3"):
        run(torch.ones(1), 1, ["a"], 5)
    with pytest.raises(RuntimeError, match="unknown keyword argument 'm'"):
        run(torch.ones(1), 1, ["a"], m=5)


def test_script_if_tracing():
    @jit.script_if_tracing
    def choose(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    assert choose(torch.ones(1)).item() == 2
    traced = jit.trace(lambda x: choose(x) * 2, torch.ones(1))
    assert traced(torch.ones(1)).item() == 4 and traced(-torch.ones(1)).item() == -4
