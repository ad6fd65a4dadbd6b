"""Write what follows from the op table: docs/ops.md (every op with its facets) and ``manifest.py``.

python -m rushlight.ops.document
"""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from ..core.declare import PACKAGE, Op, exports, methods, table
from ..core.facets import facets
from ..core.families import Elementwise, Reduction
from ..core.quantized import rule_of

FOLDER = pathlib.Path(__file__).parent
MANIFEST = '''"""Which file below this folder declares which names, so that none has to be loaded before it is used.

Written by `python -m rushlight.ops.document`: run it after declaring an op (a test says so, too).
"""

# fmt: off
FILES = {
'''

HEADER = """# Operations

This page is written from the op table by `python -m rushlight.ops.document`.  Every op is declared once, in `rushlight/ops/`; a column shows what its
declaration says, or what a room of the package registers for it (a *facet*, `rushlight/core/facets.py`).

- **gradient**: *rule* (written with differentiable ops, so it can be differentiated again), *body* (from the ops it is made of),
  *none* (integers, comparisons: there is none by nature) or **missing**.
- **vmap**: *rule*, *family* (pointwise ops and reductions), *body*, *random* (by the randomness flag) or *loop* (runs for one example after the other).
- **autocast**: the dtype that autocast chooses: *lower* (its own), *float32*, *widest* (of the inputs), *unchanged*; empty where it leaves the op alone.
- **ONNX**: the opsets from which on its forms hold; *kernel* and *body* are exported from those, *no* says that ONNX has no form.
- **quantized**: *yes* where it takes quantized tensors.
- **decomposes**: *body* or *formula*: what compilers replace it by; a primitive op has none.
- **recompute**: whether a backward graph may compute the result again (*free*: a view or a factory, *cheap*) or keeps it (*costly*, or empty).
- **lowering**: kernels of its own, by target; other ops are lowered by their family, or by what they decompose into.
- **CUDA**: how it runs on a GPU: a *kernel* of its own, *pointwise* (one kernel, made from its expression), *arrays* (its own kernel on CuPy's arrays),
  *body* (the ops it is made of), or *no*: refused by name.
- **further facets**: what else is registered for it.
- **samples**: how many inputs the tests run it on; with PyTorch's recorded results, meta rules against kernels, `gradcheck` and
  `gradgradcheck`.
- **forms**: `m` a method, `_` an in-place variant, `out` takes `out=`, `view` shares the input's memory.
"""

# The rooms (and single modules) that register facts for ops; every module of them is imported for the page.
ROOMS = ("amp", "func", "utils.flop_counter", "capture", "passes", "schedule", "codegen")
SHOWN = ("autocast", "batching", "decomposition", "quantized", "recompute cost", "samples")  # facets that have columns of their own
SAMPLES = FOLDER.parents[1] / "tests"


def load_facets() -> None:
    """Import every module that may register a fact and, in a checkout, the samples of the tests."""
    for room in ROOMS:
        package = importlib.import_module(f"{PACKAGE}.{room}")
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            importlib.import_module(module.name)
    for facet in facets.values():
        facet.load()
    if "samples" not in facets and (SAMPLES / "samples").is_dir():
        sys.path.insert(0, str(SAMPLES))
        importlib.import_module("samples")


def fact(name: str, op: Op) -> Any:
    """The fact of a facet that may not be declared."""
    return facets[name].of(op) if name in facets else None


def gradient(op: Op) -> str:
    """Where an op's gradient comes from."""
    if op.vjp:
        return "rule"
    if op.vjp is not None:
        return "none"
    return "body" if op.body is not None else "**missing**"


def batching(op: Op) -> str:
    """How vmap runs an op; one that takes no tensors has nothing to batch."""
    if not op.tensor_positions and not op.random:
        return ""
    if op.kernel is not None and op.random:
        return "random"
    if fact("batching", op) is not None:
        return "rule"
    if op.kernel is None:
        return "body"
    if isinstance(op.family, (Elementwise, Reduction)):
        return "family"
    return "body" if op.body is not None else "loop"


