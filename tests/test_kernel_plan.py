"""Kernel plans: what they say, that mistakes in them are found, and that NumPy computes from them what eager mode computes."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_samples import Case, same
from samples import samples_of

import rushlight as torch
from rushlight.codegen.numpy import TARGET
from rushlight.codegen.numpy.run import Run
from rushlight.core.base import Spec
from rushlight.core.declare import table
from rushlight.nn import functional as F
from rushlight.passes.decompose import Declined, decompose
from rushlight.schedule.kernel_plan import Element, KernelPlan, RowStage
from rushlight.schedule.schedule import Schedule
from rushlight.schedule.target import Target
from rushlight.schedule.tensor_ir import elements


def scheduled(graph: Any, arrays: list[Any], target: Target = TARGET) -> Schedule:
    examples = [Spec(each.shape, each.dtype, elements(each)) for each in arrays]
    return Schedule(decompose(graph, examples, lambda name: None), [each.element_strides for each in examples], target)


def captured(function: Callable[..., Any], *inputs: Any) -> tuple[Any, list[Any], list[Any]]:
    """The graph of a function, its inputs as arrays, and its results in eager mode."""
    seen: list[Any] = []

    def backend(module: Any, examples: Any) -> Any:
        def run(*args: Any) -> Any:
            seen.append((module.graph, [each._array for each in args]))
            return module.forward(*args)

        return run

    with torch.no_grad():
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        results = compiled(*inputs)  # captures, and runs as it is
        if not seen:
            compiled(*inputs)
    (graph, arrays), *_ = seen
    return graph, arrays, [each._array for each in (results if isinstance(results, tuple) else (results,))]


def check(function: Callable[..., Any], *inputs: Any, target: Target = TARGET, rtol: float = 3e-6) -> list[KernelPlan]:
    """NumPy's results from the kernel plans are those of eager mode; gives the plans."""
    graph, arrays, wanted = captured(function, *inputs)
    run = Run(scheduled(graph, [each.copy() for each in arrays], target), arrays)
    for found, expected in zip(run.outputs(), wanted, strict=True):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol, rtol)
    return run.plans


# -- against eager mode ------------------------------------------------------------------------------------------

OPS = (
    "add sub mul div neg pow exp exp2 expm1 log log2 log10 log1p sigmoid logit sqrt rsqrt reciprocal abs sign ceil floor trunc round frac "
    "nan_to_num relu hardtanh leaky_relu elu gelu_exact gelu_tanh silu softplus logsigmoid hardsigmoid hardshrink softshrink threshold clamp "
    "maximum minimum fmax fmin eq ne lt le gt ge isnan isinf isfinite logical_and logical_not sin cos sinh cosh tanh erf erfc where_elements "
    "addcmul addcdiv lerp copysign heaviside xlogy sum mean amax amin any all softmax log_softmax layer_norm group_norm prod nansum "
    "count_nonzero remainder fmod floor_divide bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift "
    "masked_fill expand transpose permute reshape cat stack flip var std mse_loss smooth_l1_loss binary_cross_entropy_with_logits"
).split()


@pytest.mark.parametrize("name", OPS)
def test_samples(name: str) -> None:
    op, ran = table[name], 0
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for sample in samples_of(op):
            case = Case(op, sample)
            if case.graph is None:
                continue
            arrays = [each._array for each in case.tensors]
            if any(step < 0 for each in arrays for step in each.strides):
                continue  # the interpreter takes memory from its first element on
            try:
                run = Run(scheduled(case.graph, arrays), arrays)
            except Declined:
                continue
            ran += 1
            for found, wanted in zip(run.outputs(), case.wanted, strict=True):
                same(found, wanted._array, about=str(sample))
    assert ran


