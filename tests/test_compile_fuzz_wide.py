"""More programs made at random: Functions that write to their inputs, hooks on gradients, optimizers, `match`, generators that are
sent values, context managers and `finally` around breaks, writes to views, random numbers, data classes.

``python tests/test_compile_fuzz_wide.py FIRST LAST [BACKEND]`` runs more of them.
"""

from __future__ import annotations

import pytest
import test_compile_fuzz as narrow
from seeds import run_seeds

COUNT = 120
GROUPS = 6
FOUND = (30095, 30383)  # programs that have found mistakes, beyond those

WORLD = """
class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.mark_dirty(x)
        ctx.by = by
        return x.mul_(by)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.by, None

class Both(torch.autograd.Function):
    @staticmethod
    def forward(x, y, box):
        return x * y + box.y, (x > 0)
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, _ = inputs
        ctx.save_for_backward(x, y)
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.size = x.shape
    @staticmethod
    def backward(ctx, g, _):
        x, y = ctx.saved_tensors
        if g is None:
            return None, None, None
        return (g * y).reshape(ctx.size) if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[1] else None, None

class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.half = x.detach() / 2
        return Scaled.apply(x, 2) + 1
    @staticmethod
    def backward(ctx, g):
        return g * ctx.half

@dataclasses.dataclass(frozen=True)
class Frozen:
    value: object
    rate: float = 1.5
    @property
    def scaled(self): return self.value * self.rate

@dataclasses.dataclass(order=True)
class Record:
    key: int
    parts: list = dataclasses.field(default_factory=list)
    def __post_init__(self):
        self.doubled = self.key * 2
    def grown(self, value):
        return dataclasses.replace(self, key=self.key + 1, parts=[*self.parts, value])

class Quiet:
    def __init__(self, name): self.name = name
    def __enter__(self):
        LOG.append(('quiet', self.name))
        return self
    def __exit__(self, kind, error, trace):
        LOG.append(('loud', None if kind is None else kind.__name__))
        return kind is not None and issubclass(kind, ValueError)

def pulled(t):
    total = t
    try:
        while True:
            got = yield total
            if got is None:
                LOG.append('none')
                return total
            total = total + got
    finally:
        LOG.append('pulled')

def delegated(t):
    last = yield from produce(t, 2)
    LOG.append(last)
    yield t * 3

def decorated(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        LOG.append(function.__name__)
        return function(*args, **kwargs)
    return inner

@decorated
def wrapped(t, *more, k=2): return t * k + sum(more)

MOMENTUM = torch.optim.SGD([WEIGHT], lr=0.25, momentum=0.5)
OTHER = nn.Parameter(torch.tensor([0.5, -0.5, 1.0]))
ADAM = torch.optim.Adam([OTHER], lr=0.125)
SCORES = nn.Linear(3, 3)
NORM = nn.BatchNorm1d(3)
with torch.no_grad():
    SCORES.weight.copy_(torch.arange(9.).reshape(3, 3) / 8); SCORES.bias.zero_()
"""

CHANGES = [
    *narrow.CHANGES,
    "MOMENTUM.param_groups[0]['lr'] = 0.5",
    "NORM.eval()",
    "NORM.train()",
    "Record.limit = 3",
    "OTHER.requires_grad_(not OTHER.requires_grad)",
    "OTHER.grad = None",
]


