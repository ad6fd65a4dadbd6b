"""How precisely programs want float32 products: GPUs use TF32 where it is allowed; on the CPU they are always computed in full precision."""

from __future__ import annotations

import warnings

from .errors import OperationError

PRECISIONS = ("highest", "high", "medium")


class Precision:
    """The wish, under both of its names: a word, or whether the 19-bit floats of GPUs (TF32) are allowed."""

    def __init__(self) -> None:
        self.matmul = "highest"

    @property
    def matmul(self) -> str:
        """The word."""
        return self._matmul

    @matmul.setter
    def matmul(self, wanted: str) -> None:
        self._matmul = wanted
        self.allow_tf32 = wanted != "highest"  # read by every product, so no property

    def set_matmul(self, wanted: str) -> None:
        """Set the precision by its name."""
        if not isinstance(wanted, str):
            raise OperationError(f"set_float32_matmul_precision expects a str, but got {type(wanted).__name__}")
        if wanted in PRECISIONS:
            self.matmul = wanted
        else:
            warnings.warn(
                f"{wanted} is not one of 'highest', 'high', or 'medium'; this call of set_float32_matmul_precision has no effect.",
                stacklevel=3,
            )


precision = Precision()
