"""`rushlight check`: the checks of a custom Function, as a table."""

from __future__ import annotations

import argparse
import inspect

import numpy as np

from ..autograd.function import Function
from ..checks import check, guess
from ..onnx.random_inputs import draw, first_sizes
from . import inputs, target
from .output import DONE, WRONG, Failure, Progress, give, give_json, users_code


def value(text: str) -> object:
    """An argument that is no tensor."""
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def run(options: argparse.Namespace) -> int:
    """Check, and print the table."""
    specs = [inputs.parse(text) for text in options.input]
    sizes = inputs.pairs(options.size, "--size")
    function, name = target.find(options.target)
    if not (inspect.isclass(function) and issubclass(function, Function)):
        raise Failure(f"'{name}' is no custom Function, a class that derives from autograd.Function")
    with users_code(), Progress(options.json, 17) as progress:
        if specs:
            stream = np.random.default_rng(0)
            args = (
                *draw(specs, first_sizes(specs, {**{word: 3 for spec in specs for word in spec.symbols().values()}, **sizes}), stream),
                *map(value, options.argument),
            )
        else:
            found = guess(function)
            if found is None:
                raise Failure(f"arguments that {name}.forward takes could not be guessed: give them with --input")
            args = (*found, *map(value, options.argument))
        report = check(function, *args, skip=options.skip, step=progress.step)
    if options.json:
        give_json(report.data())
    else:
        give(str(report))
    return DONE if report.ok else WRONG
