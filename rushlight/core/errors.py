"""Errors with stable codes.

Each class derives from the exception type PyTorch raises in the same case, so code that catches PyTorch's
errors catches ours.  ``error.code`` stays the same from release to release; ``docs/errors.md`` explains each.
"""

from __future__ import annotations

from typing import Any


class RushlightError(Exception):
    """What all errors raised on purpose have in common."""

    code = "RL000"


class ShapeError(RushlightError, RuntimeError):
    """Shapes that do not fit together."""

    code = "RL101"


class DtypeError(RushlightError, RuntimeError):
    """A data type that the operation does not take."""

    code = "RL102"


class DeviceError(RushlightError, RuntimeError):
    """Tensors on different devices, or a device that is not there."""

    code = "RL103"


class DimensionError(RushlightError, IndexError):
    """A dimension or index out of range."""

    code = "RL104"


class ArgumentError(RushlightError, TypeError):
    """An argument of the wrong type, or one missing or too many."""

    code = "RL105"


class ValueRangeError(RushlightError, ValueError):
    """An argument of the right type with a value that is not allowed."""

    code = "RL106"


class OperationError(RushlightError, RuntimeError):
    """An operation that can't be done on these values."""

    code = "RL107"


class OutOfMemoryError(RushlightError, RuntimeError):
    """The memory of an accelerator does not suffice; the CPU raises MemoryError."""

    code = "RL112"


class AcceleratorError(RushlightError, RuntimeError):
    """A kernel, a launch or a library of an accelerator has failed."""

    code = "RL113"


class OverlapError(RushlightError, RuntimeError):
    """A write to memory that several elements share."""

    code = "RL108"


class LinAlgError(RushlightError, RuntimeError):
    """A matrix that a decomposition or a solver can't take: singular, not positive-definite, not finite."""

    code = "RL109"


class GradientError(RushlightError, RuntimeError):
    """A gradient was asked for where there is none, or the rules of recording were broken."""

    code = "RL201"


class InPlaceError(GradientError):
    """A tensor was changed in place where that would make a gradient wrong."""

    code = "RL202"


class FreedGraphError(GradientError):
    """Backward ran a second time through a graph that was freed."""

    code = "RL203"


class FunctionError(GradientError):
    """A custom Function broke its contract."""

    code = "RL204"


class UnsupportedDtype(DtypeError, NotImplementedError):
    """An op that has no meaning for this type: PyTorch says "not implemented for"."""

    code = "RL110"


class NotSupported(RushlightError, NotImplementedError):
    """Something PyTorch has and rushlight has not (yet)."""

    code = "RL301"


class CaptureError(RushlightError, RuntimeError):
    """A program that can't be captured as it is written."""

    code = "RL402"


class GraphError(RushlightError, RuntimeError):
    """A graph that is not well formed, or a step on it that would make it so."""

    code = "RL401"


def dimension_error(dim: Any, ndim: int) -> DimensionError:
    """The error for a dimension outside ``[-ndim, ndim - 1]`` (a 0-dim tensor counts as one dimension)."""
    bound = max(ndim, 1)
    return DimensionError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
