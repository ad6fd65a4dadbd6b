"""The guard virtual machine against Python: the same guards hold, whatever changes."""

import ast
import sys
import weakref
from random import Random

import pytest

from rushlight.capture.compile.guards.guard import Guard, Kind, Read
from rushlight.capture.compile.guards.sources import Attribute, Contents, Item, OwnDict, Slot
from rushlight.runtime.call import guard_vm
from rushlight.runtime.call.guard_compiler import compile_guards

pytest.importorskip("llvmlite")


class Thing:
    kind = None

    def __init__(self) -> None:
        self.name, self.table, self.several = "a", {"x": 1, "y": [1, 2]}, [1, 2, 3]

    def method(self) -> int:
        return 1


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value) -> None:
        self.value = value


def path(text, places):
    """The source of an expression such as ``slots[0].table['x']``."""
    node = ast.parse(text, mode="eval").body

    def source(node):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return places.setdefault(node.slice.value, Slot(0, node.slice.value, f"s{node.slice.value}"))
        if isinstance(node, ast.Subscript):
            return Item(source(node.value), node.slice.value)
        if node.attr == "__dict__":
            return OwnDict(source(node.value))
        return Contents(source(node.value), "x") if node.attr == "cell_contents" else Attribute(source(node.value), node.attr)

    return source(node)


class Program:
    """A guard program that a test writes: reads, and guards on what paths lead to."""

    def __init__(self):
        self.steps, self.places, self.variables = [], {}, {}

    def read(self, variable, text):
        source = path(text, self.places)
        self.variables[variable] = source
        self.steps.append(Read(variable, source, source))
        return self

    def guard(self, kind, text, expected=None, *others):
        find = lambda each: self.variables[each] if each in self.variables else path(each, self.places)
        self.steps.append(Guard(kind, None if text is None else find(text), expected, tuple(find(each) for each in others)))
        return self

    def compile(self, slots, *wanted):
        """The native check, and what is left to Python."""
        made = compile_guards(self.steps, slots)
        return None if made is None else (made.function([each for each in wanted if made.holds(each)]), made.left)


def reads(text, kind=None, expected=None):
    program = Program().read("v", text)
    return program if kind is None else program.guard(kind, "v", expected)


class Chosen:
    """Options that were accepted."""

    params = 1

    def __init__(self, last) -> None:
        self.last = last


LINES = {
    "a field": (lambda t: reads("slots[0].name", Kind.EQUAL, "a"), lambda t: setattr(t, "name", "b")),
    "an item": (lambda t: reads("slots[0].table['y'][1]", Kind.EQUAL, 2), lambda t: t.table["y"].__setitem__(1, 3)),
    "a key that is gone": (lambda t: reads("slots[0].table['x']"), lambda t: t.table.pop("x")),
    "a key that comes": (lambda t: Program().guard(Kind.CONTAINS, "slots[0].table", ("z", False)), lambda t: t.table.update(z=1)),
    "keys": (lambda t: reads("slots[0].table", Kind.KEYS, ["x", "y"]), lambda t: t.table.update(x=t.table.pop("x"))),
    "a length": (lambda t: reads("slots[0].several", Kind.LENGTH, 3), lambda t: t.several.pop()),
    "an element": (lambda t: reads("slots[0].several[2]", Kind.EQUAL, 3), lambda t: t.several.__delitem__(0)),
    "an empty list": (lambda t: Program().guard(Kind.EMPTY, "slots[0].nothing", True), lambda t: t.nothing.append(1)),
    "empty lists": (lambda t: Program().guard(Kind.ALL_EMPTY, None, None, "slots[0].nothing"), lambda t: t.nothing.append(1)),
    "another list": (
        lambda t: Program().guard(Kind.SAME_OBJECT, "slots[0].several", True, "slots[1]"),
        lambda t: setattr(t, "several", [1, 2, 3]),
    ),
    "a type": (lambda t: reads("slots[0].table", Kind.TYPE, dict), lambda t: setattr(t, "table", [])),
    "what a class has": (lambda t: Program().guard(Kind.EQUAL, "slots[0].kind", None), lambda t: setattr(t, "kind", 1)),
    "an attribute that is deleted": (lambda t: reads("slots[0].name", Kind.EQUAL, "a"), lambda t: delattr(t, "name")),
    "a class": (lambda t: reads("slots[0].name"), lambda t: setattr(t, "__class__", type("Other", (Thing,), {}))),
    "a property": (lambda t: reads("slots[0].name", Kind.EQUAL, "a"), lambda t: setattr(Thing, "name", property(lambda self: "b"))),
    "a default": (lambda t: Program().guard(Kind.EQUAL, "slots[0].kind", None), lambda t: setattr(Thing, "kind", 5)),
    "a method": (
        lambda t: Program().guard(Kind.CLASS_METHOD, None, (Thing, "method", Thing.method)),
        lambda t: setattr(Thing, "method", lambda self: 2),
    ),
    "a slot": (lambda t: reads("slots[2].value", Kind.EQUAL, None), lambda t: setattr(t.slotted, "value", 1)),
    "a slot without a value": (lambda t: reads("slots[2].value", Kind.EQUAL, None), lambda t: delattr(t.slotted, "value")),
    "a cell": (lambda t: reads("slots[3].cell_contents", Kind.EQUAL, 5), lambda t: setattr(t.cell, "cell_contents", 6)),
    "an empty cell": (lambda t: reads("slots[3].cell_contents", Kind.EQUAL, 5), lambda t: delattr(t.cell, "cell_contents")),
    "options": (lambda t: Program().guard(Kind.OPTIONS, "slots[0].table", Chosen([1])), lambda t: t.table.update(x=2)),
    "one option more": (lambda t: Program().guard(Kind.OPTIONS, "slots[0].table", Chosen([1])), lambda t: t.table.update(z=2)),
    "a field more": (lambda t: Program().guard(Kind.NO_FIELD, "slots[0]", "extra"), lambda t: setattr(t, "extra", 2)),
    "a reference": (lambda t: Program().guard(Kind.IDENTITY, "slots[4]", weakref.ref(t.target)), lambda t: None),
}


