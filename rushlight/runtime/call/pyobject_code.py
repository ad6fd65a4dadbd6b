"""Builder of machine code that works on Python objects: it reads their fields, calls CPython's C functions, and becomes a built-in function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...codegen.llvm.ir import IRBuilder, Module, Part, Scalar
from ...core.process_safety import cached_property
from ..cpu.jit import jit
from .object_layout import OFFSETS

FASTCALL, ONE = 0x80, 0x08  # calling conventions of built-in functions: METH_FASTCALL, METH_O
WORD = 8  # bytes


class Table(ctypes.Array):  # type: ignore[type-arg]
    """The constants of a built-in function: its ``__self__``, which also keeps alive what the function refers to."""

    _type_ = ctypes.c_int64
    _length_ = 1
    kept: Any


class ObjectCode(IRBuilder):
    """Emits code that works on objects.  Pointers are scalars as all other operands are."""

    def __init__(self) -> None:
        super().__init__(Module())
        self.rolled = self.scalar = True

    def field(self, pointer: Scalar, offset: Scalar | int, type: str = "ptr") -> Scalar:
        """A field of an object, at a byte offset."""
        return self.emit("load", type, (self.beyond(pointer, offset),))

    def beyond(self, pointer: Scalar, offset: Scalar | int) -> Scalar:
        """The address at a byte offset."""
        return self.emit("getelementptr", "i8", (pointer, self.index(offset)), "", "ptr")

    def words_from(self, pointer: Scalar, index: Scalar | int) -> Scalar:
        """The address at a word offset."""
        return self.emit("getelementptr", "i64", (pointer, self.index(index)), "", "ptr")

    def word(self, pointer: Scalar, index: Scalar | int, type: str = "i64") -> Scalar:
        """A word of a table."""
        return self.emit("load", type, (self.words_from(pointer, index),))

    def put(self, value: Scalar, pointer: Scalar, index: Scalar | int = 0) -> None:
        """Write a word of a table."""
        self.effect("store", value.type, (value, self.words_from(pointer, index)))

    def outside(self, name: str, address: int) -> Scalar:
        """The address of a symbol."""
        return Scalar(self.bound(name, address), "ptr")

    def object(self, name: str, value: Any) -> Scalar:
        """A constant object."""
        return self.outside(name, id(value))

    def call(self, name: str, *arguments: Scalar, type: str = "ptr") -> Scalar:
        """Call a function of CPython's."""
        function = self.bound(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
        return self.call_at(Scalar(function, "ptr"), *arguments, type=type)

    def call_at(self, function: Scalar, *arguments: Scalar, type: str = "ptr") -> Scalar:
        """Call a function by its address."""
        if type == "void":
            self.effect("call", type, (function, *arguments))
            return NULL
        return self.emit("call", type, (function, *arguments))

    def keep(self, value: Scalar) -> None:
        """Increment an object's reference count."""
        self.call("Py_IncRef", value, type="void")

    def drop(self, value: Scalar) -> None:
        """Decrement it."""
        self.call("Py_DecRef", value, type="void")

    def same(self, a: Scalar, b: Scalar) -> Scalar:
        """Whether two words are the same."""
        return self.compare("eq", a, b)

    def differ(self, a: Scalar, b: Scalar) -> Scalar:
        """Whether they are not."""
        return self.compare("ne", a, b)

    def is_object(self, pointer: Scalar) -> Scalar:
        """Whether a word is the address of an object: not null, and not a tagged (odd) value."""
        number = self.convert("ptrtoint", pointer, "i64")
        return self.both(self.differ(number, self.integer(0)), self.same(self.binary("and", number, self.integer(1)), self.integer(0)))

    def either(self, *conditions: Scalar) -> Scalar:
        """Whether one of some conditions holds."""
        return self._joined("or", conditions)

    def both(self, *conditions: Scalar) -> Scalar:
        """Whether all of some conditions hold."""
        return self._joined("and", conditions)

    def _joined(self, how: str, conditions: Sequence[Scalar]) -> Scalar:
        found, *rest = conditions
        for each in rest:
            found = self.binary(how, found, each)
        return found

    def need(self, condition: Scalar, otherwise: str) -> None:
        """Continue where a condition holds, else branch to a block."""
        following = self.fresh("on")
        self.branch(condition, following, otherwise)
        self.label(following)

    def switch(self, value: Scalar, otherwise: str, targets: Mapping[int, str]) -> None:
        """Switch on a number, with a default block."""
        cases = [each for number, name in targets.items() for each in (Scalar(str(number), value.type), Scalar(f"%{name}", "label"))]
        self.effect("switch", value.type, (value, Scalar(f"%{otherwise}", "label"), *cases))

    def give(self, value: Scalar) -> None:
        """Return from the function."""
        self.effect("ret", value.type, (value,))

    def index(self, number: Scalar | int) -> Scalar:
        """A number as an operand."""
        return Scalar(str(number), "i64") if isinstance(number, int) else number


NULL = Scalar("null", "ptr")


class BuiltinFunction:
    """The machine code of a built-in function."""

    def __init__(self, name: str, code: ObjectCode, parameters: str, result: Scalar, flags: int, effort: int) -> None:
        self.name, self.flags = name, flags
        code.module.put(name, code.function(name, parameters, result))
        self.part = Part(str(code.module), effort)
        self.bindings = code.module.bindings

    @cached_property
    def compiled(self) -> Any:
        return jit().compile([self.part], self.bindings)

    def of(self, words: Sequence[int], kept: Any) -> Callable[..., Any]:
        """The function object, given the words of its table and the objects to keep alive."""
        table = type("Table", (Table,), {"_length_": len(words)})(*words)
        definition = _Definition(self.name.encode(), self.compiled.address(self.name), self.flags, None)
        table.kept = (kept, self.compiled, definition)
        return _new_function(ctypes.byref(definition), table, None)  # type: ignore[no-any-return]


class _Definition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("documentation", ctypes.c_char_p))


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def table_of(c: ObjectCode) -> Scalar:
    """The table of the built-in function that is written."""
    assert OFFSETS is not None
    return c.field(Scalar("%self", "ptr"), OFFSETS.memory)
