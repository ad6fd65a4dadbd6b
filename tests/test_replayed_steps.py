"""Compiled training steps that are replayed: what is handed out, overwritten, sent and captured anew, on a stand-in for a GPU."""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import test_compile_steps_fuzz
from replayed_device import StandIn, Work, stand_in
from support.training import training_step
from toy_device import ToyArray

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.tensor.generator import default_generator

triton = pytest.importorskip("triton")
pytestmark = [
    pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="kernels run here by Triton's interpreter (TRITON_INTERPRET=1)"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

from rushlight.runtime.cuda import captured_work, schedule_run  # noqa: E402
from rushlight.runtime.cuda.graph_replay import ReplayedSchedule  # noqa: E402
from rushlight.runtime.cuda.philox import DropoutStream  # noqa: E402
from rushlight.runtime.cuda.schedule_run import TritonSchedule  # noqa: E402


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch.compiler.reset()
    with stand_in(monkeypatch):
        yield
    torch.compiler.reset()
    gc.collect()


def programs() -> list[ReplayedSchedule]:
    return [each for each in gc.get_objects() if type(each) is ReplayedSchedule]


def counted() -> dict[str, int]:
    """How calls of programs that are alive went."""
    found: dict[str, int] = {}
    for each in programs():
        for name, count in each.counted.items():
            found[name] = found.get(name, 0) + count
    return found


class Twins:
    """A model that is trained in eager mode, and a copy whose whole step is compiled."""

    def __init__(self, optimizer: str = "SGD", **options: Any) -> None:
        torch.manual_seed(0)
        plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh()).to("cuda")
        self.models = [plain, copy.deepcopy(plain)]
        self.optimizers = [getattr(torch.optim, optimizer)(each.parameters(), 0.05, **options) for each in self.models]
        self.steps = [self.step(0), torch.compile(self.step(1), fullgraph=True, target="cuda")]
        self.data = [(torch.randn(2, 3).to("cuda"), torch.randn(2, 4).to("cuda")) for _ in range(3)]

    def step(self, which: int) -> Any:
        model, optimizer = self.models[which], self.optimizers[which]
        step = training_step(model, optimizer)

        return step

    def run(self, count: int, moving: bool = False, hold: bool = False) -> list[Any]:
        """Steps of both, compared; the losses of the compiled one, where they are to be held."""
        held, found = [], None
        for number in range(count):
            x, y = self.data[number % 3 if moving else 0]
            x = x.clone() if moving else x
            expected = self.steps[0](x, y).item()
            found = self.steps[1](x, y)  # the one before is held in the meantime, as it is in most programs
            assert found.item() == pytest.approx(expected, rel=1e-4)
            if hold:
                held.append((found, expected))
        self.same()
        return held

    def same(self) -> None:
        for one, other in zip(*(each.parameters() for each in self.models)):
            torch.testing.assert_close(other.cpu(), one.cpu(), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(other.grad.cpu(), one.grad.cpu(), rtol=1e-4, atol=1e-5)


OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    "Adam": ("Adam", {}),
    "AdamW": ("AdamW", {"weight_decay": 0.1}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_one_graph(name: str) -> None:
    twins = Twins(OPTIMIZERS[name][0], **OPTIMIZERS[name][1])
    twins.run(8)
    assert counted()["replayed"] >= 4, counted()


def test_losses_that_are_held_stay() -> None:
    """Two graphs take turns; where both are held, the program runs as it is."""
    twins = Twins()
    held = twins.run(8, hold=True)
    assert [found.item() for found, _ in held] == pytest.approx([expected for _, expected in held], rel=1e-4)
    assert counted()["replayed"] == 2 and counted()["held"] > 2
    del held
    twins.run(6)
    assert counted()["replayed"] >= 8
    loss: Any = None
    before = counted()["replayed"]
    for _ in range(6):
        loss = twins.steps[1](*twins.data[0])  # the loss before is held while this is computed
    assert loss is not None and counted()["replayed"] == before + 6


def test_inputs_that_move_are_copied() -> None:
    twins = Twins("Adam")
    twins.run(12, moving=True)
    assert counted()["replayed"] >= 5


def test_a_rate_that_changes_needs_no_capture() -> None:
    twins = Twins("AdamW")
    twins.run(5)
    (program,) = [each for each in programs() if each.instances]
    captures = program.captures
    for rate in (0.1, 0.01, 0.5):
        for optimizer in twins.optimizers:
            optimizer.param_groups[0]["lr"] = rate
        twins.run(2)
    assert program.captures == captures and program.counted["replayed"] >= 7


def test_gradients_that_are_held_stay() -> None:
    twins = Twins()
    twins.run(5)
    parameter = twins.models[1][0].weight
    kept, values = parameter.grad, parameter.grad.cpu().clone()
    twins.run(3)
    assert torch.equal(kept.cpu(), values) and parameter.grad is not kept
    del kept
    before = counted()["replayed"]
    twins.run(3)
    assert counted()["replayed"] == before + 3
    twins.models[1].zero_grad()  # which the step does, too
    twins.run(2)
    assert counted()["replayed"] == before + 5


def test_parameters_that_are_replaced() -> None:
    twins = Twins()
    twins.run(5)
    with torch.no_grad():
        for model in twins.models:
            model[0].weight.data = model[0].weight.data * 0.5
    before = counted()["replayed"]
    twins.run(8)
    assert counted()["replayed"] > before


def test_what_cannot_be_captured_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("CUDA out of memory")
    error.add_note("in the op addmm")
    monkeypatch.setattr(Work, "failing", error)
    twins = Twins()
    twins.run(6)
    (program,) = programs()
    assert "replayed" not in program.counted
    assert program.describe().startswith("not replayed as a CUDA graph: RuntimeError: CUDA out of memory; in the op addmm")


def test_inference() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).to("cuda")
    compiled = torch.compile(model, fullgraph=True)
    with torch.no_grad():
        result: Any = None
        for _ in range(8):
            x = torch.randn(2, 3).to("cuda")
            result = compiled(x)
            torch.testing.assert_close(result.cpu(), model(x).cpu())
        view = result[1:]
        kept = view.cpu().clone()
        del result
        compiled(x * 2)
        assert torch.equal(view.cpu(), kept)
    assert counted()["replayed"] >= 4


def test_another_shape_at_the_same_address() -> None:
    """An address that repeats may be that of a smaller batch."""
    twins = Twins()
    memory, target = torch.randn(4, 3).to("cuda"), torch.randn(4, 4).to("cuda")
    for count in (4, 4, 4, 2, 4, 2, 2, 2, 4, 4, 2):
        found, expected = (step(memory[:count], target[:count]) for step in twins.steps)
        assert found.item() == pytest.approx(expected.item(), rel=1e-4)
        twins.same()
    assert counted()["replayed"] >= 2


def test_dropout_draws_in_the_order_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled dropout is given the device's own stream for it, and the step is still one graph."""
    drawn: list[Any] = []

    def bernoulli(self: Any, shape: Any, dtype: Any, p: float) -> Any:
        drawn.append(shape)
        return ToyArray(np.asarray(default_generator.bernoulli(shape, dtype, p)))

    stream = DropoutStream.of(lambda: SimpleNamespace(device=torch.device("cuda", 0)))  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(DropoutStream, "bernoulli", bernoulli)
    monkeypatch.setattr(StandIn, "dropout_stream", lambda self: stream)
    compiled = torch.compile(lambda x: F.dropout(x, 0.5) * 2, fullgraph=True)
    x = torch.ones(3, 4).to("cuda")
    with torch.no_grad():
        for number in range(6):
            torch.manual_seed(number)
            expected = F.dropout(x, 0.5) * 2
            torch.manual_seed(number)
            assert torch.equal(compiled(x).cpu(), expected.cpu())
    assert drawn and counted()["replayed"] >= 2


@pytest.mark.parametrize("seed", [5, 7, 15, 20])
def test_random_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training steps of the fuzzer, long enough to be replayed, with gradients that are kept, replaced and written to between them."""
    plain = torch.Tensor.numpy
    monkeypatch.setattr(torch.Tensor, "numpy", lambda self: plain(self.cpu()))
    monkeypatch.setattr(test_compile_steps_fuzz, "CALLS", 9)
    torch.set_default_device("cuda")
    try:
        test_compile_steps_fuzz.assert_random_steps_match(seed)
    finally:
        torch.set_default_device("cpu")
    assert counted()["warm"]


class Normalised(nn.Module):
    """Layers with all that a first call has to get right: statistics that are written to, indices, unpacked shapes, a generator, a factory."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(5, 4), nn.Embedding(3, 4)
        self.norm, self.layers = nn.BatchNorm1d(4), nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, index: Any) -> Any:
        x = self.words(index) + self.places(torch.arange(index.shape[1], device="cuda"))
        b, t, c = x.shape
        x = self.norm(x.view(b * t, c))
        for layer in self.layers:
            x = layer(x)
        first, second = (each.relu() for each in x.split(2, 1))
        return first * second


