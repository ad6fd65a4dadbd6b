"""Inference as people run it, compared with PyTorch, in one run: text generated token by token, and quantized linear layers.

    python bench/generate.py [--quick]      # needs torch in the same environment; prints a table and keeps it in bench/RESULTS.md

A model generates tokens one by one with a cache of keys and values, batch 1: grown by ``cat``, or of a fixed length and written by ``index_copy_``.
Rushlight's step is compiled, once for all lengths; PyTorch's runs in eager mode, as most programs run it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

from sidebyside import PACKAGES, Table, keep, machine

PROMPT, TOKENS, LONGEST = 8, 64, 256


def decoder(package: Any, layers: int, width: int, heads: int, words: int) -> Any:
    """A GPT that takes and gives caches; with positions, those are of a fixed length and written in place."""
    nn = package.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any, cache: Any, position: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (each.view(b, t, heads, c // heads).transpose(1, 2) for each in self.qkv(self.norm1(x)).split(c, 2))
            attend = nn.functional.scaled_dot_product_attention
            if position is None:
                if cache is not None:
                    k, v = package.cat([cache[0], k], 2), package.cat([cache[1], v], 2)
                cache = (k, v)
                y = attend(q, k, v, is_causal=t > 1)
            else:
                cache[0].index_copy_(2, position, k)
                cache[1].index_copy_(2, position, v)
                y = attend(q, *cache, attn_mask=package.arange(LONGEST)[None, :] <= position[:, None])
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.norm2(x)), cache

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(LONGEST, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, token: Any, place: Any, caches: Any, position: Any = None) -> Any:
            x, kept = self.tokens(token) + self.places(place), []
            for block, cache in zip(self.blocks, caches):
                x, cache = block(x, cache, position)
                kept.append(cache)
            return self.head(self.norm(x[:, -1])), kept

    return Model().eval()


def generation(layers: int, width: int, heads: int, fixed: bool) -> Callable[[Any], Callable[[], Any]]:
    """Generate some tokens; what is timed is all of them, and divided later."""

    def make(package: Any) -> Callable[[], Any]:
        package.manual_seed(0)
        model = decoder(package, layers, width, heads, 1000)
        step = package.compile(model) if package is PACKAGES["rushlight"] else model

        def run() -> list[int]:
            with package.no_grad():
                places = package.arange(PROMPT)
                shape = (1, heads, LONGEST, width // heads)
                caches = [(package.zeros(shape), package.zeros(shape)) if fixed else None for _ in range(layers)]
                out, caches = model(package.arange(PROMPT)[None], places, caches, places if fixed else None)
                found = []
                for at in range(PROMPT, PROMPT + TOKENS):
                    token, place = out.argmax(-1, keepdim=True), package.tensor([at])
                    out, caches = step(token, place, caches, place if fixed else None)
                    found.append(int(token))
                return found

        for _ in range(3):
            run()
        return run

    return make


def quantized(rows: int, depth: int, width: int) -> Callable[[Any], Callable[[], Any]]:
    """A linear layer with an int8 weight, whose input is quantized on the way."""

    def make(package: Any) -> Callable[[], Any]:
        package.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quantization = __import__(f"{package.__name__}.ao.quantization", fromlist=["quantize_dynamic"])
            model = quantization.quantize_dynamic(package.nn.Sequential(package.nn.Linear(depth, width)).eval(), {package.nn.Linear})
        x = package.randn(rows, depth)

        def run() -> Any:
            with package.no_grad():
                return model(x)

        return run

    return make


# name, what it is made by, how many times PyTorch's time is allowed
CASES: list[tuple[str, Callable[[Any], Callable[[], Any]], float]] = [
    (f"{TOKENS} tokens, GPT of 4 x 256, cache grown by cat", generation(4, 256, 8, False), 0.8),
    (f"{TOKENS} tokens, GPT of 4 x 256, cache of {LONGEST} written by index_copy_", generation(4, 256, 8, True), 0.8),
    (f"{TOKENS} tokens, GPT of 2 x 768, cache grown by cat", generation(2, 768, 12, False), 0.8),
    *[(f"int8 dynamic linear 768-3072, {rows} rows", quantized(rows, 768, 3072), 1.0) for rows in (1, 32, 128)],
    ("int8 dynamic linear 3072-768, 32 rows", quantized(32, 3072, 768), 1.0),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no results file")
    quick = parser.parse_args().quick
    about = machine()
    table = Table()
    for name, make, allowed in CASES:
        if "tokens" in name:
            texts = [make(package)() for package in PACKAGES.values()]
            if texts[0] != texts[1]:
                raise SystemExit(f"{name}: the tokens differ: {texts}")
        table.time(name, make, allowed, 3 if quick else 7, 0.1 if quick else 0.5)
    print(table)
    if not quick:
        keep("Generation and quantized inference", about, str(table))


if __name__ == "__main__":
    main()
