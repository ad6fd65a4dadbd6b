"""Quantized tensors as inputs and results of exported files: integers, scale and zero point, as PyTorch's TorchScript exporter has them."""

import io

import numpy as np
import onnx
import onnxruntime
import pytest

import rushlight as torch
from rushlight.onnx import verification


def exported(model, *args, **options):
    stream = io.BytesIO()
    torch.onnx.export(model, args, stream, dynamo=False, opset_version=14, **options)
    return stream.getvalue()


def run(data, *tensors):
    """Run a file on quantized tensors; its results as arrays."""
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    arrays = [part for each in tensors for part in (each.int_repr().numpy(), np.float64(each.q_scale()), np.int64(each.q_zero_point()))]
    return session.run(None, {each.name: np.asarray(array) for each, array in zip(session.get_inputs(), arrays)})


def quantized(scale, zero_point, dtype=torch.quint8, seed=0):
    torch.manual_seed(seed)
    return torch.quantize_per_tensor(torch.randn(2, 3), scale, zero_point, dtype)


def test_names_and_types_of_a_quantized_input_and_result():
    graph = onnx.load_from_string(exported(lambda x: x.reshape(-1), quantized(0.1, 128), input_names=["x"])).graph
    kinds = onnx.TensorProto
    assert [(each.name, each.type.tensor_type.elem_type) for each in graph.input] == [
        ("x", kinds.UINT8),
        ("x_scale", kinds.DOUBLE),
        ("x_zero_point", kinds.INT64),
    ]
    assert [each.type.tensor_type.elem_type for each in graph.output] == [kinds.UINT8, kinds.FLOAT, kinds.UINT8]


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8])
@pytest.mark.parametrize("model", [lambda x: x.reshape(-1), torch.relu, lambda x: torch.nn.functional.hardtanh(x, -1.0, 1.0)])
def test_the_file_holds_for_other_scales(model, dtype):
    middle = 128 if dtype is torch.quint8 else 3
    data = exported(model, quantized(0.1, middle, dtype))
    other = quantized(0.03, middle - 2, dtype, seed=1)
    expected = model(other)
    integers, scale, zero_point = run(data, other)
    np.testing.assert_array_equal(integers, expected.int_repr().numpy())
    assert scale == np.float32(expected.q_scale()) and zero_point == expected.q_zero_point()


def test_two_inputs_that_are_one_tensor_in_the_example():
    x = quantized(0.1, 128)
    data = exported(lambda a, b: a.dequantize() - 2 * b.dequantize(), x, x)
    a, b = quantized(0.1, 128, seed=2), quantized(0.2, 120, seed=3)
    np.testing.assert_allclose(run(data, a, b)[0], (a.dequantize() - 2 * b.dequantize()).numpy(), rtol=1e-6, atol=1e-6)


def test_modules_of_quantized_layers_are_verified():
    layer = torch.ao.nn.quantized.Linear(4, 8)
    layer.set_weight_bias(
        torch.quantize_per_tensor(torch.arange(32, dtype=torch.float32).view(8, 4), 0.5, 0, torch.qint8),
        torch.arange(8, dtype=torch.float32),
    )
    x = torch.quantize_per_tensor(torch.arange(16, dtype=torch.float32).view(4, 4) - 8, 0.5, 128, torch.quint8)
    verification.verify(layer, (x,), opset_version=14)
    nodes = [each.op_type for each in onnx.load_from_string(exported(layer, x)).graph.node]
    assert nodes.count("QuantizeLinear") == 1  # the result is not rounded twice


def test_a_scale_for_each_channel_is_refused():
    x = torch.quantize_per_channel(torch.ones(2, 3), torch.tensor([0.1, 0.2]), torch.tensor([0, 0]), 0, torch.quint8)
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="for each channel"):
        exported(lambda x: x.dequantize(), x)
