"""Native code under valgrind: every read and write outside of an array is an error.

    python tests/memory_check.py graphs 0 200                              # random graphs of the fuzzer in test_native.py
    python tests/memory_check.py sizes 0 50                                # random programs that are compiled for any size, in test_native_dynamic_shapes.py
    python tests/memory_check.py pytest -q tests/test_native_pooling.py    # or any tests

Prints each place in generated code that touched memory which is not its own, and ends with status 1 if there is one.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).parent
OPTIONS = ("--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", "--xml=yes", "--smc-check=all-non-file", "--num-callers=6")
SIZES = "import sys; sys.path.insert(0, {here!r}); import test_native_dynamic_shapes\nfor seed in range({first}, {last}): test_native_dynamic_shapes.check_random(seed, (5, 8, 13))"
GRAPHS = (
    "import sys; sys.path.insert(0, {here!r}); import test_native\nfor seed in range({first}, {last}): test_native.check_random_graph(seed)"
)


def invalid_accesses(command: list[str], limit: float | None = None) -> list[str]:
    """The invalid reads and writes that a command of Python's does in generated code, in words."""
    environment = {
        **os.environ, "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1", "RUSHLIGHT_CACHE_DIR": "",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH")))),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        done = subprocess.run(
            ["valgrind", *OPTIONS, f"--xml-file={report}", sys.executable, *command], env=environment, timeout=limit, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)[:200]} ended with status {done.returncode}")
        found = xml.parse(report).getroot()
    return [words(each) for each in found.findall("error") if in_generated_code(each)]


def in_generated_code(error: xml.Element) -> bool:
    """Whether the innermost function belongs to no file, as what LLVM has put in memory."""
    frame = error.find("stack/frame")
    return frame is not None and frame.find("obj") is None


def words(error: xml.Element) -> str:
    """What valgrind says of an error."""
    where = " < ".join(frame.findtext("fn") or "generated code" for frame in error.findall("stack/frame"))
    return f"{error.findtext('what') or error.findtext('xwhat/text')}, in {where}; {error.findtext('auxwhat') or ''}"


def graphs(first: int, last: int) -> list[str]:
    """A command that checks random graphs."""
    return ["-c", GRAPHS.format(here=str(HERE), first=first, last=last)]


def sizes(first: int, last: int) -> list[str]:
    """A command that checks random programs at several sizes, which they are compiled for at once."""
    return ["-c", SIZES.format(here=str(HERE), first=first, last=last)]


def main() -> None:
    kind, *rest = sys.argv[1:] or ["graphs", "0", "200"]
    command = {"graphs": graphs, "sizes": sizes}.get(kind)
    errors = invalid_accesses(["-m", kind, *rest] if command is None else command(*map(int, rest)))
    print("\n".join(errors) or "no invalid reads or writes")
    raise SystemExit(bool(errors))


if __name__ == "__main__":
    main()
