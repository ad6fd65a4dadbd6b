"""Arrays from kernels, and narrow floating types: computed in float32 and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .declare import Op
from .dtypes import BY_NUMPY, FLOATING, LOW_PRECISION

ARRAY_MODULES: dict[type, Any] = {np.ndarray: np}  # cupy's arrays join when the cuda back-end loads
_FLOAT32 = np.dtype(np.float32)


def settle(result: Any) -> Any:
    """An array from what a kernel gave: NumPy returns scalars where PyTorch has 0-dim tensors."""
    return result if result.__class__ in ARRAY_MODULES else np.asarray(result)


def run_widened(op: Op, xp: Any, values: list[Any]) -> Any:
    """Narrow floating types are computed in float32 and rounded once, at the end."""
    narrow = None
    widened = list(values)
    for position, kind in op.tensor_positions:
        value = values[position]
        if kind == "tensors":
            found = next((each.dtype for each in value if each is not None and each.dtype in LOW_PRECISION), None)
            if found is not None:
                narrow = narrow or found
                widened[position] = [each if each is None or each.dtype not in LOW_PRECISION else each.astype(_FLOAT32) for each in value]
        elif value is not None and getattr(value, "dtype", None) in LOW_PRECISION:
            narrow = narrow or value.dtype
            widened[position] = value.astype(_FLOAT32)
    if narrow is not None and mixed(op, values, narrow):
        return run_mixed(op, xp, values, widened)
    result = op.family.execute(op, xp, widened)
    if narrow is None:
        return result
    if op.returns is None:
        result = settle(result)
        return result.astype(narrow) if result.dtype == _FLOAT32 else result
    return [each.astype(narrow) if each.dtype == _FLOAT32 else each for each in map(settle, result)]


def mixed(op: Op, values: list[Any], narrow: Any) -> bool:
    """Whether there are floating-point inputs of another type than a narrow one."""
    for position, kind in op.tensor_positions:
        for value in values[position] if kind == "tensors" else (values[position],):
            dtype = getattr(value, "dtype", narrow)
            if dtype is not narrow and BY_NUMPY[dtype].category >= FLOATING and not isinstance(value, np.generic):
                return True
    return False


def run_mixed(op: Op, xp: Any, values: list[Any], widened: list[Any]) -> Any:
    """The same where types are mixed: the meta rule, which sees them as they are, refuses that or says what comes of it."""
    specs = None if "data-dependent" in op.notes else op.meta(op, values)
    result = op.family.execute(op, xp, widened)
    if specs is None:
        return result
    if op.returns is None:
        return settle(result).astype(specs.dtype, copy=False)
    return [each.astype(spec.dtype, copy=False) for each, spec in zip(map(settle, result), specs)]
