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


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_scans_along_other_dimensions(dim):
    def program(x):
        start = torch.zeros(x.movedim(dim, 0)[0].shape)
        return scan(lambda total, row: (total + row, ((total + 1) * row, row.sum(), row.sum(0))), start, x, dim=dim)

    x = torch.arange(24.0).view(2, 3, 4)
    rows = x.unbind(dim)
    for each in (program, torch.compile(program, fullgraph=True)):
        total, (products, sums, rests) = each(x)
        expected = torch.stack([(sum(rows[:at], torch.zeros_like(rows[0])) + 1) * row for at, row in enumerate(rows)])
        assert torch.equal(total, x.sum(dim)) and torch.equal(products, expected.movedim(0, dim))
        assert torch.equal(sums, torch.stack([row.sum() for row in rows]))
        stacked = torch.stack([row.sum(0) for row in rows])  # of fewer dimensions: moved only where there is such a one
        assert torch.equal(rests, stacked.movedim(0, dim % 3) if dim % 3 < 2 else stacked)


def test_scans_that_have_nothing_to_do():
    start = torch.ones(2)
    assert scan(lambda total, row: (total, row), start, []) == (start, [])
    assert map(lambda row: None, torch.ones(2, 2)) is None
    with pytest.raises(IndexError, match="Dimension out of range"):
        scan(lambda total, row: (total + row, row), torch.zeros(()), torch.ones(3), dim=3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        associative_scan(lambda a, b: a + b, torch.ones(3), 2)
    with pytest.raises(ValueError, match="scan dimension > 0"):
        associative_scan(lambda a, b: a + b, torch.ones(0), 0)


def test_numbers_are_no_tensors():
    for program in (lambda x: map(lambda row: 1, x), lambda x: torch.stack([x.shape[0], 1]), lambda x: torch.cat([1, x])):
        for compiled in (program, torch.compile(program, backend="eager"), torch.compile(program, backend="eager", dynamic=True)):
            with pytest.raises(TypeError, match="expected Tensor as element 0 in argument 0, but got int"):
                compiled(torch.ones(2))


def test_loops_keep_the_container_of_what_they_carry():
    program = lambda x: torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), [torch.tensor(0), x])
    for each in (program, torch.compile(program, fullgraph=True)):
        result = each(torch.ones(2))
        assert type(result) is list and result[0].item() == 3 and result[1].tolist() == [8, 8]


def test_conditions_and_operands_that_are_none():
    carried = (torch.tensor(0),)
    for condition in (lambda i: 1, lambda i: i, lambda i: torch.ones(2, dtype=torch.bool)):
        with pytest.raises(RuntimeError, match="cond_fn must return a boolean scalar tensor or a boolean"):
            torch.while_loop(condition, lambda i: (i + 1,), carried)
    with pytest.raises(RuntimeError, match="callable"):
        torch.while_loop(True, lambda i: (i + 1,), carried)
    for operands in ((torch.ones(1), 2), ({"a": "text"},)):
        with pytest.raises(RuntimeError, match="only consists of tensor leaves"):
            torch.cond(torch.tensor(True), lambda *args: args[0], lambda *args: args[0], operands)
