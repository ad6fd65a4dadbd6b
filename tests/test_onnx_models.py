"""Whole models, exported with open sizes and run in ONNX Runtime at other sizes than the example's."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from models import GPT, Bags, ResNet, Tagger, UNet, ViT
from support.onnx_files import onnx_session

import rushlight as torch
import rushlight.onnx

onnxruntime.set_default_logger_severity(4)


def tokens(batch, length, vocabulary=20):
    return torch.randint(1, vocabulary, (batch, length))


MODELS = {
    "resnet": (ResNet, {"x": {0: "N", 2: "H", 3: "W"}}, lambda n, s: (torch.randn(n, 3, 32 * s, 32),), [(2, 1), (1, 1), (3, 2)]),
    "gpt": (GPT, {"tokens": {0: "N", 1: "L"}}, lambda n, s: (tokens(n, s),), [(2, 8), (1, 1), (3, 20)]),
    "vit": (ViT, {"x": {0: "N"}}, lambda n, s: (torch.randn(n, 3, 16, 16),), [(2, 1), (1, 1), (5, 1)]),
    "unet": (UNet, {"x": {0: "N", 2: "H", 3: "W"}}, lambda n, s: (torch.randn(n, 3, 8 * s, 16),), [(2, 1), (1, 3)]),
    "tagger": (
        Tagger, {"tokens": {0: "N", 1: "L"}, "lengths": {0: "N"}},
        lambda n, s: (tokens(n, s), torch.tensor([s] + [max(1, s - 2 * i - 1) for i in range(n - 1)])), [(2, 6), (4, 9), (1, 3)],
    ),
    "bags": (Bags, {"words": {0: "N", 1: "L"}}, lambda n, s: (tokens(n, s, 30),), [(2, 3), (4, 7)]),
}  # fmt: skip


@pytest.mark.parametrize("opset", [11, 17, 20, 21])
@pytest.mark.parametrize("name", MODELS)
def test_model_at_other_sizes(name, opset, tmp_path):
    make, axes, inputs, sizes = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    path = tmp_path / "model.onnx"
    rushlight.onnx.export(model, inputs(*sizes[0]), path, opset_version=opset, dynamic_axes=axes)
    exported = onnx.load(path)
    assert {node.domain for node in exported.graph.node} == {""}
    session = onnx_session(path)
    for size in sizes:
        args = inputs(*size)
        expected = model(*args)
        expected = expected if isinstance(expected, tuple) else (expected,)
        got = session.run(None, {each.name: arg.numpy() for each, arg in zip(session.get_inputs(), args)})
        assert len(got) == len(expected)
        for result, want in zip(got, expected):
            np.testing.assert_allclose(result, want.detach().numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_static_model_has_known_shapes(name):
    make, _, inputs, sizes = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    args = inputs(*sizes[0])
    program = rushlight.onnx.export(model, args)
    results = program.run(*args)
    for value, result in zip(program.model_proto.graph.output, results):
        dims = value.type.tensor_type.shape.dim
        for dim, size in zip(dims, result.shape):
            assert dim.dim_value == size or dim.dim_param  # open only where it depends on the data
