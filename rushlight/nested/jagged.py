"""NestedTensor: parts of different sizes, in one buffer (``strided``) or along one dimension of a tensor of values (``jagged``).

A jagged tensor of sizes ``(B, j, D)`` is a tensor of values with sizes ``(sum of j, D)``, and the offsets at which its parts begin in the dimension
in which they differ (the ragged one, the first of a part unless it was transposed); with ``lengths``, parts may have gaps between them.  The history
of a nested tensor is that of its values.  What functions do on one is in ``rules.py`` and ``shape_rules.py``.
"""

from __future__ import annotations

import copy
from typing import Any

import rushlight

from ..core.base import Spec, device_of
from ..core.errors import OperationError
from ..core.facets import Facet
from ..core.size import Size
from ..tensor import Tensor
from ..tensor.sparse import LAYOUTS
from .ragged_size import RaggedSize, ragged_size_of

nesting: Facet[Any] = Facet("nested", "how the op runs on nested tensors", source="rushlight.nested.shape_rules")


class NestedSpec(Spec):
    """Sizes, dtype and device of a nested tensor, whose elements are in its values."""

    __slots__ = ()
    outside = "a nested tensor was used as if it were an ordinary one"
    nested = True


def _stored(length: int) -> Any:
    """A length as PyTorch keeps it: as the size of a tensor without elements."""
    return rushlight.zeros(length, 0)


