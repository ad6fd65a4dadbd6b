"""`rushlight export`: writes a model, of a Python file or of another file with one, as an ONNX file or an exported program, and verifies it."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from ..core.errors import RushlightError
from ..onnx.comparison import eager as eager_outputs
from ..onnx.errors import ExportInputError, OnnxExporterError
from ..onnx.exporter import export
from ..onnx.files import read_model
from . import inputs, programs, target
from .comparison import Compared, compare
from .output import DONE, MISSING, RAISED, WRONG, Failure, Progress, give, give_json, raised, say, users_code


@contextlib.contextmanager
def workplace(path: str) -> Iterator[str]:
    """A path in a folder of its own beside the destination, which is gone afterwards whatever happens."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise Failure(f"can't write '{path}': it is a folder")
    try:
        made = tempfile.mkdtemp(prefix=".rushlight-", dir=folder)
    except OSError as error:
        raise Failure(f"can't write '{path}': {error.strerror or error}") from error
    try:
        yield os.path.join(made, os.path.basename(path))
    finally:
        shutil.rmtree(made, ignore_errors=True)


def publish(made: str, path: str) -> int:
    """Put what was made in its place, tensors first; the number of bytes."""
    size = 0
    try:
        for ending in (".data", ""):
            if os.path.exists(made + ending):
                size += os.path.getsize(made + ending)
                os.replace(made + ending, path + ending)
    except OSError as error:
        raise Failure(f"can't write '{path}': {error.strerror or error}") from error
    return size


def run(options: argparse.Namespace) -> int:
    """Export, compare, and put the file in its place."""
    specs = [inputs.parse(text) for text in options.input]
    sizes = inputs.pairs(options.size, "--size")
    if options.output.endswith(".pt2"):
        with workplace(options.output) as place:
            status = programs.run(options, specs, sizes, place)
            if status == DONE:
                publish(place, options.output)
        return status
    with workplace(options.output) as place, Progress(options.json, 2 if options.no_verify else 8) as progress:
        progress.step(f"loading {options.target}")
        model, specs = target.program(options.target, options.weights, specs)
        given = inputs.Inputs(model, specs, sizes)
        try:
            given.settle(options.dynamic)
        except RushlightError as error:
            raise Failure(f"the inputs do not fit the program: {error}") from error
        progress.step("exporting")
        write(model, given, place, options)
        compared: Compared | None = None
        if not options.no_verify:
            try:
                compared = compare(
                    model, place, read_model(place, check=False, tensors=True), given.specs, given.sizes, options.tolerance, 3, progress
                )
            except Failure as error:
                hint = " (--no-verify writes the file without comparing it)" if error.status == MISSING else ""
                raise Failure(f"{error}{hint}", error.status) from error
            if not compared.agrees:
                progress.clear()
                report(options, given, compared, None)
                return WRONG
        size = publish(place, options.output)
    report(options, given, compared, size)
    return DONE


def write(model: Any, given: inputs.Inputs, place: str, options: argparse.Namespace) -> None:
    """Export to a path."""
    args, kwargs = given.example()
    with users_code():
        try:
            model_runs(model, args, kwargs)
            export(
                model, args, place, kwargs=kwargs, input_names=[str(spec.name) for spec in given.specs], dynamic_axes=given.axes() or None,
                output_names=options.output_name or None, opset_version=options.opset, external_data=options.external_data or None,
            )  # fmt: skip
        except ImportError as error:
            raise Failure(str(error), MISSING) from error
        except ExportInputError as error:
            raise Failure(str(error)) from error
        except (OnnxExporterError, RushlightError) as error:
            raise Failure(f"the program can't be exported: {error}", RAISED) from error


def model_runs(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Run the program once as it is, so that its own exceptions are told from those of the export."""
    with users_code():
        try:
            eager_outputs(model, args, kwargs)
        except Exception as error:
            shapes = ", ".join(str(list(each.shape)) for each in (*args, *kwargs.values()))
            raise raised(f"the program raised an exception on inputs of shape {shapes}", error) from error


def report(options: argparse.Namespace, given: inputs.Inputs, compared: Compared | None, size: int | None) -> None:
    """Say what was done."""
    if options.json:
        facts = {"output": options.output if size is not None else None, "bytes": size, "inputs": [str(spec) for spec in given.specs]}
        give_json({**facts, "verified": compared is not None and compared.agrees, **({} if compared is None else compared.data())})
        return
    if compared is not None:
        for line in compared.lines():
            say(line)
    if size is None:
        say(f"nothing was written to {options.output} (--no-verify writes it all the same)")
    else:
        give(f"{options.output}: {bytes_in_words(size)}, {'not verified' if compared is None else compared.summary()}")


def bytes_in_words(size: int) -> str:
    """1.5 MB."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}" if unit != "bytes" else f"{size} bytes"
        size = size / 1000  # type: ignore[assignment]
    return f"{size:.3g} GB"
