"""Triton kernels that test files import by PyTorch's names for them (``torch.testing._internal.triton_utils``); loaded only where Triton is installed."""

from __future__ import annotations

import triton
import triton.language as tl

_CONFIGS = [triton.Config({"BLOCK_SIZE": size}, num_stages=3, num_warps=warps) for size in (128, 64) for warps in (8, 4)]
_CONFIGS_2D = [triton.Config({"BLOCK_SIZE_X": x, "BLOCK_SIZE_Y": y}, num_stages=3, num_warps=4) for x in (128, 64) for y in (128, 64)]


@triton.jit
def _indices(BLOCK_SIZE: tl.constexpr):
    return tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)


@triton.jit
def add_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    tl.store(out_ptr + at, tl.load(in_ptr0 + at, at < n_elements) + tl.load(in_ptr1 + at, at < n_elements), at < n_elements)


@triton.jit
def sub_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    tl.store(out_ptr + at, tl.load(in_ptr0 + at, at < n_elements) - tl.load(in_ptr1 + at, at < n_elements), at < n_elements)


@triton.jit
def add_kernel_with_optional_param(in_ptr0, in_ptr1, out_ptr, n_elements, ARGS_PASSED: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    found = tl.load(in_ptr0 + at, at < n_elements)
    if ARGS_PASSED == "two":
        found += tl.load(in_ptr1 + at, at < n_elements)
    tl.store(out_ptr + at, found, at < n_elements)


@triton.jit
def add_kernel_with_none_param_and_equal_to_1_arg(
    in_ptr0, in_ptr1, out_ptr, n_elements, stride, ARGS_PASSED: tl.constexpr, BLOCK_SIZE: tl.constexpr
):
    at = _indices(BLOCK_SIZE)
    found = tl.load(in_ptr0 + at * stride, at < n_elements)
    if ARGS_PASSED == "two":
        found += tl.load(in_ptr1 + at * stride, at < n_elements)
    tl.store(out_ptr + at * stride, found, at < n_elements)


add_kernel_autotuned = triton.autotune(configs=_CONFIGS, key=[])(add_kernel)
sub_kernel_autotuned = triton.autotune(configs=_CONFIGS, key=[])(sub_kernel)


@triton.autotune(configs=_CONFIGS, key=[])
@triton.jit
def add_kernel_autotuned_weird_param_order(in_ptr0, in_ptr1, n_elements, BLOCK_SIZE: tl.constexpr, out_ptr):
    at = _indices(BLOCK_SIZE)
    tl.store(out_ptr + at, tl.load(in_ptr0 + at, at < n_elements) + tl.load(in_ptr1 + at, at < n_elements), at < n_elements)


@triton.autotune(configs=_CONFIGS_2D, key=[])
@triton.jit
def add_kernel_2d_autotuned(in_ptr0, in_ptr1, out_ptr, x_elements, y_elements, BLOCK_SIZE_X: tl.constexpr, BLOCK_SIZE_Y: tl.constexpr):
    x = tl.program_id(0) * BLOCK_SIZE_X + tl.arange(0, BLOCK_SIZE_X)[:, None]
    y = tl.program_id(1) * BLOCK_SIZE_Y + tl.arange(0, BLOCK_SIZE_Y)[None, :]
    mask, at = (x < x_elements) & (y < y_elements), x + x_elements * y
    tl.store(out_ptr + at, tl.load(in_ptr0 + at, mask) + tl.load(in_ptr1 + at, mask), mask)


@triton.jit
def add_kernel_with_scaling(in_ptr0, in_ptr1, out_ptr, n_elements, scaling_factor, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    found = tl.load(in_ptr0 + at, at < n_elements) + tl.load(in_ptr1 + at, at < n_elements)
    tl.store(out_ptr + at, found * scaling_factor, at < n_elements)


@triton.jit
def mul2_kernel(in_ptr0, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    tl.store(out_ptr + at, 2 * tl.load(in_ptr0 + at, at < n_elements), at < n_elements)


@triton.jit
def mul2_inplace_kernel(ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    tl.store(ptr + at, 2 * tl.load(ptr + at, at < n_elements), at < n_elements)


@triton.jit
def zero_negs(x):
    return tl.where(x >= 0, x, 0)


@triton.jit
def indirection_kernel(in_ptr0, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr, ACTIVATION: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    if ACTIVATION == "mul2_inplace_kernel":
        mul2_inplace_kernel(in_ptr0, n_elements, BLOCK_SIZE=BLOCK_SIZE)
    elif ACTIVATION == "add_kernel":
        add_kernel(in_ptr0, in_ptr0, out_ptr, n_elements, BLOCK_SIZE=BLOCK_SIZE)
    tl.store(out_ptr + at, tl.load(in_ptr0 + at, at < n_elements), at < n_elements)


@triton.jit
def double_strided_kernel(in_ptr, out_ptr, in_y_stride, out_y_stride, X_BLOCK_SIZE: tl.constexpr, Y_BLOCK_SIZE: tl.constexpr):
    x = tl.program_id(0) * X_BLOCK_SIZE + tl.arange(0, X_BLOCK_SIZE)[None, :]
    y = tl.program_id(1) * Y_BLOCK_SIZE + tl.arange(0, Y_BLOCK_SIZE)[:, None]
    tl.store(out_ptr + y * out_y_stride + x, 2.0 * tl.load(in_ptr + y * in_y_stride + x))


@triton.jit
def cond_op_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    x, y = tl.load(in_ptr0 + at, at < n_elements), tl.load(in_ptr1 + at, at < n_elements)
    if tl.program_id(0) == 0:
        found = x + y
    else:
        found = x * y
    tl.store(out_ptr + at, found, at < n_elements)


@triton.jit
def atomic_add_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    tl.atomic_add(out_ptr + at, tl.load(in_ptr0 + at, at < n_elements) + tl.load(in_ptr1 + at, at < n_elements), at < n_elements)


@triton.jit
def add_4_times_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    found = tl.load(in_ptr0 + at, at < n_elements) + tl.load(in_ptr1 + at, at < n_elements)
    for _ in range(4):
        tl.store(out_ptr + at, found, at < n_elements)


@triton.jit
def add_kernel_out_of_order_fn2(in_ptr0, in_ptr1, n_elements, out_ptr, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    tl.store(out_ptr + at, tl.load(in_ptr0 + at, at < n_elements) + tl.load(in_ptr1 + at, at < n_elements), at < n_elements)


@triton.jit
def add_kernel_with_boolean_param(in_ptr0, in_ptr1, out_ptr, n_elements, add_xy, BLOCK_SIZE: tl.constexpr):
    at = _indices(BLOCK_SIZE)
    found = tl.load(in_ptr0 + at, at < n_elements)
    if add_xy:
        found += tl.load(in_ptr1 + at, at < n_elements)
    tl.store(out_ptr + at, found, at < n_elements)
