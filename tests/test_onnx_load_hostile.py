"""ONNX files that are damaged, wrong or meant to do harm: one clear error each, no code run, no memory taken."""

from __future__ import annotations

import importlib.util
import io
import os
import random
import resource
import time

import numpy as np
import pytest

if importlib.util.find_spec("onnx") is None:
    pytest.skip("needs the package onnx", allow_module_level=True)

import onnx
from onnx import TensorProto, helper, numpy_helper

import rushlight as torch
import rushlight.onnx
from rushlight.core.errors import RushlightError
from rushlight.onnx.errors import ModelFileError, UnsupportedModelError
from rushlight.onnx.load import builder

SECONDS = 15  # of each fuzzer; with those of archives (test_torchscript_archives.py) it is a minute


def tensor(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def model_of(nodes, *initializers, opset=18, inputs=("x",), outputs=("y",), sizes=(2,), functions=()):
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in names] for names in (inputs, outputs)]
    graph = helper.make_graph(nodes, "graph", *ends, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], functions=list(functions), ir_version=8)


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, name=f"{kind}_1", **attributes)


def raw_tensor(dims, content=b"", kind=TensorProto.FLOAT, name="w"):
    return TensorProto(name=name, data_type=kind, dims=dims, raw_data=content)


def nested(depth):
    inner = last = helper.make_graph([node("Identity", ["x"], ["z"])], "b", [], [helper.make_empty_tensor_value_info("z")])
    for _ in range(depth):
        branch = node("If", ["c"], ["z"], then_branch=inner, else_branch=last)
        inner = helper.make_graph([branch], "b", [], [helper.make_empty_tensor_value_info("z")])
    return inner.node[0]


def with_version(version):
    model = model_of([node("Relu", ["x"], ["y"])])
    model.opset_import[0].version = version
    return model


def with_sparse(dims, indices):
    model = model_of([node("Add", ["x", "w"], ["y"])])
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(tensor("w", np.ones(1, np.float32)), tensor("i", np.array(indices)), dims)
    )
    return model


def deep_functions():
    made = [
        helper.make_function(
            "my", f"F{at}", ["a"], ["b"], [helper.make_node(f"F{at + 1}", ["a"], ["b"], domain="my")], [helper.make_opsetid("my", 1)]
        )
        for at in range(100)
    ]
    model = model_of([helper.make_node("F0", ["x"], ["y"], domain="my")], functions=made)
    model.opset_import.append(helper.make_opsetid("my", 1))
    return model


