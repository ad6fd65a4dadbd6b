"""`rushlight verify`: does an ONNX file compute what a program computes, and if not, where do they part?"""

from __future__ import annotations

import argparse
import os

from ..onnx.files import ModelFileError, read_model
from ..onnx.random_inputs import first_sizes, specs_of
from . import inputs, target
from .comparison import compare
from .output import DONE, MISSING, WRONG, Failure, Progress, give, give_json, say

NAME = "verify"
HELP = "compare an ONNX file with the program that it should be"
DESCRIPTION = """\
Run an ONNX file and a program on the same random inputs, also of other sizes where the file leaves sizes open, and with
inputs that take each branch of an If where such can be found. Prints the largest error. Where the two disagree, the first wrong
node of the file is named, with the line of the program that it comes from and both values.
"""
EXAMPLES = """\
examples:
  rushlight verify model.onnx --against model.py:Net --weights net.safetensors
  rushlight verify gpt.onnx --against gpt.py:make_model --input "ids=int64[0:50257]:NxT" --size T=128
  rushlight verify model.onnx --against model.py:Net --json | jq .largest_error
"""


NOTES = "\n" + inputs.HELP


def grammar(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", metavar="FILE.onnx", help="the file")
    parser.add_argument("--against", required=True, metavar=target.FORM, help="the program")
    inputs.add(parser, needed=False)
    parser.add_argument("--weights", metavar="FILE", help="tensors for the Module: .safetensors, or a checkpoint (.pt)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="how many inputs to compare, and how many other sizes (3)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (0)")
    parser.add_argument(
        "--tolerance", type=float, metavar="X", help="how far values may be apart, relative and absolute (0.001 and 0.00001)"
    )


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
