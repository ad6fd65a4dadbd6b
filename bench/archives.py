"""Reading TorchScript archives: a model of 100 layers, scripted and traced, beside PyTorch.

    python bench/archives.py [--quick]     # needs torch in the same environment; prints a table and adds it to bench/RESULTS.md

PyTorch writes the files; both packages read them in alternating rounds, from a file that the system has in memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import timeit
import warnings
from functools import partial
from typing import Any

import torch
from tables import header, keep, line, shown

import rushlight

warnings.simplefilter("ignore")


class Block(torch.nn.Module):
    """Convolution, normalization and ReLU around a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.relu = torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of the input and of what the layers make of it."""
        return self.relu(self.norm(self.conv(x))) + x


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick, load = parser.parse_args().quick, os.getloadavg()[0]
    model = torch.nn.Sequential(*[Block() for _ in range(100)]).eval()
    rows = header("archive of 100 blocks", "rushlight", "PyTorch", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name, made in (("scripted", torch.jit.script(model)), ("traced", torch.jit.trace(model, torch.randn(1, 8, 4, 4)))):
            path = os.path.join(folder, f"{name}.pt")
            made.save(path)
            times: dict[Any, list[float]] = {rushlight: [], torch: []}
            for _ in range(2 if quick else 7):
                for package, found in times.items():
                    found.append(timeit.timeit(partial(package.jit.load, path), number=1))
            ours, theirs = min(times[rushlight]), min(times[torch])
            rows.append(line(name, shown(ours), shown(theirs), f"{ours / theirs:.2f}"))
    body = "\n".join(rows)
    print(body)
    if not quick:
        keep("Reading TorchScript archives", f"{platform.machine()}, PyTorch {torch.__version__}, load before the run {load:.2f}", body)


if __name__ == "__main__":
    main()
