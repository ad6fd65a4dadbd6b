"""`__module__` of classes under the alias: ``torch.nn.modules.linear``, as PyTorch's classes say.

Libraries choose by it: tracers that keep ``torch.nn``'s Modules whole, registries of class paths, multi-backend code.  A class is renamed when the
module that defines it is loaded, and only while `import torch` means rushlight; `home_module` gives the name here.  Functions keep their names.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..core.missing import PACKAGE, renamed
from ..serialization.names import PATHS, PEER, TABLES, path_of
from .names import PRIVATE_NAMES

# Rooms that are no namespaces of PyTorch's: a class in one of them is renamed where users find it under another name.
_INSIDE = frozenset("capture checks cli codegen compat core graph ops passes runtime schedule tensor viewer".split())
_PRIVATE = {place: name for name, place in reversed(PRIVATE_NAMES.items()) if place.split(".")[1] in _INSIDE}


def presented_module(kind: type) -> str | None:
    """The module of PyTorch's that a class of rushlight's belongs to; None for one that PyTorch does not have."""
    module = kind.__module__
    if module in _PRIVATE:
        return _PRIVATE[module]
    if module.startswith(TABLES):  # `path_of` would ask the package for each name, and load what it has under it
        return PEER if vars(sys.modules[PACKAGE]).get(kind.__name__) is kind else PATHS.get(kind, "").rpartition(".")[0] or None
    found = path_of(kind)
    same = PEER + module.removeprefix(PACKAGE)
    if found is None or found[0] == same and (f"{module}.".split(".")[1] in _INSIDE or same in PRIVATE_NAMES):
        return None  # no module of PyTorch's, or another one under that name
    return found[0]


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
