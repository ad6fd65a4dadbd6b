"""The code for GPUs, as far as it can be tested without one: sources of kernels, flash attention by Triton's interpreter, answers of torch.cuda."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.codegen.cuda.scalar_text import ScalarText, literal
from rushlight.core.declare import table
from rushlight.core.errors import RushlightError
from rushlight.core.families import Elementwise
from rushlight.runtime.cuda import optimizer_step
from rushlight.runtime.cuda.gemm import _batch_stride, _laid_out
from rushlight.runtime.cuda.kernels import HOST_ONLY, KERNELS
from rushlight.runtime.cuda.pointwise import PointwiseOp, joined
from rushlight.schedule.scalar_ir import Array, Functions, ScalarExpression


def test_scalar_ir_as_text() -> None:
    a, b = (Array(ScalarExpression("operand", (), np.dtype(np.float32), at), (4,)) for at in range(2))
    xp = Functions()
    text = ScalarText(lambda data: f"x{data}")
    made = text.value((xp.where(a > b, xp.exp(a), b * np.float32(2)) / 3).expression)
    assert text.lines == [
        "bool v0 = x0 > x1;",
        "float v1 = expf(x0);",
        "float v2 = x1 * 2.0f;",
        "float v3 = v0 ? (float)v1 : (float)v2;",
        "float v4 = v3 / 3.0f;",
    ]
    assert made == "v4"


def test_numbers_as_text() -> None:
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    assert literal(1e-5, single) == "1e-05f" and literal(0.1, double) == "0.1" and literal(True, np.dtype(bool)) == "true"
    assert (
        literal(-(2**63), np.dtype(np.int64)) == "(-9223372036854775807LL - 1)"
        and literal(float("-inf"), single) == "__int_as_float(0xff800000)"
    )


class FakeArray:
    """What a pointwise op asks of an array of CuPy."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype, self.ndim = tuple(shape), np.dtype(dtype), len(shape)


def test_pointwise_ops_have_expressions() -> None:
    cupy = SimpleNamespace(ndarray=FakeArray)
    ops = [op for op in table.values() if isinstance(op.family, Elementwise) and op.functional is None and op.kernel is not None]
    traced = []
    for op in ops:
        kernel = PointwiseOp(cupy, op)
        values = [FakeArray((4, 5), np.float32) if at in kernel.positions else each.default for at, each in enumerate(op.parameters)]
        try:
            found = kernel._prepare(values)
        except RushlightError:
            continue  # an op of integers
        if found is not None:
            traced.append(op.name)
    assert {"add", "mul", "div", "gelu_exact", "silu", "where", "tanh", "pow", "sigmoid", "clamp", "relu"} - set(traced) <= {
        "clamp",
        "pow",
        "where",
    }
    assert len(traced) > 0.6 * len(ops)


def test_dimensions_are_joined() -> None:
    assert joined((2, 3, 4), [[12, 4, 1], [12, 4, 1]]) == ([24], [[1], [1]])
    assert joined((2, 3, 4), [[0, 4, 1], [12, 4, 1]]) == ([2, 12], [[0, 1], [12, 1]])
    assert joined((3, 4), [[1, 3], [4, 1]]) == ([3, 4], [[1, 3], [4, 1]])
    assert joined((1, 1), [[0, 0]]) == ([1], [[0]])


def test_layouts_of_products() -> None:
    assert _laid_out((3, 4), (16, 4), 4) == (0, 4) and _laid_out((3, 4), (4, 12), 4) == (1, 3) and _laid_out((3, 4), (32, 8), 4) is None
    assert _laid_out((1, 4), (0, 4), 4) == (0, 4) and _laid_out((4, 1), (4, 0), 4) == (0, 1)
    assert _batch_stride((5, 3, 4), (48, 16, 4), (5,), 4) == 12 and _batch_stride((3, 4), (16, 4), (5,), 4) == 0
    assert _batch_stride((2, 5, 3, 4), (480, 48, 16, 4), (2, 5), 4) is None and _batch_stride((5, 3, 4), (48, 16, 4), (2, 5), 4) is None


