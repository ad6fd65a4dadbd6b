"""The arithmetic of an optimizer as scalar IR: what a step makes of one element of a parameter and of its buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.array_tracer import NotExpressible
from ..core.dtypes import HALF_PRECISION
from .scalar_ir import FLOAT32, Array, Functions, ScalarExpression, cast


class _Written(Array):
    """An array that an optimizer writes to as a whole."""

    __slots__ = ()

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        if index is not Ellipsis:
            raise NotExpressible("the optimizer writes to a part of an array")
        self.become(value)


def computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a step of parameters of a dtype computes in."""
    return FLOAT32 if dtype in HALF_PRECISION else dtype


def traced_update(
    update: Any, group: dict[str, Any], dtype: np.dtype[Any], buffers: int, numbers: int
) -> list[tuple[int, ScalarExpression]] | None:
    """What an optimizer's ``update`` writes, by the positions of the parameter (0) and the buffers (from 2); None where it can't be traced.

    Operands are the positions of the parameter, the gradient and the buffers, and ``"n0"``, ``"n1"``, … for the numbers of the step.
    """
    compute = computed_in(dtype)
    arrays = [_Written(cast(ScalarExpression("operand", (), dtype, at), compute), (1,)) for at in range(2 + buffers)]
    given = tuple(Array(ScalarExpression("operand", (), compute, f"n{at}"), ()) for at in range(numbers))
    grad: Any = arrays[1]
    try:
        update(Functions(), group, given, arrays[0], -grad if group["maximize"] else grad.copy(), *arrays[2:])
        return [(at, cast(arrays[at].expression, compute)) for at in (0, *range(2, 2 + buffers))]
    except (NotExpressible, TypeError, AttributeError):
        return None


def update_key(update: Any, group: dict[str, Any]) -> tuple[Any, ...]:
    """What code for a step depends on: the arithmetic, its switches, and which of its numbers are zero."""
    switches = tuple([(name, value) for name, value in sorted(group.items()) if isinstance(value, (bool, type(None)))])
    signs = tuple([(name, bool(value)) for name, value in sorted(group.items()) if isinstance(value, (int, float))])
    return update, switches, signs, "first" in group
