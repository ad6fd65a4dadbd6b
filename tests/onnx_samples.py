"""Exports the samples of an op to ONNX and compares what ONNX Runtime (or onnx.reference) makes of them with the eager result."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from op_samples import convert, same_layout
from samples import samples_of
from support.results import tensors_in

import rushlight
import rushlight.onnx
from rushlight.core.base import make
from rushlight.core.dtypes import BY_NUMPY
from rushlight.onnx.errors import CheckerError, OnnxExporterError

OPSETS = (9, 11, 13, 15, 17, 18, 20, 21)
NEWEST = onnx.defs.onnx_opset_version()
onnxruntime.set_default_logger_severity(4)
MISSING_IN_RUNTIME = (
    "NOT_IMPLEMENTED", "Could not find an implementation", "Unsupported model IR", "is till opset", "is under development",
    "not currently registered or supported", "No corresponding Numpy type",
)  # fmt: skip


def newest_that_runs() -> int:
    """The newest opset that ONNX Runtime takes."""
    for opset in range(NEWEST, 0, -1):
        try:
            rushlight.onnx.export(lambda x: x + 1, rushlight.ones(1), None, opset_version=opset).session()
            return opset
        except Exception as error:
            if not any(text in str(error) for text in MISSING_IN_RUNTIME):
                raise
    raise AssertionError("ONNX Runtime takes no opset")


RUNTIME_NEWEST = newest_that_runs()
# TopK where a dimension before the axis is empty ends the whole process.
TOPK_DIVIDES_BY_ZERO = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 31)
# What NaN does in these nodes ONNX does not say, and runtimes differ from PyTorch.
NAN_IS_UNDEFINED = frozenset(
    "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
    "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices "
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d sort argsort kthvalue nanquantile unique logsumexp amax amin".split()
)
# With open sizes: reductions of nothing, and a resize that leaves the size as it is, which ONNX Runtime takes for a copy.
OPEN_SIZE_LIMITS = frozenset("median nanmedian histogram bincount diff interpolate nn_functional_interpolate".split())


class Case:
    """One sample as a function of its tensors."""

    def __init__(self, op: Any, sample: Any) -> None:
        self.op = op
        self.sample = sample
        self.tensors: list[Any] = []
        self.arguments = (
            convert(sample.args, self.take, BY_NUMPY.__getitem__),
            {name: convert(each, self.take, BY_NUMPY.__getitem__) for name, each in sample.kwargs.items()},
        )

    def take(self, value: Any) -> Any:
        self.tensors.append(make(same_layout(value)))
        return Place(len(self.tensors) - 1)

    def __call__(self, *tensors: Any) -> Any:
        def fill(value: Any) -> Any:
            if isinstance(value, Place):
                return tensors[value.index]
            if isinstance(value, (list, tuple)):
                return type(value)(fill(each) for each in value)
            return value

        args, kwargs = self.arguments
        return self.op.call(*[fill(each) for each in args], **{name: fill(each) for name, each in kwargs.items()})


class Place:
    def __init__(self, index: int) -> None:
        self.index = index


def feeds_of(program: Any, tensors: list[Any]) -> dict[str, Any]:
    return {each.name: tensor._array for each, tensor in zip(program.model_proto.graph.input, tensors)}


def reference(program: Any, feeds: dict[str, Any]) -> list[Any]:
    """The results by onnx's own evaluator."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(program.model_proto).run(None, feeds)  # type: ignore[no-any-return]


def run_model(program: Any, feeds: dict[str, Any]) -> tuple[list[Any], bool]:
    """The model's results by ONNX Runtime, or where that lacks a kernel by onnx's own evaluator; and whether by the former."""
    if TOPK_DIVIDES_BY_ZERO and any(not each.size for each in feeds.values()):
        if any(node.op_type == "TopK" for node in program.model_proto.graph.node):
            return reference(program, feeds), False
    try:
        return program.session().run(None, feeds), True
    except Exception as error:
        if not any(text in str(error) for text in MISSING_IN_RUNTIME):
            raise
        return reference(program, feeds), False


