"""`rushlight.check` and `rushlight check`: each mistake that a custom Function can make is found, and named in its row."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rushlight
import rushlight.compat
from rushlight import checks
from rushlight.autograd import Function
from rushlight.autograd.function import once_differentiable
from rushlight.checks import checking, modes
from rushlight.cli import main

PROGRAMS = str(Path(__file__).with_name("front_door_programs.py"))
kept: list[object] = []


class Product(Function):
    """Right in every respect; the others spoil one thing each."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y.sin()

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y.sin(), gradient * x * y.cos()


class WrongFactor(Product):
    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y.sin() * 2, gradient * x * y.cos()


class NoneForY(Product):
    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y.sin(), None


class TooFew(Product):
    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[1].sin()


class WritesToItsGradient(Product):
    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        second = gradient.clone() * x * y.cos()
        return gradient.mul_(y.sin()), second


class Detached(Product):
    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y.detach().sin(), gradient * x * y.cos()


class Once(Product):
    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y.sin(), gradient * x * y.cos()


class KeepsInputs(Product):
    @staticmethod
    def forward(ctx, x, y):
        ctx.x = [x]
        ctx.save_for_backward(x, y)
        return x * y.sin()


class KeepsOutput(Product):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.result = x * y.sin()
        return ctx.result


class KeepsForEver(Product):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        kept.append(x * y.sin())
        return kept[-1]


class WritesToX(Product):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x.clone(), y)
        result = x * y.sin()
        x.zero_()
        return result


class MarksForNothing(Product):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x.clone(), y)
        ctx.mark_dirty(x)
        return x, x * y.sin()

    @staticmethod
    def backward(ctx, first, gradient):
        x, y = ctx.saved_tensors
        return first + gradient * y.sin(), gradient * x * y.cos()


class Double(Product):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x * y.sin()).double()


class WrongShape(Product):
    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y.sin(), (gradient * x * y.cos()).sum(0)


class Counts(Product):
    calls = 0

    @staticmethod
    def backward(ctx, gradient):
        Counts.calls += 1
        x, y = ctx.saved_tensors
        return gradient * y.sin() * Counts.calls, gradient * x * y.cos()


class ForgetsNone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * 3


