"""Writes the pages that follow from tables in the source: error codes, breaks of ``compile``, the ops.

python docs/generate.py            (what `make docs` runs first)
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import rushlight.autograd.gradcheck
import rushlight.compiler
import rushlight.cuda
import rushlight.jit
import rushlight.model_files
import rushlight.onnx
import rushlight.ops.document
import rushlight.utils.checkpoint
import rushlight.utils.safetensors
from rushlight.capture.compile.record.graph_breaks import BREAKS, QUIET
from rushlight.core.error_codes import CODES, ErrorCode
from rushlight.core.errors import RushlightError

DOCS = Path(__file__).resolve().parent
WRITTEN = "This page is written by `make docs` from"

ERRORS = f"""# Errors and their codes

{WRITTEN} `rushlight/core/error_codes.py`. Every error that rushlight raises on purpose has a `code` that stays the same from release to
release, and derives from the exception type that PyTorch raises in the same case: `except RuntimeError` catches what it always caught.

```python
import rushlight as torch

try:
    torch.ones(2) + torch.ones(3)
except RuntimeError as error:
    assert error.code == "RL101"
```

| code | class (derives from) | what it means | what to do |
|---|---|---|---|
"""

BREAKS_PAGE = f"""# Breaks of compile

{WRITTEN} the table `BREAKS` in `rushlight/capture/compile/record/graph_breaks.py`. Where `compile` meets something that a graph can't hold, it
ends the graph before that instruction, runs the instruction natively, and begins the next graph after it. The kind is the word in brackets
that [`rushlight explain`](commands.md) and `compiler.explain` print; with `fullgraph=True` the same is an [error](errors/RL407.md).

| kind | what happened | what to do |
|---|---|---|
"""


def classes(base: type[RushlightError] = RushlightError) -> dict[str, type[RushlightError]]:
    """The error classes by their codes."""
    found: dict[str, type[RushlightError]] = {}
    for each in base.__subclasses__():
        found |= {each.code: each, **classes(each)}
    return found


def error_page(code: str, row: ErrorCode, kind: type[RushlightError]) -> str:
    """The page of one code."""
    imports, _, rest = row.setup.partition("\n\n") if row.setup.startswith(("import", "from")) else ("", "", row.setup)
    program = "import rushlight as torch\n" + (f"{imports}\n" if imports else "") + "\n"
    rest = rest.strip("\n")
    if rest:
        tall = rest.startswith(("def ", "class ", "@"))
        program += ("\n" if tall else "") + rest + ("\n\n\n" if rest.splitlines()[-1].startswith(" ") else "\n")
    program += (
        f'try:\n{textwrap.indent(row.wrong, "    ")}\nexcept {row.base} as error:\n    assert error.code == "{code}"\n    print(error)\n'
    )
    right = f"\nInstead:\n\n```python\n{row.right}\n```\n" if row.right else ""
    return f"""# {code}: {kind.__name__}

**What it means.** {row.meaning[0].upper() + row.meaning[1:]}.

**What to do.** {row.advice[0].upper() + row.advice[1:]}.

`{kind.__module__}.{kind.__qualname__}` derives from `{row.base}`. This raises it:

```python
{program.rstrip()}
```
{right}
[All codes](../errors.md)
"""


MISSING = f"""# Names of PyTorch that are not here

{WRITTEN} `tests/data/public_names.json`, the public names of PyTorch VERSION. COUNT of TOTAL are here. What a missing one needs is told in
[what is not supported](not-supported.md).

