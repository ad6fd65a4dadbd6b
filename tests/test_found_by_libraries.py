"""What programs and test files of libraries found, each with its cause in few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight.compat.functorch_internal import vmap as steps
from rushlight.func import vectorize


def test_gradient_of_view_as_complex_may_be_conjugated() -> None:
    """The gradient that arrives is a conjugated view, which has no view as real numbers."""
    pairs = torch.tensor([[1.0, 2.0], [3.0, -4.0]], requires_grad=True)
    torch.view_as_complex(pairs).conj().imag.sum().backward()
    assert pairs.grad is not None and pairs.grad.tolist() == [[0.0, -1.0], [0.0, -1.0]]


def test_namespaces_of_operators_have_their_class() -> None:
    assert type(torch.ops.aten).__name__ == "_OpNamespace"


def test_distributed_autograd_says_that_it_is_not_there() -> None:
    assert torch.distributed.autograd.is_available() is False


class Rows:
    """A container that knows the size of its batch, as tensordict's do."""

    def __init__(self, value: Any, size: int | None) -> None:
        self.value, self.size = value, size


@pytest.fixture
def replaced_steps() -> Iterator[None]:
    def process(in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]) -> Any:
        return len(args[0].value), [in_dims] * len(args), list(args), None

    def create(dims: list[int], leaves: list[Any], level: int, structure: Any) -> Any:
        return [Rows(steps._add_batch_dim(leaf.value, dim, level), None) for leaf, dim in zip(leaves, dims)]

    def unwrap(result: Any, out_dims: Any, level: int, size: int, func: Callable[..., Any]) -> Any:
        return steps._maybe_remove_batch_dim("f", result.value, level, size, out_dims)

    before = {step: getattr(steps, step) for step in vectorize.STEPS}
    steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched = process, create, unwrap  # type: ignore[assignment]
    yield
    for step, value in before.items():
        setattr(steps, step, value)
    vectorize.replaced.clear()


@pytest.mark.usefixtures("replaced_steps")
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_a_library_replaces_the_steps_of_vmap(chunk_size: int | None) -> None:
    """tensordict puts its own into torch._functorch.vmap, so that a container loses a dimension of its batch with its tensors."""

    class Split(Rows):
        def tensor_split(self, bounds: list[int], dim: int) -> list[Rows]:
            return [Rows(each, len(each)) for each in self.value.tensor_split(bounds, dim=dim)]

    values = torch.arange(6.0).view(3, 2)

    def double(rows: Rows) -> Rows:
        assert rows.size is None and rows.value.shape == (2,)
        return Rows(rows.value * 2, None)

    assert torch.equal(torch.vmap(double, chunk_size=chunk_size)(Split(values, 3)), values * 2)
