"""What each canonical instruction does to a frame.

A handler gets the interpreter, the frame and the argument of the instruction.  It moves values between the stack, the
variables and the semantics, and gives None when the next instruction follows.  Otherwise it gives what runs next: a frame
(this one after a jump, another one after a call), or an outcome.
"""

from __future__ import annotations

from types import CellType
from typing import Any

from ..decode import NULL
from .frame import Frame, Inline, Resume
from .frame_builtins import cell_value
from .generator import InterpretedGenerator
from .interpreter import BytecodeInterpreter, Next, operation


def take(frame: Frame, count: int) -> list[Any]:
    """Takes values off the stack."""
    start = len(frame.stack) - count
    values = frame.stack[start:]
    del frame.stack[start:]
    return values


def push(frame: Frame, value: Any) -> Next:
    """Puts a value on the stack, and continues."""
    frame.stack.append(value)
    return None


def give(run: BytecodeInterpreter, frame: Frame, result: Any) -> Next:
    """Pushes a result of the semantics, or enters the frame that will give it."""
    if type(result) is Inline:
        return run.enter(frame, result)
    if type(result) is Resume:
        return run.resume(frame, result)
    return push(frame, result)


def called(first: Any, second: Any) -> Any:
    """The callable among the two places below the arguments of a call (if neither is NULL, the second is an argument)."""
    return second if first is NULL else first


def drop(run: BytecodeInterpreter, frame: Frame, result: Any) -> Next:
    """The same for what has no result."""
    return run.enter(frame, result) if type(result) is Inline else None


# The stack.


