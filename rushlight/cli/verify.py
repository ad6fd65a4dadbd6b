"""`rushlight verify`: compares an ONNX file with a program, and names the first node that differs."""

from __future__ import annotations

import argparse
import os

from ..onnx.files import ModelFileError, read_model
from ..onnx.random_inputs import first_sizes, specs_of
from . import inputs, target
from .comparison import compare
from .output import DONE, MISSING, WRONG, Failure, Progress, give, give_json, say


def run(options: argparse.Namespace) -> int:
    """Compare, and say what was found."""
    if not os.path.exists(options.file):
        raise Failure(f"there is no file '{options.file}'")
    if options.runs < 1:
        raise Failure("--runs must be at least 1")
    given = {spec.name: spec for spec in (inputs.parse(text) for text in options.input)}
    sizes = inputs.pairs(options.size, "--size")
    with Progress(options.json, 5 + options.runs) as progress:
        progress.step(f"reading {options.file}")
        try:
            proto = read_model(options.file, tensors=True)
            specs = specs_of(proto)
        except ImportError as error:
            raise Failure(str(error), MISSING) from error
        except (ModelFileError, ValueError) as error:
            raise Failure(str(error)) from error
        for spec in specs:
            other = given.pop(spec.name, None)
            if other is not None:  # the user knows more about it: a range of numbers, sizes
                spec.low, spec.high = other.low, other.high
                spec.dims = other.dims if len(other.dims) == len(spec.dims) else spec.dims
        if given:
            raise Failure(f"the file has no input '{next(iter(given))}'; its inputs are {', '.join(str(spec.name) for spec in specs)}")
        progress.step(f"loading {options.against}")
        model = target.model(options.against, options.weights)
        compared = compare(
            model, options.file, proto, specs, first_sizes(specs, sizes), options.tolerance, options.runs, progress, options.seed
        )
    if options.json:
        give_json({"file": options.file, "against": options.against, **compared.data()})
    else:
        for line in compared.lines():
            say(line)
        if compared.agrees:
            give(f"{options.file}: {compared.summary()}")
    return DONE if compared.agrees else WRONG
