"""ONNX export, compared with PyTorch's two exporters, in one run.

python bench/export.py [--quick]      # needs torch, onnx and onnxscript in the same environment; prints tables and keeps them in bench/RESULTS.md

PyTorch's first call of ``dynamo=True`` warms up for seconds; what is compared is a later call.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import glob
import io
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from cases import transformer
from sidebyside import PACKAGES, Table, keep, machine, shown

MEMORY = """
import re, tempfile, os
import {package} as torch
import {package}.onnx
layers = [torch.nn.Linear(4096, 4096, bias=False) for _ in range(16)]  # 1 GB
model = torch.nn.Sequential(*layers).eval()
with tempfile.TemporaryDirectory() as folder:
    torch.onnx.export(model, (torch.randn(1, 4096),), os.path.join(folder, "model.onnx"){options})
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)  # ru_maxrss would count the parent's, too
"""


def mlp(package: Any, scale: int = 1) -> tuple[Any, Any]:
    nn = package.nn
    layers: list[Any] = []
    for _ in range(2 * scale):
        layers += [nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(64, 1)), (package.randn(32, 64),)


def resnet(package: Any, scale: int = 1) -> tuple[Any, Any]:
    nn = package.nn

    class Block(nn.Module):
        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
            self.conv2, self.bn2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = None
            if stride != 1 or inside != outside:
                self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(out + (x if self.shortcut is None else self.shortcut(x)))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for width in (64, 128, 256, 512):
        for block in range(2 * scale):
            layers.append(Block(inside, width, 2 if block == 0 and width > 64 else 1))
            inside = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)), (package.randn(1, 3, 64, 64),)


def lstm(package: Any, scale: int = 1) -> tuple[Any, Any]:
    class Model(package.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = package.nn.LSTM(64, 128, num_layers=scale, batch_first=True)
            self.head = package.nn.Linear(128, 1)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    return Model(), (package.randn(16, 50, 64),)


def gpt(package: Any, scale: int = 1, width: int = 768, layers: int = 12) -> tuple[Any, Any]:
    words = 5000
    return transformer(package, layers * scale, width, 12, words), (package.randint(0, words, (1, 64)),)


def exporter(package: Any, model: Any, args: Any, folder: str, **options: Any) -> Callable[[], float]:
    """Seconds of one export to a new file."""
    path = os.path.join(folder, f"{package.__name__}.onnx")

    def run() -> float:
        gc.collect()
        for old in glob.glob(path + "*"):  # the time to give back the pages of an old file is nobody's
            os.unlink(old)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            package.onnx.export(model, args, path, **options)
            return time.perf_counter() - start

    return run


def compared(make: Callable[..., Any], rounds: int, folder: str) -> dict[str, float]:
    """The best export times: ours, and those of PyTorch's two exporters, in turn."""
    runs: dict[str, Callable[[], float]] = {}
    for name, package in PACKAGES.items():
        model, args = make(package)
        model.eval()
        if name == "rushlight":
            runs[name] = exporter(package, model, args, folder)
        else:
            runs["dynamo"] = exporter(package, model, args, folder, dynamo=True)
            runs["deprecated"] = exporter(package, model, args, folder, dynamo=False)
    for run in runs.values():
        run()  # the first call loads and registers things
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return {name: min(each) for name, each in times.items()}


def memory(package: str, options: str = "") -> float:
    """Peak memory (MB) of a process that exports a 1 GB model."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY.format(package=package, options=options)], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no large models")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    about, rounds = machine(), 2 if args.quick else 3
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        cases: list[tuple[str, Any, float]] = [("MLP", mlp, 1 / 20), ("ResNet-18", resnet, 1 / 20), ("LSTM", lstm, 1 / 20)]
        if not args.quick:
            cases.append(("GPT, 12 layers of width 768", gpt, 1 / 10))
        for name, make, allowed in cases:
            best = compared(make, rounds, folder)
            table.add(f"{name}, dynamo=True", shown(best["rushlight"]), shown(best["dynamo"]), best["rushlight"] / best["dynamo"], allowed)
            table.add(
                f"{name}, dynamo=False", shown(best["rushlight"]), shown(best["deprecated"]), best["rushlight"] / best["deprecated"], 1
            )
        growth = ["| layers | MLP | ResNet | GPT (width 96) | LSTM |", "|---|---|---|---|---|"]
        package = PACKAGES["rushlight"]
        for scale in (1, 4, 16):
            cells = []
            for make in (mlp, resnet, lambda p, s: gpt(p, s, width=96, layers=2), lstm):
                model, inputs = make(package, scale)
                run = exporter(package, model.eval(), inputs, folder)
                run()
                cells.append(shown(min(run() for _ in range(rounds))))
            growth.append(f"| {scale}x | " + " | ".join(cells) + " |")
    if not args.quick:
        ours = memory("rushlight")
        table.add("peak memory for a 1 GB model, against its weights", f"{ours:.0f} MB", "1024 MB (the weights)", ours / 1024, 2.2)
    body = f"{table}\n\nHow our export time grows with the number of layers:\n\n" + "\n".join(growth)
    print(body)
    if not args.quick:
        keep("ONNX export", about, body)


if __name__ == "__main__":
    main()
