"""`rushlight verify`: compares a model file with a program; of an ONNX file, names the first node that differs."""

from __future__ import annotations

import argparse
import os

from ..compiler import compile as compile_program
from ..core.errors import RushlightError
from ..model_files import ONNX, NoModel, kind_of
from ..onnx.comparison import Comparison, OnnxSession
from ..onnx.errors import OnnxExporterError
from ..onnx.files import ModelFileError, first_line, read_model
from ..onnx.random_inputs import first_sizes, specs_of
from . import inputs, target
from .comparison import Compared, compare
from .output import DONE, MISSING, WRONG, Failure, Progress, give, give_json, raised, say, users_code
from .sessions import ModuleSession


def run(options: argparse.Namespace) -> int:
    """Compare, and say what was found."""
    if not os.path.exists(options.file):
        raise Failure(f"there is no file '{options.file}'")
    if options.runs < 1:
        raise Failure("--runs must be at least 1")
    try:
        kind = kind_of(options.file)
    except NoModel as error:
        raise Failure(str(error)) from error
    if kind != ONNX or options.against is None:
        return of_any(options, kind)
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


def of_any(options: argparse.Namespace, kind: str) -> int:
    """Compare a file of any format with a program or another file; without one, with itself in other ways to run it."""
    specs = [inputs.parse(text) for text in options.input]
    sizes = inputs.pairs(options.size, "--size")
    found: list[tuple[str, Compared]] = []
    with Progress(options.json, 5 + options.runs) as progress, users_code():
        progress.step(f"reading {options.file}")
        program, specs = target.program(options.file, None, specs)
        described = inputs.Inputs(program, specs, sizes)
        ways: list[tuple[str, object]] = []
        reference: object = program
        if options.against is not None:
            progress.step(f"loading {options.against}")
            reference = target.model(options.against, options.weights)
            ways.append((options.against, ModuleSession(program)))
        else:
            ways.append(("native code", ModuleSession(compile_program(program))))
            if kind == ONNX:
                try:
                    ways.append(("ONNX Runtime", OnnxSession(options.file)))
                except (ImportError, OnnxExporterError) as error:
                    say(f"note: {first_line(error)}")
        for name, session in ways:
            comparison = Comparison(
                reference, session, described.specs, described.sizes, rtol=options.tolerance, atol=options.tolerance, seed=options.seed,  # type: ignore[arg-type]
                step=progress.step,
            )  # fmt: skip
            try:
                comparison.run(options.runs)
            except (RushlightError, RuntimeError, ValueError, TypeError, AssertionError) as error:
                raise raised(f"the program raised an exception ({described.sizes})", error) from error
            found.append((name, Compared(comparison, None, "")))
    agrees = all(each.agrees for _, each in found)
    if options.json:
        give_json({"file": options.file, "against": options.against, "agrees": agrees, "with": {name: each.data() for name, each in found}})
        return DONE if agrees else WRONG
    for name, each in found:
        case = each.comparison.wrong
        for line in (f"note: the program itself does not take {one.sizes} ({one.refused})" for one in each.comparison.cases if one.refused):
            say(line)
        if case is not None:
            say(f"error: the file does not agree with {name} ({case.sizes})\n  {case.wrong}")
        else:
            give(f"{options.file}: {each.summary().replace('the program', name)}")
    return DONE if agrees else WRONG
