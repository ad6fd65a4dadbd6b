"""Graphs of ``make_fx``, whose nodes are overloads of operators."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.fx.experimental.proxy_tensor import make_fx


def test_writes_through_views_stay_in_graphs_of_overloads():
    """An overload that writes is kept where nobody uses what it gives."""

    def program(x):
        y = x.clone()
        y[0] = 3
        y[1].mul_(2)
        return y + 1

    made = make_fx(program)(torch.ones(3))
    assert made(torch.ones(3)).tolist() == program(torch.ones(3)).tolist() == [4.0, 3.0, 2.0]
    made.graph.eliminate_dead_code()
    assert [node.name for node in made.graph.nodes if node.is_impure() and node.op == "call_function"] == ["fill_", "mul_"]


def test_make_fx_takes_arguments_that_are_nested():
    def program(args, kwargs, unused):
        return {"sum": args[0] + kwargs["b"], "rest": [args[1], None]}

    x = torch.ones(2)
    made = make_fx(program)([x, x * 2], {"b": x * 3}, [])
    assert (
        "def forward(self, args, kwargs, unused):" in made.code and "args_1, args_2, kwargs_1, = fx_pytree.tree_flatten_spec(" in made.code
    )
    found = made([x * 5, x * 6], {"b": x * 7}, [])
    assert found["sum"].tolist() == [12, 12] and found["rest"][0].tolist() == [6, 6] and found["rest"][1] is None
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec"):
        made([x], {"b": x}, [])


def test_make_fx_writes_to_out_and_gives_plain_tuples():
    made = make_fx(lambda x, y: torch.mul(x, 2, out=y))(torch.ones(2), torch.ones(2))
    assert "torch.ops.aten.mul.out(x_1, 2, out = y_1)" in made.code
    assert type(make_fx(lambda x: torch.topk(x, 1))(torch.ones(2))(torch.ones(2))) is tuple


def test_functionalize_records_writes_as_new_values():
    def program(x):
        row = x[0]
        row.fill_(2)
        y = x * 2
        y.add_(1)
        return y

    x = torch.arange(4.0).reshape(2, 2)
    code = make_fx(torch.func.functionalize(program))(x.clone()).code
    assert (
        "select_scatter" in code and "aten.add_" not in code and "fill_" not in code and "aten.copy_.default(x_1, select_scatter)" in code
    )
    made = make_fx(torch.func.functionalize(program, remove="mutations_and_views"))(x.clone())
    assert "aten.select_copy.int" in made.code
    written = torch.arange(4.0).reshape(2, 2)
    assert made(written).tolist() == [[5, 5], [5, 7]] and written.tolist() == [[2, 2], [2, 3]]
    assert torch.func.functionalize(program)(x).tolist() == [[5, 5], [5, 7]] and x.tolist() == [[2, 2], [2, 3]]
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        torch.func.functionalize(program, remove="views")


def test_make_fx_names_operators_of_pytorch():
    x = torch.arange(6.0).reshape(2, 3)
    made = make_fx(lambda x: torch.where(x.view(-1).softmax(0).double() > 0.1, torch.zeros(6).double(), 1.0).split(2))(x)
    names = [node.target._overloadpacket.__name__ for node in made.graph.nodes if hasattr(node.target, "_overloadpacket")]
    assert names == ["view", "_softmax", "_to_copy", "gt", "zeros", "_to_copy", "where", "split_with_sizes"]
    assert torch.cat(made(x)).tolist() == [1, 1, 1, 1, 0, 0]
