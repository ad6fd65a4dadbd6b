"""Random numbers: PyTorch's CPU stream, number for number.

A :class:`Generator` with the same seed gives what PyTorch's CPU generator gives: integers, uniform numbers and
choices exactly, numbers made with logarithms and sines up to their last bits.  How many words a draw takes from the
stream depends on its size and type, and follows PyTorch as well, so whole programs stay in step.

Where PyTorch itself differs from machine to machine, this is its stream on x86 processors with AVX2 or AVX-512, and for
``bernoulli`` and ``exponential`` its own stream, not that of Intel's MKL, which it may use on Intel processors.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np

from .dtypes import BY_NUMPY, LOW_PRECISION, c_name, legacy_name
from .errors import DtypeError, NotSupported, OperationError, ShapeError, ValueRangeError
from .kernel_providers import exchanged, faster_choices
from .mersenne_twister import Array, MersenneTwister, UniformStream
from .rejection_sampling import binomial, poisson, standard_gamma
from .rounding import fused_multiply_add, store

Shape = int | Iterable[int]

# How many significant bits each floating type has.
_DIGITS = {np.dtype(np.float16): 11, np.dtype(ml_dtypes.bfloat16): 8, np.dtype(np.float32): 24, np.dtype(np.float64): 53}
_BOOL, _FLOAT64 = np.dtype(np.bool_), np.dtype(np.float64)
_INTEGERS = frozenset(np.dtype(each) for each in (np.uint8, np.int8, np.int16, np.int32, np.int64))
_WIDE_UNSIGNED = frozenset(np.dtype(each) for each in (np.uint16, np.uint32, np.uint64))
_WHOLE_RANGE = frozenset(np.dtype(each) for each in (np.int64, np.float32, np.float64, ml_dtypes.bfloat16))
# PyTorch's messages name a type as C++ does where they speak of its limits.
_WIDE_RANGE = 2**28  # integers from a range of this size or more take two words each
_BLOCK = 16  # so many normal numbers are made at once, of as many uniform ones
_LONG_PERMUTATION = (2**32 - 1) // 20  # from here on a permutation takes two words an element


class Generator(MersenneTwister):
    """A stream of random numbers that equals PyTorch's for the same seed.

    >>> Generator().manual_seed(0).integers(5, np.int64, 0, 10)
    array([4, 9, 3, 0, 3])
    """

    __slots__ = ()

    def uniform(self, shape: Shape, dtype: Any, low: float = 0.0, high: float = 1.0) -> Array:
        """Numbers in [low, high), as ``torch.rand`` and ``uniform_`` give them."""
        shape, dtype, count = _describe(shape, dtype)
        real = _real_type(dtype)
        if real not in _DIGITS:
            raise _not_implemented("check_uniform_bounds", dtype)
        limit = float(ml_dtypes.finfo(real).max)
        for name, bound in (("from", low), ("to", high)):
            if not -limit <= bound <= limit:
                raise OperationError(f"{name} is out of bounds for {c_name(real)}")
        if low > high:
            raise OperationError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
        if high - low > limit:
            raise OperationError(
                f"uniform_ expects to-from <= std::numeric_limits<{legacy_name(real)}>::max(), but found to={high:g} "
                f"and from={low:g} which result in to-from to exceed the limit"
            )
        compute = _compute_type(real)
        first, last = compute.type(low), compute.type(high)
        units = self.units(count * dtype.itemsize // real.itemsize, compute)
        numbers = store(fused_multiply_add(units, float(last - first), float(first)), real)
        # Rounding may reach the upper bound, which does not belong to the range.
        numbers[numbers == store(last, real)] = store(first, real)
        return numbers.view(dtype).reshape(shape)

    def normal(self, shape: Shape, dtype: Any, mean: Any = 0.0, std: Any = 1.0, contiguous: bool = True) -> Array:
        """Normal numbers, as ``torch.randn``, ``normal_`` and ``torch.normal`` give them.

        Arrays as ``mean`` or ``std`` broadcast to the shape.  A complex number has half the variance in each part,
        and a plain ``mean`` is added to both.  PyTorch fills a tensor that is not contiguous by another method:
        ``contiguous=False`` gives those numbers, in the order of memory.
        """
        shape, dtype, count = _describe(shape, dtype)
        real = _real_type(dtype)
        if real not in _DIGITS:
            raise _not_implemented("normal_kernel_cpu", dtype)
        if isinstance(std, np.ndarray):
            if not np.all(std >= 0):
                raise OperationError("normal expects all elements of std >= 0.0")
            numbers = self.normal(shape, dtype, contiguous=contiguous)
            with np.errstate(all="ignore"):
                scaled = (numbers * std.astype(real, copy=False)).astype(dtype, copy=False)
                return (scaled + np.asarray(mean).astype(dtype)).astype(dtype, copy=False)
        if not std >= 0:
            raise OperationError(f"normal expects std >= 0.0, but found std {std:g}")
        if isinstance(mean, np.ndarray):
            with np.errstate(all="ignore"):
                numbers = self.normal(shape, dtype, 0.0, std, contiguous) + mean.astype(dtype, copy=False)
                return numbers.astype(dtype, copy=False)
        if dtype != real:
            count, std = 2 * count, std / math.sqrt(2.0)
        if count >= _BLOCK and contiguous:
            numbers = self._normal_blocks(count, real)
        else:
            numbers = self.normals(count)
        return store(fused_multiply_add(numbers, std, mean), real).view(dtype).reshape(shape)

    def _normal_blocks(self, count: int, real: np.dtype[Any]) -> Array:
        # Whole blocks come first.  What is left over is done again together with the numbers before it, as one block
        # of fresh words; narrow types draw no words for it before that.
        rest = count % _BLOCK
        whole = count - rest
        redone = whole if real in LOW_PRECISION else count
        units = self.units(redone + (_BLOCK if rest else 0), _compute_type(real))
        numbers = np.empty(count, units.dtype)
        numbers[:whole] = _box_muller(units[:whole])
        if rest:
            numbers[-_BLOCK:] = _box_muller(units[redone:])
        return numbers

    def log_normal(self, shape: Shape, dtype: Any, mean: float = 1.0, std: float = 2.0) -> Array:
        """Exponentials of normal numbers, as ``log_normal_`` gives them."""
        shape, dtype, count = _describe(shape, dtype)
        if not std > 0:
            raise OperationError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        if dtype not in _DIGITS:
            raise _not_implemented("log_normal_cpu", dtype)
        with np.errstate(over="ignore"):
            numbers = np.exp(fused_multiply_add(self.normals(count), std, mean))
        return store(numbers, dtype).reshape(shape)

    def exponential(self, shape: Shape, dtype: Any, rate: float = 1.0) -> Array:
        """Exponential numbers, as ``exponential_`` gives them."""
        shape, dtype, count = _describe(shape, dtype)
        if not rate > 0:
            raise OperationError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        if not BY_NUMPY[dtype].is_floating_point:
            raise _not_continuous("Exponential", legacy_name(dtype))
        if dtype not in _DIGITS:
            raise _not_implemented("exponential_cpu", dtype)
        with np.errstate(over="ignore"):
            return store(-1.0 / rate * np.log1p(-self.units(count)), dtype).reshape(shape)

    def cauchy(self, shape: Shape, dtype: Any, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Cauchy numbers, as ``cauchy_`` gives them."""
        shape, dtype, count = _describe(shape, dtype)
        if not sigma > 0:
            raise OperationError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        if not BY_NUMPY[dtype].is_floating_point:
            raise _not_continuous("Cauchy", c_name(dtype))
        if dtype not in _DIGITS:
            raise _not_implemented("cauchy_cpu", dtype)
        tangents = np.tan(np.pi * (self.units(count) - 0.5))
        return store(fused_multiply_add(tangents, sigma, median), dtype).reshape(shape)

    def geometric(self, shape: Shape, dtype: Any, p: float) -> Array:
        """How many trials the first success takes, as ``geometric_`` gives it."""
        shape, dtype, count = _describe(shape, dtype)
        if not 0 < p < 1:
            raise OperationError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        if dtype not in _DIGITS and dtype not in _INTEGERS:
            raise _not_implemented("geometric_cpu", dtype)
        with np.errstate(divide="ignore"):
            trials = np.ceil(np.log(self.units(count)) / math.log1p(-p))
        if dtype in _INTEGERS:
            with np.errstate(invalid="ignore"):
                return trials.astype(np.int64).astype(dtype).reshape(shape)
        return store(trials, dtype).reshape(shape)

    def bernoulli(self, shape: Shape, dtype: Any, p: Any) -> Array:
        """Ones with probability ``p``: a number, or an array that broadcasts to the shape and whose type decides how
        many words are drawn."""
        shape, dtype, count = _describe(shape, dtype)
        by_number = not isinstance(p, np.ndarray)
        if by_number and not 0 <= p <= 1:
            raise OperationError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        if dtype not in _DIGITS and dtype not in _INTEGERS and dtype != _BOOL:
            raise _not_implemented("bernoulli_scalar_cpu_" if by_number else "bernoulli_tensor_cpu_self_", dtype)
        if by_number:
            with self.lock:
                made = faster_choices(self._bits, count, dtype, float(p)) if count else None
                if made is not None:
                    self._untouched = False
                    return made.reshape(shape)
            return (self.units(count).reshape(shape) < p).astype(dtype)
        if p.dtype not in _DIGITS:
            raise _not_implemented("bernoulli_tensor_cpu_p_", p.dtype)
        if not np.all((p >= 0) & (p <= 1)):
            raise OperationError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        compute = _compute_type(p.dtype)
        return (self.units(count, compute).reshape(shape) < p.astype(compute)).astype(dtype)

    def dropout_mask(self, shape: Shape, p: float) -> Array:
        """True where ``torch.nn.functional.dropout`` with probability ``p`` keeps an element in training.

        Nothing is drawn where there is nothing to choose: for ``p`` of 0 or 1.
        """
        if not 0 <= p <= 1:
            raise OperationError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        if p in (0, 1):
            return np.full(_describe(shape, bool)[0], p == 0)
        return self.bernoulli(shape, np.bool_, 1.0 - p)

    def integers(self, shape: Shape, dtype: Any, low: int, high: int | None) -> Array:
        """Integers in [low, high), as ``torch.randint`` and ``random_(low, high)`` give them.

        Without a ``high`` the range goes up to the type's greatest value, or to the greatest one below which a
        floating type has every integer.
        """
        shape, dtype, count = _describe(shape, dtype)
        low, high = self.integer_bounds(dtype, low, high)
        if high - low == 2**64:  # the whole of int64 takes the words as they are
            return _from_integers(self.double_words(count).view(np.int64), dtype).reshape(shape)
        words = self.double_words(count) if high - low >= _WIDE_RANGE else self.words(count)
        words %= np.uint64(high - low)
        words += np.uint64(low % 2**64)
        return _from_integers(words.view(np.int64), dtype).reshape(shape)

    @staticmethod
    def integer_bounds(dtype: np.dtype[Any], low: int, high: int | None) -> tuple[int, int]:
        """The range that integers of a dtype are drawn from, as :meth:`integers` is asked for it."""
        if BY_NUMPY[dtype].is_complex:
            raise DtypeError("check_random_bounds handles only integral, floating-point and boolean types")
        if dtype not in _DIGITS and dtype not in _INTEGERS and dtype not in _WIDE_UNSIGNED and dtype != _BOOL:
            raise _not_implemented("random_update_from_to", dtype)
        low, high = operator.index(low), None if high is None else operator.index(high)
        if not all(-(2**63) <= bound < 2**63 for bound in (low, high or 0)):
            raise ValueRangeError(f"Overflow when unpacking long long: [{low}, {high}) is not a range of int64")
        if high is None and low == -(2**63):
            if dtype not in _WHOLE_RANGE:
                raise DtypeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
            return low, 2**63
        if high is None:
            greatest = 2 ** _DIGITS[dtype] if dtype in _DIGITS else _limits(dtype)[1]
            if dtype in _DIGITS and low >= greatest:
                raise OperationError(
                    "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                    f"got from={low} > to_inc={greatest}"
                )
            high = greatest + 1
        elif low >= high:
            raise OperationError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        _check_bounds(low, high, dtype)
        return _representable_range(low, high, dtype) if dtype in _DIGITS else (low, high)

    def integers_full(self, shape: Shape, dtype: Any) -> Array:
        """Integers of the type's whole range from zero on, as ``random_()`` gives them."""
        shape, dtype, count = _describe(shape, dtype)
        size = self.whole_range(dtype)
        words = self.double_words(count) if dtype.itemsize == 8 else self.words(count)
        words %= np.uint64(size)
        return _from_integers(words.view(np.int64), dtype).reshape(shape)

    @staticmethod
    def whole_range(dtype: np.dtype[Any]) -> int:
        """How many integers from zero on :meth:`integers_full` draws from."""
        if dtype in _DIGITS:
            return 2 ** _DIGITS[dtype] + 1
        if dtype in _INTEGERS or dtype == _BOOL:
            return _limits(dtype)[1] + 1
        raise _not_implemented("random_kernel_cpu", dtype)

    def permutation(self, n: int, dtype: Any = np.int64) -> Array:
        """The integers from 0 to ``n - 1`` in random order, as ``torch.randperm`` gives them."""
        dtype = np.dtype(dtype)
        if n < 0:
            raise ShapeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        if dtype not in _DIGITS and dtype not in _INTEGERS:
            raise _not_implemented("randperm", dtype)
        if dtype in _INTEGERS and n - 1 > _limits(dtype)[1]:
            c_type = "int" if dtype == np.int32 else f"{dtype.name}_t"
            raise OperationError(f"value cannot be converted to type {c_type} without overflow")
        if dtype in _DIGITS and dtype != ml_dtypes.bfloat16 and n > 2 ** _DIGITS[dtype] + 1:
            limit = "2049" if dtype == np.float16 else f"2^{_DIGITS[dtype]}+1"
            raise OperationError(f"n cannot be greater than {limit} for {legacy_name(dtype)} type.")
        if n >= _LONG_PERMUTATION:
            order = _permute_inside_out(self.double_words(n))
        else:
            order = _permute_forward(self.words(max(n - 1, 0)))
        return _from_integers(order[:n], dtype)

    def multinomial(self, probabilities: Array, num_samples: int, replacement: bool = False) -> Array:
        """Draw categories from each row of (unnormalised) probabilities, as ``torch.multinomial`` does.

        Without replacement a narrow type can give equal keys to several categories; those are drawn in their order.
        """
        if not BY_NUMPY[probabilities.dtype].is_floating_point:
            name = legacy_name(probabilities.dtype)
            raise DtypeError(f"multinomial only supports floating-point dtypes for input, got: {name}")
        if probabilities.dtype not in _DIGITS:
            raise _not_implemented("multinomial", probabilities.dtype)
        if probabilities.ndim not in (1, 2):
            raise ShapeError("prob_dist must be 1 or 2 dim")
        categories = probabilities.shape[-1]
        if num_samples <= 0:
            raise OperationError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > categories:
            raise OperationError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if categories > 2**24:
            raise OperationError("number of categories cannot exceed 2^24")
        compute = _compute_type(probabilities.dtype)
        weights = probabilities.astype(compute)
        by_key = not replacement or num_samples == 1
        _check_weights(weights, by_key)
        if by_key:
            # An exponential race: the categories in the order in which they arrive.
            waits = self.exponential(weights.shape, probabilities.dtype).astype(compute)
            with np.errstate(all="ignore"):
                keys = store(weights / waits, probabilities.dtype).astype(compute, copy=False)
            if num_samples == 1:
                return keys.argmax(axis=-1, keepdims=True)
            return np.argsort(-keys, axis=-1, kind="stable")[..., :num_samples].copy()
        rows = weights.reshape(-1, categories)
        units = self.units(len(rows) * num_samples).reshape(-1, num_samples)
        chosen = np.empty(units.shape, np.int64)
        for row, weight in enumerate(rows):
            with np.errstate(all="ignore"):
                cumulative = np.cumsum(weight, dtype=compute)
                cumulative /= cumulative[-1]
            cumulative[-1] = 1
            chosen[row] = np.searchsorted(cumulative, units[row])
        return chosen.reshape(probabilities.shape[:-1] + (num_samples,))

    def poisson(self, rates: Array) -> Array:
        """A Poisson number for each rate, in the rates' type, as ``torch.poisson`` gives them."""
        if rates.dtype not in _DIGITS:
            raise _not_implemented("poisson_cpu", rates.dtype)
        if not np.all(rates >= 0):
            raise OperationError("invalid Poisson rate, expected rate to be non-negative")
        if not np.all(rates.astype(np.float64) < 2.0**62):  # the numbers would not fit in an int64
            raise OperationError("invalid Poisson rate, expected rate to be finite and less than 2**62")
        return self._one_by_one(poisson, rates.dtype, rates)

    def binomial(self, count: Array, prob: Array) -> Array:
        """A binomial number for each count and probability (they broadcast), as ``torch.binomial`` gives them."""
        for name, parameter in (("count", count), ("prob", prob)):
            if not BY_NUMPY[parameter.dtype].is_floating_point:
                raise ValueRangeError(f"binomial only supports floating-point dtypes for {name}, got: {legacy_name(parameter.dtype)}")
        if prob.dtype != count.dtype:
            raise DtypeError(f"Found dtype {legacy_name(prob.dtype)} but expected {legacy_name(count.dtype)}")
        if count.dtype in LOW_PRECISION:
            raise _not_implemented("binomial_cpu", count.dtype)
        if not np.all(np.isfinite(count)):
            raise OperationError("invalid binomial count, expected count to be finite")
        return self._one_by_one(binomial, count.dtype, *np.broadcast_arrays(count, prob))

    def standard_gamma(self, concentration: Array) -> Array:
        """A gamma number of scale one for each concentration; it is never less than the type's smallest normal one."""
        if concentration.dtype not in (np.float32, np.float64):
            raise _not_implemented("gamma_cpu", concentration.dtype)
        single = concentration.dtype == np.float32
        numbers = self._gammas(concentration, single).astype(concentration.dtype)
        return np.maximum(numbers, np.finfo(concentration.dtype).tiny)

    def dirichlet(self, concentration: Array) -> Array:
        """Probabilities for each row of concentrations: gamma numbers divided by their sum."""
        if concentration.dtype not in (np.float32, np.float64):
            raise _not_implemented("dirichlet", concentration.dtype)
        gammas = np.maximum(self._gammas(concentration, single=False), np.finfo(np.float64).tiny)
        numbers = (gammas / gammas.sum(axis=-1, keepdims=True)).astype(concentration.dtype)
        one = concentration.dtype.type(1)
        return np.clip(numbers, np.finfo(concentration.dtype).tiny, np.nextafter(one, 0 * one))  # never 0 or 1

    def _gammas(self, concentration: Array, single: bool) -> Array:
        if not np.all(np.isfinite(concentration) & (concentration >= 0)):
            raise OperationError("invalid gamma concentration, expected it to be finite and non-negative")
        with np.errstate(over="ignore"):
            return self._one_by_one(lambda alpha, stream: standard_gamma(alpha, stream, single), _FLOAT64, concentration)

    def _one_by_one(self, sample: Callable[..., float], dtype: np.dtype[Any], *parameters: Array) -> Array:
        columns = [each.astype(np.float64).reshape(-1).tolist() for each in parameters]
        with UniformStream(self) as stream:
            numbers = [sample(*row, stream) for row in zip(*columns, strict=True)]
        return store(np.array(numbers, np.float64), dtype).reshape(parameters[0].shape)


