"""`python -m rushlight run` starts a program as Python would, with `torch` meaning rushlight."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.processes import start_python

ROOT = Path(__file__).resolve().parent.parent


def rushlight(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return start_python("-m", "rushlight", *arguments, folder=folder)


@pytest.fixture
def script(tmp_path: Path):
    def write(text: str, name: str = "program.py") -> str:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return str(file)

    return write


def test_a_script_runs_under_the_alias(script) -> None:
    done = rushlight("run", script("import torch\nprint(torch.ones(2).sum().item(), __name__)"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "2.0 __main__\n", "")


def test_a_script_sees_its_arguments_and_its_folder(script, tmp_path: Path) -> None:
    script("value = 7", "neighbour.py")
    path = script("import sys, neighbour\nprint(sys.argv[1:], sys.argv[0] == __file__, neighbour.value, sys.path[0])")
    done = rushlight("run", path, "--help", "-m", "x", "--", "-c")
    assert done.stdout == f"['--help', '-m', 'x', '--', '-c'] True 7 {tmp_path}\n", done.stderr


def test_classes_of_the_main_module_are_pickled(script) -> None:
    text = "import pickle\nclass C: pass\nassert type(pickle.loads(pickle.dumps(C()))) is C\nprint(C.__module__)"
    done = rushlight("run", script(text))
    assert (done.returncode, done.stdout) == (0, "__main__\n"), done.stderr


def test_a_module_runs(script, tmp_path: Path) -> None:
    script("", "package/__init__.py")
    path = script("import sys, torch\nprint(sys.argv, __name__, __package__, torch.__name__)", "package/train.py")
    done = rushlight("run", "-m", "package.train", "--epochs", "3", folder=tmp_path)
    assert done.stdout == f"[{path!r}, '--epochs', '3'] __main__ package torch\n", done.stderr


def test_code_runs() -> None:
    done = rushlight("run", "-c", "import sys, torch; print(sys.argv, __name__, repr(sys.path[0]))", "-x")
    assert done.stdout == "['-c', '-x'] __main__ ''\n", done.stderr


@pytest.mark.parametrize(("ending", "status"), [("sys.exit(5)", 5), ("sys.exit('no')", 1), ("sys.exit()", 0), ("", 0)])
def test_exit_statuses_pass_through(script, ending: str, status: int) -> None:
    assert rushlight("run", script(f"import sys\n{ending}")).returncode == status


def test_a_traceback_begins_in_the_program(script) -> None:
    path = script("def f():\n    raise ValueError('spilt wax')\n\nf()")
    done = rushlight("run", path)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[-1] == "ValueError: spilt wax"
    assert lines[1] == f'  File "{path}", line 4, in <module>'
    assert "runpy" not in done.stderr and "cli" not in done.stderr


def test_a_syntax_error_shows_the_line(script) -> None:
    done = rushlight("run", script("x = (\n"))
    assert done.returncode == 1 and "program.py" in done.stderr and "SyntaxError" in done.stderr
    assert "runpy" not in done.stderr


def test_an_interrupt_ends_as_in_a_shell() -> None:
    done = rushlight("run", "-c", "raise KeyboardInterrupt")
    assert done.returncode == 130 and "KeyboardInterrupt" in done.stderr


def test_mistakes_are_explained(tmp_path: Path) -> None:
    for arguments, words in [
        (("run",), "say what to run"),
        (("run", "-m"), "say what to run"),
        (("run", str(tmp_path / "absent.py")), "there is no file"),
        ((), "COMMAND"),
    ]:
        done = rushlight(*arguments)
        assert done.returncode == 2 and words in done.stderr


def test_help_and_version() -> None:
    done = rushlight("--help")
    assert done.returncode == 0 and "rushlight run train.py" in done.stdout
    assert "rushlight run -m package.train" in rushlight("run", "--help").stdout
    assert rushlight("--version").stdout.startswith("rushlight ")
