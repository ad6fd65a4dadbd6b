"""Forward mode with writes: dual tensors are written to, under ``no_grad`` too, and by custom Functions.  Values are those of PyTorch 2.13."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.autograd import Function
from rushlight.autograd import forward_ad as fw


def dual(values: list[float], tangents: list[float]) -> Any:
    return fw.make_dual(torch.tensor(values), torch.tensor(tangents))


def unpacked(tensor: Any) -> tuple[Any, Any]:
    primal, tangent = fw.unpack_dual(tensor)
    return primal.tolist(), None if tangent is None else tangent.tolist()


def test_a_dual_tensor_is_written_to_together_with_the_tensor_it_is_made_of() -> None:
    with fw.dual_level():
        x = torch.tensor([1.0, 2.0])
        made = fw.make_dual(x, torch.tensor([3.0, 4.0]))
        made.mul_(2)
        made += 1
        assert unpacked(made) == ([3.0, 5.0], [6.0, 8.0])
        assert x.tolist() == [3.0, 5.0]
        assert unpacked(x) == ([3.0, 5.0], None)


def test_writes_under_no_grad_carry_tangents() -> None:
    with fw.dual_level():
        made = dual([1.0, 2.0], [3.0, 4.0])
        result, target, part = made * 1, torch.zeros(2), torch.zeros(2)
        with torch.no_grad():
            result.mul_(2)
            result.add_(made)
            target.copy_(made)
            part[0] = made[0]
            made[0].mul_(2)
        assert unpacked(result) == ([3.0, 6.0], [9.0, 12.0])
        assert unpacked(target) == ([1.0, 2.0], [3.0, 4.0])
        assert unpacked(part) == ([1.0, 0.0], [3.0, 0.0])
        assert unpacked(made) == ([2.0, 2.0], [6.0, 4.0])


def test_parameters_are_updated_under_no_grad_beside_a_level() -> None:
    weight = torch.ones(2, requires_grad=True)
    with fw.dual_level(), torch.no_grad():
        weight.add_(1)
    assert weight.tolist() == [2.0, 2.0]


def test_a_tangent_is_given_back_as_it_was() -> None:
    with fw.dual_level():
        tangent = torch.tensor([3.0])
        assert fw.unpack_dual(fw.make_dual(torch.tensor([1.0]), tangent)).tangent is tangent


class AddInto(Function):
    """Writes to its first input."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(x)
        return x.add_(y), y * 3

    @staticmethod
    def jvp(ctx: Any, x: Any, y: Any) -> Any:
        return x.add_(y), y * 3


def test_a_function_that_writes_to_its_input_writes_to_its_tangent() -> None:
    with fw.dual_level():
        x, y = dual([1.0, 2.0], [3.0, 4.0]), dual([1.0, 1.0], [10.0, 20.0])
        written, other = AddInto.apply(x, y)
        assert written is x
        for _ in range(2):  # asking for a tangent does not change it
            assert unpacked(x) == ([2.0, 3.0], [13.0, 24.0])
        assert unpacked(other) == ([3.0, 3.0], [30.0, 60.0])
        plain = torch.tensor([1.0, 2.0])
        assert unpacked(AddInto.apply(plain, y)[0]) == ([2.0, 3.0], [10.0, 20.0])


@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        (lambda x: (x * 1, None), "must modify the corresponding gradient inplace"),
        (lambda x: (x, x), "at position 1, but  the corresponding forward output is not a differentiable"),
        (lambda x: x, r"invalid number of forward gradients \(expected 2 but got 1\)"),
        (lambda x: ("text", None), r"expected Variable or None \(got str\) for grad output 0"),
    ],
)
def test_tangents_that_do_not_fit_are_refused(tangents: Any, message: str) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2), torch.tensor([1])

        @staticmethod
        def jvp(ctx: Any, x: Any) -> Any:
            return tangents(x)

    with fw.dual_level(), pytest.raises(RuntimeError, match=message):
        fw.unpack_dual(Wrong.apply(dual([1.0], [2.0]))[0])


def test_inputs_without_tangents() -> None:
    seen: list[Any] = []

    class Copies(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, number: Any) -> Any:
            return x.clone(), y.clone(), number.clone()

        @staticmethod
        def jvp(ctx: Any, x: Any, y: Any, number: Any) -> Any:
            seen.append((y.tolist(), number))
            return x, y, None

    with fw.dual_level():
        results = Copies.apply(dual([1.0], [2.0]), torch.tensor([3.0]), torch.tensor([4]))
        assert unpacked(results[0]) == ([1.0], [2.0])
        assert unpacked(results[2]) == ([4], None)
    assert seen[0] == ([0.0], None)


def test_views_of_what_is_written_afterwards_have_its_tangents() -> None:
    def through_the_base(x: Any) -> Any:
        target = torch.zeros(2, 2)
        row = target[0]
        target.copy_(x)
        return row, target

    x, t = torch.arange(4.0).reshape(2, 2), torch.ones(2, 2) * 3
    (row, _), (row_tangent, tangent) = torch.func.jvp(through_the_base, (x,), (t,))
    assert torch.equal(row, x[0])
    assert torch.equal(row_tangent, t[0])
    assert torch.equal(tangent, t)
    _, tangents = torch.func.vmap(lambda a, b: torch.func.jvp(through_the_base_of(a), (a,), (b,)))(x.expand(3, 2, 2), t.expand(3, 2, 2))
    assert torch.equal(tangents, t[0].expand(3, 2))
    with fw.dual_level():
        row, _ = through_the_base(fw.make_dual(x, t))
        assert torch.equal(fw.unpack_dual(row).tangent, t[0])


def through_the_base_of(like: Any) -> Any:
    def function(x: Any) -> Any:
        target = like.clone()
        row = target[0]
        target.copy_(x)
        return row

    return function


def test_a_function_may_write_to_what_it_is_differentiated_by_forwards() -> None:
    x = torch.ones(2)
    value, tangent = torch.func.jvp(lambda x, y: x.copy_(y) * 2, (x, torch.full((2,), 5.0)), (torch.ones(2), torch.full((2,), 7.0)))
    assert (value.tolist(), tangent.tolist(), x.tolist()) == ([10.0, 10.0], [14.0, 14.0], [5.0, 5.0])
