"""The states of the bytecode interpreter: stopping, saving, resuming, and what a machine may answer."""

from __future__ import annotations

import builtins
import gc
import sys
import traceback
import weakref
from types import CellType, CodeType, FunctionType
from typing import Any

import bytecode_programs
import bytecode_programs_exceptions
import bytecode_programs_generators
import bytecode_programs_structures
import bytecode_programs_values
import pytest
from bytecode_comparison import observed, steps, stopped_at
from bytecode_programs import LOG, PROGRAMS, Base, Countdown, Noisy, note

from rushlight.capture.compile import BytecodeInterpreter, Frame, Inline, Returned, Semantics, Stop, decode, interpret
from rushlight.capture.compile.decode import NULL
from rushlight.core.errors import NotSupported

MODULES = [
    bytecode_programs,
    bytecode_programs_exceptions,
    bytecode_programs_generators,
    bytecode_programs_structures,
    bytecode_programs_values,
]
FILES = {module.__file__ for module in MODULES}
SHORT = [(function, args) for function, args in PROGRAMS if function.__name__ != "endless_recursion"]
every_program = pytest.mark.parametrize(
    ("function", "args"), SHORT, ids=[f"{function.__name__}-{number}" for number, (function, _) in enumerate(SHORT)]
)


def sample(count: int) -> list[int]:
    """All numbers up to a limit, and some of those above."""
    return [*range(min(count, 60)), *range(60, count, 1 + count // 30)]


@every_program
def test_a_program_goes_on_from_a_copy_of_its_state(function, args) -> None:
    expected = observed(function, args, FILES)
    for at in sample(steps(function, args)):
        assert observed(stopped_at(function, at), args, FILES) == expected, at


class Stopping(Semantics):
    """Stops instead of doing the n-th operation, then does all."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.depth = 0  # how many interpreters are running, one inside the other

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name in vars(Semantics) and name != "should_inline" and self.depth == 1:
            self.left -= 1
            if self.left == -1:
                raise Stop
        return method


class Nested(BytecodeInterpreter):
    """Tells the machine when it is run by native code that another one runs."""

    def finish(self, state: Any) -> Any:
        self.semantics.depth += 1  # type: ignore[attr-defined]
        try:
            return super().finish(state)
        finally:
            self.semantics.depth -= 1  # type: ignore[attr-defined]


@every_program
def test_a_program_goes_on_where_the_machine_stopped(function, args) -> None:
    expected = observed(function, args, FILES)
    semantics = Stopping(1 << 30)

    def stopping(*args: Any) -> Any:
        interpreter = Nested(semantics)
        try:
            return interpreter.run(interpreter.start(function, args))
        except Stop as stop:
            frame = stop.frame
        assert frame is not None
        return BytecodeInterpreter().run(frame)

    assert observed(stopping, args, FILES) == expected
    for at in sample((1 << 30) - semantics.left):
        semantics = Stopping(at)
        assert observed(stopping, args, FILES) == expected, at


def test_a_saved_state_can_be_run_again_and_again() -> None:
    def f(values):
        total = 0
        for value in values:
            total += value
        return total

    interpreter = BytecodeInterpreter()
    frame: Any = interpreter.start(f, ((1, 2, 3),))
    while frame.instruction.op != "get_iter":
        frame = interpreter.step(frame)
    assert [interpreter.run(frame.copy()) for _ in range(3)] == [6, 6, 6]
    frame.slots[frame.bytecode.slot_of["total"]] = 100
    assert interpreter.run(frame) == 106


def test_the_state_says_where_it_is() -> None:
    def outer(x):
        return inner(x) + 1

    def inner(x):
        y = x
        return y * 2

    interpreter = BytecodeInterpreter()
    frame: Any = interpreter.start(outer, (5,))
    while frame.instruction.op != "binary":
        frame = interpreter.step(frame)
    assert frame.line == inner.__code__.co_firstlineno + 2
    assert frame.variables() == {"x": 5, "y": 5}
    assert frame.stack == [5, 2]
    assert frame.caller.caller is None
    assert frame.caller.variables()["x"] == 5
    assert "inner" in repr(frame)
    state = frame
    while isinstance(state, Frame):
        state = interpreter.step(state)
    assert state == Returned(11)


class Inlining(Semantics):
    """Inlines the Python functions behind attributes, operators and loops too."""

    def __init__(self) -> None:
        self.inlined: list[str] = []

    def should_inline(self, function: FunctionType) -> bool:
        self.inlined.append(function.__name__)
        return True

    def method(self, value: Any, name: str, *args: Any) -> Any:
        found = getattr(type(value), name, None)
        if type(found) is not FunctionType:
            return None
        self.inlined.append(name)
        return Inline(found, (value, *args), {})

    def binary(self, op: str, a: Any, b: Any) -> Any:
        return (op == "+" and self.method(a, "__add__", b)) or super().binary(op, a, b)

    def get_iter(self, value: Any) -> Any:
        return self.method(value, "__iter__") or super().get_iter(value)

    def next(self, iterator: Any) -> Any:
        return self.method(iterator, "__next__") or super().next(iterator)

    def get_item(self, container: Any, key: Any) -> Any:
        return self.method(container, "__getitem__", key) or super().get_item(container, key)

    def set_item(self, container: Any, key: Any, value: Any) -> Any:
        return self.method(container, "__setitem__", key, value) or super().set_item(container, key, value)

    def load_attr(self, value: Any, name: str) -> Any:
        found = getattr(type(value), name, None)
        if isinstance(found, property):
            return Inline(found.fget, (value,), {})
        return super().load_attr(value, name)

    def store_attr(self, value: Any, name: str, new: Any) -> Any:
        found = getattr(type(value), name, None)
        if isinstance(found, property):
            return Inline(found.fset, (value, new), {})
        return super().store_attr(value, name, new)


def test_operations_can_be_inlined() -> None:
    def f(n):
        base = Base(4)
        base.half = 5
        out = [base.half, (Noisy("a") + Noisy("b")).name]
        for value in Countdown(n):
            out.append(value)
        noisy = Noisy("x")
        noisy[1] = noisy[2]
        return out

    semantics = Inlining()
    interpreter = BytecodeInterpreter(semantics)
    LOG.clear()
    result, log = interpreter.run(interpreter.start(f, (2,))), list(LOG)
    LOG.clear()
    assert (result, log) == (f(2), LOG)
    assert {"__add__", "__iter__", "__next__", "__getitem__", "__setitem__", "note"} <= set(semantics.inlined)
    assert semantics.inlined.count("__next__") == 3


def test_an_error_in_an_inlined_iterator_goes_to_the_loop() -> None:
    class Failing:
        def __iter__(self):
            return self

        def __next__(self):
            raise LookupError("next")

    def f():
        try:
            for _ in Failing():
                note("never")
        except LookupError as error:
            return error.args

    interpreter = BytecodeInterpreter(Inlining())
    assert interpreter.run(interpreter.start(f)) == ("next",)


def test_values_go_when_a_function_returns_or_raises() -> None:
    class Thing:
        pass

    def returns(thing):
        kept = [thing]
        return len(kept)

    def raises(thing):
        def inner():
            raise ValueError(id(thing))

        try:
            inner()
        finally:
            thing = [thing]

    gc.disable()
    try:
        for function in (returns, raises):
            thing = Thing()
            reference = weakref.ref(thing)
            try:
                interpret(function, thing)
                raised = False
            except ValueError:  # pytest.raises would keep its traceback, and the frames in it
                raised = True
            assert raised == (function is raises)
            del thing
            assert reference() is None, function.__name__
    finally:
        gc.enable()


def test_the_traceback_shows_the_program() -> None:
    def outer():
        return [inner(x) for x in (1, 0)]

    def inner(x):
        return 1 / x

    with pytest.raises(ZeroDivisionError) as caught:
        interpret(outer)
    text = "".join(traceback.format_exception(caught.value))
    assert "return [inner(x) for x in (1, 0)]" in text
    assert "~~^~~" in text
    assert "step" not in text


def test_modules_run_as_exec_runs_them() -> None:
    source = """
from math import *
import os.path as path
class A:
    x: int = 1
    y = [x + v for v in (1, 2)] if False else floor(2.5)
    def get(self): return self.y + n
n: int = 3
values = [A().get() for n in range(2)]
for i in values:
    n += i
del i
try:
    i
except NameError as error:
    message = str(error)
def g():
    yield from values
total = sum(g()) + n
"""
    code = compile(source, "<module>", "exec")
    expected: dict = {"__name__": "m"}
    exec(code, expected)
    found: dict = {"__name__": "m"}
    BytecodeInterpreter().run_module(code, found)
    assert list(found) == list(expected)
    names = ["n", "values", "total", "message", "__annotations__", "pi", "path"]
    assert [found[name] for name in names] == [expected[name] for name in names]
    assert found["A"].y == expected["A"].y


def test_only_python_functions_can_be_interpreted() -> None:
    assert interpret(Base(3).twice) == 6
    with pytest.raises(NotSupported, match="not a function written in Python"):
        interpret(len, [1])
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        interpret(Base.twice)


def inner_code(code: CodeType, name: str) -> CodeType:
    """A code object inside another one."""
    found = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return next((each for each in found if each.co_name == name), None) or inner_code(found[0], name)


def test_the_body_of_a_class() -> None:
    def f(size):
        class A:
            twice = size * 2
            more = size + 1
            values = [size for _ in range(2)]
            del twice

            def get(self):
                return __class__, size

        return A

    class_cell = {"size": CellType(5), "__class__": CellType()}
    code = inner_code(f.__code__, "A")
    program = decode(code)
    assert "load_from_dict_or_deref" in {row.op for row in program.instructions}
    slots: list[Any] = [NULL] * len(program.slot_names)
    for name in code.co_freevars:
        slots[program.slot_of[name]] = class_cell[name]
    namespace: dict = {}
    BytecodeInterpreter().run(Frame(code, slots, globals(), vars(builtins), namespace))
    expected = vars(f(5))
    assert {name: namespace[name] for name in ("more", "values", "__module__", "__qualname__")} == {
        name: expected.get(name, "test_the_body_of_a_class.<locals>.f.<locals>.A")
        for name in ("more", "values", "__module__", "__qualname__")
    }
    assert "twice" not in namespace
    assert namespace["get"].__closure__


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.12's syntax")
def test_the_value_of_a_type_alias_in_a_class() -> None:
    code = inner_code(compile("class A:\n    x = 1\n    type T = (x, y)", "<alias>", "exec"), "T")
    function = FunctionType(code, {"x": 2, "y": 3}, closure=(CellType({"x": 1}),))
    assert interpret(function) == (1, 3)
    with pytest.raises(NameError, match="'y' is not defined"):
        interpret(FunctionType(code, {}, closure=(CellType({"x": 1}),)))
