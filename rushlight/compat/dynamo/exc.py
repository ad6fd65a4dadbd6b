"""`torch._dynamo.exc`: what a capture raises.

What is never raised here (errors of the insides of PyTorch's capture) are classes of their own, so that `except` clauses hold.
"""

from __future__ import annotations

from enum import Enum

from ...capture.compile.record.graph_breaks import BackendFailed as BackendCompilerFailed
from ...capture.compile.record.graph_breaks import FailOnRecompileLimitHit as FailOnRecompileLimitHit
from ...capture.compile.record.graph_breaks import RecompileError as RecompileError
from ...capture.compile.record.graph_breaks import Unsupported
from ...core.missing import missing
from ...export.errors import UserError

__getattr__ = missing("rushlight._dynamo.exc")


UserErrorType = Enum(  # type: ignore[misc]
    "UserErrorType",
    "DYNAMIC_CONTROL_FLOW ANTI_PATTERN STANDARD_LIBRARY CONSTRAINT_VIOLATION DYNAMIC_DIM INVALID_INPUT INVALID_OUTPUT UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS",
)


class TorchDynamoException(RuntimeError):
    """The base of what PyTorch's capture raises."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error in PyTorch's capture itself."""


class TorchRuntimeError(TorchDynamoException):
    """An operator fails on the example that is captured."""


class InvalidBackend(TorchDynamoException):
    """A back-end is not known."""


class ResetRequired(TorchDynamoException):
    """A back-end is changed without a reset."""


class SkipFrame(TorchDynamoException):
    """A function is not captured."""


class RestartAnalysis(TorchDynamoException):
    """A capture begins again."""


class SpeculationRestartAnalysis(RestartAnalysis):
    """A capture begins again, with a break."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """A capture begins again, with numbers as tensors."""


class UncapturedHigherOrderOpError(Unsupported):
    """A higher-order operator whose body can't be captured."""


class ArgsMismatchError(Unsupported):
    """Arguments do not fit what is called."""


class CondOpArgsMismatchError(ArgsMismatchError):
    """The branches of ``cond`` take other arguments."""


class IncorrectUsage(Exception):
    """A call that must not be made there."""


def unimplemented(msg: str = "", **explained: object) -> None:
    """Raise that something can't be captured."""
    raise Unsupported(str(explained.get("explanation") or explained.get("gb_type") or msg))


unimplemented_v2 = unimplemented

__all__ = ["BackendCompilerFailed", "Unsupported", "UserError"]
