"""Custom Functions of the kinds that programs write, against gradients known by analysis or by differences.

The file speaks only the public API: with `import torch` in the place of `import rushlight as torch` it holds for PyTorch too.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import pytest

import rushlight as torch

Function = torch.autograd.Function
once_differentiable = torch.autograd.function.once_differentiable
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def close(a: Any, b: Any) -> None:
    torch.testing.assert_close(a, b)


# -- what reaches forward ----------------------------------------------------------------------------------------


class Side(enum.Enum):
    LEFT = "left"
    RIGHT = "right"


class Slope(Function):
    """Another slope on each side of 0; which is chosen by an enum."""

    @staticmethod
    def forward(ctx, x, side, slope):
        ctx.kept = (x < 0) if side is Side.LEFT else (x > 0)
        ctx.slope = slope
        return torch.where(ctx.kept, x * slope, x)

    @staticmethod
    def backward(ctx, g):
        return torch.where(ctx.kept, g * ctx.slope, g), None, None


@pytest.mark.parametrize("side", list(Side))
def test_enum_and_number_as_arguments(side):
    x = torch.tensor([-2.0, -1.0, 1.0, 3.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: Slope.apply(x, side, 0.25), (x,))
    Slope.apply(x, side, 3).sum().backward()
    assert x.grad.tolist() == ([3, 3, 1, 1] if side is Side.LEFT else [1, 1, 3, 3])


@dataclass
class Affine:
    scale: float
    weight: torch.Tensor
    shift: torch.Tensor


class OfDataclass(Function):
    """Tensors within a dataclass are constants: only arguments themselves are differentiated."""

    @staticmethod
    def forward(ctx, x, affine, other):
        ctx.save_for_backward(affine.weight)
        ctx.scale = affine.scale
        return x * affine.weight * affine.scale + affine.shift + other

    @staticmethod
    def backward(ctx, g):
        (weight,) = ctx.saved_tensors
        return g * weight * ctx.scale, None, g


def test_a_dataclass_as_argument():
    x, z = numbers(3), numbers(3, seed=1)
    affine = Affine(2.0, numbers(3, seed=2), numbers(3, seed=3))
    OfDataclass.apply(x, affine, z).sum().backward()
    close(x.grad, affine.weight.detach() * 2)
    close(z.grad, torch.ones_like(z))
    assert affine.weight.grad is None and affine.shift.grad is None


class OfContainers(Function):
    """Lists, tuples and dicts of tensors are Python objects like any other."""

    @staticmethod
    def forward(ctx, x, weights, options):
        ctx.save_for_backward(*weights, options["bias"])
        return x * sum(weights) + options["bias"]

    @staticmethod
    def backward(ctx, g):
        first, second, _ = ctx.saved_tensors
        return g * (first + second), None, None


def test_lists_and_dicts_as_arguments():
    x, weights = numbers(2), [numbers(2, seed=1), numbers(2, seed=2)]
    result = OfContainers.apply(x, weights, {"bias": torch.ones(2, dtype=torch.float64)})
    close(result, x * (weights[0] + weights[1]) + 1)
    result.sum().backward()
    close(x.grad, (weights[0] + weights[1]).detach())
    assert weights[0].grad is None and weights[1].grad is None


class Defaults(Function):
    """Arguments with defaults may be left away; backward then owes a gradient for those that were given."""

    @staticmethod
    def forward(ctx, x, power=2, scale=None):
        ctx.save_for_backward(x)
        ctx.power, ctx.given = power, ctx.needs_input_grad
        return x**power

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * ctx.power * x ** (ctx.power - 1), None, None)[: len(ctx.given)]


def test_defaults():
    x = numbers(3)
    for args, power in (((), 2), ((3,), 3), ((4, None), 4)):
        x.grad = None
        Defaults.apply(x, *args).sum().backward()
        close(x.grad, power * x.detach() ** (power - 1))


class Random(Function):
    """A shape as an argument, and numbers drawn in forward."""

    @staticmethod
    def forward(ctx, x, shape):
        noise = torch.rand(shape, dtype=x.dtype)
        ctx.save_for_backward(noise)
        return x + noise

    @staticmethod
    def backward(ctx, g):
        (noise,) = ctx.saved_tensors
        return g * noise, None


def test_a_tuple_and_saved_random_numbers():
    x = numbers(2, 3)
    out = Random.apply(x, (2, 3))
    out.sum().backward()
    close(x.grad, (out - x).detach())


def test_free_variables():
    factor, offset = 3.0, numbers(2)

    class Closed(Function):
        @staticmethod
        def forward(ctx, x):
            return x * factor + offset

        @staticmethod
        def backward(ctx, g):
            return g * factor

    x = numbers(2, seed=1)
    Closed.apply(x).sum().backward()
    close(x.grad, torch.full_like(x, 3.0))
    assert offset.grad is None  # it was not passed
    factor = 5.0  # a closure sees the variable, not what it was
    x.grad = None
    Closed.apply(x).sum().backward()
    close(x.grad, torch.full_like(x, 5.0))


class Bound(Function):
    """A bound that is a number, kept as a tensor made in forward."""

    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x, x.new_ones(1) * bound)
        return x.clamp(min=bound)

    @staticmethod
    def backward(ctx, g):
        x, bound = ctx.saved_tensors
        return (x >= bound) * g, None


def test_in_a_module_with_a_parameter():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([0.5, 1.5, 2.5]))
            self.bound = Bound.apply

        def forward(self, x):
            return x + self.bound(self.weight, 1)

    layer = Layer()
    out = layer(torch.zeros(3))
    assert out.tolist() == [1.0, 1.5, 2.5]
    out.sum().backward()
    assert layer.weight.grad.tolist() == [0.0, 1.0, 1.0]


# -- what is kept for backward -----------------------------------------------------------------------------------


class Softplus(Function):
    """Keeps a value that is neither input nor output."""

    @staticmethod
    def forward(ctx, x):
        raised = torch.exp(x)
        ctx.save_for_backward(raised)
        return torch.log1p(raised)

    @staticmethod
    def backward(ctx, g):
        (raised,) = ctx.saved_tensors
        return g * raised / (1 + raised)


def test_an_intermediate_is_saved():
    x = numbers(4)
    assert gradcheck(Softplus.apply, (x,))
    close(torch.autograd.grad(Softplus.apply(x).sum(), x)[0], torch.sigmoid(x).detach())


class Sigmoid(Function):
    """Keeps its output, through which second derivatives flow."""

    @staticmethod
    def forward(ctx, x):
        result = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result * (1 - result)


def test_an_output_is_saved():
    assert gradcheck(Sigmoid.apply, (numbers(3),)) and gradgradcheck(Sigmoid.apply, (numbers(3),))


class SavedTwice(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x, y)  # the last call counts
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


def test_saving_twice():
    assert gradcheck(SavedTwice.apply, (numbers(2), numbers(2, seed=1)))


class Attributes(Function):
    """Anything may be an attribute of ctx: a size, a list, a tensor, a function."""

    @staticmethod
    def forward(ctx, x):
        ctx.count, ctx.factors, ctx.seen, ctx.rule = x.size(0), [1, 2, 3], x.detach() * 2, math.prod
        return x * ctx.count

    @staticmethod
    def backward(ctx, g):
        assert ctx.seen.shape == g.shape
        return g * ctx.count * ctx.rule(ctx.factors) / 6


def test_attributes():
    assert gradcheck(Attributes.apply, (numbers(4),))


class Optional(Function):
    """None can be saved, and comes back."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight, bias)
        return x @ weight.t() if bias is None else x @ weight.t() + bias

    @staticmethod
    def backward(ctx, g):
        x, weight, bias = ctx.saved_tensors
        of_x = g @ weight if ctx.needs_input_grad[0] else None
        of_weight = g.t() @ x if ctx.needs_input_grad[1] else None
        of_bias = g.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
        return of_x, of_weight, of_bias


