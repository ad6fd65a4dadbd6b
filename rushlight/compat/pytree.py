"""`torch.utils._pytree`: nested containers by PyTorch's names; the containers are those of `utils.trees`."""

from __future__ import annotations

import functools
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.missing import missing
from ..core.size import Size
from ..utils import trees

PyTree = Any
Context = Any
FlattenFunc = UnflattenFunc = ToDumpableContextFn = FromDumpableContextFn = Callable[..., Any]

__getattr__ = missing("rushlight.utils._pytree")


@dataclass(frozen=True)
class MappingKey:
    """An item of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, value: Any) -> Any:
        """The item."""
        return value[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """An item of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, value: Any) -> Any:
        """The item."""
        return value[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, value: Any) -> Any:
        """The attribute."""
        return getattr(value, self.name)


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: type
    flatten_fn: Callable[..., Any]
    unflatten_fn: Callable[..., Any]
    flatten_with_keys_fn: Callable[..., Any] | None


def _tuple_flatten(value: Any) -> Any:
    return list(value), None


def _sequence_keys(value: Any) -> Any:
    return [(SequenceKey(at), each) for at, each in enumerate(value)], None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


_list_flatten, _list_flatten_with_keys = _tuple_flatten, _sequence_keys


def _dict_flatten(value: Any) -> Any:
    return list(value.values()), list(value.keys())


def _dict_flatten_with_keys(value: Any) -> Any:
    values, context = _dict_flatten(value)
    return [(MappingKey(key), each) for key, each in zip(context, values)], context


def _dict_unflatten(values: Iterable[Any], context: Any) -> Any:
    return dict(zip(context, values))


def _namedtuple_flatten(value: Any) -> tuple[list[Any], Any]:
    """The elements of a named tuple, and its class."""
    return list(value), type(value)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return context(*values)


def _defaultdict_flatten(value: Any) -> Any:
    return list(value.values()), [value.default_factory, list(value.keys())]


_list_flatten = _tuple_flatten

SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(tuple, _tuple_flatten, lambda values, context: tuple(values), _sequence_keys),
    Size: NodeDef(Size, _tuple_flatten, lambda values, context: tuple(values), _sequence_keys),
    list: NodeDef(list, _tuple_flatten, lambda values, context: list(values), _sequence_keys),
    dict: NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    namedtuple: NodeDef(
        namedtuple, _namedtuple_flatten, _namedtuple_unflatten,  # type: ignore[arg-type]
        lambda value: ([(GetAttrKey(name), getattr(value, name)) for name in value._fields], type(value)),
    ),
    OrderedDict: NodeDef(OrderedDict, _dict_flatten, lambda values, context: OrderedDict(zip(context, values)), _dict_flatten_with_keys),
    defaultdict: NodeDef(
        defaultdict, _defaultdict_flatten, lambda values, context: defaultdict(context[0], zip(context[1], values)),
        lambda value: (_dict_flatten_with_keys(value)[0], _defaultdict_flatten(value)[1]),
    ),
    deque: NodeDef(
        deque, lambda value: (list(value), value.maxlen), lambda values, context: deque(values, maxlen=context),
        lambda value: (_sequence_keys(value)[0], value.maxlen),
    ),
}  # fmt: skip
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {
    "builtins.tuple": tuple, "builtins.list": list, "builtins.dict": dict, "collections.namedtuple": namedtuple, "collections.OrderedDict": OrderedDict,
    "collections.defaultdict": defaultdict, "collections.deque": deque, "torch.Size": Size,
}  # fmt: skip
_CONTEXTS: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {}  # how a class's context is written, and read


