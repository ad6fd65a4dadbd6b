"""NestedTensor: parts of different sizes, as a list (``strided``) or one after the other in one tensor of values (``jagged``).

Functions of elements run on the values; all others run on one part after the other, with dimensions counted from the part's first one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight

from ..core.declare import table
from ..core.errors import OperationError, ShapeError
from ..core.facets import Facet
from ..core.families import Elementwise
from ..core.size import Size
from ..tensor import Tensor
from ..tensor.methods import OPERATORS, UNARY
from ..tensor.sparse import LAYOUTS

nesting: Facet[str] = Facet("nested", "how the op runs on nested tensors: on all values at once, or on each part")
# On the values: every element, or every row, for itself.
nesting.set("values", *(
    "square clone detach cast positive true_divide rsub ones_like zeros_like empty_like full_like rand_like randn_like dropout nn_functional_dropout "
    "nn_functional_embedding linear relu silu gelu sigmoid tanh contiguous"
).split())  # fmt: skip
# On each part, with dimensions counted from its first one.
nesting.set("parts", *(
    "matmul softmax log_softmax layer_norm sum mean amax amin prod transpose unsqueeze squeeze flatten unflatten cat nn_functional_softmax "
    "scaled_dot_product_attention std var norm logsumexp argmax argmin cumsum rms_norm nn_functional_log_softmax"
).split())  # fmt: skip

_numbers = itertools.count(1)


class RaggedSize:
    """The size of a dimension that differs from part to part; equal to itself alone."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"j{self.number}"


class NestedTensor(Tensor):
    """A tensor whose parts differ in size."""

    _parts: Any
    _flat: Any
    _starts: Any
    _kind: str
    _ragged: int
    _size: Any  # a RaggedSize, of a jagged one
    is_nested = True

    # -- what it is made of --------------------------------------------------------------------------------------

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:  # type: ignore[override]
        """The parts."""
        if dim != 0:
            raise OperationError("unbind(): only dim=0 is defined for nested tensors")
        if self._parts is None:
            bounds = self._starts.tolist()
            self._parts = tuple(self._flat.narrow(0, a, b - a) for a, b in zip(bounds, bounds[1:]))
        return self._parts  # type: ignore[no-any-return]

    def values(self) -> Any:
        """The parts one after the other in one tensor, along the dimension in which they differ."""
        if self._flat is None:
            if self._kind == "strided":
                self._flat = rushlight.cat([each.reshape(-1) for each in self._parts]) if self._parts else rushlight.zeros(0)
            else:
                self._flat = rushlight.cat(list(self._parts), self._ragged - 1)
        return self._flat

    def offsets(self) -> Any:
        """Where the parts begin in the values."""
        if self._kind == "strided":
            raise OperationError("offsets() is not defined for nested tensors of layout torch.strided")
        if self._starts is None:
            lengths = [0, *(each.shape[self._ragged - 1] for each in self._parts)]
            self._starts = rushlight.tensor(np.cumsum(lengths))
        return self._starts

    def lengths(self) -> Any:
        """None: the parts are without gaps."""
        return None

    def _part_lengths(self) -> list[int]:
        return [int(each.shape[self._ragged - 1]) for each in self.unbind()]

    def _get_max_seqlen(self) -> int:
        return max(self._part_lengths())

    def _get_min_seqlen(self) -> int:
        return min(self._part_lengths())

    @property
    def _ragged_idx(self) -> int:
        return self._ragged

    _values, _offsets, _lengths = property(values), property(offsets), property(lengths)  # type: ignore[assignment]
    _max_seqlen, _min_seqlen = property(_get_max_seqlen), property(_get_min_seqlen)

    # -- properties ----------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        """``jagged`` or ``strided``."""
        return LAYOUTS[self._kind]

    def dim(self) -> int:
        """The number of dimensions, that of the parts among them."""
        return (self._parts[0].dim() if self._parts else self._flat.dim() if self._kind == "jagged" else 0) + (
            1 if self._parts else int(self._kind == "jagged")
        )

    ndim = property(dim)
    ndimension = dim

    @property
    def shape(self) -> Any:
        """The sizes; the one in which the parts differ is a symbol."""
        if self._kind == "strided":
            raise OperationError("NestedTensorImpl doesn't support sizes: the parts of a strided nested tensor have their own")
        first = list(self.unbind()[0].shape)
        first[self._ragged - 1] = self._size
        return tuple.__new__(Size, (len(self.unbind()), *first))

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension that all parts share."""
        if dim is None:
            return self.shape
        dim = dim % max(self.dim(), 1)
        if not dim:
            return len(self.unbind())
        if self._kind == "jagged" and dim == self._ragged:
            return self._size
        found = {each.shape[dim - 1] for each in self.unbind()}
        if len(found) != 1:
            raise OperationError(f"Given dimension {dim} is irregular and does not have a size.")
        return found.pop()

    def numel(self) -> int:
        """The number of elements of all parts."""
        return sum(each.numel() for each in self.unbind())

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.values().dtype

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return bool(self.values().requires_grad)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switch recording on or off for a leaf, in place."""
        self.values().requires_grad_(requires_grad)
        if self._kind == "jagged" and self._ragged == 1:
            self.offsets()
            self._parts = None
        return self

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradient, nested in the same way."""
        found = self.values().grad
        return None if found is None else of_values(found, self.offsets(), self._size)

    @property
    def grad_fn(self) -> Any:
        """The node that computed the values."""
        return self.values().grad_fn

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the parts are one after the other in memory."""
        return bool(self.values().is_contiguous()) and self._ragged == 1

    def __len__(self) -> int:
        return len(self.unbind())

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            return self.unbind()[index]
        if isinstance(index, tuple) and index and isinstance(index[0], int):
            return self.unbind()[index[0]][index[1:]]
        raise OperationError("a nested tensor is indexed by the number of a part first")

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        if self._kind == "strided":
            texts = ["\n".join("  " + line for line in repr(each).split("\n")) for each in self.unbind()]
            return "nested_tensor([\n" + ",\n".join(texts) + "\n])"
        node = self.grad_fn
        history = f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True" if self.requires_grad else ""
        shape = ", ".join(map(str, self.shape))
        return f"NestedTensor(size=({shape}), offsets={self.offsets()}{history}, contiguous={self.is_contiguous()})"

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """An ordinary tensor with a value where a part has no elements."""
        parts = self.unbind()
        if not parts:
            return rushlight.full((0,), padding, dtype=self.dtype)
        largest = [max(each.shape[dim] for each in parts) for dim in range(parts[0].dim())]
        if output_size is not None:
            wanted = list(output_size)[1:]
            if len(wanted) != len(largest) or any(a < b for a, b in zip(wanted, largest)):
                raise OperationError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
            largest = wanted
        filled = []
        for each in parts:
            steps = [step for size, own in zip(reversed(largest), reversed(each.shape)) for step in (0, size - own)]
            filled.append(rushlight.nn.functional.pad(each, steps, value=padding))
        return rushlight.stack(filled)

    # -- functions -----------------------------------------------------------------------------------------------

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        op = _op_of(func, name)
        first = next(each for each in _flatten((*args, *kwargs.values())) if isinstance(each, NestedTensor))
        if name == "__get__":
            return func(first.values())
        if name in ("to", "detach", "double", "float", "half", "bfloat16", "long", "int", "bool") or (op is not None and _on_values(op)):
            return _by_values(func, first, args, kwargs)
        if op is not None and nesting.of(op) == "parts":
            return _by_parts(func, op, first, args, kwargs)
        if name in ("min", "max", "all", "any", "split_evenly"):
            return _several_results(func, first, args, kwargs)
        if name in ("view_shape", "reshape_copy", "reshape", "expand"):
            return _reshaped(func, first, args[1:])
        if op is not None and op.family is None and op.body is not None:
            return op.body(*args, **kwargs)  # the ops that it is made of are asked one by one
        if name in ("is_floating_point", "is_complex", "element_size", "get_device", "is_inference", "is_signed"):
            return func(first.values())
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: [NestedTensor]")


