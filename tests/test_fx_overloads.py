"""Graphs of ``make_fx``, whose nodes are overloads of operators."""

from __future__ import annotations

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
