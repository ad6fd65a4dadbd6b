"""The JIT: compiles LLVM IR to functions in memory, through the code cache."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from ...codegen.llvm.ir import Part
from ...codegen.llvm.target import Processor
from ...codegen.llvm.target import processor as chosen_processor
from ...core.parallel import pool as eager_pool
from ...core.process_safety import deferred
from ...core.release import VERSION
from .code_cache import cache

log = logging.getLogger("rushlight.native")
KEPT = 1024  # files of code that are kept in memory
# Two passes that take a fourth of the time and, as measured, do nothing for loops like ours.  LLVM aborts on unknown
# options, so they are passed only to versions that are known to have them.
_OPTIONS = ("-disable-lsr", "-post-RA-scheduler=false")
_KNOWN = 22
_lock = threading.RLock()  # LLVM's text reader and passes run on one thread at a time


def _before_fork() -> None:
    """Wait for compilations of other threads, and let none begin: a child would have half of each, and llvmlite's lock held by a thread that it lacks."""
    _lock.acquire()
    for each in _jit:
        for thread in list(each.coming.values()):
            thread.join()
        each.llvm.ffi.lib._lock.__enter__()


def _after_fork() -> None:
    """In the parent and in the child: compile on."""
    for each in _jit:
        each.llvm.ffi.lib._lock.__exit__()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class Jit:
    """The compiler for this processor, or for a given one."""

    def __init__(self, processor: Processor | None = None) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        self.llvm = llvm
        if processor is None:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        else:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        if llvm.llvm_version_info[0] <= _KNOWN:
            for option in _OPTIONS:
                llvm.set_option("", option)
        self.processor = processor or chosen_processor()
        self.versions = f"{VERSION} llvmlite {llvmlite.__version__} {llvm.llvm_version_info}"
        self.spare: dict[int, list[Any]] = {0: [], 2: []}  # idle target machines by level: they take long to create
        self.spent = 0.0  # seconds, in all
        self.emitted = 0  # cache misses
        self.objects: dict[str, bytes] = {}  # recently used object code
        self.coming: dict[str, threading.Thread] = {}  # by digest: the thread that compiles it ahead

    def code_for(self, parts: Sequence[Part]) -> list[bytes]:
        """The object files of texts, compiled on a cache miss."""
        found: dict[str, bytes] = {}
        missing: dict[str, Part] = {}
        digests = [self.digest(each) for each in parts]
        for digest, part in zip(digests, parts):
            thread = self.coming.pop(digest, None)
            if thread is not None:
                thread.join()
            data = self.objects.pop(digest, None) or cache.find(digest)
            if data is None:
                missing[digest] = part
            else:
                found[digest] = data
        for digest, data in zip(missing, self.emit_all(list(missing.values()))):
            found[digest] = data
            cache.store(digest, data)
            self.emitted += 1
        self.objects.update(found)
        while len(self.objects) > KEPT:
            del self.objects[next(iter(self.objects))]
        return [found[each] for each in digests]

    def ahead(self, parts: Sequence[Part]) -> None:
        """Compile ahead on other threads, such as what all programs need while the first one is captured."""

        def work(digest: str, making: Making) -> None:
            making.run()
            self.objects[digest] = data = making.result()
            cache.store(digest, data)
            self.emitted += 1

        with _lock:
            for part in parts:
                digest = self.digest(part)
                data = cache.find(digest)
                if data is not None:
                    self.objects[digest] = data
                    continue
                thread = threading.Thread(target=work, args=(digest, Making(self, part)), name="rushlight compiler")
                try:
                    thread.start()
                except RuntimeError:  # no more threads, or the interpreter is about to end
                    return
                self.coming[digest] = thread

    def digest(self, part: Part) -> str:
        """The cache key of code: a digest of all that it depends on."""
        return hashlib.sha256("\n".join((part.text, str(part.effort), self.processor.words, self.versions)).encode()).hexdigest()

    def compile(self, parts: str | Sequence[Part], bindings: dict[str, int] | None = None) -> CompiledCode:
        """Functions from text, or from texts whose functions call each other; a mistake in one raises RuntimeError.

        ``bindings`` are addresses of functions and data outside, and numbers, by the names of the variables that :meth:`IRBuilder.bound` and
        :meth:`IRBuilder.number` gave them: cached code contains none of them.
        """
        started = time.perf_counter()
        with _lock, deferred():
            engine = self.load(self.code_for([Part(parts)] if isinstance(parts, str) else parts))
        compiled = CompiledCode(engine)
        for name, value in (bindings or {}).items():
            ctypes.c_int64.from_address(engine.get_global_value_address(name)).value = value
        self.spent += time.perf_counter() - started
        return compiled

    def emit_all(self, parts: Sequence[Part]) -> list[bytes]:
        """The object files of texts, compiled by two threads where there are several texts."""
        waiting = sorted(range(len(parts)), key=lambda at: parts[at].text.count("\n") * (parts[at].effort + 1))  # longest first
        made: dict[int, bytes | BaseException] = {}

        def work() -> None:
            while waiting:
                try:
                    at = waiting.pop()
                except IndexError:  # the other thread took it
                    return
                try:
                    made[at] = self.emit(parts[at])
                except BaseException as error:
                    made[at] = error
                    waiting.clear()

        helpers = [threading.Thread(target=work, name="rushlight compiler")] if len(parts) > 1 and eager_pool.threads > 1 else []
        try:
            for each in helpers:
                each.start()
        except RuntimeError:  # no more threads, or the interpreter is about to end
            helpers = []
        work()
        for each in helpers:
            each.join()
        for at in sorted(made):
            found = made[at]
            if isinstance(found, BaseException):
                raise found
        return [made[at] for at in range(len(parts))]  # type: ignore[misc]

    def target(self, level: int = 2) -> Any:
        """An LLVM target machine; an engine takes ownership of it, so each engine needs its own."""
        one = self.processor
        return self.llvm.Target.from_triple(one.triple).create_target_machine(cpu=one.name, features=one.features, opt=level, jit=True)

    def emit(self, part: Part) -> bytes:
        """The object file of a text."""
        making = Making(self, part)
        making.run()
        return making.result()

    def load(self, files: list[bytes]) -> Any:
        """An execution engine with the functions of object files."""
        llvm = self.llvm
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.target())
        for data in files:
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        return engine


