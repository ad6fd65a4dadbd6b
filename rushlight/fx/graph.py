"""``Graph`` in PyTorch's notation: its names, its generated code, its printed form."""

from __future__ import annotations

import builtins
import keyword
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.declare import PACKAGE
from ..core.devices import device
from ..core.errors import GraphError
from ..core.size import Size
from ..graph import Graph as HouseGraph
from ..graph import Interpreter
from ..graph.graph import GraphNames
from ..graph.node import OPCODES, Node, last_uses, map_arg
from ..graph.printer import PythonCode
from ..graph.targets import path_of

_INFIX = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}", "invert": "~{}",
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}",
    "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
_IN_PLACE = {f"i{name}": f"{{}} {symbol}= {{}}" for name, symbol in (
    ("add", "+"), ("and", "&"), ("floordiv", "//"), ("lshift", "<<"), ("mod", "%"), ("mul", "*"), ("matmul", "@"), ("or", "|"), ("pow", "**"), ("rshift", ">>"), ("sub", "-"),
    ("truediv", "/"), ("xor", "^"))}  # fmt: skip
_WORDS = frozenset((*keyword.kwlist, "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"))
_SUFFIX = re.compile(r"(.*)_(\d+)$")


def snake_case(text: str) -> str:
    """``layer_norm`` of ``LayerNorm``."""
    characters: list[str] = []
    before = False
    for each in text:
        if before and each.isupper():
            characters.append("_")
        before = not each.isupper() and each != "_" and each.isalpha()
        characters.append(each.lower())
    return "".join(characters)


class Names(GraphNames):
    """Names of nodes by PyTorch's rule."""

    __slots__ = ()

    def free(self, candidate: str, target: Any = None) -> str:
        """The candidate, or one like it with a number where it is taken or means something in Python."""
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        found = _SUFFIX.match(name)
        base, number = (found[1], int(found[2])) if found else (name, 0)
        number = number or self.counts.get(base, 0)
        while name in self.taken or name in _WORDS or (name in vars(builtins) and vars(builtins)[name] is not target):
            number += 1
            name = f"{base}_{number}"
        self.counts[base] = number
        return name


class Namespace:
    """Names that are taken, for code that keeps them apart: PyTorch's class of this name."""

    def __init__(self) -> None:
        self._names = Names()

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A name that is free, from now on taken."""
        name = self._names.free(candidate, obj)
        self._names.taken.add(name)
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Take a name."""
        self._names.taken.add(name)


def qualified_name(target: Any) -> str:
    """The dotted name of a function, as PyTorch prints it: ``torch.cat``, ``operator.add``, ``builtins.getattr``."""
    if isinstance(target, str):
        return target
    found = path_of(target)
    if found is not None:
        if found.startswith(f"{PACKAGE}."):
            return "torch" + found.removeprefix(PACKAGE)
        return found if "." in found else f"builtins.{found}"
    module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
    if hasattr(target, "_overloadname") or hasattr(target, "_qualified_op_name"):
        return f"torch.ops.{target}"
    if name is None:
        return repr(target)
    if module is None:
        return str(name)
    module = "torch" + module.removeprefix(PACKAGE) if module.partition(".")[0] == PACKAGE else module
    return f"{module}.{name}"


def type_name(kind: Any) -> str:
    """A type as printed code has it."""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type) and not hasattr(kind, "__origin__"):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        public: Any = getattr(sys.modules[PACKAGE], kind.__name__, None)
        if public is kind:
            return f"torch.{kind.__name__}"
        return f"{kind.__module__}.{kind.__qualname__}".replace(f"{PACKAGE}.", "torch.")
    return str(kind).replace(f"{PACKAGE}.tensor.tensor.", "torch.").replace(f"{PACKAGE}.", "torch.").replace("typing.", "typing_")


class CodeGen:
    """Writes a graph as the source of ``forward``, in PyTorch's form."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        """The line that returns."""
        return f"return {self._repr(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Arguments as the graph takes them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Results as the caller gets them."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code uses beside its own."""
        return []

    def _repr(self, value: Any) -> str:
        return Writer(None, "self", self).value(value)


