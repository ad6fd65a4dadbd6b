"""Whole training steps and inference on a GPU as one compiled function, beside PyTorch's ways, in one run.

    python -P bench/cuda_steps.py                                        # all cases, all ways: long, since torch.compile takes its time
    python -P bench/cuda_steps.py --cases "MLP,GPT 4" --peers reduce-overhead,graph
    python -P bench/cuda_steps.py --cold --cases "GPT 4" --peers compile # first steps with empty caches, one after another

A step is forward, loss, backward and SGD.  PyTorch's ways are eager mode, ``torch.compile`` of the model, its mode ``reduce-overhead``, and the whole step
captured by hand as a CUDA graph.  Each way of each package has a process of its own, for training and for inference: what one compiles, caches or holds is
no other's.  The processes of a case (of several with ``--together``) warm up side by side; then one after another is timed, while the others wait.  Losses
of the first steps are compared before anything is timed.  Times are the best of several repeats of synchronised runs; ``memory`` is the peak of what tensors and graphs hold; ``limit`` is
what the card needs at least: the operations of the products, or parameters, gradients and what is kept for the backward pass written and read once.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
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
PEERS = ("eager", "compile", "reduce-overhead", "graph")
TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2}  # of losses, relative


def prepared(torch: Any, name: str) -> tuple[Any, Any, Callable[[], Any]]:
    """The model, its optimizer and a training step of a case, with the same weights and inputs in all packages."""
    maker, precision = CASES[name]
    torch.manual_seed(0)
    model, inputs, target, loss_of = maker(torch)
    model.cuda()
    own = {id(each) for each in model.parameters()}
    inputs = tuple(each if id(each) in own else each.cuda() for each in inputs)
    target = target.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    calls: list[Any] = [model]  # what a step calls: the model, or what a way makes of it

    def mode() -> Any:
        return torch.autocast("cuda", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def step() -> Any:
        optimizer.zero_grad()
        with mode():
            loss = loss_of(calls[0](*inputs), target)
        loss.backward()
        optimizer.step()
        return loss

    def infer() -> Any:
        with torch.no_grad(), mode():
            return calls[0](*inputs)

    step.infer, step.calls = infer, calls  # type: ignore[attr-defined]
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


def is_ours(torch: Any) -> bool:
    """Whether a package is rushlight."""
    return "rushlight" in str(torch.__file__)


def in_a_way(torch: Any, model: Any, step: Any, way: str, training: bool) -> Callable[[], Any]:
    """A step, or inference, in one of the ways."""
    run: Callable[[], Any] = step if training else step.infer
    if way == "step":
        return torch.compile(run)  # type: ignore[no-any-return]
    if way in ("compile", "reduce-overhead"):
        step.calls[0] = torch.compile(model, mode=None if way == "compile" else way)  # model.compile() leaves a bare Sequential as it is
    return run


def held(torch: Any, before: int) -> float:
    """Megabytes of the peak of what tensors and graphs have held."""
    peak = torch.cuda.max_memory_allocated() - before
    if is_ours(torch):
        graphs = importlib.import_module("rushlight.runtime.cuda.captured_work").held_by_graphs()
        peak = max(peak, torch.cuda.memory_allocated() - before + graphs)
    return float(peak) / 1e6


def measured(torch: Any, name: str, way: str, training: bool, seconds: float, wait: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """One case in one way: the first steps' time and losses, which ``wait`` gets before the rest is timed; then time and memory."""
    model, _, step = prepared(torch, name)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    if not training:
        model.eval()
    run = in_a_way(torch, model, step, way, training)
    began = time.perf_counter()
    made = [run() for _ in range(2)] if not training else []
    losses = [run().item() for _ in range(2)] if training else []  # where a first call can't be left to generated code, the second runs it
    torch.cuda.synchronize()
    first = time.perf_counter() - began
    del made
    if not seconds:
        return {"losses": losses, "first": first}
    losses += [run().item() for _ in range(LOSSES - 2)] if training else []
    if way == "graph":
        run = by_hand(torch, step if training else step.infer)
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    wait({"losses": losses})
    return {"losses": losses, "ms": timed(torch, run, seconds), "first": first, "memory": held(torch, before)}


