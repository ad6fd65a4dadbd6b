"""``show()`` and a form for notebooks, for what has a graph; the pages themselves are made by ``rushlight.viewer``, loaded on first use."""

from __future__ import annotations

import importlib
from typing import Any


def _viewer() -> Any:
    return importlib.import_module(".viewer", __package__)  # it knows ONNX too, which a program that shows nothing need not load


def _show(self: Any, path: Any = None, open: bool = True) -> str:
    """Write the graph as a page, and open it in the browser: see :func:`rushlight.viewer.show`."""
    return str(_viewer().show(self, path, open))


def _repr_html_(self: Any) -> str:
    """The graph as notebooks show it."""
    return str(_viewer().notebook(self))


def attach(*kinds: Any) -> None:
    """Give classes that have a graph ``show()``, and a form for notebooks."""
    for kind in kinds:
        kind.show, kind._repr_html_ = _show, _repr_html_