@operation("pop")
def pop(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    if type(frame.stack[-1]) is InterpretedGenerator:
        run.semantics.release_generator(frame.stack[-1])
    frame.stack.pop()
    return None


@operation("copy")
def copy(run: BytecodeInterpreter, frame: Frame, depth: int) -> Next:
    return push(frame, frame.stack[-depth])


@operation("swap")
def swap(run: BytecodeInterpreter, frame: Frame, depth: int) -> Next:
    stack = frame.stack
    stack[-depth], stack[-1] = stack[-1], stack[-depth]
    return None


@operation("push_null")
def push_null(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    return push(frame, NULL)


@operation("load_const")
def load_const(run: BytecodeInterpreter, frame: Frame, constant: Any) -> Next:
    return push(frame, constant)


# Variables.


def no_value(frame: Frame, slot: int) -> NameError:
    """The error for a variable without a value."""
    name = frame.bytecode.slot_names[slot]
    if slot >= len(frame.slots) - len(frame.code.co_freevars):
        message = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
        return NameError(message, name=name)
    message = f"cannot access local variable {name!r} where it is not associated with a value"
    return UnboundLocalError(message)


@operation("load_local")
def load_local(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    value = frame.slots[slot]
    if value is NULL:
        raise no_value(frame, slot)
    return push(frame, value)


@operation("load_local_and_clear")
def load_local_and_clear(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    frame.stack.append(frame.slots[slot])
    frame.slots[slot] = NULL
    return None


@operation("store_local")
def store_local(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    frame.slots[slot] = frame.stack.pop()
    return None


@operation("delete_local")
def delete_local(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    if frame.slots[slot] is NULL:
        raise no_value(frame, slot)
    frame.slots[slot] = NULL
    return None


@operation("make_cell")
def make_cell(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    value = frame.slots[slot]
    frame.slots[slot] = CellType() if value is NULL else CellType(value)
    return None


@operation("load_deref")
def load_deref(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    value = cell_value(frame.slots[slot])
    if value is NULL:
        raise no_value(frame, slot)
    if type(value) is int or type(value) is float:
        value = run.semantics.load_cell(frame.slots[slot], value)
    return push(frame, value)


@operation("store_deref")
def store_deref(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    run.semantics.store_cell(frame.slots[slot], frame.stack.pop())
    return None


@operation("delete_deref")
def delete_deref(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    if cell_value(frame.slots[slot]) is NULL:
        raise no_value(frame, slot)
    run.semantics.delete_cell(frame.slots[slot])
    return None


@operation("load_from_dict_or_deref")
def load_from_dict_or_deref(run: BytecodeInterpreter, frame: Frame, slot: int) -> Next:
    mapping, name = frame.stack.pop(), frame.bytecode.slot_names[slot]
    if name not in mapping:
        return load_deref(run, frame, slot)
    return push(frame, mapping[name])


@operation("load_global")
def load_global(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    return push(frame, run.semantics.load_global(frame, name))


@operation("store_global")
def store_global(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    run.semantics.store_global(frame, name, frame.stack.pop())
    return None


@operation("delete_global")
def delete_global(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    run.semantics.delete_global(frame, name)
    return None


@operation("load_from_dict_or_globals")
def load_from_dict_or_globals(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    mapping = frame.stack.pop()
    return push(frame, mapping[name] if name in mapping else run.semantics.load_global(frame, name))


@operation("load_locals")
def load_locals(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    return push(frame, frame.namespace)


@operation("load_name")
def load_name(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    frame.stack.append(frame.namespace)
    return load_from_dict_or_globals(run, frame, name)


@operation("store_name")
def store_name(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    frame.namespace[name] = frame.stack.pop()  # type: ignore[index]
    return None


@operation("delete_name")
def delete_name(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    if name not in frame.namespace:  # type: ignore[operator]
        raise NameError(f"name {name!r} is not defined", name=name)
    del frame.namespace[name]  # type: ignore[union-attr]
    return None


@operation("load_build_class")
def load_build_class(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    if "__build_class__" not in frame.builtins:
        raise NameError("__build_class__ not found")
    return push(frame, frame.builtins["__build_class__"])


@operation("setup_annotations")
def setup_annotations(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    frame.namespace.setdefault("__annotations__", {})  # type: ignore[union-attr]
    return None


# Attributes and items.


@operation("load_attr")
def load_attr(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    return give(run, frame, run.semantics.load_attr(frame.stack.pop(), name))


@operation("store_attr")
def store_attr(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    value, target = take(frame, 2)
    return drop(run, frame, run.semantics.store_attr(target, name, value))


@operation("delete_attr")
def delete_attr(run: BytecodeInterpreter, frame: Frame, name: str) -> Next:
    return drop(run, frame, run.semantics.delete_attr(frame.stack.pop(), name))


@operation("load_super_attr")
def load_super_attr(run: BytecodeInterpreter, frame: Frame, argument: tuple[str, bool]) -> Next:
    name, has_arguments = argument
    function, kind, instance = take(frame, 3)
    if function is super:
        value = run.semantics.call(frame, super, (kind, instance), {})
    else:  # someone has given the name another meaning, and it is called as it was written
        value = function(kind, instance) if has_arguments else function()
    return give(run, frame, run.semantics.load_attr(value, name))


@operation("get_item")
def get_item(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    container, key = take(frame, 2)
    return give(run, frame, run.semantics.get_item(container, key))


@operation("set_item")
def set_item(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    value, container, key = take(frame, 3)
    return drop(run, frame, run.semantics.set_item(container, key, value))


@operation("delete_item")
def delete_item(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    container, key = take(frame, 2)
    return drop(run, frame, run.semantics.delete_item(container, key))


# Operators.


@operation("unary")
def unary(run: BytecodeInterpreter, frame: Frame, op: str) -> Next:
    value = frame.stack.pop()
    if op == "not" or op == "truth":
        found = run.semantics.truth(value)
        return run.enter(frame, found) if type(found) is Inline else push(frame, bool(found) is not (op == "not"))
    return give(run, frame, run.semantics.unary(op, value))


@operation("binary")
def binary(run: BytecodeInterpreter, frame: Frame, op: str) -> Next:
    a, b = take(frame, 2)
    return give(run, frame, run.semantics.binary(op, a, b))


@operation("compare")
def compare(run: BytecodeInterpreter, frame: Frame, op: str) -> Next:
    a, b = take(frame, 2)
    return give(run, frame, run.semantics.compare(op, a, b))


@operation("is")
def is_same(run: BytecodeInterpreter, frame: Frame, invert: bool) -> Next:
    a, b = take(frame, 2)
    return push(frame, run.semantics.is_same(a, b) is not invert)


@operation("contains")
def contains(run: BytecodeInterpreter, frame: Frame, invert: bool) -> Next:
    item, container = take(frame, 2)
    found = run.semantics.contains(container, item)
    if type(found) is Inline:
        return run.enter(frame, Inline(found.function, (*found.args, True), {}) if invert else found)
    return push(frame, found is not invert)


# Building and taking apart.


def building(name: str) -> None:
    """An operation that makes one value of several."""

    @operation(name)
    def build(run: BytecodeInterpreter, frame: Frame, count: int) -> Next:
        return push(frame, getattr(run.semantics, name)(take(frame, count)))


def adding(name: str) -> None:
    """An operation that adds the value on top to a container below."""

    @operation(name)
    def add(run: BytecodeInterpreter, frame: Frame, depth: int) -> Next:
        value = frame.stack.pop()
        getattr(run.semantics, name)(frame.stack[-depth], value)
        return None


for _name in ("build_tuple", "build_list", "build_set", "build_string", "build_slice"):
    building(_name)
for _name in ("list_append", "list_extend", "set_add", "set_update", "dict_update"):
    adding(_name)


@operation("build_map")
def build_map(run: BytecodeInterpreter, frame: Frame, count: int) -> Next:
    items = take(frame, 2 * count)
    return push(frame, run.semantics.build_map(items[::2], items[1::2]))


@operation("build_const_key_map")
def build_const_key_map(run: BytecodeInterpreter, frame: Frame, count: int) -> Next:
    keys = frame.stack.pop()
    return push(frame, run.semantics.build_map(keys, take(frame, count)))


@operation("map_add")
def map_add(run: BytecodeInterpreter, frame: Frame, depth: int) -> Next:
    key, value = take(frame, 2)
    run.semantics.map_add(frame.stack[-depth], key, value)
    return None


@operation("dict_merge")
def dict_merge(run: BytecodeInterpreter, frame: Frame, depth: int) -> Next:
    more = frame.stack.pop()
    # Below the dict: the positional arguments, and below these what is called.
    function = called(frame.stack[-depth - 3], frame.stack[-depth - 2])
    run.semantics.dict_merge(function, frame.stack[-depth], more)
    return None


@operation("list_to_tuple")
def list_to_tuple(run: BytecodeInterpreter, frame: Frame, argument: None) -> Next:
    return push(frame, run.semantics.list_to_tuple(frame.stack.pop()))


@operation("convert_value")
def convert_value(run: BytecodeInterpreter, frame: Frame, kind: str) -> Next:
    return give(run, frame, run.semantics.convert_value(kind, frame.stack.pop()))


@operation("format_value")
def format_value(run: BytecodeInterpreter, frame: Frame, has_spec: bool) -> Next:
    spec = frame.stack.pop() if has_spec else ""
    return give(run, frame, run.semantics.format_value(frame.stack.pop(), spec))


@operation("unpack_sequence")
def unpack_sequence(run: BytecodeInterpreter, frame: Frame, count: int) -> Next:
    frame.stack += reversed(run.semantics.unpack_sequence(frame.stack.pop(), count))
    return None


@operation("unpack_ex")
def unpack_ex(run: BytecodeInterpreter, frame: Frame, counts: tuple[int, int]) -> Next:
    frame.stack += reversed(run.semantics.unpack_ex(frame.stack.pop(), *counts))
    return None
