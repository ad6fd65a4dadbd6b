"""What a package makes of a call: results as plain arrays with dtype, shape, strides and gradients, or the class of the exception."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .calls import Array, Call, Dtype
from .spellings import Scalar

ERRORS = (NotImplementedError, IndexError, TypeError, ValueError, RuntimeError)  # the classes that programs catch, the nearest first


@dataclass
class Outcome:
    """The results of a call, or the exception's class and text."""

    error: str = ""
    message: str = ""
    results: list[Any] = field(default_factory=list)  # arrays in a wide type, or plain values
    dtypes: list[str] = field(default_factory=list)
    strides: list[tuple[int, ...]] = field(default_factory=list)
    aliases: list[int] = field(default_factory=list)  # of each result: the number of the argument whose memory it shares, or -1
    gradients: list[Any] = field(default_factory=list)
    backward_error: str = ""


def plain(torch: Any, tensor: Any) -> np.ndarray:
    """The elements of a tensor in a wide type."""
    tensor = tensor.detach()
    if tensor.device.type not in ("cpu", "meta"):
        tensor = tensor.cpu()
    if tensor.dtype.is_complex:
        return tensor.resolve_conj().to(torch.complex128).numpy().copy()
    wide = torch.float64 if tensor.dtype.is_floating_point else torch.bool if tensor.dtype == torch.bool else torch.int64
    return tensor.to(wide).numpy().copy()


def laid_out(torch: Any, tensor: Any, layout: str) -> Any:
    """A tensor of the same values in another layout."""
    if layout == "transposed" and tensor.dim() >= 2:
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "sliced" and tensor.dim():
        return torch.stack([tensor, tensor], -1).flatten(-2)[..., ::2]
    if layout == "expanded" and tensor.dim() and tensor.shape[0] and bool((tensor == tensor[:1]).all()):
        return tensor[:1].clone().expand(tensor.shape)
    return tensor


def tensors(torch: Any, value: Any, made: list[Any]) -> Any:
    """An argument with tensors of a package for arrays; ``made`` collects them."""
    if isinstance(value, Array):
        tensor = torch.from_numpy(np.array(value.values)).to(getattr(torch, value.dtype)).clone()  # its memory is the package's own
        tensor = laid_out(torch, tensor, value.layout)
        if value.requires_grad:
            tensor = tensor.detach().requires_grad_()
        made.append(tensor)
        return tensor
    if isinstance(value, Dtype):
        return getattr(torch, value.name)
    if isinstance(value, Scalar):
        return number(torch, value)
    if isinstance(value, (list, tuple)):
        return type(value)(tensors(torch, each, made) for each in value)
    return value


def number(torch: Any, scalar: Scalar) -> Any:
    """A number in the form that a call spells it in."""
    value: Any = scalar.value
    if scalar.kind in ("tensor", "tensor1"):
        return torch.tensor(value if scalar.kind == "tensor" else [value])
    if isinstance(value, float) and not np.isfinite(value) and scalar.kind not in ("float", "complex", "numpy.float64", "numpy.float32"):
        return value
    name = scalar.kind.removeprefix("numpy.")
    if scalar.kind != name:
        return np.array(value).astype(name.rstrip("_"))[()]
    return {"bool": bool, "int": int, "float": float, "complex": complex}[name](value)


def flatten(result: Any) -> list[Any]:
    """The leaves of a result."""
    return [leaf for each in result for leaf in flatten(each)] if isinstance(result, (list, tuple)) else [result]


def outcome(torch: Any, call: Call) -> Outcome:
    """Run a call in a package that is given as a module (``torch``, or rushlight)."""
    found = Outcome()
    made: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            function = torch
            for part in call.path.split("."):
                function = getattr(function, part)
            args = [tensors(torch, each, made) for each in call.args]
            kwargs = {name: tensors(torch, each, made) for name, each in call.kwargs.items()}
            if call.out is not None:
                kwargs["out"] = tensors(torch, call.out, made)
            results = flatten(function(*args, **kwargs))
            pointers = [each.data_ptr() if each.numel() else 0 for each in made]
            for each in results:
                if isinstance(each, torch.Tensor):
                    found.results.append(plain(torch, each))
                    found.dtypes.append(str(each.dtype).removeprefix("torch."))
                    found.strides.append(tuple(each.stride()) if each.layout == torch.strided else ())
                    pointer = each.data_ptr() if each.numel() else 0
                    found.aliases.append(pointers.index(pointer) if pointer and pointer in pointers else -1)
                else:
                    found.results.append(each if isinstance(each, (bool, int, float, complex, str, type(None))) else repr(each))
                    found.dtypes.append("")
            if call.gradient:
                differentiate(torch, results, made, found)
    except Exception as error:
        found.error = next((kind.__name__ for kind in ERRORS if isinstance(error, kind)), type(error).__name__)
        found.message = str(error)[:300]
    return found


def run_program(torch: Any, source: str, form: Callable[[Any], Any] = lambda function: function) -> Outcome:
    """What a package makes of a program (:mod:`fuzz.programs`): its list ``results``; ``form`` makes a chain's function compiled or traced."""
    found = Outcome()
    leaves = lambda value: [each for each in flatten(value) if isinstance(each, torch.Tensor)]

    def guarded(call: Callable[[], Any]) -> list[Any]:
        try:
            return list(call())
        except Exception as error:
            return [next((kind.__name__ for kind in ERRORS if isinstance(error, kind)), type(error).__name__)]

    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "flat": leaves, "form": form, "guarded": guarded}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            exec(compile(source, "<program>", "exec"), scope)
            for each in scope["results"]:  # type: ignore[attr-defined]
                found.results.append(plain(torch, each) if isinstance(each, torch.Tensor) else each)
                found.dtypes.append(str(each.dtype).removeprefix("torch.") if isinstance(each, torch.Tensor) else "")
    except Exception as error:
        found.error = next((kind.__name__ for kind in ERRORS if isinstance(error, kind)), type(error).__name__)
        found.message = str(error)[:300]
    return found


def differentiate(torch: Any, results: list[Any], made: list[Any], found: Outcome) -> None:
    """The gradients of a weighted sum of the results."""
    outputs = [each for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
    if not outputs:
        found.gradients = [None] * len(made)
        return
    weights = [torch.linspace(0.5, 1.5, each.numel(), dtype=torch.float64).reshape(each.shape).to(each.dtype) for each in outputs]
    inputs = [each for each in made if each.requires_grad]
    try:
        gradients = torch.autograd.grad(outputs, inputs, weights, allow_unused=True)
    except Exception as error:
        found.backward_error = type(error).__name__
        found.message = str(error)[:300]
        return
    found.gradients = [None if each is None else plain(torch, each) for each in gradients]
