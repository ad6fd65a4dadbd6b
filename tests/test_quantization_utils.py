"""``torch.ao.quantization.utils``: questions about QConfigs, ranges and schemes."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.ao import quantization as Q
from rushlight.ao.nn import intrinsic
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


def test_kinds_of_quantization() -> None:
    kinds = [
        utils.get_quant_type(each).name for each in (Q.default_qconfig, Q.default_dynamic_qconfig, Q.float_qparams_weight_only_qconfig)
    ]
    assert kinds == ["STATIC", "DYNAMIC", "WEIGHT_ONLY"]
    assert [utils.get_quant_type(each).name for each in (Q.float16_static_qconfig, Q.float16_dynamic_qconfig)] == ["STATIC", "DYNAMIC"]
    with pytest.raises(Exception, match="Unrecognized dtype combination"):
        utils.get_quant_type(Q.QConfig(Q.default_observer, Q.PlaceholderObserver.with_args(dtype=torch.float32)))
    swapped = {Q.QuantType.STATIC: {nn.Linear: nn.Bilinear}}
    assert utils.get_swapped_custom_module_class(nn.Linear(1, 1), swapped, Q.default_qconfig) is nn.Bilinear
    with pytest.raises(AssertionError, match="did not find corresponding observed module class"):
        utils.get_swapped_custom_module_class(nn.ReLU(), swapped, Q.default_qconfig)
    assert utils.weight_is_quantized(Q.float16_static_qconfig) and utils.activation_is_statically_quantized(Q.default_qconfig)
    assert not utils.activation_is_statically_quantized(Q.default_dynamic_qconfig)
    assert utils.to_underlying_dtype(torch.quint4x2) is torch.uint8 and utils.to_underlying_dtype(torch.int16) is torch.int16
    with pytest.raises(AssertionError, match="Unsupported dtype"):
        utils.to_underlying_dtype(torch.float32)


def test_scales_and_zero_points() -> None:
    assert utils.calculate_qmin_qmax(None, None, False, torch.qint8, True) == (-64, 63)
    assert utils.calculate_qmin_qmax(None, None, False, torch.int32, True) == (-(2**31), 2**31 - 1)
    assert utils.calculate_qmin_qmax(None, None, False, torch.quint4x2, True) == (0, 15)
    assert utils.calculate_qmin_qmax(-8, 7, True, torch.qint8, True) == (-4, 3)
    with pytest.raises(AssertionError, match="=256"):
        Q.MinMaxObserver(dtype=torch.qint8, quant_min=-256, quant_max=255)
    limits, eps = (torch.tensor([-1.0, 0.5]), torch.tensor([3.0, 2.0])), torch.tensor([1e-7])
    scale, zero_point = utils.determine_qparams(*limits, 0, 255, torch.quint8, eps, False, torch.per_channel_affine)
    assert scale.dtype is torch.float64 and scale.tolist() == [0.01568627543747425, 0.007843137718737125]
    assert zero_point.dtype is torch.int64 and zero_point.tolist() == [64, 0]
    scale, zero_point = utils.determine_qparams(limits[0][0], limits[1][0], 0, 15, torch.quint8, eps, True, torch.per_tensor_symmetric)
    assert scale.tolist() == [0.4000000059604645] and zero_point.tolist() == [7]
    with pytest.warns(UserWarning, match="must run observer"):
        assert [each.tolist() for each in utils.determine_qparams(torch.tensor([]), eps, 0, 255, torch.quint8, eps, False)] == [[1.0], [0]]


def test_modules_without_children() -> None:
    layer = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
    assert utils.has_no_children_ignoring_parametrizations(layer)
    assert not utils.has_no_children_ignoring_parametrizations(nn.Sequential(nn.ReLU()))
    assert utils.getattr_from_fqn(nn.Sequential(nn.Linear(1, 2)), "0.out_features") == 2


def test_layers_that_are_quantized_as_one() -> None:
    torch.manual_seed(0)
    linear, conv, x, image = nn.Linear(3, 2), nn.Conv2d(1, 1, 3, padding=1), torch.randn(4, 3), torch.randn(1, 1, 4, 4)
    assert torch.equal(intrinsic.LinearLeakyReLU(linear, nn.LeakyReLU(0.1))(x), nn.functional.leaky_relu(linear(x), 0.1))
    assert torch.equal(intrinsic.LinearTanh(linear=linear, tanh=nn.Tanh())(x), linear(x).tanh())
    with pytest.raises(AssertionError):
        intrinsic.LinearTanh(linear, nn.ReLU())
    added = intrinsic.ConvAdd2d(conv, torch.add)
    assert torch.equal(added(image, image), conv(image) + image) and list(added.state_dict()) == ["0.weight", "0.bias"]
    fused = intrinsic.ConvAddReLU2d(conv, torch.add, nn.ReLU())
    assert torch.equal(fused(image, image), torch.relu(conv(image) + image)) and [name for name, _ in fused.named_children()] == [
        "0",
        "relu",
    ]