def rows(x: Any) -> Any:
    return F.softmax(F.layer_norm(F.gelu(x), x.shape[-1:]), -1), x.amax(-1), x.mean(), (x * x).sum(0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "rows": (rows, (40, 96)), "sums of many rows": (rows, (512, 48)), "long rows": (rows, (3, 9000)),
    "tiles": (lambda x: ((x - x.mean(0)) / x.var(0).sqrt(), F.softmax(x, 0)), (50, 300)), "the middle": (lambda x: F.softmax(x, 1), (6, 50, 7)),
    "images": (lambda x: (x.exp().sum((0, 2)), F.batch_norm(x, None, None, training=True)), (16, 5, 40)),
    "the first row": (lambda x: (x + x[0], (x * x[:1]).sum(-1), x - x[:, :1]), (40, 512)),
    "transposed": (lambda x: (x.t() + x.t().exp().sum(0), x.t().contiguous()), (30, 40)),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), (16, 64)), "types": (lambda x: (x.half() * 2, x.to(torch.int32) * 3, (x > 0).sum(0)), (7, 33)),
    "functions that are called": (lambda x: sum((x * at).exp() + (x * at).tanh() for at in range(6)), (7, 320)),
    "log softmax of halves": (lambda x: F.log_softmax(x.half(), -1), (20, 64)), "one number": (lambda x: x.sum() * 2 + x.max(), (1,)),
    "calls between kernels": (lambda x: (x.sin() @ x.cos().t()).exp().sum(0).sort()[0] * 2, (12, 12)),
}  # fmt: skip
TARGETS = {
    "vectors of 512 bits": dataclasses.replace(TARGET, vector_bits=512, chunk=4096),
    "vectors of 128 bits": TARGET,
    "no scratch memory": dataclasses.replace(TARGET, scratch_bytes=0),
    "all is recomputed": dataclasses.replace(TARGET, inline_cost=1000, recompute_cost=1000),
    "small groups": dataclasses.replace(TARGET, inline_cost=0, group_limit=3, tile=4, chunk=8, tile_chunk=4),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, target: str) -> None:
    """Whatever the target is said to be like, the plans compute the same."""
    torch.manual_seed(0)
    function, shape = PROGRAMS[name]
    tolerance = 2e-3 if "halves" in name else 2e-4 if "sums" in name or "long" in name else 2e-5
    assert check(function, torch.randn(*shape), target=TARGETS[target], rtol=tolerance)


UNARY = [
    torch.sin,
    torch.tanh,
    torch.sigmoid,
    F.gelu,
    F.relu,
    torch.abs,
    lambda x: x * 0.5 + 1,
    lambda x: -x,
    lambda x: x.t().contiguous().t(),
]
BINARY = [torch.add, torch.mul, torch.maximum, lambda a, b: torch.where(a > b, a, b * 0.5), lambda a, b: a - b.mean()]
REDUCING = [
    lambda x: F.softmax(x, -1), lambda x: F.softmax(x, 0), lambda x: x - x.amax(1, keepdim=True), lambda x: x / (1 + x.abs().sum(0, keepdim=True)),
    lambda x: F.layer_norm(x, x.shape[-1:]), lambda x: x.mean(0) + x[:1] * 0.1 + x,
]  # fmt: skip


def random_program(chance: random.Random) -> tuple[Callable[..., Any], tuple[int, int]]:
    """A program of random ops on values of one shape, and that shape."""
    steps = [
        (chance.choice((UNARY, BINARY, BINARY, REDUCING)), chance.random(), chance.random(), chance.random())
        for _ in range(chance.randint(3, 12))
    ]

    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for functions, *numbers in steps:
            function = functions[int(numbers[0] * len(functions))]
            first, second = (values[int(number * len(values))] for number in numbers[1:])
            values.append(function(first, second) if functions is BINARY else function(first))
        return values[-1], values[-2] * 2, values[-3].sum(0)

    return program, chance.choice([(5, 7), (64, 48), (200, 32), (3, 513)])


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    """Graphs of random ops on values of one shape."""
    chance = random.Random(seed)
    program, shape = random_program(chance)
    torch.manual_seed(seed)
    target = TARGETS[chance.choice(list(TARGETS))]
    check(program, torch.randn(*shape), torch.randn(*shape), target=target, rtol=1e-4)


def test_inputs_that_are_written_to() -> None:
    def step(weight: Any, grad: Any) -> Any:
        weight.mul_(0.9).sub_(grad * 0.1)
        return (weight * weight).sum()

    weight, grad = torch.randn(6, 5), torch.randn(6, 5)
    wanted = weight.numpy() * np.float32(0.9) - grad.numpy() * np.float32(0.1)
    graph, _, _ = captured(step, weight.clone(), grad)
    arrays = [weight.numpy().copy(), grad.numpy().copy()]
    Run(scheduled(graph, arrays), arrays)
    np.testing.assert_allclose(arrays[0], wanted, 1e-6)


