"""The back-ends of compile: aot_eager and onnxrt give eager's values, gradients and effects, and check=True finds where one does not."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
import test_functions_composed as composed
import test_functions_in_eager as kinds
from models import GPT, Bags, ResNet, Tagger, UNet, ViT

import rushlight as torch
from rushlight import compiler, nn
from rushlight.backends import onnxrt
from rushlight.backends.registry import find
from rushlight.core.base import TensorBase
from rushlight.nn import functional as F

BACKENDS = ["aot_eager", "native", "onnxrt"]
fallbacks = compiler.counters["aot_fallback"]


@pytest.fixture(autouse=True)
def quiet():
    """Cuts of graphs are warned of once in a process: nothing here depends on which test comes first."""
    fallbacks.clear()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="onnxrt:")
        yield
    assert torch.is_grad_enabled()


def numbers(*size: int, seed: int = 0) -> Any:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float32).requires_grad_()


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return [value] if isinstance(value, TensorBase) else []


def outcome(function: Any, leaves: list[Any], order: int, used: Any = None) -> Any:
    """Outputs, the inputs afterwards, and gradients (of gradients); or the type of the error."""
    torch.manual_seed(0)
    leaves = [each.detach().clone().requires_grad_(each.requires_grad) for each in leaves]
    given = [each.clone() if each.requires_grad else each for each in leaves]  # may be written to
    try:
        result = function(*given)
        outputs = tensors_in(result)
        roots = [each for number, each in enumerate(outputs) if each.requires_grad and (used is None or number in used)]
        targets = [each for each in leaves if each.requires_grad]
        found: list[Any] = []
        for _ in range(order):
            if roots and targets:
                weights = [torch.linspace(0.5, 2, each.numel()).to(each.dtype).reshape(each.shape) for each in roots]
                gradients = torch.autograd.grad(roots, targets, weights, create_graph=order > 1, allow_unused=True)
                found += gradients
                roots = [each * each for each in gradients if each is not None and each.requires_grad]
    except RuntimeError as error:
        return type(error), str(error).partition(":")[0]
    return result, given, found


def assert_same(expected: Any, got: Any, tolerance: float = 1e-6) -> None:
    if isinstance(expected, (list, tuple)):
        assert type(expected) is type(got) and len(expected) == len(got)
        for each in zip(expected, got):
            assert_same(*each, tolerance)
    elif isinstance(expected, TensorBase):
        assert got.dtype == expected.dtype and got.shape == expected.shape and got.requires_grad == expected.requires_grad
        wide = [each.detach().to(torch.complex128 if each.is_complex() else torch.float64).numpy() for each in (got, expected)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
    else:
        assert expected == got


def compare(program: Any, leaves: list[Any], backend: str = "aot_eager", order: int = 1, used: Any = None, ahead: bool = True) -> None:
    """The first call is the program itself; the second and third are compiled."""
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        expected, got = outcome(program, leaves, order, used), outcome(compiled, leaves, order, used)
        assert_same(expected, got, 1e-6 if backend == "aot_eager" else 2e-5)
    assert not fallbacks if ahead else fallbacks, dict(fallbacks)


# -- writes, views, modes ----------------------------------------------------------------------------------------------


def mutates(x, y):
    x.mul_(y)
    return x.sum() + y


def mutates_a_view(x, y):
    x[0].mul_(2)
    x[:, 1:3].add_(y[:, 1:3])
    return (x * y).sum()


def writes_in_between(x, y):
    z = x * y
    z.add_(x).mul_(2).pow_(2)
    z = z * 1
    z[1] = 0
    z[:, 1].mul_(3)
    return z, z.clone().relu_()


def writes_without_recording(x, y):
    with torch.no_grad():
        y.add_(1)
    return x * y.detach()


def views(x, y):
    return x[0], x.t(), (x * y).view(-1)


def views_of_a_value(x, y):
    z = x * y
    return z, z[0], z.view(-1)


def parts_of_a_value(x, y):
    return torch.chunk(x * y, 3)


def inputs_as_they_are(x, y):
    return x, y * 2, x


def detached(x, y):
    return (x * y).detach(), x.detach(), x + y


def without_recording(x, y):
    with torch.no_grad():
        z = x * y
    return z + 1, x * z


def not_all_inputs(x, y):
    return x * 2, y.detach()


def not_differentiable(x, y):
    return x > 0, x.argmax(), x * y


def random(x, y):
    return F.dropout(x * y, 0.5), torch.rand(2) + x.sum(), torch.randn_like(y)


def sizes(x, y):
    return x * x.shape[0], x.shape[1], [y, (x + y, None)][1]


def composite(x, y):
    return F.layer_norm(F.gelu(x) @ y.t(), (3,)), F.cross_entropy(x, y.argmax(1)), F.batch_norm(x, None, None, training=True)


def strided(x, y):
    return x.t().contiguous().view(-1) * y.reshape(-1), x.t().unsqueeze(0).expand(2, -1, -1)


PROGRAMS = [
    mutates, mutates_a_view, writes_in_between, writes_without_recording, views, views_of_a_value, parts_of_a_value, inputs_as_they_are,
    detached, without_recording, not_all_inputs, not_differentiable, random, sizes, composite, strided,
]  # fmt: skip


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_programs(program: Any, backend: str, order: int) -> None:
    compare(program, [numbers(3, 4), numbers(3, 4, seed=1)], backend, order)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_programs_where_one_input_or_none_is_differentiated(program: Any, backend: str) -> None:
    compare(program, [numbers(3, 4), numbers(3, 4, seed=1).detach()], backend)
    compare(program, [numbers(3, 4).detach(), numbers(3, 4, seed=1).detach()], backend)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_programs_under_no_grad_and_inference_mode(program: Any) -> None:
    for mode in (torch.no_grad, torch.inference_mode):
        compiled = torch.compile(program, backend="aot_eager")
        for _ in range(3):
            made = []
            for function in (program, compiled):
                torch.manual_seed(0)
                with mode():
                    made.append(function(numbers(3, 4).detach(), numbers(3, 4, seed=1).detach()))
            assert_same(*made)


@pytest.mark.parametrize("used", [{0}, {1}, {2}, {0, 2}])
@pytest.mark.parametrize("order", [1, 2])
def test_outputs_that_no_gradient_comes_to(used: Any, order: int) -> None:
    """A gradient of zeros is not none: log has an infinite slope at 0, and None stays None."""

    def program(x, y, z):
        return torch.log(x * 0), x * y, z.sin()

    compare(program, [numbers(3), numbers(3, seed=1), numbers(3, seed=2)], order=order, used=used)


def test_outputs_share_memory_as_in_eager() -> None:
    compiled = torch.compile(views_of_a_value, backend="aot_eager")
    for _ in range(2):
        x, y = numbers(3, 4), numbers(3, 4, seed=1)
        whole, first, flat = compiled(x, y)
        assert first._base is whole and flat._base is whole
        first.mul_(10)
        np.testing.assert_array_equal(whole[0].detach().numpy(), first.detach().numpy())
        flat.sum().backward()
        np.testing.assert_allclose(x.grad[0].numpy(), 10 * y[0].detach().numpy())
        np.testing.assert_allclose(x.grad[1].numpy(), y[1].detach().numpy())
    compiled = torch.compile(views, backend="aot_eager")
    for _ in range(2):
        x = numbers(3, 4).detach()
        compiled(x, x * 2)[1].zero_()
        assert not x.any()


def test_inputs_that_share_memory_and_are_written_to() -> None:
    def program(x, y):
        x.mul_(2)
        return x + y

    compiled = torch.compile(program, backend="aot_eager")
    for shared in (False, True, False, True):
        made = []
        for function in (program, compiled):
            base = (numbers(4) * 1).detach().requires_grad_()
            x = base * 1
            made.append(function(x, x.view(-1) if shared else x.clone()).detach())
        assert_same(*made)


def test_values_kept_for_backward_are_guarded_against_writes() -> None:
    compiled = torch.compile(lambda x, y: (x * y).exp(), backend="aot_eager")
    for _ in range(2):
        x, y = numbers(3), numbers(3, seed=1)
        result = compiled(x, y)
        result.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.sum().backward()


def test_a_second_backward_needs_retain_graph() -> None:
    compiled = torch.compile(lambda x: x.exp() * x, backend="aot_eager")
    for _ in range(2):
        x = numbers(3)
        result = compiled(x).sum()
        result.backward(retain_graph=True)
        result.backward()
        with pytest.raises(RuntimeError, match="second time"):
            result.backward()


def test_one_node_for_a_graph_and_nothing_kept() -> None:
    compiled = torch.compile(lambda x, y: ((x * y).sin() @ y.t()).tanh(), backend="aot_eager")
    compiled(numbers(2, 3), numbers(2, 3, seed=1))
    x, y = numbers(2, 3), numbers(2, 3, seed=1)
    result = compiled(x, y)
    assert result.grad_fn.name() == "CompiledFunctionBackward"
    assert [each[0].name() for each in result.grad_fn.next_functions] == ["torch::autograd::AccumulateGrad"] * 2
    gone = weakref.ref(x)
    del x, result
    gc.collect()
    assert gone() is None


def test_hooks_and_accumulated_gradients() -> None:
    program = lambda x, y: x * y + x
    compiled = torch.compile(program, backend="aot_eager")
    found = []
    for function in (program, compiled, compiled):
        x, y, seen = numbers(3), numbers(3, seed=1), []
        x.register_hook(lambda g, seen=seen: seen.append(g.clone()) or g * 2)
        for _ in range(2):
            function(x, y).sum().backward()
        found.append((x.grad, y.grad, seen))
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])


def test_sizes_that_differ() -> None:
    program = lambda x, y: F.softmax(x @ y.t(), -1).mean(0, keepdim=True) * x.shape[0]
    for backend in BACKENDS:
        compiled = torch.compile(program, backend=backend, dynamic=True)
        for size in (3, 5, 3, 2):
            leaves = [numbers(size, 4), numbers(size, 4, seed=1)]
            assert_same(outcome(program, leaves, 1), outcome(compiled, leaves, 1), 2e-5)
    assert not fallbacks


def test_autocast_around_and_inside() -> None:
    def inside(x, y):
        with torch.autocast("cpu"):
            return x @ y.t()

    compare(inside, [numbers(3, 4), numbers(3, 4, seed=1)])
    program = lambda x, y: (x @ y.t()).float().exp()
    compiled = torch.compile(program, backend="aot_eager")
    for _ in range(3):
        made = []
        for function in (program, compiled):
            x, y = numbers(3, 4), numbers(3, 4, seed=1)
            with torch.autocast("cpu"):
                result = function(x, y)
            result.sum().backward()
            made.append((result, x.grad, y.grad))
        assert_same(*made)


# -- custom Functions -----------------------------------------------------------------------------------------------------


class Silent(torch.autograd.Function):
    """Gets None for outputs that no gradient reached."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.clone(), x * 2, x * 3

    @staticmethod
    def backward(ctx, *gradients):
        return sum(factor * g for factor, g in zip((1, 20, 300), gradients) if g is not None)


