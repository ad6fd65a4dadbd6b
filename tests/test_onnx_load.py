"""Models read from ONNX files: names, inputs, training, captures, export at another opset, control flow, functions, custom operators."""

from __future__ import annotations

import copy
import importlib.util
import io
import os
import pickle
import warnings

import numpy as np
import pytest

if importlib.util.find_spec("onnx") is None:
    pytest.skip("needs the package onnx", allow_module_level=True)

import onnx
from onnx import TensorProto, helper, numpy_helper

import rushlight as torch
import rushlight.onnx
from rushlight.capture.graph_module import GraphModule
from rushlight.onnx.errors import ModelFileError, UnsupportedModelError
from rushlight.onnx.load import registry

nn = torch.nn


def model_of(text: str, **weights: np.ndarray):
    """A model written in ONNX's text form, with initializers."""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    return model


def header(opset: int = 18, more: str = "") -> str:
    return f'<ir_version: 8, opset_import: ["": {opset}{more}]>'


def classifier():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)).eval()


def exported(model, *args, **options):
    file = io.BytesIO()
    torch.onnx.export(model, args, file, **options)
    return file.getvalue()


@pytest.fixture(scope="module")
def saved():
    model, x = classifier(), torch.randn(2, 1, 4, 4)
    axes = {"in.put": {0: "N"}}
    return model, x, exported(model, x, input_names=["in.put"], output_names=["/out/0"], dynamic_axes=axes, do_constant_folding=False)


class TestModel:
    def test_names_parameters_and_buffers(self):
        model = classifier()
        x = torch.randn(2, 1, 4, 4)
        loaded = torch.onnx.load(exported(model, x, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False))
        initializers = {name for name in model.state_dict() if not name.endswith("num_batches_tracked")}
        assert set(loaded.state_dict()) <= initializers
        assert {"0.weight", "0.bias", "4.weight", "4.bias"} <= set(dict(loaded.named_parameters()))
        assert all(each.requires_grad for each in loaded.parameters())
        assert not loaded.training
        assert isinstance(loaded, GraphModule)
        assert torch.equal(loaded(x), model(x)) or torch.allclose(loaded(x), model(x), atol=1e-6)

    def test_inputs_by_name_and_position(self, saved):
        model, x, content = saved
        loaded = torch.onnx.load(content)
        assert loaded.input_names == ("in.put",) and loaded.output_names == ("/out/0",)
        expected = model(x)
        for found in (loaded(x), loaded(**{"in.put": x}), loaded(in_put=x)):
            assert torch.allclose(found, expected, atol=1e-6)
        with pytest.raises(TypeError, match="'in.put' is missing"):
            loaded(other=x)
        with pytest.raises(TypeError, match="no input 'in.put'"):
            loaded(x, **{"in.put": x})
        assert loaded(torch.randn(5, 1, 4, 4)).shape == (5, 3)

    def test_odd_names_of_weights(self):
        weights = {
            name: np.full(2, at + 1, np.float32)
            for at, name in enumerate(("a/b:0", "a", "a.b", "forward", "x..y", "training", "_parameters", "0"))
        }
        text = header() + " g (float[2] x) => (float[2] y) { "
        value = "x"
        for at, name in enumerate(weights):
            text += f't{at} = Add({value}, "{name}") '
            value = f"t{at}"
        loaded = torch.onnx.load(model_of(text + f"y = Identity({value}) }}", **weights))
        assert loaded(torch.zeros(2)).tolist() == [36.0, 36.0]
        state = loaded.state_dict()
        assert len(state) == len(weights) and {"a/b:0", "a", "0"} <= set(state)
        loaded.load_state_dict({name: torch.zeros_like(each) for name, each in state.items()})
        assert loaded(torch.zeros(2)).tolist() == [0.0, 0.0]
        again = torch.onnx.load(exported(loaded, torch.zeros(2)))
        assert again(torch.ones(2)).tolist() == [1.0, 1.0]

    def test_inputs_with_defaults(self):
        model = model_of(header() + " g (float[2] x, float[2] w) => (float[2] y) { y = Mul(x, w) }", w=np.array([2.0, 3.0], np.float32))
        loaded, x = torch.onnx.load(model), torch.ones(2)
        assert loaded(x).tolist() == [2.0, 3.0]
        assert loaded(x, w=torch.zeros(2)).tolist() == [0.0, 0.0]
        assert list(dict(loaded.named_parameters())) == ["w"]
        compiled = torch.compile(loaded, fullgraph=True)
        assert [compiled(x).tolist(), compiled(x).tolist()] == [[2.0, 3.0]] * 2
        old = copy.deepcopy(model)
        old.ir_version = 3  # in which all initializers are inputs, too
        assert torch.onnx.load(old).input_names == ("x",)

    def test_sources(self, saved, tmp_path):
        _, x, content = saved
        (tmp_path / "model.onnx").write_bytes(content)
        sources = [tmp_path / "model.onnx", str(tmp_path / "model.onnx"), content, io.BytesIO(content), onnx.load_from_string(content)]
        results = [torch.onnx.load(each)(x) for each in sources]
        assert all(torch.equal(each, results[0]) for each in results)

    def test_frozen_on_request(self, saved):
        assert not any(each.requires_grad for each in torch.onnx.load(saved[2], requires_grad=False).parameters())

    def test_code_and_graph(self, saved):
        loaded = torch.onnx.load(saved[2])
        assert "Conv(" in loaded.code
        assert "call_function[target=Conv]" in str(loaded.graph)
        loaded.graph.lint() if hasattr(loaded.graph, "lint") else None


