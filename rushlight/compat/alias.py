"""The import hook that makes `torch` and its submodules second names of rushlight's modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import rushlight

from ..core import missing
from .names import PRIVATE_NAMES

ALIAS, PACKAGE = "torch", "rushlight"


def resolve(name: str) -> str | None:
    """The module that `torch.X.Y` stands for, or None where rushlight keeps none under that name."""
    owner, rest = name, ""
    while owner:
        if owner in PRIVATE_NAMES:
            return PRIVATE_NAMES[owner] + rest
        owner, _, last = owner.rpartition(".")
        rest = f".{last}{rest}"
    found = PACKAGE + name.removeprefix(ALIAS)
    return None if found.split(".")[1:2] == ["compat"] else found


def is_alias(name: str) -> bool:
    """Whether a module's name is PyTorch's: `torch` or `torch.something`."""
    return name.partition(".")[0] == ALIAS


class AliasLoader(Loader):
    """Puts the very module that a name stands for into `sys.modules`, in place of the one that import has made."""

    def __init__(self, module_name: str) -> None:
        self.module_name = module_name

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self.module_name)
        mirror()


class AliasFinder(MetaPathFinder):
    """Finds `torch.X.Y`; it must stand first, or the module's file would be found and run a second time."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not is_alias(name):
            return None
        module_name = resolve(name)
        if module_name is None or importlib.util.find_spec(module_name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}: it is not in {PACKAGE} yet", name=name)
        return ModuleSpec(name, AliasLoader(module_name), is_package=True)


_finder = AliasFinder()


def mirror() -> None:
    """Give every module of rushlight's that is loaded its second name.

    Import binds a module that it loads to its parent, where a function of the same name may have taken its place
    since (`torch.tensor` is one). It does not do so for a module that it finds loaded.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PACKAGE}.") and not name.startswith(f"{PACKAGE}.compat"):
            sys.modules.setdefault(ALIAS + name.removeprefix(PACKAGE), module)


def installed() -> bool:
    """Whether `import torch` means rushlight."""
    return _finder in sys.meta_path


def install() -> None:
    """Make `import torch`, and the import of every submodule, mean rushlight. Doing it twice does no harm.

    Raises a RuntimeError where the real PyTorch is loaded already, since half a program would then use each.
    """
    if installed():
        return
    for name, module in sys.modules.items():
        if is_alias(name) and not getattr(module, "__name__", PACKAGE).startswith(PACKAGE):
            raise RuntimeError(
                f"the real PyTorch is loaded already (module {name!r} from "
                f"{getattr(module, '__file__', 'an unknown place')}): call rushlight.compat.install() before anything "
                "imports torch, or run the program with `python -m rushlight run`"
            )
    sys.meta_path.insert(0, _finder)
    sys.modules[ALIAS] = rushlight
    for name, module_name in PRIVATE_NAMES.items():
        missing.stand_ins[PACKAGE + name.removeprefix(ALIAS)] = module_name
    mirror()


def uninstall() -> None:
    """Undo `install`: from now on `import torch` finds PyTorch, or nothing. Objects in hand stay as they are."""
    if not installed():
        return
    sys.meta_path.remove(_finder)
    missing.stand_ins.clear()
    for name in [name for name in sys.modules if is_alias(name)]:
        if name in PRIVATE_NAMES:  # import has bound it to a module that stays
            parent, _, child = name.rpartition(".")
            vars(sys.modules[parent]).pop(child, None)
    for name in [name for name in sys.modules if is_alias(name)]:
        del sys.modules[name]
