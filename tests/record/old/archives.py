"""Small archives that old versions of PyTorch write, with calls of their methods and results; ``pack.py`` puts them into one file.

This is run by the Python of each version, from 3.6 with PyTorch 1.0 on: ``python3.6 tests/record/old/archives.py FOLDER/1.0.1``.
"""
# ruff: noqa  (this is what Python 3.6 and the TorchScript of 1.0 understand)
# mypy: ignore-errors

import os
import sys
import warnings
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

warnings.simplefilter("ignore")
VERSION = tuple(int("".join(c for c in each if c.isdigit())) for each in torch.__version__.split("+")[0].split(".")[:2])


class Block(nn.Module):
    def __init__(self, before, after, stride=1):
        super(Block, self).__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.down = (
            nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if stride != 1 else nn.Sequential()
        )

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.down(x))


class ResNet(nn.Module):
    def __init__(self):
        super(ResNet, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.layers = nn.Sequential(Block(4, 4), Block(4, 6, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(6, 5)

    def forward(self, x):
        x = self.pool(self.layers(self.stem(x)))
        return self.fc(x.view(x.size(0), -1))


class Tagger(nn.Module):
    def __init__(self):
        super(Tagger, self).__init__()
        self.words, self.lstm, self.out = nn.Embedding(9, 4), nn.LSTM(4, 3, bidirectional=True, batch_first=True), nn.Linear(6, 4)

    def forward(self, words):
        return F.log_softmax(self.out(self.lstm(self.words(words))[0]), dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super(Attention, self).__init__()
        self.words, self.places, self.norm = nn.Embedding(11, 8), nn.Embedding(9, 8), nn.LayerNorm(8)
        self.qkv, self.out, self.up, self.down = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, ids, mask):
        batch, length = ids.shape
        x = self.norm(self.words(ids) + self.places(torch.arange(length)).unsqueeze(0))
        q, k, v = [each.view(batch, length, 2, 4).transpose(1, 2) for each in self.qkv(x).chunk(3, -1)]
        bias = (1.0 - mask.unsqueeze(1).unsqueeze(1).float()) * -10000.0
        mixed = (
            (F.softmax(q.matmul(k.transpose(-1, -2)) / 2.0 + bias, dim=-1))
            .matmul(v)
            .permute(0, 2, 1, 3)
            .contiguous()
            .view(batch, length, 8)
        )
        x = self.norm(x + self.out(mixed))
        return self.norm(x + self.down(F.relu(self.up(x)))), x.max(-1)[1]


class Control(torch.jit.ScriptModule):
    """Loops, choices, numbers, lists, tuples and optionals, with two methods and a constant."""

    __constants__ = ["steps", "scale"]

    def __init__(self):
        super(Control, self).__init__()
        self.steps, self.scale = 3, 0.5
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.register_buffer("total", torch.zeros(1))
        self.linear = torch.jit.trace(nn.Linear(3, 3), torch.randn(2, 3))

    @torch.jit.script_method
    def helper(self, x, n):
        # type: (Tensor, int) -> Tuple[Tensor, int]
        made = [x]
        for i in range(n):
            made.append(x * float(i) + self.scale)
        return torch.stack(made).sum(0), n * 2

    @torch.jit.script_method
    def forward(self, x, n, extra=None):
        # type: (Tensor, int, Optional[Tensor]) -> Tensor
        y = torch.mm(x, self.weight)
        for _ in range(self.steps):
            if bool(y.sum() > 0):
                y = self.linear(y) * self.scale
            else:
                y = -y + 1
        i = 0
        while i < n:
            y = y + i
            i = i + 1
        z, m = self.helper(y, n + 1)
        if extra is not None:
            z = z + torch.jit._unwrap_optional(extra)
        if m > 6:
            z = torch.cat([z, y], dim=1)[:, 1:4]
        return z


class Stack(torch.jit.ScriptModule):
    """A loop over layers that are constants of the class."""

    __constants__ = ["layers"]

    def __init__(self):
        super(Stack, self).__init__()
        self.layers = nn.ModuleList([torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), torch.randn(2, 4)) for _ in range(3)])

    @torch.jit.script_method
    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + x
        return x


class Various(nn.Module):
    """Calls whose form in archives changed over time."""

    def forward(self, x):
        a = x.std(1) + x.norm(2, 1) + x.var()
        b = F.interpolate(x.unsqueeze(0).unsqueeze(0), scale_factor=2.0, mode="nearest")
        c = F.interpolate(x.unsqueeze(0).unsqueeze(0), size=(5, 6), mode="bilinear", align_corners=False)
        d = torch.zeros(2, 2, dtype=torch.float32) + torch.ones_like(x)[:2, :2] + torch.full((2, 2), 3.0)
        e = x.gt(0).float() + (x == x).float() * x.clamp(min=0.1) + x.div(2) + x.argmax(1).float().unsqueeze(1)
        f = F.dropout(x, 0.5, training=False).pow(2).topk(2, 1)[0] + torch.arange(2).float() + torch.eye(x.size(0))[:, :2]
        g = F.gelu(x) if VERSION >= (1, 2) else F.selu(x)
        h = torch.einsum("ij,kj->ik", (x, x)) if VERSION < (1, 9) else torch.einsum("ij,kj->ik", x, x)
        return a, b, c, d, e, f, g, h, x[[0, 1]], x[:, 1:].t(), x.masked_fill(x > 0, -1.0), F.pad(x, (1, 1)), x.to(torch.float64)


ROWS = []


def add(name, model, *calls):
    ROWS.append((name, model, calls))


def build():
    torch.manual_seed(0)
    image, ids, mask = torch.randn(2, 3, 16, 16), torch.randint(0, 11, (2, 5)), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    resnet = ResNet().eval()
    add("resnet_trace", torch.jit.trace(resnet, image), ("forward", image))
    words = torch.randint(0, 9, (3, 6))
    add("tagger_trace", torch.jit.trace(Tagger().eval(), words), ("forward", words))
    add("attention_trace", torch.jit.trace(Attention().eval(), (ids, mask)), ("forward", ids, mask))
    add("various_trace", torch.jit.trace(Various(), torch.randn(3, 4)), ("forward", torch.randn(3, 4)))
    x = torch.randn(3, 3)
    add("control_script", Control(), ("forward", x, 2, None), ("forward", x, 3, torch.ones(3, 3)), ("helper", x, 2))
    add("stack_script", Stack(), ("forward", torch.randn(2, 4)))
    if VERSION >= (1, 3):
        shared = nn.Linear(3, 3)
        add(
            "shared_trace",
            torch.jit.trace(nn.Sequential(shared, nn.Sigmoid(), shared).double(), torch.randn(2, 3).double()),
            ("forward", torch.randn(2, 3).double()),
        )
    if VERSION >= (1, 1):
        add("attributes_script", attributes(), ("forward", torch.randn(2, 3)), ("word", "b"))
    if VERSION >= (1, 2):
        add("resnet_script", torch.jit.script(resnet), ("forward", image))
        add("tagger_script", torch.jit.script(Tagger().eval()), ("forward", words))
    if VERSION >= (1, 2):
        import classes

        for name, model, calls in classes.models(VERSION):
            add(name, model, *calls)
    if VERSION >= (1, 3):
        quantization = __import__("torch.quantization", fromlist=["x"])

        dynamic = quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), {nn.Linear}, dtype=torch.qint8)
        add("dynamic_script", torch.jit.script(dynamic), ("forward", torch.randn(2, 4)))
        static = Static().eval()
        static.qconfig = quantization.get_default_qconfig("fbgemm")
        static = quantization.fuse_modules(static, [["conv", "relu"]])
        quantization.prepare(static, inplace=True)
        static(torch.randn(2, 3, 8, 8))
        quantization.convert(static, inplace=True)
        add("static_script", torch.jit.script(static), ("forward", torch.randn(2, 3, 8, 8)))
        add("static_trace", torch.jit.trace(static, torch.randn(2, 3, 8, 8)), ("forward", torch.randn(2, 3, 8, 8)))


