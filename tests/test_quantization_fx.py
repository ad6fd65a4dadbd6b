"""Quantization of traced models: the values that PyTorch 2.13 gives for the same models, mappings and data."""

from __future__ import annotations

import copy
import zipfile
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.ao.quantization import (
    FusedMovingAvgObsFakeQuantize,
    QConfigMapping,
    default_dynamic_qconfig,
    default_qconfig,
    float_qparams_weight_only_qconfig,
    get_default_qat_qconfig_mapping,
    get_default_qconfig_mapping,
    quantize_fx,
)
from rushlight.nn import functional as F


def wave(*shape: int, step: float = 0.7) -> Any:
    """Numbers between -1 and 1 that no generator draws."""
    return torch.sin(torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32) * step).reshape(shape)


class Net(nn.Module):
    """A residual block, a concatenation, poolings, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.conv, self.bn = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.pool, self.drop = nn.AdaptiveAvgPool2d(1), nn.Dropout(0.0)
        self.fc1, self.fc2 = nn.Linear(8, 6), nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        y = F.relu(self.bn(self.conv(x)) + x)
        z = self.pool(torch.cat([x, y], 1)).flatten(1)
        return torch.sigmoid(self.fc2(F.relu(self.fc1(self.drop(z))))) * 2


def net() -> Net:
    made = Net()
    with torch.no_grad():
        for number, each in enumerate(made.parameters()):
            each.copy_(wave(*each.shape, step=0.3 + 0.1 * number))
        for number, bn in enumerate((made.stem[1], made.bn)):
            bn.running_mean.copy_(wave(4, step=0.9 + number) * 0.2)
            bn.running_var.copy_(wave(4, step=0.4 + number).abs() + 0.5)
    return made


# Recorded from PyTorch 2.13, engine fbgemm.
OBSERVERS = 13
WHOLE = [[1.9922, 1.9922, 0.0938, 1.9922, 1.9922, 0.5312], [1.9922, 1.9922, 1.9922, 1.9922, 1.9922, 1.9922]]
PARTS = [1.9843, 1.9843, 0.0945, 1.9843, 1.9843, 0.378]
DYNAMIC = [2.0, 1.9999, 0.0795, 2.0, 1.9998, 0.4812]
EMBEDDED = [2.8871, -1.1586, -0.5984, 2.6745]
LOSSES = [0.174856, 0.169362, 0.180847]
TRAINED = [1.9766, 1.9141, 0.4844, 1.9766, 1.9453, 0.7109]

FUNCTIONAL = [[-2.1792, -2.2266, -2.0845, -0.5211, -0.758, -0.9001], [0.0, -0.1895, -0.379, 0.0, -0.1895, -0.379]]
FUNCTIONAL_STATE = [
    "_input_scale_0",
    "_input_zero_point_0",
    "_scale_1",
    "_zero_point_1",
    "_scale_4",
    "_zero_point_4",
    "_scale_7",
    "_zero_point_7",
    "conv.weight",
    "conv.bias",
    "conv.scale",
    "conv.zero_point",
    "_packed_weight_0",
    "_packed_weight_1",
    "_packed_weight_2",
]
FUNCTIONAL_DYNAMIC = [-1.7867, -1.9134, -1.8828, -1.2403, -1.391, -1.4311]
FUNCTIONAL_GRADIENTS = [4.945, 3.499, 62.167, 16.557, 29.632, 8.746]

DATA = [wave(2, 2, 10, 10, step=0.11 + 0.05 * number) * (1 + number) for number in range(3)]


def rounded(value: Any) -> list[float]:
    return [round(each, 4) for each in value.flatten().tolist()]


def calibrated(mapping: Any) -> Any:
    prepared = quantize_fx.prepare_fx(net().eval(), mapping, (DATA[0],))
    for each in DATA:
        prepared(each)
    return quantize_fx.convert_fx(prepared)


def test_batch_normalisations_and_relus_are_fused() -> None:
    model = net().eval()
    fused = quantize_fx.fuse_fx(model)
    assert [str(node.target) for node in fused.graph.nodes if node.op == "call_module"] == [
        "stem.0",
        "stem.3",
        "conv",
        "pool",
        "drop",
        "fc1",
        "fc2",
    ]
    assert torch.allclose(fused(DATA[0]), model(DATA[0]), atol=1e-5)


def test_observers_stand_behind_what_is_quantized() -> None:
    prepared = quantize_fx.prepare_fx(net().eval(), get_default_qconfig_mapping("fbgemm"), (DATA[0],))
    observers = [prepared.get_submodule(str(node.target)) for node in prepared.graph.nodes if "activation_post" in str(node.target)]
    assert len(observers) == OBSERVERS
    # The operands of the concatenation, its result and the poolings' have one scale.
    assert observers[1] is observers[2] is observers[4] is observers[5] is observers[6]


def test_a_whole_model_is_quantized() -> None:
    converted = calibrated(get_default_qconfig_mapping("fbgemm"))
    assert [rounded(converted(each)) for each in DATA[:2]] == WHOLE
    assert type(converted.get_submodule("stem.0")).__name__ == "ConvReLU2d" and converted.fc2.scale > 0
    assert not any("activation_post_process" in name or hasattr(each, "qconfig") for name, each in converted.named_modules())
    again = calibrated(get_default_qconfig_mapping("fbgemm"))
    again.load_state_dict(converted.state_dict())
    assert torch.equal(again(DATA[2]), converted(DATA[2]))


def test_parts_of_a_model_stay_float() -> None:
    mapping = QConfigMapping().set_global(default_qconfig).set_module_name("fc2", None).set_object_type(nn.AdaptiveAvgPool2d, None)
    converted = calibrated(mapping)
    assert type(converted.fc2) is nn.Linear and rounded(converted(DATA[0])) == PARTS
    by_pattern = calibrated(QConfigMapping().set_module_name_regex("fc.*", default_qconfig))
    assert type(by_pattern.conv) is nn.Conv2d and type(by_pattern.fc2).__module__.startswith("rushlight.ao.nn.quantized")


def test_dynamic_and_weight_only() -> None:
    converted = calibrated(QConfigMapping().set_module_name_regex("fc.*", default_dynamic_qconfig))
    assert rounded(converted(DATA[0])) == DYNAMIC
    with pytest.raises(LookupError, match="same qconfigs for all module types"):  # a ReLU that is fused needs the layer's
        calibrated(QConfigMapping().set_object_type(nn.Linear, default_dynamic_qconfig))
    bag = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 2)).eval()
    with torch.no_grad():
        for each in bag.parameters():
            each.copy_(wave(*each.shape))
    mapping = QConfigMapping().set_object_type(nn.Embedding, float_qparams_weight_only_qconfig)
    made = quantize_fx.convert_fx(quantize_fx.prepare_fx(bag, mapping, (torch.tensor([1]),)))
    assert rounded(made(torch.tensor([0, 3]))) == EMBEDDED


class Functional(nn.Module):
    """Layers as functions of their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel, self.bias = nn.Parameter(wave(4, 2, 3, 3)), nn.Parameter(wave(4, step=0.4))
        self.first, self.second = nn.Parameter(wave(6, 4, step=0.9)), nn.Parameter(wave(3, 6, step=1.1))
        self.conv = nn.Conv2d(4, 4, 1)
        with torch.no_grad():
            self.conv.weight.copy_(wave(4, 4, 1, 1, step=0.5))
            self.conv.bias.copy_(wave(4, step=0.8))

    def forward(self, x: Any) -> Any:
        x = F.relu(F.conv2d(x, self.kernel, self.bias, stride=(2, 2), padding=(1, 1), dilation=(1, 1), groups=1))
        x = F.linear(self.conv(x).mean((2, 3)), self.first)
        return F.linear(x.relu(), self.second, bias=None)


