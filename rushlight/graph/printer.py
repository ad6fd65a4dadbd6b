"""The printer: a graph as Python that runs."""

from __future__ import annotations

import keyword
import operator
import os
import sys
from typing import TYPE_CHECKING, Any

from ..core.declare import PACKAGE
from ..core.devices import device
from ..core.dtypes import BY_NUMPY
from ..core.dtypes import dtype as Dtype
from ..core.errors import GraphError
from ..core.facets import Facet
from ..core.size import Size
from .node import Node, all_nodes, last_uses
from .targets import path_of

if TYPE_CHECKING:
    from .graph import Graph

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>", operator.eq: "==",
    operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.is_: "is", operator.is_not: "is not",
}  # fmt: skip
symbol: Facet[str] = Facet("symbol", "the Python operator by which graphs print a call")
for _name, _symbol in zip("add sub mul div matmul pow lt gt le ge eq ne".split(), "+ - * / @ ** < > <= >= == !=".split()):
    symbol.set(_symbol, _name)
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~", operator.not_: "not "}


class PythonCode:
    """Source of a function ``forward``, and the globals it needs: ``exec(code.src, code.globals)`` defines it."""

    __slots__ = ("globals", "src")

    def __init__(self, src: str, globals: dict[str, Any]) -> None:
        self.src = src
        self.globals = globals


