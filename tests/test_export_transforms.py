"""Exported programs of ``torch.func``, of gradients of tensors that a program makes, and how inputs may be given."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight import func
from rushlight.compat import pytree
from rushlight.core.declare import table
from rushlight.export import Dim, export
from rushlight.passes.operator_forms import forms


class Applied(torch.nn.Module):
    """A function as a Module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def by_a_leaf(x: Any, v: Any) -> Any:
    """The gradient by a tensor that the program makes, of whose values a gradient is made first."""
    start = x.detach().requires_grad_()
    zeros = torch.zeros(3).requires_grad_()
    (gradient,) = torch.autograd.grad(start.sin(), start, zeros, create_graph=True)
    return torch.autograd.grad(gradient, zeros, v)[0]


def changed_leaf(x: Any, v: Any) -> Any:
    """A tensor that requires a gradient from its second use on."""
    ones = torch.ones(3)
    first = x * ones
    ones.requires_grad_()
    return first, torch.autograd.grad((x * ones * v).sum(), ones)[0]


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "jvp": lambda x, v: func.jvp(torch.sin, (x,), (v,)),
    "jvp of two": lambda x, v: func.jvp(lambda x: (x.sin(), (x**2).sum()), (x,), (v,)),
    "jacfwd": lambda x, v: func.jacfwd(lambda x: x**2 * v)(x),
    "jacrev": lambda x, v: func.jacrev(lambda x: x**2 * v)(x),
    "hessian": lambda x, v: func.hessian(lambda x: (x**3 * v).sum())(x),
    "vjp": lambda x, v: func.vjp(torch.sin, x)[1](v),
    "grad of grad": lambda x, v: func.grad(lambda x: func.grad(lambda y: (y**3 * v).sum())(x).sum())(x),
    "vmap": lambda x, v: func.vmap(lambda x, v: x * v + x.dot(v))(torch.stack([x, v]), torch.stack([v, v])),
    "a leaf": by_a_leaf,
    "a leaf that changes": changed_leaf,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transforms_are_exported(name: str) -> None:
    program = PROGRAMS[name]
    exported = export(Applied(program), (torch.tensor([0.1, 0.2, 0.3]), torch.ones(3))).module()
    x, v = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.5, 2.0, -1.0])
    given, expected = (pytree.tree_leaves(each(x, v)) for each in (exported, program))
    assert len(given) == len(expected) and all(torch.allclose(a, b) for a, b in zip(given, expected))


def test_inputs_in_a_named_tuple() -> None:
    inputs = namedtuple("inputs", "x y")(torch.ones(3), torch.ones(3))
    assert export(Applied(lambda x, y: x + y), inputs).module()(*inputs).tolist() == [2.0] * 3


def test_dynamic_shapes_are_in_the_order_of_the_signature() -> None:
    class Sums(torch.nn.Module):
        def forward(self, a: Any, first: Any, second: Any) -> Any:
            return a.sum() + first.sum() - second.sum()

    ones = torch.ones(4, 4)
    program = export(Sums(), (ones,), {"second": ones, "first": ones}, dynamic_shapes=(None, {0: Dim("rows")}, None)).module()
    assert program(ones, second=ones, first=torch.ones(9, 4)).item() == 36.0


def test_forms_take_the_parameters_of_their_ops() -> None:
    """Each operator form is called with the arguments of its op by name."""
    for op in table.values():
        form = forms.of(op)
        if form is not None:
            inspect.signature(form).bind(**dict.fromkeys(each.name for each in op.parameters))
