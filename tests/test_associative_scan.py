"""Prefix scans with a function of one's own."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.compat.higher_order.associative_scan import associative_scan


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(size, reverse):
    x = torch.randn(3, size, dtype=torch.float64)
    found = associative_scan(lambda a, b: a + b, x, 1, reverse)
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    torch.testing.assert_close(found, expected)


def test_a_linear_recurrence_and_its_gradient():
    decay, given = torch.rand(6, 2, dtype=torch.float64, requires_grad=True), torch.randn(6, 2, dtype=torch.float64, requires_grad=True)

    def combine(a, b):
        return b[0] * a[0], b[0] * a[1] + b[1]

    def states(decay, given):
        return associative_scan(combine, (decay, given), 0)[1]

    state, expected = torch.zeros(2, dtype=torch.float64), []
    for step in range(6):
        state = decay[step] * state + given[step]
        expected.append(state)
    torch.testing.assert_close(states(decay, given), torch.stack(expected))
    assert torch.autograd.gradcheck(states, (decay, given))


def test_bad_arguments():
    with pytest.raises(ValueError, match="callable"):
        associative_scan(3, torch.ones(2), 0)
    with pytest.raises(ValueError, match="pointwise"):
        associative_scan(lambda a, b: a + b, torch.ones(2), 0, combine_mode="quick")
