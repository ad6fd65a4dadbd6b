"""`rushlight explain`: what `compile` makes of a program: graphs, guards, graph breaks and recompilations."""

from __future__ import annotations

import argparse
import importlib
import os
from typing import Any

import numpy as np

from ..compiler import compile as compile_program
from ..compiler import explain
from ..core.errors import RushlightError
from ..explanation import Explanation
from ..onnx.comparison import arguments
from ..onnx.files import first_line
from ..onnx.random_inputs import DimSizes, draw, other_sizes
from . import inputs, target
from .output import DONE, Failure, Progress, give, give_json, raised, say, users_code


def run(options: argparse.Namespace) -> int:
    """Compile, run, and show."""
    specs = [inputs.parse(text) for text in options.input]
    if options.output is not None and not os.path.isdir(os.path.dirname(os.path.abspath(options.output))):
        raise Failure(f"can't write '{options.output}': its folder is not there")
    with Progress(options.json, 5 + options.stages) as progress, users_code():
        progress.step(f"loading {options.target}")
        model, specs = target.program(options.target, options.weights, specs)
        given = inputs.Inputs(model, specs, inputs.pairs(options.size, "--size"))
        compiled = compile_program(model, backend="eager")
        stream = np.random.default_rng(0)
        found: Explanation | None = None
        notes = []

        def called(sizes: DimSizes) -> Explanation:
            progress.step(f"running: {sizes}" if sizes.values else "running")
            args, kwargs = arguments(model, given.specs, draw(given.specs, sizes, stream))
            return explain(compiled)(*args, **kwargs)

        printed: list[Any] = []
        try:
            called(given.sizes)
            found = called(given.sizes)
            if options.stages:
                progress.step("compiling to native code")
                args, kwargs = arguments(model, given.specs, draw(given.specs, given.sizes, stream))
                printed = importlib.import_module("..stages", __package__).stages(
                    model, *args, for_target=options.code_for, **kwargs
                )  # loads the whole compiler
        except Exception as error:
            raise raised("the program raised an exception", error) from error
        for sizes in list(other_sizes(given.sizes))[:2]:
            try:
                found = called(sizes)
            except Exception as error:
                notes.append(f"note: the program does not take {sizes} ({first_line(error)})")
    for note in notes:
        say(note)
    show(found, printed, options)
    return DONE


def show(found: Explanation, printed: list[Any], options: argparse.Namespace) -> None:
    """Print it, and write the page."""
    if options.output is not None:
        try:
            found.save(options.output)
        except (OSError, RushlightError) as error:
            raise Failure(f"can't write '{options.output}': {getattr(error, 'strerror', None) or error}") from error
    if options.json:
        give_json({**found.data(), "page": options.output, **({"stages": [each._asdict() for each in printed]} if printed else {})})
    else:
        give(found.text([*(["graph"] * options.graphs), *(["guards"] * options.guards)]).rstrip())
        for each in printed:
            give(f"\n== {each.name} ({each.room})\n{each.text}")
        if options.output is not None:
            give(f"\n{options.output}")
