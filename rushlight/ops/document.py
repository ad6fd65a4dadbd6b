"""Write docs/ops.md from the op table: every op, where its gradient and shape rule come from, how many samples test it.

    python -m rushlight.ops.document [path]
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from ..core.declare import Op, exports, table

HEADER = """# Operations

This page is written from the op table by `make docs`.  Every op is declared once, in `rushlight/ops/`; what a column says is read
off its declaration.

- **gradient**: *rule* (written with differentiable ops, so it can be differentiated again), *body* (from the ops it is made of),
  *none* (integers, comparisons: there is none by nature) or **missing**.
- **samples**: how many inputs the tests run it on; with PyTorch's recorded results, meta rules against kernels, `gradcheck` and
  `gradgradcheck`.
- **forms**: `m` a method, `_` an in-place variant, `out` takes `out=`, `view` shares the input's memory.
"""


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
        families.setdefault(op.source_module.rpartition(".")[2], []).append(op)
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


def main() -> None:
    """Write the page."""
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "docs/ops.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(page(), encoding="utf8")
    temporary.replace(path)
    print(f"{path}: {len(table)} ops", file=sys.stderr)


if __name__ == "__main__":
    main()
