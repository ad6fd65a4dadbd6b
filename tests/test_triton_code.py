"""Triton code: the kernels of schedules, run by Triton's interpreter on CPU tensors, give what eager mode gives."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from native_samples import OPS, Case, same
from samples import samples_of
from test_kernel_plan import PROGRAMS, captured, random_program

import rushlight as torch
from rushlight import nn
from rushlight.codegen.triton import TARGET
from rushlight.codegen.triton.module import GeneratedModule
from rushlight.core.base import Spec, make
from rushlight.core.declare import table
from rushlight.core.devices import CPU
from rushlight.nn import functional as F
from rushlight.passes.decompose import Declined, decompose
from rushlight.schedule import memory_plan
from rushlight.schedule.schedule import Schedule
from rushlight.schedule.tensor_ir import elements

triton = pytest.importorskip("triton")
pytestmark = [
    pytest.mark.skipif(not triton.knobs.runtime.interpret, reason="kernels run here by Triton's interpreter (TRITON_INTERPRET=1)"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

from rushlight.backends.triton_code import compile_graph, interpreted  # noqa: E402
from rushlight.runtime.cuda.kernel_store import _FUNCTIONS, GeneratedKernel  # noqa: E402
from rushlight.runtime.cuda.schedule_run import KernelFailed, TritonSchedule  # noqa: E402


def scheduled(graph: Any, arrays: list[Any]) -> Schedule:
    examples = [Spec(each.shape, each.dtype, elements(each), CPU) for each in arrays]
    return Schedule(decompose(graph, examples, lambda name: None), [each.element_strides for each in examples], TARGET)


def run(graph: Any, arrays: list[Any]) -> tuple[TritonSchedule, list[Any]]:
    program = TritonSchedule(scheduled(graph, arrays), CPU)
    return program, [each._array for each in program(tuple(make(each) for each in arrays))]


def check(function: Any, *inputs: Any, rtol: float = 1e-5) -> TritonSchedule:
    """What the kernels compute is what eager mode computes; gives the program."""
    graph, arrays, wanted = captured(function, *inputs)
    program, results = run(graph, [each.copy() for each in arrays])
    for found, expected in zip(results, wanted, strict=True):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol, rtol)
    return program


# -- every op ----------------------------------------------------------------------------------------------------------

GROUPS = 12
EXTREME = {"special_ndtri": 30, "special_log_ndtr": 30}  # how much looser results may be that cancel


@pytest.mark.parametrize("group", range(GROUPS))
def test_samples(group: int) -> None:
    """Samples of every op of which something becomes a kernel."""
    ran = 0
    for op in OPS[group::GROUPS]:
        kernels = 0
        for sample in samples_of(op):
            if kernels >= 2:
                break
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                case = Case(op, sample)
                if case.graph is None or any(step < 0 for each in case.tensors for step in each._array.strides):
                    continue
                arrays = [each._array for each in case.tensors]
                try:
                    schedule = scheduled(case.graph, arrays)
                except Declined:
                    break
                if not GeneratedModule(schedule).kernels:
                    continue
                torch.manual_seed(0)
                _, results = run(case.graph, arrays)
                for found, wanted in zip(results, case.wanted, strict=True):
                    same(found, wanted._array, EXTREME.get(op.name, 1), about=f"{op.name} {sample}")
            kernels, ran = kernels + 1, ran + 1
    assert ran


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64", "int32", "uint8"])
def test_other_types(kind: str) -> None:
    names = "add mul div maximum relu clamp sum amax softmax layer_norm exp where_elements abs neg"
    dtype = np.dtype(getattr(__import__("ml_dtypes"), kind) if kind == "bfloat16" else kind)
    ran = 0
    for op in map(table.__getitem__, names.split()):
        for sample in list(samples_of(op))[:4]:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                case = Case(op, sample, dtype)
                if case.graph is None:
                    continue
                try:
                    _, results = run(case.graph, [np.ascontiguousarray(each._array).reshape(each.shape) for each in case.tensors])
                except Declined:
                    continue
                ran += 1
                for found, wanted in zip(results, case.wanted, strict=True):
                    same(found, wanted._array, about=f"{op.name} {sample}")
    assert ran > 10


# -- programs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    torch.manual_seed(0)
    function, shape = PROGRAMS[name]
    check(function, torch.randn(*shape), rtol=2e-3 if "halves" in name else 2e-4 if "sums" in name or "long" in name else 2e-5)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    program, shape = random_program(random.Random(seed))
    torch.manual_seed(seed)
    check(program, torch.randn(*shape), torch.randn(*shape), rtol=1e-4)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: (F.softmax(x, -1), F.layer_norm(x, x.shape[-1:])), (2, 20000)),
        (lambda x: (F.softmax(x, 0), x.amax(0), (x > 0).all(0)), (2500, 4)),
        (lambda x: x.exp().sum(), (1, 40000)),
        (lambda x: (x.sum(1), x.prod(1), x.amin((0, 2))), (3, 0, 4)),
        (lambda x: x * 2, (0, 4)),
    ],
    ids=["long rows", "long columns", "a sum of everything", "empty rows", "nothing"],
)
def test_looped_kernels(function: Any, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    if "amin" in function.__code__.co_names and 0 in shape:
        function = lambda x: (x.sum(1), x.prod(1))  # a minimum of nothing is refused
    check(function, torch.randn(*shape), rtol=1e-4)


def test_not_a_number_is_kept() -> None:
    x = torch.tensor([[1.0, float("nan"), 3.0], [1.0, 2.0, float("inf")], [0.0, -0.0, -1.0]])
    check(lambda x: (x.amax(1), x.amin(1), torch.maximum(x, x.flip(1)), F.relu(x), F.softmax(x, 1), -x, x.clamp(-1, 1)), x)
    (negative,) = run(*captured(lambda x: -x, x)[:2])[1]
    assert np.signbit(negative[2]).tolist() == [True, False, False]


def test_inputs_that_are_written_to() -> None:
    def step(weight: Any, grad: Any) -> Any:
        weight.mul_(0.9).sub_(grad * 0.1)
        return (weight * weight).sum()

    weight, grad = torch.randn(6, 5), torch.randn(6, 5)
    again, compiled = weight.clone(), torch.compile(step, backend=interpreted)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(again, grad), step(weight, grad))
    torch.testing.assert_close(again, weight)


# -- models ------------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out, self.up, self.down = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(self.first(x)).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Sequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.out = nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 5)

    def forward(self, x: Any) -> Any:
        return self.out(self.rnn(x)[0][:, -1])


MODELS: dict[str, tuple[Any, Any]] = {
    "MLP": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 5)), lambda: torch.randn(6, 8)),
    "CNN": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)),
        lambda: torch.randn(4, 3, 8, 8),
    ),
    "GPT": (lambda: nn.Sequential(nn.Embedding(20, 16), Block(), Block(), nn.Linear(16, 5), nn.Flatten(0, 1)), lambda: torch.randint(0, 20, (2, 6))),
    "LSTM": (Sequence, lambda: torch.randn(3, 4, 8)),
}  # fmt: skip


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize("name", MODELS)
def test_training_steps(name: str, optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole step, compiled, trains to eager mode's losses, and nothing is left to eager mode but calls of ops."""
    programs: list[Any] = []
    original = interpreted.compile
    monkeypatch.setattr(interpreted, "compile", lambda *args: programs.append(original(*args)) or programs[-1])

    def losses(compiled: bool) -> list[float]:
        torch.manual_seed(1)
        make_model, make_input = MODELS[name]
        model, x = make_model(), make_input()
        options = {"momentum": 0.9} if optimizer == "SGD" else {}
        chosen = getattr(torch.optim, optimizer)(model.parameters(), 0.01, **options)
        with torch.no_grad():
            count = len(model(x))
        y = torch.arange(count) % 5

        def step(x: Any, y: Any) -> Any:
            chosen.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            chosen.step()
            return loss

        torch.manual_seed(2)
        function = torch.compile(step, backend=interpreted, fullgraph=True) if compiled else step
        return [function(x, y).item() for _ in range(4)]

    assert losses(True) == pytest.approx(losses(False), rel=1e-4)
    assert any("launches of Triton kernels" in each.describe() for each in programs), [each.describe() for each in programs]


