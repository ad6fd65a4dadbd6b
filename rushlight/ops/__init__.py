"""The op table: every op declared once, in folders by family.

In: nothing but ``core``.  Out: ops in ``core.declare.table``, public functions and methods.  A file is imported when one of its names is
first used; ``manifest.py``, written by ``document.py`` (as is docs/ops.md), says which file declares which.  Read ``pointwise/unary.py``
first for declarations, ``core/declare.py`` for what they can say.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..core.declare import expect
from ..core.errors import NotSupported
from ..core.missing import PACKAGE
from ..core.recording import together
from .manifest import FILES

expect(__name__, FILES)
together.expect(f"{__name__}.linalg.affine", "linear")
FOLDERS = frozenset(
    (*(name.partition(".")[0] for name in FILES), "aten_calls", "document", "overloads")
)  # modules, `torch.ops.quantized` among them
loaded_libraries: set[str] = set()


class ExtensionNotSupported(NotSupported, OSError):
    """A compiled extension can't be loaded: an OSError, by which libraries that can do without it know."""

    code = "RL302"


# Folder of a library's compiled ops, and the beginning of the file's name -> the module here that declares these ops in Python.
provided_libraries = {
    ("torchvision", "_C"): "compat.torchvision_ops",
    ("lib", "_torchaudio"): "compat.torchaudio_ops",
    ("lib", "libtorchaudio"): "compat.torchaudio_ops",
}

# Namespace of operators that files of models may call -> the module here that declares them.
provided_namespaces = {"torchvision": "compat.torchvision_ops", "torchaudio": "compat.torchaudio_ops"}


def provide(namespace: str) -> None:
    """Declare a library's operators that are written anew here, for a file that calls them: the library itself need not be there."""
    if namespace in provided_namespaces:
        importlib.import_module(f"{PACKAGE}.{provided_namespaces[namespace]}")


def load_library(path: str) -> None:
    """Load a shared library of compiled PyTorch ops: there is no PyTorch here that it could link with, but some libraries' ops are written anew."""
    file = Path(path)
    for (folder, name), module in provided_libraries.items():
        if file.parent.name == folder and file.name.startswith(name):
            importlib.import_module(f"{PACKAGE}.{module}")
            loaded_libraries.add(str(path))
            return
    raise ExtensionNotSupported(
        f"torch.ops.load_library({str(path)!r}): compiled extensions of PyTorch link with its C++ libraries, which are not here; register the "
        "op in Python with torch.library.custom_op"
    )


def __getattr__(name: str) -> Any:
    if name in FOLDERS:
        return importlib.import_module(f"{__name__}.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = importlib.import_module(f"{__name__}.overloads").namespace(name)  # so that `del torch.ops.mylib` works
    return found
