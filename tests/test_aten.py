"""``torch.ops.aten``: overloads with their schemas, called with arguments made from these and compared with PyTorch's results."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from aten_calls import arguments, summary

import rushlight as torch
import rushlight.nn.functional as F

RECORDED = json.loads((Path(__file__).parent / "data" / "aten_calls.json").read_text(encoding="utf8"))
SCHEMAS = {
    line.partition("(")[0]: line for line in (Path(torch.ops.__file__).parent / "aten_schemas.txt").read_text(encoding="utf8").splitlines()
}


def compare(found, expected, where):
    if isinstance(expected, float) and isinstance(found, float):
        assert found == pytest.approx(expected, rel=2e-5, abs=2e-5), where
    elif isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), (where, found, expected)
        for a, b in zip(found, expected):
            compare(a, b, where)
    else:
        assert found == expected, (where, found, expected)


def call(name):
    packet, _, overload = name.partition(".")
    positional, keywords = arguments(torch, SCHEMAS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return summary(torch, getattr(getattr(torch.ops.aten, packet), overload or "default")(*positional, **keywords))


# Operators of PyTorch that nothing here stands for, and differences that are meant.
ABSENT = {
    "chalf", "dense_dim", "flatten_dense_tensors", "is_set_to", "linalg__powsum", "log_sigmoid_forward", "result_type.Scalar", "result_type.Scalar_Scalar",
    "result_type.Scalar_Tensor", "result_type.Tensor", "set", "set.source_Tensor", "slice_inverse", "to_dense",
}  # fmt: skip


def test_overloads_compute_what_pytorch_computes():
    assert len(RECORDED) > 700
    for name, expected in RECORDED.items():
        if name not in ABSENT:
            compare(call(name), expected, name)


def test_schemas_print_as_they_were_read():
    for name in ("add", "add_", "conv2d", "max_pool2d", "sum", "where", "_to_copy", "native_layer_norm"):
        for overload in getattr(torch.ops.aten, name):
            found = getattr(getattr(torch.ops.aten, name), overload)
            assert str(found._schema) == f"aten::{SCHEMAS[name if overload == 'default' else f'{name}.{overload}']}"


def test_overloads_and_packets_say_what_they_are():
    overload = torch.ops.aten.add.Tensor
    assert (overload.name(), overload._overloadname, overload.namespace) == ("aten::add.Tensor", "Tensor", "aten")
    assert str(overload) == "aten.add.Tensor" and repr(overload) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert overload.overloadpacket is torch.ops.aten.add and overload.__name__ == "add.Tensor"
    assert [(each.name, str(each.type), each.kwarg_only) for each in overload._schema.arguments] == [
        ("self", "Tensor", False), ("other", "Tensor", False), ("alpha", "number", True)]  # fmt: skip
    assert torch.ops.aten.add_.Tensor._schema.is_mutable and not overload._schema.is_mutable
    assert torch.ops.aten.view.default.is_view and not overload.is_view
    assert "Tensor" in torch.ops.aten.add.overloads() and "out" in torch.ops.aten.add.overloads()
    assert "add" in dir(torch.ops.aten)
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nonsense'"):
        torch.ops.aten.nonsense


def test_out_and_in_place_overloads_write_where_they_say():
    x, out = torch.arange(3.0), torch.empty(3)
    assert torch.ops.aten.mul.out(x, x, out=out) is out and out.tolist() == [0, 1, 4]
    assert torch.ops.aten.add_.Tensor(x, x, alpha=2) is x and x.tolist() == [0, 3, 6]
    assert torch.ops.aten.relu_(x) is x
    values, indices = torch.ops.aten.max.dim(x.reshape(1, 3), 1)
    assert values.item() == 6 and indices.item() == 2
    with pytest.raises(RuntimeError, match=r"aten::eq\(\) Expected a value of type 'Tensor' for argument 'other'"):
        torch.ops.aten.eq.Tensor(x, 1)
    assert torch.ops.aten.sub.Tensor(1, x).tolist() == [1, -2, -5]


def test_captures_record_the_ops_that_run():
    def program(x):
        return torch.ops.aten.mul.Tensor(torch.ops.aten.sin(x), 2).sum()

    x = torch.randn(4, requires_grad=True)
    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), program(x))
    assert "aten::sin(%x)" in str(torch.jit.trace(program, (x,)).graph)
    assert torch.autograd.grad(program(x), x)[0].allclose(2 * torch.cos(x))


def test_operators_inside_of_functions():
    """What traces and decomposed programs hold in the place of functions."""
    aten, F = torch.ops.aten, torch.nn.functional
    matrix = torch.arange(1.0, 17.0).reshape(4, 4).sin() + 4 * torch.eye(4)
    image, weight = torch.arange(96.0).reshape(1, 2, 6, 8).cos(), torch.arange(54.0).reshape(3, 2, 3, 3).sin()
    heads, scores = torch.arange(24.0).reshape(1, 2, 3, 4).sin(), torch.tensor([[1.0, 2.0, float("-inf")], [float("-inf")] * 3])
    pairs = [
        (aten._convolution_mode(image, weight, None, [1, 1], "same", [1, 1], 1), F.conv2d(image, weight, padding="same")),
        (aten._conv_depthwise2d(image, weight[:2, :1], [3, 3], None, [1, 1], [1, 1], [1, 1]), F.conv2d(image, weight[:2, :1], padding=1, groups=2)),
        (aten._safe_softmax(scores, -1), torch.stack([scores[0].softmax(0), torch.zeros(3)])),
        (aten._scaled_dot_product_attention_math(heads, heads, heads, is_causal=True)[0], F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)),
        (aten._weight_norm(weight, torch.ones(3, 1, 1, 1), 0).flatten(1).norm(dim=1), torch.ones(3)),
        (aten._linalg_det(matrix)[0], torch.linalg.det(matrix)),
        (aten._linalg_det(matrix)[1], torch.linalg.lu_factor(matrix.T)[0]),
        (aten._linalg_slogdet(matrix)[1], torch.linalg.slogdet(matrix)[1]),
        (aten._linalg_solve_ex(matrix, torch.eye(4))[0], torch.linalg.inv(matrix)),
        (aten._linalg_eigh(matrix + matrix.T)[0], torch.linalg.eigvalsh(matrix + matrix.T)),
        (aten._linalg_svd(matrix, False, False)[1], torch.linalg.svdvals(matrix)),
        (aten._unsafe_masked_index(matrix[0], torch.tensor([True, False]), [torch.tensor([1, 9])], 7.0), torch.stack([matrix[0, 1], torch.tensor(7.0)])),
        (aten._reshape_from_tensor(matrix, aten._shape_as_tensor(torch.ones(2, 8))), matrix.reshape(2, 8)),
        (aten.pad_sequence([torch.ones(1), torch.ones(2)], True, 3.0, "left"), torch.tensor([[3.0, 1.0], [1.0, 1.0]])),
    ]  # fmt: skip
    for found, expected in pairs:
        torch.testing.assert_close(found, expected)


aten = torch.ops.aten


def _by_autograd(function, *inputs):
    result = function(*inputs)
    gradient = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).reshape(result.shape)
    return result.detach(), gradient, torch.autograd.grad(result, inputs, gradient)


@pytest.mark.parametrize(
    "function, operator",
    [
        (lambda x: x.softmax(1), lambda g, x, y: aten._softmax_backward_data(g, y, 1, x.dtype)),
        (lambda x: x.log_softmax(0), lambda g, x, y: aten._log_softmax_backward_data(g, y, 0, x.dtype)),
        (F.gelu, lambda g, x, y: aten.gelu_backward(g, x)),
        (lambda x: F.gelu(x, approximate="tanh"), lambda g, x, y: aten.gelu_backward(g, x, approximate="tanh")),
        (F.silu, lambda g, x, y: aten.silu_backward(g, x)),
        (torch.sigmoid, lambda g, x, y: aten.sigmoid_backward(g, y)),
        (torch.tanh, lambda g, x, y: aten.tanh_backward.default(g, y)),
        (F.relu, lambda g, x, y: aten.threshold_backward(g, x, 0)),
        (lambda x: x * (x > 0) * 2.0, lambda g, x, y: aten.native_dropout_backward(g, x > 0, 2.0)),
        (lambda x: F.embedding(torch.tensor([1, 2, 1]), x, padding_idx=2), lambda g, x, y: aten.embedding_dense_backward(g, torch.tensor([1, 2, 1]), 3, 2, False)),
        (lambda x: F.embedding(torch.tensor([1, 2, 1]), x, scale_grad_by_freq=True), lambda g, x, y: aten.embedding_dense_backward(g, torch.tensor([1, 2, 1]), 3, -1, True)),
    ],
)  # fmt: skip
def test_gradient_operators(function, operator) -> None:
    x = torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()
    result, gradient, (expected,) = _by_autograd(function, x)
    torch.testing.assert_close(operator(gradient, x.detach(), result), expected)


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_backward(transposed: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 4, 6), (4, 2, 3), (4,)))
    options = ([2], [1], [1], transposed, [1] if transposed else [0], 2)
    _, gradient, expected = _by_autograd(lambda *inputs: aten.convolution(*inputs, *options), x, weight, bias)
    found = aten.convolution_backward(gradient, x.detach(), weight.detach(), [4], *options, [True, True, True])
    torch.testing.assert_close(found, expected)
    assert aten.convolution_backward(gradient, x.detach(), weight.detach(), [4], *options, [False, False, True])[:2] == (None, None)


def test_numbers_in_place_of_the_first_tensor_take_part_in_the_type():
    """``aten.add.Tensor(2.5, x)``, as exported programs and decompositions have it: a number promotes as a number."""
    whole, half, truth = torch.arange(3), torch.ones(2, dtype=torch.float16), torch.tensor([True, False])
    aten = torch.ops.aten
    for made, wanted, dtype in (
        (aten.add.Tensor(2.5, whole), [2.5, 3.5, 4.5], torch.float32), (aten.mul.Tensor(2.5, half), [2.5, 2.5], torch.float16),
        (aten.add.Tensor(2, truth), [3, 2], torch.int64), (aten.sub.Tensor(3, whole), [3, 2, 1], torch.int64), (aten.add.Tensor(3, 2), 5, torch.int64),
        (aten.div.Tensor(3, 2), 1.5, torch.float32), (aten.div.Tensor_mode(7, 2, rounding_mode="floor"), 3, torch.int64),
    ):  # fmt: skip
        assert made.tolist() == wanted and made.dtype is dtype


def test_lstm_of_one_hidden_state_is_refused():
    layer, x = torch.nn.LSTM(2, 3), torch.ones(4, 1, 2)
    with pytest.raises(RuntimeError, match="lstm expects two hidden states"):
        torch.ops.aten.lstm.input(x, [torch.zeros(1, 1, 3)], list(layer.parameters()), True, 1, 0.0, False, False, False)


def test_operators_of_pooling_as_their_schemas_say():
    """``max_unpool2d`` takes the size of the result, and ``fractional_max_pool2d`` gives the indices, too."""
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    values, indices = torch.ops.aten.max_pool2d_with_indices(x, [2, 2])
    wanted = [[0, 0, 0, 0], [0, 5, 0, 7], [0, 0, 0, 0], [0, 13, 0, 15]]
    assert torch.ops.aten.max_unpool2d(values, indices, [4, 4])[0, 0].tolist() == wanted
    assert torch.ops.aten.max_unpool3d(values[None], indices[None], [1, 4, 4], [1, 2, 2], [0, 0, 0])[0, 0, 0].tolist() == wanted
    values, indices = torch.ops.aten.fractional_max_pool2d(x, [2, 2], [2, 2], torch.full((1, 1, 2), 0.5))
    assert values[0, 0].tolist() == [[5, 7], [13, 15]] == indices[0, 0].tolist()


def test_operators_on_lists_of_tensors() -> None:
    """Libraries ask which overloads there are; results that the schema calls lists are lists (values: PyTorch 2.13)."""
    aten = torch.ops.aten
    assert aten._foreach_maximum_.overloads() == ["Scalar", "List", "ScalarList"]
    tensors = [torch.tensor([1.0, -2.0]), torch.tensor([[3.0, 4.0]])]
    made = aten._foreach_maximum(tensors, [0.5, 3.5])
    assert type(made) is list and [each.tolist() for each in made] == [[1.0, 0.5], [[3.5, 4.0]]]
    assert [each.tolist() for each in aten._foreach_pow.ScalarAndTensor(2, tensors)] == [[2.0, 0.25], [[8.0, 16.0]]]
    assert aten._foreach_addcmul_.ScalarList(tensors, tensors, tensors, [1.0, 2.0]) is None
    assert [each.tolist() for each in tensors] == [[2.0, 2.0], [[21.0, 36.0]]]
    assert type(aten.split.Tensor(torch.arange(4), 2)) is list and type(aten.unbind.int(torch.arange(4))) is list


def test_safe_softmax_of_hidden_scores_has_no_gradient():
    hidden = float("-inf")
    x = torch.tensor([[1.0, hidden], [hidden, hidden]], requires_grad=True)
    y = torch.ops.aten._safe_softmax(x, -1)
    (y * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert y.tolist() == [[1, 0], [0, 0]] and x.grad.tolist() == [[0, 0], [0, 0]]
