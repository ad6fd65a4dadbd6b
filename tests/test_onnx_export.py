"""onnx.export: its options, the files it writes, and what bad input gets."""

from __future__ import annotations

import io
import os
import stat

import numpy as np
import onnx
import onnxruntime
import pytest
from support.onnx_files import onnx_session, run_onnx

import rushlight as torch
import rushlight.onnx
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.onnx import OperatorExportTypes, TrainingMode, errors, symbolic_helper, utils

onnxruntime.set_default_logger_severity(4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(self.first(x))


def load(*args, **options):
    """Export into memory, and read the file back."""
    buffer = io.BytesIO()
    rushlight.onnx.export(*args, buffer, **options)
    return onnx.load_from_string(buffer.getvalue())


def close(got, want, **options):
    np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-4, atol=1e-5, **options)


def kinds(model):
    return [node.op_type for node in model.graph.node]


# -- the file ------------------------------------------------------------------------------------------------------


def test_initializers_are_the_state_dict_in_its_order():
    model = Net()
    exported = load(model, torch.randn(2, 4), do_constant_folding=False)
    assert [each.name for each in exported.graph.initializer] == list(model.state_dict())
    assert [each.name for each in exported.graph.input] == ["x"]
    assert kinds(exported) == ["Gemm", "Relu", "Gemm"]
    assert [each.name for each in exported.graph.node] == ["/first/Gemm", "/layers/0/Relu", "/layers/1/Gemm"]


def test_the_same_bytes_every_time():
    model = Net()
    files = []
    for _ in range(3):
        buffer = io.BytesIO()
        rushlight.onnx.export(model, torch.randn(2, 4), buffer, dynamic_axes={"x": {0: "batch"}})
        files.append(buffer.getvalue())
    assert files[0] == files[1] == files[2]


def test_file_equals_the_message(tmp_path):
    """The file is written around its tensors by hand: it must read as the protobuf message does."""
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 2))
    path = tmp_path / "model.onnx"
    program = rushlight.onnx.export(model, torch.randn(2, 64), path)
    assert onnx.load(path) == program.model_proto
    onnx.checker.check_model(str(path), full_check=True)


@pytest.mark.parametrize("opset", range(9, onnx.defs.onnx_opset_version() + 1))
def test_the_requested_opset_exactly(opset):
    exported = load(Net(), torch.randn(2, 4), opset_version=opset)
    assert [(each.domain, each.version) for each in exported.opset_import] == [("", opset)]
    onnx.checker.check_model(exported, full_check=True)


def test_source_line_and_module_of_each_node():
    exported = load(Net(), torch.randn(2, 4))
    facts = [{each.key: each.value for each in node.metadata_props} for node in exported.graph.node]
    assert facts[1]["pkg.torch.onnx.name_scopes"] == "['', 'layers', 'layers.0']"
    assert facts[1]["namespace"] == "layers/0"
    assert "test_onnx_export.py" in facts[0]["pkg.torch.onnx.stack_trace"]
    assert "Linear" in facts[0]["pkg.torch.onnx.class_hierarchy"]


def test_no_dead_nodes_and_no_leftovers():
    def program(x):
        unused = x.exp().sum()  # noqa: F841
        mask = torch.ones(4, 4).tril()
        return (x.to(torch.float32).contiguous().detach().clone() @ mask).view(-1, 4)

    exported = load(program, torch.randn(2, 4))
    assert kinds(exported) == ["Constant", "MatMul"]


def test_folded_weights_are_named_after_their_parameter():
    model = nn.Linear(100, 60)
    exported = load(model, torch.randn(2, 3, 100))
    assert [each.name for each in exported.graph.initializer] == ["weight.transposed", "bias"]
    close(run_onnx(exported, x := torch.randn(2, 3, 100))[0], model(x))


# -- inputs and outputs --------------------------------------------------------------------------------------------


def test_names_of_inputs_and_outputs():
    exported = load(lambda a, b: (a + b, a - b), (torch.ones(2), torch.ones(2)), input_names=["left"], output_names=["sum", "rest"])
    assert [each.name for each in exported.graph.input] == ["left", "b"]
    assert [each.name for each in exported.graph.output] == ["sum", "rest"]


