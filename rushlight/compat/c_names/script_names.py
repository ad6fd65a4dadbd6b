"""Names of `torch._C` that are about scripts: types, containers, and settings of an executor that is not here."""

from __future__ import annotations

from typing import Any

from ...capture.script.frontend.script_containers import ScriptDict as ScriptDict_
from ...capture.script.frontend.script_containers import ScriptList as ScriptList_
from ...capture.script.frontend.types import DictType as DictType_
from ...capture.script.frontend.types import EnumType as EnumType_
from ...capture.script.frontend.types import ListType as ListType_
from ...capture.script.frontend.types import OptionalType as OptionalType_
from ...capture.script.frontend.types import TupleType as TupleType_
from ...capture.script.frontend.types import Type, checker, type_of
from ...capture.script.frontend.types import UnionType as UnionType_
from ...capture.script.module_part import freeze_part as _freeze_module
from ...jit import ScriptMethod as ScriptMethod_
from ...testing.file_check import FileCheck as FileCheck_

ScriptDict, ScriptList, ScriptMethod, FileCheck = ScriptDict_, ScriptList_, ScriptMethod_, FileCheck_
DictType, EnumType, ListType, OptionalType, TupleType, UnionType = DictType_, EnumType_, ListType_, OptionalType_, TupleType_, UnionType_
_settings = {"optimize": True, "inline": False, "warn": True, "runs": 1}


def _exchange(name: str, value: Any) -> Any:
    before, _settings[name] = _settings[name], value
    return before


def _jit_assert_is_instance(obj: Any, type: Type) -> None:
    """Raise a RuntimeError where a value is not of a type of scripts."""
    check = checker(type)
    if check is not None and not check(obj):
        raise RuntimeError(f"Expected a value of type '{type}' but instead found a value of type '{type_of(obj)}'")


def _jit_set_emit_hooks(module_hook: Any, function_hook: Any) -> None:
    """Accepted: nothing calls back when a program was compiled."""


def _jit_get_emit_hooks() -> tuple[None, None]:
    """The callbacks: there are none."""
    return None, None


def _jit_clear_class_registry() -> None:
    """Nothing to forget: a scripted class lives as long as the class."""


def _get_graph_executor_optimize(new_setting: bool | None = None) -> bool:
    """Whether scripts are optimized; it is remembered, and changes no result."""
    return bool(_settings["optimize"] if new_setting is None else _exchange("optimize", new_setting))


def _set_graph_executor_optimize(optimize: bool) -> None:
    """Remember whether scripts are optimized."""
    _exchange("optimize", optimize)


def _jit_set_num_profiled_runs(num: int) -> int:
    """How many calls are observed before a program is specialized: none are; what was set before comes back."""
    return int(_exchange("runs", num))


def _jit_get_num_profiled_runs() -> int:
    """What was set as the number of observed calls."""
    return int(_settings["runs"])


def _jit_set_inline_everything_mode(mode: bool) -> None:
    """Remember whether calls are inlined in graphs."""
    _exchange("inline", mode)


def _jit_get_inline_everything_mode() -> bool:
    """What was set for inlining."""
    return bool(_settings["inline"])


def _jit_set_tracer_state_warn(value: bool) -> None:
    """Remember whether traces warn."""
    _exchange("warn", value)


def _jit_get_tracer_state_warn() -> bool:
    """Whether traces warn, as it was set."""
    return bool(_settings["warn"])
