"""Random Python programs around tensors, in source: control flow, containers, closures, classes, generators, exceptions and context managers.

A program defines ``program``, which a form (``compile``) is made of, calls it with several arguments, and appends to ``results`` what each call returns or raises,
what it leaves in its arguments, in globals, attributes and closures, and the gradient of its first argument.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable

PRELUDE = """
import collections
import contextlib
import dataclasses
import functools
import itertools

STATE = {"calls": 0, "log": []}
TOTAL = 0


class Problem(Exception):
    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


class Box:
    scale = 2

    def __init__(self, value, size=1):
        self.value = value
        self.size = size
        self.seen = []

    @property
    def double(self):
        return self.value * 2

    @classmethod
    def of(cls, value):
        return cls(value, cls.scale)

    @staticmethod
    def shifted(value, by=1):
        return value + by

    def __call__(self, t):
        self.seen.append(self.size)
        return t * self.size + self.value

    def __len__(self):
        return self.size

    def __getitem__(self, at):
        if at >= self.size:
            raise IndexError(at)
        return self.value + at

    def __add__(self, other):
        return Box(self.value + (other.value if isinstance(other, Box) else other), self.size + 1)

    def __eq__(self, other):
        return isinstance(other, Box) and self.size == other.size

    def __hash__(self):
        return hash(self.size)

    def __contains__(self, item):
        return item in self.seen


class Wide(Box):
    scale = 3

    def __init__(self, value, size=2):
        super().__init__(value, size)
        self.name = f"wide{size}"

    def __call__(self, t):
        return super().__call__(t) - 1

    def __getattr__(self, name):
        if name.startswith("extra"):
            return len(name)
        raise AttributeError(name)


@dataclasses.dataclass
class Record:
    t: object
    n: int = 1
    tags: list = dataclasses.field(default_factory=list)


Pair = collections.namedtuple("Pair", "a b")


class Scope:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("in")
        return len(self.log)

    def __exit__(self, kind, error, trace):
        self.log.append("out" if kind is None else kind.__name__)
        return self.swallow and kind is not None


@contextlib.contextmanager
def counting(log, step):
    log.append(step)
    try:
        yield step
    finally:
        log.append(-step)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, k=1):
        ctx.save_for_backward(t)
        ctx.k = k
        return t * t * t * k

    @staticmethod
    def backward(ctx, gradient):
        (t,) = ctx.saved_tensors
        return gradient * 3 * t * t * ctx.k, None


def steps(t, n):
    for at in range(n):
        got = yield t + at
        if got is not None:
            t = t * got
    return t - n


def chained(t, n):
    last = yield from steps(t, n)
    yield last


def make_counter(start):
    count = start

    def bump(by=1):
        nonlocal count
        count += by
        return count

    return bump


def repeat(function=None, *, times=2):
    if function is None:
        return lambda f: repeat(f, times=times)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        for _ in range(times):
            result = function(*args, **kwargs)
        return result

    return wrapper


@repeat(times=2)
def scaled(t, by=2, *rest, **named):
    STATE["calls"] += 1
    return t * by + len(rest) + sum(named.values())


def risky(t, n):
    if n % 3 == 0:
        raise Problem("three", n)
    if n % 3 == 1:
        raise KeyError(n)
    return t + n
"""

CALLS = """

