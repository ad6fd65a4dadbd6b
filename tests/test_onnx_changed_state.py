"""Exports of programs that change something while they run: attributes of Modules, lists, tensors; and sizes that become tensors."""

import copy
import io

import numpy as np
import onnxruntime
import pytest

import rushlight as torch
from rushlight.onnx import verification


def run_file(model, args, *inputs, **options):
    """Export a model on some arguments, and run the file on others."""
    stream = io.BytesIO()
    torch.onnx.export(model, args, stream, dynamo=False, opset_version=17, **options)
    session = onnxruntime.InferenceSession(stream.getvalue(), providers=["CPUExecutionProvider"])
    named = {each.name: np.asarray(given.numpy()) for each, given in zip(session.get_inputs(), inputs)}
    return [torch.from_numpy(each) for each in session.run(None, named)]


@pytest.mark.parametrize(
    "made",
    [
        lambda x: torch.tensor(x.shape[0]),
        lambda x: torch.tensor(x.shape[0], dtype=torch.float64),
        lambda x: torch.tensor([x.shape[0], 2.5]),
        lambda x: torch.tensor([[x.shape[0], x.shape[1]], [1, 2]]),
        lambda x: torch.as_tensor(x.shape),
        lambda x: x.new_tensor([x.shape[0] * 2, 1]),
    ],
)
def test_a_tensor_of_sizes_follows_the_sizes(made):
    def model(x):
        return x.sum(), made(x)

    more = torch.ones(7, 3)
    (_, found) = run_file(model, (torch.ones(2, 3),), more, input_names=["x"], dynamic_axes={"x": [0]})
    assert found.dtype == made(more).dtype and torch.equal(found, made(more))
    assert torch.equal(torch.compile(model, dynamic=True)(more)[1], made(more))


class Counts(torch.nn.Module):
    """Sets an attribute in a loop, a branch of it and a loop inside of that."""

    def __init__(self):
        super().__init__()
        self.total = torch.arange(3)

    def forward(self, x):
        for i in range(x.size(0)):
            if i == 2:
                for _ in range(3):
                    self.total = self.total + 5
            self.total = self.total + 1
        return self.total, x + 1


def test_attributes_set_in_scripted_loops_are_carried_by_them():
    for size in (1, 2, 4):
        found = run_file(torch.jit.script(Counts()), (torch.ones(3),), torch.ones(size), input_names=["x"], dynamic_axes={"x": [0]})
        assert torch.equal(found[0], Counts()(torch.ones(size))[0])


class Clamps(torch.nn.Module):
    """Sets an attribute in a branch by the values of its input, in a method."""

    def __init__(self):
        super().__init__()
        self.last = torch.zeros(2)

    def note(self, x):
        if bool(x.sum() > 0):
            self.last = self.last + x
        else:
            self.last = self.last - 10 * x

    def forward(self, x):
        self.note(x)
        return self.last * 2


def test_attributes_set_in_scripted_branches_are_what_they_give():
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])):
        assert torch.equal(run_file(torch.jit.script(Clamps()), (torch.ones(2),), x)[0], Clamps()(x))


class Collects(torch.nn.Module):
    """Appends to a list that is an attribute."""

    def __init__(self):
        super().__init__()
        self.parts: list[torch.Tensor] = [torch.ones(1)]

    def forward(self, x):
        self.parts = []
        for i in range(3):
            for j in range(2):
                self.parts.append(x * i + j)
        return torch.cat(self.parts)


def test_lists_that_are_attributes_grow_once():
    x = torch.ones(2)
    assert torch.equal(run_file(torch.jit.script(Collects()), (x,), x)[0], Collects()(x))


class Accumulates(torch.nn.Module):
    """Writes twice to a constant in each iteration: `+=` of an item writes to a view, and assigns."""

    def forward(self, x):
        sums = torch.ones(2, 3)
        for _ in range(x.size(0)):
            sums[0] += torch.ones(3)
        return sums


def test_a_constant_that_a_loop_writes_to_starts_with_the_value_before_it():
    found = run_file(torch.jit.script(Accumulates()), (torch.ones(2),), torch.ones(4), input_names=["x"], dynamic_axes={"x": [0]})
    assert torch.equal(found[0], torch.tensor([[5.0] * 3, [1.0] * 3]))


class Remembers(torch.nn.Module):
    """Changes its attributes in each call."""

    def __init__(self):
        super().__init__()
        self.scale, self.calls, self.seen = torch.ones(3), 0, []

    def forward(self, x):
        self.scale = self.scale * 3
        self.calls += 1
        self.seen.append(x)
        self.latest = x + 1
        return x * self.scale


