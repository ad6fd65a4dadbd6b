"""`torch.jit._recursive`: scripted Modules made by steps that programs call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..capture.script.module_part import ModulePart
from ..capture.script.script_module import scripted
from ..jit import script


class ConcreteTypeStore:
    """The types of scripted Modules that were made, by their Python classes: none are kept, for types are compared by their structure."""

    def __init__(self) -> None:
        self.type_store: dict[Any, list[Any]] = {}


concrete_type_store = ConcreteTypeStore()


def wrap_cpp_module(cpp_module: Any) -> Any:
    """The scripted Module of a part (``module._c``)."""
    return cpp_module._module if isinstance(cpp_module, ModulePart) else cpp_module


def infer_methods_to_compile(nn_module: Any) -> list[str]:
    """The names of the methods that scripting compiles."""
    return list(scripted(nn_module, {}, root=True)._script_programs)


def create_script_module(nn_module: Any, stubs_fn: Callable[..., Any], share_types: bool = True, is_tracing: bool = False) -> Any:
    """A scripted Module; without ``share_types`` it is of a type of its own, and so are those in it."""
    made = script(nn_module)
    for each in made.modules() if not share_types else ():
        each.__dict__["_script_structure"] = None
    return made


__all__ = ["ConcreteTypeStore", "concrete_type_store", "create_script_module", "infer_methods_to_compile", "wrap_cpp_module"]
