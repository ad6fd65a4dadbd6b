"""Convolutions by cuDNN, called through ctypes: forward, transposed and the gradient of the weight, in one to three dimensions.

The algorithms are measured once for each shape.  ``torch.backends.cudnn`` has the settings: ``enabled``, ``deterministic`` (no measuring, and only
algorithms that repeat their results), ``allow_tf32``.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import ml_dtypes
import numpy as np

from ....core.errors import AcceleratorError, DeviceError
from ....ops.nn.convolution import _convolution_meta, _expanded
from ..libraries import library

_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.float16): 2, np.dtype(ml_dtypes.bfloat16): 9}
_DEFAULT_MATH, _TENSOR_MATH, _FULL_MATH = 0, 1, 3
_FORWARD, _DATA, _FILTER = "Forward", "BackwardData", "BackwardFilter"
_MOST_WORKSPACE = 1 << 30


class _Performance(ctypes.Structure):
    _fields_ = [
        ("algo", ctypes.c_int), ("status", ctypes.c_int), ("time", ctypes.c_float), ("memory", ctypes.c_size_t), ("determinism", ctypes.c_int),
        ("math", ctypes.c_int), ("reserved", ctypes.c_int * 3),
    ]  # fmt: skip


class Dnn:
    """A handle of cuDNN on one device."""

    def __init__(self, cupy: Any) -> None:
        self.cupy, self.library = cupy, library(cupy, "cudnn")
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p
        self.handle, self.stream = ctypes.c_void_p(), None
        self.check(self.library.cudnnCreate(ctypes.byref(self.handle)))
        self.plans: dict[Any, Plan | None] = {}

    def check(self, status: int) -> None:
        """Raise what cuDNN says."""
        if status:
            raise AcceleratorError(f"cuDNN: {self.library.cudnnGetErrorString(status).decode()}")

    def enter(self) -> None:
        """Work goes to the current stream."""
        stream = self.cupy.cuda.get_current_stream().ptr
        if stream != self.stream:
            self.check(self.library.cudnnSetStream(self.handle, ctypes.c_void_p(stream)))
            self.stream = stream


def _ints(values: Any) -> Any:
    return (ctypes.c_int * len(values))(*values)


class Plan:
    """One convolution of given shapes, types and options: descriptors, algorithm and workspace."""

    def __init__(
        self, dnn: Dnn, what: str, x: Any, w: Any, y: Any, stride: Any, padding: Any, dilation: Any, groups: int, last: bool
    ) -> None:
        self.dnn, self.what = dnn, what
        api, made = dnn.library, []
        for kind in ("Tensor", "Tensor", "Filter", "Convolution"):
            each = ctypes.c_void_p()
            dnn.check(getattr(api, f"cudnnCreate{kind}Descriptor")(ctypes.byref(each)))
            made.append(each)
        self.x, self.y, self.w, self.options = made
        code = _TYPES[x.dtype]
        for descriptor, array in ((self.x, x), (self.y, y)):
            steps = [step // array.itemsize for step in array.strides]
            dnn.check(api.cudnnSetTensorNdDescriptor(descriptor, code, array.ndim, _ints(array.shape), _ints(steps)))
        dnn.check(api.cudnnSetFilterNdDescriptor(self.w, code, 1 if last else 0, w.ndim, _ints(w.shape)))
        compute = 1 if x.dtype == np.float64 else 0
        dnn.check(
            api.cudnnSetConvolutionNdDescriptor(self.options, len(stride), _ints(padding), _ints(stride), _ints(dilation), 1, compute)
        )
        dnn.check(api.cudnnSetConvolutionGroupCount(self.options, groups))
        math = _DEFAULT_MATH if _setting("allow_tf32", True) else _FULL_MATH
        dnn.check(api.cudnnSetConvolutionMathType(self.options, _TENSOR_MATH if x.dtype.itemsize == 2 else math))
        self._choose()
        self.scale = ctypes.c_double if x.dtype == np.float64 else ctypes.c_float
        self.one, self.zero = self.scale(1), self.scale(0)

    def _order(self) -> tuple[Any, Any, Any]:
        """The descriptors in the order of the arguments of this kind of call: two that are read, one that is written."""
        return {_FORWARD: (self.x, self.w, self.y), _DATA: (self.w, self.y, self.x), _FILTER: (self.x, self.y, self.w)}[self.what]

    def _choose(self) -> None:
        dnn, api = self.dnn, self.dnn.library
        first, second, result = self._order()
        found, count = (_Performance * 8)(), ctypes.c_int()
        if not _setting("deterministic", False) and not dnn.cupy.cuda.get_current_stream().is_capturing():  # measured once for each shape
            dnn.check(getattr(api, f"cudnnFindConvolution{self.what}Algorithm")(
                dnn.handle, first, second, self.options, result, 8, ctypes.byref(count), found))  # fmt: skip
        else:
            dnn.check(getattr(api, f"cudnnGetConvolution{self.what}Algorithm_v7")(
                dnn.handle, first, second, self.options, result, 8, ctypes.byref(count), found))  # fmt: skip
        wanted = [each for each in found[: count.value] if not each.status and each.memory <= _MOST_WORKSPACE]
        if _setting("deterministic", False):
            wanted = [each for each in wanted if each.determinism]
        if not wanted:
            raise AcceleratorError("cuDNN has no algorithm for this convolution")
        self.algorithm = wanted[0].algo
        dnn.check(api.cudnnSetConvolutionMathType(self.options, wanted[0].math))
        size = ctypes.c_size_t()
        dnn.check(getattr(api, f"cudnnGetConvolution{self.what}WorkspaceSize")(
            dnn.handle, first, second, self.options, result, self.algorithm, ctypes.byref(size)))  # fmt: skip
        self.workspace = size.value

    def run(self, x: Any, w: Any, y: Any) -> None:
        """Compute; which of the three is written depends on the kind of call."""
        dnn = self.dnn
        dnn.enter()
        scratch = dnn.cupy.cuda.alloc(self.workspace) if self.workspace else None
        space = ctypes.c_void_p(0 if scratch is None else scratch.ptr)
        given = {id(self.x): x, id(self.w): w, id(self.y): y}
        (a, b, made), call = self._order(), getattr(dnn.library, f"cudnnConvolution{self.what}")
        dnn.check(call(
            dnn.handle, ctypes.byref(self.one), a, ctypes.c_void_p(given[id(a)].data.ptr), b, ctypes.c_void_p(given[id(b)].data.ptr), self.options,
            self.algorithm, space, ctypes.c_size_t(self.workspace), ctypes.byref(self.zero), made, ctypes.c_void_p(given[id(made)].data.ptr),
        ))  # fmt: skip


def _setting(name: str, default: Any) -> Any:
    """A setting of ``torch.backends.cudnn``; nobody has changed those of a module that is not loaded."""
    return getattr(sys.modules.get("rushlight.backends.cudnn"), name, default)


_handles: dict[int, Dnn] = {}


def _dnn(cupy: Any) -> Dnn:
    index = cupy.cuda.runtime.getDevice()
    found = _handles.get(index)
    if found is None:
        found = _handles[index] = Dnn(cupy)
    return found


def _usable(*arrays: Any) -> bool:
    return bool(_setting("enabled", True)) and all(each.dtype in _TYPES and 3 <= each.ndim <= 5 and each.size for each in arrays)


def _is_last(array: Any) -> bool:
    """Whether the channels are what changes fastest in memory."""
    if array.ndim < 4 or array.shape[1] == 1:
        return False
    return bool(array.transpose(0, *range(2, array.ndim), 1).flags.c_contiguous) and not array.flags.c_contiguous


def _dense(cupy: Any, array: Any, last: bool) -> Any:
    """The array in row-major order, or with its channels last."""
    if not last:
        return cupy.ascontiguousarray(array)
    turned = cupy.ascontiguousarray(array.transpose(0, *range(2, array.ndim), 1))
    return turned.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def _empty(cupy: Any, shape: tuple[int, ...], dtype: Any, last: bool) -> Any:
    if not last:
        return cupy.ndarray(shape, dtype)
    return cupy.ndarray((shape[0], *shape[2:], shape[1]), dtype).transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


def _run(cupy: Any, what: str, x: Any, w: Any, y: Any, stride: Any, padding: Any, dilation: Any, groups: int, last: bool) -> bool:
    if x.ndim == 3:  # cuDNN has no convolutions in one dimension
        x, w, y = (each[:, :, None] for each in (x, w, y))
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    dnn = _dnn(cupy)
    key = (what, x.shape, x.strides, w.shape, y.shape, x.dtype, tuple(stride), tuple(padding), tuple(dilation), groups, last,
           *(_setting(name, None) for name in ("benchmark", "deterministic", "allow_tf32")))  # fmt: skip
    if key not in dnn.plans:
        dnn.enter()
        try:
            dnn.plans[key] = Plan(dnn, what, x, w, y, stride, padding, dilation, groups, last)
        except AcceleratorError:  # a combination that cuDNN does not have: the op's own kernel has it
            dnn.plans[key] = None
    plan = dnn.plans[key]
    if plan is None:
        return False
    plan.run(x, w, y)
    return True


def convolution(
    cupy: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """A convolution or its transpose."""
    if not _usable(input, weight):
        return NotImplemented
    spec = _convolution_meta(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if 0 in spec.shape or not _has_cudnn(cupy):
        return NotImplemented
    stride, padding, dilation, _ = _expanded(weight.ndim - 2, stride, padding, dilation, output_padding)
    last = _is_last(input) or _is_last(weight)
    input, weight = _dense(cupy, input, last), _dense(cupy, weight, last)
    made = _empty(cupy, spec.shape, input.dtype, last)
    what, x, y = (_DATA, made, input) if transposed else (_FORWARD, input, made)
    if not _run(cupy, what, x, weight, y, stride, padding, dilation, groups, last):
        return NotImplemented
    if bias is not None:
        cupy.add(made, bias.reshape(-1, *[1] * len(stride)), out=made)
    return made


def convolution_weight_gradient(
    cupy: Any, input: Any, grad: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The gradient of a convolution's weight."""
    if not _usable(input, grad) or not _has_cudnn(cupy):
        return NotImplemented
    stride, padding, dilation, _ = _expanded(len(kernel), stride, padding, dilation)
    last = _is_last(input) or _is_last(grad)
    made = _empty(cupy, (grad.shape[1], input.shape[1] // groups, *kernel), grad.dtype, last)
    if not _run(cupy, _FILTER, _dense(cupy, input, last), made, _dense(cupy, grad, last), stride, padding, dilation, groups, last):
        return NotImplemented
    return made


def _has_cudnn(cupy: Any) -> bool:
    try:
        _dnn(cupy)
    except DeviceError:
        return False
    return True


KERNELS: dict[str, Any] = {"convolution": convolution, "convolution_weight_gradient": convolution_weight_gradient}
