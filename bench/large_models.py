"""Models of the sizes that people train, written once for any package that speaks PyTorch's language: cases of scaling.py.

A maker takes the package and gives what those of cases.py give: the model, its inputs, the target, and the loss of an output and the target.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cases import Made, cnn, lstm, mlp, pointwise, transformer


def tokens(package: Any, model: Any, batch: int, length: int, words: int) -> Made:
    """A language model on random tokens."""
    x, y = package.randint(0, words, (batch, length)), package.randint(0, words, (batch * length,))
    return model, (x,), y, lambda out, target: package.nn.functional.cross_entropy(out.reshape(-1, words), target)


def gpt(package: Any, layers: int, width: int, heads: int, words: int, batch: int, length: int) -> Made:
    """The transformer of cases.py in other sizes."""
    return tokens(package, transformer(package, layers, width, heads, words, length), batch, length, words)


def gpt2(package: Any, layers: int = 12, batch: int = 1, length: int = 256) -> Made:
    """GPT-2 small: 124 million parameters, of which the tokens' vectors are used at both ends."""
    model = transformer(package, layers, 768, 12, 50257, length)
    model.head.weight = model.tokens.weight
    return tokens(package, model, batch, length, 50257)


def plain_cnn(package: Any) -> Made:
    """Four convolutions of 64 to 512 channels with BatchNorm, on images of 64 x 64."""
    nn = package.nn
    layers: list[Any] = []
    for a, b in ((3, 64), (64, 128), (128, 256), (256, 512)):
        layers += [nn.Conv2d(a, b, 3, stride=1 if a == 3 else 2, padding=1), nn.BatchNorm2d(b), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    return model, (package.randn(32, 3, 64, 64),), package.randint(0, 10, (32,)), nn.functional.cross_entropy


def recurrent(package: Any, inputs: int, size: int, length: int, batch: int, layers: int = 1) -> Made:
    """An LSTM and a linear layer."""

    class Model(package.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = package.nn.LSTM(inputs, size, layers, batch_first=True)
            self.head = package.nn.Linear(size, 1)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    x, y = package.randn(batch, length, inputs), package.randn(batch, length, 1)
    return Model(), (x,), y, package.nn.functional.mse_loss


def wide_mlp(package: Any) -> Made:
    """Three layers of 1024, in batches of 256."""
    nn = package.nn
    model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))
    return model, (package.randn(256, 1024),), package.randn(256, 1024), nn.functional.mse_loss


def resnet50(package: Any, batch: int = 4, size: int = 224) -> Made:
    """ResNet-50: 16 bottlenecks, 25.6 million parameters."""
    nn = package.nn

    class Bottleneck(nn.Module):
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
            )  # fmt: skip
            self.shortcut = (
                nn.Identity()
                if stride == 1 and inputs == outputs
                else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
            )

        def forward(self, x: Any) -> Any:
            return package.relu(self.body(x) + self.shortcut(x))

    blocks: list[Any] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for at in range(count):
            blocks.append(Bottleneck(inputs, width, stride if at == 0 else 1))
            inputs = 4 * width
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    return model, (package.randn(batch, 3, size, size),), package.randint(0, 1000, (batch,)), nn.functional.cross_entropy


def encoder(package: Any, layers: int, width: int, heads: int) -> Any:
    """The layers of a transformer without a mask, by the package's own module."""
    nn = package.nn
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)


def vit(package: Any, batch: int = 4, layers: int = 12) -> Made:
    """ViT-B/16 on images of 224 x 224: 86 million parameters."""
    nn = package.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 768, 16, 16)
            self.first = nn.Parameter(package.zeros(1, 1, 768))
            self.places = nn.Parameter(package.randn(1, 197, 768) * 0.02)
            self.layers, self.head = encoder(package, layers, 768, 12), nn.Linear(768, 1000)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = package.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
            return self.head(self.layers(x)[:, 0])

    return Model(), (package.randn(batch, 3, 224, 224),), package.randint(0, 1000, (batch,)), nn.functional.cross_entropy


def bert(package: Any, batch: int = 4, length: int = 128, layers: int = 12) -> Made:
    """BERT-base with a classifier on its first token: 110 million parameters."""
    nn = package.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.kinds = nn.Embedding(30522, 768), nn.Embedding(512, 768), nn.Embedding(2, 768)
            self.norm = nn.LayerNorm(768)
            self.layers, self.pool, self.head = encoder(package, layers, 768, 12), nn.Linear(768, 768), nn.Linear(768, 2)

        def forward(self, index: Any) -> Any:
            x = self.words(index) + self.places(package.arange(index.shape[1])) + self.kinds(package.zeros_like(index))
            return self.head(package.tanh(self.pool(self.layers(self.norm(x))[:, 0])))

    return Model(), (package.randint(0, 30522, (batch, length)),), package.randint(0, 2, (batch,)), nn.functional.cross_entropy


def llama(package: Any, batch: int = 1, length: int = 256, layers: int = 12, width: int = 768, words: int = 32000) -> Made:
    """A Llama of 100 million parameters: RMS norms, rotary places, gated layers, a third as many heads for keys and values."""
    nn, heads, pairs, hidden = package.nn, 12, 4, 1792
    own = width // heads

    def turned(x: Any, cosine: Any, sine: Any) -> Any:
        a, b = x.chunk(2, -1)
        return x * cosine + package.cat([-b, a], -1) * sine

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            self.k, self.v = nn.Linear(width, pairs * own, bias=False), nn.Linear(width, pairs * own, bias=False)
            self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
            self.down = nn.Linear(hidden, width, bias=False)

        def forward(self, x: Any, cosine: Any, sine: Any) -> Any:
            b, t, c = x.shape
            h = self.norm1(x)
            q = turned(self.q(h).view(b, t, heads, own).transpose(1, 2), cosine, sine)
            k = turned(self.k(h).view(b, t, pairs, own).transpose(1, 2), cosine, sine)
            v = self.v(h).view(b, t, pairs, own).transpose(1, 2)
            k, v = (each.repeat_interleave(heads // pairs, 1) for each in (k, v))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            h = self.norm2(x)
            return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)
            angles = package.arange(length)[:, None] * 10000.0 ** (-package.arange(0, own, 2) / own)
            self.register_buffer("cosine", package.cat([angles, angles], -1).cos())
            self.register_buffer("sine", package.cat([angles, angles], -1).sin())

        def forward(self, index: Any) -> Any:
            x = self.words(index)
            for block in self.blocks:
                x = block(x, self.cosine, self.sine)
            return self.head(self.norm(x))

    return tokens(package, Model(), batch, length, words)


# What scaling.py measures, by the names of --cases; those that take gigabytes and minutes are measured with --large.
CASES: dict[str, Callable[[Any], Made]] = {
    "gpt6": functools.partial(gpt, layers=6, width=512, heads=8, words=1000, batch=8, length=256),
    "gpt": functools.partial(gpt, layers=4, width=128, heads=4, words=65, batch=8, length=64),
    "cnn-large": plain_cnn,
    "cnn": cnn,
    "lstm512": functools.partial(recurrent, inputs=256, size=512, length=64, batch=64),
    "lstm": lstm,
    "pointwise": pointwise,
    "mlp1024": wide_mlp,
    "mlp": mlp,
}
LARGE: dict[str, Callable[[Any], Made]] = {
    "gpt2": gpt2,
    "resnet50": resnet50,
    "vit-b": vit,
    "bert-base": bert,
    "llama100m": llama,
    "lstm1024": functools.partial(recurrent, inputs=1024, size=1024, length=64, batch=32),
}
