"""``torch.export``: programs, signatures, dynamic shapes and files, beside what PyTorch has recorded."""

import contextlib
import copy
import dataclasses
import importlib
import io
import json
import random
import re
import zipfile
from pathlib import Path

import pytest

import rushlight
from rushlight import compat
from rushlight.compat import pytree
from rushlight.core.errors import GraphError, OperationError
from rushlight.export import Dim, ExportedProgram
from rushlight.export.errors import ArchiveError, UserError

DATA = zipfile.ZipFile(Path(__file__).parent / "data" / "export" / "programs.zip")
TEXTS, ERRORS = json.loads(DATA.read("texts.json")), json.loads(DATA.read("errors.json"))
# PyTorch refuses a reshape of a dynamic size for reasons of its strides, which do not matter here.
DIFFERENT = {"sizes"}


@pytest.fixture(scope="module")
def programs(module_alias):
    """tests/export_programs.py, where ``import torch`` means rushlight."""
    return importlib.import_module("export_programs")


@pytest.fixture(scope="module")
def exported(programs):
    """By name: the Module, its inputs and its exported program."""
    found = {}
    for name, model, args, kwargs, dynamic in programs.cases():
        found[name] = model, args, kwargs, rushlight.export.export(model, args, kwargs, dynamic_shapes=dynamic)
    return found


NAMES = [name for name in TEXTS if not name.endswith(" functional")]
RESULTS = rushlight.load(io.BytesIO(DATA.read("results.pt")))


def text(ep):
    return "\n".join(line.rstrip() for line in str(ep).split("\n") if "# File" not in line and "# No stack" not in line and line.strip())


def close(results, wanted, tolerance=1e-5):
    leaves = compat.pytree.tree_leaves(results)
    assert len(leaves) == len(wanted)
    for found, expected in zip(leaves, wanted):
        if isinstance(expected, rushlight.Tensor):
            rushlight.testing.assert_close(found, expected, rtol=1e-4, atol=tolerance, equal_nan=True)
        else:
            assert found == expected


@pytest.mark.parametrize("name", NAMES)
def test_prints_as_pytorch(exported, name):
    if name in DIFFERENT:
        assert text(exported[name][3]) != TEXTS[name], "no longer different"
    else:
        assert text(exported[name][3]) == TEXTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_runs(exported, name):
    model, args, kwargs, ep = exported[name]
    ep.validate()
    rushlight.manual_seed(0)
    wanted = compat.pytree.tree_leaves(copy.deepcopy(model)(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
    rushlight.manual_seed(0)
    close(copy.deepcopy(ep).module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)), wanted)


def test_leaves_the_module_as_it_was(programs):
    model = programs.Counter()
    before = {key: value.clone() for key, value in (*model.state_dict().items(), *model.named_buffers())}
    ep = rushlight.export.export(model, (rushlight.ones(2, 3),))
    assert all(rushlight.equal(dict(model.named_buffers())[key], value) for key, value in before.items())
    assert ep.state_dict["count"] is model.count
    ep.module()(rushlight.ones(2, 3))
    assert model.count.item() == 1


# Which of several equal sizes gives its name, or in which order names are listed.
OTHER_NAMES = {"multiple": "{s77: VR[0, int_oo], 2*s77: VR[0, int_oo]}"}


@pytest.mark.parametrize("name", list(ERRORS))
def test_dynamic_shapes(programs, name):
    _, function, args, dynamic = next(each for each in programs.mistakes() if each[0] == name)
    wanted = OTHER_NAMES.get(name, ERRORS[name])
    if wanted.startswith("{"):
        found = rushlight.export.export(programs.Calls(function), args, dynamic_shapes=dynamic).range_constraints
        assert str(found) == wanted
    else:
        with pytest.raises((UserError, ValueError)) as caught:
            rushlight.export.export(programs.Calls(function), args, dynamic_shapes=dynamic)
        assert str(caught.value).partition("\n\nThe error above")[0] == wanted.partition(": ")[2]


@pytest.mark.parametrize(
    "name", ["branch", "branch_weights", "branch_nested", "loop", "rows", "repeated", "regions", "autocast", "precisions"]
)
def test_programs_with_graphs_inside_compile_as_one_graph(exported, name):
    _, args, kwargs, ep = exported[name]
    wanted = compat.pytree.tree_leaves(ep.module()(*args, **kwargs))
    compiled = rushlight.compile(ep.module(), fullgraph=True)
    for _ in range(2):
        close(compiled(*args, **kwargs), wanted)


