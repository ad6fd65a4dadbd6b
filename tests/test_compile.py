"""compile: programs captured from their bytecode give eager's results, gradients and side effects, in as few graphs as can be."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import math
import threading
import warnings

import pytest
from models import GPT, UNet, ViT
from support.results import tensors_in

import rushlight as torch
from rushlight import compiler, nn
from rushlight.testing.compiling import CompileCounter, EagerAndRecordGraphs


class Mode(enum.Enum):
    DOUBLE = 1
    HALF = 2


@dataclasses.dataclass
class Settings:
    scale: float
    shift: torch.Tensor


Pair = collections.namedtuple("Pair", ["first", "second"])
FACTOR = 3.0
LOG: list = []


def helper(x, *, power=2):
    return x**power


class Box:
    def __init__(self, value):
        self.value = value

    @property
    def twice(self):
        return self.value * 2

    def __add__(self, other):
        return Box(self.value + other.value)

    def __call__(self, x):
        return x * self.value

    def __iter__(self):
        return iter([self.value, self.value + 1])


# -- programs that are one graph -----------------------------------------------------------------------------------


def arithmetic(x, y):
    return (x + y) * 2 - x / (y.abs() + 1)


def loops(x, y):
    total = x
    for i in range(4):
        if i == 2:
            continue
        total = total + i * y
    while i > 0:
        total = total * 0.5
        i -= 1
    return total


def containers(x, y):
    values = [x, y]
    values.append(x + y)
    more = {"b": y}
    table = {"a": values[0], **more}
    table["c"] = sum(values)
    first, *rest = values
    return {"t": (first, rest), "d": [v * 2 for v in table.values()], "s": Pair(x, table["c"])}


def closures(x, y):
    scale = FACTOR

    def inner(v, k=2):
        return v * scale + k

    return inner(x) + (lambda v: v - 1)(y) + functools.partial(helper, power=3)(x)


def objects(x, y):
    box = Box(x) + Box(y)
    one, two = box
    return box.twice + box(y) + one * two


def star_arguments(x, y):
    def inner(*args, **kwargs):
        return args[0] * kwargs["k"] + sum(args)

    pair = (x, y)
    keywords = {"k": 2}
    return inner(*pair, **keywords)


def modes(x, y):
    with torch.no_grad():
        z = x * 2
    with torch.enable_grad():
        return z + y, z.requires_grad


def exceptions(x, y):
    try:
        try:
            {}["missing"]
        finally:
            x = x + 1
    except KeyError as error:
        y = y * len(error.args)
    return x * y


def text_and_numbers(x, y):
    name = f"{'a'}-{3:03d}".upper()
    return x * len(name) + math.sqrt(16) + int("7") + max(1, 2, 3) * abs(-2), name


def matching(x, y):
    match (1, {"k": 2}):
        case (a, {"k": b}):
            return x * a + y * b
    return x


def generators(x, y):
    def produce():
        for each in (x, y):
            yield each * 2

    return sum(produce()) + functools.reduce(lambda a, b: a + b, (v for v in (x, y)))


def in_place(x, y):
    z = x.clone()
    z += y
    z[0] = 5.0
    z.mul_(2)
    return z, z.view(-1)[1:]


def shapes(x, y):
    rows = x.shape[0]
    if rows > 1 and x.ndim == 1:
        return x.reshape(rows, 1) * y.size(-1), torch.zeros(rows), x.numel()
    return x


ONE_GRAPH = [
    arithmetic, loops, containers, closures, objects, star_arguments, modes, exceptions, text_and_numbers, matching, generators, in_place,
    shapes,
]  # fmt: skip


def plain(value):
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[plain(each) for each in value]]
    return value


def assert_compiled_call_matches(function, compiled, *inputs):
    """Results, structure and gradients of a compiled call are those of eager's."""
    results = []
    for run in (function, compiled):
        copies = [each.detach().clone().requires_grad_(each.requires_grad) for each in inputs]
        out = run(*copies)
        leaves = [each for each in tensors_in(out) if each.requires_grad]
        if leaves:
            sum(each.sum() for each in leaves).backward()
        results.append(
            (
                plain(out),
                [each.detach() for each in tensors_in(out)],
                [each.grad for each in copies],
                [each.requires_grad for each in tensors_in(out)],
            )
        )
    eager, got = results
    assert got[0] == eager[0] and got[3] == eager[3]
    for a, b in zip(got[1] + got[2], eager[1] + eager[2]):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape and torch.allclose(a, b)


