"""The driver through which Triton launches kernels on rushlight's memory: device and stream are CuPy's current ones.

Triton's own driver asks ``torch.cuda`` for them.  Under the interpreter (``TRITON_INTERPRET=1``) no driver launches anything, but autotuning asks it for a clock.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ..core.declare import table
from ..core.devices import device as Device
from ..core.devices import device_types
from ..core.dtypes import dtype as DType
from ..core.dtypes import int32
from ..runtime.cuda.triton_launch import PACKED, Launch

_FEW = 1000  # launches of a kernel after which its own launcher is made
_installed = False


def ready() -> None:
    """Set Triton's driver once, before the first launch."""
    global _installed
    if not _installed:
        _installed = True
        _install()


def _install() -> None:
    import triton

    _load_specialization(triton)
    mock = triton.runtime.jit.MockTensor
    theirs = mock.wrap_dtype  # PyTorch's, which are known by the name of their module
    mock.wrap_dtype = staticmethod(lambda value: mock(value) if isinstance(value, DType) else theirs(value))
    active = triton.runtime.driver
    if triton.knobs.runtime.interpret:
        _complete_interpreter(importlib.import_module("triton.runtime.interpreter"))
        active.set_active(HostDriver())
    elif _cupy() is not None:
        active.set_active(cuda_driver())


def _complete_interpreter(interpreter: Any) -> None:
    """Have the interpreter of older Tritons take bounds of loops beside NumPy 2.5, and literals of bfloat16, as newer ones do."""
    patch, builder = interpreter._patch_lang_tensor, interpreter.InterpreterBuilder

    def patched(tensor: Any, *scope: Any) -> None:
        patch(tensor, *scope)
        assign = scope[0].set_attr if scope else setattr
        assign(tensor, "__index__", lambda self: self.handle.data.item())  # int() of an array of one element is an error since NumPy 2.5

    interpreter._patch_lang_tensor = patched
    if not hasattr(builder, "get_bf16"):
        bfloat16 = importlib.import_module("triton.language").bfloat16
        builder.get_bf16 = lambda self, value: self.create_fp_trunc(self.get_fp32(value), bfloat16)


def _load_specialization(triton: Any) -> None:
    """Have Triton look at an argument for the first time, which imports PyTorch where it is installed: seconds, and a second CUDA context.

    It goes on without where the import fails, as on machines that have none.  A program that has imported PyTorch itself, or means rushlight by
    ``torch``, keeps it.
    """
    if "torch" in sys.modules:
        return
    finder: Any = _NoPyTorch()
    sys.meta_path.insert(0, finder)
    try:
        triton.runtime.jit.mangle_type(1)
    finally:
        sys.meta_path.remove(finder)


class _NoPyTorch:
    """A finder of modules that has no PyTorch."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse the import of PyTorch; others are left to other finders."""
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)


def _cupy() -> Any:
    """CuPy, where it is installed and there is a GPU."""
    try:
        import cupy

        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except (ImportError, RuntimeError):
        return None


class HostDriver:
    """What the interpreter needs of a driver: how long a launch takes on this machine's clock."""

    def get_benchmarker(self) -> Callable[..., Sequence[float]]:
        """A function that measures a launch once: interpreted kernels are slow, and their times say little."""

        def measure(launch: Callable[[], Any], quantiles: Sequence[float] = (), **options: Any) -> Sequence[float]:
            began = time.perf_counter()
            launch()
            return [(time.perf_counter() - began) * 1e3] * max(len(quantiles), 1)

        return measure


class Launcher:
    """What launches one compiled kernel: by the driver directly at first, and by Triton's own launcher where a kernel is launched often or asks for more.

    Triton's launchers are extension modules that a C compiler makes, which takes longer than most kernels are compiled; and all have one name, so that
    several threads must not load them at once.
    """

    _making = threading.Lock()

    def __init__(self, src: Any, metadata: Any) -> None:
        self.source, self.metadata, self.count = src, metadata, 0
        self.made: Any = None  # Triton's own launcher
        self.plain = all(
            isinstance(kind, str) and (kind == "constexpr" or kind.startswith("*") or kind in PACKED) for kind in src.signature.values()
        )

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: int, packed: Any, about: Any, enter: Any, leave: Any, *args: Any
    ) -> None:
        """Launch, with the arguments that Triton's own launcher takes."""
        if not x * y * z:
            return
        if self.made is None:
            self.count += 1
            if self.plain and self.count <= _FEW and not any(getattr(each, "calls", each) for each in (enter, leave)):
                values = dict(zip(self.source.signature, args))
                kernel = SimpleNamespace(name=self.metadata.name, function=function, metadata=self.metadata, src=self.source)
                found = Launch.of(device_types["cuda"].cupy, kernel, (x, y, z), values)  # type: ignore[attr-defined]
                if found is not None:
                    kinds = self.source.signature.values()
                    found(*[address_of(each) for kind, each in zip(kinds, args) if kind.startswith("*")])
                    return
            with Launcher._making:
                self.made = importlib.import_module("triton.backends.nvidia.driver").CudaLauncher(self.source, self.metadata)
        self.made(x, y, z, stream, function, packed, about, enter, leave, *args)


def address_of(value: Any) -> int:
    """The address of a tensor, or of nothing."""
    return 0 if value is None else value if isinstance(value, int) else int(value.data_ptr())


def cuda_driver() -> Any:
    """Triton's CUDA driver with CuPy in the place of PyTorch."""
    import cupy
    from triton.backends.nvidia import driver as nvidia

    class Driver(nvidia.CudaDriver):  # type: ignore[misc]
        """Launches on CuPy's current device and stream."""

        def __init__(self) -> None:
            self.utils, self.launcher_cls = nvidia.CudaUtils(), Launcher
            self.get_device_capability = lambda device: divmod(int(cupy.cuda.Device(device).compute_capability), 10)
            self.get_current_stream = lambda device: cupy.cuda.get_current_stream().ptr
            self.get_current_device = cupy.cuda.runtime.getDevice
            self.set_current_device = cupy.cuda.runtime.setDevice

        def get_active_torch_device(self) -> Any:
            """The current device."""
            return Device("cuda", self.get_current_device())

        def get_device_interface(self) -> Any:
            """``torch.cuda``."""
            return sys.modules[__package__]

        def get_empty_cache_for_benchmark(self) -> Any:
            """A buffer larger than the L2 cache, which benchmarks overwrite between launches."""
            return table["empty"].call((1 << 26,), dtype=int32, device="cuda")

    return Driver()


__all__ = ["HostDriver", "cuda_driver", "ready"]
