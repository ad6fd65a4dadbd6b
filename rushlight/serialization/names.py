"""Names in checkpoints: PyTorch's names of classes and functions, and the objects they mean here.

Files carry PyTorch's names in both directions, so that each system reads what the other has written; whether
``import torch`` means rushlight makes no difference.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from operator import attrgetter
from typing import Any

from ..core.devices import device
from ..core.dtypes import dtype
from ..core.missing import PACKAGE, aliased
from ..core.peer_modules import PEER, peer_module
from ..core.size import Size
from ..tensor import Tensor
from ..tensor.generator import Generator
from ..tensor.layout import layout, memory_format
from .rebuild import FUNCTIONS, VALUES

_PACKED = f"{PACKAGE}.ops.quantized.packed"  # objects of PyTorch's C++ classes: the parameters of quantized layers
_TABLES = (f"{PACKAGE}.ops.", f"{PACKAGE}.tensor.", f"{PACKAGE}.core.")  # rooms whose names users find elsewhere
_FACES = ("", ".nn.functional", ".special", ".linalg", ".fft", ".autograd")  # where users find functions of the op table


def restore_generator(place: Any = "cpu") -> Generator:
    """A random generator; its state follows."""
    return _SavedGenerator()


class _SavedGenerator(Generator):
    """A generator on its way out of a file: there, the state is a tuple of the seed, an offset and a tensor of bytes."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple):
            self.set_state(state[-1])
            self.__class__ = Generator  # type: ignore[assignment]
        else:
            super().__setstate__(state)


# Names that are resolved only in trusted files.
_TRUSTED: dict[str, Any] = {
    "torch._C.Generator": restore_generator,
    "torch._C.TensorBase": Tensor,
    "torch._C._VariableFunctionsClass": sys.modules[PACKAGE],  # functions such as torch.relu are attributes of it
    "torch.dtype": dtype,
    "torch.layout": layout,
    "torch.memory_format": memory_format,
}
_PATHS: dict[Any, str] = {
    **{each: name for name, each in VALUES.items() if isinstance(each, type) and ".cuda." not in name},
    **{each: name for name, each in FUNCTIONS.items() if name.startswith("torch.")},
    **{each: name for name, each in _TRUSTED.items() if each not in (Tensor, sys.modules[PACKAGE])},
    Size: "torch.Size",
    device: "torch.device",
    Generator: "torch._C.Generator",
}
# The modules that PyTorch's functions name -> those in which users find them, and the prefix of their names that is dropped there.
_NATIVE = {
    "torch._C._nn": (".nn.functional", ""),
    "torch._C._special": (".special", "special_"),
    "torch._C._linalg": (".linalg", "linalg_"),
    "torch._C._fft": (".fft", "fft_"),
}


def path_of(value: Any, name: str | None = None) -> tuple[str, str] | None:
    """PyTorch's module and name for a class, function or type of ours; None for what is not ours."""
    if isinstance(value, (dtype, memory_format)):
        return PEER, value.name
    if value.__hash__ is not None and value in _PATHS:
        place, _, last = _PATHS[value].rpartition(".")
        return place, last
    module = getattr(value, "__module__", None)
    name = name or getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not name or module.partition(".")[0] not in (PACKAGE, PEER):
        return None
    if module.startswith(_TABLES):
        for face in _FACES:
            if getattr(sys.modules.get(PACKAGE + face), name, None) is value:
                return PEER + face, name
    if module == _PACKED:
        return PEER, "ScriptObject"
    place = module.partition(".")[2]
    return peer_module(place, name), name


def modern(module: str, name: str) -> tuple[str, str]:
    """A name as Python 3 and NumPy 2 have it: protocol 2 writes those of Python 2, and NumPy has moved its core."""
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    if module == "numpy.core" or module.startswith("numpy.core."):
        module = module.replace("numpy.core", "numpy._core", 1)
    return module, name


def _module_with(module: str, name: str) -> Any:
    """A module that has a name: the one that is asked for, or else, since packages of PyTorch's may be one file here, the nearest parent."""
    try:
        found = importlib.import_module(module)
        if hasattr(found, name):
            return found
    except ModuleNotFoundError:
        found = None
    parent = module.rpartition(".")[0]
    while parent.startswith(f"{PACKAGE}."):
        if hasattr(sys.modules.get(parent), name):
            return sys.modules[parent]
        parent = parent.rpartition(".")[0]
    return found if found is not None else importlib.import_module(module)


def lookup(module: str, name: str) -> Any:
    """The object that a name in a trusted file refers to; this may import modules."""
    module, name = modern(module, name)
    full = f"{module}.{name}"
    if full == "torch.ScriptObject":
        return importlib.import_module(_PACKED).Packed
    for names in (FUNCTIONS, VALUES, _TRUSTED):
        if full in names and full.startswith(PEER):
            return names[full]
    if module in _NATIVE:
        face, prefix = _NATIVE[module]
        module, name = PEER + face, name.removeprefix(prefix)
    if module.partition(".")[0] == PEER and not aliased():
        module = PACKAGE + module.removeprefix(PEER)
    try:
        found = attrgetter(name)(_module_with(module, name.partition(".")[0]))
    except (ImportError, AttributeError) as error:
        kind = AttributeError if isinstance(error, AttributeError) else pickle.UnpicklingError
        raise kind(f"Can't get {full}, which this file names: {error}") from error
    return found
