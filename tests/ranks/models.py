"""Models of the tests of distributed training: small ones of each kind, and the same batches on every process."""

from __future__ import annotations

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

BATCH = 12  # divided evenly by 2, 3 and 4 processes


class Block(nn.Module):
    """A layer of a transformer, whose number of heads follows from the width of its projections."""

    def __init__(self, width: int, head: int) -> None:
        super().__init__()
        self.head = head
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        """The input with what attention and a small network add."""
        y = self.norm1(x)
        q, k, v = (each(y) for each in (self.query, self.key, self.value))
        heads = [each.view(*each.shape[:2], -1, self.head).transpose(1, 2) for each in (q, k, v)]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2)
        x = x + self.out(mixed.reshape(*mixed.shape[:2], -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """A small language model."""

    def __init__(self, words: int = 24, width: int = 24, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width, 2) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, index):
        """Scores of the next word."""
        x = self.embedding(index)
        for each in self.layers:
            x = each(x)
        return self.head(self.norm(x))


class LSTM(nn.Module):
    """A recurrent model."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(5, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        """Scores after the last step."""
        return self.head(self.lstm(x)[0][:, -1])


def mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))


def cnn():
    return nn.Sequential(nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, 3))


def batches(kind: str, steps: int = 3):
    """Inputs and targets of each step, whole."""
    torch.manual_seed(7)
    shapes = {"mlp": (6,), "cnn": (2, 4, 4), "lstm": (4, 5)}
    if kind == "gpt":
        return [(torch.randint(24, (BATCH, 12)), torch.randint(24, (BATCH, 12))) for _ in range(steps)]
    return [(torch.randn(BATCH, *shapes[kind]), torch.randint(3, (BATCH,))) for _ in range(steps)]


MODELS = {"mlp": mlp, "cnn": cnn, "lstm": LSTM, "gpt": GPT}


def made(kind: str):
    """A model with the same parameters each time."""
    torch.manual_seed(1)
    return MODELS[kind]()


def loss_of(scores, target):
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]).float(), target.reshape(-1))


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.01)