@pytest.mark.parametrize("name", "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax".split())
def test_optimizers_have_fused_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = []
    monkeypatch.setattr(optimizer_step, "CudaKernel", lambda cupy, source, *rest: sources.append(source) or source)
    optimizer = getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(3))], lr=0.1)
    group = optimizer.param_groups[0]
    initial = optimizer._initial(group)
    names = [each for each in initial if each not in optimizer._scalars]
    numbers = optimizer._plan(group, *[float(initial[each]) for each in optimizer._scalars])[1]
    assert optimizer_step._kernel(None, optimizer._update, group, np.dtype(np.float32), len(names), len(numbers)) is not None
    assert all(f"t.x{at}[i] = " in sources[0] for at in (0, *range(2, 2 + len(names))))


def test_addresses_of_an_optimizer_step_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more tensors than a launch has room for, several launches update some each; a block has its tensor and its part of it."""
    launched: list[Any] = []

    def kernel(cupy: Any, source: str, name: str, format: str, what: str) -> Any:
        return lambda blocks, threads, *given: launched.append((blocks, format, given))

    def array(size: int, address: int) -> Any:
        return SimpleNamespace(dtype=np.dtype(np.float32), shape=(size,), size=size, _c_contiguous=True, data=SimpleNamespace(ptr=address))

    monkeypatch.setattr(optimizer_step, "CudaKernel", kernel)
    monkeypatch.setattr(optimizer_step, "_kernels", {})
    monkeypatch.setattr(optimizer_step, "_places", {})
    tables: list[Any] = []
    cupy = SimpleNamespace(
        asarray=lambda rows: tables.append(rows) or array(rows.size, 99), cuda=SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0))
    )
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
    group = optimizer.param_groups[0]
    numbers = optimizer._plan(group)[1]
    sizes = [5000 if at == 1 else 3 for at in range(250)]
    tensors = [[array(size, 2 * at), array(size, 2 * at + 1)] for at, size in enumerate(sizes)]
    assert optimizer_step.optimizer_step(cupy, optimizer._update, group, numbers, tensors)
    (first, format, given), (second, _, rest) = launched
    assert (first, second) == (241, 10) and format.startswith("480PP") and given[:480] == tuple(range(480)) and given[480] == 99
    assert rest[:20] == tuple(range(480, 500)) and not any(rest[20:32]) and rest[32] == 99
    rows = tables[0].view(optimizer_step._PLACE)
    assert rows[:3].tolist() == [(0, 3, 0), (1, 4096, 0), (1, 904, 4096)]


def test_ops_with_kernels_exist() -> None:
    assert all(name in table for name in (*KERNELS, *HOST_ONLY))


def test_why_there_is_no_device() -> None:
    from rushlight.runtime.cuda.device import unusable

    class Failed(Exception):
        status = 35

    versions = SimpleNamespace(driverGetVersion=lambda: 12040, runtimeGetVersion=lambda: 13000)
    assert unusable(versions, Failed("x")) == (
        "the NVIDIA driver has CUDA 12.4 and CuPy was built for 13.0: update the driver, or install the CuPy of its version"
    )
    assert unusable(SimpleNamespace(driverGetVersion=lambda: 0, runtimeGetVersion=lambda: 13000), Failed("x")) == (
        "there is no NVIDIA driver on this machine"
    )
    assert unusable(versions, RuntimeError("cudaErrorNoDevice: none\nmore")) == "cudaErrorNoDevice: none"


def test_triton_arguments_are_packed_in_order() -> None:
    from rushlight.runtime.cuda.triton_launch import layout

    signature = {"X": "*fp32", "n": "i32", "step": "constexpr", "Y": "*bf16", "scale": "fp32", "far": "i64", "BLOCK": "constexpr"}
    assert layout(signature, {"n": 5, "step": 1, "scale": 0.5, "far": 7, "BLOCK": 64}) == ("PiPfqPP", [None, 5, None, 0.5, 7])


def test_rows_are_held_in_registers_up_to_a_length() -> None:
    from rushlight.runtime.cuda.kernels import register_rows, rows

    for name in register_rows.BODIES:
        for n in (1, 7, 32, 128, 1000, 1024, 4097, 16384):
            for aligned in (False, True):
                found = register_rows.arrangement(name, n, aligned)
                if found is None:
                    assert n > 8192
                    continue
                group, held, vector = found
                assert group * held * vector >= n and held * vector <= 64 and (vector == 1 or n % 4 == 0) and group <= 1024
                text, _ = rows.source(
                    name, np.dtype(np.float32), group, (held, vector), {"HELD_FINISH": "", "HELD_TERM": "0", "FINISH": "0"}
                )
                assert "@" not in text
        assert register_rows.arrangement(name, 20000, True) is None


def test_dense_strides() -> None:
    from rushlight.runtime.cuda.kernels.convolution import dense_strides
    from rushlight.runtime.cuda.kernels.copies import row_major

    assert dense_strides((2, 3, 4, 5), False) == (60, 20, 5, 1) and dense_strides((2, 3, 4, 5), True) == (60, 1, 15, 3)
    assert row_major((2, 3, 4), 4) == (48, 16, 4)


FLASH = """
import math
import numpy as np
import rushlight as torch
import rushlight.runtime.cuda.kernels.flash as flash


