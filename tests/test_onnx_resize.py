"""``Resize`` of loaded ONNX files, whose sizes or scales are inputs."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("onnx") is None:
    pytest.skip("needs the package onnx", allow_module_level=True)

import onnx

import rushlight as torch
import rushlight.onnx
from rushlight.onnx.errors import UnsupportedModelError

HEADER = '<ir_version: 8, opset_import: ["": 18]>'
RESIZE = """ g (float[1,1,H,W] x, {kind} s) => (float[A,B,C,D] y) {{ y = Resize<mode = "linear">(x, , {place} s) }}"""


def test_sizes_that_inputs_determine_are_resized_to_in_the_next_file_too():
    loaded = torch.onnx.load(onnx.parser.parse_model(HEADER + RESIZE.format(kind="int64[4]", place=",")))
    x = torch.arange(24.0).reshape(1, 1, 4, 6)
    again, compiled = torch.onnx.load(torch.onnx.export(loaded, (x, torch.tensor([1, 1, 7, 9]))).model_proto), torch.compile(loaded)
    for sizes in ([1, 1, 7, 9], [1, 1, 3, 12], [1, 1, 4, 6]):
        expected = loaded(x, torch.tensor(sizes))
        assert list(expected.shape) == sizes
        for other in (again, compiled):
            torch.testing.assert_close(other(x, torch.tensor(sizes)), expected)


def test_scales_that_inputs_determine_are_refused_where_a_file_would_hold_them():
    loaded = torch.onnx.load(onnx.parser.parse_model(HEADER + RESIZE.format(kind="float[4]", place="")))
    x, compiled = torch.arange(24.0).reshape(1, 1, 4, 6), torch.compile(loaded)
    for scales in ([1.0, 1.0, 2.0, 1.5], [1.0, 1.0, 0.5, 3.0]):
        torch.testing.assert_close(compiled(x, torch.tensor(scales)), loaded(x, torch.tensor(scales)))
    with pytest.raises(UnsupportedModelError, match="scales follow from the inputs"):
        torch.onnx.export(loaded, (x, torch.tensor([1.0, 1.0, 2.0, 1.5])))
