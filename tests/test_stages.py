"""The printed stages of a compilation, from the captured graph to LLVM IR."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

from support.processes import start_python

import rushlight
from rushlight.stages import stages

NATIVE = importlib.util.find_spec("llvmlite") is not None


class Tempered(rushlight.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, temperature: float) -> Any:
        weights = rushlight.softmax(x / temperature, -1)
        ctx.save_for_backward(weights)
        ctx.temperature = temperature
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (weights,) = ctx.saved_tensors
        return weights * (grad - (grad * weights).sum(-1, keepdim=True)) / ctx.temperature, None


def loss(x: Any) -> Any:
    return Tempered.apply(x, 2.0).square().sum()


def test_every_stage_of_a_function_is_there() -> None:
    found = {each.name: each.text for each in stages(loss, rushlight.ones(4, 8, requires_grad=True))}
    halves = [f"{half}{stage}" for half in ("forward", "backward") for stage in (" graph", ", decomposed", ", scheduled", ", LLVM IR")]
    expected = ["guards", "captured graph", "joint graph", *halves]
    assert list(found) == [name for name in expected if NATIVE or not name.endswith(("scheduled", "LLVM IR"))]
    assert "Tempered_bwd_body" in found["captured graph"] and "softmax" in found["joint graph"]
    assert "softmax" not in found["forward, decomposed"] and "amax" in found["forward, decomposed"]
    if NATIVE:
        assert "parallel for i0 in 0..4:" in found["forward, scheduled"] and "define void @kernel" in found["backward, LLVM IR"]


def test_code_for_a_gpu_needs_none() -> None:
    found = {each.name: each.text for each in stages(loss, rushlight.ones(4, 8, requires_grad=True), for_target="cuda")}
    assert "forward, LLVM IR" not in found
    for half in ("forward", "backward"):
        assert "@triton.jit" in found[f"{half}, Triton"] and "# test_stages.py:" in found[f"{half}, Triton"]


def test_without_gradients_there_is_no_backward() -> None:
    assert not any("backward" in each.name for each in stages(loss, rushlight.ones(4, 8)))


def test_a_graph_that_cannot_be_scheduled_says_why() -> None:
    def choose(x: Any) -> Any:
        return rushlight.cond(x.sum() > 0, lambda y: y * 2, lambda y: y * 3, (x,))

    assert stages(choose, rushlight.ones(3))[-1].name.startswith("no further stage")


def test_the_command(tmp_path: Any) -> None:
    (tmp_path / "net.py").write_text("import rushlight\ndef double(x):\n    return (x * 2).sum()\n")
    done = start_python("-m", "rushlight", "explain", f"{tmp_path / 'net.py'}:double", "--input", "3", "--stages", "--json")
    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["stages"]][:3] == ["guards", "captured graph", "joint graph"]
