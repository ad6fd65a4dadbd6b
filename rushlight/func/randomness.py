"""What random numbers mean under ``vmap``: refused, the same for every example, or different ones."""

from __future__ import annotations

from typing import Any

from ..core.declare import Op, table
from ..core.dispatch import dispatch, dispatch_in_place
from ..core.errors import OperationError
from ..core.facets import Facet
from ..ops.shape.concat import stack
from .batched import padded
from .level import Level

_REFUSED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
    "vmap or perform the randomness operation out of vmap"
)
shaped: Facet[bool] = Facet("shaped randomness", "draws numbers by a tensor's shape and dtype, whatever its elements are")
shaped.set(
    True, "rand_like", "randn_like", "randint_like", "uniform_fill", "normal_fill", "bernoulli_fill", "exponential_fill", "geometric_fill",
    "cauchy_fill", "log_normal_fill", "random_fill",
)  # fmt: skip


def random_call(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """An op that draws random numbers, called in a function being vmapped."""
    if level.randomness == "error":
        raise OperationError(_REFUSED)
    if op.functional is not None:
        return _fill_in_place(level, op, args)
    return (_same if level.randomness == "same" else _different)(level, op, args)


def _same(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    if not level.batched_in(op, args):
        return NotImplemented
    if op not in shaped or any(level.holds(value) for value in args[1:]):
        raise OperationError("Vmap does not currently support same randomness with a batched tensor input.")
    return dispatch(op, (_example(args[0]), *args[1:]))


def _example(tensor: Any) -> Any:
    """A tensor of the shape and dtype of one example; its elements do not matter."""
    return table["zeros"].call(tuple(tensor._array.shape), dtype=tensor.dtype, device=tensor.device)


def _fill_in_place(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    target = args[0]
    if not level.holds(target):
        if any(level.holds(value) for value in args[1:]):
            raise OperationError("vmap: a tensor that is not vmapped over can't be filled by one that is: clone() it first")
        if level.randomness == "different":
            raise OperationError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness."
            )
        return NotImplemented
    assert op.functional is not None
    if level.randomness == "same":
        drawn = _same(level, op.functional, args)
        table["copy_"].call(level.peel(target), drawn)
    else:
        dispatch_in_place(op, level.aligned(op, args))
    return target


def _different(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    names = [parameter.name for parameter in op.parameters]
    if not op.tensor_positions:
        where = names.index("size") if "size" in names else None
        if where is None or not isinstance(args[where], (tuple, list)):  # randperm, randint(high, size)
            return level.wrap(stack([dispatch(op, args) for _ in range(level.size)]))
        return level.wrap(dispatch(op, (*args[:where], (level.size, *args[where]), *args[where + 1 :])))
    tensors = [position for position, _ in op.tensor_positions if hasattr(args[position], "_array")]
    rank = max(args[position]._array.ndim for position in tensors)
    values = list(args)
    for position in tensors:
        values[position] = padded(level.lift(args[position]), rank - args[position]._array.ndim)
    if op is table["multinomial"] and rank == 2:
        rows, columns = args[0]._array.shape
        values[0] = values[0].reshape(level.size * rows, columns)
        drawn = dispatch(op, tuple(values))
        return level.wrap(drawn.reshape(level.size, rows, drawn._array.shape[1]))
    return level.wrap(dispatch(op, tuple(values)))


Level.random = random_call
