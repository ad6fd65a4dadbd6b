"""Compiled Triton kernels by a digest of their source: from the disk cache, from a process that compiles many in parallel, or compiled here.

In: the source of a kernel and the types of its arguments.  Out: a :class:`StoredKernel`, whose code is loaded on a device at its first launch.  A kernel
that is on disk needs no Triton; others are compiled by ``compile_server.py``, which is started while a program is captured, so that it is ready when the
program's kernels are generated.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ...core.dtypes import BY_NUMPY
from ...core.process_safety import free_after_fork
from ..cpu.code_cache import cache
from . import compile_server
from .triton_launch import Launch, layout

log = logging.getLogger("rushlight.triton")
_FUNCTIONS = Path(__file__).parents[2] / "codegen" / "triton" / "device_functions.py"
_MOST = 16  # kernels that are compiled at once
_FEW_CORES = 2  # with so few cores a second process does not help
_VERSION = 1
COMPILES = os.environ.get("TRITON_INTERPRET") != "1"  # else kernels are interpreted
_STATIC_SHARED = 48 << 10
_MAX_THREADS, _SHARED_SIZE = 0, 8  # CU_FUNC_ATTRIBUTE_…
_POINTERS = {"float32": "*fp32", "float64": "*fp64", "float16": "*fp16", "bfloat16": "*bf16", "bool": "*i1", "uint8": "*u8", "int8": "*i8",
             "int16": "*i16", "int32": "*i32", "int64": "*i64", "uint16": "*u16", "uint32": "*u32", "uint64": "*u64"}  # fmt: skip


class CompileError(Exception):
    """The error of Triton, LLVM or ptxas for a kernel."""


@functools.cache
def version() -> str:
    """Triton's version; read from its metadata, so that it need not be loaded."""
    return importlib.metadata.version("triton")


@functools.cache
def has_triton() -> bool:
    """Whether Triton is installed."""
    return importlib.util.find_spec("triton") is not None


def pointer(dtype: Any) -> str:
    """The type of a parameter that is the address of elements of a NumPy dtype."""
    return _POINTERS[BY_NUMPY[dtype].name]


class Server:
    """The compile server process, and its pending jobs."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="rushlight_kernels_")
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-P", compile_server.__file__, self.folder, str(min(os.cpu_count() or 1, _MOST)), json.dumps(sys.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
        )  # fmt: skip
        self.owner = os.getpid()
        self.lock, self.waiting, self.number = threading.Lock(), dict[int, Future[tuple[dict[str, Any], bytes]]](), 0
        threading.Thread(target=self.listen, daemon=True).start()
        atexit.register(self.end)

    @property
    def alive(self) -> bool:
        """Whether this process may send jobs: the one that started it, not a forked child."""
        return self.owner == os.getpid() and self.process.poll() is None

    def ask(self, job: dict[str, Any]) -> Future[tuple[dict[str, Any], bytes]]:
        """Queue a kernel."""
        made: Future[tuple[dict[str, Any], bytes]] = Future()
        with self.lock:
            self.number += 1
            self.waiting[self.number] = made
            assert self.process.stdin is not None
            try:
                self.process.stdin.write(json.dumps({**job, "number": self.number}).encode() + b"\n")
                self.process.stdin.flush()
            except OSError:  # it has exited
                self.waiting.pop(self.number, None)
                made.set_exception(BrokenPipeError())
        return made

    def listen(self) -> None:
        """Receive results."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            with self.lock:
                made = self.waiting.pop(answer["number"], None)
            if made is None:
                continue
            try:
                if "path" in answer:
                    about, _, code = Path(answer["path"]).read_bytes().partition(b"\n")
                    os.unlink(answer["path"])
                    made.set_result((json.loads(about), code))
                elif "error" in answer:
                    made.set_exception(CompileError(Path(answer["error"]).read_text()))
                else:
                    made.set_exception(BrokenPipeError())
            except OSError:  # the file is gone, as the process is
                made.set_exception(BrokenPipeError())
        with self.lock:
            left, self.waiting = self.waiting, {}
        for made in left.values():
            made.set_exception(BrokenPipeError())

    def end(self) -> None:
        """Stop the process."""
        if self.owner != os.getpid():
            return
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


_server: Server | None = None
_starting = free_after_fork(threading.Lock())


