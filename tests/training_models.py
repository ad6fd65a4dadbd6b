"""Small models of many kinds, with batches for them, to train."""

from __future__ import annotations

import numpy as np

import rushlight as torch
from rushlight import nn, optim
from rushlight.nn import functional as F


class Rounded(torch.autograd.Function):
    """Rounds to quarters; its gradient passes, except outside of [-1, 1]."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.round(x * 4) / 4

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() < 0.8).to(g.dtype)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.second(Rounded.apply(torch.tanh(self.first(x))))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.second, self.group = nn.Conv2d(6, 8, 3, stride=2, groups=2), nn.GroupNorm(2, 8)
        self.pool, self.last = nn.MaxPool2d(3, 2, 1), nn.Linear(8 * 2 * 2, 3)

    def forward(self, x):
        x = self.pool(F.relu(self.norm(self.first(x))))
        x = F.avg_pool2d(F.gelu(self.group(self.second(x))), 2, 1, 1)
        return self.last(F.adaptive_avg_pool2d(x, 2).flatten(1))


class Recurrent(nn.Module):
    def __init__(self, kind=nn.LSTM, **options):
        super().__init__()
        self.network = kind(5, 7, num_layers=2, batch_first=True, **options)
        self.last = nn.LazyLinear(3)

    def forward(self, x):
        return self.last(self.network(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project(self.before(x)).chunk(3, -1)
        query, key, value = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in parts)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.shrink(F.gelu(self.expand(self.between(x))))


class Language(nn.Module):
    """A small GPT whose last layer shares its weight with the embedding."""

    def __init__(self, words=11, length=8, width=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x):
        found = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(found))).transpose(1, 2)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.table = nn.EmbeddingBag(12, 6, mode="mean"), nn.Embedding(12, 6, padding_idx=0)
        self.last = nn.Linear(12, 3)

    def forward(self, x):
        return self.last(torch.cat([self.bag(x), self.table(x).sum(1)], 1))


def numbers(*shape):
    return lambda count, stream: torch.tensor(stream.standard_normal((count, *shape)).astype(np.float32))


def classes(high, *shape):
    return lambda count, stream: torch.tensor(stream.integers(0, high, (count, *shape)))


MODELS = {
    "custom function": (Perceptron, numbers(6), classes(3)),
    "batch norm": (Convolutional, numbers(2, 12, 12), classes(3)),
    "lstm": (Recurrent, numbers(9, 5), classes(3)),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True), numbers(4, 5), classes(3)),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), numbers(4, 5), classes(3)),
    "gpt": (Language, classes(11, 8), classes(11, 8)),
    "embeddings": (Words, classes(12, 5), classes(3)),
}
OPTIMIZERS = {
    "sgd": lambda parameters: optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "adamw": lambda parameters: optim.AdamW(parameters, lr=1e-2),
}
OPEN = {"x": {0: "batch"}, "target": {0: "batch"}}


def prepared(make, xs, ys):
    torch.manual_seed(0)
    stream = np.random.default_rng(0)
    model, x, y = make(), xs(4, stream), ys(4, stream)
    model(x)  # lazy layers take their size from it
    return model, x, y, stream


def eager_step(model, optimizer, x, y, loss=F.cross_entropy):
    value = loss(model(x), y)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    return value.item()


def same_states(trainer, model):
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name, value in trainer.state.items():
        if name in own:
            np.testing.assert_allclose(value, own[name].detach().numpy(), rtol=1e-3, atol=1e-5, err_msg=name)
