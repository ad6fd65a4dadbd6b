"""The registry of importers: for each operator of ONNX, the functions that say what it computes, in ordinary calls of ops.

An importer is written once for an operator and takes what a node gives it::

    @importer("Reshape", since=5)
    def reshape(node: NodeContext, data: Tensor, shape: Ints) -> Tensor: ...

Its parameters are the node's inputs in order (None for what is left out).  The annotation says in which form an input comes: ``Ints``, ``Int``,
``Floats``, ``Float``, ``Bool``, ``Number`` and ``Numbers`` are Python's numbers and lists (sizes and axes, which then stay known under a capture), everything
else is a tensor, a list of tensors (a sequence), ``Strings`` or None (an empty optional).  A parameter ``training`` after them is given whether the
model is in training mode.  It returns one value, or a tuple with one for each output (``node.outputs`` is how many the node has).  ``node.opset`` says
which version of the operator is meant; where versions have little in common, each is registered with the opset ``since`` which it holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ...core.base import TensorBase as Tensor
from ...core.declare import lookup, table
from ...core.dtypes import BY_NAME, dtype
from ..errors import ModelFileError, UnsupportedModelError
from ..types import ONNX_NUMBERS

Ints = list[int]
Int = int
Floats = list[float]
Float = float
Bool = bool
Number = Any  # a number of any type
Numbers = Any  # one, or nested lists
NUMBERS = frozenset(("Ints", "Int", "Floats", "Float", "Bool", "Number", "Numbers"))
STANDARD = ("", "ai.onnx")
Function = TypeVar("Function", bound=Callable[..., Any])


class Ops:
    """The ops of the table, as attributes: ``ops.conv2d(x, w)``."""

    def __getattr__(self, name: str) -> Any:
        if name not in table and f"nn_functional_{name}" in table:
            return lookup(f"nn_functional_{name}").call
        return lookup(name).call


ops = Ops()

# Element types that no tensor has are held by one that can hold all their values.
HOLDERS = {
    18: "float32",
    20: "float32",
    21: "uint8",
    22: "int8",
    23: "float32",
    24: "float32",
    25: "uint8",
    26: "int8",
    27: "float32",
    28: "float32",
}
_DTYPES: dict[int, dtype] = {number: BY_NAME[name] for name, number in ONNX_NUMBERS.items()}
_DTYPES.update({number: BY_NAME[name] for number, name in HOLDERS.items()})
STRING = 8


def dtype_of(number: int) -> dtype:
    """The dtype of the tensors that hold an element type of ONNX, given by its number."""
    found = _DTYPES.get(number)
    if found is None:
        raise UnsupportedModelError(f"the element type {number} of ONNX has no tensors here")
    return found


class Entry:
    """An importer and what its signature says."""

    __slots__ = ("forms", "function", "least", "since", "training", "variadic")

    def __init__(self, function: Callable[..., Any], since: int) -> None:
        self.function = function
        self.since = since
        self.forms: list[str] = []  # of each input: one of NUMBERS, or "" for a tensor
        self.variadic = False
        self.training = False
        self.least = 0  # how many inputs there must be
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            if parameter.name == "training":
                self.training = True
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                self.variadic = True
            elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                said = parameter.annotation if isinstance(parameter.annotation, str) else getattr(parameter.annotation, "__name__", "")
                form = said.partition(" ")[0]
                self.forms.append(form if form in NUMBERS else "")
                self.least += parameter.default is parameter.empty

    def form(self, position: int) -> str:
        """In which form an input comes."""
        return self.forms[position] if position < len(self.forms) else ""


importers: dict[tuple[str, str], list[Entry]] = {}  # by domain and name: from the newest on
numeric: dict[str, Callable[..., Any]] = {}  # operators of the standard domain on Python's numbers (``numbers.py``)


def importer(*names: str, domain: str = "", since: int = 1) -> Callable[[Function], Function]:
    """Register what operators compute, from an opset on."""

    def register(function: Function) -> Function:
        for name in names:
            add(domain, name, Entry(function, since))
        return function

    return register


def add(domain: str, name: str, entry: Entry) -> None:
    """Put an importer among those of its operator; one of the same opset gives way to it."""
    entries = importers.setdefault((_plain(domain), name), [])
    entries[:] = sorted([each for each in entries if each.since != entry.since] + [entry], key=lambda each: -each.since)


def register_op(name: str, function: Callable[..., Any], *, since: int = 1) -> None:
    """Register the function of a custom operator, ``"domain::Name"``, for files that use it.

    The function takes the node's inputs as tensors and its attributes as named arguments, and returns a tensor or a tuple of them::

        rushlight.onnx.register_op("my::Scaled", lambda x, *, alpha=1.0: alpha * x)
    """
    domain, separator, kind = name.rpartition("::")
    if not separator or not kind:
        raise ValueError(f"register_op() takes a name with its domain, like 'my::Op', not {name!r}")
    if not callable(function):
        raise TypeError(f"register_op() takes a function, not {type(function).__name__}")

    def run(node: NodeContext, *inputs: Any) -> Any:
        return function(*inputs, **node.attributes)

    add(domain, kind, Entry(run, since))


def find(domain: str, name: str, opset: int) -> Entry | None:
    """The importer of an operator at an opset."""
    return next((each for each in importers.get((_plain(domain), name), ()) if each.since <= opset), None)


def known_operators() -> Iterator[tuple[str, str]]:
    """Domain and name of all operators that have an importer."""
    yield from importers


def _plain(domain: str) -> str:
    return "" if domain in STANDARD else domain


class NodeContext:
    """The node that an importer is asked for: its attributes (``node["axis"]``, with the defaults of the standard), and what is known of it.

    ``opset`` is the version of its domain, ``outputs`` how many outputs it has, ``name`` what errors call it.
    """

    __slots__ = ("attributes", "bodies", "domain", "input_types", "kind", "name", "opset", "outputs")

    def __init__(
        self,
        kind: str,
        domain: str,
        opset: int,
        attributes: dict[str, Any],
        outputs: int = 1,
        name: str = "",
        input_types: tuple[int, ...] = (),
        bodies: dict[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.kind = kind
        self.domain = domain
        self.opset = opset
        self.attributes = attributes
        self.outputs = outputs
        self.name = name
        self.input_types = input_types  # ONNX's numbers for the element types, as far as the file says; 0 where it does not
        self.bodies = bodies or {}  # the graphs among the attributes, as functions

    def __getitem__(self, name: str) -> Any:
        found = self.attributes.get(name)
        if found is None:
            raise self.error(f"there is no attribute '{name}'")
        return found

    def __contains__(self, name: str) -> bool:
        return self.attributes.get(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or a default where the file does not have it and the standard has none."""
        found = self.attributes.get(name)
        return default if found is None else found

    def dtype(self, name: str, default: Any = None) -> Any:
        """An attribute that names an element type, as a dtype."""
        number = self.attributes.get(name)
        return default if not number else dtype_of(number)

    def input_type(self, position: int) -> int:
        """ONNX's number for the element type of an input, as far as the file says; 0 where it does not."""
        return self.input_types[position] if position < len(self.input_types) else 0

    def error(self, message: str) -> ModelFileError:
        """The error that a node is not valid."""
        return ModelFileError(f"{self}: {message}")

    def not_supported(self, message: str) -> UnsupportedModelError:
        """The error that a form of an operator has no meaning here."""
        return UnsupportedModelError(f"{self}: {message}")

    def __str__(self) -> str:
        place = f"{self.domain}::{self.kind}" if self.domain else self.kind
        return f"the node '{self.name}' ({place}, opset {self.opset})" if self.name else f"a node {place} (opset {self.opset})"


__all__ = [
    "Bool", "Entry", "Float", "Floats", "Int", "Ints", "NodeContext", "Number", "Numbers", "Tensor", "dtype_of", "find", "importer", "known_operators", "ops",
    "register_op",
]  # fmt: skip