def limit(torch: Any, name: str) -> dict[str, Any]:
    """Milliseconds that the card needs at least for a step, and whether products or memory take them."""
    counter = importlib.import_module("torch.utils.flop_counter").FlopCounterMode(display=False)
    model, _, step = prepared(torch, name)
    own, kept = {each.data_ptr() for each in model.parameters()}, dict[int, int]()

    def keep(tensor: Any) -> Any:
        if tensor.data_ptr() not in own:
            kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with counter, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        step()
    moved = 20 * sum(each.numel() for each in model.parameters()) + 2 * sum(
        kept.values()
    )  # read twice, gradients written and read, written
    products, memory = counter.get_total_flops() / FLOPS[CASES[name][1]] * 1e3, moved / BYTES * 1e3
    return {"ms": max(products, memory), "by": "products" if products > memory else "memory"}


def work(package: str, name: str, way: str, training: bool, seconds: float) -> None:
    """Measure one case in one way, in this process: a line of JSON says what is ready to be timed, and, once a line has come in, another one what was found."""
    if package == "rushlight":
        import rushlight.compat

        rushlight.compat.install()
    import torch

    def wait(found: dict[str, Any]) -> None:
        print("\n" + json.dumps(found), flush=True)
        sys.stdin.readline()

    try:
        if way == "limit":
            found = limit(torch, name)
        else:
            found = measured(torch, name, way, training, seconds, wait)
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"[:500]}
    print("\n" + json.dumps(found), flush=True)


class Worker:
    """A process that measures one case in one way."""

    def __init__(self, package: str, folder: str, name: str, way: str, training: bool, seconds: float) -> None:
        names = ("TRITON_CACHE_DIR", "CUPY_CACHE_DIR", "RUSHLIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH")
        places = {name: os.path.join(folder, package, name.lower()) for name in names} if folder else {}
        command = [sys.executable, "-P", __file__, "--work", json.dumps([package, name, way, training, seconds])]
        self.said: dict[str, Any] | None = None  # what was read ahead
        self.title = f"{name}, {way}{'' if training else ', inference'}"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **places})

    def wait(self) -> None:
        """Wait until it is ready to be timed, or has failed."""
        self.said = self.line()

    def line(self) -> dict[str, Any]:
        """What the process says next."""
        if self.said is not None:
            found, self.said = self.said, None
            return found
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        return {"error": f"the process ended with {self.process.wait()}"}

    def finish(self, expected: list[float] | None = None, tolerance: float = 0.0) -> dict[str, Any]:
        """Let it be timed, if its losses are as expected; what came out is printed, too, so that a run that is stopped is not lost."""
        found = self.line()
        if "losses" in found and "first" not in found:
            apart = max(
                (abs(one - other) / max(abs(other), 1.0) for one, other in zip(found["losses"], expected or found["losses"])), default=0.0
            )
            if not apart <= tolerance:
                self.process.kill()
                found = {"error": f"losses differ from PyTorch's by {apart:.1e}: {found['losses']} and {expected}"}
            else:
                assert self.process.stdin is not None
                print(file=self.process.stdin, flush=True)
                found = self.line()
        print(f"  {self.title}: { ({key: value for key, value in found.items() if key != 'losses'}) }", flush=True)
        return found

    def end(self) -> None:
        """Wait until the process has ended."""
        self.process.communicate()


NONE = float("nan")


def started(cases: list[str], peers: list[str], seconds: float, folder: str) -> dict[str, list[list[Worker]]]:
    """By case, the processes that train, those that infer (each of PyTorch's ways, then ours), and the one that counts; all are ready to be timed."""
    ways = [*(("torch", each) for each in peers), ("rushlight", "step")]
    workers = {
        name: [
            *([Worker(package, folder, name, way, training, seconds) for package, way in ways] for training in (True, False)),
            [Worker("torch", folder, name, "limit", True, seconds)],
        ]
        for name in cases
    }
    for each in [each for parts in workers.values() for part in parts for each in part]:
        each.wait()
    return workers


