"""Native code for other processors than this one: it is compiled for each, and the object code is inspected, but not run.

``tests/on_arm64.sh`` runs tests on a processor that is emulated.
"""

from __future__ import annotations

import functools
import importlib
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

pytest.importorskip("llvmlite")
from rushlight.backends.aot import AheadOfTime
from rushlight.backends.native import NativeGraph, compile_module, graph_compiler
from rushlight.backends.native.eager import bernoulli
from rushlight.codegen.llvm.gemm.choose import choose_tile, panel_width
from rushlight.codegen.llvm.ir import Part
from rushlight.codegen.llvm.target import VARIABLE, Processor, host, whole_vectors
from rushlight.codegen.llvm.vectors import lanes
from rushlight.runtime.call import trampoline
from rushlight.runtime.cpu import thread_pool
from rushlight.runtime.cpu.jit import Jit

jit_module = importlib.import_module("rushlight.runtime.cpu.jit")
target_module = importlib.import_module("rushlight.codegen.llvm.target")
LINUX, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
AVX2, AVX512 = "+avx,+avx2,+f16c,+fma", "+avx,+avx2,+f16c,+fma,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
PROCESSORS = {
    "haswell": Processor(LINUX, "haswell", AVX2), "skylake-avx512": whole_vectors(Processor(LINUX, "skylake-avx512", AVX512)),
    "znver4": whole_vectors(Processor(LINUX, "znver4", AVX512)), "arm64": Processor(ARM, "generic"), "neoverse-v1": Processor(ARM, "neoverse-v1", "+neon,+sve"),
    "apple-m1": Processor("arm64-apple-darwin23.0.0", "apple-m1"),
}  # fmt: skip
# What native code may need from outside, by the names of the C library; all else is arithmetic.
OUTSIDE = {"memcpy", "memmove", "memset", "bzero", "fmod", "fmodf", "syscall", "memset_pattern16"}


class Nowhere:
    """Functions that are not loaded."""

    def address(self, name: str) -> int:
        return 0


class Elsewhere(Jit):
    """A machine that compiles for a processor, and keeps what comes out."""

    def __init__(self, processor: Processor) -> None:
        super().__init__(processor)
        self.made: list[tuple[Part, bytes]] = []

    def compile(self, parts: Any, bindings: dict[str, int] | None = None) -> Any:
        self.made += [(each, self.emit(each)) for each in ([Part(parts)] if isinstance(parts, str) else parts)]
        return Nowhere()

    def assembly(self, part: Part) -> str:
        """The instructions for a text."""
        found: list[str] = []
        emit = self.llvm.ffi.lib.LLVMPY_TargetMachineEmitToMemory

        def both(target: Any, module: Any, kind: int, message: Any) -> Any:
            found.append(target.emit_assembly(module))
            return emit(target, module, kind, message)

        original, jit_module.unlocked = jit_module.unlocked, lambda function: both if function is emit else original(function)
        try:
            self.emit(part)
        finally:
            jit_module.unlocked = original
        return found[0]


@pytest.fixture(params=PROCESSORS)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Elsewhere]:
    """A function that puts another machine in the place of this one, for the rest of a test: nothing native may run from there on."""

    def replace() -> Elsewhere:
        thread_pool.pool()  # that of this processor
        made = Elsewhere(PROCESSORS[request.param])
        monkeypatch.setattr(jit_module, "_jit", [made])
        monkeypatch.setattr(target_module, "_chosen", [made.processor])
        return made

    return replace


