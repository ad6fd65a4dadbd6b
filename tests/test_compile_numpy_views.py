"""compile: NumPy arrays that a program makes, and views of them, across a graph break: what is written to one is seen in the other."""

import numpy as np
import pytest

import rushlight as torch

GIVEN = np.zeros((3, 3))


def a_break():
    print(end="")


def views(x):
    a = np.zeros((3, 3))
    row, column = a[0], a.T[1]
    a_break()
    row[0] = 5
    column[2] = 3
    return x + torch.from_numpy(a)


def reversed_view_of_a_transposed_array(x):
    a = np.arange(9.0).reshape(3, 3).copy("F")
    part = a[1:, ::-1]
    a_break()
    part += 1
    return x + torch.from_numpy(a) + a.strides[0]


def iterator(x):
    a = np.zeros((3, 3))
    elements = a.flat
    next(elements)
    a_break()
    next(elements)
    elements[3] = 2.0
    return x + torch.from_numpy(a) * elements.index


def view_of_a_global(x):
    row = GIVEN[1]
    a_break()
    row[0] += 1
    return x + torch.from_numpy(GIVEN)


def view_of_another_dtype(x):
    a = np.zeros((3, 3), np.float32)
    bits = a.view(np.int32)
    a_break()
    bits[0] = 1065353216
    return x + torch.from_numpy(a)


def view_of_a_view(x):
    a = np.zeros((3, 3))
    tail = a.reshape(-1)[2:]
    a_break()
    tail[0] = 1
    return x + torch.from_numpy(a)


def identity(x):
    return x + torch.from_numpy(np.eye(3))


def chosen_rows(x):
    return x @ torch.Tensor(np.eye(5)[[0, 2, 1]][:, :3]).double()


@pytest.mark.parametrize(
    "program",
    [
        views,
        reversed_view_of_a_transposed_array,
        iterator,
        view_of_a_global,
        view_of_another_dtype,
        view_of_a_view,
        identity,
        chosen_rows,
    ],
)
def test_views_across_a_break(program):
    x = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
    compiled = torch.compile(program)
    for step in range(4):
        GIVEN[:] = step
        wanted = program(x + step)
        GIVEN[:] = step
        assert torch.equal(compiled(x + step), wanted), step
