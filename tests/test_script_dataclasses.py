"""Dataclasses in scripts: what Python makes of their fields is scripted, too, and stays in files."""

import dataclasses
import io

import pytest

import rushlight as torch
from rushlight import Tensor


@dataclasses.dataclass(order=True)
class Point:
    """A point that computes its norm."""

    x: float
    y: float
    norm: Tensor | None = None

    def __post_init__(self):
        self.norm = (torch.tensor(self.x) ** 2 + torch.tensor(self.y) ** 2) ** 0.5


@dataclasses.dataclass
class Powered:
    """A field that is an argument alone."""

    x: float
    power: dataclasses.InitVar[int] = 2
    result: float = 0.0

    def __post_init__(self, power: int):
        self.result = self.x**power


@dataclasses.dataclass(frozen=True)
class Frozen:
    """One that nothing changes."""

    a: int
    b: int = 3


@dataclasses.dataclass
class Own:
    """One with an ``__init__`` of its own."""

    def __init__(self, alpha: float = 0.125):
        self.alpha = alpha


def made(x: float, y: float):
    return Point(x, y).norm, Powered(x, 3).result, Powered(x).result, Frozen(1).b, Own().alpha


def compared(a: int, b: int):
    first, second = Frozen(a, b), Frozen(1, 2)
    return first == second, Point(1.0, 2.0) < Point(1.0, 3.0), Point(1.0, 2.0) >= Point(1.0, 3.0)


def loaded(function):
    stream = io.BytesIO()
    torch.jit.save(function, stream)
    stream.seek(0)
    return torch.jit.load(stream)


def test_post_init_runs():
    scripted = torch.jit.script(made)
    for each in (scripted, loaded(scripted)):
        norm, *rest = each(3.0, 4.0)
        assert float(norm) == 5.0
        assert rest == [27.0, 9.0, 3, 0.125]


@pytest.mark.parametrize("arguments", [(1, 2), (1, 3)])
def test_comparisons_are_those_of_python(arguments):
    scripted = torch.jit.script(compared)
    assert scripted(*arguments) == loaded(scripted)(*arguments) == compared(*arguments)


def test_default_factories_are_refused():
    @dataclasses.dataclass
    class Made:
        x: list[int] = dataclasses.field(default_factory=list)

    with pytest.raises(NotImplementedError, match="Default factory initializers are not supported"):
        torch.jit.script(Made)
