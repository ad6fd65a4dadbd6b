"""How Sphinx builds the pages of this folder: `make docs`."""

from pathlib import Path

project = "rushlight"
author = "the rushlight authors"
copyright = "the rushlight authors; Apache 2.0"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]
highlight_language = "python"

html_theme = "furo"
html_title = "rushlight"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_theme_options = {"navigation_with_keys": True}


def add_error_pages(app, docname, source):
    """The pages of the codes are in the table of contents below the table that links them."""
    if docname == "errors":
        names = sorted(path.stem for path in (Path(app.srcdir) / "errors").glob("RL*.md"))
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(f"errors/{name}" for name in names) + "\n```\n"


def setup(app):
    app.connect("source-read", add_error_pages)