def start() -> Server | None:
    """The compile server, started on first use; None where there are too few cores for it, or it can't be started."""
    global _server
    if (
        (os.cpu_count() or 1) <= _FEW_CORES
        or os.environ.get("RUSHLIGHT_COMPILE_SERVER") == "0"
        or not (sys.executable and hasattr(os, "fork"))
    ):
        return None
    with _starting:
        if _server is None or not _server.alive:
            try:
                _server = Server()
            except OSError as error:
                log.info("kernels are compiled in this process: %s", error)
                return None
        return _server


_begun = ""  # a digest of the code that is being captured


def begin(code: Any) -> None:
    """Start the process while a program is captured, unless kernels for the same code were compiled before, and are on disk."""
    global _begun
    if not COMPILES:
        return
    key_fields = (version(), _VERSION, code.co_filename, code.co_qualname, code.co_code, repr(code.co_names))
    _begun = hashlib.sha256(repr(key_fields).encode()).hexdigest()
    if cache.find(_begun) is None:
        start()


class StoredKernel:
    """A compiled kernel: its code and its launch metadata."""

    def __init__(self, about: dict[str, Any], code: bytes, job: dict[str, Any]) -> None:
        self.about, self.code, self.job = about, code, job
        self._loaded: dict[int, Any] = {}  # by device: what a `Launch` takes

    def load(self, cupy: Any) -> Any:
        """The code on the current device."""
        index = cupy.cuda.runtime.getDevice()
        found = self._loaded.get(index)
        if found is None:
            if not self.about["plain"]:
                raise CompileError(f"{self.about['name']} needs launch features that are not supported")
            driver = importlib.import_module("cupy_backends.cuda.api.driver")
            module = cupy.cuda.function.Module()
            module.load(self.code)
            function, shared, threads = module.get_function(self.about["name"]), self.about["shared"], 32 * self.about["num_warps"]
            if shared > _STATIC_SHARED:
                driver.funcSetAttribute(function.ptr, _SHARED_SIZE, shared)
            if driver.funcGetAttribute(_MAX_THREADS, function.ptr) < threads:
                raise CompileError(f"the GPU has too few registers for {threads} threads of {self.about['name']}")
            about = SimpleNamespace(shared=shared, num_warps=self.about["num_warps"])
            found = self._loaded[index] = SimpleNamespace(
                name=self.about["name"], function=int(function.ptr), metadata=about, keep=(module, function)
            )
        return found

    def launch(self, cupy: Any, grid: tuple[int, ...], values: dict[str, Any]) -> Launch:
        """A launch with a grid and numbers, to be called with addresses."""
        return Launch(cupy, self.load(cupy), grid, *layout(self.job["signature"], values))


class GeneratedKernel:
    """A kernel of a generated module, called as Triton's are: by its grid, with tensors and constants.  Its parameters are pointers, then constants."""

    def __init__(self, cupy: Any, source: str, name: str, dtypes: Sequence[Any], constants: dict[str, int]) -> None:
        self.cupy, self.source, self.name = cupy, source, name
        self.parameters = parameters_of(source, name)[: len(dtypes)]
        self.options = {each: value for each, value in constants.items() if not each.isupper()}
        self.constants = {each: value for each, value in constants.items() if each.isupper()}
        self.signature = {**dict(zip(self.parameters, map(pointer, dtypes))), **dict.fromkeys(self.constants, "constexpr")}
        self.launches: dict[Any, Launch] = {}

    def request(self, aligned: Sequence[bool]) -> Future[StoredKernel]:
        """Compile it for addresses that are multiples of 16, or not."""
        names = [each for each, good in zip(self.parameters, aligned) if good]
        kind = capability(self.cupy, self.cupy.cuda.runtime.getDevice())
        return request(self.source, self.name, self.signature, self.constants, names, self.options, kind)

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        return functools.partial(self.launch, grid)

    def launch(self, grid: tuple[int, ...], *tensors: Any, **constants: int) -> None:
        """Launch it with tensors."""
        addresses = [int(each._array.data.ptr) for each in tensors]
        aligned = tuple([not each % 16 for each in addresses])
        key = (grid, aligned, self.cupy.cuda.runtime.getDevice())
        found = self.launches.get(key)
        if found is None:
            found = self.launches[key] = self.request(aligned).result().launch(self.cupy, grid, dict.fromkeys(self.parameters))
        found(*addresses)


