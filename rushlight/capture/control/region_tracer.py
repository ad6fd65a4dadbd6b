"""Captures of the bodies of branches and loops: a value from around is a placeholder that stands for its node in the graph around."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...amp.autocast_mode import clear_autocast_cache
from ...core.base import Spec, TensorBase, make
from ...core.errors import CaptureError
from ...core.state import flags, state
from ...core.symbolic import Expression, SymbolicInt
from ...graph import Node
from ..tracer.body_tracer import BodyTracer
from ..tracer.tracer import Tracer


class RegionTracer(BodyTracer):
    """Captures the body of a branch or loop, and can undo what it wrote to memory: other branches start from the same values."""

    def __init__(self, parent: Tracer) -> None:
        super().__init__(functional=parent.functional, keep_function=parent.keep_function, escaped=parent.escaped)
        self.parent = parent
        self.root: Any = getattr(parent, "root", parent)
        self.attributes, self.constants, self.classes = parent.attributes, parent.constants, parent.classes
        self.by_name = parent.by_name
        self.symbols = dict(parent.symbols)
        self.modules, self.origin = list(parent.modules), parent.origin
        self.refusing, self.sequences = parent.refusing, dict(parent.sequences)
        self.aliases.partners, self.aliases.doubtful, self.aliases.held = (
            parent.aliases.partners,
            parent.aliases.doubtful,
            parent.aliases.held,
        )
        self.aliases.list_reads = parent.aliases.list_reads
        self.captured: dict[Node, Node] = {}  # of the graph around -> the placeholder here
        self.outside: dict[int, tuple[Any, Node]] = {}  # tensors from around, and the nodes they were when they came in
        self.condition: tuple[Node, bool] | None = None  # of a branch: the node of the graph around, and the value for which it is taken
        self.undo: list[tuple[Any, Any]] = []
        self.touched: dict[int, Any] = {}  # by id: all arrays that were written to, also on paths that are not taken

    def __enter__(self) -> RegionTracer:
        around = self._around = list(state.interceptors)
        super().__enter__()
        if self.parent in around:  # whose place it takes, also beneath autocasts
            state.interceptors[:] = [self if each is self.parent else each for each in around]
        clear_autocast_cache()  # of casts that are values of the graph around, or (at the end) of this one
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        left = getattr(self.root, "body_left", None)
        if left is not None:
            left([each.tensor for each in self.entries.values() if each.node.op == "call_function"])
        state.interceptors[:] = self._around
        clear_autocast_cache()

    # -- values of the graph around ------------------------------------------------------------------------------

    def from_around(self, outer: Node) -> Node:
        """The placeholder for a node of the graph around."""
        node = self.captured.get(outer)
        if node is None:
            node = self.captured[outer] = self.parameter(outer.name)
            node.meta.update(val=outer.meta.get("val"), source=outer.meta.get("source"), module=outer.meta.get("module", ""))
            if outer not in self.parent.depends:
                self.depends.discard(node)
        return node

    def knows(self, tensor: Any) -> bool:
        """Whether this, or a capture around it, has seen a tensor."""
        if id(tensor) in self.entries:
            return True
        return (
            self.parent.knows(tensor)
            if isinstance(self.parent, RegionTracer)
            else id(tensor) in self.parent.entries or self.parent.can_take(tensor)
        )

    def take(self, tensor: Any) -> None:
        if id(tensor) in self.entries or not self.knows(tensor):
            return
        shape = self.parent.shape_of(tensor)
        node = self.from_around(self.parent.node_of(tensor))
        self.bind(tensor, node, shape)
        self.outside[id(tensor)] = (tensor, node)

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        return super().shape_of(tensor) if id(tensor) in self.entries else self.parent.shape_of(tensor)

    def can_take(self, tensor: Any) -> bool:
        return id(tensor) not in self.parent.entries and bool(self.parent.can_take(tensor))

    def is_traced(self, tensor: Any) -> bool:
        return super().is_traced(tensor) if id(tensor) in self.entries else self.parent.is_traced(tensor)

    def is_dynamic(self, value: Any) -> bool:
        if isinstance(value, TensorBase):
            return any(each.__class__ is SymbolicInt for each in self.shape_of(value))
        return super().is_dynamic(value)

    def size_from(self, tensor: Any) -> int:
        self.take(tensor)
        return super().size_from(tensor)

    def new_symbol(self, source: Node, dim: int | None, size: int, name: str | None = None) -> SymbolicInt:
        if name is None:
            self.root.body_symbols += 1
            name = f"v{self.root.body_symbols}"
        return super().new_symbol(source, dim, size, name)

    def symbol_node(self, name: str) -> Node:
        expression = Expression.symbol(name)
        if expression not in self.size_nodes and getattr(self.symbols[name].source, "graph", None) is not self.graph:
            node = self.from_around(self.parent.symbol_node(name))
            self.size_nodes[expression] = node
        return super().symbol_node(name)

    def derive(self, name: str, *recorded: Any) -> Node:
        for each in recorded:
            if isinstance(each, Node) and each.graph is not self.graph:
                raise CaptureError("a view of a tensor from outside of a branch or loop can't be written to there: clone() it")
        return super().derive(name, *recorded)

    # -- writes --------------------------------------------------------------------------------------------------

    def __call__(self, op: Any, args: tuple[Any, ...], out: Any) -> Any:
        if op.functional is not None:
            self.remember(args[0])
        for each in out if isinstance(out, (tuple, list)) else (out,):
            if each is not None:
                self.remember(each)
        return super().__call__(op, args, out)

    def remember(self, tensor: Any) -> None:
        """Keep what a tensor held before it is written to."""
        if isinstance(tensor, TensorBase) and isinstance(tensor._array, np.ndarray):
            self.undo.append((tensor._array, tensor._array.copy()))
            self.touched[id(tensor._array)] = tensor._array
            around: Any = self.parent
            while around is not None:
                preserve(around, tensor)
                if isinstance(around, RegionTracer):
                    around.touched[id(tensor._array)] = tensor._array
                around = getattr(around, "parent", None)

    def restore(self) -> None:
        """Undo all writes to memory."""
        for array, before in reversed(self.undo):
            array[...] = before
        self.undo = []

    def written(self) -> list[Any]:
        """The tensors from around that were written to."""
        return [tensor for tensor, node in self.outside.values() if self.current(tensor) is not node]

    def current(self, tensor: Any) -> Node:
        """The node whose value a tensor is now."""
        return Tracer.node_of(self, tensor)


def copied(tensor: Any) -> Any:
    """A tensor of its own with the same values."""
    array = tensor._array
    made = make(array.sized(array.shape) if array.__class__ is Spec else array.copy())
    return made


def preserve(capture: Any, tensor: Any) -> None:
    """Constants of a capture whose memory is about to be written to keep the values that they have."""
    for entry in capture.entries.values():
        other = entry.tensor
        if other._array is tensor._array or (other._storage is not None and other._storage is tensor._storage):
            if entry.node in capture.known and capture.known[entry.node]._array is other._array:  # else it was kept before an earlier write
                capture.known[entry.node] = copied(other)
            if entry.node.op == "get_attr" and capture.constants.get(entry.node.target) is other:
                capture.constants[entry.node.target] = copied(other)


@contextmanager
def paused(capture: Any) -> Iterator[None]:
    """A time in which nothing is captured."""
    around, before = list(state.interceptors), state.capture
    state.interceptors[:] = [each for each in state.interceptors if each is not capture]
    state.capture = None
    flags.leave()
    try:
        yield
    finally:
        flags.enter()
        state.interceptors[:] = around
        state.capture = before


def in_body(tracer: RegionTracer, function: Callable[[], Any]) -> Any:
    """Do something as if it were in a body that has been captured."""
    with tracer:
        return function()
