"""ONNX files as the tools of other projects write them: what they do otherwise than the standard says, and ONNX Runtime's operators."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("onnx") is None:
    pytest.skip("needs the package onnx", allow_module_level=True)

import onnx

import rushlight
import rushlight.onnx
from rushlight.onnx.errors import ModelFileError, UnsupportedModelError


def test_nodes_in_another_order_are_sorted():
    """ONNX Runtime's float16 converter writes the casts of inputs at the end; a body counts with what it takes from outside."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[N] x, bool c) => (float[N] y) {
        y = If (c) <then_branch = t () => (float[N] a) { a = Neg(h) }, else_branch = e () => (float[N] b) { b = Identity(h) }>
        h = Mul(k, x)
        k = Exp(x)
    }"""
    loaded, x = rushlight.onnx.load(onnx.parser.parse_model(text)), rushlight.tensor([1.0, 2.0])
    assert rushlight.allclose(loaded(x, rushlight.tensor(True)), -x.exp() * x)
    assert rushlight.allclose(loaded(x, rushlight.tensor(False)), x.exp() * x)
    circular = """<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Mul(z, x) z = Neg(y) }"""
    with pytest.raises(ModelFileError, match="cycle"):
        rushlight.onnx.load(onnx.parser.parse_model(circular))


def test_a_domain_without_a_version_is_of_the_first():
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[2,4] x, float[4] b) => (float[2,4] y) { y = com.microsoft.BiasGelu(x, b) }"""
    loaded, x = rushlight.onnx.load(onnx.parser.parse_model(text)), rushlight.randn(2, 4)
    assert rushlight.allclose(loaded(x, rushlight.ones(4)), rushlight.nn.functional.gelu(x + 1), atol=1e-6)


def test_dicts_of_a_classifier_are_refused_by_name_in_exports():
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]> g (float[N,2] x) => (seq(map(int64, float)) y) {
        y = ai.onnx.ml.ZipMap<classlabels_int64s = [3, 5]>(x) }"""
    loaded = rushlight.onnx.load(onnx.parser.parse_model(text))
    assert loaded(rushlight.tensor([[0.25, 0.75]])) == [{3: 0.25, 5: 0.75}]
    with pytest.raises(UnsupportedModelError, match="ZipMap.*a dict for each row"):
        rushlight.onnx.export(loaded, (rushlight.ones(1, 2),))
