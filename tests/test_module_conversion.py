"""`rushlight.__future__`: conversions of Modules that swap parameters or put new ones in their place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rushlight as torch
from rushlight import nn


@pytest.fixture
def swapping() -> Iterator[None]:
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_a_conversion_changes_parameters_in_place_by_default() -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight
    assert layer.double().weight is weight
    assert weight.dtype == torch.float64
    assert not torch.__future__.get_overwrite_module_params_on_conversion()
    assert not torch.__future__.get_swap_module_params_on_conversion()


def test_overwriting_conversions_leave_the_old_parameter_alone() -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight
    weight.grad = torch.ones(2, 2)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer.double()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert layer.weight is not weight
    assert isinstance(layer.weight, nn.Parameter)
    assert weight.dtype == torch.float32
    assert (layer.weight.dtype, layer.weight.grad.dtype) == (torch.float64, torch.float64)


def test_swapping_conversions_keep_the_objects(swapping: None) -> None:
    layer = nn.Linear(2, 2)
    weight, gradient = layer.weight, torch.ones(2, 2)
    weight.grad = gradient
    layer.double()
    assert layer.weight is weight
    assert weight.grad is gradient
    assert (weight.dtype, gradient.dtype) == (torch.float64, torch.float64)


def test_loading_by_swap_asks_module_load(swapping: None) -> None:
    class Scaled(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if func is torch.Tensor.module_load:
                return nn.Parameter(args[1].detach() * 2)
            return super().__torch_function__(func, types, args, kwargs or {})

    layer = nn.Linear(2, 2, bias=False)
    layer.weight = nn.Parameter(torch.zeros(2, 2).as_subclass(Scaled))
    weight = layer.weight
    layer.load_state_dict({"weight": torch.ones(2, 2)})
    assert layer.weight is weight
    assert type(weight) is nn.Parameter
    assert weight.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_loading_by_swap_is_undone_where_keys_do_not_match(swapping: None) -> None:
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    layer.register_load_state_dict_post_hook(lambda module, keys: None)
    with pytest.raises(RuntimeError, match="Missing key"):
        layer.load_state_dict({"weight": torch.ones(2, 2)})
    assert torch.equal(layer.weight, before)


def test_what_module_load_returns_must_be_new(swapping: None) -> None:
    class Same(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if func is torch.Tensor.module_load:
                return args[0]
            return super().__torch_function__(func, types, args, kwargs or {})

    layer = nn.Linear(2, 2, bias=False)
    layer.weight = nn.Parameter(torch.zeros(2, 2).as_subclass(Same))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        layer.load_state_dict({"weight": torch.ones(2, 2)})