def register_pytree_node(
    cls: type, flatten_fn: Callable[..., Any], unflatten_fn: Callable[..., Any], *, serialized_type_name: str | None = None,
    to_dumpable_context: Any = None, from_dumpable_context: Any = None, flatten_with_keys_fn: Any = None, flatten_fn_spec: Any = None,
) -> None:  # fmt: skip
    """Make a class a container, for all that walks containers: compiled functions, `vmap`, and the functions of this module."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls
    if to_dumpable_context is not None and from_dumpable_context is not None:
        _CONTEXTS[cls] = (to_dumpable_context, from_dumpable_context)
    trees.register(cls, flatten_fn, unflatten_fn)


def _register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, *args: Any, **kwargs: Any) -> None:
    """The old name; a class that is registered already is left as it is."""
    if cls not in SUPPORTED_NODES:
        register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


_private_register_pytree_node = register_pytree_node


def register_dataclass(
    cls: Any, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None, serialized_type_name: str | None = None
) -> Any:
    """Make a data class a container of its fields."""
    names = field_names or [name for name in cls.__dataclass_fields__ if name not in (drop_field_names or ())]

    def flatten(value: Any) -> Any:
        found = [name for name in names if getattr(value, name) is not None]
        return [getattr(value, name) for name in found], [found, [name for name in names if name not in found]]

    def unflatten(values: Any, context: Any) -> Any:
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    def flatten_with_keys(value: Any) -> Any:
        values, context = flatten(value)
        return [(GetAttrKey(name), each) for name, each in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys)
    return cls


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Give a class of named tuples the name by which a structure that has it is written."""
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def register_constant(cls: type) -> None:
    """Make a class a container without parts."""
    register_pytree_node(cls, lambda value: ([], value), lambda values, context: context)


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of the named results of functions, such as ``torch.return_types.max``."""
    return isinstance(cls, type) and issubclass(cls, tuple) and cls.__module__ == "torch.return_types"


def is_structseq_instance(value: Any) -> bool:
    """Whether a value is the named result of a function."""
    return is_structseq_class(type(value))


def is_namedtuple(value: Any) -> bool:
    """Whether a value is a named tuple."""
    return isinstance(value, tuple) and is_namedtuple_class(type(value))


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one of named tuples."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple) and hasattr(cls, "_make")


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_namedtuple_class(kind):
        return namedtuple
    if kind.__module__ == "torch.return_types" and issubclass(kind, tuple):
        SUPPORTED_NODES[kind] = NodeDef(kind, _tuple_flatten, lambda values, context: kind(*values), None)
    if kind in trees._registered and kind not in BUILTIN_TYPES:  # registered under our own name
        take_apart, put_together = trees._registered[kind]
        SUPPORTED_NODES[kind] = NodeDef(kind, take_apart, put_together, None)
    return kind


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a value is no container."""
    return bool(is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


class TreeSpec:
    """How leaves were nested."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_nodes: int = 1 + sum(each.num_nodes for each in children_specs)
        self.num_leaves: int = sum(each.num_leaves for each in children_specs) if type is not None else 1
        self.num_children = len(children_specs)

    def is_leaf(self) -> bool:
        """Whether it is a leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def children(self) -> list[TreeSpec]:
        """The parts."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """One of the parts."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The containers again, with these leaves."""
        found = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(found) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(found)} but the spec refers to a pytree that holds {self.num_leaves} "
                f"items ({self})."
            )
        return self._build(iter(found))

    def _build(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([each._build(leaves) for each in self.children_specs], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of another tree that stand where this one has leaves."""
        if self.type is None:
            return [tree]
        kind = _get_node_type(tree)
        if kind != self.type and not {kind, self.type} <= {dict, OrderedDict, defaultdict}:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if isinstance(tree, Mapping) and self.type in (dict, OrderedDict, defaultdict):
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch: expected {list(keys)}, but got {list(tree)}.")
            children = [tree[key] for key in keys]
        elif len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        elif context != self.context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return [leaf for child, spec in zip(children, self.children_specs) for leaf in spec.flatten_up_to(child)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self.context, self.children_specs) == (
            other.type,
            other.context,
            other.children_specs,
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_nodes, self.num_leaves))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inside = ", ".join(map(repr, self.children_specs))
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"


class LeafSpec(TreeSpec):
    """A leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def treespec_leaf() -> TreeSpec:
    """The spec of a leaf."""
    return _LEAF


def _flatten(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(each, leaves, is_leaf) for each in children])


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Leaves, and how they were nested."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The containers again."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """The leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of arguments."""
    return [leaf for each in (*args, *kwargs.values()) for leaf in tree_leaves(each)]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """How leaves are nested."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same containers with a function applied to the leaves of all trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*each) for each in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests))])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply a function to the leaves, for what it does; the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for each in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests)):
        func(*each)
    return tree


def map_only(kind: Any, func: Any = None) -> Any:
    """A function that is applied to values of a class, and gives others as they are."""
    chosen = kind if callable(kind) and not isinstance(kind, type) else (lambda value: isinstance(value, kind))

    def decorate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(function)
        def wrapper(value: Any) -> Any:
            return function(value) if chosen(value) else value

        return wrapper

    return decorate if func is None else decorate(func)


def tree_map_only(kind: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A function applied to the leaves of a class."""
    return tree_map(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kind: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply a function to the leaves of a class, for what it does."""
    return tree_map_(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kind: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something holds for all leaves of a class."""
    return all(pred(each) for each in tree_iter(tree, is_leaf) if isinstance(each, kind))


def tree_any_only(kind: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something holds for a leaf of a class."""
    return any(pred(each) for each in tree_iter(tree, is_leaf) if isinstance(each, kind))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """A tree that may stop above the leaves of a structure, as one value for each of these; None where it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    if treespec.type is None or kind != treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children_specs):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Leaves with the keys that lead to each, and how they were nested."""
    found: list[Any] = []

    def visit(value: Any, path: tuple[Any, ...]) -> None:
        if tree_is_leaf(value, is_leaf):
            found.append((path, value))
            return
        node = SUPPORTED_NODES[_get_node_type(value)]
        if node.flatten_with_keys_fn is None:
            raise ValueError(
                f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument to register_pytree_node."
            )
        for key, child in node.flatten_with_keys_fn(value)[0]:
            visit(child, (*path, key))

    visit(tree, ())
    return found, tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Leaves with the keys that lead to each."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A function of the keys and of the leaves."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten(
        [func(path, leaf, *others) for (path, leaf), *others in zip(found, *(spec.flatten_up_to(rest) for rest in rests))]
    )


def keystr(kp: Iterable[Any]) -> str:
    """Keys as text."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What keys lead to."""
    for each in kp:
        obj = each.get(obj)
    return obj


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text, in PyTorch's notation; classes by the names that they were registered with."""
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    names = {kind: name for name, kind in SERIALIZED_TYPE_TO_PYTHON_TYPE.items()}

    def data(spec: TreeSpec) -> Any:
        if spec.type is None:
            return {"type": None, "context": None, "children_spec": []}
        if spec.type not in names or (spec.type is namedtuple and spec.context not in names):
            kind = spec.context if spec.type is namedtuple else spec.type
            raise NotImplementedError(
                f"No registered serialization name for {kind} found. Please update your _register_pytree_node call with a `serialized_type_name` kwarg."
            )
        context: Any = json.dumps(spec.context) if spec.type not in (namedtuple, defaultdict) else names.get(spec.context)
        if spec.type is defaultdict:
            made = spec.context[0]
            context = {
                "default_factory_module": made.__module__,
                "default_factory_name": made.__qualname__,
                "dict_context": spec.context[1],
            }
        elif spec.type in _CONTEXTS:
            context = _CONTEXTS[spec.type][0](spec.context)
        return {"type": names[spec.type], "context": context, "children_spec": [data(each) for each in spec.children_specs]}

    return json.dumps([1, data(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """A structure from its text: only of classes that are registered here."""
    protocol, found = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")

    def spec(data: Any) -> TreeSpec:
        name, context = data["type"], data["context"]
        if name is None:
            return _LEAF
        kind = SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
        if kind is None or (kind is namedtuple and context not in SERIALIZED_TYPE_TO_PYTHON_TYPE):
            raise NotImplementedError(f"Deserializing {name if kind is None else context} in pytree is not registered.")
        if kind is namedtuple:
            context = SERIALIZED_TYPE_TO_PYTHON_TYPE[context]
        elif kind is defaultdict:
            factory = {"list": list, "dict": dict, "int": int, "float": float, "set": set}.get(context["default_factory_name"])
            context = [factory, context["dict_context"]]
        elif kind in _CONTEXTS:
            context = _CONTEXTS[kind][1](context)
        else:
            context = json.loads(context)
        return TreeSpec(kind, context, [spec(each) for each in data["children_spec"]])

    return spec(found)


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure for people."""
    return repr(treespec)
