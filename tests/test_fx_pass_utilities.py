"""Splitting by tags, groups of nodes as submodules, chains of passes, sizes of nodes."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.fx import GraphModule, symbolic_trace
from rushlight.fx.passes import graph_manipulation, pass_manager, tools_common
from rushlight.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
from rushlight.fx.passes.split_utils import split_by_tags
from rushlight.fx.passes.utils import fuser_utils
from rushlight.fx.passes.utils.common import compare_graphs, lift_subgraph_as_module


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.inner = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.shift = nn.Parameter(torch.ones(4))
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x: Any, y: Any) -> Any:
        u = self.first(x) + self.shift
        v = self.inner(u) * y
        return torch.sigmoid(u - v) + self.offset, v


X, Y = torch.ones(2, 4), torch.full((2, 4), 2.0)


def traced() -> tuple[GraphModule, dict[str, Any], Any]:
    """A traced model, its nodes by name, and what it gives."""
    module = symbolic_trace(Model())
    return module, {node.name: node for node in module.graph.nodes}, module(X, Y)


def same(results: Any, expected: Any) -> bool:
    return all(torch.equal(a, b) for a, b in zip(results, expected, strict=True))


def test_split_by_tags() -> None:
    module, nodes, expected = traced()
    parts = {"front": ("first", "add"), "middle": ("inner_0", "inner_1", "mul"), "end": ("sub", "sigmoid", "add_1")}
    for tag, names in parts.items():
        for name in names:
            nodes[name].tag = tag
    split, paths = split_by_tags(module, list(parts), return_fqn_mapping=True)
    assert [name for name, _ in split.named_children()] == list(parts)
    assert [node.target for node in split.graph.nodes if node.op == "call_module"] == list(parts)
    assert paths["inner.1"] == "middle.inner.1" and paths["shift"] == "front.shift" and paths["offset"] == "end.offset"
    assert split.front.first is module.first and same(split(X, Y), expected)
    assert same(split_by_tags(module, list(parts), return_tuple=True)(X, Y), expected)
    with pytest.raises(AssertionError, match="order"):
        split_by_tags(module, ["end", "middle", "front"])
    del nodes["mul"].tag
    with pytest.raises(AssertionError, match="does not have tag"):
        split_by_tags(module, list(parts))


def test_groups_become_submodules() -> None:
    module, nodes, expected = traced()
    assert fuser_utils.validate_partition([nodes["inner_0"], nodes["inner_1"]])
    assert not fuser_utils.validate_partition([nodes["add"], nodes["sub"]])
    assert fuser_utils.topo_sort([nodes["mul"], nodes["inner_1"], nodes["inner_0"]]) == [nodes["inner_0"], nodes["inner_1"], nodes["mul"]]
    groups = [dict.fromkeys([nodes["add"], nodes["first"]]), dict.fromkeys([nodes["add_1"], nodes["sub"], nodes["sigmoid"]])]
    fused = fuser_utils.fuse_by_partitions(module, groups)
    assert type(fused.fused_0).__name__ == "fused_0" and fused.fused_0.first is module.first
    assert not {"add", "sub", "sigmoid"} & {node.name for node in fused.graph.nodes}
    assert same(fused(X, Y), expected)
    module, nodes, expected = traced()
    both = fuser_utils.fuse_by_partitions(module, [dict.fromkeys([nodes["mul"], nodes["sub"]])], "pair_")
    assert sum(node.target is operator.getitem for node in both.graph.nodes) == 2 and same(both(X, Y), expected)
    with pytest.raises(AssertionError, match="belong"):
        fuser_utils.fuse_as_graphmodule(symbolic_trace(Model()), [nodes["add"]], "other")
    with pytest.raises(AssertionError, match="cycle"):
        fuser_utils.fuse_as_graphmodule(module, [nodes["first"], nodes["add_1"]], "cyclic")


def test_a_graph_lifted_out_of_a_module() -> None:
    module, _, expected = traced()
    lifted, paths = lift_subgraph_as_module(module, symbolic_trace(Model()).graph, "part", "Lifted")
    assert type(lifted).__name__ == "Lifted" and same(lifted(X, Y), expected) and paths["first"] == "part.first"
    assert compare_graphs(module.graph, symbolic_trace(Model()).graph)
    assert not compare_graphs(symbolic_trace(lambda x: x + 1).graph, symbolic_trace(lambda x: x * 1).graph)


def test_chains_of_passes() -> None:
    def first(state: Any) -> None:
        state["first"] = 1

    def second(state: Any) -> Any:
        state["second"] = state.get("first")
        return state

    wrapped = pass_manager.inplace_wrapper(first)
    chain = pass_manager.PassManager([wrapped, second], [pass_manager.this_before_that_pass_constraint(wrapped, second)])
    assert chain({}) == {"first": 1, "second": 1}
    chain.remove_pass(["second"])
    assert chain({}) == {"first": 1}
    chain.replace_pass(wrapped, second)
    assert chain({}) == {"second": None}
    wrong = pass_manager.PassManager([wrapped, second], [pass_manager.this_before_that_pass_constraint(second, wrapped)])
    with pytest.raises(RuntimeError, match="constraint violated"):
        wrong({})
    late = pass_manager.PassManager.build_from_passlist([pass_manager.log_hook(second), wrapped])
    late.add_constraint(pass_manager.these_before_those_pass_constraint(first, second))
    with pytest.raises(RuntimeError, match="constraint violated"):
        late({})
    assert pass_manager.loop_pass(lambda value: value + 1, n_iter=3)(0) == 3
    assert pass_manager.loop_pass(lambda value: value + 1, predicate=lambda value: value < 7)(0) == 7
    with pytest.raises(AssertionError, match="Exactly one"):
        pass_manager.loop_pass(second)


def test_sizes_and_targets_of_nodes() -> None:
    module, nodes, _ = traced()
    with pytest.raises(RuntimeError, match="tensor metadata"):
        graph_manipulation.get_size_of_node(module, nodes["first"])
    graph_manipulation.get_size_of_all_nodes(module, [X, Y])
    assert nodes["first"].size_bytes == (32, 112) and nodes["shift"].size_bytes == (16, 16) and nodes["mul"].size_bytes.output_size == 32
    changed = symbolic_trace(lambda a, b: torch.add(a, b) * a)
    graph_manipulation.replace_target_nodes_with(changed, "call_function", torch.add, "call_function", torch.sub)
    changed.recompile()
    assert torch.equal(changed(X, Y), (X - Y) * X)


def test_types_of_elements_and_a_stable_order() -> None:
    for kind, expected in ((tuple[int, str], [int, str]), (tuple[int, ...], [int, int]), (list[float], [float, float])):
        picked = symbolic_trace(lambda pair: (pair[0], pair[1]))
        next(iter(picked.graph.nodes)).type = kind
        annotate_getitem_nodes(picked.graph)
        assert [node.type for node in picked.graph.nodes if node.op == "call_function"] == expected
    module = symbolic_trace(lambda a, b: (torch.relu(a) + b, b * 2))
    nodes = {node.name: node for node in module.graph.nodes}
    nodes["b"].append(nodes["add"])
    tools_common.stable_topological_sort(module)
    assert [node.name for node in module.graph.nodes] == ["a", "b", "relu", "add", "mul", "output"]
