"""`assert_close`: two values, or two containers of values, agree within the tolerance of their data types.

Containers are walked first, so that a difference of structure is told before a difference of value. Every leaf is
then compared by the function that fits the two values.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

import rushlight
from rushlight import Tensor

from ..core import dtypes

# Relative and absolute tolerance by data type; every other type must agree exactly.
TOLERANCES: dict[Any, tuple[float, float]] = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}

Number = (int, float, complex, np.number)
Message = str | Callable[[str], str] | None
Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as equal."""

    rtol: Any = None  # a number, or a tensor without dimensions
    atol: Any = None
    equal_nan: bool = False
    check_device: bool = True
    check_dtype: bool = True
    check_layout: bool = True
    check_stride: bool = False
    allow_subclasses: bool = True
    # A tensor may equal a number or a list, and any other two objects are compared by `==`.
    relaxed: bool = False
    # Relative and absolute tolerance below which the defaults do not go.
    at_least: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if (self.rtol is None) != (self.atol is None):
            absent = "atol" if self.atol is None else "rtol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.")
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if value is not None and value < 0:
                raise ValueError(f"{name} must not be negative, but it is {value}.")

    def tolerances(self, *kinds: Any) -> tuple[float, float]:
        """The tolerances asked for, else the widest that one of the data types has."""
        if self.rtol is not None and self.atol is not None:
            rtol, atol = (each.item() if isinstance(each, Tensor) and each.ndim == 0 else each for each in (self.rtol, self.atol))
            return rtol, atol
        widest = [self.at_least, *(TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds)]
        return max(each[0] for each in widest), max(each[1] for each in widest)


class Difference(Exception):
    """Two values differ; the message says how, and the path where, if the containers themselves differ."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path


Comparison = Callable[[Any, Any, Rules], None]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise an `AssertionError` unless `actual` and `expected` are close.

    Two elements are close where `|actual - expected| <= atol + rtol * |expected|`. Tensors, arrays and numbers are
    compared, and sequences and mappings of them. The tolerances default to what the data type can promise; `msg`
    replaces the message, or is called with it.

        >>> import rushlight
        >>> rushlight.testing.assert_close(rushlight.tensor([1.0, 2.0]), rushlight.tensor([1.0, 2.0 + 1e-7]))
    """
    __tracebackhide__ = True
    rules = Rules(
        rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, allow_subclasses
    )  # fmt: skip
    report = difference(actual, expected, rules)
    if report is not None:
        raise AssertionError(msg(report) if callable(msg) else msg or report)


def difference(actual: Any, expected: Any, rules: Rules) -> str | None:
    """How the two values differ under the rules, or None where they do not."""
    try:
        pairs = list(_pairs(actual, expected, (), rules))
    except Difference as found:
        return _located(found, found.path)
    for path, compare, left, right in pairs:
        try:
            compare(left, right, rules)
        except Difference as found:
            return _located(found, path)
    return None


def _located(found: Difference, path: Path) -> str:
    return f"{found}\n\nThe failure occurred for item {_item(path)}" if path else str(found)


def _item(path: Path) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _pairs(actual: Any, expected: Any, path: Path, rules: Rules) -> Iterator[tuple[Path, Comparison, Any, Any]]:
    """The leaves of two containers, each pair with its path and the function that compares it."""
    if _are(actual, expected, Sequence) and not _are_any(actual, expected, (str, bytes)):
        if len(actual) != len(expected):
            raise Difference(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for index, (left, right) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(left, right, (*path, index), rules)
    elif _are(actual, expected, Mapping):
        _check_keys(actual, expected, path)
        for key in actual:
            yield from _pairs(actual[key], expected[key], (*path, key), rules)
    else:
        yield path, _comparison(actual, expected, path, rules), actual, expected


def _check_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: Path) -> None:
    absent = [key for key in expected if key not in actual]
    extra = [key for key in actual if key not in expected]
    if absent or extra:
        lines = ["The keys of the mappings do not match:"]
        lines += [f"Missing keys in the actual mapping: {absent}"] if absent else []
        lines += [f"Additional keys in the actual mapping: {extra}"] if extra else []
        raise Difference("\n".join(lines), path)


def _are(actual: Any, expected: Any, kind: Any) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _are_any(actual: Any, expected: Any, kind: Any) -> bool:
    return isinstance(actual, kind) or isinstance(expected, kind)