def test_nested_inputs_keywords_and_dict_outputs():
    class Model(nn.Module):
        def forward(self, pair, table=None, *, scale):
            return {"a": pair[0] * table["k"], "b": [pair[1] + scale]}

    x, y, k, s = (torch.randn(3) for _ in range(4))
    program = rushlight.onnx.export(Model(), ((x, y),), None, kwargs={"table": {"k": k}, "scale": s})
    assert [each.name for each in program.model_proto.graph.output] == ["a", "b_0"]
    got = program.run((x, y), table={"k": k}, scale=s)
    assert torch.allclose(got[0], x * k) and torch.allclose(got[1], y + s)
    last = rushlight.onnx.export(Model(), ((x, y), {"table": {"k": k}, "scale": s}), None)
    assert len(last.model_proto.graph.input) == 4


def test_input_returned_and_returned_twice():
    exported = load(lambda x: (x, x + 1, x), torch.ones(2))
    got = run_onnx(exported, torch.ones(2))
    assert [each.tolist() for each in got] == [[1, 1], [2, 2], [1, 1]]


def test_unused_input_stays_an_input():
    exported = load(lambda x, y: x * 2, (torch.ones(2), torch.ones(3)))
    assert [each.name for each in exported.graph.input] == ["x", "y"]


def test_file_objects_paths_and_none(tmp_path):
    path = tmp_path / "model.onnx"
    program = rushlight.onnx.export(Net(), torch.randn(2, 4), str(path))
    again = rushlight.onnx.export(Net(), torch.randn(2, 4))
    again.save(tmp_path / "again.onnx")
    assert sorted(os.listdir(tmp_path)) == ["again.onnx", "model.onnx"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
    assert "Gemm" in repr(program)


def test_external_data(tmp_path):
    model = nn.Linear(100, 200)
    path = tmp_path / "model.onnx"
    rushlight.onnx.export(model, torch.randn(2, 100), path, external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.data"]
    assert path.stat().st_size < 8000
    session = onnx_session(path)
    x = torch.randn(2, 100)
    close(session.run(None, {"input": x.numpy()})[0], model(x))


def test_export_params_and_keep_initializers():
    exported = load(Net(), torch.randn(2, 4), export_params=False)
    assert len(exported.graph.initializer) == 0 and len(exported.graph.input) == 5
    exported = load(Net(), torch.randn(2, 4), keep_initializers_as_inputs=True)
    assert len(exported.graph.initializer) == 4 and len(exported.graph.input) == 5


# -- sizes ---------------------------------------------------------------------------------------------------------


def test_dynamic_axes():
    model = Net()
    for axes in ({"x": {0: "batch"}}, {"x": [0]}):
        exported = load(model, torch.randn(1, 4), dynamic_axes=axes)
        dims = exported.graph.input[0].type.tensor_type.shape.dim
        assert dims[0].dim_param == ("batch" if isinstance(axes["x"], dict) else "x_dynamic_axes_1") and dims[1].dim_value == 4
        assert exported.graph.output[0].type.tensor_type.shape.dim[0].dim_param == dims[0].dim_param
        for batch in (1, 5):
            x = torch.randn(batch, 4)
            close(run_onnx(exported, x)[0], model(x))


def test_dynamic_shapes():
    model = Net()
    for shapes in ({"x": {0: "batch"}}, ({0: "batch"},), [("batch", None)]):
        exported = load(model, torch.randn(2, 4), dynamic_shapes=shapes)
        assert exported.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_sizes_are_formulas_of_the_dynamic_ones():
    def program(x):
        b, n = x.shape
        return torch.cat([x, x[:, : n // 2]], dim=1).reshape(b, -1, 1), x.reshape(-1), torch.zeros(b + 1, 2 * n)

    exported = load(program, torch.randn(2, 6), dynamic_axes={"x": {0: "B", 1: "N"}})
    shapes = [[d.dim_param or d.dim_value for d in each.type.tensor_type.shape.dim] for each in exported.graph.output]
    assert shapes[1] == ["B*N"] and shapes[2] == ["B + 1", "2*N"] and shapes[0][0] == "B"
    for shape in ((2, 6), (3, 9)):
        x = torch.randn(*shape)
        for got, want in zip(run_onnx(exported, x), program(x)):
            close(got, want)


def test_static_sizes_are_inferred_beside_dynamic_ones():
    def program(x):
        batch = x.size(0)
        x = x.view(batch, 1, 2, -1).transpose(1, 2)
        return F.softmax(x, dim=1).reshape(batch, -1)

    exported = load(program, torch.randn(10, 1, 128, 1), dynamic_axes={"x": [0]})
    assert exported.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 128
    x = torch.randn(3, 1, 128, 1)
    close(run_onnx(exported, x)[0], program(x))


# -- modes ---------------------------------------------------------------------------------------------------------


def test_training_modes():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    assert model.training
    before = model[1].running_mean.clone()
    exported = load(model, torch.randn(3, 4))
    assert model.training and "Dropout" not in kinds(exported)
    assert torch.equal(model[1].running_mean, before)
    exported = load(model, torch.randn(3, 4), training=TrainingMode.TRAINING)
    assert "Dropout" in kinds(exported)
    assert not torch.equal(model[1].running_mean, before)  # as PyTorch: the export's own run is one in training mode
    model.eval()
    with rushlight.onnx.select_model_mode_for_export(model, TrainingMode.TRAINING):
        assert model.training
    assert not model.training


def test_batch_norm_in_training_mode():
    """The file holds the statistics after the export's run, as PyTorch's does.

    ONNX Runtime shares equal constants and writes the running statistics in place: with the statistics of a new module (0 and 1) it would
    write into the weight and the bias too.
    """
    torch.manual_seed(0)
    model, x = nn.BatchNorm2d(3), torch.randn(4, 3, 5, 5) * 2
    exported = load(model, x, training=TrainingMode.TRAINING, do_constant_folding=False)
    close(run_onnx(exported, x)[0], model(x))
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in exported.graph.initializer}
    np.testing.assert_allclose(stored["running_mean"], 0.1 * x.mean((0, 2, 3)).numpy(), rtol=1e-5)


def test_is_in_onnx_export():
    seen = []

    class Model(nn.Module):
        def forward(self, x):
            seen.append(rushlight.onnx.is_in_onnx_export())
            return x + 1

    model = Model()
    load(model, torch.ones(1))
    model(torch.ones(1))
    assert seen == [True, False]


def test_in_place_writes_and_views():
    def program(x):
        y = x.clone()
        y[:, 0] = 5
        y[1:].mul_(2)
        y.t()[1].add_(x.sum())
        return y

    exported = load(program, torch.randn(3, 4), dynamic_axes={"x": {0: "B"}})
    x = torch.randn(5, 4)
    close(run_onnx(exported, x)[0], program(x))


def test_traced_modules_export_with_their_original_lines():
    traced = torch.jit.trace(Net(), torch.randn(2, 4))
    exported = load(traced, torch.randn(2, 4))
    assert kinds(exported) == ["Gemm", "Relu", "Gemm"]
    assert [each.name for each in exported.graph.node] == ["/first/Gemm", "/layers/0/Relu", "/layers/1/Gemm"]
    facts = {each.key: each.value for each in exported.graph.node[0].metadata_props}
    assert "in forward" in facts["pkg.torch.onnx.stack_trace"] and "test_onnx_export.py" in facts["pkg.torch.onnx.stack_trace"]


def test_modules_as_functions():
    model = nn.Sequential(Net(), nn.Linear(3, 3), nn.Linear(3, 3), nn.GELU())
    x = torch.randn(2, 4)
    for chosen in (True, {nn.Linear, nn.GELU}):
        exported = load(model, x, export_modules_as_functions=chosen, opset_version=17)
        names = sorted(each.name for each in exported.functions)
        assert names == (["GELU", "Linear", "Net", "ReLU", "Sequential"] if chosen is True else ["GELU", "Linear"])
        assert len([node for node in exported.graph.node if node.op_type == "Linear"]) == (2 if chosen is True else 4)
        close(run_onnx(exported, x)[0], model(x))
    refused("needs opset 15", model, (x,), None, export_modules_as_functions=True, opset_version=13, kind=ValueError)


# -- custom Functions ----------------------------------------------------------------------------------------------


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, mode="up"):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor if mode == "up" else x / factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, None


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = x.exp()  # saved and not returned
        ctx.save_for_backward(kept)
        return Scale.apply(x, 3.0), x, x.topk(2)[0]

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0]


class Symbolic(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope, scale):
        return torch.where(x > 0, x, x * slope) * scale, x.sum()

    @staticmethod
    def symbolic(g, x, slope, scale):
        assert isinstance(slope, float)
        leaky = g.op("LeakyRelu", x, alpha_f=slope)
        total = g.op("ReduceSum", x, keepdims_i=0)
        return g.op("Mul", leaky, scale), total


def test_functions_without_symbolic_are_inlined():
    def program(x):
        scaled, same, top = Outer.apply(x)
        return scaled + same, top.sum()

    exported = load(program, torch.randn(2, 5), dynamic_axes={"x": {0: "B"}})
    assert {node.domain for node in exported.graph.node} == {""}
    x = torch.randn(4, 5)
    for got, want in zip(run_onnx(exported, x), program(x)):
        close(got, want)


def test_functions_with_symbolic():
    scale = torch.tensor([2.0])
    program = lambda x: Symbolic.apply(x, 0.1, scale)[0]
    exported = load(program, torch.randn(3))
    assert "LeakyRelu" in kinds(exported) and "ReduceSum" not in kinds(exported)
    x = torch.randn(3)
    close(run_onnx(exported, x)[0], program(x))


def test_function_policies():
    program = lambda x: Scale.apply(x, 2.0)
    graph, params, _ = utils._model_to_graph(program, (torch.ones(2),), operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH)
    assert [node.kind() for node in graph.nodes()] == ["prim::PythonOp"] and params == {}
    with pytest.raises(RuntimeError, match="Couldn't export Python operator Scale"):
        load(program, torch.ones(2), autograd_inlining=False)


def test_python_ops_by_a_registered_symbolic():
    def symbolic(context: rushlight.onnx.SymbolicContext, g, *args, **kwargs):
        assert context.cur_node.meta["function"] is Scale
        return g.op("com.microsoft::PythonOp", args[0], name_s="scale")

    rushlight.onnx.register_custom_op_symbolic("prim::PythonOp", symbolic, 1)
    try:
        exported = load(lambda x: Scale.apply(x, 2.0) + 1, torch.ones(2), custom_opsets={"com.microsoft": 3})
    finally:
        rushlight.onnx.unregister_custom_op_symbolic("prim::PythonOp", 1)
    assert ("com.microsoft", 3) in [(each.domain, each.version) for each in exported.opset_import]
    assert [node.domain for node in exported.graph.node if node.op_type == "PythonOp"] == ["com.microsoft"]


# -- symbolic functions of users -----------------------------------------------------------------------------------


def test_registered_symbolic_with_parsed_arguments():
    @symbolic_helper.parse_args("v", "f", "f")
    def clamp(g, x, low, high):
        assert (low, high) == (-0.5, 0.5) and x.type().sizes() == [3] and x.type().scalarType() == "Float"
        return g.op("my.ops::Clamp", x, low_f=low, high_f=high)

    rushlight.onnx.register_custom_op_symbolic("aten::clamp", clamp, 9)
    try:
        exported = load(lambda x: torch.clamp(x, -0.5, 0.5), torch.randn(3))
    finally:
        rushlight.onnx.unregister_custom_op_symbolic("aten::clamp", 9)
    (node,) = [each for each in exported.graph.node if each.domain == "my.ops"]
    assert {each.name: round(each.f, 3) for each in node.attribute} == {"low": -0.5, "high": 0.5}
    assert "Clip" in kinds(load(lambda x: torch.clamp(x, -0.5, 0.5), torch.randn(3)))


def test_registering_bad_names():
    for name in ("no_colons", "a b::c", "onnx::Add"):
        with pytest.raises(RuntimeError, match="Failed to register operator"):
            rushlight.onnx.register_custom_op_symbolic(name, lambda g: None, 9)


def test_invalid_nodes_are_found_after_the_file_is_written():
    rushlight.onnx.register_custom_op_symbolic("::add", lambda g, a, b, alpha=None: g.op("Add", a, b, wrong_i=1), 9)
    buffer = io.BytesIO()
    try:
        with pytest.raises(errors.CheckerError):
            rushlight.onnx.export(lambda a, b: a + b, (torch.ones(2), torch.ones(2)), buffer)
    finally:
        rushlight.onnx.unregister_custom_op_symbolic("::add", 9)
    assert buffer.getvalue()


@pytest.mark.parametrize("mode", [OperatorExportTypes.ONNX_ATEN_FALLBACK, OperatorExportTypes.ONNX_ATEN])
def test_aten_modes(mode):
    exported = load(lambda a, b: torch.linalg.qr(a + b), (torch.rand(3, 4), torch.rand(3, 4)), operator_export_type=mode)
    nodes = [node for node in exported.graph.node if node.op_type == "ATen"]
    names = [{a.name: a.s.decode() for a in node.attribute}["operator"] for node in nodes]
    assert names == (["linalg_qr"] if mode is OperatorExportTypes.ONNX_ATEN_FALLBACK else ["add", "linalg_qr"])
    assert {node.domain for node in nodes} == {"org.pytorch.aten"}


# -- bad input -----------------------------------------------------------------------------------------------------


def refused(match, *args, kind=RuntimeError, **options):
    with pytest.raises(kind, match=match) as raised:
        rushlight.onnx.export(*args, **options)
    return raised.value


def test_op_without_a_form_names_the_op_and_the_line(tmp_path):
    path = tmp_path / "model.onnx"
    error = refused("linalg_eigvals", lambda x: torch.linalg.eigvals(x), torch.randn(3, 3), path)
    assert isinstance(error, errors.UnsupportedOperatorError) and "test_onnx_export.py" in str(error)
    assert os.listdir(tmp_path) == []


def test_newer_op_names_the_first_opset():
    error = refused("17", lambda x: torch.view_as_real(torch.fft.rfft(x)), (torch.randn(8),), None, opset_version=11)
    assert error.supported_version == 17


def test_choice_by_value_is_an_error_with_the_line():
    def program(x):
        if x.sum() > 0:
            return x * 2
        return x

    error = refused("truth of a tensor", program, torch.ones(3))
    assert "in program" in str(error)


def test_bad_names_axes_and_opsets():
    x = torch.ones(2, 3)
    refused("more than once", lambda a, b: a + b, (x, x), None, input_names=["x", "x"], kind=ValueError)
    refused("2 names, but the model has 1", lambda a: a + 1, (x,), None, input_names=["x", "y"], kind=ValueError)
    refused("returns 1", lambda a: a + 1, (x,), None, output_names=["x", "y"], kind=ValueError)
    refused("has 2 dimensions", lambda a: a + 1, (x,), None, dynamic_axes={"a": [2]}, kind=ValueError)
    refused("opsets that can be exported", lambda a: a + 1, (x,), None, opset_version=999, kind=ValueError)
    refused("opsets that can be exported", lambda a: a + 1, (x,), None, opset_version=6, kind=ValueError)
    refused("do not fit", lambda a: a + 1, (x, x), None)


def test_bad_results_and_files(tmp_path):
    x = torch.ones(2)
    refused("returns None", lambda a: None, (x,))
    refused("returns a str", lambda a: "text", (x,))
    refused("no tensor", lambda a: (), (x,))
    refused("can't write", lambda a: a + 1, (x,), tmp_path / "no" / "such" / "folder.onnx")
    refused("a path, a file object or None", lambda a: a + 1, (x,), 3)
    with pytest.raises(TypeError):
        rushlight.onnx.export(3, (x,))


def test_types_that_onnx_lacks():
    refused("opset 19", lambda a: a.to(torch.float8_e4m3fn), (torch.ones(2),), None, opset_version=18)


def test_pretty_string():
    text = rushlight.onnx.export_to_pretty_string(Net(), (torch.ones(1, 4),))
    assert "onnx::Gemm" in text and "test_onnx_export.py" in text and "first.weight" in text
    assert "op_type" in rushlight.onnx.export_to_pretty_string(Net(), (torch.ones(1, 4),), google_printer=True)


class Counting(torch.nn.Module):
    """Counts its calls in a buffer, and rebinds another."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        self.count.add_(x)
        self.count += 1
        self.last = self.last + x
        return self.count * 2 + self.last


@pytest.mark.parametrize("exported", [False, True])
def test_buffers_that_the_model_changes_are_in_the_file_as_they_were_before(exported):
    x, model = torch.ones(3), Counting()
    given = torch.export.export(model, (x,)) if exported else model
    program = torch.onnx.export(given, (x,))
    assert torch.onnx.load(program.model_proto)(x).tolist() == [5.0, 5.0, 5.0]
    assert model.count.tolist() == model.last.tolist() == [0.0, 0.0, 0.0]
    assert model(x).tolist() == [5.0, 5.0, 5.0]
