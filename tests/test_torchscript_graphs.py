"""Graphs of scripts and traces as PyTorch shows them: text, nodes and blocks, passes, and the program as TorchScript."""

import enum
import io
from typing import Dict  # noqa: UP035

import pytest

import rushlight as torch
from rushlight import jit, nn
from rushlight.capture.script.aten_graph import analysis, passes
from rushlight.capture.script.aten_graph.parsing import parse_graph
from rushlight.capture.script.aten_graph.peephole import peephole
from rushlight.capture.script.aten_graph.rewriting import rewrite
from rushlight.capture.script.aten_graph.run import run
from rushlight.compat.trace_graph import _get_trace_graph
from rushlight.testing import FileCheck


def reloaded(program):
    """A program as PyTorch's archive has it."""
    file = io.BytesIO()
    jit.save(program, file, format="torchscript")
    file.seek(0)
    return jit.load(file)


@jit.script
def shifted(x, y):
    return x - y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.count = 3

    def forward(self, x, n: int, other: int | None = None):
        y = torch.zeros(2)
        table: Dict[str, int] = {"a": 1}  # noqa: UP006
        for i in range(n):
            if i > 2:
                y = y + x
            else:
                y = self.linear(y)
                y.add_(1)
        while n < 10:
            n += 1
        if other is not None:
            n = n + other
        x[0, 1:] = 2
        return shifted(y, x), [y, x], table["a"] + self.count, str(n), x.size(0)


def test_text_of_a_method():
    graph = jit.script(Net()).graph
    checks = FileCheck().check("graph(%self : __torch__").check("%x.1 : Tensor,").check("%n.1 : int,").check("%other.1 : int?):")
    checks.check("int[] = prim::ListConstruct").check("Tensor = aten::zeros(").check("Dict(str, int) = prim::DictConstruct(")
    checks.check("prim::Loop(").check("block0(").check("bool = aten::gt(").check("prim::If(").check("block0():").check("aten::add(")
    checks.check("block1():").check('prim::GetAttr[name="linear"](%self)').check('prim::CallMethod[name="forward"]').check("aten::add_(")
    checks.check("aten::lt").check("prim::Loop(").check("aten::__isnot__").check("prim::If").check("prim::unchecked_cast")
    checks.check("aten::select").check("aten::slice").check("aten::copy_").check("prim::CallFunction").check("aten::__getitem__")
    checks.check("aten::str").check("int = aten::size").check("Tensor[] = prim::ListConstruct").check(
        "(Tensor, Tensor[], int, str, int) = prim::TupleConstruct"
    )
    checks.run(graph)


def test_nodes_blocks_and_values():
    graph = jit.script(Net()).graph
    kinds = [node.kind() for node in graph.nodes()]
    assert kinds.count("prim::Loop") == 2 and "aten::add_" not in kinds
    (write,) = graph.findAllNodes("aten::add_")
    assert write.owningBlock().owningNode().kind() == "prim::If"
    loop = graph.findNode("prim::Loop")
    assert [block.inputsSize() if hasattr(block, "inputsSize") else len(list(block.inputs())) for block in loop.blocks()] == [2]
    x = list(graph.inputs())[1]
    assert (
        x.debugName() == "x.1"
        and str(x.type()) == "Tensor"
        and {use.user.kind() for use in x.uses()} >= {"aten::select", "prim::CallFunction"}
    )
    constant = graph.findNode("prim::Constant")
    assert constant.output().toIValue() == constant.ival("value") == constant["value"] and constant.kindOf("value") == "i"
    with pytest.raises(RuntimeError, match="attribute 'other' is undefined"):
        constant.ival("other")


def test_types_as_graphs_show_them():
    def unused(
        a: int | str,
        b: list[int | None],
        c: tuple[int, torch.Tensor],
        d: int | str | None,
    ):
        return 1

    names = {value.debugName(): value for value in jit.script(unused).graph.inputs()}
    text = str(jit.script(unused).graph)
    assert list(names) == ["a", "b", "c", "d"]
    FileCheck().check("%a : Union(int, str)").check("%b : int?[]").check("%c : (int, Tensor)").check("%d : Union(int, NoneType, str)").run(
        text
    )


