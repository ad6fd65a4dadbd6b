"""Programs of quantization that PyTorch and rushlight run alike: each gives named arrays, which are recorded and compared.

A program gets the package as ``torch`` and a stream of random numbers.  Names of results say how they are compared: those that end in
``!`` are integers or real numbers counted in quanta, of which one more or less is allowed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Results = dict[str, Any]
PROGRAMS: dict[str, Callable[[Any, np.random.Generator], Results]] = {}


def program(function: Callable[[Any, np.random.Generator], Results]) -> Callable[[Any, np.random.Generator], Results]:
    PROGRAMS[function.__name__] = function
    return function


def run_program(torch: Any, name: str) -> dict[str, np.ndarray]:
    """The results of a program, as arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = PROGRAMS[name](torch, np.random.default_rng(len(name)))
        return {key: plain(value) for key, value in results.items()}


def plain(value: Any) -> np.ndarray:
    if getattr(value, "is_quantized", False):
        value = value.int_repr()
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return np.asarray(value)


def values(torch: Any, rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Any:
    return torch.from_numpy((rng.normal(0, 1, shape) * scale).astype(np.float32))


def filled(torch: Any, module: Any, rng: np.random.Generator) -> Any:
    """A module with parameters and statistics from the stream."""
    with torch.no_grad():
        for name, parameter in sorted(module.named_parameters()):
            parameter.copy_(values(torch, rng, *parameter.shape, scale=0.4) + (1.0 if "bn.weight" in name else 0.0))
        for name, buffer in sorted(module.named_buffers()):
            if name.endswith("running_mean"):
                buffer.copy_(values(torch, rng, *buffer.shape, scale=0.2))
            elif name.endswith("running_var"):
                buffer.copy_(torch.from_numpy(rng.uniform(0.5, 1.5, tuple(buffer.shape)).astype(np.float32)))
    return module


def in_quanta(result: Any, scale: float) -> np.ndarray:
    return plain(result).astype(np.float64) / scale


# -- tensors -----------------------------------------------------------------------------------------------------


@program
def quantized_values(torch: Any, rng: Any) -> Results:
    x = values(torch, rng, 4, 6, scale=2.0)
    results = {}
    for kind in (torch.quint8, torch.qint8, torch.qint32):
        for scale, zero in ((0.05, 3), (0.013, 100), (1.7, 0)):
            q = torch.quantize_per_tensor(x, scale, zero, kind)
            results[f"{kind} {scale} integers!"] = q
            results[f"{kind} {scale} real!"] = in_quanta(q.dequantize(), scale)
        scales, zeros = torch.tensor([0.1, 0.02, 0.5, 0.03]), torch.tensor([0, 10, 3, 64])
        q = torch.quantize_per_channel(x, scales, zeros, 0, kind)
        results[f"{kind} channels integers!"] = q
        results[f"{kind} channels scales"] = q.q_per_channel_scales()
        results[f"{kind} channels zeros"] = q.q_per_channel_zero_points()
    for kind in (torch.quint8, torch.qint8):
        for reduce in (False, True):
            q = torch.quantize_per_tensor_dynamic(x, kind, reduce)
            results[f"{kind} dynamic {reduce}!"] = q
            results[f"{kind} dynamic {reduce} parameters"] = np.array([q.q_scale(), q.q_zero_point()])
    return results


@program
def quantized_operations(torch: Any, rng: Any) -> Results:
    F, Q = torch.nn.functional, torch.ops.quantized
    q = torch.quantize_per_tensor(values(torch, rng, 2, 4, 6, 6, scale=2.0), 0.04, 110, torch.quint8)
    p = torch.quantize_per_tensor(values(torch, rng, 2, 4, 6, 6, scale=2.0), 0.05, 128, torch.quint8)
    made = {
        "relu": torch.relu(q), "sigmoid": torch.sigmoid(q), "tanh": torch.tanh(q), "hardtanh": F.hardtanh(q), "clamp": q.clamp(-1, 2),
        "leaky": F.leaky_relu(q, 0.1), "max_pool": F.max_pool2d(q, 3, 2, 1), "avg_pool": F.avg_pool2d(q, 2),
        "adaptive": F.adaptive_avg_pool2d(q, 2), "nearest": F.interpolate(q, scale_factor=2), "cat": torch.cat([q, p]),
        "bilinear": F.interpolate(q, size=(4, 5), mode="bilinear"), "mean": q.mean((2, 3)), "slice": q[:, 1:, ::2], "flip": q.flip(3),
        "permute": q.permute(0, 2, 3, 1).contiguous(), "add": Q.add(q, p, 0.09, 120), "add_relu": Q.add_relu(q, p, 0.09, 0),
        "mul": Q.mul(q, p, 0.2, 100), "cat2": Q.cat([q, p], 1, 0.06, 90), "add_scalar": Q.add_scalar(q, 1.3), "far": Q.add_scalar(q, 9.0),
        "mul_scalar": Q.mul_scalar(q, 2.5), "turned": Q.mul_scalar(q, -0.5), "relu6": F.relu6(q), "hardswish": Q.hardswish(q, 0.04, 10),
        "elu": Q.elu(q, 0.05, 30), "threshold": F.threshold(q, 0.5, 0.25), "hardsigmoid": F.hardsigmoid(q), "pad": F.pad(q, (1, 2)),
        "sort": q.sort(3)[0], "max": q.max(), "topk": q.topk(2)[0], "index": q[torch.tensor([1, 0])], "repeat": q.repeat(1, 2, 1, 1),
    }  # fmt: skip
    results: Results = {}
    for name, each in made.items():
        results[name + "!"] = each
        results[name + " scale"] = np.array([each.q_scale(), each.q_zero_point()])
    results["lt"], results["eq"] = q < 0.5, q == p
    return results


@program
def fake_quantization(torch: Any, rng: Any) -> Results:
    results: Results = {}
    g = values(torch, rng, 4, 5)
    for name, call in {
        "tensor": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 7, 0, 31),
        "parameters": lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(7), 0, 31),
        "channel": lambda x: torch.fake_quantize_per_channel_affine(
            x, torch.tensor([0.1, 0.2, 0.05, 0.3]), torch.tensor([3, 0, 5, 9], dtype=torch.int32), 0, 0, 15
        ),
    }.items():
        x = values(torch, rng, 4, 5, scale=2.0).requires_grad_()
        y = call(x)
        y.backward(g)
        results[name], results[f"{name} gradient"] = y, x.grad
    for name, size, function in (
        ("learnt", 1, lambda x, s, z: torch._fake_quantize_learnable_per_tensor_affine(x, s, z, 0, 20, 0.5)),
        ("learnt channels", 4, lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 0, 0, 20, 0.5)),
    ):
        x = values(torch, rng, 4, 5, scale=2.0).requires_grad_()
        s = torch.tensor([0.1, 0.2, 0.15, 0.3][:size]).requires_grad_()
        z = torch.tensor([3.0, 4.0, 5.0, 6.0][:size]).requires_grad_()
        y = function(x, s, z)
        y.backward(g)
        results[name] = y
        for part, leaf in (("input", x), ("scale", s), ("zero", z)):
            results[f"{name} {part} gradient"] = leaf.grad
    return results


