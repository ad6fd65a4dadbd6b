"""Random TorchScript programs, in source: typed expressions and statements over numbers, texts, containers, Optionals, enumerations, objects and tensors.

A program defines ``make()``, which gives a function or a Module to script, ``calls()``, a list of names of methods with arguments, and ``STATE``, the attributes that
calls write.  Most programs are within the language; some are not, by an operand of another type.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from .script_expressions import TYPES, Expressions

PRELUDE = """
import math
import torch
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union
from torch import Tensor, nn


class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Point(NamedTuple):
    x: int
    y: float
    name: str


@torch.jit.script
class Counter(object):
    def __init__(self, start: int, label: str):
        self.total = start
        self.label = label
        self.seen: List[int] = []

    def add(self, n: int, times: int = 1) -> int:
        for _ in range(times):
            self.total += n
        self.seen.append(n)
        return self.total

    @property
    def size(self) -> int:
        return len(self.seen)

    def __len__(self) -> int:
        return self.total % 7

    def __add__(self, other: "Counter") -> "Counter":
        return Counter(self.total + other.total, self.label + other.label)

    def __eq__(self, other: "Counter") -> bool:
        return self.total == other.total

    def __lt__(self, other: "Counter") -> bool:
        return self.total < other.total

    def __getitem__(self, at: int) -> int:
        return self.seen[at]

    def __contains__(self, n: int) -> bool:
        return n in self.seen


def helper_optional(n: int) -> Optional[int]:
    if n % 3 == 0:
        return None
    return n * 2


def helper_early(items: List[int], limit: int) -> int:
    total = 0
    for at, item in enumerate(items):
        if item > limit:
            return total
        if item < 0:
            continue
        total += item * at
        if total > 40:
            break
    return total


def helper_default(t: Tensor, scale: float = 2.0, name: str = "h", shift: int = 1) -> Tensor:
    return t * scale + len(name) + shift


def helper_tuple(a: int, b: str) -> Tuple[str, int]:
    return b + "!", a + len(b)


def helper_union(n: Union[int, str]) -> int:
    if isinstance(n, int):
        return n + 1
    else:
        return len(n)


def helper_check(n: int) -> int:
    if n < -4:
        raise ValueError("too small")
    assert n < 90, "too large"
    return n


@torch.jit.ignore
def helper_python(n: int) -> int:
    return sum({n, n + 1, 7})


@torch.jit.unused
def helper_unused(n: int) -> int:
    return eval("n")
