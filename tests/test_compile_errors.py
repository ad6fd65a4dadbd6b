"""compile: errors in compiled code are the program's own; modes, special methods of classes, and back-ends that fail."""

from __future__ import annotations

import math
import traceback
from typing import Any

import pytest
from support.processes import start_python

import rushlight as torch
from rushlight import compiler
from rushlight.testing.compiling import CompileCounter


def chosen(x: Any, index: Any, log: list[int]) -> Any:
    log.append(1)
    try:
        with torch.no_grad():
            return x[index] * 2
    except IndexError as error:
        log.append(len(error.args))
        return x
    finally:
        log.append(2)


def plainly(x: Any, index: Any) -> Any:
    y = x + 1
    return y[index]  # the line of the error


def interrupted(x: Any, index: Any) -> Any:
    y = x + 1
    compiler.graph_break()
    try:
        return y[index]
    except IndexError:
        return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
def test_errors_of_a_graph_are_the_program_s(backend: str) -> None:
    x = torch.ones(3, requires_grad=True)
    compiled = torch.compile(chosen, backend=backend)
    for index in (1, 7, 1, 9):
        logs: list[list[int]] = [[], []]
        got, want = compiled(x, torch.tensor([index]), logs[0]), chosen(x, torch.tensor([index]), logs[1])
        assert torch.equal(got, want) and got.requires_grad is want.requires_grad and logs[0] == logs[1] and torch.is_grad_enabled()
    compiled = torch.compile(interrupted, backend=backend)
    for index in (1, 7):
        assert torch.equal(compiled(x, torch.tensor([index])), interrupted(x, torch.tensor([index])))
    compiled = torch.compile(plainly, backend=backend)
    compiled(x, torch.tensor([1]))
    with pytest.raises(IndexError, match="index 7") as raised:
        compiled(x, torch.tensor([7]))
    assert any(each.line and "the line of the error" in each.line for each in traceback.extract_tb(raised.tb))