def placeholder_named(graph: Any, name: str) -> Node:
    """An input of exactly this name, also one that means something in Python, as exported programs have it: code gives it another."""
    node: Node = graph.placeholder(name)
    if node.name != name:
        graph._names.taken.discard(node.name)
        graph._names.counts.pop(name, None)
        node.name = name
        graph._names.taken.add(name)
    return node


@contextmanager
def code_names(graph: Any) -> Iterator[None]:
    """Names that code can have, for the nodes of a graph some of which have names that mean something in Python."""
    if not any(node.op == "placeholder" and (node.name in vars(builtins) or node.name in _WORDS) for node in graph.nodes):
        yield
        return
    before, names = {node: node.name for node in graph.nodes}, Names()
    try:
        for node in before:
            node.name = names.free(node.name)
            names.taken.add(node.name)
        yield
    finally:
        for node, name in before.items():
            node.name = name


class Writer:
    """Writes one graph as code."""

    def __init__(self, graph: Any, root: str, codegen: CodeGen, free_dead: bool = True) -> None:
        self.graph, self.root, self.codegen, self.free_dead = graph, root, codegen, free_dead
        package = sys.modules[PACKAGE]
        self.globals: dict[str, Any] = {
            "inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": package, "device": device, **dict(codegen.additional_globals()),
        }  # fmt: skip
        self.wrapped: list[str] = []

    def code(self) -> PythonCode:
        """The source and the globals that it needs."""
        with code_names(self.graph):
            body, free, annotation = self.lines()
        head = self.codegen.gen_fn_def(free, annotation)
        if self.codegen._body_transformer is not None:
            body = self.codegen._body_transformer(body)
        if not body:
            body = ["pass\n"]
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        text = "\n".join("    " + line for line in "".join(body).split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{text}", self.globals)

    def lines(self) -> tuple[list[str], list[str], str]:
        """The lines of the body, the parameters, and the annotation of the result."""
        dead = last_uses(self.graph) if self.free_dead else {}
        body: list[str] = []
        free: list[str] = []
        annotation = ""
        for node in self.graph.nodes:
            if node.op == "placeholder":
                name = node.target.lstrip("*")
                default = f" = {self.value(node.args[0])}" if node.args else ""
                free.append(f"{node.target}{self.annotation(node)}{default}")
                if name != node.name:
                    body.append(f"{node.name} = {name}\n")
                continue
            if node.op == "output":
                if node.type is not None:
                    annotation = f" -> {self.type(node.type)}"
                body.append(
                    self.codegen.generate_output(node.args[0])
                    if type(self.codegen) is not CodeGen
                    else f"return {self.value(node.args[0])}"
                )
                body.append("\n")
                continue
            gone = dead.get(node, [])
            end = f";  {' = '.join([*(each.name for each in gone), 'None'])}\n" if gone else "\n"
            body.append(f"{self.statement(node)}{end}")
        return body, free, annotation

    def annotation(self, node: Node) -> str:
        return "" if node.type is None else f" : {self.type(node.type)}"

    def type(self, kind: Any) -> str:
        name = type_name(kind)
        root = name.partition(".")[0].partition("[")[0]
        if root not in ("torch",) and not hasattr(builtins, root):
            text = re.sub(r"\W", "_", name)
            self.globals[text] = kind
            return text
        return name

    def statement(self, node: Node) -> str:
        """The assignment of a node's value."""
        head = f"{node.name}{self.annotation(node)} = "
        args = node.args
        if node.op == "get_attr":
            return f"{head}{format_target(self.root, node.target)}"
        if node.op == "call_method":
            return f"{head}{self.primary(args[0])}.{node.target}({self.arguments(args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{head}{format_target(self.root, node.target)}({self.arguments(args, node.kwargs)})"
        target = node.target
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if name in _INFIX and len(args) == _INFIX[name].count("{}"):
                return f"{head}{_INFIX[name].format(*(self.value(each) for each in args))}"
            if name in _IN_PLACE:
                return f"{_IN_PLACE[name].format(*(self.value(each) for each in args))};  {node.name} = {self.value(args[0])}"
        if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{head}{format_target(self.primary(args[0]), args[1])}"
        function = self.function(target)
        if node.meta.get("is_wrapped") and function not in self.wrapped:
            self.wrapped.append(function)
        bodies = node.bodies
        more = ""
        if bodies:
            names = {key: self.constant(f"{node.name}_{key}", _Body(self.graph, body)) for key, body in bodies.items()}
            more = ("" if not args and not node.kwargs else ", ") + "bodies = {" + ", ".join(f"{k!r}: {v}" for k, v in names.items()) + "}"
        return f"{head}{function}({self.arguments(args, node.kwargs)}{more})"

    def arguments(self, args: Any, kwargs: Any) -> str:
        parts = [self.value(each) for each in args]
        extra = {key: value for key, value in kwargs.items() if not key.isidentifier() or keyword.iskeyword(key)}  # never as code
        parts += [f"{key} = {self.value(value)}" for key, value in kwargs.items() if key not in extra]
        return ", ".join([*parts, f"**{self.value(extra)}"] if extra else parts)

    def primary(self, value: Any) -> str:
        return value.name if isinstance(value, Node) else self.value(value)

    def value(self, value: Any) -> str:
        """An argument as an expression."""
        kind = type(value)
        if kind is Node:
            return str(value.name)
        if isinstance(value, tuple):
            if kind is Size:
                return f"torch.Size([{', '.join(map(self.value, value))}])"
            inside = f"({self.value(value[0])},)" if len(value) == 1 else f"({', '.join(map(self.value, value))})"
            return inside if kind is tuple else f"{self.function(kind)}{inside if hasattr(value, '_fields') else f'({inside})'}"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(each)}" for key, each in value.items()) + "}"
        if kind is slice:
            return f"slice({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
        if value is None or kind in (bool, int, float, complex, str, bytes) or value is ...:
            return repr(value)
        if isinstance(value, int) and hasattr(value, "expression"):
            return repr(int(value))
        if kind is device:
            return repr(value)
        name = getattr(value, "name", None)
        if isinstance(name, str) and getattr(sys.modules[PACKAGE], name, None) is value:
            return f"torch.{name}"
        if callable(value) and hasattr(value, "__name__"):
            return self.function(value)
        return self.constant(f"_{kind.__name__}", value)

    def function(self, target: Any) -> str:
        """A function or class by a name that the code can use."""
        name = qualified_name(target)
        if name.startswith("builtins."):
            return name.removeprefix("builtins.")
        if name.startswith("torch.") and path_of(target) is not None or name.startswith("torch.ops."):
            return name
        module = getattr(target, "__module__", None)
        if module in ("_operator", "operator"):
            return self.constant(f"_operator_{target.__name__}", target)
        return self.constant(name.replace(".", "_"), target)

    def constant(self, name: str, value: Any) -> str:
        """The name of a global for what can't be written."""
        name = found = re.sub(r"\W", "_", name)
        number = 0
        while found in self.globals and self.globals[found] is not value:
            number += 1
            found = f"{name}_{number}"
        self.globals[found] = value
        return found


