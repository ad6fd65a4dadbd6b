"""Printing: the text of a tensor, to the letter as PyTorch prints it.

A pure function from a NumPy array to text, in four steps: keep the elements that will be seen
(:func:`_visible_part`), choose one number format for all (:func:`_choose_style`), arrange the formatted elements in
brackets and lines (:func:`_lay_out`), and append the other properties, such as the dtype
(:func:`format_tensor`).

>>> print(format_tensor(np.array([[1.0, 2.5], [3.0, 4.0]])))
tensor([[1.0000, 2.5000],
        [3.0000, 4.0000]], dtype=torch.float64)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from types import SimpleNamespace
from typing import Any

import numpy as np

from rushlight.core.dtypes import BY_NUMPY
from rushlight.core.errors import InPlaceError
from rushlight.core.upcast import COMPLEX32, widened

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}

PRINT_OPTS = SimpleNamespace(**_PROFILES["default"], sci_mode=None)

# How the elements of one tensor are written: the columns that each is counted for, and the padded text of one.
_Style = tuple[int, Callable[[Any], str]]


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; what is ``None`` stays as it is, except ``sci_mode``.

    Args:
        precision: digits after the point.
        threshold: a tensor of more elements than this prints in summary.
        edgeitems: elements shown at either end of a dimension in a summary; with 0 only the size is shown.
        linewidth: columns after which a line is broken.
        profile: ``"default"``, ``"short"`` or ``"full"``, set before the other arguments; any other name is ignored.
        sci_mode: whether floats print in scientific notation; ``None``, also by omission, lets the values decide.
    """
    if edgeitems is not None and edgeitems < 0:
        raise ValueError(f"edgeitems counts the elements shown at either end and can't be negative, got {edgeitems}")
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = {name: value for name, value in given.items() if value is not None}
    profile_options = _PROFILES.get(profile, {}) if profile is not None else {}
    vars(PRINT_OPTS).update({**profile_options, **chosen, "sci_mode": sci_mode})


def get_printoptions() -> dict[str, Any]:
    """The options now in force, as a dictionary that :func:`set_printoptions` takes as keywords.

    >>> get_printoptions()["precision"]
    4
    """
    return dict(vars(PRINT_OPTS))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Within the block print as :func:`set_printoptions` says, and afterwards as before.

    >>> with printoptions(precision=1):
    ...     print(format_tensor(np.array(0.25, np.float32)))
    tensor(0.2)
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        vars(PRINT_OPTS).update(before)


def node_name(tensor: Any) -> str | None:
    """The name of the node that made a tensor, ``Invalid`` where a write has left its history undefined, None without one."""
    try:
        return None if tensor.grad_fn is None else str(tensor.grad_fn.name())
    except InPlaceError:
        return "Invalid"


def format_tensor(
    array: np.ndarray[Any, Any],
    *,
    default_dtype: Any = np.float32,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: str = "cpu",
    meta_size: Sequence[Any] | None = None,
    indent: int = 0,
    class_name: str = "tensor",
    extra: Sequence[str] = (),
    contents: str | None = None,
) -> str:
    """The text that PyTorch's ``repr`` of this tensor gives.

    Args:
        array: the elements; of a meta tensor only its dtype is read (and its shape where ``meta_size`` is None).
        default_dtype: the NumPy dtype of a new float tensor; a tensor of this type does not name its type.
        requires_grad: whether the tensor is a leaf that requires a gradient.
        grad_fn_name: the name of the node that made the tensor, such as ``"AddBackward0"``.
        device: shown unless it is ``"cpu"``; of a ``"meta"`` tensor no elements are shown.
        meta_size: the size of a tensor without elements; its presence makes the tensor a meta tensor.
        indent: the column at which the caller puts the text; lines after the first are moved there.
        class_name: what stands before the parenthesis.
        extra: further parts for the end, such as ``"tangent=tensor(1.)"``.
        contents: what a class shows in the place of its elements.

    >>> format_tensor(np.array([1, 2], np.int32))
    'tensor([1, 2], dtype=torch.int32)'
    """
    if array.dtype not in BY_NUMPY:
        raise TypeError(f"no tensor has elements of NumPy's type {array.dtype}, so there is no way to print one")
    default_dtype = np.dtype(default_dtype)
    indent += len(class_name) + 1
    is_meta = meta_size is not None or device == "meta"
    size = array.shape if meta_size is None else tuple(meta_size)
    given = contents is not None
    if given:
        shows_size = device == "meta"
    elif is_meta:
        contents, shows_size = "...", True
    elif array.size == 0:
        contents, shows_size = "[]", array.ndim != 1
    else:
        contents, shows_size = format_elements(array, indent), PRINT_OPTS.edgeitems == 0

    # Only elements that can be seen tell integers, booleans and complex numbers from floats of the default type.
    implied = _implied_dtypes(default_dtype) if given or (array.size and not is_meta) else (default_dtype,)
    parts = []
    if device != "cpu":
        parts.append(f"device='{device}'")
    if shows_size:
        parts.append(f"size=({', '.join(map(str, size))}{',' if len(size) == 1 else ''})")
    if array.dtype not in implied:
        parts.append(f"dtype={BY_NUMPY[array.dtype]!r}")
    if grad_fn_name is not None:
        parts.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        parts.append("requires_grad=True")
    return append_parts(f"{class_name}({contents}", [*parts, *extra], indent) + ")"


