"""Module itself: hooks, members, printing.  Expected values are PyTorch's."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.modules import module as module_file
from rushlight.utils.hooks import RemovableHandle


class Call(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def leaf(*values: float) -> Any:
    return torch.tensor(values or (1.0, 1.0), requires_grad=True)


# -- forward hooks -----------------------------------------------------------------------------------------------


def test_forward_hooks_in_order() -> None:
    log: list[Any] = []
    module = Call(lambda x, y=1: x * y)
    module.register_forward_pre_hook(lambda m, args: log.append(("first", args)))
    module.register_forward_pre_hook(lambda m, args: args[0] + 1, prepend=True)
    module.register_forward_pre_hook(lambda m, args, kwargs: ((args[0] * 2,), {"y": 5}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, out: log.append(("last", args, out)))
    module.register_forward_hook(lambda m, args, kwargs, out: out + len(kwargs), with_kwargs=True, prepend=True)
    assert module(1) == 21
    assert log == [("first", (2,)), ("last", (4,), 21)]


def test_a_pre_hook_with_kwargs_returns_both() -> None:
    module = Call(lambda x: x)
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        module(1)


def test_hooks_that_are_called_in_any_case() -> None:
    def fail(x: Any) -> None:
        raise ValueError("forward failed")

    log: list[Any] = []
    module = Call(fail)
    module.register_forward_hook(lambda m, args, out: log.append((args, out)), always_call=True)
    module.register_forward_hook(lambda m, args, out: log.append("not called"))
    with pytest.raises(ValueError, match="forward failed"):
        module(1)
    assert log == [((1,), None)]

    def bad_hook(*args: Any) -> None:
        raise TypeError("hook failed")

    module.register_forward_hook(bad_hook, always_call=True)
    with pytest.warns(UserWarning, match="silenced.*hook failed"), pytest.raises(ValueError, match="forward failed"):
        module(1)


def test_removing_hooks() -> None:
    log: list[int] = []
    module = nn.Identity()
    handle = module.register_forward_hook(lambda *args: log.append(1), with_kwargs=True, always_call=True)
    assert module._forward_hooks_with_kwargs
    module(0)
    handle.remove()
    handle.remove()
    module(0)
    assert log == [1]
    assert not module._forward_hooks_with_kwargs
    assert not module._forward_hooks_always_called
    with module.register_forward_pre_hook(lambda *args: log.append(2)):
        module(0)
    module(0)
    assert log == [1, 2]


def test_a_hook_may_remove_itself() -> None:
    module = nn.Identity()
    log: list[int] = []

    def once(*args: Any) -> None:
        log.append(1)
        handle.remove()

    handle = module.register_forward_pre_hook(once)
    module(1)
    module(1)
    assert log == [1]


def test_global_hooks() -> None:
    log: list[Any] = []
    handles = [
        module_file.register_module_forward_pre_hook(lambda m, args: log.append(("before", type(m).__name__))),
        module_file.register_module_forward_hook(
            lambda m, args, kwargs, out: log.append(("after", type(m).__name__, kwargs)), with_kwargs=True
        ),
    ]
    model = nn.Sequential(nn.Identity())
    try:
        model(3)
    finally:
        for handle in handles:
            handle.remove()
    model(4)
    assert log == [
        ("before", "Sequential"),
        ("before", "Identity"),
        ("after", "Identity", {}),
        ("after", "Sequential", {}),
    ]


def test_registration_hooks() -> None:
    log: list[Any] = []
    replacement = nn.Parameter(torch.zeros(1))
    handles = [
        module_file.register_module_parameter_registration_hook(
            lambda m, name, p: replacement if name == "special" else log.append((type(m).__name__, name))
        ),
        module_file.register_module_module_registration_hook(lambda m, name, child: log.append((type(m).__name__, name))),
        module_file.register_module_buffer_registration_hook(lambda m, name, b: log.append((type(m).__name__, name))),
    ]
    try:
        model = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(2, affine=False))
        model.more = nn.Identity()
        model.special = nn.Parameter(torch.ones(1))
    finally:
        for handle in handles:
            handle.remove()
    assert model.special is replacement
    assert log == [
        ("Linear", "weight"), ("Linear", "bias"), ("BatchNorm1d", "weight"), ("BatchNorm1d", "bias"),
        ("BatchNorm1d", "running_mean"), ("BatchNorm1d", "running_var"), ("BatchNorm1d", "num_batches_tracked"),
        ("Sequential", "0"), ("Sequential", "1"), ("Sequential", "more"),
    ]  # fmt: skip


# -- backward hooks ----------------------------------------------------------------------------------------------


def seen_by_hook(function: Any, *args: Any, loss: Any = None, kind: str = "register_full_backward_hook") -> list[Any]:
    """What a hook of a module sees when a loss goes backward."""
    log: list[Any] = []

    def plain(gradients: Any) -> Any:
        return tuple(None if each is None else each.tolist() for each in gradients)

    module = Call(function)
    getattr(module, kind)(lambda m, *gradients: log.append(tuple(plain(each) for each in gradients)))
    output = module(*args)
    (loss or (lambda out: out.sum()))(output).backward()
    return log


def test_full_backward_hooks() -> None:
    x = leaf()
    assert seen_by_hook(lambda x: x * 2, x) == [(([2.0, 2.0],), ([1.0, 1.0],))]
    assert x.grad.tolist() == [2.0, 2.0]
    assert seen_by_hook(lambda x, y: x * y, 3, leaf()) == [((None, [3.0, 3.0]), ([1.0, 1.0],))]
    assert seen_by_hook(lambda x, y: x * y, torch.ones(2), leaf()) == [(([0.0, 0.0], [1.0, 1.0]), ([1.0, 1.0],))]
    assert seen_by_hook(lambda x, y: x * 2, leaf(), leaf()) == [(([2.0, 2.0], [0.0, 0.0]), ([1.0, 1.0],))]
    first = seen_by_hook(lambda x: (x * 2, x * 3), leaf(), loss=lambda out: out[0].sum())
    assert first == [(([2.0, 2.0],), ([1.0, 1.0], None))]
    assert seen_by_hook(lambda x: x * 2, leaf(), kind="register_full_backward_pre_hook") == [(([1.0, 1.0],),)]


def test_full_backward_hooks_without_inputs_that_require_gradients() -> None:
    weight = leaf()
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        assert seen_by_hook(lambda x: x * weight, torch.ones(2)) == [((None,), ([1.0, 1.0],))]
    assert weight.grad.tolist() == [1.0, 1.0]


def test_full_backward_hooks_see_tensors_and_tuples_only() -> None:
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        assert seen_by_hook(lambda x: [x * 2], leaf(), loss=lambda out: out[0].sum()) == []
    module = Call(lambda x: x * 2)
    module.register_full_backward_hook(lambda *args: None)
    with torch.no_grad():
        assert not module(leaf()).requires_grad


def test_backward_hooks_replace_gradients() -> None:
    x = leaf()
    module = Call(lambda x: x * 2)
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 10,))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] + 1,))
    module.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 3,))
    module(x).sum().backward()
    assert x.grad.tolist() == [61.0, 61.0]
    for kind, reply, message in (
        (
            "register_full_backward_hook",
            lambda m, gi, go: (gi[0], gi[0]),
            "invalid number of grad_input, got 2, but expected 1",
        ),
        ("register_full_backward_hook", lambda m, gi, go: gi[0], "invalid number of grad_input"),
        ("register_full_backward_pre_hook", lambda m, go: (go[0], go[0]), "invalid number of grad_output, got 2"),
    ):
        module = Call(lambda x: x * 2)
        getattr(module, kind)(reply)
        with pytest.raises(RuntimeError, match=message):
            module(leaf()).sum().backward()


def test_backward_hooks_of_nested_modules() -> None:
    log: list[str] = []
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    for module in model.modules():
        module.register_full_backward_hook(lambda m, *gradients: log.append(type(m).__name__))
    model(torch.ones(1, 1, requires_grad=True)).sum().backward()
    assert log == ["ReLU", "Linear", "Sequential"]


def test_backward_hooks_and_the_second_derivative() -> None:
    module = Call(lambda x: x**3)
    module.register_full_backward_hook(lambda *args: None)
    x = leaf(2.0)
    (gradient,) = torch.autograd.grad(module(x), x, create_graph=True)
    assert torch.autograd.grad(gradient, x)[0].tolist() == [12.0]


def test_writing_in_place_to_what_hooks_watch_is_refused() -> None:
    module = Call(lambda x: x * 2)
    module.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="modified inplace"):
        module(leaf()).add_(1)


def test_backward_hooks_of_the_older_kind() -> None:
    found = seen_by_hook(lambda x: x * 2 + 1, leaf(), kind="register_backward_hook")
    assert found == [(([1.0, 1.0], None), ([1.0, 1.0],))]
    module = nn.Identity()
    module.register_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both"):
        module.register_full_backward_hook(lambda *args: None)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_global_backward_hooks() -> None:
    log: list[Any] = []
    handles = [
        module_file.register_module_full_backward_hook(lambda m, *gradients: log.append(type(m).__name__)),
        module_file.register_module_full_backward_pre_hook(lambda m, gradients: log.append("before " + type(m).__name__)),
    ]
    try:
        nn.Sequential(nn.Linear(1, 1), nn.Identity())(torch.ones(1, 1)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert log == ["before Sequential", "Sequential", "before Identity", "Identity", "before Linear", "Linear"]


# -- members -----------------------------------------------------------------------------------------------------


def test_names_of_shared_members() -> None:
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, shared, nn.Sequential(shared))
    model.extra = shared.weight
    assert [name for name, _ in model.named_parameters()] == ["extra", "0.bias"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 7
    assert [name for name, _ in model.named_modules()] == ["", "0", "2"]
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1", "2", "2.0"]
    assert [name for name, _ in model.named_children()] == ["0", "2"]
    assert [name for name, _ in model.named_parameters("p")] == ["p.extra", "p.0.bias"]
    assert [name for name, _ in model.named_parameters("p", recurse=False)] == ["p.extra"]
    assert len(model.state_dict()) == 7


def test_assigning_members() -> None:
    module = nn.Module()
    module.register_buffer("a", torch.ones(1), persistent=False)
    module.register_buffer("b", None)
    module.c = nn.Buffer(torch.ones(1))
    module.d = nn.Buffer(torch.ones(1), persistent=False)
    assert list(module.state_dict()) == ["c"]
    module.a = nn.Buffer(torch.ones(1))
    assert list(module.state_dict()) == ["a", "c"]
    module.a = nn.Parameter(torch.ones(1))
    assert [name for name, _ in module.named_buffers()] == ["c", "d"]
    assert [name for name, _ in module.named_parameters()] == ["a"]
    module.a = None
    assert "a" in module._parameters
    module.a = nn.Parameter(torch.ones(1))
    module.child = nn.Identity()
    module.child = None
    assert module._modules == {"child": None}
    del module.a, module.c
    assert not hasattr(module, "a")
    assert not hasattr(module, "c")
    assert {"b", "d", "child"} <= set(dir(module))


class TooEarly(nn.Module):
    def __init__(self, value: Any) -> None:
        self.member = value
        super().__init__()


@pytest.mark.parametrize("make", [lambda: nn.Parameter(torch.ones(1)), nn.Identity, lambda: nn.Buffer(torch.ones(1))])
def test_assigning_before_init(make: Any) -> None:
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        TooEarly(make())


def test_calling_before_init() -> None:
    class Never(nn.Module):
        def __init__(self) -> None:
            self.number = 3

        def forward(self) -> int:
            return self.number

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Never()()


def test_call_super_init() -> None:
    class Mixin:
        def __init__(self, *, number: int) -> None:
            self.number = number

    class Both(nn.Module, Mixin):
        call_super_init = True

    assert Both(number=3).number == 3


def test_submodules_by_name() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1)))
    assert model.get_submodule("0.0") is model[0][0]
    assert model.get_submodule("") is model
    assert model.get_parameter("0.0.weight") is model[0][0].weight
    assert model.get_buffer("0.1.running_mean") is model[0][1].running_mean
    model.set_submodule("0.0", nn.Identity(), strict=True)
    assert isinstance(model[0][0], nn.Identity)
    with pytest.raises(AttributeError, match="has no attribute `7`"):
        model.set_submodule("0.7", nn.Identity(), strict=True)
    model.number = 5
    with pytest.raises(AttributeError, match="`number` is not an nn.Module"):
        model.get_submodule("number")


def test_apply_train_and_requires_grad() -> None:
    log: list[str] = []
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    assert model.apply(lambda m: log.append(type(m).__name__)) is model
    assert log == ["Linear", "ReLU", "Sequential", "Sequential"]
    assert not any(m.training for m in model.eval().modules())
    assert all(m.training for m in model.train().modules())
    assert not any(p.requires_grad for p in model.requires_grad_(False).parameters())


# -- other -------------------------------------------------------------------------------------------------------


def test_printing_of_several_lines() -> None:
    class Talkative(nn.Module):
        def extra_repr(self) -> str:
            return "one\ntwo"

    assert repr(Talkative()) == "Talkative(\n  one\n  two\n)"
    module = nn.Module()
    module.add_module("child", None)
    assert repr(module) == "Module(\n  (child): None\n)"


def test_consume_prefix() -> None:
    state = nn.DataParallel(nn.Sequential(nn.Linear(1, 1))).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    assert set(state._metadata) == {"", "0"}


def test_no_warnings_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = nn.Sequential(nn.LazyLinear(2), nn.Dropout(), nn.LSTM(2, 2, 2, dropout=0.5))
        model(torch.ones(1, 3))
        model.load_state_dict(model.state_dict())


def test_modules_as_often_as_they_are_reached():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, shared)
    assert len(list(model.modules())) == 2 and len(list(model.modules(remove_duplicate=False))) == 3


def test_a_handle_for_a_dict_of_hooks():
    hooks, more, others = OrderedDict(), {}, {}
    first, second = RemovableHandle(hooks), RemovableHandle(hooks, extra_dict=[more, others])
    assert first.id != second.id
    hooks[first.id] = hooks[second.id] = more[second.id] = others[second.id] = print
    second.remove()
    second.remove()
    assert list(hooks) == [first.id] and not more and not others
    with first:
        assert hooks
    assert not hooks


@pytest.mark.parametrize("kind", ["xpu", "ipu", "mtia"])
def test_devices_that_are_not_here(kind):
    with pytest.raises(RuntimeError, match=kind):
        getattr(nn.Linear(2, 2), kind)()
    assert getattr(torch.ones(2), f"is_{kind}") is False