def test_a_linear_layer_with_and_without_bias():
    x, weight, bias = numbers(3, 2), numbers(4, 2, seed=1), numbers(4, seed=2)
    assert gradcheck(Optional.apply, (x, weight, bias)) and gradgradcheck(Optional.apply, (x, weight, bias))
    assert gradcheck(lambda x, w: Optional.apply(x, w, None), (x, weight))
    Optional.apply(x, weight.detach(), bias).sum().backward()
    assert weight.grad is None and x.grad is not None and bias.grad.tolist() == [3.0] * 4


# -- what is wanted, and what comes back -------------------------------------------------------------------------


def test_needs_input_grad_says_what_is_wanted():
    seen = []

    class Wanted(Function):
        @staticmethod
        def forward(ctx, a, number, b, c):
            seen.append(ctx.needs_input_grad)
            return a + b + c + number

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return tuple(g if wanted else None for wanted in ctx.needs_input_grad)

    a, b, c = numbers(2), numbers(2).detach(), numbers(2, seed=1)
    Wanted.apply(a, 1, b, c).sum().backward()
    assert seen == [(True, False, False, True)] * 2 and a.grad is not None and c.grad is not None


class NoneForATensor(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


def test_none_for_a_tensor_that_wants_a_gradient():
    x, y = numbers(2), numbers(2, seed=1)
    NoneForATensor.apply(x, y).sum().backward()
    assert y.grad is None
    close(x.grad, y.detach())
    (NoneForATensor.apply(x, y) + y).sum().backward()  # the other way on which y is used still counts
    close(y.grad, torch.ones_like(y))


class TwoOutputs(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x * x

    @staticmethod
    def backward(ctx, of_sine, of_square):
        (x,) = ctx.saved_tensors
        return of_sine * x.cos() + of_square * 2 * x


def test_several_outputs():
    x = numbers(3)
    assert gradcheck(TwoOutputs.apply, (x,)) and gradgradcheck(TwoOutputs.apply, (x,))
    sine, square = TwoOutputs.apply(x)
    assert sine.grad_fn is square.grad_fn
    (of_x,) = torch.autograd.grad(square.sum(), x)  # the gradient of the unused output is zeros
    close(of_x, 2 * x.detach())


def test_gradients_that_are_not_made_of_zeros():
    seen = []

    class Lazy(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x.clone(), x * 2, x * 3

        @staticmethod
        def backward(ctx, *gradients):
            seen.append([g is None for g in gradients])
            return sum(factor * g for factor, g in zip((1, 2, 3), gradients) if g is not None)

    x = numbers(2)
    first, _, third = Lazy.apply(x)
    (first + third).sum().backward()
    assert seen == [[False, True, False]] and x.grad.tolist() == [4.0, 4.0]


class Mixed(Function):
    """Outputs that are no tensors pass through; their gradients are None."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3), "cubed", x.shape[0], None

    @staticmethod
    def backward(ctx, g, *others):
        assert others == (None, None, None)
        return 3 * g * ctx.saved_tensors[0] ** 2


def test_outputs_that_are_no_tensors():
    x = numbers(2)
    cubed, name, size, nothing = Mixed.apply(x)
    assert (name, size, nothing) == ("cubed", 2, None)
    cubed.sum().backward()
    close(x.grad, 3 * x.detach() ** 2)


class Largest(Function):
    """Values with a gradient, indices without."""

    @staticmethod
    def forward(ctx, x, count):
        values, indices = x.topk(count)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.size = x.shape
        return values, indices

    @staticmethod
    def backward(ctx, g, of_indices):
        assert of_indices is None or not of_indices.any()
        (indices,) = ctx.saved_tensors
        return torch.zeros(ctx.size, dtype=g.dtype).scatter(-1, indices, g), None


def test_an_output_without_gradient():
    x = torch.tensor([1.0, 4.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    values, indices = Largest.apply(x, 2)
    assert indices.tolist() == [1, 3] and not indices.requires_grad and indices.grad_fn is None
    (values * torch.tensor([2.0, 5.0])).sum().backward()
    assert x.grad.tolist() == [0, 2, 0, 5]


@pytest.mark.parametrize("mark_first", [True, False])
def test_an_input_marked_and_returned(mark_first):
    class Marked(Function):
        @staticmethod
        def forward(ctx, x):
            if mark_first:
                ctx.mark_non_differentiable(x)
            ctx.save_for_backward(x)
            if not mark_first:
                ctx.mark_non_differentiable(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = numbers(2)
    y = Marked.apply(x)
    assert not y.requires_grad and torch.equal(y, x)


# -- inputs as outputs, views, memory ----------------------------------------------------------------------------


class Scaled(Function):
    """Returns its input, and scales the gradient."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * ctx.factor, None


def test_an_input_returned():
    x = numbers(3)
    y = Scaled.apply(x, 0.5)
    assert y is not x and torch.equal(y, x) and y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [0.5] * 3


def test_once_differentiable():
    x = numbers(3)
    (of_x,) = torch.autograd.grad(Scaled.apply(x, 0.5).pow(2).sum(), x, create_graph=True)
    close(of_x, x)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        of_x.sum().backward()


def test_strides_in_backward():
    seen = []

    class Layout(Function):
        @staticmethod
        def forward(ctx, x):
            return x.t().clone(memory_format=torch.contiguous_format)

        @staticmethod
        def backward(ctx, g):
            seen.append((g.shape, g.stride(), g.is_contiguous()))
            return g.t()

    x = numbers(2, 3)
    Layout.apply(x).t().backward(torch.ones(2, 3, dtype=torch.float64))
    assert seen == [((3, 2), (1, 3), False)] and x.grad.is_contiguous() and x.grad.tolist() == [[1.0] * 3] * 2
    Layout.apply(x).sum().backward()
    assert seen[1][:2] == ((3, 2), (0, 0))  # the gradient of a sum is one number, seen many times


class Doubled(Function):
    """Writes into its input."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def test_writing_into_an_input():
    x = numbers(2)
    y = x.clone()
    z = Doubled.apply(y)
    assert z is y and y._version == 2  # written in forward, and marked
    (z * z).sum().backward()
    close(x.grad, 8 * x.detach())


class Diagonal(Function):
    """The result is a view of the input."""

    @staticmethod
    def forward(ctx, x):
        ctx.size = x.shape[0]
        return x.diagonal()

    @staticmethod
    def backward(ctx, g):
        return torch.diag_embed(g)


def test_a_view_returned():
    x = numbers(3, 3)
    assert gradcheck(lambda x: Diagonal.apply(x) * 1, (x,))
    (Diagonal.apply(x) ** 2).sum().backward()
    close(x.grad, torch.diag(2 * x.detach().diagonal()))
