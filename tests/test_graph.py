"""The graph: nodes and their users, names, edits, copies and the verifier."""

from __future__ import annotations

import collections
import copy
import operator
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from graph_programs import identity, repeat_body, rich_graph, simple, values_of
from samples import samples_of

import rushlight
from rushlight.core.declare import table
from rushlight.core.errors import ArgumentError, GraphError
from rushlight.graph import Graph, Interpreter, bind, canonical, has_side_effect, map_aggregate, map_arg, verify

Pair = collections.namedtuple("Pair", "first second")


def names(graph):
    return [node.name for node in graph.nodes]


# -- nodes ---------------------------------------------------------------------------------------------------------


def test_nodes_know_their_users_and_inputs():
    graph = simple()
    x, y, added, relu, product, output = graph.nodes
    assert list(x.users) == [added, product]
    assert product.all_input_nodes == [relu, x]
    assert (x.next, output.prev, output.next.op) == (y, product, "root")
    assert len(graph.nodes) == 6
    assert list(reversed(graph.nodes)) == list(graph.nodes)[::-1]
    assert repr(product) == "mul"


def test_setting_arguments_keeps_users_true():
    graph = simple()
    x, y, added, relu, product, _ = graph.nodes
    product.args = (y, [y, {"key": slice(relu, None)}])
    assert list(y.users) == [added, product]
    assert list(relu.users) == [product]
    assert product not in x.users
    product.kwargs = {"alpha": x}
    assert product in x.users
    product.update_arg(0, 3)
    product.update_kwarg("alpha", 1)
    product.insert_arg(0, x)
    assert (product.args[0], product.args[1], product.kwargs) == (x, 3, {"alpha": 1})
    assert list(y.users) == [added, product]
    product.replace_input_with(y, x)
    assert list(y.users) == [added]
    with pytest.raises(GraphError, match="position 9"):
        product.insert_arg(9, x)


def test_replacing_all_uses():
    graph = simple()
    x, y, added, relu, product, output = graph.nodes
    relu.meta["module"] = "layer"
    assert relu.replace_all_uses_with(added, propagate_meta=True) == [product]
    assert product.args == (added, x)
    assert not relu.users
    assert added.meta["module"] == "layer"
    graph.erase_node(relu)
    assert x.replace_all_uses_with(y, lambda user: user is product) == [product]
    assert list(x.users) == [added]
    graph.lint()
    assert names(graph) == ["x", "y", "add", "mul", "output"]


def test_arguments_do_not_change_in_place():
    graph = Graph()
    x = graph.placeholder("x")
    given_list, given_dict = [x, 1], {"key": x}
    node = graph.call_function(identity, (given_list, given_dict))
    given_list.append(2)
    assert node.args == ([x, 1], {"key": x})
    for change in (
        lambda: node.args[0].append(x),
        lambda: operator.setitem(node.args[1], "key", 1),
        lambda: node.kwargs.update(a=1),
        lambda: node.args[0].sort(),
    ):
        with pytest.raises(TypeError, match="set node.args"):
            change()
    assert copy.deepcopy(node.args[0][1:]) == [1]


def test_nodes_of_other_graphs_are_refused():
    x = Graph().placeholder("x")
    graph = Graph()
    with pytest.raises(GraphError, match="node 'x' of another graph"):
        graph.call_function(rushlight.relu, (x,))
    assert len(graph.nodes) == 0
    y = graph.placeholder("y")
    for change in (y.append, y.prepend, graph.erase_node, graph.inserting_before, graph.inserting_after):
        with pytest.raises(GraphError, match="another graph"):
            change(x)
    with pytest.raises(GraphError, match="key of a dict"):
        graph.call_function(identity, ({y: 1},))