def test_an_export_leaves_the_attributes_of_the_model_alone():
    model = Remembers()
    model.seen.append(1)
    before = copy.copy(vars(model))
    found = run_file(model, (torch.ones(2, 3),), torch.ones(5, 3), input_names=["x"], dynamic_axes={"x": [0]})
    assert torch.equal(found[0], torch.full((5, 3), 3.0))
    assert vars(model).keys() == before.keys() and model.calls == 0 and model.seen == [1]
    assert torch.equal(model.scale, torch.ones(3))


def test_verify_compares_with_the_model_as_it_was():
    verification.verify(Remembers(), (torch.ones(2, 3),), additional_test_inputs=[(torch.zeros(2, 3),)])
    verification.verify(torch.jit.script(Counts()), (torch.ones(3),))


def test_verify_may_write_to_inputs_that_require_grad():
    def model(x):
        x += 12
        return x

    verification.verify(model, (torch.randn(2, 3, requires_grad=True),))


class FirstOrLater(torch.nn.Module):
    """Reads a list that is empty before the loop in a branch of the loop."""

    def forward(self, x):
        first: list[torch.Tensor] = []
        found: list[torch.Tensor] = []
        for i in range(x.size(0)):
            if len(first) > 0:
                found.append(first[0])
            else:
                found.append(-x[0])
            first.append(x[i])
        return torch.stack(first), torch.stack(found)


def test_a_branch_that_only_later_iterations_take_is_captured():
    x, more = torch.randn(3, 2), torch.randn(5, 2)
    for options in ({}, {"input_names": ["x"], "dynamic_axes": {"x": [0]}}):
        inputs = more if options else x
        for found, expected in zip(run_file(torch.jit.script(FirstOrLater()), (x,), inputs, **options), FirstOrLater()(inputs)):
            assert torch.equal(found, expected)


def test_set_makes_a_tensor_another_one():
    def model(x, y):
        x.set_(y)
        return x * 2

    x, y = torch.ones(2, 3), torch.randn(4, 6)
    assert torch.equal(run_file(model, (x, y), y)[0], y * 2)
    assert torch.equal(torch.jit.trace(model, (x.clone(), y.clone()))(x, y), y * 2)


@pytest.mark.parametrize("fill", [torch.tensor(2.5), torch.tensor(3), torch.tensor(True)])
def test_a_tensor_fills_another(fill):
    def model(x):
        return torch.full((2, 3), x), torch.full_like(torch.ones(2), x), torch.full((2,), x, dtype=torch.float64)

    other = torch.zeros_like(fill)
    for found, expected in zip(run_file(model, (fill,), other), model(other)):
        assert found.dtype == expected.dtype and torch.equal(found, expected)


def test_two_masks_are_broadcast_against_each_other():
    def model(a, b, y):
        y[a > 0, b > 0] = 0.0
        return y, y[a > 0, b > 0]

    y = torch.randn(4, 4)
    for a, b in (([1, 0, 0, 0], [1, 0, 1, 1]), ([1, 0, 1, 1], [0, 0, 0, 1]), ([1, 1, 0, 0], [0, 1, 1, 0])):
        a, b = torch.tensor(a), torch.tensor(b)
        found = run_file(model, (torch.tensor([1, 0, 0, 0]), torch.tensor([1, 0, 1, 1]), y), a, b, y)
        for each, expected in zip(found, model(a, b, y.clone())):
            assert torch.equal(each, expected)


@pytest.mark.parametrize("window", [torch.hann_window, torch.hamming_window, torch.blackman_window])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_of_a_length_that_is_an_input(window, periodic):
    def model(x, n: int):
        return x + window(n, periodic=periodic)

    x = torch.zeros(1)
    for length in (1, 2, 12):
        found = run_file(model, (x, 7), x, torch.tensor(length))[0]
        assert torch.allclose(found, window(length, periodic=periodic), atol=1e-6)


def test_parameters_of_distributions_are_not_checked_in_a_file():
    def model(x, y):
        return torch.distributions.Normal(x, y).log_prob(x + 1)

    x, y = torch.tensor([0.5]), torch.tensor([2.0])
    assert torch.allclose(run_file(model, (x, y), x + 1, y + 1)[0], model(x + 1, y + 1))
    with pytest.raises(ValueError, match="scale"):
        model(x, -y)
