"""Modules as scripts: jit.script of Modules, ScriptModule, marks, files, tracing and exporting them."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Final

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, jit, nn
from rushlight.core.errors import CaptureError
from rushlight.graph import verify


def close(got, want):
    assert got.shape == want.shape
    assert torch.allclose(got, want, atol=1e-6)


class Block(nn.Module):
    def __init__(self, width: int, last: bool = False):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width) * 2)
        self.register_buffer("offset", torch.arange(float(width)))
        self.last = last
        self.p = 0.5

    def forward(self, x):
        y = self.linear(x) * self.scale + self.offset
        if self.last:
            return y
        if self.training:
            y = F.dropout(y, self.p, True)
        return self.activate(y)

    def activate(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x.relu()
        return x.tanh()


class Net(nn.Module):
    steps: int

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4), Block(4), Block(4, True)])
        self.head = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        self.table = nn.ModuleDict({"a": nn.Linear(2, 2), "b": Block(2, True)})
        self.steps = 2
        self.extra: Tensor | None = None
        self.nothing = None

    def forward(self, x: Tensor, mode: str = "a"):
        for i, block in enumerate(self.blocks):
            x = block(x) + i
        for _ in range(self.steps):
            x = x * 0.5
        x = self.head(x)
        if self.nothing is not None:
            x = self.nothing(x)
        for key, part in self.table.items():
            if key == mode:
                x = part(x)
        return x + len(self.blocks)


@pytest.fixture
def net():
    torch.manual_seed(3)
    return Net().eval()


def test_module_gives_the_same(net):
    scripted = jit.script(net)
    verify(scripted.graph)
    assert list(scripted.state_dict()) == list(net.state_dict())
    assert dict(scripted.named_parameters())["blocks.1.scale"] is net.blocks[1].scale
    for mode in ("a", "b"):
        for sign in (1, -1):
            x = torch.randn(5, 4).abs() * sign
            close(scripted(x, mode), net(x, mode))
            close(scripted(x, mode=mode), net(x, mode=mode))
    assert scripted.original_name == "Net"
    assert isinstance(scripted, jit.RecursiveScriptModule) and isinstance(scripted.blocks[0], jit.ScriptModule)
    assert "def forward" in scripted.code and "blocks" in scripted.code


def test_gradients_and_training(net):
    scripted = jit.script(net)
    x = torch.randn(5, 4)
    net(x).square().sum().backward()
    want = {name: p.grad.clone() for name, p in net.named_parameters() if p.grad is not None}
    net.zero_grad()
    scripted(x).square().sum().backward()
    got = {name: p.grad for name, p in scripted.named_parameters() if p.grad is not None}
    assert got.keys() == want.keys()
    for name in want:
        close(got[name], want[name])
    scripted.train()
    assert scripted.blocks[0].training and scripted.blocks[0].linear.training
    torch.manual_seed(0)
    first = scripted(x)
    net.train()
    torch.manual_seed(0)
    close(first, net(x))


def test_attributes_are_read_and_set_when_it_runs():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.register_buffer("total", torch.zeros(2))
            self.names = ["a", "b"]

        def forward(self, x):
            self.count += 1
            self.total += x
            self.total = self.total * 1.0
            return self.total * self.count + len(self.names)

    eager, scripted = Counter(), jit.script(Counter())
    for _ in range(3):
        close(scripted(torch.ones(2)), eager(torch.ones(2)))
    assert scripted.count == 3
    close(scripted.total, eager.total)
    scripted.count = 10
    eager.count = 10
    close(scripted(torch.ones(2)), eager(torch.ones(2)))


def test_constants_prune_branches():
    class Fixed(nn.Module):
        __constants__ = ["flag"]
        size: Final[int] = 3

        def __init__(self, flag):
            super().__init__()
            self.flag = flag
            self.kind: Final[str] = "x"
            if flag:
                self.linear = nn.Linear(3, 3)

        def forward(self, x):
            if self.flag:
                x = self.linear(x)
            if hasattr(self, "missing"):
                x = self.missing(x)
            return x * self.size

    for flag in (True, False):
        model = Fixed(flag)
        scripted = jit.script(model)
        assert not any(node.bodies for node in scripted.graph.nodes)
        x = torch.randn(2, 3)
        close(scripted(x), model(x))


def test_optional_submodule_and_bias():
    class Maybe(nn.Module):
        def __init__(self, with_norm):
            super().__init__()
            self.linear = nn.Linear(3, 3, bias=with_norm)
            self.norm = nn.LayerNorm(3) if with_norm else None
            self.register_parameter("weight", None)

        def forward(self, x):
            x = self.linear(x)
            if self.norm is not None:
                x = self.norm(x)
            if self.weight is not None:
                x = x * self.weight
            return x

    for flag in (True, False):
        model = Maybe(flag)
        x = torch.randn(2, 3)
        close(jit.script(model)(x), model(x))


class Exported(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2

    def forward(self, x):
        return self.double(x) + self.halve(x)

    def double(self, x):
        return x * self.k

    @jit.export
    def other(self, x, n: int = 3):
        for _ in range(n):
            x = self.double(x)
        return x

    @jit.ignore
    def python(self, x):
        return np.asarray(x)

    @jit.unused
    def never(self, x):
        return eval("x")

    @staticmethod
    def halve(x):
        return x / 2

    @property
    def factor(self) -> int:
        return self.k * 10

    @jit.export
    def scaled(self, x):
        return x * self.factor


def test_methods():
    model = Exported()
    scripted = jit.script(model)
    x = torch.randn(3)
    close(scripted(x), model(x))
    close(scripted.other(x, 2), model.other(x, 2))
    close(scripted.other(x), model.other(x))
    close(scripted.double(x), model.double(x))
    close(scripted.scaled(x), model.scaled(x))
    assert isinstance(scripted.python(x), np.ndarray)


def test_ignored_and_unused():
    calls = []

    @jit.ignore
    def note(x: Tensor) -> Tensor:
        calls.append(x.shape)
        return x + 1

    @jit.unused
    def forbidden(x: Tensor) -> Tensor:
        return x

    def run(x, bad: bool):
        y = note(x)
        if bad:
            y = forbidden(y)
        return y * 2

    scripted = jit.script(run)
    x = torch.ones(2)
    close(scripted(x, False), torch.ones(2) * 4)
    assert calls == [(2,)]
    with pytest.raises(jit.Error, match="unused"):
        scripted(x, True)
    with pytest.raises(CaptureError, match="note"):
        jit.save(scripted, io.BytesIO())
    pytest.importorskip("onnx")
    with pytest.raises(RuntimeError, match="Couldn't export Python function 'note'"):
        torch.onnx.export(scripted, (x, False))


def test_script_module_class():
    class Doubled(jit.ScriptModule):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(width, width))
            self.inner = Block(width, True)

        @jit.script_method
        def forward(self, x, times: int = 2):
            for _ in range(times):
                x = torch.mm(x, self.weight)
            return self.helper(self.inner(x))

        @jit.script_method
        def helper(self, x):
            return x * 2 if x.sum() > 0 else x

        def plain(self, x):
            return self.forward(x, 1) + 1

    model = Doubled(3)
    assert isinstance(model.forward, jit.ScriptMethod) and isinstance(model.inner, jit.ScriptModule)
    x = torch.randn(2, 3)
    y = model.inner(x @ model.weight @ model.weight)
    close(model(x), y * 2 if y.sum() > 0 else y)
    close(model.plain(x), model(x, times=1) + 1)
    assert [name for name, _ in model.named_parameters()] == ["weight", "inner.scale", "inner.linear.weight", "inner.linear.bias"]
    again = copy.deepcopy(model)
    with torch.no_grad():
        again.weight.zero_()
    close(again(x), again.helper(again.inner(torch.zeros(2, 3))))
    assert float(model.weight.abs().sum()) > 0


def test_traced_inside_scripted_and_scripted_inside_traced():
    traced = jit.trace(nn.Linear(3, 3), torch.randn(2, 3))

    @jit.script
    def choose(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.traced = traced
            self.choose = choose

        def forward(self, x):
            for _ in range(2):
                x = self.choose(self.traced(x))
            return x

    model = Mixed()
    scripted = jit.script(model)
    x = torch.randn(2, 3)
    close(scripted(x), model(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.TracerWarning)
        outer = jit.trace(lambda x: choose(x) + 1, torch.ones(2))
    for sign in (1, -1):
        close(outer(torch.ones(2) * sign), choose(torch.ones(2) * sign) + 1)
    verify(outer.graph)
    assert any(node.bodies for node in outer.graph.nodes)
    buffer = io.BytesIO()
    jit.save(outer, buffer)
    buffer.seek(0)
    loaded = jit.load(buffer)
    for sign in (1, -1):
        close(loaded(torch.ones(2) * sign), outer(torch.ones(2) * sign))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_traced_loops_follow_the_data(count):
    @jit.script
    def repeat(x, n):
        out = []
        k = 0
        for i in range(int(n)):
            x = x * 2 + i
            out.append(x)
            k += 2
        if k > 0:
            return torch.stack(out).sum(0) + k
        return x

    traced = jit.trace(lambda x, n: repeat(x, n) * 1, (torch.ones(2), torch.tensor(3)))
    n = torch.tensor(count)
    close(traced(torch.ones(2), n), repeat(torch.ones(2), n))


def test_save_and_load(net, tmp_path):
    scripted = jit.script(net)
    path = tmp_path / "net.pt"
    jit.save(scripted, path, _extra_files={"note": "hello", "more": b"\xff\x00"})
    extra = {"note": "", "more": b""}
    loaded = jit.load(path, _extra_files=extra)
    assert extra["note"] == b"hello" and extra["more"] == b"\xff\x00"
    assert list(loaded.state_dict()) == list(scripted.state_dict())
    x = torch.randn(5, 4)
    for mode in ("a", "b"):
        close(loaded(x, mode), scripted(x, mode))
    assert not loaded.training and loaded.original_name == "Net"
    loaded.train()
    assert loaded.blocks[0].training
    loaded(x).sum().backward()
    again = io.BytesIO()
    jit.save(loaded, again)
    again.seek(0)
    close(jit.load(again).eval()(x), scripted(x))


def test_save_methods_and_shared_modules(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.b = self.a
            self.lstm = nn.LSTM(2, 2)
            self.exported = Exported()

        def forward(self, x, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, list[int], dict[str, Tensor]]:
            y, state2 = self.lstm(self.a(self.b(x)), state)
            return self.exported(y), [1, 2], {"h": state2[0]}

    model = Tied()
    scripted = jit.script(model)
    jit.save(scripted, tmp_path / "tied.pt")
    loaded = jit.load(tmp_path / "tied.pt")
    assert loaded.a is loaded.b
    x = torch.randn(3, 1, 2)
    for got, want in ((loaded(x), model(x)), (scripted(x), model(x))):
        close(got[0], want[0])
        assert got[1] == [1, 2]
        close(got[2]["h"], want[2]["h"])
    close(loaded.exported.other(x, 2), model.exported.other(x, 2))


def test_hostile_files(tmp_path):
    def simple(x):
        return len([x]) + x

    import json

    from rushlight.serialization import load as load_archive
    from rushlight.serialization import save as save_archive

    path = tmp_path / "f.pt"
    jit.save(jit.script(simple), path)
    content = load_archive(path, weights_only=True)
    text = content["main"]

    def refused(change, match):
        broken = dict(content)
        broken["main"] = change(text)
        save_archive(broken, path)
        with pytest.raises(RuntimeError, match=match):
            jit.load(path)

    refused(lambda t: t.replace("python:len", "python:eval"), "can't call")
    refused(lambda t: t.replace("python:len", "library:rushlight.load"), "can't call")
    refused(lambda t: t.replace("python:len", "script:rushlight.hub.load"), "does not have")
    refused(lambda t: t.replace("python:len", "operator:attrgetter"), "can't call")
    refused(lambda t: t.replace("python:len", "python:getattr"), "can't read")
    refused(lambda t: t[:-20], "damaged")
    refused(lambda t: "{}", "damaged")
    refused(
        lambda t: json.dumps(
            {**json.loads(t), "graph": [{"op": "call_method", "target": "__class__", "name": "a", "args": {"tuple": []}}]}
        ),
        "can't call",
    )
    refused(
        lambda t: json.dumps({**json.loads(t), "graph": [{"op": "get_attr", "target": "__class__.x", "name": "a", "args": {"tuple": []}}]}),
        "can't use",
    )


def test_hostile_modules(tmp_path):
    from rushlight.serialization import load as load_archive
    from rushlight.serialization import save as save_archive

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.norm = nn.BatchNorm1d(2)

        def forward(self, x):
            self.norm.reset_running_stats()
            return self.linear(x)

    path, target = tmp_path / "f.pt", tmp_path / "written.pt"
    jit.save(jit.script(Layers()), path)
    jit.load(path)(torch.ones(1, 2))
    content = load_archive(path, weights_only=True)
    for name in ("save", "forward", "norm.register_buffer", "norm.load_state_dict", "nothing", "linear.weight.numpy", "_script_library"):
        broken = dict(content)
        broken["main"] = content["main"].replace('"target": "linear"', f'"target": "{name}"').replace('{"ref": "x"}', f'"{target}"')
        assert broken["main"] != content["main"]
        save_archive(broken, path)
        if name == "forward":  # a method that calls itself
            with pytest.raises(RuntimeError, match="recursion"):
                jit.load(path)(torch.ones(1, 2))
            continue
        with pytest.raises(RuntimeError, match="no method that a script may call"):
            jit.load(path)
    assert not target.exists()


def test_custom_function_in_a_script():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x  # not the true gradient, to see that it is this one

    def run(x):
        if x.sum() > 0:
            return Square.apply(x) + 1
        return x

    scripted = jit.script(run)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    scripted(x).sum().backward()
    assert x.grad.tolist() == [3.0, 6.0]
    program = torch.onnx.export(scripted, (torch.ones(2),), input_names=["x"])
    session = onnx_session(program)
    for value in (2.0, -2.0):
        given = np.full(2, value, np.float32)
        np.testing.assert_allclose(session.run(None, {"x": given})[0], given**2 + 1 if value > 0 else given)


def test_export_of_modules(net, tmp_path):
    scripted = jit.script(net)
    x = torch.randn(5, 4)
    program = torch.onnx.export(scripted, (x,), input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    names = [each.name for each in program.model_proto.graph.initializer]
    order = [name for name in scripted.state_dict() if name in names]
    assert [name for name in names if name in order] == order and "blocks.0.scale" in names
    session = onnx_session(program)
    for batch in (1, 5, 9):
        for sign in (1, -1):
            given = torch.randn(batch, 4).abs() * sign
            np.testing.assert_allclose(session.run(None, {"x": given.numpy()})[0], net(given).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [9, 11, 13, 16, 20])
def test_control_flow_at_opsets(opset):

    @jit.script
    def run(x, n):
        total = x
        for i in range(int(n)):
            if total.sum() > 10:
                total = total - x * i
            else:
                total = total * 2 + 1
        return total, total.sum() > 3

    program = torch.onnx.export(run, (torch.ones(2), torch.tensor(2)), input_names=["x", "n"], opset_version=opset)
    session = onnx_session(program)
    for count in (0, 1, 3, 6):
        x = torch.randn(2)
        want = run(x, torch.tensor(count))
        got = session.run(None, {"x": x.numpy(), "n": np.asarray(count, np.int64)})
        np.testing.assert_allclose(got[0], want[0].numpy(), rtol=1e-5)
        assert bool(got[1]) == bool(want[1])


def test_inlined_graph(net):
    scripted = jit.script(net)
    graph = scripted.inlined_graph
    targets = [node.target for node in graph.nodes if node.op == "get_attr"]
    assert "blocks.0.scale" in targets
    assert not any(node.op == "call_module" and node.target == "blocks.0" for node in graph.nodes)

    @jit.script
    def inner(x):
        return x + 1

    @jit.script
    def outer(x):
        return inner(x) * inner(x * 2)

    assert not any(getattr(node.target, "_program", None) for node in outer.inlined_graph.nodes)
    assert torch.equal(torch.fx.Interpreter(None, outer.inlined_graph).run(torch.ones(2)), outer(torch.ones(2)))


def test_freeze(net, tmp_path):
    scripted = jit.script(net)
    frozen = jit.freeze(scripted)
    assert not list(frozen.parameters()) and not frozen.state_dict()
    assert not any(node.op == "get_attr" and node.target.endswith("training") for node in frozen.graph.nodes)
    x = torch.randn(3, 4)
    for mode in ("a", "b"):
        close(frozen(x, mode), net(x, mode))
    assert not frozen(x).requires_grad
    jit.save(frozen, tmp_path / "frozen.pt")
    close(jit.load(tmp_path / "frozen.pt")(x), net(x))
    close(jit.optimize_for_inference(scripted)(x), net(x))
    with pytest.raises(RuntimeError, match="training mode"):
        jit.freeze(jit.script(Net()))
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        jit.freeze(net)
    kept = jit.freeze(jit.script(Exported().eval()), preserved_attrs=["other", "k"])
    close(kept.other(x, 2), Exported().other(x, 2))
    assert kept.k == 2
