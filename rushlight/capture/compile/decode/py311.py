"""The bytecode of Python 3.11."""

from __future__ import annotations

from typing import Any

from .canonical import Raw, Rule, Version, backward, counted, forward, named, nothing, plain

# The operators in the order of BINARY_OP's and COMPARE_OP's numbers.
BINARY = "+ & // << @ * % | ** >> - / ^ += &= //= <<= @= *= %= |= **= >>= -= /= ^=".split()
COMPARE = "< <= == != > >=".split()

Pairs = list[tuple[str, Any]]


def load_const(raw: Raw) -> Pairs:
    return [("load_const", raw.code.co_consts[raw.argument])]


def load_global(raw: Raw) -> Pairs:
    load = ("load_global", raw.code.co_names[raw.argument >> 1])
    return [("push_null", None), load] if raw.argument & 1 else [load]


def load_method(raw: Raw) -> Pairs:
    return [("load_attr", raw.code.co_names[raw.argument]), ("push_null", None)]


def call(raw: Raw) -> Pairs:
    """CALL, with the names that a KW_NAMES before it left."""
    before = raw.previous
    if before is not None and before.name == "PRECALL":
        before = before.previous
    names = before.code.co_consts[before.argument] if before is not None and before.name == "KW_NAMES" else ()
    return [("call", (raw.argument, names))]


def function_parts(flags: int) -> tuple[str, ...]:
    """The operands of MAKE_FUNCTION on the stack, as its flags say."""
    return tuple(part for bit, part in enumerate(("defaults", "kwdefaults", "annotations", "closure")) if flags >> bit & 1)


def format_value(raw: Raw) -> Pairs:
    has_spec = bool(raw.argument & 4)
    convert: Pairs = [("convert_value", (None, "str", "repr", "ascii")[raw.argument & 3])] if raw.argument & 3 else []
    if convert and has_spec:  # the value is below the spec
        convert = [("swap", 2), *convert, ("swap", 2)]
    return [*convert, ("format_value", has_spec)]


