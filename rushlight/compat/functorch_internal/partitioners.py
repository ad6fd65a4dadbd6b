"""`torch._functorch.partitioners`: a joint `torch.fx` graph in two, what runs forward and what needs the tangents.

Compiled programs are split by :mod:`rushlight.passes.partition`; this is for graphs that a program has traced itself, with PyTorch's names of inputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import fx
from ...core.missing import missing

__all__ = ["default_partition"]
__getattr__ = missing("rushlight._functorch.partitioners")


def _is_primal(node: Any) -> bool:
    """Whether a node is an input of the forward graph."""
    return node.op == "placeholder" and "tangents" not in str(node.target) and not _is_random_state(node)


def _is_tangent(node: Any) -> bool:
    """Whether a node is an input that only the backward graph has."""
    return node.op == "placeholder" and "tangents" in str(node.target)


def _is_random_state(node: Any) -> bool:
    return any(
        each in str(node.target) for each in ("bwd_seed_offset", "fwd_seed_offset", "bwd_base_offset", "fwd_base_offset", "bwd_rng_state")
    )


def _extract(joint: Any, inputs: list[Any], outputs: list[Any], owner: Any) -> Any:
    """A graph module of the nodes between these inputs and these outputs."""
    graph, made = fx.Graph(), {}
    for node in inputs:
        made[node] = graph.placeholder(node.name)
        made[node].meta = dict(node.meta)
    needed = _ancestors(outputs, set(inputs))
    for node in joint.nodes:
        if node in needed and node not in made:
            made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple(made.get(each, each) if isinstance(each, fx.Node) else each for each in outputs))
    return fx.GraphModule(owner, graph)


def _ancestors(ends: Iterable[Any], stops: set[Any]) -> set[Any]:
    """All nodes from which these are computed, the ``stops`` left out."""
    found: set[Any] = set()
    waiting = [each for each in ends if isinstance(each, fx.Node) and each not in stops]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [each for each in node.all_input_nodes if each not in stops]
    return found


def default_partition(joint_module: Any, _joint_inputs: Any, *, num_fwd_outputs: int, **options: Any) -> tuple[Any, Any]:
    """The forward graph (outputs, then the values that it saves) and the backward graph (saved values and tangents -> gradients).

    Every value that the outputs are computed from is computed forward, and saved where a gradient uses it.
    """
    joint = joint_module.graph
    given = next(node for node in joint.nodes if node.op == "output").args[0]
    results = list(given) if isinstance(given, (tuple, list)) else [given]
    forward_outputs, gradients = results[:num_fwd_outputs], results[num_fwd_outputs:]
    primals, tangents = [each for each in joint.nodes if _is_primal(each)], [each for each in joint.nodes if _is_tangent(each)]
    forward = {*primals, *_ancestors(forward_outputs, set())}
    used = {each for each in gradients if isinstance(each, fx.Node)}
    used.update(each for node in _ancestors(gradients, forward) for each in node.all_input_nodes)
    saved = [node for node in joint.nodes if node in used and node in forward and node.op != "get_attr"]
    return (
        _extract(joint, primals, [*forward_outputs, *saved], joint_module),
        _extract(joint, [*saved, *tangents], gradients, joint_module),
    )
