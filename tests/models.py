"""Whole models for the tests of captures and exports."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


class StraightThrough(torch.autograd.Function):
    """Rounds, and lets gradients pass."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Block(nn.Module):
    """Two convolutions around a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Sequential()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: Any) -> Any:
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class ResNet(nn.Module):
    """Residual blocks in stages of falling resolution."""

    def __init__(self, widths: tuple[int, ...] = (8, 16), blocks: int = 1, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        stages: list[Any] = []
        inside = widths[0]
        for index, width in enumerate(widths):
            for block in range(blocks):
                stages.append(Block(inside, width, 2 if index and not block else 1))
                inside = width
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inside, classes)

    def forward(self, x: Any) -> Any:
        x = self.stages(self.stem(x))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Attention(nn.Module):
    """Causal self-attention, written out."""

    def __init__(self, width: int, heads: int, longest: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))

    def forward(self, x: Any) -> Any:
        batch, length, width = x.size()
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(width // self.heads))
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        x = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return self.out(x)


class GPT(nn.Module):
    """A small language model."""

    def __init__(self, vocabulary: int = 50, width: int = 16, layers: int = 2, heads: int = 2, longest: int = 32) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(longest, width)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(
                nn.ModuleDict({
                    "norm1": nn.LayerNorm(width), "attention": Attention(width, heads, longest), "norm2": nn.LayerNorm(width),
                    "mlp": nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)),
                })
            )  # fmt: skip
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Any) -> Any:
        _, length = tokens.size()
        x = self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))
        for layer in self.layers:
            x = x + layer["attention"](layer["norm1"](x))
            x = x + layer["mlp"](layer["norm2"](x))
        return self.head(self.norm(x))


class ViT(nn.Module):
    """Patches of an image through a transformer encoder."""

    def __init__(self, size: int = 16, patch: int = 4, width: int = 16, classes: int = 5) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.places
        return self.head(self.encoder(x)[:, 0])


class UNet(nn.Module):
    """Down and up again, with what was seen on the way down."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(2, width), nn.SiLU())
        self.down2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1), nn.InstanceNorm2d(2 * width, affine=True), nn.LeakyReLU(0.1))
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.merge = nn.Conv2d(2 * width, width, 3, padding="same")
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x: Any) -> Any:
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        deep = F.interpolate(F.avg_pool2d(second, 2), scale_factor=2, mode="bilinear", align_corners=False)
        up = self.up1(second + deep)
        return torch.sigmoid(self.out(F.relu(self.merge(torch.cat([first, up], dim=1)))))


class Tagger(nn.Module):
    """A bidirectional LSTM over sequences of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6, padding_idx=0)
        self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(10, 4)

    def forward(self, tokens: Any, lengths: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
        hidden, (last, _) = self.rnn(packed)
        padded, _ = nn.utils.rnn.pad_packed_sequence(hidden, batch_first=True)
        return self.out(padded), last


class Bags(nn.Module):
    """Bags of words, rounded by a custom Function."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(30, 8, mode="mean")
        self.out = nn.Linear(8, 2)

    def forward(self, words: Any) -> Any:
        return self.out(StraightThrough.apply(self.bag(words) * 4) / 4)
