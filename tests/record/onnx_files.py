"""Small ONNX files that PyTorch's exporters write, with inputs and what PyTorch computes: tests/data/onnx_files.npz.

Needs torch, onnx and onnxscript.  Run by ``python tests/record/run.py onnx_files``.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

FILE = Path(__file__).resolve().parent.parent / "data" / "onnx_files.npz"


class Images(nn.Module):
    """Convolutions as in MobileNet: by channel, with batch normalization, squeezed and excited."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1), nn.Hardsigmoid())
        self.head = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        x = x + self.deep(x) * self.gate(x)
        return self.head(x.mean((2, 3)))


class Tagger(nn.Module):
    """A bidirectional LSTM over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(20, 6), nn.LSTM(6, 5, bidirectional=True, batch_first=True), nn.Linear(10, 3)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.lstm(self.words(tokens))[0])


class Cached(nn.Module):
    """Attention with a cache of keys and values, as in GPT-2."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(20, 8), nn.LayerNorm(8)
        self.qkv, self.out, self.head = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 20, bias=False)

    def forward(self, tokens: Any, keys: Any, values: Any) -> Any:
        x = self.words(tokens)
        b, t, c = x.shape
        q, k, v = (part.view(b, t, 2, c // 2).transpose(1, 2) for part in self.qkv(self.norm(x)).split(c, 2))
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        mask = torch.ones(t, keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - t)
        scores = (q @ keys.transpose(-2, -1) / (c // 2) ** 0.5).masked_fill(~mask, float("-inf"))
        y = (scores.softmax(-1) @ values).transpose(1, 2).reshape(b, t, c)
        return self.head(x + self.out(y)), keys, values


class Speech(nn.Module):
    """An encoder over frames and a decoder over what was said, as in Whisper."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = nn.Conv1d(4, 8, 3, 2, 1)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Any, said: Any) -> Any:
        return self.decoder(said, self.encoder(nn.functional.gelu(self.frames(x)).transpose(1, 2)))


class Loops(nn.Module):
    """A loop with a choice in it, scripted."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        y = x
        i = 0
        while i < int(n):
            if y.sum() > 0:
                y = y * 0.5 - x
            else:
                y = y - x * 2
            i += 1
        return y


CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "images": (Images, (torch.randn(2, 3, 12, 12),), {"input_names": ["x"], "dynamic_axes": {"x": {0: "N"}}}),
    "images_dynamo": (Images, (torch.randn(2, 3, 12, 12),), {"dynamo": True}),
    "tagger": (Tagger, (torch.randint(0, 20, (2, 6)),), {"input_names": ["tokens"], "dynamic_axes": {"tokens": {0: "N", 1: "L"}}}),
    "cached": (Cached, (torch.randint(0, 20, (1, 3)), torch.randn(1, 2, 4, 4), torch.randn(1, 2, 4, 4)), {}),
    "cached_dynamo": (Cached, (torch.randint(0, 20, (1, 3)), torch.randn(1, 2, 4, 4), torch.randn(1, 2, 4, 4)), {"dynamo": True}),
    "speech": (Speech, (torch.randn(1, 4, 10), torch.randn(1, 3, 8)), {}),
    "loops": (Loops, (torch.randn(3), torch.tensor(5)), {"scripted": True}),
}


def main() -> None:
    """Record all files."""
    warnings.simplefilter("ignore")
    content: dict[str, Any] = {}
    for name, (make, args, options) in CASES.items():
        torch.manual_seed(0)
        model = make().eval()
        options = {"dynamo": False, **options}
        model = torch.jit.script(model) if options.pop("scripted", False) else model
        made = tuple(each.detach() for each in made) if isinstance(made := model(*args), tuple) else made.detach()
        file = io.BytesIO()  # with gradients on: without them PyTorch runs fused layers, which it can't export
        torch.onnx.export(model, args, file, verbose=False, **options)
        content[f"{name}/file"] = np.frombuffer(file.getvalue(), np.uint8)
        for at, each in enumerate(args):
            content[f"{name}/input{at}"] = each.numpy()
        for at, each in enumerate(made if isinstance(made, tuple) else (made,)):
            content[f"{name}/output{at}"] = each.numpy()
    np.savez_compressed(FILE, **content)


if __name__ == "__main__":
    main()
