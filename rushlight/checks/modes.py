"""The same numbers in every mode: traced, scripted, compiled and exported, forward and backward."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..capture.script import ScriptError, script
from ..capture.trace.jit_trace import trace
from ..compiler import compile as compile_program
from ..core.base import TensorBase
from ..core.errors import RushlightError
from ..onnx.comparison import difference, flat
from ..onnx.errors import UnsupportedOperatorError
from ..onnx.exporter import export
from ..onnx.gradient import export_gradient
from .report import FAILED, PASSED, SKIPPED, Report
from .subject import Subject

ADVICE = {
    "traced": "forward must not turn values of tensors into Python numbers (item(), if on a tensor, numpy())",
    "scripted": "the Function is called from scripted code as it is; check what forward does with its arguments",
    "compiled": "forward and backward must do the same for the same arguments: no hidden state, no random numbers of Python's own",
    "exported": "write forward with operations that ONNX has, or give the Function a symbolic(g, ...) method",
}


def program_of(subject: Subject) -> Any:
    """A function of the tensors alone that applies the Function; it has source, so that it can be scripted."""
    names = [f"x{at}" for at, each in enumerate(subject.args) if isinstance(each, TensorBase)]
    space: dict[str, Any] = {"FUNCTION": subject.function}
    given = []
    for at, each in enumerate(subject.args):
        if isinstance(each, TensorBase):
            given.append(f"x{at}.clone()" if at in subject.dirty else f"x{at}")
        elif each is None or isinstance(each, (bool, int, float, str)):
            given.append(repr(each))
        else:
            space[f"value{at}"] = each
            given.append(f"value{at}")
    text = f"def program({', '.join(names)}):\n    return FUNCTION.apply({', '.join(given)})\n"
    file = f"<application of {subject.function.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return space["program"]


def results(program: Any, subject: Subject, backward: bool = True) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs of a program, and the gradients of its inputs."""
    args = [each for each in subject.prepared("float32") if isinstance(each, TensorBase)]
    outputs = tensors_of(program(*args))
    differentiable = [each for each in outputs if each.requires_grad]
    gradients = []
    if backward and differentiable:
        sum_of_squares(differentiable).backward()
        gradients = [
            np.zeros(each.shape, np.float32) if each.grad is None else np.asarray(each.grad._array) for each in args if each.requires_grad
        ]
    return flat([each.detach() for each in outputs]), gradients


def tensors_of(outputs: Any) -> list[Any]:
    """The tensors of what a program returns."""
    return [each for each in (outputs if isinstance(outputs, (tuple, list)) else (outputs,)) if isinstance(each, TensorBase)]


def sum_of_squares(outputs: Sequence[Any]) -> Any:
    """What is differentiated."""
    total = (outputs[0] * outputs[0]).sum()
    for each in outputs[1:]:
        total = total + (each * each).sum()
    return total


def check_modes(subject: Subject, report: Report, modes: Sequence[str], step: Callable[[str], None]) -> None:
    """A row for each mode."""
    program = program_of(subject)
    backward = True
    try:
        expected = results(program, subject)
    except Exception:  # of the user's backward, or of forward with gradients: the other checks have said so already
        backward = False
        try:
            expected = results(program, subject, False)
        except Exception as error:
            report.add("modes", SKIPPED, f"the Function raises {type(error).__name__} on float32 inputs with gradients")
            return
    for mode in modes:
        step(f"checking that it is the same {mode}")
        refused = ""
        found: tuple[list[np.ndarray], list[np.ndarray]]
        try:
            if mode == "exported":
                found = (exported(program, subject), [])
                if expected[1]:
                    try:
                        found = (found[0], exported_gradients(program, subject))
                    except RushlightError as error:
                        refused = str(error).strip().splitlines()[0]
            else:
                made = traced(program, subject) if mode == "traced" else script(program) if mode == "scripted" else compile_program(program)
                found = results(made, subject, backward)
                if mode == "compiled":  # the first call is the program itself, run while it is captured
                    found = results(made, subject, backward)
        except ImportError as error:
            report.add(f"eager = {mode}", SKIPPED, str(error))
            continue
        except ScriptError as error:
            report.add(f"eager = {mode}", SKIPPED, f"can't be scripted: {str(error).strip().splitlines()[0]}")
            continue
        except UnsupportedOperatorError as error:
            kernel = error.name.startswith("triton::")  # which is no mistake of the Function's
            report.add(
                f"eager = {mode}",
                SKIPPED if kernel else FAILED,
                f"{type(error).__name__}: {str(error).splitlines()[0]}",
                "" if kernel else ADVICE[mode],
            )
            continue
        except Exception as error:
            words = [line for line in str(error).splitlines() if line.strip()] or [""]
            report.add(f"eager = {mode}", FAILED, f"{type(error).__name__}: {words[0]}", ADVICE[mode])
            continue
        wrong = first_difference("output", expected[0], found[0])
        if wrong is None and not refused:
            wrong = first_difference("gradient", expected[1], found[1])
        if wrong is not None:
            report.add(f"eager = {mode}", FAILED, wrong, ADVICE[mode])
        elif refused:
            report.add(f"eager = {mode}", PASSED, f"forward; its gradient can't be exported: {refused}")
        else:
            report.add(f"eager = {mode}", PASSED, "forward and backward" if expected[1] else "forward")


def first_difference(what: str, expected: list[np.ndarray], found: list[np.ndarray]) -> str | None:
    """A description of the first value that differs."""
    if len(expected) != len(found):
        return f"{len(found)} {what}s in the place of {len(expected)}"
    for at, (want, got) in enumerate(zip(expected, found)):
        wrong = difference(f"{what} {at}", want, got, 1e-4, 1e-5)[0]
        if wrong is not None:
            return str(wrong)
    return None


def traced(program: Any, subject: Subject) -> Any:
    """The program as a trace."""
    return trace(
        program, tuple(each for each in subject.prepared("float32", grad=False) if isinstance(each, TensorBase)), check_trace=False
    )


def exported(program: Any, subject: Subject) -> list[np.ndarray]:
    """The outputs of the program as an ONNX file, in ONNX Runtime."""
    args = tuple(each for each in subject.prepared("float32", grad=False) if isinstance(each, TensorBase))
    return flat([each.detach() for each in tensors_of(export(program, args).run(*args))])


def exported_gradients(program: Any, subject: Subject) -> list[np.ndarray]:
    """The gradients of the program as an ONNX file, in ONNX Runtime."""
    args = tuple(each for each in subject.prepared("float32") if isinstance(each, TensorBase))
    differentiable = [each.requires_grad for each in tensors_of(program(*args))]

    @functools.wraps(program)
    def loss(*tensors: Any) -> Any:
        return sum_of_squares([each for each, chosen in zip(tensors_of(program(*tensors)), differentiable) if chosen])

    wanted = [at for at, each in enumerate(args) if each.requires_grad]
    given = tuple(each.detach() for each in args)
    return flat([each.detach() for each in export_gradient(loss, given, wrt=wanted).run(*given)[1:]])


__all__ = ["check_modes"]
