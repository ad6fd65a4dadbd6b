"""The switch for checks of new sparse tensors, and ``gradcheck`` on sparse inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..ops.sparse.create import Invariants


class check_sparse_tensor_invariants:
    """Whether indices of new sparse tensors are checked: a context manager, a decorator, and a switch for all."""

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether new sparse tensors are checked."""
        return Invariants.checked

    @staticmethod
    def enable() -> None:
        """Check new sparse tensors from here on."""
        Invariants.checked = True

    @staticmethod
    def disable() -> None:
        """Check new sparse tensors no more, unless a call asks for it."""
        Invariants.checked = False

    def __enter__(self) -> None:
        if self.saved is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance.")
        self.saved = Invariants.checked
        Invariants.checked = self.state

    def __exit__(self, *exception: Any) -> None:
        assert self.saved is not None
        Invariants.checked, self.saved = self.saved, None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A ``gradcheck`` for functions of sparse tensors: with ``masked=True`` the kept elements alone are varied, else all of them.

    The one of ``torch.autograd`` takes sparse tensors anyway, and is returned as it is.
    """
    return gradcheck