def test_back_ends_that_fail_name_themselves() -> None:
    def refusing(gm: Any, inputs: Any) -> Any:
        raise ValueError("no such thing")

    def breaking(gm: Any, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            raise ValueError("not any more")

        return run

    with pytest.raises(RuntimeError, match=r"backend='refusing' raised:\nValueError: no such thing"):
        torch.compile(lambda x: x + 1, backend=refusing)(torch.ones(1))
    compiled = torch.compile(lambda x, log: (log.append(1), x + 1)[1], backend=breaking)
    log: list[int] = []
    assert compiled(torch.ones(1), log).item() == 2  # the first call is the program itself
    with pytest.raises(compiler.BackendFailed, match="the back-end breaking raised ValueError: not any more; eager does not"):
        compiled(torch.ones(1), log)
    assert log == [1]


class Special:
    """Has many special methods, which a test replaces."""

    def __call__(self, x: Any) -> Any:
        return x * 2

    def __getitem__(self, index: int) -> int:
        return index + 1

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        return iter([1, 2])

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __contains__(self, other: object) -> bool:
        return True

    def __enter__(self) -> int:
        return 1

    def __exit__(self, *exception: Any) -> None:
        return None

    def __getattr__(self, name: str) -> int:
        return 5

    def __neg__(self) -> int:
        return 3

    def __lt__(self, other: object) -> bool:
        return True

    def __add__(self, other: int) -> int:
        return other + 1

    def __radd__(self, other: int) -> int:
        return other + 2

    @property
    def computed(self) -> int:
        return 7


SPECIAL = Special()


def entered(x: Any) -> Any:
    with SPECIAL as number:
        return x * number


REPLACED: dict[str, tuple[Any, Any]] = {
    "__call__": (lambda x: SPECIAL(x), lambda self, x: x * 5), "__getitem__": (lambda x: x * SPECIAL[1], lambda self, index: index + 100),
    "__len__": (lambda x: x * len(SPECIAL), lambda self: 9), "__iter__": (lambda x: x * sum(SPECIAL), lambda self: iter([5])),
    "__bool__": (lambda x: x * 2 if SPECIAL else x, lambda self: False), "__eq__": (lambda x: x * 2 if SPECIAL == 1 else x, lambda self, other: False),
    "__contains__": (lambda x: x * 2 if 3 in SPECIAL else x, lambda self, other: False), "__getattr__": (lambda x: x * SPECIAL.some, lambda self, name: 50),
    "__neg__": (lambda x: x * -SPECIAL, lambda self: 30), "__lt__": (lambda x: x * 2 if SPECIAL < 1 else x, lambda self, other: False),
    "__add__": (lambda x: x * (SPECIAL + 1), lambda self, other: 40), "__radd__": (lambda x: x * (1 + SPECIAL), lambda self, other: 60),
    "computed": (lambda x: x * SPECIAL.computed, property(lambda self: 70)), "__enter__": (entered, lambda self: 40),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACED)
def test_special_methods_that_are_replaced(name: str) -> None:
    function, new = REPLACED[name]
    x = torch.arange(3.0)
    compiled = torch.compile(function, backend="eager")
    before = [compiled(x).tolist() for _ in range(2)]
    assert before == [function(x).tolist()] * 2
    old = Special.__dict__[name]
    setattr(Special, name, new)
    try:
        assert compiled(x).tolist() == compiled(x).tolist() == function(x).tolist() != before[0]
    finally:
        setattr(Special, name, old)
    assert compiled(x).tolist() == before[0]


def test_methods_that_are_added() -> None:
    class Sized:
        """No special method yet."""

    sized = Sized()
    function = lambda x: x * 2 if sized else x
    assert torch.compile(function, backend="eager")(torch.ones(1)).item() == 2
    Sized.__len__ = lambda self: 0  # type: ignore[attr-defined]
    assert torch.compile(function, backend="eager")(torch.ones(1)).item() == 1


@torch.inference_mode()
def inferred(x: Any) -> Any:
    return x * 2


@torch.autocast("cpu", dtype=torch.bfloat16)
def cast(x: Any, y: Any) -> Any:
    return x @ y


@torch.no_grad()
def unrecorded(x: Any) -> Any:
    return x * 2


def test_modes_inside_of_one_graph() -> None:
    def program(x: Any) -> Any:
        with torch.inference_mode():
            y = x * 3
        z = unrecorded(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            product = x @ x
        return y, inferred(x), z, product, cast(x, x), x * 2

    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter, fullgraph=True)
    x = torch.ones(2, 2, requires_grad=True)
    for _ in range(3):
        for got, want in zip(compiled(x), program(x)):
            assert torch.equal(got, want) and got.dtype == want.dtype
            assert (got.is_inference(), got.requires_grad) == (want.is_inference(), want.requires_grad)
        assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    assert counter.frame_count == 1


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_breaks_inside_of_modes(mode: Any) -> None:
    def program(x: Any) -> Any:
        with mode():
            y = x @ x
            compiler.graph_break()
            z = y @ x
        return y, z, x @ x

    compiled = torch.compile(program, backend="eager")
    x = torch.ones(2, 2, requires_grad=True)
    for _ in range(3):
        for got, want in zip(compiled(x), program(x)):
            assert (
                torch.equal(got, want)
                and got.dtype == want.dtype
                and (got.is_inference(), got.requires_grad) == (want.is_inference(), want.requires_grad)
            )
        assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def test_a_function_sees_what_was_changed_before_it() -> None:
    class Numbered(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.factor = STATE["factor"]
            return x * ctx.factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor

    def program(x: Any) -> Any:
        STATE["factor"] = STATE["factor"] % 3 + 1
        return Numbered.apply(x)

    compiled = torch.compile(program, backend="eager")
    found = []
    for run in (program, compiled):
        STATE["factor"] = 1
        found.append([run(torch.ones(1)).item() for _ in range(8)])
    assert found[0] == found[1]


STATE: dict[str, Any] = {"factor": 1}


def test_tensors_in_keywords_of_update() -> None:
    def program(x: Any, table: dict[str, Any]) -> None:
        table.update({"b": x + 1}, a=x * 2)

    compiled = torch.compile(program, backend="eager")
    for value in (1.0, 2.0, 3.0):
        table: dict[str, Any] = {}
        compiled(torch.tensor(value), table)
        assert [table["b"].item(), table["a"].item()] == [value + 1, value * 2] and list(table) == ["b", "a"]


def test_errors_that_wait_at_a_break_keep_their_traceback() -> None:
    def program(x: Any, index: int) -> Any:
        try:
            y = x * 2
            try:
                raise KeyError(index)  # the first line
            except KeyError as error:
                raise ValueError(index) from error  # the line of the error
        finally:
            compiler.graph_break()
            y = x + 1
            assert y is not None

    compiled = torch.compile(program, backend="eager")
    for index in (1, 1, 1):
        with pytest.raises(ValueError) as raised:
            compiled(torch.ones(2), index)
        lines = [each.line or "" for each in traceback.extract_tb(raised.value.__traceback__)]
        assert any("the line of the error" in each for each in lines)
        assert isinstance(raised.value.__cause__, KeyError) and raised.value.__suppress_context__
        assert any("the first line" in (each.line or "") for each in traceback.extract_tb(raised.value.__cause__.__traceback__))


def test_random_values_that_become_python_values() -> None:
    def program(x: Any) -> Any:
        number = int(torch.randint(1000, ()).item())
        return x * number, torch.multinomial(torch.ones(50), 3).tolist(), bool(torch.rand(1) > 0.5)

    compiled = torch.compile(program, backend="eager")
    for seed in range(4):
        found = []
        for function in (program, compiled):
            torch.manual_seed(seed)
            result, drawn, choice = function(torch.ones(2))
            found.append((result.tolist(), drawn, choice, torch.rand(1).item()))
        assert found[0] == found[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_errors_that_depend_on_values_are_not_taken_for_the_rule(backend: str) -> None:
    def picked(table: Any, index: Any) -> Any:
        try:
            return table[index] * 2
        except IndexError:
            return table[:1]

    def divided(x: Any, number: int) -> Any:
        try:
            return x * (1 / number) + math.sqrt(number)
        except ZeroDivisionError:
            return x + 1
        except ValueError:
            return x - 1

    def raised(x: Any) -> Any:
        try:
            return x.add_(1)
        except RuntimeError:
            return x * 3

    table = torch.arange(8.0).view(4, 2)
    compiled = torch.compile(picked, backend=backend)
    for place in (9, 1, 9, 2):
        assert torch.equal(compiled(table, torch.tensor([place])), picked(table, torch.tensor([place])))
    compiled = torch.compile(divided, backend=backend)
    for number in (3, 0, 5, -1, 0, 7, -2, 2):
        assert torch.equal(compiled(table, number), divided(table, number))
    compiled = torch.compile(raised, backend=backend)
    for leaf in (True, False, True, False):
        x = torch.ones(2, requires_grad=True)
        assert torch.equal(compiled(x if leaf else x * 1), raised(x if leaf else x * 1))


def test_errors_of_the_first_call_with_fullgraph() -> None:
    compiled = torch.compile(lambda table, index: table[index], fullgraph=True)
    for _ in range(2):
        with pytest.raises(IndexError):
            compiled(torch.ones(3), torch.tensor([5]))
        assert compiled(torch.ones(3), torch.tensor([1])).tolist() == [1]


UNDER_A_PROFILER = """
import sys, traceback
import rushlight as torch

class Counting:
    count = 10**6

    def __call__(self, frame, event, argument):
        self.count += 1

def short(x): raise ValueError("no")

def long(x):
    y = x + 1
    z = [y * each for each in range(3)]
    try:
        w = z[0] + z[1] - z[2] * sum(range(4))
        if x.shape[0] > 100:
            return w * 2, w * 3, w * 4
    finally:
        w = 3
    return short(x)

compiled = torch.compile(long)
set_function(Counting())
for _ in range(30):
    try:
        compiled(torch.ones(2))
    except ValueError as error:
        kept = error
set_function(None)
print(*[each.lineno for each in traceback.extract_tb(kept.__traceback__) if each.filename == "<string>"])
"""


@pytest.mark.parametrize("function", ["setprofile", "settrace"])
def test_errors_of_interpreted_functions_under_profilers_and_debuggers(function: str) -> None:
    run = start_python("-c", UNDER_A_PROFILER.replace("set_function", f"sys.{function}"))
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["28", "22", "11"], run.stdout
