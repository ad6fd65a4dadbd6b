"""Random programs: as Python, as scripts, saved and loaded, and exported, they must do the same."""

from __future__ import annotations

import importlib.util
import io
import os
import random
import warnings
from typing import Any

import numpy as np
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import jit

PROGRAMS = int(os.environ.get("SCRIPT_FUZZ_PROGRAMS", "600"))


class Program:
    """Writes one random function of two tensors."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.budget = self.random.randint(4, 14)
        self.tensors, self.numbers, self.fractions, self.flags = ["x", "y", "a", "b"], ["n", "m"], ["k"], ["p", "q"]
        self.fresh = 0

    def source(self) -> str:
        start = [
            "import rushlight as torch",
            "",
            "",
            "def program(x, y):",
            "    a = x + 1",
            "    b = y * 2",
            "    n = 1",
            "    m = 3",
            "    k = 0.5",
            "    p = True",
            "    q = False",
            "    items = [x, y]",
        ]
        self.block(1, None)
        ends = ["    return a, b, x, n, m, torch.stack(items).sum(0)"]
        return "\n".join([*start, *self.lines, *ends]) + "\n"

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def tensor(self, depth: int = 0) -> str:
        if depth > 2 or self.random.random() < 0.35:
            return self.random.choice(self.tensors)
        kind = self.random.randrange(7)
        if kind == 0:
            return f"torch.tanh({self.tensor(depth + 1)})"
        if kind == 1:
            return f"({self.tensor(depth + 1)} {self.pick('+', '-', '*')} {self.tensor(depth + 1)}).tanh()"
        if kind == 2:
            return f"({self.tensor(depth + 1)} {self.pick('+', '-', '*')} {self.number(1)} * 0.25)"
        if kind == 3:
            return f"({self.tensor(depth + 1)} * {self.fraction()}).sin()"
        if kind == 4:
            return f"({self.tensor(depth + 1)} if {self.condition()} else {self.tensor(depth + 1)})"
        if kind == 5:
            return f"items[{self.pick('0', '1', '-1')}]"
        return f"-{self.tensor(depth + 1)}"

    def number(self, depth: int = 0) -> str:
        if depth > 1 or self.random.random() < 0.5:
            return self.pick(*self.numbers, str(self.random.randint(0, 4)))
        return f"({self.number(depth + 1)} {self.pick('+', '-', '*')} {self.number(depth + 1)}) % {self.random.randint(2, 7)}"

    def fraction(self) -> str:
        return self.pick("k", "0.5", "(k * 0.5 + 0.25)", "(n * 0.125)", "1.5")

    def condition(self, depth: int = 0) -> str:
        kind = self.random.randrange(8 if depth < 2 else 5)
        if kind <= 1:
            return f"{self.random.choice(self.tensors)}.sum() {self.pick('>', '<')} {self.pick('0', '0.5', '-1')}"
        if kind == 2:
            return f"{self.number()} {self.pick('>', '<', '==', '!=', '>=')} {self.number()}"
        if kind == 3:
            return self.random.choice(self.flags)
        if kind == 4:
            return f"k > {self.pick('0.3', '0.7')}"
        if kind == 5:
            return f"not ({self.condition(depth + 1)})"
        return f"({self.condition(depth + 1)}) {self.pick('and', 'or')} ({self.condition(depth + 1)})"

    def block(self, depth: int, loop: str | None) -> None:
        for _ in range(self.random.randint(1, 4 if depth > 1 else 6)):
            if self.statement(depth, loop):
                return

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int, loop: str | None) -> bool:
        """One statement; whether nothing can follow it."""
        self.budget -= 1
        kind = self.random.randrange(16)
        if kind >= 11 and (depth > 4 or self.budget < 0):
            kind = self.random.randrange(10)
        if kind <= 2:
            self.write(depth, f"{self.pick('a', 'b', 'x')} = {self.tensor()}")
        elif kind == 3:
            self.write(depth, f"a {self.pick('+', '-')}= {self.tensor()} * 0.5")
        elif kind == 4:
            self.write(depth, f"n = {self.number()}")
        elif kind == 5:
            self.write(depth, f"m {self.pick('+', '-')}= {self.number()}")
            self.write(depth, "m = m % 9")
        elif kind == 6:
            self.write(depth, f"k = {self.pick('k * 0.5 + 0.1', '0.25 + k * 0.25', 'n * 0.125')}")
        elif kind == 7:
            self.write(depth, f"{self.pick('p', 'q')} = {self.pick('not p', 'n > m', 'p and q', 'q or n == 2')}")
        elif kind == 8:
            self.write(depth, f"a, b = b, {self.tensor()}")
        elif kind == 9:
            self.write(depth, f"items[{self.pick('0', '1')}] = {self.tensor()}")
        elif kind == 10:
            self.write(depth, self.pick(f"b = torch.where(a > 0, a, {self.tensor()})", f"items.append({self.tensor()} * 0.5)"))
        elif kind in (11, 12):
            self.write(depth, f"if {self.condition()}:")
            self.block(depth + 1, loop)
            if self.random.random() < 0.6:
                self.write(depth, "else:")
                self.block(depth + 1, loop)
        elif kind == 13:
            self.fresh += 1
            self.write(depth, f"for i{self.fresh} in range({self.pick('2', '3', 'm % 4', '1, 4')}):")
            self.numbers.append(f"i{self.fresh}")
            self.block(depth + 1, "for")
            self.numbers.pop()
        elif kind == 14:
            self.fresh += 1
            self.write(depth, f"c{self.fresh} = 0")
            self.write(depth, f"while c{self.fresh} < 4 and ({self.condition(2)}):")
            self.write(depth + 1, f"c{self.fresh} += 1")
            self.block(depth + 1, "while")
        elif loop is not None and self.random.random() < 0.7:
            self.write(depth, f"if {self.condition()}:")
            self.write(depth + 1, self.pick("break", "continue"))
        elif depth > 1 and self.random.random() < 0.5:
            self.write(depth, f"return {self.tensor()}, b, x, n, {self.number()}, a")
            return True
        else:
            self.write(depth, f"a = {self.tensor()}")
        return False


class Containers(Program):
    """Also dicts, what may be None, strings, lists of tensors that grow and shrink, ``no_grad`` and early returns from nested loops."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.with_table = seed % 3 == 0  # a program with a dict can't be exported

    def pick(self, *options: Any) -> Any:
        return super().pick(*[each for each in options if self.with_table or "table" not in each])

    def source(self) -> str:
        head = [
            "from typing import Dict, Optional",
            "",
            "import rushlight as torch",
            "",
            "",
            "def program(x, y):",
            "    a = x + 1",
            "    b = y * 2",
            "    n = 1",
            "    m = 3",
            "    k = 0.5",
        ]
        head += [
            "    p = True",
            "    q = False",
            "    items = [x, y]",
            "    maybe: Optional[torch.Tensor] = None",
            "    text = 'ab'",
            "    pair = (x, 2)",
        ]
        if self.with_table:
            head += ["    table: Dict[str, torch.Tensor] = {'one': x}"]
        self.block(1, None)
        ends = ["    if maybe is not None:", "        b = b + maybe"]
        if self.with_table:
            ends += ["    for key in table:", "        b = b + table[key] * len(key)", "    n = n + len(table)"]
        ends += ["    return a, b, pair[0], n + len(text), m + pair[1], torch.stack(items).sum(0)"]
        return "\n".join([*head, *self.lines, *ends]) + "\n"

    def condition(self, depth: int = 0) -> str:
        if self.random.random() < 0.3:
            return self.pick(
                "maybe is None", "maybe is not None and maybe.sum() > 0", "maybe is None or n > 1", "'two' in table", "text.startswith('a')", "len(text) > 4",
                "'b' in text", "text == 'ab'", "len(items) > 2", "len(table) == 1", "pair[1] > 2", "n < m < 5", "not p or q",
            )  # fmt: skip
        return super().condition(depth)

    def tensor(self, depth: int = 0) -> str:
        if self.random.random() < 0.2:
            return self.pick(
                "table['one']", "table.get('two', a)", "pair[0]", "items[n % len(items)]", "sum([each * 0.5 for each in items], a)", "torch.stack(items[:2]).mean(0)",
                "items[-1]", "(maybe if maybe is not None else b)", "torch.cat([items[0], items[1]], 0)[:2]",
            )  # fmt: skip
        return super().tensor(depth)

    def statement(self, depth: int, loop: str | None) -> bool:
        if self.random.random() < 0.55:
            return super().statement(depth, loop)
        self.budget -= 1
        kind = self.random.randrange(13 if depth < 4 and self.budget > 0 else 8)
        if kind in (0, 11) and not self.with_table:
            kind = 3
        if kind == 0:
            self.write(depth, f"table[{self.pick('text', repr('two'), repr('one'))}] = {self.tensor()} * 0.5")
        elif kind == 1:
            self.write(depth, self.pick("maybe = None", f"maybe = {self.tensor()}", "maybe = a if n > 1 else None"))
        elif kind == 2:
            self.write(
                depth,
                self.pick(
                    "text = text + 'c'",
                    "text += 'd' * (n % 3)",
                    "text = text.upper().lower()",
                    "text = f'{n}{text}'[:6]",
                    "text = text.replace('c', '')",
                    "n = text.find('b') % 5",
                ),
            )
        elif kind == 3:
            self.write(depth, f"pair = ({self.tensor()}, {self.number()})")
        elif kind == 4:
            self.write(depth, self.pick("if len(items) > 2:", "if len(items) > 3:"))
            self.write(depth + 1, self.pick("a = a + items.pop() * 0.5", "items.pop(0)", "items = items[:2]", "items.reverse()"))
        elif kind == 5:
            self.write(
                depth,
                self.pick(
                    "items = [each.tanh() for each in items]",
                    "items = [each for each in items if each.sum() > -9] + [a]",
                    "items.insert(0, a * 0.25)",
                    "items.extend([b * 0.25])",
                ),
            )
        elif kind == 6:
            self.write(depth, self.pick("one, two = items[0], items[1]", "one, two = pair[0], a"))
            self.write(depth, self.pick("a = one - two * 0.5", "b = (two + one).tanh()"))
        elif kind == 7:
            self.write(depth, self.pick("numbers = [each * 2 for each in range(m % 5)]", "numbers = [1, 2, n]"))
            self.write(depth, "n = (sum(numbers) + len(numbers)) % 7")
        elif kind == 8:
            self.write(depth, "with torch.no_grad():")
            self.block(depth + 1, None)
        elif kind == 9:
            self.write(depth, f"if maybe is not None{self.pick('', ' and n > 0')}:")
            self.write(depth + 1, "a = a + maybe * 0.5")
            self.block(depth + 1, loop)
        elif kind == 10:
            self.fresh += 1
            self.write(depth, f"for at{self.fresh}, each{self.fresh} in enumerate(items[:3]):")
            self.write(depth + 1, f"b = b + each{self.fresh} * (at{self.fresh} * 0.125)")
            self.block(depth + 1, "for")
        elif kind == 11:
            self.fresh += 1
            self.write(depth, f"for key{self.fresh}, value{self.fresh} in table.items():")
            self.write(depth + 1, f"a = a + value{self.fresh} * len(key{self.fresh}) * 0.125")
        else:
            self.fresh += 1
            one, two = f"i{self.fresh}", f"j{self.fresh}"
            self.write(depth, f"for {one} in range({self.pick('2', 'm % 3')}):")
            self.write(depth + 1, f"for {two} in range({self.pick('3', f'{one} + 1')}):")
            self.numbers += [one, two]
            self.block(depth + 2, "for")
            self.write(depth + 2, f"if {self.condition()} and {one} + {two} > 1:")
            self.write(depth + 3, f"return {self.tensor()}, b, x, {one}, {two} + n, a" if self.random.random() < 0.6 else "break")
            del self.numbers[-2:]
        return False


