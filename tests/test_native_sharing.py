"""Native code that is compiled once: by layers that are alike, by other graphs, by functions that differ in sizes alone; and on two threads."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import pytest
from support.compiled import thread_count
from support.processes import run_python

pytest.importorskip("llvmlite")

import rushlight as torch
from rushlight import nn
from rushlight.backends.native.eager import ops
from rushlight.codegen.llvm import module, outline
from rushlight.codegen.llvm.ir import IRBuilder, Module, Part, Scalar
from rushlight.codegen.llvm.target import processor
from rushlight.codegen.llvm.vectors import Vectors

machine: Any = sys.modules["rushlight.runtime.cpu.jit"].jit


def compiled(function: Any) -> Any:
    return torch.compile(function, backend="native")


def program_of(function: Any, *args: Any) -> Any:
    """The program of a compiled function, after two calls."""
    with torch.no_grad():
        function(*args)
        function(*args)
    run = function.__dict__["_compiled"].cache.entries[None][0].executable
    return run.plain.programs[0]


def program_matching_eager(function: Any, *args: Any, close: float = 2e-6) -> Any:
    """The results of a compiled function are those of eager mode; its program."""
    made = compiled(function)
    program = program_of(made, *args)
    with torch.no_grad():
        torch.testing.assert_close(made(*args), function(*args), rtol=close, atol=close)
    return program


def newly_emitted(run: Any) -> int:
    before = machine().emitted
    run()
    return machine().emitted - before


def parts_of(run: Any, monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """What is given to LLVM while something runs."""
    found: list[Part] = []
    original = Module.parts
    with monkeypatch.context() as patch:
        patch.setattr(Module, "parts", lambda self: found.extend(made := original(self)) or made)
        run()
    return found


def test_layers_share_their_kernels() -> None:
    """A network of more layers needs no more kernels: what is new is the function that calls them."""

    def network(layers: int) -> Any:
        return nn.Sequential(*[each for _ in range(layers) for each in (nn.Linear(24, 24), nn.LayerNorm(24), nn.GELU())])

    x = torch.rand(7, 24)
    first = newly_emitted(lambda: program_matching_eager(network(2), x, close=1e-5))
    again = newly_emitted(lambda: program_matching_eager(network(8), x, close=1e-5))
    assert first > 1 and again <= 1


def test_graphs_share_their_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is found by another graph that has the same one among others, and for another number of rows."""

    def one(x: Any) -> Any:
        return (x * 1.25).exp().sum(1) + 3

    def other(x: Any, y: Any) -> Any:
        return (x * 1.25).exp().sum(1) + 3, y @ y

    program_matching_eager(one, torch.rand(40, 33))
    text = {part.text for part in parts_of(lambda: program_matching_eager(one, torch.rand(40, 33)), monkeypatch) if part.effort}
    assert text & {part.text for part in parts_of(lambda: program_matching_eager(other, torch.rand(50, 33), torch.rand(5, 5)), monkeypatch)}


def test_sizes_become_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels that differ in sizes and in a factor are one function, and give what each should."""

    def function(x: Any, y: Any) -> Any:
        return [(each * each).mean(1) / (each.mean(1) + 3) + (each - 1).amax(1) for each in (x, y)]

    seen: list[Any] = []
    original = outline.merged

    def watched(functions: list[Any]) -> Any:
        made = original(functions)
        seen.append(([each for each in functions if each.name.startswith("kernel_")], *made))
        return made

    monkeypatch.setattr(module, "merged", watched)
    parts = parts_of(lambda: program_matching_eager(function, torch.randn(50, 640), torch.randn(60, 96)), monkeypatch)
    kernels, merged, calls = seen[-1]
    assert len(merged) < len(kernels) == len(merged) + len(calls) // 2
    assert all(sum(f"define void @{each.name}(" in part.text for part in parts if part.effort == 0) <= 1 for each in calls)


def test_other_sizes_of_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from a batch's size is a parameter from the second size on: for the third no kernel is compiled."""
    efforts: list[int] = []
    emit = type(machine()).emit
    ops.before_fork()  # no compilation for eager ops of other tests is under way
    monkeypatch.setattr(type(machine()), "emit", lambda self, part: efforts.append(part.effort) or emit(self, part))

    def function(x: Any) -> Any:
        centred = x - x.mean((0, 2), True)
        return centred / ((centred * centred).mean((0, 2), True) + 1e-5).sqrt()

    made = torch.compile(function, backend="native", dynamic=True)
    with torch.no_grad():
        for size in (40, 40, 50, 70, 90):
            if size == 70:
                efforts.clear()
            x = torch.randn(size, 5, 48)
            values = x.double().numpy()  # no eager op of a size that would be compiled in the background
            centred = values - values.mean((0, 2), keepdims=True)
            expected = centred / np.sqrt((centred * centred).mean((0, 2), keepdims=True) + 1e-5)
            torch.testing.assert_close(made(x), torch.from_numpy(expected).float(), rtol=1e-5, atol=1e-5)
    assert set(efforts) <= {0}


