"""Conjugate and negative views: memory that is read conjugated or negated.

``x.conj()`` of a complex tensor shares the memory of ``x``.  Its array is a :class:`LazyArray`, which is no NumPy array, so that the fast paths of
calls never see one.  The general path (:mod:`rushlight.core.dispatch`) has views of it taken of the memory, with the marks kept, and gives every
other op the values.  Whatever reads it as an array (``numpy.asarray``, a ufunc) gets the values, too; a write to it writes what reads as the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .devices import DeviceType, array_kinds, device, device_of, device_type_of
from .errors import DtypeError


class LazyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array over other memory, whose elements are to be conjugated, negated, or both."""

    __slots__ = ("conjugated", "memory", "negated")

    def __init__(self, memory: Any, conjugated: bool, negated: bool) -> None:
        self.memory = memory
        self.conjugated = conjugated
        self.negated = negated

    @property
    def shape(self) -> tuple[int, ...]:
        return self.memory.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.memory.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self.memory.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.memory.size  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        return self.memory.itemsize  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return self.memory.nbytes  # type: ignore[no-any-return]

    @property
    def strides(self) -> tuple[int, ...]:
        return self.memory.strides  # type: ignore[no-any-return]

    @property
    def flags(self) -> Any:
        return self.memory.flags

    def values(self) -> Any:
        """The elements, in memory of their own, or those of an array that is written so that this one reads as it."""
        return self.applied(self.memory)

    def applied(self, array: Any) -> Any:
        """The marks' computation on another array: each is its own inverse."""
        if self.conjugated:
            array = array.conj()
        array = -array if self.negated else array
        return np.asarray(array) if isinstance(array, np.generic) else array

    def over(self, memory: Any) -> Any:
        """An array with the same marks over other memory."""
        return marked(memory, self.conjugated and memory.dtype.kind == "c", self.negated)

    def __getitem__(self, index: Any) -> Any:
        found = self.memory[index]
        if isinstance(found, np.generic) or not device_type_of(found).shares_memory(found, self.memory):
            return self.applied(found)
        return self.over(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        given = values_of(value)
        self.memory[index] = self.applied(given if hasattr(given, "dtype") else np.asarray(given, self.dtype))

    def __len__(self) -> int:
        return len(self.memory)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        values = device_type_of(self.memory).to_host(self.values())
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        result = getattr(ufunc, method)(*map(values_of, inputs), **options)
        if out is None:
            return result
        out[0][...] = result
        return out[0]

    def __getattr__(self, name: str) -> Any:
        """What is asked of an array is asked of the values: ``copy``, ``astype``, ``tolist``."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.values(), name)


class LazyMemory(DeviceType):
    """The answers for arrays whose memory is that of another array: its device's."""

    def device_of(self, array: Any) -> device:
        return device_of(memory_of(array))

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return device_type_of(memory_of(array)).to_host(values_of(array))

    def strided(self, array: Any, shape: Any, strides: Any, offset: int, dtype: np.dtype[Any]) -> Any:
        return array.over(device_type_of(array.memory).strided(array.memory, shape, strides, offset, dtype))

    def shares_memory(self, a: Any, b: Any) -> bool:
        return device_type_of(memory_of(a)).shares_memory(memory_of(a), memory_of(b))

    def address(self, array: Any) -> int:
        return device_type_of(memory_of(array)).address(memory_of(array))

    def dlpack(self, array: Any, **options: Any) -> Any:
        raise BufferError(f"Can't export tensors with the {'conjugate' if array.conjugated else 'negative'} bit set")


array_kinds[LazyArray] = LazyMemory()


def marked(memory: Any, conjugated: bool, negated: bool) -> Any:
    """Memory with marks; without any it is the plain array."""
    return LazyArray(memory, conjugated, negated) if conjugated or negated else memory


def marks_of(array: Any) -> tuple[bool, bool]:
    """Whether an array is read conjugated, and whether negated."""
    return (array.conjugated, array.negated) if array.__class__ is LazyArray else (False, False)


def is_lazy(value: Any) -> bool:
    """Whether a value is such an array, or a list that holds one."""
    return value.__class__ is LazyArray or (isinstance(value, list) and any(each.__class__ is LazyArray for each in value))


def memory_of(array: Any) -> Any:
    """The memory of an array."""
    return array.memory if array.__class__ is LazyArray else array


def values_of(value: Any) -> Any:
    """A value with plain arrays: what an op computes with."""
    if value.__class__ is LazyArray:
        return value.values()
    return [values_of(each) for each in value] if value.__class__ is list else value


def run_view(name: str, array: LazyArray, run: Any) -> Any:
    """A view of a lazy array: ``run`` gives that of its memory, to which the marks are passed on."""
    if name == "view_as_real" and array.conjugated:
        raise DtypeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    found = run(array.memory)
    if name == "view_dtype" and found.dtype != array.dtype:
        kind = "conjugate view tensors" if array.conjugated else "tensors with negative bit set"
        raise DtypeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
    if name == "conj_view":
        return marked(found.memory, not array.conjugated, array.negated)
    if name == "neg_view":
        return marked(found.memory, array.conjugated, not array.negated)
    negated = array.negated != (name == "imag" and array.conjugated)
    kept = [marked(each, array.conjugated and each.dtype.kind == "c", negated) for each in (found if isinstance(found, list) else [found])]
    return kept if isinstance(found, list) else kept[0]