def test_traces_have_sizes():
    def f(x):
        return torch.nn.functional.conv2d(x[None, None], torch.ones(1, 1, 1, 1)).relu() + 1

    graph = jit.trace(f, torch.ones(2, 2)).graph
    FileCheck().check("graph(%x : Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu)):").check("aten::unsqueeze").check(
        "Float(1, 1, 2, 2, strides=[4, 4, 2, 1], requires_grad=0, device=cpu) = aten::_convolution("
    ).check("aten::relu").check("Long(requires_grad=0, device=cpu) = prim::Constant[value={1}]").check("aten::add").run(graph)
    assert next(graph.inputs()).type().sizes() == [2, 2]
    module = jit.trace(nn.Linear(2, 3), torch.ones(1, 2))
    FileCheck().check("%self : __torch__").check('Tensor = prim::GetAttr[name="weight"](%self)').check("aten::linear").run(module.graph)


def test_code_is_torchscript():
    code = jit.script(Net()).code
    FileCheck().check("def forward(self,\n    x: Tensor,\n    n: int").check("torch.zeros").check("for ").check("while ").check(
        "__torch__"
    ).run(code)
    assert jit.trace(lambda x: x + 1, torch.ones(1)).code.splitlines()[1].strip() == "return torch.add(x, 1)"


def test_graphs_are_the_captured_ones_too():
    graph = jit.script(lambda x: x + 1).graph if False else shifted.graph
    assert [node.op for node in graph.nodes] == ["placeholder", "placeholder", "call_function", "output"]
    assert shifted.graph is graph


def test_passes():
    @jit.script
    def f(x, flag: bool):
        unused = torch.rand(2)
        unused += 1
        a = x.sin() + x.sin()
        if flag:
            a = a * 2
        return a

    graph = f.graph.copy()
    passes.dce(graph)
    assert "aten::rand" not in str(graph) and "prim::If" in str(graph)
    assert str(graph).count("aten::sin") == 2 and passes.cse(graph) and str(graph).count("aten::sin") == 1 and not passes.cse(graph)
    graph.lint()
    x = torch.tensor([0.5])
    assert torch.allclose(run(graph, x, True), f(x, True)) and torch.allclose(run(graph, x, False), f(x, False))
    flag = next(value for value in graph.inputs() if value.debugName().startswith("flag"))
    flag.replaceAllUsesWith(graph.prependNode(graph.constant(True)).output())
    passes.constant_propagation(graph)
    assert "prim::If" not in str(graph) and torch.allclose(run(graph, x, False), f(x, True))
    graph.findNode("aten::mul").removeInput(1)
    graph.findNode("aten::mul").addInput(graph.create("prim::Constant").output())
    with pytest.raises(RuntimeError, match="not defined before it"):
        graph.lint()


def test_loops_run():
    @jit.script
    def f(x, n: int):
        total = x
        i = 0
        while i < n:
            total = total * 2
            i += 1
        for k in range(n):
            total = total + k
        return total

    assert torch.equal(run(f.graph.torchscript(), torch.ones(2), 3), f(torch.ones(2), 3))


def test_a_graph_that_was_changed_is_shown_anew():
    def g(x):
        return x + 1

    graph = jit.trace(g, torch.ones(1)).graph
    assert "aten::add" in str(graph)
    (node,) = [each for each in graph.nodes if each.op == "call_function"]
    node.target = torch.mul
    assert "aten::mul" in str(graph) and "aten::add" not in str(graph)


def test_tensors_that_a_trace_closed_over_are_constants():
    held = torch.tensor([1.0, 2.0])
    traced = jit.trace(lambda x: x + held, torch.ones(2))
    assert "return torch.add(x, CONSTANTS.c0)" in traced.code
    FileCheck().check("prim::Constant[value=<Tensor>]").check("aten::add(%x").run(traced.graph)


def test_code_with_constants():
    class Shift(nn.Module):
        def forward(self, x, by=torch.tensor([3.0])):
            return x + by

    code, constants = jit.script(Shift()).code_with_constants
    assert "CONSTANTS.c0" in code and torch.equal(constants.c0, torch.tensor([3.0]))
    with pytest.raises(AttributeError):
        constants.c1


WRITTEN = """graph(%a : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %b : Tensor,
      %sizes : int[],
      %table : Dict(str, int)?):
  %1 : int = prim::Constant[value=1]()
  %half : float = prim::Constant[value=0.5]()
  %text : str = prim::Constant[value="a \\"b\\""]()
  %yes : bool = prim::Constant[value=1]()
  %x.1 : Tensor = aten::add(%a, %b, %1)
  %z : Tensor = prim::If(%yes)
    block0():
      %q : Tensor = aten::mul(%x.1, %half)
      -> (%q)
    block1():
      -> (%x.1)
  %pair : (Tensor, str) = prim::TupleConstruct(%z, %text)
  return (%pair, %z)
"""


