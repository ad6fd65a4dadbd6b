"""Calls of PyTorch's operators as plain data: how arguments and results are written down, and how a call is made from them.

The recorder runs this with PyTorch, the test with rushlight.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def encode(torch: Any, value: Any) -> Any:
    """A value as JSON; TypeError for one that has no place there."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.layout != torch.strided or value.is_quantized or value.dtype in (torch.bfloat16, torch.float16):
            raise TypeError("no plain tensor")
        array = value.resolve_conj().resolve_neg().contiguous().numpy()
        numbers = array.reshape(-1)
        if array.dtype.kind == "c":
            numbers = numbers.view(np.float64 if array.dtype.itemsize == 16 else np.float32)
        shown = [float(f"{each:.10g}") for each in numbers.tolist()] if array.dtype.kind in "fc" else numbers.tolist()
        return {"tensor": str(value.dtype).partition(".")[2], "shape": list(array.shape), "values": shown}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).partition(".")[2]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encode(torch, each) for each in value]}
    if isinstance(value, dict):
        return {"dict": {name: encode(torch, each) for name, each in value.items()}}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value)} is not recorded")


def decode(torch: Any, data: Any, leaves: list[Any] | None) -> Any:
    """The value again; tensors of numbers that have gradients require them, and are put into ``leaves`` where there is such a list."""
    if not isinstance(data, dict):
        return data
    ((kind, content), *_) = data.items()
    if kind == "tensor":
        found = array_of(data)
        result = torch.from_numpy(found)
        if leaves is not None and found.dtype.kind in "fc":
            leaves.append(result.requires_grad_())
        return result
    if kind == "dtype":
        return getattr(torch, content)
    if kind == "complex":
        return complex(*content)
    if kind == "dict":
        return {name: decode(torch, each, leaves) for name, each in content.items()}
    parts = [decode(torch, each, leaves) for each in content]
    return parts if kind == "list" else tuple(parts)


def array_of(data: dict[str, Any]) -> np.ndarray:
    """The elements of a recorded tensor."""
    dtype = np.dtype(data["tensor"])
    if dtype.kind == "c":
        parts = np.array(data["values"], np.float64 if dtype.itemsize == 16 else np.float32)
        return parts.view(dtype).reshape(data["shape"]).copy()
    return np.array(data["values"], dtype).reshape(data["shape"])


def function_of(torch: Any, name: str) -> Any:
    """The function or method of a name, or None."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return getattr(torch.Tensor, name.rpartition(".")[2], None)
    return found if callable(found) else None


def flat(torch: Any, value: Any) -> list[Any]:
    """All results of a call, one after the other."""
    return [each for part in value for each in flat(torch, part)] if isinstance(value, (list, tuple)) else [value]


def call(torch: Any, name: str, args: Any, kwargs: Any, differentiate: bool) -> tuple[list[Any], list[Any]]:
    """The results of a call, and the gradients of a combination of them with respect to all tensors."""
    leaves: list[Any] | None = [] if differentiate else None
    positional, named = decode(torch, args, leaves), decode(torch, kwargs, leaves)
    torch.manual_seed(0)
    results = flat(torch, function_of(torch, name)(*positional, **named))
    if not leaves:
        return results, []
    total = None
    for each in results:
        if isinstance(each, torch.Tensor) and each.requires_grad:
            weights = torch.cos(torch.arange(each.numel(), dtype=torch.float64) * 1.7 + 0.3).reshape(each.shape)
            part = (each * weights.to(each.dtype)).sum()
            part = part.real + 0.5 * part.imag if part.is_complex() else part
            total = part if total is None else total + part
    return results, [] if total is None else list(torch.autograd.grad(total, leaves, allow_unused=True))
