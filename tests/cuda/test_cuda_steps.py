"""Whole training steps compiled on CUDA: one replayed graph with eager mode's losses, memory that does not grow, and errors that leave eager mode usable."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.runtime.cuda import captured_work
from rushlight.runtime.cuda.graph_replay import ReplayedSchedule
from rushlight.testing import assert_close

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    torch.compiler.reset()
    gc.collect()
    yield
    torch.compiler.reset()


def programs() -> list[ReplayedSchedule]:
    return [each for each in gc.get_objects() if type(each) is ReplayedSchedule]


def replayed() -> int:
    return sum(each.counted["replayed"] for each in programs())


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.out, self.up, self.down = nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(self.first(x)).view(*x.shape[:2], 3, 2, 16).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Sequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.out = nn.LSTM(8, 32, batch_first=True, bidirectional=True), nn.Linear(64, 5)

    def forward(self, x: Any) -> Any:
        return self.out(self.rnn(x)[0][:, -1])


MODELS: dict[str, tuple[Any, Any]] = {
    "MLP": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 5)), lambda: torch.randn(6, 8)),
    "CNN": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)),
        lambda: torch.randn(4, 3, 8, 8),
    ),
    "GPT": (lambda: nn.Sequential(nn.Embedding(20, 32), Block(), Block(), nn.Linear(32, 5), nn.Flatten(0, 1)), lambda: torch.randint(0, 20, (2, 6))),
    "LSTM": (Sequence, lambda: torch.randn(3, 7, 8)),
}  # fmt: skip
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, 0.05),
    "momentum": lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, 0.01),
}


def trained(name: str, optimizer: str, half: bool, compiled: bool, steps: int = 9) -> tuple[list[float], Any]:
    """The losses of some steps, with a rate that changes, and the model."""
    torch.manual_seed(1)
    make_model, make_input = MODELS[name]
    model = make_model().cuda()
    inputs = [make_input().cuda() for _ in range(3)]
    chosen = OPTIMIZERS[optimizer](model.parameters())
    with torch.no_grad():
        count = len(model(inputs[0]))
    y = torch.arange(count, device="cuda") % 5

    def step(x: Any, y: Any) -> Any:
        chosen.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16) if half else contextlib.nullcontext():
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        chosen.step()
        return loss

    torch.manual_seed(2)
    function = torch.compile(step, fullgraph=True) if compiled else step
    losses = []
    for number in range(steps):
        chosen.param_groups[0]["lr"] *= 0.9
        losses.append(function(inputs[number % 3].clone(), y).item())
    return losses, model


@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_losses_are_those_of_eager_mode(name: str, optimizer: str, half: bool) -> None:
    expected, plain = trained(name, optimizer, half, False)
    found, model = trained(name, optimizer, half, True)
    assert found == pytest.approx(expected, rel=3e-2 if half else 2e-3)
    assert replayed() >= 3, [each.describe()[:400] for each in programs()]
    for one, other in zip(plain.parameters(), model.parameters()):
        assert_close(other.grad, one.grad, rtol=0.3 if half else 2e-2, atol=5e-2 if half else 2e-3)


def small_step() -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, torch.compile(step, fullgraph=True), model


def test_memory_does_not_grow() -> None:
    """A soak: 100,000 replays."""
    _, compiled, _ = small_step()
    x = torch.randn(8, 16, device="cuda")
    loss: Any = None
    for _ in range(20):
        loss = compiled(x)
    torch.cuda.synchronize()
    before, count = torch.cuda.memory_allocated(), replayed()
    objects, pool = len(gc.get_objects()), torch.cuda.memory_reserved()
    for _ in range(100_000):
        loss = compiled(x)
    torch.cuda.synchronize()
    assert torch.isfinite(loss) and replayed() - count == 100_000
    assert torch.cuda.memory_allocated() == before and torch.cuda.memory_reserved() == pool and len(gc.get_objects()) - objects < 200


def test_functions_share_memory() -> None:
    """What lives inside one program's graph may be where another's was; results never are."""
    one = torch.compile(lambda x: ((x @ x).sin() @ x).softmax(-1) @ x)
    other = torch.compile(lambda x: ((x @ x).cos() @ x).tanh() @ x)
    x = torch.randn(64, 64, device="cuda") / 8
    with torch.no_grad():
        expected = [((x @ x).sin() @ x).softmax(-1) @ x, ((x @ x).cos() @ x).tanh() @ x]
        for _ in range(12):
            found = [one(x), other(x)]
            assert_close(found, expected)
    assert len(captured_work._memories) == 1 and replayed() > 8


def test_two_threads() -> None:
    compiled = torch.compile(lambda x: ((x @ x).sin() + 1).softmax(-1))
    inputs = [torch.randn(32, 32, device="cuda") for _ in range(2)]
    with torch.no_grad():
        expected = [((x @ x).sin() + 1).softmax(-1) for x in inputs]
        for x in inputs * 3:
            compiled(x)
    wrong: list[Any] = []

    def work(at: int, own: bool) -> None:
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()) if own else contextlib.nullcontext():
            for _ in range(200):
                found = compiled(inputs[at])
                if not torch.allclose(found, expected[at], atol=1e-5):
                    wrong.append(at)

    for own in (False, True):
        torch.cuda.synchronize()
        threads = [threading.Thread(target=work, args=(at, own)) for at in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        torch.cuda.synchronize()
    assert not wrong


def test_no_memory_for_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = pytest.importorskip("cupy")

    def allocate(self: Any, size: int) -> Any:
        raise cupy.cuda.memory.OutOfMemoryError(size, 0)

    monkeypatch.setattr(captured_work.Allocations, "allocate", allocate)
    step, compiled, _ = small_step()
    x = torch.randn(8, 16, device="cuda")
    losses = [compiled(x).item() for _ in range(6)]
    assert losses == sorted(losses, reverse=True) and replayed() == 0
    assert any("out of memory" in each.refused.lower() for each in programs()), [each.refused for each in programs()]
    assert step(x).item() < losses[-1] and torch.ones(3, device="cuda").sum().item() == 3


def test_what_waits_is_not_captured() -> None:
    """A user's op that waits for the GPU: named in the explanation, and the program runs."""

    @torch.library.custom_op("replaying::waits", mutates_args=())
    def waits(x: torch.Tensor) -> torch.Tensor:
        return x * float(x.sum().item() > -1e9)

    @waits.register_fake
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    compiled = torch.compile(lambda x: (waits(x + 1) * 2).sin())
    x = torch.randn(16, device="cuda")
    with torch.no_grad():
        for _ in range(6):
            assert_close(compiled(x), ((x + 1) * 2).sin())
        assert_close((x + 1).sum(), x.sum() + 16)
    refused = [each.refused for each in programs() if each.refused]
    assert refused and "waits" in refused[0], [each.describe()[:500] for each in programs()]


