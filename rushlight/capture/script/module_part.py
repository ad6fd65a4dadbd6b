"""``module._c``: a scripted Module by the interface of PyTorch's compiled Modules, which tools call: attributes, methods and types by name.

In: a scripted or traced Module, or one of the package below it.  Out: a :class:`ModulePart`; what it answers is read from the Module each time.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any

from ...core.base import TensorBase
from ...nn.modules.module import Module
from ..trace.traced import WRITERS, TracedModule
from .freeze import freeze
from .frontend.types import OBJECT, type_of
from .run.program import ScriptProgram
from .script_module import ScriptMethod, ScriptModule, structure
from .serialization import write_module

_OWN = frozenset(Module().__dict__) - {"training"}


class ModuleType:
    """The type of a scripted Module: equal for Modules of one class whose programs can be shared."""

    def __init__(self, module: Any) -> None:
        self._module = module
        traced = isinstance(module, TracedModule) or any(isinstance(each, TracedModule) for each in module.modules())
        key = None if traced else module.__dict__.get("_script_structure", ...)
        self._key = structure(module) if key is ... else key

    def qualified_name(self) -> str:
        """The name under which archives have the class."""
        return ModulePart(self._module).qualified_name

    def name(self) -> str:
        """The name of the class."""
        return self.qualified_name().rpartition(".")[2]

    def kind(self) -> str:
        """What kind of type it is."""
        return "ClassType"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ModuleType):
            return NotImplemented
        return self._module is other._module or (self._key is not None and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key) if self._key is not None else id(self._module)

    def __str__(self) -> str:
        return self.qualified_name()

    __repr__ = __str__


class ModulePart:
    """What PyTorch keeps of a scripted Module in its compiled part."""

    def __init__(self, module: Any) -> None:
        self.__dict__["_module"] = module

    def _attributes(self) -> dict[str, Any]:
        """Everything it holds by name: parameters, buffers, Modules, and values that scripts have types for."""
        module = self._module
        found: dict[str, Any] = {"training": module.training, **module._parameters, **module._buffers, **module._modules}
        for name, value in module.__dict__.items():
            if name in _OWN or name.startswith(("_script", "_frozen_", "_get_", "_set_")) or isinstance(value, ScriptMethod):
                continue
            if isinstance(value, (TensorBase, enum.Enum)) or (not callable(value) and type_of(value) != OBJECT):
                found[name] = value
        return found

    def _programs(self) -> dict[str, ScriptProgram]:
        return self._module.__dict__.get("_script_programs", {})  # type: ignore[no-any-return]

    @property
    def qualified_name(self) -> str:
        """The name under which archives have the class."""
        kind = getattr(self._module, "_script_class", type(self._module))
        name = getattr(self._module, "original_name", None) or kind.__name__
        return ".".join(("__torch__", *(part for part in kind.__module__.split(".") if part != "__torch__"), name))

    def _type(self) -> ModuleType:
        """Its type."""
        return ModuleType(self._module)

    def hasattr(self, name: str) -> bool:
        """Whether it holds something of a name."""
        return name in self._attributes()

    def getattr(self, name: str) -> Any:
        """What it holds under a name: Modules as parts."""
        found = self._attributes()
        if name not in found:
            raise RuntimeError(f"Module '{self._type().name()}' has no attribute '{name}'")
        return ModulePart(found[name]) if isinstance(found[name], Module) else found[name]

    def setattr(self, name: str, value: Any) -> None:
        """Put a value in the place of another."""
        setattr(self._module, name, value._module if isinstance(value, ModulePart) else value)

    def _has_method(self, name: str) -> bool:
        """Whether there is a scripted method of a name."""
        return name in self._method_names()

    def _get_method(self, name: str) -> Any:
        """A scripted method."""
        if not self._has_method(name):
            raise RuntimeError(f"Method '{name}' is not defined.")
        return getattr(self._module, name)

    _find_method = _get_method

    def _method_names(self) -> list[str]:
        """The names of scripted methods."""
        module = self._module
        if not isinstance(module, TracedModule):
            return [*self._programs()]
        return [*([] if "forward" in module.__dict__ else ["forward"]), *module.methods]

    def _get_methods(self) -> list[Any]:
        """The scripted methods."""
        return [self._get_method(name) for name in self._method_names()]

    def dump_to_str(self, code: bool = True, attrs: bool = True, params: bool = True) -> str:
        """Methods, attributes and parameters as a text, the Modules inside indented."""
        module = self._module
        lines = [f"module {self.qualified_name} {{", "  parameters {"]
        lines += [f"    {name} = {'...' if not params else value}" for name, value in module._parameters.items()]
        lines += ["  }", "  attributes {"]
        for name, value in self._attributes().items():
            lines.append(
                f"    {name} = {f'<{ModulePart(value).qualified_name}>' if isinstance(value, Module) else value if attrs else '...'}"
            )
        lines += ["  }", "  methods {"]
        for name, program in self._programs().items():
            lines += [f"    method {name} {{", *(f"      {line}" for line in (program.code if code else "").splitlines()), "    }"]
        lines += ["  }", "  submodules {"]
        for child in module._modules.values():
            if child is not None:
                lines += [f"    {line}" for line in ModulePart(child).dump_to_str(code, attrs, params).splitlines()]
        return "\n".join([*lines, "  }", "}"]) + "\n"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["_module"], name)
        return ModulePart(found) if isinstance(found, Module) else found

    def __setattr__(self, name: str, value: Any) -> None:
        self.setattr(name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._module(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModulePart) and self._module is other._module

    def __hash__(self) -> int:
        return id(self._module)

    def __copy__(self) -> ModulePart:
        return ModulePart(self._module.__copy__())

    def __deepcopy__(self, memo: dict[int, Any]) -> ModulePart:
        return ModulePart(self._module.__deepcopy__(memo))


def part_of(module: Any) -> ModulePart:
    """The compiled part of a scripted Module."""
    return ModulePart(module)


def take_part(module: Any, part: Any) -> None:
    """Give a Module what another part has, in the place of its own."""
    if not isinstance(part, ModulePart):
        raise TypeError(f"_c is the part of a scripted Module, not {type(part).__name__}")
    other = part._module
    for name in [name for name in module.__dict__ if name not in _OWN and not name.startswith("_script")]:
        del module.__dict__[name]
    for name in ("_parameters", "_buffers", "_modules"):
        module.__dict__[name] = other.__dict__[name]
    for name, value in other.__dict__.items():
        if name not in _OWN and not isinstance(value, ScriptMethod) and name != "_script_original":
            module.__dict__[name] = value
    for name, program in dict(other.__dict__["_script_programs"]).items():
        module._script_adopt(name, program)


def reconstruct(module: Any, cpp_module: Any) -> None:
    """Give a scripted Module the part of another, with its methods; what its class has for Python stays."""
    own = {name: each for name, each in module.__dict__.items() if inspect.ismethod(each)}
    take_part(module, cpp_module)
    module.__dict__.update({name: each for name, each in own.items() if name not in module.__dict__})


def freeze_part(module: Any, preservedAttrs: Any = (), freezeInterfaces: bool = True, preserveParameters: bool = False) -> ModulePart:
    """The frozen form of a part, without the optimizations of ``jit.freeze``."""
    return ModulePart(freeze(module._module, list(preservedAttrs), optimize_numerics=False))


WRITERS.append((ModulePart, lambda part: write_module(part._module)))
ScriptModule._c = property(part_of, take_part)  # type: ignore[attr-defined]
ScriptModule._reconstruct = reconstruct  # type: ignore[attr-defined]
TracedModule._c = property(part_of)  # type: ignore[attr-defined]
