"""The guard virtual machine: instructions that follow fields, items and attributes and compare objects, run by one built-in function.

A guard program takes a tenth of the time here that it takes in Python (``bench/call_overhead.py``).  No instruction runs Python code or
changes an object, so the objects that are found live until the end.  A failed check has no reason: the Python guards give it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import CellType
from typing import Any

from ...codegen.llvm.ir import Scalar
from .object_layout import OFFSETS, word_of
from .pyobject_code import NULL, ONE, WORD, BuiltinFunction, ObjectCode, table_of


class Opcode(IntEnum):
    """The opcodes; an instruction has a register to write, one to read, and two more words."""

    TUPLE = 0  # an element of a tuple: which
    LIST = 1  # an element of a list: which
    FIELD = 2  # a field of an object: its byte offset, and the register of the object's required type
    ITEM = 3  # the value of a key in a dict
    WITHOUT = 4  # a dict does not have a key
    KIND = 5  # the type of an object
    SAME = 6  # the same object as in another register
    OTHER = 7  # another object
    REFERENT = 8  # the object that a weak reference (another register) refers to
    LENGTH = 9  # an object of a type of containers (its register) has so many elements
    KEYS = 10  # a dict has as keys, in that order, the elements of a tuple: it, and how many
    OPTIONS = 11  # a dict has as values the elements of a list (its register), but for one (which) of its own
    CLASS = 12  # what a class has by a name
    NOTHING = 13  # a class has nothing by a name
    UNCHANGED = 14  # where a dict's version equals a recorded one, skip so many steps: their registers are valid
    NOTE = 15  # record a dict's version, in a step so many words back


REGISTERS: dict[Opcode, tuple[int, ...]] = {  # which words of instructions are registers, besides the first two
    Opcode.FIELD: (4,), Opcode.SAME: (3,), Opcode.OTHER: (3,), Opcode.REFERENT: (3,), Opcode.LENGTH: (3,), Opcode.OPTIONS: (3,),
}  # fmt: skip
# The words of a table, before the instructions and the addresses of result registers.
_BUSY, _GIVEN, _STEPS, _RESULTS, _HEAD = range(5)
STEP = 5  # words
_LOOKUP = "_PyType_Lookup"


class Layout:
    """The offsets of elements in CPython's containers, cells and weak references: after the element count, or instead of it."""

    size = object.__basicsize__
    elements = size + WORD
    contents = size
    referent = size
    version = size + WORD  # of a dict: its version tag, unique among dicts and changed by every write


class _Thing:
    pass


def layout_holds() -> bool:
    """Whether fields have the assumed offsets."""
    thing = _Thing()
    pair, several, table = (thing, 7), [thing, 7, 8], {"a": thing}
    cell, reference = CellType(thing), weakref.ref(thing)
    right = (word_of(pair, Layout.size), word_of(several, Layout.size), word_of(table, Layout.size)) == (2, 3, 1)
    right = right and word_of(pair, Layout.elements) == id(thing) == ctypes.c_int64.from_address(word_of(several, Layout.elements)).value
    return (
        right and word_of(cell, Layout.contents) == id(thing) == word_of(reference, Layout.referent) and hasattr(ctypes.pythonapi, _LOOKUP)
    )


@functools.cache
def available() -> bool:
    """Whether the layout of objects in this Python is known."""
    return OFFSETS is not None and layout_holds()


@functools.cache
def has_versions() -> bool:
    """Whether dicts have a version tag.  In later Pythons it does not count all changes."""
    if sys.version_info >= (3, 13) or not available():
        return False
    seen: set[int] = set()
    for thing in (_Thing(), _Thing()):
        own = vars(thing)
        for number in range(20):  # often enough for Python's specializing interpreter
            seen.add(word_of(own, Layout.version))
            thing.name = number  # type: ignore[attr-defined]
            seen.add(word_of(own, Layout.version))
            del own["name"]
    return len(seen) == 80