# -- observers ---------------------------------------------------------------------------------------------------


@program
def observers(torch: Any, rng: Any) -> Results:
    Q = torch.ao.quantization
    results: Results = {}
    batches = [values(torch, rng, 3, 4, scale=1 + index) for index in range(4)]
    symmetric, by_channel = torch.per_tensor_symmetric, torch.per_channel_symmetric
    made = {
        "minmax": Q.MinMaxObserver(), "reduced": Q.MinMaxObserver(reduce_range=True), "signed": Q.MinMaxObserver(dtype=torch.qint8),
        "symmetric": Q.MinMaxObserver(qscheme=symmetric), "signed symmetric": Q.MinMaxObserver(dtype=torch.qint8, qscheme=symmetric),
        "narrow": Q.MinMaxObserver(quant_min=0, quant_max=127), "wide": Q.MinMaxObserver(dtype=torch.qint32),
        "moving": Q.MovingAverageMinMaxObserver(), "fast": Q.MovingAverageMinMaxObserver(averaging_constant=0.5),
        "channels": Q.PerChannelMinMaxObserver(), "channels 1": Q.PerChannelMinMaxObserver(ch_axis=1, dtype=torch.qint8, qscheme=by_channel),
        "moving channels": Q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.2),
        "float": Q.PerChannelMinMaxObserver(qscheme=torch.per_channel_affine_float_qparams), "fixed": Q.FixedQParamsObserver(0.1, 3),
        "fake": Q.default_fake_quant(), "fake channels": Q.default_per_channel_weight_fake_quant(), "fused": Q.default_fused_act_fake_quant(),
        "fused channels": Q.default_fused_per_channel_wt_fake_quant(),
    }  # fmt: skip
    for name, observer in made.items():
        for batch in batches:
            seen = observer(batch)
        scale, zero = observer.calculate_qparams()
        results[f"{name} scale"], results[f"{name} zero"] = scale, zero
        results[f"{name} output"] = seen
    return results