def rendered(value, depth=0):
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)}{[float(f'{each:.5g}') + 0.0 for each in value.detach().double().reshape(-1).tolist()]}"
    if isinstance(value, Box):
        return f"{type(value).__name__}({rendered(value.value)}, {value.size}, {value.seen})"
    if isinstance(value, Record):
        return f"Record({rendered(value.t)}, {value.n}, {rendered(value.tags)})"
    if isinstance(value, dict):
        return type(value).__name__ + "{" + ", ".join(f"{key!r}: {rendered(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__ + "[" + ", ".join(map(rendered, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return type(value).__name__ + str(sorted(map(rendered, value)))
    if isinstance(value, float):
        return f"{value:.5g}"
    return repr(value) if isinstance(value, (int, str, bool, type(None))) else type(value).__name__


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value.value] if isinstance(value, Box) else []
    return [leaf for each in parts for leaf in tensors_in(each)]


compiled = form(program)
for at, n in enumerate(NUMBERS):
    torch.manual_seed(at)
    x = torch.linspace(-1, 1.5, SIZES[at] * 2, dtype=torch.float64).reshape(SIZES[at], 2).requires_grad_()
    items = [torch.full((SIZES[at], 2), 0.5 + each, dtype=torch.float64) for each in range(LENGTHS[at])]
    table = {f"k{each}": each + at for each in range(LENGTHS[at])}
    box = (Wide if at % 2 else Box)(1.5, 1 + at % 3)
    try:
        found = compiled(x, n, items, table, box)
        leaves = [each for each in tensors_in(found) if each.requires_grad]
        if leaves:
            sum((each * each).sum() for each in leaves).backward()
        results.append(rendered(found))
    except (Problem, LookupError, ValueError, TypeError, ZeroDivisionError, RuntimeError, AttributeError, StopIteration, AssertionError) as error:
        results.append(f"{type(error).__name__}: {error if not isinstance(error, RuntimeError) else ''}")
    results.append(rendered([items, table, box, STATE, TOTAL, x.grad]))
"""


class Writer:
    """Writes the body of a function: statements over names whose kinds it knows."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names: dict[str, list[str]] = {
            "t": ["x"], "i": ["n"], "ts": ["items"], "d": ["table"], "box": ["box"], "is": [], "f": [], "gen": [], "td": [],
        }  # fmt: skip
        self.made = 0
        self.budget = 10

    def fresh(self, kind: str) -> str:
        """A new name for a value of a kind; it is known from the next statement on."""
        self.made += 1
        return f"{kind}{self.made}"

    def have(self, kind: str) -> str:
        """A name of a kind."""
        return self.rng.choice(self.names[kind])

    def t(self, depth: int = 0) -> str:
        """An expression that is a tensor of the shape of ``x``."""
        r, sub = self.rng, lambda: self.t(depth + 1)
        plain = [lambda: self.have("t")] * 4
        if depth < 2:
            plain += [
                lambda: f"({sub()} + {sub()})", lambda: f"({sub()} * {self.i(depth + 1)})", lambda: f"({sub()} - {self.i(depth + 1)})", lambda: f"{sub()}.sin()",
                lambda: f"torch.tanh({sub()})", lambda: f"{sub()}.clamp(-2, {self.i(2)})", lambda: f"sum({self.have('ts')}, {sub()})",
                lambda: f"scaled({sub()}, {self.i(2)})", lambda: f"scaled({sub()}, *{self.ints()})", lambda: f"scaled({sub()}, k={self.i(2)})",
                lambda: f"Cube.apply({sub()}, {self.i(2)})", lambda: f"{self.have('box')}({sub()})", lambda: f"({sub()} if {self.condition()} else {sub()})",
                lambda: f"functools.reduce(lambda a, b: a + b * 0.5, {self.tensors()}, {sub()})", lambda: f"(lambda a, k={self.i(2)}: a * k)({sub()})",
                lambda: f"max(zip({self.ints()} or [0], {self.tensors()} or [x]), key=lambda p: p[0])[1]", lambda: f"Box.shifted({sub()}, {self.i(2)})",
                lambda: f"next(steps({sub()}, 3))", lambda: f"[*chained({sub()}, {r.randint(1, 3)})][-1]", lambda: f"torch.stack([{sub()}, {sub()}]).mean(0)",
                lambda: f"Pair({sub()}, {self.i(2)}).a", lambda: f"Record({sub()}).t", lambda: f"({sub()} + Box.of({self.i(2)}).double)",
            ]  # fmt: skip
            if self.names["f"]:
                plain.append(lambda: f"{self.have('f')}({sub()})")
            if self.names["gen"]:
                plain.append(lambda: f"next({self.have('gen')}, {sub()})")
            if self.names["td"]:
                plain.append(lambda: f"{self.have('td')}.get({self.key()}, {sub()})")
        return r.choice(plain)()

    def i(self, depth: int = 0) -> str:
        """An expression that is an integer."""
        r = self.rng
        plain = [lambda: self.have("i")] * 3 + [lambda: str(r.randint(-3, 5))] * 2
        if depth < 2:
            sub = lambda: self.i(depth + 1)
            plain += [
                lambda: f"({sub()} + {sub()})", lambda: f"({sub()} * {sub()})", lambda: f"({sub()} % {r.randint(2, 5)})", lambda: f"({sub()} // {r.randint(2, 4)})", lambda: f"abs({sub()})",
                lambda: f"len({self.have('ts')})", lambda: f"len({self.have('d')})", lambda: f"{self.have('box')}.size", lambda: f"{self.have('d')}.get({self.key()}, {sub()})",
                lambda: f"min({sub()}, {sub()})", lambda: f"sum({self.ints()})", lambda: f"{self.have('t')}.shape[0]", lambda: 'STATE["calls"]', lambda: "TOTAL",
                lambda: f"int({self.condition()})", lambda: f"len({{{sub()}, {sub()}}})", lambda: f"divmod({sub()}, {r.randint(1, 4)})[1]", lambda: f"sorted({self.ints()} or [1])[0]",
                lambda: f"({sub()} and {sub()})", lambda: f"({sub()} or {sub()})", lambda: f'getattr({self.have("box")}, "extra", {sub()})', lambda: f"len({self.have('box')})",
                lambda: f"sum(1 for _ in {self.have('box')})",
            ]  # fmt: skip
        return r.choice(plain)()

    def key(self) -> str:
        """A key of a dict."""
        return self.rng.choice([lambda: f'"k{self.rng.randint(0, 3)}"', lambda: f'"k" + str({self.i(2)} % 3)'])()

    def ints(self) -> str:
        """A list of integers."""
        r = self.rng
        choices: list[Callable[[], str]] = [
            lambda: f"[{self.i(2)}, {self.i(2)}]", lambda: f"list(range({self.i(2)} % 4))", lambda: f"[each * {self.i(2)} for each in range(3) if each != {self.i(2)}]",
            lambda: f"list({self.have('d')}.values())", lambda: f"sorted(({self.i(2)}, {self.i(2)}, 1), key=lambda each: -each)", lambda: f"[*map(abs, [{self.i(2)}, {self.i(2)}])]",
            lambda: f"list(itertools.accumulate([{self.i(2)}, 1, 2]))", lambda: f"[a * b for a, b in zip([1, 2], {self.have('d')}.values())]", lambda: f"list({{1: {self.i(2)}, 2: 3}}.values())[::-1]",
        ]  # fmt: skip
        if self.names["is"]:
            choices += [lambda: self.have("is")] * 3 + [lambda: f"{self.have('is')}[::-1]", lambda: f"{self.have('is')} + [{self.i(2)}]"]
        return r.choice(choices)()

    def tensors(self) -> str:
        """A list of tensors."""
        have = self.have("ts")
        return self.rng.choice([
            have, have, f"{have}[::-1]", f"{have} + [{self.t(2)}]", f"[each * {self.i(2)} for each in {have}]", f"list(steps({self.t(2)}, {self.rng.randint(0, 3)}))",
            f"[{self.t(2)}, {self.t(2)}]", f"[each for at, each in enumerate({have}) if at % 2 == {self.i(2)} % 2]", f"list(itertools.islice({have}, 2))",
        ])  # fmt: skip

    def condition(self) -> str:
        """A truth value; some depend on the values of tensors."""
        return self.rng.choice([
            f"{self.i(1)} > {self.i(2)}", f"{self.i(2)} % 2", f"{self.have('ts')}", f"{self.key()} in {self.have('d')}", f"not {self.i(2)}", f"{self.i(2)} == {self.i(2)}",
            f"isinstance({self.have('box')}, Wide)", f"{self.i(2)} < {self.i(2)} <= {self.i(2)}", f"{self.have('box')}", f"{self.have('box')} == Box(0, {self.i(2)})", f"{self.i(2)} in {self.ints()}",
            f"any(each > 1 for each in {self.ints()})", f"all({self.ints()})", f"{self.have('t')}.sum() > {self.i(2)}", f"hasattr({self.have('box')}, 'name')", f"{self.i(2)} in {self.have('box')}",
        ])  # fmt: skip

    # Statements.

    def block(self, length: int, loop: bool = False) -> list[str]:
        """Statements of an inner block: the names that it makes are forgotten after it."""
        known = {kind: list(each) for kind, each in self.names.items()}
        lines = [line for _ in range(length) for line in self.statement(loop)]
        self.names = known
        return ["    " + line for line in lines] or ["    pass"]

    def named(self, kind: str, expression: str) -> list[str]:
        """An assignment to a new name or, sometimes, to one that is there."""
        old = [each for each in self.names[kind] if each != "x"]
        if old and self.rng.random() < 0.35:
            return [f"{self.rng.choice(old)} = {expression}"]
        name = self.fresh(kind)
        self.names[kind].append(name)
        return [f"{name} = {expression}"]

    def statement(self, loop: bool = False) -> list[str]:
        """A statement, with the blocks in it."""
        r = self.rng
        self.budget -= 1
        simple = [
            lambda: self.named("t", self.t()), lambda: self.named("t", self.t()), lambda: self.named("i", self.i()), lambda: self.named("ts", f"list({self.tensors()})"),
            lambda: self.named("is", self.ints()), lambda: self.named("box", f"{r.choice(['Box', 'Wide', 'Box.of', 'Wide.of'])}({self.i()})"), lambda: self.named("gen", f"{r.choice(['steps', 'chained'])}({self.t()}, {r.randint(1, 4)})"),
            lambda: self.named("f", f"functools.partial(scaled, by={self.i()})"), lambda: self.named("td", f"{{{self.key()}: {self.t()}, 'k1': {self.t()}}}"),
            lambda: [f"{self.have('ts')}.append({self.t()})"], lambda: [f"{self.have('ts')}.insert(0, {self.t()})"], lambda: [f"{self.have('d')}[{self.key()}] = {self.i()}"],
            lambda: [f"{self.have('d')}.update(k2={self.i()})"], lambda: [f"{self.have('d')}.setdefault({self.key()}, {self.i()})"], lambda: [f"{self.have('d')}.pop({self.key()}, None)"],
            lambda: [f"{self.have('box')}.value = {self.i()}"], lambda: [f"{self.have('box')}.size += 1"], lambda: [f'setattr({self.have("box")}, "note", {self.i()})'], lambda: [f'STATE["log"].append({self.i()})'],
            lambda: ["global TOTAL", f"TOTAL += {self.i()}"], lambda: [f'STATE["calls"] += {self.i()}'], lambda: [f"{self.have('i')} {r.choice(['+=', '-=', '*='])} {self.i()}"],
            lambda: self.named("box", f"{self.have('box')} + {self.i()}"), lambda: [f"assert {self.i()} < 40, 'big'"],
        ]  # fmt: skip
        if self.names["is"]:
            simple += [
                lambda: [f"{self.have('is')}.append({self.i()})"], lambda: [f"{self.have('is')}[:1] = [{self.i()}, {self.i()}]"], lambda: [f"{self.have('is')}.sort(key=lambda each: each % 3)"],
                lambda: [f"{self.have('is')}.reverse()"], lambda: self.named("i", f"{self.have('is')}.pop() if {self.names['is'][-1]} else 7"), lambda: [f"del {self.have('is')}[1:]"],
            ]  # fmt: skip
        if self.names["gen"]:
            gen = self.have("gen")
            simple += [lambda: self.named("t", f"sum({gen}, {self.t()})"), lambda: [f"{gen}.close()"]]
        if self.budget <= 0:
            return r.choice(simple)()
        blocks = [
            self.branch, self.loop_over, self.loop_while, self.attempt, self.scope, self.closure, self.unpack, self.match, self.generator, self.comprehension, self.send,
        ]  # fmt: skip
        if loop:
            simple += [lambda: [f"if {self.condition()}:", f"    {r.choice(['break', 'continue'])}"]] * 2
        if r.random() < 0.03:
            return [f"if {self.condition()}:", f"    return {self.t()}, 'early'"]
        return r.choice(blocks)() if r.random() < 0.45 else r.choice(simple)()

    def branch(self) -> list[str]:
        lines = [f"if {self.condition()}:", *self.block(2)]
        if self.rng.random() < 0.3:
            lines += [f"elif {self.condition()}:", *self.block(1)]
        return lines + (["else:", *self.block(1)] if self.rng.random() < 0.5 else [])

    def loop_over(self) -> list[str]:
        known = {kind: list(each) for kind, each in self.names.items()}
        a, b = self.fresh("a"), self.fresh("b")
        head, kinds = self.rng.choice([
            (f"for {a} in range({self.rng.randint(1, 3)}):", "i "), (f"for {a} in list({self.have('ts')})[:3]:", "t "), (f"for {a}, {b} in enumerate({self.tensors()}[:3]):", "it"),
            (f"for {b}, {a} in list({self.have('d')}.items())[:3]:", "i "), (f"for {a} in steps({self.t()}, 2):", "t "), (f"for {a}, {b} in zip({self.tensors()}, {self.ints()}[:3]):", "ti"),
            (f"for {a} in sorted({{*{self.ints()}}})[:3]:", "i "), (f"for {a}, {b} in itertools.product([1, 2], [0, {self.i(2)}]):", "ii"),
        ])  # fmt: skip
        for kind, name in zip(kinds, (a, b)):
            if kind != " ":
                self.names[kind].append(name)
        lines = [head, *self.block(2, loop=True)]
        self.names = known
        return lines + (["else:", *self.block(1)] if self.rng.random() < 0.15 else [])

    def loop_while(self) -> list[str]:
        count = self.fresh("w")
        return [
            f"{count} = {self.rng.randint(1, 3)}",
            f"while {count} > 0:",
            f"    {count} -= 1",
            *self.block(2, loop=True),
        ]

    def attempt(self) -> list[str]:
        r = self.rng
        self.names["t"].append(name := self.fresh("t"))
        failing = r.choice([
            f"{name} = risky({self.t()}, {self.i()})", f"{name} = {self.have('ts')}[{self.i()}] * 2", f"{name} = x * {self.have('d')}[{self.key()}]", f"{name} = x * (6 // {self.i()})",
            f"raise {r.choice(['Problem', 'ValueError', 'KeyError'])}({self.i()})", f"{name} = {self.have('box')}[{self.i()}] + x", f"{name} = {self.have('box')}.extra_a + x",
        ])  # fmt: skip
        self.names["t"].remove(name)
        error = self.fresh("e")
        lines = [f"{name} = {self.t()}", "try:", *self.block(1), f"    {failing}", *self.block(1)]
        lines += r.choice([
            [f"except Problem as {error}:", f"    {name} = {name} + {error}.code", "except (LookupError, ArithmeticError, ValueError, AttributeError):", *self.block(1)],
            [f"except Exception as {error}:", f"    STATE['log'].append(type({error}).__name__)", *self.block(1)],
            [f"except KeyError as {error}:", f"    {name} = {name} * len({error}.args)", f"except Exception as {error}:", f"    STATE['log'].append(str({error}))"],
        ])  # fmt: skip
        if r.random() < 0.3:
            lines += ["else:", *self.block(1)]
        if r.random() < 0.4:
            lines += ["finally:", *self.block(1)]
        self.names["t"].append(name)
        return lines

    def scope(self) -> list[str]:
        r = self.rng
        head = r.choice([
            "with Scope(STATE['log']):", "with Scope(STATE['log'], True):", f"with counting(STATE['log'], {self.i()}):", "with torch.no_grad():", "with contextlib.suppress(KeyError, Problem):",
            f"with Scope(STATE['log']), counting(STATE['log'], {self.i()}):", "with contextlib.ExitStack() as stack:",
        ])  # fmt: skip
        lines = [head]
        if "ExitStack" in head:
            lines += [f"    stack.callback(STATE['log'].append, {self.i()})", "    stack.enter_context(Scope(STATE['log']))"]
        lines += self.block(2)
        if "True" in head or "suppress" in head:
            lines += [f"    if {self.condition()}:", "        raise Problem('inside')"]
        return lines

    def closure(self) -> list[str]:
        r = self.rng
        name, count = self.fresh("f"), self.fresh("c")
        kept = {kind: list(each) for kind, each in self.names.items()}
        self.names["t"].append("a")
        body = self.t()
        self.names = kept
        lines = r.choice([
            [f"{count} = {self.i()}", f"def {name}(a):", f"    nonlocal {count}", f"    {count} += 1", f"    return {body} + {count}"],
            [f"{count} = make_counter({self.i()})", f"def {name}(a, by={self.i()}):", f"    return {body} * {count}(by)"],
            [f"{count} = []", f"def {name}(a):", f"    {count}.append(len({count}))", f"    return {body} + {count}[-1]"],
            [f"def {name}(a, depth={r.randint(1, 3)}):", f"    return {body} if depth == 0 else {name}(a * 0.5, depth - 1)"],
            ["@repeat", f"def {name}(a, *, k={self.i()}):", f"    return {body} * k"],
        ])  # fmt: skip
        self.names["f"].append(name)
        return lines

    def unpack(self) -> list[str]:
        a, b = self.fresh("t"), self.fresh("i")
        line = self.rng.choice([
            f"{a}, {b} = {self.t()}, {self.i()}", f"{b}, *rest, {a} = {self.i()}, 1, 2, {self.t()}", f"({a}, {b}) = Pair({self.t()}, {self.i()})", f"{a} = ({b} := {self.i()}) * {self.t()}",
            f"[{a}, ({b}, _)] = [{self.t()}, divmod({self.i()}, 3)]",
        ])  # fmt: skip
        self.names["t"].append(a)
        self.names["i"].append(b)
        return [line]

    def match(self) -> list[str]:
        subject = self.rng.choice([
            f"({self.i()}, {self.i()})", self.have("box"), f"{self.ints()}", f"{{'kind': {self.i()}, **{self.have('d')}}}", self.i(), f"Record(x, {self.i()})",
        ])  # fmt: skip
        return [
            f"match {subject}:",
            f"    case (0 | 1 | 2, second) if second != {self.rng.randint(0, 3)}:", *["    " + each for each in self.block(1)],
            "    case [first, *others]:", "        STATE['log'].append(len(others))", *["    " + each for each in self.block(1)],
            "    case Wide(size=2) | Record(n=1):", *["    " + each for each in self.block(1)],
            "    case {'kind': kind, 'k1': one}:", "        STATE['calls'] += kind + one",
            "    case Box(size=size):", "        STATE['log'].append(size)",
            "    case _:", *["    " + each for each in self.block(1)],
        ]  # fmt: skip

    def generator(self) -> list[str]:
        name, gen = self.fresh("g"), self.fresh("gen")
        kept = {kind: list(each) for kind, each in self.names.items()}
        self.names["t"].append("a")
        lines = [
            f"def {name}(a, count):",
            "    try:",
            "        while count > 0:",
            "            count -= 1",
            f"            yield {self.t()}",
        ]
        lines += ["    finally:", "        STATE['log'].append('closed')"]
        self.names = kept
        lines += [f"{gen} = {name}({self.t()}, {self.rng.randint(1, 3)})"]
        if self.rng.random() < 0.5:
            self.names["gen"].append(gen)
            return lines
        self.names["t"].append(total := self.fresh("t"))
        return [*lines, f"{total} = sum({gen}, torch.zeros_like(x))"]

    def comprehension(self) -> list[str]:
        return self.rng.choice([
            lambda: self.named("ts", f"[a * b for a in {self.tensors()}[:2] for b in {self.ints()}[:2]]"),
            lambda: self.named("td", f"{{f'k{{at}}': each + at for at, each in enumerate({self.tensors()}[:3])}}"),
            lambda: self.named("t", f"sum((each * {self.i()} for each in {self.tensors()}), {self.t()})"),
            lambda: self.named("is", f"[len(key) for key in {self.have('d')} if key != {self.key()}]"),
            lambda: self.named("ts", f"[f(x) for f in [lambda a, k=k: a * k for k in range({self.rng.randint(0, 3)})]]"),
            lambda: self.named("i", f"len({{each % 3 for each in {self.ints()}}})"),
        ])()  # fmt: skip

    def send(self) -> list[str]:
        gen, name = self.fresh("gen"), self.fresh("t")
        lines = [
            f"{gen} = {self.rng.choice(['steps', 'chained'])}({self.t()}, 3)",
            f"{name} = next({gen})",
            f"{name} = {name} + {gen}.send({self.i()})",
        ]
        self.names["gen"].append(gen)
        self.names["t"].append(name)
        return lines

    def body(self) -> list[str]:
        """The statements of the function."""
        lines: list[str] = []
        while self.budget > 0:
            lines += self.statement()
        kinds = [kind for kind in ("t", "ts", "i", "is", "td", "box") if self.names[kind]]
        chosen = {self.names["t"][-1], *(self.have(self.rng.choice(kinds)) for _ in range(3))}
        return [*lines, f"return {', '.join(sorted(chosen))},"]


def python_program(seed: int) -> str:
    """The text of a random program."""
    rng = random.Random(f"python {seed}")
    body = Writer(rng).body()
    declared = sorted({line.strip() for line in body if line.strip().startswith("global ")})
    body = declared + [line for line in body if not line.strip().startswith("global ")]
    count = 5
    numbers = [rng.randint(0, 4)] * 2 + [rng.randint(-1, 6) for _ in range(count - 2)]
    sizes = [2, 2] + [rng.choice((2, 2, 3, 4)) for _ in range(count - 2)]
    lengths = [2, 2] + [rng.choice((2, 2, 0, 1, 3)) for _ in range(count - 2)]
    text = "\n".join(body)
    return (
        f"{PRELUDE}\n\ndef program(x, n, items, table, box):\n{textwrap.indent(text, '    ')}\n"
        f"\n\nNUMBERS, SIZES, LENGTHS = {numbers}, {sizes}, {lengths}\n{CALLS}"
    )
