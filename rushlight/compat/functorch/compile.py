"""`functorch.compile`: compilers of a user's own for the forward and backward graphs of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.missing import missing
from ..functorch_internal import config
from ..functorch_internal.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_compiler, make_boxed_func
from ..functorch_internal.partitioners import default_partition

__all__ = [
    "aot_function", "aot_module", "aot_module_simplified", "config", "default_partition", "make_boxed_compiler", "make_boxed_func", "nop", "print_compile",
]  # fmt: skip
__getattr__ = missing("rushlight.functorch.compile")


def nop(fx_g: Any, _: Any) -> Callable[..., Any]:
    """The compiler that leaves a graph as it is."""
    return make_boxed_func(fx_g.forward)


def print_compile(fx_g: Any, _: Any) -> Callable[..., Any]:
    """The compiler that prints a graph and leaves it as it is."""
    print(fx_g.code)
    return nop(fx_g, _)
