"""Finding one graph inside another."""

from __future__ import annotations

from typing import Any

from ....graph.node import Node
from ....ops.overloads import OpOverload


class InternalMatch:
    """One place where a pattern was found."""

    def __init__(self, anchors: list[Node]) -> None:
        self.anchors = anchors  # the pattern's last nodes
        self.nodes_map: dict[Node, Node] = {}  # nodes here, by those of the pattern
        self.placeholder_nodes: list[Any] = []  # what stands for the pattern's inputs
        self.returning_nodes: list[Node] = []  # what stands for its outputs
        self.name_node_map: dict[str, Node] = {}


class SubgraphMatcher:
    """Finds all places of a graph that look like a pattern."""

    def __init__(
        self, pattern: Any, match_output: bool = False, match_placeholder: bool = False, remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if not list(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes: list[Node] = list(output.all_input_nodes)
        self.pattern_anchors: list[Node] = [output] if match_output else [node for node in output.all_input_nodes if len(node.users) == 1]

    def match(self, graph: Any, node_name_match: str = "") -> list[InternalMatch]:
        """The places, in the order of the graph."""
        candidates: list[list[tuple[Node, Node]]] = [[]]
        for anchor in self.pattern_anchors:
            here = [node for node in graph.nodes if self._same_kind(anchor, node)]
            candidates = [[*chosen, (anchor, node)] for chosen in candidates for node in here]
        found: list[InternalMatch] = []
        for chosen in candidates:
            match = InternalMatch([anchor for anchor, _ in chosen])
            if chosen and all(self._nodes(anchor, node, match) for anchor, node in chosen) and self._contained(match):
                match.placeholder_nodes = [match.nodes_map.get(each) for each in self.pattern_placeholder_nodes]
                match.returning_nodes = [match.nodes_map[each] for each in self.pattern_returning_nodes]
                found.append(match)
        if not self.remove_overlapping_matches:
            return found
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in found:
            members = {node for key, node in match.nodes_map.items() if key.op not in ("placeholder", "output")}
            if not members & taken:
                kept.append(match)
                taken |= members
        return kept

    def _same_kind(self, pattern: Node, node: Node) -> bool:
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op in ("get_attr", "call_module") and pattern.graph.owning_module is not None:
            return pattern.target == node.target or pattern.op == "call_module" and self._same_class(pattern, node)
        return bool(pattern.target == node.target)

    def _same_class(self, pattern: Node, node: Node) -> bool:
        here = dict(node.graph.owning_module.named_modules()).get(node.target) if node.graph.owning_module is not None else None
        there = dict(pattern.graph.owning_module.named_modules()).get(pattern.target)
        return here is not None and type(here) is type(there) and pattern.target == node.target

    def _nodes(self, pattern: Any, node: Any, match: InternalMatch) -> bool:
        if not isinstance(pattern, Node):
            return not isinstance(node, Node) and (self.ignore_literals or (type(pattern) is type(node) and pattern == node))
        if pattern.op == "placeholder" and not self.match_placeholder:
            known = match.nodes_map.get(pattern, _NOTHING)
            if known is _NOTHING:
                match.nodes_map[pattern] = node
                return True
            return known is node or (not isinstance(node, Node) and known == node)
        if not isinstance(node, Node):
            return False
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if node in match.nodes_map.values() or not self._same_kind(pattern, node):
            return False
        before = dict(match.nodes_map)
        match.nodes_map[pattern] = node
        if pattern.op != "placeholder" and not self._values(_arguments(pattern), _arguments(node), match):
            match.nodes_map = before
            return False
        return True

    def _values(self, pattern: Any, value: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(pattern) == len(value) and all(self._values(a, b, match) for a, b in zip(pattern, value))
        if isinstance(pattern, dict) and isinstance(value, dict):
            return pattern.keys() == value.keys() and all(self._values(pattern[key], value[key], match) for key in pattern)
        if isinstance(pattern, slice) and isinstance(value, slice):
            return all(self._values(getattr(pattern, each), getattr(value, each), match) for each in ("start", "stop", "step"))
        return self._nodes(pattern, value, match)

    def _contained(self, match: InternalMatch) -> bool:
        """Whether nothing outside uses what is inside the match."""
        inside = {node for key, node in match.nodes_map.items() if key.op != "placeholder" and isinstance(node, Node)}
        for key, node in match.nodes_map.items():
            if key.op in ("placeholder", "output") or key in self.pattern_returning_nodes:
                continue
            if any(user not in inside for user in node.users):
                return False
        return True


def _arguments(node: Node) -> tuple[Any, ...]:
    """The arguments of a call; those of an operator in the order of its schema, with its defaults, however they were given."""
    if not isinstance(node.target, OpOverload):
        return node.args, dict(node.kwargs)
    given, named = list(node.args), dict(node.kwargs)
    for argument in node.target._schema.arguments[len(given) :]:
        default = argument.default_value
        if argument.N and isinstance(default, int):
            default = [default] * argument.N  # `int[2] padding=0`
        given.append(named.pop(argument.name, default))
    return tuple(given), named


_NOTHING: Any = object()
