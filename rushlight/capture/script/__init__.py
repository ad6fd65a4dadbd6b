"""Scripting: Python functions and Modules with their control flow, as graphs (``jit.script``).

In: a function, class or Module.  Out: a `ScriptFunction` or `ScriptModule`, which runs, saves, freezes and is captured by a tracer.  ``frontend/`` reads
source and types, ``lower/`` turns syntax trees into the steps of ``ir/``, ``transform/`` rewrites graphs, ``run/`` runs them; each imports only from those
before it (``ir/`` before ``lower/``).  Read ``script_function.py`` first.
"""

from __future__ import annotations

import copy
import enum
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...core.declare import Op
from ...core.missing import is_own
from ...core.state import state
from ...nn.modules.module import Module
from ..trace.traced import ENABLED, TracedFunction
from . import module_part, serialization
from .compilation_unit import CompilationUnit, calling
from .freeze import freeze, optimize_for_inference, run_frozen_optimizations
from .frontend.annotations import Attribute, annotate, export, ignore, is_instance, is_scripting, script_method, unused
from .frontend.errors import Error, NotSupportedError, ScriptError, UnusedCallError
from .frontend.script_containers import ScriptDict, ScriptList
from .frontend.types import type_of
from .interfaces import interface
from .script_class import script_class
from .script_function import ScriptFunction, caller_frames, script_function
from .script_module import RecursiveScriptModule, ScriptMethod, ScriptModule, scripted


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is scripted when it is first called while a program is traced or exported, so that its choices are kept."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        if state.capture is None:
            return fn(*args, **kwargs)
        return script_function(fn)(*args, **kwargs)

    run.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    run.__original_fn = fn  # type: ignore[attr-defined]  # PyTorch's name: libraries have wrappers of their own with it
    return run


def is_of_package(obj: Any) -> bool:
    """Whether this is a function of the package, such as an op."""
    return isinstance(getattr(obj, "op", None), Op) or is_own(obj)


def prepared(module: Module) -> Module:
    """A Module with everything in it that says what is scripted in its place (``__prepare_scriptable__``) replaced by that."""
    if "_modules" not in vars(module):
        raise RuntimeError(
            f"'{type(module).__name__}' has not been initialized, did you forget to call 'super().__init__()' in its __init__?"
        )
    found = module.__prepare_scriptable__() if hasattr(module, "__prepare_scriptable__") else module
    changed = {name: made for name, each in found._modules.items() if each is not None and (made := prepared(each)) is not each}
    if changed:
        found = copy.copy(found)
        found.__dict__["_modules"] = {**found._modules, **changed}
    return found  # type: ignore[no-any-return]


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Compile a function, or a Module with all its methods that ``forward`` needs, keeping ``if``, loops and the rest as they are.

    Unannotated parameters are tensors.  What is outside the language raises a :class:`ScriptError` with the line and a caret.
    """
    if not ENABLED:
        return obj
    obj = getattr(obj, "__original_fn", obj) if hasattr(obj, "__script_if_tracing_wrapper") else obj
    if obj.__class__ is FunctionType and example_inputs is None and not is_of_package(obj):
        return script_function(obj, caller_frames(2 + _frames_up))
    if isinstance(obj, (ScriptFunction, ScriptModule, TracedFunction)):
        return obj
    if isinstance(obj, Module):
        return scripted(prepared(obj), {}, root=True)
    if not isinstance(obj, type) and hasattr(obj, "__prepare_scriptable__"):
        return script(obj.__prepare_scriptable__(), None, _frames_up + 1, None, example_inputs)
    if isinstance(obj, type):
        if issubclass(obj, enum.Enum) or (issubclass(obj, tuple) and hasattr(obj, "_fields")):
            return obj
        if issubclass(obj, Module):
            raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead")
        script_class(obj, caller_frames(2 + _frames_up))
        return obj
    if isinstance(obj, list):
        return ScriptList(list(obj))
    if isinstance(obj, dict):
        return ScriptDict(dict(obj))
    if inspect.ismethod(obj):
        raise NotSupportedError(f"the method '{obj.__name__}' can't be scripted alone: mark it with jit.export and script the Module")
    if is_of_package(obj):
        if obj.__class__ is FunctionType:
            return script_function(calling(obj))
        raise NotSupportedError(
            f"'{getattr(obj, '__name__', obj)}' is no function that scripts can read: write a function that calls it, and script that"
        )
    if not inspect.isfunction(obj):
        kind = type(obj)
        if kind.__module__ != "builtins" and inspect.isfunction(vars(kind).get("__init__")) and not callable(obj):
            script_class(kind, caller_frames(2 + _frames_up))
            return copy.copy(obj)  # scripts change the copy, which Python sees
        raise TypeError(f"jit.script() takes a function or a Module, not {type(obj).__name__}")
    examples = None
    if isinstance(example_inputs, (list, tuple)) and example_inputs:
        given = example_inputs[0] if isinstance(example_inputs[0], (list, tuple)) else example_inputs
        examples = {name: type_of(value) for name, value in zip(inspect.signature(obj).parameters, given)}
    return script_function(obj, caller_frames(2 + _frames_up), examples)


__all__ = [
    "Attribute", "CompilationUnit", "Error", "ScriptDict", "ScriptList", "NotSupportedError", "RecursiveScriptModule", "ScriptError", "ScriptFunction", "ScriptMethod", "ScriptModule", "UnusedCallError", "annotate",
    "export", "module_part", "serialization", "freeze", "optimize_for_inference", "run_frozen_optimizations", "script_if_tracing", "is_instance", "ignore", "interface", "is_scripting", "script", "script_method", "unused",
]  # fmt: skip