def test_text_is_read_as_the_graph_that_it_shows():
    graph = parse_graph(WRITTEN + "# a comment\n")
    assert str(graph) == WRITTEN
    graph.lint()
    pair, z = run(graph, torch.ones(2, 3), torch.ones(3), [1], None)
    assert pair[1] == 'a "b"' and torch.equal(z, torch.ones(2, 3))
    for text, says in (
        ("graph(%x : Tensor):\n  return (%y)", "Cannot find a variable with name 'y'"),
        ("graph(%x : Tensr):\n  return (%x)", "unknown type name 'Tensr'"),
        ("graph(%x : Tensor):\n  %y = ", "the end"),
    ):
        with pytest.raises(RuntimeError, match=says):
            parse_graph(text)


def test_types_follow_from_those_of_inputs():
    graph = parse_graph(WRITTEN)
    analysis.set_inputs(graph, (torch.ones(2, 3), torch.ones(3, dtype=torch.float64)))
    analysis.complete_shapes(graph)
    total, product = graph.findNode("aten::add").output(), graph.findNode("aten::mul").output()
    assert total.type().sizes() == [2, 3] and total.type().dtype() is torch.float64 and total.isCompleteTensor()
    assert product.type().str() == "Double(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert graph.findNode("prim::If").output().type() == product.type()
    analysis.erase(graph)
    assert total.type().sizes() is None and total.type().str() == "Tensor"

    function = jit.script(_mixed).graph.torchscript()
    for value, kind in zip(function.inputs(), (torch.int64, torch.float32)):
        value.setType(value.type().with_sizes((None, 4)).with_dtype(kind).with_device("cpu"))
    analysis.propagate_dtypes(function)
    analysis.propagate_devices(function)
    assert next(function.outputs()).type().dtype() is torch.float32 and str(next(function.outputs()).type().device()) == "cpu"


def _mixed(x, y):
    return torch.relu(x) + y.sum(0)


class Hue(enum.Enum):
    RED = 1
    BLUE = 2


def test_enumerations():
    def told(x: Hue) -> str:
        return x.name if x == Hue.BLUE else str(x.value)

    graph = jit.script(told).graph
    checks = FileCheck().check(
        "Enum<__torch__.test_torchscript_graphs.Hue> = prim::Constant[value=__torch__.test_torchscript_graphs.Hue.BLUE]()"
    )
    checks.check("aten::eq").check("str = prim::EnumName(%x.1)").check("int = prim::EnumValue(%x.1)").run(graph)
    assert run(graph.torchscript(), Hue.BLUE) == "BLUE" and run(graph.torchscript(), Hue.RED) == "1"


def test_patterns_are_replaced():
    graph = parse_graph(
        "graph(%x, %y, %z):\n  %t = aten::mul(%x, %y)\n  %p = aten::mul(%t, %z)\n  %u = aten::mul(%p, %x)\n  %o = aten::mul(%u, %y)\n  return (%o)"
    )
    pattern = parse_graph("graph(%a, %b, %c):\n  %q = aten::mul(%a, %b)\n  %r = aten::mul(%q, %c)\n  return (%r)")
    fused = parse_graph("graph(%a, %b, %c):\n  %r = my::fused(%a, %b, %c)\n  return (%r)")
    rewrite(graph, pattern, fused)
    graph.lint()
    assert [node.kind() for node in graph.nodes()] == ["my::fused", "my::fused"]
    assert [value.debugName() for value in graph.findNode("my::fused").inputs()] == ["x", "y", "z"]
    shared = parse_graph("graph(%x, %y):\n  %t = aten::mul(%x, %y)\n  %p = aten::mul(%t, %x)\n  return (%p, %t)")
    rewrite(shared, pattern, fused)  # what is inside is used outside, too
    assert "my::fused" not in str(shared)


