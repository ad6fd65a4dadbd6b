"""The native back-end beyond results: the code cache on disk, dynamic sizes, failures, descriptions and logs."""

from __future__ import annotations

import importlib.util
import logging
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.processes import start_python

import rushlight as torch
from rushlight import nn

if importlib.util.find_spec("llvmlite") is None:
    pytest.skip("native code needs llvmlite: pip install llvmlite", allow_module_level=True)

from rushlight.backends import aot, native
from rushlight.backends.native.shape_templates import Inputs
from rushlight.codegen.llvm import vector_math
from rushlight.runtime.cpu import code_cache
from rushlight.runtime.cpu.jit import jit

# -- the cache ---------------------------------------------------------------------------------------------------

PROGRAM = """
import rushlight as torch
from rushlight import nn
from rushlight.runtime.cpu.jit import jit
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 1))
compiled = torch.compile(model)
x = torch.randn(5, 8)
for _ in range(3):
    model.zero_grad()
    loss = compiled(x).square().sum()
    loss.backward()
print(jit().emitted, float(loss).hex(), float(model[0].weight.grad.sum()).hex())
"""


def start(folder: pathlib.Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment)


def outcome(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.split()


def test_another_process_finds_the_code(tmp_path: pathlib.Path) -> None:
    """Two processes fill the cache at the same time; a third compiles nothing, and one that finds damaged entries all of them."""
    both = [start(tmp_path), start(tmp_path)]
    first, second = (outcome(each) for each in both)
    assert first[1:] == second[1:]
    entries = list((tmp_path / "native").iterdir())
    assert 2 <= len(entries) <= int(first[0]) + int(second[0]) and all(each.suffix == ".code" for each in entries)
    third = outcome(start(tmp_path))
    assert third == ["0", *first[1:]]
    for number, each in enumerate(entries):
        content = each.read_bytes()
        each.write_bytes([content[:-9], content[:40], b"", content[:60] + bytes([content[60] ^ 255]) + content[61:]][number % 4])
    assert outcome(start(tmp_path)) == [str(len(entries)), *first[1:]]
    assert outcome(start(tmp_path))[0] == "0"


def test_the_cache_is_bounded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path))
    kept = code_cache.Cache()
    for number in range(10):
        kept.store(f"{number}", bytes(1000))
        os.utime(tmp_path / "native" / f"{number}.code", (1000 + number, 1000 + number))
    assert kept.find("3") == bytes(1000)  # used just now
    code_cache.shrink(tmp_path / "native", 5000)
    assert sorted(each.stem for each in (tmp_path / "native").iterdir()) == ["3", "7", "8", "9"]
    assert kept.find("0") is None


def test_a_cache_that_can_not_be_written(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path / "file"))
    kept = code_cache.Cache()
    kept.store("a", b"code")
    assert kept.broken and kept.find("a") is None
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", "")
    assert code_cache.folder() is None


# -- sizes -------------------------------------------------------------------------------------------------------


