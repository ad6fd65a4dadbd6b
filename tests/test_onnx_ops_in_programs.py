"""`torch.onnx.ops`: nodes of ONNX as operators of programs."""

from __future__ import annotations

import onnx
import pytest
from support.onnx_files import run_onnx

import rushlight as torch
from rushlight.compat import onnx_ops

LISTS = {"a": 1, "b": [1.0, 2.0], "c": "s", "d": True, "e": ["x", "y"], "f": [True]}


def foo(x):
    return (
        onnx_ops.symbolic("ai.custom::Foo", (x, None, x), LISTS, dtype=x.dtype, shape=(x.shape[0], 4), version=3, metadata_props={"k": "v"})
        + 1
    )


def test_a_node_by_its_name():
    x = torch.randn(2, 3)
    assert foo(x).tolist() == [[1.0] * 4] * 2
    for program in (foo, torch.export.export(type("Foo", (torch.nn.Module,), {"forward": lambda self, x: foo(x)})(), (x,))):
        model = torch.onnx.export(program, (x,)).model_proto
        node = next(each for each in model.graph.node if each.op_type == "Foo")
        assert (node.domain, list(node.input)) == ("ai.custom", ["x", "", "x"])
        found = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        assert found == {"a": 1, "b": [1.0, 2.0], "c": b"s", "d": 1, "e": [b"x", b"y"], "f": [1]}
        assert {each.key: each.value for each in node.metadata_props}["k"] == "v"
        assert {each.domain: each.version for each in model.opset_import}["ai.custom"] == 3
        assert [each.dim_value for each in model.graph.output[0].type.tensor_type.shape.dim] == [2, 4]


def test_a_node_with_several_results():
    def program(x):
        return onnx_ops.symbolic_multi_out("Split", (x,), {"axis": 0, "num_outputs": 2}, dtypes=(x.dtype, 1), shapes=((1, 3), (1, 3)))

    x = torch.arange(6.0).reshape(2, 3)
    assert [each.tolist() for each in program(x)] == [[[0.0] * 3]] * 2
    assert [each.tolist() for each in run_onnx(torch.onnx.export(program, (x,), opset_version=18), x)] == [[[0, 1, 2]], [[3, 4, 5]]]


@pytest.mark.parametrize(
    ("attributes", "kind", "error", "text"),
    [
        ({"a": object()}, torch.float32, ValueError, "Unsupported attribute type for a"),
        ({"a": []}, torch.float32, ValueError, "Empty sequence for attribute a"),
        ({}, "f", RuntimeError, "Unsupported dtype: f"),
    ],
)
def test_what_no_node_can_have(attributes, kind, error, text):
    with pytest.raises(error, match=text):
        onnx_ops.symbolic("Add", (torch.ones(2),), attributes, dtype=kind, shape=(2,))


def rotary(q, cos, sin, positions):
    return onnx_ops.rotary_embedding(q, cos, sin, positions, interleaved=True)


def attended(q, k, v, past_key, past_value):
    return onnx_ops.attention(q, k, v, None, past_key, past_value, is_causal=True, softcap=2.0)


@pytest.mark.parametrize(("opset", "one"), [(23, True), (20, False)])
def test_rotary_embedding_and_attention_are_nodes_since_opset_23(opset, one):
    q, k = torch.linspace(-1, 1, 192).reshape(2, 4, 3, 8), torch.linspace(0, 2, 96).reshape(2, 2, 3, 8)
    angles = torch.arange(40.0).reshape(10, 4)
    calls = [
        ("RotaryEmbedding", rotary, (q, angles.cos(), angles.sin(), torch.tensor([[0, 1, 2], [3, 4, 5]]))),
        ("Attention", attended, (q, k, k + 1, k * 2, k * 3)),
    ]
    for kind, program, args in calls:
        made = torch.onnx.export(program, args, opset_version=opset)
        assert (kind in {each.op_type for each in made.model_proto.graph.node}) == one
        wanted = program(*args)
        for got, want in zip(run_onnx(made, *args), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            assert torch.allclose(torch.as_tensor(got), want, atol=1e-5)
    assert abs(rotary(*calls[0][2]).double().sum() - -2.4294) < 1e-3  # PyTorch's figure
    assert {each.__name__ for each in onnx_ops.aten_decompositions()} == {"RotaryEmbedding.opset23", "Attention.opset23"}
