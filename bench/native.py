"""Native code, side by side with PyTorch's eager mode and compiler, JAX and ONNX Runtime, in one run: inference and training steps, compile times.

python bench/native.py [--quick]      # needs torch and llvmlite beside rushlight; prints a table and keeps it in bench/RESULTS.md

ONNX Runtime takes part where it is installed; JAX where ``JAX_PYTHON`` names the Python of an environment that has it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # compile times are those of a program that is new
os.environ.setdefault("RUSHLIGHT_CACHE_DIR", "")

from sidebyside import PACKAGES, keep, machine, shown, time_of
from train import cnn, gpt, lstm, mlp

WHOLE = "training as compile(train_step)"
MODES = (("rushlight", "native"), ("rushlight", "eager"), ("torch", "eager"), ("torch", "compile"))


def pointwise(package: Any) -> tuple[Any, Any, Any]:
    """A chain of GELU, layer norm and softmax over 4 million floats."""
    nn = package.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(1024)

        def forward(self, x: Any) -> Any:
            y = 0.5 * x * (1 + package.tanh(0.79788456 * (x + 0.044715 * x * x * x)))
            return package.softmax(self.norm(y), -1)

    x, y = package.randn(4096, 1024), package.randn(4096, 1024)
    return Model(), (x,), lambda out: (out * y).sum()


def chain(package: Any) -> tuple[Any, Any, Any]:
    """20 custom Functions on 128 elements."""

    class ScaledSine(package.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x.sin() * factor

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            return gradient * x.cos() * ctx.factor, None

    class Model(package.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.start = package.nn.Parameter(package.rand(128))

        def forward(self, x: Any) -> Any:
            for _ in range(20):
                x = ScaledSine.apply(x, 0.9)
            return x

    model = Model()
    return model, (model.start,), lambda out: out.sum()


CASES: dict[str, Any] = {
    "pointwise, 4M floats": pointwise, "MLP, batch 32": mlp, "GPT, 4 layers": gpt, "CNN, batch 32": cnn, "LSTM, length 50": lstm,
    "20 Functions, 128 elements": chain,
}  # fmt: skip


def same_weights(models: dict[str, Any], inputs: dict[str, Any]) -> None:
    """Give PyTorch's model and inputs the numbers of ours, so that results can be compared."""
    ours, theirs, torch = models["rushlight"], models["torch"], PACKAGES["torch"]
    theirs.load_state_dict({name: torch.from_numpy(np.array(each.detach().numpy())) for name, each in ours.state_dict().items()})
    with torch.no_grad():
        for one, other in zip(inputs["rushlight"], inputs["torch"]):
            other.copy_(torch.from_numpy(np.array(one.detach().numpy())))


def runner(package: Any, mode: str, model: Any, inputs: Any, loss: Any, kind: str) -> Callable[[], Any]:
    """A training step (with the model compiled, or all of it), or inference, in a mode."""
    run, training = model, kind != "inference"
    if mode != "eager" and kind != WHOLE:
        run = package.compile(model, **({"backend": "native"} if mode == "native" else {}))
    if not training:
        model.eval()

        def infer() -> Any:
            with package.no_grad():
                return run(*inputs)

        return infer
    model.train()
    optimizer = package.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        value = loss(run(*inputs))
        value.backward()
        optimizer.step()
        return value

    if mode != "eager" and kind == WHOLE:
        return package.compile(step, **({"backend": "native"} if mode == "native" else {}))  # type: ignore[no-any-return]
    return step


def compare(make: Any, kind: str, rounds: int, budget: float) -> tuple[dict[Any, float], dict[Any, float]]:
    """Best times over interleaved rounds, and the seconds of the first two calls of what is compiled."""
    made = {name: make(package) for name, package in PACKAGES.items()}
    same_weights({name: each[0] for name, each in made.items()}, {name: each[1] for name, each in made.items()})
    functions, first = {}, {}
    for name, mode in MODES:
        functions[name, mode] = runner(PACKAGES[name], mode, *made[name], kind)
        started = time.perf_counter()
        functions[name, mode]()
        functions[name, mode]()  # native code is made when the graph first runs
        first[name, mode] = time.perf_counter() - started
    if kind == "inference":
        ours, theirs = functions["rushlight", "native"](), functions["torch", "eager"]()
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-3, 1e-4)
    times: dict[Any, list[float]] = {each: [] for each in functions}
    for _ in range(rounds):
        for each, function in functions.items():
            times[each].append(time_of(function, budget))
    return {each: min(found) for each, found in times.items()}, first


def onnx_runtime(make: Any, budget: float) -> float | None:
    """The best time of inference in ONNX Runtime, of the model as we export it; None where it is not installed."""
    if importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("onnx") is None:
        return None
    import onnxruntime

    package = PACKAGES["rushlight"]
    model, inputs, _ = make(package)
    model.eval()
    given = tuple(each.detach() for each in inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        package.onnx.export(model, given, path, input_names=[f"x{at}" for at in range(len(given))])
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {each.name: array.numpy() for each, array in zip(session.get_inputs(), given)}
    with package.no_grad():
        np.testing.assert_allclose(session.run(None, feeds)[0], model(*given).numpy(), 1e-3, 1e-4)
    return min(time_of(lambda: session.run(None, feeds), budget) for _ in range(3))


def jax_times(only: str) -> dict[str, dict[str, float]]:
    """The times of all cases in JAX, in the environment that JAX_PYTHON names."""
    python = os.environ.get("JAX_PYTHON")
    if not python:
        return {}
    script = str(pathlib.Path(__file__).with_name("jax_peer.py"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, script, only], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds; nothing is kept")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    about = machine()
    rows = [
        "| case | native | eager | PyTorch | torch.compile | JAX | ONNX Runtime | native to the best of PyTorch | to JAX | to ONNX Runtime "
        "| first calls: native, torch.compile, JAX |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    jax = jax_times(args.only)
    for name, make in CASES.items():
        if args.only not in name:
            continue
        for kind in ("inference", "training", *((WHOLE,) if make in (mlp, chain) else ())):
            best, first = compare(make, kind, 2 if args.quick else 5, 0.1 if args.quick else 0.3)
            peer = min(best["torch", "eager"], best["torch", "compile"])
            cells = [shown(best[each]) for each in MODES]
            ours = best["rushlight", "native"]
            others = [jax.get(name, {}).get("inference" if kind == "inference" else "training"), onnx_runtime(make, 0.1) if kind == "inference" else None]
            begun = ", ".join([shown(first["rushlight", "native"]), shown(first["torch", "compile"]), *([shown(jax[name]["first"])] if name in jax else [])])
            cells += ["–" if each is None else shown(each) for each in others]
            cells += [f"{ours / peer:.2f}", *("–" if each is None else f"{ours / each:.2f}" for each in others), begun]
            rows.append(f"| {name}, {kind} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    body = "\n".join(rows)
    if not args.quick and not args.only:
        keep("Native code", about, body)


if __name__ == "__main__":
    main()
