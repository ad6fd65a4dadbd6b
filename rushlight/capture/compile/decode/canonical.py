"""The canonical instruction set, and how a code object is turned into it.

CPython's instructions change with every version.  `decode` of this package gives one list of instructions whatever the
version, and all that runs or reads bytecode knows only these.  A version is a table (`py311.py`, ...): for each of its
opcodes a *rule*, which gives the canonical instructions that do the same, or the reason why it is refused.

The stack of a frame is as CPython's, so that stack depths in exception tables keep their meaning.  A call finds two
places below its arguments: the callable and `NULL`, in either order (versions differ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from ....core.errors import NotSupported


class Null:
    """The class of `NULL`: an empty place on the stack, or a variable without a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NULL"


NULL = Null()

# Every canonical operation.  "a, b -> c" are the values taken from and put on the stack, the top at the right;
# the part after the colon is the argument of the instruction.
OPERATIONS: dict[str, str] = {
    # The stack.
    "pop": "a ->",
    "copy": "... -> ..., a: a is the value at this depth, 1 being the top",
    "swap": "a, ..., b -> b, ..., a: the depth of a",
    "push_null": "-> NULL",
    "load_const": "-> constant: the constant",
    # Variables.  A slot is a place in `Frame.slots`; it holds a value, NULL, or the cell of a variable that is shared.
    "load_local": "-> value: slot",
    "load_local_and_clear": "-> value or NULL, and the slot becomes NULL: slot",
    "store_local": "value or NULL ->: slot",
    "delete_local": "->: slot",
    "make_cell": "->, what is in the slot moves into a new cell: slot",
    "load_deref": "-> value in a cell: slot",
    "store_deref": "value ->: slot",
    "delete_deref": "->: slot",
    "load_from_dict_or_deref": "mapping -> value: slot",
    "load_global": "-> value: name",
    "store_global": "value ->: name",
    "delete_global": "->: name",
    "load_name": "-> value: name, looked up in namespace, globals, builtins",
    "store_name": "value ->: name",
    "delete_name": "->: name",
    "load_from_dict_or_globals": "mapping -> value: name",
    "load_locals": "-> the namespace",
    "load_build_class": "-> __build_class__",
    "setup_annotations": "->, the namespace has __annotations__",
    # Attributes and items.
    "load_attr": "object -> value: name",
    "store_attr": "value, object ->: name",
    "delete_attr": "object ->: name",
    "load_super_attr": "super, class, self -> value: (name, whether super was called with arguments)",
    "get_item": "container, key -> value",
    "set_item": "value, container, key ->",
    "delete_item": "container, key ->",
    # Operators.
    "unary": "a -> result: one of - + ~ not truth",
    "binary": "a, b -> result: the operator, as + or +=",
    "compare": "a, b -> result: one of < <= == != > >=",
    "is": "a, b -> bool: whether inverted",
    "contains": "item, container -> bool: whether inverted",
    # Building and taking apart.
    "build_tuple": "values -> tuple: count",
    "build_list": "values -> list: count",
    "build_set": "values -> set: count",
    "build_map": "key, value, key, value, ... -> dict: number of pairs",
    "build_const_key_map": "values, tuple of keys -> dict: number of pairs",
    "build_string": "strings -> string: count",
    "build_slice": "start, stop[, step] -> slice: 2 or 3",
    "list_append": "list, ..., value -> list, ...: depth of the list",
    "set_add": "set, ..., value -> set, ...: depth of the set",
    "map_add": "dict, ..., key, value -> dict, ...: depth of the dict",
    "list_extend": "list, ..., iterable -> list, ...: depth of the list",
    "set_update": "set, ..., iterable -> set, ...: depth of the set",
    "dict_update": "dict, ..., mapping -> dict, ...: depth of the dict",
    "dict_merge": "as dict_update, for the keywords of a call: depth of the dict",
    "list_to_tuple": "list -> tuple",
    "convert_value": "value -> string: one of str repr ascii",
    "format_value": "value[, spec] -> string: whether there is a spec",
    "unpack_sequence": "iterable -> values, the first on top: count",
    "unpack_ex": "iterable -> values, the first on top: (count before, count after) the starred one",
    # Calls.
    "call": "callable and NULL, arguments -> result: (number of arguments, names of the last ones)",
    "argument_tuple": "callable and NULL, iterable[, dict] -> callable and NULL, tuple[, dict]: whether there is a dict",
    "call_ex": "callable and NULL, tuple[, dict] -> result: whether there is a dict of keywords",
    "make_function": "parts, code -> function: which of defaults kwdefaults annotations closure are given",
    # Control.  The argument of a jump is the index of the instruction it goes to.
    "jump": "->: target",
    "jump_if_true": "condition ->: target",
    "jump_if_false": "condition ->: target",
    "jump_if_none": "value ->: target",
    "jump_if_not_none": "value ->: target",
    "get_iter": "iterable -> iterator",
    "for_iter": "iterator -> iterator, value; at the end: iterator ->: target at the end",
    "return_value": "value ->",
    # Generators.
    "return_generator": "->, gives a generator to the caller; the frame continues when that is resumed, with a value pushed",
    "yield_value": "value -> what is sent",
    "send": "receiver, value -> receiver, what it yields; at the end: receiver, value -> its result: target at the end",
    "cleanup_throw": "receiver, value, exception -> result, if the exception is StopIteration; else it is raised again",
    # Exceptions.
    "raise": "[exception[, cause]] ->: how many of them are given",
    "reraise": "exception ->",
    "push_exception": "exception -> the one handled before, exception; it is the one being handled",
    "pop_exception": "exception ->, it is the one being handled",
    "check_exception": "exception, class or tuple -> exception, bool",
    "before_with": "manager -> its __exit__, result of its __enter__",
    "with_except_start": "exit, index, previous, exception -> the same, result of exit",
    # Imports.
    "import_name": "level, names -> module: name",
    "import_from": "module -> module, value: name",
    "import_star": "module ->",
    # Patterns.
    "get_len": "subject -> subject, its length",
    "match_mapping": "subject -> subject, bool",
    "match_sequence": "subject -> subject, bool",
    "match_keys": "subject, keys -> subject, keys, tuple of values or None",
    "match_class": "subject, class, names -> tuple of attributes or None: number of positional patterns",
}

