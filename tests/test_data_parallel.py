"""``nn.DataParallel`` without an accelerator, and on one (a toy device)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from toy_device import ToyDevice

import rushlight as torch
from rushlight.core.devices import DeviceType, register_device_type, unregister_device_type
from rushlight.nn.parallel import data_parallel as function


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Iterator[DeviceType]:
    device_type = ToyDevice()
    register_device_type(device_type)
    monkeypatch.setattr(sys.modules["rushlight.nn.parallel.data_parallel"], "accelerator", lambda: device_type)
    yield device_type
    unregister_device_type("toy")


def test_without_an_accelerator_the_module_runs_itself() -> None:
    model, x = torch.nn.Linear(2, 3), torch.ones(4, 2)
    alone = torch.nn.DataParallel(model, device_ids=[0, 1])
    assert alone.device_ids == [] and torch.equal(alone(x), model(x))
    assert torch.equal(function(model, x), model(x)) and list(alone.state_dict()) == ["module.weight", "module.bias"]


def test_inputs_are_brought_to_the_device(accelerator: DeviceType) -> None:
    model, x = torch.nn.Linear(2, 3), torch.ones(4, 2)
    expected = model(x).tolist()
    spread = torch.nn.DataParallel(model)
    out = spread(x)
    assert spread.device_ids == [0] and out.device.type == "toy" and model.weight.device == out.device
    assert out.detach().cpu().tolist() == expected
    out.sum().backward()
    assert model.weight.grad.cpu().tolist() == [[4.0, 4.0]] * 3
    model.cpu()
    with pytest.raises(RuntimeError, match="module must have its parameters and buffers on device"):
        spread(x)


def test_several_devices_are_refused(accelerator: DeviceType) -> None:
    with pytest.raises(torch.NotSupported, match="DistributedDataParallel"):
        torch.nn.DataParallel(torch.nn.ReLU(), device_ids=[0, 1])
    with pytest.raises(RuntimeError, match="no available devices"):
        torch.nn.DataParallel(torch.nn.ReLU(), device_ids=[])