def test_functions_of_weights_are_quantized(tmp_path: Path) -> None:
    prepared = quantize_fx.prepare_fx(Functional().eval(), get_default_qconfig_mapping("fbgemm"), (DATA[0],))
    for each in DATA:
        prepared(each)
    converted = quantize_fx.convert_fx(prepared)
    assert [rounded(converted(each)) for each in DATA[:2]] == FUNCTIONAL
    assert [node.target.__name__ for node in converted.graph.nodes if node.op == "call_function"][1:] == ["conv2d_relu", "linear", "linear"]
    assert list(converted.state_dict()) == FUNCTIONAL_STATE and not list(converted.parameters())
    other = quantize_fx.convert_fx(quantize_fx.prepare_fx(Functional().eval(), get_default_qconfig_mapping("fbgemm"), (DATA[0],)))
    torch.save(converted.state_dict(), tmp_path / "state.pt")
    assert b"torch\nScriptObject" in zipfile.ZipFile(tmp_path / "state.pt").read("state/data.pkl")  # as PyTorch names packed weights
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=False))
    assert torch.equal(other(DATA[1]), converted(DATA[1])) and torch.equal(copy.deepcopy(converted)(DATA[1]), converted(DATA[1]))
    with pytest.raises(RuntimeError, match="_packed_weight_1"):
        other.load_state_dict({name: value for name, value in converted.state_dict().items() if name != "_packed_weight_1"})