@pytest.mark.parametrize("name", MODELS)
def test_gradients(name: str) -> None:
    torch.manual_seed(1)
    make_model, make_input = MODELS[name]
    model, x = make_model().eval(), make_input()
    compiled = torch.compile(model, backend=interpreted, fullgraph=True)
    for _ in range(2):
        found = compiled(x)
        gradients = torch.autograd.grad(found.square().sum(), model.parameters())
    expected = model(x)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected.square().sum(), model.parameters()), rtol=1e-3, atol=1e-4)


def test_views_are_joined_without_copies() -> None:
    def program(a: Any, b: Any) -> Any:
        joined = torch.cat([each.transpose(1, 2).reshape(2, 3, 8) for each in (a, b)], -1)
        return joined * 2, torch.cat([a.transpose(1, 2).reshape(2, 3, 8), b[:, 0, :, :1]], -1)

    compiled, a, b = torch.compile(program, backend=interpreted), torch.randn(2, 4, 3, 2), torch.randn(2, 4, 3, 2)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(a, b), program(a, b))
    assert described(compiled).count(": reshape_copy") == 1, described(compiled)


def test_numbers_need_no_kernel() -> None:
    """The gradient of a mean is in the places where it is read."""
    x = torch.randn(4, 8, requires_grad=True)
    compiled = torch.compile(lambda x: torch.autograd.grad((x * x).mean(), x)[0], backend=interpreted)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), x.detach() / 16)
    assert described(compiled).count("@triton.jit") == 1, described(compiled)


