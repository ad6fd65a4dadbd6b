"""One level of ``vmap``: an interceptor that turns calls of ops on batched tensors into calls on whole batches.

An op is batched by its rule (the facet ``batching``, :mod:`rushlight.func.batching_rules`), else by its family (pointwise ops, reductions), else by
its body, which runs on the batched tensors; without any of these it runs for one example after the other.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

from ..core.declare import Op, call_body, table
from ..core.dispatch import check_result_type, dispatch, dispatch_in_place
from ..core.dtypes import BY_NUMPY, result_dtype
from ..core.errors import OperationError, ShapeError
from ..core.facets import Facet
from ..core.families import Elementwise, Reduction, normalize_dims
from ..core.named_results import named_result
from ..core.state import flags, state
from ..ops.pointwise.copy_cast import cast
from ..ops.shape.concat import stack
from ..ops.shape.views import expand, select, unsqueeze
from .batched import BatchedTensor, levels_of, over, padded, wrap

logger = logging.getLogger(__name__)
Rule = Callable[["Level", Op, tuple[Any, ...]], Any]
batching: Facet[Rule] = Facet("batching", "how vmap runs the op on a whole batch")
broadcasting: Facet[bool] = Facet("broadcasting", "broadcasts its tensors as a pointwise op does, outside the family of those")
broadcasting.set(True, "copy", "zero", "masked_fill")

_numbers = count()
_NOT_IN_PLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try "
    "to use out-of-place operators instead of inplace arithmetic."
)


class Level:
    """An interceptor of ops (and of custom Functions) for one running ``vmap``."""

    custom_function: ClassVar[Any]  # a method (class, args) from rushlight.func.functions
    random: ClassVar[Any]  # a method (op, args) from rushlight.func.randomness

    def __init__(self, size: int, randomness: str) -> None:
        self.size = size
        self.randomness = randomness
        self.number = next(_numbers)  # a level inside another has a greater one
        self.depth = len(active_levels()) + 1

    def __enter__(self) -> Level:
        state.interceptors.append(self)
        state.transforms += 1
        flags.enter()
        return self

    def __exit__(self, *exception: Any) -> None:
        flags.leave()
        state.transforms -= 1
        state.interceptors.remove(self)

    def inside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function from a rule as if from the program: on batched tensors."""
        state.interceptors.append(self)
        try:
            return function(*args, **kwargs)
        finally:
            state.interceptors.pop()

    # -- tensors ---------------------------------------------------------------------------------------------------

    def holds(self, value: Any) -> bool:
        """Whether a value is batched at this level."""
        return value.__class__ is BatchedTensor and value._levels[-1] is self

    def peel(self, value: Any) -> Any:
        """The whole batch behind a value that is batched here; other values as they are."""
        return over(value._value, value._levels[:-1]) if self.holds(value) else value

    def lift(self, tensor: Any) -> Any:
        """A whole batch: of a tensor that is not batched here, the same for all examples (without copying)."""
        if self.holds(tensor):
            return over(tensor._value, tensor._levels[:-1])
        return expand(unsqueeze(tensor, 0), (self.size, *tensor._array.shape))

    def wrap(self, result: Any, op: Op | None = None) -> Any:
        """The results of an op on whole batches, as those for one example."""
        if op is None or op.returns is None:
            return wrap(result, self)
        wrapped = [wrap(each, self) for each in result]
        return tuple(wrapped) if op.returns == "list" else named_result(op)(*wrapped)

    def batched_in(self, op: Op, args: tuple[Any, ...]) -> bool:
        """Whether any tensor among the arguments is batched here."""
        for position, kind in op.tensor_positions:
            value = args[position]
            if kind == "tensors" and isinstance(value, (list, tuple)):
                if any(self.holds(each) for each in value):
                    return True
            elif value.__class__ is BatchedTensor and value._levels[-1] is self:
                return True
        return False

    # -- calls -----------------------------------------------------------------------------------------------------

    def __call__(self, op: Op, args: tuple[Any, ...], out: Any) -> Any:
        if op.kernel is not None and op.random:
            return self.random(op, args)
        if not self.batched_in(op, args):
            if self.holds(out):
                raise OperationError(f"{op.public_name}(): out= can't be a tensor that is being vmapped over")
            return NotImplemented
        if out is not None:
            raise OperationError(f"{op.public_name}(): out= is not supported in a function being vmapped: use its result")
        if op.functional is not None:
            return in_place(self, op, args)
        return self.apply(op, args)

    def apply(self, op: Op, args: tuple[Any, ...]) -> Any:
        """Run an op of which an argument is batched here."""
        rule = batching.of(op)
        if rule is not None:
            return rule(self, op, args)
        if op.kernel is None:
            return NotImplemented  # its body runs, on batched tensors
        if isinstance(op.family, Elementwise):
            return self.wrap(dispatch(op, self.aligned(op, args)))
        if isinstance(op.family, Reduction):
            return reduce(self, op, args)
        if op.body is not None:
            return self.inside(call_body, op, args)
        return each_example(self, op, args)

    def function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """A custom Function applied to arguments."""
        if not any(self.holds(each) for each in args):
            return NotImplemented
        return self.custom_function(cls, args)

    def aligned(self, op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of a pointwise op with the batch in front, so that they broadcast as their examples would."""
        tensors = [args[position] for position, _ in op.tensor_positions if hasattr(args[position], "_array")]
        rank = max(each._array.ndim for each in tensors)
        values = list(args)
        spread = False  # whether scalars have become batches, which dtype promotion counts as tensors
        for position, _ in op.tensor_positions:
            value = args[position]
            if self.holds(value):
                own = value._array.ndim
                values[position] = padded(self.peel(value), rank - own)
                spread = spread or not own
        if spread and isinstance(op.family, Elementwise):
            self.keep_dtypes(op, args, values)
        return tuple(values)

    def keep_dtypes(self, op: Op, args: tuple[Any, ...], values: list[Any]) -> None:
        """A batch of scalars promotes as a scalar does: cast it where as a tensor it would decide the result's dtype."""
        wanted = common_dtype(op, args)
        if common_dtype(op, values) != wanted:
            for position, _ in op.tensor_positions:
                if self.holds(args[position]) and not args[position]._array.ndim and values[position]._array.dtype != wanted:
                    values[position] = cast(values[position], BY_NUMPY[wanted])


def common_dtype(op: Op, args: Any) -> Any:
    """The dtype that the operands of a pointwise op promote to."""
    return result_dtype(op.family.operands(op, [getattr(value, "_array", value) for value in args]))


def active_levels() -> tuple[Level, ...]:
    """The levels of the vmaps that are running, the outermost first."""
    return tuple(each for each in state.interceptors if isinstance(each, Level))


# -- in place ----------------------------------------------------------------------------------------------------


def in_place(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """An in-place op: the result goes to the batch behind its first argument, which must be batched."""
    target, functional = args[0], op.functional
    assert functional is not None
    if not level.holds(target):
        raise OperationError(_NOT_IN_PLACE)
    rank = target._array.ndim
    operands = [args[position] for position, _ in op.tensor_positions if hasattr(args[position], "_array")]
    pointwise = isinstance(functional.family, Elementwise) or functional in broadcasting
    if pointwise and all(each._array.ndim <= rank for each in operands):
        dispatch_in_place(op, level.aligned(functional, args))
        return target
    result = level.inside(dispatch, functional, args)
    if tuple(result._array.shape) != tuple(target._array.shape):
        raise ShapeError(f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result._array.shape)}")
    check_result_type(result._array.dtype, target._array.dtype)
    table["copy_"].call(level.peel(target), level.lift(result))
    return target


# -- reductions --------------------------------------------------------------------------------------------------


def reduce(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """A reduction of its one tensor: the batch dimension is not reduced."""
    names = [parameter.name for parameter in op.parameters]
    where, first = names.index("dim"), op.tensor_positions[0][0]
    shape = tuple(args[first]._array.shape)
    values = list(args)
    value = level.peel(args[first])
    dim = args[where]
    every = dim is None or (isinstance(dim, (tuple, list)) and not dim and getattr(op.family, "empty_is_all", True))
    kept = "keepdim" in names and bool(args[names.index("keepdim")])
    if every or not shape:  # one dimension of all the elements, so that ops that take only one do, too
        normalize_dims(dim, len(shape))
        value = value.reshape(level.size, math.prod(shape))
        values[where] = 1
        if kept:
            values[names.index("keepdim")] = False
    else:
        dims = [each + 1 for each in normalize_dims(dim, len(shape), empty_is_all=False)]
        values[where] = dims if isinstance(dim, (tuple, list)) else dims[0]
    values[first] = value
    result = dispatch(op, tuple(values))
    if kept and (every and shape):
        keep = lambda each: each.reshape((level.size, *(1,) * len(shape)))  # noqa: E731
        result = keep(result) if op.returns is None else [keep(each) for each in result]
    return level.wrap(result, op)


# -- one example after the other ----------------------------------------------------------------------------------------------


def each_example(level: Level, op: Op, args: tuple[Any, ...]) -> Any:
    """Run an op for every example and stack the results: for ops that have no rule."""
    if op.data_dependent:
        raise OperationError(
            f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {op.public_name}."
        )
    logger.debug("vmap: no batching rule for %s: it runs for each of %d examples", op.name, level.size)
    if not level.size:
        specs = op.meta(op, [_arrays(value) for value in args])
        empty = lambda spec: table["zeros"].call((0, *spec.shape), dtype=BY_NUMPY[spec.dtype])  # noqa: E731
        return level.wrap(empty(specs) if op.returns is None else [empty(spec) for spec in specs], op)
    results = []
    for index in range(level.size):
        pick = lambda value: select(level.peel(value), 0, index) if level.holds(value) else value  # noqa: E731, B023
        values = [[pick(each) for each in value] if isinstance(value, (list, tuple)) else pick(value) for value in args]
        results.append(dispatch(op, tuple(values)))
    if op.returns is None:
        return level.wrap(stack(results))
    return level.wrap([stack(column) for column in zip(*results)], op)


def _arrays(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_arrays(each) for each in value]
    return getattr(value, "_array", value)


__all__ = ["Level", "Rule", "active_levels", "batching", "each_example", "in_place", "levels_of", "reduce"]
