"""Rules of autograd that PyTorch's own tests look at: what backward frees, hooks on saved tensors, inference tensors, layouts of gradients."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.autograd import forward_ad
from rushlight.utils.checkpoint import checkpoint


def ones(*shape, **options):
    return torch.ones(*shape, requires_grad=True, **options)


# -- what backward frees -----------------------------------------------------------------------------------------


def test_nodes_that_save_nothing_can_run_again():
    a, b = ones(3), ones(3)
    c = (a + b).transpose(0, 0).sum()
    c.backward()
    c.backward()
    assert a.grad.tolist() == [2.0, 2.0, 2.0]


def test_pieces_of_unbind_one_after_another():
    x = ones(3, 2)
    for piece in x.unbind():
        piece.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize("f", [lambda x: x * 2, lambda x: x.exp(), lambda x: x @ torch.ones(3), lambda x: x.pow(2)])
def test_nodes_that_save_tensors_can_not(f):
    y = f(ones(3)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


# -- hooks on saved tensors --------------------------------------------------------------------------------------


def test_saved_tensors_hooks_in_double_backward():
    with torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
        a = ones(5)
        (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
        g.sum().backward()
    assert a.grad.tolist() == [48.0] * 5


def test_saved_tensors_hooks_through_numpy():
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach().numpy(), torch.from_numpy):
        a = ones(5)
        (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
        g.sum().backward()
    assert a.grad.tolist() == [6.0] * 5


def test_a_pack_hook_must_not_write_to_its_input():
    a = ones(5)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x)
    with hooks, pytest.raises(RuntimeError, match="modifying its input in place"):
        a.clone() * a.clone()


def test_hooks_on_one_saved_tensor():
    a = ones(2)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: 2 * x)
    y.sum().backward()
    assert a.grad.tolist() == [5.0, 5.0]  # 4 as the first factor, 1 as the second
    with pytest.raises(RuntimeError, match="already been set"):
        z = a * a
        z.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)
        z.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)


# -- modes -------------------------------------------------------------------------------------------------------


def test_generators_under_no_grad_get_what_is_thrown():
    seen = []

    @torch.no_grad()
    def generator():
        try:
            yield torch.is_grad_enabled()
        except ValueError:
            yield f"caught {torch.is_grad_enabled()}"
        finally:
            seen.append(torch.is_grad_enabled())

    g = generator()
    assert next(g) is False
    assert g.throw(ValueError) == "caught False"
    assert torch.is_grad_enabled()
    g.close()
    assert seen == [False]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_recomputes_under_the_same_autocast(reentrant):
    x = torch.randn(2, 2, requires_grad=True)
    seen = []

    def f(a):
        y = torch.mm(a, a)
        seen.append(y.dtype)
        return y

    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = checkpoint(f, x, use_reentrant=reentrant)
    z.sum().backward()
    assert seen == [torch.bfloat16] * (2 if reentrant else 1)  # the other form stops once it has every saved tensor
    assert x.grad is not None


def test_inference_tensors():
    with torch.inference_mode():
        c = torch.ones(1, 2, 3)
        q = torch.ones(2, requires_grad=True)
        assert q.requires_grad and not q.view(-1).requires_grad
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        c.transpose_(0, 1)
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        c.mul(ones(1, 2, 3))
    with pytest.raises(RuntimeError, match="do not track version"):
        c._version
    assert not c.view(-1).requires_grad
    assert torch.ones(1, 2, 3).add_(c).sum() == 12
    a = ones(2) + 2
    with torch.inference_mode():
        v = a.view(-1)
    assert v.requires_grad


# -- in-place ops ------------------------------------------------------------------------------------------------


IN_PLACE = [
    F.selu_, torch.celu_, lambda t: F.elu(t, inplace=True), lambda t: F.hardswish(t, inplace=True), lambda t: F.silu(t, inplace=True),
    lambda t: F.mish(t, inplace=True), lambda t: F.leaky_relu(t, 0.1, inplace=True), lambda t: F.relu6(t, inplace=True),
    lambda t: F.hardsigmoid(t, inplace=True), lambda t: F.softsign(t).mul_(2),
]  # fmt: skip


@pytest.mark.parametrize("f", IN_PLACE)
def test_gradients_of_activations_in_place(f):
    x = torch.tensor([-1.5, 0.25, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: f(t.clone()), (x,))


def test_an_operand_that_is_the_target_is_saved_with_its_old_value():
    x = ones(3)
    y = x * 2
    y.mul_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = x * 2
    y.add_(y)
    y.sum().backward()
    assert x.grad.tolist() == [4.0] * 3


# -- custom Functions --------------------------------------------------------------------------------------------


class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


def test_views_made_by_functions():
    with torch.no_grad():
        assert View.apply(ones(2)).requires_grad
    view = View.apply(torch.rand(1, 2))
    with pytest.raises(RuntimeError, match="view"):
        view += ones(1)


def test_deep_reentrant_backward():
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x >= 0:
                with torch.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return g

    v = torch.tensor(2000.0, requires_grad=True)
    Deep.apply(v).sum().backward()
    assert v.grad == 1


def test_an_error_in_a_deep_backward_arrives():
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if not ctx.level:
                raise KeyError("the innermost")
            with torch.enable_grad():
                Deep.apply(ones(1), ctx.level - 1).sum().backward()
            return g, None

    with pytest.raises(KeyError, match="innermost"):
        Deep.apply(ones(1), 60).sum().backward()


def test_queue_callback():
    calls = []
    engine = torch.autograd.Variable._execution_engine

    class Queues(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            engine.queue_callback(lambda: calls.append(x.grad is not None))
            return g

    x = ones(1)
    Queues.apply(x).sum().backward()
    assert calls == [True]
    with pytest.raises(RuntimeError, match="during backward"):
        engine.queue_callback(print)


# -- layouts of gradients ----------------------------------------------------------------------------------------


def test_a_gradient_has_the_strides_of_its_leaf():
    b = torch.empty_strided((2, 3), (1, 2)).uniform_().requires_grad_()
    (b * 2).sum().backward()
    assert b.grad.stride() == (1, 2)
    c = torch.zeros(2, 6)[:, ::2].requires_grad_()
    (c * 2).sum().backward()
    assert c.grad.stride() == (3, 1)
    d = torch.ones(2, 3).requires_grad_()
    (d.t() * torch.ones(3, 2)).sum().backward()
    assert d.grad.stride() == (3, 1)
    e = torch.ones(3).expand(2, 3).requires_grad_()
    e.sum().backward()
    assert e.grad.stride() == (3, 1)


# -- gradcheck ---------------------------------------------------------------------------------------------------


class WrongTangent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t * 3


class OnlyForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def jvp(ctx, t):
        return t.clone()


def test_gradcheck_of_forward_mode():
    x = torch.rand(2, dtype=torch.double, requires_grad=True)
    gradcheck = torch.autograd.gradcheck
    assert gradcheck(torch.sin, (x,), check_forward_ad=True)
    for fast in (False, True):
        with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
            gradcheck(WrongTangent.apply, (x,), check_forward_ad=True, fast_mode=fast)
    assert not gradcheck(WrongTangent.apply, (x,), check_forward_ad=True, raise_exception=False)
    options = {"check_backward_ad": False, "check_undefined_grad": False}
    assert gradcheck(OnlyForward.apply, (x,), check_forward_ad=True, **options)
    with pytest.raises(AssertionError, match="at least one"):
        gradcheck(torch.sin, (x,), **options)


def test_gradcheck_calls_the_function_with_grad():
    def f(x):
        y = x.clone()
        assert y.requires_grad
        y.register_hook(lambda g: g)
        return y

    assert torch.autograd.gradcheck(f, (ones(2, 2, dtype=torch.double),))


def test_fast_gradcheck_finds_a_wrong_gradient():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.rand(3, dtype=torch.double, requires_grad=True)
    z = torch.rand(3, dtype=torch.complex128, requires_grad=True)
    for fast in (False, True):
        assert torch.autograd.gradcheck(lambda x: x * x, (x,), fast_mode=fast)
        assert torch.autograd.gradcheck(lambda z: z * z.conj() + z, (z,), fast_mode=fast, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(lambda z: z * z, (z,), fast_mode=fast)
        for value in (x, z):
            with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
                torch.autograd.gradcheck(Wrong.apply, (value,), fast_mode=fast)


def test_batched_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    (found,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    assert found.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    with pytest.raises(RuntimeError, match="first dimension of each grad_output as the batch dimension"):
        torch.autograd.grad(x**2, x, torch.ones(2), is_grads_batched=True)


# -- forward mode ------------------------------------------------------------------------------------------------


def test_dual_tensors():
    with forward_ad.dual_level():
        primal, tangent = torch.randn(2), torch.randn(2)
        dual = forward_ad.make_dual(primal, tangent)
        assert forward_ad.unpack_dual(dual).tangent is tangent
        assert "tangent=" in str(dual)
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            forward_ad.make_dual(torch.randn(2), dual)


def test_strict_and_vectorize_exclude_each_other():
    with pytest.raises(RuntimeError, match="not supported together"):
        torch.autograd.functional.jacobian(lambda x: x * 2, torch.rand(2), strict=True, vectorize=True)


def test_complex_powers_of_negative_real_numbers() -> None:
    base = torch.tensor([-1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    exponent = torch.tensor([1 + 2j, 0.5 - 1j, 2j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(torch.pow, (base, exponent))
    assert torch.autograd.gradcheck(lambda power: torch.pow(-2.0, power), (exponent,))


# What PyTorch 2.13 computes in bfloat16 for the x and g of the test.
ROUNDED_ONCE = {
    "hardswish": [-0.28125, -0.0888671875, 0.027587890625, 1.6875, -0.6015625, 1.6875],
    "elu": [0.046875, -0.359375, 0.050537109375, 2.703125, -0.53125, 1.171875],
    "softplus": [0.0439453125, -0.28125, 0.03271484375, 1.6015625, -0.462890625, 1.109375],
    "sigmoid": [0.041259765625, -0.2216796875, 0.0211181640625, 0.65234375, -0.0595703125, 0.060546875],
    "tanh": [0.0108642578125, -0.34375, 0.0654296875, 2.359375, -0.044677734375, 0.0181884765625],
    "gelu": [-0.01708984375, 0.1650390625, 0.006439208984375, 2.109375, -0.58203125, 1.1953125],
    "selu": [0.08251953125, -0.62890625, 0.0888671875, 2.84375, -0.55859375, 1.234375],
}


@pytest.mark.parametrize("name", ROUNDED_ONCE)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_activations_in_half_precision_are_rounded_once(name, compiled):
    function = (lambda x: F.gelu(x, approximate="tanh")) if name == "gelu" else getattr(F, name)
    x = torch.tensor([-2.7, -1.3, -0.61, 0.37, 1.9, 2.83]).bfloat16().requires_grad_()
    g = torch.tensor([0.7, -1.31, 0.093, 2.7, -0.53, 1.17]).bfloat16()
    (found,) = torch.autograd.grad((torch.compile(function) if compiled else function)(x), x, g)
    assert found.dtype is torch.bfloat16 and found.tolist() == ROUNDED_ONCE[name]


def test_gradient_checks_refuse_modes_that_exclude_each_other() -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    for function, modes in (
        (check, {"check_backward_ad": False}),
        (check, {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}),
        (check, {"check_batched_forward_grad": True}),
        (twice, {"check_rev_over_rev": False}),
        (twice, {"check_rev_over_rev": False, "check_fwd_over_rev": True}),  # check_undefined_grad is on unless it is turned off
        (twice, {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False, "check_batched_grad": True}),
    ):
        with pytest.raises(AssertionError, match="to be True"):
            function(torch.sin, x, **modes)
    assert check(torch.sin, x, check_backward_ad=False, check_forward_ad=True)
    assert twice(torch.sin, x, check_rev_over_rev=False, check_fwd_over_rev=True, check_undefined_grad=False)


def test_gradcheck_passes_gradients_that_do_not_arrive():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if grad is None and refuse:
                raise RuntimeError("no gradient")
            return None if grad is None else grad * 2

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    refuse = False
    assert torch.autograd.gradcheck(Doubled.apply, (x,))
    refuse = True
    with pytest.warns(UserWarning, match="undefined gradient support"), pytest.raises(RuntimeError, match="undefined output grads"):
        torch.autograd.gradcheck(Doubled.apply, (x,))
    assert torch.autograd.gradcheck(Doubled.apply, (x,), check_undefined_grad=False)


def test_gradcheck_gives_every_differentiated_input_a_tangent():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def jvp(ctx, x_tangent, y_tangent):
            x, y = ctx.saved_tensors
            return x_tangent * y + x * y_tangent

    x, y = (torch.rand(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(Product.apply, (x, y), check_forward_ad=True, check_backward_ad=False)