def test_names_are_unique_identifiers_that_hide_nothing():
    graph = Graph()
    x = graph.placeholder("x")
    made = [
        graph.create_node("call_function", rushlight.add, (x, x), name=name).name
        for name in ("list", "class", "self", "rushlight", "add_1", "x", "None", "layers.0.weight", "9z", "a b")
    ]
    assert made == [
        "list_1", "class_1", "self_1", "rushlight_1", "add_1", "x_1", "None_1", "layers_0_weight", "_9z", "a_b",
    ]  # fmt: skip
    assert [graph.call_function(rushlight.add, (x, x)).name for _ in range(3)] == ["add", "add_2", "add_3"]
    assert graph.call_function(rushlight.sum, (x,)).name == "sum_1"
    assert graph.call_function(rushlight.Tensor.add_, (x, x)).name == "add_4"
    assert graph.call_function(lambda value: value, (x,)).name == "_lambda_"
    assert graph.call_function(rushlight.nn.functional.linear, (x, x)).name == "linear"
    assert graph.get_attr("a.0.b").name == "a_0_b"
    x.rename("y")
    x.rename("list")
    assert x.name == "list_2"
    assert graph.placeholder("*rest").name == "rest"


def test_map_arg_reaches_everything_nested():
    graph = Graph()
    x = graph.placeholder("x")
    argument = (x, [x, 1], {"a": slice(x, 2, None)}, Pair(x, "s"), rushlight.Size((1, 2)), ...)
    mapped = map_arg(argument, lambda node: node.name)
    assert mapped == ("x", ["x", 1], {"a": slice("x", 2, None)}, Pair("x", "s"), (1, 2), ...)
    assert type(mapped[3]) is Pair and type(mapped[4]) is rushlight.Size
    assert map_aggregate((1, [2]), lambda value: value + 1) == (2, [3])
    node = graph.call_function(identity, argument)
    assert type(node.args[3]) is Pair and node.args[3].first is x
    assert node.all_input_nodes == [x]


# -- edits ---------------------------------------------------------------------------------------------------------


def test_insertion_points():
    graph = simple()
    x, y, added, relu, product, output = graph.nodes
    with graph.inserting_before(added):
        first = graph.call_function(rushlight.neg, (x,))
        graph.call_function(rushlight.exp, (first,))
    with graph.inserting_after(added):
        first = graph.call_function(rushlight.sin, (added,))
        with graph.inserting_before():
            graph.placeholder("z")
        graph.call_function(rushlight.cos, (first,))
    with pytest.raises(ZeroDivisionError), graph.inserting_before(product):
        raise ZeroDivisionError
    assert names(graph) == ["z", "x", "y", "neg", "exp", "add", "sin", "cos", "relu", "mul", "output"]
    graph.lint()
    with graph.inserting_after():
        last = graph.call_function(rushlight.tan, (x,))
    assert last.prev is output
    product.append(last)
    assert last.next is output
    added.prepend(added)
    graph.lint()


def test_erasing_nodes():
    graph = simple()
    x, y, added, relu, product, output = graph.nodes
    with pytest.raises(GraphError, match=r"'relu' can't be erased: 1 nodes use it \(mul\)"):
        graph.erase_node(relu)
    output.args = (x,)
    seen = []
    for node in reversed(graph.nodes):  # nodes may go while a loop stands on them
        seen.append(node.name)
        if not node.users and node.op == "call_function":
            graph.erase_node(node)
    assert seen == ["output", "mul", "relu", "add", "y", "x"]
    assert names(graph) == ["x", "y", "output"]
    assert len(graph.nodes) == 3
    assert graph.call_function(rushlight.relu, (x,)).name == "relu_1"  # a name is not used twice


