"""What an exported model may take and return: numbers, nested tuples, ranges of tensors, dynamic sizes of 1; and old opsets."""

from __future__ import annotations

import io
import warnings

import onnx
import pytest
from support.onnx_files import run_onnx
from test_onnx_export import close, load

import rushlight as torch
import rushlight.onnx
from rushlight import nn
from rushlight.onnx import errors

# -- numbers among the arguments --------------------------------------------------------------------------------------


def scripted_loop(x: torch.Tensor, count: int, offset: float, double: bool):
    for step in range(count):
        x = x + step * offset
    if double:
        x = x * 2
    return x


def test_numbers_are_inputs():
    def program(x, scale: float, rows: int):
        return x * scale + rows, x.reshape(rows, -1), x[:rows], x.new_full((rows, 2), scale)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = torch.onnx.export(program, (torch.randn(4, 6), 0.5, 2))
    assert [each.name for each in made.model_proto.graph.input] == ["x", "scale", "rows"]
    assert [each.type.tensor_type.elem_type for each in made.model_proto.graph.input] == [1, 11, 7]
    x = torch.randn(4, 6)
    for got, want in zip(made.run(x, 1.5, 3), program(x, 1.5, 3)):
        close(got, want)


def test_numbers_of_a_script_are_followed_by_its_control_flow():
    script = torch.jit.script(scripted_loop)
    made = torch.onnx.export(script, (torch.randn(3), 2, 0.5, True))
    x = torch.randn(3)
    for count, double in ((0, False), (5, True), (3, False)):
        close(made.run(x, count, 1.25, double)[0], script(x, count, 1.25, double))


def test_a_number_that_the_graph_depends_on_is_named():
    with pytest.warns(
        torch.jit.TracerWarning, match=r"the argument dim=1 is an input of the file, but the graph holds for this value alone"
    ):
        made = torch.onnx.export(lambda x, dim: x.sum(dim), (torch.ones(2, 3), 1))
    assert [each.name for each in made.model_proto.graph.input] == ["x", "dim"]
    close(made.run(torch.ones(2, 3), 1)[0], torch.full((2,), 3.0))


# -- what PyTorch's exporter accepts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, None])
def test_squeeze_of_a_dynamic_dimension(dim):
    program = (lambda x: x.squeeze()) if dim is None else (lambda x: x.squeeze(dim))
    exported = load(program, torch.randn(2, 1, 4), dynamic_axes={"x": [0, 1, 2]})
    for shape in ((2, 1, 4), (2, 2, 3), (3, 5, 4)):
        x = torch.randn(shape)
        close(run_onnx(exported, x)[0], program(x))


def test_ranges_of_tensors():
    def program(end, first):
        return torch.arange(end), torch.arange(0, end), torch.linspace(first, end, 5), torch.arange(first, end, 2)

    exported = load(program, (torch.tensor(6.2), torch.tensor(1.0)))
    for end, first in ((6.2, 1.0), (9.5, 2.0)):
        got = run_onnx(exported, torch.tensor(end), torch.tensor(first))
        for have, want in zip(got, program(torch.tensor(end), torch.tensor(first))):
            close(have, want)


def test_nested_tuples_among_the_inputs():
    def program(a, b):
        return a + b[0] + b[1][0] * b[1][1]

    given = torch.randn(4, 5), (torch.randn(4, 5), (torch.randn(1, 5), torch.randn(4, 1)))
    made = torch.onnx.export(program, given)
    assert [each.name for each in made.model_proto.graph.input] == ["a", "b_0", "b_1_0", "b_1_1"]
    close(made.run(*given)[0], program(*given))


@pytest.mark.parametrize("activation", [nn.CELU(0.7), nn.ELU(1.3), nn.SELU()], ids=repr)
def test_exponential_activations_of_float64(activation):
    x = torch.randn(2, 5, dtype=torch.float64)
    close(run_onnx(load(activation, x), x)[0], activation(x))


def test_limits_of_float64_at_opset_11():
    x = torch.randn(2, 5, dtype=torch.float64)
    close(run_onnx(load(nn.Hardtanh(), x, opset_version=11), x)[0], nn.Hardtanh()(x))


def test_fewer_output_names_than_outputs():
    def program(x):
        return tuple(x + i for i in range(4))

    exported = load(program, torch.rand(2), output_names=["output_1"])
    names = [each.name for each in exported.graph.output]
    assert names[0] == "output_1" and len(set(names)) == 4


def test_unknown_names_of_dynamic_axes_warn():
    with pytest.warns(UserWarning, match="Provided key z for dynamic axes is not a valid input/output name"):
        torch.onnx.export(lambda x: x + 1, (torch.rand(5),), dynamic_axes={"z": [0]})


def returned_list(x: torch.Tensor, y: torch.Tensor):
    return [x + 1, y]


def test_the_exported_program_that_a_file_is_of():
    x = torch.ones(2, 3)
    program = torch.export.export(nn.ReLU(), (x,))
    made = torch.onnx.export(program, dynamo=True)
    assert made.exported_program is program and torch.onnx.export(nn.ReLU(), (x,)).exported_program is None


