"""The graph of ONNX nodes that the exporter builds, before it becomes a file.

Values and nodes answer to the names that ``symbolic`` functions know from PyTorch (``value.type().sizes()``,
``node.kind()``, ``graph.nodes()``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.dtypes import BY_NUMPY, legacy_name
from .errors import SymbolicValueError
from .shapes import infer


class TensorType:
    """What is known about a value: its element type and its shape (None for a size that is not fixed)."""

    def __init__(self, dtype: Any, shape: tuple[Any, ...] | None) -> None:
        self._dtype = dtype
        self._shape = shape

    def sizes(self) -> list[int | None] | None:
        """The sizes; None for a dynamic one, or for a shape that is not known at all."""
        return None if self._shape is None else [each if type(each) is int else None for each in self._shape]

    def varyingSizes(self) -> list[int | None] | None:
        return self.sizes()

    def dim(self) -> int | None:
        """The number of dimensions."""
        return None if self._shape is None else len(self._shape)

    def scalarType(self) -> str | None:
        """The element type by its old name: ``"Float"``, ``"Long"``."""
        return None if self._dtype is None else legacy_name(self._dtype)

    def dtype(self) -> Any:
        """The element type."""
        return None if self._dtype is None else BY_NUMPY[self._dtype]

    def kind(self) -> str:
        return "TensorType"

    def isSubtypeOf(self, other: Any) -> bool:
        return isinstance(other, TensorType)

    def with_sizes(self, sizes: Any) -> TensorType:
        """The same type with other sizes."""
        return TensorType(self._dtype, None if sizes is None else tuple(sizes))

    def with_dtype(self, dtype: Any) -> TensorType:
        """The same type with other elements."""
        return TensorType(dtype.numpy, self._shape)

    def __str__(self) -> str:
        name = self.scalarType() or "Tensor"
        if self._shape is None:
            return f"{name}(*)"
        return f"{name}({', '.join(str(getattr(each, 'expression', '*' if each is None else each)) for each in self._shape)})"

    __repr__ = __str__


class OnnxValue:
    """A tensor in the ONNX graph.  ``shape`` may hold symbolic sizes; ``constant`` is its array where that is known."""

    __slots__ = ("constant", "container", "dtype", "name", "owner", "packed", "pair", "python", "quantizer", "shape")

    def __init__(self, owner: OnnxNode | None, dtype: Any, shape: tuple[Any, ...] | None, name: str = "") -> None:
        self.owner = owner
        self.dtype = dtype  # NumPy's
        self.shape = shape
        self.name = name
        self.constant: np.ndarray | None = None
        self.python: Any = NO_PYTHON  # of an argument that is no tensor: the Python value
        self.pair: OnnxValue | None = None  # of complex numbers: real and imaginary parts along a last dimension
        self.quantizer: Any = None  # of the real numbers of a quantized tensor: how it is quantized
        self.container = ""  # "sequence" of tensors of this type, or "optional"
        self.packed: Any = None  # of packed sequences: the padded value and the lengths

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        shape = self.known_shape()
        if shape is None:
            raise SymbolicValueError("the number of dimensions of this value is not known", self)
        return len(shape)

    def known_shape(self) -> tuple[Any, ...] | None:
        """The shape, inferred by ONNX where nothing else has said it; None where it is not known."""
        if self.shape is None and self.owner is not None and self.owner.opset:
            infer(self.owner, self.owner.opset)
        return self.shape

    def __repr__(self) -> str:
        return f"%{self.name}" if self.name else f"<value of {self.owner.kind() if self.owner else 'nothing'}>"

    # The names that symbolic functions know.

    def node(self) -> OnnxNode:
        """The node that makes it."""
        if self.owner is None:
            return OnnxNode("prim::Param", [], {}, 0)
        return self.owner

    def type(self) -> TensorType:
        """What is known about it."""
        return TensorType(self.dtype, self.known_shape())

    def setType(self, kind: Any) -> OnnxValue:
        """Say what is known about it."""
        if isinstance(kind, OnnxValue):
            kind = kind.type()
        self.dtype, self.shape = kind._dtype, kind._shape
        return self

    def setTypeAs(self, other: OnnxValue) -> OnnxValue:
        return self.setType(other.type())

    def isCompleteTensor(self) -> bool:
        return self.shape is not None and self.dtype is not None and all(type(each) is int for each in self.shape)

    def requires_grad(self) -> bool:
        return False

    def debugName(self) -> str:
        """Its name in the file."""
        return self.name

    def setDebugName(self, name: str) -> OnnxValue:
        self.name = name
        return self

    def toIValue(self) -> Any:
        """The Python value of a constant, or None."""
        if self.python is not NO_PYTHON:
            return self.python
        return None if self.constant is None else self.constant


NO_PYTHON: Any = type("NoPython", (), {"__repr__": lambda self: "<no value>"})()


class OnnxNode:
    """An operation: ``kind`` is ``onnx::Add``, or another domain's (``com.microsoft::Gelu``, ``aten::ATen``)."""

    __slots__ = ("_inputs", "_kind", "_outputs", "attributes", "metadata", "module", "name", "opset", "source")

    def __init__(self, kind: str, inputs: list[OnnxValue | None], attributes: dict[str, Any], outputs: int) -> None:
        self._kind = kind
        self._inputs = inputs
        self.attributes = attributes
        self._outputs = [OnnxValue(self, None, None) for _ in range(outputs)]
        self.name = ""
        self.source: Any = None
        self.module = ""
        self.opset = 0  # of the graph
        self.metadata: dict[str, str] = {}  # of users, beside what the file says of every node

    @property
    def domain(self) -> str:
        """The operator set it belongs to, as the file names it."""
        space = self._kind.partition("::")[0]
        return {"onnx": "", "aten": "org.pytorch.aten"}.get(space, space)

    @property
    def op_type(self) -> str:
        return self._kind.partition("::")[2]

    def kind(self) -> str:
        """Domain and operation: ``onnx::Add``."""
        return self._kind

    def inputs(self) -> Iterator[OnnxValue]:
        return iter([each for each in self._inputs if each is not None])

    def inputsAt(self, index: int) -> OnnxValue:
        found = self._inputs[index]
        assert found is not None
        return found

    input = inputsAt

    def inputsSize(self) -> int:
        return len(self._inputs)

    def outputs(self) -> Iterator[OnnxValue]:
        return iter(self._outputs)

    def outputsAt(self, index: int) -> OnnxValue:
        return self._outputs[index]

    def output(self) -> OnnxValue:
        """The only output."""
        if len(self._outputs) != 1:
            raise ValueError(f"{self._kind} has {len(self._outputs)} outputs")
        return self._outputs[0]

    def outputsSize(self) -> int:
        return len(self._outputs)

    def sourceRange(self) -> str:
        """The user's line that it comes from."""
        return f"{self.source[0]}:{self.source[1]} in {self.source[2]}" if self.source else "<no source>"

    def scopeName(self) -> str:
        """The path of the Module that it comes from."""
        return self.module

    def attributeNames(self) -> list[str]:
        return list(self.attributes)

    def hasAttribute(self, name: str) -> bool:
        return name in self.attributes

    def kindOf(self, name: str) -> str:
        """How an attribute is stored: i, f, s, t, is, fs, ss."""
        value = self.attributes[name]
        if isinstance(value, (list, tuple)):
            return _letter(value[0]) + "s" if value else "is"
        return _letter(value)

    def attribute(self, name: str) -> Any:
        return self.attributes[name]

    def set_attribute(self, name: str, value: Any) -> OnnxNode:
        """Set an attribute; the node again."""
        self.attributes[name] = value
        return self

    i = f = s = t = g = z = attribute

    def __getattr__(self, name: str) -> Any:
        # `is` is a keyword, and so can't be defined above: node.is_("axes"), node.fs("scales"), ...
        if name in ("is", "is_", "fs", "ss", "ts"):
            return self.attribute
        if name in ("i_", "f_", "s_", "t_"):
            return self.set_attribute
        raise AttributeError(f"a node has no attribute '{name}'")

    def __str__(self) -> str:
        outputs = ", ".join(f"%{each.name} : {each.type()}" for each in self._outputs)
        inputs = ", ".join("%" + each.name if each is not None else "none" for each in self._inputs)
        attributes = ", ".join(f"{name}={_show(value)}" for name, value in self.attributes.items())
        return f"{outputs} = {self._kind}{f'[{attributes}]' if attributes else ''}({inputs})"

    __repr__ = __str__