def test_dead_code_goes_and_side_effects_stay():
    graph = Graph()
    x = graph.placeholder("x")
    graph.placeholder("unused")
    graph.call_function(rushlight.exp, (graph.call_function(rushlight.neg, (x,)),))
    graph.get_attr("weight")
    graph.call_method("relu", (x,))
    graph.call_function(rushlight.nn.functional.dropout, (x, 0.5, False))
    graph.call_function(rushlight.nn.functional.batch_norm, (x, None, None), {"training": False})
    kept = [
        graph.call_function(rushlight.Tensor.add_, (x, 1)),
        graph.call_function(rushlight.Tensor.unsqueeze_, (x, 0)),
        graph.call_method("add_", (x, 1)),
        graph.call_function(rushlight.add, (x, 1), {"out": x}),
        graph.call_function(rushlight.rand, (2,)),
        graph.call_function(rushlight.nn.functional.dropout, (x,)),
        graph.call_function(rushlight.nn.functional.batch_norm, (x, x, x), {"training": True}),
        graph.call_function(rushlight.nn.functional.gumbel_softmax, (x,)),
        graph.call_function(operator.setitem, (x, 0, 1)),
        graph.call_function(print, (x,)),
        graph.call_function(rushlight.sin, (x,)),
    ]
    kept[-1].meta["impure"] = True
    output = graph.output(graph.call_function(rushlight.cos, (x,)))
    assert graph.eliminate_dead_code()
    assert [node for node in graph.nodes if node.op != "placeholder"] == [*kept, output.args[0], output]
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: False)
    assert names(graph) == ["x", "unused", "cos", "output"]


def test_functions_can_be_marked_as_having_side_effects():
    @has_side_effect
    def log(value):
        """Writes somewhere."""

    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(log, (x,))
    graph.output(x)
    assert not graph.eliminate_dead_code()


def test_a_module_may_say_that_it_is_impure():
    root = SimpleNamespace(a=SimpleNamespace(_is_impure=True), b=SimpleNamespace())
    graph = Graph(root)
    x = graph.placeholder("x")
    graph.call_module("a", (x,))
    graph.call_module("b", (x,))
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert names(graph) == ["x", "a", "output"]


def test_graph_copy_maps_values():
    graph = Graph()
    a = graph.placeholder("a")
    values = {}
    source = simple()
    x, y, *_ = source.nodes
    values[x] = values[y] = a
    result = graph.graph_copy(source, values)
    graph.output(result)
    graph.lint()
    assert names(graph) == ["a", "add", "relu", "mul", "output"]
    again = graph.node_copy(result, lambda node: node)
    assert (again.name, again.args) == ("mul_1", result.args)


def test_find_nodes_and_output_node():
    graph = simple()
    assert [node.name for node in graph.find_nodes(op="call_function", target=rushlight.relu)] == ["relu"]
    assert [node.name for node in graph.find_nodes(op="placeholder")] == ["x", "y"]
    assert graph.output_node().name == "output"
    with pytest.raises(GraphError, match="no output"):
        Graph().output_node()


# -- calls ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "complete", "call"),
    [
        ("add", ("x", "y", 1), (("x", "y"), {})),
        ("add", ("x", "y", True), (("x", "y"), {"alpha": True})),
        ("add", ("x", "y", 1.0), (("x", "y"), {"alpha": 1.0})),
        ("sum", ("x", None, False, None), (("x",), {})),
        ("sum", ("x", None, True, None), (("x", None, True), {})),
        ("reshape", ("x", (2, 3)), (("x", 2, 3), {})),
        ("reshape", ("x", ()), (("x",), {})),
        ("amax", ("x", (), False), (("x",), {})),
    ],
)
def test_calls_as_a_user_writes_them(name, complete, call):
    op = table[name]
    assert canonical(op, complete) == call
    assert bind(op, *call) == complete


