"""Repeated launches of a Triton kernel whose scalar arguments are constant: only addresses are packed, and the driver is called directly.

Triton's own launch inspects every argument, which takes longer than most kernels of small models run.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import faults, launch_record
from .launch import BLOCKING, Block, addresses_in, check, failed, repeated

PACKED = {"i1": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "fp32": "f", "fp64": "d"}


def layout(signature: dict[str, str], values: dict[str, Any]) -> tuple[str, list[Any]]:
    """How the arguments of a compiled kernel are packed, as in :mod:`struct`, and the scalars among them, with None for addresses.

    Two addresses of scratch memory for kernels follow.
    """
    format, packed = "", list[Any]()
    for name, kind in signature.items():
        if kind == "constexpr":
            continue
        if kind.startswith("*"):
            format += "P"
            packed.append(None)
        else:
            format += PACKED[kind]
            packed.append(values[name])
    return format + "PP", packed


class Launch:
    """A kernel of Triton with its grid and its numbers; called with the addresses of its tensors, in the order of its parameters.

    Made from a launch by Triton itself, whose compiled kernel is kept.  ``Launch.of`` gives None where a kernel needs more than that.
    """

    __slots__ = ("_arguments", "_block", "_call", "_driver", "_extra", "_format", "_function", "_grid", "_keep", "_lock", "_pack", "_places", "_refused",
                 "_shared", "_stream", "_threads", "buffer", "cupy", "name")  # fmt: skip

    def __init__(self, cupy: Any, compiled: Any, grid: tuple[int, ...], format: str, packed: list[Any]) -> None:
        self.cupy, self.name = cupy, compiled.name
        self._function, self._shared, self._threads = compiled.function, compiled.metadata.shared, compiled.metadata.num_warps * 32
        self._grid = (*grid, 1, 1)[:3]
        self._format, self._block, self._keep = format, Block(format), compiled
        self.buffer, self._extra, self._pack, self._lock = self._block.buffer, self._block.extra, self._block.pack, self._block.lock
        self._arguments = [*packed, 0, 0]
        self._places = [at for at, each in enumerate(packed) if each is None]
        self._stream = cupy.cuda.get_current_stream
        self._driver = driver = importlib.import_module("cupy_backends.cuda.api.driver")
        self._call, self._refused = driver.launchKernel, driver.CUDADriverError

    @staticmethod
    def of(cupy: Any, compiled: Any, grid: tuple[int, ...], values: dict[str, Any]) -> Launch | None:
        """The launch of a kernel that Triton has compiled and launched with these values."""
        about = compiled.metadata
        asks = (about.global_scratch_size, about.profile_scratch_size, about.launch_cooperative_grid, about.launch_pdl)
        if any(asks) or about.num_ctas != 1 or getattr(about, "tensordesc_meta", None):
            return None
        return Launch(cupy, compiled, grid, *layout(compiled.src.signature, values))

    def __call__(self, *addresses: int) -> None:
        """Queue the kernel in the current stream."""
        if faults.found is not None and faults.found[0]:
            faults.raise_found()
        stream, arguments = self._stream().ptr, self._arguments
        with self._lock:  # the argument buffer is shared by all threads
            for at, address in zip(self._places, addresses):
                arguments[at] = address
            self._pack(self.buffer, 0, *arguments)
            try:
                self._call(self._function, *self._grid, self._threads, 1, 1, self._shared, stream, 0, self._extra)
            except self._refused as error:
                raise failed(self.name, error) from error
        if launch_record.current is not None:
            again = repeated(self.name, self._driver, self._function, self._format, self._grid, self._threads, self._shared)
            launch_record.current.add(again, list(arguments), addresses_in(self._format))
        if BLOCKING:
            check(self.cupy, self.name)
            faults.raise_found()
