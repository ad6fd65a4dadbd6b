"""Functions made at random, run by Python and by the bytecode interpreter."""

from __future__ import annotations

import gc
import itertools
import random
import sys
import warnings

import pytest
from bytecode_comparison import Alone, by_interpreter, observed, steps, stopped_at
from bytecode_programs import Manager, Point, note

from rushlight.capture.compile import BytecodeInterpreter, Frame

COUNT = 240  # functions
VARIABLES = list("abcde")
ERRORS = ["ValueError", "KeyError", "TypeError", "ZeroDivisionError", "LookupError", "(IndexError, KeyError)"]


class Budget(Exception):
    """The function has done enough."""


ticks = 0


def tick() -> bool:
    """Called in every loop and function: ends those that would go on for too long."""
    global ticks
    ticks += 1
    if ticks > 120:
        raise Budget
    return True


def clip(value):
    """Keeps values from growing without end."""
    if isinstance(value, int):
        return value % 1009 if abs(value) > 1009 else value
    if isinstance(value, str | list | tuple):
        return value[:8]
    return value


class Writer:
    """Writes the source of a function."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def write(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    # Expressions.

    def variable(self) -> str:
        return self.random.choice(VARIABLES)

    def expression(self, depth: int = 2) -> str:
        if depth == 0:
            number = str(self.random.randint(-2, 9))
            return self.pick(self.variable(), self.variable(), self.variable(), number, number, "'s'", "None", "[]", "(1, 2)")
        e = lambda: self.expression(depth - 1)
        v = self.variable
        form = self.random.randrange(26)
        match form:
            case 0 | 1 | 2:
                return f"({e()} {self.pick('+', '-', '%', '//', '&', '|', '^', '/')} {e()})"
            case 3:
                return f"({e()} {self.pick('<', '<=', '==', '!=', '>', 'is', 'is not', 'in', 'not in')} {e()})"
            case 4:
                return f"({e()} < {e()} {self.pick('<', '==', '<=')} {e()})"
            case 5:
                return f"({e()} {self.pick('and', 'or')} {e()})"
            case 6:
                return f"({self.pick('-', 'not ', '~', '+')}{e()})"
            case 7:
                return f"({e()} if {e()} else {e()})"
            case 8:
                return f"[{e()}, {e()}]"
            case 9:
                return f"({e()}, *{self.sequence(depth - 1)}, {e()})"
            case 10:
                return f"{{{e()!s}: {e()}, 'k': {e()}}}"
            case 11:
                return f"f'{{{v()}!r:>4}}|{{{e().replace(chr(39), chr(34))}}}'" if sys.version_info >= (3, 12) else f"f'{{{v()}!r:>4}}'"
            case 12:
                return f"note({e()})"
            case 13:
                return f"[{e()} for {v()} in {self.sequence(depth - 1)}{self.pick('', f' if {e()}')}]"
            case 14:
                return f"{{{v()}: {e()} for {v()} in {self.sequence(depth - 1)}}}"
            case 15:
                name = v()
                return f"list({e()} for {name} in {self.sequence(0)} for {v()} in ({name}, {e()}))"
            case 16:
                return f"(lambda {v()}={e()}, *rest: {e()})({self.pick('', e())})"
            case 17:
                return f"({v()} := {e()})"
            case 18:
                return f"{self.sequence(depth - 1)}[{self.pick('0', '-1', '1:', ':2', '::2', e())}]"
            case 19:
                return f"{self.pick('len', 'str', 'repr', 'list', 'abs', 'bool', 'sorted', 'sum')}({e()})"
            case 20:
                return f"{{{e()}, {e()}}}"
            case 21:
                return f"[*{self.sequence(depth - 1)}, {e()}]"
            case 22:
                return f"takes({e()}, {e()}, *{self.sequence(0)}, key={e()}, **{{'other': {e()}}})"
            case 23:
                return f"Point({e()}, {e()}).{self.pick('x', 'y', 'z')}"
            case 24:
                return f"[lambda: {v()} for {v()} in {self.sequence(0)}][-1]()"
            case _:
                return e()

    def sequence(self, depth: int) -> str:
        if depth <= 0:
            return self.pick("range(3)", "(1, 2)", "[3, 0, 1]", "'xy'", self.variable(), "()")
        return self.pick(f"[{self.expression(depth - 1)}, {self.expression(depth - 1)}]", self.sequence(0), "range(2, 5)")

    # Statements.

    def block(self, indent: int, depth: int, context: frozenset[str]) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth, context)

    def statement(self, indent: int, depth: int, context: frozenset[str]) -> None:
        simple = [
            self.assign, self.assign, self.assign, self.augmented, self.unpack, self.call_note, self.leave, self.item,
        ]  # fmt: skip
        nested = [
            self.condition, self.for_loop, self.while_loop, self.try_block, self.try_block, self.with_block,
            self.function, self.generator, self.match_block, self.class_body,
        ]  # fmt: skip
        self.random.choice(simple if depth == 0 or self.chance(0.45) else nested)(indent, depth - 1, context)

    def assign(self, indent, depth, context) -> None:
        self.write(indent, f"{self.variable()} = {self.pick('', f'{self.variable()} = ')}clip({self.expression(2)})")

    def augmented(self, indent, depth, context) -> None:
        name = self.variable()
        self.write(indent, f"{name} {self.pick('+=', '-=', '|=', '//=', '%=')} {self.expression(1)}")
        self.write(indent, f"{name} = clip({name})")

    def unpack(self, indent, depth, context) -> None:
        target = self.pick("{}, {}", "{}, *{}", "*{}, {}", "[{}, ({}, a)]", "{}, {}, c")
        self.write(indent, f"{target.format(self.variable(), self.variable())} = {self.sequence(2)}")

    def call_note(self, indent, depth, context) -> None:
        self.write(indent, f"note(({self.variable()}, {self.expression(1)}))")

    def item(self, indent, depth, context) -> None:
        name = self.variable()
        self.write(
            indent,
            self.pick(
                f"del {name}",
                f"{name}[{self.expression(1)}] = {self.expression(1)}",
                f"del {name}[{self.pick('0', ':1', self.expression(1))}]",
                f"{name}[:1] = {self.sequence(1)}",
                f"assert {self.expression(1)}, {self.expression(1)}",
                f"note(sorted(locals()).index({name!r}))",
            ),
        )

    def leave(self, indent, depth, context) -> None:
        choices = ["pass", f"raise {self.pick(*ERRORS[:5])}({self.expression(1)})"]
        if "loop" in context:
            choices += ["break", "continue"] * 2
        if "except" in context:
            choices += ["raise", f"raise {self.pick(*ERRORS[:5])}({self.variable()}) from {self.pick('error', 'None')}"]
        choices.append(f"return {self.expression(2)}")
        if "generator" in context:
            choices += [f"{self.variable()} = yield {self.expression(1)}", f"yield {self.expression(2)}"] * 2
            choices.append(f"{self.variable()} = yield from {self.sequence(1)}")
        text = self.random.choice(choices)
        guarded = text.startswith(("raise", "return", "break", "continue")) and self.chance(0.7)
        self.write(indent, f"if {self.expression(1)}:" if guarded else "if tick():")
        self.write(indent + 1, text)

    def condition(self, indent, depth, context) -> None:
        self.write(indent, f"if {self.expression()}:")
        self.block(indent + 1, depth, context)
        if self.chance(0.4):
            self.write(indent, f"elif {self.expression()}:")
            self.block(indent + 1, depth, context)
        if self.chance(0.5):
            self.write(indent, "else:")
            self.block(indent + 1, depth, context)

    def for_loop(self, indent, depth, context) -> None:
        target = self.pick(self.variable(), self.variable(), f"{self.variable()}, {self.variable()}")
        source = self.sequence(2) if "," not in target else f"enumerate({self.sequence(1)})"
        self.write(indent, f"for {target} in {source}:")
        self.write(indent + 1, "tick()")
        self.block(indent + 1, depth, context | {"loop"})
        if self.chance(0.3):
            self.write(indent, "else:")
            self.block(indent + 1, depth, context)

    def while_loop(self, indent, depth, context) -> None:
        name = self.fresh("n")
        self.write(indent, f"{name} = {self.random.randint(0, 3)}")
        self.write(indent, f"while ({name} := {name} - 1) >= 0 and ({self.expression(1)} or tick()):")
        self.block(indent + 1, depth, context | {"loop"})
        if self.chance(0.3):
            self.write(indent, "else:")
            self.block(indent + 1, depth, context)

    def try_block(self, indent, depth, context) -> None:
        self.write(indent, "try:")
        self.block(indent + 1, depth, context)
        handlers = self.random.randint(0, 2)
        for _ in range(handlers):
            self.write(indent, f"except {self.random.choice(ERRORS)}{self.pick(' as error', '')}:")
            self.write(indent + 1, "note(('handling', sys.exception()))")
            self.write(indent + 1, "error = sys.exception()")
            self.block(indent + 1, depth, context | {"except"})
        if handlers and self.chance(0.3):
            self.write(indent, "else:")
            self.block(indent + 1, depth, context)
        if not handlers or self.chance(0.4):
            self.write(indent, "finally:")
            self.write(indent + 1, "note('finally')")
            self.block(indent + 1, depth, context)

    def with_block(self, indent, depth, context) -> None:
        manager = f"Manager({self.random.randint(0, 9)}, {self.pick('False', 'False', 'True', self.variable())})"
        more = self.pick("", f", Manager('m', fail={self.pick('None', repr('enter'), repr('exit'))}) as {self.variable()}")
        self.write(indent, f"with {manager} as {self.variable()}{more}:")
        self.block(indent + 1, depth, context)

    def function(self, indent, depth, context) -> None:
        name = self.fresh("f")
        shared = self.pick([], [self.variable()], [self.variable()])
        parameters = [v for v in self.random.sample(VARIABLES, 2) if v not in shared]
        head = ", ".join([*parameters[:1], *(f"{p}={self.expression(1)}" for p in parameters[1:]), "*args", "k=1", "**named"])
        if self.chance(0.2):
            self.write(indent, self.pick("@staticmethod", "@logged", "@(lambda function: function)"))
        self.write(indent, f"def {name}({head}):")
        if shared:
            self.write(indent + 1, f"nonlocal {shared[0]}")
        self.write(indent + 1, "tick()")
        self.block(indent + 1, depth, frozenset())
        self.write(indent + 1, f"return {self.expression(2)}")
        self.write(indent, f"{self.variable()} = clip({name}({self.arguments(parameters)}))")

    def arguments(self, parameters: list[str]) -> str:
        given = [self.expression(1) for _ in range(self.random.randint(0, 3))]
        given += self.pick([], [f"*{self.sequence(1)}"])
        given += self.pick([], [f"k={self.expression(1)}"], [f"{self.variable()}={self.expression(1)}"])
        return ", ".join(given + self.pick([], [f"**{{'z': {self.expression(1)}}}"]))

    def generator(self, indent, depth, context) -> None:
        name, it = self.fresh("g"), self.fresh("it")
        shared = self.pick([], [self.variable()])
        self.write(indent, f"def {name}({', '.join(v + '=1' for v in self.random.sample(VARIABLES, 2) if v not in shared)}):")
        if shared:
            self.write(indent + 1, f"nonlocal {shared[0]}")
        self.write(indent + 1, f"{self.variable()} = yield {self.expression(1)}")
        self.block(indent + 1, depth, frozenset({"generator"}))
        self.write(indent + 1, f"yield {self.expression(1)}")
        if self.chance(0.4):
            outer = self.fresh("g")
            self.write(indent, f"def {outer}():")
            self.write(indent + 1, f"{self.variable()} = yield from {name}()")
            self.write(indent + 1, f"note({self.variable()})")
            name = outer
        match self.random.randrange(4):
            case 0:
                self.write(indent, f"{self.variable()} = {self.pick('list', 'tuple', 'sorted')}({name}())")
            case 1:
                self.write(indent, f"for {self.variable()} in {name}():")
                self.write(indent + 1, "tick()")
                self.block(indent + 1, 0, context | {"loop"})
            case 2:
                self.write(indent, f"{it} = {name}()")
                self.write(indent, f"note(next({it}))")
                for _ in range(self.random.randint(1, 3)):
                    action = self.pick(
                        f"{it}.send({self.expression(1)})",
                        f"{it}.throw({self.pick(*ERRORS[:5])}('thrown'))",
                        f"{it}.close()",
                        f"next({it}, 'no more')",
                    )
                    self.write(indent, f"note({action})")
            case 3:
                self.write(indent, f"{self.variable()}, *{self.variable()} = {name}()")

    def match_block(self, indent, depth, context) -> None:
        self.write(indent, f"match {self.expression()}:")
        v = self.variable
        patterns = [
            "0 | 1 | 's'", "None", f"int({v()})", f"[{v()}]", f"[{self.random.randint(0, 3)}, *a]", f"({v()}, _)".replace("_", "_"),
            f"{{'k': {v()}}}", "{'k': 1, **rest}", "Point(x=0)", "Point(a, b)", f"str() as {v()}", f"[int(), {v()}, *_]", "True",
        ]  # fmt: skip
        for pattern in self.random.sample(patterns, 3):
            self.write(indent + 1, f"case {pattern}{self.pick('', f' if {self.expression(1)}')}:")
            self.block(indent + 2, depth, context)
        if self.chance(0.5):
            self.write(indent + 1, "case _:")
            self.block(indent + 2, depth, context)

    def class_body(self, indent, depth, context) -> None:
        name = self.fresh("C")
        self.write(indent, f"class {name}({self.pick('Point', 'object', 'Manager')}):")
        value = self.expression(1)
        while "lambda" in value:  # Python 3.13.0 itself crashes on a lambda in a comprehension in a class
            value = self.expression(1)
        self.write(indent + 1, f"{self.variable()} = {value}")
        self.write(indent + 1, f"values = [{self.variable()} for {self.variable()} in {self.sequence(0)}]")
        self.write(indent + 1, "def __init__(self, *args):")
        self.write(indent + 2, f"super().__init__({self.pick('*args', '')})")
        self.write(indent + 2, f"self.value = {self.expression(1)}")
        self.write(indent, f"{self.variable()} = {name}({self.arguments([])}).{self.pick('value', 'values', 'x', 'a')}")

    def source(self) -> str:
        self.write(0, "def f(a, b, c, d=3, *, e=(1, 2)):")
        for _ in range(4):
            if self.chance(0.2):
                self.block(1, 2, frozenset())
                continue
            self.write(1, "try:")
            self.block(2, 2, frozenset())
            self.write(1, f"except {self.pick('Exception', '(TypeError, NameError, LookupError)')} as error:")
            self.write(2, "note((error, error.__context__))")
        self.write(1, "return a, b, c, d, e")
        return "\n".join(self.lines) + "\n"


def takes(a, b=1, *rest, key, **named):
    note(("takes", a, b))
    return (rest, key, sorted(named))[b is None or isinstance(b, str)]


def logged(function):
    def wrapper(*args, **kwargs):
        note((args, kwargs))
        return function(*args, **kwargs)

    return wrapper


def make(seed: int):
    """The function with this number, and where it thinks it comes from."""
    filename = f"<random function {seed}>"
    for attempt in itertools.count():
        source = Writer(f"{seed} {attempt}").source()
        try:
            with warnings.catch_warnings(action="ignore"):
                code = compile(source, filename, "exec")
            break
        except SyntaxError:  # an assignment expression in a place where it may not be, for example
            continue
    scope = {"note": note, "tick": tick, "clip": clip, "Manager": Manager, "Point": Point, "takes": takes, "sys": sys}
    scope |= {"logged": logged, "__name__": "random_functions"}
    exec(code, scope)
    return scope["f"], filename, source


ARGUMENTS = [(1, 2, 3), ([1, 0], "s", (2, 3)), (None, {"k": 1}, 0)]


@pytest.fixture(scope="module", autouse=True)
def quick_collection():
    """Generators may be left in cycles of tracebacks and frames, and note something when they go: that must not be
    at any odd time.  So garbage is collected after every call, which is quick if only what is new is looked at."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


