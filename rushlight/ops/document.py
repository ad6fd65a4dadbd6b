"""Write what follows from the op table: docs/ops.md (every op, where its gradient comes from, how many samples test it) and ``manifest.py``.

python -m rushlight.ops.document
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import textwrap
from typing import Any

from ..core.declare import PACKAGE, Op, exports, methods, table
from ..core.facets import facets

FOLDER = pathlib.Path(__file__).parent
INDEX = '''"""Which file below this folder declares which names, so that none has to be loaded before it is used.

Written by `python -m rushlight.ops.document`: run it after declaring an op (a test says so, too).
"""

# fmt: off
FILES = {
'''

HEADER = """# Operations

This page is written from the op table by `make docs`.  Every op is declared once, in `rushlight/ops/`; what a column says is read
off its declaration.

- **gradient**: *rule* (written with differentiable ops, so it can be differentiated again), *body* (from the ops it is made of),
  *none* (integers, comparisons: there is none by nature) or **missing**.
- **samples**: how many inputs the tests run it on; with PyTorch's recorded results, meta rules against kernels, `gradcheck` and
  `gradgradcheck`.
- **forms**: `m` a method, `_` an in-place variant, `out` takes `out=`, `view` shares the input's memory.
"""


# The rooms that register facets; a facet whose source is named by itself loads it.
ROOMS = ("amp", "func", "passes.costs", "passes.rematerialize", "utils.flop_counter")


def load_facets() -> None:
    """Import every module that declares a facet, and the sources of those that are loaded on use."""
    for room in ROOMS:
        importlib.import_module(f"{PACKAGE}.{room}")
    for facet in facets.values():
        facet.load()


def gradient(op: Op) -> str:
    """Where an op's gradient comes from."""
    if op.vjp:
        return "rule"
    if op.vjp is not None:
        return "none"
    return "body" if op.body is not None else "**missing**"


def forms(op: Op) -> str:
    """The forms in which an op can be called, beside the function."""
    found = ["m"] if op.method else []
    found += ["_"] if op.in_place is not None else []
    found += ["out"] if op.has_out else []
    found += ["view"] if op.view else []
    return " ".join(found)


def summary(op: Op) -> str:
    """The first line of the docstring, with known limits."""
    text = (op.doc or "").strip().split("\n")[0].replace("|", "\\|")
    return f"{text} *{op.notes}.*" if op.notes else text


def page() -> str:
    """The whole page."""
    declared = [op for op in table.values() if op.functional is None]
    families: dict[str, list[Any]] = {}
    for op in declared:
        families.setdefault(op.source_module.removeprefix(f"{__package__}."), []).append(op)
    public = len({name for name in exports if not name[1].startswith("_")})
    missing = [op.name for op in declared if gradient(op) == "**missing**"]
    untested = [op.name for op in declared if op.sample_maker is None and op.namespace is not None]
    lines = [HEADER]
    lines.append(f"{len(declared)} ops are declared, under {public} public function names and their methods.\n")
    lines.append(f"Without a gradient that they should have: {', '.join(f'`{name}`' for name in missing) or 'none'}.\n")
    lines.append(f"Public ops without samples of their own: {', '.join(f'`{name}`' for name in untested) or 'none'}.\n")
    for family, members in sorted(families.items()):
        lines.append(f"## {family}\n")
        lines.append("| op | gradient | samples | forms | |")
        lines.append("|---|---|---|---|---|")
        for op in sorted(members, key=lambda each: each.name):
            name = f"`{op.qualified_name}`" if op.namespace is not None or op.method else f"`{op.name}` (internal)"
            lines.append(f"| {name} | {gradient(op)} | {len(op.samples)} | {forms(op)} | {summary(op)} |")
        lines.append("")
    return "\n".join(lines)


def manifest() -> str:
    """The text of ``manifest.py``: for each file its ops, its methods, and its functions by namespace."""
    for path in sorted(FOLDER.glob("*/[!_]*.py")):
        importlib.import_module(f"{__package__}.{path.parent.name}.{path.stem}")
    found: dict[str, dict[str, list[str]]] = {}
    # What the files declare, not what an older manifest expects of them.
    named: list[tuple[str, str, Any]] = [("ops", op.name, op.source_module) for op in dict.values(table)]
    named += [("methods", name, module_of(function)) for name, function in dict.items(methods)]
    named += [(namespace, name, module_of(function)) for (namespace, name), function in dict.items(exports)]
    for kind, name, module in named:
        if module.startswith(f"{__package__}."):
            found.setdefault(module.removeprefix(f"{__package__}."), {}).setdefault(kind, []).append(name)
    lines = []
    for file, kinds in sorted(found.items()):
        lines.append(f'    "{file}": {{')
        for kind, names in sorted(kinds.items()):
            wrapped = textwrap.wrap(" ".join(sorted(names)), 140, break_long_words=False, break_on_hyphens=False)
            lines.append(f'        "{kind}": ' + ' "\n            "'.join(wrapped).join('""') + ",")
        lines.append("    },")
    return INDEX + "\n".join([*lines, "}", ""])


def module_of(function: Any) -> str:
    """The module that declares a public function."""
    op = getattr(function, "op", None)
    return op.source_module if op is not None else function.__module__


def write(path: pathlib.Path, text: str) -> None:
    """Put a text in a file's place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf8")
    temporary.replace(path)


def main() -> None:
    """Write both, in a checkout."""
    write(FOLDER / "manifest.py", manifest())
    page_path = FOLDER.parents[1] / "docs" / "ops.md"
    write(page_path, page())
    print(f"{page_path}: {len(table)} ops", file=sys.stderr)


if __name__ == "__main__":
    main()
