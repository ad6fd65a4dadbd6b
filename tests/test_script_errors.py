"""What is outside the language of scripts: an error with the line, a caret under the place, and what to write instead."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from script_mistakes import MISTAKES

import rushlight as torch
from rushlight import jit, nn


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_mistakes(name):
    function, says, points_at = MISTAKES[name]
    with pytest.raises(jit.ScriptError) as caught:
        jit.script(function)
    text = str(caught.value)
    assert says in text
    lines = text.splitlines()
    place = next(at for at, line in enumerate(lines) if "<--- HERE" in line)
    match = next(filter(None, (re.fullmatch(r'  File "(.*script_mistakes\.py)", line (\d+), in (\w+)', each) for each in lines)))
    assert match is not None
    shown = Path(match[1]).read_text(encoding="utf8").splitlines()[int(match[2]) - 1]
    assert lines[place - 1].strip() == shown.strip()
    caret = lines[place].index("~")
    marked = lines[place - 1][caret : caret + lines[place].count("~")]
    assert marked.startswith(points_at) or points_at.startswith(marked), marked


def test_no_source():
    space: dict = {}
    exec("def made(x):\n    return x", space)
    with pytest.raises(jit.ScriptError, match="source of the function 'made' is not available"):
        jit.script(space["made"])


def test_lambda_class_and_others():
    with pytest.raises(jit.ScriptError, match="lambda"):
        jit.script(lambda x: x)
    with pytest.raises(RuntimeError, match="pass an instance"):
        jit.script(nn.Linear)
    with pytest.raises(jit.ScriptError, match="class 'Plain' can't be scripted: scripted classes have no base"):
        jit.script(type("Plain", (Exception,), {}))
    with pytest.raises(TypeError, match="takes a function or a Module"):
        jit.script(3)
    with pytest.raises(jit.NotSupportedError, match="variable number of arguments"):
        jit.script(torch.einsum)
    with pytest.raises(RuntimeError, match="super class"):
        jit.interface(type("Face", (Exception,), {}))


def test_mistakes_in_modules():
    class Missing(nn.Module):
        def forward(self, x):
            return self.weight + x

    class SetsNew(nn.Module):
        def forward(self, x):
            self.fresh = x
            return x

    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1

        def forward(self, x):
            self.n = x
            return x

    class Inner(nn.Module):
        def forward(self, x):
            return helper(x)

    def helper(x):
        yield x

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x)

    class Recursive(nn.Module):
        def forward(self, x):
            return self.again(x)

        def again(self, x):
            return self.forward(x)

    for model, says in (
        (Missing(), "Module 'Missing' has no attribute 'weight'"),
        (SetsNew(), "Tried to set nonexistent attribute: fresh"),
        (Wrong(), "Expected int but got Tensor for the attribute 'n'"),
        (Recursive(), "recursively"),
        (Outer(), "Yield"),
    ):
        with pytest.raises(jit.ScriptError, match=says):
            jit.script(model)


def test_compile_errors_name_the_calls_that_led_there():
    def innermost(x):
        before = 1
        return missing_name + x + before  # noqa: F821

    def helper(x):
        return innermost(x)

    class Calls(nn.Module):
        def forward(self, x):
            return helper(x)

    with pytest.raises(RuntimeError) as caught:
        jit.script(Calls())
    says = str(caught.value)
    first, second, third = says.split("is being compiled since it was called from")
    assert "undefined value missing_name:\n" in first and "before = 1\n" in first and "~~~~~~~~~~~~ <--- HERE" in first
    assert first.endswith("'innermost' ") and second.startswith(" 'helper'") and "def helper(x):" in second
    assert second.endswith("'helper' ") and third.startswith(" 'Calls.forward'") and "return helper(x)" in third


def test_errors_when_it_runs_name_the_line():
    @jit.script
    def run(x, y):
        z = x + 1
        return torch.mm(z, y)

    with pytest.raises(RuntimeError) as caught:
        run(torch.ones(2, 3), torch.ones(2, 3))
    says = str(caught.value)
    assert f'File "{__file__}", line ' in says and "return torch.mm(z, y)" in says


class TooLarge(LookupError):
    """An exception of the user's own."""


def test_what_programs_raise_is_an_error_of_scripts_with_the_exception_as_cause():
    @jit.script
    def run(n: int) -> int:
        if n > 3:
            raise TooLarge("much too large")
        if n > 2:
            raise ValueError("too large")
        assert n != 0, "nothing"
        return n

    for n, kind, says in ((4, TooLarge, "much too large"), (3, ValueError, "too large"), (0, AssertionError, "nothing")):
        for _ in range(2):
            with pytest.raises(jit.Error, match=says) as caught:
                run(n)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is jit.Error and again.args == caught.value.args
        assert not isinstance(caught.value, kind) and type(caught.value.__cause__) is kind
    with pytest.raises(RuntimeError) as refused:  # of an op
        jit.script(added)(torch.ones(2), torch.ones(3))
    assert not isinstance(refused.value, jit.Error)


def added(x, y):
    return x + y