def onnx(op: Op) -> str:
    """The opsets from which on an op's ONNX forms hold, or what is exported instead."""
    if op.onnx:
        return " ".join(map(str, sorted(op.onnx)))
    if op.onnx_reason:
        return "no"
    if op.body is not None:
        return "body"
    return "kernel" if isinstance(op.family, Elementwise) else ""


def decomposition(op: Op) -> str:
    """What compilers replace an op by."""
    if fact("decomposition", op) is not None:
        return "formula"
    return "body" if op.body is not None else ""


def recompute(op: Op) -> str:
    """What computing a result again costs."""
    return "free" if op.view or op.factory else fact("recompute cost", op) or ""


def lowering(op: Op) -> str:
    """The targets for which an op has a lowering of its own: facets called ``lowering.<target>``."""
    prefix = "lowering."
    return " ".join(name.removeprefix(prefix) for name in sorted(facets) if name.startswith(prefix) and op in facets[name])


def cuda(op: Op) -> str:
    """How an op runs on CUDA."""
    if op.kernel is None:
        return "body"
    kernels = importlib.import_module(f"{PACKAGE}.runtime.cuda.kernels")
    if op.name in kernels.KERNELS:
        return "kernel"
    if op.name in kernels.HOST_ONLY:
        return "no"
    return "pointwise" if isinstance(op.family, Elementwise) else "arrays"


def further(op: Op) -> str:
    """The names of the other facets in which an op is registered."""
    return ", ".join(name for name in sorted(facets) if name not in SHOWN and not name.startswith("lowering.") and op in facets[name])


def samples(op: Op) -> str:
    """How many samples the tests have of an op."""
    maker = fact("samples", op)
    return str(len(maker(op)) if maker else 0)


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
    notes = op.notes or ("data-dependent" if op.data_dependent else "")
    return f"{text} *{notes}.*" if notes else text


COLUMNS: dict[str, Callable[[Op], str]] = {
    "gradient": gradient,
    "vmap": batching,
    "autocast": lambda op: fact("autocast", op) or "",
    "ONNX": onnx,
    "quantized": lambda op: "yes" if rule_of(op) is not None else "",
    "decomposes": decomposition,
    "recompute": recompute,
    "lowering": lowering,
    "CUDA": cuda,
    "further facets": further,
    "samples": samples,
    "forms": forms,
    "": summary,
}


def page() -> str:
    """The whole page."""
    load_facets()
    declared = [op for op in table.values() if op.functional is None]
    families: dict[str, list[Any]] = {}
    for op in declared:
        families.setdefault(op.source_module.removeprefix(f"{__package__}."), []).append(op)
    public = len({name for name in exports if not name[1].startswith("_")})
    missing = [op.name for op in declared if gradient(op) == "**missing**"]
    untested = [op.name for op in declared if op.namespace is not None and fact("samples", op) is None]
    lines = [HEADER]
    lines.append(f"{len(declared)} ops are declared, under {public} public function names and their methods.\n")
    lines.append(f"Without a gradient that they should have: {', '.join(f'`{name}`' for name in missing) or 'none'}.\n")
    lines.append(f"Public ops without samples of their own: {', '.join(f'`{name}`' for name in untested) or 'none'}.\n")
    for family, members in sorted(families.items()):
        lines.append(f"## {family}\n")
        lines.append(f"| op | {' | '.join(COLUMNS)} |")
        lines.append("|---" * (len(COLUMNS) + 1) + "|")
        for op in sorted(members, key=lambda each: each.name):
            name = f"`{op.qualified_name}`" if op.namespace is not None or op.method else f"`{op.name}` (internal)"
            lines.append(f"| {name} | {' | '.join(column(op) for column in COLUMNS.values())} |")
        lines.append("")
    return "\n".join(lines)


def manifest() -> str:
    """The text of ``manifest.py``: for each file its ops, its methods, and its functions by namespace."""
    table.rewriting = True
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
    return MANIFEST + "\n".join([*lines, "}", ""])


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