def test_shapes_are_captured_once_each() -> None:
    compiled = torch.compile(lambda x: (x * 2).softmax(-1).sum(0), dynamic=False)
    inputs = [torch.randn(size, 32, device="cuda") for size in (3, 5, 7)]
    with torch.no_grad():
        for _ in range(8):
            for x in inputs:
                assert_close(compiled(x), (x * 2).softmax(-1).sum(0))
    assert sorted(each.captures for each in programs() if each.captures) == [1, 1, 1]


def test_products_of_three_are_exact() -> None:
    """Large float32 products of compiled programs may be three of tensor cores: no less exact than one of float32, and infinities are where they belong."""
    torch.manual_seed(0)
    x, w = torch.randn(1024, 768, device="cuda"), torch.randn(1536, 768, device="cuda")
    x[5, 7], x[6, 8], w[9, 7] = float("inf"), float("nan"), 3.0
    compiled = torch.compile(lambda x, w: (x @ w.T, x.T @ (x @ w.T), (x @ w.T) @ w))
    with torch.no_grad():
        for _ in range(4):
            found = compiled(x, w)
        exact, plain = x.double() @ w.double().T, x @ w.T
    finite = torch.isfinite(exact)
    assert torch.equal(torch.isfinite(found[0]), finite) and torch.equal(torch.isnan(found[0]), torch.isnan(exact))
    error, allowed = (found[0][finite] - exact[finite]).abs().max(), (plain[finite] - exact[finite]).abs().max()
    assert error <= 2 * allowed, (error, allowed)
    x = torch.nan_to_num(x, 0.0, 1.0)
    with torch.no_grad():
        for _ in range(4):
            found = compiled(x, w)
        exact = x.double() @ w.double().T
    assert_close(found[1].double(), x.double().T @ exact, rtol=1e-4, atol=1e-1)
    assert_close(found[2].double(), exact @ w.double(), rtol=1e-4, atol=1e-1)


def test_a_kernel_that_ptxas_refuses(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The kernel is named, with its source, and the graph runs op by op."""
    compiler = pytest.importorskip("triton.backends.nvidia.compiler")

    def refuse(*args: Any) -> Any:
        raise RuntimeError("ptxas: fatal error")

    monkeypatch.setenv("RUSHLIGHT_COMPILE_SERVER", "0")  # kernels are compiled in this process
    monkeypatch.setattr(compiler.CUDABackend, "make_cubin", refuse)
    compiled = torch.compile(lambda x: (x * 1.2345678).sin() + 0.7654321)  # numbers that no kernel on disk has
    x = torch.randn(16, device="cuda")
    with torch.no_grad(), caplog.at_level("WARNING", "rushlight.triton"):
        for _ in range(4):
            assert_close(compiled(x), (x * 1.2345678).sin() + 0.7654321)
    assert "ptxas: fatal error" in caplog.text and "tl.load" in caplog.text
