"""``torch.export.export``: from a Module and example inputs to an :class:`ExportedProgram`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..compat import pytree
from ..core.base import Spec, TensorBase
from ..core.dtypes import dtype as Dtype
from ..core.missing import is_own
from ..core.state import state
from ..core.symbolic import Expression, SymbolicInt
from ..fx.graph_module import GraphModule
from ..nn.modules.module import Module
from .constraints import resolve
from .dynamic_shapes import Dim, Dimension, ValueRanges, combined_arguments, dimensions, int_oo
from .errors import ConstraintViolationError, UserError
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, symbol_of
from .input_checks import input_checks
from .lifting import Lifted, input_names, lift
from .tracing import Capture, ConstantResults, NeedsValues, trace

_ADVICE = (
    "\n\nThe error above occurred when calling torch.export.export. If you would like to view some more information about this error, and get a list of all "
    "other errors that may occur in your export call, you can replace your `export()` call with `draft_export()`."
)


def export(
    mod: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None, strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """Capture a Module on example inputs as a program of PyTorch's operators, for all sizes that ``dynamic_shapes`` names.

    The Module runs on tensors without data, and is left as it was.  Both values of ``strict`` capture in the same way, except that a strict export takes
    the results of functions marked by ``assume_constant_result`` for constants.  How the Modules of the paths
    ``preserve_module_call_signature`` are called is kept: :func:`unflatten` gives them the same inputs and outputs again.

    >>> model = torch.nn.Linear(4, 2)
    >>> program = torch.export.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    >>> [node.name for node in program.graph.nodes]
    ['p_weight', 'p_bias', 'input', 'linear', 'output']
    >>> program.module()(torch.ones(7, 4)).shape
    torch.Size([7, 2])
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}{_ADVICE}")
    args, named = tuple(args), dict(kwargs or {})  # a named tuple is one of inputs, too
    combined = combined_arguments(mod, args, named)
    leaves, in_spec = pytree.tree_flatten((args, named))
    for leaf in leaves:
        _check_input(leaf)
    names = input_names(args, named, combined)
    found = _advised(lambda: dimensions(mod, args, named, dynamic_shapes))
    structure: list[Any] = []

    def flatten(result: Any) -> list[Any]:
        values, out_spec = pytree.tree_flatten(result)
        structure[:] = [out_spec]
        for each in values:
            _check_output(each)
        return list(values)

    with_values = [False]
    preserved, assumed = tuple(preserve_module_call_signature), ConstantResults() if strict else None

    def capturing(dims: dict[tuple[int, int], Any], sizes: dict[tuple[int, int], int], other: int = 0) -> Capture:
        def run(values: bool) -> Capture:
            rebuild = lambda flat: pytree.tree_unflatten(flat, in_spec)  # noqa: E731
            enabled = state.grad_enabled  # which the program may change
            try:
                return trace(mod, args, named, leaves, rebuild, names, dims, values, sizes, flatten, preserved, assumed, other)
            finally:
                state.grad_enabled = enabled

        if not with_values[0] or assumed is not None and assumed.known:  # those results are known after one run with values
            try:
                return run(False)
            except NeedsValues:
                pass
            except Exception as error:
                if not _is_about_data(error):
                    raise
            with_values[0] = True
        return run(True)

    captured, ranges, guards = resolve(found, capturing)
    lifted = lift(mod, captured, names, guards, ranges)
    arg_names = _argument_names(mod, args, named)
    signature = ModuleCallSignature([], [], in_spec, structure[0], arg_names)
    calls = [
        ModuleCallEntry("", signature),
        *(ModuleCallEntry(path, _signature(lifted, path)) for path, _ in mod.named_modules(remove_duplicate=False) if path),
    ]
    module = GraphModule(lifted.submodules, lifted.graph)
    program = ExportedProgram(
        module, lifted.graph, lifted.signature, lifted.state, _constraints(captured, ranges, found), calls, (args, named), lifted.constants
    )
    paths = [f"{_key(path[0])}{pytree.keystr(path[1:])}" for path, _ in pytree.tree_leaves_with_path(combined)]
    program._guards = input_checks(program, paths, guards)
    program._guards_code = [guard.text(_sources(lifted, combined)) for guard in guards if guard.symbols <= set(ranges)]
    return program


def _advised(run: Any) -> Any:
    """What a function gives; an error about sizes says what to do about it."""
    try:
        return run()
    except (UserError, ConstraintViolationError) as error:
        if _ADVICE not in str(error):
            error.args = (f"{error}{_ADVICE}", *error.args[1:])
        raise


def _signature(lifted: Lifted, path: str) -> ModuleCallSignature | None:
    """How a Module is called, where that is kept."""
    return ModuleCallSignature(*lifted.calls[path]) if path in lifted.calls else None