class Wanted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, number, b):
        return a + b + number

    @staticmethod
    def backward(ctx, g):
        return tuple(g * place if wanted else None for place, wanted in enumerate(ctx.needs_input_grad, 2))


class Smallest(torch.autograd.Function):
    """Values with a gradient, indices without."""

    @staticmethod
    def forward(ctx, x, count):
        values, indices = x.topk(count, largest=False)
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.size = x.shape
        return values, indices

    @staticmethod
    def backward(ctx, g, of_indices):
        (indices,) = ctx.saved_tensors
        return torch.zeros(ctx.size).scatter(-1, indices, g), None


FUNCTIONS = {
    "enum": (lambda x, y: kinds.Slope.apply(x, kinds.Side.LEFT, 0.25) * y, True),
    "number": (lambda x, y: kinds.Bound.apply(x, 0.1) * y, True),
    "default": (lambda x, y: kinds.Defaults.apply(x, 3) * y, True),
    "drawn": (lambda x, y: kinds.Random.apply(x, (3, 3)) * y, True),
    "intermediate": (lambda x, y: kinds.Softplus.apply(x * y), True),
    "output saved": (lambda x, y: kinds.Sigmoid.apply(x * y), True),
    "saved twice": (lambda x, y: kinds.SavedTwice.apply(x, y), True),
    "attributes": (lambda x, y: kinds.Attributes.apply(x) * y, True),
    "None saved": (lambda x, y: kinds.Optional.apply(x, y, None), True),
    "bias": (lambda x, y: kinds.Optional.apply(x, y, y[0]), True),
    "needs_input_grad": (lambda x, y: Wanted.apply(x, 3, y), True),
    "None for a tensor": (lambda x, y: kinds.NoneForATensor.apply(x, y) + 0 * x, True),
    "two outputs": (lambda x, y: kinds.TwoOutputs.apply(x * y), True),
    "same twice": (lambda x, y: kinds.SavedTwice.apply(x, x) * y, True),
    "silent": (lambda x, y: Silent.apply(x * y), True),
    "no tensors": (lambda x, y: kinds.Mixed.apply(x)[0] * y, True),
    "indices": (lambda x, y: Smallest.apply(x * y, 2), True),
    "input returned": (lambda x, y: kinds.Scaled.apply(x * 1, 0.5) * y, True),
    "written": (lambda x, y: kinds.Doubled.apply(x * y), True),
    "view returned": (lambda x, y: kinds.Diagonal.apply(x) * y[0], True),
    "class methods": (lambda x, y: composed.OfSubclass.apply(x) * y, True),
    "setup_context": (lambda x, y: composed.Split.apply(x, y), True),
    "slope too": (lambda x, y: composed.Cube.apply(x)[0] * y, True),
    "nested": (lambda x, y: composed.Nested.apply(x) * y, True),
    "straight through": (lambda x, y: composed.Rounded.apply(x, 2) * y, True),
    "reversed": (lambda x, y: composed.Reversed.apply(x, y.sum().detach()) * y, True),
    "named tuple": (lambda x, y: composed.Extremes.apply(x * y), True),
}  # fmt: skip


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_custom_functions(name: str, backend: str, order: int) -> None:
    program, ahead = FUNCTIONS[name]
    compare(program, [numbers(3, 3), numbers(3, 3, seed=1)], backend, order, ahead=ahead)


