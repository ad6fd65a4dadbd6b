"""jit.trace: what a program does to tensors, as a graph that runs, trains and is saved."""

from __future__ import annotations

import copy
import io
import pathlib
import pickle
import warnings
from collections import namedtuple

import numpy as np
import pytest

import rushlight as torch
from rushlight import jit, nn
from rushlight.core.errors import CaptureError
from rushlight.graph import verify
from rushlight.nn import functional as F

Pair = namedtuple("Pair", ["first", "second"])


def same(got, want):
    assert got.shape == want.shape
    assert torch.allclose(got, want, equal_nan=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.norm = nn.LayerNorm(4)
        self.unused = nn.Linear(2, 2)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        batch = x.size(0)
        y = self.norm(self.layers(x)).view(batch, 2, -1)
        return (y * self.scale).reshape(batch, -1)


def test_module_keeps_its_parameters_and_works_at_other_sizes():
    model = Net()
    traced = jit.trace(model, torch.randn(3, 4))
    verify(traced.graph)
    assert list(traced.state_dict()) == list(model.state_dict())
    assert dict(traced.named_parameters())["layers.0.weight"] is model.layers[0].weight
    for batch in (1, 3, 7):
        x = torch.randn(batch, 4)
        same(traced(x), model(x))


def test_gradients_equal_eager():
    model = Net()
    traced = jit.trace(model, torch.randn(3, 4))
    x = torch.randn(5, 4, requires_grad=True)
    model(x).square().sum().backward()
    expected = [x.grad.clone(), *[p.grad.clone() for p in model.parameters() if p.grad is not None]]
    model.zero_grad()
    x.grad = None
    traced(x).square().sum().backward()
    found = [x.grad, *[p.grad for p in model.parameters() if p.grad is not None]]
    for got, want in zip(found, expected):
        same(got, want)


def test_training_a_traced_module():
    torch.manual_seed(0)
    model = Net()
    traced = jit.trace(model, torch.randn(3, 4))
    optimizer = torch.optim.SGD(traced.parameters(), lr=0.05)
    x, target = torch.randn(16, 4), torch.randn(16, 4)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.mse_loss(traced(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_nested_inputs_and_outputs():
    def program(pair, table):
        return {"sum": pair.first + pair.second, "list": [table["k"] * 2, (table["k"],)]}, Pair(pair.first, table["k"])

    args = (Pair(torch.ones(2), torch.ones(2)), {"k": torch.ones(3)})
    traced = jit.trace(program, args)
    other = (Pair(torch.randn(4), torch.randn(4)), {"k": torch.randn(5)})
    got, want = traced(*other), program(*other)
    same(got[0]["sum"], want[0]["sum"])
    same(got[0]["list"][0], want[0]["list"][0])
    same(got[0]["list"][1][0], want[0]["list"][1][0])
    assert isinstance(got[1], tuple)
    same(got[1][1], want[1][1])


@pytest.mark.parametrize("functional", [False, True])
def test_writes_keep_their_meaning(functional):
    from rushlight.capture.graph_module import GraphModule
    from rushlight.capture.trace.capture import capture

    def program(x):
        y = x.clone()
        view = y[:, 1:3]
        view.mul_(10)
        y[0] = -1.0
        y.t()[2] += view.sum()
        flat = y.view(-1)
        flat[3] = 7
        z = torch.zeros(3)
        z[1] = y[1, 1]
        part, rest = y.split([1, 3], dim=1)
        part.fill_(5)
        y[y > 6] = 0.5
        return y, view, flat, z, rest

    x = torch.arange(12.0).view(3, 4)
    captured = capture(program, (x,), functional=functional)
    module = GraphModule(captured.constants, captured.graph)
    verify(captured.graph)
    other = torch.randn(3, 4)
    for got, want in zip(module(other), program(other)):
        same(got, want)
    written = [node for node in captured.graph.nodes if node.table_op is not None and node.table_op.functional is not None]
    assert bool(written) is not functional


def test_views_and_writes_train():
    def program(x, w):
        y = x * w
        y[:, 0] = w
        y.add_(x)
        return y.sum(1)

    x, w = torch.randn(3, 3), torch.randn(3, requires_grad=True)
    traced = jit.trace(program, (x, w))
    program(x, w).square().sum().backward()
    expected, w.grad = w.grad.clone(), None
    traced(x, w).square().sum().backward()
    same(w.grad, expected)


def test_sizes_are_computed_at_run_time():
    def program(x):
        rows, columns = x.shape
        mask = torch.arange(columns) < columns // 2
        return torch.where(mask, x, torch.zeros(rows, columns)) / rows**0.5 + x.numel(), x[: rows - 1, -1]

    traced = jit.trace(program, torch.randn(4, 6))
    for shape in ((4, 6), (2, 5), (9, 3)):
        x = torch.randn(*shape)
        for got, want in zip(traced(x), program(x)):
            same(got, want)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 30 * x**2  # not the true gradient: shows whose backward runs


def test_custom_function_is_one_node_with_its_own_gradient():
    traced = jit.trace(lambda x: Cube.apply(x) + 1, torch.randn(3))
    assert [node.meta["function"] for node in traced.graph.nodes if "function" in node.meta] == [Cube]
    x = torch.tensor([2.0], requires_grad=True)
    traced(x).sum().backward()
    assert x.grad.item() == 120
    with pytest.raises(CaptureError, match="Could not export Python function call 'Cube'"):
        jit.save(traced, io.BytesIO())


def test_choices_by_value_warn_with_the_users_line():
    def program(x):
        if x.sum() > 0:
            return x * 2
        return x

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        traced = jit.trace(program, torch.ones(3), check_trace=False)
    (warning,) = [each for each in seen if issubclass(each.category, jit.TracerWarning)]
    assert warning.filename == __file__
    assert pathlib.Path(__file__).read_text().splitlines()[warning.lineno - 1].strip() == "if x.sum() > 0:"
    same(traced(-torch.ones(3)), -2 * torch.ones(3))


@pytest.mark.parametrize("how", [int, float, bool, lambda t: t.item(), lambda t: t.tolist(), lambda t: t.numpy()])
def test_values_that_become_python_values_warn(how):
    with pytest.warns(jit.TracerWarning):
        jit.trace(lambda x: x + float(np.asarray(how(x.sum()))), torch.ones(1), check_trace=False)


def test_len_and_int_of_a_size_warn():
    with pytest.warns(jit.TracerWarning):
        jit.trace(lambda x: x * len(x), torch.ones(3), check_trace=False)
    with pytest.warns(jit.TracerWarning):
        jit.trace(lambda x: x * int(x.size(0)), torch.ones(3), check_trace=False)


def test_constants_do_not_warn():
    limit = torch.tensor(2.0)

    def program(x):
        return x * (2 if limit > 1 else 3)

    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.TracerWarning)
        same(jit.trace(program, torch.ones(3))(torch.ones(2)), torch.full((2,), 2.0))


def test_check_trace_finds_programs_that_change():
    calls = []

    def program(x):
        calls.append(1)
        return x + 1 if len(calls) % 2 else x * 2

    with pytest.raises(jit.TracingCheckError, match="Graphs differed across invocations"):
        jit.trace(program, torch.ones(2))


def test_check_trace_warns_of_random_results():
    with pytest.warns(jit.TracerWarning, match="does not match"):
        jit.trace(lambda x: x + torch.rand(3), torch.ones(3))


def test_saved_and_loaded(tmp_path):
    model = Net().eval()
    model.layers[0].bias.requires_grad_(False)
    traced = jit.trace(model, torch.randn(3, 4))
    path = tmp_path / "net.pt"
    traced.save(path)
    loaded = jit.load(path)
    x = torch.randn(6, 4)
    same(loaded(x), model(x))
    assert loaded.code == traced.code
    assert list(loaded.state_dict()) == list(model.state_dict())
    assert [p.requires_grad for p in loaded.parameters()] == [p.requires_grad for p in model.parameters()]
    assert not loaded.training
    again = io.BytesIO()
    jit.save(loaded, again)
    again.seek(0)
    same(jit.load(again)(x), model(x))


def test_saved_function_and_extra_files():
    traced = jit.trace(lambda x, y: torch.cat([x, y[:, :1]], dim=1).to(torch.float64), (torch.ones(2, 3), torch.ones(2, 2)))
    buffer = io.BytesIO()
    jit.save(traced, buffer, _extra_files={"note.txt": "hello"})
    buffer.seek(0)
    extra = {"note.txt": ""}
    loaded = jit.load(buffer, _extra_files=extra)
    assert extra["note.txt"] == b"hello"
    x, y = torch.randn(4, 3), torch.randn(4, 2)
    same(loaded(x, y), traced(x, y))


def test_hostile_file_calls_nothing(tmp_path):
    import json

    from rushlight.capture.graph_data import from_data, to_data

    rows = to_data(jit.trace(lambda x: x + 1, torch.ones(2)).graph)
    for target in ("number:system", "os:system", "op:no_such_op"):
        broken = json.loads(json.dumps(rows))
        next(row for row in broken if row["op"] == "call_function")["target"] = target
        with pytest.raises((CaptureError, NotImplementedError)):
            from_data(broken)
    path = tmp_path / "weights.pt"
    torch.save({"a": torch.ones(1)}, path)
    with pytest.raises(CaptureError, match="no traced module"):
        jit.load(path)


def test_round_trip_print_exec_trace():
    from rushlight.capture.graph_module import GraphModule

    model = Net()
    traced = jit.trace(model, torch.randn(3, 4))
    module = GraphModule(model, copy.deepcopy(traced.graph))
    again = jit.trace(module, torch.randn(3, 4))
    assert again.code == traced.code

    code = traced.graph.python_code("self")
    namespace = dict(code.globals)
    exec(code.src, namespace)

    class Printed(Net):
        forward = namespace["forward"]

    printed = Printed()
    printed.load_state_dict(model.state_dict())
    assert jit.trace(printed, torch.randn(3, 4)).code == traced.code


def test_source_and_module_of_every_node():
    traced = jit.trace(Net(), torch.randn(3, 4))
    linear = [node for node in traced.graph.nodes if node.name.startswith("linear")]
    assert [node.meta["module"] for node in linear] == ["layers.0", "layers.2"]
    for node in traced.graph.nodes:
        if node.op == "call_function":
            assert node.meta["source"][0] == __file__ and node.meta["source"][2] == "forward"
    text = traced.print_readable(print_output=False)
    assert "module layers.2" in text and "f32[" in text


def test_copies_and_pickles():
    traced = jit.trace(Net(), torch.randn(3, 4))
    x = torch.randn(2, 4)
    same(copy.deepcopy(traced)(x), traced(x))
    same(pickle.loads(pickle.dumps(traced))(x), traced(x))


def test_fork_and_wait():
    def program(x):
        future = jit.fork(lambda a: (a.neg(), a * 2), x)
        return jit.wait(future)[1] + x

    traced = jit.trace(program, torch.ones(2))
    same(traced(torch.full((3,), 2.0)), torch.full((3,), 6.0))


def test_bad_inputs():
    with pytest.raises(RuntimeError, match="cannot be traced"):
        jit.trace(lambda x, n: x * n, (torch.ones(2), 3))
    with pytest.raises(CaptureError, match="do not fit"):
        jit.trace(lambda x: x, (torch.ones(2), torch.ones(2)))
    with pytest.raises(CaptureError, match="returns NoneType"):
        jit.trace(lambda x: None, torch.ones(2))
    with pytest.raises(jit.CaptureError):
        jit.trace(3, torch.ones(2))
    with pytest.raises(TypeError, match="trace it first"):
        jit.save(nn.Linear(1, 1), io.BytesIO())


def test_recurrent_and_normalised_models():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 6)
            self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
            self.norm = nn.BatchNorm1d(10)
            self.out = nn.Linear(10, 3)

        def forward(self, tokens):
            hidden, _ = self.rnn(self.embed(tokens))
            return self.out(self.norm(hidden.transpose(1, 2)).transpose(1, 2)).log_softmax(-1)

    model = Tagger().eval()
    traced = jit.trace(model, torch.randint(0, 10, (2, 7)))
    tokens = torch.randint(0, 10, (4, 3))
    same(traced(tokens), model(tokens))


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.register_buffer("factor", torch.ones(1) * 2)

    def forward(self, x):
        return self.linear(x)

    def scaled(self, x):
        return self.linear(x) * self.factor

    def joined(self, first, second):
        return torch.cat([first, second]) + 1


def test_trace_module_traces_methods(tmp_path):
    module, x, y = Several(), torch.randn(4, 2), torch.randn(2, 2)
    traced = jit.trace_module(module, {"forward": x, "scaled": y, "joined": (x, y)})
    jit.save(traced, tmp_path / "several.pt")
    for made in (traced, jit.load(tmp_path / "several.pt")):
        assert torch.equal(made(x), module(x))
        assert torch.equal(made.scaled(x), module.scaled(x))
        assert torch.equal(made.joined(y, x), module.joined(y, x))
        assert [name for name, _ in made.named_parameters()] == ["linear.weight", "linear.bias"]
    assert "factor" in str(traced.scaled.graph) and "scaled" in repr(traced.scaled)
    traced.double()  # methods compute with what the Module holds now
    assert traced.scaled(x.double()).dtype is torch.float64
    traced.scaled(x.double()).sum().backward()
    assert traced.linear.weight.grad is not None


def test_trace_module_without_forward(tmp_path):
    module, x = Several(), torch.randn(4, 2)
    jit.save(jit.trace_module(module, {"scaled": x}), tmp_path / "several.pt")
    made = jit.load(tmp_path / "several.pt")
    assert torch.equal(made.scaled(x), module.scaled(x))
    with pytest.raises(AttributeError, match="forward"):
        made(x)
    by_name = jit.trace_module(module, {"joined": {"second": x, "first": x * 2}}, example_inputs_is_kwarg=True)
    assert torch.equal(by_name.joined(x, x), module.joined(x, x))


def test_trace_module_refuses():
    with pytest.raises(AttributeError, match="dictionary"):
        jit.trace_module(Several(), torch.ones(1, 2))
    with pytest.raises(AttributeError, match="nope"):
        jit.trace_module(Several(), {"nope": torch.ones(1, 2)})
    with pytest.raises(AttributeError, match="Module"):
        jit.trace_module(torch.relu, {"forward": torch.ones(1, 2)})


def test_switches_of_fusion_are_kept():
    before = jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 3)])
    assert before == [("STATIC", 2), ("DYNAMIC", 10)]
    assert jit.set_fusion_strategy(before) == [("STATIC", 2), ("DYNAMIC", 3)]
    with pytest.raises(ValueError, match="'STATIC' or 'DYNAMIC', got: OTHER"):
        jit.set_fusion_strategy([("OTHER", 1)])
    for wrong in ("a", 5, [("STATIC",)], [("STATIC", "a")]):
        with pytest.raises(TypeError):
            jit.set_fusion_strategy(wrong)
    assert jit.set_fusion_strategy(before) == before
    jit.enable_onednn_fusion(True)
    assert jit.onednn_fusion_enabled()
    jit.enable_onednn_fusion(False)
    assert not jit.onednn_fusion_enabled()
    with jit.fuser("fuser2"):
        assert torch.equal(jit.script(doubled_once)(torch.ones(2)), torch.ones(2) * 2)
    with pytest.raises(Exception, match="unrecognized fuser option"), jit.fuser("other"):
        pass
    with pytest.warns(UserWarning, match="script mode"), jit.strict_fusion():
        pass