@pytest.mark.parametrize("name", LINES)
def test_a_change_is_seen(name):
    program, change = LINES[name]
    thing, target = Thing(), Thing()
    thing.nothing, thing.options = [], [1]
    thing.slotted, thing.cell = Slotted(None), (lambda x: lambda: x)(5).__closure__[0]
    thing.target = target
    slots = (thing, thing.several, thing.slotted, thing.cell, target)
    saved = dict(Thing.__dict__)
    try:
        made = program(thing)
        names = list(made.variables)
        check, left = made.compile(slots, "v")
        assert left == []
        values = [check(slots) for _ in range(3)]
        assert NotImplemented not in values and len(values[0]) == len(names)
        change(thing)
        after = check((*slots[:4], Thing())) if name == "a reference" else check(slots)
        assert after is NotImplemented
        assert check(None) is NotImplemented and check(()) is NotImplemented and check((1, 2)) is NotImplemented
    finally:
        for key in ("name", "kind", "method"):
            if key in saved:
                setattr(Thing, key, saved[key])
            elif key in Thing.__dict__:
                delattr(Thing, key)


def test_dicts_whose_changes_are_not_counted(monkeypatch):
    """As in later Pythons: every key is looked up in every check."""
    monkeypatch.setattr(guard_vm, "has_versions", lambda: False)
    for name in LINES:
        test_a_change_is_seen(name)


def test_a_dict_that_changes_and_comes_back():
    """What was found in a dict is remembered for as long as that is the same dict, unchanged."""
    thing, other = Thing(), Thing()
    vars(other)  # it has a dict only then
    program = Program().read("v", "slots[0].__dict__['name']").read("w", "slots[0].__dict__['table']")
    check, left = program.guard(Kind.CONTAINS, "slots[0].__dict__", ("missing", False)).compile((thing,), "v", "w")
    assert left == []
    for _ in range(2):
        assert check((thing,)) == ("a", thing.table)
        other.name = "b"
        assert check((other,)) == ("b", other.table) and check((other,))[1] is other.table
        thing.missing = 1
        assert check((thing,)) is NotImplemented and check((other,)) == ("b", other.table)
        del thing.missing
        thing.name = "c"
        assert check((thing,)) == ("c", thing.table)
        thing.name = "a"


class Node:
    """Something with fields of all kinds, and others below it."""

    mark = None

    def __init__(self, random, depth):
        self.number, self.name = random.randrange(3), random.choice("abc")
        self.table = {key: random.randrange(3) for key in random.sample("pqrst", 3)}
        self.several = [random.randrange(3) for _ in range(3)]
        self.slotted = Slotted(random.choice((None, 1)))
        self.below = Node(random, depth - 1) if depth else None
        vars(self)


PATHS = ("slots[0]", "slots[0].below", "slots[1]", "slots[1].below", "slots[0].below.below")
FIELDS = (
    "number",
    "name",
    "mark",
    "slotted.value",
    "several[0]",
    "several[2]",
    "table['p']",
    "table['q']",
    "__dict__['name']",
    "__dict__['number']",
)


def some_guards(random, slots):
    """Guards that hold now, and the conditions that they stand for as Python."""
    program, lines, count = Program(), [], 0
    for _ in range(random.randrange(4, 16)):
        place = random.choice(PATHS)
        node, kind = eval(place, {"slots": slots}), random.randrange(6)
        field = random.choice([each for each in FIELDS if not each.startswith("table") or each[7] in node.table])
        if kind < 3:
            program.read(f"v{count}", f"{place}.{field}")
            lines.append(f"v{count} = {place}.{field}")
            if kind != 1:
                value = eval(f"{place}.{field}", {"slots": slots})
                program.guard(Kind.EQUAL, f"v{count}", value)
                lines.append((count, f"v{count} == {value!r}"))
            count += 1
        elif kind == 3:
            absent = random.choice([each for each in "pqrst" if each not in node.table])
            program.guard(Kind.CONTAINS, f"{place}.table", (absent, False))
            lines.append((0, f"{absent!r} not in {place}.table"))
        elif kind == 4:
            program.guard(Kind.LENGTH, f"{place}.several", len(node.several)).guard(Kind.KEYS, f"{place}.table", list(node.table))
            lines.append((0, f"len({place}.several) == {len(node.several)} and [*{place}.table] == {list(node.table)}"))
        else:
            program.guard(Kind.EQUAL if node.below is None else Kind.NOT_NONE, f"{place}.below")
            lines.append((0, f"{place}.below is{'' if node.below is None else ' not'} None"))
    return program, lines


