"""Symbolic functions of users: operators that they call by name, the arguments that they get, and the shapes that they ask for."""

from __future__ import annotations

import io

import onnx
import pytest
from support.onnx_files import run_onnx

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.compat import symbolic_opset
from rushlight.compat.onnx_jit_utils import GraphContext
from rushlight.onnx import errors, registration, symbolic_helper
from rushlight.onnx.ir import NO_PYTHON


def exported(forward, symbolic, args, **options):
    """A file whose one custom Function has a forward and a symbolic function, and what computes the same."""

    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *given):
            return forward(*given)

    Fn.symbolic = staticmethod(symbolic)
    file = io.BytesIO()
    names = [f"x{at}" for at in range(len(args))]
    torch.onnx.export(lambda *given: Fn.apply(*given), args, file, input_names=names, **{"opset_version": 17, **options})
    return file.getvalue()


def same(file, forward, args):
    wanted = forward(*args)
    for got, want in zip(run_onnx(file, *args), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert torch.allclose(torch.as_tensor(got), want, atol=1e-5)


def kinds(file):
    return [each.op_type for each in onnx.load_from_string(file).graph.node if each.op_type != "Constant"]


def test_operators_of_symbolic_functions_are_those_of_the_table():
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def symbolic(g, q, k, v):
        assert isinstance(g, GraphContext)
        return symbolic_opset.scaled_dot_product_attention(g, q, k, v, None, 0.0, True)

    def inputs(length):
        return tuple(torch.randn(2, 2, length, 4) for _ in range(3))

    file = exported(attention, symbolic, inputs(5), dynamic_axes={f"x{at}": {2: "length"} for at in range(3)})
    for length in (5, 3, 8):
        same(file, attention, inputs(length))


@pytest.mark.parametrize(
    ("forward", "symbolic", "nodes"),
    [
        (F.relu, symbolic_opset.relu, ["Relu"]),
        (lambda x: x.clamp(0, 1), lambda g, x: symbolic_opset.clamp(g, x, 0, g.op("Constant", value_t=torch.tensor(1.0))), ["Clip"]),
        (lambda x: x.sum(1, keepdim=True), lambda g, x: symbolic_opset.sum(g, x, [1], 1, None), ["ReduceSum"]),
        (lambda x: x.to(torch.int64), lambda g, x: symbolic_opset.to(g, x, 4, False, False, None), ["Cast"]),
        (lambda x: x.sort(1), lambda g, x: symbolic_opset.sort(g, x, 1, 0), ["TopK"]),
        (lambda x: x[:, [2]], lambda g, x: symbolic_opset.select(g, x, 1, g.op("Constant", value_t=torch.tensor([2]))), ["Gather"]),
        (lambda x: torch.cat([x, x], 1), lambda g, x: symbolic_opset.cat(g, [x, x], 1), ["Concat"]),
        (
            lambda x: F.layer_norm(x, (4,), torch.ones(4), None),
            lambda g, x: symbolic_opset.layer_norm(g, x, [4], g.op("Constant", value_t=torch.ones(4)), None, 1e-5, True),
            ["LayerNormalization"],
        ),
    ],
)
def test_operators_take_arguments_as_graphs_have_them(forward, symbolic, nodes):
    x = torch.randn(3, 4)
    file = exported(forward, symbolic, (x,))
    same(file, forward, (x,))
    assert kinds(file) == nodes


def test_operators_of_values_whose_sizes_are_known_at_run_time():
    def forward(x):
        return torch.softmax(x[x[:, 0] > 0] @ x.t(), -1)

    def symbolic(g, x):
        first = symbolic_opset.select(g, x, 1, 0)
        rows = g.op("Compress", x, g.op("Greater", first, g.op("Constant", value_t=torch.tensor(0.0))), axis_i=0)
        assert rows.type().sizes() == [None, 4]
        return symbolic_opset.softmax(g, symbolic_opset.matmul(g, rows, symbolic_opset.t(g, x)), -1)

    x, other = torch.tensor([[1.0, 2, 3, 4], [-1, 0, 1, 2], [3, 1, 0, -2]]), torch.randn(7, 4)
    file = exported(forward, symbolic, (x,), dynamic_axes={"x0": {0: "n"}})
    same(file, forward, (x,))
    same(file, forward, (other,))


def test_shapes_of_nodes_of_symbolic_functions_are_inferred():
    seen = []

    def symbolic(g, x):
        turned = g.op("Transpose", x, perm_i=[1, 0])
        seen.append(
            (symbolic_helper._get_tensor_sizes(turned), symbolic_helper._get_tensor_rank(g.op("MatMul", turned, x)), turned.type().dim())
        )
        return turned

    exported(lambda x: x.t(), symbolic, (torch.randn(3, 4),), dynamic_axes={"x0": {0: "n"}})
    assert seen == [([4, None], 2, 2)]


def test_types_of_nodes_of_symbolic_functions_are_those_of_the_schema():
    def symbolic(g, boxes, scores):
        kept = g.op(
            "NonMaxSuppression",
            g.op("Unsqueeze", boxes, axes_i=[0]),
            g.op("Unsqueeze", scores, axes_i=[0, 1]),
            g.op("Constant", value_t=torch.tensor([9])),
        )
        seen.extend([kept.type().scalarType(), g.op("DynamicQuantizeLinear", boxes, outputs=3)[0].type().scalarType()])
        return g.op("Squeeze", g.op("Gather", kept, g.op("Constant", value_t=torch.tensor([2])), axis_i=1), axes_i=[1])

    seen = []
    boxes, scores = torch.tensor([[0.0, 0, 1, 1], [4, 4, 6, 6], [0, 0, 1, 1.1]]), torch.tensor([0.5, 0.9, 0.4])
    file = exported(lambda boxes, scores: scores.argsort(descending=True)[:2], symbolic, (boxes, scores), opset_version=11)
    assert seen == ["Long", "Byte"] and run_onnx(file, boxes, scores)[0].tolist()[:2] == [1, 0]


def test_what_can_not_be_called_in_a_symbolic_function_says_so():
    with pytest.raises(AttributeError, match="no_such_operator"):
        symbolic_opset.no_such_operator
    x = torch.randn(3)
    with pytest.raises(errors.SymbolicValueError, match="must be a constant"):
        exported(lambda x: x, lambda g, x: symbolic_opset.softmax(g, x, g.op("Cast", g.op("ReduceSum", x, keepdims_i=0), to_i=7)), (x,))
    with pytest.raises(errors.SymbolicValueError, match="setType"):
        exported(lambda x: x, lambda g, x: symbolic_opset.softmax(g, g.op("own::Node", x), 0), (x,))


def test_a_registered_function_may_call_the_operator_that_it_stands_for():
    with registration.registered("aten::relu", lambda g, x: symbolic_opset.clamp_min(g, symbolic_opset.relu(g, x), 0.5), 9):
        file = io.BytesIO()
        torch.onnx.export(F.relu, (torch.tensor([-1.0, 0.2, 3.0]),), file)
    assert run_onnx(file.getvalue(), torch.tensor([-1.0, 0.2, 3.0]))[0].tolist() == [0.5, 0.5, 3.0]


CALLS = {  # an operator, a call of it, and what a function that is registered for it gets, as PyTorch's exporter passes it
    "embedding": (lambda x: F.embedding(x.long(), torch.ones(10, 2)), ["T", "T", -1, False, False]),
    "batch_norm": (
        lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4), torch.full((4,), 2.0)),
        ["T", "T", None, "T", "T", False, 0.1, 1e-5],
    ),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), ["T", [4], None, None, 1e-5]),
    "softmax": (lambda x: F.softmax(x, -1), ["T", -1, None]),
    "rsub": (lambda x: 1 - x, ["T", 1, 1]),
    "hardtanh": (lambda x: F.hardtanh(x), ["T", -1.0, 1.0]),
    "elu": (lambda x: F.elu(x, 0.2), ["T", 0.2, 1, 1]),
    "max_pool2d": (lambda x: F.max_pool2d(x[None], 2), ["T", [2, 2], [], [0, 0], [1, 1], False]),
    "mse_loss": (lambda x: F.mse_loss(x, x), ["T", "T", 1]),
    "to": (lambda x: x.to(torch.float64), ["T", 7, False, False, None]),
    "upsample_bilinear2d": (lambda x: F.interpolate(x[None, None], size=(6, 8), mode="bilinear"), ["T", [6, 8], False, None]),
    "_convolution": (
        lambda x: F.conv2d(x[None, None], torch.ones(2, 1, 3, 3), padding=1),
        ["T", "T", None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True],
    ),
    "einsum": (lambda x: torch.einsum("ij,kj->ik", x, x), ["ij,kj->ik", ["T", "T"], None]),
    "var": (lambda x: x.var(1), ["T", [1], True, False]),
    "sort": (lambda x: x.sort()[0], ["T", -1, False]),
}


