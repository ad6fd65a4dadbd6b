"""The Python examples of the documentation run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rushlight import compat

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def blocks(text: str) -> list[tuple[int, str]]:
    """Every Python block of a page, with the number of lines above it."""
    return [(text.count("\n", 0, found.start(1)), found.group(1)) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path) -> None:
    """A page is one program: its blocks run in order and share their names."""
    namespace = {"__name__": f"docs_{page.stem}"}
    aliased = compat.installed()
    try:
        for above, block in blocks(page.read_text(encoding="utf8")):
            # The lines above are kept as empty ones, so that a traceback names the line of the page.
            exec(compile("\n" * above + block, str(page), "exec"), namespace)
    finally:
        if not aliased:
            compat.uninstall()


def test_blocks_are_found_with_their_lines() -> None:
    text = "A page\n\n```python\nx = 1\n```\n\n```text\nnot Python\n```\n```python\ny = 2\n```\n"
    assert blocks(text) == [(3, "x = 1\n"), (10, "y = 2\n")]


def test_the_readme_has_an_example() -> None:
    assert blocks((ROOT / "README.md").read_text(encoding="utf8"))
