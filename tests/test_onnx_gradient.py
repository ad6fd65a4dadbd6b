"""Gradients as ONNX files, run in ONNX Runtime against the engine."""

from __future__ import annotations

import onnxruntime
import pytest
from onnx_gradients import gradient_outcomes
from support.onnx_files import onnx_session
from training_models import Rounded

import rushlight as torch
from rushlight import nn
from rushlight.core.declare import table
from rushlight.onnx import export_gradient
from rushlight.onnx.errors import ExportInputError

onnxruntime.set_default_logger_severity(4)


# -- gradients ---------------------------------------------------------------------------------------------------


def test_gradient_of_inputs(tmp_path):
    def program(x, y, count):
        return (Rounded.apply(x) * y.exp()).sum() / count.sum(), x + 1

    x, y, count = torch.randn(3, 4), torch.randn(4), torch.tensor([2, 3])
    exported = export_gradient(program, (x, y, count), tmp_path / "gradient.onnx", dynamic_axes={"x": {0: "n"}})
    assert [each.name for each in exported.model_proto.graph.output] == ["output_0", "output_1", "x.grad", "y.grad"]
    x = torch.randn(5, 4, requires_grad=True)
    y.requires_grad_()
    value, other = program(x, y, count)
    expected = [value, other, *torch.autograd.grad(value, (x, y))]
    for got, want in zip(exported.run(x, y, count), expected, strict=True):
        torch.testing.assert_close(got, want.detach(), rtol=1e-5, atol=1e-6)
    session = onnx_session(tmp_path / "gradient.onnx")
    assert [each.name for each in session.get_inputs()] == ["x", "y", "count"]


