"""The recorder's semantics of names: globals, builtins and variables that functions share."""

from __future__ import annotations

import operator
import sys
from types import BuiltinFunctionType, CellType, ModuleType
from typing import Any

from ....core.base import TensorBase
from ..guards.guard import Kind
from ..guards.guards import CONTAINERS, PRIMITIVES
from ..vm.frame import Frame
from .base import CaptureState, SideEffect
from .callables import PACKAGE
from .graph_breaks import Break


class NameRecorder(CaptureState):
    """Records what a program reads and sets by name."""

    def load_global(self, frame: Frame, name: str) -> Any:
        value = super().load_global(frame, name)
        if name not in frame.globals:
            if not isinstance(value, (type, BuiltinFunctionType)):
                return value
            self.no_global(frame, name)
            return value
        if ("global", id(frame.globals), name) in self.written:
            self.refuse_mutated(name)
            return value
        own = str(frame.globals.get("__name__", "")).partition(".")[0] in (PACKAGE, *sys.stdlib_module_names)
        place = self.new_source.name(frame.globals, name)
        if isinstance(value, ModuleType) and own or own and not isinstance(value, (TensorBase, *PRIMITIVES, *CONTAINERS)):
            self.register(value, place)
            return value
        return self.read_value(place, value)

    def no_global(self, frame: Frame, name: str) -> None:
        """Guard that no global hides a builtin name; in the package and the standard library none does."""
        if str(frame.globals.get("__name__", "")).partition(".")[0] not in (PACKAGE, *sys.stdlib_module_names):
            scope = self.new_source.known(frame.globals)
            self.guards.add(Kind.CONTAINS, scope, (name, False), message=f"no global {name}", key=name)

    def store_global(self, frame: Frame, name: str, value: Any) -> None:
        self.affect_globals(frame, name)
        super().store_global(frame, name, value)
        self.effects.append(SideEffect(operator.setitem, frame.globals, name, value))

    def delete_global(self, frame: Frame, name: str) -> None:
        self.affect_globals(frame, name)
        super().delete_global(frame, name)
        self.effects.append(SideEffect(operator.delitem, frame.globals, name))

    def affect_globals(self, frame: Frame, name: str) -> None:
        """A global is about to be changed."""
        if self.pure:
            raise Break("effect", name=name)
        self.register(frame.globals, self.new_source.known(frame.globals))
        self.written.add(("global", id(frame.globals), name))

    def store_cell(self, cell: CellType, value: Any) -> None:
        if id(cell) in self.sources:
            if self.pure:
                raise Break("effect", name="a variable of an outer function")
            self.written.add(("cell", id(cell)))
            self.effects.append(SideEffect(setattr, cell, "cell_contents", value))
        super().store_cell(cell, value)

    def delete_cell(self, cell: CellType) -> None:
        if id(cell) in self.sources:
            if self.pure:
                raise Break("effect", name="a variable of an outer function")
            self.written.add(("cell", id(cell)))
            self.effects.append(SideEffect(delattr, cell, "cell_contents"))
        super().delete_cell(cell)
