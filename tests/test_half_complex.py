"""``complex32``: made, converted, viewed, printed, and computed with."""

from __future__ import annotations

import pickle

import pytest

import rushlight as torch

HALF = torch.complex32


def numbers() -> torch.Tensor:
    return torch.tensor([1 + 2j, 3.5 - 1j], dtype=HALF)


def test_the_type() -> None:
    assert torch.chalf is HALF and HALF.is_complex and HALF.itemsize == 4
    assert HALF.to_real() is torch.float16 and torch.float16.to_complex() is HALF
    assert torch.promote_types(HALF, torch.float16) is HALF and torch.promote_types(HALF, torch.int64) is HALF
    assert torch.promote_types(HALF, torch.float32) is torch.complex64 and torch.promote_types(HALF, torch.bfloat16) is torch.complex64
    assert torch.result_type(torch.ones(1).half(), 1j) is HALF
    assert repr(numbers()) == "tensor([1.0000+2.j, 3.5000-1.j], dtype=torch.complex32)"


def test_conversions() -> None:
    x = torch.tensor([1 + 2j, 3.5 - 1j])
    for made in (x.chalf(), x.to(HALF), torch.zeros(2, dtype=HALF).copy_(x), numbers()):
        assert made.dtype is HALF and made.cfloat().equal(x) and made.tolist() == [1 + 2j, 3.5 - 1j]
    assert numbers()[0].item() == 1 + 2j
    assert torch.tensor([1e6 + 1j]).chalf().item() == complex(float("inf"), 1)
    assert pickle.loads(pickle.dumps(numbers())).tolist() == numbers().tolist()
    with pytest.raises(TypeError, match="ComplexHalf"):
        numbers().numpy()


def test_made_anew() -> None:
    assert torch.ones(2, dtype=HALF).tolist() == [1, 1] and torch.eye(2, dtype=HALF)[0].tolist() == [1, 0]
    assert torch.full((2,), 1 + 1j, dtype=HALF).tolist() == [1 + 1j] * 2 and torch.zeros_like(numbers()).tolist() == [0, 0]
    assert numbers().fill_(2).tolist() == [2, 2]
    x = numbers()
    x[0] = 5
    assert x.tolist() == [5, 3.5 - 1j]


def test_views_share_memory() -> None:
    x = numbers()
    pairs = torch.view_as_real(x)
    assert pairs.dtype is torch.float16 and pairs.tolist() == [[1, 2], [3.5, -1]]
    pairs[0, 1] = 7
    x.real[1] = 0.5
    assert x.tolist() == [1 + 7j, 0.5 - 1j] and x.imag.tolist() == [7, -1]
    assert torch.view_as_complex(pairs).tolist() == x.tolist()
    assert torch.complex(torch.ones(1).half(), torch.zeros(1).half()).dtype is HALF


def test_arithmetic() -> None:
    x, y = numbers(), torch.tensor([2 - 1j, 1j], dtype=HALF)
    assert (x + y).dtype is HALF and (x + y).tolist() == [3 + 1j, 3.5] and (x * y).tolist() == [4 + 3j, 1 + 3.5j]
    assert (x - y).tolist() == [-1 + 3j, 3.5 - 2j] and (x * 2).tolist() == [2 + 4j, 7 - 2j] and (-x).tolist() == [-1 - 2j, -3.5 + 1j]
    assert x.conj().tolist() == [1 - 2j, 3.5 + 1j] and x.abs().dtype is torch.float16 and (torch.ones(1).half() * 1j).dtype is HALF
    assert (x == y).tolist() == [False, False] and (x + torch.ones(2)).dtype is torch.complex64
    assert torch.where(torch.tensor([True, False]), x, y).tolist() == [1 + 2j, 1j]
    assert torch.cat([x, y]).dtype is HALF and x.reshape(1, 2).t().shape == (2, 1) and x.norm().dtype is torch.float16
