"""Native code, side by side with PyTorch's eager mode and compiler, in one run: inference and training steps, and compile times.

python bench/native.py [--quick]      # needs torch and llvmlite beside rushlight; prints a table and keeps it in bench/RESULTS.md
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # compile times are those of a program that is new

from sidebyside import PACKAGES, keep, machine, shown, time_of
from train import cnn, gpt, lstm, mlp

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


CASES: dict[str, Any] = {"pointwise, 4M floats": pointwise, "MLP, batch 32": mlp, "GPT, 4 layers": gpt, "CNN, batch 32": cnn, "LSTM, length 50": lstm}


def same_weights(models: dict[str, Any], inputs: dict[str, Any]) -> None:
    """Give PyTorch's model and inputs the numbers of ours, so that results can be compared."""
    ours, theirs, torch = models["rushlight"], models["torch"], PACKAGES["torch"]
    theirs.load_state_dict({name: torch.from_numpy(np.array(each.detach().numpy())) for name, each in ours.state_dict().items()})
    for one, other in zip(inputs["rushlight"], inputs["torch"]):
        other.copy_(torch.from_numpy(np.array(one.numpy())))


def runner(package: Any, mode: str, model: Any, inputs: Any, loss: Any, training: bool) -> Callable[[], Any]:
    """A training step, or inference, in a mode."""
    run = model
    if mode != "eager":
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

    return step


def compare(make: Any, training: bool, rounds: int, budget: float) -> tuple[dict[Any, float], dict[Any, float]]:
    """Best times over interleaved rounds, and the seconds of the first two calls of what is compiled."""
    made = {name: make(package) for name, package in PACKAGES.items()}
    same_weights({name: each[0] for name, each in made.items()}, {name: each[1] for name, each in made.items()})
    functions, first = {}, {}
    for name, mode in MODES:
        functions[name, mode] = runner(PACKAGES[name], mode, *made[name], training)
        started = time.perf_counter()
        functions[name, mode]()
        functions[name, mode]()  # native code is made when the graph first runs
        first[name, mode] = time.perf_counter() - started
    if not training:
        ours, theirs = functions["rushlight", "native"](), functions["torch", "eager"]()
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-3, 1e-4)
    times: dict[Any, list[float]] = {each: [] for each in functions}
    for _ in range(rounds):
        for each, function in functions.items():
            times[each].append(time_of(function, budget))
    return {each: min(found) for each, found in times.items()}, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds; nothing is kept")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    about = machine()
    rows = [
        "| case | native | eager | PyTorch | torch.compile | native to the best of PyTorch | first calls: native, torch.compile |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, make in CASES.items():
        if args.only not in name:
            continue
        for training in (False, True):
            best, first = compare(make, training, 2 if args.quick else 5, 0.1 if args.quick else 0.3)
            peer = min(best["torch", "eager"], best["torch", "compile"])
            cells = [shown(best[each]) for each in MODES]
            begun = f"{shown(first['rushlight', 'native'])}, {shown(first['torch', 'compile'])}"
            rows.append(f"| {name}, {'training' if training else 'inference'} | {' | '.join(cells)} | {best['rushlight', 'native'] / peer:.2f} | {begun} |")
            print(rows[-1], flush=True)
    body = "\n".join(rows)
    if not args.quick and not args.only:
        keep("Native code", about, body)


if __name__ == "__main__":
    main()
