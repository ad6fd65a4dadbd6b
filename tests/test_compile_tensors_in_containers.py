"""compile: ``in`` for tensors among the items of lists and tuples, in sets, and as keys of dicts."""

import pytest

import rushlight as torch


def in_list(x, y):
    return x + 1 if x in [x, y] else y


def not_in_set(x, y):
    return x + 1 if y not in {x} else y * 3


def in_keys(x, y):
    kept = {x: 1}
    return x + kept[x] if y in kept else y * 2


def made_inside(x, y):
    seen = set()
    seen.add(x)
    z = x + 1
    return z in seen, x in seen, z not in seen, z


@pytest.mark.parametrize("program", [in_list, not_in_set, in_keys, made_inside])
def test_in_one_graph(program):
    compiled = torch.compile(program, fullgraph=True)
    x, y = torch.ones(3), torch.zeros(3)
    for args in ((x, y), (x, x), (x, y), (y, y)):
        assert str(compiled(*args)) == str(program(*args))


def test_equal_elements_are_looked_at():
    """An item that comes later in a list is compared by value first."""
    program = lambda x, y: x + 1 if y in [x, y] else y * 2
    compiled = torch.compile(program)
    for x, y in ((1.0, 1.0), (1.0, 2.0), (2.0, 2.0)):
        args = torch.tensor(x), torch.tensor(y)
        assert compiled(*args).item() == program(*args).item()