@program
def histograms(torch: Any, rng: Any) -> Results:
    Q = torch.ao.quantization
    results: Results = {}
    for name, bins, options in (("plain", 2048, {}), ("reduced", 2048, {"reduce_range": True}), ("coarse", 64, {"dtype": torch.qint8})):
        observer = Q.HistogramObserver(bins=bins, **options)
        for index in range(3):
            observer(torch.from_numpy(rng.standard_t(3, (40, 20)).astype(np.float32) * (1 + index)))
        scale, zero = observer.calculate_qparams()
        results[f"{name} near scale"], results[f"{name} zero!"] = scale, zero
    return results


# -- models ------------------------------------------------------------------------------------------------------


def static(torch: Any, model: Any, x: Any, qconfig: Any, fused: Any = None, rng: Any = None) -> Results:
    """A model observed on data and converted."""
    Q = torch.ao.quantization
    model = filled(torch, Q.QuantWrapper(model), rng).eval()
    model.qconfig = qconfig
    if fused:
        model = Q.fuse_modules(model, [[f"module.{name}" for name in group] for group in fused])
    prepared = Q.prepare(model)
    observed = prepared(x)
    converted = Q.convert(prepared)
    inner = converted.module(converted.quant(x))
    return {
        "observed": observed, "integers!": inner, "scale": np.array([inner.q_scale()]), "zero!": np.array([inner.q_zero_point()]),
    }  # fmt: skip


@program
def mlp(torch: Any, rng: Any) -> Results:
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    x = values(torch, rng, 8, 6)
    for name, qconfig in {
        "default": Q.default_qconfig, "channel": Q.default_per_channel_qconfig, "fbgemm": Q.get_default_qconfig("fbgemm"),
        "qnnpack": Q.get_default_qconfig("qnnpack"),
    }.items():  # fmt: skip
        model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 4))
        for key, value in static(torch, model, x, qconfig, [["0", "1"]], rng).items():
            results[f"{name} {key}"] = value
    return results


@program
def convolutions(torch: Any, rng: Any) -> Results:
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    for name, model, shape, fused in (
        ("1d", nn.Sequential(nn.Conv1d(3, 4, 3, 2, 1), nn.ReLU()), (2, 3, 9), [["0", "1"]]),
        ("2d", nn.Sequential(nn.Conv2d(4, 6, 3, padding=1, groups=2, bias=False)), (2, 4, 5, 5), None),
        ("2d batch norm", nn.Sequential(nn.Conv2d(3, 4, 3, dilation=2), nn.BatchNorm2d(4), nn.ReLU()), (2, 3, 7, 7), [["0", "1", "2"]]),
        ("3d", nn.Sequential(nn.Conv3d(2, 3, 2), nn.ReLU()), (1, 2, 4, 4, 3), [["0", "1"]]),
        ("transposed", nn.Sequential(nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1)), (1, 3, 4, 4), None),
    ):  # fmt: skip
        qconfig = Q.default_qconfig if name == "transposed" else Q.default_per_channel_qconfig
        for key, value in static(torch, model, values(torch, rng, *shape), qconfig, fused, rng).items():
            results[f"{name} {key}"] = value
    return results


@program
def other_layers(torch: Any, rng: Any) -> Results:
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    for name, model in {
        "batch norm": nn.Sequential(nn.BatchNorm2d(4)), "batch norm relu": nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()),
        "hardswish": nn.Sequential(nn.Hardswish()), "elu": nn.Sequential(nn.ELU(0.7)), "leaky": nn.Sequential(nn.LeakyReLU(0.2)),
        "relu6": nn.Sequential(nn.ReLU6()), "layer norm": nn.Sequential(nn.LayerNorm(5)), "group norm": nn.Sequential(nn.GroupNorm(2, 4)),
        "instance norm": nn.Sequential(nn.InstanceNorm2d(4, affine=True)), "dropout": nn.Sequential(nn.Dropout(), nn.Sigmoid()),
    }.items():  # fmt: skip
        fused = [["0", "1"]] if name == "batch norm relu" else None
        for key, value in static(torch, model, values(torch, rng, 2, 4, 5, 5), Q.default_qconfig, fused, rng).items():
            results[f"{name} {key}"] = value
    return results


