"""Guards as steps of a look (``looking.py``): the lines of their program that ask about fields, items and identity are taken by one built-in function.

A line is translated for the objects that are there now: what they are says where a field lies.  That an object is of such a type is a step, too.
Lines that can't be translated stay lines.
"""

from __future__ import annotations

import ast
import ctypes
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any

from ...capture.compile.guards.guards import same_options
from . import guard_vm
from .guard_vm import Do, Places
from .object_layout import own_of, word_of
from .pyobject_code import WORD

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None))  # that can't change: what is the same object is equal
_OBJECT = (6, 16)  # the codes of slots that hold objects, in CPython's ``PyMemberDef``
_PACKAGE = __name__.partition(".")[0] + "."
OF_A_DICT = (Do.ITEM, Do.WITHOUT, Do.KEYS)  # steps whose outcome is the same as long as a dict is
_NAME = re.compile(r"\b[a-z]\w*\b")


class Stays(Exception):
    """A line that can't be translated."""


class Differs(Exception):
    """A condition that does not hold now."""


def watch(
    lines: Sequence[Any], namespace: dict[str, Any], given: Any, wanted: str
) -> tuple[Callable[[Any], Any], list[str], list[Any]] | None:
    """The built-in function for a program of guards, the names of what it gives, and the lines that are left to Python.

    ``lines`` are assignments, and pairs of a number and a condition.  What the function gives is needed by the lines that are left, or named in
    the text that is ``wanted``.  None where nothing is won, or where a condition does not hold for what is given.
    """
    if not guard_vm.available():
        return None
    steps = Steps(namespace, given)
    left: list[Any] = []
    try:
        for line in lines:
            try:
                with steps.undone_if_it_stays():
                    if isinstance(line, str):
                        steps.assign(line)
                    else:
                        steps.condition(ast.parse(line[1], mode="eval").body)
            except Stays:
                left.append(line)
    except (Differs, AttributeError, ValueError):  # not there any more, as a variable that is deleted
        return None
    text = " ".join([wanted, *(each if isinstance(each, str) else each[1] for each in left)])
    names = [each for each in dict.fromkeys(_NAME.findall(text)) if each in steps.names and each != "slots"]
    registers = [id(value) if at in steps.constants else 0 for at, value in enumerate(steps.values)]
    kept = [steps.values[at] for at in steps.constants]
    return guard_vm.look(registers, steps.in_order(), [steps.names[each] for each in names], (kept, steps.kept)), names, left


