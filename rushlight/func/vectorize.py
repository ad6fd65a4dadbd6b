"""``vmap``: a function of one example as a function of a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.errors import OperationError, ValueRangeError
from ..core.families import normalize_dim
from ..ops.shape.concat import cat
from ..ops.shape.permute import permute
from ..ops.shape.views import slice_dim
from ..utils import trees
from .batched import over
from .level import Level

RANDOMNESS = ("error", "different", "same")
STEPS = ("_process_batched_inputs", "_create_batched_inputs", "_unwrap_batched")
"""The steps of ``vmap`` that a library may replace (in `torch._functorch.vmap`), to map over containers of its own."""
replaced: dict[str, Callable[..., Any]] = {}


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function mapped over a dimension of its inputs.

    ``in_dims`` says over which dimension of each input (None: not over this one), ``out_dims`` where it stands in the outputs.
    ``randomness`` says what random numbers are: refused (``"error"``), ``"different"`` for every example, or the ``"same"``.
    ``chunk_size`` bounds how many examples are computed at once.

    >>> import rushlight as torch
    >>> torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if randomness not in RANDOMNESS:
        raise OperationError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueRangeError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if len(replaced) == len(STEPS):
            return _run_replaced(func, in_dims, out_dims, randomness, chunk_size, args, kwargs)
        call = _Call(func, in_dims, out_dims)
        batches, structure, size = call.inputs(args)
        if chunk_size is None or chunk_size >= size:
            return call.run(batches, structure, size, randomness, kwargs)
        return call.run_in_chunks(batches, structure, size, randomness, kwargs, chunk_size)

    return wrapped


def _run_replaced(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """One call by a library's steps: it finds the size of the batch, makes examples of the inputs, and batches of the results."""
    process, create, unwrap = (replaced[step] for step in STEPS)
    size, dims, leaves, structure = process(in_dims, args, func)

    def run(leaves: list[Any], size: int) -> Any:
        with Level(size, randomness) as level:
            result = func(*create(dims, leaves, level.depth, structure), **kwargs)
            return unwrap(result, out_dims, level.depth, size, func)

    if chunk_size is None or chunk_size >= size:
        return run(leaves, size)
    bounds = list(range(chunk_size, size, chunk_size))
    columns = [[leaf] * (len(bounds) + 1) if dim is None else leaf.tensor_split(bounds, dim=dim) for leaf, dim in zip(leaves, dims)]
    sizes = [stop - start for start, stop in zip([0, *bounds], [*bounds, size])]
    parts = [trees.flatten(run(list(each), part)) for each, part in zip(zip(*columns), sizes)]
    places = trees.spread(out_dims, parts[0][1])
    if places is None:
        raise ValueRangeError(f"vmap: out_dims={out_dims} is not compatible with the structure of the outputs, {parts[0][1]}")
    joined = [column[0] if place is None else cat(list(column), place) for column, place in zip(zip(*(part for part, _ in parts)), places)]
    return parts[0][1].unflatten(joined)