@pytest.mark.parametrize("names", [None, ["p", "q", "r", "s"]])
def test_arguments_by_name_in_any_order(names):
    class Model(nn.Module):
        def forward(self, a, b, first, second):
            return a + b * 2 + first * 3 - second * 5

    a, b, first, second = (torch.full((2,), value) for value in (1.0, 2.0, 4.0, 3.0))
    made = torch.onnx.export(Model(), (a, b), kwargs={"second": second, "first": first}, input_names=names)
    wanted = Model()(a, b, first, second)
    for named in ({"second": second, "first": first}, {"first": first, "second": second}):
        close(made(a, b, **named)[0], wanted)
        close(made.call_reference(a, b, **named)[0], wanted)
        assert made.verify((a, b), named, wanted) == 0
    close(made(second=second, b=b, first=first, a=a)[0], wanted)
    if names:
        close(made(a, b, s=second, r=first)[0], wanted)


def test_arguments_that_are_no_inputs_are_passed_over():
    class Model(nn.Module):
        def forward(self, a, unused, b):
            return a + b * 2

    args = tuple(torch.full((2,), value) for value in (1.0, 2.0, 3.0))
    made = torch.onnx.export(Model(), args, dynamo=False)
    assert [each.name for each in made.model_proto.graph.input] == ["a", "b"]
    for found in (made(*args), made(args[0], b=args[2], unused=args[1]), made(args[0], args[2]), made.call_reference(*args)):
        close(found[0], Model()(*args))
    assert made.verify(args, {}, Model()(*args)) == 0


def test_axes_that_an_output_does_not_have_are_passed_over():
    axes = {"x": [0], "y": {0: "n", 2: "more"}}
    with pytest.warns(UserWarning, match="the output 'y' has 1 dimensions, and none of number 2"):
        made = torch.onnx.export(lambda x: x.sum(1), (torch.ones(2, 3),), input_names=["x"], output_names=["y"], dynamic_axes=axes)
    close(made.run(torch.ones(4, 3))[0], torch.full((4,), 3.0))


def test_the_list_of_a_script_is_one_sequence():
    made = torch.onnx.export(torch.jit.script(returned_list), (torch.ones(2), torch.zeros(2)))
    (output,) = made.model_proto.graph.output
    assert output.type.WhichOneof("value") == "sequence_type"
    close(made.run(torch.ones(2), torch.zeros(2))[0][0], torch.full((2,), 2.0))


def test_numbers_are_results():
    made = torch.onnx.export(lambda x: (x.size(0) > 2, x.size(0), x), (torch.ones(3),))
    assert [each.tolist() for each in made.run(torch.ones(3))] == [True, 3, [1.0, 1.0, 1.0]]


def test_factors_of_a_product_that_are_tensors():
    def program(i, a, b, alpha, beta):
        return torch.baddbmm(i, a, b, alpha=alpha, beta=beta)

    given = torch.randn(2, 3, 5), torch.randn(2, 3, 4), torch.randn(2, 4, 5), torch.tensor(5), torch.tensor(3.5)
    exported = load(program, given)
    other = (*given[:3], torch.tensor(2), torch.tensor(0.5))
    close(run_onnx(exported, *other)[0], program(*other))


@pytest.mark.parametrize("opset", [7, 8])
def test_opsets_before_9(opset):
    model, x = (
        nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2)).eval(),
        torch.randn(1, 2, 4, 4),
    )
    exported = load(model, x, opset_version=opset)
    assert exported.opset_import[0].version == opset
    close(run_onnx(exported, x)[0], model(x))
    with pytest.raises(errors.UnsupportedOperatorError, match="opset"):
        torch.onnx.export(lambda x: torch.where(x > 0, x, -x), (x,), opset_version=opset)


def test_what_follows_from_parameters_is_stored_with_them():
    class Folded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(15.0).reshape(5, 3))

        def forward(self, x):
            return torch.matmul(x, self.weight.transpose(0, 1)), x * self.weight.transpose(0, 1).sum(1)

    proto = torch.onnx.export(Folded(), (torch.ones(2, 3),), dynamo=True).model_proto
    assert [node.op_type for node in proto.graph.node] == ["MatMul", "Mul"]
    assert sorted(tuple(each.dims) for each in proto.graph.initializer) == [(3,), (3, 5)]


