"""The wheel and the source archive: what is in them, and that an environment with nothing else can use the wheel."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(importlib.util.find_spec("build") is None, reason="the package build is not installed (extra dev)")


def command_output(*command: str, folder: Path, **environment: str) -> str:
    """A command's output; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_TARGET"))}
    done = subprocess.run(command, cwd=folder, env={**clean, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, as `make dist` builds them, from a copy of the source."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in (".github", "rushlight", "docs", "examples", "bench", "tests", "tools"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.tmp"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "MANIFEST.in", "Makefile"):
        shutil.copy(ROOT / name, source / name)
    command_output(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(made), folder=source)
    return made


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_the_wheel_is_small_and_whole(built: Path) -> None:
    wheel = only(built, "*.whl")
    assert wheel.stat().st_size < 4_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    source = {str(path.relative_to(ROOT)) for path in (ROOT / "rushlight").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    data = {name for name in source if not name.endswith(".py")}
    assert (
        {
            "rushlight/py.typed",
            "rushlight/viewer/page.js",
            "rushlight/viewer/page.css",
            "rushlight/viewer/page.html",
            "rushlight/__init__.pyi",
        }
        <= data
        <= names
    )
    assert not {name for name in source if name.endswith(".py")} - names  # every module
    assert not [name for name in names if not name.startswith(("rushlight/", "rushlight-"))]  # no tests, no docs


def test_the_source_archive_can_be_built_and_tested(built: Path) -> None:
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "Makefile",
        "rushlight/__init__.py",
        "tests/conftest.py",
        "docs/idea.svg",
        "examples/demo.py",
        "tools/generate_stubs.py",
        ".github/workflows/ci.yml",
    } <= names
    assert not [name for name in names if "__pycache__" in name]


MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(x).relu()
"""


def test_a_clean_environment_uses_the_wheel(built: Path, tmp_path: Path) -> None:
    """What rushlight needs is lent by the environment of the tests, after everything of its own: nothing is downloaded."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=False, symlinks=True)
    programs = place / "bin"
    python = str(programs / "python")
    command_output(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        str(only(built, "*.whl")),
        folder=tmp_path,
    )
    site = Path(command_output(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", folder=tmp_path).strip())
    (site / "lent.pth").write_text("\n".join({sysconfig.get_paths()[name] for name in ("purelib", "platlib")}) + "\n", encoding="utf-8")
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")

    where = command_output(python, "-c", "import rushlight; print(rushlight.__file__)", folder=tmp_path).strip()
    assert Path(where).is_relative_to(site)
    command = str(programs / "rushlight")
    assert (
        command_output(command, "--version", folder=tmp_path)
        == f"rushlight {json.loads(command_output(command, 'env', '--json', folder=tmp_path))['rushlight']}\n"
    )
    exported = json.loads(command_output(command, "export", "model.py:Net", "-o", "net.onnx", "--input", "Nx4", "--json", folder=tmp_path))
    assert exported["verified"] and exported["largest_error"] < 1e-6
    command_output(command, "view", "net.onnx", "-o", "net.html", folder=tmp_path)
    assert (tmp_path / "net.html").read_text(encoding="utf-8").startswith("<!doctype html>")