@pytest.mark.parametrize("name", CALLS)
def test_registered_functions_get_the_arguments_of_the_operator(name):
    forward, wanted = CALLS[name]
    seen = []

    def shown(value):
        if isinstance(value, (list, tuple)):
            return [shown(each) for each in value]
        value = value.python if value.python is not NO_PYTHON else "T"
        return list(value) if isinstance(value, tuple) else value

    class Seen(Exception):
        pass

    def symbolic(g, *args):
        seen.extend(shown(args)[: len(wanted)])
        raise Seen

    with registration.registered(f"aten::{name}", symbolic, 9), pytest.raises(Seen):
        torch.onnx.export(forward, (torch.rand(3, 4),), io.BytesIO(), opset_version=17, do_constant_folding=False)
    assert seen == wanted


def test_a_registered_embedding_is_not_taken_apart_wrongly():
    with registration.registered("aten::embedding", lambda g, weight, indices, *rest: g.op("Gather", weight, indices), 9):
        file = io.BytesIO()
        model = torch.nn.Embedding(10, 3)
        torch.onnx.export(model, (torch.tensor([1, 2]),), file)
    assert torch.equal(torch.as_tensor(run_onnx(file.getvalue(), torch.tensor([4, 9]))[0]), model(torch.tensor([4, 9])))
