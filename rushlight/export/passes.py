"""Passes over exported programs: ``move_to_device_pass``."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase
from ..core.devices import device
from .exported_program import ExportedProgram


def move_to_device_pass(ep: ExportedProgram, location: Any) -> ExportedProgram:
    """Move a program: its parameters, buffers and constants, and the devices that its operators name, to a device or by a dict of devices."""

    def placed(given: Any) -> device:
        found = location.get(str(given), given) if isinstance(location, dict) else location
        return found if isinstance(found, device) else device(found)

    def moved(value: Any) -> Any:
        if not isinstance(value, TensorBase):
            return value
        return value.to(placed(value.device))  # type: ignore[attr-defined]

    for table in (ep.state_dict, ep.constants):
        for name, value in table.items():
            if isinstance(value, TensorBase):
                value.data = moved(value.data)  # type: ignore[attr-defined]
                table[name] = value
    for module in (ep.graph_module, *ep.graph_module.modules()):
        for node in getattr(module, "graph", ep.graph).nodes:
            node.kwargs = {key: placed(each) if isinstance(each, device) else each for key, each in node.kwargs.items()}
            node.args = tuple([placed(each) if isinstance(each, device) else each for each in node.args])
    ep.graph_module.recompile()
    return ep


__all__ = ["move_to_device_pass"]
