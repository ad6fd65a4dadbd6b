"""compile: classes of named tuples that a program makes."""

import collections

import rushlight as torch


def fields_and_defaults(a, b):
    triple = collections.namedtuple("triple", ["x", "y", "xy"], defaults=(None, 1))
    made = triple(a, b, a + b)._replace(y=a * 2)
    return triple(made.x, made[1], made.xy + b), triple._fields, triple(b).xy, triple.__module__


def by_names(a, names):
    kind = collections.namedtuple("kind", names)
    return kind._make([a * number for number in range(len(names))])._asdict()


def test_one_graph():
    compiled = torch.compile(fields_and_defaults, fullgraph=True)
    for number in range(3):
        args = torch.full((2,), float(number)), torch.ones(2)
        assert str(compiled(*args)) == str(fields_and_defaults(*args))


def test_names_are_guarded():
    compiled = torch.compile(by_names, fullgraph=True)
    for names in (["a", "b"], ["a", "b"], ["c"], ["a", "b"], ("a", "d")):
        assert str(compiled(torch.ones(1), names)) == str(by_names(torch.ones(1), names))
