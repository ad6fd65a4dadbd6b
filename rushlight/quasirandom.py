"""Quasi-random numbers: Sobol's sequences, point for point PyTorch's, also scrambled.

The direction numbers are Joe and Kuo's (2008) for 21,201 dimensions, kept in ``sobol_directions.bin``: ``tests/record/sobol_directions.py``
writes that file and says how.
"""

from __future__ import annotations

import functools
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import rushlight
from rushlight import Generator, Tensor

from .core.dtypes import legacy_name
from .core.missing import missing

__all__ = ["SobolEngine"]
__getattr__ = missing(__name__)

_BITS = 30
_FILE = Path(__file__).with_name("sobol_directions.bin")


@functools.cache
def _tables() -> tuple[bytes, Any]:
    """The steps between polynomials, and the bits of initial numbers."""
    data = _FILE.read_bytes()
    (size,) = struct.unpack_from("<I", data)
    return zlib.decompress(data[4 : 4 + size]), np.frombuffer(data, np.uint8, offset=4 + size)


def _polynomials(count: int) -> list[int]:
    steps, position, last, found = _tables()[0], 0, 1, []
    for _ in range(count):
        step, position = steps[position], position + 1
        if step == 255:
            step, position = int.from_bytes(steps[position : position + 2], "little"), position + 2
        last += 2 * step
        found.append(last)
    return found


def _directions(dimension: int) -> Any:
    """Direction numbers of 30 bits: a row for a dimension, the first with the highest bit alone."""
    state = np.empty((dimension, _BITS), np.int64)
    state[0] = 1
    polynomials = np.array(_polynomials(dimension - 1), np.int64)
    degrees = np.array([polynomial.bit_length() - 1 for polynomial in polynomials.tolist()], np.int64)
    sizes = degrees * (degrees - 1) // 2
    starts = np.cumsum(sizes) - sizes
    bits = np.unpackbits(_tables()[1][: (int(sizes.sum()) + 7) // 8])
    for degree in range(1, int(np.max(degrees, initial=0)) + 1):
        rows = np.flatnonzero(degrees == degree)
        numbers = np.empty((len(rows), _BITS), np.int64)
        position = starts[rows]
        for k in range(1, degree + 1):
            number = np.zeros(len(rows), np.int64)
            for _ in range(k - 1):
                number, position = number * 2 + bits[position], position + 1
            numbers[:, k - 1] = number * 2 + 1
        for k in range(degree, _BITS):  # the recurrence of the polynomial
            value = numbers[:, k - degree] ^ numbers[:, k - degree] << degree
            for j in range(1, degree):
                value ^= (numbers[:, k - j] << j) * (polynomials[rows] >> degree - j & 1)
            numbers[:, k] = value
        state[rows + 1] = numbers
    return state << np.arange(_BITS - 1, -1, -1)


class SobolEngine:
    """A sequence of points that fill the unit cube of ``dimension`` evenly, from the first one on.

    With ``scramble`` the sequence is randomised, by a random matrix and a random shift, and as even as before (Owen, 1998; Matousek, 1998);
    ``seed`` decides how, or else the default generator.

    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = rushlight.from_numpy(_directions(dimension))
        if not scramble:
            self.shift = rushlight.zeros(dimension, dtype=rushlight.long)
        else:
            self._scramble()
        self.quasi = self.shift.clone(memory_format=rushlight.contiguous_format)
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points as rows."""
        dtype = rushlight.get_default_dtype() if dtype is None else dtype
        if self.num_generated:
            result = self._next(n, dtype)
        else:
            first = self._first_point.to(dtype)
            result = first if n == 1 else rushlight.cat((first, self._next(n - 1, dtype)), dim=-2)
        self.num_generated += n
        if out is not None:
            out.resize_as_(result).copy_(result)
            return out
        return result

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next ``2**m`` points; after them a power of two has been drawn in all, or else it is an error."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been previously "
                f"generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin the sequence anew."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points."""
        self._move(n if self.num_generated else n - 1)
        self.num_generated += n
        return self

    def _changes(self, n: int) -> Any:
        """Which direction number each of the next points differs by from the one before: that of the lowest bit that is 0 in the count."""
        counts = np.arange(n, dtype=np.int64) + max(self.num_generated - 1, 0)
        lowest = ~counts & (counts + 1)
        return np.log2(lowest).astype(np.int64)

    def _move(self, n: int) -> None:
        changes = self._changes(max(n, 0))
        for index in range(self.MAXBIT):
            if np.count_nonzero(changes == index) % 2:
                self.quasi.bitwise_xor_(self.sobolstate[:, index])

    def _next(self, n: int, dtype: Any) -> Tensor:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {self.dimension}]")
        if dtype not in (rushlight.float32, rushlight.float64):
            raise NotImplementedError(f'"_sobol_engine_draw" not implemented for {legacy_name(dtype.numpy)!r}')
        points = self.sobolstate.numpy().T[self._changes(n)]
        if n:
            points[0] ^= self.quasi.numpy()
            np.bitwise_xor.accumulate(points, axis=0, out=points)
            self.quasi = rushlight.from_numpy(points[-1].copy())
        return rushlight.from_numpy(points).to(dtype).mul_(2.0**-self.MAXBIT)

    def _scramble(self) -> None:
        generator: Any = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        shift = rushlight.randint(2, (self.dimension, self.MAXBIT), generator=generator)
        self.shift = rushlight.mv(shift, rushlight.pow(2, rushlight.arange(0, self.MAXBIT)))
        triangles = rushlight.randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), generator=generator).tril().numpy()
        self.sobolstate = rushlight.from_numpy(_scrambled(self.sobolstate.numpy(), triangles))

    def __repr__(self) -> str:
        more = ["scramble=True"] if self.scramble else []
        if self.seed is not None:
            more.append(f"seed={self.seed}")
        return f"{self.__class__.__name__}({', '.join([f'dimension={self.dimension}', *more])})"


def _scrambled(state: Any, triangles: Any) -> Any:
    """Direction numbers with their bits, from the highest on, multiplied by unit lower triangular matrices over GF(2)."""
    places = np.arange(_BITS - 1, -1, -1)
    triangles = triangles.copy()
    triangles[:, np.arange(_BITS), np.arange(_BITS)] = 1
    result = np.empty_like(state)
    for start in range(0, len(state), 256):  # a block at a time: bits take thirty times the memory
        block = slice(start, start + 256)
        bits = (state[block, :, None] >> places & 1).astype(np.float32)
        result[block] = (np.matmul(bits, triangles[block].astype(np.float32).swapaxes(1, 2)).astype(np.int64) % 2 << places).sum(-1)
    return result
