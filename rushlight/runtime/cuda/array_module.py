"""The array module that kernels get as ``xp`` on CUDA: CuPy's, completed where NumPy has more.

What is added has NumPy's signature and meaning: methods of ufuncs (``maximum.reduce``, ``multiply.at``, ``logaddexp.accumulate``), ``where=``
of ufuncs, logic on complex numbers, ``initial=`` and ``keepdims=`` of reductions, ``solve`` of a broadcast batch, NaNs of either sign sorted last.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import gemm

# Dtypes whose additions CUDA does atomically, as CuPy offers it; others are added in a wider one.
_ATOMIC = frozenset(map(np.dtype, ("int32", "int64", "float16", "float32", "float64", "uint32", "uint64")))
_REDUCTIONS = {"maximum": "max", "minimum": "min", "add": "sum", "multiply": "prod", "logical_and": "all", "logical_or": "any"}


class ArrayModule(ModuleType):
    """CuPy by NumPy's names; attribute lookups are cached."""

    def __init__(self, cupy: Any, kind: Any) -> None:
        super().__init__("rushlight.runtime.cuda.arrays")
        self.__dict__.update(cupy=cupy, default_generator=kind.default_generator)

    def __getattr__(self, name: str) -> Any:
        own = ADDED.get(name)
        if own is not None:
            found: Any = own(self.cupy)
        elif name == "linalg":
            found = LinearAlgebra(self.cupy)
        else:
            found = getattr(self.cupy, name)
            if isinstance(found, self.cupy.ufunc):
                found = Ufunc(self.cupy, found, name)
        self.__dict__[name] = found
        return found