def check(registers: Sequence[int], instructions: Sequence[tuple[int, ...]], results: Sequence[int], kept: Any) -> Callable[[Any], Any]:
    """A built-in function of one object, which is put into the first register: the contents of some registers at the end, or NotImplemented.

    ``registers`` are the addresses of constant objects, and otherwise 0.
    """
    memory = (ctypes.c_int64 * len(registers))(*registers)
    start = ctypes.addressof(memory)
    words = [0, start, len(instructions), len(results)]
    for step in instructions:
        places = (1, 2, *REGISTERS.get(Opcode(step[0]), ()))
        words += [start + WORD * word if at in places else word for at, word in enumerate(step)] + [0] * (STEP - len(step))
    return _function().of([*words, *(start + WORD * each for each in results)], (memory, kept))


@functools.cache
def _function() -> BuiltinFunction:
    c = ObjectCode()
    return BuiltinFunction("check_guards", c, "ptr %self, ptr %given", write(c), ONE, 1)


def write(c: ObjectCode) -> Scalar:
    """Emit the interpreter of instructions; the value that the last block of the function, the refusal, returns."""
    assert OFFSETS is not None
    zero, one = c.integer(0), c.integer(1)
    table = table_of(c)
    c.need(c.same(c.word(table, _BUSY), zero), "away")  # a key's ``__eq__`` may re-enter this function
    c.put(one, table, _BUSY)
    c.put(Scalar("%given", "ptr"), c.word(table, _GIVEN, "ptr"))
    counter, key, value, left_out = c.slot("i64"), c.slot("ptr"), c.slot("ptr"), c.slot("i64")
    dictionary = c.object("dict", dict)
    steps = c.words_from(table, _HEAD)
    answers = c.words_from(steps, c.scale(c.word(table, _STEPS), STEP))

    def kind(thing: Scalar) -> Scalar:
        assert OFFSETS is not None
        return c.field(thing, OFFSETS.kind)

    def size(thing: Scalar) -> Scalar:
        return c.field(thing, Layout.size, "i64")

    c.write(zero, left_out)
    with c.loop(zero, c.word(table, _STEPS)) as turn:
        at = c.add(turn, c.read(left_out, "i64"))
        c.need(c.compare("slt", at, c.word(table, _STEPS)), "found")
        step = c.words_from(steps, c.scale(at, STEP))
        to = c.word(step, 1, "ptr")
        thing = c.field(c.word(step, 2, "ptr"), 0)
        following = c.fresh("following")
        c.switch(c.word(step, 0), "refuse", {int(each): each.name for each in Opcode})

        def register(word: int) -> Scalar:
            return c.field(c.word(step, word, "ptr"), 0)

        def begin(each: Opcode) -> None:
            c.label(each.name)

        def end(found: Scalar | None = None) -> None:
            if found is not None:
                c.put(found, to)
            c.jump(following)

        def item() -> Scalar:
            c.need(c.same(kind(thing), dictionary), "refuse")
            return c.call("PyDict_GetItemWithError", thing, c.word(step, 3, "ptr"))

        def pairs(check: Callable[[Scalar], None]) -> None:
            """A check for each entry of a dict, given its number; it finds key and value in their slots."""
            c.write(zero, counter)
            with c.loop(zero, size(thing)) as number:
                more = c.call("PyDict_Next", thing, *(Scalar(each, "ptr") for each in (counter, key, value)), type="i32")
                c.need(c.differ(more, Scalar("0", "i32")), "refuse")
                check(number)

        begin(Opcode.TUPLE)
        which = c.word(step, 3)
        c.need(c.same(kind(thing), c.object("tuple", tuple)), "refuse")
        c.need(c.compare("slt", which, size(thing)), "refuse")
        end(c.word(c.beyond(thing, Layout.elements), which, "ptr"))
        begin(Opcode.LIST)
        which = c.word(step, 3)
        c.need(c.same(kind(thing), c.object("list", list)), "refuse")
        c.need(c.compare("slt", which, size(thing)), "refuse")
        end(c.word(c.field(thing, Layout.elements), which, "ptr"))
        begin(Opcode.FIELD)
        c.need(c.same(kind(thing), register(4)), "refuse")
        place = c.beyond(thing, c.word(step, 3))
        content = c.field(place, 0)
        c.need(c.is_object(content), "refuse")  # the dict of attributes may not be materialized yet
        end(content)
        begin(Opcode.ITEM)
        content = item()
        c.need(c.differ(content, NULL), "forget")
        end(content)
        begin(Opcode.WITHOUT)
        c.need(c.same(item(), NULL), "refuse")
        c.need(c.same(c.call("PyErr_Occurred"), NULL), "forget")
        end()
        begin(Opcode.KIND)
        end(kind(thing))
        begin(Opcode.SAME)
        c.need(c.same(thing, register(3)), "refuse")
        end()
        begin(Opcode.OTHER)
        c.need(c.differ(thing, register(3)), "refuse")
        end()
        begin(Opcode.REFERENT)
        c.need(c.same(thing, c.field(register(3), Layout.referent)), "refuse")
        end()
        begin(Opcode.LENGTH)
        c.need(c.both(c.same(kind(thing), register(3)), c.same(size(thing), c.word(step, 4))), "refuse")
        end()
        begin(Opcode.KEYS)
        names = c.beyond(c.word(step, 3, "ptr"), Layout.elements)
        c.need(c.same(kind(thing), dictionary), "refuse")
        c.need(c.same(size(thing), c.word(step, 4)), "refuse")
        pairs(lambda number: c.need(c.same(c.read(key, "ptr"), c.word(names, number, "ptr")), "refuse"))
        end()
        begin(Opcode.OPTIONS)
        options, apart = register(3), c.word(step, 4)
        c.need(c.both(c.same(kind(thing), dictionary), c.same(kind(options), c.object("list", list))), "refuse")
        c.need(c.same(size(thing), c.add(size(options), one)), "refuse")
        known = c.field(options, Layout.elements)

        def compare(number: Scalar) -> None:
            mine = c.same(number, apart)
            at_last = c.convert("zext", c.compare("sge", number, apart), "i64")
            other = c.select(mine, zero, c.sub(number, at_last))
            present, wanted = c.read(value, "ptr"), c.word(known, other, "ptr")
            c.need(c.either(mine, c.same(present, wanted)), "refuse")

        c.need(c.compare("sgt", size(options), zero), "refuse")
        pairs(compare)
        end()
        begin(Opcode.CLASS)
        content = c.call(_LOOKUP, thing, c.word(step, 3, "ptr"))
        c.need(c.differ(content, NULL), "forget")
        end(content)
        begin(Opcode.NOTHING)
        c.need(c.same(c.call(_LOOKUP, thing, c.word(step, 3, "ptr")), NULL), "refuse")
        c.need(c.same(c.call("PyErr_Occurred"), NULL), "forget")
        end()
        begin(Opcode.UNCHANGED)
        c.need(c.same(kind(thing), dictionary), "refuse")
        same = c.same(c.field(thing, Layout.version, "i64"), c.word(step, 3))
        changed = c.fresh("changed")
        c.need(same, changed)
        c.write(c.add(c.read(left_out, "i64"), c.word(step, 4)), left_out)
        end()
        c.label(changed)
        c.put(zero, step, 3)  # what registers hold is not known until all the steps have run
        end()
        begin(Opcode.NOTE)
        c.put(c.field(thing, Layout.version, "i64"), step, c.word(step, 3))
        end()
        c.label(following)
    c.jump("found")
    return _results(c, table, answers)


