"""`torch._dynamo.export`: a function or Module as one graph module with the same signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ...compiler import OptimizedModule
from ...core.base import TensorBase
from ...export.dynamic_shapes import Dim, combined_arguments
from ...export.errors import ConstraintViolationError, UserError
from ...export.exporting import draft_export
from ...export.exporting import export as export_program
from ...nn.modules.module import Module
from .. import pytree


class ExportResult(NamedTuple):
    """What ``export`` gives."""

    graph_module: Any
    guards: Any  # the conditions on sizes under which the graph holds, as text


class _Program(Module):
    """A function as a Module: its forward is the function; a method's Module is a part of it, so that its parameters keep their names."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        owner = getattr(function, "__self__", None)
        if isinstance(owner, Module):
            self.owner = owner
        object.__setattr__(self, "forward", function)


def export(
    f: Callable[..., Any], *extra_args: Any, aten_graph: bool = False, pre_dispatch: bool = False, decomposition_table: Any = None,
    tracing_mode: str = "symbolic", dynamic_shapes: Any = None, specialize_float: bool = True, assume_static_by_default: bool = False,
    same_signature: bool = True, **extra_kwargs: Any,
) -> Any:  # fmt: skip
    """Capture a function as one graph; gives a function of the arguments, whose result is an :class:`ExportResult`.

    All sizes are dynamic that the program does not fix, unless ``dynamic_shapes`` names some or ``assume_static_by_default`` is set.  The graph is one of PyTorch's
    operators in any case, as with ``aten_graph=True``, and the same with any ``tracing_mode`` and ``pre_dispatch``.
    """
    if decomposition_table is not None and not aten_graph:
        raise AssertionError("Specifying a decomposition_table table or tracing mode is illegal without setting aten_graph=True")
    target = f._orig_mod if isinstance(f, OptimizedModule) else inspect.unwrap(f) if hasattr(f, "_torchdynamo_orig_callable") else f
    module = target if isinstance(target, Module) else _Program(target)

    def inner(*args: Any, **kwargs: Any) -> ExportResult:
        try:
            if dynamic_shapes is not None or assume_static_by_default:
                program = export_program(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=True)
            else:
                program = draft_export(module, args, kwargs, dynamic_shapes=_all_dynamic(module, args, kwargs), strict=True)
        except UserError as error:
            if str(error).startswith("Constraints violated"):
                raise ConstraintViolationError(str(error)) from error
            raise
        if decomposition_table is not None:
            program = program.run_decompositions(decomposition_table)
        made = program.module()
        kind: Any = type(made)  # a class of its own
        kind.train, kind.eval = Module.train, Module.eval
        return ExportResult(made, list(program._guards_code))

    if extra_args or extra_kwargs:
        return inner(*extra_args, **extra_kwargs)
    return inner


def _all_dynamic(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``dynamic_shapes`` for arguments, all of whose sizes follow the program."""

    def sizes(leaf: Any) -> Any:
        return {dim: Dim.AUTO for dim, size in enumerate(leaf.shape) if size > 1} if isinstance(leaf, TensorBase) else None

    return pytree.tree_map(sizes, combined_arguments(module, args, kwargs))
