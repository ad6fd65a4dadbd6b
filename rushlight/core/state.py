"""The process-wide and per-thread state that every call of an op reads; and, on this page, all other state of the package.

Read on every call:
    ``flags.special``           process-wide: counts what keeps calls off the fast paths (captures, function modes, hooks on saved
                                tensors, anomaly mode, tensors of subclasses with ``__torch_function__``).  While it is 0, a call reads nothing
                                else of this page.
    ``state``                   per thread: grad, inference and anomaly mode, the active capture, interceptors, hooks on saved tensors,
                                fake mode

Registries, filled on import and by extensions:
    ``core.declare``            ``table``, ``exports``, ``methods``: ops by name, and the names under which users find them
    ``core.facets.facets``      the facets of ops: batching, autocast, lowerings, formulas, ...
    ``core.devices``            ``device_types``: kinds of devices by name, and by the class of their arrays
    ``core.base.runtime``       the public tensor class and ``autograd.grad``; ``core.node.accumulate``: how the engine adds to a leaf
    ``core.overrides``          ``exchange``: the functions that ask modes and subclasses with ``__torch_function__``
    ``core.missing.stand_ins``  the modules that provide PyTorch's private names (``compat``)
    ``backends.registry``       back-ends by name
    ``schedule.lowering``       lowerings by target
    ``capture.compile``         ``annotations.marks`` (functions marked by users), ``vm.interpreter.HANDLERS``, ``record.registry``
    ``capture.script``          ``frontend.types.CLASS_MAKERS``; ``capture.trace.traced``: ``WRITERS`` and ``READERS`` of files
    ``onnx.registration``       symbolic functions of users
    ``serialization``           ``safe_globals`` (what files may name), ``locations`` (where storages are restored)
    ``utils.trees``             containers that are trees
    ``nn.modules.module_hooks``, ``optim.optimizer``    hooks for all Modules, and for all optimizers

Settings, changed by users:
    ``core.devices.default``, ``core.dtypes.default``, ``core.precision``, ``amp.autocast_mode``, ``capture.compile.config``,
    ``serialization.options``, ``tensor.printing``, ``settings``, ``onnx.globals``, ``compiler`` (disabled functions)

Random numbers and threads:
    ``core.random.default_generator`` (set by ``tensor.generator``), ``core.parallel.pool``, ``runtime.cpu.thread_pool``

Caches, which may be emptied at any time without changing a result:
    ``core.dtypes`` (promotions), ``core.named_results`` (classes of named results), ``core.kernel_providers``, ``ops.linalg.contraction``
    (plans of einsum), ``capture.compile.decode`` (programs by code object), ``capture.script`` (scripted functions and classes),
    ``runtime.cpu`` (machine code, arena), ``backends.native.eager`` (loops and programs of single ops), ``backends.onnxrt`` (ops
    without an ONNX form), ``codegen.llvm`` (outlines)

Per thread, while something runs:
    ``core.process_safety``     of the main thread: an interrupt that waits until a change is whole
    ``core.symbolic.escape``    the observer of symbolic sizes that become plain numbers or are compared
    ``autograd.forward_ad``, ``nn.modules.module_state``, ``onnx.exporter``, ``capture.compile.record.graph_functions``: the running
    level or export
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .process_safety import free_after_fork


class Flags:
    """``special`` counts what keeps calls of ops off their fast paths, in any thread."""

    __slots__ = ("grad_dtypes", "leaf_hooks", "overrides", "special", "_lock")

    def __init__(self) -> None:
        self.special = 0
        self.leaf_hooks = False  # whether a hook was ever put on the ``.grad`` of a leaf: backward then looks for these leaves
        self.grad_dtypes = False  # whether ``grad_dtype`` was ever set on a tensor: backward then looks for it at each leaf
        self.overrides = 0  # how many tensors of subclasses with ``__torch_function__`` there are
        self._lock = free_after_fork(threading.Lock())

    def enter(self) -> None:
        """One more reason to leave the fast paths."""
        with self._lock:
            self.special += 1

    def leave(self) -> None:
        """One reason less."""
        with self._lock:
            self.special -= 1


class State(threading.local):
    """The modes of the current thread."""

    def __init__(self) -> None:  # each thread has its own; attributes of the instance are read faster than defaults of the class
        self.grad_enabled = True
        self.inference = False
        self.anomaly = False
        self.anomaly_check_nan = True
        self.capture: Any = None  # the active capture, if any
        self.run_forward: Any = None  # runs the forward of custom Functions, for a compiled program between two graphs
        self.transforms = 0  # how many functions are being differentiated or mapped by `func`
        self.backward_pass: Any = None  # the backward pass that runs (`autograd.targets.BackwardPass`)
        self.receiving: Any = None  # the leaves of the running backward pass whose gradients something takes before they are accumulated
        self.scripted = False  # whether a scripted program is running
        self.fake = False  # whether factory functions make tensors without elements
        self.profiler: Any = None  # what records the ops of this thread, if anything
        self.overrides = 0  # whether ``__torch_function__`` is asked: see `core.overrides`
        self.function_modes: list[Any] = []  # TorchFunctionModes, innermost last
        self.dispatch_modes: list[Any] = []  # TorchDispatchModes, innermost last
        # Inside a handler of ``__torch_dispatch__``, which runs without gradients: the grad mode of the call.
        self.grad_outside: bool | None = None
        self.dispatch_disabled = False  # whether subclasses are not asked either: their ops run as those of plain tensors
        self.interceptors: list[Any] = []  # captures and function modes, innermost last
        self.saved_hooks: list[Any] = []  # (pack, unpack) pairs
        self.saved_hooks_disabled: str | None = None


flags = Flags()
state = State()


@contextmanager
def fake_mode() -> Iterator[None]:
    """Have factory functions make fake tensors, on the device they name: a program runs on these without computing anything."""
    before, state.fake = state.fake, True
    try:
        yield
    finally:
        state.fake = before
