"""``Gradient`` (``ai.onnx.preview.training``): the derivative of a value of the graph by others, as a node."""

from __future__ import annotations

from typing import Any

from ...autograd import enable_grad, grad, is_grad_enabled
from ...capture.compile.annotations import mark
from ..errors import UnsupportedModelError
from .builder import ModelBuilder, control
from .control_flow import Bodies, finish, results
from .registry import ops
from .scope import Scope


def derivatives(count: int, values: tuple[Any, ...], inputs: tuple[Any, ...], *, bodies: Bodies) -> tuple[Any, ...]:
    """The derivatives of what a body gives by the first values that it is given."""
    further = is_grad_enabled()
    with enable_grad():
        variables = [each if each.requires_grad else each.detach().requires_grad_() for each in values[:count]]
        (result,) = bodies["body"](*variables, *values[count:], *inputs)
        made = grad([result], variables, [ops.ones_like(result)], create_graph=further, allow_unused=True)
    return tuple(ops.zeros_like(each) if one is None else one for each, one in zip(values, made))


mark(derivatives, "recorded")


def import_gradient(builder: ModelBuilder, scope: Scope, node: Any, owner: str) -> None:
    """``Gradient``: the nodes between what is varied and the result once more, as a body that is differentiated."""
    said = {each.name: each for each in node.attribute}
    varied = [each.decode() for each in said["xs"].strings]
    names = varied + [each.decode() for each in said["zs"].strings] if "zs" in said else varied
    target = said["y"].s.decode()
    if scope.outer is not None:
        raise UnsupportedModelError(f"{owner} is in a body or a function, where gradients are not known")
    graph = builder.onnx.GraphProto()
    for each in names:
        graph.input.add(name=each)
    graph.output.add(name=target)
    wanted, between = {target}, []
    for each in reversed(builder.source.model.graph.node):
        if wanted & set(each.output) and not set(each.output) & set(names):
            wanted |= set(each.input)
            between.append(each)
    graph.node.extend(reversed(between))
    inside, values = builder.body(scope, graph, owner)
    finish(inside, values)
    given = tuple([scope.tensor(scope.find(each, owner)) for each in node.input])
    made = scope.graph.call_function(derivatives, (len(varied), given, inside.frame.arguments()))
    made.meta["bodies"] = {"body": inside.graph}
    results(scope, node, made, [scope.find(each, owner).type for each in node.input])


control["Gradient"] = import_gradient
