"""``func``: derivatives and vmap against recorded PyTorch results, and what composes with them."""

from __future__ import annotations

import json
import logging
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
from func_programs import BAD_CALLS, PROGRAMS, layers, network, real

import rushlight
from rushlight.compat import functorch
from rushlight.core.base import TensorBase
from rushlight.core.state import flags, state
from rushlight.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)
from rushlight.nn.modules.batchnorm import BatchNorm1d
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module
from rushlight.utils import trees

DATA = np.load(pathlib.Path(__file__).resolve().parent / "data" / "func.npz")
ERRORS = json.loads(DATA["errors"].tobytes())


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, (list, tuple)) else [value]


@pytest.fixture(autouse=True)
def nothing_is_left_on():
    """Whatever a test does, errors included, leaves no mode on."""
    before = flags.special, list(state.interceptors), state.transforms
    yield
    assert (flags.special, list(state.interceptors), state.transforms) == before


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_against_pytorch(name: str) -> None:
    found = leaves(PROGRAMS[name](rushlight))
    assert len(found) == sum(key.startswith(name + "/") for key in DATA.files)
    for index, leaf in enumerate(found):
        want = DATA[f"{name}/{index}"]
        assert leaf.detach().numpy().dtype == want.dtype
        np.testing.assert_allclose(leaf.detach().numpy(), want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls(name: str) -> None:
    with pytest.raises(Exception) as raised:
        BAD_CALLS[name](rushlight)
    assert ERRORS[name] in [kind.__name__ for kind in type(raised.value).__mro__]
    assert len(str(raised.value)) > 20


# -- vmap --------------------------------------------------------------------------------------------------------


def test_random_numbers() -> None:
    x = rushlight.ones(3, 4)
    rushlight.manual_seed(1)
    drawn = rushlight.rand(3, 4)
    rushlight.manual_seed(1)
    different = vmap(lambda a: a * rushlight.rand(4), randomness="different")(x)
    assert rushlight.equal(different, drawn)
    for function in (
        lambda a: a * rushlight.randn(4), rushlight.rand_like, rushlight.nn.functional.dropout, lambda a: (a * 1).normal_(),
        lambda a: rushlight.randint(0, 1000, (4,)), lambda a: a * rushlight.randperm(50)[:4], lambda a: (a * 1).uniform_(),
    ):  # fmt: skip
        same = vmap(function, randomness="same")(x)
        assert (same == same[0]).all()
        assert not (vmap(function, randomness="different")(rushlight.ones(3, 40) if function is rushlight.rand_like else x)[0]
                    == same[0, :1]).all()  # fmt: skip
    counts = vmap(lambda p: rushlight.multinomial(p, 2, replacement=True), randomness="different")(rushlight.ones(3, 4))
    assert counts.shape == (3, 2)
    coins = vmap(rushlight.bernoulli, randomness="different")(rushlight.full((2, 1000), 0.5))
    assert 400 < coins[0].sum() < 600 and not rushlight.equal(coins[0], coins[1])


def test_the_slow_road_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="rushlight.func.level"):
        vmap(lambda a: rushlight.histc(a, 3))(real(rushlight, 2, 5))
    assert "no batching rule for histc" in caplog.text


def test_an_empty_batch() -> None:
    assert vmap(lambda a: (a * 2).sum())(rushlight.ones(0, 3)).shape == (0,)
    assert vmap(lambda a: rushlight.histc(a, 4))(rushlight.ones(0, 3)).shape == (0, 4)


def test_views_and_memory() -> None:
    x = rushlight.arange(24.0).reshape(2, 3, 4)

    def look(a: Any) -> Any:
        assert a.shape == (3, 4) and a.stride() == (4, 1) and a.is_contiguous() and len(a) == 3 and not a.T.is_contiguous()
        assert [each.shape for each in a] == [(4,)] * 3
        b = a.clone()
        b.unsqueeze_(0).squeeze_(0).t_()
        return b, a.as_strided((2, 2), (1, 4), 1), a.T.reshape(-1), a.view(12)

    found = vmap(look)(x)
    for index, example in enumerate(x):
        want = example.T, example.clone().as_strided((2, 2), (1, 4), 1), example.T.reshape(-1), example.reshape(12)
        for got, each in zip(found, want):
            assert rushlight.equal(got[index], each)


def test_a_batched_tensor_prints() -> None:
    seen: list[str] = []
    vmap(lambda a: [seen.append(repr(a)), a][1])(rushlight.ones(2, 1))
    assert seen[0].startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1.]")


