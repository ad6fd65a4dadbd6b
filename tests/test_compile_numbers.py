"""compile: numbers that change from call to call become symbolic, as sizes do; what a program fixes about them is guarded."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from typing import Any

import pytest

import rushlight as torch
from rushlight import compiler, nn
from rushlight.backends.registry import find
from rushlight.nn import functional as F
from rushlight.testing.compiling import CompileCounter


class Scaled(torch.autograd.Function):
    """Multiplies by a number that it keeps."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: Any) -> Any:
        ctx.k = k * 2
        return x * ctx.k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k, None


@dataclasses.dataclass(order=True)
class Record:
    """Compared by what a data class makes."""

    key: Any


def written(x: Any, n: Any) -> Any:
    y = x.clone()
    y[:n] = 0
    return y + n


def set_items(x: Any, n: Any) -> Any:
    y, z = x.clone(), x.clone()
    y[0] = n
    y[2:4] = n * 1.5
    z[z > 3] = n + 1
    whole = torch.zeros(3, dtype=torch.int64)
    whole[1] = y.shape[0]
    return y, z, whole


# Programs, and how many graphs whole numbers take (None: as many as there are values, or outcomes of choices).
PROGRAMS: dict[str, tuple[Any, int | None]] = {
    "operand": (lambda x, n: x * n + 1, 2), "formula": (lambda x, n: x + n * 2 - n // 2, 2), "result": (lambda x, n: (x * n, n, [n + 1, {"a": n * 2}]), 2),
    "slice": (lambda x, n: x[:n], 2), "rest": (lambda x, n: x[n:], None), "index": (lambda x, n: x[n], 2), "write": (written, 2), "item": (set_items, None), "size": (lambda x, n: torch.zeros(n, 3) + x[0], 2),
    "places": (lambda x, n: torch.arange(n) * 2, 2), "choice": (lambda x, n: x * 2 if n > 5 else x * n, 2), "turns": (lambda x, n: x * sum(range(n)), None),
    "dimension": (lambda x, n: x.reshape(2, 3).sum(n % 2), None), "function": (lambda x, n: Scaled.apply(x, n), 2), "text": (lambda x, n: (x, f"{n}"), None),
    "power": (lambda x, n: x * 0.9**n, 2), "view": (lambda x, n: x.repeat(n + 1).view(n + 1, -1) * n, 2), "padding": (lambda x, n: F.pad(x, (0, n)), None),
    "alpha": (lambda x, n: torch.add(x, x, alpha=n), 2), "full": (lambda x, n: torch.full((2,), n) + x[:2], 2), "tensor": (lambda x, n: torch.tensor(n) * x, 2),
    "tensors": (lambda x, n: torch.tensor([[n, 1], [2, n + 1]]).to(x.dtype).sum() * x, 2), "root": (lambda x, n: x * math.sqrt(abs(n) + 1), None),
    "angle": (lambda x, n: x * math.cos(n) + math.atan(n * 2), 2), "largest": (lambda x, n: x.topk(int(n) + 1)[0], None), "whole": (lambda x, n: x * int(n) + int(n) // 2, None),
    "distance": (lambda x, n: x * abs(n - 3), None), "remainder": (lambda x, n: x * (7 % n) + x * (n % 3) + n // 2, None), "triangle": (lambda x, n: x.view(2, 3).triu(int(n)), None),
    "texts": (lambda x, n: (x, list(map(str, [n, 2])), sorted([n, 2], key=str)), None), "records": (lambda x, n: x * sorted([Record(n), Record(2)])[0].key, None),
    "sized": (lambda x, n: torch.ones(int(n)) * 2, None),
    "larger": (lambda x, n: x * max(n, 3), None), "copies": (lambda x, n: [x] * n, None), "element": (lambda x, n: [x, x + 1, x + 2, x + 3, x + 4, x + 5][n], None),
    "member": (lambda x, n: x * (2 if n in (1, 2) else 3), None), "negative": (lambda x, n: x * -n, 2), "type": (lambda x, n: x * (1 if type(n) is int else 2), 2),
    "converted": (lambda x, n: x * int(n) + float(n), 2), "clamped": (lambda x, n: x.clamp(max=n), 2), "between": (lambda x, n: x.clamp(-1, n), 2), "expanded": (lambda x, n: x.expand(n, 6).sum(), 2),
    "bits": (lambda x, n: x * (n & 1) + (n >> 1) + ~n, None), "even": (lambda x, n: x * (1 if n % 2 else 3), None), "truth": (lambda x, n: x * 2 if n else x, None),
    "exponent": (lambda x, n: x * 2**n + n**10, None), "length": (lambda x, n: x * n.bit_length() if isinstance(n, int) else x, None),
}  # fmt: skip


def leaves(value: Any) -> list[Any]:
    parts = list(value.values()) if isinstance(value, dict) else value
    return [each for part in parts for each in leaves(part)] if isinstance(parts, (list, tuple)) else [value]


def outcome(function: Any, x: Any, number: Any) -> Any:
    """Values with their types, and the gradient; or the error."""
    x = x.detach().clone().requires_grad_()
    try:
        found = leaves(function(x, number))
        roots = [each for each in found if isinstance(each, torch.Tensor) and each.requires_grad]
        if roots:
            sum(each.sum() for each in roots).backward()
    except Exception as error:
        return type(error), str(error)
    return [
        (each.dtype, each.tolist()) if isinstance(each, torch.Tensor) else (type(each), each) for each in found
    ], None if x.grad is None else x.grad.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_that_change(name: str, backend: str) -> None:
    function, graphs = PROGRAMS[name]
    compiler.counters["aot_fallback"].clear()
    x = torch.arange(6.0) + 1
    for numbers in ((2, 3, 4, 5, 1, 0, 3, -1, 3), (2.5, 3.5, 0.25, 1.0, 0.0, -2.0, float("inf"))):
        counter = CompileCounter()

        def watched(gm: Any, inputs: Any, counter: Any = counter) -> Any:
            counter(gm, inputs)
            return find(backend)(gm, inputs)

        compiled = torch.compile(function, backend=watched)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in numbers:
                assert repr(outcome(compiled, x, number)) == repr(outcome(function, x, number)), number
                if graphs is not None and type(number) is int and number == 0:
                    assert counter.frame_count <= graphs
    assert not [each for each in compiler.counters["aot_fallback"] if "reshape" not in each]


def test_numbers_of_closures_and_of_either_sign() -> None:
    def made() -> Any:
        number = 1

        def program(x: Any) -> Any:
            return x * number + 1

        def advance(to: int) -> None:
            nonlocal number
            number = to

        return program, advance

    program, advance = made()
    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter)
    for number in (3, 4, -1, 0, 7, -5):
        advance(number)
        assert compiled(torch.ones(2)).tolist() == [number + 1] * 2
    assert counter.frame_count == 2

    def counting() -> Any:
        turns = 0

        def program(x: Any) -> Any:
            nonlocal turns
            turns += 1
            return x * turns, lambda: turns

        return program

    counter = CompileCounter()
    compiled = torch.compile(counting(), backend=counter)
    for turn in range(1, 7):
        result, ask = compiled(torch.ones(1))
        assert result.item() == ask() == turn and type(ask()) is int
    assert counter.frame_count <= 3


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
def test_numbers_beside_tensors_take_one_plan(backend: str) -> None:
    def program(x: Any, n: int, rate: float) -> Any:
        return x * (n // 2) + math.sqrt(n) * rate + torch.tensor(rate * 2), n + 1

    compiled = torch.compile(program, backend=backend)
    for number in range(1, 15):
        x = torch.ones(3, requires_grad=True)
        (got, following), (want, _) = compiled(x, number, number / 4), program(x, number, number / 4)
        torch.testing.assert_close(got, want)
        assert following == number + 1
        got.sum().backward()
        assert x.grad.tolist() == [number // 2] * 3


def test_marks_and_settings() -> None:
    def frames(function: Any, numbers: Any, **options: Any) -> int:
        counter = CompileCounter()
        compiled = torch.compile(function, backend=counter, **options)
        for number in numbers:
            assert compiled(torch.ones(2), number).tolist() == function(torch.ones(2), number).tolist()
        return counter.frame_count

    assert frames(lambda x, n: x * n, range(2, 8)) == 2
    assert frames(lambda x, n: x * n, range(2, 8), dynamic=False) == 6
    assert frames(lambda x, n: x * n, range(2, 8), dynamic=True) == 1
    assert frames(lambda x, n: x * n, [0.5 * n for n in range(6)]) == 2


def test_numbers_of_objects_globals_and_containers() -> None:
    class Stepped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = 0
            self.settings = {"rate": 0.5}

        def forward(self, x: Any) -> Any:
            self.steps += 1
            return x * self.settings["rate"] ** self.steps

    counter = CompileCounter()
    model = Stepped()
    compiled = torch.compile(model, backend=counter)
    for step in range(1, 9):
        model.settings["rate"] = 0.5 / step
        assert compiled(torch.ones(1)).item() == pytest.approx((0.5 / step) ** step)
        assert model.steps == step and type(model.steps) is int
    assert counter.frame_count <= 3


def test_loops_with_breaks_take_few_graphs() -> None:
    def program(x: Any, count: int) -> Any:
        for turn in range(count):
            x = x * turn + 1
            compiler.graph_break()
        return x

    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(torch.ones(2), 12).tolist() == program(torch.ones(2), 12).tolist()
    assert counter.frame_count <= 4


def test_errors_have_plain_numbers() -> None:
    def program(x: Any, n: int) -> Any:
        raise ValueError(n + 1, x.shape[0])

    compiled = torch.compile(program, backend="eager")
    for n in range(3):
        with pytest.raises(ValueError) as raised:
            compiled(torch.ones(3), n)
        assert raised.value.args == (n + 1, 3) and [type(each) for each in raised.value.args] == [int, int]


def test_check_looks_at_graphs_with_numbers() -> None:
    def wrong(gm: Any, inputs: Any) -> Any:
        return lambda *args: tuple(each + 1e-2 if isinstance(each, torch.Tensor) else each for each in gm.forward(*args))

    compiled = torch.compile(lambda x, n: x * n, backend=wrong, check=True, dynamic=True)
    with pytest.raises(compiler.CheckError, match=r"mul.*test_compile_numbers.py"):
        compiled(torch.ones(2), 3)
    right = torch.compile(lambda x, n: x * n, check=True)
    for n in range(2, 6):
        assert right(torch.ones(2), n).tolist() == [n, n]


def test_what_a_module_holds_is_left_alone() -> None:
    """A program that sets a global through ``globals()`` does not have everything looked through that its module can reach."""

    class Chain:
        def __init__(self, next_one: Any) -> None:
            self.next_one = next_one

    chain: Any = None
    for _ in range(3000):  # deeper than Python's stack
        chain = Chain(chain)
    scope: dict[str, Any] = {"torch": torch, "K": 2, "UNUSED": chain, "__builtins__": __builtins__}
    exec("def f(x):\n    y = x * globals()['K']\n    globals()['K'] += 1\n    return y + K", scope)
    compiled = torch.compile(scope["f"], backend="eager")
    for number in range(2, 6):
        assert compiled(torch.ones(2)).tolist() == [2.0 * number + 1] * 2 and scope["K"] == number + 1
        assert type(scope["K"]) is int


def test_numbers_that_objects_hold_across_a_break() -> None:
    """Objects that the program made before a break hold plain numbers after it."""

    def helper(t: Any, k: Any = 2, *, z: Any = 0) -> Any:
        return t * k + z

    def program(x: Any, n: Any) -> Any:
        by_name, by_place = functools.partial(helper, k=n, z=n + 1), functools.partial(helper, x, n)

        def inner(t: Any, *, k: Any = n) -> Any:
            return t * k

        both = frozenset([n, 1])
        print(end="")  # a break
        return by_name(x) + by_place(), inner(x), sorted(both), by_name.keywords["k"] + 1, by_place.args[1]

    compiled = torch.compile(program, backend="eager")
    for n in (1, 2, 3, 4, 0.5, 1.5, 2.5):
        for _ in range(2):
            found = compiled(torch.ones(2), n)
            assert repr(found) == repr(program(torch.ones(2), n))
            assert {type(each) for each in found[3:]} <= {int, float}
