"""``torch.ao.quantization.utils``: questions about QConfigs, ranges and schemes."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.ao import quantization as Q
from rushlight.ao.quantization import utils


def test_qconfigs_say_how_they_quantize() -> None:
    assert utils.get_qconfig_dtypes(Q.default_qconfig) == (torch.quint8, torch.qint8, False)
    assert utils.op_is_int8_dynamically_quantized(Q.default_dynamic_qconfig) and not utils.op_is_int8_dynamically_quantized(
        Q.default_qconfig
    )
    assert utils.activation_is_dynamically_quantized(Q.float16_dynamic_qconfig)
    assert utils.weight_dtype(Q.float16_static_qconfig) is torch.float16 and not utils.weight_is_statically_quantized(
        Q.float16_static_qconfig
    )
    assert utils.activation_is_int8_quantized(Q.default_qconfig) and not utils.activation_is_int32_quantized(Q.default_qconfig)
    with pytest.raises(AssertionError, match="determine activation dtype"):
        utils.activation_dtype(None)


def test_parameters_of_observers() -> None:
    observer = Q.default_per_channel_qconfig.weight()
    observer(torch.arange(12.0).reshape(3, 4))
    found = utils.get_qparam_dict(observer)
    assert found["qscheme"] is torch.per_channel_affine and found["axis"] == 0 and found["zero_point"].tolist() == [0, 0, 0]
    assert (found["quant_min"], found["quant_max"]) == (-128, 127)
    assert utils.get_qparam_dict(Q.default_dynamic_qconfig.activation()) == {"qscheme": None, "dtype": torch.quint8}


def test_ranges() -> None:
    assert utils.check_min_max_valid(torch.tensor(1.0), torch.tensor(2.0))
    with pytest.warns(UserWarning, match="must run observer"):
        assert not utils.check_min_max_valid(torch.tensor(float("inf")), torch.tensor(float("-inf")))
    with pytest.raises(AssertionError, match="should be less than max"):
        utils.check_min_max_valid(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]))
    with pytest.raises(AssertionError, match="must include 0"):
        utils.validate_qmin_qmax(1, 2)
    with pytest.raises(AssertionError, match="strictly less"):
        utils.validate_qmin_qmax(0, 0)


def test_modules_without_children() -> None:
    layer = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
    assert utils.has_no_children_ignoring_parametrizations(layer)
    assert not utils.has_no_children_ignoring_parametrizations(nn.Sequential(nn.ReLU()))
    assert utils.getattr_from_fqn(nn.Sequential(nn.Linear(1, 2)), "0.out_features") == 2
