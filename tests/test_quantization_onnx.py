"""Quantized models captured, saved, and exported: QuantizeLinear and DequantizeLinear around float ops."""

from __future__ import annotations

import io
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
from quantization_programs import branches
from support.onnx_files import run_onnx

import rushlight as torch
from rushlight import nn
from rushlight.ao import quantization as Q
from rushlight.nn import functional as F
from rushlight.onnx import OperatorExportTypes


def run_unoptimized(model, x):
    """Without ONNX Runtime's optimizations: its own integer kernels round once more than these."""
    return run_onnx(model, x, optimize=False)[0]


onnxruntime.set_default_logger_severity(4)
OPSETS = (9, 10, 11, 13, 17, 19, 21)


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def exported(model, x, **options):
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (x,), buffer, input_names=["x"], **options)
    return onnx.load_from_string(buffer.getvalue())


def kinds(model):
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


def converted(model, x, qconfig=None, fused=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Q.QuantWrapper(model).eval()
        model.qconfig = qconfig or Q.get_default_qconfig("fbgemm")
        if fused:
            model = Q.fuse_modules(model, fused)
        prepared = Q.prepare(model)
        prepared(x)
        return Q.convert(prepared)


def network():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5), nn.Sigmoid()
    )


def reloaded(model, x):
    """A model traced, saved and loaded."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(model, x), buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


FUNCTIONS = {
    "fake": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 7, 0, 255), 0.1),
    "fake signed": (lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(7), -128, 127), 0.1),
    "fake narrow": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 7, 0, 31), 0.1),
    "fake channels": (
        lambda x: torch.fake_quantize_per_channel_affine(
            x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1, 2, 3], dtype=torch.int32), 0, -128, 127
        ),
        0.3,
    ),
    "tensor": (lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).dequantize(), 0.1),
    "channels": (
        lambda x: torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1, 2, 3]), 0, torch.qint8).dequantize(), 0.3
    ),
    "operations": (
        lambda x: torch.ops.quantized.cat(
            [torch.quantize_per_tensor(x, 0.1, 100, torch.quint8).relu(),
             torch.ops.quantized.mul_scalar(torch.quantize_per_tensor(x, 0.1, 100, torch.quint8), -0.5),
             torch.ops.quantized.add_scalar(torch.quantize_per_tensor(x, 0.1, 100, torch.quint8), 1.0)], 1, 0.05, 60,
        ).clamp(-1, 1).t().dequantize(), 0.05
    ),
    "resize": (
        lambda x: F.interpolate(
            torch.quantize_per_tensor(x.unsqueeze(0).unsqueeze(0), 0.1, 100, torch.quint8), size=(5, 5), mode="bilinear"
        ).dequantize(), 0.1
    ),
}  # fmt: skip


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, opset):
    function, quantum = FUNCTIONS[name]
    x = torch.from_numpy(np.random.default_rng(1).normal(0, 2, (3, 4)).astype(np.float32))
    model = exported(Call(function), x, opset_version=opset)
    assert np.abs(run_unoptimized(model, x) - function(x).numpy()).max() <= quantum * 1.001
    by_channel = "channels" in name
    assert ("QuantizeLinear" in kinds(model)) == (opset >= (13 if by_channel else 10))


def test_the_plain_pair_and_its_integers():
    x = torch.randn(3, 4)
    assert kinds(exported(Call(FUNCTIONS["fake"][0]), x, opset_version=13)) == ["QuantizeLinear", "DequantizeLinear"]
    integers = Call(lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.qint8).int_repr())
    model = exported(integers, x, opset_version=13)
    assert kinds(model) == ["QuantizeLinear"] and np.abs(run_unoptimized(model, x).astype(int) - integers(x).numpy().astype(int)).max() <= 1


@pytest.mark.parametrize("backend", ["fbgemm", "qnnpack"])
@pytest.mark.parametrize("opset", OPSETS)
def test_a_quantized_network(opset, backend):
    x = torch.randn(2, 3, 8, 8)
    model = converted(network(), x, Q.get_default_qconfig(backend), [["module.0", "module.1"]])
    for each in (model, reloaded(model, x)):
        made = exported(each, x, opset_version=opset, dynamic_axes={"x": {0: "batch"}})
        assert np.abs(run_unoptimized(made, x) - model(x).numpy()).max() <= 1.001 / 256
        more = torch.randn(5, 3, 8, 8)
        assert np.abs(run_unoptimized(made, more) - model(more).numpy()).max() <= 1.001 / 256
    if opset >= 13:
        assert {"QuantizeLinear", "DequantizeLinear", "Conv", "Gemm"} <= set(kinds(made))
        assert any(each.data_type == onnx.TensorProto.INT8 or each.dims for each in made.graph.initializer)


@pytest.mark.parametrize(
    ("model", "shape"),
    [(nn.Conv1d(3, 5, 2), (1, 3, 6)), (nn.Conv2d(3, 5, 2), (1, 3, 6, 6)), (nn.Conv3d(3, 5, 2, bias=True), (1, 3, 6, 6, 6)),
     (nn.Linear(4, 6), (2, 4)), (nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU()), (1, 2, 3, 3))],
    ids=["conv1d", "conv2d", "conv3d", "linear", "conv relu"],
)  # fmt: skip
def test_the_fallback_mode_at_opset_9(model, shape):
    """As programs of PyTorch's do it: prepared, converted without data, traced, saved, loaded, exported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = Q.QuantWrapper(model)
        wrapped.qconfig = Q.default_qconfig
        made = Q.convert(Q.prepare(wrapped))
    x = torch.from_numpy(np.random.default_rng(0).random(shape).astype(np.float32))
    loaded = reloaded(made, x)
    assert torch.equal(loaded(x), made(x))
    file = exported(loaded, x, operator_export_type=OperatorExportTypes.ONNX_ATEN_FALLBACK, opset_version=9)
    assert "ATen" not in kinds(file)
    assert np.abs(run_unoptimized(file, x) - made(x).numpy()).max() <= 1.001