# Those whose argument is a target.
JUMPS = frozenset(
    "jump jump_if_true jump_if_false jump_if_none jump_if_not_none for_iter send".split(),
)


class Position(NamedTuple):
    """Where in the source an instruction comes from; the compiler leaves some unknown."""

    line: int | None
    end_line: int | None
    column: int | None
    end_column: int | None


class BytecodeInstruction(NamedTuple):
    """One canonical instruction; `offset` is that of the bytecode it comes from."""

    op: str
    argument: Any
    position: Position
    offset: int


class ExceptionHandler(NamedTuple):
    """A row of the exception table: errors in instructions `start` to `end` (excluded) go on at `target`.

    There the stack is cut to `depth`; then the index of the failed instruction is pushed if `push_index`, and the error.
    """

    start: int
    end: int
    target: int
    depth: int
    push_index: bool


@dataclass(frozen=True, slots=True, eq=False)
class Bytecode:
    """A code object in canonical form.  It does not hold the code object, which may die before it."""

    instructions: tuple[BytecodeInstruction, ...]
    handlers: tuple[ExceptionHandler, ...]
    handler_at: tuple[ExceptionHandler | None, ...]  # for each instruction, the handler of its errors
    slot_names: tuple[str, ...]
    slot_of: Mapping[str, int]
    live: dict[int, set[int]] = field(default_factory=dict, compare=False)  # for places where it was asked: the variables that may be read

    def __str__(self) -> str:
        """A listing, one instruction a line."""
        lines = [
            f"{index:4} {instruction.op} {'' if instruction.argument is None else repr(instruction.argument)}".rstrip()
            for index, instruction in enumerate(self.instructions)
        ]
        lines += [
            f"errors in {row.start}..{row.end - 1} go to {row.target}, depth {row.depth}{', index' * row.push_index}"
            for row in self.handlers
        ]
        return "\n".join(lines)


class Raw:
    """One instruction of the bytecode as a rule sees it, with its neighbours."""

    __slots__ = ("argument", "code", "following", "name", "offset", "previous", "start", "stop")

    def __init__(self, code: CodeType, name: str, argument: int, start: int, offset: int) -> None:
        self.code = code
        self.name = name
        self.argument = argument
        self.start = start  # of its first prefix (EXTENDED_ARG)
        self.offset = offset
        self.stop = offset + 2  # behind its caches: jumps count from here
        self.previous: Raw | None = None
        self.following: Raw | None = None


# The canonical (operation, argument) pairs that do what one raw instruction does.  A jump's argument is an offset here.
Rule = Callable[[Raw], list[tuple[str, Any]]]


@dataclass(frozen=True)
class Version:
    """What there is to know about the bytecode of one version of Python."""

    rules: Mapping[str, Rule]
    refused: Mapping[str, str]  # opcode -> why
    close_returns_value: bool  # whether a generator's close() gives what the generator returned


