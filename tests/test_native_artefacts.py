"""What compiling leaves behind: a program and a way to read about it, but no graphs that nobody needs, and nothing that grows."""

from __future__ import annotations

import gc
import linecache
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.backends import native
from rushlight.backends.native import printer
from rushlight.backends.native.executable import CompiledSchedule
from rushlight.capture.graph_module import Deferred, GraphModule
from rushlight.capture.trace.capture import capture
from rushlight.graph import Graph, Node
from rushlight.passes.differentiate import differentiate

pytest.importorskip("llvmlite")


def model() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))


def trained(module: Any, calls: int = 3) -> Any:
    """A compiled Module that was called and differentiated."""
    compiled = torch.compile(module)
    x = torch.randn(5, 8)
    for _ in range(calls):
        (compiled(x) ** 2).sum().backward()
    return compiled


def programs(compiled: Any) -> list[CompiledSchedule]:
    return [each for _, part in printer.parts_of(compiled) for each in part.programs]


def alive(kind: type) -> list[Any]:
    return [each for each in gc.get_objects() if isinstance(each, kind)]


def test_graphs_that_were_compiled_are_gone() -> None:
    gc.collect()
    before = {id(each) for each in alive(Graph)}
    compiled = trained(model())
    gc.collect()
    sizes = sorted(len(each.nodes) for each in alive(Graph) if id(each) not in before)
    # What was captured, and its two parts, which run where native code can't; not the joint graph, nor what these were decomposed to.
    assert len([each for each in sizes if each]) == 3
    assert len(programs(compiled)) == 2


def test_values_do_not_hold_nodes() -> None:
    for program in programs(trained(model())):
        for step in program.schedule.steps:
            assert not any(isinstance(value.node, Node) for value in step.members)
            assert str(step)


def test_what_was_compiled_can_be_read_about(tmp_path: Path) -> None:
    compiled = trained(model())
    text = native.describe(compiled)
    assert text.count("compiled in") == 2 and "gelu_exact" in text and ": matmul" in text
    native.dump(compiled, tmp_path / "kernels.txt")
    dumped = (tmp_path / "kernels.txt").read_text()
    assert dumped.count("==== ") >= 2 and "define void @kernel_" in dumped
    assert "File: " in dumped and "gelu_exact" in dumped  # the lines of the program, and formulas
    for program in programs(compiled):
        module = program.module
        assert module is not None and program.text == str(module)
        for _, functions in program.written:
            assert all(each in dumped for each in module.functions[functions])
        assert len(program.packed) < len(program.text) / 2


def test_other_inputs_are_compiled_for_afterwards() -> None:
    """Another layout and another size need the graph again, of which only the parts are left."""
    module = model()
    compiled = trained(module)
    for x in (torch.randn(7, 8), torch.randn(8, 5).t(), torch.randn(2, 3, 8)):
        np.testing.assert_allclose(compiled(x).detach().numpy(), module(x).detach().numpy(), 1e-5, 1e-6)
        with torch.no_grad():
            np.testing.assert_allclose(compiled(x).numpy(), module(x).numpy(), 1e-5, 1e-6)


def test_second_derivatives_after_compiling() -> None:
    """They run the captured program once more."""
    function = torch.compile(lambda x: (x.sin() * x).sum())
    x = torch.randn(4, requires_grad=True)
    for _ in range(3):
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        np.testing.assert_allclose(second.numpy(), (2 * x.cos() - x * x.sin()).detach().numpy(), 1e-4, 1e-5)


def test_compiling_again_and_again_keeps_nothing() -> None:
    def once(number: int) -> None:
        x = torch.randn(6, 3 + number % 2, requires_grad=True)
        function = torch.compile(lambda a: (a * 2).tanh().sum())
        function(x).backward()
        function(x).backward()

    for number in range(6):
        once(number)
    gc.collect()
    before = len(alive(Graph)), len(alive(CompiledSchedule)), len(linecache.cache), len(gc.get_objects())
    for number in range(20):
        once(number)
    gc.collect()
    after = len(alive(Graph)), len(alive(CompiledSchedule)), len(linecache.cache), len(gc.get_objects())
    assert after[:3] <= before[:3]
    assert after[3] < before[3] + 200


# -- modules and graphs ---------------------------------------------------------------------------------------------


def doubled() -> Graph:
    graph = Graph()
    graph.output(graph.call_method("add", (graph.placeholder("x"), 2)))
    return graph


def test_a_deferred_module_is_written_when_it_is_called() -> None:
    module = Deferred({}, doubled())
    assert "_code" not in module.__dict__
    assert np.array_equal(module(torch.ones(2)).numpy(), [3, 3])
    assert "x.add(2)" in module.__dict__["_code"]
    assert "x.add(2)" in Deferred({}, doubled()).code
    changed = Deferred({}, doubled())
    changed.forward(torch.ones(1))
    next(node for node in changed.graph.nodes if node.op == "call_method").args = (next(iter(changed.graph.nodes)), 5)
    changed.recompile()
    assert np.array_equal(changed(torch.ones(2)).numpy(), [6, 6]) and "x.add(5)" in changed.code


def test_the_source_of_a_module_goes_with_it() -> None:
    before = set(linecache.cache)
    module = GraphModule({}, doubled())
    (name,) = set(linecache.cache) - before
    assert "add" in "".join(linecache.getlines(name))
    del module
    gc.collect()
    assert name not in linecache.cache


def test_a_graph_is_taken_apart() -> None:
    graph = doubled()
    seen = [weakref.ref(each) for each in graph.nodes]
    gc.disable()
    try:
        graph.dissolve()
        assert not [each for each in seen if each() is not None]  # without the garbage collector
    finally:
        gc.enable()
    assert len(graph.nodes) == 0 and list(graph.nodes) == []


def test_a_joint_graph_lets_go_of_its_nodes() -> None:
    x = torch.randn(3, requires_grad=True)
    joint = differentiate(capture(lambda a: a.sin() * 2, (x,)), [x])
    seen = [weakref.ref(each) for each in joint.graph.nodes]
    structure = joint.structure
    joint.release()
    assert not [each for each in seen if each() is not None] and joint.structure is structure and joint.differentiable == [0]
