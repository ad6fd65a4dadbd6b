"""einsum against NumPy's, on equations made at random."""

from __future__ import annotations

import random

import numpy as np
import pytest

import rushlight as torch

KNOWN = [
    "bcd,d->bc",
    "abcd,ad->abc",
    "abcd,ad,ab->ac",
    "d,bcd->bc",
    "ab,ab->",
    "ab,b",
    "a,b->ba",
    "aab->ab",
    "a...b,b->...a",
    "bij,bjk,bkl->bil",
]


def operands(equation: str, sizes: dict[str, int], seed: int) -> list[np.ndarray]:
    stream = np.random.default_rng(seed)
    terms = equation.partition("->")[0].split(",")
    return [stream.standard_normal([size for each in term.replace("...", "z") for size in [sizes[each]]]) for term in terms]


def compare(equation: str, sizes: dict[str, int], seed: int) -> None:
    given = operands(equation, sizes, seed)
    wanted = np.einsum(equation, *given)
    found = torch.einsum(equation, *[torch.from_numpy(each) for each in given])
    assert tuple(found.shape) == wanted.shape, equation
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-9, err_msg=equation)


@pytest.mark.parametrize("equation", KNOWN)
def test_known(equation: str) -> None:
    for seed, size in enumerate((2, 3)):
        compare(equation, {letter: size + at % 3 for at, letter in enumerate("abcdijklz")}, seed)


@pytest.mark.parametrize("block", range(8))
def test_random(block: int) -> None:
    for seed in range(block * 60, block * 60 + 60):
        stream = random.Random(seed)
        letters = "abcde"[: stream.randint(2, 5)]
        terms = ["".join(stream.choices(letters, k=stream.randint(0 if each else 1, 4))) for each in range(stream.randint(1, 3))]
        used = sorted(set("".join(terms)))
        output = "".join(stream.sample(used, stream.randint(0, len(used))))
        equation = ",".join(terms) + (f"->{output}" if stream.random() < 0.8 else "")
        compare(equation, {letter: stream.choice((1, 2, 3, 4)) for letter in letters}, seed)


def test_gradients() -> None:
    a, b = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 4, 5), (5,)))
    assert torch.autograd.gradcheck(lambda x, y: torch.einsum("bcd,d->bc", x, y), (a, b))
