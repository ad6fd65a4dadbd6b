"""Conjugate and negative views: programs whose outcome PyTorch recorded, and what captures make of them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from lazy_view_programs import PROGRAMS, outcome

import rushlight as torch
import rushlight.compat

RECORDED = json.loads((Path(__file__).parent / "data" / "lazy_views.json").read_text(encoding="utf8"))


pytestmark = pytest.mark.usefixtures("module_alias")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_program_shows(program):
    assert outcome(torch, program) == RECORDED[program]


def _z():
    return torch.tensor([[1 + 2j, 3 - 4j], [5 + 6j, -7 + 8j]])


def test_captures_compute_it():
    def f(a):
        return (a.conj() * 2 + a).imag.sum()

    compiled, traced = torch.compile(f), torch.jit.trace(f, _z())
    for given in (_z(), _z().conj(), _z()):
        assert compiled(given) == traced(given) == f(given)


def test_a_compiled_write_reaches_the_base():
    def f(a):
        c = a.conj()
        c.mul_(2)
        return c

    a, b = _z(), _z()
    assert torch.equal(torch.compile(f)(a), f(b)) and torch.equal(a, b)


def test_gradients_of_writes_through_views():
    x = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: (a * 1).conj().mul_(2j), (x,))
    assert torch.autograd.gradgradcheck(lambda a: a.conj().imag * a.real, (x,))


def test_a_copy_of_a_view_has_its_values():

    assert torch.equal(copy.deepcopy(_z().conj()), _z().conj())
    assert torch.equal(torch.func.vmap(lambda a: a.conj())(_z()), _z().conj())


def test_numbers_that_are_read_and_exported():
    z = _z().conj()
    assert z[0, 0].item() == 1 - 2j and z.tolist()[1][0] == 5 - 6j
    with pytest.raises(BufferError, match="conjugate bit"):
        z.__dlpack__()


def test_negative_view_is_not_read_as_another_type() -> None:
    view = torch.tensor([1 + 2j]).conj().imag
    assert view.is_neg() and view.view(torch.float32).tolist() == [-2]
    with pytest.raises(RuntimeError, match="not supported for tensors with negative bit set"):
        view.view(torch.int32)
