"""From a joint graph to a forward and a backward graph: what the forward keeps for the backward is a smallest cut between them.

What is kept costs its memory; inputs that eager mode keeps are there anyway and cost next to nothing.  Others may be written to before
the backward runs, in programs that eager mode has nothing against: where one is kept, it is copied.  Views and plain arithmetic may be computed again
instead, everything else that the forward computes is not.  So the values to keep are a minimum cut of the graph, found by its maximum flow.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Iterable
from typing import Any

from ..core.base import Spec
from ..core.declare import table
from ..core.families import Elementwise
from ..core.symbolic import plain
from ..graph import Graph, Node
from .differentiate import Joint

# Pointwise ops that cost more than reading their operands: results of those are kept.
_COSTLY = frozenset(
    "exp exp2 expm1 log log2 log10 log1p pow sqrt rsqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc erfinv "
    "sigmoid logit gelu_exact gelu_tanh gelu_backward normal_share silu mish softplus elu selu celu logsigmoid lgamma digamma polygamma i0 i1 i0e i1e "
    "logaddexp logaddexp2 xlogy fmod remainder hypot bernoulli_fill".split()
)
_FREE = 1.0  # what keeping an input costs: enough that nothing is kept without need


class Partition:
    """The two graphs.

    The forward takes the inputs and gives the values, then what is kept; the backward takes what is kept, then the tangents, and
    gives the gradients.  ``kept`` are names of nodes of the joint graph.
    """

    def __init__(self, forward: Graph, backward: Graph, kept: list[str]) -> None:
        self.forward = forward
        self.backward = backward
        self.kept = kept


def partition(joint: Joint, kept: list[str] | None = None) -> Partition:
    """Split a joint graph; ``kept`` names the values that a forward graph made earlier keeps, and so fixes the choice."""
    graph = joint.graph
    after = descendants(joint.tangents)
    after |= {node for node in graph.nodes if node not in joint.forward and node.is_impure() and node.op != "output"}
    after |= descendants(node for node in after if node.is_impure())
    after -= set(joint.tangents)
    wanted = [each for each in joint.gradients if each is not None]
    needed = ancestors([*wanted, *(node for node in after if node.is_impure() and node.op not in ("placeholder", "output"))])
    forward = ancestors([*joint.values, *(node for node in joint.forward if node.is_impure() and node.op not in ("placeholder", "output"))])
    tangents = set(joint.tangents)
    between = [
        node for node in graph.nodes if node in needed and node not in after and node not in tangents
    ]  # follow from the inputs alone
    used = {node for node in between if node in wanted or any(user in after and user in needed for user in node.users)}
    alike = {memory_of(node) for node in used}  # what eager mode keeps, too
    if kept is None:
        kept = [node.name for node in smallest_cut(between, used, forward, joint.forward, alike)]
    by_name = {node.name: node for node in joint.forward}  # those have the same names whichever gradients are wanted
    given = [by_name[name] for name in kept]
    copied = {len(joint.values) + at for at, each in enumerate(given) if is_lent(each, alike)}
    return Partition(
        _extract(graph, joint.inputs, [*joint.values, *given], forward | ancestors(given), copied),
        _extract(graph, [*given, *joint.tangents], joint.gradients, None),
        kept,
    )


def ancestors(nodes: Iterable[Node], until: frozenset[Node] | set[Node] = frozenset()) -> set[Node]:
    """Nodes and all that they are computed from."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            if node not in until:
                waiting += node.all_input_nodes
    return found


def descendants(nodes: Iterable[Node]) -> set[Node]:
    """Nodes and all that is computed from them, but for the output."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found and node.op != "output":
            found.add(node)
            waiting += node.users
    return found


def memory_of(node: Node) -> Node:
    """The value whose memory a view shows."""
    while node.table_op is not None and node.table_op.view or node.target is operator.getitem:
        node = node.all_input_nodes[0]
    return node


def is_lent(node: Node, alike: set[Node]) -> bool:
    """Whether a value lies in the memory of an input, which the backward needs and eager mode does not."""
    memory = memory_of(node)
    return memory.op == "placeholder" and memory not in alike


def _extract(graph: Graph, inputs: list[Node], outputs: list[Node | None], nodes: set[Node] | None, copied: Iterable[int] = ()) -> Graph:
    """The part of a graph between these inputs and outputs (some of them ``copied``); of ``nodes`` all stay that do more than compute."""
    made = Graph()
    here: dict[Node, Node] = {}
    for each in inputs:
        here[each] = node = made.placeholder(each.name)
        node.meta = {key: each.meta[key] for key in ("val", "source", "module") if key in each.meta}
    wanted = ancestors([each for each in outputs if each is not None], set(here))
    if nodes is not None:
        wanted |= ancestors([node for node in nodes if node.is_impure() and node.op not in ("placeholder", "output")], set(here))
    for node in graph.nodes:
        if node in wanted and node not in here:
            here[node] = made.node_copy(node, here.__getitem__)
    results: list[Node | None] = [None if each is None else here[each] for each in outputs]
    for at in copied:
        original: Any = results[at]
        results[at] = copy = made.call_function(table["clone"].call, (original,))
        copy.meta.update(val=original.meta["val"], source=original.meta.get("source"), module="")
    made.output(tuple(results))
    return made


# -- what to keep --------------------------------------------------------------------------------------------------------


def size_of(node: Node) -> float:
    """How much memory a value takes; without end for what is no single tensor, and so can't be kept."""
    found = node.meta.get("val")
    return plain(math.prod(found.shape)) * found.dtype.itemsize + 16.0 if isinstance(found, Spec) else math.inf


