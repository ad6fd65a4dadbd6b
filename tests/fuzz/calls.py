"""Calls as plain data, and random ones of an op: its samples with other dtypes, sizes, strides, values, dimensions and forms of call."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from samples import samples_of

from rushlight.core.dtypes import BY_NUMPY

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "uint8", "int8", "int16", "bool")
COMPLEX = ("complex64", "complex128")


@dataclass
class Array:
    """A tensor argument: elements in a wide type, the dtype it is converted to, and how it is laid out."""

    values: np.ndarray  # float64, int64, bool or complex128
    dtype: str
    layout: str = "contiguous"  # or transposed, sliced, expanded
    requires_grad: bool = False


@dataclass
class Dtype:
    """A dtype argument, by its name."""

    name: str


@dataclass
class Call:
    """A call of an op: by the path of a function (``nn.functional.relu``) or of a method (``Tensor.add_``)."""

    op: str
    path: str
    args: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    out: Array | None = None
    gradient: bool = False

    def __str__(self) -> str:
        shown = [*map(show, self.args), *(f"{name}={show(value)}" for name, value in self.kwargs.items())]
        if self.out is not None:
            shown.append(f"out={show(self.out)}")
        return f"{self.path}({', '.join(shown)})" + (" with gradients" if self.gradient else "")


def show(value: Any) -> str:
    """An argument in a line."""
    if isinstance(value, Array):
        small = np.array2string(value.values, threshold=12, separator=",").replace("\n", "")
        layout = "" if value.layout == "contiguous" else f" {value.layout}"
        return f"{value.dtype}{list(value.values.shape)}{layout} {small}"
    if isinstance(value, Dtype):
        return value.name
    if isinstance(value, (list, tuple)):
        return f"{'[' if isinstance(value, list) else '('}{', '.join(map(show, value))}{']' if isinstance(value, list) else ')'}"
    return repr(value)


def wide(array: np.ndarray) -> np.ndarray:
    """The elements in the widest type of their kind, without memory shared with the sample."""
    kind = array.dtype.kind
    return array.astype({"b": np.bool_, "c": np.complex128}.get(kind, np.int64 if kind in "iu" else np.float64))


def described(value: Any) -> Any:
    """A sample's argument as plain data that both packages read."""
    if isinstance(value, np.ndarray):
        known = BY_NUMPY.get(value.dtype)
        if known is None:
            raise ValueError(f"no dtype for {value.dtype}")
        return Array(wide(value), known.name)
    if isinstance(value, np.dtype):
        return Dtype(BY_NUMPY[value].name)
    if isinstance(value, (list, tuple)):
        return type(value)(map(described, value)) if not hasattr(value, "_fields") else [described(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise ValueError(f"no plain form of {type(value).__name__}")


def arrays_in(value: Any) -> list[Array]:
    """The arrays in an argument."""
    if isinstance(value, Array):
        return [value]
    return [each for part in value for each in arrays_in(part)] if isinstance(value, (list, tuple)) else []


def base_calls(op: Any) -> list[Call]:
    """The samples of an op as calls, those that can be written as plain data."""
    found = []
    path = f"Tensor.{op.public_name}" if op.method and any(each.variadic for each in op.parameters) else op.qualified_name
    for sample in samples_of(op):
        if not sample.compare:
            continue
        try:
            call = Call(op.name, path, [described(each) for each in sample.args], {k: described(v) for k, v in sample.kwargs.items()})
        except ValueError:
            continue
        if sum(each.values.size for value in (*call.args, *call.kwargs.values()) for each in arrays_in(value)) <= 4096:
            found.append(call)
    return found


class Mutator:
    """Makes random calls from base calls; a seed gives the same ones in every process."""

    def __init__(self, op: Any, seed: int) -> None:
        self.op = op
        self.random = np.random.default_rng([seed, sum(map(ord, op.name))])
        self.bases = base_calls(op)

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def pick(self, options: Any) -> Any:
        return options[int(self.random.integers(len(options)))]

    def call(self) -> Call:
        """One random call."""
        call = copy.deepcopy(self.pick(self.bases))
        arrays = [each for value in (*call.args, *call.kwargs.values()) for each in arrays_in(value)]
        floating = [each for each in arrays if each.dtype in FLOATS or each.dtype in COMPLEX]
        if self.chance(0.35) and arrays:
            self.other_dtypes(arrays)
        if self.chance(0.35) and arrays:
            self.other_sizes(arrays)
        for each in arrays:
            if self.chance(0.3):
                each.layout = self.pick(("transposed", "sliced", "expanded"))
            if self.chance(0.15):
                self.special_values(each)
        if self.chance(0.3):
            self.other_numbers(call)
        form = self.random.random()
        if form < 0.1 and self.op.in_place is not None and call.args and isinstance(call.args[0], Array):
            call.path = f"Tensor.{self.op.public_name}_"
        elif form < 0.2 and self.op.has_out and self.op.returns is None and not call.path.startswith("Tensor."):
            call.out = Array(
                np.zeros(self.pick(((0,), (1,), arrays[0].values.shape if arrays else (2,)))), self.pick((*FLOATS[:2], "int64"))
            )
        elif form < 0.3:
            self.by_keyword(call)
        if floating and self.chance(0.4) and call.out is None:
            call.gradient = True
            for each in arrays:
                each.requires_grad = each.dtype in ("float32", "float64", "complex64", "complex128")
            if call.path.endswith("_") and call.path.startswith("Tensor."):
                call.gradient = False
                for each in arrays:
                    each.requires_grad = False
        return call

    def other_dtypes(self, arrays: list[Array]) -> None:
        if self.chance(0.5):  # all alike
            dtype = self.pick(FLOATS + INTEGERS + COMPLEX)
            chosen = [each for each in arrays if each.dtype in FLOATS or self.chance(0.2)]
            for each in chosen:
                self.retype(each, dtype)
            return
        self.retype(self.pick(arrays), self.pick(FLOATS + INTEGERS + COMPLEX))

    @staticmethod
    def retype(array: Array, dtype: str) -> None:
        array.dtype = dtype
        values = array.values
        if dtype in COMPLEX:
            array.values = values.astype(np.complex128)
        elif dtype in FLOATS:
            array.values = np.ascontiguousarray(values.real).astype(np.float64)
        else:
            real = np.nan_to_num(np.ascontiguousarray(values.real).astype(np.float64), nan=0, posinf=3, neginf=0)
            array.values = (real > 0) if dtype == "bool" else np.clip(real, 0 if dtype == "uint8" else -100, 100).astype(np.int64)

    def other_sizes(self, arrays: list[Array]) -> None:
        """One size of one array, or of all arrays that have it, becomes 0, 1 or another; or an array loses its dimensions."""
        target = self.pick(arrays)
        if self.chance(0.15):
            target.values = target.values.reshape(-1)[:1].reshape(()) if target.values.size else np.zeros((), target.values.dtype)
            return
        if not target.values.ndim:
            target.values = target.values.reshape((1,) * int(self.random.integers(1, 3)))
            return
        dim = int(self.random.integers(target.values.ndim))
        before, after = target.values.shape[dim], self.pick((0, 1, 1, 2, 3, 5))
        chosen = arrays if self.chance(0.6) else [target]
        for each in chosen:
            dims = [at for at, size in enumerate(each.values.shape) if size == before] if each is not target else [dim]
            for at in dims:
                each.values = np.take(each.values, np.arange(after) % max(before, 1), at) if before else np.zeros(
                    [after if place == at else size for place, size in enumerate(each.values.shape)], each.values.dtype
                )  # fmt: skip

    def special_values(self, array: Array) -> None:
        flat = array.values.reshape(-1).copy()
        if not flat.size:
            return
        large = 100.0 if "polynomial" in self.op.name else 1e30  # PyTorch computes a polynomial of that degree step by step
        options = {"f": (np.nan, np.inf, -np.inf, 0.0, -0.0, large, 1e-30), "c": (np.nan, complex(np.inf, 1), 0j), "b": (True, False)}
        for _ in range(int(self.random.integers(1, 3))):
            flat[int(self.random.integers(flat.size))] = self.pick(
                options.get(flat.dtype.kind, (0, 1, 100 if array.dtype != "bool" else 1))
            )
        array.values = flat.reshape(array.values.shape)

    def other_numbers(self, call: Call) -> None:
        """A number among the arguments becomes another; a bool the other one."""
        places: list[tuple[Any, Any]] = [(call.args, at) for at in range(len(call.args))] + [(call.kwargs, name) for name in call.kwargs]
        numbers = [(owner, at) for owner, at in places if isinstance(owner[at], (bool, int, float)) and not isinstance(owner[at], complex)]
        tuples = [
            (owner, at)
            for owner, at in places
            if isinstance(owner[at], (list, tuple)) and owner[at] and all(type(x) is int for x in owner[at])
        ]
        if numbers and (not tuples or self.chance(0.7)):
            owner, at = self.pick(numbers)
            value = owner[at]
            if isinstance(value, bool):
                owner[at] = not value
            elif isinstance(value, int):
                owner[at] = self.pick((value + 1, value - 1, -value, 0, 1, -1, 2, float(value)))
            else:
                owner[at] = self.pick((value * 2, -value, 0.0, 1.0, 0.5, int(value) if np.isfinite(value) else 0))
        elif tuples:
            owner, at = self.pick(tuples)
            values = list(owner[at])
            place = int(self.random.integers(len(values)))
            values[place] = self.pick((values[place] + 1, values[place] - 1, 0, 1, -1, 2))
            owner[at] = type(owner[at])(values)

    def by_keyword(self, call: Call) -> None:
        """The last positional arguments by their names."""
        if call.path.startswith("Tensor.") or any(each.variadic for each in self.op.parameters) or len(call.args) < 2:
            return
        keep = int(self.random.integers(1, len(call.args)))
        for parameter, value in zip(self.op.parameters[keep : len(call.args)], call.args[keep:]):
            call.kwargs[parameter.name] = value
        del call.args[keep:]