def export_outcomes(op: Any, opset: int, dynamic: bool = False) -> list[tuple[Any, str]]:
    """What became of each sample of an op: ``ok``, ``refused: ...`` (a clear error), or what is wrong.

    ``dynamic`` exports with every size of every input open.
    """
    outcomes: list[tuple[Any, str]] = []
    for sample in samples_of(op):
        case = Case(op, sample)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rushlight.manual_seed(0)
                expected = tensors_in(case(*case.tensors))
        except Exception:
            continue  # a call that is refused
        if not expected:
            continue
        outcome = check_case(case, expected, opset, dynamic)
        if dynamic and op.name in OPEN_SIZE_LIMITS and outcome != "ok":
            outcome = f"refused: a known limit of open sizes: {outcome}"
        outcomes.append((sample, outcome))
    return outcomes


def check_case(case: Case, expected: list[Any], opset: int, dynamic: bool) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            axes = {f"tensors_{at}": list(range(each.ndim)) for at, each in enumerate(case.tensors)} if dynamic else None
            rushlight.manual_seed(0)
            program = rushlight.onnx.export(case, tuple(case.tensors), None, opset_version=opset, dynamic_axes=axes)
    except CheckerError as error:
        return f"invalid: {error}"
    except OnnxExporterError as error:
        return f"refused: {error}"
    try:
        feeds = feeds_of(program, case.tensors)
        results, by_runtime = run_model(program, feeds)
        outcome = compare(case, results, expected)
    except Exception as error:
        outcome, by_runtime = f"runtime: {type(error).__name__}: {str(error)[:300]}", False
    if opset > RUNTIME_NEWEST:
        return "ok"  # valid by onnx.checker; onnx's own evaluator alone could run it, and has gaps and faults of its own
    if outcome != "ok" and by_runtime and any(is_special(each._array) for each in case.tensors):
        # ONNX Runtime's kernels lose NaN and infinities, and some take no empty tensors; the file may be right all the same.
        outcome = "ok" if compare(case, reference(program, feeds), expected) == "ok" else outcome
    nan = any(each._array.dtype.kind == "f" and not np.isfinite(each._array).all() for each in case.tensors)
    if outcome != "ok" and nan and case.op.name in NAN_IS_UNDEFINED:
        return f"refused: NaN and infinities are not defined here: {outcome}"
    return outcome


def is_special(array: Any) -> bool:
    """Whether an array is empty, or holds NaN or infinities."""
    return array.size == 0 or (array.dtype.kind == "f" and not np.isfinite(array).all())


def compare(case: Case, results: list[Any], expected: list[Any]) -> str:
    """``ok``, or how the results differ from eager's."""
    if len(results) != len(expected):
        return f"{len(results)} results instead of {len(expected)}"
    for index, (got, want) in enumerate(zip(results, expected)):
        wanted = want.detach()._array
        got = np.asarray(got)
        if got.dtype != wanted.dtype:
            return f"result {index}: type {got.dtype} instead of {wanted.dtype}"
        if got.shape != wanted.shape:
            return f"result {index}: shape {got.shape} instead of {wanted.shape}"
        if not case.sample.compare:
            continue
        if wanted.dtype.kind in "fcV":
            loose = {"float16": 5e-3, "bfloat16": 3e-2, "float64": 1e-5, "float32": 1e-4}.get(wanted.dtype.name, 1e-4)
            wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
            if not np.allclose(got.astype(wide), wanted.astype(wide), rtol=loose, atol=loose, equal_nan=True):
                return f"result {index}: {got.reshape(-1)[:6]} instead of {wanted.reshape(-1)[:6]}"
        elif not np.array_equal(got, wanted):
            return f"result {index}: {got.reshape(-1)[:6]} instead of {wanted.reshape(-1)[:6]}"
    return "ok"
