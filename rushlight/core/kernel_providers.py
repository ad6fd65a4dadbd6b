"""Access to compiled kernels for large arrays, provided by a room that comes after ``ops``.

A kernel that may have a compiled form calls ``faster``.  The provider is imported by name when the first large array asks, and only where
the packages that it needs are installed.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .parallel import LARGE, pool, ufunc_in_blocks
from .process_safety import load_module

_NEEDED = "llvmlite"
_PROVIDER = "rushlight.backends.native.eager.ops"
_LOOPS = "rushlight.backends.native.eager.pointwise"
_ROWS = "rushlight.backends.native.eager.rows"
_CHANCE = "rushlight.backends.native.eager.bernoulli"
_ORDER = "rushlight.backends.native.eager.permutation"
_INTEGERS = "rushlight.backends.native.eager.integer_products"
_COPIES = "rushlight.backends.native.eager.copies"
_STEPS = "rushlight.backends.native.eager.optimizer_step"
MANY = 1 << 14  # elements from which on loading the provider pays
BEGIN, SWITCH = 8, 24  # calls with the same shapes: after so many a kernel is compiled beside the program, and from so many on it is used
SOON = 2, 6  # the same for ops that NumPy takes many times as long for
PRODUCTS = (
    1 << 21,
    1 << 34,
)  # multiplications in a product of matrices for which compiled code may pay; the provider knows where it does not
UFUNCS, SEVERAL = 1 << 15, 4  # elements from which on ufuncs run on several threads, and where these are many
EXACT = frozenset(
    (np.add, np.subtract, np.multiply, np.true_divide, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
)
_LIMIT = 4096  # kinds of calls that are counted
_once = threading.local()
_found: dict[str, Any] = {}  # modules, by name
_calls: dict[Any, int] = {}  # by op, shapes, strides and options: how often they have come


class _Switching:
    """Whether kernels may switch to compiled code after some calls, which changes last digits: not where algorithms have to be deterministic."""

    allowed = True


switching = _Switching()


@contextmanager
def same_digits() -> Iterator[None]:
    """A context in which equal calls give equal results to the last digit: no kernel switches to compiled code."""
    before, switching.allowed = switching.allowed, False
    try:
        yield
    finally:
        switching.allowed = before


def faster(name: str, *args: Any) -> Any:
    """An op's result by a compiled kernel, or None: then the caller's own kernel computes it."""
    provider = None if runs_once() or not _on_host(args) else _provider(_PROVIDER)
    return None if provider is None else provider(name, args)


def _on_host(args: tuple[Any, ...]) -> bool:
    """Whether all arrays among the arguments are NumPy's: compiled kernels of the CPU can read no others."""
    return all(each.__class__ is np.ndarray or not hasattr(each, "strides") for each in args)


def runs_once() -> bool:
    """Whether the current code runs only once, so that compiling kernels for it would not pay."""
    return bool(getattr(_once, "depth", 0))


@contextmanager
def once() -> Iterator[None]:
    """A context for code that runs only once, during a capture: nothing is compiled for it."""
    _once.depth = getattr(_once, "depth", 0) + 1
    try:
        yield
    finally:
        _once.depth -= 1


def backward_once(nodes: Iterable[Any], since: int) -> None:
    """Mark the ancestors of autograd nodes recorded since a sequence number: their backwards run ``once``, too."""
    worklist, visited = [each for each in nodes if each is not None], set()
    while worklist:
        node = worklist.pop()
        if getattr(node, "sequence", since) >= since or node in visited:  # a leaf has no such number
            continue
        visited.add(node)
        node.__dict__["backward"] = _backward_once(weakref.ref(node))  # a node that holds itself would not be freed at once
        worklist += [each[0] if isinstance(each, tuple) else each for each in node.inputs if each is not None]


def _backward_once(reference: Any) -> Callable[[Any], Any]:
    def backward(gradient: Any) -> Any:
        node = reference()
        with once():
            return type(node).backward(node, gradient)

    return backward


def compiled(name: str, least: int = MANY, calls: tuple[int, int] = (BEGIN, SWITCH)) -> Callable[[Any], Any]:
    """A decorator for the kernel of an op: where its first array has so many elements, calls that come again and again run code compiled for their shapes.

    A program that calls the op a few times compiles nothing.  The switch comes at a fixed number of calls, and not when the code happens to be there:
    last digits then depend on the program alone.
    """

    def decorate(kernel: Any) -> Any:
        @functools.wraps(kernel)
        def run(xp: Any, *values: Any) -> Any:
            if xp is np and values[0].size >= least and values[0].dtype.char == "f" and not runs_once():
                found = _when_repeated(name, values, *calls)
                if found is not None:
                    return found
            return kernel(xp, *values)

        return run

    return decorate


def _when_repeated(name: str, values: tuple[Any, ...], begin: int, switch: int) -> Any:
    """The result of an op by a compiled kernel, or None where this call has not come often enough."""
    if not switching.allowed:
        return None
    key = (name, *[(each.shape, each.dtype.char, each.strides) if each.__class__ is np.ndarray else each for each in values])
    try:
        count = _calls.get(key, 0)
    except TypeError:  # an option that can't be part of a key
        return None
    if count < switch:
        if len(_calls) >= _LIMIT:
            _calls.clear()
        _calls[key] = count + 1
        provider = _provider(_PROVIDER, "begin") if count == begin else None
        if provider is not None:
            provider(key, name, values)
        return None
    provider = _provider(_PROVIDER, "again")
    found = None if provider is None else provider(key, values)
    if found is NotImplemented:  # others have come since, and it was dropped
        _calls[key] = 0
        return None
    return found


