"""Things that people write in scripts, each run beside plain Python and from a saved file."""
# ruff: noqa: UP006, UP035 - scripts are written as users write them

from __future__ import annotations

import enum
import io
from typing import Any, List

import pytest

import rushlight as torch
from rushlight import Tensor, jit, nn


class Color(enum.Enum):
    RED = 1
    GREEN = 5


class Wide(enum.IntEnum):
    LOW = 2
    HIGH = 3


def over_an_enumeration(x):
    total = 0
    for each in Color:
        total += each.value
    for at, each in enumerate(Wide):
        total += each.value * at
    names = [each.name for each in Color]
    return x * total, names


def doubled(x, times: int = 2):
    return x * times


def forked(x):
    first = jit.fork(doubled, x)
    second = jit.fork(doubled, x, times=3)
    waiting: List[jit.Future[Tensor]] = []
    for i in range(3):
        waiting.append(jit.fork(doubled, x, i))
    return jit.wait(first) + jit.wait(second), torch.stack([jit.wait(each) for each in waiting])


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.listed = nn.ParameterList([nn.Parameter(torch.ones(2) * at) for at in range(1, 4)])
        self.named = nn.ParameterDict({"a": nn.Parameter(torch.ones(2) * 7), "b": nn.Parameter(torch.ones(2) * 8)})

    def forward(self, x):
        for each in self.listed:
            x = x + each
        for at, each in enumerate(self.listed):
            x = x * each + at
        for name in self.named:
            x = x + len(name)
        for name, each in self.named.items():
            x = x - each * len(name)
        for each in self.named.values():
            x = x * each
        return x * self.named["a"] + self.listed[-1], len(self.listed), "a" in self.named, "z" in self.named


class Fixed(nn.Module):
    size: jit.Final[int]
    text: torch.jit.Final[str]

    def __init__(self):
        super().__init__()
        self.size, self.text = 3, "ab"

    def forward(self, x):
        if self.size > 2:
            return x.expand(self.size, -1) * len(self.text)
        return x


def listed(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [listed(each) for each in value] if isinstance(value, (tuple, list)) else value


PROGRAMS = [over_an_enumeration, Weights(), Fixed()]


@pytest.mark.parametrize("program", PROGRAMS, ids=["over_an_enumeration", "Weights", "Fixed"])
def test_same_as_python(program: Any) -> None:
    x = torch.tensor([1.0, -2.0])
    scripted = jit.script(program)
    file = io.BytesIO()
    jit.save(scripted, file)
    file.seek(0)
    for run in (scripted, jit.load(file)):
        assert listed(run(x)) == listed(program(x))


def test_what_is_forked_runs_at_once() -> None:
    x = torch.tensor([1.0, -2.0])
    first, second = jit.script(forked)(x)
    assert first.tolist() == [5.0, -10.0] and second.tolist() == [[0.0, 0.0], [1.0, -2.0], [2.0, -4.0]]
    assert jit.wait(jit.fork(doubled, x)).tolist() == [2.0, -4.0]


def test_constants_are_no_attributes_of_the_graph() -> None:
    graph = str(jit.script(Fixed()).graph)
    assert "size" not in graph and "text" not in graph


def test_execution_is_the_same_whatever_switches_say() -> None:
    with jit.optimized_execution(False):
        assert jit.script(doubled)(torch.ones(1)).item() == 2.0


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.relu, self.linear = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Linear(16, 5)
        self.sum = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        x = self.relu(self.conv(self.quant(x)))
        x = self.linear(self.sum.add(x, x).reshape(x.size(0), -1))
        return self.dequant(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.plain, self.linear = nn.LSTM(4, 3), nn.LSTM(3, 3, bias=False), nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(self.plain(self.lstm(x)[0])[0])


def test_quantized_layers_are_scripted_and_saved() -> None:
    model, x = Quantized().eval(), torch.randn(2, 3, 4, 4)
    model.qconfig = torch.ao.quantization.default_qconfig
    prepared = torch.ao.quantization.prepare(model)
    prepared(x)
    dynamic = torch.ao.quantization.quantize_dynamic(Recurrent(), {nn.LSTM, nn.Linear})
    for quantized, given in ((torch.ao.quantization.convert(prepared), x), (dynamic, torch.randn(5, 2, 4))):
        scripted, file = jit.script(quantized), io.BytesIO()
        jit.save(scripted, file)
        file.seek(0)
        assert torch.equal(scripted(given), quantized(given))
        assert torch.equal(jit.load(file)(given), quantized(given))


def test_isinstance_with_element_types() -> None:

    check = torch.jit.isinstance
    assert check([1], list[int]) and not check(["a"], list[int]) and not check((1,), list[int])
    assert check({1: "a"}, dict[int, str]) and not check({"a": 1}, dict[int, str])
    assert check((1, "a"), tuple[int, str]) and not check((1, "a"), tuple[str, str]) and not check((1,), tuple[int, str])
    assert check(5.0, float) and not check(5, float) and check(None, int | None) and not check("a", int | None)
