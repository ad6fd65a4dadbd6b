"""``compile``: programs captured from their bytecode, run by a back-end, with guards and breaks."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import rushlight

from .backends.check import CheckedBackend, CheckError
from .backends.registry import find, list_backends, register_backend
from .capture.compile.annotations import mark, mark_dynamic, mark_static, mark_static_address, marks, maybe_mark_dynamic, substitutes
from .capture.compile.config import settings
from .capture.compile.handlers.transforms import makes_a_function
from .capture.compile.record.graph_breaks import BREAKS, BackendFailed, ConstraintViolation, Unsupported, counters
from .capture.compile.record.registry import handles
from .capture.compile.runtime.captured_function import CapturedFunction, Options
from .capture.control.operators import cond, while_loop
from .capture.graph_module import GraphModule
from .core.errors import NotSupported
from .core.state import flags, state
from .display import attach
from .explanation import Explanation
from .nn.modules.module import Module
from .nn.modules.module_hooks import call_with_hooks
from .stances import (
    keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe,
    load_cache_artifacts,
    load_compiled_function,
    looked_at,
    nested_compile_region,
    save_cache_artifacts,
    set_enable_guard_collectives,
    set_stance,
    skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe,
    wrap_numpy,
)

attach(GraphModule)  # what a back-end is given can be looked at
_all: weakref.WeakSet[Any] = weakref.WeakSet()  # what is compiled, for reset()


_default_backend: list[Any] = ["inductor"]  # the name by which PyTorch's own compiler goes, and what programs set after it
_TARGETS = {"cpu": "native", "cuda": "triton"}  # the back-ends that make code, by what it is for


class _Disabled(threading.local):
    depth = 0  # how many functions are running that nothing is to be compiled in


_disabled = _Disabled()
_disabled_once = looked_at


class CompiledFunction:
    """A function that runs compiled; called like the function."""

    def __init__(self, function: Any, options: Options) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._torchdynamo_orig_callable = function
        self._compiled = CapturedFunction(function if hasattr(function, "__code__") else _call, options)
        self._leading = () if hasattr(function, "__code__") else (function,)
        _all.add(self._compiled)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if (flags.special and (state.capture is not None or state.function_modes or state.dispatch_modes)) or (
            _disabled_once and (_disabled.depth or settings.stance == "force_eager")
        ):  # mostly neither thread's own state is asked
            return self.__wrapped__(*args, **kwargs)
        if flags.special and state.profiler is not None:
            return state.profiler.compiled(getattr(self.__wrapped__, "__name__", "?"), self, args, kwargs)
        return self._compiled.call(self._leading + args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __deepcopy__(self, memo: Any) -> CompiledFunction:
        return CompiledFunction(self.__wrapped__, self._compiled.options)

    def __reduce__(self) -> Any:
        return type(None), ()  # what is loaded runs as it is, until it is compiled again

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.__wrapped__, '__qualname__', self.__wrapped__)}>"


class OptimizedModule(Module):
    """A Module whose calls run compiled; its parameters and attributes are those of the original."""

    def __init__(self, module: Module, options: Options) -> None:
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["_compiled"] = CapturedFunction(_call, options)
        _all.add(self.__dict__["_compiled"])
        self.__dict__.pop("training", None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        fields = self.__dict__
        if (flags.special and (state.capture is not None or state.function_modes or state.dispatch_modes)) or (
            _disabled_once and (_disabled.depth or settings.stance == "force_eager")
        ):
            return fields["_modules"]["_orig_mod"](*args, **kwargs)
        if flags.special and state.profiler is not None:
            return state.profiler.compiled(type(fields["_modules"]["_orig_mod"]).__name__, self, args, kwargs)
        return fields["_compiled"].call((fields["_modules"]["_orig_mod"], *args), kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or "_orig_mod" not in self.__dict__.get("_modules", ()):
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getitem__(self, key: Any) -> Any:
        return self._orig_mod[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> Any:
        options = self.__dict__["_compiled"].options
        backend = options.backend.name if options.backend.name in list_backends() else options.backend
        return _compiled_again, (self._orig_mod, backend, options.fullgraph, options.dynamic)


def _compiled_again(module: Module, backend: Any, fullgraph: bool, dynamic: bool | None) -> OptimizedModule:
    """A compiled Module that was copied, or read from a file: what was captured is not part of it."""
    return OptimizedModule(module, Options(find(backend), fullgraph, dynamic))


def _call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _call_module(module: Any, *args: Any, **kwargs: Any) -> Any:
    return call_with_hooks(module, args, kwargs)


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = None, mode: str | None = None,
    options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False, recompile_limit: int | None = None,
    isolate_recompiles: bool = False, shapes_spec: Any = None, check: bool = False, target: str | None = None,
) -> Any:  # fmt: skip
    """Run a function or Module compiled: captured from its bytecode at the first call, and run by a back-end from then on.

    ``backend`` is a name (see :func:`list_backends`) or a function of a graph module and example inputs that gives a callable.
    ``fullgraph=True`` refuses programs that would take more than one graph.  ``check=True`` (or ``RUSHLIGHT_CHECK=1`` in the
    environment) runs eager beside the compiled code, and raises a :class:`CheckError` where they differ.  Code is made for the device
    of the inputs; ``target`` (``"cpu"`` or ``"cuda"``) insists on one.  After ``recompile_limit`` graphs for different values at one place it
    runs eagerly, or, with ``fullgraph``, raises; each ``compile()`` counts its own (``isolate_recompiles`` changes nothing).  ``name`` is for
    tools alone.  Also a decorator.
    """
    if model is None or isinstance(model, (staticmethod, classmethod)):  # of the latter, the decorators are in the other order
        decorator = functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, name=name, disable=disable,
            recompile_limit=recompile_limit, isolate_recompiles=isolate_recompiles, shapes_spec=shapes_spec, check=check, target=target,
        )  # fmt: skip
        return decorator if model is None else type(model)(decorator(model.__func__))
    if disable:
        return model
    backend = get_default_backend() if backend is None else backend
    if options is not None and options.get("guard_filter_fn") is not None:
        raise NotSupported("compile(options={'guard_filter_fn': ...}) is not supported: all guards are evaluated, by generated code")
    if shapes_spec is not None:
        raise NotSupported(
            "compile(shapes_spec=...) is not supported: mark sizes with torch._dynamo.mark_dynamic, or compile with dynamic=True"
        )
    if not callable(model):
        raise RuntimeError(f"compile() takes a function or a Module, not {type(model).__name__}")
    if target not in (None, *_TARGETS):
        raise RuntimeError(f"compile() makes code for the targets {' and '.join(_TARGETS)}, not for {target!r}")
    found = find(backend if target is None or backend not in _TARGETS.values() and backend != "inductor" else _TARGETS[target])
    if check or os.environ.get("RUSHLIGHT_CHECK", "0") not in ("", "0"):
        found = CheckedBackend(found)
    chosen = Options(found, fullgraph, dynamic, recompile_limit)
    if isinstance(model, OptimizedModule):
        model = model._orig_mod
    if isinstance(model, Module):
        return OptimizedModule(model, chosen)
    if isinstance(model, CompiledFunction):
        model = model.__wrapped__
    return CompiledFunction(model, chosen)


makes_a_function(rushlight.vmap)


@handles(compile, rushlight.compile)
def _compile_inside(recorder: Any, model: Any = None, **options: Any) -> Any:
    """A captured program compiles a function: it is captured already."""
    return model if isinstance(model, (FunctionType, Module)) else NotImplemented


def compile_module(module: Module, *args: Any, **kwargs: Any) -> None:
    """What ``module.compile()`` does: the Module's own calls run compiled from now on."""
    module.__dict__["_compiled_call_impl"] = compile(_call_module, *args, **kwargs)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that is never captured: a compiled program calls it as it is, between two graphs.

    With ``recursive`` (the default) nothing that it calls is compiled either.  Also a decorator.
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    if not isinstance(fn, FunctionType) and not hasattr(fn, "__func__"):
        mark(fn, "disable")  # a class, or a Module
        return fn

    _disabled_once[:] = [True]

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        _disabled.depth += recursive
        try:
            return fn(*args, **kwargs)
        finally:
            _disabled.depth -= recursive

    mark(disabled, "disable")
    return disabled


