"""Modules of the library as scripts, and inside scripts: run, differentiated, saved and loaded, frozen and exported."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest
from support.onnx_files import onnx_session

import rushlight as torch
from rushlight import Tensor, jit, nn

torch.manual_seed(0)
randn = torch.randn


class Holder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


class First(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y, _ = self.inner(x)
        if bool(y.sum() > 0):
            y = y * 2
        return y


class Attended(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        y, weights = self.inner(x, x, x)
        if weights is not None:
            y = y + weights.sum()
        return y


class Convolution(nn.Conv2d):
    def __init__(self):
        super().__init__(2, 3, 3)


class Doubled(nn.Conv2d):
    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight, bias) * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = Convolution()
        self.normed = nn.BatchNorm2d(3)
        self.recurrent = nn.LSTM(3, 3, batch_first=True)

    def forward(self, x):
        y = self.normed(self.convolution(x)).flatten(2).transpose(1, 2)
        out, (h, c) = self.recurrent(y)
        for _ in range(2):
            out = out + h.mean() + c.sum()
        return out


IMAGE = (randn(1, 2, 5, 5),)
SERIES = (randn(3, 2, 4),)
MODULES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "conv1d": (nn.Conv1d(2, 3, 3), (randn(1, 2, 5),)),
    "conv2d": (nn.Conv2d(2, 3, 3), IMAGE),
    "conv2d, circular": (nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), IMAGE),
    "transposed": (nn.ConvTranspose2d(2, 3, 3), IMAGE),
    "batch norm": (nn.BatchNorm2d(2), IMAGE),
    "instance norm": (nn.InstanceNorm2d(2), IMAGE),
    "group norm": (nn.GroupNorm(2, 4), (randn(2, 4, 3),)),
    "layer norm": (nn.LayerNorm(4), SERIES),
    "lstm": (nn.LSTM(4, 3), SERIES),
    "gru": (nn.GRU(4, 3, num_layers=2, batch_first=True), SERIES),
    "rnn": (nn.RNN(4, 3, bidirectional=True), SERIES),
    "lstm cell": (nn.LSTMCell(4, 3), (randn(2, 4),)),
    "attention": (nn.MultiheadAttention(4, 2), SERIES * 3),
    "encoder layer": (nn.TransformerEncoderLayer(4, 2, 8), SERIES),
    "encoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, enable_nested_tensor=False), SERIES),
    "decoder layer": (nn.TransformerDecoderLayer(4, 2, 8), SERIES * 2),
    "bilinear": (nn.Bilinear(3, 4, 2), (randn(2, 3), randn(2, 4))),
    "embedding bag": (nn.EmbeddingBag(5, 3), (torch.tensor([[1, 2]]),)),
    "sequential": (nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten()), IMAGE),
    "upsample": (nn.Upsample(scale_factor=2), IMAGE),
    "loss": (nn.CrossEntropyLoss(), (randn(3, 4), torch.tensor([1, 2, 0]))),
    "derived": (Convolution(), IMAGE),
    "held convolution": (Holder(nn.Conv2d(2, 3, 3)), IMAGE),
    "held lstm": (First(nn.LSTM(4, 3)), SERIES),
    "held cell": (First(nn.LSTMCell(4, 3)), (randn(2, 4),)),
    "held attention": (Attended(), SERIES),
    "held encoder": (Holder(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, enable_nested_tensor=False)), SERIES),
    "held sequential": (Holder(nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.ReLU())), IMAGE),
    "several": (Net(), IMAGE),
}


def tensors(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    return [each for part in value for each in tensors(part)] if isinstance(value, (tuple, list)) else []


def close(got: Any, want: Any, tolerance: float = 1e-5) -> None:
    got, want = (each if isinstance(each, list) else [one.detach().numpy() for one in tensors(each)] for each in (got, want))
    assert len(got) >= len(want) > 0
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def reloaded(module: Any) -> Any:
    buffer = io.BytesIO()
    jit.save(module, buffer)
    buffer.seek(0)
    return jit.load(buffer)


def gradients_of(module: Any, inputs: Any) -> list[Any]:
    module.zero_grad()
    sum(one.sum() for one in tensors(module(*inputs))).backward()
    return [None if each.grad is None else each.grad.numpy().copy() for each in module.parameters()]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_module(name: str) -> None:
    module, inputs = MODULES[name]
    module.eval()
    scripted = jit.script(module)
    assert isinstance(scripted, jit.ScriptModule)
    want = module(*inputs)
    for made in (scripted, reloaded(scripted), copy.deepcopy(scripted), jit.freeze(scripted), jit.optimize_for_inference(scripted)):
        close(made(*inputs), want)
    assert list(reloaded(scripted).state_dict()) == list(scripted.state_dict()) == list(module.state_dict())
    for each in ("graph", "inlined_graph", "code"):
        assert str(getattr(scripted, each))
    if list(module.parameters()):
        expected, gradients = gradients_of(module, inputs), gradients_of(scripted, inputs)
        assert [value is None for value in gradients] == [value is None for value in expected]
        for one, other in zip(gradients, expected):
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_exported(name: str) -> None:
    module, inputs = MODULES[name]
    names = [f"input_{at}" for at in range(len(inputs))]
    program = torch.onnx.export(jit.script(module.eval()), inputs, input_names=names, opset_version=17)
    session = onnx_session(program)
    taken = {each.name for each in session.get_inputs()}
    close(session.run(None, {key: each.numpy() for key, each in zip(names, inputs) if key in taken}), module(*inputs), 1e-4)


def test_training_types_and_keywords_reach_the_module() -> None:
    scripted = jit.script(nn.LSTM(3, 4))
    assert isinstance(scripted, nn.LSTM) and scripted.hidden_size == 4
    state = (torch.zeros(1, 2, 4), torch.ones(1, 2, 4))
    close(scripted(torch.ones(5, 2, 3), hx=state), scripted(torch.ones(5, 2, 3), state))
    with pytest.raises(RuntimeError, match="unknown keyword argument 'hidden'"):
        scripted(torch.ones(5, 2, 3), hidden=state)
    assert scripted.double()(torch.ones(5, 2, 3).double())[0].dtype is torch.float64
    net = jit.script(Net())
    assert net.convolution.training and net.normed.training
    net.eval()
    assert not net.convolution.training and not net.normed.training


def test_a_class_that_changes_what_a_module_does_is_not_saved_as_that_module() -> None:
    scripted, x = jit.script(Doubled(2, 3, 3)), IMAGE[0]
    close(scripted(x), Doubled.forward(scripted, x))
    with pytest.raises(jit.CaptureError, match="'Doubled'.*Conv2d.*_conv_forward"):
        jit.save(scripted, io.BytesIO())


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(2, 3, 3, groups=1, bias=False), nn.BatchNorm2d(3)
        self.back, self.plain = nn.ConvTranspose2d(3, 3, 2), nn.BatchNorm2d(3, affine=False)
        self.linear, self.columns = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.rows, self.lengths = nn.Linear(5, 5), nn.BatchNorm1d(5)
        self.dropout, self.channels, self.alpha = nn.Dropout(0.5), nn.Dropout2d(), nn.AlphaDropout()

    def forward(self, x, three: bool):
        y = self.channels(self.dropout(self.norm(self.convolution(x)))).relu()
        if bool(y.sum() > 2):
            y = self.plain(self.back(y * 2))
        z = self.alpha(self.columns(self.linear(y.flatten(2).sum(2))))
        if three:
            z = z + self.lengths(self.rows(y.flatten(2)[:, :, :5].repeat(1, 2, 1)[:, :5])).sum()
        else:
            z = z + self.lengths(self.rows(y.flatten(2)[:, 0, :5])).sum()
        return nn.functional.dropout(z, 0.3, self.training)


def calls(graph: Any, owner: Any) -> list[str]:
    found = []
    for node in graph.nodes:
        if node.op == "call_module":
            found.append(type(getattr(owner, node.target)).__name__)
        elif node.op == "call_function":
            found.append(node.target.__name__)
        for name, body in node.bodies.items():
            found += [f"{name} {each}" if "BatchNorm" in each else each for each in calls(body, owner)]
    return found


def test_inference_has_no_dropout_and_folds_batch_norms() -> None:
    net = Normed()
    for each in net.modules():
        if isinstance(each, (nn.BatchNorm1d, nn.BatchNorm2d)):
            each.running_mean.normal_()
            each.running_var.uniform_(0.5, 2)
            if each.affine:
                nn.init.normal_(each.weight)
                nn.init.normal_(each.bias)
    scripted = jit.script(net.eval())
    plain = jit.freeze(scripted, optimize_numerics=False)
    assert "dropout" in plain.code
    made = jit.optimize_for_inference(plain)
    frozen = jit.freeze(scripted)
    for each in (made, frozen, jit.optimize_for_inference(scripted), reloaded(made)):
        assert "dropout" not in each.code
        seen = calls(each.graph, each)
        # Those after a linear layer stay for inputs of three dimensions, of which they scale another one.
        assert [name for name in seen if "BatchNorm" in name and "otherwise" not in name] == []
        assert not any("norm" in name or "plain" in name for name in each._modules)
        for scale in (1.0, -1.0, 0.1):
            for three in (False, True):
                x = randn(4, 2, 6, 6) * scale
                close(each(x, three), net(x, three), 1e-4)
    assert "dropout" in plain.code  # it is as it was
    jit.run_frozen_optimizations(plain)
    assert "dropout" not in plain.code
    with pytest.raises(RuntimeError, match="freeze"):
        jit.run_frozen_optimizations(scripted)


def test_functions_of_the_library_are_scripted_themselves():
    x = torch.tensor([-1.0, 2.0])
    relu = jit.script(nn.functional.relu)
    assert torch.equal(relu(x), torch.tensor([0.0, 2.0])) and relu.name == "relu"
    assert str(relu.schema) == "relu(Tensor input, bool inplace=False) -> Tensor"
    assert jit.script(nn.functional.relu) is relu
    margin = jit.script(nn.functional.triplet_margin_loss)
    assert margin(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), margin=0.5).item() == pytest.approx(0.5 + 2**0.5, abs=1e-5)

    stream = io.BytesIO()
    jit.save(relu, stream)
    stream.seek(0)
    assert torch.equal(jit.load(stream)(x), torch.tensor([0.0, 2.0]))


def drawn(generator: torch.Generator, other: torch.Generator | None = None):
    return torch.randn(2, generator=generator if other is None else other)


def drawn_here(x):
    generator = torch.Generator()
    generator.manual_seed(3)
    return x.normal_(0.0, 1.0, generator=generator)


def test_generators_are_arguments_and_made_in_scripts():
    scripted = jit.script(drawn)
    expected = torch.tensor([0.8033, 0.1748])
    assert torch.allclose(scripted(torch.Generator().manual_seed(3)), expected, atol=1e-4)
    assert torch.allclose(scripted(torch.Generator(), torch.Generator().manual_seed(3)), expected, atol=1e-4)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Generator' for argument 'generator'"):
        scripted(3)

    stream = io.BytesIO()
    jit.save(jit.script(drawn_here), stream)
    stream.seek(0)
    assert torch.allclose(jit.load(stream)(torch.zeros(2)), expected, atol=1e-4)


@jit._overload
def shifted(x: float, y: str) -> float: ...


@jit._overload
def shifted(x: float, y: float) -> float: ...  # noqa: F811


def shifted(x, y=2.0):  # noqa: F811
    if isinstance(y, str):
        return 4.0 - x
    else:
        return x + y


def test_a_default_of_one_overload_is_none_of_another():
    def calls():
        return shifted(1.5), shifted(1.5, "hi"), shifted(1.5, 5.0)

    assert jit.script(calls)() == (3.5, 2.5, 6.5)