@pytest.mark.parametrize("half", [False, True])
def test_the_first_call_is_computed_by_the_program(half: bool) -> None:
    torch.manual_seed(0)
    plain = Normalised().to("cuda")
    models = [plain, copy.deepcopy(plain)]
    optimizers = [torch.optim.SGD(each.parameters(), 0.1) for each in models]
    index = torch.tensor([[0, 1, 2], [3, 4, 0]]).to("cuda")

    def step(model: Any, optimizer: Any) -> Any:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            loss = model(index).float().square().sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step, fullgraph=True)
    for number in range(4):
        losses = [step(models[0], optimizers[0]).item(), compiled(models[1], optimizers[1]).item()]
        assert sum(counted().values()) == number + 1  # the program has run: no op did by itself
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5, atol=3e-3 if half else 0)
        for one, other in zip(models[0].state_dict().values(), models[1].state_dict().values()):
            np.testing.assert_allclose(other.cpu().numpy(), one.cpu().numpy(), rtol=1e-5, atol=2e-2 if half else 1e-6)
        for one, other in zip(models[0].parameters(), models[1].parameters()):
            np.testing.assert_allclose(other.grad.cpu().numpy(), one.grad.cpu().numpy(), rtol=1e-4, atol=5e-2 if half else 1e-6)


