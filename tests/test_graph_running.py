"""A graph prints as Python that runs, and runs in the interpreter: all ways give the same."""

from __future__ import annotations

import collections
import copy
import math
import operator
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from graph_programs import identity, returning, rich_graph, run_source, simple, values_of
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight.core.base import Spec
from rushlight.core.declare import table
from rushlight.core.errors import ArgumentError, GraphError
from rushlight.graph import Graph, Interpreter, Node, verify
from rushlight.graph.targets import path_of, resolve

Pair = collections.namedtuple("Pair", "first second")


# -- the printer ---------------------------------------------------------------------------------------------------


def test_source():
    graph, root = rich_graph()
    assert graph.python_code().src == (
        "def forward(self, x, y = 2.0):\n"
        "    layers_0_weight = getattr(self.layers, '0').weight\n"
        "    add = rushlight.add(x, y, alpha=3);  x = y = None\n"
        "    layers_1 = getattr(self.layers, '1')(add);  add = None\n"
        "    view = layers_1.view(-1);  layers_1 = None\n"
        "    getitem = view[0:3, ...]\n"
        "    def repeat_body_body(i):\n"
        "        sin = rushlight.sin(i);  i = None\n"
        "        return sin\n"
        "    repeat_body = graph_programs.repeat_body(2, getitem, bodies={'body': repeat_body_body});  getitem = None\n"
        "    add_1 = rushlight.Tensor.add_(view, 1);  view = None\n"
        "    return {'all': (repeat_body, layers_0_weight), 'list': [add_1, None]}\n"
    )
    x = rushlight.arange(6.0).reshape(2, 3)
    expected = values_of(Interpreter(root, graph).run(x))
    assert values_of(run_source(graph, x, root=root)) == expected
    assert values_of(run_source(graph, x=x, root=root, free_dead=False)) == expected
    assert "None;" not in graph.python_code(free_dead=False).src


def test_readable_source(capsys):
    graph, _ = rich_graph()
    text = graph.print_readable()
    assert capsys.readouterr().out == text + "\n"
    assert text == (
        "class GraphModule(rushlight.nn.Module):\n"
        "    def forward(self, x, y = 2.0):\n"
        "        layers_0_weight = getattr(self.layers, '0').weight\n"
        "        # File: model.py:12 in forward, module layers.0\n"
        "        add = rushlight.add(x, y, alpha=3)  # f32[2, 3]\n"
        "        layers_1 = getattr(self.layers, '1')(add)\n"
        "        view = layers_1.view(-1)\n"
        "        getitem = view[0:3, ...]\n"
        "        repeat_body = graph_programs.repeat_body(2, getitem, bodies={'body': self.repeat_body_body})\n"
        "        add_1 = rushlight.Tensor.add_(view, 1)\n"
        "        return {'all': (repeat_body, layers_0_weight), 'list': [add_1, None]}\n"
        "\n"
        "    class repeat_body_body(rushlight.nn.Module):\n"
        "        def forward(self, i):\n"
        "            sin = i.sin()\n"
        "            return sin\n"
    )
    compile(text, "readable", "exec")


def test_source_comments_stand_where_the_line_changes():
    class Batch(int):
        expression = "2*B"

    graph = Graph()
    value = graph.placeholder("x")
    value.meta["val"] = Spec((Batch(8), 3), np.dtype(np.int64))
    for line in (4, 4, 5, None, 5, 4):
        value = graph.call_function(rushlight.neg, (value,))
        if line:
            value.meta["source"] = ("a/b.py", line, "call")
    value.meta["val"] = (Spec((), np.dtype(bool)), 3, Batch(4), 2.5)
    graph.output(value)
    lines = [line.strip() for line in graph.print_readable(False).splitlines()]
    assert [line for line in lines if "#" in line] == [
        "# x: i64[2*B, 3]",
        "# File: b.py:4 in call",
        "# File: b.py:5 in call",
        "# File: b.py:4 in call",
        "neg_5 = neg_4.neg()  # (b8[], 3, 2*B, 2.5)",
    ]


