"""Triton kernels of users on CUDA tensors: autotuned, with heuristics and hooks, descriptors, on streams and in graphs, in Functions and compiled."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.testing import assert_close

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def add(x, y, o, n, B: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


add_tuned = triton.autotune(configs=[triton.Config({"B": 128}, num_warps=2), triton.Config({"B": 1024}, num_warps=4)], key=["n"])(add)


def clear(args: dict[str, Any]) -> None:
    args["o"].zero_()


@triton.autotune(configs=[triton.Config({"B": each}, pre_hook=clear) for each in (64, 256)], key=["n"], reset_to_zero=["o"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def total(x, o, n, B: tl.constexpr, EVEN: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, tl.sum(tl.load(x + i, mask=i < n, other=0.0)) + (0.0 if EVEN else 0.0))


@triton.autotune(
    configs=[triton.Config({"B": 64}), triton.Config({"B": 256})],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, named, **options: configs[:1]},
    restore_value=["x"],
)
@triton.jit
def double_in_place(x, n, B: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def by_descriptors(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):  # type: ignore[no-untyped-def]
    one, other = tl.make_tensor_descriptor(x, (M, N), (N, 1), (BM, BN)), tl.make_tensor_descriptor(o, (M, N), (N, 1), (BM, BN))
    other.store([tl.program_id(0) * BM, 0], one.load([tl.program_id(0) * BM, 0]) * 2)


def cut(n: int) -> Any:
    return lambda meta: (triton.cdiv(n, meta["B"]),)


def launched(kernel: Any, x: Any, y: Any) -> Any:
    made = torch.empty_like(x)
    kernel[cut(x.numel())](x, y, made, x.numel(), **({} if kernel is add_tuned else {"B": 128}))
    return made


@pytest.fixture
def pair() -> tuple[Any, Any]:
    return torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")


def test_launches(pair: Any) -> None:
    x, y = pair
    for kernel in (add, add_tuned):
        assert torch.equal(launched(kernel, x, y), x + y)
    made = torch.empty_like(x)
    add.warmup(torch.float32, torch.float32, torch.float32, 1000, B=128, grid=(8,))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        add[(8,)](x, y, made, n=1000, B=128, num_warps=2)
    side.synchronize()
    assert torch.equal(made, x + y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add[(8,)](x, y, made, 1000, B=128)
    x.add_(1)
    graph.replay()
    assert torch.equal(made, x + y)


def test_hooks_heuristics_and_pruning(pair: Any) -> None:
    x, _ = pair
    made = torch.empty(1, device="cuda")
    total[cut(1000)](x, made, 1000)
    assert_close(made[0], x.sum(), rtol=1e-3, atol=1e-3)
    expected = x * 2
    double_in_place[cut(1000)](x, 1000)
    assert torch.equal(x, expected)


def test_descriptors() -> None:
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    x = torch.randn(128, 64, device="cuda")

    def double(x: Any) -> Any:
        made = torch.empty_like(x)
        by_descriptors[(4,)](x, made, 128, 64, 32, 64)
        return made + 1

    compiled = torch.compile(double)
    for _ in range(4):
        assert torch.equal(compiled(x), x * 2 + 1)


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return launched(add_tuned, x, y)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return launched(add, gradient, gradient.contiguous()) / 2, gradient


def test_functions_in_eager_mode_and_compiled(pair: Any) -> None:
    x, y = (each.requires_grad_() for each in pair)
    loss = lambda x, y: (Sum.apply(x * 2, y) ** 2).sum()
    for function in (loss, torch.compile(loss)):
        for _ in range(4):
            x.grad = y.grad = None
            function(x, y).backward()
            assert_close(x.grad, (4 * (2 * x + y)).detach())
            assert_close(y.grad, (2 * (2 * x + y)).detach())


@pytest.mark.parametrize("kernel", ["total", "in place"])
def test_writes_of_compiled_launches(pair: Any, kernel: str) -> None:
    def summed(x: Any) -> Any:
        made = torch.zeros(1, device="cuda")
        total[cut(x.numel())](x * 2, made, x.numel())
        return made + 1

    def doubled(x: Any) -> Any:
        made = x + 1
        double_in_place[cut(made.numel())](made, made.numel())
        return made * 3

    function = summed if kernel == "total" else doubled
    compiled, expected = torch.compile(function), (2 * pair[0].sum() + 1).reshape(1) if kernel == "total" else (pair[0] + 1) * 6
    for _ in range(4):
        assert_close(compiled(pair[0]), expected, rtol=1e-3, atol=1e-3)
