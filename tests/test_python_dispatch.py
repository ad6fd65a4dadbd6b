"""``__torch_dispatch__``: modes and subclasses that see ``aten`` operators, below autograd.  What is expected is what PyTorch 2.13 shows."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.compat.mode_utils import no_dispatch
from rushlight.compat.python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from rushlight.compat.pytree import tree_map
from rushlight.compat.subclasses import FakeTensor, FakeTensorMode
from rushlight.core.overrides import disabled
from rushlight.core.state import flags
from rushlight.nn import functional as F

aten = torch.ops.aten


class Log(TorchDispatchMode):
    """Notes operators with the arguments that are no tensors."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        def shown(value):
            if isinstance(value, torch.Tensor):
                return "T"
            return [shown(each) for each in value] if isinstance(value, (list, tuple)) else value

        self.seen.append((str(func), [shown(each) for each in args], {k: shown(v) for k, v in (kwargs or {}).items()}))
        return func(*args, **(kwargs or {}))


x = torch.arange(24.0).reshape(3, 8) / 10 - 1
w, b, image, batch = torch.ones(4, 8), torch.ones(4), torch.ones(1, 3, 6, 6), torch.ones(2, 3, 8)
index = torch.tensor([0, 1])
SEEN = {
    "add": (lambda: x + 1, [("add.Tensor", ["T", 1])]),
    "rsub": (lambda: 1 - x, [("rsub.Scalar", ["T", 1])]),
    "pow": (lambda: x**2, [("pow.Tensor_Scalar", ["T", 2])]),
    "gt": (lambda: x > 0, [("gt.Scalar", ["T", 0])]),
    "linear": (lambda: F.linear(x, w, b), [("t.default", ["T"]), ("addmm.default", ["T", "T", "T"])]),
    "linear without bias": (lambda: F.linear(x, w), [("t.default", ["T"]), ("mm.default", ["T", "T"])]),
    "linear of three dimensions": (
        lambda: F.linear(batch, w, b),
        [("view.default", ["T", [6, 8]]), ("t.default", ["T"]), ("addmm.default", ["T", "T", "T"]), ("view.default", ["T", [2, 3, 4]])],
    ),
    "matmul": (lambda: x @ w.t(), [("t.default", ["T"]), ("mm.default", ["T", "T"])]),
    "relu": (lambda: F.relu(x), [("relu.default", ["T"])]),
    "gelu": (lambda: F.gelu(x), [("gelu.default", ["T"])]),
    "softmax": (lambda: F.softmax(x, -1), [("_softmax.default", ["T", -1, False])]),
    "layer_norm": (lambda: F.layer_norm(x, (8,)), [("native_layer_norm.default", ["T", [8], None, None, 1e-05])]),
    "cross_entropy": (
        lambda: F.cross_entropy(x[:2], index),
        [("slice.Tensor", ["T", 0, 0, 2]), ("_log_softmax.default", ["T", 1, False]), ("nll_loss_forward.default", ["T", "T", None, 1, -100])],
    ),
    "conv2d": (
        lambda: F.conv2d(image, torch.ones(2, 3, 3, 3)),
        [("ones.default", [[2, 3, 3, 3]]), ("convolution.default", ["T", "T", None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1])],
    ),
    "embedding": (lambda: F.embedding(index, w), [("embedding.default", ["T", "T"])]),
    "sum": (lambda: x.sum(1), [("sum.dim_IntList", ["T", [1]])]),
    "mean": (lambda: x.mean(-1, keepdim=True), [("mean.dim", ["T", [-1], True])]),
    "views": (
        lambda: (x.view(-1), x.reshape(-1), x.transpose(0, 1), x.permute(1, 0), x[0], x[:, 1:3]),
        [("view.default", ["T", [-1]]), ("view.default", ["T", [-1]]), ("transpose.int", ["T", 0, 1]), ("permute.default", ["T", [1, 0]]),
         ("select.int", ["T", 0, 0]), ("slice.Tensor", ["T", 1, 1, 3])],
    ),
    "index": (lambda: x[index], [("index.Tensor", ["T", ["T"]])]),
    "cat, stack, split": (
        lambda: (torch.cat([x, x]), torch.stack([x, x]), *x.split(2)),
        [("cat.default", [["T", "T"]]), ("stack.default", [["T", "T"]]), ("split.Tensor", ["T", 2])],
    ),
    "in place": (lambda: x.clone().add_(1), [("clone.default", ["T"]), ("add_.Tensor", ["T", 1])]),
    "max": (lambda: x.max(1), [("max.dim", ["T", 1])]),
    "tanh, silu": (lambda: (x.tanh(), F.silu(x)), [("tanh.default", ["T"]), ("silu.default", ["T"])]),
    "mse": (lambda: F.mse_loss(x, x), [("mse_loss.default", ["T", "T"])]),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_what_a_mode_sees(name):
    run, expected = SEEN[name]
    plain = run()
    with Log() as log:
        seen = run()
    assert [(op.removeprefix("aten."), args) for op, args, _ in log.seen] == expected
    for a, c in zip(plain if isinstance(plain, tuple) else (plain,), seen if isinstance(seen, tuple) else (seen,)):
        assert torch.allclose(a, c)


def test_keyword_arguments_are_those_given():
    with Log() as log:
        x.to(torch.float64)
        torch.zeros(2, dtype=torch.int64)
    assert log.seen == [("aten._to_copy.default", ["T"], {"dtype": torch.float64}), ("aten.zeros.default", [[2]], {"dtype": torch.int64})]


def test_backward_is_seen_and_gradients_are_the_same():
    def run():
        leaves = [each.clone().requires_grad_() for each in (x, w, b)]
        F.layer_norm(F.gelu(F.linear(*leaves)).tanh(), (4,)).square().sum().backward()
        return [each.grad for each in leaves]

    expected = run()
    with Log() as log:
        found = run()
    assert [name for name, _, _ in log.seen].count("aten.mm.default") == 2 and "aten.addmm.default" in [name for name, _, _ in log.seen]
    assert all(torch.allclose(a, c, atol=1e-6) for a, c in zip(found, expected))


def test_in_place_and_views_are_recorded_for_backward():
    with Log():
        leaf = torch.ones(4, requires_grad=True)
        y = leaf * 2
        y[1:].mul_(3)
        y.exp_()
        y.sum().backward()
    y = torch.tensor([2.0, 6, 6, 6]).exp() * torch.tensor([2.0, 6, 6, 6])
    assert torch.allclose(leaf.grad, y)


def test_modes_nest_replace_results_and_go_off():
    class Zero(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return torch.zeros_like(result) if func is aten.mul.Tensor else result

    before = flags.special
    with Log() as log, Zero() as inner:
        assert _get_current_dispatch_mode() is inner and _get_current_dispatch_mode_stack() == [log, inner]
        assert (x * 2).abs().sum() == 0
        with _disable_current_modes():
            assert (x * 2).abs().sum() != 0
        with no_dispatch():
            torch.neg(x)
    assert [name for name, _, _ in log.seen] == [
        f"aten.{name}" for name in ("mul.Tensor", "zeros_like.default", "abs.default", "sum.default", "eq.Scalar")
    ]
    with BaseTorchDispatchMode():
        assert torch.equal(x + 1, x.add(1))
    assert flags.special == before and _get_current_dispatch_mode() is None


class Wrapper(torch.Tensor):
    """Holds another tensor, on which its operators are run."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad
        )

    def __init__(self, inner):
        self.inner = inner.detach()

    __torch_function__ = disabled

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def bare(value):
            return value.inner if isinstance(value, cls) else value

        result = func(*tree_map(bare, args), **tree_map(bare, kwargs or {}))
        wrapped = tree_map(lambda each: cls(each) if isinstance(each, torch.Tensor) else each, result)
        return return_and_correct_aliasing(func, args, kwargs, wrapped)

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(parts, context, size, stride):
        return Wrapper(parts["inner"])


def test_wrapper_subclasses():
    a = Wrapper(x)
    for function in (
        lambda t: t + 1, lambda t: F.linear(t, w, b), lambda t: t[0], lambda t: torch.cat([t, t]), lambda t: F.layer_norm(t, (8,)),
        lambda t: t.softmax(-1), lambda t: t.view(-1), lambda t: t.max(1).values, lambda t: t @ t.t(), lambda t: t.mean(),
    ):  # fmt: skip
        made = function(a)
        assert type(made) is Wrapper and made.shape == made.inner.shape and torch.allclose(made.inner, function(x))
    c = Wrapper(x.clone())
    assert c.add_(1) is c and torch.equal(c.inner, x + 1)
    assert a.sum().item() == x.sum().item()


def test_backward_through_wrapper_subclasses():
    plain = x.clone().requires_grad_()
    a = Wrapper(plain)
    assert a.requires_grad and a.is_leaf
    for leaf in (a, plain):
        F.linear(leaf, w, b).relu().tanh().sum().backward()
    assert type(a.grad) is Wrapper and torch.allclose(a.grad.inner, plain.grad)


def test_helpers():
    a = Wrapper(x)
    assert is_traceable_wrapper_subclass(a) and not is_traceable_wrapper_subclass(x)
    assert torch.equal(transform_subclass(a, lambda name, t: t * 2).inner, x * 2)
    with pytest.raises(RuntimeError, match="no __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))


def test_a_subclass_that_declines():
    class Declines(torch.Tensor):
        __torch_function__ = disabled

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch._ops.aten.add.Tensor'"):
        torch.add(x.as_subclass(Declines), 1)


def test_compiled_functions_run_eagerly_under_a_mode():
    compiled = torch.compile(lambda t: t * 2 + 1)
    compiled(x)
    with Log() as log:
        compiled(x)
    assert [name for name, _, _ in log.seen] == ["aten.mul.Tensor", "aten.add.Tensor"]


def test_fake_tensors():
    with FakeTensorMode() as mode:
        made = torch.nn.functional.linear(torch.empty(2, 3), torch.empty(4, 3))
        assert isinstance(made, FakeTensor) and made.shape == (2, 4) and made.device.type == "cpu"
        assert isinstance(mode.from_tensor(x), FakeTensor) and mode.from_tensor(x).shape == x.shape
    assert not isinstance(x, FakeTensor) and not isinstance(torch.empty(2), FakeTensor)
    parameter = mode.from_tensor(torch.nn.Parameter(x))
    assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad
