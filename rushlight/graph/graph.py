"""``Graph``: a program as a list of nodes, each after those whose values it uses."""

from __future__ import annotations

import builtins
import copy
import keyword
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.declare import PACKAGE, Op
from ..core.errors import GraphError
from .node import OPCODES, Node, NodeList, map_aggregate, map_arg
from .printer import GraphPrinter, PythonCode, readable
from .targets import display_name
from .verifier import verify

_RESERVED = frozenset((*keyword.kwlist, *dir(builtins), "self", PACKAGE))
_NO_DEFAULT: Any = object()
_NOTHING: dict[str, Any] = {}


class GraphNames:
    """The names that are taken in a graph."""

    __slots__ = ("counts", "taken")

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def make(self, candidate: str) -> str:
        """The name itself if it is free and may name a variable; otherwise one like it, with a number."""
        name = candidate if candidate.isidentifier() else _as_identifier(candidate)
        if name in self.taken or name in _RESERVED:
            base, _, number = name.rpartition("_")
            if not base or not number.isdigit():
                base = name
            count = self.counts.get(base, 0)
            while name in self.taken or name in _RESERVED:
                count += 1
                name = f"{base}_{count}"
            self.counts[base] = count
        self.taken.add(name)
        return name


def _as_identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text.lstrip("*"), flags=re.ASCII)
    return name if name.isidentifier() else f"_{name}"