class Chooses(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2 if x.sum() > 0 else x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Round(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Largest(Function):
    @staticmethod
    def forward(ctx, x, dim: int):
        values, where = x.max(dim)
        ctx.mark_non_differentiable(where)
        ctx.save_for_backward(where)
        ctx.dim, ctx.shape = dim, x.shape
        return values, where

    @staticmethod
    def backward(ctx, gradient, _):
        (where,) = ctx.saved_tensors
        zeros = rushlight.zeros(ctx.shape, dtype=gradient.dtype)
        return zeros.scatter(ctx.dim, where.unsqueeze(ctx.dim), gradient.unsqueeze(ctx.dim)), None


class Setup(Function):
    @staticmethod
    def forward(x, scale: float = 2.0):
        return x * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.scale, None


def outcomes(report) -> dict[str, str]:
    return {row.name: row.outcome for row in report.rows}


@pytest.mark.parametrize("function", [Product, Round, Doubled, Largest, Setup, Once], ids=lambda each: each.__name__)
def test_right_functions_pass(function) -> None:
    args = (rushlight.randn(3, 4), 1) if function is Largest else ()
    report = rushlight.check(function, *args)
    assert report.ok, str(report)
    found = outcomes(report)
    assert {found[f"eager = {mode}"] for mode in ("traced", "scripted", "compiled", "exported")} == {"ok"}, str(report)
    if function is Product:
        assert set(found.values()) == {"ok"}
        (row,) = [each for each in report.rows if each.name == "gradients"]
        assert row.detail == "agree with finite differences; shapes: as given, larger, one row, no rows, not contiguous"


@pytest.mark.parametrize(
    ("function", "row", "words"),
    [
        (WrongFactor, "gradients", "compare the formula"),
        (NoneForY, "None gradients", "return the gradient with respect to y"),
        (TooFew, "backward", "return one gradient for each argument"),
        (WritesToItsGradient, "backward writes", "clone()"),
        (Detached, "second gradients", "@once_differentiable"),
        (KeepsInputs, "saved tensors", "save_for_backward"),
        (KeepsOutput, "memory", "save_for_backward"),
        (KeepsForEver, "memory", "a global"),
        (WritesToX, "in-place marks", "ctx.mark_dirty(x)"),
        (Double, "float32", "dtype=x.dtype"),
        (WrongShape, "gradient shapes", "sum the gradient"),
        (Counts, "backward writes", "it may run again"),
        (ForgetsNone, "outputs one by one", "test for None"),
        (Chooses, "eager = exported", "symbolic"),
    ],
)
def test_each_mistake_has_its_row_and_what_to_change(function, row: str, words: str) -> None:
    report = rushlight.check(function)
    found = next((each for each in report.rows if each.name == row), None)
    assert not report and found is not None and found.outcome == "failed", str(report)
    assert words in found.advice and found.advice in " ".join(str(report).replace("→", "").split()), found
    kept.clear()


def test_what_is_only_worth_a_look_does_not_fail() -> None:
    report = rushlight.check(MarksForNothing, skip=["scripted", "traced", "compiled", "exported"])
    assert outcomes(report)["in-place marks"] == "look"
    assert outcomes(rushlight.check(Round))["gradients"] == "look"


def test_rows_can_be_skipped_and_arguments_are_needed_where_none_fit() -> None:
    assert "gradients" not in outcomes(rushlight.check(WrongFactor, skip=["gradients"]))
    with pytest.raises(TypeError, match="takes a custom Function"):
        rushlight.check(print)

    class Particular(Product):
        @staticmethod
        def forward(ctx, x, y):
            raise ValueError("never")

    with pytest.raises(TypeError, match="none that Particular.forward takes"):
        rushlight.check(Particular)
    report = rushlight.check(Particular, rushlight.ones(2), rushlight.ones(2))
    assert [row.name for row in report.rows] == ["forward"] and "ValueError: never" in str(report)


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    was = rushlight.compat.installed()
    try:
        assert main(["check", f"{PROGRAMS}:Cube"]) == 0
        assert capsys.readouterr().out.endswith("Cube: nothing is wrong\n")
        assert main(["check", f"{PROGRAMS}:Wrong", "--input", "2x3", "--input", "2x3", "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert not found["ok"] and {row["name"] for row in found["rows"] if row["outcome"] == "failed"} >= {
            "saved tensors",
            "gradients",
            "None gradients",
        }
        assert main(["check", f"{PROGRAMS}:Net"]) == 2 and "is no custom Function" in capsys.readouterr().err
    finally:
        sys.modules.pop("front_door_programs", None)
        if not was:
            rushlight.compat.uninstall()


def test_a_check_that_there_is_not_can_not_be_skipped() -> None:
    with pytest.raises(ValueError, match="there is no check 'grdients' to skip; there are forward, .*gradients"):
        rushlight.check(WrongFactor, skip=["grdients"])


@pytest.mark.parametrize("part", ["forward", "backward"])
def test_a_back_end_that_computes_something_else_is_noticed(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """The first call of a compiled program is the program itself: what the back-end made is looked at as well."""

    def wrong(module, examples):
        if part == "forward":
            return lambda *args: tuple(each + 1 for each in module.forward(*args))
        return lambda *args: tuple(each.detach() + 2 * (each - each.detach()) for each in module.forward(*args))

    monkeypatch.setattr(modes, "compile_program", lambda program: rushlight.compile(program, backend=wrong))
    found = outcomes(rushlight.check(Product, skip=["traced", "scripted", "exported"]))
    assert found["eager = compiled"] == "failed"


def test_the_gradient_is_exported_too(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = [each for each in rushlight.check(Product).rows if each.name == "eager = exported"]
    assert (row.outcome, row.detail) == ("ok", "forward and backward")
    (row,) = [each for each in rushlight.check(WrongFactor).rows if each.name == "eager = exported"]
    assert row.outcome == "ok"  # the same wrong gradient in both
    monkeypatch.setattr(modes, "exported_gradients", lambda program, subject: [rushlight.ones(3, 4).numpy()] * 2)
    assert outcomes(rushlight.check(Product))["eager = exported"] == "failed"


def test_the_listed_checks_are_those_that_run() -> None:
    assert (*checking.FAMILIES, *checks.MODES) == checks.CHECKS
