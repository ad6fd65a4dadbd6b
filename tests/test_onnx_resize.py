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


MODES = [
    'mode = "linear"',
    'mode = "linear", coordinate_transformation_mode = "align_corners"',
    'mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"',
    'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"',
    'mode = "nearest"',
    'mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel"',
    'mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1',
]


@pytest.mark.parametrize("mode", MODES)
def test_scales_that_inputs_determine_are_inputs_of_the_next_file_too(mode):
    text = f" g (float[1,1,H,W] x, float[4] s) => (float[A,B,C,D] y) {{ y = Resize<{mode}>(x, , s) }}"
    loaded = torch.onnx.load(onnx.parser.parse_model(HEADER + text))
    x, example = torch.arange(24.0).reshape(1, 1, 4, 6).sin(), torch.tensor([1.0, 1.0, 2.0, 1.5])
    again, compiled = torch.onnx.load(torch.onnx.export(loaded, (x, example)).model_proto), torch.compile(loaded)
    for scales in ([1.0, 1.0, 2.0, 1.5], [1.0, 1.0, 0.5, 3.0], [1.0, 1.0, 0.3, 1.0], [2.0, 1.0, 1.0, 1.0]):
        expected = loaded(x, torch.tensor(scales))
        for other in (again, compiled):
            torch.testing.assert_close(other(x, torch.tensor(scales)), expected, rtol=1e-4, atol=1e-5)


def test_scales_that_follow_from_sizes():
    """Their product with a size is rounded to float32: 5 elements times 9 / 5 are 9."""
    text = """ g (float[1,1,H,W] x, float[1,1,P,Q] like) => (float[A,B,C,D] y) {
        a = Shape(x) b = Shape(like) c = Cast<to = 1>(a) d = Cast<to = 1>(b) s = Div(d, c) y = Resize<mode = "linear">(x, , s) }"""
    loaded = torch.onnx.load(onnx.parser.parse_model(HEADER + text))
    axes = {"x": {2: "H", 3: "W"}, "like": {2: "P", 3: "Q"}}
    x, like = torch.arange(30.0).reshape(1, 1, 6, 5), torch.zeros(1, 1, 11, 9)
    again = torch.onnx.load(torch.onnx.export(loaded, (x, like), dynamic_axes=axes).model_proto)
    for image, wanted in ((x, like), (x, torch.zeros(1, 1, 3, 20)), (x.mT, like)):
        expected = torch.nn.functional.interpolate(image, wanted.shape[2:], mode="bilinear")
        for model in (loaded, again, torch.compile(loaded)):
            torch.testing.assert_close(model(image, wanted), expected)


def test_upsample_by_an_input():
    header = '<ir_version: 8, opset_import: ["": 9]>'
    text = """ g (float[1,1,H,W] x, float[4] s) => (float[A,B,C,D] y) { y = Upsample<mode = "linear">(x, s) }"""
    loaded = torch.onnx.load(onnx.parser.parse_model(header + text))
    x = torch.arange(24.0).reshape(1, 1, 4, 6)
    again = torch.onnx.load(torch.onnx.export(loaded, (x, torch.tensor([1.0, 1.0, 2.0, 2.0]))).model_proto)
    for scales in ([1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 3.0, 1.5]):
        torch.testing.assert_close(again(x, torch.tensor(scales)), loaded(x, torch.tensor(scales)))


def test_antialias_by_an_input_is_refused_where_a_file_would_hold_the_scale():
    text = """ g (float[1,1,H,W] x, float[4] s) => (float[A,B,C,D] y) { y = Resize<mode = "linear", antialias = 1>(x, , s) }"""
    loaded = torch.onnx.load(onnx.parser.parse_model(HEADER + text))
    with pytest.raises(UnsupportedModelError, match="scales follow from the inputs, with antialias"):
        torch.onnx.export(loaded, (torch.arange(24.0).reshape(1, 1, 4, 6), torch.tensor([1.0, 1.0, 2.0, 1.5])))