WRONG = {
    "a cycle": (lambda: model_of([node("Add", ["x", "b"], ["a"]), node("Add", ["a", "a"], ["b"]), node("Relu", ["b"], ["y"])]), "'b', which no node before it makes"),
    "a value that is not there": (lambda: model_of([node("Add", ["x", "nothing"], ["y"])]), "'nothing'"),
    "an output that is not there": (lambda: model_of([node("Relu", ["x"], ["z"])]), "the graph uses the value 'y'"),
    "a value that is made twice": (lambda: model_of([node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"])]), "'y' is made twice"),
    "too many inputs": (lambda: model_of([node("Relu", ["x", "x"], ["y"])]), "Relu_1.*2 inputs"),
    "too few inputs": (lambda: model_of([node("Add", ["x"], ["y"])]), "Add_1.*1 inputs"),
    "an unknown attribute": (lambda: model_of([node("Relu", ["x"], ["y"], alpha=1.0)]), "attribute 'alpha'"),
    "an attribute of another type": (lambda: model_of([node("Elu", ["x"], ["y"], alpha=1)]), "'alpha' of the wrong type"),
    "an attribute that is missing": (lambda: model_of([node("Cast", ["x"], ["y"])]), "lacks the attribute 'to'"),
    "no outputs": (lambda: model_of([node("Relu", ["x"], ["y"])], outputs=()), "no outputs"),
    "sizes below zero": (lambda: model_of([node("Add", ["x", "w"], ["y"])], raw_tensor([-1, 2])), "below zero"),
    "sizes that overflow": (lambda: model_of([node("Add", ["x", "w"], ["y"])], raw_tensor([2**40, 2**40])), "more elements than any memory"),
    "empty sizes that overflow": (lambda: model_of([node("Add", ["x", "w"], ["y"])], raw_tensor([2**40, 2**40, 0])), "more elements than any memory"),
    "sizes beyond the data": (lambda: model_of([node("Add", ["x", "w"], ["y"])], raw_tensor([2**30], bytes(8))), "8 bytes, but its sizes"),
    "data beyond the sizes": (lambda: model_of([node("Add", ["x", "w"], ["y"])], raw_tensor([1], bytes(8))), "8 bytes, but its sizes"),
    "a sparse tensor that is too large": (lambda: with_sparse([2**20, 2**20], [0]), "sparse tensor 'w'"),
    "a sparse tensor with wrong places": (lambda: with_sparse([4], [9]), "sparse tensor 'w'"),
    "bodies in bodies": (lambda: model_of([node("Constant", [], ["c0"], value=tensor("v", True)), node("Greater", ["x", "x"], ["c"]), nested(30), node("Relu", ["z"], ["y"])]), ""),
    "functions in functions": (deep_functions, "deep"),
    "an If with other outputs": (
        lambda: model_of([node("If", ["x"], ["y"], then_branch=helper.make_graph([], "a", [], []), else_branch=helper.make_graph([], "a", [], []))]), "gives 0 values",
    ),
    "no opsets": (lambda: onnx.ModelProto(ir_version=8, graph=model_of([]).graph), "does not say which operators"),
    "no graph": (lambda: onnx.ModelProto(ir_version=8), "no graph"),
    "external data without a folder": (
        lambda: model_of([node("Add", ["x", "w"], ["y"])], TensorProto(name="w", data_type=1, dims=[2], data_location=1)), "load the model from its file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(name):
    make, message = WRONG[name]
    if not message:  # it is deep, but valid
        torch.onnx.load(make())
        return
    with pytest.raises(ModelFileError, match=message) as caught:
        torch.onnx.load(make())
    assert caught.value.code == "RL507" and isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_what_is_not_known_is_refused_by_name():
    with pytest.raises(UnsupportedModelError, match=r"the node 'Fancy_1' \(Fancy\).*register_op"):
        torch.onnx.load(model_of([node("Fancy", ["x"], ["y"])]))
    with pytest.raises(UnsupportedModelError, match="opset 999"):
        torch.onnx.load(with_version(999))
    with pytest.raises(UnsupportedModelError, match="my::Fancy is of an operator that is not known"):
        torch.onnx.load(model_of([helper.make_node("Fancy", ["x"], ["y"], domain="my")]))
    with pytest.raises(ModelFileError, match=r"which version of the operators of 'ai\.onnx\.ml'"):
        torch.onnx.load(model_of([helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml")]))


def test_no_files(tmp_path):
    for place, message in ((tmp_path, "is a folder"), (tmp_path / "nothing.onnx", "can't read")):
        with pytest.raises(ModelFileError, match=message):
            torch.onnx.load(place)
    for content in (b"", b"no model", bytes(1000), b"\xff" * 50):
        (tmp_path / "m.onnx").write_bytes(content)
        for source in (content, tmp_path / "m.onnx"):
            with pytest.raises(ModelFileError):
                torch.onnx.load(source)


def example():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LSTM(16, 3)
    ).eval()
    file = io.BytesIO()
    torch.onnx.export(
        lambda x: model[4](model[:4](x))[0].reshape(-1, 3).softmax(-1), (torch.randn(2, 1, 4, 4),), file, dynamic_axes={"x": {0: "N"}}
    )
    return file.getvalue()


def attempt(source):
    """Load what may be damaged: a model, or an error that is meant."""
    try:
        return torch.onnx.load(source)
    except RushlightError as error:
        assert str(error).strip()
        return None


def test_cut_off_files(tmp_path):
    content = example()
    assert attempt(content) is not None
    place = tmp_path / "m.onnx"
    for end in range(0, len(content) - 1, max(1, len(content) // 150)):
        place.write_bytes(content[:end])
        attempt(place)
        assert attempt(content[:end]) is None or end > len(content) // 2


def test_damaged_bytes(tmp_path):
    content, draw, stop = example(), random.Random(7), time.perf_counter() + SECONDS
    before, loaded, place = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0, tmp_path / "m.onnx"
    while time.perf_counter() < stop:
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 2, 8))):
            at = draw.randrange(len(damaged))
            match draw.randrange(4):
                case 0:
                    damaged[at] = draw.randrange(256)
                case 1:
                    damaged[at] ^= 1 << draw.randrange(8)
                case 2:
                    del damaged[at : at + draw.randrange(1, 9)]
                case 3:
                    damaged[at:at] = draw.randbytes(draw.randrange(1, 9))
        place.write_bytes(damaged)
        loaded += attempt(place if draw.random() < 0.5 else bytes(damaged)) is not None
    assert loaded
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_damaged_messages():
    """Fields of a valid message get other values: also then there is a model or an error that is meant."""
    original, draw, stop = onnx.load_from_string(example()), random.Random(3), time.perf_counter() + SECONDS
    loaded = 0
    while time.perf_counter() < stop:
        model = onnx.ModelProto()
        model.CopyFrom(original)
        graph = model.graph
        for _ in range(draw.choice((1, 1, 2, 4))):
            one = draw.choice(graph.node)
            names = [name for each in graph.node for name in (*each.input, *each.output)]
            match draw.randrange(10):
                case 0:
                    one.op_type = draw.choice(graph.node).op_type
                case 1 if one.input:
                    one.input[draw.randrange(len(one.input))] = draw.choice([*names, "", "other"])
                case 2:
                    one.output[0] = draw.choice(names)
                case 3 if one.input:
                    del one.input[draw.randrange(len(one.input))]
                case 4 if one.attribute:
                    attribute = draw.choice(one.attribute)
                    attribute.type = draw.randrange(15)
                case 5 if one.attribute:
                    attribute = draw.choice(one.attribute)
                    attribute.i = draw.choice((-1, 0, 2**62, -(2**63)))
                    attribute.ints[:] = [draw.choice((-1, 0, 2**62)) for _ in range(draw.randrange(4))]
                case 6 if graph.initializer:
                    draw.choice(graph.initializer).dims[:] = [draw.choice((-1, 0, 1, 2**31, 2**62)) for _ in range(draw.randrange(4))]
                case 7 if graph.initializer:
                    draw.choice(graph.initializer).data_type = draw.randrange(30)
                case 8:
                    model.opset_import[0].version = draw.randrange(40)
                case 9:
                    graph.node.insert(draw.randrange(len(graph.node)), one)
        loaded += attempt(model) is not None
    assert loaded


def test_functions_that_call_others_twice_are_not_written_out_for_ever(monkeypatch):
    monkeypatch.setattr(builder, "MOST_NODES", 1000)
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("my", 1)]
    functions = []
    for number in range(40):
        calls = [onnx.helper.make_node(f"F{number + 1}", [a], [b], domain="my") for a, b in (("x", "a"), ("a", "y"))]
        nodes = calls if number < 39 else [onnx.helper.make_node("Relu", ["x"], ["y"])]
        functions.append(onnx.helper.make_function("my", f"F{number}", ["x"], ["y"], nodes, opsets))
    ends = [onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("F0", ["x"], ["y"], domain="my")], "g", ends[:1], ends[1:])
    with pytest.raises(ModelFileError, match="more than 1000 nodes"):
        torch.onnx.load(onnx.helper.make_model(graph, functions=functions, opset_imports=opsets))


@pytest.mark.parametrize(("place", "said"), [("pipe", "no ordinary file"), ("model.onnx\0", "no name of a file")])
def test_external_data_that_is_no_file(tmp_path, place, said):
    """A pipe would be waited for."""
    os.mkfifo(tmp_path / "pipe")
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=place)
    ends = [onnx.helper.make_tensor_value_info("y", 1, [4])]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["w"], ["y"])], "g", [], ends, [tensor])
    (tmp_path / "model.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(ModelFileError, match=said):
        torch.onnx.load(tmp_path / "model.onnx")


def test_arithmetic_on_constants_stays_small():
    """What is computed while a file is read grows neither in length nor in digits."""
    start = onnx.numpy_helper.from_array(np.array([3]), "n0")
    doubled = [node("Concat", [f"n{at}", f"n{at}"], [f"n{at + 1}"], axis=0) for at in range(40)]
    squared = [node("Mul", [f"n{at}", f"n{at}"], [f"n{at + 1}"]) for at in range(300)]
    for steps in (doubled, squared):
        began = time.perf_counter()
        model = model_of([*steps, node("Reshape", ["x", steps[-1].output[0]], ["y"])])
        model.graph.initializer.append(start)
        rushlight.onnx.load(model)
        assert time.perf_counter() - began < 5


MISFITS = {
    "an axis that the input does not have": node("GatherElements", ["x", "n"], ["y"], axis=5),
    "a mode that is none": node("Pad", ["x", "n"], ["y"], mode="refle"),
    "a required input that is missing": node("Conv", ["x", ""], ["y"]),
}


@pytest.mark.parametrize("name", MISFITS)
def test_nodes_that_do_not_fit_their_inputs_are_named(name):
    """Python's own errors in an importer become one that says which node it is."""
    model = model_of([MISFITS[name]])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(4, np.int64), "n"))
    with pytest.raises(ModelFileError, match=MISFITS[name].op_type):
        torch.onnx.load(model)(torch.ones(2, 3))


def test_errors_of_functions_of_a_users_own_stay_as_they_are():
    def failing(x):
        raise IndexError("mine")

    torch.onnx.register_op("mine::Fails", failing)
    model = model_of([node("Fails", ["x"], ["y"], domain="mine")])
    model.opset_import.append(onnx.helper.make_opsetid("mine", 1))
    with pytest.raises(IndexError, match="^mine"):
        torch.onnx.load(model)(torch.ones(2, 3))
