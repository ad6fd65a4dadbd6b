"""Attention on CUDA by the flash kernels of ``flash.py``: causal, with a mask, dropout and heads that share keys, in half and single precision; and its gradient.

For the gradient, the forward pass keeps the log-sum-exp of each row instead of the weights, with the output and the seed of the dropout.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....core.devices import device_types
from ....core.dtypes import HALF_PRECISION
from ....core.precision import precision
from ....core.state import state
from .. import measured_products
from ..captured_work import put_words
from ..kernel_store import has_triton, of_file
from ..launch_replay import replayed
from ..triton_launch import Launch
from .copies import contiguous

_FLOAT32 = np.dtype(np.float32)
_WIDEST = 256
_INPUTS = ("Q", "K", "V", "M", "NOISE")
NO_MASK, CHOICES, ADDED = 0, 1, 2  # what a mask is to the kernels
_FLASH = str(Path(__file__).parent / "flash.py")
_FEW = 64 * 64  # scores below which three tensor-core products cost more than one exact product


def blocks(kernel: str, width: int, narrow: bool, length: int) -> dict[str, Any]:
    """Block sizes, warps and stages of a kernel for heads of a (padded) width, as measured on an H200; ``narrow`` is half precision."""
    if not narrow:
        if kernel == "forward" and width <= 64 and length <= 64:
            return dict(BM=16, BN=64, num_warps=4, num_stages=1)
        if kernel == "forward":
            large = dict(BM=128, BN=64, num_warps=8, num_stages=2) if length > 512 else dict(BM=64, BN=32, num_warps=4, num_stages=2)
            return large if width <= 64 else dict(BM=32, BN=32, num_warps=4, num_stages=1 + (width <= 128))
        if kernel == "backward_query" and width <= 64:
            return dict(BM=64, BN=32, num_warps=4, num_stages=1)
        if kernel == "backward_key" and width <= 64 and length > 512:
            return dict(BM=32, BN=128, num_warps=8, num_stages=1)
        return dict(BM=32, BN=32, num_warps=4, num_stages=1)
    if width > 128:
        return dict(BM=64, BN=32, num_warps=8, num_stages=2) if kernel == "forward" else dict(BM=32, BN=32, num_warps=8, num_stages=1)
    if kernel == "forward":
        return dict(BM=64, BN=64, num_warps=4, num_stages=2) if width <= 64 else dict(BM=128, BN=64, num_warps=8, num_stages=3)
    if kernel == "backward_query":
        return dict(BM=64, BN=64, num_warps=4, num_stages=3 if width <= 64 else 2)
    return dict(BM=32, BN=64, num_warps=4, num_stages=3) if width <= 64 else dict(BM=64, BN=128, num_warps=8, num_stages=2)


@functools.cache
def rows_type(cupy: Any) -> Any:
    """The class of what the forward pass keeps: logarithms of the rows' sums, with the output and what dropout was drawn from."""
    about = "Logarithms of the sums of attention's rows, with its output, and what dropout was drawn from."
    return type("AttentionRows", (cupy.ndarray,), {"output": None, "noise": None, "dropping": None, "__doc__": about})


class Dropping(NamedTuple):
    """How a dropout of the matrix of weights would draw its numbers: each is kept with probability ``keep``."""

    keep: float
    vector: int  # adjacent elements per thread
    threads: int


def _four(array: Any) -> Any:
    """The array with a batch and a head dimension."""
    return array if array.ndim == 4 else array[None] if array.ndim == 3 else array[None, None]


