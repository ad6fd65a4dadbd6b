"""`rushlight view`: an ONNX file or a saved graph as one page for the browser."""

from __future__ import annotations

import argparse
import os
import tempfile
import webbrowser
from pathlib import Path

from ..core.errors import RushlightError
from ..serialization.saving import replacing
from ..viewer import picture_of, render
from .output import DONE, MISSING, Failure, give, give_json


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    if not os.path.isfile(options.file):
        raise Failure(f"there is no file '{options.file}'")
    try:
        picture = picture_of(options.file)
    except ImportError as error:
        raise Failure(str(error), MISSING) from error
    except Exception as error:  # a damaged file can be wrong in any way
        raise Failure(f"'{options.file}' can't be shown: {error}") from error
    path = options.output
    if path is None:
        handle, path = tempfile.mkstemp(prefix="rushlight-", suffix=".html")
        os.close(handle)
    text = render(picture).encode("utf-8")
    try:
        with replacing(path) as file:
            file.write(text)
    except (OSError, RushlightError) as error:
        raise Failure(f"can't write '{path}': {getattr(error, 'strerror', None) or error}") from error
    if options.output is None or options.open:
        webbrowser.open(Path(path).resolve().as_uri())
    if options.json:
        give_json({"page": path, "bytes": len(text), "nodes": len(picture.nodes)})
    else:
        give(path)
    return DONE
