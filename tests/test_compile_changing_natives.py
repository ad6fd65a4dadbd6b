"""compile: objects without attributes whose elements change between calls (views of dicts, bytearrays, arrays) are not taken for constants."""

import array
import inspect
import itertools
import types

import pytest

import rushlight as torch

DATA = {"k": 1, "j": 2}
KEYS, VALUES, ITEMS, PROXY = DATA.keys(), DATA.values(), DATA.items(), types.MappingProxyType(DATA)
LETTERS, NUMBERS = bytearray(b"abc"), array.array("i", [1, 2, 3])
LETTERS_VIEW = memoryview(LETTERS)

PROGRAMS = {
    "proxy item": lambda x: x * PROXY["k"],
    "proxy length": lambda x: x * len(PROXY),
    "proxy in": lambda x: x * 2 if "q" in PROXY else x,
    "proxy loop": lambda x: x * sum([PROXY[key] for key in PROXY]),
    "proxy unpacked": lambda x: x * sum({**PROXY}.values()),
    "proxy equal": lambda x: x * 2 if PROXY == {"k": 1, "j": 2} else x,
    "keys": lambda x: x * len(KEYS),
    "in keys": lambda x: x * 2 if "q" in KEYS else x,
    "values": lambda x: x * sum(VALUES),
    "items": lambda x: x * sum([value for _, value in ITEMS]),
    "bytes": lambda x: x * LETTERS[0],
    "sum of bytes": lambda x: x * sum(LETTERS),
    "view of bytes": lambda x: x * LETTERS_VIEW[0],
    "array": lambda x: x * NUMBERS[0],
}


def put(first, data):
    DATA.clear()
    DATA.update(data)
    LETTERS[0] = NUMBERS[0] = first


@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_change(name):
    program = PROGRAMS[name]
    compiled = torch.compile(program)
    x = torch.ones(2)
    for first, data in ((97, {"k": 1, "j": 2}), (97, {"k": 1, "j": 2}), (5, {"k": 5, "j": 7, "q": 1}), (97, {"k": 1, "j": 2})):
        put(first, data)
        assert torch.equal(compiled(x), program(x))


def test_chained_iterables_are_guarded_inside_of_one_graph():
    first, rows = [1, 2], [[1], [2, 3]]

    def program(x, n):
        pairs = itertools.chain.from_iterable([each, n] for each in first)
        return x * sum(itertools.chain.from_iterable(rows)) + sum(pairs)

    compiled = torch.compile(program, fullgraph=True, backend="eager")
    for change in (lambda: None, lambda: rows[1].append(5), lambda: first.append(4), lambda: rows.append([7]), lambda: None):
        change()
        for n in (1, 2, 3):
            assert compiled(torch.ones(2), n).tolist() == program(torch.ones(2), n).tolist()


def test_questions_about_kinds_of_objects_inside_of_one_graph():
    def program(x, value):
        return x + 1 if inspect.isfunction(value) else x + 2 if inspect.isclass(value) else x

    compiled = torch.compile(program, fullgraph=True, backend="eager")
    for value in (put, int, 3, put):
        assert compiled(torch.zeros(1), value).tolist() == program(torch.zeros(1), value).tolist()
