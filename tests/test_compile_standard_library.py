"""Functions of the standard library and descriptions of NumPy's types inside of one graph: paths, the environment, patterns, packed bytes, types."""

from __future__ import annotations

import os
import pathlib
import re
import struct
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl

PATTERN = re.compile(r"([a-z]+)(\d+)")


def paths(x: rl.Tensor, name: str) -> Any:
    whole = os.path.join("models", name + ".pt")
    return x * len(whole), os.path.splitext(whole), os.path.basename(whole), os.path.dirname(whole), os.path.normpath(f"a/../{name}")


def path_objects(x: rl.Tensor, name: str) -> Any:
    path = pathlib.Path("models") / name
    return x * len(path.parts), path.with_suffix(".pt").name, str(path.parent)


def patterns(x: rl.Tensor, name: str) -> Any:
    found = PATTERN.match(name)
    return (x * int(found.group(2)), found.groups(), found.span()) if found else (x, PATTERN.sub("-", name))


def packed(x: rl.Tensor, name: str) -> Any:
    size, scale = struct.unpack("<if", struct.pack("<if", len(name), 0.5))
    return x * size * scale, struct.calcsize("<if")


def types_of(x: rl.Tensor, name: str) -> Any:
    return x * (2 if typing.get_origin(list[int]) is list else 3), typing.get_origin(typing.List[int]), typing.get_args(dict[str, int])  # noqa: UP006


def numbers(x: rl.Tensor, name: str) -> Any:
    return x + float(np.finfo(np.float32).eps), x * int(np.iinfo(np.int8).max)


@pytest.mark.parametrize("program", [paths, path_objects, patterns, packed, types_of, numbers])
def test_functions_of_the_standard_library(program: Callable[..., Any]) -> None:
    compiled = rl.compile(program, fullgraph=True, backend="eager")
    for name in ("abc12", "x3", "abc12", "none", "x3"):
        assert repr(compiled(rl.ones(2), name)) == repr(program(rl.ones(2), name))


def by_item(name: str) -> Any:
    if name not in os.environ:
        return None
    return os.environ[name]


@pytest.mark.parametrize("ask", [os.environ.get, os.getenv, by_item])
def test_environment_variables_are_guarded(ask: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: rl.Tensor) -> Any:
        found = ask("RUSHLIGHT_TEST_SCALE")
        return x if found is None else x * int(found)

    compiled = rl.compile(program, fullgraph=True, backend="eager")
    for value in ("2", "3", "2", None, "4", None):
        if value is None:
            monkeypatch.delenv("RUSHLIGHT_TEST_SCALE")
        else:
            monkeypatch.setenv("RUSHLIGHT_TEST_SCALE", value)
        assert compiled(rl.ones(1)).item() == (1 if value is None else int(value))


def test_variables_that_a_program_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSHLIGHT_TEST_SCALE", "1")

    def program(x: rl.Tensor, n: int) -> rl.Tensor:
        os.environ["RUSHLIGHT_TEST_SCALE"] = str(n)
        return x * int(os.environ["RUSHLIGHT_TEST_SCALE"])

    compiled = rl.compile(program, backend="eager")
    for n in (2, 3, 2, 4, 4):
        assert compiled(rl.ones(1), n).item() == n
        assert os.environ["RUSHLIGHT_TEST_SCALE"] == str(n)


def test_questions_to_the_file_system_are_asked_in_each_call(tmp_path: pathlib.Path) -> None:
    def program(x: rl.Tensor, path: pathlib.Path) -> Any:
        return x * (2 if path.exists() else 3) * (5 if os.path.exists(str(path)) else 7) * (11 if (path.parent / "b").is_file() else 13)

    compiled = rl.compile(program, backend="eager")
    path = tmp_path / "a"
    for _ in range(3):
        assert compiled(rl.ones(1), path).item() == 3 * 7 * 13
        path.write_text("")
        assert compiled(rl.ones(1), path).item() == 2 * 5 * 13
        (tmp_path / "b").write_text("")
        assert compiled(rl.ones(1), path).item() == 2 * 5 * 11
        path.unlink()
        (tmp_path / "b").unlink()


def test_patterns_that_call_a_function() -> None:
    seen: list[str] = []

    def program(x: rl.Tensor) -> Any:
        def replaced(found: Any) -> str:
            seen.append(found.group(0))
            return "b"

        return x + 1, re.compile("a").sub(replaced, "aa")

    compiled = rl.compile(program, backend="eager")
    for count in (2, 4, 6):
        assert compiled(rl.ones(1))[1] == "bb" and len(seen) == count
