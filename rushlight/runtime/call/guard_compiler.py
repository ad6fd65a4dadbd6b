"""The guard compiler: guards (``capture/compile/guards``) as instructions of the native virtual machine (``guard_vm.py``).

A guard is translated for the present objects, whose types determine field offsets.  That an object is of that type is
checked by an instruction, too.  Reads and guards that can't be translated are left to Python.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any

from ...capture.compile.guards.guard import Guard, Kind, Read
from ...capture.compile.guards.python_guards import HOOKS, same_options
from ...capture.compile.guards.sources import Attribute, Contents, Global, Item, Known, OwnDict, Slot, Source
from ...core.dtypes import default
from ...core.missing import is_own
from ...core.state import flags
from . import guard_vm
from .guard_vm import Layout, Opcode
from .object_layout import own_of, word_of
from .pyobject_code import WORD
from .settings import settings

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None))  # immutable: the same object is an equal one
_OBJECT = (6, 16)  # the codes of slots that hold objects, in CPython's ``PyMemberDef``
OF_A_DICT = (Opcode.ITEM, Opcode.WITHOUT, Opcode.KEYS)  # instructions whose outcome is the same as long as a dict is unchanged


class Untranslated(Exception):
    """A read or guard that the virtual machine has no instructions for."""


class GuardFailed(Exception):
    """A guard that does not hold now."""


class CompiledGuards:
    """Translated guards, and the steps that are left to Python."""

    def __init__(self, instructions: Instructions, left: list[Read | Guard]) -> None:
        self.instructions = instructions
        self.left = left

    def holds(self, variable: str) -> bool:
        """Whether a variable is read by the virtual machine."""
        return variable in self.instructions.variables

    def function(self, variables: Sequence[str]) -> Callable[[Any], Any]:
        """A built-in function of the slots of a call: a tuple with the values of variables, or NotImplemented where a guard does not hold."""
        made = self.instructions
        registers = [id(value) if at in made.constants else 0 for at, value in enumerate(made.values)]
        kept = [made.values[at] for at in made.constants]
        return guard_vm.check(registers, made.in_order(), [made.variables[each] for each in variables], (kept, made.kept))


def compile_guards(program: Sequence[Read | Guard], slots: Any) -> CompiledGuards | None:
    """Translate a guard program for calls like the present one, whose variables are ``slots``; None where a guard does not hold now."""
    if not settings.guard_vm or not guard_vm.available():
        return None
    instructions = Instructions(slots)
    left: list[Read | Guard] = []
    try:
        for step in program:
            try:
                with instructions.rolled_back_if_untranslated():
                    if isinstance(step, Read):
                        instructions.variables[step.variable] = instructions.read(step.path)
                        instructions.sources[step.source] = instructions.variables[step.variable]
                    else:
                        instructions.guard(step)
            except Untranslated:
                left.append(step)
    except (GuardFailed, AttributeError, ValueError):  # a value is gone, as a variable that was deleted
        return None
    return CompiledGuards(instructions, left)


class Instructions:
    """The emitter of instructions.  ``values`` are the registers' contents in the present call."""

    def __init__(self, slots: Any) -> None:
        self.values: list[Any] = [slots]
        self.variables: dict[str, int] = {}  # registers of variables
        self.sources: dict[Source, int] = {}  # registers of sources
        self.constants: dict[int, None] = {}  # the registers of constant objects
        self.known: dict[Any, int] = {}  # registers that hold the result of an instruction already
        self.checked: dict[Any, None] = {}
        self.kinds: dict[int, int] = {}  # by register: the register of its known type
        self.made: list[tuple[int, ...]] = []
        self.kept: list[Any] = []  # keys, types and names that instructions refer to

    @contextmanager
    def rolled_back_if_untranslated(self) -> Iterator[None]:
        """Roll back the instructions of a step that turns out not to be translatable."""
        notes: tuple[dict[Any, Any], ...] = (self.variables, self.sources, self.known, self.checked, self.kinds)
        count, sizes = len(self.made), [len(each) for each in notes]
        try:
            yield
        except Untranslated:
            del self.made[count:]
            for each, size in zip(notes, sizes):
                while len(each) > size:
                    each.popitem()
            raise

    def register(self, value: Any) -> int:
        """A new register for a value."""
        self.values.append(value)
        return len(self.values) - 1

    def constant(self, value: Any) -> int:
        """The register of a constant object."""
        key = ("constant", id(value))
        if key not in self.known:
            self.known[key] = self.register(value)
            self.constants[self.known[key]] = None
        return self.known[key]

    def emit(self, what: Opcode, to: int, source: int, *more: int) -> int:
        """Emit an instruction; its result register."""
        self.made.append((int(what), to, source, *more))
        return to

    def check(self, what: Opcode, source: int, *more: int) -> None:
        """Emit an instruction without a result register, once."""
        if (what, source, *more) not in self.checked:
            self.checked[what, source, *more] = None
            self.emit(what, source, source, *more)

    def in_order(self) -> list[tuple[int, ...]]:
        """The instructions; those that read one dict are grouped, and skipped while the dict is unchanged."""
        asked: dict[int, list[tuple[int, ...]]] = {}
        for step in self.made if guard_vm.has_versions() else ():
            if step[0] in OF_A_DICT:
                asked.setdefault(step[2], []).append(step)
        together = {source: found for source, found in asked.items() if len(found) > 1}
        ordered: list[tuple[int, ...]] = []
        for step in self.made:
            source = step[2]
            if step[0] not in OF_A_DICT or source not in together:
                ordered.append(step)
            elif step is together[source][0]:
                found = together[source]
                ordered += [(Opcode.UNCHANGED, source, source, 0, len(found) + 1), *found]
                ordered.append((Opcode.NOTE, source, source, 3 - guard_vm.STEP * (len(found) + 1)))
        return ordered

    def id(self, value: Any) -> int:
        """The address of an object that an instruction refers to."""
        self.kept.append(value)
        return id(value)

    # -- values --------------------------------------------------------------------------------------------------

    def read(self, source: Source) -> int:
        """The register that holds the value of a source."""
        if source in self.sources:
            return self.sources[source]
        if isinstance(source, Slot):
            return self.item(0, source.slot)
        if isinstance(source, Known):
            return self.constant(source.value)
        if isinstance(source, Global):
            return self.item(self.constant(source.scope), source.name)
        if source.cached is not None:
            place, owner, name = source.cached
            held = self.constant(place)
            self.identity(self.item(held, 1), self.attribute(self.constant(owner), name), True)
            return self.item(held, 0)
        if source.base is None:
            raise Untranslated
        if isinstance(source, Contents):
            return self.attribute(self.read(source.base), "cell_contents")
        if isinstance(source, OwnDict):
            return self.fields(self.read(source.base))
        if isinstance(source, Attribute):
            return self.attribute(self.read(source.base), source.name)
        if isinstance(source, Item):
            return self.item(self.read(source.base), source.key)
        raise Untranslated

    def kind(self, source: int) -> int:
        """The type of what a register holds."""
        return self.kinds[source] if source in self.kinds else self.once(Opcode.KIND, source, type(self.values[source]))

    def referent(self, reference: Any) -> int:
        """The object that a weak reference refers to."""
        if reference() is None:
            raise GuardFailed
        return self.once(Opcode.FIELD, self.constant(reference), reference(), Layout.referent, self.constant(weakref.ref))

    def class_of(self, source: int) -> int:
        """The register of an object's present type; one that is not the package's may be freed."""
        kind = type(self.values[source])
        stays = kind.__module__ == "builtins" or is_own(kind)
        return self.constant(kind) if stays else self.referent(weakref.ref(kind))

    def once(self, what: Opcode, source: int, value: Any, *more: int) -> int:
        """The register that a step writes to, which is written once."""
        key = (what, source, *more)
        if key not in self.known:
            self.known[key] = self.emit(what, self.register(value), source, *more)
        return self.known[key]

    def item(self, source: int, key: Any) -> int:
        """An element of a tuple, a list or a dict."""
        owner = self.values[source]
        if type(owner) in (tuple, list) and type(key) is int and key >= 0:
            if key >= len(owner):
                raise GuardFailed
            return self.once(Opcode.TUPLE if type(owner) is tuple else Opcode.LIST, source, owner[key], key)
        if type(owner) is dict and type(key) is str:
            if key not in owner:
                raise GuardFailed
            return self.once(Opcode.ITEM, source, owner[key], self.name(key))
        raise Untranslated

    def name(self, text: str) -> int:
        """The address of an interned string."""
        return self.id(sys.intern(text))

    def attribute(self, source: int, name: str) -> int:
        """An attribute of an object whose class computes none: a slot, an entry of its dict, or what the class has."""
        owner = self.values[source]
        kind = type(owner)
        if kind is CellType and name == "cell_contents":
            return self.once(Opcode.FIELD, source, owner.cell_contents, Layout.contents, self.constant(CellType))
        if name == "__dict__":
            return self.fields(source)
        if kind is type:
            return self.of_class(source, name)
        if kind.__getattribute__ is not object.__getattribute__:
            raise Untranslated
        found = of_class(kind, name)
        if found is not None and isinstance(found[0], MemberDescriptorType):
            return self.slot(source, name, found[0])
        fields, own, class_ = self.fields(source), vars(owner), self.class_of(source)
        if found is None and name in own:
            self.check(Opcode.NOTHING, class_, self.name(name))
            return self.item(fields, name)
        if found is None or type(found[0]) not in _CONSTANTS:
            raise Untranslated
        default = self.once(Opcode.CLASS, class_, found[0], self.name(name))
        self.check(Opcode.SAME, default, self.constant(found[0]))
        if name in own:
            return self.item(fields, name)
        self.check(Opcode.WITHOUT, fields, self.name(name))
        return default

    def fields(self, source: int) -> int:
        """The dict of an object's attributes."""
        owner = self.values[source]
        kind = type(owner)
        offset = own_of(kind)
        own = getattr(owner, "__dict__", None)
        if offset == 0 or type(own) is not dict or word_of(owner, offset) != id(own):
            raise Untranslated
        return self.field(source, own, offset)

    def field(self, source: int, value: Any, offset: int) -> int:
        """A field of an object, whose type is checked first."""
        self.kinds[source] = self.class_of(source)
        return self.once(Opcode.FIELD, source, value, offset, self.kinds[source])

    def slot(self, source: int, name: str, descriptor: Any) -> int:
        """A field that a class has a slot for."""
        owner = self.values[source]
        member = word_of(descriptor, object.__basicsize__ + 3 * WORD)
        code, offset = ctypes.c_int.from_address(member + 8).value, ctypes.c_int64.from_address(member + 16).value
        value = getattr(owner, name)
        if code not in _OBJECT or not 0 < offset < type(owner).__basicsize__ or word_of(owner, offset) != id(value):
            raise Untranslated
        return self.field(source, value, offset)

    def of_class(self, source: int, name: str) -> int:
        """A function that a class has."""
        found = of_class(self.values[source], name)
        if found is None or type(found[0]) is not FunctionType or hasattr(type, name):
            raise Untranslated
        return self.once(Opcode.CLASS, source, found[0], self.name(name))

    # -- guards --------------------------------------------------------------------------------------------------

    def guard(self, guard: Guard) -> None:
        """Emit instructions that continue only where a guard holds."""
        translate = _TRANSLATIONS.get(guard.kind)
        if translate is None:
            raise Untranslated
        translate(self, guard, 0 if guard.source is None else self.read(guard.source))

    def is_object(self, source: int, expected: Any) -> None:
        """A register holds an object, which may be held by a weak reference."""
        if type(expected) is weakref.ref:
            if self.values[source] is not expected():
                raise GuardFailed
            self.check(Opcode.REFERENT, source, self.constant(expected))
        else:
            self.identity(source, self.constant(expected), True)

    def is_type(self, source: int, expected: Any) -> None:
        """The type of what a register holds."""
        self.is_object(self.kind(source), expected)

    def modes(self, expected: Any) -> None:
        """No interceptor and no inference mode."""
        if expected is not None or flags.special:
            raise Untranslated
        self.truth(self.attribute(self.constant(flags), "special"), False)

    def equal(self, source: int, expected: Any) -> None:
        """The value is a constant; an equal one that is another object is left to Python."""
        value = self.values[source]
        if value is Ellipsis or expected is Ellipsis:
            self.is_object(source, expected)
            return
        if type(value) not in _CONSTANTS or type(expected) is not type(value) or value != value:
            raise Untranslated
        if value != expected or isinstance(value, float) and str(value) != str(expected):
            raise GuardFailed
        self.check(Opcode.SAME, source, self.constant(value))

    def no_hooks(self, own: int) -> None:
        """A Module has no hooks, and is not compiled itself."""
        for name in HOOKS:
            self.truth(self.item(own, name), False)
        self.contains(own, "_compiled_call_impl", False)

    def inherited(self, source: int, own: int, name: str, kind: Any) -> None:
        """An object of a class has no attribute of its own by a name."""
        self.contains(own, name, False)
        self.is_type(source, kind)

    def all_empty(self, registers: Sequence[int]) -> None:
        """Registers hold empty containers."""
        for each in registers:
            self.truth(each, False)

    def class_method(self, expected: tuple[Any, str, Any]) -> None:
        """A class has a function by a name."""
        owner, name, function = expected
        kind = self.referent(owner) if type(owner) is weakref.ref else self.constant(owner)
        self.is_object(self.attribute(kind, name), function)

    def distinct(self, registers: Sequence[int]) -> None:
        """No two registers hold the same object."""
        if len(registers) > 6:
            raise Untranslated  # one comparison of sets in Python
        for at, one in enumerate(registers):
            for other in registers[at + 1 :]:
                self.identity(one, other, False)

    def leaf(self, source: int) -> None:
        """A tensor has no history, and no hooks on its gradient."""
        self.is_object(self.attribute(source, "_grad_fn"), None)
        for name in ("_backward_hooks", "_post_accumulate_hooks"):
            self.truth(self.attribute(source, name), False)

    def options(self, source: int, chosen: Any) -> None:
        """The values of a dict are those that were accepted last, except for one."""
        known = self.attribute(self.constant(chosen), "last")
        if not same_options(self.values[source], self.values[known], chosen.params):
            raise GuardFailed
        self.check(Opcode.OPTIONS, source, known, chosen.params)

    def identity(self, a: int, b: int, same: bool) -> None:
        """Two values are the same object, or they are not."""
        if (self.values[a] is self.values[b]) is not same:
            raise GuardFailed
        if a not in self.constants or b not in self.constants:
            self.check(Opcode.SAME if same else Opcode.OTHER, a, b)

    def contains(self, source: int, key: Any, there: bool) -> None:
        """A dict has a key, or does not."""
        if type(self.values[source]) is not dict or type(key) is not str:
            raise Untranslated
        if (key in self.values[source]) is not there:
            raise GuardFailed
        if there:
            self.item(source, key)
        else:
            self.check(Opcode.WITHOUT, source, self.name(key))

    def length(self, source: int, count: int) -> None:
        """A container has so many elements."""
        value = self.values[source]
        base = next((each for each in (dict, list, tuple) if isinstance(value, each)), None)
        if base is None or type(value).__len__ is not base.__len__ or hasattr(type(value), "__bool__"):
            raise Untranslated
        if len(value) != count:
            raise GuardFailed
        self.check(Opcode.LENGTH, source, self.class_of(source), count)

    def keys(self, source: int, keys: Any) -> None:
        """A dict has some keys, in that order."""
        value = self.values[source]
        if type(value) is not dict or not all(type(each) is str for each in value):
            raise Untranslated
        if [*value] != keys:
            raise GuardFailed
        self.check(Opcode.KEYS, source, self.id(tuple(value)), len(value))

    def truth(self, source: int, wanted: bool) -> None:
        """A value counts as true, or as false: a constant that does, or a container without elements."""
        value = self.values[source]
        if type(value) in _CONSTANTS:
            if bool(value) is not wanted:
                raise GuardFailed
            self.check(Opcode.SAME, source, self.constant(value))
        elif wanted:
            raise Untranslated
        else:
            self.length(source, 0)