def load(source: str, folder: Any, name: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def inputs() -> list[Any]:
    generator = np.random.default_rng(5)
    made = []
    for scale in (1.0, -1.0, 0.3, 2.0):
        x = torch.tensor(np.abs(generator.standard_normal((2, 3))).astype(np.float32) * scale)
        made.append((x, torch.tensor(generator.standard_normal((2, 3)).astype(np.float32))))
    return made


def close(got: Any, want: Any) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want):
        if isinstance(other, torch.Tensor):
            np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-4, atol=1e-5)
        else:
            assert int(one) == other


def copies(args: Any, grad: bool = False) -> Any:
    return [each.detach().clone().requires_grad_(grad) for each in args]


def gradients(run: Any, args: Any) -> list[Any]:
    """Of the sum of all results; nothing where a write in place forbids them."""
    leaves = copies(args, True)
    try:
        total = sum(each.sum() for each in run(*leaves) if isinstance(each, torch.Tensor))
        if not total.requires_grad:
            return [None, None]
        return [None if each is None else each.numpy() for each in torch.autograd.grad(total, leaves, allow_unused=True)]
    except RuntimeError as error:
        if "in-place" not in str(error) and "inplace" not in str(error):
            raise
        return []


def compare_program(seed: int, folder: Any, export: bool, writer: type[Program] = Program) -> bool:
    """Compare one program; whether it could be exported."""
    source = writer(seed).source()
    program = load(source, folder, f"{writer.__name__.lower()}_{seed}")
    scripted = jit.script(program)
    buffer = io.BytesIO()
    jit.save(scripted, buffer)
    buffer.seek(0)
    loaded = jit.load(buffer)
    given = inputs()
    for args in given:
        want = program(*copies(args))
        close([each.numpy() if isinstance(each, torch.Tensor) else each for each in scripted(*copies(args))], want)
        close([each.numpy() if isinstance(each, torch.Tensor) else each for each in loaded(*copies(args))], want)
        for one, other in zip(gradients(program, args), gradients(scripted, args)):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
    if not export:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exported = torch.onnx.export(scripted, tuple(copies(given[0])), input_names=["x", "y"], opset_version=17)
        except jit.CaptureError:
            return False
    session = onnx_session(exported)
    names = {each.name for each in session.get_inputs()}
    for args in given:
        feeds = {name: each.numpy() for name, each in zip(("x", "y"), copies(args)) if name in names}
        close(session.run(None, feeds), program(*copies(args)))
    return True


def run_all(count: int, folder: Any, writer: type[Program]) -> int:
    """Compare many programs; how many could be exported."""
    exported = 0
    for seed in range(count):
        try:
            exported += compare_program(seed, folder, True, writer)
        except BaseException as error:
            error.add_note(f"program {seed}:\n{writer(seed).source()}")
            raise
    return exported


def test_random_programs(tmp_path):
    exported = run_all(PROGRAMS, tmp_path, Program)
    assert exported > PROGRAMS * 0.6, exported


def test_random_programs_with_containers(tmp_path):
    run_all(PROGRAMS // 3, tmp_path, Containers)
