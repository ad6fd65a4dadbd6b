"""Compiled Triton kernels: by a process of its own, kept on disk, and found there without Triton; kernels that don't compile."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rushlight.runtime.cuda import kernel_store

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="kernels are compiled by Triton")

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def twice(p0, p1, XBLOCK: tl.constexpr):
    x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    tl.store(p1 + x, tl.load(p0 + x) * 2)
"""


class Cupy(SimpleNamespace):
    """What is asked about a GPU."""

    __hash__ = object.__hash__  # type: ignore[assignment]


CUPY = Cupy(
    cuda=SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0), Device=lambda index: SimpleNamespace(compute_capability="90"))
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(kernel_store, "_known", {})
    yield


def generated(source: str = SOURCE) -> kernel_store.GeneratedKernel:
    return kernel_store.GeneratedKernel(CUPY, source, "twice", [np.dtype(np.float32)] * 2, {"XBLOCK": 1024, "num_warps": 4})


def test_a_kernel_is_compiled_by_another_process_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = generated()
    assert kernel.parameters == ["p0", "p1"] and kernel.signature == {"p0": "*fp32", "p1": "*fp32", "XBLOCK": "constexpr"}
    aligned, other = kernel.request([True, True]), kernel.request([True, False])
    assert kernel.request([True, True]) is aligned
    made = aligned.result(60)
    assert made.code[:4] == b"\x7fELF" and made.about["name"] == "twice" and made.about["num_warps"] == 4 and made.about["plain"]
    assert other.result(60).code != made.code
    monkeypatch.setattr(kernel_store, "_known", {})
    monkeypatch.setattr(kernel_store, "start", lambda: pytest.fail("it is on disk"))
    assert generated().request([True, True]).result(1).code == made.code


def test_a_kernel_that_does_not_compile() -> None:
    with pytest.raises(kernel_store.CompileError, match="nothing_of_the_kind"):
        generated(SOURCE.replace("* 2", "* nothing_of_the_kind")).request([True, True]).result(60)
    assert generated().request([True, True]).result(60).about["name"] == "twice"  # the next one does


HERE = """
import os, sys
sys.path.insert(0, {tests!r})
os.cpu_count = lambda: 4
import test_kernel_store as tests
from rushlight.runtime.cuda import kernel_store
server = kernel_store.start()
server.process.kill()
made = [tests.generated().request([True, flag]) for flag in (True, False)]
print([each.result(60).about["name"] for each in made])
"""


def test_where_the_process_dies_kernels_are_compiled_here(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", HERE.format(tests=str(Path(__file__).parent))], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.strip() == "['twice', 'twice']", done.stderr


def test_numbers_that_are_one_are_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(kernel_store, "request", lambda *args: asked.append(args))
    path = tmp_path / "some.py"
    path.write_text("@triton.jit\ndef some(A, B, n, one, large, scale, D: tl.constexpr):\n    pass\n")
    array = SimpleNamespace(dtype=np.dtype(np.float16), data=SimpleNamespace(ptr=4100))
    values = {"A": kernel_store.Address(4096), "B": array, "n": 32, "one": 1, "large": (1 << 31) + 1, "scale": 0.5}
    kernel_store.of_file(CUPY, str(path), "some", values, {"D": 8, "num_warps": 2})
    _, name, signature, constants, aligned, options, capability = asked[0]
    kinds = {"A": "*fp32", "B": "*fp16", "n": "i32", "one": "constexpr", "large": "i64", "scale": "fp32", "D": "constexpr"}
    assert (name, signature, constants) == ("some", kinds, {"one": 1, "D": 8})
    assert (aligned, options, capability) == (["A", "n"], {"num_warps": 2}, 90)