def branches(torch: Any) -> Any:
    """A model with a skip connection, a concatenation and a product."""

    class Branches(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            functional = torch.ao.nn.quantized.FloatFunctional
            self.first, self.second = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5)
            self.add, self.cat, self.mul = functional(), functional(), functional()

        def forward(self, x: Any) -> Any:
            a, b = self.first(x), self.second(x)
            joined = self.cat.cat([self.add.add(a, x), self.mul.mul(a, b)], dim=1)
            return self.add.mul_scalar(joined, 0.5)

    return Branches()


@program
def functional_modules(torch: Any, rng: Any) -> Results:
    return static(torch, branches(torch), values(torch, rng, 6, 5), torch.ao.quantization.default_qconfig, None, rng)


@program
def training(torch: Any, rng: Any) -> Results:
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    for name, qconfig in (("plain", Q.default_qat_qconfig), ("fused", Q.get_default_qat_qconfig("fbgemm"))):
        model = nn.Sequential(
            Q.QuantStub(), nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4), Q.DeQuantStub()
        )
        model = filled(torch, model, rng).train()
        model.qconfig = qconfig
        model = Q.prepare_qat(Q.fuse_modules_qat(model, [["1", "2", "3"]]))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            x, target = values(torch, rng, 6, 2, 4, 4), values(torch, rng, 6, 4)
            loss = ((model(x) - target) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            results[f"{name} near loss {step}"] = loss
        for part in ("1.weight", "1.bn.weight", "5.weight", "5.bias"):
            results[f"{name} near gradient {part}"] = dict(model.named_parameters())[part].grad
        model.apply(Q.disable_observer)
        converted = Q.convert(model.eval())
        x = values(torch, rng, 6, 2, 4, 4)
        results[f"{name} near evaluated"] = model(x)
        results[f"{name} converted!"] = in_quanta(converted(x), float(converted[5].scale))
    return results


@program
def dynamic(torch: Any, rng: Any) -> Results:
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    model = filled(torch, nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), rng)
    x = values(torch, rng, 4, 6)
    results["linear close"] = Q.quantize_dynamic(model)(x)
    results["channels close"] = Q.quantize_dynamic(model, {nn.Linear: Q.per_channel_dynamic_qconfig})(x)
    for name, module in (("lstm", nn.LSTM(3, 5, 2, bidirectional=True)), ("gru", nn.GRU(3, 5)), ("first", nn.LSTM(3, 4, batch_first=True))):
        recurrent = Q.quantize_dynamic(filled(torch, nn.Sequential(module), rng))
        output, states = recurrent(values(torch, rng, 6, 2, 3))
        results[f"{name} close"] = output
        results[f"{name} state close"] = states[0] if isinstance(states, tuple) else states
    for name, cell in (("lstm cell", nn.LSTMCell(3, 4)), ("gru cell", nn.GRUCell(3, 4)), ("cell", nn.RNNCell(3, 4))):
        result = Q.quantize_dynamic(filled(torch, nn.Sequential(cell), rng))(values(torch, rng, 2, 3))
        results[f"{name} close"] = result[0] if isinstance(result, tuple) else result
    table = filled(torch, nn.Sequential(nn.Embedding(7, 12)), rng)
    table[0].qconfig = Q.float_qparams_weight_only_qconfig
    results["embedding near"] = Q.convert(Q.prepare(table))(torch.tensor([[1, 6], [0, 3]]))
    return results


@program
def recurrent_and_attention(torch: Any, rng: Any) -> Results:
    """Layers that are rewritten before they are observed."""
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    for name, module, shape in (
        ("lstm", nn.LSTM(3, 4), (5, 2, 3)), ("both", nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), (2, 5, 3)),
        ("plain", nn.LSTM(3, 4, bias=False), (4, 1, 3)),
    ):  # fmt: skip
        model = filled(torch, nn.Sequential(Q.QuantStub(), module), rng).eval()
        model.qconfig = Q.get_default_qconfig("fbgemm")
        prepared = Q.prepare(model)
        x = values(torch, rng, *shape)
        results[f"{name} observed"] = prepared(x)[0]
        converted = Q.convert(prepared)
        output, (state, cell) = converted(x)
        results[f"{name} scales"] = np.array([output.q_scale(), state.q_scale(), cell.q_scale()])
        results[f"{name} near"] = output.dequantize()
        results[f"{name} state near"] = state.dequantize()
        results[f"{name} cell near"] = cell.dequantize()
    for name, options, weights in (
        ("attention", {}, True),
        ("plain attention", {"bias": False, "add_zero_attn": True}, True),
        ("sizes", {"kdim": 3, "vdim": 5}, False),
    ):
        model = filled(torch, nn.MultiheadAttention(4, 2, **options), rng).eval()
        model.qconfig = Q.get_default_qconfig("fbgemm")
        prepared = Q.prepare(nn.Sequential(model))[0]
        inputs = [values(torch, rng, 5, 2, size) for size in (4, options.get("kdim", 4), options.get("vdim", 4))]
        results[f"{name} observed"] = prepared(*inputs, need_weights=weights)[0]
        converted = Q.convert(nn.Sequential(prepared))[0]
        quantized = [torch.quantize_per_tensor(each, 0.03, 64, torch.quint8) for each in inputs]
        result, shown = converted(*quantized, need_weights=weights)
        results[f"{name} result!"] = result.int_repr()
        results[f"{name} scale"] = np.array([result.q_scale()])
        if weights:
            results[f"{name} weights!"] = shown.int_repr()
    return results


