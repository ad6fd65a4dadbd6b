"""Custom Functions in eager mode.  The file speaks only the public API: with `import torch` it holds for PyTorch too."""

import gc
import weakref

import pytest
from support.results import leaf

import rushlight as torch
from rushlight.autograd import Function
from rushlight.autograd.function import once_differentiable


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x


def test_forward_and_backward():
    x = leaf(1.0, 2.0, 3.0)
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_nothing_is_recorded_without_need():
    assert Square.apply(torch.tensor([1.0])).grad_fn is None
    with torch.no_grad():
        assert Square.apply(leaf(1.0)).grad_fn is None


def test_forward_runs_without_recording():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((torch.is_grad_enabled(), (x * 2).requires_grad))
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    Look.apply(leaf(1.0))
    assert seen == [(False, False)]


def test_setup_context():
    class Scale(Function):
        @staticmethod
        def forward(x, factor=3.0):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, factor = inputs
            ctx.factor = factor
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            (output,) = ctx.saved_tensors
            assert output.shape == g.shape
            return g * ctx.factor, None

    x = leaf(1.0, 2.0)
    Scale.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    x.grad = None
    Scale.apply(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_saving_again_replaces():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    a, b = leaf(2.0), leaf(5.0)
    Twice.apply(a, b).backward()
    assert (a.grad.item(), b.grad.item()) == (5.0, 2.0)


def test_attributes_and_any_python_object():
    class Options:
        factor = 4.0

    class Use(Function):
        @staticmethod
        def forward(ctx, x, options, names, shape=None):
            ctx.options, ctx.names, ctx.shape, ctx.inputs, ctx.dtype = options, names, x.shape, "mine", x.dtype
            return x * options.factor

        @staticmethod
        def backward(ctx, g):
            assert ctx.names == {"a": [1]} and ctx.shape == (2,) and ctx.inputs == "mine" and ctx.dtype == torch.float32
            return g * ctx.options.factor, None, None

    x = leaf(1.0, 1.0)
    Use.apply(x, Options(), {"a": [1]}).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_needs_input_grad():
    seen = []

    class Mul(Function):
        @staticmethod
        def forward(ctx, a, b, c):
            seen.append(ctx.needs_input_grad)
            ctx.save_for_backward(a, b)
            return a * b * c

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None, None

    Mul.apply(leaf(1.0), torch.tensor([2.0]), 3).backward()
    assert seen == [(True, False, False)] * 2


def test_several_outputs_and_missing_gradients():
    seen = []

    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return a * 2 + b * 3

    x = leaf(1.0, 2.0)
    first, second = Split.apply(x)
    assert first.grad_fn is second.grad_fn
    second.sum().backward()
    assert seen[0][0].tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradients_are_not_materialised_on_request():
    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            assert a is None
            return b * 3

    x = leaf(1.0)
    Split.apply(x)[1].backward()
    assert x.grad.tolist() == [3.0]


def test_outputs_of_other_kinds():
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "text", None, x.argmax(), x > 1

        @staticmethod
        def backward(ctx, g, *rest):
            return g * 2

    x = leaf(1.0, 2.0)
    y, text, nothing, where, mask = Mixed.apply(x)
    assert text == "text" and nothing is None
    assert y.requires_grad and not where.requires_grad and not mask.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_mark_non_differentiable():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            rounded = x.round()
            ctx.mark_non_differentiable(rounded)
            return x * 1, rounded

        @staticmethod
        def backward(ctx, g, unused):
            assert unused.tolist() == [0.0, 0.0]
            return g

    x = leaf(1.2, 2.7)
    y, rounded = Sort.apply(x)
    assert y.requires_grad and not rounded.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


class AddOne(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, g):
        return g * 10


def test_mark_dirty():
    x = leaf(1.0, 2.0)
    y = x * 1
    version = y._version
    z = AddOne.apply(y)
    assert z is y and y._version > version and y.grad_fn.name() == "AddOneBackward"
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_mark_dirty_on_a_leaf_is_refused():
    with pytest.raises(RuntimeError, match="leaf"):
        AddOne.apply(leaf(1.0))


def test_mark_dirty_on_a_view():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    AddOne.apply(y[:2])
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 1.0]


def test_an_input_returned_as_output():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [5.0] and x.grad_fn is None


