"""Eager training steps (forward, backward, SGD), side by side with PyTorch, in one run.

python bench/train.py [--quick]      # needs torch beside rushlight; prints a table and keeps it in bench/RESULTS.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from sidebyside import PACKAGES, Table, keep, machine


def mlp(package: Any) -> tuple[Any, Any, Any]:
    nn = package.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    x, y = package.randn(32, 64), package.randn(32, 1)
    return model, (x,), lambda out: package.nn.functional.mse_loss(out, y)


def cnn(package: Any) -> tuple[Any, Any, Any]:
    nn = package.nn
    layers: list[Any] = []
    for a, b in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(a, b, 3, stride=1 if a == 3 else 2, padding=1), nn.BatchNorm2d(b), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    x, y = package.randn(32, 3, 32, 32), package.randint(0, 10, (32,))
    return model, (x,), lambda out: package.nn.functional.cross_entropy(out, y)


def lstm(package: Any) -> tuple[Any, Any, Any]:
    class Model(package.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = package.nn.LSTM(64, 128, batch_first=True)
            self.head = package.nn.Linear(128, 1)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    x, y = package.randn(16, 50, 64), package.randn(16, 50, 1)
    return Model(), (x,), lambda out: package.nn.functional.mse_loss(out, y)


def gpt(package: Any) -> tuple[Any, Any, Any]:
    nn, width, heads, length, words = package.nn, 128, 4, 64, 65

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (p.view(b, t, heads, c // heads).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(c, 2))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.norm2(x))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(4)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, index: Any) -> Any:
            x = self.tokens(index) + self.places(package.arange(index.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    x, y = package.randint(0, words, (8, length)), package.randint(0, words, (8 * length,))
    return Model(), (x,), lambda out: nn.functional.cross_entropy(out.reshape(-1, words), y)


def step(build: Callable[[Any], tuple[Any, Any, Any]]) -> Callable[[Any], Callable[[], Any]]:
    """One training step of a model, for a package."""

    def make(package: Any) -> Callable[[], Any]:
        package.manual_seed(0)
        model, inputs, loss_of = build(package)
        optimizer = package.optim.SGD(model.parameters(), lr=0.001)

        def run() -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(*inputs))
            loss.backward()
            optimizer.step()
            return loss

        return run

    return make


CASES = [
    ("MLP 64-64-64-1, batch 32", mlp, 1.0),
    ("GPT, 4 layers of width 128, batch 8, length 64", gpt, 1.5),
    ("CNN 3-32-64-128 with BatchNorm, batch 32 of 32x32", cnn, 2.5),
    ("LSTM 64-128, length 50, batch 16", lstm, 2.5),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no results file")
    quick = parser.parse_args().quick
    about = machine()
    table = Table()
    for name, build, allowed in CASES:
        losses = [step(build)(package)().item() for package in PACKAGES.values()]
        if abs(losses[0] - losses[1]) > 1e-4 * abs(losses[1]):
            raise SystemExit(f"{name}: the first losses differ: {losses}")
        table.time(name, step(build), allowed, 3 if quick else 7, 0.1 if quick else 0.5)
    print(table)
    if not quick:
        keep("Training steps, eager", about, str(table))


if __name__ == "__main__":
    main()
