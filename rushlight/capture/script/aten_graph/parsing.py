"""Reads the text of a graph in PyTorch's form: what :mod:`printing` writes, and what people write by hand."""

from __future__ import annotations

import ast
import re
from typing import Any

from ....core.devices import device
from ....tensor.construct import tensor
from ..frontend.types import ANY, INT, NONE, NUMBER, SIMPLE, TENSOR, DictType, ListType, OptionalType, TupleType, Type, UnionType
from .ir import AtenBlock, AtenGraph, AtenNode, AtenValue
from .tensor_type import SCALAR_TYPES, Sized

_TOKENS = re.compile(
    r"\s*(?:(?P<comment>\#[^\n]*)|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<value>%[\w.]+)"
    r"|(?P<number>-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|inf|nan)(?![\w:])(?:j)?)|(?P<arrow>->)|(?P<name>\^?[A-Za-z_][\w.]*(?:::[\w.]+)?)"
    r"|(?P<sign><[^<>\n]*>|[()\[\]{},:=?*]))"
)
_SINGLE: dict[str, type] = {"Optional": OptionalType, "List": ListType}
_NAMES: dict[str, Type] = {**SIMPLE, "Scalar": NUMBER, "None": NONE, "AnyType": ANY, "t": TENSOR}


class GraphReader:
    """Reads one text."""

    def __init__(self, text: str, with_tensors: bool) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKENS.match(text, at)
            if found is None:
                raise RuntimeError(f"the text of a graph can't be read here: {text[at:].strip().splitlines()[0]!r}")
            at = found.end()
            if found.lastgroup != "comment":
                self.tokens.append((str(found.lastgroup), found[found.lastgroup]))  # type: ignore[index]
        self.at, self.with_tensors = 0, with_tensors
        self.made = AtenGraph()
        self.values: dict[str, AtenValue] = {}

    # -- tokens ------------------------------------------------------------------------------------------------------

    def next_is(self, *texts: str, ahead: int = 0) -> bool:
        """Whether one of these texts is next."""
        return self.at + ahead < len(self.tokens) and self.tokens[self.at + ahead][1] in texts

    def take(self, text: str | None = None) -> str:
        """The next token, which may have to be a certain one."""
        if self.at >= len(self.tokens) or (text is not None and self.tokens[self.at][1] != text):
            found = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "the end"
            raise RuntimeError(f"expected {text!r} in the text of a graph, and found {found}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def taken(self, text: str) -> bool:
        """Take a token if it is next."""
        if self.next_is(text):
            self.at += 1
            return True
        return False

    def listed(self, end: str, item: Any) -> list[Any]:
        """Items with commas between them, up to a sign."""
        found = []
        while not self.taken(end):
            found.append(item())
            if not self.next_is(end):
                self.take(",")
        return found

    # -- types -------------------------------------------------------------------------------------------------------

    def type(self) -> Any:
        """A type."""
        if self.taken("("):
            kind: Any = TupleType(tuple(self.listed(")", self.type)))
        else:
            kind = self.named_type(self.take())
        while True:
            if self.next_is("[") and self.next_is("]", ahead=1):
                self.at += 2
                kind = ListType(_without_facts(kind))
            elif self.taken("?"):
                kind = OptionalType(_without_facts(kind))
            else:
                return kind

    def named_type(self, name: str) -> Any:
        """A type that begins with a name."""
        elements = SCALAR_TYPES.get(name, SCALAR_TYPES.get(name.removesuffix("Tensor")) if name.endswith("Tensor") else None)
        if elements is not None or (name == "Tensor" and self.next_is("(")):
            return self.tensor_type(Sized(elements))
        if name in ("Dict", "Union", "Optional", "List", "Tuple") and self.next_is("(", "["):
            inner = [_without_facts(each) for each in self.listed(")" if self.take() == "(" else "]", self.type)]
            several = {"Union": UnionType, "Tuple": TupleType}
            return DictType(*inner) if name == "Dict" else several[name](tuple(inner)) if name in several else _SINGLE[name](inner[0])
        if name not in _NAMES and not name.startswith("__torch__"):
            raise RuntimeError(f"unknown type name {name!r} in the text of a graph")
        return _NAMES.get(name) or Type(name)

    def tensor_type(self, kind: Sized) -> Sized:
        """The facts about a tensor in parentheses."""
        if not self.taken("("):
            return kind
        facts: dict[str, Any] = {}

        def fact() -> Any:
            if self.tokens[self.at][0] == "name" and self.next_is("=", ahead=1):
                name = self.take()
                self.take("=")
                if name == "strides":
                    self.take("[")
                    facts["strides"] = self.listed("]", lambda: int(self.take()))
                elif name == "requires_grad":
                    facts["grad"] = bool(int(self.take()))
                else:
                    place = self.take()
                    facts["place"] = device(f"{place}:{self.take()}" if self.taken(":") else place)
                return ...
            size = self.take()
            return None if not size.isdigit() else int(size)

        facts["shape"] = [each for each in self.listed(")", fact) if each is not ...]
        return kind.changed(**facts)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def graph(self) -> AtenGraph:
        """The whole graph."""
        self.take("graph")
        self.take("(")
        self.parameters(self.made, ")")
        self.take(":")
        while not self.next_is("return"):
            self.node(self.made)
        self.take("return")
        self.take("(")
        self.made._return._inputs = self.listed(")", self.used)
        return self.made

    def parameters(self, block: AtenBlock, end: str) -> None:
        """What a block is given."""
        for name, kind in self.listed(end, self.declared):
            self.define(block._param, name, kind)

    def declared(self) -> tuple[str, Any]:
        """A value with its type, which is a tensor's where it is not said."""
        name = self.take()[1:]
        return name, self.type() if self.taken(":") else TENSOR

    def define(self, node: AtenNode, name: str, kind: Any) -> None:
        """A result of a node; a name that is a number is the value's own."""
        value = self.values[name] = node.addOutput(kind)
        if not name.isdigit():
            value.setDebugName(name)
        else:
            value._name = name
            self.made._names.add(name)

    def used(self) -> AtenValue:
        """A value that is known."""
        name = self.take()[1:]
        if name not in self.values:
            raise RuntimeError(f"Cannot find a variable with name '{name}'")
        return self.values[name]

    def node(self, block: AtenBlock) -> None:
        """One line, with its blocks."""
        results = []
        if self.tokens[self.at][0] == "value":
            results.append(self.declared())
            while self.taken(","):
                results.append(self.declared())
            self.take("=")
        made = AtenNode(self.made, self.take())
        block.append(made)
        if self.taken("["):
            for name, value in self.listed("]", self.attribute):
                made._attributes[name] = value
        self.take("(")
        made._inputs = self.listed(")", self.used)
        while self.at < len(self.tokens) and re.fullmatch(r"block\d+", self.tokens[self.at][1]):
            self.take()
            inner = made.addBlock()
            self.take("(")
            self.parameters(inner, ")")
            self.take(":")
            while not self.next_is("->"):
                self.node(inner)
            self.take("->")
            self.take("(")
            inner._return._inputs = self.listed(")", self.used)
        for name, kind in results:
            self.define(made, name, kind)
        if made._kind == "prim::Constant" and results and "value" in made._attributes:
            made._attributes["value"] = self.constant(made._attributes["value"], results[0][1])

    def attribute(self) -> tuple[str, Any]:
        """A name and what it is."""
        name = self.take()
        self.take("=")
        return name, self.literal()

    def literal(self) -> Any:
        """A number, a text, a list of them."""
        if self.taken("["):
            return self.listed("]", self.literal)
        if self.taken("{"):
            return self.listed("}", self.literal)[0]
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "string":
            return ast.literal_eval(text)
        if kind == "number":
            return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        if text.startswith("<"):
            return ...
        if text == "annotate":  # annotate(type, literal): the type is that of the result
            self.take("(")
            self.type()
            self.take(",")
            found = self.literal()
            self.take(")")
            return found
        self.at -= 1
        return self.type()

    def constant(self, value: Any, kind: Any) -> Any:
        """A constant of the type that its result has."""
        name = repr(kind)
        if kind == TENSOR or isinstance(kind, Sized):
            if value is ...:
                if not self.with_tensors:
                    raise RuntimeError(
                        "the elements of a constant tensor are not in the text: pass parse_tensor_constants=True for others in their place"
                    )
                shape = kind.sizes() if isinstance(kind, Sized) else None
                return tensor(0.0, dtype=getattr(kind, "_dtype", None)).expand(shape or ()).clone()
            shape = kind.sizes() if isinstance(kind, Sized) and not isinstance(value, list) else None
            return tensor(value, dtype=getattr(kind, "_dtype", None)).reshape(
                shape if shape is not None else -1 if isinstance(value, list) else ()
            )
        if name == "bool":
            return bool(value)
        if name == "float":
            return float(value)
        return device(value) if name == "Device" else value if kind != INT else int(value)


def _without_facts(kind: Any) -> Any:
    """A type as others have it in them."""
    return TENSOR if isinstance(kind, Sized) else kind


def parse_graph(text: str, with_tensors: bool = False) -> AtenGraph:
    """The graph that a text describes."""
    return GraphReader(text, with_tensors).graph()
