"""Whole training steps on a GPU as one compiled function, beside PyTorch's ways: eager, compiled, and captured by hand as a CUDA graph.

    python -P bench/cuda_steps.py                               # the table, both packages, each in a process of its own
    python -P bench/cuda_steps.py --cases "MLP,GPT 4" --ways eager,graph

A step is forward, loss, backward and SGD.  Losses of the first steps are compared before anything is timed.  Times are the best of several repeats of
synchronised runs; ``first`` are the first two steps, ``memory`` is the peak of what
tensors hold.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# By its path: on Python's path, this folder would hide NVIDIA's package ``cuda`` behind the file of that name.
_spec: Any = importlib.util.spec_from_file_location("cases", Path(__file__).parent / "cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
chain, cnn, gpt, lstm, mlp, pointwise, transformer = (
    getattr(cases, each) for each in ("chain", "cnn", "gpt", "lstm", "mlp", "pointwise", "transformer")
)

BYTES, FLOPS = 4.3e12, {"fp32": 51e12, "bf16": 790e12}  # what an H200 moves and computes in a second, as measured
LOSSES = 8
Way = Callable[[], Any]


def large_gpt(package: Any, layers: int, width: int, heads: int, length: int) -> Any:
    """A transformer with a vocabulary of 1000, in batches of 8."""
    model = transformer(package, layers, width, heads, 1000, length)
    x, y = package.randint(0, 1000, (8, length)), package.randint(0, 1000, (8 * length,))
    return model, (x,), y, lambda out, target: package.nn.functional.cross_entropy(out.reshape(-1, 1000), target)


CASES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "MLP": (mlp, "fp32"), "20 Functions": (chain, "fp32"), "pointwise": (pointwise, "fp32"), "GPT 4": (gpt, "fp32"), "GPT 4 bf16": (gpt, "bf16"),
    "CNN": (cnn, "fp32"), "CNN bf16": (cnn, "bf16"), "LSTM": (lstm, "fp32"),
    "GPT 6": (functools.partial(large_gpt, layers=6, width=512, heads=8, length=256), "fp32"),
    "GPT 6 bf16": (functools.partial(large_gpt, layers=6, width=512, heads=8, length=256), "bf16"),
    "GPT 12": (functools.partial(large_gpt, layers=12, width=768, heads=12, length=512), "fp32"),
    "GPT 12 bf16": (functools.partial(large_gpt, layers=12, width=768, heads=12, length=512), "bf16"),
}  # fmt: skip
WAYS = {"rushlight": ("step", "inference"), "torch": ("eager", "graph", "inference", "limit")}


def prepared(torch: Any, name: str) -> tuple[Any, Any, Callable[[], Any]]:
    """The model, its optimizer and a training step of a case, with the same weights and inputs in all packages."""
    maker, precision = CASES[name]
    torch.set_default_device("cpu")
    torch.manual_seed(0)
    model, inputs, target, loss_of = maker(torch)
    model.cuda()
    own = {id(each) for each in model.parameters()}
    inputs = tuple(each if id(each) in own else each.cuda() for each in inputs)
    target = target.cuda()
    torch.set_default_device("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def mode() -> Any:
        return torch.autocast("cuda", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def step() -> Any:
        optimizer.zero_grad()
        with mode():
            loss = loss_of(model(*inputs), target)
        loss.backward()
        optimizer.step()
        return loss

    def infer() -> Any:
        with torch.no_grad(), mode():
            return model(*inputs)

    step.infer = infer  # type: ignore[attr-defined]
    return model, optimizer, step


def by_hand(torch: Any, step: Callable[[], Any]) -> Callable[[], Any]:
    """A step captured as a CUDA graph, as PyTorch's documentation does it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay() -> Any:
        graph.replay()
        return loss

    return replay