@pytest.mark.parametrize("used", [{0}, {1, 2}, {2}])
def test_a_function_that_asks_which_gradients_came(used: Any) -> None:
    compare(FUNCTIONS["silent"][0], [numbers(3, 3), numbers(3, 3, seed=1)], used=used)


def test_an_object_as_input_runs_as_eager_does() -> None:
    affine = kinds.Affine(2.0, torch.ones(3), torch.zeros(3))
    program = lambda x, y: kinds.OfDataclass.apply(x, affine, y)
    compiled = torch.compile(program, backend="aot_eager")
    for _ in range(2):
        assert_same(outcome(program, [numbers(3), numbers(3, seed=1)], 1), outcome(compiled, [numbers(3), numbers(3, seed=1)], 1))


# -- whole models -----------------------------------------------------------------------------------------------------------


MODELS: dict[str, Any] = {
    "resnet": (ResNet, lambda: (torch.randn(2, 3, 32, 32),)),
    "gpt": (GPT, lambda: (torch.randint(0, 50, (2, 8)),)),
    "vit": (ViT, lambda: (torch.randn(2, 3, 16, 16),)),
    "unet": (UNet, lambda: (torch.randn(2, 3, 16, 16),)),
    "tagger": (Tagger, lambda: (torch.randint(1, 20, (2, 5)), torch.tensor([5, 3]))),
    "bags": (Bags, lambda: (torch.randint(0, 30, (3, 4)),)),
}