def test_updates_of_all_parameters_are_one_launch() -> None:
    """Kernels that do not depend on each other are launched together, and those that are the same share their code."""

    def step(*tensors: Any) -> None:
        for weight, grad in zip(tensors[:8], tensors[8:]):
            weight.mul_(0.9).sub_(grad * 0.1)

    shapes = [(4, 5), (7,), (4, 5), (3, 3), (1,), (300,), (4, 5), (2, 600)]
    weights, grads = ([torch.randn(shape) for shape in shapes] for _ in range(2))
    expected = [weight * 0.9 - grad * 0.1 for weight, grad in zip(weights, grads)]
    compiled = torch.compile(step, backend=interpreted)
    with torch.no_grad():
        compiled(*map(torch.clone, weights), *grads)  # which is captured
        compiled(*weights, *grads)
    torch.testing.assert_close(weights, expected)
    program = compiled._compiled.cache.all()[0].executable.plain.last
    assert program.launches == 1 and program.text.count("def part_") < 8


def test_results_of_ops_are_let_go_of() -> None:
    """What an op gives is freed after its last use, and what the graph returns is kept."""
    program = check(lambda x: ((x @ x).sin() @ x + x @ x.t(), x @ x), torch.randn(8, 8), rtol=1e-4)
    freed = re.findall(r"memory\[(\d+)\](?= =)", program.text)
    assert len(freed) == len(set(freed)) == len(program.calls) - 1


def test_layers_share_kernels() -> None:
    """The kernels of equal layers are one, whatever their values are called; the names do not depend on what else is in the graph."""
    torch.manual_seed(0)

    def layers(count: int) -> Any:
        def run(x: Any) -> Any:
            for _ in range(count):
                x = F.gelu(F.layer_norm(x @ x, (8,))) + 1
            return x

        return run

    one, four = (check(layers(count), torch.randn(8, 8), rtol=1e-3) for count in (1, 4))
    assert (one.launches, four.launches) == (1, 4)
    assert one.text.count("@triton.jit") == four.text.count("@triton.jit") == 1
    assert re.search("def fused_\\w+", one.text)[0] == re.search("def fused_\\w+", four.text)[0]


def test_what_depends_on_a_kernel_comes_after_it() -> None:
    """Each value is read by the next op, in and out of kernels, and memory is used again and again."""

    def program(x: Any, y: Any) -> Any:
        a, b = x * 2, y + 1
        c = a @ b
        d, e = a - c, b * c
        f = (d @ e).softmax(0)
        return f * a, (f + e) @ x, d.cumsum(0) * 2 + y

    check(program, torch.randn(9, 9), torch.randn(9, 9), rtol=1e-4)


# -- the source --------------------------------------------------------------------------------------------------------