def test_functions_of_weights_are_quantized_dynamically_and_trained() -> None:
    mapping = QConfigMapping().set_global(default_dynamic_qconfig)
    converted = quantize_fx.convert_fx(quantize_fx.prepare_fx(Functional().eval(), mapping, (DATA[0],)))
    assert rounded(converted(DATA[0])) == FUNCTIONAL_DYNAMIC
    prepared = quantize_fx.prepare_qat_fx(Functional().train(), get_default_qat_qconfig_mapping("fbgemm"), (DATA[0],))
    prepared(DATA[0]).sum().backward()
    assert [round(each.grad.norm().item(), 3) for each in prepared.parameters()] == pytest.approx(FUNCTIONAL_GRADIENTS, rel=5e-3)


def test_a_fake_quantization_that_runs_twice_keeps_the_limits_of_each_run() -> None:
    module = FusedMovingAvgObsFakeQuantize()
    x = wave(40).requires_grad_()
    module(module(x) * 0.1).sum().backward()
    assert x.grad is not None and x.grad.ne(0).sum().item() == 40  # the second run narrows the range


def test_training_for_quantization() -> None:
    prepared = quantize_fx.prepare_qat_fx(net().train(), get_default_qat_qconfig_mapping("fbgemm"), (DATA[0],))
    optimizer = torch.optim.SGD(prepared.parameters(), lr=0.01)
    losses = []
    for each in DATA:
        loss = (prepared(each) - 0.5).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == pytest.approx(LOSSES, rel=1e-3)
    assert rounded(quantize_fx.convert_fx(prepared.eval())(DATA[0])) == TRAINED


def test_settings_that_are_not_here_say_so() -> None:
    with pytest.raises(NotImplementedError, match="backend_config"):
        quantize_fx.prepare_fx(net().eval(), QConfigMapping(), (DATA[0],), backend_config=object())


def test_mappings_as_dicts() -> None:
    mapping = get_default_qconfig_mapping("qnnpack").set_module_name("a", None).set_module_name_object_type_order("b", nn.Linear, 0, None)
    again = QConfigMapping.from_dict(mapping.to_dict())
    assert again.to_dict() == mapping.to_dict()
    assert again.qconfig_for("a.b", nn.Linear) is None and again.qconfig_for("c", nn.Linear) is mapping.global_qconfig
