"""A call in the other forms that a program takes: compiled, traced, scripted, exported, differentiated; each against the eager result."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight
from rushlight.core.errors import NotSupported

from .calls import Array, Call, Dtype
from .compare import close, coarsest
from .outcome import plain, tensors


class Skipped(Exception):
    """A call that has no such form."""


def source_of(call: Call) -> tuple[str, list[Any]]:
    """A function of the call's tensors as source, and the tensors; every other argument is a literal."""
    made: list[Any] = []
    names: list[str] = []

    def text(value: Any) -> str:
        if isinstance(value, Array):
            tensors(rushlight, value, made)
            names.append(f"x{len(names)}")
            return names[-1]
        if isinstance(value, Dtype):
            return f"torch.{value.name}"
        if isinstance(value, (list, tuple)):
            inner = ", ".join(map(text, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
        if isinstance(value, float) and not np.isfinite(value):
            return f"float('{value}')"
        return repr(value)

    given = [*map(text, call.args), *(f"{name}={text(value)}" for name, value in call.kwargs.items())]
    if call.path.startswith("Tensor."):
        target, *given = given
        function = f"{target}.{call.path.removeprefix('Tensor.')}"
    else:
        function = f"torch.{call.path}"
    if call.path.endswith("_"):  # the argument is the caller's: the function works on a copy
        function = function.replace(names[0], f"{names[0]}.clone()", 1)
    parameters = ", ".join(f"{name}: torch.Tensor" for name in names)
    return f"def f({parameters}):\n    return {function}({', '.join(given)})\n", made


def flat(result: Any) -> list[Any]:
    """The tensors and numbers of a result."""
    return [leaf for each in result for leaf in flat(each)] if isinstance(result, (list, tuple)) else [result]


def eager(source: str) -> Callable[..., Any]:
    """The function of a source."""
    scope: dict[str, Any] = {"torch": rushlight}
    exec(compile(source, "<call>", "exec"), scope)
    function: Callable[..., Any] = scope["f"]
    return function


def compiled(source: str, given: list[Any]) -> list[Any]:
    """By ``compile``, called twice: the second call takes what the first has left."""
    function = rushlight.compile(eager(source))
    function(*given)
    return flat(function(*given))


def traced(source: str, given: list[Any]) -> list[Any]:
    """By ``jit.trace``."""
    return flat(rushlight.jit.trace(eager(source), tuple(given), check_trace=False)(*given))


def scripted(source: str, given: list[Any]) -> list[Any]:
    """By ``jit.script``, called twice: interpreted, then as a graph."""
    function = rushlight.jit.CompilationUnit(source).f
    function(*given)
    return flat(function(*given))


def exported(source: str, given: list[Any]) -> list[Any]:
    """By ``onnx.export``, run by ONNX Runtime."""
    import onnxruntime

    function = eager(source)

    class Whole(rushlight.nn.Module):
        def forward(self, *values: Any) -> Any:
            return tuple(flat(function(*values)))

    if not all(
        bool(each.isfinite().all()) and bool(each.abs().max() < 1e6) for each in given if each.numel() and each.dtype != rushlight.bool
    ):
        raise Skipped  # ONNX says nothing about infinities and NaN
    if any(each.dtype in (rushlight.bfloat16, rushlight.complex64, rushlight.complex128) for each in given):
        raise Skipped
    file = io.BytesIO()
    names = [f"x{at}" for at in range(len(given))]
    rushlight.onnx.export(Whole(), tuple(given), file, input_names=names, opset_version=20, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    known = {each.name for each in session.get_inputs()}
    return list(session.run(None, {name: each.detach().numpy() for name, each in zip(names, given) if name in known}))


def differentiated(source: str, given: list[Any]) -> list[Any]:
    """Forward and backward mode agree: ``(J v) . u == v . (Jᵀ u)``."""
    function = eager(source)
    if any(each.dtype not in (rushlight.float64, rushlight.float32) and each.dtype.is_floating_point for each in given):
        raise Skipped
    wide = [each.detach().double() if each.dtype.is_floating_point else each for each in given]
    leaves = [each.requires_grad_() for each in wide if each.dtype.is_floating_point]
    if not leaves or not all(bool(each.isfinite().all()) for each in leaves):
        raise Skipped
    everything = flat(function(*wide))
    results = [each for each in everything if isinstance(each, rushlight.Tensor) and each.requires_grad]
    if not results:
        raise Skipped
    along = [rushlight.linspace(0.3, 1.1, each.numel(), dtype=each.dtype).reshape(each.shape) for each in leaves]
    against = [rushlight.linspace(1.2, 0.4, each.numel(), dtype=rushlight.float64).reshape(each.shape).to(each.dtype) for each in results]
    back = rushlight.autograd.grad(results, leaves, against, allow_unused=True)
    one = sum(float((v * g).sum().real) for v, g in zip(along, back) if g is not None)
    from rushlight.autograd import forward_ad

    with forward_ad.dual_level():
        queue = iter([forward_ad.make_dual(each.detach(), v) for each, v in zip(leaves, along)])
        made = flat(function(*[next(queue) if each.dtype.is_floating_point else each for each in wide]))
        chosen = [dual for dual, each in zip(made, everything) if isinstance(each, rushlight.Tensor) and each.requires_grad]
        tangents = [forward_ad.unpack_dual(each).tangent for each in chosen]
        other = sum(float((t * u).sum().real) for t, u in zip(tangents, against) if t is not None)
    if not np.isclose(one, other, rtol=1e-6, atol=1e-7 * max(1.0, abs(one))) and np.isfinite(one):
        raise AssertionError(f"backward mode gives {one}, forward mode {other}")
    return []


# What says that a call has no such form, whatever it is.
NO_SUCH_FORM = (
    "NOT_IMPLEMENTED", "is not differentiable", "derivative for aten", "the traced program returns", "not differentiable when mode", "depends on Q",
    "No corresponding Numpy type", "is not currently registered or supported",
)  # fmt: skip
FORMS: dict[str, Callable[[str, list[Any]], list[Any]]] = {
    "compiled": compiled, "traced": traced, "scripted": scripted, "exported": exported, "differentiated": differentiated,
}  # fmt: skip


def as_array(value: Any) -> Any:
    """A result in a wide type, whether a tensor, an array or a number."""
    if isinstance(value, rushlight.Tensor):
        return plain(rushlight, value)
    return np.asarray(value)


def difference_in(call: Call, form: str) -> str:
    """How a call differs in a form from the eager call, in a line; empty where it does not, or has no such form."""
    source, given = source_of(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rushlight.manual_seed(0)
            wanted = flat(eager(source)(*[each.clone() for each in given]))
        except Exception:
            return ""  # the eager comparison is about errors
        if not all(isinstance(each, (rushlight.Tensor, bool, int, float, complex, type(None))) for each in wanted):
            return ""
        try:
            rushlight.manual_seed(0)
            found = FORMS[form](source, [each.clone() for each in given])
        except (Skipped, NotSupported, rushlight.onnx.OnnxExporterError):
            return ""
        except Exception as error:
            if any(text in str(error) for text in NO_SUCH_FORM):
                return ""
            return f"{form}: {type(error).__name__}: {str(error).strip().splitlines()[0][:150] if str(error).strip() else ''}"
    if form == "differentiated":
        return ""
    wanted = [each for each in wanted if each is not None] if form == "exported" else wanted
    if len(found) != len(wanted):
        return f"{form}: {len(found)} results, eager {len(wanted)}"
    for at, (a, b) in enumerate(zip(found, wanted)):
        if (
            isinstance(a, rushlight.Tensor)
            and isinstance(b, rushlight.Tensor)
            and (
                a.dtype != b.dtype or form != "compiled" and a.stride() != b.stride() and a.numel() > 1
            )  # compiled: contiguous, which is said
        ):
            return f"{form}: result {at} is {a.dtype} {a.stride()}, eager {b.dtype} {b.stride()}"
        if (a is None) != (b is None) or (a is not None and as_array(a).shape != as_array(b).shape):
            return f"{form}: result {at} is {None if a is None else as_array(a).shape}, eager {None if b is None else as_array(b).shape}"
        if a is not None and not close(as_array(a), as_array(b), coarsest(call, str(getattr(b, "dtype", "")).removeprefix("torch."))):
            return f"{form}: result {at} is {as_array(a).reshape(-1)[:5]}, eager {as_array(b).reshape(-1)[:5]}"
    return ""