def test_a_call_may_be_written_in_other_ways():
    assert bind(table["sum"], ("x",), {"axis": 1, "keepdims": True}) == ("x", 1, True, None)
    for args, kwargs in [(("x", (2, 3)), {}), (("x",), {"shape": (2, 3)}), (("x", [2, 3]), {})]:
        assert bind(table["reshape"], args, kwargs) == ("x", (2, 3))
    nested = (["x", "y"],)
    op = table["atleast_1d"]
    assert bind(op, *canonical(op, (nested,))) == (nested,)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (("x",), {}, "add() missing 1 required argument: 'other'"),
        (("x", "y", 1), {}, "add() takes 2 positional arguments but 3 were given"),
        (("x", "y"), {"beta": 1}, "add() got an unexpected keyword argument 'beta'"),
        (("x", "y"), {"other": 1}, "add() got multiple values for argument 'other'"),
        (("x", "y"), {"out": 1}, "no part of its schema"),
    ],
)
def test_calls_that_do_not_fit(args, kwargs, message):
    with pytest.raises(ArgumentError) as error:
        bind(table["add"], args, kwargs)
    assert message in str(error.value)


def test_every_sample_of_every_op_survives_both_directions():
    count = 0
    for op in table.values():
        if op.functional is not None:
            continue
        for sample in samples_of(op):
            try:
                complete = bind(op, tuple(sample.args), {k: v for k, v in sample.kwargs.items() if k != "out"})
            except ArgumentError:
                continue  # samples of wrong calls
            again = bind(op, *canonical(op, complete))
            assert len(again) == len(complete) == len(op.parameters)
            for one, other in zip(complete, again):
                assert one is other or type(one) is type(other)
                if not isinstance(one, np.ndarray) and "ndarray" not in repr(type(one)) and "array(" not in repr(one):
                    assert repr(one) == repr(other), op
            count += 1
    assert count > 2000


# -- copies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), copy.copy])
def test_copies_are_equal_and_independent(duplicate):
    graph, root = rich_graph()
    before = str(graph), graph.python_code().src
    other = duplicate(graph)
    other.lint()
    assert (str(other), other.python_code().src) == before
    assert not set(other.nodes) & set(graph.nodes)
    added = other.find_nodes(op="call_function", target=rushlight.add)[0]
    x, y, *_ = other.nodes
    assert added.meta["source"][1] == 12
    assert added.meta["of"] == [x, {"k": y}]
    looped = other.find_nodes(op="call_function", target=repeat_body)[0]
    inner = looped.bodies["body"]
    next(iter(inner.nodes)).rename("j")
    next(iter(other.nodes)).rename("renamed")
    assert (str(graph), graph.python_code().src) == before
    x = rushlight.arange(6.0).reshape(2, 3)
    assert values_of(Interpreter(root, other).run(x)) == values_of(Interpreter(root, graph).run(x))


def test_ops_without_a_public_name_are_pickled():
    graph = Graph()
    x = graph.placeholder("x")
    for op in table.values():
        graph.call_function(op.call, (x,))
    graph.output(x)
    other = pickle.loads(pickle.dumps(graph))
    assert [node.target for node in other.nodes] == [node.target for node in graph.nodes]


def test_long_graphs_are_copied_and_pickled():
    graph = Graph()
    value = graph.placeholder("x")
    for _ in range(5000):
        value = graph.call_function(rushlight.neg, (value,))
    graph.output(value)
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert names(other) == names(graph)
    graph.lint()
    assert Interpreter(None, graph).run(rushlight.ones(1)).tolist() == [1.0]


def test_a_node_alone_is_not_pickled():
    with pytest.raises(TypeError, match="part of its graph"):
        pickle.dumps(Graph().placeholder("x"))


# -- the verifier --------------------------------------------------------------------------------------------------


def swap_order(graph):
    x, y, added, relu, *_ = graph.nodes
    relu.append(added)


def wrong_users(graph):
    next(iter(graph.nodes)).users.clear()


def too_many_users(graph):
    x, y, added, *_ = graph.nodes
    added.users[y] = None


def duplicate_name(graph):
    *_, product, output = graph.nodes
    product.name = "relu"


def bad_name(graph):
    next(iter(graph.nodes)).name = "not a name"


def foreign_node(graph):
    node = list(graph.nodes)[2]
    node.graph = Graph()


