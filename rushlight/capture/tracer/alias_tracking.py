"""Alias tracking: which value each of the tensors that share memory has after a write to one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...core.base import Spec, storage_of
from ...core.errors import CaptureError
from ...core.facets import Facet
from ...core.symbolic import SymbolicInt
from ...graph import Node


class TracedTensor:
    """What a tracer knows about a tensor: the node that makes it, and its shape by formulas."""

    __slots__ = ("node", "shape", "tensor", "version")

    def __init__(self, tensor: Any, node: Node, shape: tuple[int, ...]) -> None:
        self.tensor = tensor  # held, so that its id is not given to another
        self.node = node
        self.shape = shape
        self.version = 0


class ValueTable(Protocol):
    """The part of a tracer that ties tensors to nodes: what alias tracking and fake tensors need of it."""

    functional: bool
    entries: dict[int, TracedTensor]
    attributes: dict[int, tuple[str, Any]]
    depends: set[Node]
    known: dict[Node, Any]

    def node_of(self, tensor: Any) -> Node:
        """The node whose value a tensor is."""

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        """The sizes of a tensor, symbolic ones by their formulas."""

    def bind(self, tensor: Any, node: Node, shape: tuple[int, ...] | None = None) -> None:
        """From here on a tensor is the value of a node."""

    def argument(self, value: Any) -> Any:
        """An argument with nodes in place of tensors and sizes."""

    def derive(self, name: str, *recorded: Any) -> Node:
        """A node for an op on nodes that the program did not call."""


class AliasTracker:
    """Tracks views and writes for a tracer.

    A view knows its base and the chain of view ops that leads to it.  A write to a view makes a new value of the base, with the
    chain undone step by step; every other view of that base is made again from it when it is next used.
    """

    def __init__(self, tracer: ValueTable) -> None:
        self.tracer = tracer
        self.versions: dict[int, int] = {}  # of a storage: how many writes the capture has seen
        self.by_array: dict[int, TracedTensor] = {}
        self.held: list[Any] = []  # storages, so that their ids stay theirs
        self.partners: dict[int, list[Any]] = {}  # by id: tensors that share memory with it on some paths through the program
        self.list_reads: dict[int, int] = {}  # by id: how often the program has read a list
        self.doubtful: dict[int, Any] = {}  # by id: tensors whose value is unknown, since a write to a partner may have changed them
        self.names: dict[int, dict[int, Any]] = {}  # by the id of memory (of an array, before it is shared): tensors that it may be of
        self.detached: dict[int, tuple[Any, Any]] = {}  # by id: tensors without a history, and those whose memory they are

    def track(self, tensor: Any, node: Node, shape: tuple[int, ...]) -> TracedTensor:
        """A tensor has become the value of a node."""
        entry = TracedTensor(tensor, node, shape)
        self.register(entry)
        return entry

    def register(self, entry: TracedTensor) -> None:
        """Note the memory of a tensor, and what was written to it so far."""
        tensor = entry.tensor
        self.by_array[id(tensor._array)] = entry
        if self.tracer.functional:
            base = self.origin(tensor)[0]
            self.names.setdefault(id(base._storage or base._array), {})[id(tensor)] = tensor
            entry.version = self.versions.get(id(base._storage), 0)

    def cut(self, tensor: Any, source: Any) -> None:
        """Note that a tensor is another one, detached: it has no record of that itself, as a view has."""
        self.detached[id(tensor)] = tensor, source

    def origin(self, tensor: Any) -> tuple[Any, tuple[Any, ...]]:
        """The tensor that owns the memory, and the chain of views from there, through tensors without a history."""
        chain: tuple[Any, ...] = ()
        while True:
            view = tensor._view
            if view is not None and view.chain:
                tensor, chain = view.base, (*view.chain, *chain)
            if id(tensor) not in self.detached:
                return tensor, chain
            tensor = self.detached[id(tensor)][1]

    def share(self, one: Any, other: Any) -> None:
        """Note that on some paths through branches and loops two tensors are the same."""
        if one is not other:
            self.partners.setdefault(id(one), []).append(other)
            self.partners.setdefault(id(other), []).append(one)
            self.held += [one, other]

    def doubt(self, tensor: Any) -> None:
        """Mark tensors that may alias one that is written to: their values are unknown."""
        waiting, seen = [tensor], {id(tensor)}
        while waiting:
            for each in self.partners.get(id(waiting.pop()), ()):
                if id(each) not in seen:
                    seen.add(id(each))
                    self.doubtful[id(each)] = each
                    waiting.append(each)

    def check(self, tensor: Any) -> None:
        """Refuse a tensor whose value is unknown."""
        if id(tensor) in self.doubtful:
            raise CaptureError(
                "a tensor is used that was, on some ways through branches and loops, written to in place under another name: clone() it before it is "
                "written to"
            )

    def stale(self, entry: TracedTensor) -> bool:
        """Whether the tensor's memory was written to, through another tensor, since its node was made; only writes make ``versions``."""
        return self.versions.get(id(self.origin(entry.tensor)[0]._storage), 0) != entry.version

    def is_same_value(self, one: Any, other: Node) -> bool:
        """Whether two nodes have the same value: the same, or the same view of something that nothing has been written to."""
        if one is other or one is None or one.table_op is None or not one.table_op.view or self.versions:
            return one is other
        return (one.target, one.args, one.kwargs) == (other.target, other.args, other.kwargs)

    def find(self, tensor: Any) -> Node | None:
        """The node of a tensor that has none, or a stale one: by its chain of views, or as an alias of a known tensor."""
        tracer = self.tracer
        base, chain = self.origin(tensor)
        if base is not tensor and (id(base) in tracer.entries or id(base) in tracer.attributes):
            node, shape = self.replay(tracer.node_of(base), chain)[-1], tracer.shape_of(tensor)
            tracer.bind(tensor, node, shape)
            return node
        known = self.by_array.get(id(tensor._array))
        if known is None or known.tensor is tensor:
            if id(tensor) in tracer.entries and tracer.entries[id(tensor)].node in tracer.depends:
                raise CaptureError(
                    "a tensor is used whose memory was written to through another one that nobody knows to share it: clone() it before"
                )
            return None
        node = tracer.node_of(known.tensor)
        if not tracer.functional:
            node = tracer.derive("detach", node) if tensor._grad_fn is None else node
        elif self.origin(known.tensor)[0] is not tensor:  # as ``data`` gives it
            self.cut(tensor, known.tensor)
        tracer.bind(tensor, node, known.shape)
        return node

    def replay(self, node: Node, chain: tuple[Any, ...]) -> list[Node]:
        """The values along a chain of views, the base first."""
        values = [node]
        for call, arguments, index in chain:
            args = self.tracer.argument(tuple(arguments))
            op = call.op
            if index is None:
                values.append(self.tracer.derive(op.name, values[-1], *spread(op, args)))
            else:
                values.append(self.one_of(op.name, values[-1], args, index))
        return values

    def one_of(self, name: str, node: Node, args: tuple[Any, ...], index: int) -> Node:
        """One result of a view op with several: ``unbind`` and the splits."""
        dim, start, stop = self.extent(name, node, args, index)
        if stop is None:
            return self.tracer.derive("select", node, dim, start)
        return self.tracer.derive("slice", node, dim, start, stop, 1)

    def extent(self, name: str, node: Node, args: tuple[Any, ...], index: int) -> tuple[int, Any, Any]:
        """Which part of a tensor one of several views is: dimension, start and stop (None for a single place)."""
        if name == "unbind":
            return (args[0] if args else 0), index, None
        sizes, dim = args[0], (args[1] if len(args) > 1 else 0)
        if name in ("split_with_sizes", "split_evenly"):
            if isinstance(node.meta["val"].shape[dim], SymbolicInt):
                raise CaptureError(
                    "a write to a part of a tensor that was split along a dimension of symbolic size can't be captured: "
                    "write to a slice of the tensor"
                )
            start = sum(sizes[:index])
            return dim, start, start + sizes[index]
        raise CaptureError(f"a write to one of the results of {name}() can't be captured: write to a clone() of it")

    def written(self, target: Any, entry: TracedTensor) -> None:
        """Update the base of a tensor that was written to; all other views of it become stale."""
        base, chain = self.origin(target)
        storage = storage_of(base)
        self.held.append(storage)
        base_node = None if base is target else self.undo(self.tracer.node_of(base), chain, entry.node)
        self.versions[id(storage)] = self.versions.get(id(storage), 0) + 1
        entry.version = self.versions[id(storage)]
        if base_node is not None:
            self.tracer.bind(base, base_node, self.tracer.shape_of(base))
        for tensor in {**self.names.get(id(storage), {}), **self.names.get(id(storage.array), {})}.values():
            if self.origin(tensor)[0]._storage is not storage:
                continue
            other = self.tracer.entries[id(tensor)]
            if other.node is not entry.node and other.node is not base_node:
                self.tracer.known.pop(other.node, None)  # its memory holds other values now
            if other.tensor._array is target._array and other is not entry:  # another name: it sees the write, too
                self.tracer.bind(other.tensor, entry.node, other.shape)

    def others(self, *tensors: Any) -> bool:
        """Whether there are views of the first of these tensors other than these."""
        storage = storage_of(tensors[0])
        known = {**self.names.get(id(storage), {}), **self.names.get(id(storage.array), {})}
        return any(each not in map(id, tensors) for each in known)

    def forget(self, tensor: Any) -> None:
        """A tensor is not used any more."""
        for known in self.names.values():
            known.pop(id(tensor), None)

    def undo(self, base: Node, chain: tuple[Any, ...], new: Node) -> Node:
        """The base with the part replaced that a chain of views selects."""
        before = self.replay(base, chain)
        for position in range(len(chain) - 1, -1, -1):
            call, arguments, index = chain[position]
            name, previous = call.op.name, before[position]
            args = self.tracer.argument(tuple(arguments))
            if index is not None:
                dim, start, stop = self.extent(name, previous, args, index)
                if stop is None:
                    new = self.tracer.derive("select_scatter", previous, new, dim, start)
                else:
                    new = self.tracer.derive("slice_scatter", previous, new, dim, start, stop, 1)
                continue
            inverse = view_inverse.of(call.op)
            if inverse is None:
                raise CaptureError(
                    f"a write through the view {name}() can't be captured: write to a clone() of it, or to the tensor itself"
                )
            new = inverse(self.tracer, previous, new, args)
        return new