def _is_about_data(error: Exception) -> bool:
    """Whether an error says that a value is missing, rather than that the program is wrong."""
    text = str(error)
    return "meta tensor" in text or "depends on the data" in text or "only shapes" in text or "without data" in text


def _check_input(leaf: Any) -> None:
    if not isinstance(leaf, (TensorBase, int, float, bool, str, complex, type(None), Dtype)) and not is_own(type(leaf)):
        raise ValueError(
            f"Unsupported input type {type(leaf)}. Export only supports pytree containers of basic types (Tensor, int, float, ...) as input. To register a "
            "custom dataclass, use torch.export.register_dataclass. To register a custom container type, use torch.utils._pytree.register_pytree_node. To "
            "register a constant input, use torch.utils._pytree.register_constant"
        )


def _check_output(leaf: Any) -> None:
    if not isinstance(leaf, (TensorBase, int, float, bool, str, complex, type(None), Dtype)):
        raise RuntimeError(
            f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to register a pytree for it. "
            "See torch.export.register_dataclass"
        )


def _argument_names(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The names of the arguments of ``forward``: those in ``*args`` by number."""
    bound = (
        combined_arguments(mod, args, {})
        if not kwargs
        else {key: value for key, value in combined_arguments(mod, args, kwargs).items() if key not in kwargs}
    )
    names: list[str] = []
    for name, value in bound.items():
        if len(names) + (len(value) if isinstance(value, tuple) else 1) > len(args) and not isinstance(value, tuple):
            break
        extra = len(args) - len(names)
        if isinstance(value, tuple) and value is not args[len(names)] if len(names) < len(args) else False:
            names += [f"{name}_{at}" for at in range(extra)]
        else:
            names.append(name)
    return [*names, *kwargs]


def _constraints(captured: Capture, ranges: dict[str, ValueRanges], found: list[Dimension]) -> dict[Any, ValueRanges]:
    """The ranges of the sizes that the graph has, and of the formulas that inputs have."""
    used: dict[Any, ValueRanges] = {}
    for name, bounds in ranges.items():
        if any(name in _symbols_of(node.meta.get("val")) for node in captured.tracer.graph.nodes):
            used[symbol_of(Expression.symbol(name))] = bounds
    used.update((symbol_of(Expression.symbol(name)), ValueRanges(1, int_oo)) for name in captured.tracer.turns)
    for each in found:
        formula = each.formula
        if formula is not None and formula.as_symbol is None and hasattr(each.spec, "root"):
            (name,) = formula.symbols()
            bounds = ranges[name]
            high = bounds.upper if bounds.upper >= int_oo else formula.evaluate({name: bounds.upper})
            used[symbol_of(formula)] = ValueRanges(formula.evaluate({name: bounds.lower}), high)
    return used


def _symbols_of(known: Any) -> set[str]:
    if isinstance(known, SymbolicInt):
        return set(known.expression.symbols())
    if isinstance(known, Spec):
        return {name for size in known.shape if isinstance(size, SymbolicInt) for name in size.expression.symbols()}
    if isinstance(known, (tuple, list)):
        return {name for each in known for name in _symbols_of(each)}
    return set()


def _sources(lifted: Lifted, combined: dict[str, Any]) -> dict[str, str]:
    """By symbol: where it is read, in PyTorch's words."""
    users = [node for node in lifted.graph.nodes if node.op == "placeholder"][-len(pytree.tree_leaves(combined)) :] if combined else []
    found: dict[str, str] = {}
    for (path, _), node in zip(pytree.tree_leaves_with_path(combined), users):
        known = node.meta.get("val")
        for dim, size in enumerate(getattr(getattr(known, "_array", None), "shape", ())):
            if isinstance(size, SymbolicInt) and size.expression.as_symbol is not None:
                found.setdefault(size.expression.as_symbol, f"L{pytree.keystr(path)}.size()[{dim}]")
    return found


def _key(part: Any) -> str:
    return str(getattr(part, "key", getattr(part, "idx", getattr(part, "name", part))))


def draft_export(
    mod: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None,
    preserve_module_call_signature: tuple[str, ...] = (), strict: bool = False, prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """Export a Module in any case: dimensions that can't be dynamic as asked follow the program.

    What the program demands instead is in ``range_constraints`` and in the guards of ``module()``.
    """
    try:
        return export(mod, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict)
    except UserError:
        if dynamic_shapes is None:
            raise
    found = dimensions(mod, args, dict(kwargs or {}), dynamic_shapes)
    leaves, spec = pytree.tree_flatten(combined_arguments(mod, args, dict(kwargs or {})))
    relaxed: list[Any] = [None] * len(leaves)
    for each in found:
        at, dim = each.at
        relaxed[at] = Dim.AUTO if dim < 0 else {**(relaxed[at] or {}), dim: Dim.AUTO}
    return export(mod, args, kwargs, dynamic_shapes=pytree.tree_unflatten(relaxed, spec), strict=strict)
