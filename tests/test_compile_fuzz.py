"""Programs made at random, run eagerly and compiled: results, gradients, effects and their order, errors.

They change what was there before, share objects, break off in the middle, and between calls the world changes, so that a guard that
is missing shows.  ``python tests/test_compile_fuzz.py FIRST LAST`` runs more of them.
"""

from __future__ import annotations

import random

import pytest
from compile_comparison import compare
from seeds import run_seeds

COUNT = 330
GROUPS = 10
FOUND = (652, 1570, 5000, 5007, 5009, 5012, 5015, 5194, 5444, 6676, 6799, 20009)  # programs that have found mistakes, beyond those

WORLD = """
NUMBER = 2
SCALE = 1.5
WORDS = ['a', 'bb']
TABLE = {'k': 1, 'z': 2.0}
CONSTANT = torch.tensor([0.5, 1.0, -1.0])
WEIGHT = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

class Point:
    shared = 3
    def __init__(self, x, y=1):
        self.x = x
        self.y = y
    def total(self): return self.x + self.y * self.shared
    @property
    def double(self): return self.x * 2
    def __add__(self, other): return Point(self.x + other.x, self.y)
    def __getitem__(self, i): return (self.x, self.y)[i]
    def __call__(self, v): return v * self.y + self.x

class Slotted:
    __slots__ = ('v', 'n')
    def __init__(self, v, n): self.v, self.n = v, n

@dataclasses.dataclass
class Config:
    rate: float = 0.5
    names: list = dataclasses.field(default_factory=list)

class Kind(enum.Enum):
    ONE = 1
    TWO = 2

Pair = collections.namedtuple('Pair', 'first second')
BOX = Point(2.0, 3)
CONFIG = Config()
QUEUE = collections.deque([1, 2], maxlen=4)
GROUPED = collections.defaultdict(list)

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k * NUMBER
        ctx.save_for_backward(x)
        return x * ctx.k
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.k + x * 0.1, None

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)
        self.drop = nn.Dropout(0.3)
        self.register_buffer('seen', torch.zeros(1))
        self.calls = 0
        self.log = []
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])
    def forward(self, x):
        self.calls += 1
        self.seen += 1
        self.log.append(self.calls)
        x = self.drop(self.norm(self.linear(x)))
        for part in self.parts:
            x = part(x)
        return x * SCALE if self.training else x
NET = Net()

@contextlib.contextmanager
def scope(name):
    LOG.append(('enter', name))
    try:
        yield NUMBER
    finally:
        LOG.append(('leave', name))

class Manager:
    def __init__(self, swallow): self.swallow = swallow
    def __enter__(self):
        LOG.append('in')
        return self
    def __exit__(self, kind, error, trace):
        LOG.append(('out', kind and kind.__name__))
        return self.swallow

def helper(t, k=2, *rest, **named):
    LOG.append(len(rest) + len(named))
    return t * k + sum(named.values()) * NUMBER

def counting(seen=[]):
    seen.append(NUMBER)
    return len(seen)

def make_counter():
    n = 0
    def up(by=1):
        nonlocal n
        n += by
        return n
    return up
UP = make_counter()

def produce(t, count):
    for i in range(count):
        LOG.append(('produce', i))
        yield t + i

def halting(t, count):
    with scope('halting'):
        for i in range(count):
            t = t * 2
            print('halt', i)
            yield t - i
            LOG.append(i)
"""

CHANGES = [
    "", "", "", "NUMBER = NUMBER % 3 + 1", "SCALE = -SCALE", "WORDS.append('c')", "TABLE['k'] += 1", "TABLE.pop('new', None)", "BOX.y = BOX.y % 4 + 1",
    "BOX = Point(1.0, 2)", "Point.shared += 1", "CONFIG.names.clear()", "CONFIG.rate *= 2", "NET.eval()", "NET.train()", "CONSTANT = CONSTANT * 2",
    "CONSTANT.add_(1)", "helper.__defaults__ = (NUMBER + 1,)", "QUEUE.append(5)", "WORDS = list(WORDS)", "WEIGHT.requires_grad_(not WEIGHT.requires_grad)",
    "BOX.extra = 7", "Point.double = property(lambda self: self.x * 3)", "NET.parts[0].bias = None", "TABLE = {'k': NUMBER, 'z': 0.5}",
]  # fmt: skip