def side_by_side(cases: list[str], peers: list[str], seconds: float, folder: str, together: int) -> list[str]:
    """A table of steps and of inference: ours beside each of PyTorch's ways."""
    head = f"| case | rushlight | {' | '.join(peers)} | ratio to the best | losses apart | first, s (compile) | memory, MB (peers) | limit, ms | of it |"
    steps, inference = (
        [head, "|---" * head.count(" | ") + "|---|"],
        [f"| inference | rushlight | {' | '.join(peers)} | ratio |", "|---" * (3 + len(peers)) + "|"],
    )
    workers: dict[str, list[list[Worker]]] = {}
    for at, name in enumerate(cases):
        tolerance = TOLERANCE[CASES[name][1]]
        if at % together == 0:
            workers = started(cases[at : at + together], peers, seconds, folder)
        trained, asked, (counting,) = workers[name]
        least = counting.finish()
        results = [trained[0].finish(None, tolerance)]
        expected = results[0].get("losses")
        results += [each.finish(expected, tolerance) for each in trained[1:]]
        *found, own = results
        times = [each.get("ms", NONE) for each in found]
        best = min((each for each in times if each == each), default=NONE)
        apart = max((abs(one - other) for one, other in zip(own.get("losses", []), expected or [])), default=NONE)
        memory = " ".join(f"{each.get('memory', NONE):.0f}" for each in found)
        took, compiled = own.get("ms", NONE), dict(zip(peers, found)).get("compile", {})
        steps.append(
            f"| {name} | {took:.4f} | {' | '.join(f'{each:.4f}' for each in times)} | {took / best:.2f} | {apart:.0e} | "
            f"{own.get('first', NONE):.2f} ({compiled.get('first', NONE):.1f}) | {own.get('memory', NONE):.1f} ({memory}) | "
            f"{least.get('ms', NONE):.4f} {least.get('by', '')} | {least.get('ms', NONE) / took:.2f} |"
        )
        *found, own = [each.finish(None, tolerance) for each in asked]
        times = [each.get("ms", NONE) for each in found]
        best = min((each for each in times if each == each), default=NONE)
        took = own.get("ms", NONE)
        inference.append(f"| {name} | {took:.4f} | {' | '.join(f'{each:.4f}' for each in times)} | {took / best:.2f} |")
        for way, each in zip((*peers, "step", *peers, "step"), (*results, *found, own)):
            if "error" in each:
                steps.append(f"  {name}, {way}: {each['error']}")
        if (at + 1) % together == 0 or at + 1 == len(cases):
            for worker in [each for parts in workers.values() for part in parts for each in part]:
                worker.end()
    return [*steps, "", *inference]


def first_steps(cases: list[str], peers: list[str]) -> list[str]:
    """A table of the seconds of first steps with empty caches, each in a process of its own; of ours also with the caches of that process."""
    lines = [f"| first steps, s | rushlight | from disk | {' | '.join(peers)} | ratio |", "|---" * (4 + len(peers)) + "|"]
    for name in cases:
        row = []
        for package, way in (("rushlight", "step"), *(("torch", each) for each in peers)):
            with tempfile.TemporaryDirectory() as folder:
                for _ in range(2 if package == "rushlight" else 1):
                    worker = Worker(package, folder, name, way, True, 0)
                    row.append(worker.finish().get("first", NONE))
                    worker.end()
        best = min(row[2:], default=NONE)
        lines.append(f"| {name} | {' | '.join(f'{each:.2f}' for each in row)} | {row[0] / best:.2f} |")
    return lines


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--together", type=int, default=1, help="cases whose processes warm up side by side")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    cases, peers = args.cases.split(","), [each for each in args.peers.split(",") if each]
    if args.work:
        work(*json.loads(args.work))
    elif args.cold:
        print("\n".join(first_steps(cases, peers)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            print("\n".join(side_by_side(cases, peers, args.seconds, folder, args.together)))


if __name__ == "__main__":
    main()