def test_a_first_call_that_needs_values_computes_what_it_needs() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3).to("cuda").requires_grad_()
    seen: list[float] = []

    def function(x: Any) -> Any:
        y = (x * 2).tanh()
        seen.append(y.sum().item())
        if y.mean() > 5:
            return y
        return y[1:].exp().sum()

    wanted = function(x)
    (gradient,) = torch.autograd.grad(wanted, x)
    found = torch.compile(function)(x)
    (other,) = torch.autograd.grad(found, x)
    np.testing.assert_allclose(found.item(), wanted.item(), rtol=1e-6)
    np.testing.assert_allclose(other.cpu().numpy(), gradient.cpu().numpy(), rtol=1e-6)
    assert len(seen) == 2 and abs(seen[0] - seen[1]) < 1e-6


def test_errors_of_a_first_call_are_those_of_eager_mode() -> None:
    a, b = torch.randn(2, 3).to("cuda"), torch.randn(2, 3).to("cuda")
    with pytest.raises(RuntimeError) as wanted:
        (a + 1) @ b
    with pytest.raises(RuntimeError) as found:
        torch.compile(lambda a, b: (a + 1) @ b)(a, b)
    assert str(found.value) == str(wanted.value)


def test_a_rehearsal_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops are called on zeros while kernels are compiled; losses, parameters and statistics are those of eager mode all the same."""
    calls: list[int] = []

    def prepare(self: TritonSchedule, args: Any) -> None:
        count, call = [0], self.call
        self.kernels = dict.fromkeys(self.sources)  # type: ignore[arg-type]
        self.call = lambda *given: (count.__setitem__(0, count[0] + 1), call(*given))[1]  # type: ignore[method-assign]
        self.rehearse(args)
        self.kernels, self.call = {}, call  # type: ignore[method-assign]
        calls.append(count[0])

    monkeypatch.setattr(schedule_run, "measure_pending", lambda cupy: None)
    monkeypatch.setattr(schedule_run, "measure_convolutions", lambda cupy: None)
    monkeypatch.setattr(TritonSchedule, "prepare", prepare)
    Twins().run(4)
    assert calls and calls[0] > 0
    torch.manual_seed(0)
    dropping = torch.compile(lambda x: F.dropout(x @ x, 0.5))
    x = torch.ones(4, 4).to("cuda")
    drawn = [torch.manual_seed(3), dropping(x)][1], [torch.manual_seed(3), F.dropout(x @ x, 0.5)][1]
    np.testing.assert_array_equal(drawn[0].cpu().numpy(), drawn[1].cpu().numpy())


def test_memory_of_graphs_is_given_back_when_the_last_of_them_is_gone() -> None:
    """A program that can't be captured must not give back what the graphs of others use."""
    freed: list[int] = []
    memory = captured_work.graph_memory(StandIn.cupy)
    memory.pool.free_all_blocks = lambda: freed.append(1)
    first = Twins()
    first.run(5)
    users = len(memory.users)
    assert users
    Work.failing = RuntimeError("no more")
    try:
        Twins().run(5)
    finally:
        Work.failing = None
    captured_work.release_unused()
    assert not freed and len(memory.users) == users
    del first
    torch.compiler.reset()
    gc.collect()
    captured_work.release_unused()
    assert freed and not len(memory.users)