class Writer:
    """Writes the source of a program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        self.tensors = ["x", "y"]
        self.depth = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def write(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    # Expressions: of tensors of three elements, of numbers, of conditions.

    def tensor(self, depth: int = 2) -> str:
        t = lambda: self.tensor(depth - 1)
        if depth <= 0:
            return self.pick(*self.tensors, "CONSTANT", "WEIGHT", "x")
        return self.random.choice([
            lambda: f"({t()} {self.pick('+', '-', '*')} {t()})", lambda: f"({t()} {self.pick('+', '-', '*', '/')} {self.number_but_zero()})",
            lambda: f"{t()}.{self.pick('sin', 'tanh', 'exp', 'neg', 'abs', 'detach', 'clone', 'sigmoid')}()", lambda: f"torch.{self.pick('maximum', 'minimum', 'add')}({t()}, {t()})",
            lambda: f"F.relu({t()})", lambda: f"helper({t()}, {self.number()})", lambda: f"helper({t()}, k={self.number()}, extra={self.number()})",
            lambda: f"Point({t()}, {self.number()}).{self.pick('total()', 'double', 'x')}", lambda: f"(Point({t()}) + Point({t()})).x", lambda: f"BOX({t()})",
            lambda: f"Scaled.apply({t()}, {self.number()})", lambda: f"NET({t()})", lambda: f"sum([{t()}, {t()}])", lambda: f"sum(v * 2 for v in [{t()}, {t()}])",
            lambda: f"[v + {self.number()} for v in ({t()}, {t()})][{self.pick('0', '-1', '1')}]", lambda: f"(lambda v, k={self.number()}: v * k)({t()})",
            lambda: f"functools.partial(helper, k={self.number()})({t()})", lambda: f"{{'a': {t()}, 'b': {t()}}}['a']", lambda: f"Pair({t()}, 1).first",
            lambda: f"({t()} if {self.condition()} else {t()})", lambda: f"functools.reduce(lambda a, b: a + b, [{t()}, {t()}])", lambda: f"torch.tensor([1., 2., {self.number()}])",
            lambda: f"torch.stack([{t()}, {t()}]).sum(0)", lambda: f"{t()} * torch.rand(3)", lambda: f"F.dropout({t()}, 0.5)", lambda: f"torch.where({t()} > 0, {t()}, {t()})",
            lambda: f"list(produce({t()}, 2))[-1]", lambda: f"sum(halting({t()}, 2))", lambda: f"Slotted({t()}, 1).v", lambda: f"{t()}.view(3, 1).expand(3, 2).sum(1)", lambda: f"torch.zeros({t()}.shape[0])",
            lambda: f"dataclasses.replace(CONFIG, rate={self.number()}).rate * {t()}", lambda: f"getattr(BOX, 'double') * {t()}", lambda: f"{t()}[[2, 0, 1]]",
        ])()  # fmt: skip

    def number_but_zero(self) -> str:
        return self.pick("2", "0.5", "3.0", "(abs(NUMBER) + 1)", "(len(WORDS) + 1)")

    def number(self, depth: int = 1) -> str:
        if depth <= 0:
            return self.pick("1", "2", "-1", "0.5", "NUMBER", "n", "SCALE", "TABLE['k']")
        return self.pick(
            self.number(0), self.number(0), f"({self.number(0)} + {self.number(0)})", "len(WORDS)", "BOX.y", "Point.shared", "CONFIG.rate", "x.shape[0]", "counting()",
            "UP()", "TABLE.get('new', 4)", "sum(QUEUE)", "len(GROUPED)", "Kind.TWO.value", "max([n, NUMBER, 1])", "BOX[1]", "int(SCALE)", "sorted([3, NUMBER, 1], key=lambda v: -v)[0]",
            "len(items)", "kind.value", "sum(map(lambda v: v * NUMBER, [1, 2]))", "NET.calls", "UP(n)", "getattr(BOX, 'extra', 2)", "(n if isinstance(n, int) else 1)", "len(TABLE)",
        )  # fmt: skip

    def condition(self) -> str:
        return self.pick(
            f"{self.number()} > {self.number()}", "x.requires_grad", "'new' in TABLE", "kind is Kind.ONE", "items", "not WORDS", f"{self.tensor(0)}.sum() > 0", "hasattr(BOX, 'extra')",
            "x is y", "isinstance(n, float)", "NET.training", f"{self.number()} == {self.number()}", "len(items) > 2", "x.grad is None", "torch.is_grad_enabled()", "n",
        )  # fmt: skip

    # Statements.

    def block(self, size: int, context: frozenset[str]) -> None:
        self.depth += 1
        known = list(self.tensors)
        for _ in range(self.random.randint(1, size)):
            self.statement(context)
        self.tensors = known
        self.depth -= 1

    def statement(self, context: frozenset[str] = frozenset()) -> None:
        simple = [self.assign] * 4 + [self.effect] * 3 + [self.interruption, self.in_place, self.number_assign]
        nested = [self.branch, self.loop, self.attempt, self.scope, self.function, self.leave]
        self.random.choice(simple if self.depth > 2 or self.chance(0.6) else nested)(context)

    def assign(self, context) -> None:
        if self.depth == 0 and self.chance(0.4):
            name = self.fresh("t")
            self.write(f"{name} = {self.tensor()}")
            self.tensors.append(name)
        else:
            self.write(f"{self.pick(*self.tensors)} = {self.tensor()}")

    def number_assign(self, context) -> None:
        self.write(f"n = {self.number()}")

    def in_place(self, context) -> None:
        name = self.pick(*self.tensors)
        self.write(self.pick(f"{name} = {name} * 1; {name}.add_({self.number()})", f"{name} = {name}.clone(); {name}[0] = {self.number()}", f"{name} = {name} + 0; {name}.mul_({self.tensor(0)}.detach())",
                             f"with torch.no_grad(): WEIGHT.mul_({self.number_but_zero()})", f"{name} += {self.tensor(0)}.detach()" if name not in ("x", "y") else "pass", "CONSTANT.add_(0.5)"))  # fmt: skip

    def effect(self, context) -> None:
        self.write(self.pick(
            f"LOG.append({self.number()})", "LOG.append(n)", "WORDS.append('w')", "del WORDS[1:]", f"TABLE['new'] = {self.number()}", "TABLE.pop('new', None)", f"BOX.y = {self.number()} % 5",
            f"BOX.last = {self.tensor(0)}", f"items.append({self.tensor(0)})", f"items.append({self.number()})", "items[:] = items[::-1]", "GROUPED[n].append(1)", "QUEUE.append(n)", "QUEUE.popleft() if QUEUE else None",
            "globals_()", f"CONFIG.names.append({self.number()})", f"made = [{self.tensor(0)}, n]; LOG.append(made); made.append(2)", f"Point.shared = {self.number()} % 4", "WORDS.sort(reverse=True)",
            "TABLE.update(z=1.0, q=n)", "items += [n]", f"keep = Point({self.tensor(0)}); keep.me = keep; results.append(keep)", f"results.append(Slotted({self.tensor(0)}, n))", f"results.append(({self.tensor(0)}, [n]))",
            "up = make_counter(); up(); results.append(up); LOG.append(up())", f"results.append(Config(names=[{self.number()}]))", "results.append(items)", "results.append(iter([1, 2, n]))", "x.tag = n",
            "results.append(functools.partial(helper, k=n))", "results.append(BOX.total)", f"results.append({{'k': {self.tensor(0)}, 1: n}})", "results.append({n, 1})", "results.append(WORDS)", "results.append(collections.deque([n]))",
        ))  # fmt: skip

    def interruption(self, context) -> None:
        self.write(self.pick(
            "print('break', n)", "compiler.graph_break()", f"n = int({self.tensor(0)}.sum().item()) % 3", f"print({self.tensor(0)}.shape)", f"LOG.append(round({self.tensor(0)}.sum().item(), 2))", "opaque(n)",
            f"({self.tensor(0)}.sum() * WEIGHT.sum()).backward() if False else print('no')", "LOG.append(f'{n}-{NUMBER!r}')", "torch.manual_seed(n)", f"y = x if {self.tensor(0)}.mean() > 0 else y",
        ))  # fmt: skip

    def branch(self, context) -> None:
        self.write(f"if {self.condition()}:")
        self.block(2, context)
        if self.chance(0.5):
            self.write("else:")
            self.block(2, context)

    def loop(self, context) -> None:
        form = self.random.randrange(4)
        name = self.fresh("i")
        if form == 0:
            self.write(f"for {name} in range({self.random.randint(1, 3)}):")
            self.depth += 1
            self.write(f"n = {name}")
            self.depth -= 1
        elif form == 1:
            self.write(f"for n, {name} in enumerate(items[:3]):")
        elif form == 2:
            self.write(f"for {name} in {self.pick('produce', 'halting')}({self.tensor(0)}, 2):")
            self.depth += 1
            self.write(f"x = x + {name}")
            self.depth -= 1
        else:
            self.write(f"for {name}, n in zip('ab', [NUMBER, 3]):")
        self.block(2, context | {"loop"})

    def attempt(self, context) -> None:
        self.write("try:")
        self.block(2, context)
        self.depth += 1
        self.write(self.pick("{}['missing']", "raise ValueError(n)", "n = n // 0", "pass", f"x = x @ torch.zeros(2)  # {self.names}"))
        self.depth -= 1
        self.write(f"except {self.pick('(KeyError, ValueError)', 'ZeroDivisionError', 'RuntimeError', 'Exception')} as error:")
        self.depth += 1
        self.write("LOG.append(type(error).__name__)")
        self.depth -= 1
        self.block(1, context)
        if self.chance(0.4):
            self.write("finally:")
            self.block(1, frozenset())

    def scope(self, context) -> None:
        self.write(
            f"with {self.pick('torch.no_grad()', 'torch.enable_grad()', 'scope(n) as n', 'Manager(True)', 'Manager(False)', 'torch.set_grad_enabled(n > 1)')}:"
        )
        self.block(2, context)

    def function(self, context) -> None:
        name = self.fresh("f")
        changed = self.pick("nonlocal_n", "plain", "method")
        self.write(f"def {name}(v, *rest, k={self.number()}):")
        self.depth += 1
        if changed == "nonlocal_n":
            self.write("nonlocal n")
            self.write(f"n = {self.number()}")
        if self.chance(0.3):
            self.write(self.pick("print('inside')", "compiler.graph_break()", "LOG.append('inside')"))
        self.write(f"return v * k + {self.tensor(1)}")
        self.depth -= 1
        self.write(f"{self.pick(*self.tensors)} = {name}({self.tensor(0)}{self.pick('', ', 1, 2', ', k=2')})")

    def leave(self, context) -> None:
        choices = [f"raise ValueError({self.number()})", f"return {self.tensor(1)}, results"]
        if "loop" in context:
            choices += ["break", "continue"] * 2
        self.write(f"if {self.condition()}:")
        self.depth += 1
        self.write(self.random.choice(choices))
        self.depth -= 1

    def world(self) -> str:
        return WORLD

    def source(self) -> str:
        self.write("results = []")
        for _ in range(self.random.randint(4, 8)):
            self.statement()
        self.write(f"return {self.tensor(1)}, {self.pick('x', 'items', 'n', 'y', 'results')}, results, n, {{'t': {self.tensor(0)}}}")
        opening = "@compiler.disable\ndef opaque(n):\n    LOG.append(('opaque', n))\ndef globals_():\n    global NUMBER\n    NUMBER = NUMBER % 3 + 1\n"
        return self.world() + opening + "def f(x, y, n, items, kind=Kind.ONE):\n" + "\n".join(self.lines) + "\n"


def assert_random_program_matches(
    seed: int, numbers: bool = False, writer: Writer | None = None, changes: list[str] = CHANGES, **options: object
) -> None:
    """One program, in several calls; with ``numbers``, in more of them, whose number differs so often that it becomes symbolic."""
    writer = Writer(seed) if writer is None else writer
    source = writer.source()
    choose = writer.random.choice
    grown, kind = choose(["torch.arange(3.) + 1", "torch.ones(3)"]), choose(["Kind.ONE", "Kind.TWO"])
    calls = []
    for number in range(7 if numbers else 4):
        change = "" if number in (0, 1) else choose(changes)
        first = choose([f"({grown}).requires_grad_()", f"({grown}).requires_grad_()", f"({grown}).requires_grad_()", grown])
        second = choose(["torch.ones(3)", "torch.ones(3).requires_grad_()"])
        n = choose(["0", "1", "2", "3", "5", "2.0", "0.5", "-1"] if numbers else ["1", "1", "1", "2", "2.0"])
        items = choose(["[]", "[1, torch.ones(3)]", "[torch.zeros(3)]"])
        given = f"{first}, {second}, {n}, {items}, {kind}"
        if number == 1 and calls:
            given = calls[0][1]
        calls.append((change, given))
    compare(source, calls, **options)


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(group: int) -> None:
    for seed in range(group, COUNT, GROUPS):
        assert_random_program_matches(seed, seed % 3 == 2, dynamic=True if seed % 5 == 4 else None)


@pytest.mark.parametrize("seed", FOUND)
def test_programs_that_found_mistakes(seed: int) -> None:
    run_twice(seed)


def run_twice(seed: int, **options: object) -> None:
    """A program as it is, and with numbers that become symbolic."""
    assert_random_program_matches(seed, **options)
    assert_random_program_matches(seed, True, dynamic=True if seed % 5 == 4 else None, **options)


if __name__ == "__main__":
    run_seeds(run_twice)
