"""Attention and quantized layers of ONNX Runtime's own domain, as its tools write them: what is loaded computes what ONNX Runtime does, compiled and exported again, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from support.onnx_files import onnx_session

import rushlight as torch
import rushlight.onnx
from rushlight.onnx.errors import UnsupportedModelError

generator = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


def integers(*values: int, dtype: Any = np.int32) -> np.ndarray:
    return np.array(values, dtype)


def model_of(kind: str, inputs: list[np.ndarray | None], outputs: int, attributes: dict[str, Any]) -> onnx.ModelProto:
    """A file with one node; the last of three outputs may be of any shape."""
    names = ["" if each is None else f"x{at}" for at, each in enumerate(inputs)]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in zip(names, inputs)
        if each is not None
    ]
    results = [onnx.ValueInfoProto(name=f"y{at}") for at in range(outputs)]
    node = helper.make_node(kind, names, [each.name for each in results], domain="com.microsoft", **attributes)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "graph", given, results), opset_imports=opsets, ir_version=9)


def check(kind: str, inputs: list[np.ndarray | None], outputs: int = 1, tolerance: float = 1e-5, **attributes: Any) -> None:
    model = model_of(kind, inputs, outputs, attributes)
    given = [each for each in inputs if each is not None]
    session = onnx_session(model)
    wanted = session.run(None, dict(zip((each.name for each in session.get_inputs()), given)))
    loaded, tensors = rushlight.onnx.load(model), [torch.tensor(each) for each in given]
    for form in (loaded, torch.compile(loaded)):
        found = form(*tensors)
        for got, want in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            assert got.shape == want.shape and np.allclose(got.numpy(), want, atol=tolerance), (kind, attributes)
    again = rushlight.onnx.export(loaded, tuple(tensors), None, opset_version=17)
    assert not {each.domain for each in again.model_proto.graph.node} - {""}
    assert np.allclose(again.run(*tensors)[0].numpy(), wanted[0], atol=tolerance)


ROWS, WEIGHT, BIAS = numbers(2, 4, 8), numbers(8, 24), numbers(24)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_with_masks_and_a_cache(causal):
    past = numbers(2, 2, 2, 3, 4)
    for mask in (integers(3, 2), integers(3, 2, 0, 1), (numbers(2, 4, 4) > -0.5).astype(np.int32)):
        check("Attention", [ROWS, WEIGHT, BIAS, mask], num_heads=2, unidirectional=causal)
    check("Attention", [ROWS, WEIGHT, BIAS, None, past], 2, num_heads=2, unidirectional=causal)
    check("Attention", [ROWS, WEIGHT, BIAS, np.ones((2, 7), np.int32), past], 2, num_heads=2, unidirectional=causal)
    check("Attention", [ROWS, WEIGHT, BIAS], 2, num_heads=2, unidirectional=causal)


def test_quantized_attention():
    byte = lambda *shape: generator.integers(0, 255, shape).astype(np.uint8)
    scales, zero = [np.float32(0.02), np.float32(0.03)], np.uint8(120)
    inputs = [byte(2, 4, 8), byte(8, 24), BIAS, *map(np.asarray, scales), integers(3, 2), np.asarray(zero), np.asarray(zero)]
    check("QAttention", inputs, tolerance=1e-4, num_heads=2, unidirectional=1)


def test_attention_of_heads_with_a_cache():
    query, key, cache = numbers(2, 4, 8), numbers(2, 2, 5, 4), [numbers(2, 2, 3, 4), numbers(2, 2, 3, 4)]
    check("MultiHeadAttention", [query, key, key], num_heads=2)
    for causal in (0, 1):
        check("MultiHeadAttention", [query] * 3 + [None] * 3 + cache, 3, num_heads=2, unidirectional=causal)
    check("MultiHeadAttention", [query] * 3, 3, num_heads=2, scale=0.3)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotated_places(interleaved):
    places, tables = np.arange(4).reshape(1, 4).repeat(2, 0), [numbers(16, 4), numbers(16, 4)]
    check("RotaryEmbedding", [numbers(2, 4, 16), places, *tables], interleaved=interleaved)
    check("RotaryEmbedding", [numbers(2, 3, 4, 8), places, *tables], interleaved=interleaved)
    check("RotaryEmbedding", [numbers(2, 4, 16), integers(2, dtype=np.int64), *tables], interleaved=interleaved)
    halves = [each[:, :2] for each in tables]
    check("RotaryEmbedding", [numbers(2, 4, 16), places, *halves], interleaved=interleaved, num_heads=2, rotary_embedding_dim=4)


def test_groups_of_queries():
    rows, narrow, tables = numbers(2, 4, 64), [numbers(2, 4, 32), numbers(2, 4, 32)], [numbers(16, 8), numbers(16, 8)]
    lengths, total = integers(3, 3), np.asarray(np.int32(4))
    heads = {"num_heads": 4, "kv_num_heads": 2}
    check("GroupQueryAttention", [rows, *narrow, None, None, lengths, total], 3, **heads, local_window_size=3)
    check("GroupQueryAttention", [rows, *narrow, None, None, lengths, total, *tables], 3, **heads, do_rotary=1, rotary_interleaved=1)
    check("GroupQueryAttention", [numbers(2, 4, 128), None, None, None, None, lengths, total], 3, **heads, softcap=2.0, smooth_softmax=1)
    cache = [numbers(2, 2, 6, 16), numbers(2, 2, 6, 16)]
    step = [numbers(2, 1, 64), numbers(2, 1, 32), numbers(2, 1, 32), *cache, integers(6, 4), np.asarray(np.int32(7)), *tables]
    check("GroupQueryAttention", step, 3, **heads, do_rotary=1)


def test_activations_that_are_fused():
    a, b, c = numbers(3, 4), numbers(4, 5), numbers(5)
    for name, alpha, beta in [("LeakyRelu", 0.2, None), ("HardSigmoid", 0.2, 0.4), ("Elu", 0.7, None), ("Softplus", None, None), ("Softsign", None, None),
                              ("ThresholdedRelu", 0.5, None), ("ParametricSoftplus", 0.5, 0.4), ("ScaledTanh", 0.5, 0.4)]:  # fmt: skip
        given = {key: value for key, value in (("activation_alpha", alpha), ("activation_beta", beta)) if value is not None}
        check("FusedGemm", [a, b, c], activation=name, alpha=0.7, beta=1.2, **given)


def test_quantized_choices_and_convolutions_of_rows():
    byte = lambda *shape: generator.integers(0, 255, shape).astype(np.uint8)
    scale, zero = np.asarray(np.float32(0.02)), np.asarray(np.uint8(120))
    check(
        "QLinearWhere",
        [numbers(3, 4) > 0, byte(3, 4), scale, zero, byte(4), np.asarray(scale * 2), zero, np.asarray(scale * 3), zero],
        tolerance=1,
    )
    for last, shape in ((0, (1, 3, 6, 6)), (1, (1, 6, 6, 3))):
        parts = [byte(*shape), scale, zero, byte(4, 3, 3, 3), np.asarray(scale * 2), zero, np.asarray(scale * 90), zero]
        check("QLinearConv", parts, tolerance=1, channels_last=last)


def test_what_is_not_here_is_refused_by_name():
    with pytest.raises(UnsupportedModelError, match="MultiHeadAttention.*packed"):
        rushlight.onnx.load(model_of("MultiHeadAttention", [numbers(2, 4, 2, 3, 4)], 1, {"num_heads": 2}))(torch.ones(2, 4, 2, 3, 4))
    with pytest.raises(UnsupportedModelError, match="PackedAttention"):
        rushlight.onnx.load(model_of("PackedAttention", [ROWS], 1, {"num_heads": 2}))
