"""Which names of PyTorch's a library or a program uses, and which of them are not here.

    python tools/library_names.py PATH ...          # files, folders, or names of installed packages
    python tools/library_names.py --installed       # every package beside this Python that mentions torch
    python tools/library_names.py --names OUT.json  # write all names that are used, to be resolved elsewhere
    python tools/library_names.py --known IN.json   # only names that are in this list (those that PyTorch itself resolves)

It reads the sources (nothing of them is run): imports of ``torch`` and its modules under whatever name, and attribute paths that begin with one.
A name is then looked up with ``import torch`` meaning rushlight.  With PyTorch installed, ``--resolve NAMES.json OUT.json`` keeps the names that PyTorch has.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import io
import json
import sys
import sysconfig
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOTS = ("torch", "functorch")


class Names(ast.NodeVisitor):
    """The names of PyTorch's that a file uses: as dotted paths, in the order of first use."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # name in the file -> path of PyTorch's
        self.found: dict[str, int] = {}  # path -> line

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            if each.name.partition(".")[0] in ROOTS:
                self.found.setdefault(each.name, node.lineno)
                self.bound[each.asname or each.name.partition(".")[0]] = each.name if each.asname else each.name.partition(".")[0]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or node.module.partition(".")[0] not in ROOTS:
            return
        for each in node.names:
            path = node.module if each.name == "*" else f"{node.module}.{each.name}"
            self.found.setdefault(path, node.lineno)
            if each.name != "*":
                self.bound[each.asname or each.name] = path

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        value: ast.expr = node
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in self.bound and isinstance(node.ctx, ast.Load):
            self.found.setdefault(".".join([self.bound[value.id], *reversed(parts)]), node.lineno)
        else:
            self.generic_visit(node)


def names_in(file: Path) -> dict[str, int]:
    """The names in a file, with the line of each; none where it is no Python of this version."""
    try:
        content = file.read_bytes()
        if b"torch" not in content:
            return {}
        text = content.decode("utf8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError, OSError, ValueError):
        return {}
    names = Names()
    for node in ast.walk(tree):  # imports anywhere bind for the whole file
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.visit(node)
    names.visit(tree)
    return names.found


def files_of(place: Path) -> Iterator[Path]:
    """The sources in a folder, or the file itself."""
    if place.is_file():
        yield place
    else:
        yield from (
            file for file in sorted(place.rglob("*.py")) if not {"tests", "test", "testing"} & set(file.relative_to(place).parts[:-1])
        )


def installed_packages() -> dict[str, Path]:
    """Packages beside this Python, but PyTorch."""
    folder = Path(sysconfig.get_path("purelib"))
    found = {each.stem: each for each in sorted(folder.iterdir()) if (each / "__init__.py").exists() or each.suffix == ".py"}
    return {name: place for name, place in found.items() if name not in {*ROOTS, "rushlight", "torchgen"}}


def place_of(given: str) -> tuple[str, Path]:
    """A path, or the place of an installed package."""
    if Path(given).exists():
        return Path(given).stem, Path(given)
    spec = importlib.util.find_spec(given)
    if spec is None or not (spec.submodule_search_locations or spec.origin):
        raise SystemExit(f"{given}: no such file, folder or package")
    return given, Path(list(spec.submodule_search_locations or [str(spec.origin)])[0])


def resolves(path: str) -> bool:
    """Whether a dotted path is there: a module, or an attribute of what comes before."""
    value: Any = None
    parts = path.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                value = importlib.import_module(name) if end == 1 else _step(value, name, parts[end - 1])
        except _Opaque:
            return True
        except (AttributeError, ImportError):
            return False
        except Exception:  # a property that needs a device, a module that needs a package: the name itself is there
            return True
    return True


class _Opaque(Exception):
    """The path leads into a value that is no module or class: what it has depends on the run."""


def _step(value: Any, name: str, last: str) -> Any:
    """The attribute or submodule of that name."""
    if hasattr(value, last):
        return getattr(value, last)
    if isinstance(value, type(sys)):
        return importlib.import_module(name)
    if not isinstance(value, type):
        raise _Opaque
    raise AttributeError(name)


def main() -> int:
    """List what is not here, the most used first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", help="files, folders, or names of installed packages")
    parser.add_argument("--installed", action="store_true", help="all packages beside this Python")
    parser.add_argument("--names", type=Path, help="write all names that are used")
    parser.add_argument("--known", type=Path, help="a list of names: others are not looked at")
    parser.add_argument("--resolve", nargs=2, type=Path, metavar=("NAMES", "OUT"), help="with PyTorch: write the names that it has")
    given = parser.parse_args()
    if given.resolve:
        source, target = given.resolve
        target.write_text(json.dumps([name for name in json.loads(source.read_text()) if resolves(name)], indent=0))
        return 0
    places = dict(map(place_of, given.places)) | (installed_packages() if given.installed else {})
    if not places:
        parser.error("name a file, a folder or a package, or --installed")
    users: dict[str, dict[str, str]] = defaultdict(dict)
    for package, place in places.items():
        for file in files_of(place):
            for path, line in names_in(file).items():
                users[path].setdefault(package, f"{file}:{line}")
    if given.names:
        given.names.write_text(json.dumps(sorted(users), indent=0))
        return 0
    known = set(json.loads(given.known.read_text())) if given.known else None
    importlib.import_module("rushlight.compat").install()
    missing = [path for path in users if (known is None or path in known) and not resolves(path)]
    for path in sorted(missing, key=lambda each: (-len(users[each]), each)):
        package, where = next(iter(users[path].items()))
        print(f"{len(users[path]):4} {path}  ({', '.join(list(users[path])[:4])}; {where})")
    print(f"{len(missing)} of {len(users)} names are not here")
    return 0 if not missing else 1


if __name__ == "__main__":
    sys.exit(main())
