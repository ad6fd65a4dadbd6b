"""Scripted classes: objects in scripts do what they do in Python; they are saved, exported, and refused with a caret."""

from __future__ import annotations

import dataclasses
import enum
import io
import warnings
from typing import List  # noqa: UP035

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import Tensor, jit


@jit.script
class Pair:
    """Two tensors and a number."""

    SCALE = 2

    def __init__(self, first: Tensor, second: Tensor, n: int = 3):
        self.first = first
        self.second = second
        self.n = n
        self.items: List[int] = []  # noqa: UP006

    def total(self):
        return self.first + self.second * self.n

    def grow(self, k: int) -> None:
        self.n += k
        self.items.append(k)

    def __add__(self, other: Pair):
        return Pair(self.first + other.first, self.second, 1)

    def __getitem__(self, index: int) -> Tensor:
        return self.first[index] * self.SCALE

    def __contains__(self, k: int) -> bool:
        return k in self.items

    def __eq__(self, other: Pair) -> bool:  # type: ignore[override]
        return self.n == other.n

    def __len__(self) -> int:
        return self.n

    def __neg__(self):
        return Pair(-self.first, self.second, self.n)

    def __call__(self, x: Tensor):
        return x + self.n

    @property
    def double(self) -> int:
        return self.n * 2

    @staticmethod
    def make(x: Tensor) -> Pair:
        return Pair(x, x)


@jit.script
@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: Tensor
    y: float = 2.0

    def norm(self):
        return (self.x**2).sum() + self.y


