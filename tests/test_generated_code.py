"""Code objects of generated Python: compiled once, and read back by the next process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.core import generated_code
from rushlight.runtime.cpu import python_code

_COUNTING = """
import builtins
count, plain = [], builtins.compile
def counted(source, name, *args, **options):
    if isinstance(name, str) and name.startswith(("<call of", "<gradient of")):
        count.append(name)
    return plain(source, name, *args, **options)
import rushlight as torch
from rushlight.runtime.cpu import python_code
builtins.compile = counted
python_code.load()
x = torch.ones(3, requires_grad=True)
(x.tanh() * 2).sum().backward()
assert x.grad is not None
print(len(count))
python_code.store()
"""


def test_code_objects_are_compiled_once_and_collected_once() -> None:
    first = generated_code.compiled("value = 1 + 1", "<generated for a test>")
    assert generated_code.compiled("value = 1 + 1", "<generated for a test>") is first
    assert generated_code.compiled("value = 1 + 1", "<another>").co_filename == "<another>"
    data = generated_code.collected()
    assert data is not None and generated_code.collected() is None
    generated_code.add(data)
    namespace: dict[str, int] = {}
    exec(generated_code.compiled("value = 1 + 1", "<generated for a test>"), namespace)
    assert namespace["value"] == 2


def test_a_second_process_compiles_no_entry_points(tmp_path: Path) -> None:
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(tmp_path)}
    counts = [
        int(subprocess.run([sys.executable, "-c", _COUNTING], env=environment, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    assert counts[0] > 0 and counts[1] == 0


def test_damaged_code_on_disk_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path))
    generated_code.compiled("value = 2", "<generated for a test of damage>")
    python_code.store()
    (file,) = (tmp_path / "native").iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    python_code.load()
    file.unlink()
    python_code.load()