def test_small_and_unlike_functions_stay() -> None:
    """What differs in more than numbers, or in the number of steps of a short loop, is not put together."""

    def made(name: str, size: int, op: str = "fmul") -> Any:
        c = IRBuilder(Module())
        with c.loop(c.integer(0), c.integer(size)) as index:
            c.store(c.binary(op, c.load("%a", index, "float"), c.constant("float", size)), "%a", index)
        return c.function(name, "ptr %a")

    assert outline.outline(made("one_1", 100)).digest == outline.outline(made("two_2", 200)).digest
    assert outline.outline(made("one_1", 100)).digest != outline.outline(made("two_2", 8)).digest
    assert outline.outline(made("one_1", 100)).digest != outline.outline(made("two_2", 100, "fadd")).digest
    assert len(outline.merged([made("one_1", 100), made("two_2", 200)])[1]) == 2
    assert outline.merged([made("one_1", 100), made("two_2", 8)])[1] == []


def test_numbers_of_several_types() -> None:
    """A float and a double are spelled alike, and are parameters of their own."""

    def text(module: Module, value: int) -> str:
        c = IRBuilder(module)
        with c.loop(c.integer(0), c.integer(64 + value)) as index:
            wide = c.binary("fadd", c.convert("fpext", c.load("%a", index, "float"), "double"), c.constant("double", value))
            c.store(c.binary("fmul", c.convert("fptrunc", wide, "float"), c.constant("float", value)), "%a", index)
            c.store(c.convert("trunc", c.add(index, c.integer(value)), "i8"), "%b", index)
        return module.add("several", c.function("NAME", "ptr noalias %a, ptr noalias %b"))

    module = Module()
    names = [text(module, value) for value in (2, 5)]
    assert len(outline.merged(module.functions)[1]) == 2
    held = machine().compile(module.parts(), module.bindings)
    for name, value in zip(names, (2, 5)):
        array, others = np.arange(80, dtype=np.float32), np.zeros(80, np.int8)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(held.address(name))(array.ctypes.data, others.ctypes.data)
        count = 64 + value
        np.testing.assert_array_equal(array[:count], (np.arange(count) + value) * value)
        np.testing.assert_array_equal(array[count:], np.arange(count, 80))
        np.testing.assert_array_equal(others, np.concatenate([np.arange(count) + value, np.zeros(80 - count)]))


def test_the_same_code_with_other_numbers() -> None:
    """Code that is the same but for numbers that it does not name has them right in each place."""

    def function(x: Any, y: Any) -> Any:
        return [each.sum(0) * 0.5 for each in (x, y)]

    program_matching_eager(function, torch.rand(300, 40), torch.rand(500, 40), close=1e-5)
    module = Module()
    names = []
    for value in (5, 9):
        c = IRBuilder(module)
        c.store(c.number(value), "%a", c.integer(0))
        names.append(module.add("number", c.function("NAME", "ptr %a")))
    held = machine().compile(module.parts(), module.bindings)
    place = ctypes.c_int64()
    found = []
    for name in names:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(held.address(name))(ctypes.addressof(place))
        found.append(place.value)
    assert found == [5, 9]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 37, 256])
def test_functions_that_are_called(dtype: Any, size: int) -> None:
    """A function that a kernel uses often is called, for vectors and for what is left; the results are what they are written out."""

    def function(x: Any) -> Any:
        for _ in range(processor().target.inlined_calls + 2):
            x = (x.exp() * 0.25).tanh() - 0.5
        return x

    x = torch.linspace(-3, 3, size, dtype=dtype)
    program = program_matching_eager(function, x, close=1e-5 if dtype == torch.float32 else 1e-12)
    names = [each.rpartition("_")[0] for each in program.module.names]
    assert names.count("tanh_of_many") == 1  # and one for what is left, where there may be something
    assert names.count("tanh") == (size != 256 or dtype != torch.float32)


