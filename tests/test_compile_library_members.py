"""What models of libraries read and make while they are compiled: members of Modules, builtin class methods, scans, some of their outputs' gradients."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.capture.compile.record.callables import is_users
from rushlight.compat.higher_order import associative_scan
from rushlight.core.missing import renamed


def test_members_of_a_model_by_their_names() -> None:
    model = nn.Sequential(OrderedDict(first=nn.Linear(3, 3), act=nn.ReLU(), last=nn.Linear(3, 2)))

    def program(x: Any) -> Any:
        for _, each in model.named_children():
            x = each(x)
        count = sum(isinstance(each, nn.Linear) for each in model.modules())
        names = [name for name, each in model.named_modules() if not list(each.children())]
        return x * count, names, id(model) == id(model), id(model.first) == id(model.last)

    x = torch.ones(2, 3)
    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        made, eager = compiled(x), program(x)
        assert torch.equal(made[0], eager[0]) and made[1:] == eager[1:] == (["first", "act", "last"], True, False)
    model.extra = nn.Linear(2, 2)  # another member: captured anew
    made, eager = compiled(x), program(x)
    assert torch.allclose(made[0], eager[0]) and made[1:] == eager[1:]


def test_pairs_with_modules_in_reverse() -> None:
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    def program(x: Any) -> Any:
        pairs = []
        for each in layers:
            pairs.append((each, None))
        for each, hook in reversed(pairs):
            x = each(x) if hook is None else hook(x)
        return x

    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        assert torch.allclose(compiled(torch.ones(2)), program(torch.ones(2)))


class Makers(OrderedDict):  # type: ignore[type-arg]
    """Classes by name; an instance is made by each look-up."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key)()


MAKERS = Makers(relu=nn.ReLU, tanh=nn.Tanh)


def test_a_dict_that_makes_what_it_is_asked_for() -> None:
    compiled = torch.compile(lambda x: MAKERS["relu"](x) + 1, fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.tensor([-1.0, 2.0])), torch.tensor([1.0, 3.0]))
    assert "0 recompilations" in str(torch.compiler.explain(compiled)(torch.tensor([-1.0, 2.0])))
    dict.__setitem__(MAKERS, "relu", nn.Tanh)
    assert torch.allclose(compiled(torch.zeros(2)), torch.ones(2))
    dict.__setitem__(MAKERS, "relu", nn.ReLU)


def test_class_methods_of_builtin_classes_make_values() -> None:
    def program(x: Any) -> Any:
        scales = dict.fromkeys(("a", "b"), 2.0)
        scales["b"] = float.fromhex("0x1p-1")
        return x * scales["a"] + int.from_bytes(b"\x01", "big") - scales["b"]

    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(3)), program(torch.ones(3)))


def test_a_scan_with_a_function_is_captured() -> None:
    def program(scale: Any, shift: Any) -> Any:
        return associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (scale, shift), dim=1)[1]

    torch.manual_seed(0)
    given = [torch.rand(2, 7, 3, requires_grad=True) for _ in range(2)]
    state, wanted = torch.zeros(2, 3), []
    for step in range(7):
        state = state * given[0][:, step] + given[1][:, step]
        wanted.append(state)
    expected = torch.stack(wanted, 1)
    slopes = torch.autograd.grad(expected.square().sum(), given)
    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        made = compiled(*given)
        assert torch.allclose(made, expected)
        for found, each in zip(torch.autograd.grad(made.square().sum(), given), slopes):
            assert torch.allclose(found, each, atol=1e-6)


def test_gradients_of_some_outputs_need_no_more_than_the_forward_has_kept() -> None:
    """A residual network whose states are outputs too: with gradients of one output, a layer norm's result comes after its gradient."""

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
            self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(2))
            self.head = nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            states = [x]
            for inner, norm in zip(self.inner, self.norms):
                x = norm(x + inner(x))
                states.append(x)
            return self.head(x).square().mean(), states

    torch.manual_seed(0)
    model = Layers()
    x = torch.randn(5, 8)
    compiled = torch.compile(model, fullgraph=True)
    for wanted in (lambda out: out[0], lambda out: out[1][1].sum(), lambda out: out[0] + out[1][2].square().sum()):
        for _ in range(3):
            found = torch.autograd.grad(wanted(compiled(x)), tuple(model.parameters()), allow_unused=True)
            eager = torch.autograd.grad(wanted(model(x)), tuple(model.parameters()), allow_unused=True)
            for ours, each in zip(found, eager):
                assert (ours is None) == (each is None)
                assert ours is None or torch.allclose(ours, each, atol=1e-5)


def test_the_class_of_tensors_is_no_users_class_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's name of the class: its operators, which are filled in when they are first used, are not guarded."""
    monkeypatch.setitem(renamed, torch.Tensor, torch.Tensor.__module__)  # as compat/class_names.py does under the alias
    monkeypatch.setattr(torch.Tensor, "__module__", "torch")

    class Kind(torch.Tensor):
        pass

    def program(x: Any, y: Any) -> Any:
        return sum([x, y, x + y]) // 1

    compiled = torch.compile(program, fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2), torch.ones(2)), torch.full((2,), 4.0))
    text = str(torch.compiler.explain(compiled)(torch.ones(2), torch.ones(2)))
    assert "0 recompilations" in text and "Tensor.__dict__" not in text
    assert not is_users(torch.Tensor) and is_users(Kind)


def scaled(x: Any, by: float = 2.0, shift: int = 0, name: str | None = None) -> Any:
    return x * by + shift


class Layer(nn.Linear):
    """A Module with a ``__call__`` of its own, as layers have that may be recomputed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)

    def forward(self, x: Any) -> Any:
        names = scaled.__code__.co_varnames
        return scaled(super().forward(x)) if "by" in names else x


def test_guards_that_follow_from_others_are_not_made() -> None:
    model = nn.Sequential(Layer(3, 3), Layer(3, 3))
    x = torch.ones(2, 3)
    compiled = torch.compile(model, fullgraph=True)
    assert torch.equal(compiled(x), model(x))
    found = torch.compiler.explain(compiled)(x).out_guards
    assert not [each for each in found if "co_varnames" in each or "_hooks'" in each]
    assert len([each for each in found if "__defaults__" in each]) == 1  # one for the tuple, none for what is in it
    before = scaled.__defaults__
    try:
        scaled.__defaults__ = (3.0, 1, None)
        assert torch.equal(compiled(x), model(x))
    finally:
        scaled.__defaults__ = before
    model[1].register_forward_hook(lambda module, args, output: output + 1)
    assert torch.equal(compiled(x), model(x))
