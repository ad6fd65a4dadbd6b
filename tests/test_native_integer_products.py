"""Dynamically quantized linear layers by native products of bytes: bit for bit what NumPy gives."""

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.ao.nn.quantized.dynamic import Linear
from rushlight.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic
from rushlight.core import kernel_providers

pytest.importorskip("llvmlite")


def plainly(function, *args):
    kernel_providers.switch_off()
    try:
        return function(*args)
    finally:
        kernel_providers.switch_on()


@pytest.fixture
def natively(monkeypatch):
    """How often native code has run."""
    from rushlight.backends.native.eager import integer_products

    calls, plain = [], integer_products.run

    def run(*args):
        calls.append(args)
        return plain(*args)

    monkeypatch.setattr(integer_products, "run", run)
    return calls


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize("depth, width", [(64, 64), (1, 1), (63, 70), (130, 17), (256, 33)])
def test_the_same_as_numpy(depth, width, per_channel, natively):
    rushlight.manual_seed(depth)
    layer = nn.Sequential(nn.Linear(depth, width, bias=depth != 63))
    made = quantize_dynamic(layer, {nn.Linear: per_channel_dynamic_qconfig} if per_channel else {nn.Linear})
    for rows in (1, 2, 4, 5, 11, 24):
        x = rushlight.randn(rows, depth) * 3
        assert made(x).equal(plainly(made, x))
    assert len(natively) == 6


def test_shapes_and_relu(natively):
    layer = Linear.from_float(nn.Linear(40, 30))
    for shape in ((40,), (2, 3, 40), (0, 40), (7, 40)):
        x = rushlight.randn(*shape)
        assert layer(x).shape == (*shape[:-1], 30) and layer(x).equal(plainly(layer, x))
    strided = rushlight.randn(40, 6).t()
    assert layer(strided).equal(plainly(layer, strided))
    layer._relu = True
    assert layer(strided).equal(plainly(layer, strided)) and layer(strided).min() == 0
    assert natively


def test_special_values(natively):
    layer = Linear.from_float(nn.Linear(40, 30))
    for value in (0.0, -0.0, 1e-40, 1e30, -5.0):
        x = rushlight.full((3, 40), value)
        assert layer(x).equal(plainly(layer, x))
    with rushlight.no_grad():
        layer.bias()[3] = float("nan")
    assert layer(x)[:, 3].isnan().all()
    assert natively


def test_another_weight_is_packed_again():
    layer, x = Linear.from_float(nn.Linear(40, 30)), rushlight.randn(3, 40)
    layer(x)
    layer.set_weight_bias(Linear.from_float(nn.Linear(40, 30)).weight(), None)
    assert layer(x).equal(plainly(layer, x))
    assert np.isfinite(layer(x).numpy()).all()
