"""ONNX forms that users give to ops: ``register_custom_op_symbolic`` and the registry behind it."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..core.declare import table
from .errors import OnnxExporterError

_NAME = re.compile(r"^[a-zA-Z0-9_.]*::[a-zA-Z0-9_.]+$")


class SymbolicContext:
    """What a symbolic function of ``prim::PythonOp`` may want to know: the node, and the Function that it applies."""

    def __init__(self, g: Any, node: Any, function: Any) -> None:
        self.g = g
        self.cur_node = node
        self.function = function
        self.params_dict = g.params_dict
        self.env: dict[Any, Any] = {}
        self.onnx_block = g.graph


class FunctionGroup:
    """The forms registered for one name, by the opset from which they hold."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: dict[int, Callable[..., Any]] = {}

    def get(self, opset: int) -> Callable[..., Any] | None:
        """The form for an opset: the latest that is not later than it."""
        fitting = [each for each in self.functions if each <= opset]
        return self.functions[max(fitting)] if fitting else None

    def get_min_supported(self) -> int:
        """The first opset that has a form."""
        return min(self.functions, default=1)


class SymbolicRegistry:
    """Which ops can be exported: those of the table, and those that users have given a form."""

    def __init__(self) -> None:
        self.groups: dict[str, FunctionGroup] = {}

    def register(self, name: str, opset: int, function: Callable[..., Any], custom: bool = True) -> None:
        """Give an op a form from an opset on."""
        self.groups.setdefault(name, FunctionGroup(name)).functions[opset] = function

    def unregister(self, name: str, opset: int) -> None:
        """Take a user's form away."""
        group = self.groups.get(name)
        if group is not None:
            group.functions.pop(opset, None)
            if not group.functions:
                del self.groups[name]

    def custom(self, name: str, opset: int) -> Callable[..., Any] | None:
        """What a user has registered for a name, for an opset."""
        group = self.groups.get(name)
        return None if group is None else group.get(opset)

    def get_function_group(self, name: str) -> FunctionGroup | None:
        """The forms of an op; None for one that has none, which then is exported as the mode says."""
        group = self.groups.get(name)
        if group is not None:
            return group
        return FunctionGroup(name) if name.startswith("aten::") else None

    def is_registered_op(self, name: str, version: int) -> bool:
        """Whether an op has a form for an opset."""
        if self.custom(name, version) is not None:
            return True
        op = table.get(name.partition("::")[2])
        return op is not None and (op.onnx is not None or op.body is not None)

    def all_functions(self) -> set[str]:
        """The names that users have registered."""
        return set(self.groups)

    @staticmethod
    def count(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
        """How many of an op's arguments a symbolic function takes (after ``g``)."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return len(args)
        if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
            return len(args)
        positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        return min(len(args), len(positional) - 1)

    @staticmethod
    def context_arguments(function: Callable[..., Any], context: SymbolicContext) -> tuple[Any, ...]:
        """The context, where a symbolic function's first parameter is annotated to take it."""
        annotations = list(getattr(function, "__annotations__", {}).values())
        first = annotations[0] if annotations else None
        wanted = first is SymbolicContext or (isinstance(first, str) and first.endswith("SymbolicContext"))
        return (context,) if wanted else ()

    @staticmethod
    def named_arguments(function: Callable[..., Any], applied: Any) -> dict[str, str]:
        """What a symbolic function of ``prim::PythonOp`` gets by name, as far as it takes it: ``name`` and ``module`` of the Function."""
        parameters = inspect.signature(function).parameters.values()
        every = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
        taken = {each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
        return {name: getattr(applied, f"__{name}__") for name in ("name", "module") if every or name in taken}


registry = SymbolicRegistry()


def _checked(name: str) -> str:
    if name.startswith("::"):
        name = f"aten{name}"
    if not _NAME.match(name):
        raise OnnxExporterError(
            f"Failed to register operator {name}. The symbolic name must match the format domain::name, and should start with a letter "
            "and contain only alphanumerical characters"
        )
    namespace = name.partition("::")[0]
    if namespace == "onnx":
        raise OnnxExporterError(f"Failed to register operator {name}. {namespace} domain cannot be modified.")
    return name


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Export an op (``"aten::clamp"``, ``"mydomain::op"``) by a function ``symbolic(g, *args)`` from an opset on."""
    registry.register(_checked(symbolic_name), opset_version, symbolic_fn)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take such a function away."""
    registry.unregister(_checked(symbolic_name), opset_version)


@contextlib.contextmanager
def registered(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> Iterator[None]:
    """Export an op by a function within a ``with`` block."""
    register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version)
    try:
        yield
    finally:
        unregister_custom_op_symbolic(symbolic_name, opset_version)
