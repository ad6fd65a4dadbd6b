"""The import hook that makes `torch` and its submodules second names of rushlight's modules.

`torch` itself is a module of its own, with the names of `rushlight`, that answers what differs: the version of PyTorch that is presented,
its own name, PyTorch's private submodules.  Every submodule is rushlight's very own.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution
from types import CodeType, ModuleType
from typing import Any

import rushlight

from ..core import missing
from . import distribution
from .class_names import rename_classes, restore_classes
from .names import OTHER_PACKAGES, PACKAGES, PRIVATE_ATTRIBUTES, PRIVATE_NAMES
from .torch_version import __version__ as PRESENTED_VERSION

ALIAS, PACKAGE = "torch", "rushlight"

_OWNERS = {name.rpartition(".")[0] for name in PRIVATE_NAMES}  # modules with private submodules, which PyTorch loads with them

# What the alias does not take over from rushlight: what says who it is, and parts that are no names of PyTorch's.
_OWN = {
    "__builtins__", "__cached__", "__doc__", "__getattr__", "__loader__", "__name__", "__package__", "__spec__", "__version__",
    "cli", "compat", "version",
}  # fmt: skip


def resolve(name: str) -> str | None:
    """The module that `torch.X.Y` stands for, or None where rushlight keeps none under that name."""
    if name in OTHER_PACKAGES:
        return OTHER_PACKAGES[name]
    owner, rest = name, ""
    while owner:
        if owner in PRIVATE_NAMES:
            return PRIVATE_NAMES[owner] + rest
        owner, _, last = owner.rpartition(".")
        rest = f".{last}{rest}"
    found = PACKAGE + name.removeprefix(ALIAS)
    return None if found.split(".")[1:2] in (["compat"], ["cli"]) else found


def is_alias(name: str) -> bool:
    """Whether a module's name is PyTorch's: `torch` or `torch.something`."""
    return name.partition(".")[0] == ALIAS or name in OTHER_PACKAGES


def found_spec(module_name: str | None) -> ModuleSpec | None:
    """The spec of a module of rushlight's, or None where there is none."""
    try:
        return None if module_name is None else importlib.util.find_spec(module_name)
    except (ModuleNotFoundError, ValueError):  # its parent is not there, or is no package
        return None


class AliasLoader(InspectLoader):
    """Puts the very module that a name stands for into `sys.modules`, in place of the one that import has made."""

    def __init__(self, module_name: str) -> None:
        self.module_name = module_name

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = found = make_alias() if name == ALIAS else importlib.import_module(self.module_name)
        if name in PACKAGES:
            vars(found).setdefault("__path__", [])
        mirror()

    def _real(self) -> Any:
        """The loader of the module's file."""
        spec = found_spec(self.module_name)
        if spec is None or spec.loader is None:
            raise ImportError(f"no module named {self.module_name!r}", name=self.module_name)
        return spec.loader

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module's file: `python -m torch.X` runs it."""
        return self._real().get_code(self.module_name)  # type: ignore[no-any-return]

    def get_source(self, fullname: str) -> str | None:
        """The text of the module's file."""
        return self._real().get_source(self.module_name)  # type: ignore[no-any-return]

    def is_package(self, fullname: str) -> bool:
        """Whether the module may have submodules."""
        return fullname in PACKAGES or bool(self._real().is_package(self.module_name))

    def get_filename(self, fullname: str) -> str:
        """The module's file."""
        return self._real().get_filename(self.module_name)  # type: ignore[no-any-return]


class RenamingLoader(SourceFileLoader):
    """Loads a module of rushlight's; its classes then name PyTorch's module."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        rename_classes(module)


def make_spec(name: str, module_name: str, real: ModuleSpec) -> ModuleSpec:
    """The spec of an alias: it tells the file of the module it stands for."""
    spec = ModuleSpec(name, AliasLoader(module_name), origin=real.origin)
    if real.submodule_search_locations is not None or name in PACKAGES:
        spec.submodule_search_locations = list(real.submodule_search_locations or ())
    spec.has_location = real.has_location
    return spec


class AliasFinder:
    """Finds `torch.X.Y`, and the distribution `torch`; it must stand first, or the module's file would be found and run a second time."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.startswith(f"{PACKAGE}."):
            own = PathFinder.find_spec(name, path, target)
            if own is not None and isinstance(own.loader, SourceFileLoader):
                own.loader = RenamingLoader(name, own.loader.path)
            return own
        if not is_alias(name):
            return None
        module_name = resolve(name)
        real = found_spec(module_name)
        if module_name is not None and real is not None:
            return make_spec(name, module_name, real)
        asking = sys._getframe(1).f_back
        if asking is None or asking.f_code.co_name != "_find_and_load_unlocked":
            return None  # `importlib.util.find_spec` asks whether there is one; only an import raises
        parent, _, last = name.rpartition(".")
        near = missing.nearest(last, PACKAGE + parent.removeprefix(ALIAS))
        raise ModuleNotFoundError(f"No module named {name!r}: it is not in {PACKAGE} yet{near}", name=name)

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """The distribution `torch`, for `importlib.metadata`."""
        return distribution.distributions(getattr(context, "name", None))

    def invalidate_caches(self) -> None:
        """Nothing is cached."""


