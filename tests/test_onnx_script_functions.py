"""Functions written with onnxscript in exports: in tables of translations, and in symbolic functions."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from support.onnx_files import run_onnx

import rushlight as torch
import rushlight.onnx
from rushlight.onnx.errors import ExportInputError, OnnxExporterError


class Script:
    """A function as onnxscript has it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def to_function_proto(self) -> onnx.FunctionProto:
        return onnx.parser.parse_function(f'<opset_import: ["": 18], domain: "here"> {self.text}')


SCALED = Script("scaled (x, y) => (z) { half = Constant<value_float = 0.5>() w = CastLike(half, x) u = Mul(x, w) z = Sub(u, y) }")
LEAKY = Script("leaky <alpha> (x) => (y) { y = LeakyRelu<alpha: float = @alpha>(x) }")
A, B = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0]])


def nodes(program: Any) -> list[str]:
    return [each.op_type for each in program.model_proto.graph.node if each.op_type != "Constant"]


def test_an_operator_of_the_library_is_translated():
    made = rushlight.onnx.export(
        lambda x, y: (x + y).relu(), (A, B), None, dynamo=True, custom_translation_table={torch.ops.aten.add.Tensor: SCALED}
    )
    assert "Sub" in nodes(made) and "Add" not in nodes(made) and made.run(A, B)[0].tolist() == [[0.0, 0.0]]
    assert "Add" in nodes(rushlight.onnx.export(lambda x, y: (x + y).relu(), (A, B), None))  # of that export alone


def test_an_operator_of_the_user_is_translated():
    with torch.library._scoped_library("scripts", "FRAGMENT") as library:
        library.define("mixed(Tensor a, Tensor b) -> Tensor")
        torch.library.impl("scripts::mixed", "CompositeImplicitAutograd", lib=library)(lambda a, b: a * 0.5 - b)
        table = {torch.ops.scripts.mixed.default: [SCALED]}
        made = rushlight.onnx.export(lambda x, y: torch.ops.scripts.mixed(x, y), (A, B), None, custom_translation_table=table)
        assert made.run(A, B)[0].tolist() == [[-2.5, -6.0]] and nodes(made)[-1] == "Sub"


def test_functions_of_scripts_in_symbolic_functions():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.nn.functional.leaky_relu(x, 0.25)

        @staticmethod
        def symbolic(g, x):
            return g.onnxscript_op(LEAKY, x, alpha_f=0.25).setType(x.type())

    made = rushlight.onnx.export(lambda x: Fn.apply(x) + 1, (A,), None)
    assert run_onnx(made, A)[0].tolist() == [[2.0, 0.5]]


def test_what_can_not_be_translated_says_so():
    with pytest.raises(ExportInputError, match="keys of custom_translation_table are operators"):
        rushlight.onnx.export(lambda x: x.relu(), (A,), None, custom_translation_table={"relu": SCALED})
    script = Script("other (x, y) => (z) { z = there.Thing(x, y) }")
    with pytest.raises(OnnxExporterError, match="calls there::Thing"):
        rushlight.onnx.export(lambda x, y: x + y, (A, B), None, custom_translation_table={torch.ops.aten.add.Tensor: script})


def test_functions_of_python_that_call_operators():
    opset = pytest.importorskip("onnxscript").opset18

    def translated(self, other, *, alpha=1):
        parts = opset.Split(opset.Concat(self, other, axis=1), num_outputs=2, axis=1)
        return opset.Cast(opset.Sub(parts[0], opset.Mul(parts[1], 2.0)), to=1)

    table = {torch.ops.aten.add.Tensor: translated}
    made = rushlight.onnx.export(lambda x, y: x + y, (A, B), None, custom_translation_table=table)
    assert made.run(A, B)[0].tolist() == [[-5.0, -12.0]]