def philox(seed, counter, thread):
    "Philox 4x32-10, word by word, as its authors describe it."
    key, c = [seed & 0xffffffff, seed >> 32], [counter & 0xffffffff, counter >> 32, thread & 0xffffffff, thread >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b & 0xffffffff, a >> 32 ^ c[3] ^ key[1], a & 0xffffffff]
        key = [(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff]
    return c


def decisions(count, seed, first, threads, vector, keep):
    "What a dropout kernel draws: each thread takes so many neighbours, then those of its next turn."
    made = np.zeros(count, np.float32)
    for thread in range(threads):
        words, step = [], first
        turns = range(thread * vector, count, threads * vector)
        places = [at + k for at in turns for k in range(vector)]
        for at in places:
            if not words:
                words, step = philox(seed, step, thread), step + 1
            made[at] = words.pop(0) * np.float32(2.0**-32) + np.float32(2.0**-33) < keep
    return made / np.float32(keep)


torch.manual_seed(0)
cases = [
    (2, 2, 1, 37, 37, 24, 16, True, 0, 0), (1, 2, 1, 20, 45, 16, 16, False, 1, 0), (1, 1, 1, 18, 33, 20, 20, False, 2, 0),
    (2, 4, 2, 21, 21, 16, 16, True, 0, 0), (1, 4, 4, 17, 20, 16, 16, False, 1, 4), (1, 2, 1, 18, 24, 16, 16, False, 0, 8), (1, 2, 2, 7, 10, 16, 16, False, 0, 2),
    (1, 1, 1, 5, 7, 16, 16, True, 0, 1),
]
for batch, heads, repeat, length, source, width, wide, causal, kind, vector in cases:
    groups = heads // repeat
    q, k, v = torch.randn(batch, heads, length, width), torch.randn(batch, groups, source, width), torch.randn(batch, groups, source, wide)
    shape = (batch, heads, length, source)
    mask = [None, torch.rand(shape) > 0.3, torch.randn(shape)][kind]
    if kind == 1:
        mask[0, 0, 3] = False  # a row that attends to nothing
    leaves = [each.clone().requires_grad_() for each in (q, k, v)]
    threads, keep, seed, first = 16, 0.7, 12345678901, 3
    factors = torch.from_numpy(decisions(math.prod(shape), seed, first, threads, vector, np.float32(keep))).view(shape) if vector else torch.ones(shape)
    noise = torch.tensor([seed, first])
    many = [each.repeat_interleave(repeat, 1) for each in leaves[1:]]
    scores = leaves[0] @ many[0].transpose(-1, -2) / math.sqrt(width)
    if causal:
        scores = scores.masked_fill(~torch.ones(length, source).tril().bool(), float("-inf"))
    if kind:
        scores = scores.masked_fill(~mask, float("-inf")) if kind == 1 else scores + mask
    weights = scores.softmax(-1).nan_to_num(0.0)
    expected = (weights * factors) @ many[1]
    grad = torch.randn(batch, heads, length, wide)
    expected.backward(grad)
    out, logs, sums = torch.zeros(batch, heads, length, wide), torch.zeros(batch, heads, length), torch.zeros(batch, heads, length)
    options = dict(CAUSAL=causal, MASK=kind, D=32, DV=32, WD=width, WV=wide, PRECISION="ieee", BM=16, BN=16, REPEAT=repeat, VEC=vector)
    options["QUADS"] = vector >= 4 and source % 4 == 0
    given = q if mask is None else mask.to(torch.uint8) if kind == 1 else mask
    steps = [step for each in (q, k, v) for step in each.stride()[:3]] + (list(given.stride()) if kind else [0] * 4)
    sizes, rows, columns, scale = (heads, length, source), -(-length // 16), -(-source // 16), 1 / math.sqrt(width)
    first = lambda each: each.stride()[:3]
    numbers = (*sizes, scale, keep, threads)
    flash.forward[(batch * heads, rows)](q, k, v, given, noise, out, logs, *steps, *first(out), *numbers, **options)
    flash.products[(batch * heads, rows)](grad, out, sums, *first(grad), *first(out), heads, length, DV=32, WV=wide, BM=16)
    made = [torch.zeros_like(each) for each in (q, k, v)]
    shared = (q, k, v, given, noise, grad, logs, sums)
    flash.backward_query[(batch * heads, rows)](*shared, made[0], *steps, *first(grad), *first(made[0]), *numbers, **options)
    flash.backward_key[(batch * groups, columns)](
        *shared, made[1], made[2], *steps, *first(grad), *first(made[1]), *first(made[2]), *numbers, **options
    )
    torch.testing.assert_close(out, expected.detach(), rtol=1e-5, atol=1e-5)
    for one, other in zip(made, leaves):
        torch.testing.assert_close(one, other.grad, rtol=1e-5, atol=1e-5)
print("as in eager mode")
"""


def test_flash_attention_by_the_interpreter() -> None:
    triton = pytest.importorskip("triton")
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0" and triton.__version__ < "3.7":
        pytest.skip("the interpreter of Triton 3.6 makes numbers of arrays with one element, which NumPy 2.5 refuses")
    environment = dict(os.environ, TRITON_INTERPRET="1")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FLASH)], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert "as in eager mode" in done.stdout, done.stderr[-2000:]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_torch_cuda_without_a_gpu() -> None:
    assert torch.cuda.device_count() == 0 and torch.cuda.memory_allocated() == 0 and not torch.cuda.is_initialized()
    assert torch.cuda.get_rng_state_all() == [] and torch.cuda.memory_stats() == {}
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.manual_seed_all(3)
    with torch.cuda.device(-1), torch.cuda.device(None), torch.cuda.stream(None):
        pass
    for call in (
        torch.cuda.Stream,
        torch.cuda.Event,
        torch.cuda.CUDAGraph,
        torch.cuda.current_stream,
        torch.cuda.current_device,
        torch.cuda.get_device_name,
    ):
        with pytest.raises(RuntimeError, match="CUDA"):
            call()
    with pytest.raises(RuntimeError, match="pin_memory"):
        torch.ones(2).pin_memory()


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.core.errors import DeviceError
    from rushlight.runtime.cuda import libraries

    def none(path: str, mode: int = 0) -> Any:
        raise OSError(f"{path}: cannot open shared object file")

    monkeypatch.setattr(libraries.ctypes, "CDLL", none)
    monkeypatch.setattr(libraries, "_loaded", libraries._loaded.__wrapped__)
    for name, sentence in (
        ("cudnn", "the library libcudnn.so.9 is not here: pip install nvidia-cudnn-cu13"),
        ("cublas", "the library libcublas.so.13 is not here: pip install nvidia-cublas"),
    ):
        with pytest.raises(DeviceError, match=f"^{re.escape(sentence)}$"):
            libraries.library(None, name)
