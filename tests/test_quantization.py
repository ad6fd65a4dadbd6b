"""Quantized tensors, observers, fake quantization, and models that are quantized, against what PyTorch gave."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import quantization_programs as programs

import rushlight as torch
from rushlight import nn
from rushlight.ao import quantization as Q

DATA = np.load(Path(__file__).parent / "data" / "quantization.npz")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def quantized(shape=(3, 4), scale=0.1, zero_point=10, dtype=torch.quint8):
    count = int(np.prod(shape))
    return torch.quantize_per_tensor(torch.arange(float(count)).reshape(shape) - 2, scale, zero_point, dtype)


def by_channel():
    scales, zeros = torch.tensor([0.1, 0.02, 0.5]), torch.tensor([0, 5, 3])
    return torch.quantize_per_channel(torch.arange(12.0).reshape(3, 4) - 2, scales, zeros, 0, torch.qint8)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_gives_what_pytorch_gives(name):
    found = programs.run_program(torch, name)
    assert {f"{name}/{key}" for key in found} == {key for key in DATA.files if key.startswith(name + "/")}
    for key, value in found.items():
        expected = DATA[f"{name}/{key}"]
        assert value.shape == expected.shape, key
        if key.endswith("!"):  # counted in quanta
            assert np.abs(value.astype(np.float64) - expected.astype(np.float64)).max() <= 1.0001, key
        else:
            assert value.dtype == expected.dtype, key
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5, err_msg=key)


# -- tensors -----------------------------------------------------------------------------------------------------


def test_a_quantized_tensor_says_what_it_is():
    q, c = quantized(), by_channel()
    assert q.is_quantized and not q.dequantize().is_quantized and not q.is_floating_point()
    assert q.dtype is torch.quint8 and q.qscheme() is torch.per_tensor_affine and (q.q_scale(), q.q_zero_point()) == (0.1, 10)
    assert torch.q_scale(q) == 0.1 and q.element_size() == 1 and q.type() == "torch.quantized.QUInt8Tensor"
    assert c.qscheme() is torch.per_channel_affine and c.q_per_channel_axis() == 0
    assert c.q_per_channel_scales().dtype is torch.float64 and c.q_per_channel_zero_points().tolist() == [0, 5, 3]
    assert repr(torch.quint8) == "torch.quint8" and repr(torch.per_tensor_symmetric) == "torch.per_tensor_symmetric"


def test_printing():
    x = torch.tensor([[-1.0, 0.0, 1.0], [2.0, 0.26, -3.0]])
    assert repr(torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)) == (
        "tensor([[-1.0000,  0.0000,  1.0000],\n        [ 2.0000,  0.3000, -1.0000]], size=(2, 3), dtype=torch.quint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"
    )
    channels = torch.quantize_per_channel(x, torch.tensor([0.1, 0.01]), torch.tensor([10, 0]), 0, torch.qint8)
    assert repr(channels) == (
        "tensor([[-1.0000,  0.0000,  1.0000],\n        [ 1.2700,  0.2600, -1.2800]], size=(2, 3), dtype=torch.qint8,\n"
        "       quantization_scheme=torch.per_channel_affine,\n       scale=tensor([0.1000, 0.0100], dtype=torch.float64),\n"
        "       zero_point=tensor([10,  0]), axis=0)"
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda q: q + q, lambda q: q * 2, lambda q: 1 - q, lambda q: q.exp(), lambda q: q.sum(), lambda q: q @ q.t(), lambda q: abs(q),
        lambda q: q.argmax(), lambda q: torch.where(q > 0, q, q), lambda q: q.softmax(1), lambda q: q.cumsum(0), lambda q: q.isnan(),
        lambda q: q.roll(1), lambda q: q.zero_(), lambda q: q + torch.ones(3, 4), lambda q: nn.functional.linear(q, q), lambda q: q.add_(1),
        lambda q: q.norm(), lambda q: q.float(), lambda q: q.to(torch.qint8), lambda q: q.tolist(), lambda q: torch.ones(3, 4).copy_(q),
        lambda q: q.requires_grad_(), lambda q: torch.cat([q, torch.ones(3, 4)]), lambda q: q.copy_(by_channel()),
    ],
)  # fmt: skip
def test_what_is_not_defined_is_refused(call):
    before = quantized()
    after = quantized()
    with pytest.raises(RuntimeError):  # NotImplementedError is one
        call(after)
    assert torch.equal(before, after)


@pytest.mark.parametrize(
    "call",
    [
        lambda: quantized().numpy(), lambda: torch.tensor([1, 2], dtype=torch.quint8), lambda: torch.zeros(2, dtype=torch.qint8),
        lambda: torch.ones(2).to(torch.quint8), lambda: torch.ones(2).int_repr(), lambda: torch.ones(2).q_scale(),
        lambda: quantized().q_per_channel_scales(), lambda: by_channel().q_scale(), lambda: by_channel().relu(),
        lambda: by_channel().t(), lambda: torch.iinfo(torch.quint8).dtype, lambda: torch.promote_types(torch.quint8, torch.float32),
        lambda: torch.quantize_per_tensor(torch.ones(2).double(), 0.1, 0, torch.quint8),
        lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 300, torch.quint8),
        lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.uint8),
        lambda: torch.quantize_per_channel(torch.ones(2, 3), torch.ones(2), torch.zeros(3), 0, torch.qint8),
        lambda: torch.quantize_per_channel(torch.ones(2, 3), torch.ones(2), torch.zeros(2), 1, torch.qint8),
        lambda: torch.quantize_per_channel(torch.ones(2, 3), torch.ones(2), torch.zeros(2), 7, torch.qint8),
        lambda: torch.ops.quantized.add(torch.ones(2), torch.ones(2), 0.1, 0),
        lambda: torch.ops.quantized.linear_prepack(torch.ones(2, 2)),
    ],
)  # fmt: skip
def test_bad_input_gets_a_clear_error(call):
    with pytest.raises((RuntimeError, TypeError)):
        call()


def test_views_share_memory_and_keep_the_quantizer():
    q = quantized()
    for view in (q[1], q.t(), q.reshape(2, 6), q[:, 1:3], q.unsqueeze(0), q.chunk(2, 1)[1], q.detach(), q.view(-1)):
        assert view.is_quantized and view.q_scale() == 0.1 and view.q_zero_point() == 10
    q[1].fill_(0.0)
    assert q.dequantize()[1].tolist() == [0.0] * 4
    q[0, 0] = 3.14
    assert q[0, 0].item() == pytest.approx(3.1)
    q[torch.tensor([2])] = -1.0
    assert q.dequantize()[2].tolist() == [-1.0] * 4
    copied = q.clone()
    copied.fill_(1.0)
    assert not torch.equal(q, copied) and q.permute(1, 0).contiguous().is_contiguous()


def test_copying_quantizes_or_takes_over():
    q, other = quantized(), quantized(scale=0.2, zero_point=7)
    q.copy_(torch.full((3, 4), 0.51))
    assert q.q_scale() == 0.1 and q.int_repr().unique().tolist() == [15]
    q.copy_(other)
    assert q.q_scale() == 0.2 and torch.equal(q, other)
    with pytest.raises(RuntimeError, match="not allowed"):
        torch.zeros(3, 4).copy_(other)


@pytest.mark.parametrize("make", [quantized, by_channel])
def test_pickle_copy_and_files(make):
    q = make()
    buffer = io.BytesIO()
    torch.save({"q": q, "dtype": torch.qint8, "scheme": q.qscheme()}, buffer)
    buffer.seek(0)
    content = torch.load(buffer)
    assert content["dtype"] is torch.qint8 and content["scheme"] is q.qscheme()
    for other in (pickle.loads(pickle.dumps(q)), copy.deepcopy(q), content["q"]):
        assert other.dtype is q.dtype and torch.equal(other.int_repr(), q.int_repr()) and repr(other) == repr(q)
        assert other.data_ptr() != q.data_ptr()


def test_a_file_that_pytorch_wrote():
    content = torch.load(Path(__file__).parent / "data" / "checkpoints" / "quantized.pt")
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(content["tensor"], torch.quantize_per_tensor(x, 0.05, 3, torch.quint8))
    expected = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([1, 2]), 0, torch.qint8)
    assert repr(content["channel"]) == repr(expected)
    assert content["scheme"] is torch.per_channel_affine and content["dtype"] is torch.qint32


def test_sums_of_long_products_are_exact():
    x = torch.quantize_per_tensor(torch.full((1, 5000), 255.0), 1.0, 0, torch.quint8)
    w = torch.quantize_per_tensor(torch.full((1, 5000), -128.0), 1.0, 0, torch.qint8)
    result = torch.ops.quantized.linear(x, torch.ops.quantized.linear_prepack(w, None), 255.0 * 128, 0)
    assert result.int_repr().item() == 0
    turned = torch.quantize_per_tensor(torch.full((1, 5000), 127.0), 1.0, 0, torch.qint8)
    result = torch.ops.quantized.linear(x, torch.ops.quantized.linear_prepack(turned, None), 255.0 * 127 * 25, 0)
    assert result.int_repr().item() == 200


# -- gradients ---------------------------------------------------------------------------------------------------


def test_gradients_pass_where_nothing_was_limited():
    x = torch.tensor([-1.0, 0.04, 0.5, 3.0], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 20)
    assert "FakeQuantizePerTensorAffineCachemask" in y.grad_fn.name()
    y.backward(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 0.0]


@pytest.mark.parametrize("axis", [None, 0])
def test_learnt_parameters_against_differences(axis):
    """Where values are limited, the result is a smooth function of scale and zero point."""
    x = torch.tensor([[9.0, -9.0, 8.0], [-7.0, 9.5, -8.0]])
    size = 1 if axis is None else 2
    scale = torch.tensor([0.1, 0.2][:size]).requires_grad_()
    zero = torch.tensor([3.0, 5.0][:size]).requires_grad_()

    def call(s, z):
        if axis is None:
            return torch._fake_quantize_learnable_per_tensor_affine(x, s, z, 0, 20, 1.0)
        return torch._fake_quantize_learnable_per_channel_affine(x, s, z, axis, 0, 20, 1.0)

    weights = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    (call(scale, zero) * weights).sum().backward()
    for at in range(size):
        step = torch.zeros(size)
        step[at] = 0.01
        change = (call(scale + step, zero) - call(scale - step, zero)) * weights
        assert scale.grad[at].item() == pytest.approx((change.sum() / 0.02).item(), rel=1e-3)
        whole = torch.zeros(size)
        whole[at] = 1.0  # a zero point is a whole number
        change = (call(scale, zero + whole) - call(scale, zero - whole)) * weights
        assert zero.grad[at].item() == pytest.approx((change.sum() / 2).item(), rel=1e-3)


# -- modules -----------------------------------------------------------------------------------------------------


def test_default_qconfigs_observe_as_pytorchs_do():
    fbgemm, qnnpack = Q.get_default_qconfig("fbgemm"), Q.get_default_qconfig("qnnpack")
    assert (fbgemm.activation().quant_max, qnnpack.activation().quant_max) == (127, 255)
    assert isinstance(fbgemm.weight(), Q.PerChannelMinMaxObserver) and isinstance(qnnpack.weight(), Q.MinMaxObserver)
    assert isinstance(Q.get_default_qat_qconfig("x86").activation(), Q.FusedMovingAvgObsFakeQuantize)
    assert Q.default_qconfig.activation().quant_max == 127 and Q.default_dynamic_qconfig.activation().is_dynamic
    assert Q.qconfig_equals(Q.get_default_qconfig("x86"), Q.get_default_qconfig("fbgemm"))
    assert not Q.qconfig_equals(fbgemm, qnnpack)
    with pytest.raises(AssertionError, match="not supported"):
        Q.get_default_qconfig("abacus")
    with pytest.raises(ValueError, match="observer class"):
        Q.QConfig(activation=Q.MinMaxObserver(), weight=Q.default_weight_observer)


def test_observers_refuse_what_they_can_not_observe():
    with pytest.raises(NotImplementedError):
        Q.MinMaxObserver(qscheme=torch.per_channel_affine)
    with pytest.raises(AssertionError, match="only works for"):
        Q.MinMaxObserver(dtype=torch.float16)
    with pytest.raises(AssertionError, match="include 0"):
        Q.MinMaxObserver(quant_min=3, quant_max=9)
    with pytest.raises(NotImplementedError):
        Q.PlaceholderObserver().calculate_qparams()
    with pytest.warns(UserWarning, match="must run observer"):
        assert Q.MinMaxObserver().calculate_qparams()[0].item() == 1.0
    assert Q.MinMaxObserver()(torch.empty(0)).numel() == 0


def converted(model=None, x=None, qconfig=Q.default_qconfig):
    model = Q.QuantWrapper(model if model is not None else nn.Sequential(nn.Linear(4, 3), nn.ReLU())).eval()
    model.qconfig = qconfig
    prepared = Q.prepare(model)
    prepared(x if x is not None else torch.randn(8, 4))
    return Q.convert(prepared)


def test_converted_models_look_like_pytorchs():
    model = converted()
    assert isinstance(model.module[0], torch.ao.nn.quantized.Linear) and isinstance(model.module[1], nn.ReLU)
    assert repr(model.module[0]).startswith("QuantizedLinear(in_features=4, out_features=3, scale=")
    assert not hasattr(model.module[0], "qconfig") and "activation_post_process" not in str(model)
    assert set(model.state_dict()) == {
        "quant.scale", "quant.zero_point", "module.0.scale", "module.0.zero_point", "module.0._packed_params.dtype",
        "module.0._packed_params._packed_params",
    }  # fmt: skip


def test_state_travels_to_another_model_and_to_a_file():
    x = torch.randn(8, 4)
    first, second = converted(x=x), converted(x=x)
    buffer = io.BytesIO()
    torch.save(first.state_dict(), buffer)
    buffer.seek(0)
    second.load_state_dict(torch.load(buffer))
    assert torch.equal(first(x), second(x))
    assert torch.equal(copy.deepcopy(first)(x), first(x))
    images = torch.randn(1, 2, 5, 5)
    first, second = converted(nn.Conv2d(2, 3, 3), images), converted(nn.Conv2d(2, 3, 3), images)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(images), second(images))


def test_observed_models_save_what_they_saw():
    model = Q.QuantWrapper(nn.Linear(4, 3)).eval()
    model.qconfig = Q.get_default_qat_qconfig("fbgemm", version=0)
    first, second = Q.prepare_qat(model.train()), Q.prepare_qat(model.train())
    first(torch.randn(5, 4))
    second.load_state_dict(first.state_dict())
    second.eval(), first.eval()
    x = torch.randn(2, 4)
    for each in (first, second):
        each.apply(Q.disable_observer)
    assert torch.equal(first(x), second(x))
    first.apply(Q.disable_fake_quant)
    assert not torch.equal(first(x), second(x))


def test_fusing():
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4), nn.BatchNorm1d(4)).eval()
    model[1].running_mean.uniform_(), model[5].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 2, 5, 5)
    fused = Q.fuse_modules(model, [["0", "1", "2"], ["4", "5"]])
    assert type(fused[0]).__name__ == "ConvReLU2d" and isinstance(fused[1], nn.Identity) and isinstance(fused[4], nn.Linear)
    assert torch.allclose(fused(x), model(x), atol=1e-5) and isinstance(model[1], nn.BatchNorm2d)
    trained = Q.fuse_modules_qat(model.train(), [["0", "1", "2"], ["4", "5"]])
    assert type(trained[0]).__name__ == "ConvBnReLU2d" and type(trained[4]).__name__ == "LinearBn1d"
    with pytest.raises(AssertionError, match="fuser method"):
        Q.fuse_modules(model, ["2", "3"])


def test_statistics_can_be_frozen():
    model = nn.Sequential(Q.QuantStub(), nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), Q.DeQuantStub())
    model.qconfig = Q.default_qat_qconfig
    model = Q.prepare_qat(Q.fuse_modules_qat(model.train(), [["1", "2"]]))
    before = model[1].bn.running_mean.clone()
    model.apply(torch.ao.nn.intrinsic.qat.freeze_bn_stats)
    model.train()
    model(torch.randn(2, 2, 5, 5))
    assert torch.equal(model[1].bn.running_mean, before)
    model.apply(torch.ao.nn.intrinsic.qat.update_bn_stats)
    model(torch.randn(2, 2, 5, 5))
    assert not torch.equal(model[1].bn.running_mean, before)


def test_all_in_one():
    data = [(torch.randn(2, 4), None)] * 3
    model = Q.QuantWrapper(nn.Linear(4, 2))
    model.qconfig = Q.default_qconfig
    made = Q.quantize(model, Q.default_eval_fn, [data])
    assert type(made.module).__name__ == "Linear" and made.module.weight().is_quantized
    assert type(Q.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)))[0]).__name__ == "Linear"
    with pytest.raises(AssertionError, match="training mode"):
        Q.prepare_qat(model.eval())
    with pytest.raises(ValueError, match="Don't know how to quantize"):
        Q.quantize_dynamic(model, dtype=torch.int32)


def test_older_names():
    import rushlight.nn.quantized
    import rushlight.quantization

    assert rushlight.quantization.prepare is Q.prepare and rushlight.nn.quantized.Linear is torch.ao.nn.quantized.Linear
    assert torch.nn.intrinsic.qat.ConvBn2d is torch.ao.nn.intrinsic.qat.ConvBn2d and torch.nn.qat.Linear is torch.ao.nn.qat.Linear
    assert callable(Q.quantize) and callable(Q.fuse_modules)
    with pytest.raises(AttributeError, match="not in rushlight"):
        Q.prepare_fx


def test_engines():
    engines = torch.backends.quantized
    assert "fbgemm" in engines.supported_engines
    before = engines.engine
    engines.engine = "qnnpack"
    engines.engine = before
    with pytest.raises(RuntimeError, match="not supported"):
        engines.engine = "abacus"


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_recurrent_layers_are_made_empty_and_loaded(name):
    dynamic = torch.ao.nn.quantized.dynamic
    source = Q.quantize_dynamic(nn.Sequential(getattr(nn, name)(3, 4, 2, bidirectional=True)))[0]
    made = getattr(dynamic, name)(3, 4, 2, bidirectional=True)
    x = torch.randn(5, 2, 3)
    assert made(x)[0].shape == source(x)[0].shape
    made.load_state_dict(source.state_dict())
    assert torch.equal(made(x)[0], source(x)[0]) and torch.equal(source(x[:, 0])[0], source(x[:, :1])[0][:, 0])
    assert getattr(dynamic, name + "Cell")(3, 4)(x[0]) is not None


@pytest.mark.parametrize("first", [False, True])
def test_rewritten_layers_do_what_they_did(first):
    torch.manual_seed(0)
    attention, lstm = nn.MultiheadAttention(4, 2, batch_first=first).eval(), nn.LSTM(4, 3, 2, bidirectional=True, batch_first=first).eval()
    model = nn.ModuleList([attention, lstm])
    model.qconfig = Q.default_qconfig
    prepared = Q.prepare(model)
    assert [type(each).__module__.rpartition(".")[0] for each in prepared] == ["rushlight.ao.nn.quantizable"] * 2
    x = torch.randn(5, 2, 4)
    hidden = (torch.randn(4, 5 if first else 2, 3), torch.randn(4, 5 if first else 2, 3))
    length, batch = (2, 5) if first else (5, 2)
    mask, padding = torch.rand(length, length) > 0.7, torch.zeros(batch, length, dtype=torch.bool)
    padding[0, -1] = True
    mask[:, 0] = False
    for options in ({}, {"attn_mask": mask}, {"key_padding_mask": padding}, {"average_attn_weights": False}, {"need_weights": False}):
        for got, want in zip(prepared[0](x, x, x, **options), attention(x, x, x, **options)):
            assert (got is None) == (want is None)
            if got is not None:
                np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)
    for given in (None, hidden):
        (got, states), (want, wanted) = prepared[1](x, given), lstm(x, given)
        for one, other in zip((got, *states), (want, *wanted)):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)
    converted = Q.convert(prepared)
    assert [type(each).__name__ for each in converted] == ["QuantizedMultiheadAttention", "QuantizedLSTM"]
    from rushlight.ao.nn import quantized as nnq

    assert isinstance(converted[0], nnq.MultiheadAttention) and isinstance(converted[1], nnq.LSTM)
    q = torch.quantize_per_tensor(x, 0.05, 64, torch.quint8)
    for got, want in ((converted[0](q, q, q)[0], attention(x, x, x)[0]), (converted[1](q)[0], lstm(x)[0])):
        assert (got.dequantize() - want).abs().max() < 0.1
    again = Q.convert(Q.prepare(model))
    again.load_state_dict(converted.state_dict())
    assert (again[1](q)[0].int_repr() == converted[1](q)[0].int_repr()).all()


def test_what_is_not_there_says_so():
    for name in ("quantize_pt2e", "prepare_fx", "convert_fx"):  # the last two are names of quantize_fx
        with pytest.raises(AttributeError, match="eager mode"):
            getattr(Q, name)
    with pytest.raises(NotImplementedError, match="mode='mean'"):
        bag = nn.EmbeddingBag(3, 4, mode="mean")
        bag.qconfig = Q.float_qparams_weight_only_qconfig
        Q.convert(nn.Sequential(bag))
    lstm = nn.LSTM(3, 4, proj_size=2)
    lstm.qconfig = Q.default_qconfig
    with pytest.raises(NotImplementedError, match="proj_size"):
        Q.prepare(nn.Sequential(lstm))


def test_dynamic_layers_of_half_precision():
    model, x = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2, bias=False)), torch.randn(3, 6)
    made = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.float16)
    assert "DynamicQuantizedLinear(in_features=6, out_features=4, dtype=torch.float16)" in repr(made)
    assert made[0].weight().dtype is torch.float32 and torch.equal(made[0].weight(), model[0].weight.half().float())
    rounded = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    rounded.load_state_dict({name: value.half().float() if "weight" in name else value for name, value in model.state_dict().items()})
    assert torch.allclose(made(x), rounded(x), atol=1e-6)
    again = torch.ao.quantization.quantize_dynamic(rounded, {nn.Linear}, dtype=torch.float16)
    again.load_state_dict(made.state_dict())
    assert torch.equal(again(x), made(x))
    model[0].weight.data.fill_(-1e6)
    assert torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.float16)[0].weight().unique().tolist() == [-65504.0]


def test_a_scripted_model_between_stubs_is_saved(tmp_path) -> None:
    model = torch.ao.quantization.QuantWrapper(torch.nn.Linear(3, 2)).eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig("x86")
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    prepared = torch.ao.quantization.prepare(model)
    prepared(x)
    scripted = torch.jit.script(torch.ao.quantization.convert(prepared))
    torch.jit.save(scripted, tmp_path / "model.pt")
    assert torch.equal(torch.jit.load(tmp_path / "model.pt")(x), scripted(x))


def test_fused_modules_take_names():
    conv, norm = nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)
    fused = nn.intrinsic.ConvBn2d(bn=norm, conv=conv)
    assert fused[0] is conv and fused[1] is norm
    assert nn.intrinsic.BNReLU2d(batch_norm=norm, relu=nn.ReLU())[0] is norm
    with pytest.raises(TypeError):
        nn.intrinsic.ConvBn2d(conv, norm=norm)
    with pytest.raises(TypeError):
        nn.intrinsic.ConvBn2d(conv)
    with pytest.raises(AssertionError):
        nn.intrinsic.ConvBn2d(conv, conv)


def test_a_histogram_is_begun_anew():
    observer = Q.HistogramObserver(bins=8)
    values = torch.arange(20.0) / 3
    observer(values)
    observer.reset_histogram(values, torch.tensor(1.0), torch.tensor(5.0))
    assert observer.histogram.tolist() == [2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 2.0]
    assert (observer.min_val.item(), observer.max_val.item()) == (1.0, 5.0)


def test_functions_of_quantized_tensors_alone() -> None:
    x = torch.quantize_per_tensor(torch.arange(-8, 8).reshape(1, 2, 2, 4) * 0.3, 0.25, 9, torch.quint8)
    pooled = torch.quantized_max_pool2d(x, [2, 2], [2, 1])
    assert pooled.int_repr().tolist() == [[[[5, 7, 8]], [[15, 16, 17]]]] and (pooled.q_scale(), pooled.q_zero_point()) == (0.25, 9)
    assert torch.quantized_max_pool1d(x[0], [2]).int_repr().tolist() == [[[1, 3], [5, 8]], [[10, 13], [15, 17]]]
    assert torch.equal(torch.ops.quantized.max_pool2d(x, [2, 2], [2, 1], [0], [1], False), pooled)
    channels = [torch.tensor(each) for each in ([1.5, 0.5], [0.1, -0.1], [0.3, 0.2], [2.0, 1.0])]
    normalised = torch.quantized_batch_norm(x, *channels, 1e-5, 0.125, 20)
    assert normalised.q_scale() == 0.125
    assert normalised.int_repr().tolist() == [[[[0, 1, 3, 6], [8, 10, 14, 16]], [[18, 19, 20, 22], [23, 24, 25, 26]]]]
    with pytest.raises(RuntimeError, match="takes a quantized tensor"):
        torch.quantized_max_pool2d(torch.ones(1, 2, 2), 2)


def test_modules_of_quantized_layers_have_the_names_of_the_package():
    quantized = torch.ao.nn.quantized
    assert quantized.MaxPool2d is torch.nn.MaxPool2d
    assert "functional" not in quantized.__all__ and all(hasattr(quantized, each) for each in quantized.__all__)