@compiled("matmul", 1 << 11)
def _product(xp: Any, a: Any, b: Any) -> Any:
    return xp.matmul(a, b)


def faster_product(ufunc: Any, a: Any, b: Any) -> Any:
    """The product of two arrays: of matrices neither small nor large, for which code of their own shapes is faster than BLAS."""
    if a.ndim == 2 and a.dtype.char == "f" and PRODUCTS[0] <= a.size * b.shape[1] < PRODUCTS[1]:
        return _product(np, a, b)
    return ufunc(a, b)


def faster_loop(op: Any, arguments: list[Any], positions: list[int], compute: Any, dtype: Any) -> Any:
    """The result of a pointwise op on large arrays by a compiled loop, or None."""
    provider = _provider(_LOOPS)
    return None if provider is None else provider(op, arguments, positions, compute, dtype)


def faster_ufunc(ufunc: Any, a: Any, b: Any) -> Any:
    """A binary ufunc on an array that is not small, and another or a number: by a compiled loop where that gives the same bits, else in blocks on several threads."""
    size = a.size
    broadcast = b.__class__ is np.ndarray and b.shape != a.shape
    pays = (
        pool.threads >= SEVERAL or broadcast and size >= 4 * UFUNCS
    )  # on few threads NumPy's own loops are as fast, but for broadcast operands
    if pays and ufunc in EXACT and a.dtype.char in "fd" and (size >= LARGE or _is_repeated(ufunc.__name__)):
        provider = _provider(_LOOPS, "run_ufunc")
        found = None if provider is None else provider(ufunc, a, b)
        if found is not None:
            return found
    return ufunc(a, b) if size < LARGE else ufunc_in_blocks(ufunc, a, b)


def copy_into(target: Any, source: Any) -> None:
    """Copy an array into another of its shape and dtype: on several threads where it is not small and copies come again and again."""
    least = UFUNCS if pool.threads >= SEVERAL else 4 * UFUNCS
    if source.size >= least and pool.threads > 1 and _is_repeated("copy") and not source.dtype.hasobject:
        provider = _provider(_COPIES)
        if provider is not None and provider(target, source):
            return
    target[...] = source


def contiguous_copy(array: Any) -> Any:
    """A copy in the order of rows."""
    if array.__class__ is not np.ndarray:
        return np.array(array, order="C")
    made = np.empty(array.shape, array.dtype)
    copy_into(made, array)
    return made


def _is_repeated(name: str) -> bool:
    """Whether something has come so often that compiling for it pays."""
    count = _calls.get(name, 0)
    if count < SWITCH:
        _calls[name] = count + 1
    return count >= SWITCH


def repeated_loop(op: Any, arguments: list[Any], positions: list[int], compute: Any, dtype: Any) -> Any:
    """The same for arrays that are not large: a loop is compiled where the op has come so often that it pays."""
    return faster_loop(op, arguments, positions, compute, dtype) if switching.allowed and _is_repeated(op.name) else None


def faster_rows(name: str, rows: Any) -> Any:
    """A function of the rows of a large matrix, by its name (``sum``, ``maximum``, ``softmax``, …), or None."""
    provider = _provider(_ROWS) if _on_host((rows,)) else None
    return None if provider is None else provider(name, rows)


def faster_choices(twister: Any, count: int, dtype: Any, p: float) -> Any:
    """Bernoulli samples from the next words of NumPy's Mersenne Twister, or None: then no word has been drawn."""
    provider = _provider(_CHANCE) if count >= MANY or _CHANCE in _found else None
    return None if provider is None else provider(twister, count, dtype, p)


def faster_integers(*args: Any) -> Any:
    """The product of quantized rows and an int8 weight by native code, or None; the arguments are those of ``integer_products.run``."""
    provider = None if runs_once() else _provider(_INTEGERS)
    return None if provider is None else provider(*args)


def packed_integers(weight: Any) -> Any:
    """An int8 weight as ``faster_integers`` takes it, or None where there is no native code."""
    provider = None if runs_once() else _provider(_INTEGERS, "packed")
    return None if provider is None else provider(weight)


def faster_step(*args: Any) -> bool:
    """An optimizer's step over all parameters in one parallel loop; False: then nothing was done.  The arguments are those of ``optimizer_step.run``."""
    provider = None if runs_once() else _provider(_STEPS)
    return provider is not None and bool(provider(*args))


def exchanged(order: Any, others: Any) -> bool:
    """Exchange ``order[i]`` with ``order[others[i]]``, one after the other, in place; False: then nothing was done."""
    provider = _provider(_ORDER) if len(others) >= MANY or _ORDER in _found else None
    return provider is not None and bool(provider(order, others))


def _provider(module: str, entry: str = "run") -> Callable[..., Any] | None:
    """An entry point of a provider, or None where the packages it needs are not installed."""
    if module not in _found:
        _found[module] = load_module(module) if importlib.util.find_spec(_NEEDED) is not None else None
    found = _found[module]
    return None if found is None else getattr(found, entry)


def switch_off() -> None:
    """Use the plain kernels from now on (for comparisons)."""
    _found.update(dict.fromkeys((_PROVIDER, _LOOPS, _ROWS, _CHANCE, _ORDER, _INTEGERS, _COPIES, _STEPS)))


def switch_on() -> None:
    """Use compiled kernels again."""
    _found.clear()
