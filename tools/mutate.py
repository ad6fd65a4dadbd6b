"""Breaks the code at random, one place at a time, and says which breaks no test notices.

    python tools/mutate.py rushlight/ops/reduce/sums.py --count 40
    python tools/mutate.py rushlight/ops/nn/pooling_onnx.py --tests tests/test_onnx_ops.py

A mutant is the source of one file with one change: a sign, a factor, a comparison, a number off by one, another axis, a dropped term, a condition turned round.
The file stays as it is: the tests run in a process whose importer takes the mutant in its place.  For a file of ops the tests are those of its ops
(``tests/test_ops.py``, ``tests/test_onnx_ops.py`` for ONNX forms) and their part of the recorded slice of random calls; for one of schedules or lowerings
those of compiled programs that share a word with its name, then the general ones; ``--tests`` names others.
A mutant that the tests do not notice has survived: either a test is missing, or the change changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

SWAPPED: dict[type[ast.AST], Any] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
RENAMED = {
    "max": "min", "min": "max", "amax": "amin", "amin": "amax", "maximum": "minimum", "minimum": "maximum", "sin": "cos", "cos": "sin", "exp": "log", "log": "exp",
    "Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul", "Less": "Greater", "Greater": "Less", "Max": "Min", "Min": "Max", "all": "any", "any": "all",
    "ReduceSum": "ReduceMean", "ReduceMean": "ReduceSum", "floor": "ceil", "ceil": "floor", "sum": "mean", "mean": "sum", "tril": "triu", "triu": "tril",
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in the place of a node, with a word for it."""
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield "operator", ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        if isinstance(node.op, (ast.Add, ast.Sub)) and not isinstance(node.left, (ast.Constant, ast.JoinedStr)):
            yield "dropped term", node.left
        if isinstance(node.op, ast.Mult):
            yield "dropped factor", node.left
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield "sign", node.operand
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield "comparison", ast.Compare(node.left, [SWAPPED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "condition", ast.BoolOp(SWAPPED[type(node.op)](), node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        yield "off by one", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "truth", ast.Constant(not node.value)
    elif isinstance(node, ast.Attribute) and node.attr in RENAMED and isinstance(node.ctx, ast.Load):
        yield "function", ast.Attribute(node.value, RENAMED[node.attr], node.ctx)
    elif isinstance(node, ast.IfExp):
        yield "choice", ast.IfExp(node.test, node.orelse, node.body)


class Places(ast.NodeVisitor):
    """Every place at which a file can be changed: code of functions and of declarations, no text, type or message."""

    def __init__(self) -> None:
        self.found: list[tuple[ast.AST, str, int, str, ast.AST]] = []  # the owner, its field, the index in a list, the word, the new node

    def generic_visit(self, node: ast.AST) -> None:
        """Look at the fields of a node."""
        if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert)):
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "bases", "keywords" if isinstance(node, ast.ClassDef) else ""):
                continue
            for at, each in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(each, ast.AST):
                    for word, other in changes(each):
                        self.found.append((node, name, at if isinstance(value, list) else -1, word, other))
                    self.visit(each)


def mutants(source: str, count: int, seed: int) -> Iterator[tuple[int, str, str, str]]:
    """The line, the word for the change, what it becomes, and the changed source of random mutants."""
    tree = ast.parse(source)
    places = Places()
    places.visit(tree)
    stream = random.Random(seed)
    for owner, name, at, word, other in stream.sample(places.found, min(count, len(places.found))):
        before = getattr(owner, name)
        line = getattr(before[at] if at >= 0 else before, "lineno", 0)
        if at >= 0:
            setattr(owner, name, [other if place == at else each for place, each in enumerate(before)])
        else:
            setattr(owner, name, other)
        changed = ast.unparse(ast.fix_missing_locations(tree))
        shown = ast.unparse(other)
        setattr(owner, name, before)
        if changed != ast.unparse(tree):
            yield line, word, shown, changed


PLUGIN = """
import importlib.abc, importlib.util, json, os, sys
MUTANT = json.loads(os.environ["RUSHLIGHT_MUTANT"])

class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_file_location(name, MUTANT["file"], loader=self) if name == MUTANT["module"] else None

    def exec_module(self, module):
        exec(compile(open(MUTANT["source"]).read(), MUTANT["file"], "exec"), module.__dict__)

sys.meta_path.insert(0, Importer())
"""