def train(model: Any, batch: Any, backend: str | None) -> tuple[list[float], list[Any]]:
    torch.manual_seed(0)
    module = model()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    run = module if backend is None else torch.compile(module, backend=backend)
    losses = []
    for step in range(5):
        torch.manual_seed(step)
        result = run(*batch)
        loss = ((result[0] if isinstance(result, tuple) else result) - 0.3).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, list(module.buffers())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODELS)
def test_models_train_to_the_losses_of_eager(name: str, backend: str) -> None:
    model, make_batch = MODELS[name]
    torch.manual_seed(1)
    batch = make_batch()
    expected, got = train(model, batch, None), train(model, batch, backend)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-6 if backend == "aot_eager" else 2e-4)
    assert_same(expected[1], got[1], 1e-6 if backend == "aot_eager" else 1e-3)
    assert bool(fallbacks) is (name == "tagger")  # sequences of different lengths: sizes that depend on data


# -- onnxrt ---------------------------------------------------------------------------------------------------------------


def sessions(graph: Any) -> int:
    return sum(isinstance(node.target, onnxrt.Session) for node in graph.nodes)


def test_a_graph_is_one_session_each_way() -> None:
    runs = []

    def backend(gm, inputs):
        runs.append(find("onnxrt")(gm, inputs))
        return runs[-1]

    compiled = torch.compile(lambda x, w: torch.tanh(x @ w).sum(), backend=backend)
    for _ in range(4):
        compiled(numbers(2, 3), numbers(3, 4, seed=1)).backward()
    (plan,) = runs[0].plans.values()
    (backward,) = plan.backwards.values()
    assert sessions(plan.forward.module.graph) == 1 and sessions(backward.module.graph) == 1
    assert all(node.table_op is None for node in plan.forward.module.graph.nodes)