def test_the_source_is_a_module_with_the_users_lines(tmp_path: Path) -> None:
    program = check(lambda x: F.softmax(x * 2, -1), torch.randn(4, 10))
    tree = ast.parse(program.text)
    assert [each.name for each in tree.body if isinstance(each, ast.FunctionDef)][-1] == "run"
    assert f"# {Path(__file__).name}:" in program.text and "F.softmax(x * 2, -1)" in program.text
    file = tmp_path / "kernels.py"
    file.write_text(program.text)
    spec = importlib.util.spec_from_file_location("kernels", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, out = torch.randn(4, 10), torch.empty(4, 10)
    module.run([x, out], None)
    torch.testing.assert_close(out, F.softmax(x * 2, -1))


def test_text_of_a_kernel() -> None:
    graph, arrays, _ = captured(lambda x: F.softmax(x, -1), torch.randn(40, 100))
    text = GeneratedModule(scheduled(graph, arrays)).kernels[0].text
    assert re.sub("sum_[0-9a-f]{6}", "sum_DIGEST", text).splitlines()[1:] == [
        "@triton.jit",
        "def fused_amax_sub_exp_sum_DIGEST(input_0_ptr, mul_ptr, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):",
        "    x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]",
        "    r = tl.arange(0, RBLOCK)[None, :]",
        "    r_mask = r < 100",
        "    input_0 = tl.load(input_0_ptr + 100 * x + r, r_mask)",
        '    amax = reduce_max(tl.where(tl.broadcast_to(r_mask, [XBLOCK, RBLOCK]), input_0, float("-inf")))',
        "    t = tl.exp(input_0 - amax)",
        "    sum_1 = tl.sum(tl.where(tl.broadcast_to(r_mask, [XBLOCK, RBLOCK]), t, 0), 1)[:, None]",
        "    reciprocal = tl.div_rn(1.0, sum_1)",
        "    mul = t * reciprocal",
        "    tl.store(mul_ptr + 100 * x + r, mul, r_mask)",
    ]


def test_explain_and_logs_have_the_source() -> None:
    compiled = torch.compile(lambda x: x.sin() * 2, backend=interpreted)
    with torch.no_grad():
        compiled(torch.ones(3))
        compiled(torch.ones(3))
    assert "@triton.jit" in str(torch.compiler.explain(compiled)(torch.ones(3))) or "@triton.jit" in described(compiled)
    program = (
        "import rushlight as torch\nfrom rushlight.backends.triton_code import interpreted\n"
        "f = torch.compile(lambda x: x.sin() * 2, backend=interpreted)\nwith torch.no_grad():\n    f(torch.ones(3)), f(torch.ones(3))"
    )
    environment = {**os.environ, "RUSHLIGHT_LOGS": "triton"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert "@triton.jit" in done.stderr and "tl.sin(" in done.stderr


def described(compiled: Any) -> str:
    return "\n".join(each.executable.describe() for each in compiled._compiled.cache.all())


COMPILING = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
sys.path.insert(0, {tests!r})
from test_kernel_plan import PROGRAMS, captured
import rushlight as torch
from rushlight.codegen.triton import TARGET
from rushlight.codegen.triton.module import GeneratedModule
from test_triton_code import TYPES, scheduled

for name in ("rows", "long rows", "types"):
    function, shape = PROGRAMS[name]
    generated = GeneratedModule(scheduled(*captured(function, torch.randn(*shape))[:2]))
    module = generated.load()
    for kernel in generated.kernels:
        function = getattr(module, kernel.name)
        buffers = kernel.plan.buffers if hasattr(kernel, "plan") else kernel.buffers
        constants = dict(each.split("=") for each in kernel.options.split(", ")[:-1])
        signature = {{each: "*" + TYPES[str(value.dtype)] for each, value in zip(function.arg_names, buffers)}}
        places = {{(function.arg_names.index(each),): int(size) for each, size in constants.items()}}
        source = ASTSource(fn=function, signature={{**signature, **dict.fromkeys(constants, "constexpr")}}, constexprs=places)
        assert "ptx" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm, kernel.text
print("compiled")
"""
TYPES = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "int32": "i32", "int64": "i64", "bool": "i1"}


def test_kernels_compile_for_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET")
    command = [sys.executable, "-c", COMPILING.format(tests=str(Path(__file__).parent))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.strip() == "compiled", done.stderr


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_the_target_cuda_wants_cuda_tensors() -> None:
    with pytest.raises(RuntimeError, match=r"takes tensors on a GPU, but the inputs of the graph are on cpu"):
        torch.compile(lambda x: x + 1, target="cuda")(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"target"):
        torch.compile(lambda x: x + 1, target="abacus")
    torch.testing.assert_close(torch.compile(lambda x: x + 1, target="cpu")(torch.ones(3)), torch.full((3,), 2.0))


def test_a_kernel_that_does_not_compile_is_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Its graph runs op by op, and nothing has been written before."""

    def prepare(self: Any, args: Any) -> None:
        name = self.records[0].name
        raise KernelFailed(f"{name}: PTXASError: no registers\n{self.sources[name]}")

    monkeypatch.setattr(TritonSchedule, "prepare", prepare)

    def step(x: Any) -> Any:
        x.mul_(2)
        return x.sum()

    compiled, x = torch.compile(step, backend=interpreted), torch.ones(3)
    with torch.no_grad():
        assert [compiled(x).item() for _ in range(3)] == [6, 12, 24]
    assert "PTXASError" in caplog.text and "@triton.jit" in caplog.text and "runs op by op" in caplog.text
    assert "does not compile" in described(compiled)


def test_several_threads() -> None:
    compiled = torch.compile(lambda x: F.softmax((x @ x).sin(), -1) * 2, backend=interpreted)
    inputs = [torch.randn(16, 16) for _ in range(6)]
    with torch.no_grad():
        expected = [F.softmax((x @ x).sin(), -1) * 2 for x in inputs]
        compiled(inputs[0]), compiled(inputs[0])
        program = compiled._compiled.cache.all()[0].executable.plain.last
        with ThreadPoolExecutor(3) as pool:
            for found, wanted in zip(pool.map(lambda x: program((x,))[0], inputs), expected):
                torch.testing.assert_close(found, wanted)


def test_values_use_the_memory_of_results_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values whose last use comes before a result is computed are in its memory, side by side where they are live together."""

    def program(x: Any, w: Any) -> Any:
        first = (x @ w).tanh()
        second = (first @ w).sigmoid()
        third = (second @ w).exp() + (first @ w).cos()
        return torch.cat([third @ w, third @ x]).sin(), second.sum(0)

    inputs = torch.randn(8, 8), torch.randn(8, 8) / 3
    plain = check(program, *inputs)
    assert not plain.schedule.lent  # small results do not lend
    monkeypatch.setattr(memory_plan, "LEAST_LENT", 1)
    lending = check(program, *inputs)
    assert len(lending.schedule.lent) >= 2 and lending.schedule.arena < plain.schedule.arena
    for value, (root, offset) in lending.schedule.lent.items():
        assert offset + value.size * value.dtype.itemsize <= root.size * root.dtype.itemsize


def test_values_on_another_device_are_declined() -> None:
    module = torch.fx.symbolic_trace(lambda x: (x + 1,))
    with pytest.raises(Declined, match="on meta"):
        compile_graph(torch.fx.symbolic_trace(lambda x: (x.to("meta") + 1,)), (torch.ones(3),), CPU)
    assert compile_graph(module, (torch.ones(3),), CPU)((torch.ones(3),))[0].tolist() == [2, 2, 2]


def literals(x: Any) -> Any:
    half, whole = torch.full_like(x, 2.0, dtype=torch.bfloat16), torch.full_like(x, 3, dtype=torch.int32)
    return (
        half.log(),
        half * 3 <= 7,
        -half / 3,
        half.float().tanh(),
        torch.maximum(half, -half).exp(),
        ~whole,
        -whole,
        whole / 7,
        half.logical_not(),
        whole.long().sum(),
        torch.copysign(torch.full_like(x, 0.0, dtype=torch.float64), x.double()),
    )


def test_formulas_of_literals_compile() -> None:
    """Numbers alone have no dtype in Triton's language, unless they are given one: the kernels compile for a GPU."""
    program = check(literals, torch.ones(5), rtol=1e-2)
    for name, source in program.sources.items():
        about = next(each for each in program.records if each.name == name)
        kernel = GeneratedKernel(SimpleNamespace(), "\n".join(program.text.split("\ndef run(")[:1]), name, about.dtypes, about.constants)
        job = {"source": kernel.source, "functions": str(_FUNCTIONS), "name": name, "signature": kernel.signature, "constants": kernel.constants,
               "aligned": kernel.parameters, "options": kernel.options, "capability": 90}  # fmt: skip
        code = "import json, sys; from rushlight.runtime.cuda.compile_server import compile_kernel as c; print(len(c(json.load(sys.stdin))[1]))"
        done = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(job), env={**os.environ, "TRITON_INTERPRET": "0"}, text=True, capture_output=True
        )
        assert done.returncode == 0 and int(done.stdout) > 100, source + done.stderr[-2000:]
