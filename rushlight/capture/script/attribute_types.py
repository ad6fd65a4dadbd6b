"""Attributes of scripted Modules that Python sets: of the types and the constants that the programs were compiled for."""

from __future__ import annotations

from typing import Any

from ...core.state import state
from ...nn.modules.module import Module
from ..trace.traced import TracedModule
from .frontend.type_checks import checker
from .frontend.types import ANY, FLOAT, NONE, OBJECT, UnknownAnnotation, from_annotation, type_of
from .interfaces import check_interface, interfaces_of
from .lower.attributes import declared

_OF_EVERY_MODULE = frozenset(Module().__dict__)


def checked_attribute(module: Any, name: str, value: Any) -> Any:
    """A value for an attribute of a scripted Module, converted where its type asks for that; a RuntimeError where it does not fit."""
    if isinstance(value, Module) or name in module.__dict__.get("_modules", ()):
        _check_submodule(module, name, value)
    elif name in module.__dict__ and name not in _OF_EVERY_MODULE and not state.scripted:  # programs were checked when they were compiled
        return _cast(module, name, value)
    return value


def _check_submodule(module: Any, name: str, value: Any) -> None:
    if state.scripted:  # which was checked when the program was compiled
        return
    wanted = interfaces_of(module).get(name)
    if not hasattr(value, "_script_programs") and not isinstance(value, TracedModule):
        raise RuntimeError(
            f"Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module '{name}': {value}"
        )
    if wanted is not None:
        check_interface(wanted, value, name)
    before = module._modules.get(name)
    if wanted is None and before is not None and _compiled_for(before) != _compiled_for(value):
        raise RuntimeError(f"Expected a value of type '{_shown(before)}' for field '{name}', but found '{_shown(value)}'")


def _compiled_for(module: Any) -> Any:
    """What programs that call a Module rely on: its class, and its constants."""
    constants = {name: module.__dict__[name] for name in declared(module)[1] if name in module.__dict__}
    return getattr(module, "_script_class", type(module)), constants


def _shown(module: Any) -> str:
    kind, constants = _compiled_for(module)
    return f"__torch__.{kind.__module__}.{kind.__name__} ({', '.join(f'{name}={value!r}' for name, value in sorted(constants.items()))})"


def _cast(module: Any, name: str, value: Any) -> Any:
    """A value for an attribute that there is: of its type, which the programs rely on."""
    before = module.__dict__[name]
    hints, constants = declared(module)
    if name in constants:
        raise RuntimeError(f"Can't set constant '{name}' which has value:{before}")
    try:
        wanted = from_annotation(hints[name]) if name in hints else type_of(before)
    except UnknownAnnotation:  # of an attribute that no program reads
        return value
    check = None if wanted in (NONE, ANY, OBJECT) else checker(wanted)
    if check is not None and not check(value):
        raise RuntimeError(f"Could not cast attribute '{name}' to type {wanted}: it is given a value of type {type_of(value)}")
    return float(value) if wanted == FLOAT else value