def test_threads_do_not_disturb_each_other() -> None:
    results: list[Any] = []

    def work() -> None:
        for _ in range(20):
            results.append(vmap(grad(lambda a: (a**3).sum()))(rushlight.ones(2, 2)).sum().item())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert (rushlight.ones(2) * 2).sum().item() == 4
    for thread in threads:
        thread.join()
    assert results == [12.0] * 60


def test_vmap_on_the_meta_device() -> None:
    found = vmap(lambda a, b: (a @ b).sum(0), in_dims=(0, None))(
        rushlight.empty(5, 2, 3, device="meta"), rushlight.empty(3, 4, device="meta")
    )
    assert found.is_meta and found.shape == (5, 4)


# -- derivatives -------------------------------------------------------------------------------------------------


def test_compositions_agree_with_loops() -> None:
    x = real(rushlight, 3, 2).double()
    function = lambda a: (a.sin() * a.flip(0)).cumsum(0)
    rows = rushlight.stack([jacrev(function)(each) for each in x])
    for found in (
        vmap(jacrev(function))(x),
        vmap(jacfwd(function))(x),
        jacrev(lambda x: vmap(function)(x).sum(0))(x).transpose(0, 1),
    ):
        assert rushlight.allclose(found, rows)
    second = rushlight.stack([hessian(lambda a: function(a).sum())(each) for each in x])
    assert rushlight.allclose(vmap(hessian(lambda a: function(a).sum()))(x), second)
    assert rushlight.allclose(vmap(jacrev(jacrev(lambda a: function(a).sum())))(x), second)


def test_a_deep_tower() -> None:
    f: Any = rushlight.sin
    for _ in range(5):
        f = grad(f)
    points = rushlight.linspace(-1, 1, 7, dtype=rushlight.float64)
    assert rushlight.allclose(vmap(f)(points), points.cos())
    assert rushlight.allclose(vmap(lambda x: jvp(f, (x,), (rushlight.ones_like(x),))[1])(points), -points.sin())


def test_gradients_do_not_leak() -> None:
    parameters = {name: each.requires_grad_() for name, each in layers(rushlight).items()}
    x = real(rushlight, 5, 3)
    found = grad(lambda p: network(rushlight, p, x).square().sum())(parameters)
    vmap(grad(lambda x: network(rushlight, parameters, x).sum()))(x)
    assert all(each.grad is None for each in parameters.values())
    assert all(each.requires_grad for each in found.values())
    with rushlight.no_grad():
        found = grad(lambda p: network(rushlight, p, x).square().sum())(parameters)
    assert not any(each.requires_grad for each in found.values())


def test_values_of_a_vjp_keep_only_outer_history() -> None:
    x = real(rushlight, 3)
    value, pull = vjp(rushlight.exp, x)
    assert not value.requires_grad and not pull(x)[0].requires_grad
    weight = real(rushlight, 3, seed=1).requires_grad_()
    value, pull = vjp(lambda x: x * weight, x)
    assert value.requires_grad and pull(x)[0].requires_grad
    value.sum().backward()
    assert rushlight.equal(weight.grad, x) and x.grad is None


def test_a_derivative_of_something_written_in_place() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y[0].mul_(x[1])
        return y.sum()

    x = real(rushlight, 3, 2)
    want = rushlight.ones(3, 2) * 2
    want[0], want[1] = 2 * x[1], 2 + 2 * x[0]
    assert rushlight.allclose(grad(function)(x), want)
    assert rushlight.allclose(vmap(grad(function))(rushlight.stack([x, x * 2]))[1], grad(function)(x * 2))


def test_gradients_of_ops_with_a_parameter_called_result() -> None:
    """``result`` also means an op's own output to gradient rules: the parameter comes first."""
    x = real(rushlight, 1, 2, 4, 4).double()
    pooled = lambda x: rushlight.nn.functional.max_pool2d(x, 2)
    found = grad(lambda x: grad(lambda x: (pooled(x) ** 3).sum())(x).sum())(x)
    assert rushlight.allclose(found, 6 * x * (found != 0)) and (found != 0).sum() == 8
    softmax = lambda x: x.softmax(0)[0]
    third, point, step = jacrev(hessian(softmax)), x[0, 0, 0], 1e-5
    shift = rushlight.eye(4, dtype=rushlight.float64)[1] * step
    difference = (hessian(softmax)(point + shift) - hessian(softmax)(point - shift)) / (2 * step)
    assert rushlight.allclose(third(point)[..., 1], difference, atol=1e-8)


