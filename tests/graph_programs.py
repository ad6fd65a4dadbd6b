"""Graphs that the tests of graphs share."""

from __future__ import annotations

import operator
from types import SimpleNamespace

import numpy as np

import rushlight
from rushlight.core.base import Spec
from rushlight.graph import Graph, map_aggregate

F32 = np.dtype(np.float32)


def run_source(graph, *args, root=None, free_dead=True, **kwargs):
    code = graph.python_code(free_dead=free_dead)
    scope = dict(code.globals)
    exec(code.src, scope)
    return scope["forward"](root, *args, **kwargs)


def simple():
    """forward(x, y): relu(x + y) * x"""
    graph = Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    added = graph.call_function(rushlight.add, (x, y))
    result = graph.call_function(rushlight.mul, (graph.call_function(rushlight.relu, (added,)), x))
    graph.output(result)
    return graph


def returning(*args, function=None, **kwargs):
    """A graph of one call whose value it returns."""
    graph = Graph()
    graph.output(graph.call_function(function or identity, args, kwargs))
    return graph


def identity(value):
    return value


def rich_graph():
    """A graph of all kinds of nodes, some meta and a sub-graph; and the root it runs on."""
    body = Graph()
    i = body.placeholder("i")
    body.output(body.call_function(rushlight.sin, (i,)))
    graph = Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", default=2.0)
    weight = graph.get_attr("layers.0.weight")
    added = graph.call_function(rushlight.add, (x, y), {"alpha": 3})
    added.meta.update(val=Spec((2, 3), F32), source=("/home/user/model.py", 12, "forward"), module="layers.0", of=[x, {"k": y}])
    scaled = graph.call_module("layers.1", (added,))
    flat = graph.call_method("view", (scaled, -1))
    sliced = graph.call_function(operator.getitem, (flat, (slice(0, 3), ...)))
    looped = graph.call_function(repeat_body, (2, sliced))
    looped.meta["bodies"] = {"body": body}
    graph.output({"all": (looped, weight), "list": [graph.call_function(rushlight.Tensor.add_, (flat, 1)), None]})
    layers = SimpleNamespace()
    setattr(layers, "0", SimpleNamespace(weight=rushlight.ones(2)))
    setattr(layers, "1", lambda value: value * 2)
    return graph, SimpleNamespace(layers=layers)


def repeat_body(times, value, bodies):
    """A loop, as a node that owns its body runs it."""
    for _ in range(times):
        value = bodies["body"](value)
    return value


def values_of(result):
    return map_aggregate(result, lambda value: value.tolist() if isinstance(value, rushlight.Tensor) else value)
