"""``torch.fx`` prints the graphs and code that PyTorch prints, and its graphs run in every mode."""

from __future__ import annotations

import copy
import gc
import importlib.util
import io
import json
import pickle
from pathlib import Path

import fx_programs
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import fx, nn
from rushlight.core.state import flags, state
from rushlight.fx.experimental.const_fold import split_const_subgraphs
from rushlight.fx.experimental.optimization import fuse
from rushlight.fx.graph_module import _copy_attr
from rushlight.fx.passes.graph_drawer import FxGraphDrawer
from rushlight.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from rushlight.fx.passes.operator_support import create_op_support
from rushlight.fx.passes.split_module import split_module
from rushlight.fx.subgraph_rewriter import replace_pattern_with_filters

RECORDED = json.loads((Path(__file__).parent / "data" / "fx_programs.json").read_text(encoding="utf8"))


def test_graphs_and_code_print_as_pytorch_prints_them():
    found = [str(each) for each in fx_programs.texts()]
    for at, (mine, theirs) in enumerate(zip(found, RECORDED)):
        assert mine == theirs, at
    assert len(found) == len(RECORDED)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.layers = nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, 1))
        self.fc, self.w = nn.Linear(4, 2), nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = self.layers(F.relu(self.bn(self.conv(x)))) + x.mean(1, keepdim=True)
        return F.log_softmax(self.fc(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1) * self.w), dim=-1)


@pytest.fixture(scope="module")
def traced():
    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(2, 3, 8, 8)
    return fx.symbolic_trace(model), model, x, model(x).detach()


def test_a_traced_model_runs_in_every_mode(traced):
    module, model, x, expected = traced
    assert torch.equal(module(x), expected) and list(module.state_dict()) == list(model.state_dict())
    for made in (
        torch.compile(module, fullgraph=True),
        torch.jit.script(module),
        torch.jit.trace(module, (x,)),
        fx.Interpreter(module).run,
    ):
        torch.testing.assert_close(made(x), expected, rtol=1e-5, atol=1e-6)
    names = [node.op_type for node in torch.onnx.export(module, (x,)).model_proto.graph.node]
    assert names.count("Conv") == 2 and "LogSoftmax" in names
    module(x).sum().backward()
    assert model.w.grad is not None and model.conv.weight.grad is not None


def test_a_traced_model_is_copied_and_saved(traced, tmp_path, monkeypatch):
    module, _, x, expected = traced
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    copies = (pickle.loads(pickle.dumps(module)), copy.deepcopy(module), copy.copy(module), torch.load(file, weights_only=False))
    for each in copies:
        assert torch.equal(each(x), expected) and each.code == module.code
    module.to_folder(tmp_path / "folder", "Mine")
    assert "class Mine(torch.nn.Module):" in (tmp_path / "folder" / "module.py").read_text()


def test_passes_keep_the_result(traced):
    module, model, x, expected = traced
    fused = fuse(model)
    torch.testing.assert_close(fused(x), expected, rtol=1e-4, atol=1e-5)
    assert "bn" not in fused.code
    parted = CapabilityBasedPartitioner(
        copy.deepcopy(module), create_op_support(lambda _, node: node.op == "call_function")
    ).partition_and_fuse()
    assert torch.equal(parted(x), expected) and "fused_0" in parted.code
    assert torch.equal(fx.Transformer(module).transform()(x), expected)
    names = [node.name for node in module.graph.nodes]
    halves = split_module(module, model, lambda node: int(names.index(node.name) > 5))
    assert torch.equal(halves(x), expected)

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * (self.a + self.b)

    folded = split_const_subgraphs(Sum())
    assert "self.a" not in folded.code and folded(torch.ones(2)).tolist() == [2, 2]


def test_proxies_leave_nothing_on_when_they_are_gone():
    before = flags.special
    graph = fx.Graph()
    proxy = fx.Proxy(graph.placeholder("x"))
    made = torch.cat([proxy, proxy], dim=0) + proxy.shape[0]
    assert str(made.node) == "add" and flags.special > before
    assert graph.find_nodes(op="call_function", target=torch.cat)[0].kwargs == {"dim": 0}
    del proxy, made
    gc.collect()
    assert flags.special == before and not state.interceptors


def test_tracers_are_customized():
    class Whole(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return module_qualified_name == "layers" or super().is_leaf_module(m, module_qualified_name)

        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, *rest):
            made = super().create_proxy(kind, target, args, kwargs, name, type_expr, *rest)
            made.node.meta["seen"] = True
            return made

    graph = Whole().trace(Model())
    assert "layers" in [node.target for node in graph.nodes if node.op == "call_module"]
    assert all(node.meta.get("seen") for node in graph.nodes if node.op != "output")
    assert graph.find_nodes(op="call_module", target="conv")[0].meta["nn_module_stack"]["conv"][1] is nn.Conv2d


def test_patterns_with_filters():
    def program(x):
        return torch.relu(x) + 1, torch.relu(x * 2) + 3

    module = fx.symbolic_trace(program)
    found = replace_pattern_with_filters(module, lambda x: torch.relu(x) + 1, lambda x: x.sigmoid(), [], ignore_literals=True)
    assert len(found) == 2 and "relu" not in module.code
    module = fx.symbolic_trace(program)
    only = lambda match, graph, pattern: match.placeholder_nodes[0].op == "placeholder"
    assert len(replace_pattern_with_filters(module, lambda x: torch.relu(x) + 1, lambda x: x.sigmoid(), [only])) == 1


def test_drawing_asks_for_its_package(traced):
    if importlib.util.find_spec("pydot") is None:
        with pytest.raises(NotImplementedError, match="pydot"):
            FxGraphDrawer(traced[0], "model")


def test_wrap_is_for_modules_alone():
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("len")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(3)


def test_arguments_are_normalized():
    node = fx.symbolic_trace(lambda x: torch.sum(x, 1)).graph.find_nodes(op="call_function", target=torch.sum)[0]
    found = node.normalized_arguments(None, normalize_to_only_use_kwargs=True)
    assert found.kwargs["dim"] == 1 and found.kwargs["keepdim"] is False and found.args == ()


def test_registered_ops_are_nodes():
    @torch.library.custom_op("tests_fx::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    module = fx.symbolic_trace(lambda x: torch.ops.tests_fx.twice(x) + torch.ops.aten.neg.default(x) + twice(x))
    assert module(torch.ones(1)).item() == 3
    assert "torch.ops.tests_fx.twice" in module.code and "torch.ops.aten.neg.default" in module.code


def test_a_subclass_sets_its_graph_itself(traced):
    module, model, x, expected = traced

    class Dual(fx.GraphModule):
        def __init__(self, root, graph):
            super(fx.GraphModule, self).__init__()
            self.__class__.__name__ = "Named"
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
            self.graph = graph

    made, other = Dual(model, module.graph), fx.GraphModule(model, copy.deepcopy(module.graph))
    assert torch.equal(made.eval()(x), expected) and torch.equal(other.eval()(x), expected)
    assert type(made).__name__ == "Named" and Dual.__name__ == "Dual" and type(other).__name__ == "GraphModule"


def test_assertions_are_recorded():
    def program(x):
        torch._assert(x.shape[0] == 2, "two rows")
        return x + 1

    module = fx.symbolic_trace(program)
    assert "torch._assert(eq, 'two rows')" in module.code
    with pytest.raises(AssertionError, match="two rows"):
        torch._assert(torch.tensor(False), "two rows")
