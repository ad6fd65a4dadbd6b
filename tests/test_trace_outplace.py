"""Traces with ``_force_outplace``, of inputs that are parameters, and of a Module's ``forward``."""

import pytest

import rushlight as torch
from rushlight import nn


def summed(first, second, third):
    first += second
    first += third
    return first


def written_through_a_view(x):
    x.view(-1).add_(-x.view(-1))
    return x


def test_in_place_ops_give_new_tensors():
    example = [torch.ones(2) for _ in range(3)]
    traced = torch.jit.trace(summed, tuple(example), _force_outplace=True)
    x = torch.ones(2)
    assert traced(x, x, x).tolist() == [3.0, 3.0]
    assert x.tolist() == [1.0, 1.0]


def test_copies_are_expanded():
    def copied(x):
        out = torch.zeros(2, 3)
        out.copy_(x)
        return out * 2

    traced = torch.jit.trace(copied, torch.ones(3), _force_outplace=True)
    assert traced(torch.arange(3.0)).tolist() == [[0.0, 2.0, 4.0]] * 2


def test_views_are_warned_of():
    with pytest.warns(torch.jit.TracerWarning, match="might cause the trace to be incorrect"):
        torch.jit.trace(written_through_a_view, torch.rand(3, 4), _force_outplace=True, check_trace=False)


class Adds(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.rand(3))

    def forward(self, y):
        return self.x + y


def test_an_input_that_is_a_parameter_is_an_input():
    module, other = Adds(), torch.rand(3)
    assert torch.equal(torch.jit.trace(module, module.x)(other), module.x + other)


def test_forward_of_a_module_keeps_its_parameters():
    module = Adds()
    traced = torch.jit.trace(module.forward, torch.rand(3))
    assert list(traced.state_dict()) == ["x"]
    assert torch.equal(traced(torch.ones(3)), module(torch.ones(3)))


def test_warnings_say_what_a_tensor_becomes():
    def chooses(x):
        return x * int(x)

    with pytest.warns(torch.jit.TracerWarning, match="Converting a tensor to a Python integer might cause the trace to be incorrect"):
        torch.jit.trace(chooses, torch.tensor([2.0]))
