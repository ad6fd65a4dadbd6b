"""Gradients of values that a compiled graph returns beside others that are computed from them: in every call as in eager mode."""

import pytest

import rushlight as torch


def grad_behind_break(x):
    hidden = x.sin()
    loss = (hidden * hidden).sum()
    torch.compiler.graph_break()
    return torch.autograd.grad(loss, hidden)[0]


def backward_behind_break(x):
    hidden = x.sin()
    loss = (hidden * hidden).sum()
    torch.compiler.graph_break()
    loss.backward(inputs=[hidden])
    return hidden.grad


def history_before_the_graph(x):
    """The break is at ``grad``: the gradient would go on to what was computed before."""
    hidden = x.sin()
    return torch.autograd.grad((hidden * hidden).sum(), hidden)[0]


def differentiated_again(x):
    hidden = x.sin()
    loss = (hidden**3).sum()
    torch.compiler.graph_break()
    gradient = torch.autograd.grad(loss, hidden, create_graph=True)[0]
    return torch.autograd.grad(gradient.square().sum(), x)[0]


def own_and_through_others(x):
    hidden = x.sin()
    loss = hidden.square().sum()
    torch.compiler.graph_break()
    return torch.autograd.grad([loss, hidden], hidden, [torch.tensor(2.0), torch.ones(len(x))])[0]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "program", [grad_behind_break, backward_behind_break, history_before_the_graph, differentiated_again, own_and_through_others]
)
@pytest.mark.parametrize("leaf", [True, False])
def test_gradient_of_an_intermediate_value(program, leaf, dynamic):
    compiled = torch.compile(program, dynamic=dynamic)
    for size in (3, 3, 3, 5, 5):
        x = torch.linspace(-1, 2, size, requires_grad=True)
        x = x if leaf else x * 1.5
        expected = program(x).detach()
        assert torch.equal(compiled(x).detach(), expected)


@torch.compile
def two_values(x):
    hidden = x.exp()
    return hidden, hidden.square().sum(), x.cos()


def test_outside_of_the_program():
    for _ in range(3):
        hidden, loss, apart = two_values(torch.linspace(0, 1, 4, requires_grad=True))
        assert torch.autograd.grad(apart.sum(), hidden, allow_unused=True, retain_graph=True) == (None,)
        assert torch.allclose(torch.autograd.grad(loss, hidden)[0], 2 * hidden)


def break_inside_of_no_grad(x):
    y = x.sin()
    with torch.no_grad():
        half = y * 0.5
        torch.compiler.graph_break()
        half = half * y
    return (half + y) * y.tanh()


def break_before_no_grad_ends(x):
    with torch.no_grad():
        torch.compiler.graph_break()
        scale = x.cos()
    return scale * x.sin()


@pytest.mark.parametrize("program", [break_inside_of_no_grad, break_before_no_grad_ends])
def test_second_derivatives_of_graphs_that_change_the_mode(program):
    """A graph that is differentiated twice runs again in the mode in which it begins, and leaves that of the backward as it is."""
    compiled = torch.compile(program)
    for seed in range(3):
        found = []
        for each in (program, compiled):
            torch.manual_seed(seed)
            x = torch.randn(3, dtype=torch.float64, requires_grad=True)
            (first,) = torch.autograd.grad(each(x * 1.0).sum(), x, create_graph=True)
            found.append((first.detach(), *torch.autograd.grad(first.square().sum(), x)))
        assert all(torch.allclose(one, other) for one, other in zip(*found))