def test_peephole_simplifications():
    graph = parse_graph(
        """graph(%x : Float(2, 3), %n : int, %o : int?):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %a : int = aten::add(%n, %0)
  %b : int = aten::mul(%a, %1)
  %same : bool = aten::eq(%b, %n)
  %is_none : bool = aten::__is__(%n, %none)
  %open : bool = aten::__is__(%o, %none)
  %t : Tensor = aten::t(%x)
  %tt : Tensor = aten::t(%t)
  %size : int = aten::size(%tt, %1)
  %list : int[] = prim::ListConstruct(%n, %size)
  %len : int = aten::len(%list)
  %item : int = aten::__getitem__(%list, %0)
  %written : int[] = prim::ListConstruct(%n)
  %w : int[] = aten::append(%written, %n)
  %count : int = aten::len(%written)
  return (%same, %is_none, %open, %tt, %size, %len, %item, %count)
"""
    )
    assert peephole(graph)
    kinds = {node.kind() for node in graph.nodes()} - {"prim::Constant"}
    assert kinds == {"aten::__is__", "prim::ListConstruct", "aten::append", "aten::len"}
    outputs = list(graph.outputs())
    assert [value.toIValue() for value in outputs[:2]] == [True, False] and [value.toIValue() for value in outputs[4:6]] == [3, 2]
    assert outputs[3].debugName() == "x" and outputs[6].debugName() == "n"


def test_types_are_asked_for_their_parts():
    graph = jit.script(_paired).graph
    kind = next(graph.torchscript().outputs()).type()
    assert [str(each) for each in kind.elements()] == ["Tensor", "List[int]", "Dict[str, int]"]
    assert str(kind.elements()[1].getElementType()) == "int"
    assert [str(kind.elements()[2].getKeyType()), str(kind.elements()[2].getValueType())] == ["str", "int"]


def _paired(x):
    return x, [1, 2], {"a": 1}


def test_types_say_their_kind() -> None:
    @torch.jit.script
    def program(x, n: int, sizes: list[int], o: int | None, d: dict[str, float], b: bool, s: str):  # type: ignore[no-untyped-def]
        return x * n, sizes, o, d, b, s

    kinds = [value.type().kind() for value in program.graph.inputs()]
    assert kinds == ["TensorType", "IntType", "ListType", "OptionalType", "DictType", "BoolType", "StringType"]
    graph, _ = _get_trace_graph(torch.nn.Linear(2, 2), torch.ones(1, 2))
    assert {value.type().kind() for node in graph.nodes() for value in node.outputs()} >= {"TensorType"}


def test_arguments_of_the_wrong_type_are_refused() -> None:
    @torch.jit.script
    def program(n: int, s: str, b: bool, o: float | None):  # type: ignore[no-untyped-def]
        return n, s, b, o

    assert program(1, "a", True, None) == (1, "a", True, None)
    for given in (("1", "a", True, None), (1, 2, True, None), (1, "a", "no", None), (1, "a", True, "x")):
        with pytest.raises(RuntimeError):
            program(*given)


def test_code_and_graphs_have_the_names_of_variables_and_expressions_inside_of_others():
    def f(x, y, n: int):
        z = x + y * 2
        for i in range(n):
            if i > 2:
                z = z * x.exp()
            else:
                z = torch.relu(z) + i
        w = [z, x]
        return torch.cat(w), n + 1

    scripted = jit.script(f)
    assert scripted.code.partition("\n")[2].partition("\n")[2].splitlines()[1:-2] == [
        "  z = torch.add(x, torch.mul(y, 2))",
        "  z0 = z",
        "  for i in range(n):",
        "    if torch.gt(i, 2):",
        "      z1 = torch.mul(z0, torch.exp(x))",
        "    else:",
        "      z1 = torch.add(torch.relu(z0), i)",
        "    z0 = z1",
    ]
    assert "return (torch.cat(w), torch.add(n, 1))" in scripted.code
    shown = str(scripted.graph)
    assert "%z.1 : Tensor = aten::add(%x.1" in shown and "block0(%i.1 : int, %z." in shown and "%w.1 : Tensor[]" in shown


def test_code_computes_in_the_order_of_the_program():
    def f(x, values: list[int]):
        first = x.add_(1).clone()
        values.append(1)
        second = x * 2
        return second + first.mul_(len(values)), values.pop() + values.pop()

    scripted = jit.script(f)
    for each in (scripted, reloaded(scripted)):
        total, popped = each(torch.ones(2), [3])
        assert total.tolist() == [8.0, 8.0] and popped == 4


def test_a_value_that_is_used_twice_is_computed_once():
    def g(x: torch.Tensor, sizes: tuple[int, int]):
        return x.add_(1).expand(sizes) + x

    scripted = jit.script(g)
    assert scripted.code.count("add_(") == 1
    assert reloaded(scripted)(torch.zeros(1), (2, 2)).tolist() == [[2.0, 2.0], [2.0, 2.0]]
