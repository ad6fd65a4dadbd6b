"""The bytecode interpreter does what Python does."""

from __future__ import annotations

import dis
import gc
import opcode
import sys
import traceback
import types
import weakref

import bytecode_programs
import bytecode_programs_exceptions
import bytecode_programs_generators
import bytecode_programs_structures
import bytecode_programs_values
import pytest
from bytecode_comparison import Alone, by_interpreter, observed
from bytecode_programs import PROGRAMS

from rushlight.capture.compile import decode, interpret
from rushlight.capture.compile.decode import JUMPS, OPERATIONS, VERSION, py311
from rushlight.capture.compile.vm.interpreter import HANDLERS
from rushlight.core.errors import NotSupported

FILES = {
    module.__file__
    for module in (
        bytecode_programs,
        bytecode_programs_exceptions,
        bytecode_programs_generators,
        bytecode_programs_structures,
        bytecode_programs_values,
    )
}
IDS = [f"{function.__name__}-{number}" for number, (function, _) in enumerate(PROGRAMS)]
every_program = pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=IDS)


def all_code(code: types.CodeType):
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_code(constant)


# Decoding.


def test_every_opcode_is_handled_or_refused() -> None:
    assert not VERSION.rules.keys() & VERSION.refused.keys()
    assert set(opcode.opmap) == VERSION.rules.keys() | VERSION.refused.keys()
    assert all(VERSION.refused.values())
    # What is said to exist only inside the compiler has no place in a byte.
    pseudo = {name for name, number in opcode.opmap.items() if number > 255}
    assert pseudo == {name for name, reason in VERSION.refused.items() if "compiler" in reason}


def test_every_inner_function_of_cpython_is_handled_or_refused() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("3.11 has none")
    for name, descriptions in (
        ("CALL_INTRINSIC_1", opcode._intrinsic_1_descs),
        ("CALL_INTRINSIC_2", opcode._intrinsic_2_descs),
    ):
        for number in range(1, len(descriptions)):
            raw = types.SimpleNamespace(argument=number)
            try:
                VERSION.rules[name](raw)
            except NotSupported as error:
                assert "unknown" not in str(error), (name, number)


def test_the_operators_have_cpythons_numbers() -> None:
    assert [symbol for _, symbol in opcode._nb_ops] == py311.BINARY
    assert tuple(py311.COMPARE) == dis.cmp_op


def test_every_operation_has_a_handler() -> None:
    assert OPERATIONS.keys() == HANDLERS.keys()
    assert OPERATIONS.keys() >= JUMPS


def test_whole_modules_decode() -> None:
    """Every function of some modules of the standard library decodes, and the result is in itself consistent."""
    count = 0
    for module in (dis, traceback, types, __import__("argparse"), __import__("functools"), __import__("inspect")):
        with open(module.__file__, encoding="utf8") as file:
            source = compile(file.read(), module.__file__, "exec")
        for code in all_code(source):
            if code.co_flags & 0x280:  # a coroutine
                continue
            program = decode(code)
            count += 1
            size = len(program.instructions)
            assert {row.op for row in program.instructions} <= OPERATIONS.keys()
            assert all(0 <= row.argument < size for row in program.instructions if row.op in JUMPS)
            assert all(0 <= row.start < row.end <= size and 0 <= row.target < size for row in program.handlers)
            lines = [line for _, _, line in code.co_lines() if line is not None]
            assert all(row.position.line is None or row.position.line in lines for row in program.instructions)
    assert count > 500


def test_a_listing() -> None:
    def f(x):
        try:
            return x + 1
        except TypeError:
            return None

    text = str(decode(f.__code__))
    assert "binary '+'" in text
    assert "errors in " in text


def test_programs_do_not_keep_code_alive() -> None:
    scope: dict = {}
    exec("def f(): return 1", scope)
    code = weakref.ref(scope["f"].__code__)
    interpret(scope.pop("f"))
    gc.collect()
    assert code() is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("async def f(): pass", "coroutines"),
        ("async def f():\n    yield 1", "coroutines"),
        ("def f():\n    try:\n        pass\n    except* ValueError:\n        pass", r"except\*"),
    ],
)
def test_what_is_refused(source: str, reason: str) -> None:
    scope: dict = {}
    exec(source, scope)
    for _ in range(2):  # the second time from the cache
        with pytest.raises(NotSupported, match=reason):
            interpret(scope["f"])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.12's syntax")
def test_a_refused_function_is_called_natively() -> None:
    scope: dict = {}
    exec("def f():\n    def g[T](x: T) -> T:\n        return x\n    return g(3), len(g.__type_params__)", scope)
    assert interpret(scope["f"]) == (3, 1)


# Running.


@every_program
def test_program(function, args) -> None:
    assert observed(by_interpreter(function), args, FILES) == observed(function, args, FILES)


@every_program
def test_program_with_native_calls(function, args) -> None:
    assert observed(by_interpreter(function, Alone()), args, FILES) == observed(function, args, FILES)
