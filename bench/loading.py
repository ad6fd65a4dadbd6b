"""ONNX files: a loaded model, compiled, beside ONNX Runtime on the same file; and what loading a file of 500 MB takes.

    python bench/loading.py [--quick] [--only CASE]

Times are of alternating rounds in one process, with as many threads on both sides; loading is measured in processes of its own.
Results go to bench/RESULTS.md; ``--quick`` and ``--only`` keep nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from cases import cnn, gpt, lstm, pointwise
from onnx import helper, numpy_helper
from peers import progress
from serving import kilobytes, time_of
from tables import cell, header, keep, line

import rushlight
import rushlight.onnx

LARGE = 500  # megabytes of the file whose loading is measured


def bert(package: Any) -> tuple[Any, tuple[Any, ...]]:
    """Two encoder layers of 256 with post-normalization, over 4 sequences of 64 tokens and a mask."""
    nn = package.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(1000, 256), nn.Embedding(64, 256)
            self.norm = nn.LayerNorm(256)
            self.layers = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, activation="gelu") for _ in range(2))

        def forward(self, index: Any) -> Any:
            x = self.norm(self.tokens(index) + self.places(package.arange(index.shape[1])))
            for layer in self.layers:
                x = layer(x)
            return x

    return Model(), (package.randint(0, 1000, (4, 64)),)


CASES: dict[str, Callable[[Any], Any]] = {
    "CNN, 32 images": cnn,
    "GPT, 8 x 64 tokens": gpt,
    "BERT-like, 4 x 64 tokens": bert,
    "LSTM, 16 x 50 steps": lstm,
    "pointwise, 4 M floats": pointwise,
}


def compared(make: Callable[[Any], Any], folder: str, rounds: int, budget: float) -> tuple[float, float, float]:
    """Seconds of a call of the loaded model and of ONNX Runtime, and the largest difference of their outputs."""
    rushlight.manual_seed(0)
    model, inputs, *_ = make(rushlight)
    model.eval()
    path = os.path.join(folder, "model.onnx")
    rushlight.onnx.export(model, inputs, path, opset_version=17)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = rushlight.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {each.name: value.numpy() for each, value in zip(session.get_inputs(), inputs)}
    loaded = rushlight.compile(rushlight.onnx.load(path, requires_grad=False))

    def ours() -> Any:
        return loaded(*inputs)

    def theirs() -> Any:
        return session.run(None, feeds)

    with rushlight.no_grad():
        ours()
        found, expected = ours(), theirs()[0]
        difference = float(np.abs((found if not isinstance(found, tuple) else found[0]).numpy() - expected).max())
        times: dict[Any, list[float]] = {ours: [], theirs: []}
        for _ in range(rounds):
            for each, kept in times.items():
                kept.append(time_of(each, budget))
    return min(times[ours]), min(times[theirs]), difference


def write_large(folder: str, external: bool) -> str:
    """A file of LARGE megabytes: layers of 2048."""
    count, width = LARGE * 1_000_000 // (2048 * 2048 * 4), 2048
    generator = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for index in range(count):
        weights.append(numpy_helper.from_array(generator.standard_normal((width, width), dtype=np.float32), f"layers.{index}.weight"))
        nodes.append(helper.make_node("MatMul", [value, weights[-1].name], [f"y{index}"]))
        value = f"y{index}"
    ends = [helper.make_tensor_value_info(name, 1, ["N", width]) for name in ("x", value)]
    model = helper.make_model(
        helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    path = os.path.join(folder, "external.onnx" if external else "whole.onnx")
    onnx.save(model, path, save_as_external_data=external, location="external.bin" if external else None)
    return path


def load_alone(package: str, path: str) -> None:
    """In a process of its own: load a file, and say what that takes."""
    before = kilobytes("VmRSS")
    loaders = {
        "rushlight": lambda: rushlight.onnx.load(path),
        "onnxruntime": lambda: onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]),
    }
    held: list[Any] = []
    seconds = timeit.timeit(lambda: held.append(loaders[package]()), number=1)
    print(json.dumps({"seconds": seconds, "megabytes": (kilobytes("VmHWM") - before) / 1000}))


def loading(path: str, rounds: int) -> dict[str, dict[str, float]]:
    """What loading a file takes: the least of a few processes."""
    found: dict[str, dict[str, float]] = {}
    for package in ("rushlight", "onnxruntime") * rounds:
        run = subprocess.run([sys.executable, __file__, "--alone", package, path], capture_output=True, text=True, check=True)
        result = json.loads(run.stdout)
        best = found.setdefault(package, result)
        found[package] = {key: min(value, best[key]) for key, value in result.items()}
    return found


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds; nothing is kept")
    parser.add_argument("--only", default="", help="cases whose names contain this; nothing is kept")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        load_alone(*args.alone)
        return
    rounds, budget, load = (2, 0.1, 0.0) if args.quick else (7, 0.2, os.getloadavg()[0])
    rows = header("loaded and compiled", "rushlight", "ONNX Runtime", "of its time", "difference")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in CASES.items():
            if args.only in name:
                progress(name)
                ours, theirs, difference = compared(make, folder, rounds, budget)
                rows.append(line(name, cell(ours), cell(theirs), f"{ours / theirs:.2f}", f"{difference:.0e}"))
        if not args.only:
            rows += ["", *header(f"loading {LARGE} MB", "rushlight", "ONNX Runtime", "rushlight, memory", "ONNX Runtime, memory")]
            for external in (False, True):
                progress("loading")
                found = loading(write_large(folder, external), 1 if args.quick else 3)
                memory = [f"{found[each]['megabytes']:.0f} MB" for each in ("rushlight", "onnxruntime")]
                times = [cell(found[each]["seconds"]) for each in ("rushlight", "onnxruntime")]
                rows.append(line("weights beside the file" if external else "one file", *times, *memory))
    print("\n".join(rows))
    if not args.quick and not args.only:
        keep(
            "Loading ONNX files",
            f"{os.cpu_count()} cores, Python {platform.python_version()}, ONNX Runtime {onnxruntime.__version__}, "
            f"load before the run {load:.2f}, after it {os.getloadavg()[0]:.2f}",
            "\n".join(rows),
        )


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    main()
