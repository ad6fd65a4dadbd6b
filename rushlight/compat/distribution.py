"""The distribution `torch` that the alias presents to `importlib.metadata`, and the files of a shim that presents it from a folder.

A shim is a folder for `PYTHONPATH`: its package `torch` installs the alias when it is imported, and its `dist-info` answers programs that
look for the distribution before they import anything.  The one in `shim/` is for the children of programs that `rushlight run` starts;
`rushlight shim` writes others.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from typing import Any

import rushlight

from ..core.release import PEER_VERSION, VERSION

NAME = "torch"
INFO = f"{NAME}-{PEER_VERSION}.dist-info"
FOLDER = Path(rushlight.__file__).resolve().parent / "compat" / "shim"

METADATA = f"""\
Metadata-Version: 2.1
Name: {NAME}
Version: {PEER_VERSION}
Summary: The name `torch` for rushlight, which speaks the language of PyTorch {PEER_VERSION}. This is not PyTorch.
Requires-Python: >=3.11
Requires-Dist: rushlight (=={VERSION})
"""

MODULE = '''\
"""`torch` means rushlight: importing this package installs the alias, which takes the place of this very module."""

import sys
from pathlib import Path

LOCATION = {location}  # where rushlight is, if it is not installed

try:
    from rushlight import compat
except ModuleNotFoundError as error:
    if error.name != "rushlight" or LOCATION is None:
        raise
    sys.path.append(str(LOCATION))
    from rushlight import compat

sys.modules.pop(__name__)
compat.install()
'''


def shim_files(location: str) -> dict[str, str]:
    """The files of a shim by their paths; `location` is Python text for the folder that holds rushlight, or "None"."""
    module = MODULE.format(location=location)
    if "Path(" not in location:
        module = module.replace("from pathlib import Path\n", "")
    return {
        f"{NAME}/__init__.py": module,
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/top_level.txt": f"{NAME}\n",
        f"{INFO}/INSTALLER": "rushlight\n",
    }


class AliasDistribution(Distribution):
    """What `importlib.metadata.distribution("torch")` finds while the alias is installed."""

    def read_text(self, filename: str) -> str | None:
        """A file of the metadata folder."""
        path = FOLDER / INFO / str(filename)
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def locate_file(self, path: Any) -> Any:
        """Where a file of the distribution is."""
        return FOLDER / os.fspath(path)

    @property
    def files(self) -> list[PackagePath]:
        """The files of the distribution."""
        found = [PackagePath(name) for name in shim_files("None")]
        for each in found:
            each.dist = self  # type: ignore[attr-defined]
        return found


def distributions(name: str | None) -> Iterator[Distribution]:
    """The distribution, if it is what is looked for (None looks for all) and is not found on the path anyway."""
    if str(FOLDER) in sys.path:
        return
    if name is None or name.lower().replace("_", "-") == NAME:
        yield AliasDistribution()


def children_find_it(environment: Any, path: list[str]) -> None:
    """Let Python processes that this one starts import `torch` as well: the shim goes to `PYTHONPATH` and to the path that is given."""
    folder, home = str(FOLDER), str(FOLDER.parents[2])
    old = environment.get("PYTHONPATH", "").split(os.pathsep)
    new = [folder] if home in map(os.path.realpath, [*site.getsitepackages(), site.getusersitepackages()]) else [folder, home]
    environment["PYTHONPATH"] = os.pathsep.join([*new, *(each for each in old if each and each not in new)])
    if folder not in path:  # processes that multiprocessing spawns take over the path
        path.insert(min(1, len(path)), folder)