def test_an_op_without_an_onnx_form_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxrt, "_named", set())
    program = lambda x: torch.linalg.eigvalsh(x @ x.t()).sin()
    compiled = torch.compile(program, backend="onnxrt")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            assert_same(outcome(program, [numbers(3, 3)], 1), outcome(compiled, [numbers(3, 3)], 1), 1e-4)
    named = [str(each.message) for each in caught if "onnxrt" in str(each.message)]
    assert sum("linalg.eigh" in each for each in named) == 1, named


def test_types_that_onnx_runtime_does_not_take() -> None:
    def program(x, y):
        return (x.to(torch.bfloat16) @ y.to(torch.bfloat16).t()).float().exp(), torch.complex(x, y).abs()

    compare(program, [numbers(3, 3), numbers(3, 3, seed=1)], "onnxrt")


# -- check=True -----------------------------------------------------------------------------------------------------------------


def spoiled(where: str) -> Any:
    """A back-end that gets sin wrong: its value, its gradient, or what it writes."""

    def backend(gm: Any, inputs: Any) -> Any:
        guilty = any(node.table_op is not None and node.table_op.name == "sin" for node in gm.graph.nodes)

        def run(*args: Any) -> Any:
            result = gm.forward(*args)
            if not guilty:
                return result
            if where == "value":
                return tuple(each * 1.5 for each in result)
            if where == "gradient":
                return tuple(each.detach() + (each - each.detach()) * 2 for each in result)
            args[0].add_(1)
            return result

        return run

    return backend


@pytest.mark.parametrize(
    ("where", "message"), [("value", "output 0"), ("gradient", "the gradient of l_x_"), ("write", "after it was written to")]
)
def test_check_names_the_node_and_the_line(where: str, message: str) -> None:
    def program(x):
        y = x * 2
        y = y.sin()
        return (y + 1).sum()

    compiled = torch.compile(program, backend=spoiled(where), check=True)
    with pytest.raises(compiler.CheckError, match=message) as raised:
        compiled(numbers(3))
    if where != "write":
        assert "sin" in str(raised.value) and f"test_backends_compile.py:{program.__code__.co_firstlineno + 2}" in str(raised.value)


@pytest.mark.parametrize("backend", ["eager", *BACKENDS])
def test_check_is_content_with_the_back_ends(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    for program in (mutates, views_of_a_value, random, composite, without_recording):
        compiled = torch.compile(program, backend=backend)
        for _ in range(3):
            leaves = [numbers(3, 4), numbers(3, 4, seed=1)]
            assert_same(outcome(program, leaves, 1), outcome(compiled, leaves, 1), 2e-5)


def test_check_leaves_the_random_stream_and_the_inputs_alone() -> None:
    compiled = torch.compile(random, backend="aot_eager", check=True)
    model = torch.compile(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)), backend="aot_eager", check=True)
    plain = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    plain.load_state_dict(model._orig_mod.state_dict())
    for seed in range(3):
        made = []
        for function, module in ((random, plain), (compiled, model)):
            torch.manual_seed(seed)
            made.append((function(numbers(3, 4), numbers(3, 4, seed=1)), module(numbers(4, 3)), torch.rand(2)))
        assert_same(*made)
    assert_same(list(plain.buffers()), list(model._orig_mod.buffers()))