def test_functions_marked_once_differentiable_stay_so() -> None:
    class Square(rushlight.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        @rushlight.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    assert rushlight.equal(jacrev(Square.apply)(rushlight.ones(2)), 2 * rushlight.eye(2))
    with pytest.raises(RuntimeError, match="once_differentiable"):
        jacrev(jacrev(lambda x: Square.apply(x) ** 2))(rushlight.ones(2))


def test_no_dual_tensor_outlives_its_level() -> None:
    dual = rushlight.autograd.forward_ad
    with pytest.raises(ZeroDivisionError), dual.dual_level():
        a = dual.make_dual(rushlight.ones(2), rushlight.ones(2))
        _ = 1 / 0
    assert dual.unpack_dual(a).tangent is None
    with dual.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode"):
        dual.enter_dual_level()


# -- modules -----------------------------------------------------------------------------------------------------


class Tied(Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Linear(2, 2)
        self.same = self.layer.weight
        self.register_buffer("count", rushlight.zeros(1))

    def forward(self, x: Any) -> Any:
        self.count.add_(1)
        return self.layer(x) @ self.same + self.count


def test_functional_call() -> None:
    module, x = Tied(), rushlight.ones(2)
    weight, bias, count = rushlight.eye(2) * 3, rushlight.zeros(2), rushlight.zeros(1)
    given = {"layer.weight": weight, "layer.bias": bias}
    assert functional_call(module, (given, {"count": count}), x).tolist() == [10.0, 10.0]
    assert count.item() == 1 and module.count.item() == 0 and not rushlight.equal(module.same, weight)
    untied = functional_call(module, {**given, "same": rushlight.eye(2)}, (x,), tie_weights=False)
    assert untied.tolist() == [4.0, 4.0] and module.count.item() == 1
    with pytest.raises(ValueError, match="which are tied"):
        functional_call(module, {**given, "same": rushlight.eye(2)}, x)
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(module, (given, given), x)
    with pytest.raises(ValueError, match="dictionaries"):
        functional_call(module, [3], x)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'count'"):
        functional_call(module, given, x, strict=True)
    gradients = grad(lambda p: functional_call(module, p, x).sum())(dict(module.named_parameters()))
    assert gradients["same"].shape == (2, 2) and module.layer.weight.grad is None


def test_an_ensemble_of_modules() -> None:
    models = [Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    x = real(rushlight, 5, 3)
    found = vmap(lambda p, b, x: functional_call(models[0], (p, b), x), in_dims=(0, 0, None))(parameters, buffers, x)
    assert rushlight.allclose(found, rushlight.stack([model(x) for model in models]))
    assert parameters["weight"].requires_grad and parameters["weight"].is_leaf
    for wrong, message in (
        ([], "at least one"), ([Linear(3, 2), Linear(3, 2).eval()], "same training/eval"), ([Linear(3, 2), Tied()], "same class"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            stack_module_state(wrong)


def test_batch_norm_under_vmap() -> None:
    module, x = BatchNorm1d(3), real(rushlight, 2, 4, 3)
    with pytest.raises(RuntimeError, match="vmap"):
        vmap(module)(x)
    found = vmap(replace_all_batch_norm_modules_(module))(x)
    assert rushlight.allclose(found[0], module(x[0]), atol=1e-6)


# -- trees -------------------------------------------------------------------------------------------------------


def test_trees() -> None:
    value = {"a": (1, [2, None]), "b": trees.flatten([3])[1]}
    found, structure = trees.flatten(value)
    assert len(found) == 4 and structure.unflatten(found) == value and structure.leaf_count == 4
    assert trees.spread({"b": 0, "a": (1, 2)}, structure) == [1, 2, 2, 0]
    assert trees.spread((0, 0), structure) is None
    assert trees.transform(lambda x: x, rushlight.ones(2).sort()).values.tolist() == [1.0, 1.0]
    assert repr(structure) == "{'a': (*, [*, *]), 'b': *}"
    assert isinstance(rushlight.ones(1), TensorBase)


@pytest.mark.parametrize(
    "name",
    "svd pinv lu_factor_ex det eigvalsh inv qr cholesky lu slogdet eigh eig matrix_rank svdvals matrix_exp inv_ex cholesky_ex".split(),
)
def test_examples_that_are_no_matrices_are_refused(name):
    with pytest.raises(RuntimeError, match="dimensions"):
        rushlight.func.vmap(getattr(rushlight.linalg, name))(rushlight.ones(3, 3))


def test_systems_of_vectors_are_refused_for_examples_too():
    a, b = rushlight.eye(3).expand(2, 3, 3), rushlight.arange(6.0).reshape(2, 3)
    assert rushlight.equal(rushlight.func.vmap(rushlight.linalg.solve)(a, b), b)
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        rushlight.func.vmap(rushlight.linalg.solve)(b, b)


@pytest.mark.parametrize("batched", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1)])
def test_norms_whose_weights_alone_are_batched(batched):
    x, weight, bias = (rushlight.randn(3, *shape) if each else rushlight.randn(shape) for each, shape in zip(batched, ((2, 4), (4,), (4,))))
    dims = tuple(0 if each else None for each in batched)

    def pick(value, each, at):
        return value[at] if each else value

    def norm(x, weight, bias):
        return rushlight.nn.functional.layer_norm(x, (4,), weight, bias)

    rows = [norm(*(pick(value, each, at) for value, each in zip((x, weight, bias), batched))) for at in range(3)]
    assert rushlight.allclose(rushlight.func.vmap(norm, dims)(x, weight, bias), rushlight.stack(rows), atol=1e-6)


@pytest.mark.parametrize("transform", [rushlight.func.grad, rushlight.func.jacrev, rushlight.func.hessian])
def test_hooks_of_saved_tensors_are_refused(transform):
    hooks = rushlight.autograd.graph.saved_tensors_hooks(lambda each: each, lambda each: each)

    def hooked(x):
        with hooks:
            return x.sin().sum()

    x = rushlight.ones(3)
    with pytest.raises(RuntimeError, match="saved tensor hooks"):
        transform(hooked)(x)
    with hooks, pytest.raises(RuntimeError, match="saved tensor hooks"):
        transform(lambda x: x.sin().sum())(x)
    hooked(x.requires_grad_()).backward()  # and are as they were outside
    with hooks, pytest.raises(RuntimeError, match="not now"), rushlight.autograd.graph.disable_saved_tensors_hooks("not now"):
        pass


def test_functions_that_give_nothing():
    x = rushlight.ones(2)
    for call in (
        lambda: rushlight.func.vjp(lambda x: (), x),
        lambda: rushlight.func.jacrev(lambda x: None)(x),
        lambda: rushlight.func.jvp(lambda x: (), (x,), (x,)),
    ):
        with pytest.raises(RuntimeError, match="Expected f to be a function that has non-empty output"):
            call()
    with pytest.raises(RuntimeError, match="Expected primals to only contain Tensors, got <class 'float'>"):
        rushlight.func.jvp(rushlight.sin, (1.0,), (x,))


def test_requires_grad_is_refused_inside_of_transforms():
    x = rushlight.arange(3.0)
    for transformed in (
        lambda: rushlight.func.grad(lambda x: rushlight.autograd.functional.jvp(rushlight.sin, x, x)[1].sum())(x),
        lambda: rushlight.func.grad(lambda x: rushlight.autograd.functional.jacobian(rushlight.sin, x).sum())(x),
        lambda: rushlight.func.grad(lambda x: x.detach().requires_grad_().sum())(x),
        lambda: rushlight.func.jvp(lambda x: x.clone().requires_grad_(), (x,), (x,)),
        lambda: rushlight.func.vmap(lambda x: rushlight.autograd.functional.vjp(rushlight.sin, x, x)[1])(x),
    ):
        with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\)"):
            transformed()

    def with_a_leaf(x):
        y = rushlight.ones(3)
        y.requires_grad = True  # a variable of its own, of which the transform knows nothing
        return (x * y).sum() * rushlight.nn.Parameter(rushlight.ones(())).detach()

    assert rushlight.func.grad(with_a_leaf)(x).tolist() == [1, 1, 1]


def test_jvp_names_what_is_no_tensor():
    x = rushlight.arange(3.0)
    with pytest.raises(RuntimeError, match="Expected tangents to only contain Tensors"):
        rushlight.func.jvp(rushlight.sin, (x,), (1,))
    with pytest.raises(RuntimeError, match=r"expected f\(\*primals\) to return only tensors"):
        rushlight.func.jvp(lambda x: (x, 1), (x,), (x,))


@pytest.mark.parametrize("name", ["grad", "vmap", "jacrev", "jacfwd", "hessian", "grad_and_value"])
def test_old_names_of_transforms_warn(name):
    with pytest.warns(FutureWarning, match=f"`functorch.{name}` is deprecated"):
        getattr(functorch, name)(rushlight.sin)
