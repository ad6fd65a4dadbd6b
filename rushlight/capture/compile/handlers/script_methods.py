"""Scripted methods of Modules in a capture: they run natively and their ops are recorded; what they may read of the Module is guarded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....core.base import TensorBase
from ....nn.modules.module import Module
from ..record.calls import Recorder
from ..record.graph_breaks import Break
from ..record.registry import flagged
from .module_members import content, modules

_TABLES = ("_parameters", "_buffers")
_OWN = frozenset(Module().__dict__) - {"training"}  # fields of every Module that scripts do not read
_PLAIN = (bool, int, float, complex, str, type(None))


def attributes(module: Module) -> Iterator[tuple[str, Any]]:
    """What a script may read of a Module beside its parameters, buffers and submodules."""
    for name, value in vars(module).items():
        if name not in _OWN and not name.startswith("_script_") and "_scripted_method" not in vars(type(value)):
            yield name, value


def call_method(recorder: Recorder, method: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Guard a scripted Module, and run one of its methods; a method that changes attributes is not captured."""
    source = recorder.sources.get(id(method))
    if source is not None and id(method.owner) not in recorder.sources:
        recorder.guard_value(recorder.new_source.attribute(source, "owner"), method.owner)
    if id(method.owner) not in recorder.sources:
        raise Break("native", name=f"the scripted method {method.name!r} of a Module that the program made")
    before = []
    for _, module in list(modules(recorder, method.owner)):
        for table in _TABLES:
            content(recorder, module, table)
        for name, value in attributes(module):
            if not isinstance(value, (TensorBase, list, tuple, dict, *_PLAIN)):
                raise Break("native", name=f"a script that reads {type(module).__name__}.{name}")
            recorder.guard_value(recorder.new_source.attribute(recorder.sources[id(module)], name), value)
            recorder.guard_contents(value)
            before.append((module, name, snapshot(value)))
    result = recorder.track_fresh(recorder.call_pure(method, None, method.name, args, kwargs))
    for module, name, was in before:
        if snapshot(vars(module).get(name)) != was:
            recorder.discard_reason = f"a script that sets {type(module).__name__}.{name}"
    return result


def snapshot(value: Any) -> Any:
    """A value that is equal as long as an attribute is: by its content, and tensors by identity."""
    if isinstance(value, (list, tuple)):
        return [id(value), *map(snapshot, value)]
    if isinstance(value, dict):
        return [id(value), *((key, snapshot(each)) for key, each in value.items())]
    return (type(value), repr(value)) if isinstance(value, _PLAIN) else id(value)


def call_scripted_in_traces(recorder: Recorder, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function under ``script_if_tracing``, which a capture looks into like any other."""
    return recorder.call(recorder.frame, function.__original_fn, args, kwargs)


flagged["_scripted_method"] = call_method
flagged["__original_fn"] = call_scripted_in_traces
