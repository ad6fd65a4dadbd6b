"""The models that the benchmarks of training and of native code measure, written once for any package that speaks PyTorch's language.

A maker takes the package and gives the model, its inputs, the target, and the loss of an output and the target.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Made = tuple[Any, tuple[Any, ...], Any, Callable[[Any, Any], Any]]


def mlp(package: Any, layers: int = 2) -> Made:
    """Layers of 64, with ReLU between, and one output."""
    nn = package.nn
    hidden = [each for _ in range(layers) for each in (nn.Linear(64, 64), nn.ReLU())]
    x, y = package.randn(32, 64), package.randn(32, 1)
    return nn.Sequential(*hidden, nn.Linear(64, 1)), (x,), y, nn.functional.mse_loss


def cnn(package: Any) -> Made:
    """Three convolutions with BatchNorm, 3 to 128 channels."""
    nn = package.nn
    layers: list[Any] = []
    for a, b in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(a, b, 3, stride=1 if a == 3 else 2, padding=1), nn.BatchNorm2d(b), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    x, y = package.randn(32, 3, 32, 32), package.randint(0, 10, (32,))
    return model, (x,), y, nn.functional.cross_entropy


def lstm(package: Any) -> Made:
    """An LSTM of 128 over sequences of 50, and a linear layer."""

    class Model(package.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = package.nn.LSTM(64, 128, batch_first=True)
            self.head = package.nn.Linear(128, 1)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    x, y = package.randn(16, 50, 64), package.randn(16, 50, 1)
    return Model(), (x,), y, package.nn.functional.mse_loss


def transformer(package: Any, layers: int, width: int, heads: int, words: int, length: int = 64) -> Any:
    """A transformer with causal attention, over so many tokens."""
    nn = package.nn

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
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, index: Any) -> Any:
            x = self.tokens(index) + self.places(package.arange(index.shape[1], device=index.device))
            return self.head(self.norm(self.blocks(x)))

    return Model()


def gpt(package: Any, layers: int = 4, width: int = 128) -> Made:
    """A small transformer over 64 tokens, in batches of 8."""
    words, length = 65, 64
    model = transformer(package, layers, width, 4, words)
    x, y = package.randint(0, words, (8, length)), package.randint(0, words, (8 * length,))
    return model, (x,), y, lambda out, target: package.nn.functional.cross_entropy(out.reshape(-1, words), target)


def pointwise(package: Any) -> Made:
    """A chain of GELU, layer norm and softmax over 4 million floats."""
    nn = package.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(1024)

        def forward(self, x: Any) -> Any:
            y = 0.5 * x * (1 + package.tanh(0.79788456 * (x + 0.044715 * x * x * x)))
            return package.softmax(self.norm(y), -1)

    x, y = package.randn(4096, 1024), package.randn(4096, 1024)
    return Model(), (x,), y, lambda out, target: (out * target).sum()


def chain(package: Any) -> Made:
    """20 custom Functions on 128 elements."""

    class ScaledSine(package.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x.sin() * factor

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            return gradient * x.cos() * ctx.factor, None

    class Model(package.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.start = package.nn.Parameter(package.rand(128))

        def forward(self, x: Any) -> Any:
            for _ in range(20):
                x = ScaledSine.apply(x, 0.9)
            return x

    model = Model()
    return model, (model.start,), package.zeros(0), lambda out, target: out.sum()


def deep_cnn(package: Any, layers: int = 1) -> Made:
    """Convolutions of 16 channels with BatchNorm, for measuring how things grow with their number."""
    nn = package.nn
    blocks = [each for _ in range(layers) for each in (nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    x, y = package.randn(8, 16, 16, 16), package.randint(0, 10, (8,))
    return model, (x,), y, nn.functional.cross_entropy


CASES: dict[str, Callable[..., Made]] = {
    "pointwise, 4M floats": pointwise,
    "MLP, batch 32": mlp,
    "GPT, 4 layers": gpt,
    "CNN, batch 32": cnn,
    "LSTM, length 50": lstm,
    "20 Functions, 128 elements": chain,
}
# Those that take a number of layers.
GROWING: dict[str, Callable[..., Made]] = {"MLP": mlp, "GPT": partial(gpt, width=32), "CNN": deep_cnn}
LAYERS = (1, 4, 16)


def maker(name: str) -> Callable[[Any], Made]:
    """The maker of a case, or of a model with so many layers: "4 x GPT"."""
    if name in CASES:
        return CASES[name]
    layers, _, model = name.partition(" x ")
    return partial(GROWING[model], layers=int(layers))
