"""Names of `torch._C` that are about scripts: types, containers, and settings of an executor that is not here."""

from __future__ import annotations

from abc import ABC
from typing import Any

from ...capture.script.aten_graph.tensor_type import Sized
from ...capture.script.frontend.script_containers import ScriptDict as ScriptDict_
from ...capture.script.frontend.script_containers import ScriptList as ScriptList_
from ...capture.script.frontend.type_checks import checker
from ...capture.script.frontend.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    OBJECT,
    STR,
    TENSOR,
    Type,
    type_of,
)
from ...capture.script.frontend.types import DictType as DictType_
from ...capture.script.frontend.types import EnumType as EnumType_
from ...capture.script.frontend.types import ListType as ListType_
from ...capture.script.frontend.types import OptionalType as OptionalType_
from ...capture.script.frontend.types import TupleType as TupleType_
from ...capture.script.frontend.types import UnionType as UnionType_
from ...capture.script.module_part import freeze_part as _freeze_module
from ...core.dtypes import dtype
from ...jit import ScriptMethod as ScriptMethod_
from ...ops.quantized import Packed
from ...ops.quantized.layers import PackedRows
from ...ops.quantized.rnn import CellParameters
from ...tensor.layout import layout, memory_format
from ...testing.file_check import FileCheck as FileCheck_

ScriptDict, ScriptList, ScriptMethod, FileCheck = ScriptDict_, ScriptList_, ScriptMethod_, FileCheck_
DictType, EnumType, ListType, OptionalType, TupleType, UnionType = DictType_, EnumType_, ListType_, OptionalType_, TupleType_, UnionType_


class ScriptObject(ABC):  # noqa: B024 - the classes of objects are registered
    """What in PyTorch is an object of a C++ class that scripts know: the packed parameters of quantized layers."""


for _each in (Packed, PackedRows, CellParameters):
    ScriptObject.register(_each)


class _Single:
    """A simple type by the name of its class: ``IntType.get()`` is the type."""

    def __init__(self, kind: Type) -> None:
        self._kind = kind

    def get(self) -> Type:
        """The type."""
        return self._kind

    def __call__(self) -> Type:
        return self._kind

    def __instancecheck__(self, instance: Any) -> bool:
        return instance is self._kind


IntType, FloatType, BoolType, StringType, NoneType, AnyType, NumberType, ComplexType, DeviceObjType = map(
    _Single, (INT, FLOAT, BOOL, STR, NONE, ANY, NUMBER, COMPLEX, DEVICE)
)
_settings = {"optimize": True, "inline": False, "warn": True, "runs": 1, "autocast": True}


def _exchange(name: str, value: Any) -> Any:
    before, _settings[name] = _settings[name], value
    return before


def _jit_assert_is_instance(obj: Any, type: Type) -> None:
    """Raise a RuntimeError where a value is not of a type of scripts."""
    check = checker(TENSOR if isinstance(type, Sized) else type)
    if check is not None and not check(obj):
        raise RuntimeError(f"Expected a value of type '{type}' but instead found a value of type '{type_of(obj)}'")


def _jit_set_autocast_mode(enabled: bool) -> bool:
    """Kept: scripts and traces run under ``autocast`` as other programs do, whatever is set.  Returns what was set before."""
    return bool(_exchange("autocast", enabled))


def _jit_set_emit_hooks(module_hook: Any, function_hook: Any) -> None:
    """Accepted: nothing calls back when a program was compiled."""


def _jit_get_emit_hooks() -> tuple[None, None]:
    """The callbacks: there are none."""
    return None, None


def _jit_has_cpp_tests() -> bool:
    """Whether there are compiled tests of the executor: there are none."""
    return False


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


class InferredType:
    """The type that a value has in scripts, or why it has none."""

    def __init__(self, found: Type | str) -> None:
        self._found = found

    def success(self) -> bool:
        """Whether there is a type."""
        return not isinstance(self._found, str)

    def type(self) -> Type:
        """The type."""
        if isinstance(self._found, str):
            raise RuntimeError(f"Tried to get the type from an InferredType but the type is null. Reason: {self._found}")
        return self._found

    def reason(self) -> str:
        """Why there is no type."""
        return self._found if isinstance(self._found, str) else ""


def _jit_try_infer_type(obj: Any) -> InferredType:
    """The type of a value in scripts, where it has one."""
    return InferredType(_inferred(obj))


def _inferred(obj: Any) -> Type | str:
    if isinstance(obj, (dtype, layout)):
        return INT
    if isinstance(obj, (list, dict)):
        if not obj:
            return "List trace inputs must have elements" if isinstance(obj, list) else "Dictionary inputs must have entries"
        groups = [list(obj)] if isinstance(obj, list) else [list(obj), list(obj.values())]
        what = (
            "List inputs to traced functions must have consistent element type"
            if isinstance(obj, list)
            else "Dictionary inputs to traced functions must have consistent type"
        )
        kinds = []
        for group in groups:
            found = list(map(_inferred, group))
            for each in found:
                if isinstance(each, str):
                    return each
                if each != found[0]:
                    return f"{what}. Found {found[0]} and {each}"
            kinds.append(found[0])
        return ListType_(kinds[0]) if isinstance(obj, list) else DictType_(*kinds)  # type: ignore[arg-type]
    if isinstance(obj, tuple) and not hasattr(obj, "_fields"):
        parts = list(map(_inferred, obj))
        return next((each for each in parts if isinstance(each, str)), None) or TupleType_(tuple(parts))  # type: ignore[arg-type]
    kind = type_of(obj)
    if kind in (OBJECT, ANY) or isinstance(obj, (type, range, memory_format)):
        return (
            "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of traced functions, "
            f"but instead got value of type {type(obj).__name__}."
        )
    return kind
