"""What exports is read again, run, and exported once more at another opset, with equal results: op samples, models, and random graphs.

All samples of all ops are here; ``python tools/onnx_round_trips.py`` runs those of one op.
"""

from __future__ import annotations

import importlib.util
import random
import time

import pytest

if importlib.util.find_spec("onnx") is None or importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("needs the packages onnx and onnxruntime", allow_module_level=True)

import numpy as np
import onnx
import onnx_round_trips
from samples import makers
from test_onnx_models import MODELS

import rushlight as torch
import rushlight.onnx
from rushlight.core.declare import table

OPS = [op.name for op in table.values() if op.functional is None and op in makers]
PARTS = 16  # into which the ops are divided
SECONDS = 2  # of each run of the fuzzer


@pytest.mark.parametrize("part", range(PARTS))
def test_samples(part):
    """Every sample of each op."""
    wrong, right = [], 0
    for name in OPS[part::PARTS]:
        for _, found in onnx_round_trips.outcomes(table[name]):
            right += found == "ok"
            if found != "ok" and not found.startswith("refused"):
                wrong.append((name, found))
    assert wrong == []
    assert right > 100


@pytest.mark.parametrize("name", MODELS)
def test_models(name, tmp_path):
    """Whole models with open sizes, compiled too, and converted to another opset."""
    make, axes, inputs, sizes = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    rushlight.onnx.export(model, inputs(*sizes[0]), first, opset_version=17, dynamic_axes=axes)
    loaded = rushlight.onnx.load(first)
    rushlight.onnx.export(loaded, inputs(*sizes[0]), second, opset_version=13, dynamic_axes=axes)
    again = rushlight.onnx.load(second)
    compiled = torch.compile(loaded)
    assert onnx.load(second).opset_import[0].version == 13
    assert set(dict(loaded.named_parameters())) & set(dict(model.named_parameters()))
    for size in sizes:
        args = inputs(*size)
        expected = model(*args)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for each in (loaded, again, compiled):
            found = each(*args)
            for got, want in zip(found if isinstance(found, tuple) else (found,), expected):
                np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-3, atol=1e-4)


class RandomProgram:
    """A program of ops on matrices, drawn by chance: every value is a matrix of four columns."""

    UNARY = (
        torch.relu, torch.sigmoid, torch.tanh, torch.abs, torch.neg, lambda x: x.softmax(-1), lambda x: x.cumsum(0), lambda x: x.flip(1),
        lambda x: x.t().contiguous().view(4, -1).t(), lambda x: x.clamp(-1, 1), lambda x: x.sort(1)[0], lambda x: x[:, [3, 1, 0, 2]],
        lambda x: x - x.mean(0, keepdim=True), lambda x: torch.cat([x[1:], x[:1]]), lambda x: x.to(torch.float64).to(torch.float32),
        lambda x: torch.nn.functional.gelu(x), lambda x: torch.where(x > 0, x, 0.1 * x), lambda x: x / (1 + x.square().sum(1, keepdim=True)),
        lambda x: x.reshape(x.shape[0], 2, 2).transpose(1, 2).reshape(-1, 4), lambda x: x.round(), lambda x: x.repeat_interleave(2, 0)[::2],
    )  # fmt: skip
    BINARY = (
        torch.add, torch.sub, torch.mul, torch.maximum, lambda a, b: a @ (b.t() @ a), lambda a, b: torch.where(a > b, a, b * 2), torch.atan2,
        lambda a, b: torch.cat([a, b], 1)[:, ::2], lambda a, b: torch.stack([a, b]).mean(0), lambda a, b: torch.einsum("ij,kj->ik", a, b) @ a,
    )  # fmt: skip

    def __init__(self, seed):
        draw = random.Random(seed)
        self.steps = []
        for at in range(draw.randrange(2, 9)):
            binary = draw.random() < 0.45
            function = draw.choice(self.BINARY if binary else self.UNARY)
            self.steps.append((function, [draw.randrange(at + 1) for _ in range(1 + binary)]))

    def __call__(self, x):
        values = [x]
        for function, places in self.steps:
            values.append(function(*[values[place] for place in places]))
        return values[-1], values[len(values) // 2]


@pytest.mark.parametrize("first", [0, 100000])
def test_random_graphs(first):
    count, stop = 0, time.perf_counter() + SECONDS
    torch.manual_seed(0)
    while time.perf_counter() < stop or count < 10:
        seed = first + count
        program, x = RandomProgram(seed), torch.randn(3, 4)
        opset = (11, 13, 17, 18, 21)[count % 5]
        again = (20, 15, 12, 21, 17)[count % 5]
        dynamic = {"dynamic_axes": {"x": {0: "N"}}} if count % 2 else {}
        model = rushlight.onnx.load(rushlight.onnx.export(program, (x,), None, opset_version=opset, **dynamic).model_proto)
        other = rushlight.onnx.load(rushlight.onnx.export(model, (x,), None, opset_version=again, **dynamic).model_proto)
        for given in (x, torch.randn(5, 4)) if dynamic else (x,):
            expected = program(given)
            for loaded in (model, other):
                for got, want in zip(loaded(given), expected):
                    assert torch.allclose(got, want, rtol=1e-3, atol=1e-4), f"seed {seed}"
        count += 1