def is_cheap(node: Node) -> bool:
    """Whether a value may be computed again: a view, plain arithmetic, a part of a tuple."""
    op = node.table_op
    if op is None:
        return node.target is operator.getitem
    if node.is_impure():
        return False
    if op.factory or op.view or op.name in ("reshape", "expand", "cast", "spread_back"):
        return True
    return isinstance(op.family, Elementwise) and op.name not in _COSTLY


def smallest_cut(between: list[Node], used: set[Node], forward: set[Node], may_keep: set[Node], alike: set[Node]) -> list[Node]:
    """Those of the nodes that are kept for the others to be computed from; ``forward`` are those that are computed in any case.

    In the network every node is an edge of the capacity that keeping it costs.  Inputs, and what is not computed again, hang at
    the source; what the backward uses at the sink.
    """
    flow = Flow(2 * len(between) + 2)
    source, sink = 2 * len(between), 2 * len(between) + 1
    places = {node: number for number, node in enumerate(between)}
    for node, place in places.items():
        constant = node.op == "get_attr"  # there for both
        cost = _FREE if node.op == "placeholder" and node in alike else size_of(node)
        flow.edge(2 * place, 2 * place + 1, cost if node in may_keep and not constant else math.inf)
        if node.op == "placeholder" or (not constant and node in forward and not is_cheap(node)):
            flow.edge(source, 2 * place, math.inf)
        if node in used:
            flow.edge(2 * place + 1, sink, math.inf)
        for user in node.users:
            if user in places:
                flow.edge(2 * place + 1, 2 * places[user], math.inf)
    reached = flow.reachable(source, sink)
    return [node for node, place in places.items() if 2 * place in reached and 2 * place + 1 not in reached]


class Flow:
    """A network, and its maximum flow by Dinic's algorithm: breadth-first levels, then paths along them until none is left."""

    def __init__(self, count: int) -> None:
        self.edges: list[list[int]] = [[] for _ in range(count)]
        self.ends: list[int] = []
        self.left: list[float] = []

    def edge(self, start: int, end: int, capacity: float) -> None:
        """Add an edge (and its reverse, which is the next number)."""
        self.edges[start].append(len(self.ends))
        self.ends.append(end)
        self.left.append(capacity)
        self.edges[end].append(len(self.ends))
        self.ends.append(start)
        self.left.append(0.0)

    def levels(self, source: int) -> dict[int, int]:
        """The distance of every place that something more can flow to."""
        found = {source: 0}
        waiting = deque([source])
        while waiting:
            place = waiting.popleft()
            for edge in self.edges[place]:
                if self.left[edge] > 0 and self.ends[edge] not in found:
                    found[self.ends[edge]] = found[place] + 1
                    waiting.append(self.ends[edge])
        return found

    def reachable(self, source: int, sink: int) -> dict[int, int]:
        """The source's side of a minimum cut."""
        while True:
            levels = self.levels(source)
            if sink not in levels:
                return levels
            following = [0] * len(self.edges)
            while self.push(source, sink, levels, following):
                pass

    def push(self, source: int, sink: int, levels: dict[int, int], following: list[int]) -> bool:
        """Send as much as goes along one more path."""
        path: list[int] = []
        place = source
        while place != sink:
            edges = self.edges[place]
            while following[place] < len(edges):
                edge = edges[following[place]]
                if self.left[edge] > 0 and levels.get(self.ends[edge]) == levels[place] + 1:
                    break
                following[place] += 1
            if following[place] < len(edges):
                path.append(edges[following[place]])
                place = self.ends[path[-1]]
            elif not path:
                return False
            else:  # a dead end: a step back
                place = self.ends[path.pop() ^ 1]
                following[place] += 1
        amount = min(self.left[edge] for edge in path)
        if amount == math.inf:
            raise AssertionError("a value that the backward graph needs can neither be kept nor computed again")
        for edge in path:
            self.left[edge] -= amount
            self.left[edge ^ 1] += amount
        return True
