"""`rushlight run FILE` for a model file: runs it on random inputs, and shows what comes out."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..compiler import compile as compile_program
from ..core.dtypes import BY_NUMPY
from ..core.errors import RushlightError
from ..onnx.comparison import arguments, flat
from ..onnx.random_inputs import draw
from . import inputs, target
from .grammar import FILES, INPUTS, _inputs
from .output import DONE, Failure, give, give_json, number, say, use_utf8, users_code

EXAMPLES = """\
examples:
  rushlight run model.onnx
  rushlight run model.onnx --input "ids=int64[0:1000]:1x16" --compile
  rushlight run old.pt --input 1x3x224x224 -o outputs.npz
"""


def main(path: str, given: Sequence[str]) -> int:
    """Run a model file with options of its own; what goes wrong is one message."""
    use_utf8()
    parser = argparse.ArgumentParser(
        prog=f"rushlight run {path}", description="Run a model file on random inputs, and show the outputs.", epilog=EXAMPLES + INPUTS + FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    _inputs(parser, needed=False)
    parser.add_argument("--weights", metavar="FILE", help="other tensors for the model: .safetensors, or a checkpoint (.pt)")
    parser.add_argument("--data", metavar="FILE.npz", help="inputs by name, in the place of random ones")
    parser.add_argument("--compile", action="store_true", help="run native code")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random inputs (0)")
    parser.add_argument("-o", "--output", metavar="FILE.npz", help="write the outputs to a file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(list(given))
    try:
        return run(path, options)
    except Failure as error:
        say(f"rushlight run: error: {error}")
        return error.status


def run(path: str, options: argparse.Namespace) -> int:
    """Run, and show."""
    model, specs = target.program(path, options.weights, [inputs.parse(text) for text in options.input])
    described = inputs.Inputs(model, specs, inputs.pairs(options.size, "--size"))
    try:
        described.settle()
    except RushlightError as error:
        raise Failure(f"the inputs do not fit the model: {error}") from error
    tensors = (
        stored(options.data, described) if options.data else draw(described.specs, described.sizes, np.random.default_rng(options.seed))
    )
    program = compile_program(model) if options.compile else model
    args, kwargs = arguments(model, described.specs, tensors)
    with users_code(), no_grad():
        try:
            start = time.perf_counter()
            result = program(*args, **kwargs)
            taken = time.perf_counter() - start
            if options.compile:
                start = time.perf_counter()
                result = program(*args, **kwargs)
                taken = time.perf_counter() - start
        except RushlightError as error:
            raise Failure(f"the model can't be run on these inputs: {error}") from error
        except (RuntimeError, ValueError, TypeError, AssertionError, IndexError) as error:
            raise Failure(f"the model can't be run on these inputs: {error}") from error
    found = outputs_of(model, result)
    if options.output:
        named: dict[str, Any] = {name.replace("/", "_"): array for name, array in found}
        np.savez(options.output, **named)
    if options.json:
        give_json(
            {"file": path, "seconds": taken, "inputs": [str(spec) for spec in described.specs], "outputs": [facts(*each) for each in found]}
        )
        return DONE
    for spec, tensor in zip(described.specs, tensors):
        give(f"in   {spec.name}: {spec.kind}[{', '.join(map(str, tensor.shape))}]")
    for name, array in found:
        data = facts(name, array)
        numbers = f"  mean {number(data['mean'])}, from {number(data['smallest'])} to {number(data['largest'])}" if "mean" in data else ""
        give(f"out  {name}: {data['type']}[{', '.join(map(str, array.shape))}]{numbers}")
    give(f"{taken * 1000:.3g} ms{' (native code)' if options.compile else ''}")
    return DONE


def outputs_of(model: Any, result: Any) -> list[tuple[str, np.ndarray]]:
    """The outputs with names: the file's, where it has some, or the keys of a dict."""
    arrays = flat(result)
    names = list(getattr(model, "output_names", ())) or (list(result) if isinstance(result, dict) else [])
    if len(names) != len(arrays):
        names = [f"output_{at}" for at in range(len(arrays))] if len(arrays) != 1 else ["output"]
    return list(zip(names, arrays))


def facts(name: str, array: np.ndarray) -> dict[str, Any]:
    """What an output is."""
    kind = BY_NUMPY[array.dtype].name if array.dtype in BY_NUMPY else str(array.dtype)
    found: dict[str, Any] = {"name": name, "type": kind, "shape": list(array.shape)}
    if array.size and array.dtype.kind in "fiu" and array.dtype.kind != "V":
        wide = array.astype(np.float64)
        found.update(mean=float(wide.mean()), smallest=float(np.min(wide)), largest=float(np.max(wide)))
    return found


def stored(path: str, described: inputs.Inputs) -> list[Any]:
    """Inputs from a file."""
    try:
        held = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Failure(f"'{path}' can't be read: {error}") from error
    missing = [str(spec.name) for spec in described.specs if spec.name not in held]
    if missing:
        raise Failure(f"'{path}' has no array '{missing[0]}'; it has {', '.join(held.files)}")
    return [target.rushlight.as_tensor(held[str(spec.name)]) for spec in described.specs]