def _results(c: ObjectCode, table: Scalar, answers: Scalar) -> Scalar:
    """Emit the ends of the function: a tuple of the results, an error, and the refusal, whose value is returned."""
    zero = c.integer(0)
    c.label("found")
    count = c.word(table, _RESULTS)
    with c.loop(zero, count) as at:  # before the tuple is made: that may run the garbage collector, and so arbitrary code
        c.keep(c.field(c.word(answers, at, "ptr"), 0))
    result = c.call("PyTuple_New", count)
    c.need(c.differ(result, NULL), "fail")
    items = c.beyond(result, Layout.elements)
    with c.loop(zero, count) as at:
        c.put(c.field(c.word(answers, at, "ptr"), 0), items, at)
    c.put(zero, table, _BUSY)
    c.give(result)
    c.label("fail")
    with c.loop(zero, count) as at:
        c.drop(c.field(c.word(answers, at, "ptr"), 0))
    c.put(zero, table, _BUSY)
    c.give(NULL)
    c.label("forget")  # an error of Python's, if there was one
    c.call("PyErr_Clear", type="void")
    c.jump("refuse")
    c.label("refuse")
    c.put(zero, table, _BUSY)
    c.jump("away")
    c.label("away")
    refused = c.object("refused", NotImplemented)
    c.keep(refused)
    return refused
