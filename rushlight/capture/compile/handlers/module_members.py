"""Parameters, buffers and submodules of a Module inside a captured program: its structure is guarded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....nn.modules.module import Module
from ..record.graph_breaks import Break
from ..record.registry import handles
from ..vm import operator_forms
from ..vm.frame import Inline


def capture(function: Any) -> Callable[[Any], Any]:
    """Register what captures a method of Modules that goes through all of one: a Module that was there before the capture."""

    def register(captured: Any) -> Any:
        @handles(function)
        def handler(recorder: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(module, Module) or id(module) not in recorder.sources:
                return NotImplemented
            return captured(recorder, module, *args, **kwargs)

        return captured

    return register


def modules(
    recorder: Any, module: Module, prefix: str = "", memo: set[int] | None = None, duplicates: bool = False
) -> Iterator[tuple[str, Any]]:
    """A Module and all below it, with their names; that they are the same is guarded."""
    memo = set() if memo is None else memo
    if id(module) in memo:
        return
    if not duplicates:
        memo.add(id(module))
    source = recorder.sources.get(id(module))
    if source is None or type(module).named_modules is not Module.named_modules:
        raise Break("native", name="something that takes a Module")
    recorder.guards.identity(source, module)
    yield prefix, module
    for name, each in content(recorder, module, "_modules").items():
        if each is not None:
            yield from modules(recorder, each, prefix + ("." if prefix else "") + name, memo, duplicates)


def content(recorder: Any, module: Module, name: str) -> dict[str, Any]:
    """One of the tables of a Module, guarded as a whole."""
    found: dict[str, Any] = module.__dict__[name]
    if ("attribute", id(module), name) in recorder.written or id(found) in recorder.snapshots:
        raise Break("native", name="something that takes a Module that was changed")
    recorder.guard_value(recorder.new_source.attribute(recorder.sources[id(module)], name), found)
    recorder.guard_elements(found)
    return found


def members(table: str) -> Any:
    """The capture of ``named_parameters`` or ``named_buffers``."""

    def captured(recorder: Any, module: Module, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Any:
        found: list[tuple[str, Any]] = []
        seen: set[int] = set()
        around = modules(recorder, module, prefix, duplicates=not remove_duplicate) if recurse else [(prefix, module)]
        for path, each in around:
            for name, value in content(recorder, each, table).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                found.append(((path + "." if path else "") + name, value))
        return recorder.track_fresh(iter(found))

    return captured


def values(named: Any) -> Any:
    """The capture of ``parameters`` or ``buffers``."""

    def captured(recorder: Any, module: Module, recurse: bool = True) -> Any:
        return recorder.track_fresh(iter([value for _, value in named(recorder, module, recurse=recurse)]))

    return captured


_parameters = capture(Module.named_parameters)(members("_parameters"))
_buffers = capture(Module.named_buffers)(members("_buffers"))
capture(Module.parameters)(values(_parameters))
capture(Module.buffers)(values(_buffers))


@capture(Module.__call__)
def _call(recorder: Any, module: Module, *args: Any, **kwargs: Any) -> Any:
    """What a class with a ``__call__`` of its own reaches by ``super()``: one guard that there are no hooks, and not one for each table of them."""
    return Inline(operator_forms.call_forward, (module, args, kwargs), {}) if recorder.has_no_hooks(module) else NotImplemented


@capture(Module.named_modules)
def _named_modules(recorder: Any, module: Module, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Any:
    if memo is not None:
        return NotImplemented
    return recorder.track_fresh(iter(list(modules(recorder, module, prefix, duplicates=not remove_duplicate))))


@capture(Module.modules)
def _modules(recorder: Any, module: Module) -> Any:
    return recorder.track_fresh(iter([each for _, each in modules(recorder, module)]))


@capture(Module.named_children)
def _named_children(recorder: Any, module: Module) -> Any:
    seen: dict[int, tuple[str, Any]] = {}
    for name, each in content(recorder, module, "_modules").items():
        if each is not None:
            seen.setdefault(id(each), (name, each))
    return recorder.track_fresh(iter(list(seen.values())))


@capture(Module.children)
def _children(recorder: Any, module: Module) -> Any:
    return recorder.track_fresh(iter([each for _, each in _named_children(recorder, module)]))


@capture(Module.zero_grad)
def _zero_grad(recorder: Any, module: Module, set_to_none: bool = True) -> Any:
    if not set_to_none:
        return NotImplemented
    for _, parameter in _parameters(recorder, module):
        recorder.set_gradient(parameter, None)
    return None