def test_numbers_of_tensors_are_followed_to_onnx(programs):
    """A program that reads a number off a tensor is exported for every number."""
    ep = rushlight.export.export(programs.Items(), (rushlight.ones(3), rushlight.tensor(3)))
    made = rushlight.onnx.export(ep, dynamo=True)
    for number in (2, 3, 5):
        assert made.run(rushlight.ones(3), rushlight.tensor(number))[0].item() == 3 + number


# -- .pt2 files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["", ".decomposed"])
@pytest.mark.parametrize("name", list(RESULTS))
def test_reads_what_pytorch_writes(programs, name, form):
    _, _, args, kwargs, _ = next(each for each in programs.cases() if each[0] == name)
    ep = rushlight.export.load(io.BytesIO(DATA.read(f"{name}{form}.pt2")))
    rushlight.manual_seed(0)
    results = ep.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    if form and name in ("dropped", "encoder_train"):
        return  # other random numbers
    close(results, RESULTS[name], 1e-4)


def stripped(value):
    if isinstance(value, dict):
        return {key: stripped(each) for key, each in value.items() if key not in ("metadata", "torch_version", "guards_code")}
    return [stripped(each) for each in value] if isinstance(value, list) else value


SAME = ["mlp", "mlp_dynamic", "convolutional", "convolutional_train", "embedded", "branch", "loop", "constants", "nested", "numbers", "indexing", "reductions", "unused", "activations", "created", "images", "gathered"]  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_writes_what_pytorch_writes(exported, name):
    """The graph that a file has, but for strides of views and for which tensors need gradients: PyTorch notes neither for all."""

    def compared(data):
        graph = data["graph_module"]["graph"]
        for each in graph["tensor_values"].values():
            del each["strides"], each["requires_grad"]
            each.pop("storage_offset")
        return graph["nodes"] if name in ("branch", "loop") else data

    theirs = next(content for content in files(DATA.read(f"{name}.pt2")) if content[0].endswith("models/model.json"))[1]
    held = io.BytesIO()
    rushlight.export.save(exported[name][3], held)
    mine = next(content for content in files(held.getvalue()) if content[0].endswith("models/model.json"))[1]
    first, second = compared(stripped(json.loads(mine))), compared(stripped(json.loads(theirs)))
    if name in ("branch", "loop"):
        assert [(each["target"], each["outputs"]) for each in first] == [(each["target"], each["outputs"]) for each in second]
    else:
        assert first == second


def files(data):
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return [(name, opened.read(name)) for name in opened.namelist()]


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(exported, name, tmp_path):
    _, args, kwargs, ep = exported[name]
    rushlight.export.save(ep, tmp_path / "program.pt2", extra_files={"note": "text"})
    extra = {"note": ""}
    again = rushlight.export.load(tmp_path / "program.pt2", extra_files=extra)
    assert extra == {"note": "text"}
    if name != "rows":  # which of its lists were tuples is not in the file
        names = dict(re.findall(r"(submod_\d+) = self\.(submod_\d+)", text(ep)))
        # A file has the names of graphs, and not those of the nodes that read them, and lists of operands: so have PyTorch's programs once they are loaded.
        wanted = re.sub(r"(?<!\.)(?<!class )\bsubmod_\d+", lambda found: names.get(found[0], found[0]), text(ep))
        wanted = re.sub(r"higher_order\.(?:cond|while_loop)\(.*", lambda found: re.sub(r"\(((?:\w+, )*\w*),?\)", r"[\1]", found[0]), wanted)
        assert text(again) == wanted
    rushlight.manual_seed(0)
    wanted = compat.pytree.tree_leaves(copy.deepcopy(ep).module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
    rushlight.manual_seed(0)
    close(again.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)), wanted)


def test_damaged_files_are_one_clear_error(exported):
    held = io.BytesIO()
    rushlight.export.save(exported["mlp_dynamic"][3], held)
    whole = held.getvalue()
    rng = random.Random(0)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            data = data[: rng.randrange(len(data))]
        with contextlib.suppress(ArchiveError, OperationError, ValueError, NotImplementedError):
            rushlight.export.load(io.BytesIO(bytes(data)))