def test_text_of_a_graph_is_like_that_of_fx():
    graph, _ = rich_graph()
    assert str(graph) == (
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y](default=2.0)\n"
        "    %layers_0_weight : [num_users=1] = get_attr[target=layers.0.weight]\n"
        "    %add : [num_users=1] = call_function[target=rushlight.add](args = (%x, %y), kwargs = {alpha: 3})\n"
        "    %layers_1 : [num_users=1] = call_module[target=layers.1](args = (%add,), kwargs = {})\n"
        "    %view : [num_users=2] = call_method[target=view](args = (%layers_1, -1), kwargs = {})\n"
        "    %getitem : [num_users=1] = call_function[target=operator.getitem]"
        "(args = (%view, (slice(0, 3, None), Ellipsis)), kwargs = {})\n"
        "    %repeat_body : [num_users=1] = call_function[target=graph_programs.repeat_body]"
        "(args = (2, %getitem), kwargs = {})\n"
        "    %add_1 : [num_users=1] = call_function[target=rushlight.Tensor.add_](args = (%view, 1), kwargs = {})\n"
        "    return {all: (repeat_body, layers_0_weight), list: [add_1, None]}"
    )


def test_tabular(capsys):
    simple().print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[4].split() == ["call_function", "add", "rushlight.add", "(x,", "y)", "{}"]


NUMBERS = [3, -3, True, 1.5, -0.0, math.inf, -math.inf, 1e300, 2 - 3j, complex(math.inf, -0.0), 10**30]
CONSTANTS = [
    *NUMBERS, None, "text's \n", b"bytes", ..., (), (1,), [1, [2.5]], {"a": (1,)}, {1: -2.0}, slice(1, None, -1),
    range(3), {3, 1}, frozenset((2,)), rushlight.float32, rushlight.bool, rushlight.bfloat16, rushlight.device("cpu"),
    rushlight.device("cuda", 1), rushlight.channels_last, rushlight.strided, rushlight.Size((2, 3)), Pair(1, (2,)),
    np.dtype(np.int8), np.float32(0.5), int, rushlight.Tensor, rushlight.add, math.sqrt, identity,
    rushlight.linalg.svd, rushlight.default_generator, rushlight.nn.Linear, slice, collections.OrderedDict,
]  # fmt: skip


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda value: getattr(value, "__name__", None) or repr(value)[:40])
def test_constants_come_back_from_source(constant):
    graph = returning(constant)
    found = run_source(graph)
    assert repr(found) == repr(constant)
    if not isinstance(constant, (float, np.generic)):
        assert found == constant
    again = Interpreter(None, graph).run()
    assert repr(again) == repr(constant)


def test_not_a_number_comes_back_from_source():
    assert math.isnan(run_source(returning(math.nan)))
    assert 'float("nan")' in returning(math.nan).python_code().src


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
                                      operator.mod, operator.pow, operator.lt, operator.eq, operator.ge])  # fmt: skip
def test_operators_of_numbers(function):
    graph = Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(function, (x, -3)), graph.call_function(function, (-3, x))))
    assert run_source(graph, 2) == (function(2, -3), function(-3, 2))
    assert "operator" not in graph.python_code().src


def test_other_operators():
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(
        (
            graph.call_function(operator.neg, (-2,)),
            graph.call_function(operator.invert, (x,)),
            graph.call_function(operator.not_, (x,)),
            graph.call_function(getattr, (x, "real")),
            graph.call_function(operator.index, (x,)),
            graph.call_method("bit_length", (5,)),
            graph.call_function(math.floor, (2.5,)),
            graph.call_function(operator.getitem, ((1, 2), x)),
            graph.call_function(operator.getitem, ([1, 2, 3], slice(None, x))),
        )
    )
    expected = (2, -2, False, 1, 1, 3, 2, 2, [1])
    assert run_source(graph, 1) == Interpreter(None, graph).run(1) == expected
    source = graph.python_code().src
    for text in ("neg = -(-2)\n", "x.real", "operator.index(x)", "math.floor(2.5)", "[1, 2, 3])[:x]"):
        assert text in source


def test_names_of_nodes_do_not_hide_what_the_source_uses():
    """Placeholders of bad names keep them for callers where that is possible."""
    graph = Graph()
    made = [graph.placeholder(name) for name in ("input", "float", "math", "self", "rushlight", "class")]
    floor = graph.call_function(math.floor, (made[2],))
    graph.output((*made, floor, graph.call_function(identity, (math.inf,), name="identity")))
    assert [node.name for node in made] == ["input_1", "float_1", "math", "self_1", "rushlight_1", "class_1"]
    assert graph.python_code(free_dead=False).src.splitlines()[:2] == [
        "def forward(self, input, float_1, math, self_1, rushlight_1, class_1):",
        "    input_1 = input",
    ]
    assert run_source(graph, 1, 2, 3.5, 4, 5, 6) == (1, 2, 3.5, 4, 5, 6, 3, math.inf)
    with pytest.raises(GraphError, match="choose another root_module"):
        graph.python_code("math")
    assert graph.python_code("module").src.startswith("def forward(module, ")


