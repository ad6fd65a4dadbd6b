"""Outlining: functions that differ in numbers alone (sizes, strides, one over a count) become one function with the numbers as arguments.

The layers of a network do the same for different sizes.  Compiled for each, code runs a little faster and takes several times as long to compile; so
where a program has such functions, one is compiled, and each of them is a call of it.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from .instructions import DIGITS, NUMBER_TYPES, BasicBlock, FunctionParameter, LlvmFunction, LlvmInstruction, Scalar

SEVERAL = 8  # cached functions per outline
PROGRAMS = 64  # cached programs
SMALL = 32  # shorter loops keep a constant trip count
Numbers = tuple[str, ...]  # the numbers of a function, in the order of its instructions
_before: dict[str, dict[str, list[Numbers]]] = {}  # by the outlines of a program: the numbers of its functions by theirs


class Outline(NamedTuple):
    """The digest of what functions that differ in numbers share, and the numbers of one of them."""

    digest: str
    numbers: Numbers


def free_numbers(function: LlvmFunction, block: BasicBlock, at: int, instruction: LlvmInstruction) -> list[int]:
    """The operands of an instruction that could be arguments: numbers, but in vector instructions and as the trip count of a short innermost loop."""
    if instruction.type[:1] == "<":
        return []
    found = [position for position, (name, type) in enumerate(instruction.operands) if type in NUMBER_TYPES and name[0] in DIGITS]
    if not found or (instruction.opcode == "call" and instruction.is_vector):
        return []
    if at == 1 and block.innermost and not function.vectorized and abs(int(instruction.operands[1].name)) < SMALL:
        return []
    return found


def outline(function: LlvmFunction) -> Outline:
    """The outline of a function."""
    lines = [function.head(), repr(function.variables), repr(function.size_loads), repr(function.stack), *function.preamble]
    numbers: list[str] = []
    code: list[LlvmInstruction | str] = []
    for block, printed in zip(function.blocks, function.lines()):
        code.append(block.name)
        for at, (each, line) in enumerate(zip(block.instructions, printed)):
            positions = free_numbers(function, block, at, each)
            if positions:
                operands = list(each.operands)
                for position in positions:
                    numbers.append(operands[position].name)
                    operands[position] = Scalar("#", operands[position].type)
                code.append(each._replace(operands=tuple(operands)))
            else:
                code.append(line)
    return Outline(hashlib.sha256("\n".join([*lines, *map(str, code)]).encode()).hexdigest(), tuple(numbers))


def generalize(functions: list[LlvmFunction], versions: list[Numbers]) -> tuple[LlvmFunction, list[LlvmFunction]]:
    """One function for several with one outline, and those as calls of it; further ``versions`` are of functions that are not called here.

    Variables of a function stay its own: it passes their values.
    """
    first = functions[0]
    columns = list(zip(*versions))  # the values of each number
    arguments: dict[tuple[str, ...], Scalar] = {}  # by type and values: a number that is an argument
    blocks: list[BasicBlock] = []
    count = 0
    for block in first.blocks:
        made = BasicBlock(block.name)
        made.innermost = block.innermost
        for at, each in enumerate(block.instructions):
            for position in free_numbers(first, block, at, each):
                values = columns[count]
                count += 1
                if len(set(values)) > 1:
                    type = each.operands[position].type
                    argument = arguments.setdefault((type, *values), Scalar(f"%given{len(arguments)}", type))
                    each = each._replace(operands=(*each.operands[:position], argument, *each.operands[position + 1 :]))
            made.instructions.append(each)
        blocks.append(made)
    inherited = [Scalar(f"%its.{name}", type) for name, type in first.variables.items()]
    common = LlvmFunction(
        "", [*first.parameters, *[FunctionParameter(each.type, each.name) for each in (*inherited, *arguments.values())]], blocks
    )
    common.stack, common.size_loads, common.uses = first.stack, first.size_loads, first.uses
    common.hints, common.vectorized, common.noinline = first.hints, first.vectorized, True
    common.name = f"{first.name.rpartition('_')[0]}_{hashlib.sha256(common.code.encode()).hexdigest()[:16]}"
    return common, [call(each, common, inherited, [Scalar(key[1 + at], key[0]) for key in arguments]) for at, each in enumerate(functions)]


def call(function: LlvmFunction, common: LlvmFunction, inherited: list[Scalar], numbers: list[Scalar]) -> LlvmFunction:
    """A function as a call of another, with its own numbers."""
    block = BasicBlock("entry")
    given = [Scalar(each.name, each.type) for each in function.parameters]
    block.instructions = [
        LlvmInstruction("call", "", "void", (Scalar(f"@{common.name}", "ptr"), *given, *inherited, *numbers)),
        LlvmInstruction("ret", "", "void", ()),
    ]
    made = LlvmFunction(function.name, [each._replace(noalias=False) for each in function.parameters], [block])
    made.variables, made.uses, made.noinline = function.variables, {f"@{common.name}"}, True
    return made


def merged(functions: list[LlvmFunction]) -> tuple[list[LlvmFunction], list[LlvmFunction]]:
    """Functions, with one replacing several of one outline, and those as calls of it.

    Where all functions of a program have the outlines of those of an earlier one, it is the same graph for other sizes: the earlier numbers count
    too, so that from the third size on nothing is compiled.
    """
    groups: dict[str, list[tuple[LlvmFunction, Numbers]]] = {}
    for each in functions:
        found = outline(each)
        groups.setdefault(found.digest, []).append((each, found.numbers))
    key = hashlib.sha256("\n".join(groups).encode()).hexdigest()
    before = _before.pop(key, {})
    made: list[LlvmFunction] = []
    calls: list[LlvmFunction] = []
    remembered: dict[str, list[Numbers]] = {}
    for digest, group in groups.items():
        own = [numbers for _, numbers in group]
        versions = own + [each for each in before.get(digest, ()) if each not in own]
        remembered[digest] = versions[:SEVERAL]
        if len(versions) > 1 and group[0][0].result == "void":
            common, called = generalize([each for each, _ in group], versions)
            made.append(common)
            calls += called
        else:
            made += [each for each, _ in group]
    _before[key] = remembered
    while len(_before) > PROGRAMS:
        del _before[next(iter(_before))]
    return made, calls