WRITES = ("x.detach().add_(1)", "x[0].add_(1)", "x.t().mul_(2)", "x.view(-1)[1:].zero_()", "x.data.add_(1)", "x.chunk(2)[0].mul_(3)")


@pytest.mark.parametrize("before", ["pass", "x = x + 1 if x.sum() > 1e9 else x", "float(x[0, 0])"], ids=["nothing", "branch", "value"])
@pytest.mark.parametrize("write", WRITES)
def test_writes_through_views_in_the_first_call(write: str, before: str) -> None:
    """What shares memory with a tensor that was computed before is written now, and not by the graph alone."""
    scope: dict[str, Any] = {}
    exec(f"def function(a):\n    x = a - 1\n    {before}\n    {write}\n    return x, a * 2", scope)
    a = torch.randn(3, 4).to("cuda")
    expected = [each.cpu().tolist() for each in scope["function"](a)]
    compiled = torch.compile(scope["function"])
    for _ in range(3):
        assert [each.cpu().tolist() for each in compiled(a)] == expected


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_scaler_of_losses_on_a_gpu(kind: Any) -> None:
    """Scales and what is found of gradients stay on the device; a step with an overflow is left out, and the scale goes down."""
    weight = torch.ones(2, dtype=kind).to("cuda").requires_grad_()
    scaler, optimizer = torch.amp.GradScaler("cuda", init_scale=4.0), torch.optim.SGD([weight], lr=0.5)
    assert scaler.is_enabled()
    scaled = scaler.scale((weight * 2).sum())
    assert scaled.device == weight.device and scaler._scale.device == weight.device and scaled.item() == 16
    scaled.backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [2.0, 2.0]
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.0, 0.0] and scaler.get_scale() == 4.0
    optimizer.zero_grad()
    scaler.scale((weight * float("inf")).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert weight.tolist() == [0.0, 0.0] and scaler.get_scale() == 2.0 and scaler.state_dict()["scale"] == 2.0


def test_storages_move_between_devices() -> None:
    storage = torch.ones(3).untyped_storage()
    moved = storage.cuda()
    assert moved.is_cuda and moved.get_device() == 0 and not storage.is_cuda and storage.get_device() == -1
    assert moved.cpu().tolist() == storage.tolist() and moved.cuda() is moved and storage.to(device="cuda").is_cuda
    assert torch.ones(2).to("cuda").untyped_storage().is_cuda
    assert torch.ones(2).storage().cuda().is_cuda


def test_the_backward_of_a_function_is_captured_on_its_device() -> None:
    places: list[Any] = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            places.append(gradient.device.type)
            return gradient * 2

    x = torch.ones(3).to("cuda").requires_grad_()
    compiled = torch.compile(lambda x: (Twice.apply(x) ** 2).sum())
    for _ in range(3):
        compiled(x).backward()
    assert set(places) == {"cuda"} and x.grad.tolist() == [24.0] * 3


@pytest.mark.parametrize("wide", [torch.float32, torch.bfloat16])
def test_a_mask_of_another_dtype_than_the_query(wide: Any) -> None:
    """Weights have the query's dtype, whatever a learned mask has, and so do gradients their owners'."""
    query = torch.randn(2, 3, 4).bfloat16().to("cuda").requires_grad_()
    mask = torch.zeros(3, 3, dtype=wide).to("cuda").requires_grad_()
    made = F.scaled_dot_product_attention(query, query, query, attn_mask=mask)
    made.float().sum().backward()
    assert made.dtype is torch.bfloat16 and mask.grad.dtype is wide and query.grad.dtype is torch.bfloat16
    dropped = F.scaled_dot_product_attention(query, query, query, attn_mask=mask, dropout_p=0.5)
    assert dropped.dtype is torch.bfloat16


WIDE = (
    "x.trace()",
    "torch.inner(x.float(), x.float())",
    "F.interpolate(x[None, None], scale_factor=2)",
    "x.softmax(-1)",
    "x.exp()",
    "x.sum(0)",
    "F.layer_norm(x, (4,))",
    "x.pow(2)",
    "x.cumsum(0)",
    "F.mse_loss(x, x)",
    "x.norm()",
    "torch.cat([x, x.float()])",
)
NARROW = (
    "x.float() @ x.float().t()",
    "F.linear(x.float(), x.float())",
    "F.gelu(x)",
    "x.mean(0)",
    "F.mish(x)",
    "x + 1",
    "torch.vander(x[0])",
    "x.relu()",
    "torch.cat([x, x])",
)


@pytest.mark.parametrize("expression", WIDE + NARROW)
def test_autocast_on_cuda_widens_what_pytorch_widens_there(expression: str) -> None:
    """Sums, norms and exponentials come out in float32 on a GPU, and in the narrow type on the CPU."""
    x = torch.randn(4, 4).bfloat16().to("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        made = eval(expression, {"x": x, "F": F, "torch": torch})
    assert made.dtype is (torch.float32 if expression in WIDE else torch.bfloat16)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_autocast_on_cuda_runs_recurrent_networks_in_float16(kind: str) -> None:
    """PyTorch's way to cuDNN takes float16, whatever autocast's own dtype is."""
    network = getattr(torch.nn, kind)(4, 3).to("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        made, _ = network(torch.randn(2, 1, 4).to("cuda"))
    assert made.dtype is torch.float16
    made.float().sum().backward()
    assert all(each.grad.dtype is torch.float32 for each in network.parameters())


def test_a_custom_op_has_gradients_in_the_first_call() -> None:
    @torch.library.custom_op("replayed_steps::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)
    twice.register_autograd(lambda ctx, gradient: gradient * 2)
    compiled = torch.compile(lambda x: twice(x).square().sum())
    x = torch.ones(3).to("cuda").requires_grad_()
    for _ in range(3):
        x.grad = None
        compiled(x).backward()
        assert x.grad.tolist() == [8.0] * 3