def test_gradient_by_what(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    loss = lambda x: model(x).square().mean()
    x = torch.randn(4, 3)

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(x).square().mean()

    for wrt, names in (
        (None, ["x"]), ("parameters", [f"model.{name}" for name, _ in model.named_parameters()]), (["model.2.bias", 0], ["model.2.bias", "x"]),
    ):  # fmt: skip
        exported = export_gradient(Loss(), x, wrt=wrt)
        assert [each.name for each in exported.model_proto.graph.output][1:] == [f"{name}.grad" for name in names]
        given = x.clone().requires_grad_()
        known = {"x": given, **{f"model.{name}": each for name, each in model.named_parameters()}}
        expected = torch.autograd.grad(loss(given), [known[name] for name in names])
        for got, want in zip(exported.run(x)[1:], expected, strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-6)
    for wrt, words in (("z", "neither an input"), (3, "neither an input"), ([], "wrt is empty")):
        with pytest.raises(ExportInputError, match=words):
            export_gradient(Loss(), x, wrt=wrt)
    with pytest.raises(ExportInputError, match="there are none"):
        export_gradient(loss, x, wrt="parameters")
    with pytest.raises(ExportInputError, match="no floating-point numbers"):
        export_gradient(lambda x: x.sum() * 1.0, torch.tensor([1, 2]), wrt="x")
    with pytest.raises(ExportInputError, match=r"the first output has the shape \(4, 1\)"):
        export_gradient(model, x)
    with pytest.raises(TypeError, match="takes a Module or a function"):
        export_gradient(3, x)


def test_gradients_of_gradients():
    def penalty(x):
        (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return slope.square().sum()

    x = torch.randn(3, requires_grad=True)
    value, gradient = export_gradient(penalty, x.detach()).run(x)
    torch.testing.assert_close(value, penalty(x).detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(penalty(x), x)[0])
    plain = torch.onnx.export(lambda x: penalty(x.clone().requires_grad_()), x.detach())  # a gradient inside of a model
    torch.testing.assert_close(plain.run(x)[0], penalty(x).detach())


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_number_to_the_power_of_a_tensor(shape):
    x = torch.full(shape, 3.0)
    assert torch.allclose(torch.onnx.export(lambda x: 0.9**x, x).run(x)[0], 0.9**x)


def test_a_tensor_that_does_not_matter_has_zeros():
    found = export_gradient(lambda x, y: x.sum(), (torch.ones(2), torch.ones(3))).run(torch.ones(2), torch.ones(3))
    assert found[2].tolist() == [0.0, 0.0, 0.0]


FAKE = {
    "per tensor": lambda x, scale: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 20),
    "per channel": lambda x, scale: torch.fake_quantize_per_channel_affine(x, scale, torch.tensor([3, 0, 5], dtype=torch.int32), 0, 0, 20),
    "learned": lambda x, scale: torch._fake_quantize_learnable_per_tensor_affine(x, scale[:1], torch.tensor([3.0]), 0, 20, 1.0),
}


@pytest.mark.parametrize("name", FAKE)
def test_fake_quantization(name):
    torch.manual_seed(0)
    x, scale = torch.randn(3, 8), torch.tensor([0.1, 0.2, 0.3])
    loss = lambda x, scale: FAKE[name](x, scale).square().sum() + 0 * scale.sum()
    given = [x.clone().requires_grad_(), scale.clone().requires_grad_()]
    expected = torch.autograd.grad(loss(*given), given)
    for got, want in zip(export_gradient(loss, (x, scale)).run(x, scale)[1:], expected, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


# Ops whose gradients are ops of their own, with ONNX forms of their own.
DIFFERENTIATED = (
    "softmax log_softmax sum mean var std attention nn_functional_embedding embedding_bag nll_loss cross_entropy conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
    "adaptive_avg_pool2d adaptive_max_pool2d max_unpool2d fractional_max_pool2d interpolate layer_norm group_norm gelu silu "
    "lstm_layer gru_layer rnn_layer lstm gru rnn_tanh cumsum cumprod logcumsumexp prod sort topk max median quantile gather index_select "
    "index_put scatter_add affine_grid pow scaled_dot_product_attention"
).split()


# The number of hidden units is fixed; and resizing by a factor that leaves a size as it is, a limit of open sizes.
CLOSED = ("interpolate", "lstm_layer", "gru_layer", "rnn_layer", "lstm", "gru", "rnn_tanh")


OPENED = [(name, 20, True) for name in DIFFERENTIATED if name not in CLOSED]


@pytest.mark.parametrize("convolve", [torch.conv1d, torch.conv_transpose1d])
def test_a_convolution_of_no_images(convolve):
    """The weight's gradient is no convolution without channels, whose results ONNX Runtime leaves unwritten."""
    weight, empty = torch.randn(2, 2, 3), torch.zeros(0, 2, 5)
    loss = lambda x, w: convolve(x, w).sum()
    fixed = export_gradient(loss, (empty, weight))
    assert not any(node.op_type.startswith("Conv") and "Transpose" in node.input[0] for node in fixed.model_proto.graph.node)
    open_batch = export_gradient(loss, (torch.zeros(2, 2, 5), weight), dynamic_axes={"x": [0]})
    for exported in (fixed, open_batch):
        assert exported.run(empty, weight)[2].count_nonzero() == 0
    x = torch.randn(4, 2, 5)
    torch.testing.assert_close(open_batch.run(x, weight)[2], torch.autograd.grad(loss(x, weight.requires_grad_()), weight)[0])


@pytest.mark.parametrize("name, opset, dynamic", [(name, opset, False) for name in DIFFERENTIATED for opset in (13, 20)] + OPENED)
def test_gradients_of_ops(name, opset, dynamic):
    outcomes = gradient_outcomes(table[name], opset, dynamic)
    assert outcomes
    bad = [f"{sample}: {each}" for sample, each in outcomes if not each.startswith(("ok", "refused"))]
    assert not bad, "\n".join(bad)
    assert any(each == "ok" for _, each in outcomes)
    if not dynamic and name not in ("index_put",):  # with a mask, the shape of what is chosen depends on the data
        assert all(each == "ok" for _, each in outcomes), [each for _, each in outcomes if each != "ok"][:3]
