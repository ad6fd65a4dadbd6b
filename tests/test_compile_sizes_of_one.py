"""compile with dynamic sizes: sizes of intermediate values that are 1 for all sizes, or for the present ones, and are broadcast."""

import pytest

import rushlight as torch


def diagonal_of_a_row(x):
    row = x[None] * 1.5
    return row.diagonal() - row


def end_of_a_slice(x):
    y = x * 1.5
    return y[:-3] - y


def quarter(x):
    y = x * 1.5
    return y[: y.shape[0] // 4] * y


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program, sizes", [(diagonal_of_a_row, (4, 4, 5, 6)), (end_of_a_slice, (4, 4)), (quarter, (4, 5, 6, 7))])
def test_broadcast(program, sizes, dynamic):
    compiled = torch.compile(program, dynamic=dynamic)
    for size in sizes:
        x = torch.arange(1.0, size + 1)
        for _ in range(2):
            assert compiled(x).tolist() == program(x).tolist()
