"""ONNX forms of resizing: Resize where the opset has the mode, else one product (or Gather) for each dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .interpolation_kernels import Table, table, whole_weights

_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)
_NEAREST = {
    "nearest": {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"},
    "nearest-exact": {
        "coordinate_transformation_mode": "half_pixel",
        "mode": "nearest",
        "nearest_mode": "round_prefer_ceil",
    },
}


def _fixed(sizes: Any) -> bool:
    return all(type(each) is int for each in sizes)


def resample(g: Any, input: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    """Resize (Upsample in opset 9); without one that does the same, what each output is made of as a matrix."""
    given = input.shape[input.rank - len(size) :]
    since = _since(mode, antialias, input.dtype)
    if align_corners:
        factors = [None] * len(size)  # corners on corners: only the sizes count
    if _fixed((*given, *size)):
        factors = _telling(given, size, mode, factors)
        if 0 in input.shape:
            return g.full(g.outputs[0].shape, 0, input.dtype)
    copies = _fixed((*given, *size)) and tuple(given) == tuple(size) and any(factor is not None for factor in factors)
    if since is not None and g.opset >= since and not copies:  # runtimes take equal sizes for a copy, whatever the scales
        return _resize(g, input, given, size, mode, align_corners, factors, antialias)
    if mode == "nearest" and g.opset < 11 and _doubles(given, size, factors):
        return _upsample(g, input, given, size, factors)
    if not _fixed(given) or not _fixed(size):
        raise g.unsupported(f"interpolation by '{mode}' for sizes that are not fixed", since=since)
    rules = []
    for axis, (n, count, factor) in enumerate(zip(given, size, factors), input.rank - len(size)):
        rule = table(mode, n, count, align_corners, factor, antialias, input.dtype.name)
        if not rule.identity:
            rules.append((axis, rule))
    if input.dtype == np.uint8 and not mode.startswith("nearest"):
        return _of_bytes(g, input, rules)
    for axis, rule in rules:
        if rule.plain and len(rule.taps) == 1:
            input = g.gather(input, g.constant(rule.taps[0].astype(np.int64)), axis)
        else:
            input = _product(g, input, axis, rule.count, g.constant(rule.matrix().astype(input.dtype)))
    return input


def resample_backward(g: Any, grad: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    """One product with the transposed matrix for each dimension; a mean over all of a plane is spread over it again."""
    lead = grad.rank - len(size)
    counts = grad.shape[lead:]
    if mode == "area" and all(type(each) is int and each == 1 for each in counts):
        return g.expand(g.Div(grad, g.number(math.prod(size), grad.dtype)), (*grad.shape[:lead], *size))
    if any(type(each) is int and each == 0 for each in grad.shape):
        return g.full((*grad.shape[:lead], *size), 0, grad.dtype)
    if align_corners:
        factors = [None] * len(size)
    elif _fixed((*size, *counts)):
        factors = _telling(size, counts, mode, factors)
    for axis, (n, count, factor) in enumerate(zip(size, counts, factors), lead):
        if _fixed([n, count]):
            rule = table(mode, n, count, align_corners, factor, antialias, grad.dtype.name)
            if not rule.identity:
                grad = _product(g, grad, axis, n, g.constant(np.ascontiguousarray(rule.transposed.matrix().astype(grad.dtype))))
        elif not g.same_size(n, count):
            grad = _product(g, grad, axis, n, _open_matrix(g, mode, n, count, align_corners, factor, antialias, grad.dtype))
    return grad


def _open_matrix(g: Any, mode: str, n: Any, count: Any, align_corners: bool, factor: Any, antialias: bool, kind: Any) -> Any:
    """The matrix (outputs, inputs) of one dimension whose sizes are open: how much of each input is in each output."""
    if antialias or mode not in ("linear", "nearest", "nearest-exact", "area"):
        raise g.unsupported(f"the gradient of interpolation by '{mode}' for sizes that are not fixed")
    inputs, outputs = g.range(0, n), g.unsqueeze(g.range(0, count), [1])
    size, total = g.number(n, _INT64), g.number(count, _INT64)
    if mode == "area":
        first = g.Div(g.Mul(outputs, size), total)
        last = g.Div(g.Add(g.Mul(g.Add(outputs, 1), size), g.Sub(total, 1)), total)
        inside = g.And(g.Not(g.Less(inputs, first)), g.Less(inputs, last))
        made = g.Div(g.cast(inside, kind), g.cast(g.Sub(last, first), kind))
    else:
        places, one = g.cast(outputs, kind), g.constant(1, _INT64)
        if align_corners:
            scale = g.Div(g.cast(g.Sub(size, one), kind), g.cast(g.maximum(g.Sub(total, one), one), kind))
        else:
            scale = g.constant(1 / factor, kind) if factor else g.Div(g.cast(size, kind), g.cast(total, kind))
        half = 0.0 if align_corners or mode == "nearest" else 0.5
        source = g.Mul(g.Add(places, half), scale) if half else g.Mul(places, scale)
        last = g.Sub(size, one)
        if mode != "linear":
            made = g.cast(g.Equal(inputs, g.minimum(g.cast(g.Floor(source), _INT64), last)), kind)
        else:
            source = g.clip(g.Sub(source, half) if half else source, 0.0)
            first = g.minimum(g.cast(g.Floor(source), _INT64), last)
            part = g.Sub(source, g.cast(first, kind))
            before = g.Mul(g.cast(g.Equal(inputs, first), kind), g.Sub(g.constant(1, kind), part))
            made = g.Add(before, g.Mul(g.cast(g.Equal(inputs, g.minimum(g.Add(first, one), last)), kind), part))
    made.shape = (count, n)
    return made


def _telling(given: Any, size: Any, mode: str, factors: Any) -> Any:
    """Factors, less those that go without saying: nearest in two dimensions doubles exactly, whatever came to this."""
    exact = mode == "nearest" and len(size) == 2
    return [None if factor == 1 or (exact and count in (n, 2 * n)) else factor for n, count, factor in zip(given, size, factors)]


def _since(mode: str, antialias: bool, kind: Any) -> int | None:
    """The opset whose Resize does this; None where there is none."""
    if mode == "lanczos" or (kind == np.uint8 and not mode.startswith("nearest")):
        return None  # bytes are interpolated in whole numbers
    return 18 if antialias else 11


def _doubles(given: Any, size: Any, factors: Any) -> bool:
    """Whether sizes grow by whole factors, which all runtimes do alike in the first Resize."""
    ratios = [count / n if factor is None else factor for n, count, factor in zip(given, size, factors)]
    known = all(factor is not None for factor in factors) or _fixed((*given, *size))
    return known and all(ratio >= 1 and float(ratio).is_integer() for ratio in ratios)


def _upsample(g: Any, input: Any, given: Any, size: Any, factors: Any) -> Any:
    ratios = [count / n if factor is None else factor for n, count, factor in zip(given, size, factors)]
    ratios = [1.0] * (input.rank - len(size)) + ratios
    if g.opset < 9:
        return g.make("Upsample", (input,), {"mode": "nearest", "scales": [float(each) for each in ratios]})
    scales = g.constant(np.array(ratios, np.float32))
    return g.make("Resize" if g.opset >= 10 else "Upsample", (input, scales), {"mode": "nearest"})


def _resize(g: Any, input: Any, given: Any, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    attributes: dict[str, Any] = dict(_NEAREST.get(mode, ()))
    if not attributes:
        attributes["coordinate_transformation_mode"] = "align_corners" if align_corners else "half_pixel"
        if mode == "cubic":
            attributes["cubic_coeff_a"] = -0.5 if antialias else -0.75
        attributes["mode"] = mode
    if antialias:
        attributes = {"antialias": 1, **attributes, "exclude_outside": 1}
    nothing = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    lead = input.rank - len(size)
    if any(factor is not None for factor in factors) and _scales_agree(given, size, factors):
        ratios = [count / n if factor is None else factor for n, count, factor in zip(given, size, factors)]
        scales = g.constant(np.array([1.0] * lead + ratios, np.float32))
        return g.make("Resize", (input, nothing, scales), attributes)
    if _fixed(input.shape[:lead]):
        sizes = g.sizes([*input.shape[:lead], *size])
    else:
        sizes = g.concat([g.slice(g.shape(input), [0], [lead], [0]), g.sizes(size)], 0)
    return g.make("Resize", (input, nothing, nothing, sizes), attributes)


def _scales_agree(given: Any, size: Any, factors: Any) -> bool:
    """Whether a runtime, which multiplies in single precision, comes to our sizes."""
    pairs = [(n, count, factor) for n, count, factor in zip(given, size, factors) if _fixed([n, count])]
    return all(math.floor(np.float32(n) * np.float32(factor)) == count for n, count, factor in pairs)


def _product(g: Any, input: Any, axis: int, count: Any, matrix: Any) -> Any:
    """One dimension of a tensor times a matrix (before, after), which makes it ``count`` long."""
    shape, after = input.shape, input.rank - 1 - axis
    result = (*shape[:axis], count, *shape[axis + 1 :])
    if after == 0:
        made = g.MatMul(input, matrix)
    else:
        flat = input if after == 1 else g.reshape(input, (*shape[: axis + 1], math.prod(shape[axis + 1 :])))
        made = g.MatMul(g.swap(matrix), flat)
        if after > 1:
            made.shape = (*shape[:axis], count, math.prod(shape[axis + 1 :]))
            return g.reshape(made, result)
    made.shape = result
    return made


def _of_bytes(g: Any, input: Any, rules: list[tuple[int, Table]]) -> Any:
    """Whole numbers, weighted in whole numbers (as doubles hold them exactly) and rounded after each dimension."""
    value = g.cast(input, _FLOAT64)
    for axis, rule in reversed(rules):
        weights, precision = whole_weights(rule)
        matrix = np.zeros((rule.size, rule.count))
        np.add.at(matrix, (rule.taps, np.arange(rule.count)), weights)
        total = g.Add(_product(g, value, axis, rule.count, g.constant(matrix)), float(1 << (precision - 1)))
        shape = (*value.shape[:axis], rule.count, *value.shape[axis + 1 :])
        value = g.clip(g.Floor(g.Div(total, float(1 << precision))), 0.0, 255.0)
        value.shape = shape
    return g.cast(value, input.dtype)
