"""The functions that the nodes of a loaded graph call: an operator of ONNX at an opset, on tensors or on numbers."""

from __future__ import annotations

import functools
from typing import Any

from ...capture.compile.annotations import mark
from ...core.base import TensorBase
from ...core.errors import RushlightError
from ..errors import ModelFileError, UnsupportedModelError
from .numbers import as_numbers, as_tensor
from .registry import NodeContext, find, numeric
from .strings import Strings

_MISFITS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # what Python raises where operands do not fit


class OnnxOperator:
    """An operator of ONNX at an opset: called with the inputs of a node, its attributes by name, and what is known of the node in ``node``."""

    def __init__(self, domain: str, kind: str, opset: int) -> None:
        self.domain, self.kind, self.opset = domain, kind, opset
        self.__name__ = kind
        entry = find(domain, kind, opset)
        if entry is None:
            raise UnsupportedModelError(f"the operator {domain + '::' if domain else ''}{kind} (opset {opset}) is not known here")
        self.entry = entry
        self.function = entry.function
        self.numeric = any(entry.forms)
        self.of_lists = "Sequence" in kind  # which knows lists whose length depends on the inputs
        mark(self, "recorded")

    def __call__(
        self,
        *inputs: Any,
        node: tuple[str, int, tuple[int, ...]] = ("", 1, ()),
        bodies: Any = None,
        in_training: bool = False,
        **attributes: Any,
    ) -> Any:
        name, outputs, types = node
        context = NodeContext(self.kind, self.domain, self.opset, attributes, outputs, name, types, bodies)
        try:
            if self.numeric:
                inputs = tuple([coerced(self.entry.form(position), each) for position, each in enumerate(inputs)])
            if self.entry.training:
                result = self.function(context, *inputs, training=in_training)
            else:
                result = self.function(context, *inputs)
        except Exception as error:
            self.explain(error, context)
            raise
        return result[0] if outputs == 1 and result.__class__ is tuple else result

    def explain(self, error: Exception, context: NodeContext) -> None:
        """Say which node failed; a plain error of an importer means that the node and its inputs do not fit together."""
        own = self.function.__module__.startswith(f"{__package__}.importers") and not hasattr(
            error, "__notes__"
        )  # no function of a user's own
        if own and isinstance(error, _MISFITS) and not isinstance(error, RushlightError):
            raise ModelFileError(f"{context} can't be computed with these inputs and attributes: {error}") from error
        error.add_note(f"in {context}")

    def __deepcopy__(self, memo: Any) -> OnnxOperator:
        return self

    def __reduce__(self) -> Any:
        return (type(self), (self.domain, self.kind, self.opset))

    def __repr__(self) -> str:
        return f"{self.domain + '::' if self.domain else ''}{self.kind}@{self.opset}"


class NumericOperator(OnnxOperator):
    """The same on Python's numbers."""

    def __init__(self, domain: str, kind: str, opset: int) -> None:
        super().__init__(domain, kind, opset)
        self.on_numbers = numeric[kind]

    def __call__(self, *inputs: Any, node: tuple[str, int, tuple[int, ...]] = ("", 1, ()), **attributes: Any) -> Any:  # type: ignore[override]
        context = NodeContext(self.kind, self.domain, self.opset, attributes, node[1], node[0], node[2])
        try:
            made = self.on_numbers(context, *inputs)
        except Exception as error:
            self.explain(error, context)
            raise
        if made is not NotImplemented:
            return made
        given = [
            each if each is None or self.entry.form(position) else as_tensor(each, number) if not isinstance(each, TensorBase) else each
            for position, (each, number) in enumerate(zip(inputs, node[2]))
        ]
        return as_numbers(super().__call__(*given, node=node, **attributes))


class SizesOf(OnnxOperator):
    """``Shape``: the sizes of a tensor, as numbers."""

    def __call__(self, value: Any, *, node: Any = None, start: int = 0, end: int | None = None) -> Any:  # type: ignore[override]
        return list(value.shape)[slice(start, end)]


class CountOf(OnnxOperator):
    """``Size``: how many elements a tensor has, as a number."""

    def __call__(self, value: Any, *, node: Any = None) -> Any:  # type: ignore[override]
        return functools.reduce(lambda a, b: a * b, value.shape, 1)


def coerced(form: str, value: Any) -> Any:
    """An input in the form that an importer asks for."""
    if not form or value is None or isinstance(value, Strings):
        return value
    if form == "Number" and isinstance(value, TensorBase) and value.requires_grad:
        return value.reshape(())  # type: ignore[attr-defined]
    value = as_numbers(value)
    if form == "Numbers":
        return value
    if form in ("Ints", "Floats"):
        return list(value) if isinstance(value, list) else [value]
    while isinstance(value, list):
        (value,) = value
    return bool(value) if form == "Bool" and value.__class__ in (int, float) else value