class Color(enum.Enum):
    """Constants."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """Constants that are numbers."""

    LOW = 1
    HIGH = 2


class Counter(torch.nn.Module):
    """A Module that holds an object."""

    def __init__(self):
        super().__init__()
        self.pair = Pair(torch.ones(2), torch.ones(2))

    def forward(self, x):
        self.pair.grow(1)
        return self.pair.total() + x


def uses_everything(x):
    p = Pair(x, x * 2)
    p.grow(4)
    p.n = 10
    q = p + p
    made = Pair.make(x)
    return p.total(), p.items, len(q), q.n, made.double, p[1], 4 in p, 5 in p, p == q, (-p).first, p(x)


def takes_object(p: Pair, k: int):
    if k > 2:
        p.grow(k)
    return p.total()


def in_a_loop(x, count: int):
    p = Pair(x, x)
    for i in range(count):
        p = Pair(p.first + i, p.second)
    return p.total()


def changed_in_a_branch(x):
    p = Pair(x, x)
    if bool(x.sum() > 0):
        p.n = 5
    return p.total()


def of_a_dataclass(x):
    p = Point(x)
    p.y = 3.0
    return p.norm() + Point(x, 1.0).norm()


def compares_enums(x, color: Color, level: int):
    if color is Color.RED:
        return x, color
    if level == Level.HIGH:
        return x + Level.HIGH.value, Color.RED
    return x + 1, Color.BLUE


def same(one, other):
    if isinstance(one, torch.Tensor):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5)
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            same(a, b)
    else:
        assert one == other


def saved(thing):
    buffer = io.BytesIO()
    jit.save(thing, buffer)
    buffer.seek(0)
    return jit.load(buffer)


@pytest.mark.parametrize("function", [uses_everything, changed_in_a_branch, of_a_dataclass, lambda: None], ids=lambda each: each.__name__)
def test_as_in_python(function):
    if function.__name__ == "<lambda>":
        function, more = in_a_loop, (3,)
    else:
        more = ()
    scripted = jit.script(function)
    loaded = saved(scripted)
    for scale in (1.0, -1.0):
        for run in (scripted, scripted, loaded):
            x, y = (torch.tensor([1.0, 2.0]).mul_(scale).requires_grad_() for _ in range(2))
            want, got = function(x, *more), run(y, *more)
            same(got, want)
            first, second = (each[0] if isinstance(each, tuple) else each for each in (want, got))
            same(torch.autograd.grad(second.sum(), y)[0], torch.autograd.grad(first.sum(), x)[0])


def test_objects_go_in_and_out():
    scripted = jit.script(takes_object)
    p = Pair(torch.ones(2), torch.ones(2))
    same(scripted(p, 5), torch.full((2,), 9.0))
    assert p.n == 8 and p.items == [5]  # the object itself
    with pytest.raises(RuntimeError, match="Expected a value of type 'Pair' for argument 'p'"):
        scripted(3, 5)
    loaded = saved(jit.script(makes))
    made = loaded(torch.ones(2))
    same(made.total(), torch.full((2,), 4.0))
    assert made.double == 6 and len(made) == 3 and type(made).__name__ == "Pair"


def makes(x):
    return Pair(x, x)


def test_a_module_holds_an_object():
    module = jit.script(Counter())
    same(module(torch.ones(2)), torch.full((2,), 6.0))
    loaded = saved(module)
    same(loaded(torch.ones(2)), torch.full((2,), 7.0))
    assert loaded.pair.items == [1, 1]


def test_export():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.onnx.export(jit.script(in_a_loop), (torch.ones(2), 3))
        with pytest.raises(jit.CaptureError, match="set inside of a branch or a loop"):
            torch.onnx.export(jit.script(changed_in_a_branch), (torch.ones(2),))
    session = onnx_session(made)
    values = (np.array([2.0, 3.0], np.float32), np.array(3))
    (got,) = session.run(None, {each.name: value for each, value in zip(session.get_inputs(), values)})
    np.testing.assert_allclose(got, in_a_loop(torch.tensor([2.0, 3.0]), 3).numpy())


@pytest.mark.parametrize(("color", "level"), [(Color.RED, 1), (Color.BLUE, 2), (Color.BLUE, 1)])
def test_enums_are_saved(color, level):
    scripted = jit.script(compares_enums)
    same(scripted(torch.ones(1), color, level), compares_enums(torch.ones(1), color, level))
    same(saved(scripted)(torch.ones(1), color, level), compares_enums(torch.ones(1), color, level))


class Grows:
    def __init__(self, x):
        self.x = x

    def grow(self):
        self.y = 1


class Base:
    pass


class Derived(Base):
    pass


class Mixed:
    def __init__(self, x):
        self.x = x
        self.n = 1

    def spoil(self):
        self.n = "text"


def unknown_attribute(x):
    return Pair(x, x).missing


def no_such_operator(x):
    return Pair(x, x) - Pair(x, x)


@pytest.mark.parametrize(
    ("thing", "says", "points_at"),
    [
        (Grows, "Tried to set nonexistent attribute: y. Did you forget to initialize it in __init__()?", "self.y = 1"),
        (Derived, "scripted classes have no base classes", None),
        (Mixed, "Wrong type for attribute assignment. Expected int but got str", 'self.n = "text"'),
        (unknown_attribute, "'Pair' object has no attribute or method 'missing'", "Pair(x, x).missing"),
        (no_such_operator, "'Pair' object has no attribute or method '__sub__', which is needed here", "Pair(x, x) - Pair(x, x)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_mistakes(thing, says, points_at):
    with pytest.raises(RuntimeError) as caught:
        jit.script(thing)
    text = str(caught.value)
    assert says in text
    if points_at is not None:
        lines = text.splitlines()
        at = next(at for at, each in enumerate(lines) if "<--- HERE" in each)
        line, caret = lines[at - 1], lines[at]
        start = caret.index("~")
        assert line[start:].startswith(points_at) and caret.count("~") == len(points_at)
    assert not hasattr(thing, "_script_class_type")


class Gauge:
    def __init__(self, a: int):
        self.a = a

    def set_a(self, value: int):
        self.a = value

    def get_a(self) -> int:
        return self.a


def test_an_object_is_scripted_with_its_class():
    def change(gauge: Gauge):
        gauge.set_a(2)

    original = Gauge(1)
    gauge = jit.script(original)
    jit.script(change)(gauge)
    assert gauge.get_a() == 2 and original.a == 1


def test_an_attribute_must_first_be_set_outside_of_branches():
    class Sometimes:
        def __init__(self, x, n: int):
            if n == 1:
                self.attr = x

    with pytest.raises(RuntimeError, match="assignment cannot be in a control-flow block"):
        jit.script(Sometimes)


class Scaling:
    """A class whose objects can be called."""

    def __init__(self, by: int):
        self.by = by

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.by


class Shift:
    """A class that an annotation names."""

    def __init__(self, by: int):
        self.by = by

    def decode(self, x: Tensor) -> Tensor:
        return x + self.by


class ShiftBelow(Shift):
    """A class below it, with an attribute that scripts have no type for."""

    def __init__(self, by: int):
        super().__init__(by)
        self.unknown = object()


class Decoder(torch.nn.Module):
    """A Module that holds an object that can be called, and one of a class below the declared one."""

    shift: Shift

    def __init__(self):
        super().__init__()
        self.scaling = Scaling(3)
        self.shift = ShiftBelow(4)

    def forward(self, x):
        return self.shift.decode(self.scaling(x))


def test_objects_in_attributes_of_modules_are_of_scripted_classes():
    scripted = jit.script(Decoder())
    assert type(scripted.shift) is Shift
    assert scripted(torch.ones(2)).tolist() == [7.0, 7.0]
    scripted.scaling.by = 5  # read when the program runs
    assert scripted(torch.ones(2)).tolist() == [9.0, 9.0]


def test_an_object_that_can_be_called_but_not_scripted_says_why():
    class Generic:
        def __call__(self, *args, **kwargs):
            return args[0]

    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.generic = Generic()

        def forward(self, x):
            return self.generic(x)

    with pytest.raises(RuntimeError):
        jit.script(Holder())
