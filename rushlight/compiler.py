"""``compile``: programs captured from their bytecode, run by a back-end, with guards and breaks."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from .backends.checking import CheckError, checked
from .backends.registry import find, list_backends, register_backend
from .capture.compile.breaks import BREAKS, Unsupported, counters
from .capture.compile.recorder import mark, marks
from .capture.compile.segments import Compiled, Options
from .core.state import state
from .nn.modules.module import Module

_all: list[Any] = []  # weak references to what is compiled, for reset()


class CompiledFunction:
    """A function that runs compiled; called like the function."""

    def __init__(self, function: Any, options: Options) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._torchdynamo_orig_callable = function
        self._compiled = Compiled(function, options)
        _all.append(self._compiled)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if state.capture is not None:
            return self.__wrapped__(*args, **kwargs)
        return self._compiled.call(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.__wrapped__, '__qualname__', self.__wrapped__)}>"


class OptimizedModule(Module):
    """A Module whose calls run compiled; its parameters are those of the original."""

    def __init__(self, module: Module, options: Options) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = Compiled(_call_module, options)
        self.training = module.training
        _all.append(self.__dict__["_compiled"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if state.capture is not None:
            return self._orig_mod(*args, **kwargs)
        return self.__dict__["_compiled"].call((self._orig_mod, *args), kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        self._orig_mod.train(mode)
        self.training = mode
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)


def _call_module(module: Any, *args: Any, **kwargs: Any) -> Any:
    return module(*args, **kwargs)


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "aot_eager", mode: str | None = None,
    options: dict[str, Any] | None = None, disable: bool = False, check: bool = False,
) -> Any:  # fmt: skip
    """Run a function or Module compiled: captured from its bytecode at the first call, and run by a back-end from then on.

    ``backend`` is a name (see :func:`list_backends`) or a function of a graph module and example inputs that gives a callable.
    ``fullgraph=True`` refuses programs that would take more than one graph.  ``check=True`` (or ``RUSHLIGHT_CHECK=1`` in the
    environment) runs eager beside the compiled code, and raises a :class:`CheckError` where they differ.  Also a decorator.
    """
    if model is None:
        return lambda function: compile(
            function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable, check=check
        )
    if disable:
        return model
    if not callable(model):
        raise RuntimeError(f"compile() takes a function or a Module, not {type(model).__name__}")
    run, name = find(backend)
    if check or os.environ.get("RUSHLIGHT_CHECK", "0") not in ("", "0"):
        run = checked(run, name)
    chosen = Options(run, name, fullgraph, dynamic)
    if isinstance(model, Module):
        return OptimizedModule(model, chosen)
    if isinstance(model, CompiledFunction):
        model = model.__wrapped__
    return CompiledFunction(model, chosen)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function that is never captured: a compiled program calls it as it is, between two graphs."""
    if fn is None:
        return lambda function: disable(function, recursive)
    mark(fn, "disable")
    return fn


def allow_in_graph(fn: Any) -> Any:
    """Mark a function (or custom Function) that goes into graphs as one node, without being looked into."""
    mark(fn, "allow")
    return fn


def graph_break(msg: str = "") -> None:
    """End the graph here, when a program is captured; otherwise nothing."""


def is_compiling() -> bool:
    """Whether the program is being captured by ``compile``."""
    return state.capture is not None and hasattr(state.capture, "recorder")


is_dynamo_compiling = is_compiling


def reset() -> None:
    """Forget all that was compiled; functions are captured anew when they are next called."""
    for each in _all:
        each.clear()


def assume_constant_result(fn: Any) -> Any:
    """Mark a function whose result is taken for a constant."""
    mark(fn, "constant")
    return fn


mark(graph_break, "break")
mark(is_compiling, "compiling")
mark(CompiledFunction.__call__, "compiled")

__all__ = [
    "BREAKS", "Callable", "CheckError", "CompiledFunction", "OptimizedModule", "Unsupported", "allow_in_graph", "assume_constant_result", "compile", "counters",
    "disable", "graph_break", "is_compiling", "is_dynamo_compiling", "list_backends", "marks", "register_backend", "reset",
]  # fmt: skip
