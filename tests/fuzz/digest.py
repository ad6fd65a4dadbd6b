"""An outcome in a few numbers, small enough to be recorded by the thousand, and whether an outcome agrees with them.

Integers are kept as a checksum.  Floating-point results are kept as how many NaN and infinities there are and as two weighted sums of the others, which
are compared within the tolerance of the type that the call computes in.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from .calls import Array, Call, Dtype
from .compare import coarsest, undefined
from .outcome import Outcome


def name_of(call: Call) -> int:
    """A checksum of a call: one that is made otherwise today has no recorded outcome."""
    found = zlib.crc32(f"{call.path} {sorted(call.kwargs)} {call.gradient}".encode())
    for value in (*call.args, *(call.kwargs[name] for name in sorted(call.kwargs)), call.out):
        found = zlib.crc32(_bytes(value), found)
    return found


def _bytes(value: Any) -> bytes:
    """An argument as bytes, the same in every version of NumPy and Python."""
    if isinstance(value, Array):
        about = f"{value.dtype} {value.layout} {value.requires_grad} {value.values.shape}".encode()
        return about + np.ascontiguousarray(value.values).tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__.encode() + b" ".join(map(_bytes, value))
    return (value.name if isinstance(value, Dtype) else repr(value)).encode()


def _sums(array: np.ndarray) -> tuple[list[float], float]:
    """Counts of what is not finite, weighted sums of the rest, and how large the sums may be."""
    parts = array.reshape(-1)
    parts = np.concatenate([parts.real, parts.imag]) if array.dtype.kind == "c" else parts
    finite = np.isfinite(parts)
    kept = np.where(finite, parts, 0.0)
    weights = np.cos(np.arange(kept.size)) + 1.5
    counts = [float(np.isnan(parts).sum()), float((parts == np.inf).sum()), float((parts == -np.inf).sum())]
    with np.errstate(all="ignore"):
        sums = [float(kept @ weights), float(kept @ weights[::-1])]
        return [*counts, *(float(f"{each:.10g}") for each in sums)], float(np.abs(kept) @ weights)


def digest(call: Call, found: Outcome, op: Any) -> list[Any]:
    """What is recorded of an outcome."""
    if found.error:
        return [found.error]
    free, ties = undefined(call, op)
    results: list[Any] = []
    for at, each in enumerate(found.results):
        if not isinstance(each, np.ndarray):
            results.append(repr(each) if not isinstance(each, float) else f"{each:.6g}")
        elif free or (ties and found.dtypes[at] == "int64" and at):
            results.append([found.dtypes[at], list(each.shape)])
        elif each.dtype.kind in "iub":
            results.append([found.dtypes[at], list(each.shape), zlib.crc32(np.ascontiguousarray(each).astype(np.int64).tobytes())])
        else:
            results.append([found.dtypes[at], list(each.shape), _sums(each)[0]])
    gradients: list[Any] = []
    if not free and not ties and not found.backward_error:
        gradients = [None if each is None or not np.any(each) else _sums(each)[0] for each in found.gradients]
    return [results, found.aliases, bool(found.backward_error), gradients]


def disagreement(call: Call, found: Outcome, recorded: list[Any], op: Any) -> str:
    """How an outcome differs from what is recorded, in a line; empty where it agrees."""
    ours = digest(call, found, op)
    if len(ours) == 1 or len(recorded) == 1:
        same = ours == recorded or (ours == ["NotImplementedError"] and recorded == ["RuntimeError"])
        return (
            ""
            if same
            else f"{ours[0] if len(ours) == 1 else 'no error'} {found.message[:100]}; PyTorch: {recorded[0] if len(recorded) == 1 else 'no error'}"
        )
    if len(ours[0]) != len(recorded[0]) or ours[1] != recorded[1] or ours[2] != recorded[2] or len(ours[3]) != len(recorded[3]):
        return f"{len(ours[0])} results that share memory with {ours[1]}, gradient refused: {ours[2]}; PyTorch: {len(recorded[0])}, {recorded[1]}, {recorded[2]}"
    for at, (mine, theirs) in enumerate(zip(ours[0], recorded[0])):
        if isinstance(mine, list) and len(mine) == 3 == len(theirs) and isinstance(mine[2], list) and mine[:2] == theirs[:2]:
            if not _near(mine[2], theirs[2], found.results[at], coarsest(call, mine[0])):
                return f"result {at} is {found.results[at].reshape(-1)[:6]}, with sums {mine[2]}; PyTorch {theirs[2]}"
        elif mine != theirs:
            return f"result {at} is {mine}; PyTorch {theirs}"
    for at, (mine, theirs) in enumerate(zip(ours[3], recorded[3])):
        rough = tuple(10 * each for each in coarsest(call, ""))
        if (mine is None) != (theirs is None) or (mine is not None and not _near(mine, theirs, found.gradients[at], rough)):
            return f"gradient {at} has sums {mine}; PyTorch {theirs}"
    return ""


def _near(mine: list[float], theirs: list[float], array: np.ndarray, tolerance: tuple[float, ...]) -> bool:
    """Whether sums agree as far as sums of elements that agree do."""
    if mine[:3] != theirs[:3]:
        return False
    size = _sums(array)[1]
    largest = max(1.0, float(np.abs(np.where(np.isfinite(array), array, 0)).max(initial=0.0)) ** 0.5)
    bound = tolerance[0] * size + tolerance[1] * largest * 2.5 * max(array.size, 1) + 1e-9 * size
    return all(abs(a - b) <= bound for a, b in zip(mine[3:], theirs[3:]))