class NestedTensor(Tensor):
    """A tensor whose parts differ in size."""

    _parts: Any  # the parts; of a jagged tensor once they were asked for
    _flat: Any  # the values; of a strided tensor its buffer, once it was asked for
    _starts: Any  # the offsets, of a jagged tensor
    _part_lengths: Any  # of a jagged tensor with gaps
    _kind: str
    _ragged_idx: int
    _metadata_cache: dict[str, Any]
    _root: Any  # the tensor that this one is a view of
    is_nested = True

    def __new__(
        cls, values: Any, offsets: Any, *, lengths: Any = None, requires_grad: bool = False, _ragged_idx: int = 1, _metadata_cache: Any = None
    ) -> Any:  # fmt: skip
        """A jagged tensor over values."""
        made = of_values(values, offsets, lengths, _ragged_idx, _metadata_cache)
        return made.requires_grad_() if requires_grad and not made.requires_grad else made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is left to do."""

    # -- what it is made of --------------------------------------------------------------------------------------

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:  # type: ignore[override]
        """The parts."""
        if dim not in (0, -self.dim()):
            raise OperationError("unbind(): only supported for NestedTensor on dim=0")
        if self._parts is None:
            self._parts = tuple(self._flat.narrow(self._ragged_idx - 1, start, length) for start, length in self._bounds())
        return self._parts  # type: ignore[no-any-return]

    def _bounds(self) -> list[tuple[int, int]]:
        """Where each part begins in the values, and how long it is."""
        if self._ragged_idx < 1 or self._ragged_idx > self._flat.dim():
            raise OperationError(
                f"unbind(): nested tensor (ragged_idx={self._ragged_idx}) has only {self._flat.dim() + 1} dimensions: out of bounds"
            )
        starts = self._starts.tolist()
        lengths = [b - a for a, b in zip(starts, starts[1:])] if self._part_lengths is None else self._part_lengths.tolist()
        size = self._flat.shape[self._ragged_idx - 1]
        if self._part_lengths is not None and any(a + length > size for a, length in zip(starts, lengths)):
            raise OperationError(
                f"unbind(): nested tensor offsets and lengths do not match ragged_idx dimension size {size}, of offsets {starts} and lengths {lengths}"
            )
        return list(zip(starts, lengths))

    def values(self) -> Any:
        """The values: the parts one after the other, along the dimension in which they differ."""
        if self._flat is None:
            self._flat = rushlight.cat([each.reshape(-1) for each in self._parts]) if self._parts else rushlight.zeros(0, dtype=self.dtype)
        return self._flat

    def offsets(self) -> Any:
        """Where the parts begin in the values."""
        if self._kind == "strided":
            raise OperationError("offsets() is not defined for nested tensors of layout torch.strided")
        return self._starts

    def lengths(self) -> Any:
        """The lengths of the parts where there are gaps between them, else None."""
        return self._part_lengths

    def compact_values(self) -> Any:
        """The values without gaps."""
        if self._kind == "strided" or self._part_lengths is None:
            return self.values()
        return rushlight.cat(list(self.unbind()), self._ragged_idx - 1)

    def _extreme(self, name: str, choose: Any) -> int:
        if name not in self._metadata_cache:
            self._metadata_cache[name] = _stored(choose([length for _, length in self._bounds()], default=0))
        return int(self._metadata_cache[name].shape[0])

    def _get_max_seqlen(self) -> int:
        return self._extreme("max_seqlen", max)

    def _get_min_seqlen(self) -> int:
        return self._extreme("min_seqlen", min)

    _values, _offsets, _lengths = property(values), property(offsets), property(lengths)  # type: ignore[assignment]
    _max_seqlen, _min_seqlen = property(_get_max_seqlen), property(_get_min_seqlen)

    @property
    def _max_seqlen_tensor(self) -> Any:
        return self._metadata_cache.get("max_seqlen")

    @property
    def _min_seqlen_tensor(self) -> Any:
        return self._metadata_cache.get("min_seqlen")

    @property
    def _maybe_max_seqlen(self) -> int | None:
        return None if self._max_seqlen_tensor is None else int(self._max_seqlen_tensor.shape[0])

    @property
    def _maybe_min_seqlen(self) -> int | None:
        return None if self._min_seqlen_tensor is None else int(self._min_seqlen_tensor.shape[0])

    # -- properties ----------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        """``jagged`` or ``strided``."""
        return LAYOUTS[self._kind]

    def dim(self) -> int:
        """The number of dimensions, that of the parts among them."""
        return len(self._array.shape)

    ndim = property(dim)
    ndimension = dim

    @property
    def shape(self) -> Any:
        """The sizes; the one in which the parts differ is a symbol."""
        if self._kind == "strided":
            raise OperationError("NestedTensorImpl doesn't support sizes: the parts of a strided nested tensor have their own")
        return tuple.__new__(Size, self._array.shape)

    @property
    def _size(self) -> Any:
        return self._array.shape

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension that all parts share."""
        if dim is None:
            return self.shape
        count = self.dim()
        if not -count <= dim < count:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
        found = self._array.shape[dim]
        if self._kind == "strided" and isinstance(found, RaggedSize):
            raise OperationError(f"Given dimension {dim % count} is irregular and does not have a size.")
        return found

    def stride(self, dim: int | None = None) -> Any:
        """The strides; that of the parts is a multiple of the symbol."""
        if self._kind == "strided":
            raise OperationError("NestedTensorImpl doesn't support strides: the parts of a strided nested tensor have their own")
        own = self._flat.stride()
        found = (self._array.shape[self._ragged_idx] * own[self._ragged_idx - 1], *own)
        return found if dim is None else found[dim]

    _strides = property(stride)

    def numel(self) -> int:
        """The number of elements of all parts."""
        return sum(each.numel() for each in self.unbind())

    nelement = numel

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        flat = self._flat if self._flat is not None else self._parts[0] if self._parts else None
        return rushlight.get_default_dtype() if flat is None else flat.dtype

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return bool(self.values().requires_grad)

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switch recording on or off for a leaf, in place."""
        shapes = [each.shape for each in self._parts] if self._kind == "strided" else None
        self.values().requires_grad_(requires_grad)
        self._parts = None if shapes is None else _cut(self._flat, shapes)  # views of the leaf
        return self

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradient, nested in the same way."""
        found = self.values().grad
        return None if found is None else self.like(found)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self.values().grad = None if gradient is None else gradient.values()

    @property
    def grad_fn(self) -> Any:
        """The node that computed the values."""
        return self.values().grad_fn

    def like(self, values: Any) -> Any:
        """Other values, nested in the same way."""
        if self._kind == "strided":
            return of_parts(list(_cut(values, [each.shape for each in self._parts])), values)
        return of_values(values, self._starts, self._part_lengths, self._ragged_idx, self._metadata_cache)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the parts are one after the other in memory."""
        if self._kind == "strided":
            return all(each.is_contiguous() for each in self._parts)
        return self._part_lengths is None and bool(self._flat.is_contiguous())

    def _is_view(self) -> bool:
        return self._root is not None

    @property
    def _base(self) -> Any:
        return self._root

    # -- of layout strided ---------------------------------------------------------------------------------------

    def _nested_tensor_size(self) -> Any:
        return rushlight.tensor([list(each.shape) for each in self._parts])

    def _nested_tensor_strides(self) -> Any:
        return rushlight.tensor([list(each.stride()) for each in self._parts])

    def _nested_tensor_storage_offsets(self) -> Any:
        starts, start = [], 0
        for each in self._parts:
            starts.append(start)
            start += each.numel()
        return rushlight.tensor(starts)

    # -- Python protocols ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.unbind())

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, index: Any) -> Any:
        return rushlight.nested.shape_rules.item(self, index)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        if self._kind == "strided":
            texts = ["\n".join("  " + line for line in repr(each).split("\n")) for each in self.unbind()]
            return "nested_tensor([\n" + ",\n".join(texts) + "\n])"
        node = self.grad_fn
        history = f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True" if self.requires_grad else ""
        shape = ", ".join(map(str, self.shape))
        return f"NestedTensor(size=({shape}), offsets={self.offsets()}{history}, contiguous={self.is_contiguous()})"

    def __deepcopy__(self, memo: Any) -> Any:
        if self._kind == "strided":
            return of_parts([copy.deepcopy(each, memo) for each in self._parts])
        values, offsets, lengths = (copy.deepcopy(each, memo) for each in (self._flat, self._starts, self._part_lengths))
        return of_values(values, offsets, lengths, self._ragged_idx, self._metadata_cache)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._kind == "strided":
            return (of_parts, ([each.detach() for each in self._parts], None, self.requires_grad))
        values = self._flat.detach()
        return (rebuilt, (values, self._starts, self._part_lengths, self._ragged_idx, dict(self._metadata_cache), self.requires_grad))

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """An ordinary tensor with a value where a part has no elements."""
        parts = self.unbind()
        if not parts:
            return rushlight.full((0,), padding, dtype=self.dtype)
        if self._kind == "strided" and not self.numel():
            raise OperationError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
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

    @staticmethod
    def applies_functions(cls: Any, args: Any, kwargs: Any) -> Any:
        """Apply a custom Function to nested tensors."""
        return rushlight.nested.custom_functions.apply(cls, args, kwargs)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return rushlight.nested.rules.call(func, args, kwargs or {})


def _cut(buffer: Any, shapes: Any) -> tuple[Any, ...]:
    """A buffer as parts of these shapes."""
    flat = buffer.reshape(-1)
    return tuple(part.view(shape) for part, shape in zip(flat.split([shape.numel() for shape in shapes]), shapes))


def _new(spec: NestedSpec, kind: str, ragged: int) -> Any:
    made: Any = object.__new__(NestedTensor)
    made._array, made._grad_fn, made._output_index, made._requires_grad, made._storage = spec, None, 0, False, None
    made._kind, made._ragged_idx = kind, ragged
    made._parts = made._flat = made._starts = made._part_lengths = made._root = None
    made._metadata_cache = {}
    return made


def of_values(values: Any, offsets: Any, lengths: Any = None, ragged: int = 1, cache: Any = None, root: Any = None) -> Any:
    """A jagged nested tensor over values; ``root`` is the tensor that it is a view of."""
    size = ragged_size_of(offsets if lengths is None else lengths)
    sizes = list(values._array.shape)
    if 0 < ragged <= len(sizes):
        sizes[ragged - 1] = size
    made = _new(NestedSpec((offsets._array.shape[0] - 1, *sizes), values._array.dtype, None, device_of(values._array)), "jagged", ragged)
    made._flat, made._starts, made._part_lengths, made._root = values, offsets, lengths, root
    made._metadata_cache = {} if cache is None else dict(cache)
    return made


def of_parts(parts: list[Any], buffer: Any = None, requires_grad: bool = False) -> Any:
    """A strided nested tensor of parts; ``buffer`` is the tensor that they are views of, one after the other."""
    if parts:
        columns = list(zip(*(each._array.shape for each in parts)))
        sizes = [column[0] if len(set(column)) == 1 else RaggedSize() for column in columns]
        spec = NestedSpec((len(parts), *sizes), parts[0]._array.dtype, None, device_of(parts[0]._array))
    else:
        empty = rushlight.zeros(0)._array
        spec = NestedSpec((0,), empty.dtype, None, device_of(empty))
    made = _new(spec, "strided", 0)
    made._parts, made._flat = tuple(parts), buffer
    return made.requires_grad_() if requires_grad else made


def rebuilt(values: Any, offsets: Any, lengths: Any, ragged: int, cache: Any, requires_grad: bool) -> Any:
    """A jagged tensor that was written to a file."""
    made = of_values(values, offsets, lengths, ragged, cache)
    return made.requires_grad_() if requires_grad else made


def jagged_of_parts(parts: list[Any], ragged: int = 1, offsets: Any = None, cache: Any = None) -> Any:
    """A jagged nested tensor of parts that differ along one dimension, nested as another one where its offsets are given."""
    values = rushlight.cat(list(parts), ragged - 1)
    lengths = [each._array.shape[ragged - 1] for each in parts]
    if offsets is None:
        offsets = rushlight.tensor([0, *lengths]).cumsum(0)
    if cache is None:
        cache = {"min_seqlen": _stored(min(lengths)), "max_seqlen": _stored(max(lengths))}
    return of_values(values, offsets, None, ragged, cache)
