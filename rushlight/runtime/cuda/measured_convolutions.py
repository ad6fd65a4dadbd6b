"""Autotuning of convolutions of compiled programs: cuDNN, or implicit GEMM (``kernels/implicit_convolution.py``).

Measured before the program is captured, and cached on disk, as products are (``measured_products.py``).  Eager mode always uses cuDNN.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from ...core.dtypes import HALF_PRECISION
from ..cpu.code_cache import cache
from .kernel_store import StoredKernel, has_triton, of_file
from .measured_products import device_name, fill_array, measured

log = logging.getLogger("rushlight.triton")
_FILE = str(Path(__file__).parent / "kernels" / "implicit_convolution.py")
_VERSION = 2
_MOST = 1 << 32  # multiplications beyond which cuDNN has the better kernels
_GAIN = 0.97  # of cuDNN's time, below which the implicit GEMM is chosen
_PROCESSORS = 132
_WIDE = (1 << 31) - 1


class ImplicitConvolution:
    """A convolution of row-major arrays of given shapes as one kernel."""

    def __init__(
        self, cupy: Any, image: tuple[int, ...], filters: tuple[int, ...], result: tuple[int, ...], dtype: Any, options: tuple[Any, ...]
    ) -> None:
        self.cupy, self.dtype = cupy, dtype
        stride, padding, dilation = options
        _, channels, height, width = image
        count, _, rows, columns = filters
        pixels, depth = result[0] * result[2] * result[3], channels * rows * columns
        self.numbers = {
            "pixels": pixels, "filters": count, "depth": depth, "height": height, "width": width, "out_height": result[2], "out_width": result[3],
            "step_y": stride[0], "step_x": stride[1], "pad_y": padding[0], "pad_x": padding[1], "spread_y": dilation[0], "spread_x": dilation[1],
            "image": channels * height * width, "plane": height * width,
        }  # fmt: skip
        high = 32 if count <= 32 else 64
        wide = 64 if -(-pixels // 64) * -(-count // high) >= _PROCESSORS else 32
        deep = 32
        if count >= 128 and -(-pixels // 32) * -(-count // high) < _PROCESSORS:  # all filters in one tile, with few pixels
            high, wide, deep = 128, 16, 64
        self.sizes = {"R": rows, "S": columns, "PRECISION": "tf32", "BM": high, "BN": wide, "BK": deep, "num_warps": 4, "num_stages": 3}
        self.grid = (-(-pixels // wide), -(-count // high))
        self.launches: dict[Any, Any] = {}

    def request(self, arrays: dict[str, Any], biased: bool) -> Future[StoredKernel]:
        """Compile the kernel for arrays like these."""
        return of_file(self.cupy, _FILE, "implicit_convolution", {**arrays, **self.numbers}, {**self.sizes, "BIASED": biased})

    def run(self, image: Any, filters: Any, bias: Any, made: Any) -> None:
        """Compute."""
        arrays = {"X": image, "W": filters, "BIAS": made if bias is None else bias, "Y": made}
        addresses = [int(each.data.ptr) for each in arrays.values()]
        key = (bias is None, *[each % 16 == 0 for each in addresses])
        found = self.launches.get(key)
        if found is None:
            found = self.request(arrays, bias is not None).result().launch(self.cupy, self.grid, {**arrays, **self.numbers})
            self.launches[key] = found
        found(*addresses)


_chosen: dict[Any, ImplicitConvolution | None] = {}
_pending: dict[Any, tuple[ImplicitConvolution, Callable[..., None], tuple[Any, ...]]] = {}


def takes(image: Any, filters: Any, bias: Any, result: tuple[int, ...], groups: int, exact: bool) -> bool:
    """Whether the kernel computes such a convolution; ``exact`` float32 is cuDNN's."""
    if image.ndim != 4 or groups != 1 or image.dtype != filters.dtype or not (image.flags.c_contiguous and filters.flags.c_contiguous):
        return False
    if not (image.dtype in HALF_PRECISION or (image.dtype == np.float32 and not exact)) or not has_triton():
        return False
    if bias is not None and (bias.dtype != image.dtype or not bias.flags.c_contiguous):
        return False
    return max(image.size, math.prod(result)) < _WIDE and math.prod(result) * filters[0].size <= _MOST


def chosen(
    cupy: Any,
    key: Any,
    image: Any,
    filters: Any,
    bias: Any,
    result: tuple[int, ...],
    options: tuple[Any, ...],
    by_cudnn: Callable[..., None],
) -> ImplicitConvolution | None:
    """The kernel where it is known to be faster; else None, and an unmeasured one is recorded.  ``by_cudnn`` computes image, filters, bias and result."""
    if key in _chosen:
        return _chosen[key]
    if key not in _pending:
        own = ImplicitConvolution(cupy, image.shape, filters.shape, result, image.dtype, options)
        _pending[key] = (own, by_cudnn, (image.shape, filters.shape, None if bias is None else bias.shape, result))
    return None


def measure_convolutions(cupy: Any) -> None:
    """Measure each convolution that was recorded; nothing is measured during a graph capture."""
    if not _pending or cupy.cuda.get_current_stream().is_capturing():
        return
    waiting, device = dict(_pending), device_name(cupy, cupy.cuda.runtime.getDevice())
    _pending.clear()
    unknown = []
    for key, (own, by_cudnn, shapes) in waiting.items():
        key_fields = ("convolution", _VERSION, device, shapes, str(own.dtype), own.numbers, own.sizes)
        name = hashlib.sha256(repr(key_fields).encode()).hexdigest()
        known = cache.find(name)
        if known is not None:
            _chosen[key] = own if known == b"1" else None
        else:
            unknown.append((key, own, by_cudnn, shapes, name))
    if not unknown:
        return
    cupy.cuda.Device().synchronize()
    stream, pool = cupy.cuda.Stream(non_blocking=True), cupy.cuda.MemoryPool()
    with stream, cupy.cuda.using_allocator(pool.malloc):
        prepared = []
        for each in unknown:
            _, own, _, shapes, _ = each
            arrays = [None if shape is None else cupy.ndarray(shape, own.dtype) for shape in shapes]
            image, filters, bias, made = arrays
            own.request({"X": image, "W": filters, "BIAS": made if bias is None else bias, "Y": made}, bias is not None)
            prepared.append((each, arrays))
        for (key, own, by_cudnn, shapes, name), arrays in prepared:
            for array in arrays[:3]:
                if array is not None:
                    fill_array(cupy, array)
            own.run(*arrays)  # loaded, before it is captured
            by_cudnn(*arrays)
            stream.synchronize()
            times = [measured(cupy, stream, lambda way=way, arrays=arrays: way(*arrays)) for way in (by_cudnn, own.run)]
            better = times[1] < _GAIN * times[0]
            _chosen[key] = own if better else None
            log.info("a convolution of %s and %s: cuDNN %.1f µs, as a product %.1f", shapes[0], shapes[1], *times)
            cache.store(name, b"1" if better else b"0")


__all__ = ["ImplicitConvolution", "chosen", "measure_convolutions", "takes"]