def symbols(data: bytes) -> tuple[set[str], set[str]]:
    """The names that an object defines, and those that it needs: of Linux (ELF) or macOS (Mach-O)."""
    defined: set[str] = set()
    needed: set[str] = set()

    def name_at(place: int) -> str:
        return data[place : data.index(b"\0", place)].decode()

    if data[:4] == b"\x7fELF":
        (start,), (size, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + at * size) for at in range(count)]
        for _, kind, _, _, offset, length, link, _, _, entry in sections:
            for at in range(offset + entry, offset + length, entry or 1) if kind == 2 else ():
                name, _, _, section = struct.unpack_from("<IBBH", data, at)
                (defined if section else needed).add(name_at(sections[link][4] + name))
        return defined, needed - {""}
    assert data[:4] == b"\xcf\xfa\xed\xfe"
    (commands,) = struct.unpack_from("<I", data, 16)
    at = 32
    for _ in range(commands):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 2:
            table, count, names, _ = struct.unpack_from("<IIII", data, at + 8)
            for place in range(table, table + 16 * count, 16):
                name, flags, _, _, _ = struct.unpack_from("<IBBHQ", data, place)
                (defined if flags & 14 else needed).add(name_at(names + name).removeprefix("_"))
        at += length
    return defined, needed


def assert_symbols_are_known(machine: Elsewhere) -> None:
    """All that was compiled needs nothing from outside but what is known."""
    found = [symbols(data) for _, data in machine.made]
    assert found
    defined = set().union(*(each for each, _ in found))
    missing = set().union(*(each for _, each in found)) - defined
    assert missing <= OUTSIDE, missing - OUTSIDE


def functions(x: Any) -> Any:
    parts = (
        x.exp(),
        x.log(),
        x.tanh(),
        x.sin(),
        x.cos(),
        x.pow(x),
        x.expm1(),
        x.log1p(),
        x.log2(),
        x.exp2(),
        torch.erf(x),
        x.sinh(),
        x.cosh(),
        F.gelu(x),
        x.floor(),
    )
    return sum(parts)


def rows(x: Any) -> Any:
    return F.softmax(F.layer_norm(F.gelu(x), x.shape[-1:]), -1).sum(0), x.amax(-1), x.mean()


def types(x: Any, n: Any) -> Any:
    return x.half() * 2, x.bfloat16() + 1, x.to(torch.int32) * 3, n.float() * x, (n * 3 > 5) & (x > 0), x.to(torch.uint8), x.remainder(0.3)


def moved(x: Any, n: Any) -> Any:
    return x[n], F.embedding(n, x), torch.cat([x, x * 2]), x.cumsum(0), F.pad(x, (1, 2))


def halves(x: Any, y: Any) -> Any:
    """Values that nothing is computed with: they must not go by way of another type."""
    found = [
        (each[:1].repeat(40), each[0].expand(5, 7).clone(), each.flip(0), torch.where(each > 0, each, 2.5), each.amax(), each[::3])
        for each in (x, y)
    ]
    return [*found[0], *found[1]]


def gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the gradients of its tensors."""

    def run(*tensors: Any) -> Any:
        result = function(*tensors)
        return result, *torch.autograd.grad((result * result).sum(), [each for each in tensors if each.requires_grad])

    return run


def leaf(*shape: int) -> Any:
    return torch.randn(*shape).requires_grad_()


CASES: dict[str, Callable[[], tuple[Callable[..., Any], Sequence[Any]]]] = {
    "functions": lambda: (functions, [torch.rand(7, 300)]),
    "functions of doubles": lambda: (lambda x: x.exp() + x.log() + x.tanh() + torch.erf(x), [torch.rand(300).double()]),
    "functions that are called": lambda: (lambda x: sum((x * at).exp() + (x * at).tanh() for at in range(6)), [torch.randn(7, 300)]),
    "rows": lambda: (rows, [torch.randn(40, 700)]),
    "long sums": lambda: (lambda x: (x.sum(), (x * x).sum(0)), [torch.randn(9, 20000)]),
    "types": lambda: (types, [torch.randn(5, 33), torch.arange(33)]),
    "moved": lambda: (moved, [torch.randn(9, 33), torch.arange(5)]),
    "halves that are moved": lambda: (halves, [torch.randn(33).bfloat16(), torch.randn(33).half()]),
    "products": lambda: (gradients(lambda x, w: F.relu(x @ w.t())), [leaf(64, 48), leaf(80, 48)]),
    "convolution": lambda: (gradients(lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1), 2)), [leaf(4, 3, 16, 16), leaf(24, 3, 3, 3)]),
    "convolution with fewer multiplications": lambda: (gradients(lambda x, w: F.conv2d(x, w, padding=1)), [leaf(8, 32, 16, 16), leaf(32, 32, 3, 3)]),
    "convolution of groups": lambda: (gradients(lambda x, w: F.conv2d(x, w, groups=8)), [leaf(2, 8, 12, 12), leaf(8, 1, 3, 3)]),
    "LSTM": lambda: (nn.LSTM(12, 24), [torch.randn(5, 8, 12)]),
    "attention": lambda: (gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), [leaf(2, 2, 70, 16) for _ in range(3)]),
}  # fmt: skip


class Watched(NativeGraph):
    """Keeps a graph and the arrays that it is called with, and runs it in eager mode."""

    seen: list[tuple[Any, list[Any]]] = []

    def general(self, args: tuple[Any, ...]) -> Any:
        self.seen.append((self.module, [getattr(each, "_array", each) for each in args]))
        return self.module.forward(*args)


@functools.cache
def graphs(case: str) -> list[tuple[Any, list[Any]]]:
    """The graphs of a case, and arrays for each."""
    torch.manual_seed(0)
    function, inputs = CASES[case]()
    recorded = any(each.requires_grad for each in inputs) or isinstance(function, nn.Module)
    compiled = torch.compile(
        function, backend=lambda module, examples: AheadOfTime(module, graph_compiler(Watched)) if recorded else Watched(module)
    )
    Watched.seen = []
    for _ in range(2):  # the first one runs the program itself
        compiled(*inputs)
    return Watched.seen


@pytest.mark.parametrize("case", CASES)
def test_code_for_other_processors(case: str, machine: Callable[[], Elsewhere]) -> None:
    """LLVM takes every kernel for every processor, and needs no function but some of the C library's."""
    found = graphs(case)
    chosen = machine()
    for module, arrays in found:
        program = compile_module(module, arrays)
        assert not [part for part in program.parts if hasattr(part, "target")], program.describe()
    assert_symbols_are_known(chosen)


def test_code_that_every_program_needs(machine: Callable[[], Elsewhere]) -> None:
    """The pool, the way in, and random choices."""
    chosen = machine()
    kind = "aarch64" if chosen.processor.is_arm else "x86_64"
    chosen.compile([Part(thread_pool.text_for(kind), 0), *trampoline.code(), Part(bernoulli.text("float"))])
    assert_symbols_are_known(chosen)


# -- what comes out ----------------------------------------------------------------------------------------------


def loops(assembly: str) -> list[list[str]]:
    """The innermost loops of instructions: from a label to a jump back to it, with no other label between."""
    found, since = [], []
    label = ""
    for line in assembly.splitlines():
        named = re.match(r"(\.?L\w+):", line)
        if named:
            label, since = named[1], []
            continue
        since.append(line)
        if label and re.search(rf"\b(?:j\w+|b\.?\w*|cbn?z|tbn?z)\t.*{re.escape(label)}$", line):
            found.append(since)
    return found


def multiplications(processor: Processor, lines: list[str]) -> list[str]:
    """The instructions that multiply and add vectors of the whole length."""
    wide = {128: r"\bfmla(?:\.4s|\tv\d+\.4s)", 256: r"vfn?m(?:add|sub)\w+ps\t.*%ymm", 512: r"vfn?m(?:add|sub)\w+ps\t.*%zmm"}[
        processor.vector_bits
    ]
    return [line for line in lines if re.search(wide, line)]


