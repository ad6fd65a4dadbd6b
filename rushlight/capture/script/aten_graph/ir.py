"""The data of graphs in PyTorch's form: values, nodes, blocks and graphs, with the methods that PyTorch's have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ....core.base import TensorBase
from ..frontend.types import BOOL, COMPLEX, FLOAT, INT, NONE, STR, TENSOR, Type, type_of
from .printing import graph_text, node_text
from .tensor_type import Sized

_LETTERS: dict[Any, str] = {bool: "i", int: "i", float: "f", str: "s", complex: "c", list: "ival", dict: "ival", tuple: "ival"}


class Use(NamedTuple):
    """A place where a value is used: a node, and which of its inputs it is."""

    user: AtenNode
    offset: int


class AtenValue:
    """What a node gives, or what a block is given."""

    def __init__(self, node: AtenNode, kind: Any, name: str | None = None) -> None:
        self._node, self._type = node, kind
        graph = node._graph
        graph._count += 1
        self._number = graph._count
        self._name = name
        self._requires_grad = False

    def node(self) -> AtenNode:
        """What makes it."""
        return self._node

    def type(self) -> Any:
        """Its type."""
        return Sized() if self._type is TENSOR else self._type

    def setType(self, kind: Any) -> AtenValue:
        """Give it another type."""
        self._type = kind
        return self

    def unique(self) -> int:
        """Its number."""
        return self._number

    def debugName(self) -> str:
        """Its name, without the sign of percent."""
        return self._name if self._name is not None else str(self._number)

    def setDebugName(self, name: str) -> AtenValue:
        """Give it a name; where another value has it, that one gets a number behind its own."""
        self._name = self._node._graph.free_name(name)
        return self

    def uses(self) -> list[Use]:
        """Where it is used."""
        return [
            Use(node, at)
            for node in self._node._graph.all_nodes()
            for at, each in enumerate(node._inputs)
            if each is self
        ]  # fmt: skip

    def replaceAllUsesWith(self, other: AtenValue) -> None:
        """Put another value wherever this one is used."""
        for user, at in self.uses():
            user._inputs[at] = other

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor whose sizes are known."""
        return getattr(self._type, "sizes", lambda: None)() is not None

    def requires_grad(self) -> bool:
        """Whether it is known to want a gradient."""
        return bool(getattr(self._type, "requires_grad", lambda: self._requires_grad)())

    requiresGrad = requires_grad

    def toIValue(self) -> Any:
        """The Python value of a constant; None of all else."""
        return self._node._attributes.get("value") if self._node._kind == "prim::Constant" else None

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({node_text(self._node).strip()})"