_finder = AliasFinder()


def _public(name: str) -> Any:
    """A name of ``torch``: one of the package, or a public one of ``torch._C``, all of which PyTorch has in ``torch``, too."""
    try:
        return getattr(rushlight, name)
    except AttributeError:
        compiled = importlib.import_module(PRIVATE_NAMES[f"{ALIAS}._C"])
        if name.startswith("_") or name not in compiled.__all__:
            raise
        return getattr(compiled, name)


def make_alias() -> ModuleType:
    """The module `torch`.

    It is a plain module, so reading `torch.add` costs what it costs of any module.
    """
    module = ModuleType(ALIAS, rushlight.__doc__)
    names = vars(module)

    def __getattr__(name: str) -> Any:
        private = PRIVATE_NAMES.get(f"{ALIAS}.{name}")
        found = importlib.import_module(private) if private else _public(name)
        if name not in ("__all__", "compat"):
            names[name] = found
        return found

    names.update({name: value for name, value in vars(rushlight).items() if name not in _OWN})
    real = rushlight.__spec__
    assert real is not None
    spec = make_spec(ALIAS, PACKAGE, real)
    names.update(
        __version__=PRESENTED_VERSION, __spec__=spec, __loader__=spec.loader, __package__=ALIAS, __path__=list(rushlight.__path__),
        __file__=rushlight.__file__, torch=module, DeviceObjType=rushlight.device, legacy_contiguous_format=rushlight.contiguous_format, __getattr__=__getattr__, __dir__=lambda: sorted({*dir(rushlight), *names}),
    )  # fmt: skip
    return module


def mirror() -> None:
    """Give every module of rushlight's that is loaded its second name.

    Import binds a module that it loads to its parent, where a function of the same name may have taken its place
    since (`torch.tensor` is one). It does not do so for a module that it finds loaded.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PACKAGE}.") and not name.startswith((f"{PACKAGE}.compat", f"{PACKAGE}.cli")):
            second = ALIAS + name.removeprefix(PACKAGE)
            if second not in PRIVATE_NAMES:
                sys.modules.setdefault(second, module)
            if second in PACKAGES and "__path__" not in vars(module):
                vars(module)["__path__"] = []  # a package of PyTorch's that is one file here
            if (second in PRIVATE_ATTRIBUTES or second in _OWNERS) and "__getattr__" not in vars(module):
                vars(module)["__getattr__"] = missing.missing(name)  # by which the private names are found
    for name, place in PRIVATE_NAMES.items():  # a module found loaded is not bound over a function of its name (`library.infer_schema`)
        parent, _, last = name.rpartition(".")
        owner = sys.modules.get(parent)
        if owner is not None and place in sys.modules and not isinstance(vars(owner).get(last, owner), ModuleType):
            sys.modules.setdefault(name, sys.modules[place])


_create_extension = ExtensionFileLoader.create_module
_LIBRARIES = ("libtorch", "libc10", "libshm", "torch_python", "_ZN2at", "_ZN3c10", "_ZNK2at", "_ZNK3c10", "_ZN5torch", "_ZTIN5torch")


def create_extension(self: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
    """Load a compiled module; one that is linked with PyTorch gets a sentence that says so."""
    try:
        return _create_extension(self, spec)
    except ImportError as error:
        if any(each in str(error) for each in _LIBRARIES):
            raise ImportError(missing.needs_pytorch_library(spec.name, str(spec.origin)), name=spec.name, path=spec.origin) from error
        raise


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
    sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    sys.modules[ALIAS] = make_alias()
    for name, module_name in PRIVATE_NAMES.items():
        missing.stand_ins[PACKAGE + name.removeprefix(ALIAS)] = module_name
    for owner, places in PRIVATE_ATTRIBUTES.items():
        for place, attributes in places.items():
            missing.stand_ins.update({f"{PACKAGE}{owner.removeprefix(ALIAS)}.{each}": f"{place}:{each}" for each in attributes.split()})
    ExtensionFileLoader.create_module = create_extension  # type: ignore[method-assign]
    for name, module in list(sys.modules.items()):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            rename_classes(module)
    mirror()


def uninstall() -> None:
    """Undo `install`: from now on `import torch` finds PyTorch, or nothing. Objects in hand stay as they are."""
    if not installed():
        return
    sys.meta_path.remove(_finder)  # type: ignore[arg-type]
    missing.stand_ins.clear()
    restore_classes()
    ExtensionFileLoader.create_module = _create_extension  # type: ignore[method-assign]
    for name in [name for name in sys.modules if is_alias(name)]:
        if name in PRIVATE_NAMES and "." in name:  # import has bound it to a module that stays
            parent, _, child = name.rpartition(".")
            if isinstance(vars(sys.modules[parent]).get(child), ModuleType):
                del vars(sys.modules[parent])[child]
    for name in [name for name in sys.modules if is_alias(name)]:
        del sys.modules[name]
