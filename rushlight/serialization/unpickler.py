"""An unpickler that executes nothing.

Python's own calls whatever a file names.  This one builds plain values by itself and asks three methods for the rest:
``find`` a name, ``call`` what was found, and ``persistent`` for the objects (storages) that have records of their own.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from .keys import check_key

_MARK = object()
_INT4, _UINT2, _UINT4, _UINT8, _DOUBLE = (struct.Struct(form) for form in ("<i", "<H", "<I", "<Q", ">d"))


class PlainUnpickler:
    """Reads one pickle from ``data`` (bytes, or a mapped file), from ``position`` on; ``position`` is its end afterwards."""

    def __init__(self, data: Any, position: int = 0, encoding: str = "utf-8") -> None:
        self.data = data
        self.position = position
        self.encoding = encoding
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.finished = False

    # -- what a kind of reader decides ---------------------------------------------------------------------------

    def find(self, module: str, name: str) -> Any:
        """The object that a name in the file refers to."""
        raise UnpicklingError(f"this pickle names {module}.{name}, and no names are allowed in it")

    def call(self, function: Any, arguments: Any) -> Any:
        """The result of a call that the file asks for."""
        raise UnpicklingError("this pickle calls a function, and no calls are allowed in it")

    def single(self, function: Any, argument: Any) -> tuple[Any, ...]:
        """The arguments of a call that are given as one value and no tuple."""
        raise UnpicklingError("the pickle is damaged: the arguments of a call are no tuple")

    def create(self, kind: Any, arguments: Any, named: Any) -> Any:
        """A new object of a class that the file names."""
        raise UnpicklingError("this pickle makes an object of a class, and no classes are allowed in it")

    def build(self, target: Any, state: Any) -> None:
        """Give an object its state."""
        raise UnpicklingError("this pickle sets the state of an object, and no objects are allowed in it")

    def persistent(self, identity: Any) -> Any:
        """An object that is stored outside the pickle."""
        raise UnpicklingError("this pickle refers to objects outside, and none are allowed in it")

    def takes_items(self, target: Any) -> bool:
        """Whether the file may write items to this object."""
        return type(target) in (dict, OrderedDict, Counter)

    def extends(self, target: Any) -> bool:
        """Whether the file may append to this object."""
        return type(target) is list

    # -- reading -------------------------------------------------------------------------------------------------

    def load(self) -> Any:
        """The object in the pickle."""
        steps = _STEPS
        try:
            while not self.finished:
                code = self.data[self.position]
                self.position += 1
                step = steps.get(code)
                if step is None:
                    raise UnpicklingError(f"unsupported pickle instruction {code} at byte {self.position - 1}")
                step(self)
            result = self.stack.pop()
        except (LookupError, struct.error, ValueError, OverflowError, AttributeError) as error:
            shown = str(error) if isinstance(error, ValueError) else "it ends too early or refers to what is not there"
            raise UnpicklingError(f"the pickle is damaged at byte {self.position}: {shown}") from error
        except TypeError as error:
            raise UnpicklingError(f"the pickle can't be read at byte {self.position}: {error}") from error
        if result is _MARK or self.stack:
            raise UnpicklingError("the pickle is damaged: it ends in the middle of an object")
        return result

    def take(self, size: int) -> bytes:
        """So many bytes."""
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise UnpicklingError(f"the pickle is damaged: a value of {size} bytes at byte {self.position} does not fit into it")
        found = bytes(self.data[self.position : end])
        self.position = end
        return found

    def number(self, form: struct.Struct) -> Any:
        """A number of fixed size."""
        (value,) = form.unpack_from(self.data, self.position)
        self.position += form.size
        return value

    def line(self) -> bytes:
        """The bytes up to the end of the line."""
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise UnpicklingError("the pickle is damaged: a line does not end")
        found = bytes(self.data[self.position : end])
        self.position = end + 1
        return found

    def pop(self) -> Any:
        """The topmost value; a mark is none."""
        value = self.stack.pop()
        if value is _MARK:
            raise UnpicklingError(f"the pickle is damaged at byte {self.position}: a value is missing")
        return value

    def top(self) -> Any:
        """The topmost value, left where it is."""
        if self.stack[-1] is _MARK:
            raise UnpicklingError(f"the pickle is damaged at byte {self.position}: a value is missing")
        return self.stack[-1]

    def pop_mark(self) -> list[Any]:
        """The values above the last mark."""
        stack = self.stack
        index = len(stack) - 1
        while stack[index] is not _MARK:
            index -= 1
            if index < 0:
                raise UnpicklingError(f"the pickle is damaged at byte {self.position}: a mark is missing")
        values = stack[index + 1 :]
        del stack[index:]
        return values

    def text(self, data: bytes) -> Any:
        """What Python 2 called a string."""
        return data if self.encoding == "bytes" else data.decode(self.encoding, "strict")

    def set_items(self, target: Any, flat: list[Any]) -> None:
        """Write keys and values, one after the other, to a dict."""
        if not self.takes_items(target) or len(flat) % 2:
            raise UnpicklingError(f"the pickle writes items to {type(target).__name__}, which is not allowed")
        for index in range(0, len(flat), 2):
            check_key(flat[index])
            target[flat[index]] = flat[index + 1]

    def append_all(self, target: Any, values: list[Any]) -> None:
        """Append to a list."""
        if not self.extends(target):
            raise UnpicklingError(f"the pickle appends to {type(target).__name__}, which is not allowed")
        target.extend(values)

    def add_all(self, target: Any, values: list[Any]) -> None:
        """Add to a set."""
        if type(target) is not set:
            raise UnpicklingError(f"the pickle adds members to {type(target).__name__}, which is not allowed")
        for each in values:
            check_key(each)
        target.update(values)


# -- the instructions --------------------------------------------------------------------------------------------

Step = Callable[[PlainUnpickler], Any]
_STEPS: dict[int, Step] = {}


def step(code: bytes) -> Callable[[Step], Step]:
    """What an instruction does."""

    def register(function: Step) -> Step:
        _STEPS[code[0]] = function
        return function

    return register


def pushes(code: bytes, value: Callable[[PlainUnpickler], Any]) -> None:
    """An instruction that puts a value on the stack."""
    _STEPS[code[0]] = lambda reader: reader.stack.append(value(reader))


@step(b"\x80")
def _protocol(reader: PlainUnpickler) -> None:
    if reader.take(1)[0] > 5:
        raise UnpicklingError("the pickle is of a protocol that is not known")


@step(b"\x95")
def _frame(reader: PlainUnpickler) -> None:
    reader.number(_UINT8)


@step(b".")
def _stop(reader: PlainUnpickler) -> None:
    reader.finished = True


@step(b"0")
def _pop(reader: PlainUnpickler) -> None:
    reader.stack.pop()


@step(b"1")
def _pop_mark(reader: PlainUnpickler) -> None:
    reader.pop_mark()


pushes(b"(", lambda reader: _MARK)
pushes(b"2", lambda reader: reader.top())
pushes(b"N", lambda reader: None)
pushes(b"\x88", lambda reader: True)
pushes(b"\x89", lambda reader: False)
pushes(b"J", lambda reader: reader.number(_INT4))
pushes(b"K", lambda reader: reader.take(1)[0])
pushes(b"M", lambda reader: reader.number(_UINT2))
pushes(b"\x8a", lambda reader: int.from_bytes(reader.take(reader.take(1)[0]), "little", signed=True))
pushes(b"\x8b", lambda reader: int.from_bytes(reader.take(reader.number(_INT4)), "little", signed=True))
pushes(b"L", lambda reader: int(reader.line().rstrip(b"L")))
pushes(b"F", lambda reader: float(reader.line()))
pushes(b"G", lambda reader: reader.number(_DOUBLE))
pushes(b"T", lambda reader: reader.text(reader.take(reader.number(_INT4))))
pushes(b"U", lambda reader: reader.text(reader.take(reader.take(1)[0])))
pushes(b"V", lambda reader: reader.line().decode("raw-unicode-escape"))
pushes(b"X", lambda reader: reader.take(reader.number(_UINT4)).decode("utf-8", "surrogatepass"))
pushes(b"\x8c", lambda reader: reader.take(reader.take(1)[0]).decode("utf-8", "surrogatepass"))
pushes(b"\x8d", lambda reader: reader.take(reader.number(_UINT8)).decode("utf-8", "surrogatepass"))
pushes(b"B", lambda reader: reader.take(reader.number(_UINT4)))
pushes(b"C", lambda reader: reader.take(reader.take(1)[0]))
pushes(b"\x8e", lambda reader: reader.take(reader.number(_UINT8)))
pushes(b"\x96", lambda reader: bytearray(reader.take(reader.number(_UINT8))))
pushes(b")", lambda reader: ())
pushes(b"t", lambda reader: tuple(reader.pop_mark()))
pushes(b"]", lambda reader: [])
pushes(b"l", lambda reader: reader.pop_mark())
pushes(b"}", lambda reader: {})
pushes(b"\x8f", lambda reader: set())
pushes(b"h", lambda reader: reader.memo[reader.take(1)[0]])
pushes(b"j", lambda reader: reader.memo[reader.number(_UINT4)])
pushes(b"g", lambda reader: reader.memo[int(reader.line())])
pushes(b"Q", lambda reader: reader.persistent(reader.pop()))


@step(b"I")
def _int(reader: PlainUnpickler) -> None:
    line = reader.line()
    reader.stack.append({b"00": False, b"01": True}.get(line) if line in (b"00", b"01") else int(line))


@step(b"\x85")
def _tuple1(reader: PlainUnpickler) -> None:
    reader.stack.append((reader.pop(),))


@step(b"\x86")
def _tuple2(reader: PlainUnpickler) -> None:
    second, first = reader.pop(), reader.pop()
    reader.stack.append((first, second))


@step(b"\x87")
def _tuple3(reader: PlainUnpickler) -> None:
    third, second, first = reader.pop(), reader.pop(), reader.pop()
    reader.stack.append((first, second, third))


@step(b"\x91")
def _frozenset(reader: PlainUnpickler) -> None:
    members: set[Any] = set()
    reader.add_all(members, reader.pop_mark())
    reader.stack.append(frozenset(members))


@step(b"d")
def _dict(reader: PlainUnpickler) -> None:
    target: dict[Any, Any] = {}
    reader.set_items(target, reader.pop_mark())
    reader.stack.append(target)


@step(b"s")
def _set_item(reader: PlainUnpickler) -> None:
    value, key = reader.pop(), reader.pop()
    reader.set_items(reader.top(), [key, value])


@step(b"u")
def _set_items(reader: PlainUnpickler) -> None:
    values = reader.pop_mark()
    reader.set_items(reader.top(), values)


@step(b"a")
def _append(reader: PlainUnpickler) -> None:
    value = reader.pop()
    reader.append_all(reader.top(), [value])


@step(b"e")
def _appends(reader: PlainUnpickler) -> None:
    values = reader.pop_mark()
    reader.append_all(reader.top(), values)


@step(b"\x90")
def _add_items(reader: PlainUnpickler) -> None:
    values = reader.pop_mark()
    reader.add_all(reader.top(), values)


@step(b"q")
def _put(reader: PlainUnpickler) -> None:
    reader.memo[reader.take(1)[0]] = reader.top()


@step(b"r")
def _put_wide(reader: PlainUnpickler) -> None:
    reader.memo[reader.number(_UINT4)] = reader.top()


@step(b"p")
def _put_text(reader: PlainUnpickler) -> None:
    reader.memo[int(reader.line())] = reader.top()


@step(b"\x94")
def _memoize(reader: PlainUnpickler) -> None:
    reader.memo[len(reader.memo)] = reader.top()


@step(b"c")
def _global(reader: PlainUnpickler) -> None:
    module, name = reader.line().decode(), reader.line().decode()
    reader.stack.append(reader.find(module, name))


@step(b"\x93")
def _stack_global(reader: PlainUnpickler) -> None:
    name, module = reader.pop(), reader.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("the pickle is damaged: a name in it is no string")
    reader.stack.append(reader.find(module, name))


@step(b"R")
def _reduce(reader: PlainUnpickler) -> None:
    arguments, function = reader.pop(), reader.pop()
    if type(arguments) is not tuple:
        arguments = reader.single(function, arguments)
    reader.stack.append(reader.call(function, arguments))


@step(b"\x81")
def _new_object(reader: PlainUnpickler) -> None:
    arguments, kind = reader.pop(), reader.pop()
    reader.stack.append(reader.create(kind, arguments, {}))


@step(b"\x92")
def _new_object_named(reader: PlainUnpickler) -> None:
    named, arguments, kind = reader.pop(), reader.pop(), reader.pop()
    reader.stack.append(reader.create(kind, arguments, named))


@step(b"b")
def _build(reader: PlainUnpickler) -> None:
    state = reader.pop()
    reader.build(reader.top(), state)