def _implied_dtypes(default_dtype: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """The types that a tensor's elements already tell, one of each kind."""
    default_complex = np.complex128 if default_dtype == np.float64 else np.complex64
    return (default_dtype, np.dtype(default_complex), np.dtype(np.int64), np.dtype(np.bool_))


def append_parts(text: str, parts: Sequence[str], indent: int) -> str:
    """Append comma-separated parts, each on a new line where the last line has no room for it."""
    # PyTorch keeps two columns free on the line where the elements end, but not on the lines that follow it.
    column = len(text) - (text.rfind("\n") + 1) + 2
    if "\n" not in text:
        column += indent - (text.index("(") + 1)  # the first line starts at the caller's column
    for part in parts:
        if column + len(part) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + part
            column = indent + len(part)
        else:
            text += ", " + part
            column += len(part) + 2
    return text


def format_elements(array: np.ndarray[Any, Any], indent: int) -> str:
    """The elements in brackets, without the class's name around them."""
    is_summary = array.ndim > 0 and array.size > PRINT_OPTS.threshold
    if is_summary and PRINT_OPTS.edgeitems == 0:
        return "[...]"
    visible = _visible_part(array) if is_summary else array
    if array.dtype == COMPLEX32:
        visible = widened(visible)
    elif array.dtype.kind not in "biuc":  # ml_dtypes' types, too, are exact in float64
        visible = visible.astype(np.float64)
    width, write = _choose_style(visible)
    is_cut = [now < before for now, before in zip(visible.shape, array.shape, strict=True)]
    return _lay_out(visible.tolist(), is_cut, width, write, indent)


def _visible_part(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array without the middle of each dimension that is too long for a summary."""
    edge = PRINT_OPTS.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], axis)
    return array


def _lay_out(nested: Any, is_cut: Sequence[bool], width: int, write: Callable[[Any], str], indent: int) -> str:
    """Nested lists as text in brackets; ``is_cut`` says of each dimension whether its middle was left out."""
    if not is_cut:
        return write(nested)
    if len(is_cut) == 1:
        texts = [write(value) for value in nested]
        ellipsis = " ..."
    else:
        texts = [_lay_out(inner, is_cut[1:], width, write, indent + 1) for inner in nested]
        ellipsis = "..."
    if is_cut[0]:
        texts.insert(len(texts) // 2, ellipsis)
    if len(is_cut) == 1:
        per_line = max(1, int((PRINT_OPTS.linewidth - indent) // (width + 2)))
        texts = [", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)]
    line_break = "\n" * max(1, len(is_cut) - 1) + " " * (indent + 1)
    return "[" + f",{line_break}".join(texts) + "]"


def _choose_style(values: np.ndarray[Any, Any]) -> _Style:
    """How to write the elements of this array, which has some."""
    if values.dtype.kind in "biu":
        width = max(len(str(end.item())) for end in (values.min(), values.max()))
        return width, lambda value: str(value).rjust(width)
    if values.dtype.kind == "c":
        return _choose_complex_style(values)
    return _choose_float_style(values)


def _choose_complex_style(values: np.ndarray[Any, Any]) -> _Style:
    """Real and imaginary parts are each written in their own style; only the real part is padded."""
    real_width, write_real = _choose_float_style(values.real.astype(np.float64))
    imaginary_width, write_imaginary = _choose_float_style(values.imag.astype(np.float64))

    def write(value: complex) -> str:
        imaginary = write_imaginary(value.imag).lstrip()
        sign = "" if imaginary.startswith("-") else "+"
        return f"{write_real(value.real)}{sign}{imaginary}j"

    return real_width + imaginary_width + 1, write


def _choose_float_style(values: np.ndarray[Any, Any]) -> _Style:
    """Whole numbers as ``1.``, others with a fixed number of digits, or all in scientific notation.

    Zeros, infinities and NaNs have no say in the choice, nor in the width.
    """
    telling = values[np.isfinite(values) & (values != 0)]
    if telling.size == 0:
        return 1, _write_whole
    magnitudes = np.abs(telling)
    smallest, largest = magnitudes.min().item(), magnitudes.max().item()
    is_whole = bool((telling == np.floor(telling)).all())
    is_scientific = PRINT_OPTS.sci_mode
    if is_scientific is None:
        is_scientific = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4
    if is_whole and not is_scientific:
        write: Callable[[float], str] = _write_whole
    else:
        write = f"{{:.{PRINT_OPTS.precision}{'e' if is_scientific else 'f'}}}".format
    width = max(len(write(value)) for value in telling.tolist())
    return width, lambda value: write(value).rjust(width)


def _write_whole(value: float) -> str:
    return f"{value:.0f}." if isfinite(value) else str(value)
