"""Random numbers through the public functions: PyTorch's streams, generators, states, and gradients of random ops."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from random_programs import drawn_tensors, exact, kept, programs

import rushlight as torch
import rushlight.nn.functional as F

DATA = np.load(pathlib.Path(__file__).resolve().parent / "data" / "random_programs.npz")
RECORDED = json.loads(DATA["notes"].tobytes())
# How far numbers that went through logarithms and sines may be from PyTorch's.
TOLERANCE = {"torch.float16": 2e-3, "torch.bfloat16": 1.6e-2, "torch.float64": 1e-12, "torch.complex128": 1e-12}


def test_the_recorded_programs_are_these() -> None:
    assert [program for program, _ in RECORDED] == programs()


@pytest.mark.parametrize("number", range(len(RECORDED)), ids=lambda number: RECORDED[number][0][0])
def test_streams_equal_pytorch(number: int) -> None:
    program, described = RECORDED[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = drawn_tensors(program, torch, F)
    for step, (expression, result, (dtype, shape, stride)) in enumerate(zip(program, results, described, strict=True)):
        assert (str(result.dtype), list(result.shape)) == (dtype, shape), expression
        if "multinomial" not in expression:  # PyTorch's has odd strides for its two dimensions
            assert [s for s, n in zip(result.stride(), result.shape) if n > 1] == stride, expression
        found = kept((result.float() if result.dtype == torch.bfloat16 else result).contiguous().numpy())
        want = DATA[f"{number}/{step}"]
        if exact(expression):
            np.testing.assert_array_equal(found, want, err_msg=expression)
        else:
            rtol = TOLERANCE.get(dtype, 2e-5)
            np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol / 10, err_msg=expression)


# -- generators and states ---------------------------------------------------------------------------------------


def test_marks_bring_the_stream_back() -> None:
    """Before the first number, and between two that belong together."""
    generator = torch.Generator().manual_seed(3)
    marks, drawn = [], []
    for _ in range(4):
        marks.append(generator.mark())
        drawn.append(torch.randn(7, generator=generator))
    for mark, expected in zip(reversed(marks), reversed(drawn)):
        generator.back(mark)
        assert torch.equal(torch.randn(7, generator=generator), expected)
    generator.back(marks[0])
    assert generator.initial_seed() == 3


def test_states_are_tensors_that_bring_the_stream_back() -> None:
    torch.manual_seed(5)
    torch.randn(3)
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.shape == (5056,)
    first = torch.randn(5)
    torch.set_rng_state(state)
    assert torch.equal(torch.randn(5), first)
    with pytest.raises(TypeError, match="ByteTensor"):
        torch.set_rng_state(torch.zeros(5056))
    with pytest.raises(TypeError, match="ndarray"):
        torch.Generator().set_state(np.zeros(5056, np.uint8))
    with pytest.raises(RuntimeError, match="size"):
        torch.set_rng_state(state[:3])


def test_a_generator_is_a_stream_of_its_own() -> None:
    generator = torch.Generator().manual_seed(7)
    assert generator.initial_seed() == 7 and generator.device == torch.device("cpu")
    torch.manual_seed(7)
    mine = torch.rand(3, generator=generator)
    assert torch.equal(torch.rand(3), mine)
    twin = generator.clone_state()
    assert isinstance(twin, torch.Generator)
    loaded = pickle.loads(pickle.dumps(generator))
    follows = torch.rand(2, generator=generator)
    assert torch.equal(torch.rand(2, generator=twin), follows) and torch.equal(torch.rand(2, generator=loaded), follows)
    other = torch.Generator()
    assert other.set_state(generator.get_state()) is other
    assert torch.equal(torch.rand(2, generator=other), torch.rand(2, generator=generator))
    with pytest.raises(TypeError, match="generator"):
        torch.rand(2, generator=3)
    with pytest.raises(RuntimeError):
        torch.Generator("cuda")


def test_seeds() -> None:
    assert torch.manual_seed(3) is torch.default_generator is torch.random.default_generator
    assert torch.initial_seed() == 3
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
    assert torch.manual_seed(torch.tensor(4)).initial_seed() == 4
    assert torch.manual_seed(True).initial_seed() == 1
    with pytest.raises(ValueError):
        torch.manual_seed("a")
    with pytest.raises(ValueError):
        torch.manual_seed(2**64)
    seeds = {torch.seed(), torch.seed()}
    assert len(seeds) == 2 and torch.initial_seed() in seeds


def test_fork_rng_leaves_the_stream_as_it_was() -> None:
    torch.manual_seed(0)
    want = torch.rand(3)
    torch.manual_seed(0)
    with torch.random.fork_rng():
        torch.rand(100)
        torch.manual_seed(9)
    assert torch.equal(torch.rand(3), want)
    torch.manual_seed(0)
    with pytest.raises(KeyError), torch.random.fork_rng():
        torch.rand(2)
        raise KeyError
    assert torch.equal(torch.rand(3), want)
    torch.manual_seed(0)
    with torch.random.fork_rng(enabled=False):
        torch.rand(1)
    assert not torch.equal(torch.rand(3), want)
    with pytest.raises(RuntimeError), torch.random.fork_rng(devices=[0]):
        pass


# -- arguments ---------------------------------------------------------------------------------------------------


def test_random_and_uniform_take_from_by_name() -> None:
    x = torch.zeros(50)
    assert x.uniform_(to=2, **{"from": 1}) is x and bool(((x >= 1) & (x < 2)).all())
    assert bool((x.random_(to=5) < 5).all()) and bool((x.random_(**{"from": 2, "to": 4}) >= 2).all())
    for wrong in ({"from": 2}, {"start": 1}):
        with pytest.raises(TypeError):
            x.random_(**wrong)
    with pytest.raises(TypeError):
        x.uniform_(1, 2, 3)
    with pytest.raises(TypeError):
        x.uniform_(1, **{"from": 2})
    assert bool((x.uniform_(torch.tensor(3.0), np.float64(4)) >= 3).all())


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: torch.zeros(3, dtype=torch.int64).normal_(), NotImplementedError),
        (lambda: torch.zeros(3).normal_(std=-1), RuntimeError),
        (lambda: torch.zeros(3, requires_grad=True).normal_(), RuntimeError),
        (lambda: torch.ones(1).expand(3).uniform_(), RuntimeError),
        (lambda: torch.zeros(3).uniform_(2, 1), RuntimeError),
        (lambda: torch.zeros(3).exponential_(0), RuntimeError),
        (lambda: torch.zeros(3).geometric_(1.5), RuntimeError),
        (lambda: torch.zeros(3).bernoulli_(torch.ones(2)), RuntimeError),
        (lambda: torch.zeros(3).normal_("a"), TypeError),
        (lambda: torch.zeros(3).random_(5, 5), RuntimeError),
        (lambda: F.dropout(torch.ones(3), 1.5), ValueError),
        (lambda: torch.dropout(torch.ones(3), 1.5, True), RuntimeError),
        (lambda: F.dropout(torch.ones(3, requires_grad=True), 0.5, True, True), RuntimeError),
        (lambda: F.dropout(3), TypeError),
    ],
)
def test_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


# -- gradients and meta tensors ----------------------------------------------------------------------------------


def test_no_gradient_passes_what_is_written_over_or_drawn_around() -> None:
    x = torch.ones(3, requires_grad=True)
    for drawn in (
        (x * 2).normal_(),
        (x * 2).uniform_(),
        torch.bernoulli(x * 0.5),
        torch.normal(x, 1.0),
        torch.poisson(x),
    ):
        assert drawn.requires_grad
        (gradient,) = torch.autograd.grad(drawn.sum(), x)
        assert gradient.tolist() == [0.0, 0.0, 0.0]
    assert not torch.multinomial(x, 2).requires_grad
    with pytest.raises(RuntimeError, match="binomial"):
        torch.binomial(x, x).sum().backward()


def test_the_gradient_of_dropout_has_its_mask() -> None:
    x = torch.full((4, 5), 3.0, requires_grad=True)
    y = F.dropout(x, 0.4)
    y.sum().backward()
    assert torch.equal(x.grad * 3, y.detach())
    assert y.grad_fn.name() == "MulBackward0"
    for function in (F.dropout2d, F.alpha_dropout, F.feature_alpha_dropout):
        x = torch.ones(2, 3, 2, 2, requires_grad=True)
        torch.manual_seed(2)
        gradient = torch.autograd.grad(function(x, 0.4, True).sum(), x)[0]
        torch.manual_seed(2)
        moved = function(x.detach() + 1, 0.4, True)
        torch.manual_seed(2)
        torch.testing.assert_close(moved - function(x.detach(), 0.4, True), gradient)


def test_dropout_in_place_and_not_at_all() -> None:
    x = torch.ones(6)
    assert F.dropout(x, 0.0) is x and F.dropout(x, 0.5, False) is x and F.alpha_dropout(x, 0.5) is x
    assert F.dropout(x, 0.5, True, True) is x and set(x.tolist()) <= {0.0, 2.0}
    y = torch.ones(3, 4)
    assert F.dropout1d(y, 0.5, True, True) is y and all(len(set(row)) == 1 for row in y.tolist())
    z = torch.ones(5, requires_grad=True) * 1
    F.dropout(z, 0.5, True, True).sum().backward()
    with pytest.warns(UserWarning, match="dropout2d"):
        F.dropout2d(torch.ones(3, 3))
    with pytest.warns(UserWarning, match="1D dropout"):
        F.dropout2d(torch.ones(3, 3, 3))
    with pytest.warns(UserWarning, match="dropout3d"):
        F.dropout3d(torch.ones(3, 3))


def test_meta_tensors_draw_nothing() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    x = torch.empty(3, 4, device="meta")
    for made in (
        x.normal_(),
        x.uniform_(),
        x.bernoulli_(0.5),
        torch.rand_like(x),
        torch.bernoulli(x),
        torch.multinomial(x, 2),
        torch.rand(2, device="meta"),
        torch.randint(5, (2,), device="meta"),
        torch.randperm(4, device="meta"),
        F.dropout(x),
        F.dropout2d(torch.empty(2, 3, 4, 4, device="meta")),
    ):
        assert made.is_meta
    assert torch.equal(torch.get_rng_state(), before)


def test_in_place_draws_count_as_writes() -> None:
    x = torch.zeros(3)
    version = x._version
    x.normal_()
    assert x._version == version + 1
    y = torch.ones(3, requires_grad=True)
    z = y * x
    x.uniform_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_generators_copy() -> None:
    generator = torch.Generator().manual_seed(1)
    twin = copy.deepcopy(generator)
    assert twin is not generator and torch.equal(torch.rand(2, generator=twin), torch.rand(2, generator=generator))