class Static(nn.Module):
    def __init__(self):
        super(Static, self).__init__()
        stub = __import__("torch.quantization", fromlist=["x"])
        self.quant, self.dequant = stub.QuantStub(), stub.DeQuantStub()
        self.conv, self.relu, self.linear = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Linear(4, 3)

    def forward(self, x):
        x = F.max_pool2d(self.relu(self.conv(self.quant(x))), 2)
        x = F.adaptive_avg_pool2d(x, (1, 1)).reshape(x.size(0), -1)
        return self.dequant(self.linear(x))


def attributes():
    class Attributes(torch.jit.ScriptModule):
        def __init__(self):
            super(Attributes, self).__init__()
            self.table = torch.jit.Attribute({"a": 1, "b": 2}, Dict[str, int])
            self.names = torch.jit.Attribute(["u", "v"], List[str])
            self.pair = torch.jit.Attribute((1, 2.5), Tuple[int, float])
            self.numbers = torch.jit.Attribute([1, 2, 3], List[int])
            self.tensor = torch.jit.Attribute(torch.ones(3), Tensor)

        @torch.jit.script_method
        def forward(self, x):
            x = x + self.tensor
            return x * self.table["b"] + self.pair[1] * self.numbers[2]

        @torch.jit.script_method
        def word(self, key):
            # type: (str) -> Tuple[int, str]
            return self.table[key], self.names[self.pair[0]]

    return Attributes()


def rows(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    return [rows(each) for each in value] if isinstance(value, (tuple, list)) else value


def main(folder):
    build()
    for name, model, calls in ROWS:
        try:
            torch.jit.save(model, os.path.join(folder, name + ".pt"))
            again = torch.jit.load(os.path.join(folder, name + ".pt"))
            again.eval() if "quant" not in name else None
            made = []
            for call in calls:
                result = getattr(again, call[0])(*call[1:])
                made.append((call[0], rows(list(call[1:])), rows(result)))
            options = {"_use_new_zipfile_serialization": False} if VERSION >= (1, 4) else {}
            torch.save(made, os.path.join(folder, name + ".calls"), **options)
            print("ok", name)
        except Exception as error:
            print("FAIL", name, type(error).__name__, str(error)[:300].replace("\n", " | "))
            for ext in (".pt", ".calls"):
                if os.path.exists(os.path.join(folder, name + ext)):
                    os.remove(os.path.join(folder, name + ext))


if __name__ == "__main__":
    os.path.isdir(sys.argv[1]) or os.makedirs(sys.argv[1])
    main(sys.argv[1])
