"""How samples are written: what a sample is, makers of arrays, makers of samples for ops of one kind, and their registration on ops."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.core.declare import Op
from rushlight.core.facets import Facet


class Sample:
    """One call of an op: ``op(*args, **kwargs)``.

    ``gradient=False`` leaves it out of the gradient checks (at kinks, for integers); ``constants`` names arguments (by position
    or keyword) that are not differentiated; ``compare=False`` leaves it out of the comparison of values with PyTorch (random
    ops, results defined up to a sign).
    """

    __slots__ = ("args", "compare", "constants", "gradient", "kwargs")

    def __init__(
        self, *args: Any, gradient: bool = True, compare: bool = True, constants: tuple[int | str, ...] = (), **kwargs: Any
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.gradient = gradient
        self.compare = compare
        self.constants = constants

    def __repr__(self) -> str:
        def show(value: Any) -> str:
            if isinstance(value, np.ndarray):
                return f"{value.dtype}{list(value.shape)}"
            if isinstance(value, (list, tuple)):
                return "[" + ", ".join(map(show, value)) + "]"
            return repr(value)

        parts = [show(value) for value in self.args] + [f"{name}={show(value)}" for name, value in self.kwargs.items()]
        return ", ".join(parts)


def refused(*args: Any, **kwargs: Any) -> Sample:
    """A call that PyTorch refuses: the tests want the same type of exception from us."""
    return Sample(*args, gradient=False, **kwargs)


class Maker:
    """Makes arrays for samples from a stream that depends on the op's name alone."""

    def __init__(self, name: str) -> None:
        self.stream = np.random.default_rng(zlib.crc32(name.encode()))

    def real(self, *shape: int, low: float = -2.0, high: float = 2.0, dtype: Any = np.float32) -> np.ndarray:
        """Uniform real numbers."""
        return self.stream.uniform(low, high, shape).astype(dtype)

    def apart(self, *shape: int, gap: float = 0.1, dtype: Any = np.float32) -> np.ndarray:
        """Distinct real numbers at least ``gap`` apart and away from 0, in random order: no ties, no kinks at 0."""
        count = int(np.prod(shape))
        numbers = (np.arange(count) - count / 2 + 0.5) * gap * 2
        return self.stream.permutation(numbers).reshape(shape).astype(dtype)

    def complex(self, *shape: int, scale: float = 2.0, dtype: Any = np.complex64) -> np.ndarray:
        """Complex numbers from a square around 0."""
        real, imaginary = self.real(*shape, low=-scale, high=scale), self.real(*shape, low=-scale, high=scale)
        return np.asarray(real + 1j * imaginary, dtype)

    def integers(self, *shape: int, low: int = -5, high: int = 6, dtype: Any = np.int64) -> np.ndarray:
        """Uniform integers below ``high``."""
        return self.stream.integers(low, high, shape).astype(dtype)

    def booleans(self, *shape: int) -> np.ndarray:
        return self.stream.integers(0, 2, shape).astype(np.bool_)

    def positive_definite(self, *shape: int, dtype: Any = np.float32) -> np.ndarray:
        """Symmetric positive definite matrices."""
        a = self.real(*shape, dtype=np.float64)
        return (a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def regular(m: Maker, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Matrices far from singular."""
    complex_part = 1j * m.real(*shape) if np.dtype(dtype).kind == "c" else 0
    return (m.real(*shape) + complex_part + 3 * np.eye(shape[-2], shape[-1])).astype(dtype)


SampleMaker = Callable[[Any], list[Sample]]
makers: Facet[SampleMaker] = Facet("samples", "the inputs that the tests run the op on")


def samples(name: str, maker: SampleMaker) -> None:
    """Give an op its samples: ``samples("tanh", unary(-4, 4))``."""
    makers.set(maker, name)


def samples_of(op: Op) -> list[Sample]:
    """The samples of an op; of one that has none, none."""
    maker = makers.of(op)
    return [] if maker is None else maker(op)


def cases(build: Callable[[Maker], list[Sample]]) -> SampleMaker:
    """Samples written out by hand: ``samples("sum", cases(lambda m: [Sample(m.real(2, 3), 1)]))``."""
    return lambda op: build(Maker(op.name))


def together(*makers: SampleMaker) -> SampleMaker:
    """The samples of several makers."""
    return lambda op: [sample for maker in makers for sample in maker(op)]


def without_gradient(maker: SampleMaker) -> SampleMaker:
    """The same samples, left out of the gradient checks: for ops that have no gradient, or refuse to give it."""

    def build(op: Any) -> list[Sample]:
        found = maker(op)
        for sample in found:
            sample.gradient = False
        return found

    return build


def refused_kinds(*kinds: str) -> SampleMaker:
    """Samples of types that an op does not take."""
    return cases(lambda m: [Sample(getattr(m, kind)(2), gradient=False) for kind in kinds])


def refused_pairs(*kinds: str, number: bool = False) -> SampleMaker:
    """Pairs that an op does not take: types, shapes that do not fit, and where so, a number."""
    return cases(lambda m: [
        *(Sample(getattr(m, kind)(2), getattr(m, kind)(2), gradient=False) for kind in kinds),
        Sample(m.real(2), m.real(3), gradient=False),
        *([Sample(m.real(2), 1.5, gradient=False), Sample(1.5, m.real(2), gradient=False)] if number else []),
    ])  # fmt: skip


def unary(
    low: float = -2.0, high: float = 2.0, *, complex: bool = False, integers: bool = True, half: bool = True, **kwargs: Any
) -> SampleMaker:
    """Samples for ``op(input)``: several shapes, layouts and dtypes with values in a range."""

    def build(m: Maker) -> list[Sample]:
        found = [
            Sample(m.real(2, 3, low=low, high=high), **kwargs),
            Sample(m.real(low=low, high=high), **kwargs),
            Sample(m.real(3, 2, 2, low=low, high=high).transpose(2, 0, 1), **kwargs),
            Sample(m.real(0, 3, low=low, high=high), **kwargs),
            Sample(m.real(5, low=low, high=high, dtype=np.float64), **kwargs),
            *([Sample(m.real(4, low=low, high=high, dtype=np.float16), gradient=False, **kwargs)] if half else []),
            Sample(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32), gradient=False, **kwargs),
        ]
        if integers:
            bounds = {"low": int(np.ceil(low)), "high": int(np.floor(high)) + 1}
            found.append(Sample(m.integers(4, **bounds), gradient=False, **kwargs))
            found.append(Sample(m.booleans(3), gradient=False, **kwargs))
        if complex:
            found.append(Sample(m.complex(2, 3, scale=min(abs(low), abs(high)) or 1.0), **kwargs))
        return found

    return cases(build)


def binary(
    low: float = -2.0, high: float = 2.0, *, complex: bool = False, integers: bool = True, booleans: bool = True,
    scalars: bool = True, half: bool = True, **kwargs: Any,
) -> SampleMaker:  # fmt: skip
    """Samples for ``op(input, other)``: broadcasting, mixed dtypes, 0-dim tensors, Python numbers."""

    def build(m: Maker) -> list[Sample]:
        bounds: dict[str, Any] = {"low": low, "high": high}
        found = [
            Sample(m.real(2, 3, **bounds), m.real(2, 3, **bounds), **kwargs),
            Sample(m.real(2, 3, **bounds), m.real(3, **bounds), **kwargs),
            Sample(m.real(2, 1, 3, **bounds), m.real(4, 1, **bounds), **kwargs),
            Sample(m.real(3, **bounds), m.real(**bounds), **kwargs),
            Sample(m.real(**bounds), m.real(**bounds), **kwargs),
            Sample(m.real(0, 3, **bounds), m.real(1, 3, **bounds), **kwargs),
            Sample(m.real(2, 3, **bounds), m.real(2, 3, **bounds, dtype=np.float64), **kwargs),
            *([Sample(m.real(3, **bounds, dtype=np.float16), m.real(3, **bounds, dtype=np.float16), gradient=False, **kwargs)] if half else []),
            Sample(np.array([np.nan, np.inf, -np.inf, 0.0, 1.0], np.float32), np.array([1.0, 2.0, np.inf, -0.0, np.nan], np.float32),
                   gradient=False, **kwargs),
        ]  # fmt: skip
        if scalars:
            found.append(Sample(m.real(2, 2, **bounds), float(m.real(**bounds)), **kwargs))
            found.append(Sample(m.real(2, 2, **bounds), max(int(low) + 1, 1), **kwargs))
        if integers:
            whole: dict[str, Any] = {"low": int(np.ceil(low)), "high": int(np.floor(high)) + 1}
            found.append(Sample(m.integers(4, **whole), m.integers(4, **whole), gradient=False, **kwargs))
            found.append(Sample(m.integers(4, **whole), m.real(4, **bounds), gradient=False, **kwargs))
            found.append(
                Sample(
                    m.integers(4, **whole, dtype=np.int32),
                    m.integers(4, **whole, dtype=np.int16),
                    gradient=False,
                    **kwargs,
                )
            )
            if scalars:
                found.append(Sample(m.integers(4, **whole), 1.5, gradient=False, **kwargs))
        if booleans:
            found.append(Sample(m.booleans(4), m.booleans(4), gradient=False, **kwargs))
        if complex:
            found.append(Sample(m.complex(2, 3), m.complex(3), **kwargs))
            found.append(Sample(m.complex(2, 3), m.real(2, 3, **bounds), **kwargs))
        return found

    return cases(build)


def reduce(low: float = -2.0, high: float = 2.0, *, integers: bool = True, complex: bool = False, several: bool = True) -> SampleMaker:
    """Samples for ``op(input, dim, keepdim)``."""

    def build(m: Maker) -> list[Sample]:
        found = [
            Sample(m.real(2, 3, 4, low=low, high=high)),
            Sample(m.real(2, 3, 4, low=low, high=high), 1),
            Sample(m.real(2, 3, 4, low=low, high=high), -1, True),
            Sample(m.real(low=low, high=high)),
            Sample(m.real(4, 2, low=low, high=high).T, dim=0),
            Sample(m.real(5, low=low, high=high, dtype=np.float16), gradient=False),
        ]
        if several:
            found.append(Sample(m.real(2, 3, 4, low=low, high=high), (0, 2)))
            found.append(Sample(m.real(2, 3, 4, low=low, high=high), dim=(0, -1), keepdim=True))
        if integers:
            found.append(Sample(m.integers(2, 3), 1, gradient=False))
            found.append(Sample(m.booleans(2, 3), 1, gradient=False))
        if complex:
            found.append(Sample(m.complex(2, 3), 1))
        return found

    return cases(build)