def _comparison(actual: Any, expected: Any, path: Path, rules: Rules) -> Comparison:
    """The function that compares two values that are no containers."""
    if actual is None or expected is None:
        return _compare_none
    if rules.relaxed:
        return _relaxed_comparison(actual, expected)
    if _are(actual, expected, (bool, np.bool_)):
        return _compare_booleans
    if _are(actual, expected, Number):
        return _compare_numbers
    if _are(actual, expected, (Tensor, np.ndarray)):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if related and (rules.allow_subclasses or type(actual) is type(expected)):
            return _compare_tensors
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}"
        + (f" at item {_item(path)}." if path else ".")
    )


def _relaxed_comparison(actual: Any, expected: Any) -> Comparison:
    arrays = (Tensor, np.ndarray)
    if _are_any(actual, expected, Tensor) and not _are_any(actual, expected, str):
        return _compare_tensor_with_anything
    if _are_any(actual, expected, arrays) and not _are_any(actual, expected, str):
        return _compare_array_with_anything
    if _are(actual, expected, (*Number, np.bool_)):
        return _compare_relaxed_numbers
    return _compare_objects


def _compare_none(actual: Any, expected: Any, rules: Rules) -> None:
    if actual is not expected:
        raise Difference(f"None mismatch: {actual} is not {expected}")


