"""The bytecode of Python 3.13: what is different from 3.12's."""

from __future__ import annotations

from typing import Any

from ....core.errors import NotSupported
from . import py312
from .canonical import Raw, Rule, Version, nothing, plain
from .py311 import COMPARE, function_parts, load_const
from .py312 import INNER, INTRINSIC_2, PSEUDO, TYPE_PARAMETERS, intrinsic

Pairs = list[tuple[str, Any]]

REMOVED = {"FORMAT_VALUE", "KW_NAMES", "LOAD_CLOSURE"}

# These take the truth of a value themselves, so that a conversion before them has nothing to do.
TAKES_TRUTH = {"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT"}


def load_global(raw: Raw) -> Pairs:
    load = ("load_global", raw.code.co_names[raw.argument >> 1])
    return [load, ("push_null", None)] if raw.argument & 1 else [load]


def to_bool(raw: Raw) -> Pairs:
    return [] if raw.following is not None and raw.following.name in TAKES_TRUTH else [("unary", "truth")]


def compare(raw: Raw) -> Pairs:
    return [("compare", COMPARE[raw.argument >> 5]), *(to_bool(raw) if raw.argument & 16 else ())]


def is_keyword_names(raw: Raw | None) -> bool:
    """Whether this is the LOAD_CONST of the names of a CALL_KW right behind it."""
    return raw is not None and raw.name == "LOAD_CONST" and raw.following is not None and raw.following.name == "CALL_KW"


def load_const_or_names(raw: Raw) -> Pairs:
    return [] if is_keyword_names(raw) else load_const(raw)


def call_with_names(raw: Raw) -> Pairs:
    names = raw.previous
    if names is None or not is_keyword_names(names):
        raise NotSupported("the names of a call's keywords are not a constant")
    return [("call", (raw.argument, names.code.co_consts[names.argument]))]


def make_function(raw: Raw) -> Pairs:
    """MAKE_FUNCTION and the SET_FUNCTION_ATTRIBUTEs behind it, which take the operands below the function one by one."""
    flags, after = 0, raw.following
    while after is not None and after.name == "SET_FUNCTION_ATTRIBUTE":
        flags |= after.argument
        after = after.following
    return [("make_function", function_parts(flags))]


def pop_top(raw: Raw) -> Pairs:
    """A POP_TOP behind END_FOR belongs to it."""
    return [] if raw.previous is not None and raw.previous.name == "END_FOR" else [("pop", None)]


def two_locals(first: str, second: str) -> Rule:
    """Two instructions on locals in one."""
    return lambda raw: [(first, raw.argument >> 4), (second, raw.argument & 15)]


RULES: dict[str, Rule] = {
    **{name: rule for name, rule in py312.RULES.items() if name not in REMOVED},
    "CALL_INTRINSIC_2": intrinsic({**INTRINSIC_2, 5: TYPE_PARAMETERS}),
    "POP_TOP": pop_top,
    "LOAD_CONST": load_const_or_names,
    "LOAD_GLOBAL": load_global,
    "LOAD_FAST_LOAD_FAST": two_locals("load_local", "load_local"),
    "STORE_FAST_LOAD_FAST": two_locals("store_local", "load_local"),
    "STORE_FAST_STORE_FAST": two_locals("store_local", "store_local"),
    "COMPARE_OP": compare,
    "TO_BOOL": to_bool,
    "CONVERT_VALUE": lambda raw: [("convert_value", (None, "str", "repr", "ascii")[raw.argument])],
    "FORMAT_SIMPLE": plain("format_value", False),
    "FORMAT_WITH_SPEC": plain("format_value", True),
    "CALL": lambda raw: [("call", (raw.argument, ()))],
    "CALL_KW": call_with_names,
    "MAKE_FUNCTION": make_function,
    "SET_FUNCTION_ATTRIBUTE": nothing,
}

REFUSED: dict[str, str] = {
    **py312.REFUSED,
    "LOAD_CLOSURE": PSEUDO,
    **dict.fromkeys(("ENTER_EXECUTOR", "EXIT_INIT_CHECK", "INSTRUMENTED_CALL_KW"), INNER),
}

VERSION = Version(rules=RULES, refused=REFUSED, close_returns_value=True)
