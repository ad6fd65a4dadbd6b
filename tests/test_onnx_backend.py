"""The ONNX project's own test cases: all in eager mode, and a part of them compiled (``tools/onnx_conformance.py`` runs all)."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("onnx") is None:
    pytest.skip("needs the package onnx", allow_module_level=True)

import onnx
from onnx import helper
from onnx_cases import cases, is_expected_to_pass, run

import rushlight
from rushlight.onnx import backend

PARTS = 12  # into which the cases are divided
COMPILED = 10  # every so manieth case is compiled


@pytest.mark.parametrize("part", range(PARTS))
def test_cases(part):
    passed, failed = [], []
    for name, case in list(cases().items())[part::PARTS]:
        try:
            run(case)
        except Exception as error:
            failed.append((name, f"{type(error).__name__}: {error}"[:200]))
        else:
            passed.append(name)
    assert [each for each in failed if is_expected_to_pass(each[0])] == []
    assert [name for name in passed if not is_expected_to_pass(name)] == [], "these pass now: say so in onnx_cases.py"


@pytest.mark.parametrize("part", range(4))
def test_cases_compiled(part):
    """What passes in eager mode passes compiled; nearly all of it is one graph."""
    broken = 0
    chosen = {name: case for name, case in list(cases().items())[3::COMPILED][part::4] if is_expected_to_pass(name)}
    for name, case in chosen.items():
        try:
            run(case, lambda module: rushlight.compile(module, fullgraph=True))
        except rushlight.compiler.Unsupported:
            run(case, rushlight.compile)
            broken += 1
        except Exception as error:
            raise AssertionError(name) from error
    assert len(chosen) > 40
    assert broken <= 4


def test_cases_with_bodies_compiled():
    """Control flow, sequences and optionals: what can't be part of a graph breaks it, and runs in eager mode."""
    kinds = ("node/if", "node/loop", "node/optional", "node/sequence_insert", "node/range_")
    chosen = {name: case for name, case in cases().items() if name.startswith(kinds)}
    assert len(chosen) > 15
    for name, case in chosen.items():
        try:
            run(case, rushlight.compile)
        except Exception as error:
            raise AssertionError(name) from error


def small_model():
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="product", transB=1)
    weight = onnx.numpy_helper.from_array(np.eye(3, dtype=np.float32) * 2, "w")
    ends = [helper.make_tensor_value_info(name, 1, ["N", 3]) for name in "xy"]
    return helper.make_model(helper.make_graph([node], "graph", ends[:1], ends[1:], [weight]), opset_imports=[helper.make_opsetid("", 17)])


class TestInterface:
    def test_prepare_and_run(self):
        prepared = backend.prepare(small_model(), "CPU")
        x = np.ones((2, 3), np.float32)
        for given in ([x], (x,), {"x": x}, x):
            found = prepared.run(given)
            assert isinstance(found, tuple)
            np.testing.assert_array_equal(found.y, 2 * x)
        with pytest.raises(ValueError, match="1 inputs, not 2"):
            prepared.run([x, x])

    def test_run_model_and_node(self):
        x = np.array([-1.0, 2.0], np.float32)
        assert backend.run_model(small_model(), [np.ones((1, 3), np.float32)])[0].tolist() == [[2.0, 2.0, 2.0]]
        assert backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [x])[0].tolist() == [0.0, 2.0]
        assert backend.run_node(helper.make_node("Clip", ["x"], ["y"], max=1.0), {"x": x}, opset_version=6)[0].tolist() == [-1.0, 1.0]

    def test_what_is_supported(self):
        assert backend.supports_device("CPU")
        assert not backend.supports_device("TPU")
        assert backend.is_compatible(small_model())
        unknown = small_model()
        unknown.graph.node[0].op_type = "Unknown"
        assert not backend.is_compatible(unknown)
        with pytest.raises(ValueError, match="TPU"):
            backend.prepare(small_model(), "TPU")
