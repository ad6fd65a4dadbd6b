"""Whether only deterministic algorithms are allowed, and what the ops say that PyTorch has none for."""

from __future__ import annotations

import warnings

from .errors import OperationError


class _Demand:
    """What ``use_deterministic_algorithms`` was last called with."""

    made = False
    warn_only = False


demand = _Demand()


def alert_not_deterministic(caller: str) -> None:
    """Raise, or warn, where deterministic algorithms are demanded of an op that PyTorch has none for.

    Those here are deterministic; but a program that asks for the error counts on it.
    """
    if not demand.made:
        return
    if demand.warn_only:
        warnings.warn(
            f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.",
            UserWarning,
            stacklevel=3,
        )
        return
    raise OperationError(
        f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can turn off "
        "determinism just for this operation, or use the 'warn_only=True' option."
    )