def _op_of(func: Any, name: str) -> Any:
    op = getattr(func, "op", None)
    if op is None and name.startswith("__"):
        word = name.strip("_")
        found = {**OPERATORS, **UNARY}.get(word[1:] if word.startswith("r") and word[1:] in OPERATORS else word)
        op = None if found is None else table[found]
    return None if op is None else op.functional or op


def _on_values(op: Any) -> bool:
    return isinstance(op.family, Elementwise) or nesting.of(op) == "values"


def _flatten(values: Any) -> list[Any]:
    return [each for value in values for each in (_flatten(value) if isinstance(value, (list, tuple)) else [value])]


def _swapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_swapped(each, change) for each in value)
    return change(value) if isinstance(value, NestedTensor) else value


def _part(number: int) -> Callable[[Any], Any]:
    return lambda nested: nested.unbind()[number]


def _by_values(func: Any, first: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of elements (or of rows) on the values of nested tensors, which have to be nested alike."""
    others = [each for each in _flatten((*args, *kwargs.values())) if isinstance(each, NestedTensor)]
    for each in others[1:]:
        alike = (
            each._size is first._size
            if first._kind == each._kind == "jagged"
            else [p.shape for p in each.unbind()] == [p.shape for p in first.unbind()]
        )
        if not alike or each._ragged != first._ragged:
            shapes = " and ".join(
                f"({', '.join(map(str, each.shape))})" if each._kind == "jagged" else "of other parts" for each in (first, each)
            )
            raise OperationError(f"cannot call binary pointwise function {getattr(func, '__name__', func)} with inputs of shapes {shapes}")
    dense = [each for each in _flatten((*args, *kwargs.values())) if isinstance(each, Tensor) and not isinstance(each, NestedTensor)]
    if first._kind == "strided" or first._ragged != 1 or any(each.dim() >= first.dim() for each in dense if not hasattr(func, "op")):
        found = [
            func(
                *_swapped(tuple(args), _part(n)),
                **{key: _swapped(v, _part(n)) for key, v in kwargs.items()},
            )
            for n in range(len(first.unbind()))
        ]
        return of_parts(found, first._kind, first._ragged, first._size)
    result = func(
        *_swapped(tuple(args), NestedTensor.values), **{key: _swapped(value, NestedTensor.values) for key, value in kwargs.items()}
    )
    return of_values(result, first.offsets(), first._size)


def _by_parts(func: Any, op: Any, first: Any, args: Any, kwargs: Any) -> Any:
    """Call a function on one part after the other; dimensions are counted without the first one, that of the parts."""
    names = [each.name for each in op.parameters]
    given = dict(zip(names, args)) | dict(kwargs)
    ragged = first._ragged
    for name in ("dim", "dim0", "dim1", "start_dim", "end_dim"):
        if name in given and given[name] is not None and name in names:
            given[name] = _shifted(given[name], first.dim(), op)
    if given.get("dim") is None and "dim" in names and not any(name in given for name in ("dim0", "normalized_shape")) and _reduces(op):
        return func(first.values())
    if "dim0" in given:
        pair = [each % (first.dim() - 1) + 1 for each in (given["dim0"], given["dim1"])]
        ragged = pair[1 - pair.index(ragged)] if ragged in pair else ragged
    found = [func(**{key: _swapped(value, _part(n)) for key, value in given.items()}) for n in range(len(first.unbind()))]
    if _reduces(op) and isinstance(given.get("dim"), (int, list, tuple)):
        dims = given["dim"] if isinstance(given["dim"], (list, tuple)) else [given["dim"]]
        if ragged - 1 in [each % max(first.dim() - 1, 1) for each in dims]:
            return rushlight.stack(found)  # the parts do not differ any more
    return of_parts(found, first._kind, ragged, first._size)


def _several_results(func: Any, first: Any, args: Any, kwargs: Any) -> Any:
    """Call a function with one result or several on one part after the other, or on all values where it is given no dimension."""
    names = [each.name for each in func.op.parameters] if hasattr(func, "op") else ["input", "dim", "keepdim"]
    given = dict(zip(names, args)) | dict(kwargs)
    given.pop(names[0])
    dim = given.get("dim")
    if dim is None:
        if len(given) > (1 if "dim" in given else 0):
            raise OperationError(f"{func.__name__}() of a nested tensor needs a dimension")
        return func(first.values())
    given["dim"] = _shifted(dim, first.dim(), func.op) if hasattr(func, "op") else dim - (dim >= 0)
    found = [func(each, **given) for each in first.unbind()]
    ragged = first._ragged - 1 == given["dim"] % (first.dim() - 1)

    def joined(results: Any) -> Any:
        return rushlight.stack(results) if ragged else of_parts(list(results), first._kind, first._ragged, first._size)

    if not isinstance(found[0], (tuple, list)):
        return joined(found)
    columns = [joined(column) for column in zip(*found)]
    return type(found[0])(*columns) if hasattr(found[0], "_fields") else tuple(columns)


def _reshaped(func: Any, first: Any, sizes: Any) -> Any:
    """A jagged tensor with other sizes behind the dimension in which its parts differ, which has to stay where it is."""
    sizes = _flatten(sizes)
    values = first.values()
    if (
        first._kind != "jagged"
        or first._ragged != 1
        or len(sizes) < 2
        or sizes[0] not in (-1, len(first))
        or sizes[1] not in (-1, first._size)
    ):
        raise OperationError(f"{getattr(func, '__name__', func)}(): a nested tensor keeps its first dimensions, those of its parts")
    return of_values(func(values, (values.shape[0], *sizes[2:])), first.offsets(), first._size)


def _reduces(op: Any) -> bool:
    return any(each.name == "keepdim" for each in op.parameters)


def _shifted(dim: Any, count: int, op: Any) -> Any:
    if isinstance(dim, (tuple, list)):
        return [_shifted(each, count, op) for each in dim]
    if dim < 0:
        return dim
    if dim == 0:
        raise ShapeError(f"{op.public_name}(): dimension 0 of a nested tensor counts its parts, and can't be computed with")
    return dim - 1


def _new(array: Any, kind: str, ragged: int, size: Any) -> Any:
    made: Any = object.__new__(NestedTensor)
    made._array, made._grad_fn, made._output_index, made._requires_grad, made._storage = array, None, 0, False, None
    made._kind, made._ragged = kind, ragged
    made._size = RaggedSize() if size is None and kind == "jagged" else size
    made._parts = made._flat = made._starts = None
    return made


def of_values(values: Any, offsets: Any, size: Any = None) -> Any:
    """A jagged nested tensor over values."""
    made = _new(values._array, "jagged", 1, size)
    made._flat, made._starts = values, offsets
    return made


def of_parts(parts: list[Any], kind: str, ragged: int = 1, size: Any = None) -> Any:
    """A nested tensor of parts."""
    made = _new(parts[0]._array if parts else np.zeros(0, np.float32), kind, ragged, size)
    made._parts = tuple(parts)
    if kind == "jagged" and ragged == 1:
        made._flat, made._starts = made.values(), made.offsets()
        made._array = made._flat._array
        made._parts = None
    return made