class _Body:
    """A sub-graph of a node, as a function."""

    def __init__(self, graph: Any, body: Any) -> None:
        self.graph, self.body = graph, body

    def __call__(self, *args: Any) -> Any:
        return Interpreter(self.graph.owning_module, self.body).run(*args)


def format_target(base: str, target: str) -> str:
    """``getattr(self.layers, "0").weight`` for ``layers.0.weight``."""
    for part in target.split("."):
        quoted = f'"{part}"' if repr(part) == f"'{part}'" and '"' not in part else repr(part)
        base = f"{base}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f"getattr({base}, {quoted})"
    return base


class Style:
    """How nodes and graphs print."""

    @staticmethod
    def format_node(node: Node) -> str:
        """One line for a node."""
        kind = f"{type_name(node.type)} " if node.type is not None else ""
        if node.op == "output":
            return f"return {Writer(None, 'self', CodeGen()).value(node.args[0])}"
        head = f"%{node.name} : {kind}[num_users={len(node.users)}] = {node.op}[target={qualified_name(node.target)}]"
        if node.op == "placeholder":
            return f"{head}(default={node.args[0]})" if node.args else head
        if node.op == "get_attr":
            return head
        return f"{head}(args = {show(node.args)}, kwargs = {show(node.kwargs)})"

    @staticmethod
    def format_graph(graph: Any) -> str:
        """All lines of a graph."""
        lines = [node.format_node() for node in graph.nodes]
        return "\n    ".join(["graph():", *lines])