class Address:
    """The address of float32 numbers, as an argument of a kernel."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address


@functools.cache
def parameters(path: str, name: str) -> list[str]:
    """The names of the parameters of a kernel in a file."""
    return parameters_of(content(path), name)


def parameters_of(source: str, name: str) -> list[str]:
    """The names of the parameters of a kernel in a text: parsing all of it would take longer than loading the kernel does."""
    found = re.search(rf"^def {name}\(([^()]*)\):", source, re.MULTILINE)
    assert found is not None
    return [each.partition(":")[0].strip() for each in found[1].split(",") if each.strip()]


def of_file(cupy: Any, path: str, name: str, values: dict[str, Any], options: dict[str, Any]) -> Future[StoredKernel]:
    """A kernel of a file for arguments like these, as Triton specialises it: arguments equal to 1, and multiples of 16, are known to the code."""
    signature, constants, aligned = dict[str, str](), dict[str, Any](), list[str]()
    for each in parameters(path, name):
        value: Any = options[each] if each in options else values[each]
        if each in options or (type(value) is int and value == 1):
            signature[each], constants[each] = "constexpr", value
            continue
        if isinstance(value, (float, bool)):
            signature[each] = "fp32" if isinstance(value, float) else "i1"
            continue
        if isinstance(value, int):
            signature[each] = "i32" if -(1 << 31) <= value < 1 << 31 else "i64"
        else:
            signature[each] = "*fp32" if isinstance(value, Address) else pointer(value.dtype)
            value = value.address if isinstance(value, Address) else value.data.ptr
        if not value % 16:
            aligned.append(each)
    compile_options = {each: value for each, value in options.items() if each not in constants}
    return request(path, name, signature, constants, aligned, compile_options, capability(cupy, cupy.cuda.runtime.getDevice()))


_known: dict[str, Future[StoredKernel]] = {}
_guard = free_after_fork(threading.Lock())


def request(
    source: str,
    name: str,
    signature: dict[str, str],
    constants: dict[str, Any],
    aligned: list[str],
    options: dict[str, Any],
    capability: int,
) -> Future[StoredKernel]:
    """A kernel, given the source of its module or its file; compiled once, on first request."""
    job = {
        "source": source, "functions": str(_FUNCTIONS), "name": name, "signature": signature, "constants": constants, "aligned": aligned, "options": options,
        "capability": capability,
    }  # fmt: skip
    key = digest(job)
    with _guard:
        found = _known.get(key)
        if found is not None:
            return found
        made = _known[key] = Future()
    kept = cache.find(key)
    if kept is not None:
        about, _, code = kept.partition(b"\n")
        made.set_result(StoredKernel(json.loads(about), code, job))
        return made
    server = start()
    if server is None:
        threads().submit(finish, key, job, made, None)
    else:
        server.ask(job).add_done_callback(lambda answer: finish(key, job, made, answer))
    return made


@functools.cache
def threads() -> ThreadPoolExecutor:
    """The threads that compile where there is no compile server."""
    return ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST))


def finish(key: str, job: dict[str, Any], made: Future[StoredKernel], answer: Future[Any] | None) -> None:
    """Store a compiled kernel; without a compile server, compile it here."""
    try:
        try:
            about, code = compile_server.compile_kernel(job) if answer is None else answer.result()
        except BrokenPipeError:
            log.info("the process that compiles kernels has ended; they are compiled here")
            about, code = compile_server.compile_kernel(job)
        if _begun and cache.find(_begun) is None:
            cache.store(_begun, b"1")
        cache.store(key, json.dumps(about).encode() + b"\n" + code)
        made.set_result(StoredKernel(about, code, job))
    except Exception as error:
        with _guard:
            _known.pop(key, None)
        made.set_exception(error)


def digest(job: dict[str, Any]) -> str:
    """What the code of a kernel depends on."""
    source = content(job["source"]) if job["source"].endswith(".py") else job["source"]
    key_fields = [
        "triton",
        _VERSION,
        version(),
        content(job["functions"]),
        source,
        *[job[each] for each in sorted(job) if each not in ("source", "functions")],
    ]
    return hashlib.sha256(json.dumps(key_fields).encode()).hexdigest()


@functools.cache
def content(path: str) -> str:
    """The text of a file of the package."""
    return Path(path).read_text()


@functools.cache
def capability(cupy: Any, index: int) -> int:
    """The compute capability of a device, as in 90."""
    return int(cupy.cuda.Device(index).compute_capability)


__all__ = [
    "Address",
    "CompileError",
    "GeneratedKernel",
    "StoredKernel",
    "capability",
    "has_triton",
    "of_file",
    "pointer",
    "request",
    "start",
]