def doubled_once(x):
    return x * 2


def test_damaged_contents_are_refused_in_words(tmp_path):
    jit.save(jit.trace_module(Several(), {"forward": torch.ones(1, 2), "scaled": torch.ones(1, 2)}), tmp_path / "whole.pt")
    whole = torch.load(tmp_path / "whole.pt", weights_only=True)
    damaged = [
        {"version": []}, {"graph": "{}"}, {"graph": "x"}, {"parameters": 3}, {"parameters": {}}, {"buffers": ["a"]}, {"kind": "other"}, {"training": "yes"},
        {"methods": {"train": whole["graph"]}}, {"methods": {"a b": whole["graph"]}}, {"methods": {"scaled": "[]"}}, {"files": 1}, {"frozen": 1},
    ]  # fmt: skip
    for change in damaged:
        torch.save({**whole, **change}, tmp_path / "damaged.pt")
        with pytest.raises(jit.CaptureError, match="the file"):
            raise AssertionError(f"{change} is taken: {jit.load(tmp_path / 'damaged.pt')}")


def test_detach_in_place_is_part_of_a_trace():
    def f(x):
        return (x * 2).detach_() * x

    for example in (torch.ones(2), torch.ones(2, requires_grad=True)):
        x = torch.full((2,), 3.0, requires_grad=True)
        torch.jit.trace(f, (example,))(x).sum().backward()
        assert x.grad.tolist() == [6.0, 6.0]


