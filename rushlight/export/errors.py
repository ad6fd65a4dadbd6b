"""Errors of an export, with PyTorch's names."""

from __future__ import annotations

from ..core.errors import CaptureError
from ..fx.experimental import symbolic_shapes


class UserError(CaptureError):
    """A model, or its dynamic shapes, that can't be exported as they are."""

    code = "RL411"


class ConstraintViolationError(UserError, symbolic_shapes.ConstraintViolationError):
    """Sizes that are not within what was said of them."""

    code = "RL412"


class GuardOnDataDependentSymNode(UserError, symbolic_shapes.GuardOnDataDependentSymNode):
    """A branch in Python on the value of a tensor."""

    code = "RL413"


class ArchiveError(CaptureError, ValueError):
    """A file that is no exported program, or one that can't be read here."""

    code = "RL414"
