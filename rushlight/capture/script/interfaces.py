"""``jit.interface``: a class that says which methods objects (or Modules) have, whatever their own class is."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from ...nn.modules.module import Module
from .frontend.errors import ScriptError
from .frontend.types import NONE, InterfaceType
from .lower.attributes import declared, interface_in
from .lower.compiler import FunctionCompiler, Signature
from .script_function import caller_frames


def interface(cls: Any) -> Any:
    """Declare an interface: a class whose methods have types and no bodies.

    An attribute, parameter or variable that is annotated with it may hold objects of every scripted class that has such methods; an
    attribute of a Module, every scripted Module that has them.
    """
    if not inspect.isclass(cls):
        raise RuntimeError("interface must be applied to a class")
    if cls.__mro__[1] not in (object, Module):
        raise RuntimeError(
            "TorchScript interface does not support inheritance yet. Please directly inherit from 'object' or 'nn.Module': interface declaration should have a super class of python object or nn.Module. nn.Module is used for module interfaces"
        )
    made = InterfaceType(cls, {})
    setattr(cls, "_script_interface", made)  # noqa: B010
    frames = caller_frames(2)
    for name, function in vars(cls).items():
        if inspect.isfunction(function):
            made.methods[name] = _signature(function, frames)
    return cls


def _signature(function: Any, frames: tuple[Any, ...]) -> Signature:
    """What a method of an interface takes and returns."""
    compiler = FunctionCompiler(function, None, frames)
    definition = compiler.source.definition
    for each in definition.body:
        if not isinstance(each, ast.Pass) and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            raise ScriptError("Interfaces declarations should only contain a single 'pass' statement", compiler.source, each)
    found = compiler.signature(definition)
    return Signature(found.name, found.parameters[1:], compiler.return_type or NONE)


class ModuleSignatures:
    """The scripted methods of a Module, as an interface asks for them."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def signature_of(self, name: str) -> Signature | None:
        """What a method takes and returns; None where the Module has no such scripted method."""
        found = getattr(self.module, name, None)
        return getattr(found, "_script_signature", None)


def check_interface(wanted: InterfaceType, module: Any, name: str) -> None:
    """Refuse a Module that lacks methods of the interface of the attribute that it is given to."""
    lacking = wanted.lacks(ModuleSignatures(module))
    if lacking is not None:
        raise ScriptError(
            f"the attribute '{name}' is of the interface {wanted}, and {type(module).__name__} is not compatible with interface {wanted}: {lacking}"
        )


def interfaces_of(made: Any) -> dict[str, Any]:
    """The attributes of a Module that are annotated with an interface."""
    hints = declared(made)[0]
    return {name: found for name, each in hints.items() if (found := interface_in(each)) is not None}
