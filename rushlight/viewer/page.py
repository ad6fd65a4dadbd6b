"""The page: a picture's data with the style and script that display it, as one HTML file."""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from functools import cache
from pathlib import Path
from typing import Any

from ..serialization.saving import replacing
from .picture import Picture
from .reading import picture_of

HEIGHT = 520  # of a page in a notebook, in pixels


@cache
def part(name: str) -> str:
    """A file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def render(picture: Picture) -> str:
    """A complete HTML page that needs nothing else."""
    page = (
        part("page.html")
        .replace("{{title}}", html.escape(picture.title))
        .replace("{{style}}", part("page.css"))
        .replace("{{script}}", part("page.js"))
    )
    return page.replace("{{data}}", picture.json())


def page_of(subject: Any, title: str | None = None) -> str:
    """The page of whatever has a graph: see :func:`rushlight.viewer.picture_of`."""
    return render(picture_of(subject, title))


def write(subject: Any, path: Any, title: str | None = None) -> None:
    """Write the page to a file, as a whole or not at all."""
    text = page_of(subject, title).encode("utf-8")
    with replacing(path) as file:
        file.write(text)


def show(subject: Any, path: Any = None, open: bool = True) -> str:
    """Write the page (to a temporary file where no path is given) and open it in the browser; the path."""
    if path is None:
        handle, path = tempfile.mkstemp(prefix="rushlight-", suffix=".html")
        os.close(handle)
    write(subject, path)
    if open:
        webbrowser.open(Path(path).resolve().as_uri())
    return os.fspath(path)


def notebook(subject: Any) -> str:
    """The page in a frame, for notebooks."""
    return f'<iframe srcdoc="{html.escape(page_of(subject))}" style="width:100%;height:{HEIGHT}px;border:1px solid #8884" sandbox="allow-scripts"></iframe>'