class GraphPrinter:
    """Turns a graph into source."""

    def __init__(self, graph: Graph, root_module: str = "self", free_dead: bool = True, comments: bool = False) -> None:
        self.graph = graph
        self.root_module = root_module
        self.free_dead = free_dead
        self.comments = comments
        self.globals: dict[str, Any] = {PACKAGE: sys.modules[PACKAGE]}
        self.taken = {node.name for node in all_nodes(graph)}
        self.builtins: set[str] = set()  # those that the source uses: no parameter may hide them
        self._by_identity: dict[int, str] = {}
        if root_module in self.taken:
            raise GraphError(f"the root can't be called '{root_module}', as a node is: choose another root_module")
        self.taken |= {root_module, PACKAGE}

    def code(self) -> PythonCode:
        """The source and its globals."""
        lines = self.function("forward", self.graph, self.root_module)
        return PythonCode("\n".join(lines) + "\n", self.globals)

    def function(self, name: str, graph: Graph, first: str | None) -> list[str]:
        """A function that does what a graph does; that of a body sees the root from outside (``first`` is None)."""
        lines: list[str] = []
        place = ""
        dead = last_uses(graph) if self.free_dead else {}
        for node in graph.nodes:
            if node.op == "placeholder":
                if self.comments and "val" in node.meta:
                    lines.append(f"# {node.name}: {describe(node.meta['val'])}")
                continue
            if self.comments:
                found = source_of(node, "# ")
                if found and found != place:
                    lines.append(found)
                place = found or place
            lines += self.statement(node, dead.get(node, []))
        parameters = [] if first is None else [first]
        names: set[str] = set()
        renamed: list[str] = []
        for node in graph.nodes:
            if node.op == "placeholder":
                known_as = self.parameter_name(node, names)
                names.add(known_as)
                parameters.append(self.parameter(node, known_as))
                if known_as != node.name:
                    renamed.append(f"{node.name} = {known_as}" + (f";  {known_as} = None" if self.free_dead else ""))
        head = f"def {name}({', '.join(parameters)}):"
        return [head, *("    " + line for line in [*renamed, *lines] or ["pass"])]

    # -- lines -------------------------------------------------------------------------------------------------------

    def parameter_name(self, node: Node, others: set[str]) -> str:
        """What callers know an input by, ``input`` though no node may be called that, unless it hides another name."""
        wanted = node.target.lstrip("*")
        hides = wanted in self.taken or wanted in self.builtins or wanted in others
        return node.name if hides or not wanted.isidentifier() or keyword.iskeyword(wanted) else wanted

    def parameter(self, node: Node, known_as: str) -> str:
        """An input as it stands in the list of parameters."""
        text = "*" * (len(node.target) - len(node.target.lstrip("*"))) + known_as
        if node.type is not None:
            python = isinstance(node.type, type) or hasattr(node.type, "__origin__")
            text += f": {self.value(node.type) if python else repr(str(node.type))}"  # types of scripts are shown by name
        if node.args:
            text += f" = {self.value(node.args[0])}"
        return text

    def statement(self, node: Node, dead: list[Node]) -> list[str]:
        """The line of a node, after the functions of its bodies."""
        if node.op == "output":
            return [f"return {self.value(node.args[0])}"]
        lines: list[str] = []
        bodies: dict[str, str] = {}
        for key, body in node.bodies.items():
            name = body_name(node, key)
            if self.comments:  # there bodies are classes, beside the function
                bodies[key] = f"{self.root_module}.{name}"
                continue
            bodies[key] = name = self.unique(name)
            lines += self.function(name, body, None)
        line = f"{node.name} = {self.expression(node, bodies)}"
        if dead:
            line += f";  {' = '.join(each.name for each in dead)} = None"
        if self.comments and "val" in node.meta:
            line += f"  # {describe(node.meta['val'])}"
        return [*lines, line]

    def expression(self, node: Node, bodies: dict[str, str]) -> str:
        """What a node computes."""
        args = node.args
        if node.op == "get_attr":
            return self.attribute(node.target)
        if node.op == "call_method":
            return f"{self.primary(args[0])}.{node.target}({self.arguments(args[1:], node.kwargs, bodies)})"
        if node.op == "call_module":
            return f"{self.attribute(node.target)}({self.arguments(args, node.kwargs, bodies)})"
        target = node.target
        if not node.kwargs and not bodies:
            if len(args) == 2 and target in _INFIX:
                return f"{self.operand(args[0])} {_INFIX[target]} {self.operand(args[1])}"
            if len(args) == 2 and target is operator.getitem:
                return f"{self.primary(args[0])}[{self.index(args[1])}]"
            if len(args) == 1 and target in _PREFIX:
                return f"{_PREFIX[target]}{self.operand(args[0])}"
        op = node.table_op
        if self.comments and op is not None and not node.kwargs and args and isinstance(args[0], Node):  # as one would write it
            if len(args) == 2 and op in symbol:
                return f"{self.operand(args[0])} {symbol.of(op)} {self.operand(args[1])}"
            if len(args) == 1 and op.method and op.namespace in ("", None):
                return f"{self.primary(args[0])}.{op.public_name}()"
        if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{self.primary(args[0])}.{args[1]}"
        return f"{self.callable(target)}({self.arguments(args, node.kwargs, bodies)})"

    def arguments(self, args: Any, kwargs: dict[str, Any], bodies: dict[str, str]) -> str:
        parts = [self.value(each) for each in args]
        extra = {key: value for key, value in kwargs.items() if not key.isidentifier() or keyword.iskeyword(key)}
        parts += [f"{key}={self.value(value)}" for key, value in kwargs.items() if key not in extra]
        if extra:
            parts.append(f"**{self.value(extra)}")
        if bodies:
            parts.append("bodies={" + ", ".join(f"{key!r}: {name}" for key, name in bodies.items()) + "}")
        return ", ".join(parts)

    def attribute(self, path: str) -> str:
        """The attribute at a dotted path of the root, some of whose parts (``layers.0``) are no names."""
        text = self.root_module
        for part in path.split("."):
            text = (
                f"{text}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f"{self.builtin('getattr')}({text}, {part!r})"
            )
        return text

    # -- values ------------------------------------------------------------------------------------------------------

    def operand(self, value: Any) -> str:
        """A value that stands beside an operator."""
        text = self.value(value)
        return text if text.isdigit() else self.primary(value)

    def primary(self, value: Any) -> str:
        """A value before a dot or a bracket."""
        return value.name if isinstance(value, Node) else f"({self.value(value)})"

    def index(self, value: Any) -> str:
        """What stands between square brackets."""
        if type(value) is tuple and value:
            return ", ".join(self.index_item(each) for each in value) + ("," if len(value) == 1 else "")
        return self.index_item(value)

    def index_item(self, value: Any) -> str:
        if type(value) is not slice:
            return self.value(value)
        start, stop, step = ("" if each is None else self.value(each) for each in (value.start, value.stop, value.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")

    def value(self, value: Any) -> str:
        """An expression for an argument."""
        kind = type(value)
        if kind is Node:
            return value.name
        if value is None or kind in (bool, int, str, bytes):
            return repr(value)
        if kind is float:
            return repr(value) if value - value == 0 else f'{self.builtin("float")}("{value}")'
        if kind is complex:
            return f"{self.builtin('complex')}({self.value(value.real)}, {self.value(value.imag)})"
        if value is ...:
            return "..."
        if isinstance(value, (tuple, list, dict, slice, set, frozenset, range)):
            return self.container(value)
        if isinstance(value, int) and hasattr(value, "expression"):  # a size that a capture gave a name to
            return repr(int(value))
        if kind is device:
            index = "" if value.index is None else f", {value.index}"
            return f"{PACKAGE}.device({value.type!r}{index})"
        name = getattr(value, "name", None)  # of data types, layouts and memory formats, also that in the package
        if isinstance(name, str) and getattr(sys.modules[PACKAGE], name, None) is value:
            return f"{PACKAGE}.{name}"
        if callable(value) and hasattr(value, "__name__"):
            return self.callable(value)
        return self.constant(value, kind.__name__)

    def container(self, value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.value(key)}: {self.value(each)}" for key, each in value.items()) + "}"
        if isinstance(value, slice):
            bounds = ", ".join(self.value(each) for each in (value.start, value.stop, value.step))
            return f"{self.builtin('slice')}({bounds})"
        if isinstance(value, range):
            self.builtin("range")
            return repr(value)
        items = [self.value(each) for each in value]
        inside = ", ".join(items)
        if isinstance(value, (set, frozenset)):
            kind = "frozenset" if isinstance(value, frozenset) else "set"
            return f"{self.builtin(kind)}([{', '.join(sorted(items))}])"
        if isinstance(value, list):
            return f"[{inside}]"
        plain = f"({inside},)" if len(items) == 1 else f"({inside})"
        if type(value) is tuple:
            return plain
        if type(value) is Size:
            return f"{PACKAGE}.Size({plain})"
        return f"{self.callable(type(value))}({inside if hasattr(value, '_fields') else plain})"

    def callable(self, target: Any) -> str:
        """A function or class: by its path, or where it has none by a name among the globals."""
        path = path_of(target)
        if path is None:
            return self.constant(target, getattr(target, "__name__", type(target).__name__))
        first, dot, rest = path.partition(".")
        if not dot:
            return self.builtin(path)
        if first == PACKAGE:
            return path
        return f"{self.constant(sys.modules[first], first)}.{rest}"

    def builtin(self, name: str) -> str:
        """The name of a builtin, which is then used."""
        self.builtins.add(name)
        return name

    def constant(self, value: Any, name: str) -> str:
        """The name among the globals of what can't be printed."""
        found = self._by_identity.get(id(value))
        if found is None:
            found = self._by_identity[id(value)] = self.unique(name if name.isidentifier() else "constant")
            self.globals[found] = value
        return found

    def unique(self, name: str) -> str:
        count = 0
        found = name
        while found in self.taken:
            count += 1
            found = f"{name}_{count}"
        self.taken.add(found)
        return found


def body_name(node: Node, key: str) -> str:
    """What the sub-graph of a node is called in print."""
    return f"{node.name}_{key}"


def readable(graph: Graph, name: str, free_dead: bool = False) -> str:
    """A graph as a class, with shapes and sources in comments, and its sub-graphs as classes in it."""
    return "\n".join(_class(graph, name, free_dead)) + "\n"


def _class(graph: Graph, name: str, free_dead: bool) -> list[str]:
    lines = GraphPrinter(graph, "self", free_dead, comments=True).function("forward", graph, "self")
    for node in graph.nodes:
        for key, body in node.bodies.items():
            lines += ["", *_class(body, body_name(node, key), free_dead)]
    return [f"class {name}({PACKAGE}.nn.Module):", *("    " + line if line else "" for line in lines)]


def describe(value: Any) -> str:
    """Type and shape of what a node gives, short: ``f32[8, B, 64]``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {describe(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        items = ", ".join(describe(each) for each in value)
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' if len(value) == 1 else ''})"
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or kind is None:
        return str(getattr(value, "expression", value))
    found = kind if isinstance(kind, Dtype) else BY_NUMPY.get(kind)
    sizes = ", ".join(str(getattr(size, "expression", size)) for size in shape)
    return f"{found.abbr if found is not None else kind}[{sizes}]"


def source_of(node: Node, prefix: str = "") -> str:
    """Where in the user's program a node comes from, as text; nothing where that is not known."""
    source, module = node.meta.get("source"), node.meta.get("module")
    if not source:
        return ""
    file, line, function = source
    return f"{prefix}File: {os.path.basename(file)}:{line} in {function}" + (f", module {module}" if module else "")
