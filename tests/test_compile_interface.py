"""compile: its decorators and names, marks on sizes, explanations, and that nothing is kept alive."""

from __future__ import annotations

import collections
import copy
import functools
import gc
import html.parser
import itertools
import operator
import pickle
import threading
import warnings
import weakref

import pytest

import rushlight as torch
from rushlight import compiler, nn
from rushlight.capture.compile.record.graph_breaks import FailOnRecompileLimitHit
from rushlight.testing.compiling import CompileCounter


class Doubling(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 2.0))

    def forward(self, x, *, k=1):
        return x * self.weight * k


# -- where compile may stand -----------------------------------------------------------------------------------------


def test_methods():
    counter = CompileCounter()

    class Model:
        scale = 3

        @torch.compile(backend=counter)
        def method(self, x):
            return x * self.scale

        @staticmethod
        @torch.compile(backend=counter)
        def static(x):
            return x + 1

        @classmethod
        @torch.compile(backend=counter)
        def of_class(cls, x):
            return x * cls.scale

        @torch.compile(backend=counter)
        @staticmethod
        def static_first(x):
            return x - 1

    model, x = Model(), torch.ones(2)
    for _ in range(2):
        assert model.method(x).tolist() == [3, 3] and Model.static(x).tolist() == model.static(x).tolist() == [2, 2]
        assert Model.of_class(x).tolist() == [3, 3] and model.static_first(x).tolist() == [0, 0]
    assert counter.frame_count == 4
    bound = torch.compile(model.method.func.__wrapped__.__get__(model), backend=counter)
    assert bound(x).tolist() == [3, 3]
    assert torch.compile(Model().method, backend=counter)(x).tolist() == [3, 3]  # an object that can be called


def test_module_compile():
    counter = CompileCounter()
    model = Doubling()
    model.register_forward_hook(lambda module, args, result: result + 1)
    model.compile(backend=counter)
    x = torch.ones(2)
    assert model(x).tolist() == model(x).tolist() == [3, 3] and model(x, k=2).tolist() == [5, 5]
    assert counter.frame_count == 2 and list(model.state_dict()) == ["weight"]
    copied = copy.deepcopy(model)
    copied.weight.data.fill_(5.0)
    assert copied(x).tolist() == [6, 6] and model(x).tolist() == [3, 3]
    loaded = pickle.loads(pickle.dumps(Doubling().eval()))
    loaded.compile(backend=counter)
    assert pickle.loads(pickle.dumps(loaded))(x).tolist() == [2, 2]


def test_optimized_module_is_the_module():
    model = Doubling()
    compiled = torch.compile(model, backend="eager")
    compiled.extra = 3
    assert model.extra == 3 and compiled.weight is model.weight and isinstance(compiled, nn.Module)
    assert list(compiled.state_dict()) == ["_orig_mod.weight"] and compiled.eval().training is False and model.training is False
    del compiled.extra
    assert not hasattr(model, "extra")
    assert torch.compile(compiled, backend="eager")._orig_mod is model
    sequence = torch.compile(nn.Sequential(nn.ReLU(), Doubling()), backend="eager")
    assert len(sequence) == 2 and isinstance(sequence[0], nn.ReLU) and len(list(sequence)) == 2


def test_names():
    calls = []

    @compiler.disable
    def inner(x):
        calls.append(compiler.is_compiling())
        return nested(x)

    counter = CompileCounter()
    nested = torch.compile(lambda x: x * 2, backend=counter)
    program = torch.compile(lambda x: inner(x + 1) - 1, backend="eager")
    assert program(torch.ones(1)).item() == 3 and calls == [False] and counter.frame_count == 0
    assert inner(torch.ones(1)).item() == 2
    assert torch.compile(lambda x: (x, compiler.is_compiling()), backend="eager")(torch.ones(1))[1] is True
    assert compiler.is_compiling() is False and "eager" in compiler.list_backends()
    marked = torch.compile(lambda x: (compiler.cudagraph_mark_step_begin(), x + 1)[1], backend="eager", fullgraph=True)
    assert marked(torch.ones(1)).item() == 2
    with compiler.set_stance("default"):
        pass
    constant = [5]
    fixed = compiler.assume_constant_result(lambda: constant[0])
    compiled = torch.compile(lambda x: x * fixed(), backend="eager")
    assert compiled(torch.ones(1)).item() == 5
    constant[0] = 6
    assert compiled(torch.ones(1)).item() == 5


