"""`torch._dynamo.testing`: back-ends that count or keep graphs, and helpers of test cases."""

from __future__ import annotations

import functools
import re
import sys
import unittest
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest import mock

from ...compiler import compile, disable, reset
from ...core.dtypes import default
from ...core.missing import missing
from ...tensor import Tensor
from ...testing.compiling import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs, normalize_gm
from ...testing.creation import make_tensor
from ...testing.helpers import seed_everything
from ..functorch_internal.aot_autograd import aot_module_simplified
from .utils import same

__getattr__ = missing("rushlight._dynamo.testing")
__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "normalize_gm", "rand_strided", "same"]


three = 3  # a constant of a module


class AotEagerAndRecordGraphs:
    """Keeps the captured graphs and those of their forward and backward, and runs the latter op by op."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.fw_graphs: list[Any] = []
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Any:
        self.graphs.append(gm)

        def keep(kept: list[Any], part: Any, inputs: Any) -> Any:
            kept.append(part)
            return part.forward

        compilers = (functools.partial(keep, kept) for kept in (self.fw_graphs, self.bw_graphs))
        return aot_module_simplified(gm, example_inputs, *compilers)


def standard_test(
    self: unittest.TestCase,
    fn: Callable[..., Any],
    nargs: int,
    expected_ops: int | None = None,
    expected_ops_dynamic: int | None = None,
    expected_frame_count: int = 1,
) -> None:
    """Fail unless a function gives the same eagerly and as one graph, for two sets of arguments that are given twice."""
    counter = CompileCounter()
    inputs = [[make_tensor((10, 10), dtype=default.floating, device="cpu") for _ in range(nargs)] for _ in range(2)]
    expected = [fn(*each) for each in inputs]
    reset()
    compiled = compile(fn, backend=counter, fullgraph=True)
    given = [compiled(*each) for each in inputs * 2]
    reset()
    for actual, right in zip(given, expected * 2):
        self.assertTrue(same(actual, right), f"compiled: {actual}, eager: {right}")
    self.assertEqual(counter.frame_count, expected_frame_count)
    if expected_ops is not None:
        self.assertEqual(counter.op_count, expected_ops)


def reduce_to_scalar_loss(out: Any) -> Any:
    """The mean over what a model gives: of a tensor its elements, of containers their members."""
    if isinstance(out, Tensor):
        return out.sum() / out.numel()
    members = list(out.values()) if isinstance(out, dict) else out
    if not isinstance(members, (list, tuple)):
        raise NotImplementedError(f"reduce_to_scalar_loss takes tensors, lists, tuples and dicts, and not a {type(out).__name__}")
    return sum(map(reduce_to_scalar_loss, members)) / len(members)


def requires_bwd_pass(out: Any) -> bool:
    """Whether a result, or a member of one, requires a gradient."""
    if isinstance(out, (list, tuple)):
        return any(map(requires_bwd_pass, out))
    return isinstance(out, Tensor) and out.requires_grad


def reset_rng_state() -> None:
    """Seed Python's random stream, NumPy's and rushlight's."""
    seed_everything(1337)


@disable
def unsupported(first: Any, second: Any) -> Any:
    """The second of two values, by a function that no graph can hold."""
    return second


@disable
def _skipped_function_for_test_reconstruct(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def make_test_cls_with_patches(
    cls: type, cls_prefix: str, fn_suffix: str, *patches: Any, xfail_prop: str | None = None, decorator: Callable[..., Any] = lambda f: f
) -> type:
    """A class of the same tests, each under other settings: triples of a module, a name and a value."""

    def patched(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                for module, name, value in patches:
                    stack.enter_context(mock.patch.object(module, name, value))
                return test(*args, **kwargs)

        return unittest.expectedFailure(run) if xfail_prop and hasattr(test, xfail_prop) else decorator(run)

    members = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    renamed = {
        name + fn_suffix: patched(members.pop(name)) for name in list(members) if name.startswith("test_") and callable(members[name])
    }
    made = type(f"{cls_prefix}{cls.__name__}", cls.__bases__, {**members, **renamed})
    return made


def expectedFailureDynamic(fn: Any) -> Any:
    """Mark a test that fails where all sizes are dynamic."""
    fn._expected_failure_dynamic = True
    return fn


def expectedFailureCodegenDynamic(fn: Any) -> Any:
    """Mark a test that fails where all sizes are dynamic and code is generated."""
    fn._expected_failure_codegen_dynamic = True
    return fn


skipIfNotPy311 = unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11 or later")
skipIfNotPy312 = unittest.skipIf(sys.version_info < (3, 12), "needs Python 3.12 or later")
skipIfOnlyNotPy312 = unittest.skipIf(sys.version_info[:2] != (3, 12), "needs Python 3.12")
skipIfPy312 = unittest.skipIf(sys.version_info >= (3, 12), "needs Python 3.11 or earlier")
xfailIfPy312: Callable[..., Any] = unittest.expectedFailure if sys.version_info >= (3, 12) else lambda fn: fn


def remove_trailing_space(code: str) -> str:
    """A text without blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in code.split("\n"))


def empty_line_normalizer(code: str) -> str:
    """A text in which one empty line stands for several."""
    return re.sub(r"[\r\n]+", "\n", code)


def rand_strided(size: Sequence[int], stride: Sequence[int], dtype: Any = None, device: str | Any = "cpu", extra_size: int = 0) -> Tensor:
    """A tensor of random elements with such sizes and strides, over memory that may have more elements behind them."""
    needed = sum((each - 1) * step for each, step in zip(size, stride)) + 1 + extra_size if all(size) else extra_size
    memory = make_tensor((needed,), dtype=dtype or default.floating, device=device)
    return memory.as_strided(tuple(size), tuple(stride))  # type: ignore[no-any-return]
