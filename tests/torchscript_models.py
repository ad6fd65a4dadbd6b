"""Models whose archives are recorded from PyTorch (``tests/record/torchscript_archives.py``), each with the inputs of its methods."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.ao.quantization as quantization
import torch.nn.functional as F
from torch import Tensor, nn


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if stride != 1 else None

    def forward(self, x: Tensor) -> Tensor:
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.down is not None:
            x = self.down(x)
        out += x
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        self.layers = nn.Sequential(Residual(4, 4), Residual(4, 6, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


class Mobile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU6(), nn.Conv2d(4, 4, 3, 1, 1, groups=4), nn.Hardswish(), nn.SiLU())
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1)).reshape(x.shape[0], -1)
        return self.classifier(x)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(9, 4), nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(6, 4)

    def forward(self, words: Tensor, lengths: list[int]) -> tuple[Tensor, list[int]]:
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(words), torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = self.out(states)
        best: list[int] = []
        for row in range(scores.size(0)):
            best.append(int(scores[row].argmax(-1)[0]))
        return scores, best


class Beam(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, width: int = 2, steps: int = 3, stop: int | None = None) -> list[tuple[list[int], float]]:
        beams: list[tuple[list[int], float]] = [([0], 0.0)]
        known: dict[int, Tensor] = {}
        for _ in range(steps):
            candidates: list[tuple[list[int], float]] = []
            for words, score in beams:
                last = words[-1]
                if last not in known:
                    known[last] = F.log_softmax(self.linear(x[last]), -1)
                values, indices = known[last].topk(width)
                for at in range(width):
                    word = int(indices[at])
                    candidates.append((words + [word], score + float(values[at])))
                    if stop is not None and word == stop:
                        break
            order = torch.tensor([each[1] for each in candidates]).argsort(descending=True)
            beams = [candidates[int(order[at])] for at in range(min(width, len(candidates)))]
        return beams


@torch.jit.script
def overlaps(a: Tensor, b: Tensor) -> Tensor:
    first, second = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]), (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    sides = (torch.min(a[:, None, 2:], b[:, 2:]) - torch.max(a[:, None, :2], b[:, :2])).clamp(min=0)
    inner = sides[:, :, 0] * sides[:, :, 1]
    return inner / (first[:, None] + second - inner)


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.box, self.score = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(6, 4, 1), nn.Conv2d(6, 1, 1)

    def keep(self, boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
        order, kept = scores.argsort(descending=True), torch.jit.annotate(list[Tensor], [])
        while order.numel() > 0:
            first = order[0]
            kept.append(first)
            if order.numel() == 1:
                break
            rest = order[1:]
            order = rest[overlaps(boxes[first].unsqueeze(0), boxes[rest]).squeeze(0) <= threshold]
        return torch.stack(kept)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features = F.relu(self.body(x))
        boxes = self.box(features).flatten(2).transpose(1, 2)[0]
        boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:].exp()], 1)
        scores = self.score(features).sigmoid().flatten()
        kept = self.keep(boxes, scores, 0.3)
        return {"boxes": boxes[kept], "scores": scores[kept]}


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: Tensor
    count: int


@torch.jit.script
class Sum:
    def __init__(self, start: int) -> None:
        self.total = start
        self.items: list[int] = []

    def add(self, value: int) -> int:
        self.total += value
        self.items.append(value)
        return self.total


class Attributes(nn.Module):
    """Attributes of all kinds, a class, a named tuple, an enumeration, exported methods and exceptions."""

    def __init__(self) -> None:
        super().__init__()
        self.color, self.table, self.names, self.mixed = Color.GREEN, {"a": 1, "b": 2}, ["u", "é"], (1, "z", 2.5)
        self.nothing: int | None = None
        self.kind, self.place, self.plain = torch.float64, torch.device("cpu"), torch.arange(3)
        self.register_buffer("passing", torch.ones(2), persistent=False)
        self.parts = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Tanh()})

    def forward(self, x: Tensor, start: int) -> Point:
        total = Sum(start)
        total.add(3)
        total.add(self.table["b"])
        if self.color == Color.GREEN:
            x = x + 1
        for name, part in self.parts.items():
            if name == "one":
                x = part(x)
        return Point(x.to(self.kind) * self.passing.sum() + self.plain.sum(), total.total)

    @torch.jit.export
    def words(self, text: str) -> list[str]:
        return [f"{each.upper()}{self.names[1]} {1.5}" for each in text.split(" ")]

    @torch.jit.export
    def refuse(self, x: int) -> int:
        if x > 2:
            raise ValueError(f"{x} is too big")
        return x


class Constants(nn.Module):
    def forward(self, x: Tensor) -> Any:
        filled = x.masked_fill(x > 0, float("-inf"))
        return (
            x + torch.tensor([1.0, 2.0, 3.0]),
            x[:, [0, 2]],
            filled,
            torch.arange(x.shape[1]),
            x.view(-1).to(torch.float64),
            x.transpose(0, 1)[..., -1],
        )


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

    def positive(self, x: Tensor) -> Tensor:
        return self.linear(x).relu()


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.relu, self.linear = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.relu(self.conv(self.quant(x))), 2)
        return self.dequant(self.linear(x.mean([2, 3])))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


class Cells(nn.Module):
    """One step of each recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 3), nn.GRUCell(3, 5), nn.RNNCell(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(self.gru(self.lstm(x)[0]))


class Sparse(nn.Module):
    """Holds sparse tensors; places in texts that a script does not know are text."""

    def __init__(self) -> None:
        super().__init__()
        table = torch.tensor([[0.0, 1.5, 0, 0], [2, 0, 0, 0], [0, 0, 0, -1], [0, 0, 3, 0]])
        self.register_buffer("pairs", table.to_sparse())
        self.register_buffer("rows", table.to_sparse_csr())

    def forward(self, x: Tensor) -> Tensor:
        return torch.mm(self.pairs, x.t()).t() + (self.rows @ x.t()).t()

    @torch.jit.export
    def words(self, text: str, count: int) -> str:
        shown = "{0} {:s} {{}} {}"
        return shown.format(text, count)


class Block(nn.Module):
    """A layer of a transformer as BERT has it."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(11, 8), nn.Embedding(9, 8), nn.LayerNorm(8)
        self.query, self.key, self.value, self.out = (nn.Linear(8, 8) for _ in range(4))
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        batch, length = ids.shape
        x = self.norm(self.words(ids) + self.places(torch.arange(length).expand(batch, -1)))
        split = lambda each: each.view(batch, length, 2, 4).transpose(1, 2)
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        scores = split(self.query(x)) @ split(self.key(x)).transpose(-1, -2) / 2.0 + bias
        mixed = (scores.softmax(-1) @ split(self.value(x))).permute(0, 2, 1, 3).reshape(batch, length, 8)
        x = self.norm(x + self.out(mixed))
        return self.norm(x + self.down(F.gelu(self.up(x))))


class Table(nn.Module):
    """An embedding that others use, too."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 4)

    def forward(self, ids: Tensor) -> Tensor:
        return self.words(ids)


class User(nn.Module):
    """Calls a Module that is not its own, and reads its weight: a trace passes both."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        object.__setattr__(self, "table", table)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        return F.linear(self.layer(x) + self.table(ids), self.table.words.weight)


class Sharing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.inner = nn.ModuleDict({"user": User(self.table)})
        self.conv = nn.Conv1d(7, 3, 3, padding="same")

    def forward(self, ids: Tensor) -> Tensor:
        return self.conv(self.inner["user"](self.table(ids), ids + 1).transpose(1, 2))


Row = tuple[str, Any, list[tuple[str, tuple[Any, ...]]]]


def quantized() -> Any:
    """A quantized network."""
    torch.backends.quantized.engine = "fbgemm"
    model = Quantized().eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    model = quantization.prepare(quantization.fuse_modules(model, [["conv", "relu"]]))
    model(torch.randn(2, 3, 8, 8))
    return quantization.convert(model)


def models() -> Iterator[Row]:
    """Names, scripted or traced models, and calls of their methods."""
    torch.manual_seed(0)
    image, script, trace = torch.randn(2, 3, 16, 16), torch.jit.script, torch.jit.trace
    resnet = ResNet().eval()
    yield "resnet_script", script(resnet), [("forward", (image,))]
    yield "resnet_trace", trace(resnet, image), [("forward", (image,))]
    yield "resnet_frozen", torch.jit.freeze(script(resnet)), [("forward", (image,))]
    yield "mobile_script", script(Mobile().eval()), [("forward", (image,))]
    ids, mask = torch.randint(0, 11, (2, 5)), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    yield "bert_trace", trace(Block().eval(), (ids, mask)), [("forward", (ids, mask))]
    yield "encoder_script", script(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()), [("forward", (torch.randn(2, 5, 8),))]
    yield "tagger_script", script(Tagger().eval()), [("forward", (torch.randint(0, 9, (3, 6)), [6, 4, 2]))]
    yield "beam_script", script(Beam()), [("forward", (torch.randn(4, 4), 2, 3, None)), ("forward", (torch.randn(4, 4), 3, 2, 1))]
    yield "detector_script", script(Detector().eval()), [("forward", (torch.randn(1, 3, 8, 8),))]
    yield (
        "attributes_script",
        script(Attributes()),
        [("forward", (torch.ones(2), 4)), ("words", ("a bc",)), ("refuse", (2,)), ("refuse", (3,))],
    )
    yield "constants_trace", trace(Constants(), torch.randn(2, 3)), [("forward", (torch.randn(4, 3),))]
    two = Two()
    both = {"forward": torch.randn(2, 3), "positive": torch.randn(2, 3)}
    yield "two_trace", torch.jit.trace_module(two, both), [(name, (each,)) for name, each in both.items()]
    model = quantized()
    yield "quantized_script", script(model), [("forward", (torch.randn(2, 3, 8, 8),))]
    yield "quantized_trace", trace(model, torch.randn(2, 3, 8, 8)), [("forward", (torch.randn(2, 3, 8, 8),))]
    dynamic = quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), {nn.Linear}, dtype=torch.qint8)
    yield "dynamic_script", script(dynamic), [("forward", (torch.randn(2, 4),))]
    recurrent = quantization.quantize_dynamic(Recurrent(), {nn.LSTM}, dtype=torch.qint8)
    yield "dynamic_lstm_script", script(recurrent), [("forward", (torch.randn(3, 2, 4),))]
    yield "sharing_trace", trace(Sharing(), torch.tensor([[1, 2, 3]])), [("forward", (torch.tensor([[4, 0, 5], [1, 1, 2]]),))]
    half = quantization.quantize_dynamic(Recurrent(), {nn.LSTM}, dtype=torch.float16)
    yield "half_lstm_script", script(half), [("forward", (torch.randn(3, 2, 4),))]
    cells = quantization.quantize_dynamic(Cells(), {nn.LSTMCell, nn.GRUCell, nn.RNNCell}, dtype=torch.qint8)
    yield "cells_script", script(cells), [("forward", (torch.randn(2, 4),))]
    upward = nn.Sequential(quantization.QuantStub(), nn.ConvTranspose2d(3, 2, 3, 2, 1, 1), quantization.DeQuantStub()).eval()
    upward.qconfig = quantization.QConfig(activation=quantization.default_observer, weight=quantization.default_weight_observer)
    upward = quantization.prepare(upward)
    upward(torch.randn(2, 3, 4, 4))
    yield "transposed_script", script(quantization.convert(upward)), [("forward", (torch.randn(2, 3, 4, 4),))]
    yield "sparse_script", script(Sparse()), [("forward", (torch.randn(3, 4),)), ("words", ("a", 3))]