def test_reset():
    counter = CompileCounter()

    def program(x):
        return x + 1

    compiled, other = torch.compile(program, backend=counter), torch.compile(lambda x: x * 2, backend=counter)
    x = torch.ones(1)
    compiled(x), other(x)
    compiler.reset_code(program.__code__)
    compiled(x), other(x)
    assert counter.frame_count == 3
    compiler.reset()
    compiled(x), other(x)
    assert counter.frame_count == 5


# -- sizes -----------------------------------------------------------------------------------------------------------


def graphs(function, tensors, **options):
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter, **options)
    for x in tensors:
        assert torch.equal(compiled(x), function(x))
    return counter.frame_count


def marked(size, how, index=0):
    x = torch.randn(size, 3)
    how(x, index)
    return x


def test_marks_on_sizes():
    def program(x):
        return (x * x.shape[0]).sum(0)

    sizes = (4, 5, 6, 1)
    assert graphs(program, [torch.randn(n, 3) for n in sizes]) == 2
    assert graphs(program, [marked(n, compiler.mark_dynamic) for n in sizes]) == 1
    assert graphs(program, [marked(n, compiler.maybe_mark_dynamic) for n in sizes]) == 1
    assert graphs(program, [marked(n, compiler.mark_static) for n in sizes]) == 4
    assert graphs(program, [marked(n, compiler.mark_static) for n in sizes], dynamic=True) == 4

    def fixing(x):
        return x * len(range(x.shape[0]))

    assert graphs(fixing, [marked(n, compiler.maybe_mark_dynamic) for n in (4, 5)]) == 2
    with pytest.raises(compiler.ConstraintViolation, match="size 0 of `x` is marked dynamic"):
        torch.compile(fixing, backend="eager")(marked(4, compiler.mark_dynamic))
    with pytest.raises(compiler.ConstraintViolation, match="size 0 of `x` is marked dynamic"):
        torch.compile(lambda x: x * 2 if x.shape[0] == 4 else x, backend="eager")(marked(4, compiler.mark_dynamic))
    assert graphs(lambda x: x * 2 if x.shape[0] > 3 else x, [marked(n, compiler.mark_dynamic) for n in (4, 5, 6)]) == 1
    with pytest.raises(IndexError):
        compiler.mark_dynamic(torch.ones(2), 3)