@program
def bags(torch: Any, rng: Any) -> Results:
    nn, Q = torch.nn, torch.ao.quantization
    results: Results = {}
    model = filled(torch, nn.Sequential(nn.EmbeddingBag(9, 12, mode="sum", include_last_offset=True)), rng).eval()
    model[0].qconfig = Q.float_qparams_weight_only_qconfig
    indices, offsets = torch.tensor([1, 8, 0, 3, 3, 2]), torch.tensor([0, 2, 2, 6])
    converted = Q.convert(Q.prepare(model))[0]
    results["bags near"] = converted(indices, offsets)
    results["weighted near"] = converted(indices, offsets, torch.arange(6.0))
    results["integers"] = converted.weight().int_repr()
    model = filled(torch, nn.Sequential(nn.EmbeddingBag(9, 12, mode="sum")), rng).eval()
    results["dynamic near"] = Q.quantize_dynamic(model, dtype=torch.quint8)[0](indices.reshape(2, 3))
    model = filled(torch, nn.Sequential(nn.EmbeddingBag(9, 12, mode="sum")), rng).train()
    model[0].qconfig = Q.default_embedding_qat_qconfig
    trained = Q.prepare_qat(model, mapping=Q.get_embedding_qat_module_mappings())
    results["trained near"] = trained[0](indices.reshape(2, 3))
    results["after near"] = Q.convert(trained.eval(), mapping=Q.get_embedding_static_quant_module_mappings())[0](indices.reshape(2, 3))
    return results


@program
def gates_and_biases(torch: Any, rng: Any) -> Results:
    nn, Q, quantizable, quantized = torch.nn, torch.ao.quantization, torch.ao.nn.quantizable, torch.ao.nn.quantized
    results: Results = {}
    for layers in (1, 2):
        model = filled(torch, nn.LSTM(3, 4, layers), rng).eval()
        model.qconfig = Q.get_default_qconfig("fbgemm")
        observed = quantizable.LSTM.from_float(model, split_gates=True)
        results[f"gates {layers} observed near"] = observed(values(torch, rng, 5, 2, 3))[0]
        converted = quantized.LSTM.from_observed(observed)
        output, (state, cell) = converted(torch.quantize_per_tensor(values(torch, rng, 5, 2, 3), 0.03, 64, torch.quint8))
        results[f"gates {layers} near"] = output.dequantize()
        results[f"cells {layers} near"] = cell.dequantize()
        results[f"gates {layers} scales"] = np.array([output.q_scale(), state.q_scale(), cell.q_scale()])
    for name, zero in (("biases", False), ("biases and zero", True)):
        model = filled(torch, nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=zero), rng).eval()
        model.qconfig = Q.get_default_qconfig("fbgemm")
        observed = quantizable.MultiheadAttention.from_float(model)
        x = values(torch, rng, 5, 2, 4)
        results[f"{name} observed near"] = observed(x, x, x)[0]
        converted = quantized.MultiheadAttention.from_observed(observed)
        given = torch.quantize_per_tensor(x, 0.03, 64, torch.quint8)
        mask = torch.from_numpy(np.triu(np.ones((5, 5), dtype=bool), 1))
        for kind, options in (("plain", {}), ("masked", {"attn_mask": mask})):
            result, shown = converted(given, given, given, **options)
            results[f"{name} {kind}!"] = result.int_repr()
            results[f"{name} {kind} weights!"] = shown.int_repr()
        results[f"{name} bias"] = converted.bias_v.int_repr()
    return results
