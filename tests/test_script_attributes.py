"""Attributes of scripted Modules that Python sets."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn


class _Typed(nn.Module):
    __constants__ = ["factor"]

    def __init__(self):
        super().__init__()
        self.sub = nn.Linear(2, 2)
        self.factor, self.count, self.scale, self.sizes = 5, 3, 1.5, [1, 2]
        self.register_buffer("offset", torch.zeros(1))

    def forward(self, x):
        return self.sub(x) * self.factor * self.scale + self.count + self.sizes[0] + self.offset


@pytest.mark.parametrize(
    "name, value, words",
    [
        (
            "sub",
            nn.Linear(2, 2),
            "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module 'sub'",
        ),
        ("sub", None, "Cannot re-assign modules"),
        ("fresh", nn.Linear(2, 2), "Cannot re-assign modules"),
        (
            "sub",
            torch.jit.script(nn.ReLU()),
            r"Expected a value of type '__torch__.*Linear \(in_features=2, out_features=2\)' for field 'sub', but found '__torch__.*ReLU",
        ),
        ("sub", torch.jit.script(nn.Linear(2, 5)), "for field 'sub', but found '__torch__.*Linear"),
        ("factor", 6, "Can't set constant 'factor' which has value:5"),
        ("count", 6.5, "Could not cast attribute 'count' to type int"),
        ("count", "six", "Could not cast attribute 'count' to type int"),
        ("sizes", ["a"], "Could not cast attribute 'sizes' to type"),
    ],
)
def test_attributes_of_scripted_modules_keep_their_types(name, value, words):
    scripted = torch.jit.script(_Typed())
    before = scripted(torch.ones(1, 2))
    with pytest.raises(RuntimeError, match=words):
        setattr(scripted, name, value)
    assert torch.equal(scripted(torch.ones(1, 2)), before)


def test_attributes_of_scripted_modules_are_set():
    scripted = torch.jit.script(_Typed())
    scripted.sub, scripted.count, scripted.scale, scripted.sizes = torch.jit.script(nn.Linear(2, 2)), 4, 2, [7]
    scripted.offset = torch.ones(1)
    assert type(scripted.scale) is float
    expected = scripted.sub(torch.ones(1, 2)) * 5 * 2.0 + 4 + 7 + 1
    torch.testing.assert_close(scripted(torch.ones(1, 2)), expected)
    for name in ("sub", "offset"):
        with pytest.raises(RuntimeError, match="cannot delete methods or parameters of a script module"):
            delattr(scripted, name)


class _Old(torch.jit.ScriptModule):
    __constants__ = ["factor"]

    def __init__(self):
        super().__init__()
        self.factor, self.sub = 5, nn.Linear(2, 2)

    @torch.jit.script_method
    def forward(self, x):
        return self.sub(x) * self.factor


def test_attributes_of_modules_with_script_methods_keep_their_types():
    module = _Old()
    with pytest.raises(RuntimeError, match="Can't set constant 'factor' which has value:5"):
        module.factor = 6
    with pytest.raises(RuntimeError, match="Cannot re-assign modules"):
        module.sub = nn.Linear(2, 2)
    module.sub = torch.jit.script(nn.Linear(2, 2))
    torch.testing.assert_close(module(torch.ones(1, 2)), module.sub(torch.ones(1, 2)) * 5)
