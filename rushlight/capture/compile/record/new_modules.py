"""Parameters and the library's Modules that a program makes: a graph makes no tensors that share memory and are leaves of their own."""

from __future__ import annotations

import itertools
from typing import Any

from ....nn.modules.module import Module
from ....nn.parameter import Buffer, Parameter
from ....tensor.generator import default_generator
from .graph_breaks import Break

LEAVES = (Parameter, Buffer, Module)  # classes of which, or of whose parts, that is so


def new_leaves(recorder: Any, kind: type, args: Any, kwargs: Any) -> Any:
    """An instance of one of :data:`LEAVES`: a Module that has no tensors; a graph break before any other."""
    if not issubclass(kind, Module):
        raise Break("native", name=kind.__name__)
    recorder.guard_contents(*args, *kwargs.values())
    before = default_generator.get_state()
    made = recorder.unrecorded(kind, args, kwargs)
    if next(itertools.chain(made.parameters(), made.buffers()), None) is not None:
        default_generator.set_state(before)  # it is made again, natively
        raise Break("native", name=kind.__name__)
    return made