def _letter(value: Any) -> str:
    if isinstance(value, str):
        return "s"
    if isinstance(value, (bool, int, np.integer)):
        return "i"
    if isinstance(value, (float, np.floating)):
        return "f"
    return "g" if isinstance(value, OnnxGraph) else "t"


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {list(value.shape)}>" if value.size > 8 else str(value.tolist())
    if isinstance(value, OnnxGraph):
        return "{\n" + str(value) + "\n}"
    return repr(value)


class OnnxGraph:
    """Nodes in order, inputs, outputs, and the tensors that are stored with them."""

    def __init__(self) -> None:
        self._nodes: list[OnnxNode] = []
        self._inputs: list[OnnxValue] = []
        self._outputs: list[OnnxValue] = []
        self.initializers: dict[str, OnnxValue] = {}  # by name, in the order of the file
        self.kept_inputs: list[int] | None = None  # which of the program's inputs are left, where some may have gone

    def nodes(self) -> Iterator[OnnxNode]:
        """The nodes, in order."""
        return iter(self._nodes)

    def used(self) -> set[int]:
        """The identities of all values that nodes take (those in bodies, too) or that are returned."""
        found = {id(each) for each in self._outputs}
        for node in self._nodes:
            found |= {id(each) for each in node._inputs}
            for value in node.attributes.values():
                for each in value if isinstance(value, (list, tuple)) else (value,):
                    if isinstance(each, OnnxGraph):
                        found |= each.used()
        return found

    def drop_unused_inputs(self) -> None:
        """Leave out inputs that nothing is computed from, as PyTorch's TorchScript exporter does."""
        used = self.used()
        self.kept_inputs = [at for at, each in enumerate(self._inputs) if id(each) in used]
        self._inputs = [self._inputs[at] for at in self.kept_inputs]

    def inputs(self) -> Iterator[OnnxValue]:
        return iter(self._inputs)

    def outputs(self) -> Iterator[OnnxValue]:
        return iter(self._outputs)

    def __str__(self) -> str:
        inputs = ",\n      ".join(f"%{each.name} : {each.type()}" for each in (*self._inputs, *self.initializers.values()))
        lines = [f"graph({inputs}):"]
        for node in self._nodes:
            scope = f", scope: {node.module}" if node.module else ""
            lines.append(f"  {node}{scope} # {node.sourceRange()}")
        lines.append(f"  return ({', '.join('%' + each.name for each in self._outputs)})")
        return "\n".join(lines)

    __repr__ = __str__
