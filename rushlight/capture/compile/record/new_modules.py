"""Parameters and the library's Modules that a program makes, and objects that it can't make in a graph.

A graph makes no leaves that share memory: a Parameter of an input is made before the graph, and is another input of it; that of a computed value ends it.
"""

from __future__ import annotations

import enum
import itertools
from typing import Any

from ....core.errors import RushlightError
from ....nn.modules.module import Module
from ....nn.parameter import Buffer, Parameter
from ....tensor.generator import default_generator
from ....tensor.tensor import Tensor
from ..guards.guards import PRIMITIVES
from ..guards.sources import Made
from .callables import module_of, python_methods
from .graph_breaks import Break

LEAVES = (Parameter, Buffer, Module)  # classes of which, or of whose parts, that is so


def refuse_destructor(recorder: Any, kind: type) -> None:
    """Give a program up that makes an instance of a class with a ``__del__``: when that runs follows from who holds the object."""
    if "__del__" in python_methods(kind):
        stop = Break("destructor", name=kind.__name__)
        recorder.discard(stop)
        raise stop


def refuse_missing(kind: Any, args: Any) -> None:
    """A graph break before an enum's ``_missing_``, which native code would run, where it has no member of a value."""
    if len(args) == 1 and issubclass(kind, enum.Enum) and module_of(kind._missing_) != "enum":
        known = any(each is args[0] or isinstance(args[0], PRIMITIVES) and each == args[0] for each in kind._value2member_map_)
        if not known and not isinstance(args[0], kind):
            raise Break("hidden", name=f"{kind.__name__}._missing_")


def new_leaves(recorder: Any, kind: type, args: Any, kwargs: Any) -> Any:
    """An instance of one of :data:`LEAVES`; a graph break before what a graph can't make."""
    if kind is Parameter:
        return _new_parameter(recorder, *args, **kwargs)
    if not issubclass(kind, Module):
        raise Break("native", name=kind.__name__)
    recorder.guard_contents(*args, *kwargs.values())
    before = default_generator.get_state()
    made = recorder.unrecorded(kind, args, kwargs)
    if next(itertools.chain(made.parameters(), made.buffers()), None) is None:
        return made
    default_generator.set_state(before)  # it is made again
    inlined = None if next(made.parameters(), None) is not None else recorder.instance(kind, args, kwargs, False)
    if inlined is None:
        raise Break("native", name=kind.__name__)
    return inlined


def _new_parameter(recorder: Any, data: Any = None, requires_grad: Any = True) -> Any:
    """A Parameter that shares the memory of an input: it is made before the graph, where later calls make it, too."""
    source = recorder.sources.get(id(data))
    if source is None or type(data) not in (Tensor, Parameter) or type(requires_grad) is not bool or recorder.pure or recorder.in_body:
        raise Break("native", name="Parameter")
    recorder.tracer.node_of(data)
    made = recorder.unrecorded(Parameter, (data, requires_grad), {})
    recorder.register(made, Made(source, parameter_of, requires_grad))
    return made


def parameter_of(data: Any, requires_grad: bool) -> Any:
    """A Parameter of the data of a tensor; a TypeError, as of a value that is not there, where that is none or has a type that can't have gradients."""
    try:
        return Parameter(data, requires_grad)
    except RushlightError as error:
        raise TypeError(str(error)) from error