_TRANSLATIONS: Mapping[Kind, Callable[[Instructions, Guard, int], None]] = {
    Kind.MODES: lambda i, g, r: i.modes(g.expected),
    Kind.DEFAULT_DTYPE: lambda i, g, r: i.is_object(i.attribute(i.constant(default), "floating"), g.expected),
    Kind.CLASS_METHOD: lambda i, g, r: i.class_method(g.expected),
    Kind.EQUAL: lambda i, g, r: i.equal(r, g.expected),
    Kind.IDENTITY: lambda i, g, r: i.is_object(r, g.expected),
    Kind.NOT_NONE: lambda i, g, r: i.identity(r, i.constant(None), False),
    Kind.TYPE: lambda i, g, r: i.is_type(r, g.expected),
    Kind.NUMBER: lambda i, g, r: i.is_type(r, g.expected),
    Kind.CODE: lambda i, g, r: i.is_object(i.attribute(r, "__code__"), g.expected),
    Kind.INHERITED: lambda i, g, r: i.inherited(r, i.read(g.others[0]), *g.expected),
    Kind.FIELDS: lambda i, g, r: i.keys(i.fields(r), list(g.expected)),
    Kind.NO_FIELD: lambda i, g, r: i.contains(i.fields(r), g.expected, False),
    Kind.NO_HOOKS: lambda i, g, r: i.no_hooks(i.read(g.others[0])),
    Kind.ALL_EMPTY: lambda i, g, r: i.all_empty([i.read(each) for each in g.others]),
    Kind.OPTIONS: lambda i, g, r: i.options(r, g.expected),
    Kind.LENGTH: lambda i, g, r: i.length(r, g.expected),
    Kind.KEYS: lambda i, g, r: i.keys(r, g.expected) if g.expected else i.truth(r, False),
    Kind.EMPTY: lambda i, g, r: i.truth(r, not g.expected),
    Kind.CONTAINS: lambda i, g, r: i.contains(r, *g.expected),
    Kind.SAME_OBJECT: lambda i, g, r: i.identity(r, i.read(g.others[0]), g.expected),
    Kind.DISTINCT: lambda i, g, r: i.distinct([i.read(each) for each in g.others]),
    Kind.LEAF: lambda i, g, r: i.leaf(r),
}


def of_class(kind: type, name: str) -> tuple[Any] | None:
    """The raw attribute of a class or its bases, without descriptor binding."""
    for each in kind.__mro__:
        if name in each.__dict__:
            return (each.__dict__[name],)
    return None
