"""`torch.classes`: classes of compiled extensions of PyTorch, of which there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.errors import NotSupported

__path__: list[str] = []
loaded_libraries: set[str] = set()


class _Namespace:
    """The classes of one extension: none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attr: str) -> NoReturn:
        if attr.startswith("__"):
            raise AttributeError(attr)
        raise RuntimeError(
            f"Class {self.name}.{attr} not registered! (it would come from a compiled extension of PyTorch, which can't be loaded)"
        )


def load_library(path: str) -> NoReturn:
    """Load a compiled extension: refused."""
    raise NotSupported(
        f"torch.classes.load_library({path!r}): a library that is linked with PyTorch's C++ libraries can't be loaded in rushlight"
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Namespace(name)