def test_variable_arguments():
    graph = Graph()
    x, rest, options = graph.placeholder("x"), graph.placeholder("*rest"), graph.placeholder("**options")
    graph.output((x, rest, options))
    assert run_source(graph, 1, 2, 3, key=4) == (1, (2, 3), {"key": 4})
    assert Interpreter(None, graph).run(1, 2, 3) == (1, (2, 3), {})


def test_types_of_inputs_are_annotations():
    graph = Graph()
    graph.output(graph.placeholder("x", rushlight.Tensor, None))
    assert "def forward(self, x: rushlight.Tensor = None):" in graph.python_code().src
    assert str(graph).startswith("graph(%x : rushlight.Tensor):")
    assert run_source(graph) is None


def test_keyword_arguments_that_are_no_identifiers():
    graph = returning(function=dict, a=1, **{"not a name": 2})
    assert run_source(graph) == {"a": 1, "not a name": 2}


def test_every_op_prints_as_something_that_is_that_op():
    nameless = [op.name for op in table.values() if path_of(op.call) is None]
    assert len(nameless) < 10
    for op in table.values():
        path = path_of(op.call)
        assert path is None or (path.startswith("rushlight.") and resolve(path) is op.call)
        graph = returning(op.call)
        assert run_source(graph) is op.call
    assert path_of(rushlight.nn.functional.gelu) == "rushlight.nn.functional.gelu"
    assert path_of(rushlight.Tensor.view) == "rushlight.Tensor.view"
    assert path_of(table["view_shape"].call) == "rushlight.ops.shape.views.view_shape"


def test_the_same_constant_is_one_global():
    tensor = rushlight.ones(2)
    graph = Graph()
    graph.output((graph.call_function(rushlight.add, (tensor, tensor)), graph.placeholder("Tensor")))
    code = graph.python_code()
    assert [value for value in code.globals.values() if value is tensor] == [tensor]
    assert "rushlight.add(Tensor_1, Tensor_1)" in code.src


# -- the interpreter -----------------------------------------------------------------------------------------------


def test_values_are_freed_when_nobody_needs_them():
    graph = simple()
    alive = []

    class Watched(Interpreter):
        def run_node(self, n):
            alive.append(sorted(node.name for node in self.env))
            return super().run_node(n)

    watched = Watched(None, graph)
    assert watched.run(rushlight.ones(1), rushlight.ones(1)).tolist() == [2.0]
    assert alive == [[], ["x"], ["x", "y"], ["add", "x"], ["relu", "x"], ["mul"]]
    kept = Interpreter(None, graph, garbage_collect_values=False)
    kept.run(rushlight.ones(1), rushlight.ones(1))
    assert len(kept.env) == 6


def test_a_graph_may_change_between_runs():
    graph = simple()
    interpreter = Interpreter(None, graph)
    assert interpreter.run(2 * rushlight.ones(1), rushlight.ones(1)).tolist() == [6.0]
    x, y, added, relu, product, output = graph.nodes
    product.args = (relu, added)
    assert interpreter.run(2 * rushlight.ones(1), rushlight.ones(1)).tolist() == [9.0]


def test_interpreters_can_be_derived_from():
    class Negated(Interpreter):
        def call_function(self, target, args, kwargs):
            if target is rushlight.sin:
                target = rushlight.cos
            return super().call_function(target, args, kwargs)

    graph, root = rich_graph()
    x = rushlight.zeros(2, 3)
    result = Negated(root, graph).run(x, 0.0)
    assert np.allclose(result["all"][0].tolist(), math.cos(math.cos(0.0)))  # also in bodies


def test_initial_values_replace_nodes():
    graph = simple()
    x, y, added, *_ = graph.nodes
    result = Interpreter(None, graph).run(initial_env={x: rushlight.ones(1), y: None, added: rushlight.ones(1) * 5})
    assert result.tolist() == [5.0]