class Making:
    """The compilation of a text to an object file.

    It shares no LLVM objects, so that several threads can compile.  llvmlite lets one thread into LLVM at a time; that is
    not necessary for what takes long (``unlocked``).
    """

    def __init__(self, machine: Jit, part: Part) -> None:
        self.machine = machine
        llvm = machine.llvm
        self.module = llvm.parse_assembly(part.text, llvm.create_context())
        self.module.triple = machine.processor.triple
        self.module.verify()
        self.level = 2 if part.effort else 0
        try:
            self.target = machine.spare[self.level].pop()
        except IndexError:
            self.target = machine.target(self.level)
        self.passes: Any = None
        if part.effort:
            options = llvm.PipelineTuningOptions(speed_level=2)
            options.loop_vectorization = True
            options.loop_interleaving = True
            self.builder = llvm.create_pass_builder(self.target, options)
            self.passes = self.builder.getModulePassManager() if part.effort == 2 else few_passes(llvm)
        self.message = llvm.ffi.OutputString()
        self.buffer: Any = None

    def run(self) -> None:
        """The slow part: passes and code generation."""
        functions = self.machine.llvm.ffi.lib
        if self.passes is not None:
            unlocked(functions.LLVMPY_RunNewModulePassManager)(self.passes, self.module, self.builder)
        self.buffer = unlocked(functions.LLVMPY_TargetMachineEmitToMemory)(self.target, self.module, 1, self.message)

    def result(self) -> bytes:
        """The object file; an error raises RuntimeError."""
        functions = self.machine.llvm.ffi.lib
        if self.passes is not None:
            self.machine.llvm.newpassmanagers.NewPassManager._dispose(
                self.passes
            )  # an earlier class in the MRO overrides it with one that frees nothing
            self.passes.detach()
        with self.message:
            if not self.buffer:
                raise RuntimeError(str(self.message))
        self.machine.spare[self.level].append(self.target)
        try:
            return ctypes.string_at(functions.LLVMPY_GetBufferStart(self.buffer), functions.LLVMPY_GetBufferSize(self.buffer))
        finally:
            functions.LLVMPY_DisposeMemoryBuffer(self.buffer)


def few_passes(llvm: Any) -> Any:
    """The passes for explicitly vectorized code."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_simplify_pass()
    passes.add_loop_rotate_pass()
    passes.add_simplify_cfg_pass()
    return passes


def unlocked(function: Any) -> Any:
    """A function of llvmlite's without the lock around it, where it has one."""
    return getattr(function, "_cfn", function)


class CompiledCode:
    """Functions in memory, kept loaded as long as this object lives."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def address(self, name: str) -> int:
        """The address of a function."""
        return int(self.engine.get_function_address(name))


_jit: list[Jit] = []


def jit() -> Jit:
    """The one machine; raises ImportError where llvmlite is not installed."""
    if not _jit:
        with _lock:
            if not _jit:
                _jit.append(Jit())
    return _jit[0]