def timed(torch: Any, run: Callable[[], Any], seconds: float) -> float:
    """Milliseconds of a call: the best of repeats of a few calls, synchronised at the end of each."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    torch.cuda.synchronize()
    count = max(1, min(50, int(seconds / 8 / max(time.perf_counter() - began, 1e-5))))
    best = float("inf")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - began) / count)
    return best * 1e3


def measured(torch: Any, name: str, way: str, seconds: float) -> dict[str, Any]:
    """One case in one way: losses, time, the first step's time and memory."""
    model, _, step = prepared(torch, name)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run: Callable[[], Any] = step
    if way == "step":
        run = torch.compile(step)
    elif way in ("compile", "reduce-overhead"):
        compiled = torch.compile(model, mode=None if way == "compile" else way)
        model.forward = compiled.forward if hasattr(compiled, "forward") else compiled
    elif way == "inference":
        run = torch.compile(step.infer) if torch.__name__ != "torch" or "rushlight" in str(torch.__file__) else step.infer  # type: ignore[attr-defined]
    began = time.perf_counter()
    results = [run().sum() for _ in range(2)]  # the second call of a compiled function is the first that runs generated code
    torch.cuda.synchronize()
    first = time.perf_counter() - began
    losses = [] if way == "inference" else [each.item() for each in results] + [run().item() for _ in range(LOSSES - 2)]
    if way == "graph":
        run = by_hand(torch, step)
    found = {
        "losses": losses,
        "ms": timed(torch, run, seconds),
        "first": first,
        "memory": (torch.cuda.max_memory_allocated() - before) / 1e6,
    }
    if way == "inference" and "rushlight" not in str(torch.__file__):
        model.eval()
        graph = by_hand(torch, step.infer)  # type: ignore[attr-defined]
        found["graph"] = timed(torch, graph, seconds / 2)
    return found


def limit(torch: Any, name: str) -> float:
    """Milliseconds that the card needs at least: the operations of the products, or parameters read and written and gradients written once."""
    counter = importlib.import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode(display=False)
    model, _, step = prepared(torch, name)
    with counter:
        step()
    moved = 12 * sum(each.numel() for each in model.parameters())
    return max(counter.get_total_flops() / FLOPS[CASES[name][1]], moved / BYTES) * 1e3


def run_package(package: str, cases: list[str], ways: list[str], seconds: float) -> None:
    """Measure in this process; a line of JSON for each result."""
    if package == "rushlight":
        import rushlight.compat

        rushlight.compat.install()
    import torch

    for name in cases:
        for way in ways:
            try:
                found = {"ms": limit(torch, name)} if way == "limit" else measured(torch, name, way, seconds)
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"[:500]}
            print(json.dumps({"package": package, "case": name, "way": way, **found}), flush=True)
            gc.collect()
            torch.cuda.empty_cache()


def table(results: dict[tuple[str, str, str], dict[str, Any]], cases: list[str]) -> list[str]:
    """The results as lines of a table: ours beside PyTorch's best, for equal losses."""
    lines = [
        "| case | compiled step, ms | PyTorch eager | PyTorch graph | ratio to the best | losses apart | cold, s | memory, MB (PyTorch) | limit, ms |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|")

    def of(package: str, name: str, way: str, field: str = "ms") -> float:
        return float(results.get((package, name, way), {}).get(field, float("nan")))

    for name in cases:
        ours, peers = of("rushlight", name, "step"), [of("torch", name, way) for way in ("eager", "graph")]
        losses = [results.get(key, {}).get("losses", []) for key in (("rushlight", name, "step"), ("torch", name, "eager"))]
        apart = max((abs(one - other) for one, other in zip(*losses)), default=float("nan"))
        lines.append(
            f"| {name} | {ours:.3f} | {peers[0]:.3f} | {peers[1]:.3f} | {ours / min(peers):.2f} | {apart:.1e} | {of('rushlight', name, 'step', 'first'):.2f} | "
            f"{of('rushlight', name, 'step', 'memory'):.0f} ({of('torch', name, 'graph', 'memory'):.0f}) | {of('torch', name, 'limit'):.3f} |"
        )
        for each in (key for key in results if key[1] == name and "error" in results[key]):
            lines.append(f"  {each}: {results[each]['error']}")
    lines += ["", "| inference | compiled, ms | PyTorch eager | PyTorch graph | ratio |", "|---|---|---|---|---|"]
    for name in cases:
        ours, peers = of("rushlight", name, "inference"), [of("torch", name, "inference"), of("torch", name, "inference", "graph")]
        lines.append(f"| {name} | {ours:.3f} | {peers[0]:.3f} | {peers[1]:.3f} | {ours / min(peers):.2f} |")
    return lines


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--ways", default="")
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--package", choices=WAYS)
    args = parser.parse_args()
    cases = args.cases.split(",")
    if args.package:
        run_package(args.package, cases, args.ways.split(",") if args.ways else list(WAYS[args.package]), args.seconds)
        return
    results: dict[tuple[str, str, str], dict[str, Any]] = {}
    for package in WAYS:
        command = [
            sys.executable,
            "-P",
            __file__,
            "--package",
            package,
            "--cases",
            args.cases,
            "--ways",
            args.ways,
            "--seconds",
            str(args.seconds),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as running:
            for line in running.stdout or ():
                print(line, end="", flush=True)  # so that a run that is stopped is not lost
                row = json.loads(line)
                results[package, row["case"], row["way"]] = row
    print("\n".join(table(results, cases)))


if __name__ == "__main__":
    main()