def altered(ep, change):
    """The program's file with its graph changed by a function."""
    held, made = io.BytesIO(), io.BytesIO()
    rushlight.export.save(ep, held)
    with zipfile.ZipFile(made, "w") as written:
        for name, content in files(held.getvalue()):
            if name.endswith("models/model.json"):
                data = json.loads(content)
                change(data)
                content = json.dumps(data).encode()
            written.writestr(name, content)
    return io.BytesIO(made.getvalue())


def test_malicious_graphs_are_refused(exported):
    ep = exported["mlp_dynamic"][3]

    def change(path, value):
        def run(data):
            *way, last = path
            for key in way:
                data = data[key]
            data[last] = value

        return run

    graph = ("graph_module", "graph")
    cases = [
        (change((*graph, "nodes", 0, "target"), "os.system"), "no operator that is known"),
        (change((*graph, "nodes", 0, "target"), "torch.ops.aten.__class__.default"), "no operator that is known"),
        (change((*graph, "nodes", 0, "inputs", 0, "arg"), {"as_tensor": {"name": "relu"}}), "no node before it makes"),
        (change((*graph, "nodes", 0, "outputs"), [{"as_tensor": {"name": "x"}}]), "used twice"),
        (change((*graph, "nodes", 0, "outputs"), [{"as_tensor": {"name": "x = 1; import os"}}]), "no name of a value"),
        (change((*graph, "tensor_values", "x", "sizes"), [{"as_expr": {"expr_str": "__import__('os').system('x')", "hint": None}}]), "not known"),
        (change((*graph, "tensor_values", "x", "sizes"), [{"as_int": 2**70}]), "64-bit"),
        (change((*graph, "tensor_values", "x", "dtype"), 99), "type of elements"),
        (change(("schema_version", "major"), 9), "schema version 9"),
        (change(("graph_module",), []), "graph_module"),
        (change(("graph_module", "module_call_graph"), []), "how it is called"),
        (change(("graph_module", "module_call_graph", 0, "signature", "in_spec"), '[1, {"type": "os.path", "context": null, "children_spec": []}]'), "not registered"),
    ]  # fmt: skip
    for damage, words in cases:
        with pytest.raises((ArchiveError, GraphError), match=words):
            rushlight.export.load(altered(ep, damage))
    with pytest.raises(ArchiveError, match="no exported program"):
        rushlight.export.load(io.BytesIO(b"not a zip file"))


# -- what a program is used for ----------------------------------------------------------------------------------------


def test_guards():
    ep = rushlight.export.export(rushlight.nn.Linear(4, 3), (rushlight.ones(2, 4),), dynamic_shapes=({0: Dim("b", min=2, max=6)},))
    module = ep.module()
    assert module(rushlight.ones(5, 4)).shape == (5, 3)
    for shape, words in (((3, 5), r"input.size\(\)\[1\] == 4"), ((9, 4), r"input.size\(\)\[0\] <= 6")):
        with pytest.raises(AssertionError, match=f"Guard failed: {words}"):
            module(rushlight.ones(*shape))
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec"):
        module(rushlight.ones(3, 4), 3)
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        ep(rushlight.ones(3, 4))
    with pytest.raises(NotImplementedError, match="Calling train"):
        module.train()
    assert isinstance(ep, ExportedProgram)