@pytest.mark.parametrize("function", ONE_GRAPH, ids=lambda each: each.__name__)
def test_one_graph(function):
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter, fullgraph=True)
    for _ in range(3):
        assert_compiled_call_matches(function, compiled, torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True))
    assert counter.frame_count == 1
    assert_compiled_call_matches(function, compiled, torch.randn(3), torch.randn(3))
    assert counter.frame_count == 2  # other needs for gradients: another graph


# -- what is guarded -----------------------------------------------------------------------------------------------


def count(function, *calls, **options):
    """How many graphs calls take; each must give eager's result."""
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter, **options)
    for args in calls:
        for got, want in zip(tensors_in(compiled(*args)), tensors_in(function(*args))):
            assert torch.equal(got, want)
    return counter.frame_count


def test_plain_arguments():
    x = torch.ones(2)
    assert count(lambda x, n: x * n, (x, 2), (x, 2), (x, 3), (x, 2.0), (x, 3)) == 3
    assert count(lambda x, mode: x * 2 if mode is Mode.DOUBLE else x / 2, (x, Mode.DOUBLE), (x, Mode.HALF), (x, Mode.DOUBLE)) == 2
    assert count(lambda x, y=None: x if y is None else x + y, (x,), (x, x), (x,), (x, None)) == 1  # without a graph where x is returned
    assert count(lambda x, s: x * s.scale + s.shift, (x, Settings(2.0, x + 1)), (x, Settings(2.0, x + 2)), (x, Settings(3.0, x + 1))) == 2
    assert count(lambda ts: ts[0] + ts[-1], ([x, x + 1],), ([x, x + 2],), ([x, x, x + 1],)) == 2
    assert count(lambda d: d["a"] * 2, ({"a": x},), ({"a": x + 1},), ({"a": x, "b": x},)) == 1


def test_globals_closures_and_attributes():
    x = torch.ones(2)
    scale = 2.0

    def program(x):
        return x * scale * FACTOR

    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter)
    assert compiled(x).tolist() == [6, 6]
    scale = 3.0
    assert compiled(x).tolist() == [9, 9]
    globals()["FACTOR"] = 1.0
    try:
        assert compiled(x).tolist() == [3, 3]
    finally:
        globals()["FACTOR"] = 3.0
    assert counter.frame_count == 3

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2
            self.weight = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.factor * self.weight if self.training else x

    model = Model()
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter)
    assert compiled(x).tolist() == [2, 2]
    model.factor = 5
    assert compiled(x).tolist() == [5, 5]
    model.weight = nn.Parameter(torch.full((2,), 3.0))
    assert compiled(x).tolist() == [15, 15]
    with torch.no_grad():
        model.weight.fill_(1.0)
    with torch.enable_grad():
        assert compiled(x).tolist() == [5, 5]
    model.eval()
    assert compiled(x).tolist() == [1, 1]


def test_sizes_that_change_become_symbolic():
    def program(x):
        return x.reshape(x.shape[0], -1).sum(1) * x.shape[0]

    calls = [(torch.randn(n, 2, 3),) for n in (4, 5, 6, 7, 4, 1)]
    assert count(program, *calls) == 2
    assert count(program, *calls, dynamic=False) == 5
    assert count(program, *calls[:5], dynamic=True) == 1


def test_choices_by_size_are_guarded():
    def program(x):
        return x * 2 if x.shape[0] > 5 else x + 1

    assert count(program, *[(torch.randn(n),) for n in (2, 3, 4, 8, 9, 3)]) == 3


def test_recompile_limit_warns_and_runs_on():
    compiled = torch.compile(lambda x, n: x * len(range(n)), backend="eager")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(12):
            assert compiled(torch.ones(1), n).item() == n
    assert any("n == " in str(each.message) for each in seen)


# -- breaks --------------------------------------------------------------------------------------------------------


def test_side_effects_happen_once_and_in_order():
    def program(x, log):
        y = x * 2
        log.append("first")
        print("between")
        y = y + 1
        log.append(y.shape[0])
        LOG.append("seen")
        return y

    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter)
    for turn in range(3):
        mine: list = []
        LOG.clear()
        assert torch.equal(compiled(torch.ones(2), mine), torch.full((2,), 3.0))
        assert mine == ["first", 2] and LOG == ["seen"], turn
    assert counter.frame_count == 2