class AtenNode:
    """A step: an operator, a constant, or one with blocks (a branch, a loop)."""

    def __init__(self, graph: AtenGraph, kind: str, inputs: Iterable[AtenValue] = (), source: str = "", scope: str = "") -> None:
        self._graph, self._kind, self._inputs, self._source, self._scope = graph, kind, list(inputs), source, scope
        self._outputs: list[AtenValue] = []
        self._blocks: list[AtenBlock] = []
        self._attributes: dict[str, Any] = {}
        self._block: AtenBlock | None = None

    def kind(self) -> str:
        """What it does: ``aten::add``."""
        return self._kind

    def inputs(self) -> Iterator[AtenValue]:
        """The arguments, in the order of the operator's schema."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[AtenValue]:
        """The results."""
        return iter(self._outputs)

    def input(self) -> AtenValue:
        """The one argument."""
        (found,) = self._inputs
        return found

    def output(self) -> AtenValue:
        """The one result."""
        if len(self._outputs) != 1:
            raise RuntimeError(f"{self._kind} has {len(self._outputs)} outputs, and not one")
        return self._outputs[0]

    def inputsAt(self, i: int) -> AtenValue:
        """An argument by its number."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> AtenValue:
        """A result by its number."""
        return self._outputs[i]

    def inputsSize(self) -> int:
        """How many arguments."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many results."""
        return len(self._outputs)

    def hasMultipleOutputs(self) -> bool:
        """Whether it has several results."""
        return len(self._outputs) > 1

    def hasUses(self) -> bool:
        """Whether something uses a result."""
        return any(each.uses() for each in self._outputs)

    def blocks(self) -> Iterator[AtenBlock]:
        """The blocks of a branch or loop."""
        return iter(self._blocks)

    def addBlock(self) -> AtenBlock:
        """A further block."""
        made = AtenBlock(self._graph, self)
        self._blocks.append(made)
        return made

    def owningBlock(self) -> AtenBlock | None:
        """The block in which it is."""
        return self._block

    def scopeName(self) -> str:
        """The Modules in which it ran, from outside to inside."""
        return self._scope

    def sourceRange(self) -> str:
        """The line of the program."""
        return self._source

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute of a name."""
        return name in self._attributes

    def hasAttributes(self) -> bool:
        """Whether it has attributes."""
        return bool(self._attributes)

    def attributeNames(self) -> list[str]:
        """The names of its attributes."""
        return list(self._attributes)

    def kindOf(self, name: str) -> str:
        """The letter of an attribute's type: the method of that name gives it."""
        value = self[name]
        return "t" if isinstance(value, TensorBase) else _LETTERS.get(type(value), "ival")

    def __getitem__(self, name: str) -> Any:
        if name not in self._attributes:
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return self._attributes[name]

    i = f = s = t = c = ival = __getitem__

    def _put(self, name: str, value: Any) -> AtenNode:
        self._attributes[name] = value
        return self

    i_ = f_ = s_ = t_ = ival_ = _put

    def removeAttribute(self, name: str) -> AtenNode:
        """Take an attribute away."""
        del self._attributes[name]
        return self

    def addOutput(self, kind: Any = TENSOR, name: str | None = None) -> AtenValue:
        """A further result."""
        made = AtenValue(self, kind, name)
        self._outputs.append(made)
        return made

    def eraseOutput(self, i: int) -> None:
        """Take a result away."""
        del self._outputs[i]

    def addInput(self, value: AtenValue) -> AtenValue:
        """A further argument."""
        self._inputs.append(value)
        return value

    def replaceInput(self, i: int, value: AtenValue) -> AtenValue:
        """Put another value in the place of an argument; gives that one."""
        before, self._inputs[i] = self._inputs[i], value
        return before

    def replaceInputWith(self, old: AtenValue, new: AtenValue) -> None:
        """Put a value wherever another one is an argument."""
        self._inputs = [new if each is old else each for each in self._inputs]

    def removeInput(self, i: int) -> None:
        """Take an argument away."""
        del self._inputs[i]

    def removeAllInputs(self) -> None:
        """Take all arguments away."""
        self._inputs = []

    def replaceAllUsesWith(self, other: AtenNode) -> None:
        """Use the results of another node in the place of those of this one."""
        for mine, theirs in zip(self._outputs, other._outputs):
            mine.replaceAllUsesWith(theirs)

    def insertBefore(self, other: AtenNode) -> AtenNode:
        """Put it before another node."""
        return self._place(other, 0)

    def insertAfter(self, other: AtenNode) -> AtenNode:
        """Put it after another node."""
        return self._place(other, 1)

    def _place(self, other: AtenNode, after: int) -> AtenNode:
        block = other._block
        assert block is not None
        if self._block is not None:
            self._block._nodes.remove(self)
        block._nodes.insert(block._nodes.index(other) + after, self)
        self._block = block
        return self

    moveBefore, moveAfter = insertBefore, insertAfter

    def destroy(self) -> None:
        """Remove it from its block; nothing may use it."""
        if self.hasUses():
            raise RuntimeError(f"{self._kind} can't be destroyed: its results are used")
        assert self._block is not None
        self._block._nodes.remove(self)
        self._block = None

    def findNode(self, kind: str, recurse: bool = True) -> AtenNode | None:
        """The first node of a kind in its blocks."""
        return next((each for block in self._blocks for each in block.find(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[AtenNode]:
        """All nodes of a kind in its blocks."""
        return [each for block in self._blocks for each in block.find(kind, recurse)]

    def mustBeNone(self) -> bool:
        """Whether its result is None."""
        return self._kind == "prim::Constant" and self._outputs[0]._type == NONE

    def __repr__(self) -> str:
        return node_text(self)


class AtenBlock:
    """Nodes in order, with inputs (of a loop's body) and results."""

    def __init__(self, graph: AtenGraph, owner: AtenNode | None = None) -> None:
        self._graph, self._owner = graph, owner
        self._nodes: list[AtenNode] = []
        self._param = AtenNode(graph, "prim::Param")
        self._return = AtenNode(graph, "prim::Return")
        self._param._block = self._return._block = self

    def nodes(self) -> Iterator[AtenNode]:
        """The nodes in order; some may be taken away meanwhile."""
        return iter(list(self._nodes))

    def inputs(self) -> Iterator[AtenValue]:
        """What it is given."""
        return iter(self._param._outputs)

    def outputs(self) -> Iterator[AtenValue]:
        """What it gives."""
        return iter(self._return._inputs)

    def paramNode(self) -> AtenNode:
        """The node whose results are the inputs."""
        return self._param

    def returnNode(self) -> AtenNode:
        """The node whose arguments are the results."""
        return self._return

    param_node, return_node = paramNode, returnNode

    def owningNode(self) -> AtenNode | None:
        """The node that has it."""
        return self._owner

    def addNode(self, name: str, inputs: Iterable[AtenValue] = ()) -> AtenNode:
        """A further node at the end, with one result."""
        made = AtenNode(self._graph, name, inputs)
        made.addOutput()
        return self.append(made)

    def addInputToBlock(self) -> AtenValue:
        """A further input."""
        return self._param.addOutput()

    def registerOutput(self, value: AtenValue) -> int:
        """A further result; gives its number."""
        self._return._inputs.append(value)
        return len(self._return._inputs) - 1

    def append(self, node: AtenNode) -> AtenNode:
        """Put a node at the end."""
        node._block = self
        self._nodes.append(node)
        return node

    def find(self, kind: str, recurse: bool = True) -> list[AtenNode]:
        """The nodes of a kind."""
        found = []
        for node in self._nodes:
            found += [node] * (node._kind == kind)
            for block in node._blocks if recurse else ():
                found += block.find(kind)
        return found

    def all_nodes(self) -> Iterator[AtenNode]:
        """All nodes, those of blocks inside and the returns included."""
        for node in self._nodes:
            yield node
            for block in node._blocks:
                yield from block.all_nodes()
        yield self._return


class AtenGraph(AtenBlock):
    """A whole program."""

    def __init__(self) -> None:
        self._count = -1
        self._names: set[str] = set()
        self.program: Any = None  # of which it was made: see build.py
        super().__init__(self)

    def free_name(self, name: str) -> str:
        """A name that no value has: with a number behind it, where it is taken."""
        stem, found, count = name, name, 0
        while found in self._names:
            count += 1
            found = f"{stem}.{count}"
        self._names.add(found)
        return found

    def findNode(self, kind: str, recurse: bool = True) -> AtenNode | None:
        """The first node of a kind such as ``aten::add``, also in blocks."""
        return next(iter(self.find(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[AtenNode]:
        """All nodes of a kind, also those in blocks."""
        return self.find(kind, recurse)

    def addInput(self, name: str = "") -> AtenValue:
        """A further input."""
        return self._param.addOutput(TENSOR, self.free_name(name) if name else None)

    def eraseInput(self, i: int) -> None:
        """Take an input away."""
        self._param.eraseOutput(i)

    def create(self, kind: str, inputs: Iterable[AtenValue] | int = (), outputs: int = 1) -> AtenNode:
        """A node that is not placed yet."""
        if isinstance(inputs, int):  # the number of results alone
            return self.create(kind, (), inputs)
        made = AtenNode(self, kind, inputs)
        for _ in range(outputs):
            made.addOutput()
        return made

    appendNode = insertNode = AtenBlock.append

    def prependNode(self, node: AtenNode) -> AtenNode:
        """Put a node before all others."""
        node._block = self
        self._nodes.insert(0, node)
        return node

    def constant(self, value: Any, kind: Any = None) -> AtenNode:
        """A node that gives a constant, not placed yet."""
        made = AtenNode(self, "prim::Constant")
        if value is not None:
            made._attributes["value"] = value
        made.addOutput(kind if kind is not None else _constant_type(value))
        return made

    def insertConstant(self, value: Any) -> AtenValue:
        """A constant at the end; gives its value."""
        return self.append(self.constant(value)).output()

    def copy(self) -> AtenGraph:
        """The same again."""
        made = AtenGraph()
        made.program, made._names = self.program, set(self._names)
        _copy(self, made, {})
        made._count = max(made._count, self._count)
        return made

    def lint(self) -> None:
        """Raise an error where a node uses what is not there."""
        _check(self, set())

    def __str__(self) -> str:
        return graph_text(self)

    __repr__ = __str__

    def str(self, print_source_ranges: bool = True) -> str:
        """The text; without ``print_source_ranges``, without the places in the program that nodes come from."""
        text = graph_text(self)
        return text if print_source_ranges else re.sub(r" # [^\n]*?:\d+:\d+$", "", text, flags=re.M)


def _constant_type(value: Any) -> Type:
    for kinds, kind in (((bool,), BOOL), ((int,), INT), ((float,), FLOAT), ((complex,), COMPLEX), ((str,), STR), ((type(None),), NONE)):
        if isinstance(value, kinds):
            return kind
    return type_of(value)


def _copy(block: AtenBlock, made: AtenBlock, values: dict[AtenValue, AtenValue]) -> None:
    def taken(source: AtenNode, target: AtenNode) -> None:
        for each in source._outputs:
            values[each] = other = target.addOutput(each._type, each._name)
            other._number = each._number

    taken(block._param, made._param)
    for node in block._nodes:
        other = AtenNode(made._graph, node._kind, [values[each] for each in node._inputs], node._source, node._scope)
        other._attributes = dict(node._attributes)
        for inner in node._blocks:
            _copy(inner, other.addBlock(), values)
        taken(node, other)
        made.append(other)
    made._return._inputs = [values[each] for each in block._return._inputs]


def _check(block: AtenBlock, known: set[AtenValue]) -> None:
    known = known | set(block._param._outputs)
    for node in (*block._nodes, block._return):
        for each in node._inputs:
            if each not in known:
                raise RuntimeError(f"{node._kind} uses %{each.debugName()}, which is not defined before it")
        for inner in node._blocks:
            _check(inner, known)
        known |= set(node._outputs)
