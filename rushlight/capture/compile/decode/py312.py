"""The bytecode of Python 3.12: what is different from 3.11's."""

from __future__ import annotations

from typing import Any

from ....core.errors import NotSupported
from . import py311
from .canonical import Raw, Rule, Version, counted, forward, named, nothing, plain
from .py311 import ASYNC, COMPARE, GROUPS, INTERACTIVE

Pairs = list[tuple[str, Any]]

REMOVED = set(
    """ASYNC_GEN_WRAP IMPORT_STAR JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP LIST_TO_TUPLE LOAD_CLASSDEREF
    POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE
    POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE
    PRECALL PREP_RERAISE_STAR PRINT_EXPR UNARY_POSITIVE LOAD_METHOD""".split()
)


def load_attr(raw: Raw) -> Pairs:
    load = ("load_attr", raw.code.co_names[raw.argument >> 1])
    return [load, ("push_null", None)] if raw.argument & 1 else [load]


def load_super_attr(raw: Raw) -> Pairs:
    load = ("load_super_attr", (raw.code.co_names[raw.argument >> 2], bool(raw.argument & 2)))
    return [load, ("push_null", None)] if raw.argument & 1 else [load]


TYPE_PARAMETERS = "type parameters (PEP 695) are not interpreted"

# The functions of CALL_INTRINSIC_1 and _2 by number: an instruction, or why it is refused.
INTRINSIC_1: dict[int, Pairs | str] = {
    1: INTERACTIVE,
    2: [("import_star", None), ("load_const", None)],
    3: [],  # StopIteration that leaves a generator: the interpreter sees to that in all versions
    4: ASYNC,
    5: [("unary", "+")],
    6: [("list_to_tuple", None)],
    7: TYPE_PARAMETERS,
    8: TYPE_PARAMETERS,
    9: TYPE_PARAMETERS,
    10: TYPE_PARAMETERS,
    11: TYPE_PARAMETERS,
}
INTRINSIC_2: dict[int, Pairs | str] = {
    1: GROUPS,
    2: TYPE_PARAMETERS,
    3: TYPE_PARAMETERS,
    4: TYPE_PARAMETERS,
}


def intrinsic(table: dict[int, Pairs | str]) -> Rule:
    """A call of one of CPython's inner functions."""

    def rule(raw: Raw) -> Pairs:
        found = table.get(raw.argument, f"inner function {raw.argument} is unknown")
        if isinstance(found, str):
            raise NotSupported(found)
        return found

    return rule


RULES: dict[str, Rule] = {
    **{name: rule for name, rule in py311.RULES.items() if name not in REMOVED},
    "CALL_INTRINSIC_1": intrinsic(INTRINSIC_1),
    "CALL_INTRINSIC_2": intrinsic(INTRINSIC_2),
    # Variables.
    "LOAD_FAST_CHECK": counted("load_local"),
    "LOAD_FAST_AND_CLEAR": counted("load_local_and_clear"),
    "LOAD_LOCALS": plain("load_locals"),
    "LOAD_FROM_DICT_OR_DEREF": counted("load_from_dict_or_deref"),
    "LOAD_FROM_DICT_OR_GLOBALS": named("load_from_dict_or_globals"),
    # Attributes and items.
    "LOAD_ATTR": load_attr,
    "LOAD_SUPER_ATTR": load_super_attr,
    "BINARY_SLICE": lambda raw: [("build_slice", 2), ("get_item", None)],
    "STORE_SLICE": lambda raw: [("build_slice", 2), ("set_item", None)],
    "COMPARE_OP": lambda raw: [("compare", COMPARE[raw.argument >> 4])],
    # Control.
    "POP_JUMP_IF_TRUE": forward("jump_if_true"),
    "POP_JUMP_IF_FALSE": forward("jump_if_false"),
    "POP_JUMP_IF_NONE": forward("jump_if_none"),
    "POP_JUMP_IF_NOT_NONE": forward("jump_if_not_none"),
    "END_FOR": nothing,  # `for_iter` takes its iterator off the stack itself
    "END_SEND": nothing,  # and so does `send`
    "RETURN_CONST": lambda raw: [("load_const", raw.code.co_consts[raw.argument]), ("return_value", None)],
    "CLEANUP_THROW": plain("cleanup_throw"),
}

INNER = "only CPython's own loop uses it; a code object never shows it"
PSEUDO = "it exists inside the compiler only"

REFUSED: dict[str, str] = {
    **{name: reason for name, reason in py311.REFUSED.items() if name not in REMOVED},
    **dict.fromkeys(("INTERPRETER_EXIT", "RESERVED"), INNER),
    **dict.fromkeys(
        """INSTRUMENTED_CALL INSTRUMENTED_CALL_FUNCTION_EX INSTRUMENTED_END_FOR INSTRUMENTED_END_SEND
        INSTRUMENTED_FOR_ITER INSTRUMENTED_INSTRUCTION INSTRUMENTED_JUMP_BACKWARD INSTRUMENTED_JUMP_FORWARD
        INSTRUMENTED_LINE INSTRUMENTED_LOAD_SUPER_ATTR INSTRUMENTED_POP_JUMP_IF_FALSE INSTRUMENTED_POP_JUMP_IF_NONE
        INSTRUMENTED_POP_JUMP_IF_NOT_NONE INSTRUMENTED_POP_JUMP_IF_TRUE INSTRUMENTED_RESUME INSTRUMENTED_RETURN_CONST
        INSTRUMENTED_RETURN_VALUE INSTRUMENTED_YIELD_VALUE""".split(),
        INNER,
    ),
    **dict.fromkeys(
        """JUMP JUMP_NO_INTERRUPT LOAD_METHOD LOAD_SUPER_METHOD LOAD_ZERO_SUPER_ATTR LOAD_ZERO_SUPER_METHOD POP_BLOCK
        SETUP_CLEANUP SETUP_FINALLY SETUP_WITH STORE_FAST_MAYBE_NULL""".split(),
        PSEUDO,
    ),
}

VERSION = Version(rules=RULES, refused=REFUSED, close_returns_value=False)
