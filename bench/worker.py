"""One case of native.py in one package and one form, in a process of its own, so that its first calls are those of a new program.

python bench/worker.py PACKAGE FORM KIND CASE FOLDER        (what native.py starts; serving.py has what it answers)

A form is "eager", "model" (the model is compiled) or "step" (all of the training step is); a kind is "inference" or "training".
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Made, maker
from serving import serve


def seeded(package: Any, make: Callable[[Any], Made]) -> Made:
    """The case, of the same numbers in both packages: their random streams are the same."""
    package.manual_seed(0)
    return make(package)


def runner(package: Any, form: str, kind: str, made: Made) -> Callable[[], Any]:
    """A training step or an inference, in a form."""
    model, inputs, target, loss = made
    run = package.compile(model) if form == "model" else model
    if kind == "inference":
        model.eval()

        def infer() -> Any:
            with package.no_grad():
                return run(*inputs)

        return infer
    model.train()
    optimizer = package.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        value = loss(run(*inputs), target)
        value.backward()
        optimizer.step()
        return value

    return package.compile(step) if form == "step" else step  # type: ignore[no-any-return]


def onnx_runtime(make: Callable[[Any], Made], folder: str, threads: int = 0) -> Callable[[], Any]:
    """Inference in ONNX Runtime, of the model as rushlight exports it; with so many threads, if a number is given."""
    import onnxruntime

    import rushlight

    model, inputs, _, _ = seeded(rushlight, make)
    given = tuple(each.detach() for each in inputs)
    path = os.path.join(folder, "model.onnx")
    rushlight.onnx.export(model.eval(), given, path, input_names=[f"x{at}" for at in range(len(given))])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {each.name: array.numpy() for each, array in zip(session.get_inputs(), given)}
    return lambda: session.run(None, feeds)[0]


def write_numbers(made: Made, path: str) -> None:
    """The parameters, inputs and target in a file, for JAX."""
    model, inputs, target, _ = made
    arrays = {name: each.detach().numpy() for name, each in model.state_dict().items()}
    np.savez(path, input=inputs[0].detach().numpy(), target=target.numpy(), **arrays)


def main() -> None:
    name, form, kind, case, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    results = os.path.join(folder, f"{name} {form} {kind}.npy")
    count = 5 if kind == "training" else 2
    if name == "onnxruntime":
        serve(lambda: onnx_runtime(maker(case), folder), results, count)
        return
    package = importlib.import_module(name)
    made = seeded(package, maker(case))
    if (name, form) == ("rushlight", "eager"):
        write_numbers(made, os.path.join(folder, "numbers.npz"))
    serve(lambda: runner(package, form, kind, made), results, count)


if __name__ == "__main__":
    main()