def tests_of(file: Path, module: str) -> list[list[str]]:
    """The arguments of pytest that run the tests of a file of ops, the quickest first."""
    from test_fuzz_slice import GROUP, NAMES  # type: ignore[import-not-found]

    from rushlight.core.declare import table

    if module.split(".")[1] in LOWERED:
        return tests_of_lowering(file)
    text = file.read_text()
    names = [op.name for op in table.values() if op.functional is None and op.source_module == module]
    if not names:  # kernels and ONNX forms: the ops of the files that import them
        users = {
            f"{module.rpartition('.')[0]}.{each.stem}"
            for each in file.parent.glob("*.py")
            if re.search(rf"\b{file.stem}\b", each.read_text()) and each != file
        }
        names = [op.name for op in table.values() if op.functional is None and op.source_module in users]
        called = [name for name in names if f"def {name}" in text or f"{name}" in text]
        names = called or names
    if not names:
        return []
    groups = sorted({NAMES.index(name) // GROUP * GROUP for name in names if name in NAMES})
    places = {name: table[name].source_module.split(".ops.")[-1].replace(".", "/") for name in names}
    chosen = " or ".join(f"{places[name]}-{name}-" for name in sorted(names)[:60])
    exported = " or ".join(f"[{name}-" for name in sorted(names)[:60])
    slice_of = [f"tests/test_fuzz_slice.py::test_random_calls_are_as_pytorch_has_them[{first}]" for first in groups[:8]]
    found = [slice_of, ["tests/test_ops.py", "-k", chosen]]
    if file.stem.endswith("_onnx") or "onnx=" in text:
        found.append(["tests/test_onnx_ops.py", "-k", exported])
    return found if not file.stem.endswith("_onnx") else found[::-1]


COMPILED = ("tests/test_native.py", "tests/test_native_planning.py", "tests/test_native_vectorization.py", "tests/test_native_ops.py")
LOWERED = ("schedule", "codegen", "passes", "runtime")  # the rooms of what compiled programs are made by


def tests_of_lowering(file: Path) -> list[list[str]]:
    """The arguments of pytest that run the tests of a schedule, a lowering or a pass: those by its name first, then the general ones."""
    words = {word.rstrip("s")[:5] for part in file.relative_to(ROOT).with_suffix("").parts[2:] for word in part.split("_")}
    own = [
        f"tests/{each.name}"
        for each in sorted((ROOT / "tests").glob("test_*.py"))
        if {word.rstrip("s")[:5] for word in each.stem.split("_")[1:]} & words and f"tests/{each.name}" not in COMPILED
    ]
    return [[each] for each in (*own, *COMPILED)]


def run_tests(file: Path, module: str, source: str, runs: list[list[str]], mutated: Path, path: str, timeout: int) -> str:
    """The file of the first tests that fail where a module has this source; empty where none does."""
    mutated.write_text(source)
    mutant = json.dumps({"module": module, "file": str(file), "source": str(mutated)})
    environment = dict(os.environ, RUSHLIGHT_MUTANT=mutant, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
    for run in runs:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "mutant_plugin", "-p", "no:cacheprovider", "-p", "no:xdist", *run]
        try:
            status = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout, check=False).returncode
        except subprocess.TimeoutExpired:
            status = 1
        if status not in (0, 5):  # 5: there are no such tests
            return Path(run[0].partition("::")[0]).name
    return ""


def main() -> int:
    """Run the mutants of the files that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=25, help="mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", default=[], help="tests to run, in place of those of the file's ops")
    parser.add_argument("--also", nargs="*", default=[], help="tests to run beside those of the file's ops, after them")
    parser.add_argument(
        "--timeout", type=int, default=180, help="seconds for the tests of a mutant; one that takes longer has been noticed"
    )
    given = parser.parse_args()
    survivors, total = [], 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mutant_plugin.py").write_text(PLUGIN)
        mutated = Path(folder) / "mutant.py"
        path = os.pathsep.join((folder, str(ROOT), str(ROOT / "tests"), str(ROOT / "tools")))
        for file in (each.resolve() for each in given.files):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            runs = [given.tests] if given.tests else tests_of(file, module)
            runs += [given.also] if given.also else []
            if not runs:
                print(f"{file.relative_to(ROOT)}: no op is in it; name its tests with --tests")
                continue
            if run_tests(file, module, ast.unparse(ast.parse(file.read_text())), runs, mutated, path, given.timeout):
                print(f"{file.relative_to(ROOT)}: its tests fail without any change")
                continue
            for line, word, shown, source in mutants(file.read_text(), given.count, given.seed):
                start = time.perf_counter()
                noticed = run_tests(file, module, source, runs, mutated, path, given.timeout)
                total += 1
                if not noticed:
                    survivors.append(f"{file.relative_to(ROOT)}:{line}: {word}: {shown}")
                print(f"{'noticed by ' + noticed if noticed else 'SURVIVED'} after {time.perf_counter() - start:.0f} s: "
                      f"{file.relative_to(ROOT)}:{line}: {word}: {shown[:120]}", flush=True)  # fmt: skip
    print(f"{len(survivors)} of {total} mutants survived")
    for each in survivors:
        print("   ", each[:200])
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