class Steps:
    """Writes steps; ``values`` are what is in the registers now."""

    def __init__(self, namespace: dict[str, Any], given: Any) -> None:
        self.namespace = namespace
        self.values: list[Any] = [given]
        self.names = {"slots": 0}  # of variables: their registers
        self.constants: dict[int, None] = {}  # the registers of objects that are always there
        self.known: dict[Any, int] = {}  # registers that hold something already
        self.checked: dict[Any, None] = {}
        self.kinds: dict[int, int] = {}  # of registers: that of the type which what they hold is known to be of
        self.made: list[tuple[int, ...]] = []
        self.kept: list[Any] = []  # keys, types and names that steps refer to

    @contextmanager
    def undone_if_it_stays(self) -> Iterator[None]:
        """Forget the steps of what turns out not to be translated."""
        notes: tuple[dict[Any, Any], ...] = (self.names, self.known, self.checked, self.kinds)
        count, sizes = len(self.made), [len(each) for each in notes]
        try:
            yield
        except Stays:
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
        """The register of an object that is always there."""
        key = ("constant", id(value))
        if key not in self.known:
            self.known[key] = self.register(value)
            self.constants[self.known[key]] = None
        return self.known[key]

    def step(self, what: Do, to: int, source: int, *more: int) -> int:
        """Write a step; the register that it writes to."""
        self.made.append((int(what), to, source, *more))
        return to

    def check(self, what: Do, source: int, *more: int) -> None:
        """Write a step that writes to no register, once."""
        if (what, source, *more) not in self.checked:
            self.checked[what, source, *more] = None
            self.step(what, source, source, *more)

    def in_order(self) -> list[tuple[int, ...]]:
        """The steps; those that ask one dict for several things together, and left out where the dict is as it was."""
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
                ordered += [(Do.UNCHANGED, source, source, 0, len(found) + 1), *found]
                ordered.append((Do.NOTE, source, source, 3 - guard_vm.STEP * (len(found) + 1)))
        return ordered

    def id(self, value: Any) -> int:
        """The address of an object that a step refers to."""
        self.kept.append(value)
        return id(value)

    # -- values --------------------------------------------------------------------------------------------------

    def assign(self, line: str) -> None:
        """A line that gives a variable its value."""
        statement = ast.parse(line).body[0]
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise Stays
        self.names[statement.targets[0].id] = self.value(statement.value)

    def value(self, node: ast.expr) -> int:
        """The register that holds the value of an expression."""
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            if node.id in self.namespace:
                return self.constant(self.namespace[node.id])
        elif isinstance(node, ast.Constant):
            return self.constant(node.value)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self.item(self.value(node.value), node.slice.value)
        elif isinstance(node, ast.Attribute):
            return self.attribute(self.value(node.value), node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 1:
            return self.kind(self.value(node.args[0]))
        elif (reference := self.reference(node)) is not None:
            return self.referent(reference)
        elif isinstance(node, ast.IfExp):
            self.condition(node.test)
            return self.value(node.body)
        raise Stays

    def kind(self, source: int) -> int:
        """The type of what a register holds."""
        return self.kinds[source] if source in self.kinds else self.once(Do.KIND, source, type(self.values[source]))

    def reference(self, node: ast.expr) -> Any:
        """The weak reference that is called, or None."""
        found = (
            self.namespace.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args else None
        )
        return found if type(found) is weakref.ref else None

    def referent(self, reference: Any) -> int:
        """The object that a weak reference refers to."""
        if reference() is None:
            raise Differs
        return self.once(Do.FIELD, self.constant(reference), reference(), Places.referent, self.constant(weakref.ref))

    def class_of(self, source: int) -> int:
        """The register of an object's type as it is now; one that is not the package's may go."""
        kind = type(self.values[source])
        stays = kind.__module__ == "builtins" or kind.__module__.startswith(_PACKAGE)
        return self.constant(kind) if stays else self.referent(weakref.ref(kind))

    def once(self, what: Do, source: int, value: Any, *more: int) -> int:
        """The register that a step writes to, which is written once."""
        key = (what, source, *more)
        if key not in self.known:
            self.known[key] = self.step(what, self.register(value), source, *more)
        return self.known[key]

    def item(self, source: int, key: Any) -> int:
        """An element of a tuple, a list or a dict."""
        owner = self.values[source]
        if type(owner) in (tuple, list) and type(key) is int and key >= 0:
            if key >= len(owner):
                raise Differs
            return self.once(Do.TUPLE if type(owner) is tuple else Do.LIST, source, owner[key], key)
        if type(owner) is dict and type(key) is str:
            if key not in owner:
                raise Differs
            return self.once(Do.ITEM, source, owner[key], self.name(key))
        raise Stays

    def name(self, text: str) -> int:
        """The address of a string: the one that Python has for all names of that spelling."""
        return self.id(sys.intern(text))

    def attribute(self, source: int, name: str) -> int:
        """An attribute of an object whose class computes none: a slot, an entry of its dict, or what the class has."""
        owner = self.values[source]
        kind = type(owner)
        if kind is CellType and name == "cell_contents":
            return self.once(Do.FIELD, source, owner.cell_contents, Places.contents, self.constant(CellType))
        if name == "__dict__":
            return self.fields(source)
        if kind is type:
            return self.of_class(source, name)
        if kind.__getattribute__ is not object.__getattribute__:
            raise Stays
        found = of_class(kind, name)
        if found is not None and isinstance(found[0], MemberDescriptorType):
            return self.slot(source, name, found[0])
        fields, own, class_ = self.fields(source), vars(owner), self.class_of(source)
        if found is None and name in own:
            self.check(Do.NOTHING, class_, self.name(name))
            return self.item(fields, name)
        if found is None or type(found[0]) not in _CONSTANTS:
            raise Stays
        default = self.once(Do.CLASS, class_, found[0], self.name(name))
        self.check(Do.SAME, default, self.constant(found[0]))
        if name in own:
            return self.item(fields, name)
        self.check(Do.WITHOUT, fields, self.name(name))
        return default

    def fields(self, source: int) -> int:
        """The dict of an object's attributes."""
        owner = self.values[source]
        kind = type(owner)
        offset = own_of(kind)
        own = getattr(owner, "__dict__", None)
        if offset == 0 or type(own) is not dict or word_of(owner, offset) != id(own):
            raise Stays
        return self.field(source, own, offset)

    def field(self, source: int, value: Any, offset: int) -> int:
        """A field of an object, whose type is asked first."""
        self.kinds[source] = self.class_of(source)
        return self.once(Do.FIELD, source, value, offset, self.kinds[source])

    def slot(self, source: int, name: str, descriptor: Any) -> int:
        """A field that a class has a slot for."""
        owner = self.values[source]
        member = word_of(descriptor, object.__basicsize__ + 3 * WORD)
        code, offset = ctypes.c_int.from_address(member + 8).value, ctypes.c_int64.from_address(member + 16).value
        value = getattr(owner, name)
        if code not in _OBJECT or not 0 < offset < type(owner).__basicsize__ or word_of(owner, offset) != id(value):
            raise Stays
        return self.field(source, value, offset)

    def of_class(self, source: int, name: str) -> int:
        """A function that a class has."""
        found = of_class(self.values[source], name)
        if found is None or type(found[0]) is not FunctionType or hasattr(type, name):
            raise Stays
        return self.once(Do.CLASS, source, found[0], self.name(name))

    # -- conditions ----------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr, wanted: bool = True) -> None:
        """Steps that hold only if a condition is true (or false, if that is wanted)."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand, not wanted)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) is wanted:
            for each in node.values:
                self.condition(each, wanted)
        elif isinstance(node, ast.BoolOp):
            self.one_of(node.values, wanted)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            self.compare(node.left, node.ops[0], node.comparators[0], wanted)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self.namespace.get(node.func.id) is same_options and wanted:
            self.options(node.args)
        else:
            self.truth(self.value(node), wanted)

    def one_of(self, nodes: list[ast.expr], wanted: bool) -> None:
        """One of several conditions: the first that is so now."""
        differs = True
        for each in nodes:
            try:
                with self.undone_if_it_stays():
                    try:
                        self.condition(each, wanted)
                        return
                    except Differs as error:
                        raise Stays from error
            except Stays as error:
                differs = differs and isinstance(error.__cause__, Differs)
        raise Differs if differs else Stays

    def compare(self, left: ast.expr, how: ast.cmpop, right: ast.expr, wanted: bool) -> None:
        """A comparison of two values."""
        if isinstance(how, ast.Is) and wanted and (reference := self.reference(right)) is not None:
            source = self.value(left)
            if self.values[source] is not reference():
                raise Differs
            self.check(Do.REFERENT, source, self.constant(reference))
        elif isinstance(how, (ast.Is, ast.IsNot)):
            self.identity(self.value(left), self.value(right), isinstance(how, ast.Is) is wanted)
        elif isinstance(how, (ast.In, ast.NotIn)) and isinstance(left, ast.Constant):
            self.contains(self.value(right), left.value, isinstance(how, ast.In) is wanted)
        elif not isinstance(how, ast.Eq) or not wanted:
            raise Stays
        elif isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "len" and isinstance(right, ast.Constant):
            self.length(self.value(left.args[0]), int(str(right.value)))
        elif isinstance(left, ast.List) and len(left.elts) == 1 and isinstance(left.elts[0], ast.Starred):
            self.keys(self.value(left.elts[0].value), self.values[self.value(right)])
        else:
            source, known = self.value(left), self.values[self.value(right)]
            value = self.values[source]
            if type(value) not in _CONSTANTS or type(known) is not type(value):
                raise Stays
            if value != known:
                raise Differs
            self.check(Do.SAME, source, self.constant(value))  # an equal one is left to the guards

    def identity(self, a: int, b: int, same: bool) -> None:
        """Two values are the same object, or they are not."""
        if (self.values[a] is self.values[b]) is not same:
            raise Differs
        if a not in self.constants or b not in self.constants:
            self.check(Do.SAME if same else Do.OTHER, a, b)

    def contains(self, source: int, key: Any, there: bool) -> None:
        """A dict has a key, or does not."""
        if type(self.values[source]) is not dict or type(key) is not str:
            raise Stays
        if (key in self.values[source]) is not there:
            raise Differs
        if there:
            self.item(source, key)
        else:
            self.check(Do.WITHOUT, source, self.name(key))

    def length(self, source: int, count: int) -> None:
        """A container has so many elements."""
        value = self.values[source]
        base = next((each for each in (dict, list, tuple) if isinstance(value, each)), None)
        if base is None or type(value).__len__ is not base.__len__ or hasattr(type(value), "__bool__"):
            raise Stays
        if len(value) != count:
            raise Differs
        self.check(Do.LENGTH, source, self.class_of(source), count)

    def keys(self, source: int, keys: Any) -> None:
        """A dict has some keys, in that order."""
        value = self.values[source]
        if type(value) is not dict or not all(type(each) is str for each in value):
            raise Stays
        if [*value] != keys:
            raise Differs
        self.check(Do.KEYS, source, self.id(tuple(value)), len(value))

    def options(self, args: list[ast.expr]) -> None:
        """The values of a dict are those of a list, but for one."""
        source, known = self.value(args[0]), self.value(args[1])
        apart = self.values[self.value(args[2])]
        if not same_options(self.values[source], self.values[known], apart):
            raise Differs
        self.check(Do.OPTIONS, source, known, apart)

    def truth(self, source: int, wanted: bool) -> None:
        """A value counts as true, or as false: a constant that does, or a container without elements."""
        value = self.values[source]
        if type(value) in _CONSTANTS:
            if bool(value) is not wanted:
                raise Differs
            self.check(Do.SAME, source, self.constant(value))
        elif wanted:
            raise Stays
        else:
            self.length(source, 0)


def of_class(kind: type, name: str) -> tuple[Any] | None:
    """What a class has by a name, or one that it derives from, as it is there."""
    for each in kind.__mro__:
        if name in each.__dict__:
            return (each.__dict__[name],)
    return None