@pytest.mark.parametrize("function", [
    lambda x: x * sum(range(x.shape[0])), lambda x: torch.stack([row * i for i, row in enumerate(x)]), lambda x: x * max(x.shape[0], 5),
    lambda x: x * [1, 2, 3, 4, 5, 6, 7][x.shape[0]], lambda x: x * (2 if x.shape[0] in (3, 5) else 1), lambda x: x * len(f"{x.shape[0] * 3}"),
    lambda x: torch.tensor([x.shape[0], x.numel()]) * x.sum(), lambda x: x * (1 if x.shape[0] % 2 else 3), lambda x: x.reshape(-1)[: x.shape[0] // 2],
    lambda x: x * (x.shape[0] / 2), lambda x: x * int(x.shape[0] / 2), lambda x: x * len(x), lambda x: x * (5 if len(x) > 4 else 7),
    lambda x: x * {2: 3}.get(x.shape[0], 4), lambda x: torch.cat(x.chunk(2)), lambda x: torch.cat(list(x.unbind(0))), lambda x: x * bool(x.shape[0] - 3),
    lambda x: x * x.size(0) * x.stride(0), lambda x: x[torch.arange(x.shape[0]).flip(0)], lambda x: x[x > 0].shape[0] * x, lambda x: x[: x[x > 0].shape[0]],
    lambda x: x * (x.shape[0] & 1), lambda x: x * (x.shape[0] >> 1), lambda x: x * (0.5 * x.shape[0]), lambda x: x * 2 ** x.shape[0], lambda x: x * x.shape[0] ** 10,
    lambda x: x * ~x.shape[0], lambda x: x * (x.shape[0] / 2 % 2), lambda x: x * (x.shape[0] / 2 // 2), lambda x: x * (2 if type(x.shape[0]) is int else 3),
    lambda x: x * x.shape[0].bit_length(), lambda x: x * (10.0 - x.shape[0]), lambda x: x * (x.shape[0] ** -1), lambda x: x * (1 if x.shape[0] / 2 > 1.6 else 2),
    lambda x: x * 2 if x.shape == (3, 2) else x, lambda x: x * 2 if tuple(x.shape) != (3, 2) else x, lambda x: x * 2 if [x.shape[0], 1] == [4, 1] else x,
    lambda x: x * [x.shape[0], 4].count(4), lambda x: x * [7, x.shape[0], 4].index(4), lambda x: x * len({x.shape[0]: 1, 4: 2}), lambda x: x * len({x.shape[0], 4}),
    lambda x: x * 2 if (x.shape[0], 1) < (4, 0) else x, lambda x: x * len({k: k for k in (x.shape[0], 4)}), lambda x: x * 2 if x.shape in [(3, 2)] else x,
    lambda x: x * sorted([x.shape[0], 4])[0], lambda x: x * max(s for s in x.shape), lambda x: x * 2 if ((x.shape[0],), 1) == ((4,), 1) else x,
    lambda x: x * 2 if {"a": x.shape[0]} == {"a": 4} else x, lambda x: x * len(set(x.shape)), lambda x: x * 2 if x.shape[:1] == (4,) else x,
    lambda x: x.reshape((*x.shape[:1], 2) + (1,)), lambda x: x * len([1, 2, 3, 4, 5, 6, 7, 8][: x.shape[0]]),
    lambda x: x * len(list(itertools.groupby([x.shape[0], 4]))), lambda x: x * len(dict(list(zip((x.shape[0], 4), (1, 2))))), lambda x: x * len(dict(zip(x.shape, [1, 2]))),
    lambda x: x * len(collections.deque([1, 2, 3, 4, 5, 6], maxlen=x.shape[0])), lambda x: x * functools.reduce(operator.mul, x.shape),
])  # fmt: skip
def test_sizes_used_as_numbers(function):
    torch.manual_seed(0)
    for dynamic in (None, True):
        compiled = torch.compile(function, backend="eager", dynamic=dynamic)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for n in (3, 4, 5, 2, 6, 3, 1):
                x = torch.randn(n, 2)
                assert torch.equal(compiled(x), function(x)), n


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_nothing_is_kept_alive():
    def make():
        model, x = Doubling(), torch.ones(2)
        compiled = torch.compile(lambda m, x, f: f(m(x)) * 2, backend="eager")
        closure = torch.ones(2)
        function = lambda v: v + closure
        assert compiled(model, x, function).tolist() == compiled(model, x, function).tolist() == [6, 6]
        return compiled, [weakref.ref(each) for each in (model, x, function, closure, model.weight)]

    compiled, references = make()
    gc.collect()
    assert [each() for each in references] == [None] * 5
    mine = weakref.ref(compiled)
    inside = weakref.ref(compiled._compiled)
    del compiled
    gc.collect()
    assert mine() is None and inside() is None


def test_segments_of_dead_objects_go():
    compiled = torch.compile(lambda m, x: m(x), backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            assert compiled(Doubling(), torch.ones(2)).tolist() == [2, 2]
    assert len(compiled._compiled.cache.entries[None]) <= 2


def test_the_limit_names_the_guard():
    compiled = torch.compile(lambda x, name: x * len(name), backend="eager")
    with pytest.warns(UserWarning, match=r"compiled 8 times .* the limit.*name == 'aaaaaaa"):
        for n in range(10):
            assert compiled(torch.ones(1), "a" * n).item() == n
    compiled = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    compiled(torch.ones(640, 2))
    compiled(torch.ones(8, 2))
    assert compiled._compiled.failures == ["argument `x`: size 0 was 640, now 8; mark it dynamic or let it generalise"]


def test_threads_capture_at_once():
    compiled = torch.compile(lambda x, n: (x * n).relu().sum(), backend="eager")
    wrong = []

    def work(n):
        for turn in range(10):
            if compiled(torch.ones(2 + turn % 3), n).item() != n * (2 + turn % 3):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_generators_outlive_the_capture():
    def program(x, n):
        for i in range(n):
            print(end="")
            yield x * i

    def outer(x, n):
        return program(x, n), map(lambda v: v + 1, [x, x * 2]), (v * n for v in [x])  # noqa: C417

    compiled = torch.compile(outer, backend="eager")
    for _ in range(3):
        x = torch.ones(2)
        got, want = compiled(x, 3), outer(x, 3)
        for a, b in zip(got, want):
            assert [each.tolist() for each in a] == [each.tolist() for each in b]


# -- explanations ----------------------------------------------------------------------------------------------------


def example(x, y):
    z = (x + y) * 2
    print("<between>")
    if z.sum() > 0:
        z = z - 1
    return z


class Checker(html.parser.HTMLParser):
    """Sees that tags are closed in order, and collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        assert not {"src", "href"} & {name for name, _ in attributes}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_explain(tmp_path, capsys):
    found = compiler.explain(example)(torch.ones(2), torch.ones(2))
    assert found.result.tolist() == [3, 3]
    assert (found.graph_count, found.graph_break_count, found.op_count) == (3, 2, 5)
    text = str(found)
    for part in (
        "builtin: print",
        "[truth]",
        "test_compile_interface.py",
        "hint: ",
        "def check(",
        "type, device, dtype, requires_grad",
        "Segment 3",
        "def segment(",
    ):
        assert part in text, part
    assert [each.kind for each in found.break_reasons] == ["builtin", "truth"] and len(found.graphs) == 3
    found.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf8")
    checker = Checker()
    checker.feed(page)
    assert not checker.open and "builtin: print" in "".join(checker.text) and "prefers-color-scheme: dark" in page and "http" not in page


def test_explain_of_what_is_compiled():
    compiled = torch.compile(lambda x, n: x * n, backend="eager")
    compiled(torch.ones(1), 1)
    found = compiler.explain(compiled)(torch.ones(1), 2)
    assert found.graph_count == 2 and found.recompilations == ["this no longer holds: n == 1"]
    module = compiler.explain(Doubling())(torch.ones(2))
    assert module.graph_count == 1 and any("weight" in each for each in module.out_guards)


@pytest.mark.filterwarnings("ignore:onnxrt")
def test_explanations_say_what_back_ends_make_of_graphs() -> None:
    pytest.importorskip("onnxruntime")
    compiled = torch.compile(lambda x: torch.linalg.svdvals(x * 2).sum() + x.sin(), backend="onnxrt")
    for _ in range(2):
        compiled(torch.rand(2, 3, requires_grad=True)).sum().backward()
    text = str(compiler.explain(compiled)(torch.rand(2, 3, requires_grad=True)))
    assert "forward graph for inputs of kind 0:" in text and "backward graph for inputs of kind 0:" in text
    assert "a session of " in text and "svdvals runs outside of ONNX Runtime: " in text
    compiled = torch.compile(lambda x: x[x > 0] * 2, backend="aot_eager")
    compiled(torch.rand(3, requires_grad=True))
    assert "runs op by op, since it can't be differentiated ahead of time: " in str(
        compiler.explain(compiled)(torch.rand(3, requires_grad=True))
    )


def test_settings() -> None:
    from rushlight.compat.dynamo import config

    def frames(numbers, **options) -> int:
        counter = CompileCounter()
        compiled = torch.compile(lambda x, n: x * n, backend=counter, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in numbers:
                assert compiled(torch.ones(2), number).tolist() == [number] * 2
        return counter.frame_count

    assert config.recompile_limit == config.cache_size_limit == 8
    with config.patch(automatic_dynamic_shapes=False):
        assert frames(range(2, 20)) == 8
        with config.patch({"cache_size_limit": 3}):
            assert frames(range(2, 20)) == 3 and config.recompile_limit == 3
        with (
            config.patch("fail_on_recompile_limit_hit", True),
            pytest.raises(RuntimeError, match="compiled 8 times for different values, the limit. The last reason"),
        ):
            frames(range(2, 20))
        assert frames(range(2, 20), recompile_limit=4) == 4
        with pytest.raises(FailOnRecompileLimitHit, match="compiled 8 times"):
            frames(range(2, 20), fullgraph=True)  # it must not run eagerly
    assert frames(range(2, 20)) == 2
    with config.patch(assume_static_by_default=False):
        assert frames(range(2, 20)) == 1
    with config.patch(error_on_recompile=True), pytest.raises(RuntimeError, match="a second graph is needed"):
        frames((2, 3))
    with pytest.raises(AttributeError, match="no setting 'nothing'"):
        config.nothing = 1
    with pytest.raises(TypeError, match="recompile_limit is a int, and not a str"):
        config.recompile_limit = "8"
