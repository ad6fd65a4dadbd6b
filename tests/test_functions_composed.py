"""More custom Functions: forms of the class, Functions within Functions, and Functions beside the rest of the system.

As tests/test_functions_in_eager.py, this file holds for PyTorch too.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest
from test_functions_in_eager import Sigmoid, Softplus, close, numbers

import rushlight as torch

Function = torch.autograd.Function
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


# -- forms of the class ------------------------------------------------------------------------------------------


class OfClass(Function):
    factor = 4

    @classmethod
    def forward(cls, ctx, x):
        return x * cls.factor

    @classmethod
    def backward(cls, ctx, g):
        return g * cls.factor


class OfSubclass(OfClass):
    factor = 7


@pytest.mark.parametrize("function", [OfClass, OfSubclass])
def test_class_methods_and_inheritance(function):
    x = numbers(2)
    function.apply(x).sum().backward()
    assert x.grad.tolist() == [float(function.factor)] * 2


class Split(Function):
    """Forward without ctx; what backward needs is set up apart."""

    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        product, total = output
        ctx.save_for_backward(*inputs, product)
        ctx.mark_non_differentiable(total)

    @staticmethod
    def backward(ctx, g, of_total):
        x, y, _ = ctx.saved_tensors
        return g * y, g * x


def test_setup_context():
    x, y = numbers(3), numbers(3, seed=1)
    assert gradcheck(lambda x, y: Split.apply(x, y)[0], (x, y)) and gradgradcheck(lambda x, y: Split.apply(x, y)[0], (x, y))
    product, total = Split.apply(x, y)
    assert product.requires_grad and not total.requires_grad


class Cube(Function):
    """With a rule for vmap made from the Function itself."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, g, of_slope):
        x, slope = ctx.saved_tensors
        return g * slope + of_slope * 6 * x


def test_generate_vmap_rule():
    x = numbers(4, 3)
    cubed, slope = torch.vmap(Cube.apply)(x)
    close(cubed, x**3)
    close(slope, 3 * x**2)
    assert gradcheck(lambda x: torch.vmap(Cube.apply, in_dims=1)(x), (x,))
    of_each = torch.func.vmap(torch.func.grad(lambda row: Cube.apply(row)[0].sum()))(x.detach())
    close(of_each, 3 * x.detach() ** 2)


class WithVmapRule(Function):
    """With a rule for vmap of its own."""

    @staticmethod
    def forward(x, dim):
        return x.flip(dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g.flip(ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        assert info.batch_size == x.shape[in_dims[0]]
        x = x.movedim(in_dims[0], 0)
        return WithVmapRule.apply(x, dim + 1), 0


def test_a_vmap_rule_of_its_own():
    x = numbers(2, 3)
    close(torch.vmap(lambda row: WithVmapRule.apply(row, 0))(x), x.flip(1))
    close(torch.vmap(lambda column: WithVmapRule.apply(column, 0), in_dims=1)(x), x.t().flip(1))


# -- Functions within Functions ----------------------------------------------------------------------------------


class Nested(Function):
    """Calls other Functions in forward, where nothing is recorded, and in backward, where second derivatives are."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Sigmoid.apply(x) * Softplus.apply(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        sigmoid = Sigmoid.apply(x)
        return g * (sigmoid * (1 - sigmoid) * Softplus.apply(x) + sigmoid * sigmoid)


def test_functions_within_functions():
    assert gradcheck(Nested.apply, (numbers(3),)) and gradgradcheck(Nested.apply, (numbers(3),))


class Recorded(Function):
    """Records its own forward, and differentiates that: a checkpoint."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            result = ctx.function(x)
        return None, torch.autograd.grad(result, x, g)[0]


def test_a_graph_within_backward():
    x = numbers(3)
    assert gradcheck(lambda x: Recorded.apply(lambda y: Nested.apply(y).sin(), x), (x,))


class Reversed(Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.save_for_backward(strength)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g * ctx.saved_tensors[0], None


def test_a_network_trained_against_itself():
    x, weight = numbers(4, 3), numbers(3, 2, seed=1)
    features = x @ weight
    loss = features.pow(2).mean() + Reversed.apply(features, torch.tensor(0.5, dtype=torch.float64)).pow(3).mean()
    loss.backward()
    h = features.detach()
    close(weight.grad, x.detach().t() @ ((2 * h - 0.5 * 3 * h**2) / h.numel()))


# -- together with the rest --------------------------------------------------------------------------------------


Pair = namedtuple("Pair", "low high")


class Extremes(Function):
    """Results in a named tuple come back as a plain tuple."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Pair(x.min(), x.max())

    @staticmethod
    def backward(ctx, of_low, of_high):
        (x,) = ctx.saved_tensors
        return of_low * (x == x.min()) + of_high * (x == x.max())


def test_a_named_tuple_as_result():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    low, high = Extremes.apply(x)
    (low + 10 * high).backward()
    assert x.grad.tolist() == [10.0, 1.0, 0.0]


class Rounded(Function):
    """A straight-through estimator: no gradient by nature, one by decree."""

    @staticmethod
    def forward(ctx, x, bits):
        return torch.round(x * 2**bits) / 2**bits

    @staticmethod
    def backward(ctx, g):
        return g, None


def test_training_through_a_rounding():
    x = torch.linspace(-1, 1, 20).unsqueeze(1)
    weight = torch.tensor([[0.1]], requires_grad=True)
    for _ in range(60):
        loss = ((Rounded.apply(x @ weight, 3) - 0.75 * x) ** 2).mean()
        (of_weight,) = torch.autograd.grad(loss, weight)
        with torch.no_grad():
            weight -= 0.5 * of_weight
    assert abs(weight.item() - 0.75) < 0.1 and Rounded.apply(weight, 3).item() * 8 % 1 == 0


class Complex(Function):
    """Complex numbers: a gradient is conjugated where the derivative is a factor."""

    @staticmethod
    def forward(ctx, z, w):
        ctx.save_for_backward(z, w)
        return z * w

    @staticmethod
    def backward(ctx, g):
        z, w = ctx.saved_tensors
        return g * w.conj(), g * z.conj()


def test_complex_numbers():
    z = torch.complex(numbers(2).detach(), numbers(2, seed=1).detach()).requires_grad_()
    w = torch.complex(numbers(2, seed=2).detach(), numbers(2, seed=3).detach()).requires_grad_()
    assert gradcheck(Complex.apply, (z, w)) and gradgradcheck(Complex.apply, (z, w))


def test_hooks_and_saved_tensor_hooks_see_a_function():
    x = numbers(2)
    packed: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t.detach().clone(), lambda t: t):
        y = Sigmoid.apply(x)
    assert packed == [x.shape]
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda of_inputs, of_outputs: seen.append((of_inputs[0].shape, of_outputs[0].tolist())))
    y.sum().backward()
    assert seen == [(x.shape, [1.0, 1.0])]
