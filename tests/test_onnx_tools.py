"""ONNX files as the tools of other projects write them: what they do otherwise than the standard says, and ONNX Runtime's operators."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("onnx") is None:
    pytest.skip("needs the package onnx", allow_module_level=True)

import onnx

import rushlight
import rushlight.onnx
from rushlight.onnx.errors import ExportInputError, ModelFileError, UnsupportedModelError
from rushlight.onnx.load.strings import Strings


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


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "float"])
def test_products_with_weights_of_a_few_bits(bits, zeros):
    """Blocks of 8 columns along 20; the last one is filled up."""
    rushlight.manual_seed(0)
    rows, columns, size, per_byte = 3, 20, 8, 8 // bits
    numbers = rushlight.randint(0, 1 << bits, (rows, 24))
    data = sum(numbers[:, at::per_byte] << (at * bits) for at in range(per_byte)).to(rushlight.uint8).reshape(rows, 3, -1)
    scales, offsets = rushlight.rand(rows, 3) + 0.5, rushlight.randint(0, 1 << bits, (rows, 3))
    wide = rushlight.cat([offsets, rushlight.zeros(rows, -3 % per_byte, dtype=rushlight.int64)], 1)
    packed = sum(wide[:, at::per_byte] << (at * bits) for at in range(per_byte)).to(rushlight.uint8)
    given = {"none": (), "packed": (packed,), "float": (offsets.float(),)}[zeros]
    kind = {"none": "", "packed": f", uint8[{','.join(map(str, packed.shape))}] z", "float": ", float[3,3] z"}[zeros]
    text = f"""<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        g (float[N,20] x, uint8[3,3,{size // per_byte}] w, float[3,3] s{kind}) => (float[N,3] y) {{
        y = com.microsoft.MatMulNBits<K = 20, N = 3, bits = {bits}, block_size = {size}>(x, w, s{", z" if given else ""}) }}"""
    loaded, x = rushlight.onnx.load(onnx.parser.parse_model(text)), rushlight.randn(2, columns)
    shift = (offsets if given else rushlight.full((rows, 3), 1 << (bits - 1))).unsqueeze(-1)
    weight = ((numbers.reshape(rows, 3, size) - shift) * scales.unsqueeze(-1)).reshape(rows, 24)[:, :columns]
    expected = x @ weight.T
    again = rushlight.onnx.load(rushlight.onnx.export(loaded, (x, data, scales, *given)).model_proto)
    for model in (loaded, rushlight.compile(loaded, fullgraph=True), again):
        assert rushlight.allclose(model(x, data, scales, *given), expected, rtol=1e-4, atol=1e-4)


def test_rows_of_a_table_of_four_bits():
    numbers, scales = rushlight.arange(24).reshape(3, 8) % 16, rushlight.rand(3, 2) + 0.5
    data = (numbers[:, 0::2] | (numbers[:, 1::2] << 4)).to(rushlight.uint8)
    text = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> g (uint8[3,4] d, int64[2,2] i, float[3,2] s) => (float[2,2,8] y) {
        y = com.microsoft.GatherBlockQuantized<bits = 4, block_size = 4, gather_axis = 0, quantize_axis = 1>(d, i, s) }"""
    loaded, rows = rushlight.onnx.load(onnx.parser.parse_model(text)), rushlight.tensor([[2, 0], [1, 2]])
    table = (numbers - 8) * scales.repeat_interleave(4, 1)
    assert rushlight.allclose(loaded(data, rows, scales), table[rows])


def test_strings_that_are_inputs_are_refused_in_exports():
    """The encoder of an example's strings would be a constant of the file."""
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]> g (string[N] x) => (float[N,2] y) {
        y = ai.onnx.ml.OneHotEncoder<cats_strings = ["a", "b"]>(x) }"""
    loaded, x = rushlight.onnx.load(onnx.parser.parse_model(text)), Strings(["b", "a"])
    assert loaded(x).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(ExportInputError, match="a tensor of strings"):
        rushlight.onnx.export(loaded, (x,))
