"""Assertions on values, in compiled programs: one graph, whose later runs check what was asserted."""

from typing import Any

import pytest
from asserting_programs import caught, positive, squares

import rushlight as torch
from rushlight.capture.compile.config import settings
from rushlight.capture.compile.record.graph_breaks import Unsupported
from rushlight.compat import checks, numbers

BACKENDS = ("eager", "aot_eager", "native")


def outcome(function: Any, *args: Any) -> Any:
    """What a call gives, the class and message of its error, and what it leaves in its arguments and in the random stream."""
    torch.manual_seed(3)
    try:
        result: Any = function(*args).tolist()
    except (AssertionError, RuntimeError, ValueError) as error:
        result = type(error), str(error)
    return result, [each.tolist() for each in args], torch.rand(1).item()


def agree(function: Any, backend: str, *calls: Any) -> None:
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    for args in calls:
        assert outcome(compiled, *[each.clone() for each in args]) == outcome(function, *[each.clone() for each in args])


@pytest.mark.parametrize("backend", BACKENDS)
def test_assert_of_a_tensor(backend: str) -> None:
    good, bad = (torch.zeros(2), torch.ones(2)), (torch.zeros(2), -torch.ones(2))
    agree(positive, backend, good, good, bad, good)
    agree(positive, backend, bad, good, bad)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_asserted_may_be_caught(backend: str) -> None:
    agree(caught, backend, (torch.ones(2),), (-torch.ones(2),), (torch.ones(2),))
    agree(caught, backend, (-torch.ones(2),), (torch.ones(2),), (-torch.ones(2),))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", [torch._assert, numbers._assert_async, lambda value, message: checks._check_tensor_all(value)])
def test_functions_that_assert(check: Any, backend: str) -> None:
    def function(x):
        check(x.sum() > 0, "positive")
        return x * 2

    agree(function, backend, (torch.ones(2),), (torch.ones(2),), (-torch.ones(2),), (torch.ones(2),))


@pytest.mark.parametrize("backend", BACKENDS)
def test_distributions_validate(backend: str) -> None:
    def function(mean, scale):
        normal = torch.distributions.Normal(mean, scale)
        drawn = normal.rsample()
        return normal.log_prob(drawn) + torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0))

    mean = torch.zeros(3)
    agree(function, backend, (mean, torch.ones(3)), (mean, torch.full((3,), 2.0)), (mean, -torch.ones(3)), (mean, torch.ones(3)))


def test_gradients_through_an_assertion() -> None:
    compiled = torch.compile(squares, fullgraph=True)
    for _ in range(3):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        compiled(x).backward()
        assert x.grad.tolist() == [6.0, 12.0]


def test_builtin_min_and_max_of_tensors() -> None:
    def function(a, b):
        return max(min(max(a.sum(), 0), 1), b.sum()) + a

    agree(function, "native", (torch.ones(2), torch.ones(2)), (-torch.ones(2), -torch.ones(2)), (torch.ones(2), 3 * torch.ones(2)))


@pytest.fixture
def scalar_outputs() -> Any:
    settings.capture_scalar_outputs = True
    yield
    settings.capture_scalar_outputs = False


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.usefixtures("scalar_outputs")
def test_numbers_of_tensors_in_one_graph(backend: str) -> None:
    def function(x, n):
        count = n.item()
        first, *_ = (n * 2).reshape(1).tolist()
        return torch.zeros(count) + x.sum() * float(x.max()) + first

    compiled = torch.compile(function, backend=backend, fullgraph=True)
    for n, value in ((3, 1.0), (3, 1.0), (5, 1.0), (3, 2.0), *((each, 1.0) for each in range(9)), (3, 1.0)):
        args = torch.full((2,), value), torch.tensor(n)
        assert compiled(*args).tolist() == function(*args).tolist()


@pytest.mark.usefixtures("scalar_outputs")
def test_a_number_of_a_loss_does_not_end_its_history() -> None:
    def function(x, weight):
        loss = (x * weight).sum()
        return loss * 2, loss.item()

    compiled = torch.compile(function, fullgraph=True)
    for value in (1.0, 1.0, 2.0):
        weight = torch.ones(2, requires_grad=True)
        loss, number = compiled(torch.full((2,), value), weight)
        loss.backward()
        assert weight.grad.tolist() == [2 * value] * 2 and number == 2 * value


@pytest.mark.usefixtures("scalar_outputs")
def test_the_sign_of_a_zero_and_nan_are_values() -> None:
    compiled = torch.compile(lambda x: (x + 1, x.neg().item()), fullgraph=True)
    for value in (0.0, 0.0, -0.0, float("nan"), 0.0):
        assert str(compiled(torch.tensor(value))[1]) == str(torch.tensor(value).neg().item())


def test_numbers_of_tensors_break_by_default() -> None:
    with pytest.raises(Unsupported):
        torch.compile(lambda x: x * x.sum().item(), fullgraph=True)(torch.ones(2))
