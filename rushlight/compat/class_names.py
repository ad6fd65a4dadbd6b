"""`__module__` of classes under the alias: ``torch.nn.modules.linear``, as PyTorch's classes say.

Libraries choose by it: tracers that keep ``torch.nn``'s Modules whole, registries of class paths, multi-backend code.  A class is renamed when the
module that defines it is loaded, and only while `import torch` means rushlight; `home_module` gives the name here.  Functions keep their names.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..core.missing import PACKAGE, renamed
from ..core.peer_modules import PEER, peer_module
from .names import PRIVATE_NAMES

# Rooms that are no namespaces of PyTorch's: a class in one of them is renamed where users find it under another name.
_INSIDE = frozenset("capture checks cli codegen compat core graph ops passes runtime schedule tensor viewer".split())
_FOUND_IN = {
    "Generator": "torch._C",
    "TypedStorage": "torch.storage",
    "UntypedStorage": "torch.storage",
}  # classes of `torch` that say another module
_PRIVATE = {place: name for name, place in reversed(PRIVATE_NAMES.items()) if place.split(".")[1] in _INSIDE}


def presented_module(kind: type) -> str | None:
    """The module of PyTorch's that a class of rushlight's belongs to; None for one that PyTorch does not have."""
    module, name = kind.__module__, kind.__qualname__
    if module in _PRIVATE:
        return _PRIVATE[module]
    room, same = f"{module}.".split(".")[1], PEER + module.removeprefix(PACKAGE)
    if room in _INSIDE and vars(sys.modules[PACKAGE]).get(name) is kind:
        return _FOUND_IN.get(name, PEER)
    found = peer_module(module.partition(".")[2], name)
    return None if found == same and (room in _INSIDE or same in PRIVATE_NAMES) else found  # PyTorch has no such module, or another one


def rename_classes(module: ModuleType) -> None:
    """Have the classes that a module of rushlight's defines name PyTorch's module."""
    name = module.__name__
    for own, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == name and value.__qualname__ == own and value not in renamed:
            shown = presented_module(value)
            if shown is not None and shown != name:
                renamed[value] = name
                _set(value, shown)


def restore_classes() -> None:
    """Undo all renaming."""
    for kind, module in renamed.items():
        _set(kind, module)
    renamed.clear()


def _set(kind: Any, module: str) -> None:
    type.__setattr__(kind, "__module__", module)