def keep_formulas(op: Any, args: tuple[Any, ...], view: Any) -> None:
    """Put the symbolic arguments of a view op into the chain of its result, which was made with plain numbers: a write to it is undone by them."""
    if view._view is None or not view._view.chain:
        return
    *before, (call, arguments, index) = view._view.chain
    given = tuple(args[1]) if op.parameters[-1].variadic else args[1:]
    if call.op is op and index is None and len(given) == len(arguments):
        view._view.chain = (*before, (call, given, None))


def spread(op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments after the first of a view op, as its schema has them: a variadic one is one tuple."""
    return (args,) if op.parameters[-1].variadic else args


# Of the tracer, the node of the value before the view, the node of the view's new value, and the view's other arguments.
Inverse = Callable[[Any, Node, Node, tuple[Any, ...]], Node]
view_inverse: Facet[Inverse] = Facet(
    "view inverse", "how the value before a view follows from the value after it, where elements move one by one"
)


@view_inverse.register("view_shape", "squeeze", "unsqueeze")
def _reshaped(tracer: ValueTable, previous: Node, new: Node, args: tuple[Any, ...]) -> Node:
    found = previous.meta["val"]
    assert isinstance(found, Spec)
    return tracer.derive("reshape", new, tracer.argument(found.shape))


@view_inverse.register("permute")
def _permuted(tracer: ValueTable, previous: Node, new: Node, args: tuple[Any, ...]) -> Node:
    dims = [each % len(args) for each in args]
    return tracer.derive("permute", new, tuple(dims.index(each) for each in range(len(dims))))


def _scattered(name: str) -> Inverse:
    """By an op that writes the part into the whole."""
    return lambda tracer, previous, new, args: tracer.derive(name, previous, new, *args)


def _undone(name: str) -> Inverse:
    """By a view that takes it back."""
    return lambda tracer, previous, new, args: tracer.derive(name, new, *args)


view_inverse.set(_scattered("select_scatter"), "select")
view_inverse.set(_scattered("slice_scatter"), "slice")
view_inverse.set(_scattered("diagonal_scatter"), "diagonal")
view_inverse.set(_scattered("strided_scatter"), "strided_view")
view_inverse.set(_undone("transpose"), "transpose")
view_inverse.set(_undone("t"), "t")
view_inverse.set(_undone("view_as_complex"), "view_as_real")
view_inverse.set(_undone("view_as_real"), "view_as_complex")
view_inverse.set(lambda tracer, previous, new, args: new, "alias", "detach")