def raw_instructions(code: CodeType, opcode_names: list[str]) -> list[Raw]:
    """The instructions of a code object, prefixes folded into arguments and caches left out."""
    bytecode = code.co_code
    found: list[Raw] = []
    extended, start = 0, None
    for offset in range(0, len(bytecode), 2):
        name = opcode_names[bytecode[offset]]
        if name == "CACHE":
            found[-1].stop = offset + 2
            continue
        argument = extended | bytecode[offset + 1]
        start = offset if start is None else start
        if name == "EXTENDED_ARG":
            extended = argument << 8
            continue
        raw = Raw(code, name, argument, start, offset)
        if found:
            raw.previous, found[-1].following = found[-1], raw
        found.append(raw)
        extended, start = 0, None
    return found


def exception_table(code: CodeType) -> Iterator[tuple[int, int, int, int, bool]]:
    """The rows (start, end, target, depth, push index) of a code object's exception table; offsets are in bytes."""
    table = iter(code.co_exceptiontable)

    def number(byte: int) -> int:
        value = byte & 63
        while byte & 64:
            byte = next(table)
            value = value << 6 | byte & 63
        return value

    for byte in table:
        start, length, target, depth = number(byte), number(next(table)), number(next(table)), number(next(table))
        yield start * 2, (start + length) * 2, target * 2, depth >> 1, bool(depth & 1)


def slot_names(code: CodeType) -> tuple[str, ...]:
    """The names of the places for variables, in CPython's order: locals, cells that are not locals, free variables."""
    return (
        *code.co_varnames,
        *(name for name in code.co_cellvars if name not in code.co_varnames),
        *code.co_freevars,
    )


def build(code: CodeType, version: Version, opcode_names: list[str]) -> Bytecode:
    """Decodes a code object by the rules of a version; raises `NotSupported` where something is refused."""
    positions = list(code.co_positions())
    instructions: list[BytecodeInstruction] = []
    index_at = [0] * (len(code.co_code) // 2 + 1)  # the index of the first instruction made from each unit or later ones
    for raw in raw_instructions(code, opcode_names):
        index_at[raw.start // 2 : raw.stop // 2] = [len(instructions)] * ((raw.stop - raw.start) // 2)
        rule = version.rules.get(raw.name)
        position = Position(*positions[raw.offset // 2])
        if rule is None:
            reason = version.refused.get(raw.name, "an instruction that this version of Python should not have")
            raise refusal(code, position.line, raw.name, reason)
        try:
            pairs = rule(raw)
        except NotSupported as error:
            raise refusal(code, position.line, raw.name, str(error)) from None
        for operation, argument in pairs:
            instructions.append(BytecodeInstruction(operation, argument, position, raw.offset))
    index_at[-1] = len(instructions)

    instructions = [row._replace(argument=index_at[row.argument // 2]) if row.op in JUMPS else row for row in instructions]
    handlers = [
        ExceptionHandler(index_at[start // 2], index_at[end // 2], index_at[target // 2], depth, push_index)
        for start, end, target, depth, push_index in exception_table(code)
        if index_at[start // 2] < index_at[end // 2]  # nothing may be left of what a row was for
    ]
    handler_at: list[ExceptionHandler | None] = [None] * len(instructions)
    for handler in handlers:
        handler_at[handler.start : handler.end] = [handler] * (handler.end - handler.start)
    names = slot_names(code)
    return Bytecode(
        instructions=tuple(instructions),
        handlers=tuple(handlers),
        handler_at=tuple(handler_at),
        slot_names=names,
        slot_of={name: slot for slot, name in enumerate(names)},
    )


def refusal(code: CodeType, line: int | None, name: str, reason: str) -> NotSupported:
    """The error for a function that can't be decoded."""
    place = f"{code.co_filename}:{line or code.co_firstlineno}"
    return NotSupported(f"{code.co_qualname} ({place}) can't be interpreted: {reason} ({name})")


# The common forms of rules.


def plain(operation: str, argument: Any = None) -> Rule:
    """The same instruction each time."""
    pairs = [(operation, argument)]
    return lambda raw: pairs


def nothing(raw: Raw) -> list[tuple[str, Any]]:
    """For what has no meaning outside CPython's own loop."""
    return []


def counted(operation: str) -> Rule:
    """The number is passed on: a count, a depth, or a slot."""
    return lambda raw: [(operation, raw.argument)]


def named(operation: str) -> Rule:
    """The number means a name."""
    return lambda raw: [(operation, raw.code.co_names[raw.argument])]


def forward(*operations: str) -> Rule:
    """Operations of which the jump goes forward."""
    return lambda raw: [(op, raw.stop + 2 * raw.argument if op in JUMPS else None) for op in operations]


def backward(operation: str) -> Rule:
    """A jump back."""
    return lambda raw: [(operation, raw.stop - 2 * raw.argument)]
