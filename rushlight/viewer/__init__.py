"""Graphs as pages: one HTML file without any network that shows every node, its shapes, attributes and source line.

>>> import rushlight
>>> traced = rushlight.jit.trace(lambda x: x.sin() + 1, rushlight.ones(3))
>>> page = page_of(traced)
>>> page.startswith("<!doctype html>")
True
"""

from __future__ import annotations

from .page import notebook, page_of, render, show
from .picture import Picture
from .reading import picture_of

__all__ = ["Picture", "notebook", "page_of", "picture_of", "render", "show"]
