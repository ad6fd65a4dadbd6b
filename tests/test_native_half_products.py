"""Products of bfloat16 by the processor's own instructions: right where this processor has them, compiled for others, left alone elsewhere."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from support.compiled import results_and_gradients, thread_count

import rushlight as torch
from rushlight import nn

pytest.importorskip("llvmlite")
from rushlight.backends import native
from rushlight.codegen.llvm.gemm import half_kernel, half_products, matmul
from rushlight.codegen.llvm.ir import Module
from rushlight.codegen.llvm.target import Processor, whole_vectors
from rushlight.runtime.cpu.jit import Jit
from rushlight.schedule.tensor_ir import Input, Reference

target_module = importlib.import_module("rushlight.codegen.llvm.target")
AVX512 = "+avx,+avx2,+f16c,+fma,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512bf16"
PROCESSORS = {
    "tiles": whole_vectors(Processor("x86_64-unknown-linux-gnu", "sapphirerapids", f"{AVX512},+amx-tile,+amx-bf16")),
    "pairs": whole_vectors(Processor("x86_64-unknown-linux-gnu", "znver4", AVX512)),
}


class Network(nn.Module):
    """Two layers under autocast."""

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(depth, width), nn.GELU(), nn.Linear(width, depth))

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return self.layers(x).float()


@pytest.mark.skipif(not half_products.how(), reason="this processor has no products of bfloat16")
@pytest.mark.parametrize("turned", ["plain", "turned", "batched"])
@pytest.mark.parametrize(("rows", "depth", "width"), [(64, 64, 64), (100, 70, 90), (68, 33, 257)])
def test_products_are_those_of_eager_mode(rows: int, depth: int, width: int, turned: str, monkeypatch: Any) -> None:
    """To a rounding of bfloat16, which sums of another order can tip over."""
    used: list[Any] = []

    class Counted(half_products.HalfProduct):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            used.append(self)

    monkeypatch.setattr(matmul, "HalfProduct", Counted)
    monkeypatch.setattr(half_products, "LARGE", 0)
    torch.manual_seed(0)
    model = Network(depth, width)
    x = {"plain": torch.randn(rows, depth), "turned": torch.randn(depth, rows).t(), "batched": torch.randn(rows // 4, 4, depth)}[turned]
    want = results_and_gradients(model, [x], model.parameters())
    compiled = torch.compile(model, backend="native")
    results_and_gradients(compiled, [x], model.parameters())
    for one, other in zip(want, results_and_gradients(compiled, [x], model.parameters())):
        np.testing.assert_allclose(other, one, rtol=0, atol=2**-7 * np.abs(one).max())
    assert len(used) >= 4
    assert all(each.left.dtype == half_products.BFLOAT16 for each in used)  # read where they lie, not from a copy in float32


@pytest.fixture()
def in_parts(monkeypatch: Any) -> list[Any]:
    """Products of float32 in three parts, by pairs where this processor has no tiles."""
    used: list[Any] = []
    by = half_products.how()

    def product(a: Any, b: Any, _: str, parts: int = 1) -> Any:
        used.append(half_products.HalfProduct(a, b, by, parts))
        return used[-1]

    monkeypatch.setattr(matmul, "how", lambda: "tiles")
    monkeypatch.setattr(matmul, "HalfProduct", product)
    monkeypatch.setattr(half_products, "FLOAT_LARGE", 0)
    return used


def product_of(a: Any, b: Any) -> Any:
    with torch.no_grad():
        compiled = torch.compile(torch.matmul, backend="native")
        compiled(a, b)
        return compiled(a, b).numpy()


SIZES = [(64, 64, 64), (100, 70, 90), (130, 1100, 70), (49, 600, 257)]


@pytest.mark.skipif(not half_products.how(), reason="this processor has no products of bfloat16")
@pytest.mark.parametrize("turned", ["plain", "left", "right", "both"])
@pytest.mark.parametrize(("rows", "depth", "width"), SIZES)
def test_float32_in_three_parts(rows: int, depth: int, width: int, turned: str, in_parts: list[Any]) -> None:
    """As exact as float32: the error is that of adding up, not 2**-16 as of two parts, or 2**-8."""
    torch.manual_seed(0)
    a = torch.randn(depth, rows).t() if turned in ("left", "both") else torch.randn(rows, depth)
    b = torch.randn(width, depth).t() if turned in ("right", "both") else torch.randn(depth, width)
    exact = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)
    rounding = 2.0**-24 * np.abs(a.numpy()).astype(np.float64) @ np.abs(b.numpy()).astype(np.float64)
    assert (np.abs(product_of(a, b) - exact) / rounding).max() < 2 * np.sqrt(depth)
    assert [each.parts for each in in_parts] == [3]


@pytest.mark.skipif(not half_products.how(), reason="this processor has no products of bfloat16")
def test_what_is_not_finite_in_three_parts(in_parts: list[Any]) -> None:
    """Infinities, NaN and the largest numbers come out as of float32, wherever they stand; numbers beside them are not touched."""
    torch.manual_seed(0)
    a, b = torch.randn(150, 100), torch.randn(100, 170)
    for row, column, value in ((3, 5, torch.inf), (7, 0, torch.nan), (9, 1, 3.4e38), (11, 2, -torch.inf), (140, 99, -3.4028234e38)):
        a[row, column] = value
    b[2, 3], b[1, 0], b[50, 165], b[60, 166] = -torch.inf, 2.0, torch.nan, 0.0
    with np.errstate(all="ignore"):
        want = a.numpy() @ b.numpy()
        np.testing.assert_allclose(product_of(a, b), want, rtol=1e-4, atol=1e-4)
    assert in_parts and np.isfinite(want).any()


@pytest.mark.skipif(not half_products.how(), reason="this processor has no products of bfloat16")
@pytest.mark.parametrize("turned", [False, True])
def test_parts_by_conversions_are_those_of_integer_arithmetic(turned: bool, in_parts: list[Any], monkeypatch: Any) -> None:
    """Bit for bit, also in blocks with numbers that a conversion would round to infinity."""
    torch.manual_seed(0)
    a, b = torch.randn(70, 90) * 2.0 ** torch.randint(-30, 30, (70, 90)), torch.randn(90, 60)
    a[3, 5], a[40, 80], b[7, 9] = 3.4e38, -3.3961776e38, 1e-30
    if turned:
        a, b = a.t().contiguous().t(), b.t().contiguous().t()
    found = []
    for converts in (False, True):
        monkeypatch.setattr(half_kernel.HalfKernel, "converts", property(lambda self, converts=converts: converts and self.parts > 1))
        found.append(product_of(a, b))
    assert len(in_parts) >= 2 and np.array_equal(*found, equal_nan=True)


@pytest.mark.skipif(not half_products.how(), reason="this processor has no products of bfloat16")
def test_threads_change_no_product_in_three_parts(in_parts: list[Any]) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(300, 600), torch.randn(600, 130)
    found, blocks = [], set()
    for threads in (1, 2, 16):
        with thread_count(threads):
            found.append(product_of(a, b))
            blocks.add(in_parts[-1].block)
    assert len(blocks) > 1 and all(np.array_equal(each, found[0]) for each in found)


@pytest.mark.parametrize("by", PROCESSORS)
def test_code_for_processors_that_have_them(by: str, monkeypatch: Any) -> None:
    """Compiled, not run."""
    machine = Jit(PROCESSORS[by])
    monkeypatch.setattr(target_module, "_chosen", [machine.processor])
    monkeypatch.setattr(half_products, "tiles_permitted", lambda: True)
    assert half_products.how() == by
    module, text = Module(), ""
    for dtype in (np.dtype(np.float32), half_products.BFLOAT16):
        for turned, parts in ((1, 1), (-1, 1), (1, 3), (-1, 3)):
            left, right = (Input(at, (70, 70), dtype, None) for at in range(2))
            a, b = (Reference(each, (70, 70), (70, 1)[::turned]) for each in (left, right))
            if parts == 1 or dtype == np.float32:
                half_products.HalfProduct(a, b, by, parts).native_calls(module, left, [left])
    for part in module.parts():
        text += part.text
        assert machine.emit(part)
    assert ("tdpbf16ps" in text) == (by == "tiles") and ("dpbf16ps.512" in text) == (by == "pairs")


def test_other_processors_go_on_in_float32(monkeypatch: Any) -> None:
    monkeypatch.setattr(matmul, "how", lambda: "")
    torch.manual_seed(0)
    model = Network(64, 96)
    compiled = torch.compile(model, backend="native")
    x = torch.randn(64, 64)
    want = results_and_gradients(model, [x], model.parameters())
    results_and_gradients(compiled, [x], model.parameters())
    for one, other in zip(want, results_and_gradients(compiled, [x], model.parameters())):
        np.testing.assert_allclose(other, one, rtol=0, atol=2**-7 * np.abs(one).max())
    assert "matmul" in native.describe(compiled)


@pytest.mark.parametrize("kind", ["causal", "masked", "convolution"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_and_convolutions_in_half_precision(kind: str, dtype: Any) -> None:
    """They are compiled, as float32 that is rounded once, and not called as in eager mode."""
    torch.manual_seed(0)
    if kind == "convolution":
        inputs = [torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)]
        function: Any = lambda x, w: nn.functional.conv2d(x.to(dtype), w.to(dtype), padding=1).float()
    else:
        inputs = [torch.randn(2, 4, 20, 16) for _ in range(3)]
        mask = torch.rand(20, 20) > 0.3 if kind == "masked" else None
        attention = nn.functional.scaled_dot_product_attention
        function = lambda q, k, v: attention(q.to(dtype), k.to(dtype), v.to(dtype), mask, is_causal=mask is None).float()
    want = results_and_gradients(function, inputs)
    compiled = torch.compile(function, backend="native")
    results_and_gradients(compiled, inputs)
    for one, other in zip(want, results_and_gradients(compiled, inputs)):
        np.testing.assert_allclose(other, one, rtol=0, atol=2**-7 * np.abs(one).max())
    assert "call:" not in native.describe(compiled)


def test_float32_stays_float32() -> None:
    """Float32 values that come from bfloat16 by way of arithmetic are no bfloat16 numbers."""
    torch.manual_seed(0)
    x, y = torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16()
    function = lambda x, y: (x.float() * 1.1) @ (y.float() * 0.9)
    with torch.no_grad():
        compiled = torch.compile(function, backend="native")
        compiled(x, y)
        np.testing.assert_allclose(compiled(x, y).numpy(), function(x, y).numpy(), rtol=1e-4, atol=1e-4)
