"""The native back-end: LLVM compiles a graph to machine code in memory.  Needs ``llvmlite``; without it graphs run as in eager mode.

In: a captured graph.  Out: an `Executable`: the graph decomposed, scheduled, emitted and compiled for its inputs' strides and sizes.  ``backend.py`` is the back-end and its
executables; ``executable.py`` holds one compiled schedule, ``dynamic_shapes.py`` and ``shape_templates.py`` those with symbolic sizes, ``autograd_launcher.py`` calls that
record a gradient, ``eager/`` kernels for single ops.  Read ``executable.py`` first.

>>> import rushlight
>>> step = rushlight.compile(lambda x: (x * 2).tanh().sum(), backend="native")
>>> with rushlight.no_grad():
...     print(step(rushlight.zeros(3)))
tensor(0.)
"""

from __future__ import annotations

from ...runtime.cpu.step_timer import timed
from .backend import NativeBackend, NativeExecutable, NativeGraph, available, compile_module, explain, graph_compiler, native
from .executable import compile_graph
from .printer import describe, dump

__all__ = [
    "NativeBackend",
    "NativeExecutable",
    "NativeGraph",
    "available",
    "compile_graph",
    "compile_module",
    "describe",
    "dump",
    "explain",
    "graph_compiler",
    "native",
    "timed",
]
