"""Functions along the rows of tensors: ``scan``, which carries values from row to row, and ``map``.

They simply run, row by row.  A capture for export keeps the function as a graph; others have a node for what it does to each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.base import TensorBase
from ...core.declare import table
from ...core.errors import OperationError
from ...core.families import normalize_dim
from ...core.state import state
from ...utils import trees


def scan(combine_fn: Callable[[Any, Any], Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` along a dimension: the last carry, and all ``y`` one after the other.

    ``init``, ``xs`` and what the function gives are tensors or nested containers of tensors.

    >>> from torch._higher_order_ops import scan
    >>> scan(lambda total, x: (total + x, total * x), torch.tensor(0.0), torch.arange(4.0))
    (tensor(6.), tensor([0., 0., 2., 9.]))
    """
    if not callable(combine_fn):
        raise OperationError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise OperationError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise OperationError(f"Reverse must be a bool, but got {type(reverse)}")
    starts, carry_structure = trees.flatten(init)
    rows, row_structure = trees.flatten(xs)
    if not rows:
        return init, []
    if not starts:
        raise OperationError("scan() operator requires init leaves.")
    for name, leaves in (("init", starts), ("xs", rows)):
        for each in leaves:
            if not isinstance(each, TensorBase):
                raise OperationError(f"All {name} leaves must be a Tensor but got {each}")
    move, flip = table["movedim"].call, table["flip"].call
    dim = normalize_dim(dim, rows[0].dim())
    if any(each.dim() <= dim or each.shape[dim] == 0 for each in rows):
        raise OperationError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    if dim:
        rows = [move(each, dim, 0) for each in rows]
    if any(each.shape[0] != rows[0].shape[0] for each in rows[1:]):
        raise OperationError(f"All xs leaves must have the same scan dimension size, but got {[list(each.shape) for each in rows]}")
    if reverse:
        rows = [flip(each, [0]) for each in rows]
    result: list[Any] = []

    def turn(*values: Any) -> list[Any]:
        made = combine_fn(carry_structure.unflatten(values[: len(starts)]), row_structure.unflatten(values[len(starts) :]))
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise OperationError(f"Expect combine_fn to return a tuple (next_carry, y) but got {made}")
        following, _ = trees.flatten(made[0])
        outputs, structure = trees.flatten(made[1])
        for before, after in zip(starts, following):
            if not isinstance(after, TensorBase) or tuple(before.shape) != tuple(after.shape) or before.dtype is not after.dtype:
                raise OperationError(
                    f"Expected init and carry to have same metadata, but found {_described(before)} and {_described(after)}"
                )
        if len(following) != len(starts):
            raise OperationError(f"Expected init and carry to have same number of outputs but got lhs {starts} and rhs {following}")
        result[:] = [structure]
        return [*following, *outputs]

    final = scanned(turn, starts, rows, ())
    outputs = final[len(starts) :]
    if reverse:
        outputs = [each if each is None else flip(each, [0]) for each in outputs]
    if dim:
        outputs = [move(each, 0, dim) if each is not None and each.dim() > dim else each for each in outputs]
    return carry_structure.unflatten(final[: len(starts)]), result[0].unflatten(outputs)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(row, *args)`` of each row of ``xs``, a tensor or a nested container of tensors: the results, stacked.

    >>> from torch._higher_order_ops.map import map
    >>> map(lambda row, y: row.sum() + y, torch.ones(2, 3), torch.tensor(1.0))
    tensor([4., 4.])
    """
    rows, structure = trees.flatten(xs)
    given, given_structure = trees.flatten(args)
    if not all(isinstance(each, TensorBase) for each in rows):
        raise OperationError(f"Mapped xs can only consist of tensors. Got xs {rows}.")
    if any(each.shape[0] == 0 for each in rows):
        raise OperationError("Leading dimensions of mapped xs cannot be 0.")
    if any(each.shape[0] != rows[0].shape[0] for each in rows[1:]):
        raise OperationError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[each.shape for each in rows]}.")
    result: list[Any] = []

    def turn(*values: Any) -> list[Any]:
        made, found = trees.flatten(f(structure.unflatten(values[: len(rows)]), *given_structure.unflatten(values[len(rows) :])))
        result[:] = [found]
        return made

    made = mapped(turn, rows, given)
    return result[0].unflatten(made)


def scanned(turn: Callable[..., list[Any]], starts: Any, rows: Any, given: Any) -> list[Any]:
    """The last values that are carried, and the other results of all turns, stacked; ``given`` are the same in each turn."""
    capture = state.capture
    if capture is not None and getattr(capture, "keeps_control", False):
        return capture.scan("scan", turn, list(starts), list(rows), list(given))  # type: ignore[no-any-return]
    carried = list(starts)
    collected: list[list[Any]] | None = None
    for at in range(rows[0].shape[0]):
        made = turn(*carried, *[each[at] for each in rows], *given)
        carried, outputs = list(made[: len(starts)]), made[len(starts) :]
        collected = [[] for _ in outputs] if collected is None else collected
        for held, each in zip(collected, outputs):
            held.append(each)
    return [*carried, *[None if all(one is None for one in each) else table["stack"].call(each) for each in collected or []]]


def mapped(turn: Callable[..., list[Any]], rows: Any, given: Any) -> list[Any]:
    """The results of all turns, stacked."""
    capture = state.capture
    if capture is not None and getattr(capture, "keeps_control", False):
        return capture.scan("map_impl", turn, [], list(rows), list(given))  # type: ignore[no-any-return]
    return scanned(turn, [], rows, given)


def _described(value: Any) -> str:
    return f"{list(value.shape)} of {value.dtype}" if isinstance(value, TensorBase) else f"a {type(value).__name__}"  # type: ignore[attr-defined]
