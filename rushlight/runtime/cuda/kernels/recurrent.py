"""Recurrent layers: per time step one product by cuBLASLt and one fused pointwise kernel, forward and backward; the whole loop is one graph launch where
its addresses repeat (``captured_loops.py``).

Small layers are one kernel for all time steps (``small_recurrent.py``).

The arrays are those of ``ops/nn/rnn.py``: rows of all sequences at time 0, then at time 1, and so on.  Layers with a projection are left to the op's own
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....codegen.cuda.scalar_text import instantiated
from ....core.precision import precision
from ....ops.nn.rnn import steps
from .. import gemm
from ..cudnn import TYPES
from ..launch import CudaKernel
from . import captured_loops, small_recurrent
from .copies import contiguous, dense
from .rows import column_sums

_THREADS = 128
_SOURCE = """
typedef @T@ T; typedef @A@ A;
#define STORE(x) @STORE@
#define EACH for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < (long long)count * H; at += (long long)gridDim.x * blockDim.x)
#define PLACE long long row = at / H; int j = (int)(at % H);
__device__ inline A squash(A x) { return (A)1 / ((A)1 + exp(-x)); }
// The pre-activation of a gate: from the input and from the previous state.
#define GATE(k) ((A)value(now[(row * 4 + (k)) * H + j]) + (A)value(gates[(row * 4 + (k)) * H + j]))
extern "C" __global__ void lstm_step(T* now, const T* gates, T* hidden, T* cell, T* output, T* cells, T* before, int count, int H) {
    EACH { PLACE
        A i = squash(GATE(0)), f = squash(GATE(1)), c = tanh(GATE(2)), o = squash(GATE(3));
        A old = value(cell[at]), fresh = f * old + i * c, made = o * tanh(fresh);
        T* to = now + row * 4 * H + j;
        to[0] = STORE(i); to[H] = STORE(f); to[2 * H] = STORE(c); to[3 * H] = STORE(o);
        before[at] = hidden[at]; cells[at] = cell[at];
        cell[at] = STORE(fresh); hidden[at] = STORE(made); output[at] = hidden[at];
    }
}
extern "C" __global__ void lstm_back(const T* now, const T* cells, const T* grad_output, const T* grad_hidden, T* grad_cell, T* grad_gates, int count, int H) {
    EACH { PLACE
        const T* at_gates = now + row * 4 * H + j; T* to = grad_gates + row * 4 * H + j;
        A i = value(at_gates[0]), f = value(at_gates[H]), c = value(at_gates[2 * H]), o = value(at_gates[3 * H]), old = value(cells[at]);
        A squashed = tanh(f * old + i * c), grad = (A)value(grad_hidden[at]) + (A)value(grad_output[at]);
        A carried = (A)value(grad_cell[at]) + grad * o * (1 - squashed * squashed);
        to[0] = STORE((carried * c * i * (1 - i))); to[H] = STORE((carried * old * f * (1 - f)));
        to[2 * H] = STORE((carried * i * (1 - c * c))); to[3 * H] = STORE((grad * squashed * o * (1 - o)));
        grad_cell[at] = STORE((carried * f));
    }
}
// own is the state's part of the gates; activated has reset, update, candidate and own's part of the candidate.
extern "C" __global__ void gru_step(const T* own, const T* bias, const T* gates, T* hidden, T* activated, T* output, T* before, int count, int H) {
    EACH { PLACE
        const T* mine = own + row * 3 * H + j; const T* given = gates + row * 3 * H + j; T* to = activated + row * 4 * H + j;
        A r = value(mine[0]), z = value(mine[H]), n = value(mine[2 * H]);
        if (bias) { r += (A)value(bias[j]); z += (A)value(bias[H + j]); n += (A)value(bias[2 * H + j]); }
        r = squash(r + (A)value(given[0])); z = squash(z + (A)value(given[H]));
        A candidate = tanh((A)value(given[2 * H]) + r * n), old = value(hidden[at]);
        to[0] = STORE(r); to[H] = STORE(z); to[2 * H] = STORE(candidate); to[3 * H] = STORE(n);
        before[at] = hidden[at];
        hidden[at] = STORE((candidate * (1 - z) + z * old)); output[at] = hidden[at];
    }
}
// What passes by the gates stays in grad_hidden, to which the product is added.
extern "C" __global__ void gru_back(const T* activated, const T* before, const T* grad_output, T* grad_hidden, T* grad_gates, T* grad_own,
                                    int count, int H) {
    EACH { PLACE
        const T* a = activated + row * 4 * H + j; T* to = grad_gates + row * 3 * H + j; T* mine = grad_own + row * 3 * H + j;
        A r = value(a[0]), z = value(a[H]), candidate = value(a[2 * H]), n = value(a[3 * H]);
        A grad = (A)value(grad_hidden[at]) + (A)value(grad_output[at]), slope = grad * (1 - z) * (1 - candidate * candidate);
        A of_reset = slope * n * r * (1 - r), of_update = grad * ((A)value(before[at]) - candidate) * z * (1 - z);
        to[0] = STORE(of_reset); to[H] = STORE(of_update); to[2 * H] = STORE(slope);
        mine[0] = STORE(of_reset); mine[H] = STORE(of_update); mine[2 * H] = STORE((slope * r));
        grad_hidden[at] = STORE((grad * z));
    }
}
extern "C" __global__ void rnn_step(T* output, const T* gates, T* hidden, T* before, int relu, int count, int H) {
    EACH {
        A x = (A)value(output[at]) + (A)value(gates[at]);
        before[at] = hidden[at];
        hidden[at] = STORE((relu ? larger(x, (A)0) : tanh(x))); output[at] = hidden[at];
    }
}
extern "C" __global__ void rnn_back(const T* output, const T* grad_output, const T* grad_hidden, T* grad_gates, int relu, int count, int H) {
    EACH {
        A y = value(output[at]), grad = (A)value(grad_hidden[at]) + (A)value(grad_output[at]);
        grad_gates[at] = STORE((grad * (relu ? (A)(y > 0) : 1 - y * y)));
    }
}
"""
_FORMATS = {
    "lstm_step": "PPPPPPPii", "lstm_back": "PPPPPPii", "gru_step": "PPPPPPPii", "gru_back": "PPPPPPii", "rnn_step": "PPPPiii",
    "rnn_back": "PPPPiii",
}  # fmt: skip
_kernels: dict[Any, CudaKernel] = {}


def _kernel(cupy: Any, name: str, dtype: np.dtype[Any]) -> CudaKernel:
    found = _kernels.get((name, dtype))
    if found is None:
        found = _kernels[name, dtype] = CudaKernel(cupy, instantiated(_SOURCE, dtype), name, _FORMATS[name])
    return found


def _usable(*arrays: Any) -> bool:
    dtype = arrays[0].dtype
    return dtype in TYPES and all(each is None or each.dtype == dtype and each.size for each in arrays)


class _Times:
    """The time steps of a layer in execution order: row ranges of arrays, and the product with the previous state."""

    def __init__(
        self,
        cupy: Any,
        batch_sizes: Any,
        states: Any,
        reverse: bool,
        dtype: np.dtype[Any],
        layout: tuple[bool, int, int],
        adds: bool = False,
    ) -> None:
        """``layout``: whether the weight is transposed, the columns of the left operand and of the product; ``adds``: whether it accumulates."""
        self.order, self.size = steps(batch_sizes, states, reverse), dtype.itemsize
        self.plans: dict[int, Any] = {}
        self.make = lambda count: gemm.plan_of(cupy, count, layout, dtype, adds)
        self._cupy, self._description = cupy, (layout, dtype, reverse, *self.order)

    def queue(self, name: str, run: Callable[[], None], *depends: Any) -> None:
        """Run all time steps, as one graph launch where these addresses and numbers repeat."""
        key = (name, precision.allow_tf32, *depends, *self._description)
        captured_loops.queue(self._cupy, 2 * len(self.order), key, run)

    def product(self, count: int, left: int, weight: int, made: int) -> None:
        """The product of so many rows with the weight."""
        plan = self.plans.get(count)
        if plan is None:
            plan = self.plans[count] = self.make(count)
        plan.run(left, weight, made)


def _blocks(count: int, width: int) -> int:
    return min(-(-count * width // _THREADS), 132 * 16)


def lstm_layer(cupy: Any, gates: Any, hidden: Any, cell: Any, weight: Any, projection: Any, batch_sizes: Any, reverse: bool) -> Any:
    """One direction of one LSTM layer."""
    if projection is not None or not _usable(gates, hidden, cell, weight):
        return NotImplemented
    dtype, width = gates.dtype, cell.shape[1]
    gates, weight = contiguous(cupy, gates), contiguous(cupy, weight)
    hidden, cell = dense(cupy, hidden), dense(cupy, cell)
    activated, (output, cells, before) = cupy.ndarray(gates.shape, dtype), (cupy.ndarray((gates.shape[0], width), dtype) for _ in range(3))
    if small_recurrent.takes(weight, hidden.shape[0]):
        arrays = (gates, dense(cupy, weight.T), hidden, cell, output, activated, cells, before)
        small_recurrent.launch(cupy, "lstm_rows", arrays, steps(batch_sizes, hidden, reverse), hidden.shape[0], width, 4)
        return [output, hidden, cell, activated, cells, before]
    times, kernel = _Times(cupy, batch_sizes, hidden, reverse, dtype, (True, width, 4 * width)), _kernel(cupy, "lstm_step", dtype)
    step = width * times.size
    at = [each.data.ptr for each in (activated, gates, hidden, cell, output, cells, before)]
    given = weight.data.ptr

    def run() -> None:
        for start, count in times.order:
            wide, narrow = 4 * start * step, start * step
            times.product(count, at[2], given, at[0] + wide)
            places = (at[0] + wide, at[1] + wide, at[2], at[3], at[4] + narrow, at[5] + narrow, at[6] + narrow)
            kernel(_blocks(count, width), _THREADS, *places, count, width)

    times.queue("lstm", run, *at, given)
    return [output, hidden, cell, activated, cells, before]


def lstm_backward(
    cupy: Any, grad_output: Any, grad_hidden: Any, grad_cell: Any, weight: Any, projection: Any, activated: Any, cells: Any, before: Any,
    batch_sizes: Any, reverse: bool,
) -> Any:  # fmt: skip
    """The gradient of one direction of one LSTM layer."""
    if projection is not None or not _usable(grad_output, grad_hidden, grad_cell, weight, activated, cells):
        return NotImplemented
    dtype, width = activated.dtype, cells.shape[1]
    grad_output, weight = contiguous(cupy, grad_output), contiguous(cupy, weight)
    grad_hidden, grad_cell = dense(cupy, grad_hidden), dense(cupy, grad_cell)
    grad_gates = cupy.ndarray(activated.shape, dtype)
    if small_recurrent.takes(weight, grad_hidden.shape[0]):
        arrays = (activated, cells, grad_output, weight, grad_hidden, grad_cell, grad_gates)
        small_recurrent.launch(cupy, "lstm_rows_back", arrays, steps(batch_sizes, grad_hidden, reverse), grad_hidden.shape[0], width, 4)
    else:
        times, kernel = _Times(cupy, batch_sizes, grad_hidden, reverse, dtype, (False, 4 * width, width)), _kernel(cupy, "lstm_back", dtype)
        step = width * times.size
        at = [each.data.ptr for each in (activated, cells, grad_output, grad_hidden, grad_cell, grad_gates)]
        given = weight.data.ptr

        def run() -> None:
            for start, count in reversed(times.order):
                wide, narrow = 4 * start * step, start * step
                places = (at[0] + wide, at[1] + narrow, at[2] + narrow, at[3], at[4], at[5] + wide)
                kernel(_blocks(count, width), _THREADS, *places, count, width)
                times.product(count, at[5] + wide, given, at[3])

        times.queue("lstm back", run, *at, given)
    of_weight = gemm.layer_weight_gradient(cupy, grad_gates, before, weight.shape)
    return [grad_gates, grad_hidden, grad_cell, of_weight, cupy.ndarray((0,), dtype)]


def gru_layer(cupy: Any, gates: Any, hidden: Any, weight: Any, bias: Any, batch_sizes: Any, reverse: bool) -> Any:
    """One direction of one GRU layer."""
    if not _usable(gates, hidden, weight, bias):
        return NotImplemented
    dtype, width = gates.dtype, hidden.shape[1]
    gates, weight, hidden = contiguous(cupy, gates), contiguous(cupy, weight), dense(cupy, hidden)
    bias = None if bias is None else contiguous(cupy, bias)
    activated = cupy.ndarray((gates.shape[0], 4 * width), dtype)
    output, before = (cupy.ndarray((gates.shape[0], width), dtype) for _ in range(2))
    if small_recurrent.takes(weight, hidden.shape[0]):
        arrays = (gates, dense(cupy, weight.T), bias, hidden, output, activated, before)
        small_recurrent.launch(cupy, "gru_rows", arrays, steps(batch_sizes, hidden, reverse), hidden.shape[0], width, 3)
        return [output, hidden, activated, before]
    own = cupy.ndarray((hidden.shape[0], 3 * width), dtype)
    times, kernel = _Times(cupy, batch_sizes, hidden, reverse, dtype, (True, width, 3 * width)), _kernel(cupy, "gru_step", dtype)
    step = width * times.size
    at = [each.data.ptr for each in (own, gates, hidden, activated, output, before)]
    given, added = weight.data.ptr, 0 if bias is None else bias.data.ptr

    def run() -> None:
        for start, count in times.order:
            narrow = start * step
            times.product(count, at[2], given, at[0])
            places = (at[0], added, at[1] + 3 * narrow, at[2], at[3] + 4 * narrow, at[4] + narrow, at[5] + narrow)
            kernel(_blocks(count, width), _THREADS, *places, count, width)

    times.queue("gru", run, *at, given, added)
    return [output, hidden, activated, before]


def gru_backward(
    cupy: Any, grad_output: Any, grad_hidden: Any, weight: Any, activated: Any, before: Any, batch_sizes: Any, reverse: bool
) -> Any:
    """The gradient of one direction of one GRU layer."""
    if not _usable(grad_output, grad_hidden, weight, activated, before):
        return NotImplemented
    dtype, width = activated.dtype, before.shape[1]
    grad_output, weight, grad_hidden = contiguous(cupy, grad_output), contiguous(cupy, weight), dense(cupy, grad_hidden)
    grad_gates, grad_own = (cupy.ndarray((activated.shape[0], 3 * width), dtype) for _ in range(2))
    if small_recurrent.takes(weight, grad_hidden.shape[0]):
        arrays = (activated, before, grad_output, weight, grad_hidden, grad_gates, grad_own)
        small_recurrent.launch(cupy, "gru_rows_back", arrays, steps(batch_sizes, grad_hidden, reverse), grad_hidden.shape[0], width, 3)
        of_weight = gemm.layer_weight_gradient(cupy, grad_own, before, weight.shape)
        return [grad_gates, grad_hidden, of_weight, column_sums(cupy, grad_own, 3 * width)[0]]
    times, kernel = (
        _Times(cupy, batch_sizes, grad_hidden, reverse, dtype, (False, 3 * width, width), True),
        _kernel(cupy, "gru_back", dtype),
    )
    at = [each.data.ptr for each in (activated, before, grad_output, grad_hidden, grad_gates, grad_own)]
    given, step = weight.data.ptr, width * times.size

    def run() -> None:
        for start, count in reversed(times.order):
            narrow = start * step
            places = (at[0] + 4 * narrow, at[1] + narrow, at[2] + narrow, at[3], at[4] + 3 * narrow, at[5] + 3 * narrow)
            kernel(_blocks(count, width), _THREADS, *places, count, width)
            times.product(count, at[5] + 3 * narrow, given, at[3])

    times.queue("gru back", run, *at, given)
    of_weight = gemm.layer_weight_gradient(cupy, grad_own, before, weight.shape)
    return [grad_gates, grad_hidden, of_weight, column_sums(cupy, grad_own, 3 * width)[0]]


def rnn_layer(cupy: Any, gates: Any, hidden: Any, weight: Any, relu: bool, batch_sizes: Any, reverse: bool) -> Any:
    """One direction of one plain recurrent layer."""
    if not _usable(gates, hidden, weight):
        return NotImplemented
    dtype, width = gates.dtype, hidden.shape[1]
    gates, weight, hidden = contiguous(cupy, gates), contiguous(cupy, weight), dense(cupy, hidden)
    output, before = cupy.ndarray(gates.shape, dtype), cupy.ndarray(gates.shape, dtype)
    if small_recurrent.takes(weight, hidden.shape[0]):
        arrays, order = (gates, dense(cupy, weight.T), hidden, output, before), steps(batch_sizes, hidden, reverse)
        small_recurrent.launch(cupy, "rnn_rows", arrays, order, hidden.shape[0], width, 1, int(relu))
        return [output, hidden, before]
    times, kernel = _Times(cupy, batch_sizes, hidden, reverse, dtype, (True, width, width)), _kernel(cupy, "rnn_step", dtype)
    at, given = [each.data.ptr for each in (output, gates, hidden, before)], weight.data.ptr

    def run() -> None:
        for start, count in times.order:
            narrow = start * width * times.size
            times.product(count, at[2], given, at[0] + narrow)
            kernel(_blocks(count, width), _THREADS, at[0] + narrow, at[1] + narrow, at[2], at[3] + narrow, int(relu), count, width)

    times.queue("rnn", run, relu, *at, given)
    return [output, hidden, before]


def rnn_backward(
    cupy: Any, grad_output: Any, grad_hidden: Any, weight: Any, output: Any, before: Any, relu: bool, batch_sizes: Any, reverse: bool
) -> Any:
    """The gradient of one direction of one plain recurrent layer."""
    if not _usable(grad_output, grad_hidden, weight, output, before):
        return NotImplemented
    dtype, width = output.dtype, output.shape[1]
    grad_output, weight, grad_hidden = contiguous(cupy, grad_output), contiguous(cupy, weight), dense(cupy, grad_hidden)
    output, grad_gates = contiguous(cupy, output), cupy.ndarray(output.shape, dtype)
    if small_recurrent.takes(weight, grad_hidden.shape[0]):
        arrays, order = (output, grad_output, weight, grad_hidden, grad_gates), steps(batch_sizes, grad_hidden, reverse)
        small_recurrent.launch(cupy, "rnn_rows_back", arrays, order, grad_hidden.shape[0], width, 1, int(relu))
        return [grad_gates, grad_hidden, gemm.layer_weight_gradient(cupy, grad_gates, before, weight.shape)]
    times, kernel = _Times(cupy, batch_sizes, grad_hidden, reverse, dtype, (False, width, width)), _kernel(cupy, "rnn_back", dtype)
    at, given = [each.data.ptr for each in (output, grad_output, grad_hidden, grad_gates)], weight.data.ptr

    def run() -> None:
        for start, count in reversed(times.order):
            narrow = start * width * times.size
            kernel(_blocks(count, width), _THREADS, at[0] + narrow, at[1] + narrow, at[2], at[3] + narrow, int(relu), count, width)
            times.product(count, at[3] + narrow, given, at[2])

    times.queue("rnn back", run, relu, *at, given)
    return [grad_gates, grad_hidden, gemm.layer_weight_gradient(cupy, grad_gates, before, weight.shape)]


KERNELS: dict[str, Any] = {
    "lstm_layer": lstm_layer, "lstm_backward": lstm_backward, "gru_layer": gru_layer, "gru_backward": gru_backward, "rnn_layer": rnn_layer,
    "rnn_backward": rnn_backward,
}  # fmt: skip