"""

ARGUMENT_TYPES = tuple(each for each in TYPES if each != "Counter")


class Writer(Expressions):
    """Writes the statements of one function."""

    def block(self, length: int, loop: bool, inner: dict[str, str] | None = None, depth: int = 1) -> list[str]:
        """The statements of an inner block, indented; names that it makes are forgotten."""
        before, self.names = self.names, {**self.names, **(inner or {})}
        lines = [line for _ in range(length) for line in self.statement(loop, depth + 1)]
        if self.rng.random() < 0.15:
            lines.append(f"return {self.of(self.result)}")
        elif loop and self.rng.random() < 0.2:
            lines.append(self.rng.choice(["break", "continue"]))
        self.names = dict(before)
        return ["    " + line for line in lines] or ["    pass"]

    def statement(self, loop: bool = False, depth: int = 0) -> list[str]:
        """A statement."""
        r = self.rng
        simple = [
            self.assign,
            self.assign,
            self.annotated,
            self.augmented,
            self.mutation,
            self.mutation,
            self.unpacking,
            self.reassign,
            self.reassign,
            self.effect,
        ]
        nested = [self.branch, self.branch, self.counted, self.over, self.while_loop, self.refined, self.context, self.refined_union]
        if loop and r.random() < 0.15:
            return [f"if {self.of('bool', 2)}:", f"    {r.choice(['break', 'continue'])}"]
        if r.random() < 0.06:
            return [f"if {self.of('bool', 2)}:", f"    return {self.of(self.result)}"]
        found: Callable[[bool, int], list[str]] = r.choice(simple + (nested if depth < 3 else []))
        return found(loop, depth)

    def assign(self, loop: bool, depth: int) -> list[str]:
        """A new name."""
        kind = self.rng.choice([each for each in TYPES if not each.startswith(("Optional", "Union"))])
        value, name = self.of(kind), self.fresh()
        self.names[name] = kind
        return [f"{name} = {value}"]

    def annotated(self, loop: bool, depth: int) -> list[str]:
        """A new name with its type."""
        kind = self.rng.choice(TYPES)
        value, name = self.of(kind), self.fresh()
        if kind.startswith(("List", "Dict")) and self.rng.random() < 0.3:
            value = "[]" if kind.startswith("List") else "{}"
        self.names[name] = kind
        return [f"{name}: {kind} = {value}"]

    def writable(self) -> list[str]:
        """The names that may be assigned to."""
        return [name for name in self.names if name not in self.fixed]

    def reassign(self, loop: bool, depth: int) -> list[str]:
        """Another value for a name."""
        names = self.writable()
        return [f"{(name := self.rng.choice(names))} = {self.of(self.names[name])}"] if names else ["pass"]

    def augmented(self, loop: bool, depth: int) -> list[str]:
        """``name += value``."""
        r = self.rng
        options = {
            "int": ["+=", "-=", "*="],
            "float": ["+=", "-=", "*=", "/="],
            "str": ["+="],
            "Tensor": ["+=", "*=", "-="],
            "List[int]": ["+="],
            "List[str]": ["+="],
        }
        names = [each for each in self.writable() if self.names[each] in options]
        if not names:
            return ["pass"]
        name = r.choice(names)
        kind = self.names[name]
        sign = r.choice(options[kind])
        value = self.of(kind, 2)
        return [f"{name} {sign} {value}" if not kind.startswith("List") else f"{name} += list({value})"]

    def mutation(self, loop: bool, depth: int) -> list[str]:
        """A container or object that changes."""
        r = self.rng
        names = [
            each for each in self.names if self.names[each].startswith(("List", "Dict", "Counter", "Tensor")) and each != "self.weight"
        ]
        if not names:
            return ["pass"]
        name = r.choice(names)
        kind = self.names[name]
        if kind == "Tensor":
            return [
                self.pick(
                    lambda: f"{name}[{r.choice(['0', '-1', ':1'])}] = {self.of('int', 2)}",
                    lambda: f"{name}.add_({self.of('int', 2)})",
                    lambda: f"{name}.mul_(2)",
                    lambda: f"{name}.zero_()",
                )
            ]
        if kind == "Counter":
            return [
                self.pick(
                    lambda: f"{name}.add({self.of('int', 2)})",
                    lambda: f"{name}.total = {self.of('int', 2)}",
                    lambda: f"{name}.label += {self.of('str', 2)}",
                    lambda: f"{name}.seen.append({self.of('int', 2)})",
                )
            ]
        if kind.startswith("List"):
            element = kind[5:-1]
            value = lambda: self.of(element, 2)
            return [self.pick(
                lambda: f"{name}.append({value()})", lambda: f"{name}.append({value()})", lambda: f"{name}.insert({r.randint(-2, 3)}, {value()})", lambda: f"{name}.extend(list({self.of(kind, 2)}))", (lambda: f"{name}[{self.of('int', 2)}] = {value()}",), lambda: f"{name}.reverse()",
                lambda: f"{name}.clear()", (lambda: f"{name}.pop({r.choice(['', '0', '-1', '1'])})",), (lambda: f"del {name}[{r.choice(['0', '-1'])}]",), lambda: f"{name}.sort()" if element in ("int", "float", "str") else f"{name}.reverse()", (lambda: f"{name}.remove({value()})" if element in ("int", "float", "str", "Tensor") else f"{name}.reverse()",),
                lambda: f"{name}.sort(reverse=True)" if element in ("int", "float", "str") else f"{name}.append({value()})", (lambda: f"{name}[{r.choice(['0', '-1'])}] {'+=' if element in ('int', 'float', 'str', 'Tensor', 'List[int]') else '='} {value()}",),
            )]  # fmt: skip
        key, value = kind[5:-1].split(", ", 1)
        name_key = lambda: self.key() if key == "str" else self.of(key, 2)
        return [self.pick(
            lambda: f"{name}[{name_key()}] = {self.of(value, 2)}", lambda: f"{name}[{name_key()}] = {self.of(value, 2)}", (lambda: f"{name}.pop({name_key()})",), (lambda: f"del {name}[{name_key()}]",), lambda: f"{name}.update({self.of(kind, 2)}.copy())", lambda: f"{name}.clear()",
            lambda: f"{name}.setdefault({name_key()}, {self.of(value, 2)})", lambda: f"{name}.pop({name_key()}, {self.of(value, 2)})", (lambda: f"{name}[{name_key()}] {'+=' if value in ('int', 'str', 'Tensor') else '='} {self.of(value, 2)}",),
        )]  # fmt: skip

    def unpacking(self, loop: bool, depth: int) -> list[str]:
        """Several names at once."""
        first, second = self.fresh(), self.fresh()
        kinds, text = self.rng.choice([
            (("int", "str"), lambda: self.of("Tuple[int, str]")), (("str", "int"), lambda: f"helper_tuple({self.of('int')}, {self.of('str')})"), (("int", "int"), lambda: f"{self.of('int')}, {self.of('int')}"), (("int", "int"), lambda: f"[{self.of('int')}, {self.of('int')}]"),
            (("Tensor", "int"), lambda: self.of("Tuple[Tensor, int]")),
        ])  # fmt: skip
        value = text()
        self.names[first], self.names[second] = kinds
        return [f"{first}, {second} = {value}"]

    def effect(self, loop: bool, depth: int) -> list[str]:
        """What is said or checked."""
        return [self.pick(
            lambda: f"print({self.of(self.rng.choice(['int', 'str', 'bool', 'float', 'List[int]', 'Dict[str, int]', 'Tuple[int, str]']))}, {self.of('str')})", lambda: f"assert {self.of('bool', 2)}, {self.of('str', 2)}" if self.rng.random() < 0.3 else "pass",
            (lambda: f"helper_check({self.of('int')})",), lambda: f"if {self.of('bool', 2)} and {self.of('bool', 2)}: raise {self.rng.choice(['ValueError', 'RuntimeError', 'IndexError'])}({self.of('str', 2)})", lambda: f"helper_unused({self.of('int')}) if {self.of('bool', 2)} and False else 0",
        )]  # fmt: skip

    def branch(self, loop: bool, depth: int) -> list[str]:
        """``if``; a name that both sides set is known after it."""
        r, both = self.rng, self.rng.random() < 0.4
        lines = [f"if {self.of('bool')}:", *self.block(r.randint(1, 2), loop, depth=depth)]
        kind = r.choice(["int", "str", "Tensor", "List[int]", "float", "Dict[str, int]"])
        name = self.fresh()
        if both:
            lines.insert(1, f"    {name} = {self.of(kind)}")
        if r.random() < 0.3 and not both:
            lines += [f"elif {self.of('bool')}:", *self.block(1, loop, depth=depth)]
        if both or r.random() < 0.5:
            lines += ["else:", *self.block(r.randint(1, 2), loop, depth=depth)]
        if both:
            at = lines.index("else:")
            lines.insert(at + 1, f"    {name} = {self.of(kind)}")
            self.names[name] = kind
        return lines

    def counted(self, loop: bool, depth: int) -> list[str]:
        """A loop over a range; the name of its counter may be one that is there."""
        r = self.rng
        old = [each for each in self.known("int") if each not in self.fixed]
        name = r.choice(old) if old and r.random() < 0.2 else self.fresh()
        bounds = self.pick(
            lambda: str(r.randint(0, 4)),
            lambda: f"{r.randint(-2, 2)}, {r.randint(0, 5)}",
            lambda: f"{r.randint(0, 6)}, {r.randint(-3, 3)}, {r.choice([-2, -1, 2, 3])}",
            lambda: f"{self.of('int', 2)} % 5",
            lambda: f"min({self.of('int', 2)}, 4)",
        )
        lines = [f"for {name} in range({bounds}):", *self.block(r.randint(1, 3), True, {name: "int"}, depth)]
        if r.random() < 0.01:
            lines += ["else:", *self.block(1, loop, depth=depth)]
        return lines

    def over(self, loop: bool, depth: int) -> list[str]:
        """A loop over a container."""
        r, first, second = self.rng, self.fresh(), self.fresh()
        head, inner = r.choice([
            (lambda: f"for {first} in {self.of('List[int]')}:", {first: "int"}), (lambda: f"for {first} in {self.of('List[str]')}:", {first: "str"}), (lambda: f"for {first}, {second} in {self.of('Dict[str, int]')}.items():", {first: "str", second: "int"}),
            (lambda: f"for {first} in {self.of('Dict[int, str]')}:", {first: "int"}), (lambda: f"for {first}, {second} in enumerate({self.of('List[str]')}):", {first: "int", second: "str"}), (lambda: f"for {first}, {second} in zip({self.of('List[int]')}, {self.of('List[Tensor]')}):", {first: "int", second: "Tensor"}),
            (lambda: f"for {first} in {self.of('str')}:", {first: "str"}), (lambda: f"for {first} in {self.of('Tensor')}:", {first: "Tensor"}), (lambda: f"for {first}, {second} in enumerate({self.of('List[int]')}, {r.randint(1, 3)}):", {first: "int", second: "int"}),
            (lambda: f"for {first} in ({self.of('int')}, {self.of('int')}):", {first: "int"}), (lambda: f"for {first}, {second} in {self.of('List[Tuple[int, str]]')}:", {first: "int", second: "str"}), (lambda: f"for {first} in {self.of('Dict[str, int]')}.values():", {first: "int"}),
        ])  # fmt: skip
        return [head(), *self.block(r.randint(1, 2), True, inner, depth)]

    def while_loop(self, loop: bool, depth: int) -> list[str]:
        """``while`` with a counter."""
        r, name = self.rng, self.fresh()
        self.fixed.add(name)
        self.names[name] = "int"
        body = self.block(r.randint(1, 2), True, depth=depth)
        return [
            f"{name} = 0",
            f"while {name} < {r.randint(1, 4)}{self.pick('', lambda: ' and ' + self.of('bool', 2))}:",
            f"    {name} += 1",
            *body,
        ]

    def refined(self, loop: bool, depth: int) -> list[str]:
        """A block that knows that something is not None."""
        names = [each for each in self.names if self.names[each].startswith("Optional") and each not in self.fixed and "." not in each]
        if not names:
            return ["pass"]
        name = self.rng.choice(names)
        inner = {name: self.names[name][9:-1]}
        fixed, self.fixed = self.fixed, self.fixed | ({name} if self.rng.random() < 0.8 else set())
        extra = self.pick("", "", lambda: f" and {self.of('bool', 2)}")
        if self.rng.random() < 0.3 and not extra:
            lines = [
                f"if {name} is None:",
                *self.block(1, loop, depth=depth),
                "else:",
                *self.block(self.rng.randint(1, 2), loop, inner, depth),
            ]
        else:
            lines = [f"if {name} is not None{extra}:", *self.block(self.rng.randint(1, 2), loop, inner, depth)]
        self.fixed = fixed
        if self.rng.random() < 0.2:
            lines = (
                [f"if {name} is None:", f"    return {self.of(self.result)}"] if self.rng.random() < 0.5 else [f"assert {name} is not None"]
            )
            self.names[name] = inner[name]
            self.fixed.add(name)
        return lines

    def refined_union(self, loop: bool, depth: int) -> list[str]:
        """A block that knows of which type something is."""
        names = [each for each in self.names if self.names[each] == "Union[int, str]" and each not in self.fixed]
        if not names:
            return ["pass"]
        name = self.rng.choice(names)
        one, other = self.rng.choice([("int", "str"), ("str", "int")])
        fixed, self.fixed = self.fixed, self.fixed | {name}
        lines = [
            f"if isinstance({name}, {one}):",
            *self.block(1, loop, {name: one}, depth),
            "else:",
            *self.block(1, loop, {name: other}, depth),
        ]
        self.fixed = fixed
        return lines

    def context(self, loop: bool, depth: int) -> list[str]:
        """A block without gradients."""
        return ["with torch.no_grad():", *self.block(self.rng.randint(1, 2), loop, depth=depth)]


def argument(rng: random.Random, kind: str) -> str:
    """A literal of a type."""
    plain = Writer(rng, {}, "int")
    if kind.startswith("Optional"):
        return "None" if rng.random() < 0.4 else argument(rng, kind[9:-1])
    if kind.startswith("Union"):
        return argument(rng, rng.choice(["int", "str"]))
    if kind.startswith("List"):
        return f"[{', '.join(argument(rng, kind[5:-1]) for _ in range(rng.randint(0, 4)))}]"
    if kind.startswith("Dict"):
        key, value = kind[5:-1].split(", ", 1)
        keys = ["'a'", "'b'", "'c'"] if key == "str" else ["1", "2", "-3"]
        return f"{{{', '.join(f'{each}: {argument(rng, value)}' for each in keys[: rng.randint(1, 3)])}}}"
    if kind.startswith("Tuple"):
        return f"({', '.join(argument(rng, each) for each in kind[6:-1].split(', '))})"
    if kind == "Point":
        return f"Point({argument(rng, 'int')}, {argument(rng, 'float')}, {argument(rng, 'str')})"
    return plain.of(kind, 4)


def function(
    rng: random.Random, head: str, names: dict[str, str], result: str, length: int, odd: float, fixed: set[str] | None = None
) -> list[str]:
    """The lines of a function."""
    writer = Writer(rng, names, result, odd)
    writer.fixed |= fixed or set()
    lines = [line for _ in range(length) for line in writer.statement()]
    inside = [name for name in writer.names if name not in names][-3:]
    shown = ", ".join(f"str({name})" for name in inside if writer.names[name] in ("int", "str", "bool"))
    ends = [f"print({shown})"] if shown else []
    return [head, *("    " + line for line in (*lines, *ends, f"return {writer.of(result)}"))]


def script_program(seed: int) -> str:
    """The program of a seed: a function, or a Module with methods and attributes that they write."""
    rng = random.Random(f"script {seed}")
    odd = 0.02 if seed % 4 == 3 else 0.0
    kinds = [rng.choice(ARGUMENT_TYPES) for _ in range(rng.randint(1, 4))]
    names = {f"a{at}": kind for at, kind in enumerate(kinds)}
    result = rng.choice(ARGUMENT_TYPES)
    signature = ", ".join(f"{name}: {kind}" for name, kind in names.items())
    length = rng.randint(2, 7)
    arguments = [f"({', '.join(argument(rng, kind) for kind in kinds)},)" for _ in range(3)]
    if seed % 3:
        lines = function(rng, f"def program({signature}) -> {result}:", names, result, length, odd)
        return "\n".join(
            [
                PRELUDE,
                "",
                *lines,
                "",
                "",
                "def make():",
                "    return program",
                "",
                "",
                "STATE = []",
                "",
                "",
                "def calls():",
                f"    return [{', '.join(f'(None, {each})' for each in arguments)}]",
                "",
            ]
        )
    return module_program(rng, names, result, length, odd, arguments)


def module_program(rng: random.Random, names: dict[str, str], result: str, length: int, odd: float, arguments: list[str]) -> str:
    """A Module whose methods write its attributes and call each other and a submodule."""
    held = {
        f"self.{name}": kind
        for name, kind in (
            ("count", "int"),
            ("label", "str"),
            ("items", "List[int]"),
            ("table", "Dict[str, int]"),
            ("weight", "Tensor"),
            ("buffer", "Tensor"),
            ("maybe", "Optional[int]"),
            ("ratio", "float"),
        )
        if rng.random() < 0.7
    }
    initial = {kind: argument(rng, kind) for kind in ("int", "str", "List[int]", "Dict[str, int]", "Optional[int]", "float")}
    declared = [f"    {name[5:]}: {kind}" for name, kind in held.items() if kind in ("List[int]", "Dict[str, int]", "Optional[int]")]
    starts = []
    for name, kind in held.items():
        value = {"self.weight": "nn.Parameter(torch.tensor([0.5, -1.5]))", "self.buffer": "None"}.get(name) or initial[kind]
        starts.append("self.register_buffer('buffer', torch.tensor([1.0, 2.0]))" if name == "self.buffer" else f"{name} = {value}")
    inner_names = {f"b{at}": rng.choice(ARGUMENT_TYPES) for at in range(rng.randint(1, 2))}
    inner_signature = ", ".join(f"{name}: {kind}" for name, kind in inner_names.items())
    inner_result = rng.choice(ARGUMENT_TYPES)
    signature = ", ".join(f"{name}: {kind}" for name, kind in names.items())
    weight = {"self.weight"}
    inner = function(
        rng,
        f"def forward(self, {inner_signature}) -> {inner_result}:",
        {**inner_names, "self.seen": "int"},
        inner_result,
        rng.randint(1, 3),
        odd,
    )
    other = function(
        rng, f"def other(self, {inner_signature}) -> {inner_result}:", {**inner_names, **held}, inner_result, rng.randint(1, 4), odd, weight
    )
    writer = Writer(rng, {**names, **held}, result, odd)
    writer.fixed |= weight
    lines = []
    for at in range(length):
        lines += writer.statement()
        if at == length // 2:
            for target in rng.sample(["self.other", "self.inner", "self.layers[0]", "layer"], 2):
                call = f"{target}({', '.join(writer.of(kind) for kind in inner_names.values())})"
                writer.names[name := writer.fresh()] = inner_result
                lines += (
                    [f"{name} = {call}"]
                    if target != "layer"
                    else [f"{name}: List[{inner_result}] = []", "for layer in self.layers:", f"    {name}.append({call})"]
                )
                if target == "layer" and (listed := f"List[{inner_result}]") in TYPES:
                    writer.names[name] = listed
                elif target == "layer":
                    del writer.names[name]
    forward = [f"def forward(self, {signature}) -> {result}:", *("    " + line for line in (*lines, f"return {writer.of(result)}"))]
    pads = lambda found: ["    " + line for line in found]
    both = [f"('{name}', {args})" for args in arguments for name in ("forward",)]
    extra = [f"('other', ({', '.join(argument(rng, kind) for kind in inner_names.values())},))" for _ in range(2)]
    return "\n".join([
        PRELUDE, "", "class Inner(nn.Module):", "    def __init__(self, start: int):", "        super().__init__()", "        self.seen = start", "", *pads(inner), "", "",
        "class Model(nn.Module):", *declared, "", "    def __init__(self):", "        super().__init__()", *("        " + each for each in starts), "        self.inner = Inner(1)", "        self.layers = nn.ModuleList([Inner(2), Inner(3)])", "",
        "    @torch.jit.export", *pads(other), "", *pads(forward), "", "", "def make():", "    return Model()", "", "", f"STATE = {[*(name[5:] for name in held), 'inner.seen']}", "", "", "def calls():",
        f"    return [{', '.join((both[0], extra[0], both[1], extra[1], both[2]))}]", "",
    ])  # fmt: skip