def test_branches_trace_and_export():
    x = torch.randn(6, 5)
    model = converted(branches(torch), x, Q.default_qconfig)
    traced = torch.jit.trace(model, x)
    more = torch.randn(9, 5)
    assert torch.equal(traced(more), model(more))
    made = exported(model, x, opset_version=13)
    assert np.abs(run_unoptimized(made, x) - model(x).numpy()).max() <= model.module.cat.scale * 0.5001


@pytest.mark.parametrize("opset", [9, 13, 18])
def test_dynamic_layers(opset):
    model = Q.quantize_dynamic(nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)))
    x = torch.randn(3, 6)
    assert torch.equal(reloaded(model, x)(x), model(x))
    np.testing.assert_allclose(run_unoptimized(exported(model, x, opset_version=opset), x), model(x).numpy(), atol=1e-5)
    recurrent = Q.quantize_dynamic(nn.Sequential(nn.LSTM(3, 4, 2, bidirectional=True)))
    x, longer = torch.randn(5, 2, 3), torch.randn(8, 2, 3)
    traced = reloaded(recurrent, x)
    assert torch.equal(traced(longer)[0], recurrent(longer)[0])  # one node: the length is not fixed
    np.testing.assert_allclose(run_unoptimized(exported(recurrent, x, opset_version=opset), x), recurrent(x)[0].numpy(), atol=1e-4)


def test_a_model_trained_for_quantization():
    model = nn.Sequential(Q.QuantStub(), nn.Linear(4, 3), Q.DeQuantStub()).train()
    model.qconfig = Q.get_default_qat_qconfig("fbgemm")
    model = Q.prepare_qat(model)
    model(torch.randn(8, 4))
    model.eval().apply(Q.disable_observer)
    x = torch.randn(2, 4)
    made = exported(model, x, opset_version=13)
    assert kinds(made).count("QuantizeLinear") == 3
    assert np.abs(run_unoptimized(made, x) - model(x).detach().numpy()).max() <= model[1].activation_post_process.scale.item() * 1.001


def test_a_straight_through_function_with_a_symbolic():
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale, zero_point):
            return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, -128, 127)

        @staticmethod
        def backward(ctx, grad):
            return grad, None, None

        @staticmethod
        def symbolic(g, x, scale, zero_point):
            step = g.op("Constant", value_t=torch.tensor(scale))
            zero = g.op("Constant", value_t=torch.tensor(zero_point, dtype=torch.int8))
            return g.op("DequantizeLinear", g.op("QuantizeLinear", x, step, zero), step, zero)

    x = torch.randn(3, 4, requires_grad=True)
    model = Call(lambda x: Round.apply(x, 0.05, 3) * 2)
    model(x).sum().backward()
    assert x.grad.unique().tolist() == [2.0]
    made = exported(model, x, opset_version=13)
    assert kinds(made) == ["QuantizeLinear", "DequantizeLinear", "Mul"]
    assert np.abs(run_unoptimized(made, x.detach()) - model(x).detach().numpy()).max() <= 0.1001


@pytest.mark.parametrize(("kind", "number"), [(torch.float8_e4m3fn, 17), (torch.float8_e5m2, 19)])
def test_eight_bit_floats(kind, number):
    class Narrow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return (x / scale).to(kind).float() * scale

        @staticmethod
        def symbolic(g, x, scale):
            step = g.op("Constant", value_t=torch.tensor(scale))
            zero = g.op("Constant", value_t=torch.tensor(0.0).to(kind))
            return g.op("DequantizeLinear", g.op("QuantizeLinear", x, step, zero), step, zero)

    x = torch.randn(3, 4)
    model = exported(Call(lambda x: Narrow.apply(x, 0.5)), x, opset_version=19)
    assert kinds(model) == ["QuantizeLinear", "DequantizeLinear"]
    constants = [node.attribute[0].t.data_type for node in model.graph.node if node.op_type == "Constant"]
    assert number in constants
    np.testing.assert_allclose(run_unoptimized(model, x), Narrow.apply(x, 0.5).numpy(), rtol=1e-5)


