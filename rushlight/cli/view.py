"""`rushlight view`: a model file as one page for the browser."""

from __future__ import annotations

import argparse
import os
import tempfile
import webbrowser
from pathlib import Path

from ..core.errors import RushlightError
from ..export import load as load_program
from ..jit import load as load_script
from ..model_files import ONNX, PROGRAM, TORCHSCRIPT, NoModel, kind_of
from ..onnx.files import read_model
from ..serialization.saving import replacing
from ..viewer import Picture, picture_of, render
from .output import DONE, MISSING, Failure, give, give_json


def onnx_or_graph(path: str, kind: str) -> Picture:
    """The picture of an ONNX file, of a TorchScript archive or of a saved graph."""
    if kind == ONNX:
        return picture_of(read_model(path, check=False), os.path.basename(path))
    model = load_script(path)
    picture = picture_of(model, os.path.basename(path))
    if kind == TORCHSCRIPT:
        picture.facts[0] = ("format", "TorchScript archive")
    return picture


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    if not os.path.isfile(options.file):
        raise Failure(f"there is no file '{options.file}'")
    try:
        kind = kind_of(options.file)
        if kind == PROGRAM:
            picture = picture_of(load_program(options.file).module(check_guards=False), os.path.basename(options.file))
            picture.facts[0] = ("format", "exported program (.pt2)")
        else:
            picture = onnx_or_graph(options.file, kind)
    except NoModel as error:
        raise Failure(f"it can't be shown: {error}") from error
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
