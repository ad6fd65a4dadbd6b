"""``torch.ops.quantized_decomposed`` and ``torch.ops.prims``: numbers, refusals and graphs (expected values: PyTorch 2.13)."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.fx.quantization import decomposed

q = torch.ops.quantized_decomposed
prims = torch.ops.prims
X = torch.tensor([[-3.0, -0.26, 0.125], [0.4, 1.0, 7.9]])
INTEGERS = torch.tensor([[-100, 0, 3], [7, 64, 127]], dtype=torch.int8)


def test_values_are_quantized_by_one_scale() -> None:
    expected = [[-9, 2, 3], [5, 7, 35]]
    made = q.quantize_per_tensor.default(X, 0.25, 3, -128, 127, torch.int8)
    assert made.dtype == torch.int8 and made.tolist() == expected
    scale, zero, low, high = torch.tensor(0.25), torch.tensor(3), torch.tensor(-128), torch.tensor(127)
    assert q.quantize_per_tensor(X, scale, zero, -128, 127, torch.int8).tolist() == expected
    assert q.quantize_per_tensor.tensor2(X, scale, zero, low, high, torch.int8).tolist() == expected
    assert q.quantize_per_tensor(X.bfloat16(), 0.25, 3, 0, 20, torch.uint8).tolist() == [[0, 2, 3], [5, 7, 20]]


def test_values_are_dequantized_by_one_scale() -> None:
    made = q.dequantize_per_tensor.default(INTEGERS, 0.25, 3, -128, 127, torch.int8)
    assert made.dtype == torch.float32 and made.tolist() == [[-25.75, -0.75, 0.0], [1.0, 15.25, 31.0]]
    half = q.dequantize_per_tensor(INTEGERS, torch.tensor(0.25), torch.tensor(3), -128, 127, torch.int8, out_dtype=torch.float16)
    assert half.dtype == torch.float16 and half.tolist() == made.tolist()


def test_values_are_quantized_along_an_axis() -> None:
    scales, zeros = torch.tensor([0.5, 0.25, 2.0]), torch.tensor([1, -1, 0])
    made = q.quantize_per_channel(X, scales, zeros, 1, -128, 127, torch.int8)
    assert made.tolist() == [[-5, -2, 0], [2, 3, 4]]
    assert q.quantize_per_channel(X, scales, zeros, -1, -128, 127, torch.int8).tolist() == made.tolist()
    assert q.dequantize_per_channel(made, scales, zeros, 1, -128, 127, torch.int8).tolist() == [[-3.0, -0.25, 0.0], [0.5, 1.0, 8.0]]
    assert q.dequantize_per_channel(made, scales, None, 1, -128, 127, torch.int8).tolist() == [[-2.5, -0.5, 0.0], [1.0, 0.75, 8.0]]


def test_parameters_suit_the_values() -> None:
    scale, zero = q.choose_qparams.tensor(X, 0, 255, 1e-8, torch.uint8)
    assert (scale.dtype, zero.dtype, zero.tolist()) == (torch.float64, torch.int64, [70])
    assert scale.item() == pytest.approx(10.9 / 255, rel=1e-6)
    scale, zero = q.choose_qparams_symmetric.tensor(X, -128, 127, 1e-8, torch.int8)
    assert scale.item() == pytest.approx(7.9 / 127.5, rel=1e-6) and zero.tolist() == [0]
    scale, zero = q.choose_qparams.tensor(X.bfloat16(), 0, 255, 1e-8, torch.uint8)
    assert (scale.tolist(), zero.tolist()) == ([0.042724609375], [70])  # rounded to bfloat16
    scale, zero = q.choose_qparams_per_token_asymmetric(X, torch.int8)
    assert scale.flatten().tolist() == pytest.approx([3.125 / 255, 7.9 / 255], rel=1e-6) and zero.flatten().tolist() == [117, -128]
    assert q.choose_qparams.tensor(X.to("meta"), 0, 255, 1e-8, torch.uint8)[1].dtype == torch.int64


def test_values_are_quantized_by_groups_and_rows() -> None:
    scales, zeros = torch.tensor([[0.5], [0.25]]), torch.tensor([[1], [0]])
    assert q.quantize_per_token(X, scales, zeros, -128, 127, torch.int8).tolist() == [[-5, 0, 1], [2, 4, 32]]
    assert q.quantize_per_channel_group(X, scales, zeros, -8, 7, torch.int8, 128).tolist() == [[-5, 0, 1], [2, 4, 7]]
    made = q.dequantize_per_channel_group(INTEGERS, scales, None, -8, 7, torch.int8, 3, torch.bfloat16)
    assert made.dtype == torch.bfloat16 and made.tolist() == [[-50.0, 0.0, 1.5], [1.75, 16.0, 31.75]]


def test_fake_quantization_along_an_axis_has_a_gradient() -> None:
    x = X.clone().requires_grad_()
    made = q.fake_quant_per_channel(x, torch.tensor([0.5, 0.25]), torch.tensor([1, 0]), 0, -4, 7)
    made.sum().backward()
    assert made.tolist() == [[-2.5, -0.5, 0.0], [0.5, 1.0, 1.75]]
    assert x.grad is not None and x.grad.tolist() == [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]


def test_ranges_and_dtypes_are_checked() -> None:
    with pytest.raises(AssertionError, match="quant_max out of bounds for dtype, quant_max_upper_bound: 255 quant_max: 256"):
        q.quantize_per_tensor(X, 0.5, 0, 0, 256, torch.uint8)
    with pytest.raises(AssertionError, match="Expecting input to have dtype torch.float32, but got dtype: torch.float64"):
        q.quantize_per_tensor(X.double(), 0.5, 0, 0, 255, torch.uint8)
    with pytest.raises(AssertionError, match="to be one element, but received : 2"):
        q.quantize_per_tensor(X, torch.ones(2), torch.tensor(0), 0, 255, torch.uint8)
    with pytest.raises(AssertionError, match="Expecting axis to be < 2"):
        q.quantize_per_channel(X, torch.ones(3), torch.zeros(3), 2, 0, 255, torch.uint8)


def test_an_exported_graph_holds_the_ops() -> None:
    class Quantized(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = q.quantize_per_tensor.default(x, 0.25, 3, -128, 127, torch.int8)
            return q.dequantize_per_tensor.default(made, 0.25, 3, -128, 127, torch.int8)

    program = torch.export.export(Quantized(), (X,))
    targets = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert targets == [q.quantize_per_tensor.default, q.dequantize_per_tensor.default]
    assert program.module()(X).tolist() == torch.compile(Quantized())(X).tolist() == Quantized()(X).tolist()


def test_the_library_is_there_by_its_name_and_schemas() -> None:
    assert decomposed.quantized_decomposed_lib.ns == "quantized_decomposed"
    assert sorted(q.quantize_per_tensor.overloads()) == ["default", "tensor", "tensor2"]
    text = "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, "
    assert str(q.dequantize_per_channel.default._schema) == text + "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"


def test_primitives_neither_broadcast_nor_promote() -> None:
    assert prims.add(X, X).tolist() == (X + X).tolist()
    with pytest.raises(RuntimeError, match="Tensor with dtype torch.float64 is not the expected dtype of torch.float32!"):
        prims.add(X, X.double())
    with pytest.raises(RuntimeError, match="is not the expected shape"):
        prims.mul(X, X[0])


def test_primitives_compute() -> None:
    made = prims.convert_element_type.default(X, torch.float32)
    assert made.tolist() == X.tolist() and made.data_ptr() != X.data_ptr()
    assert str(prims.convert_element_type.default) == "prims.convert_element_type.default"
    assert prims.div(torch.tensor([7, -7]), torch.tensor([2, 2])).tolist() == [3, -3]
    assert prims.sum(X, []).item() == pytest.approx(6.165) and prims.prod(INTEGERS, [0]).tolist() == [-700, 0, 381]
    assert prims.broadcast_in_dim(X, [2, 4, 3], [0, 2]).stride() == (3, 0, 1)
    assert prims.split_dim(X, 1, 3).shape == (2, 3, 1) and prims.collapse(X, 0, 1).shape == (6,)
    assert prims.iota(4, start=1, step=2, dtype=torch.int64, device="cpu", requires_grad=False).tolist() == [1, 3, 5, 7]
    assert (prims.minimum_value(torch.int8), prims.maximum_value(torch.bool)) == (-128, True)
    assert prims.shift_left(torch.tensor([1]), torch.tensor([3])).tolist() == [8]
    with pytest.raises(AttributeError):
        prims.no_such_primitive
