"""Runs random training programs (:mod:`fuzz.training`) in forms, compares, and shrinks what differs."""

from __future__ import annotations

import contextlib
import io
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime

import rushlight

from .compare import close
from .outcome import Outcome, run_program
from .peer import PyTorch
from .run_python import FORMS as COMPILED
from .training import smaller_text


def traced(model: Any, example: Any) -> Any:
    """The model as a trace."""
    return rushlight.jit.trace(model, (example,), check_trace=False)


def reloaded(model: Any, example: Any) -> Any:
    """The model as a trace that was saved and loaded."""
    file = io.BytesIO()
    rushlight.jit.save(rushlight.jit.trace(model, (example,), check_trace=False), file)
    file.seek(0)
    return rushlight.jit.load(file)


def exported(model: Any, example: Any) -> Any:
    """The model by ``torch.export`` with a dynamic batch."""
    return rushlight.export.export(model, (example,), dynamic_shapes=({0: rushlight.export.Dim.AUTO},)).module()


def in_onnx(model: Any, example: Any) -> Any:
    """The model in ONNX Runtime, exported with a dynamic batch."""
    file = io.BytesIO()
    rushlight.onnx.export(model, (example,), file, input_names=["h"], dynamic_axes={"h": {0: "n"}}, dynamo=False)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    return lambda x: [rushlight.from_numpy(np.array(each)) for each in session.run(None, {"h": x.numpy()})]


FORMS: dict[str, dict[str, Callable[..., Any]]] = {
    "training": COMPILED,
    "export": {"eager": lambda model, _: model, "traced": traced, "reloaded": reloaded, "exported": exported, "onnx": in_onnx},
}


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raises where a program takes longer."""

    def expire(*_: Any) -> None:
        raise TimeoutError(f"{seconds} seconds")

    previous = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def run_form(source: str, form: Callable[..., Any]) -> Outcome:
    """What a form makes of a program here."""
    try:
        with time_limit(120):
            return run_program(rushlight, source, form)
    except TimeoutError as error:
        return Outcome(error="TimeoutError", message=str(error))
    finally:
        rushlight.compiler.reset()


def compare(found: Outcome, wanted: Outcome, coarse: bool) -> str:
    """How two outcomes differ; empty where they do not."""
    if found.error or wanted.error:
        return "" if found.error == wanted.error else f"{found.error}: {found.message} instead of {wanted.error}: {wanted.message}"
    for at, (a, b, of, to) in enumerate(zip(found.results, wanted.results, found.dtypes, wanted.dtypes)):
        if of != to:
            return f"{of or a!r} instead of {to or b!r}: result {at}"
        if isinstance(a, str) and isinstance(b, str) and a != b:
            return f"{a!r} instead of {b!r}: result {at}"
        tolerance = (
            (8e-2, 4e-2) if coarse else {"float16": (2e-2, 1e-2), "bfloat16": (8e-2, 4e-2), "float64": (1e-6, 1e-7)}.get(of, (2e-3, 2e-4))
        )
        if not (close(a, b, tolerance) if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else type(a) is type(b) and a == b):
            return f"values {at}: {np.asarray(a).shape} {np.asarray(a).reshape(-1)[:4]} instead of {np.asarray(b).shape} {np.asarray(b).reshape(-1)[:4]}"
    return f"{len(found.results)} results instead of {len(wanted.results)}" if len(found.results) != len(wanted.results) else ""


def ill_conditioned(source: str, wanted: Outcome, coarse: bool) -> bool:
    """Whether inputs that differ in their last digits give other results, so that rounding explains a difference of values."""
    step = "1e-9" if "torch.float64\n" in source else "2e-7"  # about the last digit of the type
    near = source.replace("torch.randn(n, ", f"(1 + {step}) * torch.randn(n, ")
    form = (lambda model, _: model) if "form(model, inputs(3))" in source else (lambda function: function)
    return bool(compare(run_form(near, form), wanted, coarse))


def difference(kind: str, source: str, form: str, peer: PyTorch | None) -> str:
    """How a form of a program differs: eager mode from PyTorch, another form from eager mode."""
    forms = FORMS[kind]
    if form == "onnx":
        source = source.replace("torch.float64", "torch.float32")  # ONNX Runtime has few kernels of float64
    if form == "eager":
        assert peer is not None
        wanted = peer.ask([source.replace("form(model, inputs(3))", "model")])[0]
    else:
        wanted = run_form(source, forms["eager"])
    if wanted.error or (kind == "export" and any(isinstance(each, str) for each in wanted.results)):
        return ""
    found = run_form(source, forms[form])
    if found.error == "NotImplemented" or "Could not export Python function call" in found.message:
        return ""  # ONNX Runtime has no such kernel; a custom Function cannot be stored, as in PyTorch
    coarse = "float16" in source or "autocast" in source
    said = compare(found, wanted, coarse)
    if said.startswith("values") and ill_conditioned(source, run_form(source, forms["eager"]), coarse):
        return ""
    if said and form in ("traced", "reloaded") and peer is not None:
        theirs = peer.ask([source.replace("form(model, inputs(3))", "torch.jit.trace(model, (inputs(3),), check_trace=False)")])[0]
        return compare(found, theirs, coarse)
    return said


def shrunk(source: str, differs: Callable[[str], str], most: int = 250) -> str:
    """The smallest program that still differs in the same way, found greedily."""
    way = lambda said: "values" if said.startswith("values") else said.split(":")[0]
    kept = way(differs(source))
    tried, changed = 0, True
    while changed and tried < most:
        changed = False
        for other in smaller_text(source):
            tried += 1
            try:
                compile(other, "<program>", "exec")
            except SyntaxError:
                continue
            if way(differs(other)) == kept:
                source, changed = other, True
                break
            if tried >= most:
                break
    return source