class _Call:
    """One call of a vmapped function."""

    def __init__(self, function: Callable[..., Any], in_dims: Any, out_dims: Any) -> None:
        self.function, self.in_dims, self.out_dims = function, in_dims, out_dims
        self.name = getattr(function, "__name__", repr(function))

    # -- inputs ----------------------------------------------------------------------------------------------------

    def inputs(self, args: tuple[Any, ...]) -> tuple[list[tuple[Any, bool]], Any, int]:
        """The leaves of the inputs with the batch in front and whether they have one, their structure, and its size."""
        where = f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): "
        if isinstance(self.in_dims, bool) or not isinstance(self.in_dims, (int, tuple)):
            raise ValueRangeError(
                f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                f"{type(self.in_dims)}."
            )
        if not args:
            raise ValueRangeError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                "function with no inputs. The latter is unsupported."
            )
        leaves, structure = trees.flatten(args)
        dims = trees.spread(self.in_dims, structure)
        if dims is None:
            raise ValueRangeError(
                f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{trees.flatten(self.in_dims)[1]} but inputs has structure {structure}."
            )
        found = [self.input(leaf, dim, where) for leaf, dim in zip(leaves, dims)]
        sizes = [leaf._array.shape[0] for leaf, batched in found if batched]
        if not sizes:
            raise ValueRangeError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueRangeError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
            )
        return found, structure, sizes[0]

    def input(self, leaf: Any, dim: Any, where: str) -> tuple[Any, bool]:
        if dim is None:
            return leaf, False
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise ValueRangeError(f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, TensorBase):
            raise ValueRangeError(
                f"{where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        ndim = leaf._array.ndim
        if not -ndim <= dim < ndim:
            raise ValueRangeError(
                f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim to "
                f"satisfy -{ndim} <= in_dim < {ndim}."
            )
        return to_front(leaf, dim), True

    # -- running ---------------------------------------------------------------------------------------------------

    def run(self, batches: list[tuple[Any, bool]], structure: Any, size: int, randomness: str, kwargs: dict[str, Any]) -> Any:
        outputs, placed, nested = self.values(batches, structure, size, randomness, kwargs)
        return nested.unflatten([
            output if place is None else from_front(output, place) for output, place in zip(outputs, placed)
        ])  # fmt: skip

    def run_in_chunks(
        self, batches: list[tuple[Any, bool]], structure: Any, size: int, randomness: str, kwargs: dict[str, Any], chunk: int
    ) -> Any:
        parts: list[list[Any]] = []
        for start in range(0, size, chunk):
            stop = min(start + chunk, size)
            cut = [(slice_dim(leaf, 0, start, stop) if batched else leaf, batched) for leaf, batched in batches]
            outputs, placed, nested = self.values(cut, structure, stop - start, randomness, kwargs)
            parts.append(outputs)
        return nested.unflatten([
            column[0] if place is None else from_front(cat(list(column), 0), place) for column, place in zip(zip(*parts), placed)
        ])  # fmt: skip

    def values(
        self, batches: list[tuple[Any, bool]], structure: Any, size: int, randomness: str, kwargs: dict[str, Any]
    ) -> tuple[list[Any], list[Any], Any]:
        """The outputs' leaves with the batch in front, where it belongs in each (None: nowhere), and their structure."""
        with Level(size, randomness) as level:
            args = structure.unflatten([level.wrap(leaf) if batched else leaf for leaf, batched in batches])
            result = self.function(*args, **kwargs)
        leaves, nested = trees.flatten(result)
        places = self.places(nested)
        return [self.output(level, leaf, place) for leaf, place in zip(leaves, places)], places, nested

    def places(self, nested: Any) -> list[Any]:
        dims, _ = trees.flatten(self.out_dims)
        if any(isinstance(dim, bool) or not (dim is None or isinstance(dim, int)) for dim in dims):
            raise ValueRangeError(
                f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, None or a python collection of ints "
                "representing where in the outputs the vmapped dimension should appear."
            )
        alone = isinstance(self.out_dims, tuple) and len(self.out_dims) == 1 and nested == trees.LEAF
        found = trees.spread(self.out_dims[0] if alone else self.out_dims, nested)
        if found is None:
            raise ValueRangeError(
                f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the structure of "
                f"`outputs`. out_dims has structure {trees.flatten(self.out_dims)[1]} but outputs has structure {nested}."
            )
        return found

    def output(self, level: Level, leaf: Any, place: Any) -> Any:
        if place is None:
            if level.holds(leaf):
                raise ValueRangeError(f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None")
            return leaf
        if not isinstance(leaf, TensorBase):
            raise ValueRangeError(
                f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(leaf)}. Did you mean to set out_dims= "
                "to None for output?"
            )
        return level.lift(leaf)


def to_front(tensor: Any, dim: int) -> Any:
    """A tensor with one dimension moved to the front."""
    ndim = tensor._array.ndim
    dim = normalize_dim(dim, ndim)
    return tensor if dim == 0 else permute(tensor, [dim, *(each for each in range(ndim) if each != dim)])


def from_front(tensor: Any, dim: int) -> Any:
    """A tensor with the first dimension moved to another place."""
    ndim = tensor._array.ndim
    dim = normalize_dim(dim, ndim)
    return tensor if dim == 0 else permute(tensor, [*range(1, dim + 1), 0, *range(dim + 1, ndim)])


__all__ = ["from_front", "over", "to_front", "vmap"]