@pytest.mark.parametrize("training", [False, True])
def test_equal_parameters_are_stored_once_in_evaluation_mode(training):
    class Equal(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (torch.nn.Parameter(torch.tensor([1.0, 2.0])) for _ in range(2))

        def forward(self, x):
            return x * self.first + self.second

    stream = io.BytesIO()
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(Equal(), (torch.ones(2),), stream, training=mode, dynamo=False)
    names = {each.name for each in onnx.load_model_from_string(stream.getvalue()).graph.initializer}
    assert names == ({"first", "second"} if training else {"first"})


def test_model_of_onnx_ir_is_what_is_saved_and_run() -> None:
    pytest.importorskip("onnx_ir")

    class Sine(torch.nn.Module):
        def forward(self, x):
            return x.sin()

    program = torch.onnx.export(Sine(), (torch.zeros(2),), dynamo=True)
    assert program(torch.zeros(2))[0].tolist() == [0.0, 0.0]
    for node in program.model.graph:
        node.op_type = "Cos"
    file = io.BytesIO()
    program.save(file)
    assert program(torch.zeros(2))[0].tolist() == [1.0, 1.0] and b"Cos" in file.getvalue()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_small_floats_have_element_types(name: str) -> None:
    class Narrow(torch.nn.Module):
        def forward(self, x):
            return x.to(getattr(torch, name)).to(torch.float32)

    x = torch.tensor([0.1, 1.3, -2.7])
    program = torch.onnx.export(Narrow(), (x,), dynamo=True, opset_version=20)
    assert program(x)[0].tolist() == Narrow()(x).tolist()


def test_weights_of_a_program_are_replaced_and_its_sessions_are_released() -> None:
    def network() -> nn.Module:
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    x, first, second = torch.randn(2, 3), network(), network()
    program = torch.onnx.export(first, (x,), None)
    assert torch.allclose(program(x)[0], first(x), atol=1e-6) and torch.allclose(program.call_reference(x)[0], first(x), atol=1e-6)
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="Weight 'other' not found"):
        program.apply_weights({**second.state_dict(), "other": torch.zeros(1)})
    assert torch.allclose(program(x)[0], second(x), atol=1e-6) and torch.allclose(program.call_reference(x)[0], second(x), atol=1e-6)
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"'0.weight' has shape \(4, 3\)"):
        program.apply_weights({"0.weight": torch.zeros(3, 4)})
    sizes = []
    program.initialize_inference_session(lambda content: sizes.append(len(content)))
    program.release()
    assert sizes[0] > 100 and torch.allclose(program(x)[0], second(x), atol=1e-6)


def test_axes_of_a_program_are_renamed(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, x], 0), x.sum(1) + y

    batch, width = torch.export.Dim("batch"), torch.export.Dim("width")
    program = torch.onnx.export(Model(), (torch.ones(3, 4), torch.ones(3)), dynamic_shapes=({0: batch, 1: width}, {0: batch}), dynamo=True)

    def axes():
        graph = program.model_proto.graph
        return [[dim.dim_param for dim in each.type.tensor_type.shape.dim] for each in (*graph.input, *graph.output)]

    assert axes() == [["batch", "width"], ["batch"], ["2*batch", "width"], ["batch"]]
    program.rename_axes({"batch": "rows", "width": "batch"})
    assert axes() == [["rows", "batch"], ["rows"], ["2*rows", "batch"], ["rows"]]
    program.rename_axes({"rows": "n", "batch": "w"})
    assert axes() == [["n", "w"], ["n"], ["2*n", "w"], ["n"]]
    program.save(tmp_path / "m.onnx")
    assert onnx.load(tmp_path / "m.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    assert program(torch.ones(5, 2), torch.ones(5))[1].tolist() == [3.0] * 5
    with pytest.raises(torch.onnx.OnnxExporterError, match="names of axes"):
        program.rename_axes({"n": 3})


def test_values_inside_of_a_program():
    program = torch.onnx.export(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.ones(2, 4),), dynamo=True)
    inner = program.model_proto.graph.node[0].output[0]
    (value,) = program.compute_values([inner], (torch.ones(2, 4),))
    assert torch.equal(value.relu(), program(torch.ones(2, 4))[0])
    weight, result = program.compute_values(["0.weight", program.model_proto.graph.output[0].name], (torch.ones(2, 4),))
    assert weight.numel() == 12 and result.shape == (2, 3)
    with pytest.raises(ValueError, match="Value 'other' not found in the model"):
        program.compute_values(["other"], (torch.ones(2, 4),))


def test_programs_are_optimized_and_saved_without_their_weights(tmp_path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))

        def forward(self, x):
            return x @ self.weight.t()

    program = torch.onnx.export(Model(), (torch.ones(1, 3),), do_constant_folding=False, dynamo=True)
    wanted = program(torch.ones(1, 3))[0]
    kinds = [node.op_type for node in program.model_proto.graph.node]
    program.optimize()
    assert kinds == ["Transpose", "MatMul"] and [node.op_type for node in program.model_proto.graph.node] == ["MatMul"]
    assert torch.equal(program(torch.ones(1, 3))[0], wanted)
    name = program.model_proto.graph.initializer[0].name
    for include, keep in ((True, True), (False, True), (False, False)):
        program.save(tmp_path / "m.onnx", include_initializers=include, keep_initializers_as_inputs=keep)
        graph = onnx.load(tmp_path / "m.onnx").graph
        assert bool(graph.initializer) is include and (name in [each.name for each in graph.input]) is keep
    program.apply_weights({name: torch.ones_like(Model().weight.t().contiguous())})
    with pytest.raises(torch.onnx.OnnxExporterError, match="call optimize"):
        program.optimize()