def change(random, slots, saved):
    """Change something somewhere, or take a change back."""
    if saved and random.random() < 0.4:
        saved.pop()()
        return
    node = random.choice(slots)
    for _ in range(random.randrange(3)):
        node = node.below or node
    before, table, several, value = dict(vars(node)), dict(node.table), list(node.several), node.slotted.value

    def restore():
        vars(node).clear()
        vars(node).update(before)
        node.table.clear()
        node.table.update(table)
        node.several[:] = several
        node.slotted.value = value

    saved.append(restore)
    random.choice((
        lambda: setattr(node, "number", random.randrange(3)), lambda: setattr(node, "name", random.choice("abc")), lambda: setattr(node, "mark", 1),
        lambda: node.table.update({random.choice("pqrst"): random.randrange(3)}), lambda: node.table.pop(random.choice("pqrst"), None),
        lambda: node.several.insert(0, random.randrange(3)), lambda: node.several.append(1), lambda: node.several.clear(),
        lambda: setattr(node, "table", dict(node.table)), lambda: setattr(node, "several", list(node.several)), lambda: setattr(node.slotted, "value", 2),
        lambda: setattr(node, "below", Node(random, 1)), lambda: setattr(node, "below", None), lambda: vars(node).pop("name", None),
        lambda: setattr(node, "slotted", Slotted(node.slotted.value)),
    ))()  # fmt: skip


def asked_in_python(lines, slots):
    """What the lines give: their variables, or None where a condition does not hold."""
    names = {"slots": slots}
    try:
        for line in lines:
            if isinstance(line, str):
                exec(line, names)
            elif not eval(line[1], names):
                return None
    except (AttributeError, KeyError, IndexError, TypeError):
        return None
    return names


@pytest.mark.parametrize("seed", range(40))
def test_the_machine_says_what_python_says(seed):
    random = Random(seed)
    versions = guard_vm.has_versions
    guard_vm.has_versions = versions if seed % 2 else lambda: False
    try:
        pairs = [(Node(random, 3), Node(random, 3)) for _ in range(2)]
        program, lines = some_guards(random, pairs[0])
        names = list(program.variables)
        made = program.compile(pairs[0], *names)
    finally:
        guard_vm.has_versions = versions
    assert made is not None and made[1] == []
    check = made[0]
    saved, held = [], 0
    for _ in range(400):
        slots = pairs[random.random() < 0.2]
        expected, found = asked_in_python(lines, slots), check(slots)
        if found is not NotImplemented:
            held += 1
            assert expected is not None and all(mine is expected[name] for mine, name in zip(found, names, strict=True))
        if random.random() < 0.5:
            change(random, pairs[0], saved)
        if random.random() < 0.3:
            while saved:
                saved.pop()()
    while saved:
        saved.pop()()
    assert check(pairs[0]) is not NotImplemented and held > 20


def test_what_is_given_is_counted():
    thing = Thing()
    check, _ = reads("slots[0].several").compile((thing,), "v")
    before = sys.getrefcount(thing.several), sys.getrefcount(NotImplemented)
    for _ in range(1000):
        assert check((thing,))[0] is thing.several
        check(None)
    assert abs(sys.getrefcount(thing.several) - before[0]) <= 1 and sys.getrefcount(NotImplemented) >= before[1]


def test_guards_that_can_not_be_translated_are_left_to_python():
    thing = Thing()
    program = reads("slots[0].name", Kind.EQUAL, "a")
    program.read("w", "slots[0].method").guard(Kind.PREDICATE, "w", lambda method: method() == 1).guard(Kind.FINITE, "slots[0].several[0]")
    check, left = program.compile((thing,))
    assert left == program.steps[2:] and check((thing,)) == ()
    assert Program().guard(Kind.EQUAL, "slots[0].name", "b").compile((thing,)) is None  # it does not hold


def test_a_key_with_a_comparison_of_its_own():
    """It may do anything: even have the same question asked again."""

    class Key:
        def __hash__(self):
            return hash("name")

        def __eq__(self, other):
            answers.append(check((thing,)))
            return False

    thing, answers = Thing(), []
    thing.table = {"name": 1}
    check, _ = reads("slots[0].table['name']").compile((thing,), "v")
    thing.table = {Key(): 2, "name": 1}
    answers.clear()
    assert check((thing,)) == (1,) and answers and all(each is NotImplemented for each in answers)
