"""After a capture with symbolic sizes: plain numbers replace them in results, mutated objects and frames."""

from __future__ import annotations

import collections
import copyreg
import functools
import operator
from types import CellType, FunctionType, ModuleType
from typing import Any

from ....core.base import TensorBase
from ....core.symbolic import SymbolicFloat, SymbolicInt
from ..guards.guards import CONTAINERS, PRIMITIVES
from ..guards.sources import chain_of
from ..vm.frame import Frame, Raised, Returned
from ..vm.generator import InterpretedGenerator


class Desymbolizer:
    """Replaces symbolic numbers in objects that the program has made, and in the pre-existing ones that it has changed."""

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.done: dict[int, Any] = {}

    def outcome(self, outcome: Any) -> Any:
        """The outcome of the capture, with plain numbers; effects and frames too."""
        for value in list(self.recorder.mutated.values()):
            self.inside(value)
        for effect in self.recorder.effects:
            if any(isinstance(each, (SymbolicInt, SymbolicFloat, tuple)) for each in effect.arguments):
                self.again(effect)
            for each in effect.arguments:
                self.value(each)
        for frame, _, _ in self.recorder.running_generators:
            frame.slots[:] = [self.value(each) for each in frame.slots]
            frame.stack[:] = [self.value(each) for each in frame.stack]
        if isinstance(outcome, Frame):
            for frame in chain_of(outcome):
                frame.slots[:] = [self.value(each) for each in frame.slots]
                frame.stack[:] = [self.value(each) for each in frame.stack]
            return outcome
        if isinstance(outcome, Raised):
            outcome.error.args = self.value(outcome.error.args)
        return Returned(self.value(outcome.value)) if isinstance(outcome, Returned) else outcome

    def again(self, effect: Any) -> None:
        """A variable, a global or a cell was set to a symbolic number: it is set to the plain one, if nothing else was since."""
        if getattr(effect.function, "__name__", "") == "setattr" or effect.function is object.__setattr__:
            owner, name, new = effect.arguments
            if getattr(owner, name, None) is new:
                effect.function(owner, name, self.value(new))
        elif effect.function is operator.setitem and isinstance(effect.arguments[0], dict):
            owner, key, new = effect.arguments
            if dict.get(owner, key) is new:
                dict.__setitem__(owner, key, self.value(new))

    def value(self, value: Any) -> Any:
        """A value with plain numbers in it."""
        if isinstance(value, SymbolicInt):
            return int.__int__(value)
        if isinstance(value, SymbolicFloat):
            return float.__float__(value)
        if isinstance(value, (TensorBase, *PRIMITIVES)):
            return value
        if id(value) in self.done:
            return self.done[id(value)]
        if isinstance(value, tuple):
            parts = [self.value(each) for each in value]
            same = all(a is b for a, b in zip(parts, value))
            self.done[id(value)] = value if same else tuple.__new__(type(value), parts)
            self.recorder.held.append(value)
            return self.done[id(value)]
        if isinstance(value, frozenset) and any(isinstance(each, (SymbolicInt, SymbolicFloat, tuple)) for each in value):
            self.recorder.held.append(value)
            self.done[id(value)] = frozenset(map(self.value, value))
            return self.done[id(value)]
        self.done[id(value)] = value
        if id(value) not in self.recorder.sources:
            if hasattr(type(value), "__next__") and not type(value).__flags__ & (1 << 9):
                return self.iterator(value)
            self.inside(value)
        return value

    def iterator(self, value: Any) -> Any:
        """A builtin iterator; another one in its place where what it goes over has to be made again."""
        try:
            make, arguments, *state = value.__reduce__()
        except TypeError:  # one that can't be taken apart
            return value
        given = self.value(arguments)
        if given is not arguments:
            self.recorder.held.append(value)
            self.done[id(value)] = made = make(*given)
            if state and state[0] is not None:
                made.__setstate__(state[0])
        return self.done[id(value)]

    def inside(self, value: Any) -> None:
        """Replace what an object holds.  Modules and classes are left alone: what a program sets there is among its effects."""
        if isinstance(value, (ModuleType, type)):
            return
        if isinstance(value, CONTAINERS):
            self.elements(value)
        elif isinstance(value, CellType):
            try:
                value.cell_contents = self.value(value.cell_contents)
            except ValueError:
                return  # it is empty
        elif isinstance(value, FunctionType):
            for cell in value.__closure__ or ():
                self.value(cell)
            if value.__defaults__:
                value.__defaults__ = self.value(value.__defaults__)
            if value.__kwdefaults__:
                self.inside(value.__kwdefaults__)
        elif isinstance(value, functools.partial):
            self.value(value.func)
            self.inside(value.keywords)
            if self.value(value.args) is not value.args:
                value.__setstate__((value.func, self.value(value.args), value.keywords, value.__dict__))  # type: ignore[attr-defined]
        elif type(value) is InterpretedGenerator:
            if value.frame is not None:
                value.frame.slots[:] = [self.value(each) for each in value.frame.slots]
                value.frame.stack[:] = [self.value(each) for each in value.frame.stack]
        elif hasattr(value, "__self__"):
            self.value(value.__self__)
        else:
            if isinstance(value, BaseException):
                value.args = self.value(value.args)
            self.attributes(value)

    def elements(self, value: Any) -> None:
        """Replace what a container holds, by the methods of the builtin class: those of a class that derives from it may do more, as ``Counter.update`` does."""
        if isinstance(value, list):
            list.__setitem__(value, slice(None), [self.value(each) for each in list.__iter__(value)])
        elif isinstance(value, dict):
            base = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
            of_module = (
                "__builtins__" in value
            )  # most of what it holds is not the program's: whatever else it has set there is among its effects
            for key, each in list(base.items(value)):
                new = each if of_module and not isinstance(each, (SymbolicInt, SymbolicFloat, tuple)) else self.value(each)
                if new is not each:
                    base.__setitem__(value, key, new)
            if any(isinstance(key, (SymbolicInt, SymbolicFloat)) for key in base.__iter__(value)):
                items = [(self.value(key), each) for key, each in base.items(value)]
                base.clear(value)
                for key, each in items:
                    base.__setitem__(value, key, each)
        elif isinstance(value, (collections.deque, set)):
            kind: Any = set if isinstance(value, set) else collections.deque
            add: Any = set.add if isinstance(value, set) else collections.deque.append
            items = [self.value(each) for each in kind.__iter__(value)]
            kind.clear(value)
            for each in items:
                add(value, each)
        if type(value) not in (list, dict, set):
            self.attributes(value)

    def attributes(self, value: Any) -> None:
        """Replace what the attributes of an object are."""
        if isinstance(getattr(value, "__dict__", None), dict):
            self.inside(value.__dict__)
        for slot in copyreg._slotnames(type(value)) or ():  # type: ignore[attr-defined]
            held = getattr(value, slot, None)
            if self.value(held) is not held:
                object.__setattr__(value, slot, self.value(held))