def allow_in_graph(fn: Any) -> Any:
    """Mark a function (or custom Function) that goes into graphs as one node, without being looked into."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    mark(fn, "allow")
    return fn


def graph_break(msg: str = "") -> None:
    """End the graph here, when a program is captured; otherwise nothing."""


def is_compiling() -> bool:
    """Whether the program is being captured by ``compile``, or by ``torch.export``."""
    return is_dynamo_compiling() or is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether the program is being captured by ``compile``."""
    return state.capture is not None and hasattr(state.capture, "recorder")


def is_exporting() -> bool:
    """Whether the program is being captured by ``torch.export``, which is neither ``compile`` nor ``onnx.export``."""
    return state.capture is not None and state.capture.keeps_control


def reset() -> None:
    """Forget all that was compiled; functions are captured anew when they are next called."""
    for each in list(_all):
        each.clear()


def reset_code(code: Any) -> None:
    """Forget what was compiled of one function, given by its code object or itself."""
    code = getattr(code, "__code__", code)
    for each in list(_all):
        if getattr(each.function, "__code__", None) is code:
            each.clear()


def assume_constant_result(fn: Any) -> Any:
    """A function whose result programs take for a constant: what it is when they are captured, by ``compile`` or by a strict export."""

    @functools.wraps(fn)
    def constant(*args: Any, **kwargs: Any) -> Any:
        capture = state.capture
        return fn(*args, **kwargs) if capture is None else capture.constant_result(fn, args, kwargs)

    mark(fn, "constant")
    mark(constant, "constant")
    return constant


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs here."""


def get_default_backend() -> Any:
    """The back-end of functions that are compiled without naming one."""
    return _default_backend[-1]


def set_default_backend(backend: Any) -> None:
    """Set the back-end of functions that are compiled from now on without naming one; None for the first one again."""
    if backend is not None:
        find(backend)  # a name that is not known is told here
    _default_backend[1:] = [] if backend is None else [backend]


def substitute_in_graph(original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False) -> Any:
    """A decorator of a function in Python that captures look into in the place of another, which they can't: one written in C."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def register(traceable_fn: Any) -> Any:
        if not isinstance(traceable_fn, FunctionType):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")
        if not skip_signature_check:
            _check_signatures(original_fn, traceable_fn)
        substitutes[id(original_fn)] = original_fn, traceable_fn
        mark(original_fn, "substitute")
        return traceable_fn

    return register


