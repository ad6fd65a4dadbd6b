"""`torch._functorch.aot_autograd`: graphs differentiated ahead of time, for compilers of a user's own.

The graphs hold ops of rushlight's table, functional and not decomposed; the compilers' example inputs are the tensors of the first call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...backends.user_compilers import Compiler, differentiated
from ...compiler import compile
from ...core.errors import NotSupported
from ...core.missing import missing
from ...nn.modules.module import Module

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "make_boxed_compiler", "make_boxed_func"]
__getattr__ = missing("rushlight._functorch.aot_autograd")


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """A function that takes its arguments as one list."""

    def boxed(args: list[Any]) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Compiler) -> Compiler:
    """A compiler whose functions take their arguments as one list."""

    @functools.wraps(compiler)
    def boxed(gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        return make_boxed_func(compiler(gm, example_inputs))

    return boxed


def _refuse(options: dict[str, Any]) -> None:
    """An error for an option that would change the graphs, and for names that no option has."""
    known = {"partition_fn", "decompositions", "num_params_buffers", "keep_inference_input_mutations", "static_argnums", "hasher_type"}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"aot_autograd: unexpected keyword argument {unknown[0]!r}")
    for name in ("partition_fn", "decompositions", "static_argnums"):
        if options.get(name):
            raise NotSupported(f"aot_autograd: {name} is not supported: graphs hold rushlight's ops, split by its own minimum cut")


def aot_module_simplified(
    mod: Any, args: Any, fw_compiler: Compiler, bw_compiler: Compiler | None = None, *, inference_compiler: Compiler | None = None,
    **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """A captured graph module, run by what the compilers make of its forward and its backward graph."""
    _refuse(options)
    return differentiated(mod, args, fw_compiler, bw_compiler, inference_compiler)


def aot_function(
    fn: Callable[..., Any], fw_compiler: Compiler, bw_compiler: Compiler | None = None, *, inference_compiler: Compiler | None = None,
    dynamic: bool = False, **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """A function, captured as one graph when it is called, and run by what the compilers make of it."""
    _refuse(options)

    def backend(gm: Any, example_inputs: list[Any]) -> Any:
        return differentiated(gm, example_inputs, fw_compiler, bw_compiler, inference_compiler)

    return compile(fn, fullgraph=True, dynamic=dynamic, backend=backend)


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A Module whose calls go through :func:`aot_function`; its parameters are those of the given one, as ``orig_module``."""
    called = aot_function(mod, *args, **kwargs)

    class AOTModule(Module):
        """A Module captured as one graph, and compiled by a user's compilers."""

        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            """Run the compiled Module."""
            return called(*args, **kwargs)

    return AOTModule()
