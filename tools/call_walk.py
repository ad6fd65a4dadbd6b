"""The walk of a compiled training step through the package: how many files its calls pass, and how often they change from one file to another.

    python tools/call_walk.py [--files] [--pairs]

Stages that finish before the next begins change files seldom.  The step is that of a small MLP with ``compile``; the first call captures it, the
second differentiates, schedules and compiles the graph, later ones run what was compiled.  ``--files`` lists the files of the second
call with the calls into them, ``--pairs`` the most frequent changes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from types import FrameType
from typing import Any

import rushlight as torch

PACKAGE = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
GENERATED = ("<call of ", "<gradient of ", "<graph ", "<segment")


class Walk:
    """Counts the files of the package that Python functions are entered in."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.last = ""
        self.changes = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(PACKAGE):
            return
        name = name[len(PACKAGE) :]
        self.files[name] += 1
        if name != self.last:
            self.changes += 1
            self.pairs[self.last, name] += 1
            self.last = name

    def of(self, function: Any, *args: Any) -> Walk:
        """Walk through a call."""
        sys.setprofile(self)
        try:
            function(*args)
        finally:
            sys.setprofile(None)
        return self


def training_step() -> tuple[Any, tuple[Any, ...]]:
    """A compiled training step, and its arguments."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return torch.compile(step), (torch.randn(6, 4), torch.randn(6, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    chosen = parser.parse_args()
    compiled, args = training_step()
    walks = [Walk().of(compiled, *args) for _ in range(3)]
    for name, walk in zip(("first", "second", "third"), walks):
        print(f"{name} call: {len(walk.files)} files, {walk.changes} changes of file, {sum(walk.files.values())} calls")
    if chosen.files:
        for name, count in walks[1].files.most_common():
            print(f"{count:6} {name}")
    if chosen.pairs:
        for (one, other), count in walks[1].pairs.most_common(60):
            print(f"{count:6} {one} -> {other}")


if __name__ == "__main__":
    main()
