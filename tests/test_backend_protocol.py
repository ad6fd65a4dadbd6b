"""The back-end protocol and the call cache: what compile asks of a back-end, and what calls leave behind."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import rushlight as torch
from rushlight.backends.protocol import NO_LAUNCHER, Backend, Executable, FunctionBackend, Launcher, as_backend
from rushlight.backends.registry import find


class CountingExecutable(Executable):
    """Runs a graph op by op, and gives a launcher for tensors of the sizes of the last call."""

    launches = True

    def __init__(self, gm: Any) -> None:
        self.gm, self.general, self.launched = gm, 0, 0

    def __call__(self, *args: Any) -> Any:
        self.general += 1
        return self.gm.forward(*args)

    def launcher(self, args: Any, gradients: Any) -> Launcher:
        shapes = [each.shape for each in args]

        def launch(*given: Any) -> Any:
            if [each.shape for each in given] != shapes:
                return NotImplemented
            self.launched += 1
            return self.gm.forward(*given)

        return Launcher(launch)

    def describe(self) -> str:
        return "counted"


class CountingBackend(Backend):
    name = "counting"

    def __init__(self) -> None:
        self.made: list[CountingExecutable] = []

    def compile(self, gm: Any, example_inputs: list[Any]) -> Executable:
        self.made.append(CountingExecutable(gm))
        return self.made[-1]


def test_a_launcher_takes_the_calls_after_a_general_one() -> None:
    backend = CountingBackend()
    compiled = torch.compile(lambda x: x * 2 + 1, backend=backend, dynamic=True)
    for size in (3, 3, 3, 4, 4, 3):  # the first call runs the program itself
        assert compiled(torch.ones(size)).tolist() == [3.0] * size
    (made,) = backend.made
    assert (made.general, made.launched) == (3, 2)  # a launcher that was made for one size refuses another
    assert "counted" in str(torch.compiler.explain(compiled)(torch.ones(3)))


def test_guards_on_tensors_hold_where_a_launcher_refuses() -> None:
    backend = CountingBackend()
    compiled = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)
    for size in (3, 3, 3, 4, 4, 3):
        assert compiled(torch.ones(size)).shape == (size,)
    assert len(backend.made) == 2 and len(compiled._compiled.cache.all()) == 2


def test_functions_become_back_ends() -> None:
    def plain(gm: Any, example_inputs: list[Any]) -> Any:
        return gm.forward

    found = find(plain)
    assert isinstance(found, FunctionBackend) and found.name == "plain" and not found.defers_first_call
    assert as_backend(found, "other") is found
    compiled = torch.compile(lambda x: x + 1, backend=plain)
    for _ in range(3):
        assert compiled(torch.zeros(2)).tolist() == [1.0, 1.0]
    (entry,) = compiled._compiled.cache.all()
    assert entry.executable is not None and not entry.executable.launches and entry.executable.describe() == ""
    assert entry.executable.launcher((), {}) is NO_LAUNCHER


def test_a_back_end_may_give_what_another_gave() -> None:
    inner = CountingBackend()
    compiled = torch.compile(lambda x: x - 1, backend=lambda gm, inputs: inner(gm, inputs))
    for _ in range(3):
        compiled(torch.zeros(2))
    assert compiled._compiled.cache.all()[0].executable is inner.made[0] and inner.made[0].launched == 1


def test_what_can_not_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="returned a int, which can't be called"):
        torch.compile(lambda x: x + 1, backend=lambda gm, inputs: 5)(torch.zeros(2))


def test_entries_go_with_the_objects_their_guards_know() -> None:
    class Scale(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    compiled = torch.compile(lambda module, x: module(x), backend="eager")
    for _ in range(3):
        module = Scale()
        for _ in range(2):
            compiled(module, torch.ones(2))
        del module
        gc.collect()
    cache = compiled._compiled.cache
    assert len(cache.all()) == 1
    torch.compiler.reset()
    assert compiled._compiled.cache.all() == [] and compiled._compiled.cache.first is None
