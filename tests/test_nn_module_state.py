"""What a Module keeps: states that are saved and loaded, types, copies, parameters without a shape."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

# -- state -------------------------------------------------------------------------------------------------------


def test_state_dict_shares_memory() -> None:
    layer = nn.Linear(1, 1)
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight
    plain = layer.state_dict()["weight"]
    assert not plain.requires_grad
    plain.fill_(7.0)
    assert layer.weight.item() == 7.0
    assert list(layer.state_dict(prefix="a.")) == ["a.weight", "a.bias"]
    with pytest.warns(FutureWarning, match="Positional args"):
        assert list(layer.state_dict({}, "b.")) == ["b.weight", "b.bias"]


def values_of(module: Any) -> list[Any]:
    return [each.tolist() for each in module.state_dict().values()]


def model_and_state() -> tuple[Any, Any]:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    return model, copy.deepcopy(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).state_dict())


@pytest.mark.parametrize("problem", ["shape", "missing", "unexpected", "type", "meta"])
def test_a_failed_load_changes_nothing(problem: str) -> None:
    model, state = model_and_state()
    if problem == "shape":
        state["1.weight"] = torch.ones(3)
    elif problem == "missing":
        del state["1.running_var"]
    elif problem == "unexpected":
        state["1.more"] = torch.ones(1)
    elif problem == "type":
        state["1.bias"] = 5
    else:
        state["1.bias"] = torch.ones(2, device="meta")
    before = values_of(model)
    with pytest.raises(RuntimeError, match=r"Error\(s\) in loading state_dict for Sequential"):
        model.load_state_dict(state)
    assert values_of(model) == before


def test_all_problems_are_listed() -> None:
    model, state = model_and_state()
    state["0.weight"] = torch.ones(3)
    state["1.weight"] = torch.ones(4)
    state["more"] = torch.ones(1)
    del state["0.bias"]
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(state)
    assert str(caught.value).split("\n\t") == [
        "Error(s) in loading state_dict for Sequential:",
        'Missing key(s) in state_dict: "0.bias". ',
        'Unexpected key(s) in state_dict: "more". ',
        "size mismatch for 0.weight: copying a param with shape torch.Size([3]) from checkpoint, the shape in current model is "
        "torch.Size([2, 2]).",
        "size mismatch for 1.weight: copying a param with shape torch.Size([4]) from checkpoint, the shape in current model is "
        "torch.Size([2]).",
    ]


def test_loading_without_strictness() -> None:
    model, state = model_and_state()
    del state["0.bias"]
    state["more"] = torch.ones(1)
    result = model.load_state_dict(state, strict=False)
    assert result.missing_keys == ["0.bias"]
    assert result.unexpected_keys == ["more"]
    assert torch.equal(model[0].weight, state["0.weight"])


def test_hooks_may_strike_keys_off_the_lists() -> None:
    model, state = model_and_state()
    del state["0.bias"]
    before = values_of(model)
    seen: list[Any] = []

    def look(module: Any, keys: Any) -> None:
        seen.append((list(keys.missing_keys), module[0].weight.tolist()))

    handle = model.register_load_state_dict_post_hook(look)
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict(state)
    assert seen == [(["0.bias"], state["0.weight"].tolist())]  # hooks see what was loaded
    assert values_of(model) == before  # and yet nothing is changed
    handle.remove()
    model.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert repr(model.load_state_dict(state)) == "<All keys matched successfully>"
    assert torch.equal(model[0].weight, state["0.weight"])


def test_loading_by_assignment() -> None:
    layer = nn.Linear(2, 2)
    state = {"weight": torch.ones(2, 2, dtype=torch.float64), "bias": torch.ones(2)}
    layer.load_state_dict(state, assign=True)
    assert layer.weight.dtype == torch.float64
    assert isinstance(layer.weight, nn.Parameter)
    state["weight"].fill_(3.0)
    assert layer.weight[0, 0].item() == 3.0


def test_loading_into_the_meta_device() -> None:
    layer = nn.Linear(2, 2, device="meta")
    with pytest.warns(UserWarning, match="no-op"):
        layer.load_state_dict(nn.Linear(2, 2).state_dict())
    assert layer.weight.is_meta
    layer.load_state_dict(nn.Linear(2, 2).state_dict(), assign=True)
    assert not layer.weight.is_meta


class Extra(nn.Module):
    def __init__(self, value: int) -> None:
        super().__init__()
        self.value = value
        self.weight = nn.Parameter(torch.full((2,), float(value)))

    def get_extra_state(self) -> int:
        return self.value

    def set_extra_state(self, state: int) -> None:
        self.value = state


def test_extra_state() -> None:
    first, second = Extra(1), Extra(2)
    assert list(first.state_dict()) == ["weight", "_extra_state"]
    second.load_state_dict(first.state_dict())
    assert second.value == 1
    third = Extra(3)
    with pytest.raises(RuntimeError, match='Missing key.*"weight"'):
        third.load_state_dict({"_extra_state": 1})
    assert third.value == 3
    with pytest.raises(RuntimeError, match='Missing key.*"_extra_state"'):
        third.load_state_dict({"weight": torch.ones(2)})


def test_state_hooks() -> None:
    log: list[Any] = []
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    model.register_state_dict_pre_hook(lambda m, prefix, keep_vars: log.append(("before", prefix, keep_vars)))
    model[0].register_state_dict_post_hook(lambda m, state, prefix, local: log.append(("after", list(state), prefix, local)))
    model[0].register_load_state_dict_pre_hook(
        lambda m, state, prefix, local, strict, *lists: log.append((type(m).__name__, list(state), prefix, strict, lists))
    )
    model.load_state_dict(model.state_dict())
    assert log == [
        ("before", "", False),
        ("after", ["0.0.weight", "0.0.bias"], "0.", {"version": 1}),
        ("Sequential", ["0.0.weight", "0.0.bias"], "0.", True, ([], [], [])),
    ]
    model.register_state_dict_post_hook(lambda m, state, prefix, local: state)
    with pytest.raises(RuntimeError, match="must return None"):
        model.state_dict()


def test_a_load_hook_may_rename_keys() -> None:
    layer = nn.Linear(1, 1)

    def rename(state: Any, prefix: str, *rest: Any) -> None:
        state[prefix + "weight"] = state.pop(prefix + "old")

    layer._register_load_state_dict_pre_hook(rename)
    layer.load_state_dict({"old": torch.full((1, 1), 5.0), "bias": torch.ones(1)})
    assert layer.weight.item() == 5.0


def test_a_subclass_may_load_by_itself() -> None:
    class Doubled(nn.Linear):
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            state_dict[prefix + "bias"] = state_dict[prefix + "bias"] * 2
            super()._load_from_state_dict(state_dict, prefix, *rest)

    layer = Doubled(1, 1)
    missing: list[str] = []
    layer.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1)})
    assert layer.bias.item() == 2.0
    layer._load_from_state_dict({"weight": torch.zeros(1, 1), "bias": torch.ones(1)}, "", {}, True, missing, [], [])
    assert layer.weight.item() == 0.0  # outside of load_state_dict the copying is done at once


def test_old_states_of_no_dimension() -> None:
    layer = nn.BatchNorm1d(1)
    layer.load_state_dict({**layer.state_dict(), "num_batches_tracked": torch.tensor([3])})
    assert layer.num_batches_tracked.item() == 3


# -- moving and casting ------------------------------------------------------------------------------------------


def dtypes(module: Any) -> list[str]:
    return [str(each.dtype).removeprefix("torch.") for each in module.state_dict().values()]


def test_casting() -> None:
    make = lambda: nn.BatchNorm1d(2, affine=False)
    assert dtypes(make().double()) == ["float64", "float64", "int64"]
    assert dtypes(make().half()) == ["float16", "float16", "int64"]
    assert dtypes(make().bfloat16().float()) == ["float32", "float32", "int64"]
    assert dtypes(make().to(torch.float16)) == ["float16", "float16", "int64"]
    assert dtypes(make().to("cpu", torch.float64)) == ["float64", "float64", "int64"]
    assert dtypes(make().to(torch.ones(1, dtype=torch.float64))) == ["float64", "float64", "int64"]
    assert dtypes(make().to(dtype=torch.float16, device="cpu")) == ["float16", "float16", "int64"]
    assert dtypes(make().type(torch.float64)) == ["float64", "float64", "float64"]
    layer = nn.Conv2d(2, 2, 2).to(memory_format=torch.channels_last)
    assert layer.weight.is_contiguous(memory_format=torch.channels_last)


def test_casting_keeps_the_parameter_and_its_gradient() -> None:
    layer = nn.Linear(1, 1)
    weight = layer.weight
    layer(torch.ones(1, 1)).sum().backward()
    layer.double()
    assert layer.weight is weight
    assert weight.grad.dtype == weight.dtype == torch.float64
    gradient = weight.grad
    layer.zero_grad(set_to_none=False)
    assert weight.grad is gradient
    assert gradient.item() == 0
    layer.zero_grad()
    assert weight.grad is None


def test_to_the_meta_device_and_back() -> None:
    layer = nn.Linear(2, 2).to("meta")
    assert layer.weight.is_meta
    assert layer(torch.ones(1, 2, device="meta")).shape == (1, 2)
    with pytest.raises(NotImplementedError, match="to_empty"):
        layer.to("cpu")
    assert not layer.to_empty(device="cpu").weight.is_meta
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="device 'cuda' is not available"):
            layer.cuda()


# -- copying -----------------------------------------------------------------------------------------------------


def negative(module: Any, args: Any, output: Any) -> Any:
    return -output


def test_hooks_are_copied_and_pickled() -> None:
    layer = nn.Linear(1, 1)
    handle = layer.register_forward_hook(negative)
    layer.register_load_state_dict_pre_hook(refuse_nothing)
    copies = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]
    handle.remove()
    x = torch.ones(1, 1)
    for other in copies:
        assert torch.equal(other(x), -layer(x))
        other.load_state_dict(layer.state_dict())
        assert seen_modules.pop() is other  # not the one that was copied


seen_modules: list[Any] = []


def refuse_nothing(module: Any, *rest: Any) -> None:
    seen_modules.append(module)


def test_copies_of_shared_parameters_are_shared() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    for other in (
        copy.deepcopy(nn.Sequential(first, second)),
        pickle.loads(pickle.dumps(nn.Sequential(first, second))),
    ):
        assert other[0].weight is other[1].weight
        assert other[0].weight is not first.weight


def test_a_shallow_copy_shares_parameters() -> None:
    layer = nn.Linear(1, 1)
    assert copy.copy(layer).weight is layer.weight


def test_copies_of_parameters() -> None:
    parameter = nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    parameter.note = 3
    copied = copy.deepcopy(parameter)
    assert copied.grad is None
    assert type(copied) is nn.Parameter
    assert not hasattr(copied, "note")
    loaded = pickle.loads(pickle.dumps(parameter))
    assert loaded.note == 3
    assert loaded.requires_grad
    assert type(loaded) is nn.Parameter
    assert type(parameter * 2) is torch.Tensor


def test_parameters_of_subclasses() -> None:
    class Special(torch.Tensor):
        pass

    parameter = nn.Parameter(torch.ones(2).as_subclass(Special))
    assert type(parameter) is Special
    assert isinstance(parameter, nn.Parameter)
    module = nn.Module()
    module.weight = parameter
    assert list(module.parameters()) == [parameter] or next(module.parameters()) is parameter
    assert not isinstance(torch.ones(2), nn.Parameter)
    buffer = nn.Buffer(torch.ones(2))
    assert isinstance(buffer, nn.Buffer)
    assert type(buffer) is torch.Tensor
    assert not isinstance(torch.ones(2), nn.Buffer)
    with pytest.raises(TypeError, match="a Tensor is needed"):
        nn.Parameter(3)


def test_a_module_dies_without_the_garbage_collector() -> None:
    gc.disable()
    try:
        module = nn.Sequential(nn.Linear(1, 1), nn.LSTM(1, 1))
        gone = weakref.ref(module)
        del module
        assert gone() is None
    finally:
        gc.enable()


# -- lazy modules ------------------------------------------------------------------------------------------------


def test_a_lazy_module_becomes_an_ordinary_one() -> None:
    layer = nn.LazyLinear(3)
    assert layer.has_uninitialized_params()
    assert layer.weight.dtype == torch.float32
    optimised = list(layer.parameters())
    layer(torch.ones(2, 4))
    assert type(layer) is nn.Linear
    assert not layer._forward_pre_hooks
    assert "_initialize_hook" not in layer.__dict__
    assert optimised[0] is layer.weight
    assert layer.weight.shape == (3, 4)
    assert layer.weight.requires_grad


def test_states_of_lazy_modules() -> None:
    lazy, layer = nn.LazyLinear(3), nn.Linear(2, 3)
    lazy.load_state_dict(nn.LazyLinear(3).state_dict())
    assert lazy.has_uninitialized_params()
    lazy.load_state_dict(layer.state_dict())
    assert torch.equal(lazy.weight, layer.weight)
    lazy(torch.ones(1, 2))
    assert lazy.in_features == 2
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        layer.load_state_dict(nn.LazyLinear(3).state_dict())
    other = nn.Sequential(nn.LazyLinear(3), nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="size mismatch"):
        other.load_state_dict(nn.Sequential(layer, nn.Linear(2, 2)).state_dict())
    assert other[0].has_uninitialized_params()


def test_lazy_modules_are_cast_and_moved() -> None:
    norm = nn.LazyBatchNorm1d().half()
    assert norm.running_mean.dtype == norm.weight.dtype == torch.float16
    norm(torch.ones(2, 3, dtype=torch.float16))
    assert norm.running_mean.dtype == norm.weight.dtype == torch.float16
    layer = nn.LazyLinear(2).to("meta")
    assert layer.weight.device.type == "meta"
    assert layer(torch.ones(1, 3, device="meta")).is_meta


def test_uninitialised_parameters_can_not_be_used() -> None:
    weight = nn.LazyLinear(2).weight
    for use in (lambda: weight + 1, lambda: weight.sum(), lambda: weight @ torch.ones(2), lambda: torch.cat([weight])):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            use()


def test_a_lazy_module_of_ones_own() -> None:
    class LazyScale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.UninitializedParameter()

        def initialize_parameters(self, input: Any) -> None:
            self.scale.materialize(input.shape[-1:])
            nn.init.ones_(self.scale)

        def forward(self, input: Any) -> Any:
            return input * self.scale

    module = LazyScale()
    assert module(torch.ones(2, 3)).shape == (2, 3)
    assert type(module) is LazyScale

    class Forgetful(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.UninitializedParameter()

        def initialize_parameters(self, input: Any) -> None:
            pass

    with pytest.raises(RuntimeError, match="not been fully initialized"):
        Forgetful()(torch.ones(1))


def test_convolutions_begin_with_the_same_weights_in_every_memory_format():
    for layer, memory_format in ((torch.nn.Conv2d(3, 6, 3), torch.channels_last), (torch.nn.Conv3d(3, 6, 3), torch.channels_last_3d)):
        torch.manual_seed(42)
        layer.reset_parameters()
        plain = layer.weight.detach().clone()
        layer.to(memory_format=memory_format)
        torch.manual_seed(42)
        layer.reset_parameters()
        assert torch.equal(layer.weight, plain) and layer.weight.is_contiguous(memory_format=memory_format)


def test_assigned_buffer_is_registered_by_a_method_without_persistent():
    class Older(torch.nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    module = Older()
    module.kept = torch.nn.Buffer(torch.ones(2))
    assert module.kept.tolist() == [1, 1] and "kept" in module.state_dict()
    with pytest.raises(RuntimeError, match="non-persistent buffer"):
        module.other = torch.nn.Buffer(torch.ones(2), persistent=False)