class TestTraining:
    def test_fine_tuning(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        x = torch.randn(64, 4)
        y = x.sum(1, keepdim=True)
        loaded = torch.onnx.load(exported(model, x)).train()
        optimizer = torch.optim.Adam(loaded.parameters(), lr=0.02)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(loaded(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.1 * losses[0]

    def test_gradients_are_those_of_the_model(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.GELU(), nn.Flatten(), nn.LayerNorm(12), nn.Linear(12, 2))
        x = torch.randn(2, 2, 4, 4)
        loaded = torch.onnx.load(exported(model, x))
        model(x).square().sum().backward()
        loaded(x).square().sum().backward()
        own = dict(model.named_parameters())
        for name, each in loaded.named_parameters():
            if name in own:
                assert torch.allclose(each.grad, own[name].grad, atol=1e-4), name

    def test_dropout_and_statistics_follow_the_mode(self):
        text = (
            header()
            + """ g (float[8,4] x) => (float[8,4] y) {
            n = BatchNormalization(x, scale, shift, mean, var)
            ratio = Constant<value = float {0.5}>()
            y = Dropout(n, ratio)
        }"""
        )
        weights = {name: np.full(4, value, np.float32) for name, value in (("scale", 1), ("shift", 0), ("mean", 0), ("var", 1))}
        loaded = torch.onnx.load(model_of(text, **weights))
        assert set(dict(loaded.named_parameters())) == {"scale", "shift"} and set(loaded.state_dict()) == set(weights)
        x = torch.randn(8, 4) + 5
        assert torch.allclose(loaded(x), x, atol=1e-3)
        dropped = loaded.train()(x)
        assert (dropped == 0).any() and dropped.mean().abs() < 2
        compiled = torch.compile(loaded)
        compiled(x)
        assert torch.allclose(loaded.eval()(x), compiled(x), atol=1e-5)


class TestCaptures:
    def test_compile_is_one_graph_for_any_size(self, saved):
        model, x, content = saved
        compiled = torch.compile(torch.onnx.load(content), fullgraph=True)
        for size in (2, 3, 5, 2):
            x = torch.randn(size, 1, 4, 4)
            assert torch.allclose(compiled(x), model(x), atol=1e-5)

    def test_arithmetic_on_sizes_stays_symbolic(self):
        text = (
            header()
            + """ g (float[N,M,4] x) => (float[P,Q] y) {
            s = Shape(x)
            zero = Constant<value = int64 {0}>() one = Constant<value = int64 {1}>() four = Constant<value = int64[1] {4}>()
            n = Gather(s, zero) m = Gather(s, one)
            nm = Mul(n, m)
            axes = Constant<value = int64[1] {0}>()
            first = Unsqueeze(nm, axes)
            shape = Concat<axis = 0>(first, four)
            r = Reshape(x, shape)
            count = Cast<to = 1>(nm)
            y = Div(r, count)
        }"""
        )
        loaded = torch.onnx.load(model_of(text))
        x = torch.randn(2, 3, 4)
        assert torch.allclose(loaded(x), x.reshape(6, 4) / 6)
        compiled = torch.compile(loaded, fullgraph=True, dynamic=True)
        for sizes in ((2, 3), (4, 5), (3, 7)):
            x = torch.randn(*sizes, 4)
            assert torch.allclose(compiled(x), x.reshape(-1, 4) / (sizes[0] * sizes[1]))
        again = torch.onnx.load(exported(loaded, torch.randn(2, 3, 4), dynamic_axes={"x": {0: "N", 1: "M"}}))
        x = torch.randn(4, 5, 4)
        assert torch.allclose(again(x), x.reshape(-1, 4) / 20)

    @pytest.mark.parametrize("opset", [9, 13, 18, 21])
    def test_export_converts(self, saved, opset):
        model, x, content = saved
        converted = exported(torch.onnx.load(content), x, opset_version=opset, dynamic_axes={"in.put": {0: "N"}})
        proto = onnx.load_from_string(converted)
        assert proto.opset_import[0].version == opset
        assert [each.name for each in proto.graph.input] == ["in.put"] and [each.name for each in proto.graph.output] == ["/out/0"]
        x = torch.randn(3, 1, 4, 4)
        assert torch.allclose(torch.onnx.load(converted)(x), model(x), atol=1e-5)

    def test_saved_copied_pickled_traced(self, saved):
        _, x, content = saved
        loaded = torch.onnx.load(content)
        file = io.BytesIO()
        torch.jit.save(loaded, file)
        file.seek(0)
        for other in (torch.jit.load(file), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded)), torch.jit.trace(loaded, x)):
            assert torch.equal(other(x), loaded(x))
            assert set(other.state_dict()) == set(loaded.state_dict())
        again = copy.deepcopy(loaded)
        assert again.input_names == loaded.input_names and again(**{"in.put": x}).shape == (2, 3)


LOOP = (
    header()
    + """ g (int64 n, float[2] x) => (float[2] total, float[K,2] rows) {
    go = Constant<value = bool {1}>()
    total, rows = Loop(n, go, x) <body = b (int64 i, bool c, float[2] t) => (bool d, float[2] u, float[2] row) {
        d = Identity(c)
        f = Cast<to = 1>(i)
        u = Add(t, w)
        row = Mul(u, f)
    }>
}"""
)
BRANCH = (
    header()
    + """ g (float[2] x) => (float[2] y) {
    s = ReduceSum<keepdims = 0>(x)
    zero = Constant<value = float {0}>()
    c = Greater(s, zero)
    y = If(c) <then_branch = a () => (float[2] p) { p = Mul(x, w) }, else_branch = b () => (float[2] q) { q = Sub(x, w) }>
}"""
)
SCAN = (
    header()
    + """ g (float[2] first, float[T,2] x) => (float[2] last, float[T,2] sums) {
    last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] item) => (float[2] t, float[2] out) {
        t = Add(s, item)
        out = Mul(t, w)
    }>(first, x)
}"""
)
COLLECT = (
    header()
    + """ g (int64 n, float[2] x) => (float[K,2] rows, float[2] second, int64 count) {
    go = Constant<value = bool {1}>()
    empty = SequenceEmpty<dtype = 1>()
    one = Constant<value = int64 {1}>()
    start = Identity(x)
    last, items = Loop(n, go, start, empty) <body = b (int64 i, bool c, float[2] t, seq(float[2]) held) => (bool d, float[2] u, seq(float[2]) longer) {
        limit = Constant<value = int64 {5}>()
        u = Mul(t, w)
        longer = SequenceInsert(held, u)
        long = SequenceLength(longer)
        d = Less(long, limit)
    }>
    rows = ConcatFromSequence<axis = 0, new_axis = 1>(items)
    second = SequenceAt(items, one)
    count = SequenceLength(items)
}"""
)
WEIGHT = np.array([2.0, 3.0], np.float32)


class TestControlFlow:
    def test_loop(self):
        loaded = torch.onnx.load(model_of(LOOP, w=WEIGHT))
        total, rows = loaded(torch.tensor(3), torch.zeros(2))
        assert total.tolist() == [6.0, 9.0] and rows.tolist() == [[0.0, 0.0], [4.0, 6.0], [12.0, 18.0]]
        total, rows = loaded(torch.tensor(0), torch.zeros(2))
        assert total.tolist() == [0.0, 0.0] and rows.shape == (0, 2)
        compiled = torch.compile(loaded)
        for count in (3, 1, 0, 4):
            found, expected = (each(torch.tensor(count), torch.ones(2)) for each in (compiled, loaded))
            assert [each.tolist() for each in found] == [each.tolist() for each in expected]
        loaded(torch.tensor(3), torch.zeros(2))[0].sum().backward()
        assert dict(loaded.named_parameters())["w"].grad.tolist() == [3.0, 3.0]

    @pytest.mark.parametrize("x", [[1.0, 2.0], [-1.0, -2.0]])
    def test_branch(self, x):
        loaded, x = torch.onnx.load(model_of(BRANCH, w=WEIGHT)), torch.tensor(x)
        expected = (x * torch.tensor(WEIGHT) if x.sum() > 0 else x - torch.tensor(WEIGHT)).tolist()
        assert loaded(x).tolist() == expected
        compiled = torch.compile(loaded)
        assert [compiled(x).tolist() for _ in range(3)] == [expected] * 3
        again = torch.onnx.load(exported(loaded, torch.ones(2)))
        assert again(x).tolist() == expected
        assert "If" in {node.op_type for node in onnx.load_from_string(exported(loaded, torch.ones(2))).graph.node}

    def test_scan(self):
        loaded = torch.onnx.load(model_of(SCAN, w=WEIGHT))
        x = torch.randn(5, 2)
        compiled = torch.compile(loaded)
        for each in (
            loaded,
            compiled,
            compiled,
            torch.onnx.load(exported(loaded, torch.zeros(2), torch.randn(3, 2), dynamic_axes={"x": {0: "T"}})),
        ):
            last, sums = each(torch.zeros(2), x)
            assert torch.allclose(last, x.sum(0), atol=1e-5) and torch.allclose(sums, x.cumsum(0) * torch.tensor(WEIGHT), atol=1e-5)

    def test_loop_is_exported_as_a_loop(self):
        loaded = torch.onnx.load(model_of(LOOP, w=WEIGHT))
        content = exported(loaded, torch.tensor(3), torch.zeros(2))
        assert "Loop" in {node.op_type for node in onnx.load_from_string(content).graph.node}
        again = torch.onnx.load(content)
        for count in (1, 4):
            assert [each.tolist() for each in again(torch.tensor(count), torch.ones(2))] == [
                each.tolist() for each in loaded(torch.tensor(count), torch.ones(2))
            ]

    def test_numbers_from_inputs_are_guarded(self):
        """A count, an axis or a shape that an input determines is read once: for other elements the graph is another one."""
        text = (
            header()
            + """ g (float[N,M] x, int64[1] axis, int64[2] shape) => (float[A,B] y, float[C,D] z) {
            two = Constant<value = int64[1] {2}>()
            twice = Mul(shape, two)
            y = ReduceSum(x, axis)
            z = Tile(x, twice)
        }"""
        )
        loaded = torch.onnx.load(model_of(text))
        compiled = torch.compile(loaded, fullgraph=True)
        axis, shape, x = torch.tensor([1]), torch.tensor([1, 1]), torch.arange(4.0).reshape(2, 2)
        for change in (lambda: None, lambda: None, lambda: axis.sub_(1), lambda: shape.add_(1), lambda: axis.neg_()):
            change()
            for found, expected in zip(compiled(x, axis, shape), loaded(x, axis, shape)):
                assert found.shape == expected.shape and found.tolist() == expected.tolist()

        def program(x, axis, shape):
            axis += 1  # what is asked for is not what the input held
            return compiled(x, axis, shape)

        for start in (-1, 0, -1):
            found = torch.compile(program)(x, torch.tensor([start]), shape)
            assert found[0].tolist() == loaded(x, torch.tensor([start + 1]), shape)[0].tolist()

    def test_counts_that_always_change_break_the_graph(self):
        """After a few graphs for single counts one is captured for all of them."""
        loaded = torch.onnx.load(model_of(LOOP, w=WEIGHT))
        torch.compiler.reset()
        compiled = torch.compile(loaded)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that it is compiled too often
            for count in range(1, 14):
                assert compiled(torch.tensor(count), torch.ones(2))[0].tolist() == loaded(torch.tensor(count), torch.ones(2))[0].tolist()

    def test_a_loop_that_collects_a_sequence_is_exported_as_one(self):
        loaded = torch.onnx.load(model_of(COLLECT, w=WEIGHT))
        content = exported(loaded, torch.tensor(3), torch.ones(2))
        assert "Loop" in {node.op_type for node in onnx.load_from_string(content).graph.node}
        again, compiled = torch.onnx.load(content), torch.compile(loaded)
        for count in (2, 3, 9):
            rows, second, length = loaded(torch.tensor(count), torch.ones(2))
            assert rows.shape == (min(count, 5), 2) and second.tolist() == [4.0, 9.0] and length.item() == min(count, 5)
            for other in (again, compiled):
                found = other(torch.tensor(count), torch.ones(2))
                assert [each.tolist() for each in found] == [rows.tolist(), second.tolist(), length.item()]


class TestFunctions:
    def test_functions_of_the_model(self):
        text = (
            header(more=', "my": 1')
            + """ g (float[2] x) => (float[2] y) { y = my.Twice<by = 3.0>(x) }
        <domain: "my", opset_import: ["": 18]> Twice<by>(a) => (b) { f = Constant<value_float: float = @by>() c = Mul(a, f) b = Add(c, c) }"""
        )
        assert torch.onnx.load(model_of(text))(torch.ones(2)).tolist() == [6.0, 6.0]

    def test_recursion_is_refused(self):
        text = (
            header(more=', "my": 1')
            + """ g (float[2] x) => (float[2] y) { y = my.F(x) }
        <domain: "my", opset_import: ["": 18, "my": 1]> F(a) => (b) { c = my.F(a) b = Add(c, c) }"""
        )
        with pytest.raises(ModelFileError, match="deep"):
            torch.onnx.load(model_of(text))

    def test_custom_operators(self):
        text = header(more=', "my": 1') + " g (float[2] x) => (float[2] y) { y = my.Scaled<alpha = 3.0>(x) }"
        with pytest.raises(UnsupportedModelError, match="my::Scaled") as caught:
            torch.onnx.load(model_of(text))
        assert caught.value.code == "RL508"
        torch.onnx.register_op("my::Scaled", lambda x, *, alpha=1.0: alpha * x)
        try:
            loaded = torch.onnx.load(model_of(text))
            assert loaded(torch.ones(2)).tolist() == [3.0, 3.0]
            assert torch.compile(loaded, fullgraph=True)(torch.ones(2)).tolist() == [3.0, 3.0]
        finally:
            registry.importers.pop(("my", "Scaled"))
        with pytest.raises(ValueError, match="domain"):
            torch.onnx.register_op("Scaled", lambda x: x)

    def test_custom_functions_with_symbolic_come_back(self):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x**3

            @staticmethod
            def symbolic(g, x):
                return g.op("my::Cube", x)

        content = exported(lambda x: Cube.apply(x) + 1, torch.ones(2), custom_opsets={"my": 1})
        torch.onnx.register_op("my::Cube", Cube.apply)
        try:
            assert torch.onnx.load(content)(torch.full((2,), 2.0)).tolist() == [9.0, 9.0]
        finally:
            registry.importers.pop(("my", "Cube"))


class TestExternalData:
    def test_weights_are_mapped(self, tmp_path):
        weight = np.arange(4096, dtype=np.float32)
        model = model_of(header() + " g (float[4096] x) => (float[4096] y) { y = Add(x, w) }", w=weight)
        onnx.save(model, str(tmp_path / "m.onnx"), save_as_external_data=True, location="m.bin", size_threshold=0)
        loaded = torch.onnx.load(tmp_path / "m.onnx")
        (parameter,) = loaded.parameters()
        base = parameter.detach().numpy()
        while getattr(base, "base", None) is not None:
            base = base.base
        assert "mmap" in f"{type(base).__name__}{type(getattr(base, 'obj', None)).__name__}"
        assert torch.equal(loaded(torch.zeros(4096)), torch.tensor(weight))
        with torch.no_grad():
            parameter.add_(1)  # stays in this process
        assert np.fromfile(tmp_path / "m.bin", np.float32)[0] == 0.0

    @pytest.mark.parametrize("place", ["../outside.bin", "/etc/passwd", "sub/../../outside.bin", "link.bin", ""])
    def test_only_in_the_folder_of_the_file(self, tmp_path, place):
        folder = tmp_path / "folder"
        folder.mkdir()
        (tmp_path / "outside.bin").write_bytes(bytes(8))
        os.symlink(tmp_path / "outside.bin", folder / "link.bin")
        model = model_of(header() + " g (float[2] x) => (float[2] y) { y = Add(x, w) }")
        tensor = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=place)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(ModelFileError, match="outside"):
            torch.onnx.load(folder / "m.onnx")


