"""Operations whose ONNX nodes depend on the opset, and arithmetic on shapes: the vocabulary of ``onnx=`` facets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from ..core.symbolic import SymbolicInt, is_symbolic
from .builder import SMALL, NodeBuilder
from .errors import UnsupportedOperatorError
from .ir import OnnxGraph, OnnxValue
from .size_formulas import highest, is_fixed, is_unknown, lowest, same_shape, same_size, slice_bounds
from .types import onnx_type

_INT64 = np.dtype(np.int64)
_REDUCTIONS_WITH_INPUT_AXES = 18  # ReduceSum since 13


class OpsetBuilder(NodeBuilder):
    """A node builder whose methods pick the nodes that the requested opset has: what ``onnx=`` facets are written in."""

    TO_THE_END = (1 << 63) - 1  # as the end of a slice
    TO_THE_BEGINNING = -(1 << 63)  # of one that goes backwards

    def element_type(self, dtype: Any) -> int:
        """ONNX's number for an element type; an error where the opset does not have it."""
        return onnx_type(self.numpy_type(dtype), self.opset)

    # -- shapes --------------------------------------------------------------------------------------------------

    def shape(self, x: OnnxValue) -> OnnxValue:
        """The shape of a value as a one-dimensional int64 value; a constant where all sizes are fixed."""
        if x.shape is not None and all(type(each) is int for each in x.shape):
            return self.constant(np.asarray(x.shape, np.int64))
        made: OnnxValue = self.op("Shape", x)
        made.shape = None if x.shape is None else (len(x.shape),)
        return made

    def size(self, x: OnnxValue, dim: int) -> Any:
        """The size of one dimension: an int where it is fixed, else a symbolic size or a value."""
        if x.shape is not None and x.shape[dim] is not None:
            return x.shape[dim]
        rank = x.rank if x.shape is not None else 0
        made: OnnxValue = self.op("Gather", self.shape(x), self.constant(dim % rank if rank else dim, _INT64), axis_i=0)
        made.shape = ()
        return made

    def sizes(self, values: Any) -> OnnxValue:
        """A list of sizes (ints, symbolic sizes, 0-dim values) as a one-dimensional int64 value."""
        if isinstance(values, OnnxValue):
            return values
        parts: list[OnnxValue] = []
        for where, run in groupby([self._size_place(each) for each in values], lambda pair: pair[0]):
            found = [each for _, each in run]
            if where == "fixed":
                parts.append(self.constant(found, _INT64))
            elif where == "computed":
                parts += [self.unsqueeze(self.number(each, _INT64), [0]) for each in found]
            else:  # dimensions of one tensor, read at once
                source = found[0][0]
                dims = [dim for _, dim in found]
                shape = self.op("Shape", source)
                whole = source.shape is not None and dims == list(range(len(source.shape)))
                parts.append(shape if whole else self.op("Gather", shape, self.constant(dims, _INT64), axis_i=0))
        made: OnnxValue = self.constant([], _INT64) if not parts else parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis_i=0)
        made.shape = (len(values),)
        return made

    def _size_place(self, size: Any) -> tuple[Any, Any]:
        """What kind of size it is, and what it can be read from."""
        if isinstance(size, OnnxValue) and size.constant is not None and size.constant.ndim == 0:
            size = int(size.constant)
        symbol = size.expression.as_symbol if isinstance(size, SymbolicInt) else None
        if symbol is not None:
            assert self.symbol_places is not None
            source, dim = self.symbol_places(symbol)
            if dim is not None:
                return id(source), (source, dim)
        return ("computed", size) if isinstance(size, OnnxValue) or is_symbolic(size) else ("fixed", int(size))

    def reshape(self, x: OnnxValue, shape: Sequence[Any]) -> OnnxValue:
        """A value in another shape, whose sizes are ints or symbolic; as few of them as possible are computed at run time."""
        shape = tuple(shape)
        if x.shape is not None and same_shape(x.shape, shape) and not any(map(is_unknown, shape)):
            return x
        if any(type(each) is int and each == 0 for each in shape):
            return self.full(shape, 0, x.dtype)  # there is no element to keep; and 0 would read as "the input's size"
        target: list[Any] = []
        unknown: list[int] = []
        for at, size in enumerate(shape):
            if type(size) is int:
                target.append(size)
            elif x.shape is not None and at < len(x.shape) and same_size(x.shape[at], size):
                target.append(0)  # the input's size at this place
            else:
                unknown.append(at)
                target.append(size)
        zero = any(isinstance(each, int) and each == 0 for each in shape)  # in this run: there is nothing that -1 could follow from
        if zero:
            target = list(shape)
        elif unknown and -1 not in target:  # one may follow from the others: best one that would have to be computed
            target[next((at for at in unknown if self._size_place(shape[at])[0] == "computed"), unknown[0])] = -1
        made: OnnxValue = self.op("Reshape", x, self.sizes(target), **({"allowzero_i": 1} if zero and self.opset >= 14 else {}))
        made.shape = shape
        return made

    def expand(self, x: OnnxValue, shape: Sequence[Any]) -> OnnxValue:
        """Broadcast to a shape."""
        if x.shape is not None and same_shape(x.shape, tuple(shape)):
            return x
        target, missing = list(shape), len(shape) - len(x.shape or ())
        if x.shape is not None and not all(map(is_fixed, shape)):  # a 1 leaves the size as it is
            target = [1 if at >= missing and same_size(x.shape[at - missing], size) else size for at, size in enumerate(shape)]
        made: OnnxValue = self.op("Expand", x, self.sizes(target))
        made.shape = tuple(shape)
        return made

    def expand_like(self, x: OnnxValue, other: OnnxValue) -> OnnxValue:
        """Broadcast to the shape of another value."""
        if other.shape is not None and all(type(each) is int for each in other.shape):
            return self.expand(x, other.shape)
        made: OnnxValue = self.op("Expand", x, self.shape(other))
        made.shape = other.shape
        return made

    def squeeze(self, x: OnnxValue, axes: Sequence[int]) -> OnnxValue:
        """Take dimensions of size 1 away."""
        axes = sorted(each % len(x.shape) for each in axes) if x.shape is not None else list(axes)
        if not axes:
            return x
        made: OnnxValue = self.op("Squeeze", x, self.constant(axes, _INT64)) if self.opset >= 13 else self.op("Squeeze", x, axes_i=axes)
        if x.shape is not None:
            gone = {each % len(x.shape) for each in axes}
            made.shape = tuple(size for at, size in enumerate(x.shape) if at not in gone)
        return made

    def unsqueeze(self, x: OnnxValue, axes: Sequence[int]) -> OnnxValue:
        """Put dimensions of size 1 in (``axes`` count in the result)."""
        axes = list(axes)
        if not axes:
            return x
        if x.shape is not None:  # negative axes are not in all opsets
            axes = sorted(each % (len(x.shape) + len(axes)) for each in axes)
        made: OnnxValue = self.op("Unsqueeze", x, self.constant(axes, _INT64)) if self.opset >= 13 else self.op("Unsqueeze", x, axes_i=axes)
        if x.shape is not None:
            sizes = iter(x.shape)
            made.shape = tuple(1 if at in axes else next(sizes) for at in range(len(x.shape) + len(axes)))
        return made

    def transpose(self, x: OnnxValue, order: Sequence[int]) -> OnnxValue:
        """Dimensions in another order."""
        order = [int(each) for each in order]
        if order == list(range(len(order))):
            return x
        made: OnnxValue = self.op("Transpose", x, perm_i=order)
        if x.shape is not None:
            made.shape = tuple(x.shape[each] for each in order)
        return made

    def swap(self, x: OnnxValue, first: int = -2, second: int = -1) -> OnnxValue:
        """Two dimensions exchanged."""
        order = list(range(x.rank))
        order[first], order[second] = order[second], order[first]
        return self.transpose(x, order)

    # -- parts ---------------------------------------------------------------------------------------------------

    def slice(
        self, x: OnnxValue, starts: Sequence[Any], ends: Sequence[Any], axes: Sequence[int], steps: Sequence[int] | None = None
    ) -> OnnxValue:
        """Part of a value; ``ends`` may be ``TO_THE_END``.  Where ``steps`` go backwards, that is ``TO_THE_BEGINNING``."""
        axes = [each % x.rank if x.shape is not None else each for each in axes]
        steps = [1] * len(axes) if steps is None else list(steps)
        shape = None if x.shape is None else list(x.shape)
        for axis, start, end, step in zip(axes, starts, ends, steps):
            if shape is not None:
                shape[axis] = slice_bounds(start, end, step, shape[axis])[2] if type(step) is int else None
        fixed = all(type(each) is int for each in (*starts, *ends)) and all(each == 1 for each in steps)
        if self.opset >= 10:
            inputs = [self.sizes(starts), self.sizes(ends), self.constant(axes, _INT64)]
            if any(type(each) is not int or each != 1 for each in steps):
                inputs.append(self.sizes(steps))
            made: OnnxValue = self.op("Slice", x, *inputs)
        elif fixed:
            made = self.op("Slice", x, axes_i=axes, starts_i=list(starts), ends_i=list(ends))
        else:
            made = x
            for axis, start, end, step in zip(axes, starts, ends, steps):  # opset 9 has only fixed slices
                first, last, length = slice_bounds(start, end, step, x.shape[axis])  # type: ignore[index]
                if length is None and (step != 1 or not all(isinstance(each, OnnxValue) or each >= 0 for each in (start, end))):
                    raise UnsupportedOperatorError("Slice", self.opset, 10)
                if length is None:
                    first, last = start, end if isinstance(end, OnnxValue) else min(end, x.shape[axis])  # type: ignore[index]
                made = self.gather(made, self.range(first, last, step), axis)
        if shape is not None:
            made.shape = tuple(shape)
        return made

    def split(self, x: OnnxValue, sizes: Sequence[Any], axis: int) -> list[OnnxValue]:
        """Parts of given sizes along a dimension."""
        if len(sizes) == 1:
            return [x]
        if self.folding and x.constant is not None and all(map(is_fixed, sizes)):
            parts = np.split(x.constant, list(accumulate(sizes))[:-1], axis)
            return [self._stored_part(x, part, at) for at, part in enumerate(parts)]
        if self.opset >= 13:
            made = self.op("Split", x, self.sizes(sizes), outputs=len(sizes), axis_i=axis)
        elif all(map(is_fixed, sizes)):
            made = self.op("Split", x, outputs=len(sizes), axis_i=axis, split_i=list(sizes))
        else:
            ends = list(accumulate(sizes))
            made = [self.slice(x, [end - size], [end], [axis]) for size, end in zip(sizes, ends)]
        if x.shape is not None:
            for value, size in zip(made, sizes):
                value.shape = tuple(size if at == axis % len(x.shape) else each for at, each in enumerate(x.shape))
        return list(made)

    def _stored_part(self, x: OnnxValue, part: np.ndarray, at: int) -> OnnxValue:
        return self.constant(part) if part.size <= SMALL else self.derived(f"part_{at}", [x], lambda arrays: part)

    def concat(self, values: Sequence[OnnxValue], axis: int) -> OnnxValue:
        """Values one after the other along a dimension."""
        if len(values) == 1:
            return values[0]
        made: OnnxValue = self.op("Concat", *values, axis_i=axis)
        first = values[0]
        if all(each.shape is not None for each in values):
            parts = [each.shape[axis] for each in values]  # type: ignore[index]
            along = sum(parts[1:], parts[0]) if all(isinstance(each, int) for each in parts) else None
            made.shape = tuple(along if at == axis % first.rank else each for at, each in enumerate(first.shape))  # type: ignore[arg-type]
        return made

    def gather(self, x: OnnxValue, index: Any, axis: int) -> OnnxValue:
        """Elements at positions along a dimension (``numpy.take``)."""
        index = (
            index
            if isinstance(index, OnnxValue)
            else self.number(index, _INT64)
            if not isinstance(index, (list, tuple))
            else self.sizes(index)
        )
        made: OnnxValue = self.op("Gather", x, index, axis_i=axis)
        if x.shape is not None and index.shape is not None:
            axis = axis % len(x.shape)
            made.shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
        return made

    def same_size(self, a: Any, b: Any) -> bool:
        """Whether two sizes are the same by their formulas."""
        return same_size(a, b)

    def same_shape(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Whether two shapes are the same by their formulas."""
        return same_shape(tuple(a), tuple(b))

    @staticmethod
    def is_empty(x: Any) -> bool:
        """Whether a value, or the spec of a result, is known to have no elements."""
        return any(type(size) is int and size == 0 for size in x.shape)

    def at_least_1d(self, x: OnnxValue) -> OnnxValue:
        """A value with at least one dimension."""
        return x if x.rank else self.reshape(x, (1,))

    def nonzero(self, x: OnnxValue) -> OnnxValue:
        """Where elements are not zero: a column for each of them."""
        if not x.rank:  # so many columns without rows
            found = self.nonzero(self.reshape(x, (1,)))
            return self.slice(found, [0], [0], [0])
        kinds = ("bool", "float32", "int32", "int64", "uint8")
        made: OnnxValue = self.op("NonZero", x if x.dtype.name in kinds else self.cast(x, np.bool_))
        made.shape = (x.rank, None)
        return made

    def diagonal_mask(self, rows: Any, columns: Any, offset: int = 0) -> OnnxValue:
        """Whether an element of a matrix is on a diagonal."""
        down, across = self.range(0, rows), self.range(-offset, columns - offset)
        if down.constant is not None and across.constant is not None:
            return self.constant(down.constant[:, None] == across.constant)
        return self.op("Equal", self.unsqueeze(down, [1]), self.unsqueeze(across, [0]))  # type: ignore[no-any-return]

    def running_sum(self, x: OnnxValue) -> OnnxValue:
        """The sums of a vector's elements up to each of them."""
        if self.opset >= 11:
            made: OnnxValue = self.op("CumSum", x, self.constant(0, _INT64))
        else:
            places = self.range(0, x.shape[0])  # type: ignore[index]
            later = self.op("Less", self.unsqueeze(places, [1]), self.unsqueeze(places, [0]))
            chosen = self.where(later, 0, x)
            chosen.shape = (x.shape[0], x.shape[0])  # type: ignore[index]
            made = self.reduce("ReduceSum", chosen, [1])
        made.shape = x.shape
        return made

    def scatter_elements(self, x: OnnxValue, index: OnnxValue, updates: OnnxValue, axis: int, reduction: str | None = None) -> OnnxValue:
        """Elements written (or, by "add", "mul", "max", "min", reduced) to positions along a dimension."""
        since = {None: 9, "add": 16, "mul": 16}.get(reduction, 18)
        if self.opset < since:
            return self._scatter_by_comparing(x, index, updates, axis, str(reduction))
        name = "ScatterElements" if self.opset >= 11 else "Scatter"
        more: dict[str, Any] = {} if reduction is None else {"reduction_s": reduction}
        made: OnnxValue = self.op(name, x, index, updates, axis_i=axis, **more)
        made.shape = x.shape
        return made

    def _scatter_by_comparing(self, x: OnnxValue, index: OnnxValue, updates: OnnxValue, axis: int, reduction: str) -> OnnxValue:
        """Where there is no node for it: every position compares its index with those of all updates."""
        if x.dtype.kind == "c":
            raise self.unsupported("ONNX has no complex arithmetic")
        pads: list[Any] = [0] * (2 * x.rank)
        for dim in range(x.rank):
            if dim != axis and not same_size(index.shape[dim], x.shape[dim]):  # type: ignore[index]
                pads[x.rank + dim] = x.shape[dim] - index.shape[dim]  # type: ignore[index]
        index, updates = self.pad(index, pads, value=-1), self.pad(updates, pads)
        places = self.reshape(self.range(0, x.shape[axis]), (x.shape[axis], *[1] * (x.rank - axis)))  # type: ignore[index]
        own = self.op("Equal", self.unsqueeze(index, [axis]), self.cast(places, index.dtype))
        neutral = {"add": 0, "mul": 1, "max": lowest(x.dtype), "min": highest(x.dtype)}[reduction]
        chosen = self.where(own, self.unsqueeze(updates, [axis]), neutral)
        chosen.shape = (*x.shape[: axis + 1], index.shape[axis], *x.shape[axis + 1 :])  # type: ignore[index]
        name = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}[reduction]
        reduced = self.reduce(name, chosen, [axis + 1])
        if reduction in ("add", "mul"):
            return self.op("Add" if reduction == "add" else "Mul", x, reduced)  # type: ignore[no-any-return]
        return self.maximum(x, reduced) if reduction == "max" else self.minimum(x, reduced)

    # -- reductions ----------------------------------------------------------------------------------------------

    def reduce(self, name: str, x: OnnxValue, axes: Sequence[int] | None, keepdims: bool = False) -> OnnxValue:
        """``ReduceSum`` and its like; ``axes`` None (or all) for everything."""
        since = 13 if name == "ReduceSum" else _REDUCTIONS_WITH_INPUT_AXES
        if axes is None:
            made: OnnxValue = self.op(name, x, keepdims_i=int(keepdims))
            axes = list(range(len(x.shape))) if x.shape is not None else None
        else:
            axes = [each % x.rank if x.shape is not None else each for each in axes]
            if self.opset >= since:
                made = self.op(name, x, self.constant(list(axes), _INT64), keepdims_i=int(keepdims))
            else:
                made = self.op(name, x, axes_i=list(axes), keepdims_i=int(keepdims))
        if x.shape is not None and axes is not None:
            made.shape = tuple(1 if at in axes else each for at, each in enumerate(x.shape) if keepdims or at not in axes)
        return made

    # -- elements ------------------------------------------------------------------------------------------------

    def full(self, shape: Sequence[Any], value: Any, dtype: Any) -> OnnxValue:
        """A tensor of one number; a constant where its shape is fixed and small."""
        kind = self.numpy_type(dtype)
        if isinstance(value, OnnxValue) or is_symbolic(value):
            return self.expand(self.number(value, kind), shape)
        sizes = self.sizes(shape)
        if sizes.constant is not None and np.prod(sizes.constant, dtype=float) <= 1024:
            return self.constant(np.full(sizes.constant.tolist(), self.number(value, kind).constant))
        if kind.kind not in "fiub" or kind.itemsize > 8:
            return self.expand(self.constant(np.full((1,) * len(shape), self.number(value, kind).constant)), shape)
        made: OnnxValue = self.op("ConstantOfShape", sizes, value_t=np.full((1,), self.number(value, kind).constant))
        made.shape = tuple(shape)
        return made

    def where(self, condition: OnnxValue, x: Any, y: Any) -> OnnxValue:
        """Elements of x where the condition holds, else of y; numbers take the type of the other."""
        like = x.dtype if isinstance(x, OnnxValue) else y.dtype if isinstance(y, OnnxValue) else None
        first, second = (each if isinstance(each, OnnxValue) else self.number(each, like) for each in (x, y))
        return self.op("Where", condition, first, second)  # type: ignore[no-any-return]

    def clip(self, x: OnnxValue, low: Any = None, high: Any = None) -> OnnxValue:
        """Elements limited to numbers (or 0-dim values); None for no limit."""
        if self.opset >= 12 or (self.opset >= 11 and x.dtype.kind == "f" and x.dtype != np.float64):
            limits = [None if each is None else self.number(each, x.dtype) for each in (low, high)]
            return self.op("Clip", x, *limits)  # type: ignore[no-any-return]
        crossed = isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high
        if (
            x.dtype.kind == "f"
            and not crossed
            and not isinstance(low, OnnxValue)
            and not isinstance(high, OnnxValue)
            and x.dtype != np.float64
        ):
            limits_by_name = {name: each for name, each in (("min_f", low), ("max_f", high)) if each is not None}
            return self.op("Clip", x, **limits_by_name)  # type: ignore[no-any-return]
        if low is not None:
            x = self.maximum(x, self.number(low, x.dtype))
        return x if high is None else self.minimum(x, self.number(high, x.dtype))

    def maximum(self, x: OnnxValue, y: OnnxValue) -> OnnxValue:
        """The greater of two, element by element (integers too, where the opset's Max takes only floats)."""
        if x.dtype.kind == "b":
            return self.op("Or", x, y)  # type: ignore[no-any-return]
        if x.dtype.kind == "f" or self.opset >= 12:
            return self.op("Max", x, y)  # type: ignore[no-any-return]
        return self.where(self.op("Greater", x, y), x, y)

    def minimum(self, x: OnnxValue, y: OnnxValue) -> OnnxValue:
        """The smaller of two, element by element."""
        if x.dtype.kind == "b":
            return self.op("And", x, y)  # type: ignore[no-any-return]
        if x.dtype.kind == "f" or self.opset >= 12:
            return self.op("Min", x, y)  # type: ignore[no-any-return]
        return self.where(self.op("Less", x, y), x, y)

    def isnan(self, x: OnnxValue) -> OnnxValue:
        """Whether elements are NaN: neither below 1 nor above 0."""
        if self.opset >= 9:
            return self.op("IsNaN", x)  # type: ignore[no-any-return]
        below = self.op("Less", x, self.number(1, x.dtype))
        return self.op("Not", self.op("Or", below, self.op("Greater", x, self.number(0, x.dtype))))  # type: ignore[no-any-return]

    def equal(self, x: OnnxValue, y: OnnxValue) -> OnnxValue:
        """Whether elements are equal (of floats, too, where the opset's Equal takes only integers)."""
        if self.opset >= 11 or x.dtype.kind != "f":
            return self.op("Equal", x, y)  # type: ignore[no-any-return]
        different = self.op("Or", self.op("Less", x, y), self.op("Greater", x, y))
        unordered = self.op("Or", self.isnan(x), self.isnan(y))
        return self.op("Not", self.op("Or", different, unordered))  # type: ignore[no-any-return]

    def range(self, start: Any, stop: Any, step: Any = 1, dtype: Any = None) -> OnnxValue:
        """Numbers from start up to (not with) stop."""
        kind = self.numpy_type(_INT64 if dtype is None else dtype)
        parts = [self.number(each, kind) for each in (start, stop, step)]
        if all(each.constant is not None for each in parts) and self.folding:
            return self.constant(np.arange(*[each.constant for each in parts], dtype=kind))  # type: ignore[call-overload]
        count = None
        if all(isinstance(each, int) for each in (start, stop, step)):
            reach, stride = (stop - start, step) if step > 0 else (start - stop, -step)
            count = (reach + stride - 1) // stride
        if self.opset >= 11:
            made: OnnxValue = self.op("Range", *parts)
        elif count is None and not (type(step) is int and step == 1):
            raise UnsupportedOperatorError("Range", self.opset, 11)
        else:  # the places of ones in ones
            many = self.op("Sub", self.number(stop, _INT64), self.number(start, _INT64)) if count is None else count
            ones = self.op("ConstantOfShape", self.sizes([many]), value_t=np.ones(1, np.int64))
            made = self.cast(self.squeeze(self.op("NonZero", ones), [0]), kind)
            made = made if type(step) is int and step == 1 else self.op("Mul", made, parts[2])
            made = made if type(start) is int and start == 0 else self.op("Add", made, parts[0])
        made.shape = (count,)
        return made

    def top_k(self, x: OnnxValue, k: Any, axis: int, largest: bool = True, ordered: bool = True) -> tuple[OnnxValue, OnnxValue]:
        """The k greatest (or smallest) along a dimension, and where they are."""
        if self.opset < 11 and not largest:
            values, places = self.top_k(self.op("Neg", x), k, axis)
            return self.op("Neg", values), places
        if self.opset < 10:
            if not is_fixed(k):
                raise self.unsupported("how many elements are picked is not fixed", since=10)
            return self.op("TopK", x, outputs=2, axis_i=axis, k_i=int(k))  # type: ignore[no-any-return]
        count = self.sizes([k])
        if self.opset < 11:
            return self.op("TopK", x, count, outputs=2, axis_i=axis)  # type: ignore[no-any-return]
        return self.op("TopK", x, count, outputs=2, axis_i=axis, largest_i=int(largest), sorted_i=int(ordered))  # type: ignore[no-any-return]

    def pad(self, x: OnnxValue, pads: Sequence[Any], mode: str = "constant", value: Any = 0) -> OnnxValue:
        """Padding in ONNX's order: all begins, then all ends."""
        fixed = all(map(is_fixed, pads)) and not isinstance(value, OnnxValue)
        if all(type(each) is int and each == 0 for each in pads):
            return x
        if self.opset >= 13 or (self.opset >= 11 and x.dtype.kind != "b"):
            inputs = [self.sizes(pads)]
            if mode == "constant" and not (is_fixed(value) and value == 0):
                inputs.append(self.number(value, x.dtype))
            made: OnnxValue = self.op("Pad", x, *inputs, mode_s=mode)
        elif fixed and x.dtype.kind == "f":
            made = self.op("Pad", x, pads_i=list(pads), mode_s=mode, value_f=float(value))
        elif mode != "constant":
            raise UnsupportedOperatorError("Pad", self.opset, 11)
        else:  # borders set beside it
            made = x
            for axis, (before, behind) in enumerate(zip(pads[: x.rank], pads[x.rank :])):
                made = self._border(made, axis, before, behind, value)
        if x.shape is not None and made.shape is None:
            made.shape = tuple(
                None if any(each is None or isinstance(each, OnnxValue) for each in parts) else sum(parts)
                for parts in zip(x.shape, pads[: x.rank], pads[x.rank :])
            )
        return made

    def _border(self, x: OnnxValue, axis: int, before: Any, behind: Any, value: Any) -> OnnxValue:
        cut = [-min(each, 0) if isinstance(each, int) else 0 for each in (before, behind)]
        if any(cut):
            x = self.slice(x, [cut[0]], [-cut[1] if cut[1] else self.TO_THE_END], [axis])
        grown = [max(each, 0) if isinstance(each, int) else each for each in (before, behind)]
        borders = [(*x.shape[:axis], each, *x.shape[axis + 1 :]) for each in grown]  # type: ignore[index]
        front, back = ([] if is_fixed(shape[axis]) and not shape[axis] else [self.full(shape, value, x.dtype)] for shape in borders)
        return self.concat([*front, x, *back], axis)

    def pad_dim(self, x: OnnxValue, dim: int, before: Any, behind: Any, value: Any = 0) -> OnnxValue:
        """Padding of one dimension with a number."""
        pads: list[Any] = [0] * (2 * x.rank)
        pads[dim], pads[x.rank + dim] = before, behind
        return self.pad(x, pads, value=value)

    # -- loops ---------------------------------------------------------------------------------------------------

    def subgraph(self, inputs: Sequence[tuple[Any, Any]], body: Callable[..., Sequence[OnnxValue]]) -> OnnxGraph:
        """The body of a loop: ``body(inner, *values)`` gives its results for inputs of given types and shapes."""
        inner = type(self)(self.opset, self.folding)
        inner._names, inner.source, inner.module = self._names, self.source, self.module
        values = [OnnxValue(None, self.numpy_type(dtype), shape, inner.fresh("item")) for dtype, shape in inputs]
        inner.graph._inputs += values
        for each in body(inner, *values):
            placed = inner.place(each)
            if placed in values or placed in inner.graph._outputs:  # a result has a name of its own
                shape, placed = placed.shape, inner._node("onnx::Identity", [placed], {}, 1)[0]
                placed.dtype, placed.shape = each.dtype, shape
            inner.graph._outputs.append(placed)
        return inner.graph

    def loop(self, count: Any, body: Callable[..., Sequence[OnnxValue]], states: Sequence[OnnxValue]) -> tuple[OnnxValue, ...]:
        """What becomes of states in ``count`` steps: ``body(inner, step, *states)`` gives the next ones, of the same shapes."""

        def step(inner: OpsetBuilder, index: OnnxValue, _: OnnxValue, *items: OnnxValue) -> Sequence[OnnxValue]:
            return [inner.constant(True), *body(inner, index, *items)]

        graph = self.subgraph([(_INT64, ()), (np.bool_, ()), *((each.dtype, each.shape) for each in states)], step)
        made = self.op("Loop", self.number(count, _INT64), self.constant(True), *states, outputs=len(states), body_g=graph)
        results: tuple[OnnxValue, ...] = (made,) if isinstance(made, OnnxValue) else made
        for result, state in zip(results, states):
            result.dtype, result.shape = state.dtype, state.shape
        return results

    def scan(
        self, body: Callable[..., Sequence[OnnxValue]], states: Sequence[OnnxValue], x: OnnxValue, axis: int, outputs: int
    ) -> list[OnnxValue]:
        """What a body makes of the slices of a value, one after the other, and of states that it hands on to itself.

        ``body(inner, *states, slice)`` gives the new states and then ``outputs`` results, which are stacked along the axis.
        """
        axis = axis % x.rank
        order = [axis, *(at for at in range(x.rank) if at != axis)]
        x = self.transpose(x, order)  # not all runtimes scan along another dimension than the first
        shape = x.shape or ()
        graph = self.subgraph([*((each.dtype, each.shape) for each in states), (x.dtype, shape[1:])], body)
        made = self.op("Scan", *states, x, outputs=len(states) + outputs, body_g=graph, num_scan_inputs_i=1)
        made = [made] if isinstance(made, OnnxValue) else list(made)
        for value, inside in zip(made, graph._outputs):
            value.dtype, value.shape = inside.dtype, inside.shape
        for value in made[len(states) :]:
            value.shape = shape
        back = [order.index(at) for at in range(x.rank)]
        return [self.transpose(value, back) for value in made[len(states) :]]

    # -- complex numbers, which are pairs of real ones in the file -------------------------------------------------

    def cast(self, value: OnnxValue, dtype: Any) -> OnnxValue:
        """A value in another element type."""
        wanted = self.numpy_type(dtype)
        if value.dtype.kind == "c" and wanted.kind != "c" and value.constant is None:
            real, imaginary = self.parts(value)
            return self.cast(real, wanted) if wanted.kind != "b" else self.Or(self.cast(real, wanted), self.cast(imaginary, wanted))  # type: ignore[no-any-return]
        if wanted.kind != "c" or value.dtype == wanted:
            return super().cast(value, dtype)
        if value.constant is not None:
            return self.constant(value.constant.astype(wanted))
        kind = np.zeros(0, wanted).real.dtype
        if value.dtype.kind == "c":
            return self.complex(self.cast(self.pair(value), kind))
        real = self.cast(value, kind)
        return self.joined(real, self.expand_like(self.constant(0, kind), real))

    def complex(self, pair: OnnxValue) -> OnnxValue:
        """A complex value by its real and imaginary parts along a last dimension."""
        made = OnnxValue(None, np.result_type(pair.dtype, np.complex64), None if pair.shape is None else pair.shape[:-1])
        made.pair = pair
        return made

    def joined(self, real: OnnxValue, imaginary: OnnxValue) -> OnnxValue:
        """A complex value by two values of one shape."""
        return self.complex(self.concat([self.unsqueeze(each, [each.rank]) for each in (real, imaginary)], real.rank))

    def pair(self, x: OnnxValue) -> OnnxValue:
        """Real and imaginary parts of a value along a last dimension."""
        if x.pair is not None:
            return x.pair
        if x.constant is not None:
            kind = x.constant.real.dtype
            return self.constant(np.stack([x.constant.real, x.constant.imag], -1).astype(kind))
        raise self.unsupported("ONNX has no complex arithmetic: complex tensors can't be inputs")

    def parts(self, x: OnnxValue) -> tuple[OnnxValue, OnnxValue]:
        """The real and the imaginary part of a value."""
        pair = self.pair(x)
        return self.gather(pair, 0, pair.rank - 1), self.gather(pair, 1, pair.rank - 1)

    # -- what can't be -------------------------------------------------------------------------------------------

    def unsupported(self, reason: str, since: int | None = None) -> Exception:
        """The error for arguments that have no ONNX form: ``raise g.unsupported("...")``; the exporter adds op and line."""
        more = f"; it is possible since opset {since}: export with opset_version={since}" if since else ""
        return UnsupportedOperatorError("", self.opset, since, message=f"{reason}{more}")
