"""Loading data with worker processes and reading a checkpoint, compared with PyTorch.

python bench/data.py [--quick]      # needs torch in the same environment; prints a table and keeps it in bench/RESULTS.md

Every measurement is a process of its own that imports one of the two packages, so that neither forks, or measures, the
memory of the other.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import torch
from sidebyside import PACKAGES, Table, keep, machine, shown

LOADER = """
import json, sys, time
import numpy as np
import {package} as package

class Pictures(package.utils.data.Dataset):
    def __len__(self):
        return 2000

    def __getitem__(self, index):
        picture = np.random.default_rng(index).standard_normal((3, 32, 32), dtype=np.float32)
        picture = (picture - picture.mean((1, 2), keepdims=True)) / picture.std((1, 2), keepdims=True)
        return package.from_numpy(picture[:, :, ::-1].copy()), index % 10

loader = package.utils.data.DataLoader(Pictures(), batch_size=32, num_workers=2, persistent_workers={persistent})

def epoch():
    start, total = time.perf_counter(), 0
    for pictures, labels in loader:
        total += labels.shape[0]
    assert total == 2000
    return time.perf_counter() - start

epoch()
print(json.dumps([min(epoch() for _ in range({epochs}))]))
"""

CHECKPOINT = """
import json, pathlib, time
import {package} as package

package.load({small!r})  # the parts of the package that reading needs are there
def status(key):
    line = next(l for l in pathlib.Path("/proc/self/status").read_text().splitlines() if l.startswith(key))
    return int(line.split()[1])
before = status("VmRSS")
start = time.perf_counter()
state = package.load({large!r})
seconds = time.perf_counter() - start
assert sum(value.nbytes for value in state.values()) == {size}
print(json.dumps([seconds, (status("VmHWM") - before) / 1024]))
"""


def measure(program: str, **values: object) -> list[float]:
    """What a program prints."""
    done = subprocess.run([sys.executable, "-c", program.format(**values)], check=True, capture_output=True, text=True)
    found: list[float] = json.loads(done.stdout)
    return found


def in_turn(measured: Callable[[str], list[float]], rounds: int) -> dict[str, list[float]]:
    """The least of each measured value for each package, over interleaved rounds."""
    found: dict[str, list[list[float]]] = {name: [] for name in PACKAGES}
    for _ in range(rounds):
        for name, values in found.items():
            values.append(measured(name))
    return {name: [min(column) for column in zip(*values)] for name, values in found.items()}


def loaders(table: Table, rounds: int) -> None:
    """Epochs of a DataLoader with two workers."""
    for persistent, name in ((False, "new workers for each epoch"), (True, "workers that stay")):
        best = in_turn(lambda package, kept=persistent: measure(LOADER, package=package, persistent=kept, epochs=3), rounds)
        ours, theirs = best["rushlight"][0], best["torch"][0]
        title = f"DataLoader, 2 workers, 2000 pictures of 3x32x32 in batches of 32, {name}"
        table.add(title, shown(ours), shown(theirs), ours / theirs, 1.2)


def checkpoints(table: Table, rounds: int, folder: pathlib.Path) -> None:
    """Reading a checkpoint that PyTorch has written, and what that adds to the memory at its peak."""
    shapes = [(1024, 4096)] * 60 + [(4096,)] * 60 + [(2048, 2048)]
    state = {f"layers.{index}": torch.randn(shape) for index, shape in enumerate(shapes)}
    size = sum(value.nbytes for value in state.values())
    large, small = str(folder / "large.pt"), str(folder / "small.pt")
    torch.save(state, large)
    torch.save({"weight": torch.ones(3)}, small)
    del state
    best = in_turn(lambda package: measure(CHECKPOINT, package=package, small=small, large=large, size=size), rounds)
    ours, theirs = best["rushlight"], best["torch"]
    title = f"reading a checkpoint of {size / 1e9:.1f} GB"
    table.add(title, shown(ours[0]), shown(theirs[0]), ours[0] / theirs[0], 1.2)
    table.add(f"{title}: memory (peak added)", f"{ours[1]:.0f} MB", f"{theirs[1]:.0f} MB", ours[1] / theirs[1], 1.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no results file")
    quick = parser.parse_args().quick
    about = machine()
    table = Table()
    loaders(table, 2 if quick else 5)
    with tempfile.TemporaryDirectory() as folder:
        checkpoints(table, 2 if quick else 5, pathlib.Path(folder))
    print(table)
    if not quick:
        keep("Loading data", about, str(table))


if __name__ == "__main__":
    main()