def _describe(shape: Shape, dtype: Any) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    sizes = (operator.index(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return sizes, np.dtype(dtype), math.prod(sizes)


def _real_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    kind = BY_NUMPY.get(dtype)
    return kind.to_real().numpy if kind else dtype


def _compute_type(real: np.dtype[Any]) -> np.dtype[Any]:
    return real if real == _FLOAT64 else np.dtype(np.float32)


def _not_implemented(kernel: str, dtype: np.dtype[Any]) -> NotSupported:
    name = legacy_name(dtype) if dtype in BY_NUMPY else dtype.name
    return NotSupported(f"\"{kernel}\" not implemented for '{name}'")


def _not_continuous(distribution: str, name: str) -> DtypeError:
    return DtypeError(
        f"{distribution} distribution is a continuous probability distribution. dtype must be a floating point but you specified {name}"
    )


def _box_muller(units: Array) -> Array:
    # Of every sixteen uniform numbers the first eight give radii and the other eight give angles.
    pairs = units.reshape(-1, 2, _BLOCK // 2)
    radius = np.sqrt(-2 * np.log(1 - pairs[:, 0]))
    angle = pairs[:, 1] * units.dtype.type(2 * np.pi)
    numbers = np.empty_like(pairs)
    np.multiply(radius, np.cos(angle), out=numbers[:, 0])
    np.multiply(radius, np.sin(angle), out=numbers[:, 1])
    return numbers.reshape(-1)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype == _BOOL:
        return 0, 1
    if dtype in _DIGITS:
        greatest = int(float(ml_dtypes.finfo(dtype).max))
        return -greatest, greatest
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _check_bounds(low: int, high: int, dtype: np.dtype[Any]) -> None:
    least, greatest = _limits(dtype)
    greatest = min(greatest, 2**63 - 1) if dtype not in _DIGITS else greatest  # the bounds themselves are int64
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not least <= bound <= greatest:
            raise OperationError(f"{name} is out of bounds for {c_name(dtype)}")
        if dtype in _DIGITS and abs(bound) > 2 ** _DIGITS[dtype]:
            digits = _DIGITS[dtype]
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {c_name(dtype)} "
                "can support discrete uniform distribution only within this range.",
                UserWarning,
                stacklevel=3,
            )


def _representable_range(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    # Large integers round when they are stored; keep them from rounding out of the range.
    def rounded(value: int) -> int:
        return int(float(_from_integers(np.array(value, np.int64), dtype)))

    def spacing(value: int) -> int:
        return 1 << max(abs(value).bit_length() - _DIGITS[dtype], 0)

    above, below = rounded(low + 1), rounded(high - 1)
    return (above + spacing(low + 1) if above < low else low, below - spacing(high - 1) if high <= below < 2**63 else high)


def _from_integers(values: Array, dtype: np.dtype[Any]) -> Array:
    if dtype in LOW_PRECISION:
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def _permute_forward(words: Array) -> Array:
    # Fisher and Yates: exchange each element with one that comes after it, or with itself.
    n = len(words) + 1
    start = np.arange(n - 1, dtype=np.uint32)  # a word has 32 bits, and division of 64 is several times slower
    others = (words.astype(np.uint32) % (np.uint32(n) - start) + start).astype(np.int64)
    whole = np.arange(n, dtype=np.int64)
    if exchanged(whole, others):
        return whole
    order = list(range(n))
    for position, other in enumerate(others.tolist()):
        order[position], order[other] = order[other], order[position]
    return np.array(order, np.int64)


def _permute_inside_out(words: Array) -> Array:
    # The same from the other end: each new element goes to a random place, whose old element moves to the end.
    n = len(words)
    order = np.empty(n, np.int64)
    for position, place in enumerate(words % np.arange(1, n + 1, dtype=np.uint64)):
        order[position] = order[place] if place < position else position
        order[place] = position
    return order


def _check_weights(weights: Array, by_key: bool) -> None:
    negative, infinite = not np.all(weights >= 0), not np.all(np.isfinite(weights))
    if by_key and (negative or infinite):
        raise OperationError("probability tensor contains either `inf`, `nan` or element < 0")
    if negative:
        raise OperationError("invalid multinomial distribution (encountering probability entry < 0)")
    if infinite:
        raise OperationError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    with np.errstate(over="ignore"):
        if not np.all(weights.sum(axis=-1) > 0):
            raise OperationError("invalid multinomial distribution (sum of probabilities <= 0)")


default_generator = Generator()
default_generator.seed()