def _steps(array: Any, count: int) -> list[int]:
    """The strides, in elements, of the first dimensions; 0 where a dimension is broadcast."""
    return [0 if size == 1 else step // array.itemsize for size, step in zip(array.shape[:count], array.strides[:count])]


def _readable(cupy: Any, array: Any) -> Any:
    return array if array.strides[-1] == array.itemsize or array.shape[-1] == 1 else contiguous(cupy, array)


def _plain_steps(array: Any) -> list[int]:
    return [step // array.itemsize for step in array.strides]


def _like(cupy: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """A new array of a shape with the layout of another: (batch, head, row, column), or with the rows outside the heads."""
    if array.strides[1] >= array.strides[2] or shape[1] == 1:
        return cupy.ndarray(shape, array.dtype)
    return cupy.ndarray((shape[0], shape[2], shape[1], shape[3]), array.dtype).transpose(0, 2, 1, 3)


def _gradients_like(cupy: Any, inputs: tuple[Any, ...]) -> list[Any]:
    """Arrays for the gradients of query, key and value, with their strides: views of one array where those are."""
    query, key, value = inputs
    batch, heads, length, width = query.shape
    part = heads * width * query.itemsize
    steps = (3 * part, width * query.itemsize, query.itemsize)
    joint = query.shape == key.shape == value.shape and all(
        each.strides[2] == steps[0]
        and each.strides[1] == steps[1]
        and each.strides[3] == steps[2]
        and each.data.ptr == query.data.ptr + at * part
        for at, each in enumerate(inputs)
    )
    if not joint or length == 1 or heads == 1:
        return [_like(cupy, each, each.shape) for each in inputs]
    made = cupy.ndarray((batch, length, 3, heads, width), query.dtype).transpose(2, 0, 3, 1, 4)
    return [made[at] for at in range(3)]


class _Problem:
    """Kernels for arrays of given shapes, strides and options, ready to be launched again."""

    def __init__(
        self, cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, dropping: Dropping | None = None
    ) -> None:
        self.cupy = cupy
        self.batch, self.heads, self.length, self.width = query.shape
        self.groups, self.source, self.wide = key.shape[1], key.shape[2], value.shape[3]
        keep, vector, threads = dropping or (1.0, 0, 1)
        kind = NO_MASK if mask is None else CHOICES if mask.dtype == np.uint8 else ADDED
        narrow = query.dtype in HALF_PRECISION
        padded = max(16, 1 << (max(self.width, self.wide) - 1).bit_length())
        self.options = dict(
            CAUSAL=bool(causal), MASK=kind, D=padded, DV=padded, WD=self.width, WV=self.wide,
            PRECISION="tf32" if narrow or precision.allow_tf32 else "ieee" if self.length * self.source < _FEW else "tf32x3",
            REPEAT=self.heads // self.groups, VEC=vector, QUADS=vector >= 4 and self.source % 4 == 0,
        )  # fmt: skip
        self.blocks = {each: blocks(each, padded, narrow, self.length) for each in ("forward", "backward_query", "backward_key")}
        self.sizes = {
            "heads": self.heads, "length": self.length, "source": self.source, "scale": float(scale), "keep": float(keep), "stride": threads,
        }  # fmt: skip
        self.given = {
            **_named("sq", "bhm", _steps(query, 3)), **_named("sk", "bhn", _steps(key, 3)), **_named("sv", "bhn", _steps(value, 3)),
            **_named("sm", "bhmn", _plain_steps(mask) if mask is not None else [0] * 4),
        }  # fmt: skip
        self._launches: dict[Any, Launch] = {}
        self.seen = False  # whether it was computed before

    def compile_ahead(self, inputs: tuple[Any, ...], output: Any, logs: Any) -> None:
        """Compile the kernels of the gradient in the background.

        It assumes that gradients have their inputs' strides; for others, kernels are compiled at the first backward pass.
        """
        arrays, steps = self.arrays_backward(output, output, logs, logs, inputs, list(inputs[:3])), (output, output, list(inputs[:3]))
        for name, given in arrays.items():
            _, numbers, options = self.describe_backward(name, *steps)
            of_file(self.cupy, _FLASH, name, {**given, **numbers}, options)

    def launch(self, name: str, arrays: dict[str, Any], steps: tuple[Any, ...], describe: Callable[[], tuple[Any, Any, Any]]) -> None:
        """Launch a kernel, compiled the first time for strides and alignments; ``describe`` gives its grid, numbers and options."""
        addresses = [each.data.ptr for each in arrays.values()]
        key = (name, steps, *[each % 16 for each in addresses])
        found = self._launches.get(key)
        if found is not None:
            found(*addresses)
        else:
            grid, numbers, options = describe()
            values = {**arrays, **numbers}
            found = self._launches[key] = of_file(self.cupy, _FLASH, name, values, options).result().launch(self.cupy, grid, values)
            found(*addresses)

    def forward(self, inputs: tuple[Any, ...], output: Any, logs: Any) -> None:
        """Compute the output and the logarithms of the rows' sums."""

        def describe() -> tuple[Any, Any, Any]:
            blocks = self.blocks["forward"]
            numbers = {**self.given, **_named("so", "bhm", _steps(output, 3)), **self.sizes}
            even = self.source % blocks["BN"] == 0
            return (self.batch * self.heads, -(-self.length // blocks["BM"])), numbers, {**self.options, **blocks, "EVEN": even}

        self.launch("forward", {**dict(zip(_INPUTS, inputs)), "OUT": output, "L": logs}, (), describe)

    def arrays_backward(
        self, given: Any, output: Any, logs: Any, sums: Any, inputs: tuple[Any, ...], made: list[Any]
    ) -> dict[str, dict[str, Any]]:
        """The arrays of each kernel of the gradient, in the order of launching."""
        shared = {**dict(zip(_INPUTS, inputs)), "G": given, "L": logs, "S": sums}
        return {
            "products": {"G": given, "OUT": output, "S": sums},
            "backward_query": {**shared, "DQ": made[0]},
            "backward_key": {**shared, "DK": made[1], "DW": made[2]},
        }

    def describe_backward(self, name: str, given: Any, output: Any, made: list[Any]) -> tuple[Any, Any, Any]:
        """The grid, the numbers and the options of a kernel of the gradient."""
        count, options, of_grad = self.batch * self.heads, self.options, _named("sg", "bhm", _steps(given, 3))
        if name == "products":
            numbers = {**of_grad, **_named("so", "bhm", _steps(output, 3)), "heads": self.heads, "length": self.length}
            return (count, -(-self.length // 64)), numbers, dict(DV=options["DV"], WV=options["WV"], BM=64)
        blocks = self.blocks[name]
        if name == "backward_query":
            own, grid = _named("sd", "bhm", _steps(made[0], 3)), (count, -(-self.length // blocks["BM"]))
        else:
            own = {**_named("sd", "bhn", _steps(made[1], 3)), **_named("sw", "bhn", _steps(made[2], 3))}
            grid = (self.batch * self.groups, -(-self.source // blocks["BN"]))
        even = self.source % blocks["BN"] == 0 if name == "backward_query" else self.length % blocks["BM"] == 0
        return grid, {**self.given, **of_grad, **own, **self.sizes}, {**options, **blocks, "EVEN": even}

    def backward(self, given: Any, output: Any, logs: Any, sums: Any, inputs: tuple[Any, ...], made: list[Any]) -> None:
        """Compute the gradients of query, key and value."""
        steps = (given.strides, output.strides, *[each.strides for each in made])
        for name, arrays in self.arrays_backward(given, output, logs, sums, inputs, made).items():
            self.launch(name, arrays, steps, functools.partial(self.describe_backward, name, given, output, made))


def _named(first: str, dims: str, steps: list[int]) -> dict[str, int]:
    """Strides under the names that kernels have for them."""
    return {f"{first}_{dim}": step for dim, step in zip(dims, steps)}


_problems: dict[Any, _Problem] = {}


def _inputs(
    cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, dropping: Dropping | None = None, noise: Any = None
) -> tuple[_Problem, tuple[Any, ...]]:
    """The arrays of a call as kernels take them, and their problem."""
    query, key, value = (_readable(cupy, _four(each)) for each in (query, key, value))
    if mask is not None:
        mask = cupy.broadcast_to(mask, (*query.shape[:3], key.shape[2]))
        if mask.dtype == np.bool_:
            mask = mask.view(np.uint8)
    name = (
        query.shape, query.strides, key.shape, key.strides, value.shape, value.strides, query.dtype, None if mask is None else (mask.strides, mask.dtype),
        causal, scale, dropping, precision.allow_tf32, cupy.cuda.runtime.getDevice(),
    )  # fmt: skip
    problem = _problems.get(name)
    if problem is None:
        if len(_problems) >= 512:
            _problems.clear()
        problem = _problems[name] = _Problem(cupy, query, key, value, mask, causal, scale, dropping)
    return problem, (query, key, value, query if mask is None else mask, query if noise is None else noise)


def takes(query: Any, key: Any, value: Any, mask: Any, shared: bool = False) -> bool:
    """Whether the kernels take arrays; ``shared`` heads are those of which several have the same keys and values."""
    if not 2 <= query.ndim <= 4 or not (query.ndim == key.ndim == value.ndim) or key.shape[:-2] != value.shape[:-2]:
        return False
    if shared and query.ndim == 4:
        if query.shape[0] != key.shape[0] or not key.shape[1] or query.shape[1] % key.shape[1]:
            return False
    elif query.shape[:-2] != key.shape[:-2]:
        return False
    if not (query.dtype == key.dtype == value.dtype) or query.dtype != _FLOAT32 and query.dtype not in HALF_PRECISION:
        return False
    if not query.size or not key.size or not value.size or max(query.shape[-1], value.shape[-1]) > _WIDEST:
        return False
    if mask is not None and (mask.ndim > 4 or mask.dtype != np.bool_ and mask.dtype not in (*HALF_PRECISION, _FLOAT32)):
        return False
    return has_triton()


@replayed
def _forward(cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, tf32: bool, shared: bool = False) -> Any:
    """The output, and the logarithms of the rows' sums."""
    if not takes(query, key, value, mask, shared):
        return NotImplemented
    problem, inputs = _inputs(cupy, query, key, value, mask, causal, scale)
    output = _like(cupy, inputs[0], (problem.batch, problem.heads, problem.length, problem.wide))
    logs = rows_type(cupy)((problem.batch, problem.heads, problem.length), _FLOAT32)
    if (state.grad_enabled or measured_products.measuring) and not problem.seen:
        problem.compile_ahead(inputs, output, logs)
    problem.seen = True
    problem.forward(inputs, output, logs)
    return [output, logs]


def attention(cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    """The output of attention, and what its gradient needs."""
    made = _forward(cupy, query, key, value, mask, causal, scale, precision.allow_tf32)
    if made is NotImplemented:
        return NotImplemented
    output, logs = made
    logs.output = output
    return [output if query.ndim == 4 else output.reshape(*query.shape[:-1], output.shape[-1]), logs]


@replayed
def _backward(
    cupy: Any, grad: Any, query: Any, key: Any, value: Any, logs: Any, output: Any, mask: Any, causal: bool, scale: float, tf32: bool
) -> list[Any]:
    """The gradients of query, key and value, in four dimensions."""
    problem, inputs = _inputs(cupy, query, key, value, mask, causal, scale)
    given, sums = _readable(cupy, _four(grad)), cupy.ndarray(logs.shape, _FLOAT32)
    made = _gradients_like(cupy, inputs[:3])
    problem.backward(given, output, logs, sums, inputs, made)
    return made


def attention_backward(
    cupy: Any, grad: Any, query: Any, key: Any, value: Any, weights: Any, scale: float, causal: bool, mask: Any = None
) -> Any:
    """The gradients of query, key and value."""
    if weights is None and takes(query, key, value, mask):  # not kept, to save memory: recomputed
        weights = attention(cupy, query, key, value, mask, causal, scale)[1]
    if not isinstance(weights, rows_type(cupy)):
        return NotImplemented
    made = _backward(cupy, grad, query, key, value, weights, weights.output, mask, causal, scale, precision.allow_tf32)
    return made if query.ndim == 4 else [one.reshape(other.shape) for one, other in zip(made, (query, key, value))]


def flash_attention(cupy: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, dropout_p: float) -> Any:
    """The output of attention with dropout, or of heads that share keys and values, and what its gradient needs."""
    if not takes(query, key, value, mask, True):
        return NotImplemented
    if not dropout_p and query.ndim == 4:
        made = _forward(cupy, query, key, value, mask, causal, scale, precision.allow_tf32, True)
        made[1].output = made[0]
        return made
    dropping, noise = None, None
    if dropout_p:
        count = query.size // query.shape[-1] * key.shape[-2]
        keep, vector, threads, seed, first = device_types["cuda"].default_generator().dropout_plan(count, query.dtype, 1 - dropout_p)  # type: ignore[attr-defined]
        dropping, noise = Dropping(keep, vector, threads), cupy.ndarray((2,), np.int64)
        put_words(cupy, noise.data.ptr, seed, first)
    problem, inputs = _inputs(cupy, query, key, value, mask, causal, scale, dropping, noise)
    output = _like(cupy, inputs[0], (problem.batch, problem.heads, problem.length, problem.wide))
    logs = rows_type(cupy)((problem.batch, problem.heads, problem.length), _FLOAT32)
    problem.forward(inputs, output, logs)
    logs.output, logs.noise, logs.dropping = output, noise, dropping
    return [output if query.ndim == 4 else output.reshape(*query.shape[:-1], output.shape[-1]), logs]


def flash_attention_backward(
    cupy: Any, grad: Any, query: Any, key: Any, value: Any, rows: Any, mask: Any, causal: bool, scale: float
) -> Any:
    """The gradients of query, key and value of :func:`flash_attention`."""
    if rows.noise is None and query.ndim == 4:
        return _backward(cupy, grad, query, key, value, rows, rows.output, mask, causal, scale, precision.allow_tf32)
    problem, inputs = _inputs(cupy, query, key, value, mask, causal, scale, rows.dropping, rows.noise)
    given, sums = _readable(cupy, _four(grad)), cupy.ndarray(rows.shape, _FLOAT32)
    made = _gradients_like(cupy, inputs[:3])
    problem.backward(given, rows.output, rows, sums, inputs, made)
    return made if query.ndim == 4 else [one.reshape(other.shape) for one, other in zip(made, (query, key, value))]


KERNELS: dict[str, Any] = {
    "attention": attention, "attention_backward": attention_backward, "flash_attention": flash_attention,
    "flash_attention_backward": flash_attention_backward,
}  # fmt: skip
SHORTCUTS: dict[str, Any] = {
    "takes_attention": lambda cupy, query, key, value, mask: takes(query, key, value, mask, True), "attention_gradients": attention_backward,
}  # fmt: skip