def test_breaks_in_loops_with_and_try(capsys):
    def program(x):
        with torch.no_grad():
            for i in range(3):
                x = x * 2
                try:
                    print("turn", i)
                    x = x + i
                finally:
                    x = x - 1
        return x, torch.is_grad_enabled()

    compiled = torch.compile(program, backend="eager")
    for _ in range(3):
        capsys.readouterr()
        want = program(torch.ones(2))
        expected = capsys.readouterr().out
        got = compiled(torch.ones(2))
        assert capsys.readouterr().out == expected
        assert torch.equal(got[0], want[0]) and got[1] is want[1] is True
    assert torch.is_grad_enabled()


def test_choice_by_value():
    def program(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter)
    for sign in (1, -1, 1, -1):
        assert torch.equal(compiled(torch.ones(2) * sign), program(torch.ones(2) * sign))
    assert counter.frame_count == 3


def test_breaks_inside_called_functions():
    def inner(x):
        y = x + 1
        compiler.graph_break()
        return y * 2

    def program(x):
        return [inner(x) - 3, x.item()]

    compiled = torch.compile(program, backend="eager")
    for value in (1.0, 1.0, 2.0):
        x = torch.tensor(value)
        got, want = compiled(x), program(x)
        assert torch.equal(got[0], want[0]) and got[1] == want[1]


def test_fullgraph_names_the_line():
    def program(x):
        x = x + 1
        print(x)
        return x

    with pytest.raises(compiler.Unsupported, match="builtin: print") as raised:
        torch.compile(program, fullgraph=True)(torch.ones(1))
    assert "test_compile.py" in str(raised.value) and "Hint" in str(raised.value)


def test_disable_and_allow_in_graph():
    @compiler.disable
    def unseen(x):
        return x + len(LOG)

    @compiler.allow_in_graph
    def opaque(x):
        return x * 3

    counter = CompileCounter()
    compiled = torch.compile(lambda x: unseen(opaque(x) + 1) * 2, backend=counter)
    assert compiled(torch.ones(1)).item() == compiled(torch.ones(1)).item() == (4 + len(LOG)) * 2
    assert counter.frame_count == 2


def test_user_exceptions_come_through():
    def program(x):
        y = x + 1
        raise ValueError(f"bad {y.shape[0]}")

    compiled = torch.compile(program, backend="eager")
    for _ in range(2):
        with pytest.raises(ValueError, match="bad 2"):
            compiled(torch.ones(2))


# -- whole programs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, inputs",
    [(GPT, lambda: torch.randint(0, 50, (2, 7))), (ViT, lambda: torch.randn(2, 3, 16, 16)), (UNet, lambda: torch.randn(1, 3, 8, 8))],
)
def test_models_without_breaks(make, inputs):
    torch.manual_seed(0)
    model = make().eval()
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter, fullgraph=True)
    for _ in range(2):
        x = inputs()
        assert torch.allclose(compiled(x), model(x), atol=1e-6)
    assert counter.frame_count == 1


def test_training_gives_the_same_losses():
    def losses(wrap):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 1))
        run = wrap(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        x, y = torch.randn(32, 4), torch.randn(32, 1)
        found = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(run(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(torch.compile) == pytest.approx(losses(lambda model: model), rel=1e-6)


def test_readable_graph_of_a_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.sign()

    backend = EagerAndRecordGraphs()
    compiled = torch.compile(lambda x: Double.apply(x) + 1, backend=backend, fullgraph=True)
    x = torch.randn(3, requires_grad=True)
    for _ in range(2):
        x.grad = None
        compiled(x).sum().backward()
        assert torch.equal(x.grad, x.detach().sign())
    text = backend.graphs[0].print_readable(print_output=False)
    assert "autograd_function_apply(" in text and "fwd_body" in text and ".sign()" in text


def test_threads():
    compiled = torch.compile(lambda x, n: (x * n).sum(), backend="eager")
    wrong = []

    def work(n):
        for _ in range(20):
            if compiled(torch.ones(4), n).item() != 4 * n:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_bad_input():
    with pytest.raises(NotImplementedError, match="Invalid backend"):
        torch.compile(lambda x: x, backend="nothing")
    with pytest.raises(RuntimeError):
        torch.compile(3)
    with pytest.raises(TypeError, match="which can't be called"):
        torch.compile(lambda x: x + 1, backend=lambda gm, inputs: 3)(torch.ones(1))
    with pytest.raises(TypeError):
        torch.compile(lambda x: x + 1)(torch.ones(1), 2)
