"""Attention on CUDA by the flash kernels of ``flash.py``: causal, with a mask or without, in half and single precision, and its gradient.

What the forward pass keeps for the gradient in the place of the weights are the logarithms of the rows' sums, with the output.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

import numpy as np

from ....core.dtypes import BY_NUMPY, HALF_PRECISION
from ....core.precision import precision

_FLOAT32 = np.dtype(np.float32)
_WIDEST = 256


class Pointer:
    """An array as Triton asks for one: an address and the name of a dtype."""

    __slots__ = ("array", "dtype")

    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, f"torch.{BY_NUMPY[array.dtype].name}"

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self.array.data.ptr)


@functools.cache
def _flash() -> Any:
    """The kernels, once Triton has a driver; None where Triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return None
    importlib.import_module("rushlight.cuda.triton_driver").ready()
    return importlib.import_module("rushlight.runtime.cuda.kernels.flash")


@functools.cache
def rows_type(cupy: Any) -> Any:
    """The class of what the forward pass keeps: logarithms of the rows' sums, with the output."""
    return type(
        "AttentionRows", (cupy.ndarray,), {"output": None, "__doc__": "Logarithms of the sums of attention's rows, with its output."}
    )


def _four(array: Any) -> Any:
    """With a batch and a head dimension."""
    return array if array.ndim == 4 else array[None] if array.ndim == 3 else array[None, None]


def _steps(array: Any, count: int) -> list[int]:
    """The strides, in elements, of the first dimensions; 0 where a dimension is broadcast."""
    return [0 if size == 1 else step // array.itemsize for size, step in zip(array.shape[:count], array.strides[:count])]


def _readable(cupy: Any, array: Any) -> Any:
    return array if array.strides[-1] == array.itemsize or array.shape[-1] == 1 else cupy.ascontiguousarray(array)


class _Problem:
    """The arrays of a call as kernels take them."""

    def __init__(self, cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> None:
        self.flash = _flash()
        self.query, self.key, self.value = (_readable(cupy, _four(each)) for each in (query, key, value))
        self.batch, self.heads, self.length, self.width = self.query.shape
        self.source, self.wide = self.key.shape[2], self.value.shape[3]
        kind = self.flash.NO_MASK if mask is None else self.flash.CHOICES if mask.dtype == np.bool_ else self.flash.ADDED
        if mask is not None:
            mask = cupy.broadcast_to(mask, (self.batch, self.heads, self.length, self.source))
            self.mask, self.mask_steps = mask.view(np.uint8) if kind == self.flash.CHOICES else mask, _plain_steps(mask)
        else:
            self.mask, self.mask_steps = self.query, [0] * 4
        narrow = query.dtype in HALF_PRECISION
        padded = max(16, 1 << (max(self.width, self.wide) - 1).bit_length())
        self.options = dict(
            CAUSAL=bool(causal), MASK=kind, D=padded, DV=padded, WD=self.width, WV=self.wide,
            PRECISION="tf32" if narrow or precision.allow_tf32 else "ieee",
        )  # fmt: skip
        self.forward_blocks, self.backward_blocks = self.flash.blocks(padded, narrow), self.flash.backward_blocks(padded, narrow)
        self.sizes = (self.heads, self.length, self.source, float(scale))

    def inputs(self) -> tuple[Any, ...]:
        return tuple(Pointer(each) for each in (self.query, self.key, self.value, self.mask))

    def steps(self) -> list[int]:
        return [*_steps(self.query, 3), *_steps(self.key, 3), *_steps(self.value, 3), *self.mask_steps]


def _plain_steps(array: Any) -> list[int]:
    return [step // array.itemsize for step in array.strides]


def _takes(query: Any, key: Any, value: Any, mask: Any) -> bool:
    if (
        not 2 <= query.ndim <= 4
        or not (query.ndim == key.ndim == value.ndim)
        or query.shape[:-2] != key.shape[:-2]
        or key.shape[:-2] != value.shape[:-2]
    ):
        return False
    if not (query.dtype == key.dtype == value.dtype) or query.dtype != _FLOAT32 and query.dtype not in HALF_PRECISION:
        return False
    if not query.size or not key.size or not value.size or max(query.shape[-1], value.shape[-1]) > _WIDEST:
        return False
    if mask is not None and (mask.ndim > 4 or mask.dtype != np.bool_ and mask.dtype not in (*HALF_PRECISION, _FLOAT32)):
        return False
    return _flash() is not None


def attention(cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    """The output of attention, and what its gradient needs."""
    if not _takes(query, key, value, mask):
        return NotImplemented
    problem = _Problem(cupy, query, key, value, mask, causal, scale)
    output = cupy.ndarray((problem.batch, problem.heads, problem.length, problem.wide), query.dtype)
    logs = rows_type(cupy)((problem.batch, problem.heads, problem.length), _FLOAT32)
    blocks = problem.forward_blocks
    grid = (-(-problem.length // blocks["BM"]), problem.batch * problem.heads)
    problem.flash.forward[grid](
        *problem.inputs(), Pointer(output), Pointer(logs), *problem.steps(), *_steps(output, 3), *problem.sizes, **problem.options, **blocks
    )
    output = output.reshape(*query.shape[:-1], problem.wide)
    logs.output = output
    return [output, logs]


def attention_backward(
    cupy: Any, grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, causal: bool, mask: Any = None
) -> Any:
    """The gradients of query, key and value."""
    if weights is None and _takes(query, key, value, mask):  # not kept, to save memory: computed again
        weights = attention(cupy, query, key, value, mask, causal, scale)[1]
    if not isinstance(weights, rows_type(cupy)):
        return NotImplemented
    problem = _Problem(cupy, query, key, value, mask, causal, scale)
    given, output = _readable(cupy, _four(grad)), _four(weights.output)
    sums = cupy.ndarray(weights.shape, _FLOAT32)
    blocks, options = problem.backward_blocks, problem.options
    count = problem.batch * problem.heads
    problem.flash.products[(-(-problem.length // 64), count)](
        Pointer(given), Pointer(output), Pointer(sums), *_steps(given, 3), *_steps(output, 3), problem.heads, problem.length,
        DV=options["DV"], WV=options["WV"], BM=64,
    )  # fmt: skip
    made = [cupy.ndarray((*each.shape[:3], each.shape[3]), each.dtype) for each in (problem.query, problem.key, problem.value)]
    shared = (*problem.inputs(), Pointer(given), Pointer(weights), Pointer(sums))
    steps = [*problem.steps(), *_steps(given, 3)]
    problem.flash.backward_query[(-(-problem.length // blocks["BM"]), count)](
        *shared, Pointer(made[0]), *steps, *_steps(made[0], 3), *problem.sizes, **options, **blocks
    )
    problem.flash.backward_key[(-(-problem.source // blocks["BN"]), count)](
        *shared, Pointer(made[1]), Pointer(made[2]), *steps, *_steps(made[1], 3), *_steps(made[2], 3), *problem.sizes, **options, **blocks
    )
    return [one.reshape(other.shape) for one, other in zip(made, (query, key, value))]


KERNELS: dict[str, Any] = {"attention": attention, "attention_backward": attention_backward}
