"""Looks: the function that asks in one go what guards ask, against Python."""

import sys
import weakref
from random import Random

import pytest

from rushlight.capture.compile.guards.guards import same_options
from rushlight.runtime.call import guard_vm
from rushlight.runtime.call.guard_compiler import watch

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


LINES = {
    "a field": (["v = slots[0].name", (0, "v == 'a'")], lambda t: setattr(t, "name", "b")),
    "an item": (["v = slots[0].table['y'][1]", (0, "v == 2")], lambda t: t.table["y"].__setitem__(1, 3)),
    "a key that is gone": (["v = slots[0].table['x']"], lambda t: t.table.pop("x")),
    "a key that comes": ([(0, "'z' not in slots[0].table")], lambda t: t.table.update(z=1)),
    "keys": (["v = slots[0].table", (0, "[*v] == c1")], lambda t: t.table.update(x=t.table.pop("x"))),
    "a length": (["v = slots[0].several", (0, "len(v) == 3")], lambda t: t.several.pop()),
    "an element": (["v = slots[0].several[2]", (0, "v == 3")], lambda t: t.several.__delitem__(0)),
    "an empty list": ([(0, "not slots[0].nothing")], lambda t: t.nothing.append(1)),
    "another list": ([(0, "slots[0].several is slots[1]")], lambda t: setattr(t, "several", [1, 2, 3])),
    "a type": (["v = slots[0].table", (0, "type(v) is c2")], lambda t: setattr(t, "table", [])),
    "what a class has": ([(0, "slots[0].kind is None")], lambda t: setattr(t, "kind", 1)),
    "an attribute that is deleted": (["v = slots[0].name", (0, "v == 'a'")], lambda t: delattr(t, "name")),
    "a class": (["v = slots[0].name"], lambda t: setattr(t, "__class__", type("Other", (Thing,), {}))),
    "a property": (["v = slots[0].name", (0, "v == 'a'")], lambda t: setattr(Thing, "name", property(lambda self: "b"))),
    "a default": ([(0, "slots[0].kind is None")], lambda t: setattr(Thing, "kind", 5)),
    "a method": ([(0, "c3.method is c4")], lambda t: setattr(Thing, "method", lambda self: 2)),
    "a slot": (["v = slots[2].value", (0, "v is None")], lambda t: setattr(t.slotted, "value", 1)),
    "a slot without a value": (["v = slots[2].value", (0, "v is None")], lambda t: delattr(t.slotted, "value")),
    "a cell": (["v = slots[3].cell_contents", (0, "v == 5")], lambda t: setattr(t.cell, "cell_contents", 6)),
    "an empty cell": (["v = slots[3].cell_contents", (0, "v == 5")], lambda t: delattr(t.cell, "cell_contents")),
    "options": ([(0, "c5(slots[0].table, slots[0].options, 1)")], lambda t: t.table.update(x=2)),
    "one option more": ([(0, "c5(slots[0].table, slots[0].options, 1)")], lambda t: t.table.update(z=2)),
    "either": ([(0, "slots[0].name == 'b' or not slots[0].nothing")], lambda t: t.nothing.append(2)),
    "a reference": ([(0, "slots[4] is r1()")], lambda t: None),
}


@pytest.mark.parametrize("name", LINES)
def test_a_look_sees_what_changes(name):
    lines, change = LINES[name]
    thing, target = Thing(), Thing()
    thing.nothing, thing.options = [], [1]
    thing.slotted, thing.cell = Slotted(None), (lambda x: lambda: x)(5).__closure__[0]
    namespace = {"c1": ["x", "y"], "c2": dict, "c3": Thing, "c4": Thing.method, "c5": same_options, "r1": weakref.ref(target)}
    slots = (thing, thing.several, thing.slotted, thing.cell, target)
    saved = dict(Thing.__dict__)
    try:
        made = watch(lines, namespace, slots, "v")
        assert made is not None
        look, names, left = made
        assert left == []
        values = [look(slots) for _ in range(3)]
        assert NotImplemented not in values and len(values[0]) == len(names)
        change(thing)
        after = look((*slots[:4], Thing())) if name == "a reference" else look(slots)
        assert after is NotImplemented
        assert look(None) is NotImplemented and look(()) is NotImplemented and look((1, 2)) is NotImplemented
    finally:
        for key in ("name", "kind", "method"):
            if key in saved:
                setattr(Thing, key, saved[key])
            elif key in Thing.__dict__:
                delattr(Thing, key)


