"""``jit._overload`` and ``jit._overload_method``: one implementation, scripted once for each of several signatures."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from .frontend.source import text_of
from .frontend.types import assignable, type_of
from .lower.compiler import FunctionCompiler, Signature

_declared: dict[tuple[str, str], list[Any]] = {}  # functions without bodies, by module and qualified name of the implementation


def _overload(func: Any) -> Any:
    """Declare a signature of a function whose implementation follows under the same name."""
    if not inspect.isfunction(func):
        raise RuntimeError(f"this declares functions, not {type(func).__name__}")
    body = text_of(func).tree.body[0].body  # type: ignore[attr-defined]
    rest = (
        body[1:]
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str)
        else body
    )
    if not all(isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)) for each in rest):
        raise RuntimeError(f"Only `pass` statement or `...` can be the body of overload declaration: {func.__qualname__} has another")
    _declared.setdefault((func.__module__, func.__qualname__), []).append(func)
    return func


_overload_method = _overload


class Overload:
    """One signature of a function that has several: the types of its parameters by name, and of its result."""

    def __init__(self, declared: Any, implementation: Any, frames: tuple[Any, ...], is_method: bool) -> None:
        compiler = FunctionCompiler(declared, None, frames)
        signature: Signature = compiler.signature(compiler.source.definition)
        parameters = signature.parameters[1:] if is_method else signature.parameters
        defaults = inspect.signature(implementation).parameters
        for each in parameters:
            if each.default is ... and each.name in defaults and defaults[each.name].default is not inspect.Parameter.empty:
                if assignable(type_of(defaults[each.name].default), each.type):
                    each.default = defaults[each.name].default
        self.types = {each.name: each.type for each in parameters}
        self.result = compiler.return_type
        self.signature = Signature(signature.name, parameters)


def overloads_of(function: Any, frames: tuple[Any, ...] = (), is_method: bool = False) -> list[Overload]:
    """The signatures that were declared for a function; none of most."""
    found = _declared.get((getattr(function, "__module__", ""), getattr(function, "__qualname__", "")), ())
    return [Overload(each, function, frames, is_method) for each in found if each is not function]
