"""The documentation is true: its Python runs, its commands give what the pages show, and generated pages are up to date."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.processes import start_python

from rushlight import compat
from rushlight.cli import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.M | re.S)
FILE = re.compile(r"# file: (\S+)\n")  # the first line of a Python block that is a file for the commands below it
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


def blocks(text: str) -> list[tuple[str, int, str]]:
    """Every block of Python or of commands of a page, with the number of lines above it."""
    return [(found.group(1), text.count("\n", 0, found.start(2)), found.group(2)) for found in BLOCK.finditer(text)]


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block (``$ ...``), each with what it prints."""
    found = []
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        while part.partition("\n")[0].endswith("\\"):
            part = part.replace("\\\n", " ", 1)
        command, _, output = part.partition("\n")
        found.append((command, output))
    return found


def command_output(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints: messages, then data."""
    words = shlex.split(command, comments=True)
    if words[1] == "run":
        done = start_python("-m", *words, folder=Path.cwd())
        return done.stderr + done.stdout
    capsys.readouterr()
    try:
        main(words[1:])
    except SystemExit:
        pass  # after --help
    written = capsys.readouterr()
    return written.err + written.out


def same(expected: str, got: str) -> bool:
    """Whether a command gave what the page shows, with ``...`` for anything and any numbers."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(NUMBER.sub("0", expected), NUMBER.sub("0", got), flags)


@pytest.fixture
def undone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A folder of its own, and no traces in the process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **options: None, raising=False)
    aliased, modules = compat.installed(), set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    if not aliased:
        compat.uninstall()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, undone, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is one program: its blocks run in order, share their names, and leave files for each other."""
    module = ModuleType(f"docs_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    waiting: set[str] = set()
    for kind, above, block in blocks(page.read_text(encoding="utf8")):
        file = FILE.match(block)
        if kind == "python" and file is not None:
            (tmp_path / file[1]).write_text(block, encoding="utf-8")
            waiting.add(file[1])
        elif kind == "python":
            # The lines above are kept as empty ones, so that a traceback names the line of the page.
            exec(compile("\n" * above + block, str(page), "exec"), vars(module))
        else:
            for command, output in commands(block):
                if command.startswith("rushlight "):
                    got = command_output(command, capsys).replace(str(tmp_path) + os.sep, "")
                    assert same(output, got), f"{page}:{above}: $ {command}\n{got}"
                    waiting -= {name for name in waiting if name in command}
    assert not waiting, f"no command of {page} uses {waiting}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf8"), flags=re.M | re.S)
    for target in LINK.findall(prose):
        assert "://" in target or (page.parent / target).exists(), target


PATH = re.compile(r"`((?:rushlight|tests|docs|bench|tools|examples|\.github|\.ci)/[\w./-]*)`")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md", "docs/releasing.md", "docs/guides/adding-an-op.md"])
def test_files_that_a_page_names_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf8")
    found = PATH.findall(text)
    assert found and [path for path in found if not (ROOT / path).exists()] == []


def test_a_newcomer_has_ten_questions_answered() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    table = text.partition("## Ten questions of a newcomer")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*\?) \| (.*) \|$", table, re.M)
    assert len(rows) == 10
    assert [question for question, answer in rows if not PATH.search(answer)] == []


def test_every_make_target_is_listed_and_true() -> None:
    """Each target of the Makefile is described in `make help`, and pages name only targets that exist."""
    text = (ROOT / "Makefile").read_text(encoding="utf8")
    listed = set(re.findall(r"^([a-z-]+):.*## ", text, re.M))
    phony = re.search(r"^\.PHONY: (.*)$", text, re.M)
    assert phony is not None and listed == set(phony[1].split())
    for page in PAGES:
        assert (
            set(re.findall(r"\bmake ([a-z-]+)[`\s]", "\n".join(re.findall(r"`make [^`]*`", page.read_text(encoding="utf8"))))) <= listed
        ), page


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf8") + "errors/index"
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs").with_suffix(""))
        assert name == "index" or name.startswith("errors/") or re.search(rf"^{re.escape(name)}$", index, re.M), name


def test_generated_pages_are_up_to_date() -> None:
    done = start_python("docs/generate.py", "--check")  # in an interpreter of its own: examples of other pages register ops and devices
    assert done.returncode == 0, done.stderr


def test_blocks_and_commands_are_found() -> None:
    text = "A page\n\n```python\nx = 1\n```\n\n```text\nnot Python\n```\n```console\n$ rushlight a \\\n    b\nc\n$ d\n```\n"
    assert blocks(text) == [("python", 3, "x = 1\n"), ("console", 10, "$ rushlight a \\\n    b\nc\n$ d\n")]
    assert commands(blocks(text)[1][2]) == [("rushlight a      b", "c\n"), ("d", "")]
    assert same("file: 3 kB... 2e-08\n", "file: 12.5 kB, agrees, 1.25e-07\n") and not same("ok 1\n", "failed 1\n")


def test_the_readme_has_an_example() -> None:
    assert any(kind == "python" for kind, _, _ in blocks((ROOT / "README.md").read_text(encoding="utf8")))


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    done = start_python(str(ROOT / "bench" / "readme_table.py"), "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["registries.md", "global-state.md"])
def test_listed_objects_exist(page: str) -> None:
    rows = [line.split("|")[1] for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(names) > 10
    for name in names:
        module, _, attribute = name.partition(":")
        owner = importlib.import_module(f"rushlight.{module}")
        assert not attribute or hasattr(owner, attribute), name
