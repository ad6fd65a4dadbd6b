"""Speed on a GPU beside PyTorch: eager ops, large kernels, training steps in eager mode and compiled (``cuda_steps.py``).

    python bench/cuda.py                 # a table of both, each in a process of its own
    python bench/cuda.py --only ops --rounds 3   # in turns, since a shared host's speed changes from minute to minute

(``-P`` keeps this folder off the path: this file's name is that of NVIDIA's package.)  Needs a GPU, CuPy and Triton, and a PyTorch for CUDA in the same Python.  Times are medians over repeats, after warming up; steps and large kernels
are synchronised at the end of each repeat.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARTS = ("ops", "kernels", "eager", "compiled", "memory")


def measure(torch: Any, run: Callable[[], Any], count: int, repeats: int = 5) -> float:
    """Microseconds a call, the median of several repeats."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - began) / count * 1e6)
    return statistics.median(found)


def small_ops(torch: Any) -> dict[str, float]:
    """What a call costs in Python: tensors of 128 elements."""
    a, b = torch.randn(128, device="cuda", requires_grad=True), torch.randn(128, device="cuda")
    m = torch.randn(64, 64, device="cuda")
    runs = {
        "add": lambda: b + b, "add with gradient": lambda: a + b, "times a number": lambda: b * 2.5, "relu": b.relu, "sum": b.sum,
        "product 64": lambda: m @ m, "view": lambda: b.view(64, 2), "add in place": lambda: b.add_(0.0),
    }  # fmt: skip
    return {name: measure(torch, run, 500) for name, run in runs.items()}


def large_kernels(torch: Any) -> dict[str, float]:
    """Kernels that are bound by the GPU."""
    F = torch.nn.functional
    big, x, w = torch.randn(4096, 4096, device="cuda"), torch.randn(16384, 1024, device="cuda"), torch.randn(1024, device="cuda")
    half = big.bfloat16()
    image, weight = torch.randn(32, 64, 56, 56, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")
    query = torch.randn(8, 12, 1024, 64, device="cuda", dtype=torch.bfloat16)
    logits, target = torch.randn(4096, 32000, device="cuda"), torch.randint(0, 32000, (4096,), device="cuda")
    runs = {
        "GELU, 4096 x 4096": lambda: F.gelu(big), "add, 4096 x 4096": lambda: big + big, "softmax, 16384 x 1024": lambda: F.softmax(x, -1),
        "layer norm, 16384 x 1024": lambda: F.layer_norm(x, (1024,), w, w), "cross entropy, 4096 x 32000": lambda: F.cross_entropy(logits, target),
        "product 4096, float32": lambda: big @ big, "product 4096, bfloat16": lambda: half @ half,
        "convolution 3 x 3, 64 channels, float32": lambda: F.conv2d(image, weight, padding=1),
        "convolution 3 x 3, 64 channels, bfloat16": lambda: F.conv2d(image.bfloat16(), weight.bfloat16(), padding=1),
        "causal attention, 8 x 12 x 1024 x 64, bfloat16": lambda: F.scaled_dot_product_attention(query, query, query, is_causal=True),
    }  # fmt: skip
    return {name: measure(torch, run, 20) for name, run in runs.items()}


def models(torch: Any) -> dict[str, tuple[Any, Any, Any]]:
    """Models, their inputs and their targets."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.inside, self.outside = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.inside(self.first(x)).split(width, -1))
            made = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.outside(made.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(self.second(x))

    class Gpt(nn.Module):
        def __init__(self, layers: int, width: int, length: int, heads: int, words: int = 1000) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

        def forward(self, x: Any) -> Any:
            made = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
            return self.head(self.norm(self.blocks(made))).flatten(0, 1)

    def cnn() -> Any:
        layers: list[Any] = []
        for before, after in ((3, 32), (32, 64), (64, 128)):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 10))

    def tokens(*shape: int) -> tuple[Any, Any]:
        return torch.randint(0, 1000, shape, device="cuda"), torch.randint(0, 1000, (shape[0] * shape[1],), device="cuda")

    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return {
        "MLP 64-64-64-10, batch 32": (mlp, torch.randn(32, 64, device="cuda"), torch.randint(0, 10, (32,), device="cuda")),
        "CNN 3-32-64-128, batch 32": (cnn(), torch.randn(32, 3, 32, 32, device="cuda"), torch.randint(0, 10, (32,), device="cuda")),
        "GPT 4 layers, width 128": (Gpt(4, 128, 64, 4), *tokens(8, 64)),
        "GPT 6 layers, width 512": (Gpt(6, 512, 256, 8), *tokens(8, 256)),
    }  # fmt: skip


def training_steps(torch: Any) -> dict[str, float]:
    """Forward, backward and SGD."""
    found = {}
    for name, (model, x, target) in models(torch).items():
        model.cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

        def step(call: Any = model, optimizer: Any = optimizer, x: Any = x, target: Any = target) -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(call(x), target).backward()
            optimizer.step()

        found[name] = measure(torch, step, 10)
    return found


def memory_of_steps(torch: Any) -> dict[str, float]:
    """The most memory, in KiB, that a training step takes beside what there is before it.  (Counting slows allocations down: nothing is timed here.)"""
    found = {}
    for name, (model, x, target) in models(torch).items():
        model.cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(2):
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), target).backward()
            optimizer.step()
            torch.cuda.synchronize()
            found[f"{name}, KiB"] = (torch.cuda.max_memory_allocated() - before) / 2**10
    return found


def run_part(part: str, package: str) -> dict[str, float]:
    """One part of the table, in this process."""
    if package == "rushlight":
        import rushlight.compat

        rushlight.compat.install()
    import torch

    if part == "ops":
        return small_ops(torch)
    if part == "memory":
        return memory_of_steps(torch)
    return large_kernels(torch) if part == "kernels" else training_steps(torch)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--rounds", type=int, default=1, help="processes of each package, in turns: the best times are printed")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--package", default="rushlight", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(run_part(args.part, args.package)))
        return
    for part in (args.only,) if args.only else PARTS:
        if part == "compiled":
            subprocess.run([sys.executable, "-P", str(Path(__file__).with_name("cuda_steps.py"))], check=True)
            continue
        results: list[dict[str, float]] = [{}, {}]
        for _ in range(args.rounds):
            for best, package in zip(results, ("rushlight", "torch")):
                command = [sys.executable, "-P", __file__, "--part", part, "--package", package]
                done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
                if done.returncode:
                    print(f"{part}, {package}: failed\n{done.stderr[-2000:]}")
                    continue
                for name, took in json.loads(done.stdout.splitlines()[-1]).items():
                    best[name] = min(took, best.get(name, took))
        print(f"\n| {part} | rushlight, µs | PyTorch, µs | ratio |\n|---|---|---|---|")
        for name in results[1] or results[0]:
            ours, theirs = (each.get(name, float("nan")) for each in results)
            print(f"| {name} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