| module | names here | missing |
|---|---|---|
"""


def missing_page() -> str:
    """The table of missing names."""
    recorded = json.loads((DOCS.parent / "tests" / "data" / "public_names.json").read_text(encoding="utf-8"))
    rows, refused, here, total = [], [], 0, 0
    for path, names in recorded["names"].items():
        own: Any = rushlight.Tensor if path == "torch.Tensor" else importlib.import_module(path.replace("torch", "rushlight", 1))
        absent = [name for name in names if not hasattr(own, name)]
        refused += [
            f"`{path}.{name}`" for name in names if name not in absent and (getattr(own, name).__doc__ or "").startswith("Not here:")
        ]
        here, total = here + len(names) - len(absent), total + len(names)
        rows.append(f"| `{path}` | {len(names) - len(absent)} of {len(names)} | {' '.join(f'`{name}`' for name in absent)} |")
    whole = [f"`torch.{path}`" for path in recorded["parts"] if importlib.util.find_spec(f"rushlight.{path.partition('.')[0]}") is None]
    head = MISSING.replace("VERSION", recorded["version"].partition("+")[0]).replace("COUNT", f"{here:,}").replace("TOTAL", f"{total:,}")
    end = f"\n\nWhole parts that are missing: {', '.join(whole)}.\n" if whole else "\n"
    said = f"\n{len(refused)} of those that are here can be imported and mentioned, and say when they are called why they are not there: {', '.join(refused)}.\n"
    return head + "\n".join(rows) + end + said


BLOCK = re.compile(r"(<!-- stage: (.*?) -->\n).*?(<!-- end -->)", re.S)
SHOWN = 40  # lines of LLVM IR


def architecture_page() -> str:
    """The architecture page with the stages of its example as they are printed for a common processor."""
    example = DOCS / "stages_example.py"
    environment = {**os.environ, "RUSHLIGHT_NATIVE_CPU": "x86-64-v3", "PYTHONPATH": str(DOCS.parent)}
    done = subprocess.run([sys.executable, str(example)], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    source = example.read_text(encoding="utf-8")
    found["source"] = source[source.index("class Tempered") : source.index("if __name__")].strip()
    for name in found:
        if name.endswith("LLVM IR"):
            lines = found[name].splitlines()
            start = next(at for at, line in enumerate(lines) if line.startswith("define void @kernel"))
            found[name] = "\n".join([*lines[start : start + SHOWN], "  ..."])

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}```text\n{textwrap.dedent(found[match[2]]).strip()}\n```\n{match[3]}"

    return BLOCK.sub(block, (DOCS / "architecture.md").read_text(encoding="utf-8"))


def declared_facets() -> list[tuple[str, str, str]]:
    """Every facet of the package, by its declaration: the module and variable, its name, and its summary."""
    package = DOCS.parent / "rushlight"
    rows = []
    for file in sorted(package.rglob("*.py")):
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            value = getattr(statement, "value", None)
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "Facet":
                target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]  # type: ignore[attr-defined]
                module = ".".join(file.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
                name, summary = map(ast.literal_eval, value.args[:2])
                rows.append((f"{module}:{ast.unparse(target)}", name, summary))
    return rows


def registries_page() -> str:
    """The page of registries with the table of facets as the source declares them."""
    rows = "".join(f"| `{place}` | {name} | {summary} |\n" for place, name, summary in declared_facets())
    page = (DOCS / "registries.md").read_text(encoding="utf-8")
    return re.sub(
        r"(<!-- facets -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}| declared as | facet | what it says of an op |\n|---|---|---|\n{rows}{match[2]}",
        page,
        flags=re.S,
    )


def pages() -> dict[str, str]:
    """Every page that is written, by its path in docs/."""
    found = classes()
    made = {"ops.md": rushlight.ops.document.page(), "missing-names.md": missing_page(), "registries.md": registries_page()}
    if platform.machine() == "x86_64" and importlib.util.find_spec("llvmlite") is not None:
        made["architecture.md"] = architecture_page()
    table = ERRORS
    for code, row in sorted(CODES.items()):
        kind = found[code]
        made[f"errors/{code}.md"] = error_page(code, row, kind)
        table += f"| [{code}](errors/{code}.md) | `{kind.__name__}` ({row.base}) | {row.meaning} | {row.advice.replace('(../', '(')} |\n"
    made["errors.md"] = table
    lines = (
        f"| `{kind}`{' (not counted)' if kind in QUIET else ''} | {what.replace('{', '*').replace('}', '*')} | {hint} |\n"
        for kind, (what, hint) in BREAKS.items()
    )
    made["breaks.md"] = BREAKS_PAGE + "".join(lines)
    return made


def main() -> None:
    """Write them; with ``--check`` name those that are not up to date."""
    (DOCS / "errors").mkdir(exist_ok=True)
    made = pages()
    if "--check" in sys.argv[1:]:
        old = [name for name, text in made.items() if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf8") != text]
        sys.exit(f"run `make docs`: {old}" if old else 0)
    for path in (DOCS / "errors").glob("*.md"):
        if f"errors/{path.name}" not in made:
            path.unlink()
    for name, text in made.items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