# -- what plans say ----------------------------------------------------------------------------------------------


def plans_of(function: Callable[..., Any], *shape: int, target: Target = TARGET) -> list[KernelPlan]:
    graph, arrays, _ = captured(function, torch.randn(*shape))
    schedule = scheduled(graph, arrays, target)
    return [plan for step in schedule.steps for plan in schedule.kernel_plans(step)]


def test_text_of_a_plan() -> None:
    (plan,) = plans_of(lambda x: F.softmax(x, -1), 40, 512, target=TARGETS["vectors of 512 bits"])
    assert str(plan).splitlines() == [
        "kernel over [40, 512] (b0: float32[40, 512], b1: float32[40, 512])",
        "  parallel for i0 in 0..40:",
        "    amax.1 = -inf",
        "    for r1 in 0..512 in vectors of 32:",
        "      amax.1 = max(amax.1, b0[512*i0 + r1])",
        "    sum_1.4 = 0",
        "    for r1 in 0..512 in vectors of 32:",
        "      t0 = scaled_exp(b0[512*i0 + r1] - amax.1)",
        "      b1[512*i0 + r1] = t0",  # borrowed until the result is there
        "      sum_1.4 += t0",
        "    reciprocal.5 = 1.0 / sum_1.4",
        "    for r1 in 0..512 in vectors of 32:",
        "      b1[512*i0 + r1] = b1[512*i0 + r1] * reciprocal.5",
    ]


def test_text_of_a_schedule() -> None:
    graph, arrays, _ = captured(lambda x: (x.exp() @ x).sum(-1), torch.randn(8, 8))
    text = str(scheduled(graph, arrays))
    assert "3 steps, 256 bytes" in text and "1: call: matmul" in text and "memory: exp.1 at 0, live in steps 0..1" in text
    assert "b1[i0] = exp(b0[i0])" in text and "b1[i0] = sum_1.3" in text


def test_dimensions_are_merged() -> None:
    (plan,) = plans_of(lambda x: x * 2, 3, 4, 5)
    assert [(axis.size, axis.dims) for axis in plan.axes] == [(60, (0, 1, 2))]
    (plan,) = plans_of(lambda x: x * x[:, :, :1], 3, 4, 5)
    assert [axis.dims for axis in plan.axes] == [(0, 1), (2,)]


# -- mistakes are found ------------------------------------------------------------------------------------------


def softmax_plan() -> KernelPlan:
    (plan,) = plans_of(lambda x: F.softmax(x, -1) * 2, 40, 64)
    plan.check()
    return plan


def drop_axis(plan: KernelPlan) -> None:
    plan.axes = plan.axes[:1]


def drop_buffer(plan: KernelPlan) -> None:
    del plan.buffers[0]


def store_twice(plan: KernelPlan) -> None:
    last = plan.passes[-1]
    last.stores.append(last.stores[0])


def use_before_reduction(plan: KernelPlan) -> None:
    plan.body.reverse()


def forget_reduction(plan: KernelPlan) -> None:
    plan.passes[0].reductions.clear()


def drop_row_values(plan: KernelPlan) -> None:
    plan.body = [each for each in plan.body if not isinstance(each, RowStage)]


def split_what_is_reduced(plan: KernelPlan) -> None:
    plan.parallel = plan.inner[0]


def strides_of_another_space(plan: KernelPlan) -> None:
    element = plan.passes[0].reductions[0].expression.data
    assert isinstance(element, Element)
    object.__setattr__(element, "strides", (1,))


@pytest.mark.parametrize(
    "mistake",
    [drop_axis, drop_buffer, store_twice, use_before_reduction, forget_reduction, drop_row_values, split_what_is_reduced, strides_of_another_space],
)  # fmt: skip
def test_mistakes_are_found(mistake: Callable[[KernelPlan], None]) -> None:
    plan = softmax_plan()
    mistake(plan)
    with pytest.raises(AssertionError):
        plan.check()


def test_no_code_generator_is_needed() -> None:
    """Scheduling and NumPy's emitter load no LLVM."""
    code = (
        "import sys; sys.modules['llvmlite'] = None\n"
        "import rushlight.codegen.numpy.run\n"
        "assert not [name for name in sys.modules if name.startswith(('rushlight.codegen.llvm', 'llvmlite.'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
