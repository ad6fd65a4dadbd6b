"""The house rules that imports and file sizes must keep; docs/architecture.md says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rushlight"
LONGEST = 600

# The rooms in order: a file imports from its own room and from rooms before it.  What is in no room but stands beside `__init__.py`
# (`fft.py`, ...) is part of the public face, as are files that only give PyTorch's second names to what lives elsewhere.
ROOMS = (
    "core graph ops autograd tensor amp nn serialization utils optim func ao capture passes schedule codegen runtime onnx backends".split()
)
FACE = len(ROOMS)
FACE_ROOMS = {
    "checks",
    "cli",
    "compat",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "fx",
    "jit",
    "library",
    "masked",
    "multiprocessing",
    "nested",
    "profiler",
    "signal",
    "sparse",
    "testing",
    "viewer",
}
SECOND_NAMES = ("nn/intrinsic/", "nn/qat/", "nn/quantized/")  # torch.nn.quantized is torch.ao.nn.quantized
HEIGHT = {**{room: height for height, room in enumerate(ROOMS)}, **dict.fromkeys(FACE_ROOMS, FACE)}

# Packages that may be absent, and so are imported where they are first used.
OPTIONAL = {
    "onnx",
    "onnxruntime",
    "onnx_ir",
    "onnxscript",
    "llvmlite",
    "cupy",
    "triton",
    "scipy",
    "safetensors",
    "mpi4py",
    "PIL",
    "matplotlib",
}

# File -> why it imports inside a function all the same.
LATE_IMPORTS: dict[str, str] = {}

SOURCES = sorted(PACKAGE.rglob("*.py"))
LAYOUT = [file for folder in ("rushlight", "tests", "bench", "examples") for file in (ROOT / folder).rglob("*.py")]


def height(parts: tuple[str, ...]) -> int:
    """The row of a module, given by its name without `rushlight`."""
    if parts and parts[0] in HEIGHT:
        return HEIGHT[parts[0]]
    if parts and (PACKAGE / parts[0]).is_dir():
        raise ValueError(f"rushlight/{parts[0]} is in no row of the rooms: add it to ROOMS and to docs/architecture.md")
    return FACE


def module_parts(file: Path) -> tuple[str, ...]:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported_modules(node: ast.Import | ast.ImportFrom, file: Path) -> Iterator[tuple[str, ...]]:
    """The full names that a statement imports; `from a import b` may mean a module `a.b`, so that is named too."""
    if isinstance(node, ast.Import):
        yield from (tuple(alias.name.split(".")) for alias in node.names)
        return
    base = tuple(node.module.split(".")) if node.module else ()
    if node.level:
        package = ("rushlight", *file.relative_to(PACKAGE).parent.parts)
        base = package[: len(package) - node.level + 1] + base
    for alias in node.names:
        yield (*base, alias.name)


def imports(file: Path) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import that runs, and whether it stands in a function. Imports for type checkers alone never run."""

    def walk(node: ast.AST, in_function: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                yield from walk(child, in_function)
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, in_function
        in_function = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, in_function)

    yield from walk(ast.parse(file.read_text(encoding="utf8")), False)


def upward_imports(file: Path) -> list[str]:
    second_name = str(file.relative_to(PACKAGE)).startswith(SECOND_NAMES)
    own = FACE if second_name else height(module_parts(file))
    return [
        f"{file.name}:{node.lineno}: {'.'.join(module)}"
        for node, _ in imports(file)
        for module in imported_modules(node, file)
        if module[0] == "rushlight" and height(module[1:]) > own
    ]


def late_imports(file: Path) -> list[str]:
    return [
        f"{file.name}:{node.lineno}: {'.'.join(module)}"
        for node, in_function in imports(file)
        if in_function
        for module in imported_modules(node, file)
        if module[0] not in OPTIONAL
    ]


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_stay_in_their_row_or_below(file: Path) -> None:
    assert upward_imports(file) == []


# The order inside of a room: a part imports from itself and from the parts before it.  What is not named comes after those that are.
PARTS = {
    "capture": "tracer control graph_data graph_module listing trace script compile",
    "capture/compile": "annotations config decode vm guards record handlers runtime",
    "capture/script": "frontend ir lower transform run",
}