def fresh_budget(call):
    """A call that begins with the whole budget."""

    def begin(*args):
        global ticks
        ticks = 0
        return call(*args)

    return begin


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ~True, which the interpreter seems to say itself
@pytest.mark.parametrize("group", range(12))
def test_random_functions(group: int) -> None:
    for seed in range(group, COUNT, 12):
        assert_interpreted_like_python(seed)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ~True, which the interpreter seems to say itself
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_random_functions_stopped_on_the_way(seed: int) -> None:
    function, filename, source = make(seed)
    args = ARGUMENTS[seed % 3]
    expected = observed(fresh_budget(function), args, {filename}, gc.collect)
    count = fresh_budget(steps)(function, args)
    for at in range(0, count, 1 + count // 40):
        found = observed(fresh_budget(stopped_at(function, at)), args, {filename}, gc.collect)
        assert found == expected, f"seed {seed}, stopped at {at}:\n{source}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_random_functions_are_worth_running() -> None:
    """They return and raise in many ways, and reach nearly every operation."""
    ends, operations = set(), set()
    for seed in range(100):
        function, filename, _ = make(seed)
        end = observed(fresh_budget(function), ARGUMENTS[seed % 3], {filename}, gc.collect)["end"]
        ends.add((end[0], end[1][0]))
        interpreter = BytecodeInterpreter()
        state = fresh_budget(interpreter.start)(function, ARGUMENTS[seed % 3])
        while isinstance(state, Frame):
            operations.add(state.instruction.op)
            state = interpreter.step(state)
    assert len(ends) > 8
    assert len(operations) > 60


def assert_interpreted_like_python(seed: int) -> None:
    """One function, by every way."""
    function, filename, source = make(seed)
    for args in ARGUMENTS:
        expected = observed(fresh_budget(function), args, {filename}, gc.collect)
        for semantics in (None, Alone()):
            found = observed(fresh_budget(by_interpreter(function, semantics)), args, {filename}, gc.collect)
            assert found == expected, f"seed {seed}, arguments {args}:\n{source}"


if __name__ == "__main__":  # FIRST LAST: more of them
    warnings.simplefilter("ignore")
    gc.collect()
    gc.freeze()
    gc.disable()
    failures = 0
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            assert_interpreted_like_python(number)
        except AssertionError as problem:
            failures += 1
            print("seed", number, str(problem)[:300].replace("\n", " | "), flush=True)
    print(failures, "failures")