def test_leading_dimensions_of_size_one_do_not_count_where_a_trace_writes_by_indices():
    def put(x, where, value):
        x = x.clone()
        x[where] = value
        return x

    example = (torch.zeros(3), torch.tensor([0, 2]), torch.ones(1, 1, 2))
    traced = torch.jit.trace(put, example)
    assert traced(torch.zeros(4), torch.tensor([1, 2, 3]), torch.ones(1, 1, 3)).tolist() == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "step",
    [
        lambda x: x + torch.ones(2), lambda x: torch.ones(2) * x, lambda x: x + torch.ones(1, 2, 2), lambda x: x @ torch.ones(2, 2),
        torch.nn.BatchNorm1d(2).eval(), torch.nn.Linear(2, 2), lambda x: torch.maximum(x, torch.ones(2)), lambda x: x.clone().add_(torch.ones(2)),
    ],
)  # fmt: skip
def test_a_batch_of_one_stays_the_size_that_it_is(step):
    """Broadcast against something smaller, a size of 1 was taken for the constant."""

    def program(x):
        y = step(x)
        return y.reshape(y.shape[0], -1), torch.zeros(y.shape[0])

    traced = torch.jit.trace(program if not isinstance(step, torch.nn.Module) else Rows(step), torch.rand(1, 2, 2))
    for found in traced(torch.rand(3, 2, 2)):
        assert found.shape[0] == 3


class Rows(torch.nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def forward(self, x):
        y = self.step(x)
        return y.reshape(y.shape[0], -1), torch.zeros(y.shape[0])