def test_what_has_no_form_says_so():
    x = torch.randn(3, 4)
    with pytest.raises(RuntimeError, match="scale depends on the data"):
        exported(Call(lambda x: torch.quantize_per_tensor_dynamic(x, torch.quint8, False).dequantize()), x, opset_version=17)


def test_rewritten_layers_and_bags():
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = Q.QuantStub(), Q.DeQuantStub()
            self.lstm, self.attention = nn.LSTM(3, 4), nn.MultiheadAttention(4, 2)

        def forward(self, x):
            y, _ = self.lstm(self.quant(x))
            return self.dequant(y), self.dequant(self.attention(y, y, y)[0])

    torch.manual_seed(0)
    model, x = Layers().eval(), torch.randn(5, 2, 3)
    model.qconfig = Q.get_default_qconfig("fbgemm")
    prepared = Q.prepare(model)
    prepared(x)
    converted = Q.convert(prepared)
    exported = torch.onnx.export(converted, (x,), opset_version=17)
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in exported.model_proto.graph.node}
    for got, want in zip(exported.run(x), converted(x)):
        assert (got - want).abs().max() < 0.02
    for layer in (nn.EmbeddingBag(9, 12, mode="sum"), nn.Embedding(9, 12)):
        tables = nn.Sequential(layer).eval()
        tables[0].qconfig = Q.float_qparams_weight_only_qconfig
        converted = Q.convert(Q.prepare(tables))
        indices = torch.tensor([[1, 8], [3, 4]])
        exported = torch.onnx.export(converted, (indices,), opset_version=17)
        np.testing.assert_allclose(exported.run(indices)[0].numpy(), converted(indices).numpy(), rtol=1e-5, atol=1e-6)
    scale, zero = torch.tensor([0.0123, 0.031]), torch.tensor([26.83, 96.77])
    rows = torch.randn(2, 6)
    exported = torch.onnx.export(lambda x: torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 255), (rows,), opset_version=17)
    np.testing.assert_allclose(
        exported.run(rows)[0].numpy(), torch.fake_quantize_per_channel_affine(rows, scale, zero, 0, 0, 255).numpy(), rtol=1e-5, atol=1e-6
    )


class _RoundToGrid(torch.autograd.Function):
    """A user's quantizer: the gradient passes where the value is not clipped, and its ONNX form is QuantizeLinear, DequantizeLinear."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return torch.clamp(torch.round(x / scale), -128, 127) * scale

    @staticmethod
    def backward(ctx, gradient):
        x, scale = ctx.saved_tensors
        return gradient * ((x / scale).abs() <= 128), None

    @staticmethod
    def symbolic(g, x, scale):
        zero = g.op("Constant", value_t=torch.tensor(0, dtype=torch.int8))
        return g.op("DequantizeLinear", g.op("QuantizeLinear", x, scale, zero), scale, zero)


class _QuantizedWeights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("scale", torch.tensor(0.02))

    def forward(self, x):
        return torch.nn.functional.linear(x, _RoundToGrid.apply(self.linear.weight, self.scale), self.linear.bias)


@pytest.mark.parametrize("shape", [(2, 4), (2, 5, 4)])  # a Gemm, and a MatMul, for which the weight is transposed
def test_the_form_that_a_function_gives_a_weight_is_not_folded(shape):
    torch.manual_seed(0)
    model, file = _QuantizedWeights(), io.BytesIO()
    x = torch.randn(shape)
    torch.onnx.export(model, (x,), file)
    exported = onnx.load_from_string(file.getvalue())
    kinds = [node.op_type for node in exported.graph.node]
    assert "QuantizeLinear" in kinds and "DequantizeLinear" in kinds  # the accelerator that takes the file reads the scales there
    stored = {each.name: list(each.dims) for each in exported.graph.initializer}
    assert stored["linear.weight"] == [3, 4]
    np.testing.assert_allclose(run_unoptimized(file.getvalue(), x), model(x).detach().numpy(), atol=1e-6)


def test_straight_sigmoids_and_chunks_of_quantized_tensors():
    class Shuffled(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = Q.QuantStub(), Q.DeQuantStub()
            self.conv, self.gate = nn.Conv2d(2, 2, 1), nn.Hardsigmoid()

        def forward(self, x):
            first, second = self.quant(x).chunk(2, dim=1)
            y = torch.cat((first, self.conv(second)), 1)
            n, c, h, w = y.shape
            return self.dequant(self.gate(y.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)))

    torch.manual_seed(0)
    model, x = Shuffled().eval(), torch.randn(1, 4, 3, 3)
    model.qconfig = Q.get_default_qconfig("fbgemm")
    prepared = Q.prepare(model)
    prepared(x)
    converted = Q.convert(prepared)
    for opset in (13, 17):
        exported = torch.onnx.export(converted, (x,), None, opset_version=opset)
        np.testing.assert_allclose(exported.run(x)[0].numpy(), converted(x).numpy(), atol=1 / 256 + 1e-6)