def test_special_values_of_called_functions() -> None:
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40, 1e30, 2.5, 7.0])

    def function(x: Any) -> Any:
        return [(x * (each + 1)).sin() for each in range(processor().target.inlined_calls + 2)]

    torch.testing.assert_close(program_results(function, x), function(x), equal_nan=True, rtol=1e-6, atol=1e-6)


def program_results(function: Any, *args: Any) -> Any:
    made = compiled(function)
    program_of(made, *args)
    with torch.no_grad():
        return made(*args)


def test_texts_that_are_wrong() -> None:
    """Of several texts a wrong one raises, whichever thread met it, and nothing stays behind."""
    good = [Part(f"define i64 @good{at}() {{\n  ret i64 {at}\n}}\n") for at in range(6)]
    for at in (0, 3, 6):
        with pytest.raises(RuntimeError):
            machine().compile([*good[:at], Part("define nonsense"), *good[at:]])
    held = machine().compile(good)
    assert [ctypes.CFUNCTYPE(ctypes.c_int64)(held.address(f"good{at}"))() for at in range(6)] == list(range(6))


def test_one_thread_makes_the_same_code() -> None:
    parts = [Part(f"define i64 @alone{at}(i64 %x) {{\n  %y = mul i64 %x, {at + 3}\n  ret i64 %y\n}}\n") for at in range(4)]
    together = machine().emit_all(parts)
    with thread_count(1):
        assert machine().emit_all(parts) == together


def test_how_much_effort_is_made() -> None:
    """Glue gets none, vectors that are there already little, loops of scalars much."""
    module = Module()
    c = IRBuilder(module)
    with c.loop(c.integer(0), Scalar("%n", "i64")) as index:
        four = Vectors(c, "float", 4)
        four.store(four.zero(), "%a", c.scale(index, 4))
    vectors = module.add("vectors", c.function("NAME", "ptr %a, i64 %n"))
    c = IRBuilder(module)
    with c.loop(c.integer(0), Scalar("%n", "i64")) as index:
        c.store(c.constant("float", 1), "%a", index)
    scalars = module.add("scalars", c.function("NAME", "ptr %a, i64 %n"))
    c = IRBuilder(module)
    c.call_function(vectors, "%a", 3)
    c.call_function(scalars, "%a", 5)
    module.put("both", c.function("both", "ptr %a"), quick=True)
    parts = module.parts()
    assert sorted(each.effort for each in parts) == [0, 1, 2]
    held = machine().compile(parts, module.bindings)
    array = np.full(16, 7, np.float32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(held.address("both"))(array.ctypes.data)
    assert array.tolist() == [1.0] * 5 + [0.0] * 7 + [7.0] * 4


def test_what_is_captured_is_not_compiled_for_eager_mode() -> None:
    """The first call of a compiled function runs in eager mode, once: neither it nor its gradients compile kernels for that."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 8, 3, padding=1))
    x = torch.rand(9, 3, 41, 43)
    known = set(ops._programs)
    step = compiled(model)
    step(x).square().mean().backward()
    assert set(ops._programs) == known
    first = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    step(x).square().mean().backward()
    for one, other in zip(first, model.parameters()):
        torch.testing.assert_close(one, other.grad, rtol=1e-3, atol=1e-5)
    model.zero_grad()
    model(x).square().mean().backward()  # in eager mode kernels are compiled as ever
    assert set(ops._programs) != known


def test_what_all_programs_need_is_compiled_ahead() -> None:
    """By other threads, while the first program is captured; a fork waits for them, and so does the end of the process."""
    program = """
import os, sys
import rushlight as torch
double = torch.compile(lambda x: x * 2)
machine = sys.modules["rushlight.runtime.cpu.jit"].jit()
assert len(machine.coming) == 2, machine.coming
if sys.argv[1] == "fork":
    child = os.fork()
    assert child == 0 or os.waitpid(child, 0)[1] == 0
if sys.argv[1] != "end":
    with torch.no_grad():
        double(torch.ones(64)), double(torch.ones(64))
    before = machine.emitted
    torch.compile(lambda x: x * 2)(torch.ones(64))
    assert not machine.coming and before >= 2
"""
    for way in ("run", "fork", "end"):
        run_python(program, way, RUSHLIGHT_CACHE_DIR="")
