"""Compiled programs: when a graph break or a second graph is an error, and that nothing stays on behind one."""

from __future__ import annotations

import unittest
from typing import Any

import pytest

import rushlight as torch
from rushlight.capture.compile.annotations import break_errors
from rushlight.capture.compile.record.graph_breaks import Unsupported
from rushlight.compat.dynamo import config, error_on_graph_break, exc, testing
from rushlight.compat.dynamo.test_case import TestCase
from rushlight.compiler import graph_break
from rushlight.testing.compiling import CompileCounter


def test_modes_are_left_when_a_break_is_an_error() -> None:
    """The program never comes to the end of its ``with``: the modes are what they were before the call."""

    def program(x: Any) -> Any:
        with torch.no_grad(), torch.autocast("cpu"):
            graph_break()
            return x * 2

    with pytest.raises(Unsupported):
        torch.compile(program, fullgraph=True)(torch.ones(2))
    assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def test_error_on_graph_break() -> None:
    """Breaks in its context are errors, or none; in later calls, too, and behind other breaks."""
    counter = CompileCounter()

    @error_on_graph_break(True)
    @torch.compile(backend=counter)
    def allowed(x: Any) -> Any:
        x = x + 1
        with error_on_graph_break(False):
            graph_break()
            x = x + 1
            graph_break()
        return x + 2

    @torch.compile(backend=counter)
    def refused(x: Any) -> Any:
        with error_on_graph_break(True):
            x = x + 1
            graph_break()
        return x

    @torch.compile(backend=counter)
    def behind(x: Any) -> Any:
        with error_on_graph_break(True):
            x = x + 1
        graph_break()
        return x + 2

    @torch.compile(backend=counter, fullgraph=True)
    def whole(x: Any) -> Any:
        with error_on_graph_break(False):
            graph_break()
        return x + 2

    ones = torch.ones(2)
    for _ in range(3):
        assert allowed(ones).tolist() == [5.0, 5.0] and behind(ones).tolist() == [4.0, 4.0]
    assert counter.frame_count == 5
    for function in (refused, whole):
        with pytest.raises(Unsupported):
            function(ones)
    assert not break_errors.on
    with pytest.raises(TypeError, match="takes True or False"):
        error_on_graph_break("yes")  # type: ignore[arg-type]


def test_error_on_recompile_has_a_class() -> None:
    compiled = torch.compile(lambda x: x + 1, dynamic=False)
    compiled(torch.ones(1))
    with config.patch(error_on_recompile=True), pytest.raises(exc.RecompileError):
        compiled(torch.ones(2))


class Case(TestCase):
    def runTest(self) -> None:
        testing.standard_test(self, lambda a, b: (a + b).relu(), 2, expected_ops=2)
        with self.assertRaises(AssertionError):
            testing.standard_test(self, lambda a, b: (a + b).relu(), 2, expected_ops=3)
        with self.assertRaises(AssertionError):
            testing.standard_test(self, lambda a: torch.where(torch.tensor(torch.compiler.is_compiling()), a, a + 1), 1)


def test_helpers_of_test_cases() -> None:
    """``standard_test`` compares eager and compiled results; a class with patches has the same tests under other settings."""
    result = unittest.TestResult()
    unittest.TestSuite([Case()]).run(result)
    assert result.testsRun == 1 and result.wasSuccessful(), result.failures + result.errors

    class Settings(unittest.TestCase):
        def test_limit(self) -> None:
            self.assertEqual(config.recompile_limit, 3)

    made = testing.make_test_cls_with_patches(Settings, "Limited", "_limited", (config, "recompile_limit", 3))
    assert made.__name__ == "LimitedSettings"
    made("test_limit_limited").debug()
    assert config.recompile_limit == 8
    assert testing.reduce_to_scalar_loss({"a": torch.ones(2), "b": [torch.zeros(3)]}).item() == 0.5
    recorder = testing.AotEagerAndRecordGraphs()
    compiled = torch.compile(lambda x: x.sin().sum(), backend=recorder)
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        compiled(x).backward()
        assert x.grad is not None and torch.allclose(x.grad, torch.ones(2).cos())
    assert [len(each) for each in (recorder.graphs, recorder.fw_graphs, recorder.bw_graphs)] == [1, 1, 1]