@pytest.mark.parametrize("case", ["products", "convolution", "convolution with fewer multiplications"])
@pytest.mark.parametrize("machine", ["haswell", "znver4", "arm64"], indirect=True)
def test_tiles_stay_in_registers(case: str, machine: Callable[[], Elsewhere]) -> None:
    """The loops of products have a multiplication for each register of a tile, and no vector in them goes to the stack."""
    found = graphs(case)
    chosen = machine()
    for module, arrays in found:
        compile_module(module, arrays)
    busy = []
    for part, _ in chosen.made:
        if part.effort and "fmuladd" in part.text:
            for lines in loops(chosen.assembly(part)):
                if len(multiplications(chosen.processor, lines)) >= 8:
                    busy.append(lines)
                    on_stack = [line for line in lines if re.search(r"\t[qdsv]\d+.*\[sp\b|\(%rsp.*mm|mm.*\(%rsp", line)]
                    assert not on_stack, "\n".join(lines)
    assert busy


@pytest.mark.parametrize("case", ["functions", "functions that are called"])
@pytest.mark.parametrize("machine", ["haswell", "skylake-avx512", "arm64", "neoverse-v1"], indirect=True)
def test_functions_become_vectors(case: str, machine: Callable[[], Elsewhere]) -> None:
    """exp and its like are computed in vectors of the processor's length, where they are written out and where they are called."""
    found = graphs(case)
    chosen = machine()
    for module, arrays in found:
        compile_module(module, arrays)
    texts = {part.text: chosen.assembly(part) for part, _ in chosen.made if part.effort}
    kernels = [each for text, each in texts.items() if " @kernel" in text]
    if case == "functions that are called":
        assert any("exp_of_many" in each and "tanh_of_many" in each for each in kernels)
    assert any(len(multiplications(chosen.processor, each.splitlines())) > 8 for each in texts.values())


# -- which processor ---------------------------------------------------------------------------------------------


def test_the_processor_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm = importlib.import_module("llvmlite.binding")
    monkeypatch.delenv(VARIABLE, raising=False)
    own = host(llvm)
    assert own.name == llvm.get_host_cpu_name() and own.features.startswith(llvm.get_host_cpu_features().flatten())
    monkeypatch.setenv(VARIABLE, "x86-64-v3")
    chosen = host(llvm)
    assert chosen.name == "x86-64-v3" and chosen.vector_bits == 256 and chosen.registers == 16 and chosen.converts_halves
    monkeypatch.setenv(VARIABLE, "x86-64-v4")
    assert host(llvm).vector_bits == 512 and host(llvm).registers == 32
    monkeypatch.setenv(VARIABLE, "native,-avx512f")
    assert host(llvm).name == own.name and host(llvm).vector_bits <= 256
    assert host(llvm).words != own.words


def test_what_a_processor_has() -> None:
    kind = functools.partial(Processor, "x86_64-unknown-linux-gnu", "generic")
    assert kind("+avx,+avx2,+avx512f,+avx512vl,-avx512f").vector_bits == 256
    assert kind("-avx512f,+avx,+avx512f,+avx512vl").vector_bits == 512
    assert kind("+avx,+avx2,+f16c,-avx").has == frozenset() and kind("").vector_bits == 128
    assert kind("+avx,+avx512fp16").vector_bits == 256  # not a part of another name
    for triple in ("aarch64-unknown-linux-gnu", "arm64-apple-darwin23.0.0"):
        arm = Processor(triple, "generic")
        assert (arm.vector_bits, arm.registers, arm.converts_halves, arm.masks) == (128, 32, True, False)


def test_tiles_of_each_processor(machine: Callable[[], Elsewhere]) -> None:
    """Sums, a row of the right matrix and a factor fit the registers."""
    chosen = machine().processor
    for type, size in (("float", 4), ("double", 8)):
        rows, vectors = choose_tile()
        assert panel_width(type) == vectors * lanes(type) == vectors * (chosen.vector_bits // 8 // size)
        assert rows * vectors + vectors + 1 <= chosen.registers