RULES: dict[str, Rule] = {
    "CACHE": nothing,
    "EXTENDED_ARG": nothing,
    "NOP": nothing,
    "RESUME": nothing,
    "PRECALL": nothing,
    "KW_NAMES": nothing,
    "COPY_FREE_VARS": nothing,  # a frame has its free variables from the start
    "POP_TOP": plain("pop"),
    "COPY": counted("copy"),
    "SWAP": counted("swap"),
    "PUSH_NULL": plain("push_null"),
    "LOAD_CONST": load_const,
    "LOAD_ASSERTION_ERROR": plain("load_const", AssertionError),
    # Variables.
    "LOAD_FAST": counted("load_local"),
    "STORE_FAST": counted("store_local"),
    "DELETE_FAST": counted("delete_local"),
    "MAKE_CELL": counted("make_cell"),
    "LOAD_CLOSURE": counted("load_local"),
    "LOAD_DEREF": counted("load_deref"),
    "STORE_DEREF": counted("store_deref"),
    "DELETE_DEREF": counted("delete_deref"),
    "LOAD_CLASSDEREF": lambda raw: [("load_locals", None), ("load_from_dict_or_deref", raw.argument)],
    "LOAD_GLOBAL": load_global,
    "STORE_GLOBAL": named("store_global"),
    "DELETE_GLOBAL": named("delete_global"),
    "LOAD_NAME": named("load_name"),
    "STORE_NAME": named("store_name"),
    "DELETE_NAME": named("delete_name"),
    "LOAD_BUILD_CLASS": plain("load_build_class"),
    "SETUP_ANNOTATIONS": plain("setup_annotations"),
    # Attributes and items.
    "LOAD_ATTR": named("load_attr"),
    "LOAD_METHOD": load_method,
    "STORE_ATTR": named("store_attr"),
    "DELETE_ATTR": named("delete_attr"),
    "BINARY_SUBSCR": plain("get_item"),
    "STORE_SUBSCR": plain("set_item"),
    "DELETE_SUBSCR": plain("delete_item"),
    # Operators.
    "UNARY_POSITIVE": plain("unary", "+"),
    "UNARY_NEGATIVE": plain("unary", "-"),
    "UNARY_INVERT": plain("unary", "~"),
    "UNARY_NOT": plain("unary", "not"),
    "BINARY_OP": lambda raw: [("binary", BINARY[raw.argument])],
    "COMPARE_OP": lambda raw: [("compare", COMPARE[raw.argument])],
    "IS_OP": lambda raw: [("is", bool(raw.argument))],
    "CONTAINS_OP": lambda raw: [("contains", bool(raw.argument))],
    # Building and taking apart.
    "BUILD_TUPLE": counted("build_tuple"),
    "BUILD_LIST": counted("build_list"),
    "BUILD_SET": counted("build_set"),
    "BUILD_MAP": counted("build_map"),
    "BUILD_CONST_KEY_MAP": counted("build_const_key_map"),
    "BUILD_STRING": counted("build_string"),
    "BUILD_SLICE": counted("build_slice"),
    "LIST_APPEND": counted("list_append"),
    "SET_ADD": counted("set_add"),
    "MAP_ADD": counted("map_add"),
    "LIST_EXTEND": counted("list_extend"),
    "SET_UPDATE": counted("set_update"),
    "DICT_UPDATE": counted("dict_update"),
    "DICT_MERGE": counted("dict_merge"),
    "LIST_TO_TUPLE": plain("list_to_tuple"),
    "FORMAT_VALUE": format_value,
    "UNPACK_SEQUENCE": counted("unpack_sequence"),
    "UNPACK_EX": lambda raw: [("unpack_ex", (raw.argument & 255, raw.argument >> 8))],
    # Calls.
    "CALL": call,
    "CALL_FUNCTION_EX": lambda raw: [("argument_tuple", bool(raw.argument & 1)), ("call_ex", bool(raw.argument & 1))],
    "MAKE_FUNCTION": lambda raw: [("make_function", function_parts(raw.argument))],
    # Control.
    "JUMP_FORWARD": forward("jump"),
    "JUMP_BACKWARD": backward("jump"),
    "JUMP_BACKWARD_NO_INTERRUPT": backward("jump"),
    "JUMP_IF_TRUE_OR_POP": lambda raw: [("copy", 1), *forward("jump_if_true", "pop")(raw)],
    "JUMP_IF_FALSE_OR_POP": lambda raw: [("copy", 1), *forward("jump_if_false", "pop")(raw)],
    "POP_JUMP_FORWARD_IF_TRUE": forward("jump_if_true"),
    "POP_JUMP_FORWARD_IF_FALSE": forward("jump_if_false"),
    "POP_JUMP_FORWARD_IF_NONE": forward("jump_if_none"),
    "POP_JUMP_FORWARD_IF_NOT_NONE": forward("jump_if_not_none"),
    "POP_JUMP_BACKWARD_IF_TRUE": backward("jump_if_true"),
    "POP_JUMP_BACKWARD_IF_FALSE": backward("jump_if_false"),
    "POP_JUMP_BACKWARD_IF_NONE": backward("jump_if_none"),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": backward("jump_if_not_none"),
    "GET_ITER": plain("get_iter"),
    "FOR_ITER": forward("for_iter"),
    "RETURN_VALUE": plain("return_value"),
    # Generators.
    "RETURN_GENERATOR": plain("return_generator"),
    "YIELD_VALUE": plain("yield_value"),
    "GET_YIELD_FROM_ITER": plain("get_iter"),
    "SEND": forward("send"),
    # Exceptions.
    "RAISE_VARARGS": counted("raise"),
    "RERAISE": plain("reraise"),
    "PUSH_EXC_INFO": plain("push_exception"),
    "POP_EXCEPT": plain("pop_exception"),
    "CHECK_EXC_MATCH": plain("check_exception"),
    "BEFORE_WITH": plain("before_with"),
    "WITH_EXCEPT_START": plain("with_except_start"),
    # Imports.
    "IMPORT_NAME": named("import_name"),
    "IMPORT_FROM": named("import_from"),
    "IMPORT_STAR": plain("import_star"),
    # Patterns.
    "GET_LEN": plain("get_len"),
    "MATCH_MAPPING": plain("match_mapping"),
    "MATCH_SEQUENCE": plain("match_sequence"),
    "MATCH_KEYS": plain("match_keys"),
    "MATCH_CLASS": counted("match_class"),
}

ASYNC = "coroutines and asynchronous generators are not interpreted"
GROUPS = "`except*` is not interpreted"
INTERACTIVE = "it prints the value of a statement typed at the prompt"

REFUSED: dict[str, str] = {
    "GET_AWAITABLE": ASYNC,
    "GET_AITER": ASYNC,
    "GET_ANEXT": ASYNC,
    "END_ASYNC_FOR": ASYNC,
    "BEFORE_ASYNC_WITH": ASYNC,
    "ASYNC_GEN_WRAP": ASYNC,
    "CHECK_EG_MATCH": GROUPS,
    "PREP_RERAISE_STAR": GROUPS,
    "PRINT_EXPR": INTERACTIVE,
}

VERSION = Version(rules=RULES, refused=REFUSED, close_returns_value=False)
