"""Random inputs for a model: from a description of each input, with other sizes where sizes are open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.base import make
from ..core.dtypes import BY_NAME, BY_NUMPY
from .types import NUMPY_TYPES

FIRST, FURTHER, LENGTH = 2, 64, 12  # what an open size is at first: of the first dimension, of others, of others beside texts


@dataclass
class InputSpec:
    """One input: its name (where it has one), its dtype, its sizes (a symbol for a dynamic one), and the range of integers."""

    name: str | None
    dtype: Any  # NumPy's
    dims: tuple[int | str, ...]
    low: int = 0
    high: int = 2  # not reached: 0 and 1 are indices that every table has
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)  # of symbols, where the file says how small and how large sizes may be

    @property
    def kind(self) -> str:
        """The element type by its name: ``float32``."""
        return BY_NUMPY[self.dtype].name

    def __str__(self) -> str:
        return f"{self.name or '?'}={self.kind}:{'x'.join(map(str, self.dims))}"

    def symbols(self) -> dict[int, str]:
        """The dynamic dimensions, with their symbols."""
        return {at: each for at, each in enumerate(self.dims) if isinstance(each, str)}


@dataclass
class DimSizes:
    """The values of dynamic sizes in one run."""

    values: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)  # of some: how small and how large they may be

    def within(self, name: str, size: int) -> int:
        """The size next to another one that a dynamic size may have."""
        least, most = self.ranges.get(name, (size, size))
        return min(max(size, least), most)

    def of(self, spec: InputSpec) -> tuple[int, ...]:
        """The shape of an input."""
        return tuple(self.values[each] if isinstance(each, str) else each for each in spec.dims)

    def __str__(self) -> str:
        return ", ".join(f"{name}={size}" for name, size in self.values.items()) or "fixed sizes"


def first_sizes(specs: Sequence[InputSpec], given: dict[str, int] | None = None) -> DimSizes:
    """The sizes of the first run: those that are given, else small ones."""
    values = dict(given or {})
    # Rows of whole numbers are mostly words of a text: models have places for so many, and these and what is cached of them must fit.
    further = LENGTH if any(spec.dtype.kind in "iu" and any(spec.symbols()) for spec in specs) else FURTHER
    ranges = {symbol: bounds for spec in specs for symbol, bounds in spec.ranges.items()}
    made = DimSizes({}, ranges)
    for spec in specs:
        for at, symbol in spec.symbols().items():
            values.setdefault(symbol, made.within(symbol, FIRST if at == 0 else further))
    used = {symbol for spec in specs for symbol in spec.symbols().values()}
    made.values.update((name, size) for name, size in values.items() if name in used)
    return made


def other_sizes(first: DimSizes) -> Iterator[DimSizes]:
    """Further sizes to try, those first that tell symbols apart; a model may refuse some of them."""
    names = list(first.values)
    seen = {tuple(first.values.values())}
    ways = (
        lambda size, at: size + 1 + at, lambda size, at: size * 2, lambda size, at: max(1, size // 2), lambda size, at: size + 32 * (at + 1),
        lambda size, at: 1, lambda size, at: size + 1, lambda size, at: size + 32,
    )  # fmt: skip
    for way in ways:
        values = {name: first.within(name, way(first.values[name], at)) for at, name in enumerate(names)}
        if names and tuple(values.values()) not in seen:
            seen.add(tuple(values.values()))
            yield DimSizes(values, first.ranges)


def draw(specs: Sequence[InputSpec], sizes: DimSizes, stream: np.random.Generator, scale: float = 1.0, shift: float = 0.0) -> list[Any]:
    """A tensor for each input."""
    return [make(draw_array(spec, sizes.of(spec), stream, scale, shift)) for spec in specs]


def draw_array(spec: InputSpec, shape: tuple[int, ...], stream: np.random.Generator, scale: float, shift: float) -> np.ndarray:
    """Random elements: normally distributed, whole numbers of the range, or true and false."""
    kind = spec.dtype.kind
    if kind == "b":
        return np.asarray(stream.random(shape) < 0.5)
    if kind in "iu":
        return np.asarray(stream.integers(spec.low, spec.high, shape), spec.dtype)
    values = np.asarray(stream.standard_normal(shape) * scale + shift)
    if kind == "c":
        values = np.asarray(values + 1j * stream.standard_normal(shape) * scale)
    return values.astype(spec.dtype)


def specs_of(model: Any) -> list[InputSpec]:
    """The inputs that an ONNX file asks for; a size that it says nothing about is an open one."""
    stored = {each.name for each in model.graph.initializer}
    found = []
    for each in model.graph.input:
        if each.name in stored:
            continue
        kind = each.type.tensor_type
        if not each.type.HasField("tensor_type") or kind.elem_type not in NUMPY_TYPES:
            raise ValueError(f"the input '{each.name}' is no tensor of numbers: random values for it can't be made")
        dims = tuple(
            int(dim.dim_value) if dim.HasField("dim_value") else (dim.dim_param or f"{each.name}_{at}")
            for at, dim in enumerate(kind.shape.dim)
        )
        found.append(InputSpec(each.name, np.dtype(NUMPY_TYPES[kind.elem_type]), dims))
    return found


def numpy_type(name: str) -> Any:
    """NumPy's type of the name of a data type; a KeyError where there is none."""
    return BY_NAME[name].numpy


__all__ = ["DimSizes", "InputSpec", "draw", "first_sizes", "numpy_type", "other_sizes", "specs_of"]