def sideways_imports(file: Path, room: str, order: list[str]) -> list[str]:
    """The imports of a file in a room from parts of it that come later in its order."""
    parents = ("rushlight", *room.split("/"))

    def rank(parts: tuple[str, ...]) -> int:
        return order.index(parts[0]) if parts and parts[0] in order else len(order)

    own = rank(("rushlight", *module_parts(file))[len(parents) :])
    return [
        f"{file.name}:{node.lineno}: {'.'.join(module)}"
        for node, _ in imports(file)
        for module in imported_modules(node, file)
        if module[: len(parents)] == parents and rank(module[len(parents) :]) > own
    ]


@pytest.mark.parametrize("room", PARTS)
def test_parts_of_a_room_import_in_their_order(room: str) -> None:
    order = PARTS[room].split()
    assert all((PACKAGE / room / each).is_dir() or (PACKAGE / room / f"{each}.py").is_file() for each in order)
    assert [found for file in sorted((PACKAGE / room).rglob("*.py")) for found in sideways_imports(file, room, order)] == []


def import_cycles(files: list[Path]) -> list[list[str]]:
    """Groups of modules that import each other when they are loaded; parents of modules are not counted as imported by them."""
    modules = {("rushlight", *module_parts(file)): file for file in files}
    graph: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for name, file in modules.items():
        found = {
            each if each in modules else each[:-1] for node, late in imports(file) if not late for each in imported_modules(node, file)
        }
        graph[name] = {each for each in found if each in modules and each != name}
    while True:  # take away what imports nothing that is left
        free = {name for name, needed in graph.items() if not needed}
        if not free:
            return [sorted(".".join(name) for name in graph)] if graph else []
        graph = {name: needed - free for name, needed in graph.items() if name not in free}


def test_no_modules_import_each_other() -> None:
    assert import_cycles(SOURCES) == []


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_only_optional_packages_are_imported_late(file: Path) -> None:
    if str(file.relative_to(ROOT)) not in LATE_IMPORTS:
        assert late_imports(file) == []


def test_every_exception_is_needed() -> None:
    assert [name for name in LATE_IMPORTS if not late_imports(ROOT / name)] == []


def test_no_file_is_too_long() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf8").splitlines()) for file in LAYOUT}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_pytorch_is_imported_nowhere() -> None:
    for file in SOURCES:
        for node, _ in imports(file):
            assert all(module[0] != "torch" for module in imported_modules(node, file)), file


# The rules themselves, on code that breaks them.


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A function that writes a file into a package of the same rooms, and returns its path."""
    monkeypatch.setattr("test_layers.PACKAGE" if __name__ == "test_layers" else f"{__name__}.PACKAGE", tmp_path)

    def write(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from ..nn import Module", 1),
        ("from .. import nn", 1),
        ("import rushlight.nn.functional", 1),
        ("import rushlight", 1),
        ("from rushlight import Tensor", 1),
        ("def f():\n    from ..onnx import export", 1),
        ("from ..core import dtypes\nfrom . import arithmetic\nfrom ..graph import Graph\nimport numpy", 0),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..tensor import Tensor", 0),
    ],
)
def test_an_upward_import_is_seen(written, text: str, count: int) -> None:
    assert len(upward_imports(written("ops/example.py", text))) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f():\n    import os", 1),
        ("class C:\n    def f(self):\n        if True:\n            from .a import b", 1),
        ("def f():\n    import onnx.helper\n    from cupy import asarray", 0),
        ("try:\n    import os\nfinally:\n    ...", 0),
    ],
)
def test_a_late_import_is_seen(written, text: str, count: int) -> None:
    assert len(late_imports(written("ops/example.py", text))) == count


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("capture/compile/record/example.py", "from ..handlers.backward import capture_grad", 1),
        ("capture/compile/record/example.py", "from .. import runtime", 1),
        ("capture/compile/handlers/example.py", "from ..record.registry import handles\nfrom . import other\nfrom ....core import base", 0),
    ],
)
def test_a_sideways_import_is_seen(written, name: str, text: str, count: int) -> None:
    assert len(sideways_imports(written(name, text), "capture/compile", PARTS["capture/compile"].split())) == count


def test_a_cycle_is_seen(written) -> None:
    files = [written("ops/a.py", "from . import b"), written("ops/b.py", "from .c import d"), written("ops/c.py", "from . import a")]
    assert import_cycles(files) == [["rushlight.ops.a", "rushlight.ops.b", "rushlight.ops.c"]]
    assert import_cycles(files[:2]) == []


def test_an_unknown_room_is_an_error(written) -> None:
    with pytest.raises(ValueError, match="is in no row"):
        upward_imports(written("attic/example.py", "import os"))
