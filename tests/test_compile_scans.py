"""compile: the functional map, scan, associative_scan and wrap, each in one graph, with gradients."""

import pytest

import rushlight as torch
from rushlight.compat.higher_order import associative_scan, map, scan
from rushlight.compat.higher_order.wrap import wrap

PROGRAMS = {
    "map": lambda x: map(lambda row, first: row.sin() * first, x, x[0]),
    "map of containers": lambda x: map(lambda row: {"sum": row["a"] + row["b"]}, {"a": x, "b": x * 2})["sum"],
    "scan": lambda x: scan(lambda total, row: (total + row, total * row), torch.zeros(3), x),
    "reverse scan": lambda x: scan(lambda total, row: (total * 0.5 + row, row), torch.zeros(3), x, reverse=True),
    "associative scan": lambda x: associative_scan(lambda a, b: a + b, x, 0),
    "wrap": lambda x: wrap(lambda y, factor: (y * factor).cos(), x, factor=3),
}


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph(name, gradient):
    program = PROGRAMS[name]
    compiled = torch.compile(program, fullgraph=True)
    for size in (4, 4, 5):
        x = torch.linspace(-1, 1, size * 3).view(size, 3).requires_grad_(gradient)
        found = []
        for each in (program, compiled):
            result = each(x)
            results = result if isinstance(result, tuple) else (result,)
            found.append([each.detach() for each in results])
            if gradient:
                found[-1] += torch.autograd.grad(sum(each.square().sum() for each in results), x)
        assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(*found))
