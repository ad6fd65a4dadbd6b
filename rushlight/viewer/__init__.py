"""Graphs as pages: one self-contained HTML file that shows every node, its shapes, attributes and source line.

In: an ONNX file or model, a graph, or what has one.  Out: the text of a page.  Read ``reading.py`` first, which makes a ``Picture`` (plain data,
``picture.py``); ``page.py`` puts it into ``page.html`` with its style and script.

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
