"""Exports the samples of an op together with their gradients, and compares what ONNX Runtime makes of them with the engine's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from onnx_samples import Case, run_model
from samples import samples_of
from support.results import tensors_in

import rushlight
from rushlight.onnx import OnnxExporterError, export_gradient


def loss_of(case: Case) -> Any:
    """A function of the tensors of a sample that gives one number, on which every element of the results has its own effect."""

    def loss(*tensors: Any) -> Any:
        return sum(each.sin().sum() for each in tensors_in(case(*tensors)) if each.dtype.is_floating_point)

    return loss


def expected_of(loss: Any, tensors: list[Any], wrt: list[int]) -> list[Any]:
    """The number and its gradients, by the engine; zeros where it does not depend on a tensor."""
    given = [each.detach().clone() for each in tensors]
    for at in wrt:
        given[at].requires_grad_()
    value = loss(*given)
    found = rushlight.autograd.grad(value, [given[at] for at in wrt], allow_unused=True)
    return [value.detach(), *(rushlight.zeros_like(given[at]) if each is None else each for each, at in zip(found, wrt))]


def gradient_outcomes(op: Any, opset: int, dynamic: bool = False) -> list[tuple[Any, str]]:
    """What became of each sample that has a gradient: ``ok``, ``refused: ...`` (a clear error), or what is wrong."""
    outcomes = []
    for sample in samples_of(op):
        if not sample.gradient:
            continue
        case = Case(op, sample)
        wrt = [at for at, each in enumerate(case.tensors) if each.dtype.is_floating_point and at not in sample.constants]
        loss = loss_of(case)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = expected_of(loss, case.tensors, wrt) if wrt else []
        except Exception:
            continue  # what has no gradient
        if expected and not any(each.dtype.is_complex for each in case.tensors):
            outcomes.append((sample, outcome(case, loss, wrt, expected, opset, dynamic)))
    return outcomes


def outcome(case: Case, loss: Any, wrt: list[int], expected: list[Any], opset: int, dynamic: bool) -> str:
    names = [f"tensors_{at}" for at in range(len(case.tensors))]
    axes = None
    if dynamic:  # equal sizes share a name
        axes = {name: {dim: f"n{size}" for dim, size in enumerate(each.shape) if size > 1} for name, each in zip(names, case.tensors)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = export_gradient(loss, tuple(case.tensors), None, wrt, opset_version=opset, dynamic_axes=axes)
    except OnnxExporterError as error:
        return f"refused: {error}"
    given = {each.name for each in program.model_proto.graph.input}
    feeds = {name: each.numpy() for name, each in zip(names, case.tensors) if name in given}
    try:
        results, _ = run_model(program, feeds)
    except Exception as error:
        return f"runtime: {error}"
    for number, (got, want) in enumerate(zip(results, expected)):
        wanted = want.detach().numpy()
        limit = 2e-2 if wanted.dtype.itemsize == 2 else 1e-4
        if got.shape != wanted.shape or not np.allclose(got, wanted, rtol=limit, atol=limit, equal_nan=True):
            return f"wrong: result {number} is {got.reshape(-1)[:4]}, not {wanted.reshape(-1)[:4]}"
    return "ok"
