"""The same numbers in every mode: traced, scripted, compiled and exported, forward and backward."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..capture.script import ScriptError, script
from ..capture.traced import trace
from ..compiler import compile as compile_program
from ..core.base import TensorBase
from ..onnx.comparing import difference, flat
from ..onnx.exporting import export
from .report import FAILED, PASSED, SKIPPED, Report
from .subject import Subject

ADVICE = {
    "traced": "forward must not turn values of tensors into Python numbers (item(), if on a tensor, numpy())",
    "scripted": "the Function is called from scripted code as it is; look at what forward does with its arguments",
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


def results(program: Any, subject: Subject, backward: bool = True) -> list[np.ndarray]:
    """The outputs of a program, and the gradients of its inputs."""
    args = [each for each in subject.prepared("float32") if isinstance(each, TensorBase)]
    outputs = program(*args)
    tensors = [each for each in (outputs if isinstance(outputs, (tuple, list)) else (outputs,)) if isinstance(each, TensorBase)]
    found = flat([each.detach() for each in tensors])
    differentiable = [each for each in tensors if each.requires_grad]
    if backward and differentiable:
        sum((each * each).sum() for each in differentiable).backward()  # type: ignore[union-attr]
        found += [np.zeros(each.shape, np.float32) if each.grad is None else np.asarray(each.grad._array) for each in args if each.requires_grad]
    return found


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
    makers: dict[str, Any] = {"traced": traced, "scripted": script, "compiled": compile_program, "exported": exported}
    for mode in modes:
        step(f"checking that it is the same {mode}")
        both = backward and mode != "exported"
        try:
            if mode in ("traced", "exported"):
                made = makers[mode](program, subject)
            else:
                made = makers[mode](program)
            found = results(made, subject, both)
        except ImportError as error:
            report.add(f"eager = {mode}", SKIPPED, str(error))
            continue
        except ScriptError as error:
            report.add(f"eager = {mode}", SKIPPED, f"can't be scripted: {str(error).strip().splitlines()[0]}")
            continue
        except Exception as error:
            words = [line for line in str(error).splitlines() if line.strip()] or [""]
            report.add(f"eager = {mode}", FAILED, f"{type(error).__name__}: {words[0]}", ADVICE[mode])
            continue
        wrong = [
            bad for at, (want, got) in enumerate(zip(expected, found)) if (bad := difference(f"value {at}", want, got, 1e-4, 1e-5)[0]) is not None
        ]
        if wrong:
            report.add(f"eager = {mode}", FAILED, str(wrong[0]), ADVICE[mode])
        else:
            report.add(f"eager = {mode}", PASSED, "forward and backward" if both else "forward")


def traced(program: Any, subject: Subject) -> Any:
    """The program as a trace."""
    return trace(program, tuple(each for each in subject.prepared("float32", grad=False) if isinstance(each, TensorBase)), check_trace=False)


def exported(program: Any, subject: Subject) -> Any:
    """The program as an ONNX file, in ONNX Runtime."""
    made = export(program, tuple(each for each in subject.prepared("float32", grad=False) if isinstance(each, TensorBase)))
    return lambda *args: made.run(*args)


__all__ = ["check_modes"]