def test_a_view_as_output():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.size = x.shape
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            result = torch.zeros(ctx.size)
            result[:1] = g * 7
            return result

    x = leaf(1.0, 2.0)
    y = First.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 0.0]
    with pytest.raises(RuntimeError):
        First.apply(x * 1).mul_(2)


def test_the_same_tensor_twice():
    class Mul(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    x = leaf(3.0)
    Mul.apply(x, x).backward()
    assert x.grad.tolist() == [6.0]


def test_double_and_triple_backward():
    x = leaf(2.0, dtype=torch.float64)
    (first,) = torch.autograd.grad(Square.apply(x) * x, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12.0, 12.0, 6.0)


def test_saved_output_and_double_backward():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = leaf(0.5, dtype=torch.float64)
    assert torch.autograd.gradcheck(Exp.apply, (x,))
    assert torch.autograd.gradgradcheck(Exp.apply, (x,))


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(1.0)
    g = torch.ones(1, requires_grad=True)
    (first,) = torch.autograd.grad(Once.apply(x), x, g, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_nested_functions():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.inner_input = x.detach().requires_grad_()
                ctx.inner = Square.apply(ctx.inner_input) * 3
            return ctx.inner.detach()

        @staticmethod
        def backward(ctx, g):
            return torch.autograd.grad(ctx.inner, ctx.inner_input, g)

    x = leaf(2.0)
    Outer.apply(x).backward()
    assert x.grad.tolist() == [12.0]


def test_vjp_is_another_name_and_class_methods_work():
    class Named(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    class Classy(Function):
        factor = 3

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, g):
            return g * cls.factor

    x = leaf(1.0)
    Named.apply(x).backward()
    Classy.apply(x).backward()
    assert x.grad.tolist() == [5.0]


def test_apply_from_an_instance():
    x = leaf(1.0)
    Square().apply(x).backward()
    assert x.grad.tolist() == [2.0]


def test_nothing_leaks():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = Square.apply(x * 1)
        references = [weakref.ref(y), weakref.ref(y.grad_fn)]
        y.sum().backward()
        del y
        assert [each() for each in references] == [None, None]

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                result = x.exp()
                ctx.save_for_backward(result)
                return result

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0]

        y = Exp.apply(x)
        reference = weakref.ref(y)
        del y
        assert reference() is None
    finally:
        gc.enable()


def test_a_leak_through_ctx_is_seen():
    class Leaky(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.result = x * 2
            return ctx.result

        @staticmethod
        def backward(ctx, g):
            return g * 2

    gc.collect()
    gc.disable()
    try:
        y = Leaky.apply(leaf(1.0))
        reference = weakref.ref(y)
        del y
        assert reference() is not None  # y -> grad_fn -> ctx -> y: only the garbage collector frees it
        gc.collect()
        assert reference() is None
    finally:
        gc.enable()


def test_in_place_in_forward_without_mark():
    class Quiet(Function):
        @staticmethod
        def forward(ctx, x):
            x.data.add_(1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    Quiet.apply(x).backward()
    assert x.grad.tolist() == [2.0] and x.tolist() == [2.0]


def test_none_and_missing_gradient_paths():
    class Drop(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, None

    a, b = leaf(1.0), leaf(1.0)
    (Drop.apply(a, b * 2) * 3).backward()
    assert a.grad.tolist() == [3.0] and b.grad is None


def test_keyword_arguments():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor=2.0):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(1.0)
    Scale.apply(x, factor=3.0).backward()
    Scale.apply(x=x).backward()
    assert x.grad.tolist() == [5.0]
    with pytest.raises(TypeError, match="unexpected"):
        Scale.apply(x, size=3.0)


def test_a_backward_that_takes_its_gradients_as_one_list():
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, gradients):
            first, second = gradients
            gradients.clear()
            assert first is None
            return second * 3

    x = torch.ones(2, requires_grad=True)
    Boxed.apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_old_names_and_instances_warn():
    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_variables[0] * gradient

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Old()
    x = torch.tensor(3.0, requires_grad=True)
    y = Old.apply(x)
    assert len(y.grad_fn._raw_saved_tensors) == 1
    with pytest.warns(DeprecationWarning, match="saved_variables"):
        y.backward()
    assert x.grad.item() == 6


def test_instances_of_functions_in_a_compiled_program():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, gradient):
            return 3 * ctx.saved_tensors[0] ** 2 * gradient

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    torch.compile(lambda value: Cube().apply(value), fullgraph=True)(x).sum().backward()
    assert x.grad.tolist() == [12.0, 27.0]