def test_another_batch_size_is_not_compiled() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))
    compiled = torch.compile(model, dynamic=True)
    for gradients in (False, True):
        with torch.set_grad_enabled(gradients):
            for size in (20, 20):
                compiled(torch.randn(size, 16)).sum()
            if gradients:
                compiled(torch.randn(20, 16)).sum().backward()
            before = jit().emitted
            for size in (21, 33, 48, 13):
                x = torch.randn(size, 16)
                found = compiled(x)
                if gradients:
                    model.zero_grad()
                    found.sum().backward()
                    slopes = [each.grad.numpy().copy() for each in model.parameters()]
                    model.zero_grad()
                    model(x).sum().backward()
                    for one, other in zip(slopes, model.parameters(), strict=True):
                        np.testing.assert_allclose(one, other.grad.numpy(), 1e-4, 1e-5)
                np.testing.assert_allclose(found.detach().numpy(), model(x).detach().numpy(), 1e-5, 1e-5)
            assert jit().emitted == before


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of sizes, others are forgotten; where each is compiled by itself, a graph runs as in eager mode, and nothing is remembered."""
    compiled = torch.compile(lambda x: (x * 2).sum(), dynamic=True)
    for size in range(2, 2 + aot.GENERAL + 8):
        x = torch.ones(size, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None and x.grad.tolist() == [2.0] * size
    (_, part), *_ = native.printer.parts_of(compiled)
    entry = compiled._compiled.cache.entries[None][-1].executable
    assert len(entry.differentiated.plans) <= aot.GENERAL and len(part.programs) <= native.backend.LIMIT
    monkeypatch.setattr(Inputs, "values", lambda self, arrays: None)
    compiled = torch.compile(lambda x: (x * 3).sum(), dynamic=True)
    for size in range(2, 2 + 2 * aot.LIMIT):
        x = torch.ones(size, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None and x.grad.tolist() == [3.0] * size
    assert len(compiled._compiled.cache.entries[None][-1].executable.differentiated.plans) <= aot.LIMIT


def test_memory_that_is_not_there() -> None:
    compiled = torch.compile(lambda x: x * 2, dynamic=True)
    with torch.no_grad():
        for _ in range(2):
            compiled(torch.ones(1).expand(4))
        with pytest.raises(MemoryError):
            compiled(torch.ones(1).expand(1 << 46))
        assert compiled(torch.ones(1).expand(5)).tolist() == [2.0] * 5


# -- failures ----------------------------------------------------------------------------------------------------


def wrong_text(c: Any, x: Any) -> Any:
    return c.let("float", f"fadd float {x.name}, %nowhere")


def no_text(c: Any, x: Any) -> Any:
    raise ZeroDivisionError("a mistake")


@pytest.mark.parametrize("mistake", [wrong_text, no_text])
def test_a_group_that_fails_is_called(mistake: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The ops of the group run as in eager mode, which is said; the rest is native."""
    monkeypatch.setitem(vector_math.UNARY, "tanh", mistake)

    def step(x: Any, y: Any) -> Any:
        return torch.sort((x * 2).tanh())[0] @ y.exp()

    x, y = torch.randn(3, 4), torch.randn(4, 5)
    compiled = torch.compile(step)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "rushlight.native"):
        compiled(x, y)
        np.testing.assert_allclose(compiled(x, y).numpy(), step(x, y).numpy(), 1e-5, 1e-5)
    assert "group over [3, 4]: mul, tanh" in caplog.text
    text = native.describe(compiled)
    assert "call: tanh" in text and "group over [4, 5]: exp" in text and "note: group over [3, 4]: mul, tanh" in text


# -- for people --------------------------------------------------------------------------------------------------


def work(x: Any) -> Any:
    y = x.sin() * 3
    return torch.sort(y)[0] + 1


def test_steps_measure_themselves_where_that_is_wanted() -> None:
    with native.timed(), torch.no_grad():
        compiled = torch.compile(lambda x: ((x * 2).exp() @ x).sum(), backend="native")
        for _ in range(4):
            compiled(torch.ones(8, 8))
    lines = [line for line in native.describe(compiled).splitlines() if "group" in line or "BLAS" in line or "routine" in line]
    assert lines and all("µs in" in line and line.split("µs in")[1].split()[0] in ("3", "4") for line in lines)
    other = torch.compile(lambda x: x * 3, backend="native")
    with torch.no_grad():
        other(torch.ones(3)), other(torch.ones(3))
    assert "µs in" not in native.describe(other)


def test_explain_lists_what_is_called() -> None:
    x = torch.randn(5)
    for target in (work, torch.compile(work)):
        text = str(torch.compiler.explain(target)(x))
        assert "call: sort" in text and "group over [5]: sin, mul" in text
    compiled = torch.compile(lambda x: torch.nonzero(x * 2))
    with torch.no_grad():
        compiled(x), compiled(x)
    assert "runs as in eager mode: the shape of nonzero depends on data" in str(torch.compiler.explain(compiled)(x))


def test_dump(tmp_path: pathlib.Path) -> None:
    x = torch.randn(5, requires_grad=True)
    compiled = torch.compile(work)
    for _ in range(2):
        compiled(x).sum().backward()
    native.dump(compiled, tmp_path / "kernels.ll")
    text = (tmp_path / "kernels.ll").read_text()
    assert "==== forward ====" in text and "==== backward ====" in text
    assert "y = x.sin() * 3" in text and "b1[i0] = sin(b0[i0]) * 3.0" in text and "define void @kernel_" in text
    with pytest.raises(ValueError, match="after it was called"):
        native.dump(work, tmp_path / "nothing.ll")


def test_logs(tmp_path: pathlib.Path) -> None:
    """``RUSHLIGHT_LOGS=native`` shows groups and code."""
    done = start_python("-c", PROGRAM, RUSHLIGHT_LOGS="native", RUSHLIGHT_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0 and "group over [5, 8]" in done.stderr and "define void @" in done.stderr