class Writer(narrow.Writer):
    """Writes the source of a program, of more parts than the other."""

    def tensor(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.6):
            return super().tensor(depth)
        t = lambda: self.tensor(depth - 1)
        return self.random.choice([
            lambda: f"Dirty.apply({t()} * 1, {self.number()})", lambda: f"Both.apply({t()}, {t()}, BOX)[0]", lambda: f"Both.apply({t()}, {t()}, BOX)[1].float()", lambda: f"Nested.apply({t()})",
            lambda: f"Frozen({t()}).scaled", lambda: f"Record({self.number()}).grown({t()}).parts[0]", lambda: f"wrapped({t()}, {self.number()}, k={self.number()})",
            lambda: f"{t()} * torch.randn(3)", lambda: f"{t()} + torch.bernoulli(torch.full((3,), 0.5))", lambda: f"{t()}[torch.randperm(3)]", lambda: f"torch.empty(3).uniform_() * {t()}",
            lambda: f"F.softmax({t()}, 0)", lambda: f"SCORES({t()})", lambda: f"NORM(torch.stack([{t()}, {t()} * 2])).sum(0)", lambda: f"(lambda *a, **k: a[0] * len(a) + k['z'])({t()}, 1, z={self.number()})",
            lambda: f"torch.cat([{t()}[:1], {t()}[1:]])", lambda: f"F.layer_norm({t()}, (3,))", lambda: f"{{k: v for k, v in zip('ab', ({t()}, {t()}))}}['b']", lambda: f"max([{t()}, {t()}], key=lambda v: len(WORDS))",
            lambda: f"next(iter(delegated({t()})))", lambda: f"list(delegated({t()}))[-1]", lambda: f"(lambda w: w * w)({t()})", lambda: f"torch.linspace(0, 1, 3) * {t()}", lambda: f"{t()}.clamp(-1, {self.number()})",
            lambda: f"F.embedding(torch.tensor([{self.pick('0', '1', 'n', 'NUMBER')}, 1, 2]), SCORES.weight)[0]", lambda: f"{t()}.flip(0).cumsum(0)", lambda: f"torch.outer({t()}, {t()}).diagonal()",
        ])()  # fmt: skip

    def statement(self, context: frozenset[str] = frozenset()) -> None:
        if self.chance(0.7):
            return super().statement(context)
        simple = [self.hook, self.viewed, self.optimized, self.sent, self.drawn, self.several]
        nested = [self.matched, self.guarded, self.quiet, self.turning, self.defined]
        self.random.choice(simple if self.depth > 2 or self.chance(0.55) else nested)(context)

    def hook(self, context) -> None:
        name = self.pick(*self.tensors)
        body = self.pick(
            "LOG.append('gradient')",
            f"g * {self.number()}",
            "g.detach() * 0.5",
            "LOG.append(round(g.sum().item(), 3))",
            f"g + {self.pick('CONSTANT', name)}.detach()",
        )
        self.write(f"{name} = {name} * 1")
        self.write(f"if {name}.requires_grad: {name}.register_hook(lambda g, n=n: {body})")

    def viewed(self, context) -> None:
        name = self.pick(*self.tensors)
        self.write(f"{name} = {name}.clone()")
        self.write(self.pick(
            f"{name}[1:].mul_({self.number_but_zero()})", f"{name}.view(3, 1).add_(1)", f"part = {name}[:2]; part += {self.number()}; results.append(part)", f"{name}[{self.tensor(0)} > 0] = 0.5",
            f"{name}.view(1, 3)[0, 1] = {self.number()}", f"row = {name}.unsqueeze(0).expand(2, 3); {name}.add_(1); results.append(row)", f"{name}[torch.tensor([0, 2])] = {self.tensor(0)}.detach()[:2]",
            f"first, *rest = {name}.unbind(0); results.append(first * 2)", f"{name}.data.mul_(2)", f"{name}.fill_(n)", f"{name}.copy_({self.tensor(0)})", f"{name}.clamp_(max={self.number()})",
            f"{name}[3 if n else 1:].zero_()", f"{name}[n] = 1.0",
        ))  # fmt: skip

    def optimized(self, context) -> None:
        name, weight = self.pick(("MOMENTUM", "WEIGHT"), ("ADAM", "OTHER"))
        self.write(self.pick(
            f"{name}.zero_grad(); ({weight} * {self.tensor(0)}.detach()).sum().backward() if {weight}.requires_grad else None; {name}.step()", f"{name}.zero_grad(set_to_none=False)", f"{name}.step()",
            f"with torch.no_grad(): {weight}.sub_({self.number()})", f"results.append(torch.autograd.grad(({weight} * x).sum(), {weight})[0]) if {weight}.requires_grad else None",
        ))  # fmt: skip

    def sent(self, context) -> None:
        name = self.fresh("g")
        self.write(f"{name} = pulled({self.tensor(0)})")
        self.write(f"{self.pick(*self.tensors)} = next({name}) + {name}.send({self.tensor(0)})")
        self.write(self.pick(f"{name}.close()", f"{name} = None", f"del {name}"))

    def drawn(self, context) -> None:
        self.write(self.pick(
            f"{self.pick(*self.tensors)} = torch.rand(3) * {self.number()}", "LOG.append(torch.randint(5, (2,)).tolist())", "torch.manual_seed(NUMBER)", "n = int(torch.randint(3, ()).item())",
            f"{self.pick(*self.tensors)} = torch.normal(torch.zeros(3), 1.0)", "LOG.append(torch.multinomial(torch.tensor([0.2, 0.8]), 1).tolist())",
        ))  # fmt: skip

    def several(self, context) -> None:
        self.write(self.pick(
            f"a, (b, *c) = {self.number()}, (n, 1, 2); n = len(c)", "LOG.append([i for i in range(4) if i % 2 or i == n])", "LOG.append({k: v for k, v in TABLE.items() if k != 'q'})", "items[len(items):] = [n]",
            f"LOG.append(sorted([Record(n), Record({self.number(0)})])[0].key)", "LOG.append(dataclasses.asdict(Record(1, [n])))", "LOG.append('%s-%d' % ('a', 3)); LOG.append('{0}:{k}'.format(n, k=1))", "n += 1", "n = -n", "LOG.append((m := n) + m)",
            "LOG.append(any(i == n for i in range(3))); LOG.append(all(items) if not any(isinstance(i, torch.Tensor) for i in items) else 0)", "LOG.append(list(map(str, [n, 2])))", "LOG.append(divmod(7, 2)); n = abs(n)",
            "LOG.append(list(itertools.chain([n], itertools.islice(itertools.count(), 2))))", "GROUPED.setdefault(n, []).append(2)", "LOG.append(min(n, 2)); LOG.append(max([1, n]))", "assert n is not None, 'never'",
        ))  # fmt: skip

    # Statements that hold others.

    def matched(self, context) -> None:
        self.write(f"match {self.pick('n', 'items', 'BOX', 'TABLE', '(n, kind)', 'Frozen(n)', 'kind')}:")
        self.depth += 1
        for pattern in self.random.sample(
            [
                "0 | 1",
                "int() if n > 1",
                "[first, *_]",
                "[]",
                "Point(y=n)",
                "{'k': n}",
                "(2, Kind.ONE)",
                "(_, Kind.TWO as kind)",
                "Frozen(value=n, rate=1.5)",
                "Kind.ONE",
                "float(n)",
            ],
            3,
        ):
            self.write(f"case {pattern}:")
            self.block(1, context)
        self.write("case _:")
        self.block(1, context)
        self.depth -= 1

    def guarded(self, context) -> None:
        self.write("try:")
        self.block(2, context)
        self.depth += 1
        self.write(
            self.pick(
                "print('in a try')",
                "compiler.graph_break()",
                "x = F.embedding(torch.tensor([n + 1]), SCORES.weight)[0]",
                "x = x[torch.tensor([n])]. expand(3)",
                "raise KeyError(n)",
                "LOG.append(round(y.sum().item(), 2))",
                "pass",
            )
        )
        self.depth -= 1
        if self.chance(0.6):
            self.write(f"except {self.pick('KeyError', 'IndexError', '(IndexError, KeyError)', 'Exception')}:")
            self.depth += 1
            self.write(self.pick("LOG.append('handled')", "compiler.graph_break()", "raise ValueError('again') from None", "pass"))
            self.depth -= 1
            self.write("else:")
            self.block(1, context)
        self.write("finally:")
        self.depth += 1
        self.write(self.pick("print('finally')", "compiler.graph_break()", "LOG.append('finally')", f"CONSTANT.add_({self.number()})"))
        self.depth -= 1

    def quiet(self, context) -> None:
        form = self.pick(
            "Quiet(n)",
            "Quiet(n) as q, torch.no_grad()",
            "contextlib.suppress(KeyError, ZeroDivisionError)",
            "torch.autocast('cpu', enabled=False)",
            "scope(1), Manager(False)",
            "contextlib.nullcontext(n) as n",
        )
        self.write(f"with {form}:")
        self.block(2, context)
        self.depth += 1
        self.write(
            self.pick(
                "compiler.graph_break()",
                "print('within')",
                "raise ValueError(n)",
                "{}['none']" if "suppress" in form or "Quiet" not in form else "pass",
                "pass",
                "pass",
            )
        )
        self.depth -= 1

    def turning(self, context) -> None:
        name = self.fresh("turn")
        self.write(f"{name} = 0")
        self.write(f"while {name} < {self.random.randint(1, 3)}:")
        self.depth += 1
        self.write(f"{name} += 1")
        self.depth -= 1
        self.block(2, context | {"loop"})
        if self.chance(0.4):
            self.write("else:")
            self.block(1, context)

    def defined(self, context) -> None:
        name = self.fresh("made")
        self.write(f"def {name}(v):")
        self.depth += 1
        self.write(
            self.pick(
                "yield v; yield v * 2",
                f"try: yield v + {self.number()}\n{'    ' * (self.depth + 1)}finally: LOG.append('left')",
                "yield from produce(v, 2)",
                "for i in range(3): yield v - i",
            )
        )
        self.depth -= 1
        target = self.pick(*self.tensors)
        self.write(
            self.pick(
                f"{target} = sum({name}({self.tensor(0)}))",
                f"for {target} in {name}({self.tensor(0)}): break",
                f"{target} = [*{name}({self.tensor(0)})][-1]",
                f"{target} = next({name}({self.tensor(0)}))",
            )
        )

    def world(self) -> str:
        return super().world() + WORLD


def assert_random_program_matches(seed: int, **options: object) -> None:
    """One program, in several calls."""
    numbers = seed % 2 == 1
    narrow.assert_random_program_matches(
        seed, numbers, writer=Writer(seed), changes=CHANGES, dynamic=True if seed % 10 == 9 else None, **options
    )


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(group: int) -> None:
    for seed in range(group, COUNT, GROUPS):
        assert_random_program_matches(seed)


@pytest.mark.parametrize("seed", FOUND)
def test_programs_that_found_mistakes(seed: int) -> None:
    assert_random_program_matches(seed)


if __name__ == "__main__":
    run_seeds(assert_random_program_matches)
