"""LLVM: from text to functions in memory; and the BLAS that NumPy brings along."""

from __future__ import annotations

import ctypes
import glob
import hashlib
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.release import VERSION
from .cache import cache

log = logging.getLogger("rushlight.native")
KEPT = 128  # files of code that are kept in memory
_lock = threading.Lock()  # LLVM's text reader and passes run on one thread at a time


def _new_lock() -> None:
    """After a fork: a thread that held the lock is not there any more."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class Machine:
    """Compiles for this processor."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.triple = llvm.get_process_triple()
        self.processor = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features().flatten()
        self.versions = f"{VERSION} llvmlite {llvmlite.__version__} {llvm.llvm_version_info}"
        self.converts_halves = "+f16c" in self.features or self.triple.startswith("aarch64")
        self.spent = 0.0  # seconds, in all
        self.emitted = 0  # how often code was not there already
        self.objects: dict[str, bytes] = {}  # the code that was used last

    def code_for(self, text: str) -> bytes:
        """The file of machine code for text, compiled where it is not there yet."""
        digest = hashlib.sha256("\n".join((text, self.triple, self.processor, self.features, self.versions)).encode()).hexdigest()
        data = self.objects.pop(digest, None) or cache.find(digest)
        if data is None:
            data = self.emit(text)
            cache.store(digest, data)
            self.emitted += 1
        self.objects[digest] = data
        if len(self.objects) > KEPT:
            del self.objects[next(iter(self.objects))]
        return data

    def compile(self, text: str, bindings: dict[str, int] | None = None, apart: Sequence[str] = ()) -> Compiled:
        """Functions from text; a mistake in it raises RuntimeError.  ``apart`` are texts of functions that it calls.

        ``bindings`` are addresses of functions and data outside, and numbers, by the names that :meth:`Code.bound` and
        :meth:`Code.number` gave them: code that is kept has none of them in it.
        """
        started = time.perf_counter()
        with _lock:
            engine = self.load([self.code_for(each) for each in (text, *apart)])
        compiled = Compiled(engine)
        for name, address in (bindings or {}).items():
            ctypes.c_void_p.from_address(engine.get_global_value_address(f"bound_{name}")).value = address
        self.spent += time.perf_counter() - started
        return compiled

    def target(self) -> Any:
        """LLVM for this processor; it belongs to the engine that it is given to, so each engine needs its own."""
        return self.llvm.Target.from_triple(self.triple).create_target_machine(cpu=self.processor, features=self.features, opt=2, jit=True)

    def emit(self, text: str) -> bytes:
        """The file of machine code for text."""
        llvm = self.llvm
        module = llvm.parse_assembly(text)
        module.triple = self.triple
        module.verify()
        target = self.target()
        options = llvm.PipelineTuningOptions(speed_level=2)
        options.loop_vectorization = True
        options.loop_interleaving = True
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        return bytes(target.emit_object(module))

    def load(self, files: list[bytes]) -> Any:
        """An engine with the functions of files of machine code."""
        llvm = self.llvm
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.target())
        for data in files:
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        return engine


class Compiled:
    """Functions in memory, which stay there as long as this is held."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def address(self, name: str) -> int:
        """Where a function is."""
        return int(self.engine.get_function_address(name))


_machine: list[Machine] = []


def machine() -> Machine:
    """The one machine; raises ImportError where llvmlite is not installed."""
    if not _machine:
        _machine.append(Machine())
    return _machine[0]


# -- BLAS --------------------------------------------------------------------------------------------------------

# Names under which the libraries that NumPy is built with have the product of matrices; with 64-bit sizes, and with 32-bit ones.
_NAMES = (("scipy_cblas_{}64_", "i64"), ("cblas_{}64_", "i64"), ("scipy_cblas_{}", "i32"), ("cblas_{}", "i32"))
_THREADS = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


class Blas:
    """The product of matrices, as the library that NumPy uses has it."""

    def __init__(self) -> None:
        self.size = ""  # the type of its sizes
        self.addresses: dict[str, int] = {}
        self.threads: tuple[int, int] | None = None  # functions that get and set the number of its threads
        for library in _libraries():
            for pattern, size in _NAMES:
                found: dict[str, Any] = {name: getattr(library, pattern.format(name), None) for name in ("sgemm", "dgemm")}
                if all(found.values()) and self._works(found["sgemm"], size):
                    self.size = size
                    self.addresses = {name: ctypes.cast(each, ctypes.c_void_p).value or 0 for name, each in found.items()}
                    self.threads = self._find_threads(library)
                    return

    def _find_threads(self, library: Any) -> tuple[int, int] | None:
        for pattern in _THREADS:
            found: list[Any] = [getattr(library, pattern.format(what), None) for what in ("get", "set")]
            if all(found):
                get, set_ = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in found)
                return get, set_
        return None

    def _works(self, function: Any, size: str) -> bool:
        """Whether it multiplies two small matrices as it should."""
        integer = ctypes.c_int64 if size == "i64" else ctypes.c_int32
        a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
        made = np.zeros((2, 4), np.float32)
        order = [ctypes.c_int32(each) for each in (101, 111, 111)]
        sizes = [integer(each) for each in (2, 4, 3)]
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, made)]
        function.restype = None
        function(*order, *sizes, ctypes.c_float(1), pointers[0], integer(3), pointers[1], integer(4), ctypes.c_float(0), pointers[2], integer(4))
        return bool(np.array_equal(made, a @ b))


def _libraries() -> list[Any]:
    """The libraries beside NumPy that may have BLAS in them."""
    folder = os.path.dirname(np.__file__)
    places = [os.path.join(os.path.dirname(folder), "numpy.libs"), os.path.join(folder, ".dylibs"), os.path.join(folder, ".libs")]
    paths = [path for place in places for path in sorted(glob.glob(os.path.join(place, "*blas*")))]
    found = []
    for path in paths:
        try:
            found.append(ctypes.CDLL(path))
        except OSError as error:
            log.info("%s can't be loaded: %s", path, error)
    return found


_blas: list[Blas] = []


def blas() -> Blas:
    """BLAS, looked for once."""
    if not _blas:
        _blas.append(Blas())
    return _blas[0]