def test_dicts_whose_changes_are_not_counted(monkeypatch):
    """As in later Pythons: every key is asked for in every look."""
    monkeypatch.setattr(guard_vm, "has_versions", lambda: False)
    for name in LINES:
        test_a_look_sees_what_changes(name)


def test_a_dict_that_changes_and_comes_back():
    """What was found in a dict is remembered for as long as that is the same dict, unchanged."""
    thing, other = Thing(), Thing()
    vars(other)  # it has a dict only then
    lines = ["d = slots[0].__dict__", "v = d['name']", "w = d['table']", (0, "'missing' not in d")]
    look, names, _ = watch(lines, {}, (thing,), "v w")
    assert names == ["v", "w"]
    for _ in range(2):
        assert look((thing,)) == ("a", thing.table)
        other.name = "b"
        assert look((other,)) == ("b", other.table) and look((other,))[1] is other.table
        thing.missing = 1
        assert look((thing,)) is NotImplemented and look((other,)) == ("b", other.table)
        del thing.missing
        thing.name = "c"
        assert look((thing,)) == ("c", thing.table)
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


def some_lines(random, slots, constants):
    """Lines of guards that hold now."""
    lines, count = [], 0
    for _ in range(random.randrange(4, 16)):
        path = random.choice(PATHS)
        node, kind = eval(path, {"slots": slots}), random.randrange(6)
        field = random.choice([each for each in FIELDS if not each.startswith("table") or each[7] in node.table])
        if kind < 3:
            lines += [f"v{count} = {path}.{field}", (count, f"v{count} == {eval(f'{path}.{field}', {'slots': slots})!r}")][: kind or 2]
            count += 1
        elif kind == 3:
            absent = random.choice([each for each in "pqrst" if each not in node.table])
            lines.append((0, f"{absent!r} not in {path}.table"))
        elif kind == 4:
            constants[f"c{len(constants)}"] = list(node.table)
            lines.append((0, f"len({path}.several) == {len(node.several)} and [*{path}.table] == c{len(constants) - 1}"))
        else:
            lines.append((0, f"{path}.below is{'' if node.below is None else ' not'} None"))
    return lines


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


def asked_in_python(lines, slots, constants):
    """What the lines give: their variables, or None where a condition does not hold."""
    names = {"slots": slots, **constants}
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
def test_looks_say_what_python_says(seed):
    random = Random(seed)
    versions = guard_vm.has_versions
    guard_vm.has_versions = versions if seed % 2 else lambda: False
    try:
        pairs = [(Node(random, 3), Node(random, 3)) for _ in range(2)]
        lines = some_lines(random, pairs[0], constants := {})
        made = watch(lines, constants, pairs[0], " ".join(f"v{at}" for at in range(20)))
    finally:
        guard_vm.has_versions = versions
    assert made is not None and made[2] == []
    look, names, _ = made
    saved, held = [], 0
    for _ in range(400):
        slots = pairs[random.random() < 0.2]
        expected, found = asked_in_python(lines, slots, constants), look(slots)
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
    assert look(pairs[0]) is not NotImplemented and held > 20


def test_what_is_given_is_counted():
    thing = Thing()
    look, names, _ = watch(["v = slots[0].several"], {}, (thing,), "v")
    assert names == ["v"]
    before = sys.getrefcount(thing.several), sys.getrefcount(NotImplemented)
    for _ in range(1000):
        assert look((thing,))[0] is thing.several
        look(None)
    assert abs(sys.getrefcount(thing.several) - before[0]) <= 1 and sys.getrefcount(NotImplemented) >= before[1]


def test_lines_that_can_not_be_translated_stay():
    thing = Thing()
    lines = ["v = slots[0].name", (0, "v == 'a'"), "w = max(1, 2)", (1, "w == 2"), (2, "slots[0].method() == 1")]
    look, names, left = watch(lines, {}, (thing,), "")
    assert left == lines[2:] and names == [] and look((thing,)) == ()
    assert watch([(0, "slots[0].name == 'b'")], {}, (thing,), "") is None  # it does not hold


def test_a_key_with_a_comparison_of_its_own():
    """It may do anything: even have the same question asked again."""

    class Key:
        def __hash__(self):
            return hash("name")

        def __eq__(self, other):
            answers.append(look((thing,)))
            return False

    thing, answers = Thing(), []
    thing.table = {"name": 1}
    look, _, _ = watch(["v = slots[0].table['name']"], {}, (thing,), "v")
    thing.table = {Key(): 2, "name": 1}
    answers.clear()
    assert look((thing,)) == (1,) and answers and all(each is NotImplemented for each in answers)
