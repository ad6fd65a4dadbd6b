"""What a Module consists of, asked for inside a captured program: its parameters, buffers and submodules, with the structure guarded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....nn.modules.module import Module
from ..record.graph_breaks import Break
from .backward import set_gradient


def capture_members(recorder: Any, module: Module, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of one of the methods of a Module that go through all of it; NotImplemented for others."""
    captured = _CAPTURED.get(function)
    if captured is None or id(module) not in recorder.sources:
        return NotImplemented
    return captured(recorder, module, *args, **kwargs)


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
    recorder.seen(recorder.places.attribute(recorder.sources[id(module)], name), found)
    recorder.expand(found)
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
        return recorder.made(iter(found))

    return captured


_parameters, _buffers = members("_parameters"), members("_buffers")


def _values(named: Any) -> Any:
    def captured(recorder: Any, module: Module, recurse: bool = True) -> Any:
        return recorder.made(iter([value for _, value in named(recorder, module, recurse=recurse)]))

    return captured


def _zero_grad(recorder: Any, module: Module, set_to_none: bool = True) -> Any:
    if not set_to_none:
        return NotImplemented
    for _, parameter in _parameters(recorder, module):
        set_gradient(recorder, parameter, None)
    return None


_CAPTURED: dict[Any, Any] = {
    Module.named_parameters: _parameters, Module.named_buffers: _buffers, Module.parameters: _values(_parameters), Module.buffers: _values(_buffers),
    Module.zero_grad: _zero_grad,
}  # fmt: skip
