"""The memory that native programs work in: shared by large ones, never by two calls at a time, and nothing of a call stays in it."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.backends.native.executable import CompiledSchedule, compile_graph
from rushlight.core.base import Spec
from rushlight.core.declare import table
from rushlight.graph import Graph
from rushlight.runtime.cpu import arena as arenas
from rushlight.schedule.tensor_ir import elements

pytest.importorskip("llvmlite")


def program(size: int, name: str = "sin") -> CompiledSchedule:
    """A program that needs memory inside: op(x @ x) @ x."""
    graph = Graph()
    x = graph.placeholder("x")
    spec = Spec((size, size), np.dtype(np.float32))
    values = [x]
    for op, args in (("matmul", (x, x)), (name, ()), ("matmul", (x,))):
        node = graph.call_function(table[op].call, args if op == "matmul" and args == (x, x) else (values[-1], *args))
        values.append(node)
    for node in values:
        node.meta["val"] = spec
    graph.output((values[-1],))
    return compile_graph(graph, [Spec(spec.shape, spec.dtype, elements(np.empty(spec.shape, spec.dtype)))])


def wanted(array: Any, name: str = "sin") -> Any:
    return getattr(np, name)(array @ array) @ array


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An arena that the programs of other tests are not in."""
    arena = arenas.Arena()
    monkeypatch.setattr(arenas, "_shared", arena)
    return arena


def numbers(size: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).random((size, size)) / size).astype(np.float32)


def test_large_programs_share_their_memory(shared: Any) -> None:
    small, large = program(300), program(400, "cos")
    assert min(small.arena, large.arena) >= arenas.LARGE
    for _ in range(2):
        np.testing.assert_allclose(small([numbers(300)])[0], wanted(numbers(300)), 1e-4)
        np.testing.assert_allclose(large([numbers(400)])[0], wanted(numbers(400), "cos"), 1e-4)
    assert small.call_arena.arena is large.call_arena.arena is shared
    assert shared.memory.size == large.arena + arenas.ALIGNMENT


def test_small_programs_have_their_own(shared: Any) -> None:
    made = program(8)
    np.testing.assert_allclose(made([numbers(8)])[0], wanted(numbers(8)), 1e-4)
    assert made.call_arena.arena is not shared


def test_a_call_that_finds_somebody_inside_works_elsewhere(shared: Any) -> None:
    made = program(300)
    made([numbers(300)])
    shared.memory[:] = 7
    shared.flag.value = 1
    np.testing.assert_allclose(made([numbers(300)])[0], wanted(numbers(300)), 1e-4)
    assert shared.flag.value == 1 and (shared.memory == 7).all() and len(made.spaces) == 1


def test_memory_is_given_back(shared: Any) -> None:
    made = program(300)
    made([numbers(300)])
    assert shared.memory.size
    del made
    gc.collect()
    assert shared.memory.size == 0


def test_a_call_keeps_no_array(shared: Any) -> None:
    made = program(64)
    array = numbers(64)
    (result,) = made([array])
    seen = weakref.ref(array), weakref.ref(result)
    del array, result
    assert seen[0]() is None and seen[1]() is None


def test_a_compiled_step_keeps_nothing() -> None:
    """What forward saves for backward is let go after it, also in the memory of programs."""
    weight = torch.randn(64, 64, requires_grad=True)
    compiled = torch.compile(lambda x: torch.tanh(torch.tanh(x @ weight) @ weight).sum())
    for _ in range(3):
        x = torch.randn(64, 64)
        seen = weakref.ref(x._array)
        compiled(x).backward()
        del x
        weight.grad = None
    assert seen() is None


def test_threads_at_the_same_time(shared: Any) -> None:
    """Programs that let other threads run have their memory to themselves meanwhile."""
    programs = [program(300), program(320, "cos")]
    given, names = [numbers(300, 1), numbers(320, 2)], ["sin", "cos"]
    right = [wanted(array, name) for array, name in zip(given, names)]
    wrong: list[float] = []

    def work(at: int) -> None:
        for _ in range(30):
            difference = np.abs(programs[at]([given[at]])[0] - right[at]).max()
            if difference > 1e-4:
                wrong.append(difference)

    threads = [threading.Thread(target=work, args=(at % 2,)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong and shared.flag.value == 0