def test_root_gives_the_graph():
    graph, root = rich_graph()
    root.graph = graph
    assert Interpreter(root).graph is graph


def test_wrong_numbers_of_arguments():
    graph = simple()
    with pytest.raises(ArgumentError, match="missing argument 'y'"):
        Interpreter(None, graph).run(rushlight.ones(1))
    with pytest.raises(ArgumentError, match="the graph takes 2 arguments, but 3 were given"):
        Interpreter(None, graph).run(1, 2, 3)
    graph.erase_node(graph.output_node())
    with pytest.raises(GraphError, match="no output"):
        Interpreter(None, graph).run(rushlight.ones(1), rushlight.ones(1))


def test_errors_say_which_node_ran():
    graph = Graph()
    x = graph.placeholder("x")
    node = graph.call_function(rushlight.add, (x, rushlight.ones(3)))
    node.meta.update(source=("/home/user/model.py", 7, "forward"), module="head")
    graph.output(node)
    with pytest.raises(RuntimeError) as error:
        Interpreter(None, graph).run(rushlight.ones(2))
    (note,) = error.value.__notes__
    assert note.startswith("while running %add : [num_users=1] = call_function[target=rushlight.add](args = (%x, ")
    assert note.endswith("; File: model.py:7 in forward, module head")
    missing = Graph()
    missing.output(missing.get_attr("a.b"))
    with pytest.raises(GraphError, match="'a.b' is not there: SimpleNamespace has no attribute 'b'"):
        Interpreter(SimpleNamespace(a=SimpleNamespace()), missing).run()


# -- all together ----------------------------------------------------------------------------------------------------

UNARY = (rushlight.sin, rushlight.neg, rushlight.relu, rushlight.tanh, rushlight.nn.functional.gelu, rushlight.sigmoid)
BINARY = (rushlight.add, rushlight.mul, rushlight.sub, rushlight.maximum, operator.add, operator.truediv)


@st.composite
def programs(draw):
    """A random graph of pointwise ops, and a function that does the same without it."""
    graph = Graph()
    count = draw(st.integers(1, 3))
    nodes = [graph.placeholder(draw(st.sampled_from(("x", "input", "add", "sin_1")))) for _ in range(count)]
    steps = []
    for _ in range(draw(st.integers(0, 12))):
        operands = st.integers(0, len(nodes) - 1)
        if draw(st.booleans()):
            function, kwargs, args = draw(st.sampled_from(UNARY)), {}, [draw(operands)]
        else:
            function = draw(st.sampled_from(BINARY))
            args = [draw(operands), draw(st.one_of(operands, st.sampled_from((0.5, -2.0))))]
            if function is rushlight.maximum:
                args[1] = draw(operands)
            kwargs = {"alpha": draw(st.integers(-2, 2))} if function is rushlight.add and draw(st.booleans()) else {}
        steps.append((function, args, kwargs))
        given_args = tuple(nodes[each] if isinstance(each, int) else each for each in args)
        nodes.append(graph.call_function(function, given_args, kwargs))
    wanted = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, max_size=3))
    graph.output([nodes[index] for index in wanted])

    def direct(*inputs):
        values = list(inputs)
        for function, args, kwargs in steps:
            values.append(function(*(values[each] if isinstance(each, int) else each for each in args), **kwargs))
        return [values[index] for index in wanted]

    return graph, count, direct


@settings(max_examples=80, deadline=None)
@given(programs())
def test_random_programs(program):
    graph, count, direct = program
    verify(graph)
    inputs = [rushlight.linspace(-2, 3, 5) * (index + 1) for index in range(count)]
    expected = repr([value.tolist() for value in direct(*inputs)])

    def check(result):
        assert repr([value.tolist() for value in result]) == expected

    check(Interpreter(None, graph).run(*inputs))
    check(run_source(graph, *inputs))
    check(run_source(graph, *inputs, free_dead=False))
    text = str(graph), graph.python_code().src, graph.print_readable(False)
    for other in (graph, copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        verify(other)
        assert (str(other), other.python_code().src, other.print_readable(False)) == text
        assert all(isinstance(node, Node) for node in other.nodes)
    graph.eliminate_dead_code()
    verify(graph)
    check(run_source(graph, *inputs))
    used = set()
    for node in reversed(graph.nodes):
        assert node.op in ("placeholder", "output") or node in used
        used.update(node.all_input_nodes)
