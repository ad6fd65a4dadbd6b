"""Guards as Python: the program of reads and conditions that a compiled function runs before its graph."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ....core.dtypes import default
from ....core.state import flags, state
from .guard import Guard, Kind, Read, Relation, relation_text
from .modes import ambient
from .sources import Names, Source, path_expression

MISSING = (AttributeError, KeyError, IndexError, ValueError, TypeError)  # raised by the read of a value that is gone
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_STATE = {"state": state, "flags": flags, "ambient": ambient, "default": default}


class GuardPrinter:
    """Prints guards as Python expressions over the variables that a program has read."""

    def __init__(self, names: Names, variables: Mapping[Source, str]) -> None:
        self.names = names
        self.variables = variables
        self.used: set[str] = set()  # variables that were printed

    def variable(self, source: Source) -> str:
        """The variable that holds the value of a source."""
        found = self.variables[source]
        self.used.add(found)
        return found

    def lines(self, program: Iterable[Read | Guard], failed: Callable[[Guard], str]) -> list[str]:
        """Statements that read values and, where a guard does not hold, do what ``failed`` gives."""
        found: list[str] = []
        steps = list(program)
        paths = iter([path_expression(step.path, self.names, self.variables, self.used) for step in steps if isinstance(step, Read)])
        for step in steps:
            if isinstance(step, Read):
                found.append(f"{step.variable} = {next(paths)}")
            else:
                found.append(f"if not ({self.condition(step)}): {failed(step)}")
        return found

    def condition(self, guard: Guard) -> str:
        """The expression of a guard."""
        return _PRINTERS[guard.kind](self, guard, "" if guard.source is None else self.variable(guard.source))

    def equal(self, guard: Guard, name: str) -> str:
        value = guard.expected
        if value is None or value is Ellipsis or isinstance(value, bool):
            return f"{name} is {value}"
        kind = type(value).__name__ if type(value) in (int, float, str) else self.names.of(type(value), "t")
        if isinstance(value, float) and math.isnan(value):
            return f"type({name}) is {kind} and {self.names.of(math.isnan)}({name})"
        constant = repr(value) if type(value) in (int, str) else self.names.of(value)
        test = f"type({name}) is {kind} and {name} == {constant}"
        base = next((each for each in (int, float, complex, str, bytes) if isinstance(value, each)), type(value))
        if type(value).__eq__ is not base.__eq__:  # of a user's class, which guards don't run
            test = f"type({name}) is {kind} and {self.names.of(base.__eq__)}({name}, {constant})"
        if isinstance(value, float) and float.__eq__(value, 0.0):  # zeros differ by their sign
            test += f" and {self.names.of(float.__repr__)}({name}) == {float.__repr__(value)!r}"
        return test

    def no_hooks(self, guard: Guard, name: str) -> str:
        (own,) = guard.others
        fields = self.variable(own)
        return f"not ({' or '.join(f'{fields}[{each!r}]' for each in HOOKS)} or '_compiled_call_impl' in {fields})"

    def distinct(self, guard: Guard, name: str) -> str:
        names = [self.variable(each) for each in guard.others]
        if len(names) > 6:
            return f"len({{*map(id, ({', '.join(names)}))}}) == {len(names)}"
        return " and ".join(f"{a} is not {b}" for at, a in enumerate(names) for b in names[at + 1 :])

    def relation(self, guard: Guard, name: str) -> str:
        relation: Relation = guard.expected
        symbols = {
            symbol: self.variable(source) if dim is None else f"{self.variable(source)}._array.shape[{dim}]"
            for symbol, (source, dim) in relation.symbols.items()
        }
        return f"({relation_text(relation, symbols, self.variable, self.constant)}) is {relation.outcome}"

    def constant(self, value: Any) -> str:
        literal = type(value) in (int, bool) or type(value) is float and math.isfinite(value)
        return repr(value) if literal else self.names.of(value)

    def key(self, value: Any) -> str:
        """The expression of a key of a dict."""
        return repr(value) if type(value) in (int, str, bool) else self.names.of(value)

    def options(self, guard: Guard, name: str) -> str:
        options = self.names.of(guard.expected)
        return f"{self.names.of(same_options)}({name}, {options}.last, {guard.expected.params}) or {options}({name})"

    def attribute(self, guard: Guard, name: str) -> str:
        attribute, called, result = guard.expected
        return f"{name}.{attribute}{'()' if called else ''} is {result}"

    def tensor(self, guard: Guard, name: str) -> str:
        wanted, of = guard.expected, self.names.of
        kinds = (
            f"type({name}) is {of(wanted.kind, 't')} and type(a := {name}._array) is {of(wanted.array_kind, 't')}"  # guards on sizes follow
        )
        return f"{kinds} and a.dtype is {of(wanted.element, 't')} and {name}._requires_grad is {wanted.requires_grad}"


_PRINTERS: Mapping[Kind, Callable[[GuardPrinter, Guard, str], str]] = {
    Kind.GRAD_MODE: lambda p, g, v: f"state.grad_enabled is {g.expected}",
    Kind.MODES: lambda p, g, v: (
        "not flags.special or (not state.interceptors and not state.inference)"
        if g.expected is None
        else f"ambient() == {p.names.of(g.expected)}"
    ),
    Kind.DEFAULT_DTYPE: lambda p, g, v: f"default.floating is {p.names.of(g.expected)}",
    Kind.CLASS_METHOD: lambda p, g, v: f"{p.names.expected(g.expected[0])}.{g.expected[1]} is {p.names.expected(g.expected[2])}",
    Kind.EQUAL: GuardPrinter.equal,
    Kind.IDENTITY: lambda p, g, v: f"{v} is {p.names.expected(g.expected)}",
    Kind.NOT_NONE: lambda p, g, v: f"{v} is not None",
    Kind.TYPE: lambda p, g, v: f"type({v}) is {p.names.expected(g.expected, 't')}",
    Kind.NUMBER: lambda p, g, v: f"type({v}) is {g.expected.__name__}",
    Kind.FINITE: lambda p, g, v: f"{v} - {v} == 0",
    Kind.CODE: lambda p, g, v: f"{v}.__code__ is {p.names.of(g.expected)}",
    Kind.METHOD: lambda p, g, v: f"{v}.{g.expected[0]}.__func__ is {p.names.expected(g.expected[1])}",
    Kind.INHERITED: lambda p, g, v: (
        f"{g.expected[0]!r} not in {p.variable(g.others[0])} and type({v}) is {p.names.expected(g.expected[1])}"
    ),
    Kind.ATTRIBUTE: GuardPrinter.attribute,
    Kind.ABSENT: lambda p, g, v: f"not hasattr({v}, {g.expected!r})",
    Kind.LACKS: lambda p, g, v: f"{p.names.of(lacks)}({v}, {g.expected!r})",
    Kind.FIELDS: lambda p, g, v: f"tuple({v}.__dict__) == {p.names.of(g.expected)}",
    Kind.NO_FIELD: lambda p, g, v: f"{g.expected!r} not in {v}.__dict__",
    Kind.NO_HOOKS: GuardPrinter.no_hooks,
    Kind.ALL_EMPTY: lambda p, g, v: f"not ({' or '.join(p.variable(each) for each in g.others)})",
    Kind.ARRAY: lambda p, g, v: f"{p.names.of(same_array)}({v}, {p.names.of(g.expected)})",
    Kind.PREDICATE: lambda p, g, v: f"{p.names.of(g.expected)}({v})",
    Kind.OPTIONS: GuardPrinter.options,
    Kind.LENGTH: lambda p, g, v: f"len({v}) == {g.expected}",
    Kind.KEYS: lambda p, g, v: f"[*{v}] == {p.names.of(g.expected)}" if g.expected else f"not {v}",
    Kind.EMPTY: lambda p, g, v: f"not {v}" if g.expected else v,
    Kind.CONTAINS: lambda p, g, v: f"{p.key(g.expected[0])} {'in' if g.expected[1] else 'not in'} {v}",
    Kind.SAME_OBJECT: lambda p, g, v: f"{v} {'is' if g.expected else 'is not'} {p.variable(g.others[0])}",
    Kind.DISTINCT: GuardPrinter.distinct,
    Kind.TENSOR: GuardPrinter.tensor,
    Kind.DEVICE: lambda p, g, v: f"{v}.device == {p.names.of(g.expected, 't')}",
    Kind.SHAPE: lambda p, g, v: f"a.shape == {g.expected}",
    Kind.RANK: lambda p, g, v: f"a.ndim == {len(g.expected)}",
    Kind.SIZE: lambda p, g, v: f"a.shape[{g.expected[0]}] == {g.expected[1][g.expected[0]]}",
    Kind.STRIDES: lambda p, g, v: f"{v}.stride() == {g.expected}",
    Kind.CONTIGUOUS: lambda p, g, v: f"{v}.is_contiguous()",
    Kind.STRIDE_ORDER: lambda p, g, v: f"{p.names.of(stride_order)}({v}) == {g.expected}",
    Kind.LEAF: lambda p, g, v: f"{v}._grad_fn is None and not {v}._backward_hooks and not {v}._post_accumulate_hooks",
    Kind.RELATION: GuardPrinter.relation,
}


def namespace_of(names: Names) -> dict[str, Any]:
    """The globals of a printed program."""
    return {**names.values, **_STATE}


def read_source(source: Source, names: Names, start: str, state_now: Any) -> Any:
    """The present value of a source."""
    variables: dict[Source, str] = {}
    program: list[Read] = []

    def visit(each: Source) -> None:
        if each not in variables:
            for other in (each.base, *each.beside):
                if other is not None:
                    visit(other)
            variables[each] = f"v{len(variables)}"
            program.append(Read(variables[each], each, each))

    visit(source)
    lines = GuardPrinter(names, variables).lines(program, lambda guard: "")
    text = "\n".join([f"def read({start}):", *[f"    {line}" for line in lines], f"    return {variables[source]}"])
    namespace = dict(names.values)
    exec(compile(text, "<read>", "exec"), namespace)
    return namespace["read"](state_now)


# -- predicates that printed guards call -----------------------------------------------------------------------------------------------


def same_options(options: dict[str, Any], known: Sequence[Any], apart: int) -> bool:
    """Whether the values of a dict are those of a list, each the same object, except for one of its own."""
    values = [*options.values()]
    del values[apart]
    return len(values) == len(known) and all(map(operator.is_, values, known))


def lacks(value: Any, name: str) -> bool:
    """Whether an object has no attribute of a name, without asking its class's ``__getattr__``."""
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return True
    return False


def stride_order(value: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions of a tensor from the largest stride to the smallest, and those that are expanded; those of size 1 are left out."""
    strides = value.stride()
    dims = [dim for dim, size in enumerate(value._array.shape) if size != 1]
    return tuple(sorted(dims, key=lambda dim: -strides[dim])), tuple([dim for dim in dims if not strides[dim]])


def same_array(value: Any, known: Any) -> bool:
    """Whether a NumPy array has the known dtype and elements."""
    return type(value) is type(known) and value.dtype == known.dtype and value.shape == known.shape and value.tobytes() == known.tobytes()
