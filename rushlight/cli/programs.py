"""`rushlight export ... -o FILE.pt2`: a model as an exported program, which PyTorch loads."""

from __future__ import annotations

import argparse
from typing import Any

from ..core.errors import RushlightError
from ..export import Dim, load, save
from ..export import export as export_program
from ..nn.modules.module import Module
from ..onnx.comparison import Comparison
from ..onnx.random_inputs import InputSpec
from . import inputs, target
from .comparison import Compared
from .output import DONE, RAISED, WRONG, Failure, Progress, give, give_json, number, raised, say, users_code
from .sessions import ModuleSession


class Called(Module):
    """A function as a Module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.__dict__["forward"] = function


def run(options: argparse.Namespace, specs: list[InputSpec], sizes: dict[str, int], place: str) -> int:
    """Export to a path, and compare."""
    with Progress(options.json, 5) as progress:
        progress.step(f"loading {options.target}")
        model, specs = target.program(options.target, options.weights, specs)
        given = inputs.Inputs(model, specs, sizes)
        try:
            given.settle(options.dynamic)
        except RushlightError as error:
            raise Failure(f"the inputs do not fit the program: {error}") from error
        progress.step("exporting")
        if isinstance(model, Module) and not getattr(model, "mode_is_fixed", False):
            model.eval()
        module = model if isinstance(model, Module) else Called(model)
        words = {word: Dim(word) for word in given.sizes.values}
        args, kwargs = given.example()
        shapes = {str(spec.name): {at: words[word] for at, word in spec.symbols().items()} or None for spec in given.specs}
        with users_code():
            try:
                ep = export_program(module, args, kwargs, dynamic_shapes=shapes if words else None)
                save(ep, place)
            except (RushlightError, NotImplementedError, ValueError) as error:
                raise Failure(f"the program can't be exported: {error}", RAISED) from error
            except OSError as error:
                raise Failure(f"can't write '{options.output}': {error.strerror or error}") from error
            except Exception as error:
                raise raised("the program raised an exception", error) from error
        agrees, largest = True, 0.0
        if not options.no_verify:
            progress.step("comparing")
            session: Any = ModuleSession(load(place).module())
            comparison = Comparison(model, session, given.specs, given.sizes, rtol=options.tolerance, atol=options.tolerance)
            comparison.run(3)
            compared = Compared(comparison, None, "")
            agrees, largest = compared.agrees, comparison.largest
    facts = {"output": options.output, "inputs": [str(spec) for spec in given.specs], "agrees": agrees, "largest_error": largest}
    if options.json:
        give_json(facts)
    elif not agrees:
        say(f"error: the file does not agree with the program, largest error {number(largest)}; nothing was written to {options.output}")
    else:
        nodes = sum(node.op == "call_function" for node in ep.graph.nodes)
        give(
            f"{options.output}: {nodes} operators, {'not verified' if options.no_verify else f'agrees with the program, largest error {number(largest)}'}"
        )
    return DONE if agrees else WRONG
