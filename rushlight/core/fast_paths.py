"""Fast paths where there is one accelerator: compiled calls of ops, functions that gradient rules call without dispatch, and writes in place.

For each op, on its first call there, a function is compiled that unwraps just its parameters.  What it leaves to the general path, which also words
errors, it answers with NotImplemented.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import generated_code
from .base import TensorBase, make, runtime, storage_of
from .declare import Op, Parameter
from .devices import sole_accelerator
from .errors import RushlightError
from .named_results import named_result
from .node import refresh
from .state import flags, state

_FAILURES = (ValueError, TypeError, OverflowError, ArithmeticError, IndexError, MemoryError, np.linalg.LinAlgError)
PLAIN_NUMBERS = frozenset((int, float, bool))

_TENSOR = """\
    array_{name} = {name}._array
    if array_{name}.__class__ is not kind and not isinstance(array_{name}, kind):
        return NotImplemented
    if {name}._storage is not None and {name}._view is not None:
        refresh({name})
    if {name}._requires_grad:
        requires = True"""

_LIST = """\
    if not {name}:
        return NotImplemented
    array_{name} = []
    for each in {name}:
        array = each._array
        if array.__class__ is not kind:
            return NotImplemented
        array_{name}.append(array)
        if each._storage is not None and each._view is not None:
            refresh(each)
        if each._requires_grad:
            requires = True"""

_RUN = """\
    own = home.kernel_for(op)
    try:
        made = NotImplemented if own is None else own({values})
        if made is NotImplemented:
            {otherwise}
    except RushlightError:
        raise
    except failures:
        return NotImplemented"""

_ONE = """\
    result = new(Tensor)
    result._array = made if made.__class__ is kind else home.as_array(made)
    result._requires_grad = False
    result._grad_fn = None
    result._output_index = 0
    result._storage = None"""

_SEVERAL = """\
    result = tuple([make(each if isinstance(each, kind) else home.as_array(each)) for each in made])"""

_VIEWS = """\
    result = tuple([wrap(op, {args}, each, index) for index, each in enumerate(made)])"""


def _local(name: str) -> str:
    """The name of a parameter in a compiled call, whose own variables (``result``, ``kind``) ops have parameters of, too."""
    return f"given_{name}"


def _unwrapped(parameter: Parameter) -> str:
    """The source that unwraps a parameter: of tensors, of tensors or numbers, or of lists of tensors."""
    kind, name = parameter.kind, _local(parameter.name)
    if kind == "tensors":
        return _LIST.format(name=name)
    text = _TENSOR.format(name=name)
    if kind == "tensor":
        return text
    lines = [f"    if isinstance({name}, TensorBase):", *("    " + line for line in text.split("\n"))]
    if kind.startswith("operand"):
        lines += [f"    elif {name}.__class__ in numbers:", f"        array_{name} = {name}"]
    if kind.endswith("?"):
        lines += [f"    elif {name} is None:", f"        array_{name} = None"]
    return "\n".join([*lines, "    else:", "        return NotImplemented"])


def _recorded(op: Op, args: str) -> list[str]:
    """The source that records a call: what ``attach`` does, without it, where the first result alone has a gradient and no mode is on."""
    call = f"attach(op, {args}, result)"
    several = op.returns is not None
    if (
        op.view
        or several
        and (op.returns == "list" or [each for each in op.returns if each not in op.nondifferentiable] != [op.returns[0]])
    ):
        return [f"        {call}"]
    first = "result[0]" if several else "result"
    return [
        f"        if op.record is None or flags.special or {first}._array.dtype.kind not in 'fVc':", f"            {call}", "        else:",
        f"            first = {first}", f"            first._grad_fn = op.record({args}, result)", "            first._requires_grad = True",
    ]  # fmt: skip


def build_accelerator_call(op: Op, attach: Any, wrap: Any) -> Any:
    """The function of an op's arguments, in the order of its schema."""
    unwrapped = {_local(op.parameters[position].name) for position, _ in op.tensor_positions}
    names, several = [_local(each.name) for each in op.parameters], op.returns is not None
    args = f"({', '.join(names)},)"
    if op.view or op.widen or "other devices" in op.notes:
        otherwise = "return NotImplemented"
        if op.returns == "list" and op.view and "other devices" not in op.notes:
            otherwise = "made = op.family.execute(op, home.arrays, ({values},))"
    else:
        otherwise = "made = op.family.execute(op, home.arrays, ({values},))"
    values = ", ".join(f"array_{name}" if name in unwrapped else name for name in names)
    lines = [
        f"def call({', '.join(names)}):",
        "    home, kind, requires = sole_accelerator.kind, sole_accelerator.array_type, False",
        "    if state.inference:",
    ]
    lines += ["        return NotImplemented", "    try:"]
    for parameter in op.parameters:
        if _local(parameter.name) in unwrapped:
            lines += ["    " + line for line in _unwrapped(parameter).split("\n")]
    lines += ["    except (AttributeError, TypeError):", "        return NotImplemented"]
    lines += _RUN.format(values=values, otherwise=otherwise.format(values=values)).split("\n")
    lines += (_VIEWS.format(args=args) if op.view else _SEVERAL if several else _ONE).split("\n")
    lines += ["    if requires and state.grad_enabled:", *_recorded(op, args)]
    named = several and op.returns != "list"
    lines.append("    return as_tuple(named, result)" if named else "    return result")
    namespace: dict[str, Any] = {
        "sole_accelerator": sole_accelerator, "flags": flags, "state": state, "refresh": refresh, "op": op, "RushlightError": RushlightError, "failures": _FAILURES, "new": object.__new__,
        "Tensor": runtime.tensor_type, "TensorBase": TensorBase, "make": make, "attach": attach, "wrap": wrap, "numbers": PLAIN_NUMBERS,
        "as_tuple": tuple.__new__, "named": named_result(op) if named else None,
    }  # fmt: skip
    exec(generated_code.compiled("\n".join(lines), f"<call of {op.name} on an accelerator>"), namespace)
    return namespace["call"]