class Ufunc:
    """A ufunc of CuPy with the methods and options that NumPy's has."""

    __slots__ = ("cupy", "name", "nargs", "ufunc")

    def __init__(self, cupy: Any, ufunc: Any, name: str) -> None:
        self.cupy, self.ufunc, self.name, self.nargs = cupy, ufunc, name, ufunc.nargs

    def __call__(self, *args: Any, where: Any = None, out: Any = None, **options: Any) -> Any:
        if self.name.startswith("logical_"):  # CuPy has no logic on complex numbers
            args = tuple([each != 0 if getattr(each, "dtype", np.dtype(bool)).kind == "c" else each for each in args])
        if where is None:
            return self.ufunc(*args, **options) if out is None else self.ufunc(*args, out=out, **options)
        made = self.ufunc(*args, **options)
        if out is None:
            out = self.cupy.empty(np.broadcast_shapes(made.shape, where.shape), made.dtype)
        self.cupy.copyto(out, made.astype(out.dtype, copy=False), where=where)
        return out

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        """The reduction along axes."""
        name = _REDUCTIONS.get(self.name)
        if name is None:
            if initial is not None or where is not None or not isinstance(axis, int):
                raise NotImplementedError(f"{self.name}.reduce with these options has no form on CUDA")
            made = self.accumulate(array, axis=axis, dtype=dtype).take(-1, axis=axis)
            made = self.cupy.expand_dims(made, axis) if keepdims else made
        else:
            if where is not None:
                array = self.cupy.where(where, array, array.dtype.type(initial))
            if initial is not None and name in ("max", "min"):
                axes = tuple(range(array.ndim)) if axis is None else axis
                axes = axes if isinstance(axes, tuple) else (axes,)
                if 0 in [array.shape[each] for each in axes]:
                    shape = [1 if dim in [each % array.ndim for each in axes] else size for dim, size in enumerate(array.shape)]
                    made = self.cupy.full(shape, initial, array.dtype)
                    made = (
                        made
                        if keepdims
                        else made.reshape([size for dim, size in enumerate(made.shape) if dim not in [each % array.ndim for each in axes]])
                    )
                else:
                    made = self.ufunc(getattr(array, name)(axis=axes, keepdims=keepdims), array.dtype.type(initial))
            else:
                if array.dtype.kind == "c" and name in ("all", "any"):
                    array = array != 0
                options = {} if dtype is None or name not in ("sum", "prod") else {"dtype": dtype}
                made = getattr(array, name)(axis=axis, keepdims=keepdims, **options)
                if initial is not None:
                    made = self.ufunc(made, made.dtype.type(initial))
        if out is None:
            return made
        out[...] = made
        return out

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The inclusive scan along an axis, in log2(length) steps, each of which doubles the stride."""
        made = array.astype(array.dtype if dtype is None else dtype, copy=True)
        lead, distance = (slice(None),) * (axis % made.ndim), 1
        while distance < made.shape[axis]:
            here, there = (*lead, slice(distance, None)), (*lead, slice(None, -distance))
            made[here] = self.ufunc(made[there], made[here])
            distance *= 2
        if out is None:
            return made
        out[...] = made
        return out

    def at(self, target: Any, positions: Any, values: Any = None) -> None:
        """Combine values into elements of a target in place; repeated indices accumulate."""
        if self.name == "add" and target.dtype in _ATOMIC:
            self.ufunc.at(target, positions, values)
            return
        positions = positions[0] if isinstance(positions, tuple) and len(positions) == 1 else positions
        if isinstance(positions, tuple) or target.ndim != 1:
            raise NotImplementedError(f"{self.name}.at on CUDA takes one index into a vector")
        positions = self.cupy.asarray(positions)
        values = self.cupy.broadcast_to(self.cupy.asarray(values, target.dtype), positions.shape)
        if self.name == "add" and target.dtype.kind == "c":
            for part in ("real", "imag"):
                self.ufunc.at(getattr(target, part), positions, getattr(values, part))
        else:
            self._combine(target, positions.reshape(-1), values.reshape(-1))

    def _combine(self, target: Any, positions: Any, values: Any) -> None:
        """A segmented scan: values sorted by index, each run of equal indices reduced in log2(length) steps."""
        if not positions.size:
            return
        positions = self.cupy.where(positions < 0, positions + target.size, positions)
        order = self.cupy.argsort(positions)  # stable in CuPy
        keys, totals = positions[order], values[order]
        distance = 1
        while distance < keys.size:
            same = keys[distance:] == keys[:-distance]
            if not bool(same.any()):
                break
            totals[distance:] = self.cupy.where(same, self.ufunc(totals[:-distance], totals[distance:]), totals[distance:])
            distance *= 2
        last = self.cupy.concatenate([keys[1:] != keys[:-1], self.cupy.ones(1, bool)])
        keys, totals = keys[last], totals[last]
        target[keys] = self.ufunc(target[keys], totals).astype(target.dtype, copy=False)


class LinearAlgebra(ModuleType):
    """``cupy.linalg`` with batches that broadcast, and errors for singular matrices."""

    def __init__(self, cupy: Any) -> None:
        super().__init__("rushlight.runtime.cuda.linalg")
        self.__dict__.update(cupy=cupy, cupyx=importlib.import_module("cupyx"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cupy.linalg, name)

    def solve(self, a: Any, b: Any) -> Any:
        """The solution of ``A X = B`` for batches that broadcast."""
        if b.ndim > 1:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
            a, b = self.cupy.broadcast_to(a, batch + a.shape[-2:]), self.cupy.broadcast_to(b, batch + b.shape[-2:])
        with self.cupyx.errstate(linalg="raise"):
            return self.cupy.linalg.solve(a, b)

    def inv(self, a: Any) -> Any:
        """The inverses of matrices."""
        with self.cupyx.errstate(linalg="raise"):
            return self.cupy.linalg.inv(a)

    def cholesky(self, a: Any) -> Any:
        """The lower Cholesky factors of matrices."""
        with self.cupyx.errstate(linalg="raise"):
            return self.cupy.linalg.cholesky(a)


def _count_nonzero(cupy: Any) -> Callable[..., Any]:
    def count_nonzero(array: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        """The number of nonzero elements."""
        return (array != 0).sum(axis=axis, keepdims=keepdims)

    return count_nonzero


def _take(cupy: Any) -> Callable[..., Any]:
    def take(array: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """Elements along an axis."""
        indices = cupy.asarray(indices)
        if mode == "clip":
            indices = cupy.clip(indices, 0, (array.size if axis is None else array.shape[axis]) - 1)
        return cupy.take(array, indices, axis=axis) if out is None else cupy.take(array, indices, axis=axis, out=out)

    return take


def _isin(cupy: Any) -> Callable[..., Any]:
    def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
        """Whether each element is one of others."""
        return cupy.isin(cupy.asarray(element), cupy.asarray(test_elements), assume_unique=assume_unique, invert=invert)

    return isin


def _einsum(cupy: Any) -> Callable[..., Any]:
    def einsum(*operands: Any, out: Any = None, **options: Any) -> Any:
        """Einstein summation."""
        made = cupy.einsum(*operands, **options)
        if out is None:
            return made
        out[...] = made
        return out

    return einsum


def _where(cupy: Any) -> Callable[..., Any]:
    def where(condition: Any, *branches: Any) -> Any:
        """Elements of one of two branches, in the dtype that both have: CuPy widens bfloat16 where one of them is a number."""
        made, kinds = cupy.where(condition, *branches), {each.dtype for each in branches if hasattr(each, "dtype")}
        return made.astype(kinds.pop(), copy=False) if len(kinds) == 1 else made

    return where


def _extreme(name: str) -> Callable[[Any], Callable[..., Any]]:
    def build(cupy: Any) -> Callable[..., Any]:
        ufunc = Ufunc(cupy, getattr(cupy, "maximum" if "max" in name else "minimum"), "maximum" if "max" in name else "minimum")

        def extreme(array: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
            """The largest or smallest along axes."""
            return ufunc.reduce(array, axis, None, out, keepdims, initial, where)

        return extreme

    return build


def _ordering(name: str) -> Callable[[Any], Callable[..., Any]]:
    def build(cupy: Any) -> Callable[..., Any]:
        function = getattr(cupy, name)

        def ordered(array: Any, *args: Any, **options: Any) -> Any:
            """CuPy's function on NaNs that are all positive: its radix sort puts negative ones, such as 0 % 0, before all numbers."""
            if array.dtype.kind == "f":
                array = cupy.where(array != array, array.dtype.type("nan"), array)
            return function(array, *args, **options)

        return ordered

    return build


ADDED: dict[str, Callable[[Any], Any]] = {
    "matmul": gemm.multiplier, "count_nonzero": _count_nonzero, "take": _take, "isin": _isin, "einsum": _einsum, "where": _where,
    **{name: _extreme(name) for name in ("max", "min", "amax", "amin")},
    **{name: _ordering(name) for name in ("argsort", "sort", "partition", "unique")},
}  # fmt: skip
