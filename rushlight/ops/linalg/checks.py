"""What the functions of linear algebra check, and how they say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dtypes import BY_NUMPY, FLOATING, LOW_PRECISION, legacy_name
from ...core.errors import DtypeError, LinAlgError, ShapeError, UnsupportedDtype


def check_floating(name: str, matrix: Any, low_precision: bool = False) -> None:
    """Refuse integers and, unless allowed, types narrower than float32."""
    if BY_NUMPY[matrix.dtype].category < FLOATING:
        raise UnsupportedDtype(f"{name}: Expected a floating point or complex tensor as input. Got {legacy_name(matrix.dtype)}")
    if matrix.dtype in LOW_PRECISION and not low_precision:
        raise UnsupportedDtype(f"{name}: Low precision dtypes not supported. Got {legacy_name(matrix.dtype)}")


def check_matrix(name: str, matrix: Any, what: str = "A") -> None:
    """Refuse what is not a batch of floating-point matrices."""
    if matrix.ndim < 2:
        raise ShapeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")
    check_floating(name, matrix)


def check_square(name: str, matrix: Any, what: str = "A") -> None:
    """Refuse what is not a batch of square floating-point matrices."""
    check_matrix(name, matrix, what)
    rows, columns = matrix.shape[-2:]
    if rows != columns:
        raise ShapeError(f"{name}: {what} must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_same_dtype(name: str, a: Any, b: Any, names: tuple[str, str] = ("A", "B")) -> None:
    """Refuse matrices of different types."""
    if a.dtype != b.dtype:
        raise DtypeError(
            f"{name}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type "
            f"{legacy_name(a.dtype)} and {names[1]} of type {legacy_name(b.dtype)} instead"
        )


def real_type(dtype: Any) -> np.dtype[Any]:
    """The real type of the same precision."""
    return BY_NUMPY[dtype].to_real().numpy


def complex_type(dtype: Any) -> np.dtype[Any]:
    """The complex type of the same precision."""
    return BY_NUMPY[dtype].to_complex().numpy


def checked(meta: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that first lets the meta rule look at its arguments: NumPy is more lenient than PyTorch."""

    def run(xp: Any, *values: Any) -> Any:
        meta(*values)
        return kernel(xp, *values)

    return run


def raise_for(name: str, info: np.ndarray, message: str) -> None:
    """Raise LinAlgError for the first matrix of a batch whose ``info`` is not 0; the message may use it."""
    failed = np.flatnonzero(info)
    if failed.size:
        first = int(failed[0])
        where = f"(Batch element {first}): " if info.ndim else ""
        raise LinAlgError(f"{name}: {where}{message.format(int(info.reshape(-1)[first]))}")
