"""Custom Functions that break their contract: each gets an error that names what is wrong.  Holds for PyTorch too."""

import pytest
from support.results import leaf

import rushlight as torch
from rushlight.autograd import Function


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x


def broken(result, inputs=1):
    class Broken(Function):
        @staticmethod
        def forward(ctx, *args):
            return args[0] * 2

        @staticmethod
        def backward(ctx, g):
            return result(g)

    return Broken


@pytest.mark.parametrize(
    ("result", "args", "error", "match"),
    [
        (lambda g: g.reshape(1, -1).repeat(2, 3), 1, RuntimeError, "invalid gradient|shape"),
        (lambda g: torch.ones(5), 1, RuntimeError, "Broken.*invalid gradient at index 0"),
        (lambda g: (g, g), 1, RuntimeError, "incorrect number of gradients \\(expected 1, got 2\\)"),
        (lambda g: g, 2, RuntimeError, "incorrect number of gradients \\(expected 2, got 1\\)"),
        (lambda g: (g, g), 2, RuntimeError, "gradient different than None at position 2"),
        (lambda g: 3.0, 1, RuntimeError, "float"),
    ],
)
def test_a_backward_that_breaks_its_contract(result, args, error, match):
    x = leaf(1.0, 2.0)
    y = broken(result).apply(x, *[7] * (args - 1))
    with pytest.raises(error, match=match):
        y.sum().backward()


def test_extra_none_gradients_are_let_pass():
    x = leaf(1.0)
    broken(lambda g: (g, None, None)).apply(x).backward()
    assert x.grad.tolist() == [1.0]


def test_a_gradient_of_another_dtype_is_cast():
    x = leaf(1.0)
    broken(lambda g: g.double()).apply(x).backward()
    assert x.grad.dtype == torch.float32


def test_a_gradient_that_broadcast_is_summed():
    x = leaf(1.0, 2.0)
    broken(lambda g: g.expand(3, 2)).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_no_backward():
    class Half(Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    y = Half.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward"):
        y.backward()


def test_no_forward():
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match="forward"):
        Empty.apply(leaf(1.0))


def test_only_tensors_are_saved():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x * 1

    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        Bad.apply(leaf(1.0))


def test_a_saved_tensor_changed_later():
    x = leaf(1.0)
    y = x * 1
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_backward_twice():
    y = Square.apply(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_legacy_call_is_refused():
    with pytest.raises(RuntimeError):
        Square()(leaf(1.0))
