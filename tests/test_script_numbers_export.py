"""Numbers of loops in exported scripts: what is 0 or 1 in the first iteration, and negative in another, stays a number and no constant."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import jit

pytest.importorskip("onnxruntime")

EXPRESSIONS = """
x[i:] | x[:i] | x[i:i + 1] | x[-1 - i:] | x[i::2] | x[::i + 1] | x[i - 1] | x[i - 2] | x[1 - i] | x[x.size(0) - 1 - i] | x[i:x.size(0) - i]
x[:i - 1] | x[i - 1:] | x.reshape(1, -1)[:, i] | x.reshape(1, -1)[:, i:] | x[torch.tensor(i)] | len(x[i:]) * x | torch.roll(x, i) * x | x.roll(i - 1) * x
x.narrow(0, i, 1) | x.narrow(0, 0, i + 1) | x.narrow(0, x.size(0) - 1 - i, 1) | x.select(0, i) | x.index_select(0, torch.tensor([i])) | x.repeat(i + 1)
torch.arange(i, 5) * 1.0 | torch.arange(i) * 1.0 | torch.arange(i, -1, -1) * 1.0 | torch.arange(0, 6, i + 1) * 1.0 | torch.zeros(i + 1) + 1 | torch.ones(i)
torch.full((i,), 2.0) | torch.full_like(x, i) | x.unsqueeze(0).expand(i + 1, -1) | torch.cat([x[:i], x[i + 1:]]) | torch.eye(i + 1) | x.new_zeros(i + 1) + 1
x.clamp(max=i) | x ** i | torch.pow(x, i) | i - x | x // (i + 1) | x % (i + 1) | torch.where(x > i, x, -x) | x.masked_fill(x > i, i) | x + max(i, 1)
x + min(i, 2) | x + abs(i - 2) | x * (i % 2) | x * (i // 2) | x * float(i) | x * (i / 2) | torch.zeros(abs(i - 2) + 1) + 1 | x.sum() * (1 if i == 0 else 2)
torch.tril(torch.ones(3, 3), i) | torch.triu(torch.ones(3, 3), i - 1) | torch.diagonal(x.reshape(1, -1) * x.reshape(-1, 1), i) | torch.nn.functional.pad(x, (i, 0))
torch.nn.functional.pad(x, (i, i), value=1.0) | torch.topk(x, i + 1)[0] | torch.linspace(0, 1, i + 1) | torch.tensor([i, i + 1]) * 1.0 | torch.tensor(i) * x
torch.tensor([[i, 2], [3, i]]) * 1.0 | torch.tensor(i, dtype=torch.float32) * x | torch.tensor(i * 0.5) * x | x.repeat_interleave(i + 1)
torch.nn.functional.one_hot(torch.tensor(i), 8) * 1.0
""".replace("\n", "|")
CASES = [each.strip() for each in EXPRESSIONS.split("|") if each.strip()]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    lines = ["import rushlight as torch"]
    for at, each in enumerate(CASES):
        lines += [
            f"def function_{at}(x):",
            "    t = torch.zeros(1)",
            "    for i in range(x.size(0)):",
            f"        t = t * 0.5 + ({each}).sum()",
            "    return t",
        ]
    path = tmp_path_factory.mktemp("numbers") / "numbers_of_loops.py"
    path.write_text("\n".join(lines) + "\n")
    found = importlib.util.spec_from_file_location("numbers_of_loops", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_loops(functions, case):
    function = getattr(functions, f"function_{CASES.index(case)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.onnx.export(
            jit.script(function), (torch.tensor([1.0, 2.0, 3.5]),), input_names=["x"], dynamic_axes={"x": [0]}, opset_version=17
        )
    session = onnx_session(made)
    for given in ([1.0, 2.0, 3.5], [0.5, 3.0, 1.0]):
        (got,) = session.run(None, {"x": np.array(given, np.float32)})
        np.testing.assert_allclose(got, function(torch.tensor(given)).numpy(), rtol=1e-4)
    if "torch.ones(3, 3)" not in case:
        longer = [0.5, 3.0, 1.0, 2.0, 4.0]
        (got,) = session.run(None, {"x": np.array(longer, np.float32)})
        np.testing.assert_allclose(got, function(torch.tensor(longer)).numpy(), rtol=1e-4)


FRACTIONS = """
math.sqrt(abs(v)) | math.exp(v) | math.log(abs(v) + 1) | math.log(abs(v) + 1, 3) | math.log(8, abs(v) + 2) | math.sin(v) | math.tan(v) | math.asin(v / 9) | math.acos(v / 9)
math.atan(v) | math.sinh(v) | math.cosh(v) | math.tanh(v) | math.log2(abs(v) + 1) | math.log10(abs(v) + 1) | math.log1p(abs(v)) | math.expm1(v) | math.erf(v) | math.fabs(v)
math.pow(abs(v), 1.5) | math.atan2(v, 2.0) | math.atan2(1, v) | math.hypot(v, 3) | math.fmod(v, 2) | math.copysign(3, v) | math.floor(v) | math.ceil(v) | math.trunc(v)
round(v) | round(v * 2) | round(v, 1) | round(n) | int(v) | int(v * 3) | abs(v) | max(v, 0.5) | min(v, n) | v // 1 | v % 2 | -v | v ** 2 | n / 2 | n // 2 | n % 3 | float(n) + 0.5
(1 if math.isnan(v) else 2) | (1 if math.isinf(v) else 2) | (1 if math.isfinite(v) else 2) | (v if v > n else n * 2.0)
""".replace("\n", "|")
FUNCTIONS = [each.strip() for each in FRACTIONS.split("|") if each.strip()]


def test_functions_of_numbers_from_tensors(tmp_path):
    lines = ["import math", "import rushlight as torch"]
    for at, each in enumerate(FUNCTIONS):
        lines += [f"def function_{at}(x, s, k):", "    v = float(s)", "    n = int(k)", f"    return x * ({each})"]
    path = tmp_path / "functions_of_numbers.py"
    path.write_text("\n".join(lines) + "\n")
    found = importlib.util.spec_from_file_location("functions_of_numbers", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    for at, case in enumerate(FUNCTIONS):
        function = getattr(module, f"function_{at}")
        exported = torch.onnx.export(jit.script(function), (torch.ones(2), torch.tensor(2.6), torch.tensor(3)), opset_version=17)
        for value, number in ((2.6, 3), (-1.2, 2), (0.5, -4), (3.5, 7)):
            args = (torch.tensor([1.0, 2.0]), torch.tensor(value), torch.tensor(number))
            np.testing.assert_allclose(
                exported.run(*args)[0].numpy(), function(*args).numpy(), rtol=1e-4, atol=1e-5, err_msg=f"{case} of {value} and {number}"
            )