def show(value: Any) -> str:
    """An argument as a line of a graph has it."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, tuple):
        inside = [show(each) for each in value]
        text = f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"
        return text if type(value) in (tuple,) else f"{type(value).__name__}{text}" if hasattr(value, "_fields") else text
    if isinstance(value, list):
        return f"[{', '.join(show(each) for each in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {show(each)}" for key, each in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice({show(value.start)}, {show(value.stop)}, {show(value.step)})"
    return qualified_name(value) if callable(value) and hasattr(value, "__name__") else str(value)


class _AnyGraph(type):
    """Makes every graph of the package an instance of ``fx.Graph``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, HouseGraph) if cls is Graph else type.__instancecheck__(cls, instance)


class Graph(HouseGraph, metaclass=_AnyGraph):
    """A program as a list of nodes, which names and prints them as PyTorch does."""

    style = Style

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        super().__init__(owning_module)
        self._names: Names = Names()
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    def create_node(
        self, op: str, target: Any, args: Any = None, kwargs: Any = None, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Make a node and put it where nodes go."""
        if op not in OPCODES:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if args is not None and not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        wanted = name if name is not None else self._target_to_str(target)
        found = self._names.free(wanted, target)
        self._names.taken.discard(found)
        node = super().create_node(op, target, args, kwargs, found, type_expr)
        return node

    def _target_to_str(self, target: Any) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        return snake_case(name[2:-2] if name.startswith("__") and name.endswith("__") else name)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that has no users."""
        if to_erase.users:
            raise GraphError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise GraphError(f"Attempting to remove {to_erase} from wrong graph!")
        super().erase_node(to_erase)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have code generated by something else."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Change generated code: given the transformer so far (or None), return the new one; undone by leaving the ``with`` block."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return _Undo(self._codegen, before)

    def process_inputs(self, *args: Any) -> Any:
        """Arguments as the graph takes them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Results as the caller gets them."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str = "self", *, free_dead: bool = True, **options: Any) -> PythonCode:
        """Source of a function ``forward`` that does what the graph does, and the globals that it needs."""
        return Writer(self, root_module, self._codegen, free_dead).code()

    def print_tabular(self) -> None:
        """Print the nodes as a table; in PyTorch this needs the package ``tabulate``."""
        super().print_tabular()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied: Any = super().__deepcopy__(memo)
        for mine, node in zip(copied.nodes, self.nodes):
            mine.name = node.name  # also where it means something in Python
        copied._codegen, copied._tracer_cls, copied._tracer_extras = self._codegen, self._tracer_cls, self._tracer_extras
        copied._names.counts.update(self._names.counts)
        return copied


class _Undo:
    """Sets a transformer back at the end of a ``with`` block."""

    def __init__(self, codegen: CodeGen, before: Any) -> None:
        self.codegen, self.before = codegen, before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: Any) -> None:
        self.codegen._body_transformer = self.before


class _PyTreeInfo:
    """Names of inputs and the structures of inputs and outputs."""

    def __init__(self, orig_args: list[str], in_spec: Any, out_spec: Any) -> None:
        self.orig_args, self.in_spec, self.out_spec = orig_args, in_spec, out_spec


__all__ = ["CodeGen", "Graph", "Namespace", "PythonCode", "map_arg", "qualified_name"]