def foreign_argument(graph):
    node = list(graph.nodes)[2]
    node._args = (Graph().placeholder("z"), 1)


def late_placeholder(graph):
    with graph.inserting_before(graph.output_node()):
        graph.placeholder("z")


def erased_input(graph):
    relu = graph.find_nodes(op="call_function", target=rushlight.relu)[0]
    relu.users.clear()
    graph.erase_node(relu)


def bad_call(*args, **kwargs):
    def change(graph):
        node = graph.find_nodes(op="call_function", target=rushlight.add)[0]
        node.args, node.kwargs = (node.args[0], *args), kwargs

    return change


def bad_body(graph):
    body = Graph()
    body.placeholder("i")
    list(graph.nodes)[2].meta["bodies"] = {"then": body}


def set_target(position, op, target, args=()):
    def change(graph):
        node = list(graph.nodes)[position]
        node.op, node.target = op, target
        if args is not None:
            node.args = args

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap_order, "node 'relu' uses 'add', which is computed later"),
        (wrong_users, "node 'x' has the wrong users: it disagrees with the arguments of add, mul"),
        (too_many_users, "node 'add' has the wrong users: it disagrees with the arguments of y"),
        (duplicate_name, "node 'relu' has a name that another node has"),
        (bad_name, "node 'not a name' has a name that can't be that of a variable"),
        (foreign_node, "node 'add' belongs to another graph"),
        (foreign_argument, "node 'add' uses 'z', a node of another graph"),
        (late_placeholder, "node 'z' is a placeholder after the first node that computes"),
        (erased_input, "node 'mul' uses 'relu', which is erased"),
        (lambda graph: graph.output(1), "node 'output_1' is a second output"),
        (lambda graph: graph.call_function(rushlight.rand, (1,)), "node 'rand' comes after the output"),
        (lambda graph: graph.erase_node(graph.output_node()), "the graph has no output"),
        (bad_call(), "node 'add' does not fit the schema of add: add() missing 1 required argument: 'other'"),
        (bad_call(1, 2), "node 'add' does not fit the schema of add: add() takes 2 positional arguments but 3"),
        (bad_call(1, beta=2), "unexpected keyword argument 'beta'"),
        (bad_body, "node 'add' has a body 'then' that is not well formed: the graph has no output"),
        (set_target(2, "call_function", "add", None), "node 'add' calls 'add', which is no function"),
        (set_target(2, "call_method", rushlight.add, None), "is a call_method and has the target <function"),
        (set_target(2, "call_method", "add"), "node 'add' calls the method 'add' of nothing"),
        (set_target(2, "branch", "add"), "node 'add' has the unknown kind 'branch'"),
        (set_target(0, "placeholder", "x", (1, 2)), "node 'x' is a placeholder with arguments"),
        (set_target(5, "output", "output"), "node 'output' is an output of 0 values"),
        (set_target(2, "get_attr", "weight", (1,)), "node 'add' is a get_attr with arguments"),
        (set_target(2, "get_attr", "a.c"), "node 'add' refers to 'a.c', but SimpleNamespace has no attribute 'c'"),
        (set_target(2, "call_module", "a.b"), "node 'add' calls 'a.b', which is no module but a int"),
    ],
)  # fmt: skip
def test_malformed_graphs(change, message):
    graph = simple()
    graph.owning_module = SimpleNamespace(a=SimpleNamespace(b=1))
    verify(graph)
    change(graph)
    with pytest.raises(GraphError) as error:
        graph.lint()
    assert message in str(error.value)
    assert error.value.code == "RL401"


def test_the_verifier_takes_out_and_attributes_that_are_there():
    graph = Graph(SimpleNamespace(a=SimpleNamespace(b=1)))
    value = graph.get_attr("a.b")
    graph.output(graph.call_function(rushlight.add, (value, 1), {"out": value}))
    verify(graph)
    with pytest.raises(GraphError, match="no kind of node"):
        graph.create_node("branch", "x")
