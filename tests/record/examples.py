"""Record the losses of the example programs under PyTorch.

    python tests/record/examples.py                 # in an environment with torch 2.13
    python tests/record/examples.py digits_cnn      # only some of them

Writes tests/data/examples.json: for each program of examples/ the arguments it was run with and the loss of each step. Every
program runs twice; the second time each parameter is nudged after each step by about the rounding error of a float32. A
program whose losses then differ by more than a fifth of what the test allows is refused: it magnifies rounding, and should
be recorded for fewer steps.
"""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import runpy
import sys
import tempfile
from collections.abc import Iterator

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "tests" / "data" / "examples.json"
TOLERATED = 2e-5
NUDGE = 1e-7

ARGUMENTS = {
    "binary_vae": "--steps 20 --batch-size 16",
    "char_gpt": "--steps 20 --batch-size 4 --context 16 --write 10",
    "contrastive": "--steps 12 --batch-size 16",
    "digits_cnn": "--steps 20 --batch-size 8 --examples 80",
    "distributed_gpt": "--steps 8",
    "dqn": "--steps 20 --batch-size 16 --warm-up 50",
    "graph_network": "--steps 20 --nodes 200",
    "lstm_tagger": "--steps 20 --batch-size 8",
    "neural_ode": "--steps 10 --batch-size 6 --length 5",
    "quantization": "--steps 10 --batch-size 32",
    "unet": "--steps 8 --batch-size 4 --examples 24",
}


def losses(name: str, arguments: list[str]) -> list[float]:
    """Run a program as a command would, and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "losses.json"
        program = str(ROOT / "examples" / f"{name}.py")
        sys.argv = [program, *arguments, "--losses", str(file)]
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(program, run_name="__main__")
        return json.loads(file.read_text())


@contextlib.contextmanager
def nudged() -> Iterator[None]:
    """Within this, every step of an optimizer leaves its parameters off by a part in ten million, at random."""
    generator = torch.Generator().manual_seed(1)

    def nudge(optimizer: torch.optim.Optimizer, *_: object) -> None:
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.mul_(1 + NUDGE * torch.randn(parameter.shape, generator=generator))

    hook = register_optimizer_step_post_hook(nudge)
    try:
        yield
    finally:
        hook.remove()


def main() -> None:
    torch.set_num_threads(1)
    recorded = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for name in sys.argv[1:] or ARGUMENTS:
        arguments = ARGUMENTS[name].split()
        usual = losses(name, arguments)
        with nudged():
            other = losses(name, arguments)
        difference = max(abs(a - b) / abs(a) for a, b in zip(usual, other))
        print(f"{name:14s} {len(usual)} losses from {usual[0]:.5f} to {usual[-1]:.5f}; nudged, within {difference:.1e}")
        if difference > TOLERATED:
            raise SystemExit(f"{name} magnifies rounding too much to be compared: take fewer steps")
        recorded[name] = {"arguments": arguments, "losses": usual}
    kept = {name: recorded[name] for name in ARGUMENTS if name in recorded}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in kept.items())
    TARGET.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
