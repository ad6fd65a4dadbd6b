"""Files of exported programs whose records are damaged: one clear error when they are read."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from test_export import altered, files

import rushlight
import rushlight.export
from rushlight.capture.control.operators import while_loop
from rushlight.capture.control.scans import map as row_map
from rushlight.export import Dim
from rushlight.export.errors import ArchiveError


def test_damaged_structures_are_one_clear_error():
    """Records that are of another type, or say what no program can be: found when the file is read, not when the program runs."""
    ep = rushlight.export.export(rushlight.nn.Linear(4, 3), (rushlight.ones(2, 4),), dynamic_shapes=({0: Dim("b", min=2, max=6)},))
    module, where = "graph_module", "input_specs"

    def same_path(data):
        first, second = data[module]["signature"][where][:2]
        second["buffer"] = {"arg": second.pop("parameter")["arg"], "buffer_name": first["parameter"]["parameter_name"], "persistent": True}

    def inside(data):
        first, second = data[module]["signature"][where][:2]
        second["parameter"]["parameter_name"] = first["parameter"]["parameter_name"] + ".x"

    def keyword(data):
        node = data[module]["graph"]["nodes"][0]
        values = data[module]["graph"]["tensor_values"]
        values["if"] = values[node["outputs"][0]["as_tensor"]["name"]]
        node["outputs"][0]["as_tensor"]["name"] = "if"

    def arity(data):
        data[module]["graph"]["nodes"][0].update(target="_operator.le")

    for damage, words in (
        (same_path, "as a parameter and as a buffer"), (inside, "inside of a tensor"), (keyword, "'if' is no name of a value"),
        (arity, "other arguments than it takes"), (lambda data: data["range_constraints"].update(dict.fromkeys(data["range_constraints"], {"min_val": 2, "max_val": "9 or 1"})), "range of a size"),
    ):  # fmt: skip
        with pytest.raises(ArchiveError, match=words):
            rushlight.export.load(altered(ep, damage))


def test_names_of_arguments_that_are_keywords_or_twice_the_same():
    ep = rushlight.export.export(rushlight.nn.Bilinear(2, 3, 4), (rushlight.ones(2, 2), rushlight.ones(2, 3)))

    def rename(data):
        data["graph_module"]["module_call_graph"][0]["signature"]["forward_arg_names"] = ["if", "if"]

    loaded = rushlight.export.load(altered(ep, rename)).module()
    assert loaded(rushlight.ones(2, 2), rushlight.ones(2, 3)).shape == (2, 4)


def test_weights_that_are_no_pickles_or_records():
    held = io.BytesIO()
    rushlight.export.save(rushlight.export.export(rushlight.nn.Linear(4, 3), (rushlight.ones(2, 4),)), held)
    for change in (lambda entry: entry.update(use_pickle=True), lambda entry: entry["tensor_meta"].update(storage_offset=True)):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as written:
            for name, content in files(held.getvalue()):
                if name.endswith("weights_config.json"):
                    data = json.loads(content)
                    change(next(iter(data["config"].values())))
                    content = json.dumps(data).encode()
                written.writestr(name, content)
        with pytest.raises(ArchiveError):
            rushlight.export.load(made)


def test_names_in_files_are_never_code(tmp_path):
    """The names of arguments and of parameters stand in generated code: they are names, or quoted."""
    ep = rushlight.export.export(rushlight.nn.Linear(4, 3), (rushlight.ones(2, 4),))
    mark = tmp_path / "ran"
    code = f"a=open({str(mark)!r}, 'w'), b"

    def argument(data):
        data["graph_module"]["graph"]["nodes"][0]["inputs"][-1].update(name=code, kind=2)

    with pytest.raises(ArchiveError, match="which is no name"):
        rushlight.export.load(altered(ep, argument))
    for path in ('w", open(' + repr(str(mark).replace(".", "")) + ', "w")) #', "if", "a'b\\"):
        graph = rushlight.fx.Graph()
        graph.output(graph.create_node("get_attr", path, (), {}, "weight"))
        module = rushlight.fx.GraphModule({path: rushlight.ones(2)}, graph)
        assert module().tolist() == [1, 1]
    assert not list(tmp_path.iterdir())


def test_arguments_of_any_name_are_quoted_in_code():
    graph = rushlight.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(dict, (), {"from": x, "a=1, b": x}))
    module = rushlight.fx.GraphModule({}, graph)
    assert module(3) == {"from": 3, "a=1, b": 3}


def test_graphs_of_operators_that_take_graphs_fit_them():
    """What ``cond``, ``while_loop``, ``map`` and ``wrap`` are given is checked when the file is read, not when the program runs."""

    class Loops(rushlight.nn.Module):
        def forward(self, x):
            x = rushlight.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))
            (x,) = while_loop(lambda a: a.sum() < 9, lambda a: (a + 1,), (x,))
            return row_map(lambda row: row * 2, x)

    ep = rushlight.export.export(Loops(), (rushlight.ones(2, 3),))
    assert rushlight.export.load(altered(ep, lambda data: None)).module()(rushlight.ones(2, 3)).tolist() == [[4.0] * 3] * 2

    def calls(data, name):
        return next(each for each in data["graph_module"]["graph"]["nodes"] if each["target"] == f"torch.ops.higher_order.{name}")["inputs"]

    def empty(name, at):
        return lambda data: calls(data, name)[at]["arg"].update(as_tensors=[])

    def replaced(name, at, value):
        return lambda data: calls(data, name)[at].update(arg=value)

    def one_more(data):
        calls(data, "map_impl").append({"name": "", "arg": {"as_int": 3}, "kind": 1})

    for damage, words in (
        (replaced("cond", 1, {"as_int": 3}), "'true_fn' is no graph"), (replaced("cond", 3, {"as_int": 3}), "'operands' is no list"),
        (empty("cond", 3), "takes 1 values and is given 0"), (empty("while_loop", 2), "takes 1 values and is given 0"),
        (empty("map_impl", 1), "takes 1 values and is given 0"), (one_more, "other arguments than it takes"),
        (lambda data: calls(data, "map_impl")[0]["arg"]["as_graph"]["graph"].update(inputs=[], nodes=[], outputs=[]), "takes 0 values and is given 1"),
        (lambda data: calls(data, "while_loop")[1]["arg"]["as_graph"]["graph"].update(outputs=[]), "give 1 and 0 values"),
    ):  # fmt: skip
        with pytest.raises(ArchiveError, match=words):
            rushlight.export.load(altered(ep, damage))
