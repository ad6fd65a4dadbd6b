"""From a program to a file, from the file to a graph, from that to a file again: the results stay the same."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from onnx_samples import NAN_IS_UNDEFINED, Case, compare
from samples import samples_of
from support.results import tensors_in

import rushlight
import rushlight.onnx
from rushlight.onnx.errors import OnnxExporterError

FIRST, SECOND = 18, 21  # the opsets of the first file and of the second


def outcomes(op: Any, step: int = 1) -> list[tuple[Any, str]]:
    """What becomes of the samples of an op (or of every so manieth): ``ok``, ``refused: ...`` where they do not export, or what is wrong."""
    found = []
    for sample in list(samples_of(op))[::step]:
        case = Case(op, sample)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                rushlight.manual_seed(0)
                expected = tensors_in(case(*case.tensors))
        except Exception:
            continue  # a call that is refused
        if expected:
            found.append((sample, outcome(case, expected)))
    return found


def outcome(case: Case, expected: list[Any]) -> str:
    """What becomes of one sample."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rushlight.manual_seed(0)
        try:
            first = rushlight.onnx.export(case, tuple(case.tensors), None, opset_version=FIRST, verify=False)
        except OnnxExporterError as error:
            return f"refused: {error}"
        where = "loading"
        try:
            model = first.model_proto
            loaded = rushlight.onnx.load(model)
            given = tuple(case.tensors[: len(model.graph.input)])
            where = "running"
            difference = compared(case, loaded, given, expected)
            if difference != "ok":
                return f"loaded: {difference}"
            where = "exporting again"
            second = rushlight.onnx.export(loaded, given, None, opset_version=SECOND, verify=False)
            where = "running what was exported again"
            difference = compared(case, rushlight.onnx.load(second.model_proto), given, expected)
            return difference if difference == "ok" else f"again: {difference}"
        except Exception as error:
            return f"{where}: {type(error).__name__}: {str(error)[:300]}"


def compared(case: Case, model: Any, given: tuple[Any, ...], expected: list[Any]) -> str:
    """``ok``, or how the results of a loaded model differ."""
    rushlight.manual_seed(0)
    with rushlight.no_grad():
        results = tensors_in(model(*given))
    found = compare(case, [each.detach()._array for each in results], expected)
    nan = any(each._array.dtype.kind == "f" and not np.isfinite(each._array).all() for each in case.tensors)
    return "ok" if nan and case.op.name in NAN_IS_UNDEFINED else found
