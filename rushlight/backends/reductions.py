"""The reduction of gradients inside backward graphs: each bucket of ``DistributedDataParallel`` is a node that starts as soon as its gradients are computed.

In: the edges of a compiled graph that runs backward, and its backward graph.  Out: that graph with a node for each bucket, which hands the gradients to
the reducer (``nn/parallel/reducer.py``) while the rest of the graph computes.  The reducer waits for all buckets at the end of backward.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.base import TensorBase
from ..core.process_group import world
from ..core.state import state
from ..graph import Graph


class Bucket(NamedTuple):
    """Gradients of a graph that are reduced together: the number of the bucket, the gradients among the graph's, the parameters among the reducer's."""

    number: int
    positions: tuple[int, ...]
    parameters: tuple[int, ...]


class Reductions(NamedTuple):
    """What a reducer takes of a backward graph."""

    key: str
    buckets: tuple[Bucket, ...]


def reductions_of(edges: Any) -> Reductions | None:
    """What a reducer takes of the gradients that go to some edges, in the backward pass that runs now; None where there is none."""
    receiving = state.receiving
    if receiving is None:
        return None
    hooks = {at: receiving.receiver(edge) for at, edge in enumerate(edges) if isinstance(edge, TensorBase)}
    found = {at: hook for at, hook in hooks.items() if hook is not None}
    if not found:
        return None
    reducer = next(iter(found.values())).reducer
    if not reducer.expecting or not reducer.is_settled:
        return None
    places = {hook.index: at for at, hook in found.items() if hook.reducer is reducer}
    buckets: list[Bucket] = []
    for number, bucket in enumerate(reducer.buckets):
        here = [] if bucket.sparse else [index for index in bucket.indices if index in places]
        if here:
            buckets.append(Bucket(number, tuple(places[each] for each in here), tuple(here)))
    return Reductions(reducer.key, tuple(buckets)) if buckets else None


def insert(graph: Graph, reductions: Reductions) -> None:
    """Give a backward graph the nodes of the buckets, each behind the last gradient that it has."""
    output = graph.output_node()
    gradients = list(output.args[0])
    target = world.collectives.graph_ops.reduce_gradients.op.call
    order = {node: at for at, node in enumerate(graph.nodes)}
    for bucket in reductions.buckets:
        here = [(gradients[at], index) for at, index in zip(bucket.positions, bucket.parameters) if gradients[at] is not None]
        if not here:
            continue
        last = max((node for node, _ in here), key=order.__getitem__)
        with graph.inserting_after(last):
            made = graph.call_function(target, ([node for node, _ in here], reductions.key, bucket.number, [index for _, index in here]))
        made.meta.update(val=_token(), source=last.meta.get("source"), module=f"bucket {bucket.number}")


def _token() -> Any:
    """The Spec of what the node gives, a tensor without elements."""
    return world.collectives.graph_ops.TOKEN