def _compare_booleans(actual: Any, expected: Any, rules: Rules) -> None:
    if bool(actual) is not bool(expected):
        raise Difference(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")


def _compare_objects(actual: Any, expected: Any, rules: Rules) -> None:
    if actual == expected:
        return
    if _are(actual, expected, str):
        lines = difflib.ndiff(actual.splitlines(), expected.splitlines())
        raise Difference("\n".join([f"String comparison failed: {actual!r} != {expected!r}", *lines]))
    if _are(actual, expected, Set):
        raise Difference(
            f"Set comparison failed: only in the first: {_sorted(actual - expected)}, only in the second: {_sorted(expected - actual)}"
        )
    kind = "Type" if _are(actual, expected, type) else "Object"
    raise Difference(f"{kind} comparison failed: {actual!r} != {expected!r}")


def _sorted(values: Set[Any]) -> list[Any]:
    return sorted(values, key=repr)


def _number_kind(value: Any) -> Any:
    """The data type whose tolerance a Python number has: that of its precision."""
    if isinstance(value, (complex, np.complexfloating)):
        return dtypes.complex128
    return dtypes.float64 if isinstance(value, (float, np.floating)) else dtypes.int64


def _compare_numbers(actual: Any, expected: Any, rules: Rules) -> None:
    if rules.check_dtype and type(actual) is not type(expected):
        raise Difference(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    _compare_scalars(actual, expected, rules, *rules.tolerances(_number_kind(actual), _number_kind(expected)))


def _compare_relaxed_numbers(actual: Any, expected: Any, rules: Rules) -> None:
    """Numbers of any two types, with the tolerance of `float32`, the type that most tests compute in."""
    exact = all(_number_kind(value) is dtypes.int64 for value in (actual, expected))
    _compare_scalars(actual, expected, rules, *rules.tolerances(dtypes.int64 if exact else dtypes.float32))


def _compare_scalars(actual: Any, expected: Any, rules: Rules, rtol: float, atol: float) -> None:
    if actual == expected or (rules.equal_nan and actual != actual and expected != expected):
        return
    distance = abs(actual - expected)
    if np.isfinite(distance) and distance <= atol + rtol * abs(expected):
        return
    relative = distance / abs(expected) if expected != 0 else float("inf")
    exact = rtol == atol == 0
    raise Difference(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {distance}{'' if exact else f' (up to {atol} allowed)'}\n"
        f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}"
    )


def _compare_array_with_anything(actual: Any, expected: Any, rules: Rules) -> None:
    """An array, and another or a number, which fits one element."""
    for array, other in ((actual, expected), (expected, actual)):
        if isinstance(array, np.ndarray) and array.size == 1 and isinstance(other, (*Number, np.bool_)):
            left, right = (array.item(), other) if array is actual else (other, array.item())
            _compare_relaxed_numbers(left, right, rules)
            return
    _compare_tensors(actual, expected, rules)


def _compare_tensor_with_anything(actual: Any, expected: Any, rules: Rules) -> None:
    """A tensor, and what a tensor can be made of: a number fits one element of any type, a list takes the type."""
    tensor = actual if isinstance(actual, Tensor) else expected
    other = expected if tensor is actual else actual
    compare: Comparison = _compare_tensors
    if isinstance(other, (*Number, np.bool_)) and tensor.numel() == 1:
        compare, tensor = _compare_relaxed_numbers, tensor.item()
    elif not isinstance(other, (Tensor, np.ndarray)):
        other = rushlight.as_tensor(other, dtype=tensor.dtype, device=tensor.device)
    left, right = (tensor, other) if isinstance(actual, Tensor) else (other, tensor)
    compare(left, right, rules)


def _compare_tensors(actual: Any, expected: Any, rules: Rules) -> None:
    actual, expected = rushlight.as_tensor(actual), rushlight.as_tensor(expected)
    _compare_attributes(actual, expected, rules)
    if "meta" in (actual.device.type, expected.device.type):
        return  # there are no elements to compare
    rtol, atol = rules.tolerances(actual.dtype, expected.dtype)
    actual, expected = _made_dense(actual, expected)
    left, right = _array(actual), _array(expected)
    if left.dtype != right.dtype:
        common = np.result_type(left, right)
        left, right = left.astype(common), right.astype(common)
    with np.errstate(all="ignore"):
        distance, close = _distances(left, right, rtol, atol, rules.equal_nan)
        if close.all():
            return
        if expected.ndim == 0:
            _compare_scalars(left.item(), right.item(), rules, rtol, atol)
        raise Difference(_describe(distance, np.abs(right), close, rtol, atol))


def _made_dense(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Sparse tensors with all their elements; two of one layout have to keep equally many."""
    if actual.layout is expected.layout and actual.layout is not rushlight.strided:
        if actual.is_sparse:
            actual, expected = actual.coalesce(), expected.coalesce()
        if actual._nnz() != expected._nnz():
            raise Difference(
                f"The number of specified values in sparse tensors of {actual.layout} does not match: {actual._nnz()} != {expected._nnz()}"
            )
    return actual.to_dense(), expected.to_dense()


def _compare_attributes(actual: Tensor, expected: Tensor, rules: Rules) -> None:
    checks = [("shape", True), ("device", rules.check_device), ("layout", rules.check_layout)]
    checks += [("dtype", rules.check_dtype), ("stride()", rules.check_stride)]
    for attribute, wanted in checks:
        values = [getattr(each, attribute.removesuffix("()")) for each in (actual, expected)]
        left, right = (value() for value in values) if attribute.endswith("()") else values
        if wanted and left != right:
            raise Difference(f"The values for attribute {attribute!r} do not match: {left} != {right}.")


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    """The elements as an array of a type that NumPy computes with."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    narrow = tensor.dtype.is_floating_point and tensor.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64)
    return (tensor.to(dtypes.float64) if narrow else tensor).numpy()


def _distances(
    actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], rtol: float, atol: float, equal_nan: bool
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """How far each element is off, and whether that is close."""
    if expected.dtype.kind in "biu":  # without wrapping around, which a difference of unsigned numbers does
        wide = [x.astype(np.int64) if x.dtype.kind == "b" else x for x in (actual, expected)]
        distance = np.maximum(*wide) - np.minimum(*wide)
    else:
        distance = np.abs(actual - expected)
    close = actual == expected
    if equal_nan:
        close |= np.isnan(actual) & np.isnan(expected)
    if rtol or atol:
        close |= np.isfinite(distance) & (distance <= atol + rtol * np.abs(expected))
    return distance, close


def _describe(distance: np.ndarray[Any, Any], scale: np.ndarray[Any, Any], close: np.ndarray[Any, Any], rtol: float, atol: float) -> str:
    """The message: how many elements differ, by how much at most, and where."""
    exact = rtol == atol == 0
    count, total = int(np.count_nonzero(~close)), close.size
    lines = [f"Tensor-likes are not {'equal' if exact else 'close'}!", ""]
    lines.append(f"Mismatched elements: {count} / {total} ({count / total:.1%})")
    relative = distance / scale if distance.dtype.kind == "f" else (distance / scale).astype(np.float32)
    for name, values, allowed in (("absolute", distance, atol), ("relative", relative, rtol)):
        values = np.where(close, 0, values)
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        index = tuple(int(each) for each in place)
        lines.append(
            f"Greatest {name} difference: {values[index].item()} at index {index}" + ("" if exact else f" (up to {allowed} allowed)")
        )
    return "\n".join(lines)


_OLD_TOLERANCES: dict[Any, tuple[float, float]] = {
    dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8),
}  # fmt: skip


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """The old form of `assert_close`: wider tolerances, and types need not be equal."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    actual, expected = rushlight.as_tensor(actual), rushlight.as_tensor(expected)
    if rtol is None and atol is None:
        pairs = [_OLD_TOLERANCES.get(each.dtype, (0.0, 0.0)) for each in (actual, expected)]
        rtol, atol = (max(numbers) for numbers in zip(*pairs))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
