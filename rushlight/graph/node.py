"""A node of a graph: one step of a program, and who uses its value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..core.declare import Op
from ..core.errors import GraphError
from .targets import display_name

if TYPE_CHECKING:
    from .graph import Graph

OPCODES = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")

PLAIN = frozenset((int, float, str, bool, type(None), complex, type(...)))
_F = TypeVar("_F", bound=Callable[..., Any])


class Node:
    """One step: what is done (``op``, ``target``), to what (``args``, ``kwargs``), and what is known of it (``meta``).

    ``meta`` has "val" (shape and type of the value), "source" (file, line and function of the user's line), "module"
    (the path of the module it comes from), "bodies" (name -> Graph, of nodes that own sub-graphs), "impure" (the node
    stays though nobody uses it), "recompute" (the number of the checkpointed region it belongs to), and what passes add.
    """

    __slots__ = (  # and __dict__, since programs keep attributes of their own on nodes
        "graph", "name", "op", "target", "type", "meta", "users", "_args", "_kwargs", "_inputs", "_next", "_prev",
        "_erased", "__weakref__", "__dict__",
    )  # fmt: skip

    graph: Graph
    users: dict[Node, None]

    def __init__(self, graph: Graph, name: str, op: str, target: Any, args: Any, kwargs: dict[str, Any], type: Any = None) -> None:
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = type
        self.meta: dict[str, Any] = {}
        self.users = {}
        self._next = self._prev = self
        self._erased = False
        if args or kwargs:
            self._inputs: tuple[Node, ...] = ()
            self._set_arguments(args, kwargs)
        else:
            self._args: tuple[Any, ...] = ()
            self._kwargs, self._inputs = _NO_KEYWORDS, ()

    # -- arguments ---------------------------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments; setting them keeps the ``users`` of the nodes among them true."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments; setting them keeps the ``users`` of the nodes among them true."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set_arguments(self._args, kwargs)

    def _set_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        inputs: dict[Node, None] = {}
        frozen = []
        for each in args:
            kind = each.__class__
            if kind is Node:
                inputs[each] = None
            elif kind not in PLAIN:
                each = _freeze(each, inputs)
            frozen.append(each)
        keywords = FrozenDict({key: _freeze(each, inputs) for key, each in kwargs.items()}) if kwargs else _NO_KEYWORDS
        graph = self.graph
        for each in inputs:
            if each.graph is not graph:
                raise GraphError(
                    f"node '{each.name}' of another graph can't be an argument of '{self.name}': "
                    "copy it first, with Graph.node_copy or Graph.graph_copy"
                )
        if self._inputs:
            for each in self._inputs:
                if each not in inputs:
                    each.users.pop(self, None)
        for each in inputs:
            each.users[self] = None
        self._args, self._kwargs, self._inputs = tuple(frozen), keywords, tuple(inputs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._inputs)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put in a positional argument before the one at a position."""
        if not 0 <= idx <= len(self._args):
            raise GraphError(f"insert_arg of '{self.name}': position {idx} is not between 0 and {len(self._args)}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node wherever this one uses ``old_input``."""
        self._map_inputs(lambda node: new_input if node is old_input else node)

    def _map_inputs(self, function: Callable[[Node], Any]) -> None:
        self._set_arguments(map_arg(self._args, function), map_arg(self._kwargs, function))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Make all users use another node, or those that ``delete_user_cb`` is true of; returns them."""
        if propagate_meta:
            for key, value in self.meta.items():
                replace_with.meta.setdefault(key, value)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # -- place in the graph ------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one; after the last comes the root, whose ``op`` is "root"."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of this graph to just before this one."""
        if x.graph is not self.graph:
            raise GraphError(f"node '{x.name}' is of another graph than '{self.name}'")
        if x is not self:
            x._unlink()
            x._link_before(self)

    def append(self, x: Node) -> None:
        """Move a node of this graph to just after this one."""
        if x is not self:
            self._next.prepend(x)

    def _link_before(self, other: Node) -> None:
        before = other._prev
        before._next = other._prev = self
        self._prev, self._next = before, other

    def _unlink(self) -> None:
        # The node keeps its own links, so that an iteration that has reached it can continue.
        self._prev._next, self._next._prev = self._next, self._prev

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def table_op(self) -> Op | None:
        """The op of the table that this node calls, if it does."""
        found = getattr(self.target, "op", None) if self.op == "call_function" else None
        return found if isinstance(found, Op) else None

    @property
    def stack_trace(self) -> str | None:
        """Where in the user's program this comes from."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    @property
    def bodies(self) -> dict[str, Graph]:
        """The sub-graphs that this node owns, by name."""
        return self.meta.get("bodies") or {}

    def is_impure(self) -> bool:
        """Whether the node has side effects, and so stays where its value is not used."""
        if self.op in ("placeholder", "output") or self.meta.get("impure") or "out" in self._kwargs:
            return True
        if any(node.op not in ("placeholder", "output") and node.is_impure() for node in self._body_nodes()):
            return True
        if self.op == "call_function":
            found = self.table_op
            if found is None:  # an overload says itself whether it writes
                return self.target in _side_effects or bool(getattr(getattr(self.target, "_schema", None), "is_mutable", False))
            return _op_is_impure(found, self)
        if self.op == "call_method":
            return _writes(self.target)
        if self.op == "call_module":
            owner = self.graph.owning_module
            return owner is not None and getattr(operator.attrgetter(self.target)(owner), "_is_impure", False)
        return False

    def _body_nodes(self) -> Iterator[Node]:
        for body in self.bodies.values():
            yield from body.nodes

    def format_node(self) -> str:
        """One line that shows the node, its arguments and how many use it."""
        style = self.graph.style
        if style is not None:
            return style.format_node(self)  # type: ignore[no-any-return]
        if self.op == "output":
            return f"return {_show(self._args[0], '') if self._args else None}"
        head = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={display_name(self.target)}]"
        if self.op == "placeholder":
            return f"{head}(default={_show(self._args[0])})" if self._args else head
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_show(self._args)}, kwargs = {_show(self._kwargs)})"

    # What programs that look at graphs of TorchScript ask, where a node and its value are two things; here they are one.

    def kind(self) -> str:
        """What a node does, as TorchScript names it: ``aten::add``, ``prim::Param``, ``prim::Return``."""
        found = self.table_op
        if found is not None:
            return f"aten::{found.name.removeprefix('nn_functional_')}"
        named = {"placeholder": "prim::Param", "output": "prim::Return", "get_attr": "prim::GetAttr", "call_module": "prim::CallMethod"}
        if self.op == "call_method":
            return f"aten::{self.target}"
        return named.get(self.op) or f"prim::{display_name(self.target).rpartition('.')[2]}"

    def debugName(self) -> str:
        """The name of the value."""
        return self.name

    def node(self) -> Node:
        """The node that makes the value: itself."""
        return self

    def output(self) -> Node:
        """The value of the node: itself."""
        return self

    def outputs(self) -> Iterator[Node]:
        """The values of the node: itself, except for the end of a graph."""
        return iter(() if self.op == "output" else (self,))

    def inputs(self) -> Iterator[Node]:
        """The values that the node uses."""
        return iter(self.all_input_nodes)

    def inputsSize(self) -> int:
        """How many values the node uses."""
        return len(self.all_input_nodes)

    def outputsSize(self) -> int:
        """How many values the node makes."""
        return int(self.op != "output")

    def rename(self, name: str) -> None:
        """Give the node another name, or one like it where that is taken."""
        if name != self.name:
            self.name = self.graph._names.make(name)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"node '{self.name}' is pickled, or copied, as a part of its graph alone")


# -- arguments: nested tuples, lists, dicts and slices that do not change ----------------------------------------------


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("the arguments of a node do not change in place: set node.args or node.kwargs")


class FrozenList(list):
    """A list among the arguments of a node."""

    __slots__ = ()
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse  # type: ignore[assignment]
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (FrozenList, (list(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class FrozenDict(dict):
    """A dict among the arguments of a node, or its keyword arguments."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (FrozenDict, (dict(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


_NO_KEYWORDS = FrozenDict()


def _freeze(value: Any, inputs: dict[Node, None]) -> Any:
    """The value with lists and dicts that do not change; the nodes in it are added to ``inputs``."""
    kind = value.__class__
    if kind is Node:
        inputs[value] = None
        return value
    if kind in PLAIN:
        return value
    if isinstance(value, tuple):
        items = [_freeze(each, inputs) for each in value]
        return tuple(items) if kind is tuple else _like(value, items)
    if isinstance(value, list):
        return FrozenList([_freeze(each, inputs) for each in value])
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, Node):
                raise GraphError(f"node '{key.name}' is a key of a dict: only its values may be nodes")
        return FrozenDict({key: _freeze(each, inputs) for key, each in value.items()})
    if kind is slice:
        return slice(_freeze(value.start, inputs), _freeze(value.stop, inputs), _freeze(value.step, inputs))
    return value


def _like(value: tuple[Any, ...], items: list[Any]) -> Any:
    """A tuple of the class of another: a named tuple takes its items one by one."""
    return tuple.__new__(type(value), items) if hasattr(value, "_fields") else type(value)(items)


def map_aggregate(argument: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to what is in nested tuples, lists, dicts and slices."""
    kind = argument.__class__
    if isinstance(argument, tuple):
        items = [map_aggregate(each, function) for each in argument]
        return tuple(items) if kind is tuple else _like(argument, items)
    if isinstance(argument, list):
        return [map_aggregate(each, function) for each in argument]
    if isinstance(argument, dict):
        return {key: map_aggregate(each, function) for key, each in argument.items()}
    if kind is slice:
        return slice(*(map_aggregate(each, function) for each in (argument.start, argument.stop, argument.step)))
    return function(argument)


def map_arg(argument: Any, function: Callable[[Node], Any]) -> Any:
    """Apply a function to the nodes in an argument."""
    kind = argument.__class__
    if kind is Node:
        return function(argument)
    if kind in PLAIN:
        return argument
    if kind is tuple:  # the commonest; the rest goes the general way
        return tuple([map_arg(each, function) for each in argument])
    return map_aggregate(argument, lambda value: function(value) if value.__class__ is Node else value)


class NodeList:
    """The nodes of a graph in order; nodes may be put in and taken out while a loop runs over it."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph._count

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev

    def __repr__(self) -> str:
        return repr(list(self))

    def __call__(self) -> Iterator[Any]:
        """As TorchScript has it, ``graph.nodes()``: the steps, without inputs and the end."""
        shown = self._graph.torchscript()
        if shown is not None:
            return shown.nodes()  # type: ignore[no-any-return]
        return (node for node in self if node.op not in ("placeholder", "output"))


def all_graphs(graph: Graph) -> list[Graph]:
    """A graph and all its sub-graphs."""
    found = [graph]
    for node in graph.nodes:
        for body in (node.meta.get("bodies") or _NO_KEYWORDS).values():
            found += all_graphs(body)
    return found


def all_nodes(graph: Graph) -> list[Node]:
    """The nodes of a graph and of all its sub-graphs."""
    return [node for each in all_graphs(graph) for node in each.nodes]


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node, those whose live range ends there: its last inputs, and itself where it has no users."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in list(reversed(graph.nodes)):
        dead = [each for each in node._inputs if each not in seen]
        seen.update(dead)
        if not node.users and node.op != "output":
            dead.append(node)
        if dead:
            found[node] = dead
    return found


def _show(argument: Any, sign: str = "%") -> str:
    """An argument as ``format_node`` shows it."""
    if isinstance(argument, Node):
        return sign + argument.name
    if isinstance(argument, tuple):
        items = [_show(each, sign) for each in argument]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(argument, list):
        return f"[{', '.join(_show(each, sign) for each in argument)}]"
    if isinstance(argument, dict):
        return "{" + ", ".join(f"{key}: {_show(each, sign)}" for key, each in argument.items()) + "}"
    if isinstance(argument, slice):
        return f"slice({', '.join(_show(each, sign) for each in (argument.start, argument.stop, argument.step))})"
    return display_name(argument) if callable(argument) else str(argument)


# -- what does more than give a value ----------------------------------------------------------------------------------

_side_effects: set[Any] = {
    print, setattr, delattr, operator.setitem, operator.delitem, operator.iadd, operator.isub, operator.imul,
    operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.imatmul, operator.iand, operator.ior,
    operator.ixor, operator.ilshift, operator.irshift, operator.iconcat,
}  # fmt: skip
# Arguments that make an op draw random numbers or write to its inputs (running statistics, rows that are too long), unless they are off.
_SWITCHES = frozenset(("training", "train", "use_input_stats", "dropout_p", "inplace", "max_norm"))


def has_side_effect(fn: _F) -> _F:
    """Mark a function as having side effects: its calls stay in graphs where their result is not used.  Also a decorator."""
    _side_effects.add(fn)
    return fn


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _op_is_impure(op: Op, node: Node) -> bool:
    if op.functional is not None or _writes(op.public_name) or op.random:
        return True
    for position, parameter in enumerate(op.parameters):
        if parameter.name in _SWITCHES:
            value = node.kwargs.get(parameter.name, parameter.default)
            if not parameter.keyword_only and position < len(node.args):
                value = node.args[position]
            if value.__class__ is Node or value:
                return True
    return False


def only_computes(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether a call of an op on complete arguments is pure: no side effects, and a result that depends on them alone."""
    if op.functional is not None or _writes(op.public_name) or op.random or op.data_dependent:
        return False
    return not any(parameter.name in _SWITCHES and value for parameter, value in zip(op.parameters, args))


def draws(op: Op) -> bool:
    """Whether an impure op draws random numbers."""
    return op.functional is None or op.random