def test_large_tensors_inside_the_file_are_read(tmp_path):
    weights = {f"w{at}": np.random.default_rng(at).standard_normal((64, 64), dtype=np.float32) for at in range(5)}
    text = (
        header()
        + " g (float[64,64] x) => (float[64,64] y) { "
        + "".join(f"t{at} = MatMul({'x' if not at else f't{at - 1}'}, w{at}) " for at in range(5))
        + "y = Identity(t4) }"
    )
    model = model_of(text, **weights)
    onnx.save(model, str(tmp_path / "m.onnx"))
    loaded = torch.onnx.load(tmp_path / "m.onnx")
    for name, value in weights.items():
        assert np.array_equal(loaded.state_dict()[name].numpy(), value)
    assert helper is not None


FOLDER = os.path.join(os.path.dirname(__file__), "data")
FILES = {name: np.load(os.path.join(FOLDER, f"{name}.npz")) for name in ("onnx_files", "onnx_tools")}
_WITHOUT_GRADIENTS = frozenset(("qdq", "qdq16", "qoperator", "qoperator_u8", "dynamic", "branch", "detector"))  # for all parameters


@pytest.mark.parametrize(
    "name", [f"{file}/{name}" for file, found in FILES.items() for name in sorted({each.partition("/")[0] for each in found})]
)
def test_files_of_other_tools(name):
    """Files of PyTorch's exporters, ONNX Runtime's tools and onnxscript: eager, compiled, converted, saved; every parameter has a gradient."""
    collection, name = name.split("/")
    files = FILES[collection]
    inputs = [torch.tensor(files[each]) for each in sorted(files) if each.startswith(f"{name}/input")]
    expected = [files[each] for each in sorted(files) if each.startswith(f"{name}/output")]
    loaded = torch.onnx.load(files[f"{name}/file"].tobytes())
    compiled = torch.compile(loaded, fullgraph=True)
    compiled(*inputs)
    file = io.BytesIO()
    torch.jit.save(loaded, file)
    file.seek(0)
    again = torch.onnx.load(exported(loaded, *inputs, opset_version=16))
    for model in (loaded, compiled, torch.jit.load(file), again):
        made = model(*inputs)
        for got, want in zip(made if isinstance(made, tuple) else (made,), expected, strict=True):
            np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-4, atol=1e-5)
    made = loaded(*inputs)
    if list(loaded.parameters()) and name not in _WITHOUT_GRADIENTS:
        sum(each.sum() for each in (made if isinstance(made, tuple) else (made,)) if each.is_floating_point()).backward()
        assert {key for key, each in loaded.named_parameters() if each.grad is None} <= {"d.out.weight", "out.weight", "out.bias"}