def shortcut(name: str, *operands: Any) -> Any:
    """What a function of the one accelerator's own makes of tensors, without dispatch; None where there is none, or a mode is on, or calls are recorded."""
    kind = sole_accelerator.array_type
    if flags.special or state.grad_enabled or state.inference:
        return None
    function = sole_accelerator.kind.shortcuts.get(name)
    if function is None:
        return None
    values = []
    for each in operands:
        if isinstance(each, TensorBase):
            if not isinstance(each._array, kind):
                return None
            if each._storage is not None and each._view is not None:
                refresh(each)
            each = each._array
        values.append(each)
    try:
        made = function(*values)
    except MemoryError:  # which the general path words
        return None
    return None if made is NotImplemented else make(made)


def shortcuts(name: str, *operands: Any) -> tuple[Any, ...] | None:
    """Like :func:`shortcut`, of a function that makes several arrays."""
    if flags.special or state.grad_enabled or state.inference:
        return None
    kind, function, values = sole_accelerator.array_type, sole_accelerator.kind.shortcuts.get(name), []
    if function is None:
        return None
    for each in operands:
        if isinstance(each, TensorBase):
            if each._storage is not None and each._view is not None:
                refresh(each)
            each = each._array
            if each.__class__ is not kind and not isinstance(each, kind):  # type: ignore[arg-type]
                return None
        values.append(each)
    try:
        made = function(*values)
    except MemoryError:
        return None
    return None if made is NotImplemented else tuple(map(make, made))


def gradient_array(gradient: Any) -> Any:
    """The array of a gradient on the one accelerator there is, where nothing is recorded and no mode is on: rules may take a view of it without dispatch."""
    if flags.special or state.grad_enabled or state.inference:
        return None
    array = gradient._array
    return array if array.__class__ is sole_accelerator.array_type and (gradient._storage is None or gradient._view is None) else None


def write_on_accelerator(op: Op, target: Any, args: tuple[Any, ...]) -> bool:
    """Write to a dense tensor of the one accelerator there is by its own kernel, unrecorded; False leaves the call to the general path."""
    if target._requires_grad or target._view is not None or target._inference or op.in_place_kernel is not None:
        return False
    kind, array = sole_accelerator.array_type, target._array
    write = sole_accelerator.writers.get(op.name)
    if write is not None:
        other = args[1]
        if other.__class__ is float or other.__class__ is int:
            done = write(array, other, args)
        elif isinstance(other, TensorBase) and not other._requires_grad and (other._storage is None or other is target):
            done = write(array, other._array, args)
        else:
            done = False
        if done:
            (target._storage or storage_of(target)).version += 1
            return True
    into = getattr(sole_accelerator.kind.kernel_for(op), "into", None)
    if into is None:
        return False
    values = list(args)
    values[0] = array
    for position, _ in op.tensor_positions[1:]:
        value = args[position]
        if isinstance(value, TensorBase):
            if value._array.__class__ is not kind or value._requires_grad or value._storage is not None and value is not target:
                return False
            values[position] = value._array
        elif value.__class__ not in PLAIN_NUMBERS:
            return False
    if not array.flags.c_contiguous or not into(array, values):
        return False
    (target._storage or storage_of(target)).version += 1
    return True