def test_trains_and_compiles(programs):
    model = programs.Mlp()
    ep = rushlight.export.export(model, (rushlight.ones(2, 4),), dynamic_shapes=({0: Dim("b")},))
    module = ep.module()
    optimizer = rushlight.optim.SGD(module.parameters(), 0.1)
    x, losses = rushlight.randn(8, 4), []
    compiled = rushlight.compile(module)
    for _ in range(4):
        optimizer.zero_grad()
        loss = compiled(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    rushlight.testing.assert_close(module(x), model(x))


def test_no_grad_regions_have_no_gradient(exported):
    _, (x,), _, ep = exported["repeated"]
    x = x.clone().requires_grad_()
    module = ep.module()
    (gradient,) = rushlight.autograd.grad(module(x).sum(), x)
    model = exported["repeated"][0]
    (wanted,) = rushlight.autograd.grad(model(x).sum(), x)
    rushlight.testing.assert_close(gradient, wanted)


@pytest.mark.parametrize(
    "name", ["mlp", "convolutional_train", "attention", "counter", "embedded", "branch_weights", "encoder", "nested", "repeated", "tied"]
)
def test_other_forms(exported, name):
    """Functional, in core operators, and as a tree of Modules: the same results."""
    _, args, kwargs, ep = exported[name]
    wanted = compat.pytree.tree_leaves(copy.deepcopy(ep).module()(*args, **kwargs))
    for form in (lambda e: e.run_decompositions({}).module(), lambda e: e.run_decompositions().module(), rushlight.export.unflatten):
        close(form(copy.deepcopy(ep))(*args, **kwargs), wanted, 1e-4)


def test_decomposed_programs_write_nothing(exported):
    ep = exported["counter"][3].run_decompositions()
    assert dict(ep.graph_signature.buffers_to_mutate) == {"add": "count", "add_1": "total"}
    assert not any(getattr(node.target, "_schema", None) is not None and node.target._schema.is_mutable for node in ep.graph.nodes)
    aten = rushlight.ops.aten
    table = rushlight.export.default_decompositions()
    table[aten.relu.default] = lambda x: x.clamp(min=0)
    targets = [str(node.target) for node in exported["mlp"][3].run_decompositions(table).graph.nodes]
    assert "aten.relu.default" not in targets and any(each.startswith("aten.clamp") for each in targets)


def test_signature(exported):
    signature = exported["convolutional_train"][3].graph_signature
    assert signature.user_inputs == ("x",) and signature.user_outputs == ("linear",)
    assert signature.parameters[0] == "body.0.weight" and signature.inputs_to_buffers["b_body_1_running_mean"] == "body.1.running_mean"
    assert exported["counter"][3].graph_signature.non_persistent_buffers == ("total",)
    assert exported["constants"][3].graph_signature.lifted_tensor_constants == ("scale", "lifted_tensor_0")


def test_a_branch_on_data_is_refused():
    class Branch(rushlight.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(UserError, match="Could not guard on data-dependent expression"):
        rushlight.export.export(Branch(), (rushlight.ones(2),))


def test_decomposed_programs_have_operators_of_pytorch_alone(exported):
    for name, row in exported.items():
        for form in ((), ({},)):
            program = row[3].run_decompositions(*form)
            others = [node for node in program.graph.nodes if node.op == "call_function" and hasattr(node.target, "op")]
            assert not others, (name, others)


def test_batch_normalization_in_training_gives_its_statistics():
    program = rushlight.export.export(rushlight.nn.BatchNorm1d(3), (rushlight.arange(12.0).reshape(4, 3),))
    decomposed = program.run_decompositions()
    assert "_native_batch_norm_legit_functional" in decomposed.graph_module.code
    assert sorted(decomposed.graph_signature.buffers_to_mutate.values()) == ["num_batches_tracked", "running_mean", "running_var"]
    module = decomposed.module()
    module(rushlight.arange(12.0).reshape(4, 3))
    assert rushlight.allclose(module.running_mean, rushlight.tensor([0.45, 0.55, 0.65]))
    file = io.BytesIO()
    rushlight.export.save(decomposed, file)
    file.seek(0)
    assert rushlight.export.load(file).graph_module.code == decomposed.graph_module.code


def test_decomposed_views_are_of_values_that_lie_in_order():
    class Moved(rushlight.nn.Module):
        def forward(self, x):
            return x.transpose(1, 2).reshape(2, -1), x.relu().flatten(1), x.chunk(2, -1)[0].reshape(2, 3, 1, 2)

    program = rushlight.export.export(Moved(), (rushlight.randn(2, 3, 4),)).run_decompositions()
    code = program.graph_module.code
    assert code.count("clone.default") == 1 and code.count("view.default") == 3 and "reshape" not in code
    x = rushlight.randn(2, 3, 4)
    assert all(rushlight.equal(a, b) for a, b in zip(program.module()(x), Moved()(x)))


class Scaled(rushlight.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = rushlight.nn.Linear(4, 3)

    def forward(self, x, scale, *, flag=True):
        return {"y": self.layer(x["a"]) * scale, "z": x["a"]}


class Calling(rushlight.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scaled()

    def forward(self, x):
        made = self.inner({"a": x}, 2, flag=True)
        return made["y"].relu() + made["z"].sum()


def test_call_signatures_of_modules_are_kept():
    model, x = Calling(), rushlight.randn(2, 4)
    program = rushlight.export.export(model, (x,), preserve_module_call_signature=("inner",))
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    for each in (program, rushlight.export.load(file)):
        signature = each.module_call_graph[1].signature
        assert [arg.name for arg in signature.inputs] == ["x", "", ""] and [arg.value for arg in signature.inputs[1:]] == [2, True]
        assert [arg.name for arg in signature.outputs] == ["mul", "x"]
        tree = rushlight.export.unflatten(each)
        assert rushlight.equal(tree(x), model(x))
        found, wanted = tree.inner({"a": x}, 2, flag=True), model.inner({"a": x}, 2)
        assert list(found) == ["y", "z"] and all(rushlight.equal(found[key], wanted[key]) for key in wanted)
    with pytest.raises(AttributeError, match="missing"):
        rushlight.export.export(model, (x,), preserve_module_call_signature=("missing",))


def test_programs_are_moved_to_a_device():
    program = rushlight.export.passes.move_to_device_pass(rushlight.export.export(Calling(), (rushlight.ones(2, 4),)), "meta")
    assert {value.device.type for value in program.state_dict.values()} == {"meta"}
    assert program.module()(rushlight.ones(2, 4, device="meta")).device.type == "meta"


def test_dynamic_sizes_without_a_name_may_be_equal():
    class Sum(rushlight.nn.Module):
        def forward(self, x, y):
            return x + y

    x = rushlight.ones(3, 2)
    program = rushlight.export.export(Sum(), (x, x.clone()), dynamic_shapes={"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}})
    assert program.module()(rushlight.ones(5, 2), rushlight.ones(5, 2)).shape == (5, 2)
    with pytest.raises(AssertionError):
        program.module()(rushlight.ones(5, 2), rushlight.ones(4, 2))


def test_rows_in_other_forms(programs, tmp_path):
    """Programs with ``scan`` and ``map`` train, compile and export to ONNX; any number of rows where that is dynamic."""
    model = programs.Rows()
    x, more = rushlight.randn(3, 4), rushlight.randn(5, 4)

    class Dynamic(rushlight.nn.Module):
        def forward(self, x):
            return programs.scan(lambda carry, row: (carry + row, carry * row), rushlight.zeros(4), x)

    program = rushlight.export.export(Dynamic(), (x,), dynamic_shapes=({0: Dim("rows")},))
    close(program.module()(more), compat.pytree.tree_leaves(Dynamic()(more)))
    module = rushlight.export.export(model, (x,)).module()
    wanted = compat.pytree.tree_leaves(model(x))
    close(rushlight.compile(module)(x), wanted)
    found = rushlight.autograd.grad(sum(each.sum() for each in compat.pytree.tree_leaves(module(x))), list(module.parameters()))
    expected = rushlight.autograd.grad(sum(each.sum() for each in wanted), list(model.parameters()))
    close(found, expected)
    rushlight.onnx.export(rushlight.export.export(model, (x,)), f=tmp_path / "rows.onnx")
    close(rushlight.onnx.load(tmp_path / "rows.onnx")(x), wanted)


def test_mistakes_with_rows(programs):
    x = rushlight.ones(3, 4)
    for run, said in (
        (lambda: programs.scan(lambda c, r: c + r, rushlight.zeros(4), x), "to return a tuple"),
        (lambda: programs.scan(lambda c, r: (c.sum(), r), rushlight.zeros(4), x), "same metadata"),
        (lambda: programs.scan(3, rushlight.zeros(4), x), "Combine_fn must be a callable, but got 3"),
        (lambda: programs.scan(lambda c, r: (c, r), None, x), "All init leaves must be a Tensor but got None"),
        (lambda: programs.map_rows(lambda r: r, rushlight.zeros(0, 4)), "Leading dimensions of mapped xs cannot be 0."),
        (lambda: programs.map_rows(lambda r: r, 3), "Mapped xs can only consist of tensors"),
    ):
        with pytest.raises(RuntimeError, match=said):
            run()


class Halves(rushlight.nn.Module):
    """A size that is a division."""

    def forward(self, x):
        return x.new_zeros(x.shape[0] // 2, (x.shape[0] + 1) // 2)


def test_a_size_that_is_a_division_keeps_its_parentheses():
    program = rushlight.export.export(Halves(), (rushlight.ones(8, 6),), dynamic_shapes=({0: Dim("h")},))
    assert re.search(r'"f32\[\((s\d+)//2\), \(\(\1 \+ 1\)//2\)\]"', str(program))


class Chooses(rushlight.nn.Module):
    """A branch whose bodies take a parameter."""

    def __init__(self):
        super().__init__()
        self.scale = rushlight.nn.Parameter(rushlight.ones(2))

    def forward(self, x):
        return rushlight.cond(x.sum() > 0, lambda x: x * self.scale, lambda x: x - self.scale, (x,))


def test_a_body_that_is_read_from_a_file_has_the_place_of_its_node_and_a_list_of_operands():
    held = io.BytesIO()
    rushlight.export.save(rushlight.export.export(Chooses(), (rushlight.ones(2),)), held)
    held.seek(0)
    program = rushlight.export.load(held)
    text = str(program)
    assert re.search(r"higher_order.cond\(gt, true_graph_0, false_graph_0, \[", text)
    assert text.index("# File") < text.index("true_graph_0 = self.true_graph_0")
    assert "No stacktrace" not in text.partition("class true_graph_0")[0]
    assert program.module()(rushlight.tensor([3.0, -1.0])).tolist() == [3.0, -1.0]
    assert program.module()(rushlight.tensor([-3.0, 1.0])).tolist() == [-4.0, 0.0]


def test_names_of_nested_inputs_do_not_collide() -> None:
    class Nested(rushlight.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.param = rushlight.nn.Parameter(rushlight.ones(2))

        def forward(self, x, x_foo, x_foo_0, p):
            return x["foo"][0] + x_foo[0] * 2 + x_foo_0 * 3 + p["param"] * 4 + self.param * 5

    inputs = ({"foo": [rushlight.ones(2)]}, (rushlight.ones(2) * 2,), rushlight.ones(2) * 3, {"param": rushlight.ones(2)})
    program = rushlight.export.export(Nested(), inputs)
    assert [each.arg.name for each in program.graph_signature.input_specs] == ["p_param_1", "x_foo_0", "x_foo_0_1", "x_foo_0_2", "p_param"]
    assert program.module()(*inputs).tolist() == Nested()(*inputs).tolist()


@dataclasses.dataclass
class Pair:
    """Two tensors, as an input of a program."""

    a: rushlight.Tensor
    b: rushlight.Tensor


def test_example_inputs_in_files() -> None:
    """Those of registered data classes are read; a program without any has an empty entry, without which PyTorch does not read the file."""
    rushlight.export.register_dataclass(Pair, serialized_type_name="test_export.Pair")

    class Sum(rushlight.nn.Module):
        def forward(self, pair):
            return pair.a + pair.b

    pair = Pair(rushlight.ones(2), rushlight.ones(2) * 2)
    file = io.BytesIO()
    rushlight.export.save(rushlight.export.export(Sum(), (pair,), strict=False), file)
    file.seek(0)
    found = rushlight.export.load(file)
    assert found.example_inputs[0][0].b.tolist() == [2, 2]
    assert found.module()(pair).tolist() == [3, 3]
    found._example_inputs = None
    bare = io.BytesIO()
    rushlight.export.save(found, bare)
    with zipfile.ZipFile(bare) as archive:
        assert archive.read(next(each for each in archive.namelist() if each.endswith("data/sample_inputs/model.pt"))) == b""
    bare.seek(0)
    assert rushlight.export.load(bare).example_inputs is None


def test_additional_inputs_in_a_data_class() -> None:
    @dataclasses.dataclass
    class Batch:
        last: bool
        number: int
        values: rushlight.Tensor

    pytree.register_dataclass(Batch)

    class Sum(rushlight.nn.Module):
        def forward(self, batch):
            return batch.values + batch.number

    one, other = (Batch(True, 3, rushlight.ones(3)),), (Batch(True, 4, rushlight.ones(4)),)
    more = rushlight.export.AdditionalInputs()
    more.add(one)
    more.add(other)
    dynamic = Dim.DYNAMIC
    assert more.dynamic_shapes(Sum(), one) == {"batch": [None, dynamic, (dynamic,)]}
    program = rushlight.export.export(Sum(), one, dynamic_shapes=more)
    more.verify(program)
    assert program.module()(*other).tolist() == [5.0] * 4