def test_layers_that_share_their_statistics_in_the_file_train_with_their_own():
    model = model_of(
        header(17)
        + """graph (float[N, 2, 4] x) => (float[N, 2, 4] y) {
            again = Identity(zero)
            a = BatchNormalization(x, one, zero, zero, one)
            b = Relu(a)
            y = BatchNormalization(b, one, zero, again, one)
        }""",
        zero=np.zeros(2, np.float32), one=np.ones(2, np.float32),
    )  # fmt: skip
    loaded, x = torch.onnx.load(model), torch.randn(3, 2, 4) + 2
    assert torch.allclose(loaded(x), x.relu(), atol=1e-4)
    assert {name for name, _ in loaded.named_parameters()} == {"zero", "one"} and len(list(loaded.buffers())) == 4
    loaded.train()
    loaded(x).square().sum().backward()
    assert all(each.grad is not None for each in loaded.parameters())
    means = [each for name, each in loaded.named_buffers() if name.startswith("zero")]
    assert len(means) == 2 and not torch.allclose(means[0], means[1])
    assert torch.equal(loaded.zero, torch.zeros(2))


def test_sizes_that_the_older_exporter_pads_with_are_numbers():
    """Padding to a multiple: sizes in a list, filled up with zeros, turned around in pairs, and given to Pad."""
    model = model_of(
        header(17)
        + """graph (float[N, L, C] x) => (float[N, M, C] y) {
            shape = Shape(x)
            length = Gather<axis = 0>(shape, one)
            rest = Mod(length, four)
            left = Sub(four, rest)
            more = Mod(left, four)
            axes = Constant<value_ints = [0]>()
            last = Unsqueeze(more, axes)
            pads = Concat<axis = 0>(axes, axes, axes, last)
            count = Shape(pads)
            first = Gather<axis = 0>(count, axes)
            filled = Constant<value_ints = [6]>()
            missing = Sub(filled, first)
            zeros = ConstantOfShape<value = int64[1] {0}>(missing)
            all = Concat<axis = 0>(pads, zeros)
            pairs = Reshape(all, two)
            start = Constant<value_ints = [-1]>()
            end = Constant<value_ints = [-9223372036854775807]>()
            turned = Slice(pairs, start, end, axes, start)
            across = Transpose<perm = [1, 0]>(turned)
            flat = Reshape(across, start)
            whole = Cast<to = 7>(flat)
            y = Pad(x, whole)
        }""",
        one=np.array(1), four=np.array(4), two=np.array([-1, 2]),
    )  # fmt: skip
    loaded = torch.onnx.load(model)
    compiled = torch.compile(loaded, fullgraph=True, dynamic=True)
    for length in (5, 7, 8):
        x = torch.randn(2, length, 3)
        expected = nn.functional.pad(x, (0, 0, 0, -length % 4))
        assert torch.equal(loaded(x), expected) and torch.equal(compiled(x), expected)


def test_products_whose_rows_are_the_first_dimension():
    """What ONNX Runtime makes of a product of transposed batches."""
    text = (
        header(18, ', "com.microsoft": 1')
        + """ g (float[2,3,4] a, float[5,3,4] b) => (float[3,2,5] y) {
        y = com.microsoft.FusedMatMul<transBatchA = 1, transBatchB = 1, transB = 1, alpha = 0.5>(a, b)
    }"""
    )
    a, b = torch.arange(24.0).reshape(2, 3, 4), torch.arange(60.0).reshape(5, 3, 4)
    assert torch.equal(torch.onnx.load(model_of(text))(a, b), torch.einsum("ikc,jkc->kij", a, b) * 0.5)