def _check_signatures(original: Any, substitute: Any) -> None:
    try:
        wanted = inspect.signature(original)
    except (TypeError, ValueError):  # functions in C may have none
        return
    given = inspect.signature(substitute)
    if [each.name for each in wanted.parameters.values()] != [each.name for each in given.parameters.values()]:
        raise TypeError(f"Signature mismatch between {original} and {substitute}: {wanted} != {given}")


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """What ``compile`` makes of a function: ``explain(f)(*args)`` runs it, and gives an :class:`Explanation`.

    Of a function that is compiled already, the explanation includes what earlier calls have led to.
    """

    def run(*args: Any, **kwargs: Any) -> Explanation:
        target = f
        if not isinstance(f, (CompiledFunction, OptimizedModule)):
            target = compile(f)
        compiled = target.__dict__["_compiled"]
        name = type(target._orig_mod).__qualname__ if isinstance(target, OptimizedModule) else None
        return Explanation(compiled, target(*args, **kwargs), name)

    return run(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else run


_KINDS: dict[str, tuple[Any, ...]] = {
    "control": (cond, while_loop, sys.modules[__package__].cond, sys.modules[__package__].while_loop), "break": (graph_break,), "compiling": (is_compiling, is_dynamo_compiling), "compiled": (CompiledFunction.__call__,), "nothing": (cudagraph_mark_step_begin,), "constant": (is_exporting,),
    "disable": (mark_dynamic, maybe_mark_dynamic, mark_static, reset, reset_code, set_stance, explain, compile),
}  # fmt: skip
for _kind, _functions in _KINDS.items():
    for _function in _functions:
        mark(_function, _kind)

__all__ = [
    "BREAKS", "BackendFailed", "Callable", "CheckError", "CompiledFunction", "ConstraintViolation", "Explanation", "OptimizedModule", "Unsupported", "allow_in_graph",
    "assume_constant_result", "compile", "compile_module", "cond", "counters", "cudagraph_mark_step_begin", "disable", "explain", "graph_break", "is_compiling", "is_exporting",
    "get_default_backend", "is_dynamo_compiling", "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe", "list_backends", "load_cache_artifacts",
    "load_compiled_function", "mark_dynamic", "mark_static", "mark_static_address", "marks", "maybe_mark_dynamic", "register_backend", "reset",
    "nested_compile_region", "reset_code", "save_cache_artifacts", "set_default_backend", "set_enable_guard_collectives", "set_stance",
    "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph", "while_loop", "wrap_numpy",
]  # fmt: skip