class Graph:
    """A program: placeholders for its inputs, then a node for each step, then an output."""

    style: Any = None  # of graphs in PyTorch's notation (rushlight.fx): what prints their nodes
    listing: Any = None  # of graphs of scripts and traces: what gives their TorchScript form (rushlight.capture.listing)

    def __init__(self, owning_module: Any = None) -> None:
        self.owning_module = owning_module
        self._names = GraphNames()
        self._count = 0
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] | None = None  # where nodes go; None: to the end

    @property
    def nodes(self) -> NodeList:
        """The nodes in the order in which they run."""
        return NodeList(self)

    def dissolve(self) -> None:
        """Take the graph apart when it is no longer needed: nodes refer to each other, and would stay alive until the garbage collector runs."""
        node, root = self._root._next, self._root
        root._next = root._prev = root
        while node is not root:
            following = node._next
            node.users, node.meta = {}, {}
            node._set_arguments((), {})
            node._next = node._prev = root
            node = following
        self._names, self._count = GraphNames(), 0

    # -- making nodes ------------------------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a node and put it where nodes go: at the end, or where ``inserting_before`` or ``_after`` says."""
        if op not in OPCODES:
            raise GraphError(f"'{op}' is no kind of node: there are {', '.join(OPCODES)}")
        if name is None:
            name = _candidate(op, target)
        taken = self._names.taken
        if name in taken or name in _RESERVED or not name.isidentifier():
            name = self._names.make(name)
        taken.add(name)
        node = Node(self, name, op, target, args or (), kwargs or _NOTHING, type_expr)
        if self._insert is None:  # as Node._link_before has it
            root = self._root
            last = root._prev
            last._next = root._prev = node
            node._prev, node._next = last, root
        else:
            self._insert(node)
        self._count += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _NO_DEFAULT, *, default: Any = _NO_DEFAULT) -> Node:
        """An input; ``*name`` takes all positional arguments that are left."""
        value = default if default_value is _NO_DEFAULT else default_value
        return self.create_node("placeholder", name, () if value is _NO_DEFAULT else (value,), {}, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, a buffer or anything else that the owning module has at a dotted path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function: mostly the public function of an op."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """A call of a module that the owning module has at a dotted path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the program returns: a node, or tuples, lists and dicts of them."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # -- where nodes go ----------------------------------------------------------------------------------------------

    @contextmanager
    def _inserting(self, insert: Callable[[Node], None] | None) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which new nodes go before this one (None: to the beginning), in the order they are made."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n)
        return self._inserting(lambda node: node._link_before(n))

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which new nodes go after this one (None: to the end), in the order they are made."""
        if n is None:
            return self._inserting(None)
        self._check_own(n)
        last = n

        def insert(node: Node) -> None:
            nonlocal last
            node._link_before(last._next)
            last = node

        return self._inserting(insert)

    def lead_with(self, nodes: list[Node]) -> None:
        """Put nodes before all others, in this order."""
        for each in nodes:
            each._unlink()
        head = self._root._next
        for each in nodes:
            each._link_before(head)

    def _check_own(self, node: Node) -> None:
        if node.graph is not self:
            raise GraphError(f"node '{node.name}' is of another graph")

    # -- changing the graph ------------------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that has no users."""
        self._check_own(to_erase)
        if to_erase.users:
            users = ", ".join(user.name for user in to_erase.users)
            raise GraphError(f"node '{to_erase.name}' can't be erased: {len(to_erase.users)} nodes use it ({users})")
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set_arguments((), {})
        self._count -= 1

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Copy a node, mostly of another graph, into this one; the transform gives the nodes here for those there."""
        args, kwargs = map_arg(node._args, arg_transform), map_arg(node._kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = dict(node.meta)
        bodies = node.meta.get("bodies")
        if bodies:
            copied.meta["bodies"] = {name: copy.deepcopy(body) for name, body in bodies.items()}
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy all nodes of a graph but its output into this one; returns what is output there, in nodes of this one.

        What ``val_map`` has already is not copied; what is copied is added to it.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes, also of sub-graphs, that have neither users nor side effects; returns whether any was removed."""
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in list(reversed(self.nodes)):
            if not node.users and node.op not in ("placeholder", "output") and not impure(node):
                self.erase_node(node)
                changed = True
                continue
            for body in (node.meta.get("bodies") or _NOTHING).values():
                changed = body.eliminate_dead_code(is_impure_node) or changed
        return changed

    # -- looking at it -----------------------------------------------------------------------------------------------

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, in order; with a target, those alone that call it (or are of that name)."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def torchscript(self) -> Any:
        """The TorchScript form of a graph of a script or trace: None of others, and where a step has none."""
        return None if self.listing is None else self.listing()

    def inputs(self) -> Iterator[Any]:
        """The inputs, as TorchScript has them."""
        shown = self.torchscript()
        return iter(self.find_nodes(op="placeholder")) if shown is None else shown.inputs()

    def outputs(self) -> Iterator[Any]:
        """The values that the program returns, as TorchScript has them."""
        shown = self.torchscript()
        return iter(self.output_node().all_input_nodes) if shown is None else shown.outputs()

    def findNode(self, kind: str, recurse: bool = True) -> Any:
        """The first step of a kind such as ``aten::add``; also in the bodies of others."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Any]:
        """All steps of a kind, those in the bodies of others included."""
        shown = self.torchscript()
        if shown is not None:
            return shown.findAllNodes(kind, recurse)  # type: ignore[no-any-return]
        found: list[Any] = []
        for node in self.nodes():
            found += [node] * (node.kind() == kind)
            for body in node.bodies.values() if recurse else ():
                found += body.findAllNodes(kind)
        return found

    def __getattr__(self, name: str) -> Any:
        shown = None if name.startswith("_") else self.torchscript()
        if shown is None or not hasattr(shown, name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(shown, name)

    def output_node(self) -> Node:
        """The output."""
        last = self._root._prev
        if last.op == "output":
            return last
        found = self.find_nodes(op="output")
        if not found:
            raise GraphError("the graph has no output")
        return found[0]

    def lint(self) -> None:
        """Raise an error that names the node where the graph is not well formed: see :func:`rushlight.graph.verify`."""
        verify(self)

    def python_code(self, root_module: str = "self", *, free_dead: bool = True) -> PythonCode:
        """Source of a function ``forward`` that does what the graph does, and the globals that it needs.

        With ``free_dead`` values are let go where they are used last.
        """
        return GraphPrinter(self, root_module, free_dead).code()

    def print_readable(self, print_output: bool = True, *, name: str | None = None, free_dead: bool = False) -> str:
        """The code with shapes and types, the user's lines it comes from, and sub-graphs as classes of their own."""
        if name is None:
            name = type(self.owning_module).__name__ if self.owning_module is not None else "GraphModule"
        text = readable(self, name, free_dead)
        if print_output:
            print(text)
        return text

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, display_name(n.target), repr(n.args), repr(dict(n.kwargs))) for n in self.nodes]
        widths = [max(len(column[0]) + 2, *map(len, column)) for column in zip(*rows)]  # as PyTorch's tables leave room for their headings
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    def __str__(self) -> str:
        if self.style is not None:
            return self.style.format_graph(self)  # type: ignore[no-any-return]
        shown = self.torchscript()
        if shown is not None:
            return str(shown)
        typed = [node for node in self.find_nodes(op="placeholder") if node.type is not None]
        head = ", ".join(f"%{node.name} : {display_name(node.type)}" for node in typed)
        return "\n    ".join([f"graph({head}):", *(node.format_node() for node in self.nodes)])

    # -- copies ------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        copied = type(self)()
        memo[id(self)] = copied
        here: dict[Node, Node] = {}
        for node in self.nodes:
            here[node] = memo[id(node)] = copied.node_copy(node, here.__getitem__)
        for node in copied.nodes:
            node.meta = map_arg(node.meta, lambda each: here.get(each, each))
        copied._names.taken |= self._names.taken
        return copied

    def __copy__(self) -> Graph:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        # A flat list of rows: the chain of nodes may be longer than pickle recurses.
        places = {node: _Place(index) for index, node in enumerate(self.nodes)}

        def flat(value: Any) -> Any:
            return map_arg(value, places.__getitem__)

        rows = [(n.op, _pickled(n.target), flat(n.args), flat(n.kwargs), n.name, n.type, flat(n.meta)) for n in self.nodes]
        return {"rows": rows, "taken": self._names.taken}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self)
        made: list[Node] = []

        def whole(value: Any) -> Any:
            return map_aggregate(value, lambda each: made[each.index] if type(each) is _Place else each)

        rows = state["rows"]
        for op, target, args, kwargs, name, type_expr, _ in rows:
            target = target.call if type(target) is Op else target
            made.append(self.create_node(op, target, whole(args), whole(kwargs), name, type_expr))
        for node, row in zip(made, rows):
            node.meta = whole(row[6])
        self._names.taken |= state["taken"]


class _Place:
    """Stands for a node in a pickled graph."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> Any:
        return (_Place, (self.index,))


def _pickled(target: Any) -> Any:
    """A target as it is pickled: that of an op, which may have no public name, as the op."""
    op = getattr(target, "op", None)
    return op if isinstance(op, Op) and op.call is target else target


def _candidate(op: str, target: Any) -> str:
    """The name a node would like to have."""
    if op == "call_function":
        name: str = getattr(target, "__name__", None) or type(target).__name__
        return name if name[0] != "_" and name[-1] != "_" else name.strip("_") or "call"
    return target if isinstance(target, str) else op
