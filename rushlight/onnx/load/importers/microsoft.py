"""Operators of ONNX Runtime's own domain, which its tools write: quantized layers without operators in the standard, and fused ones.

Those that its graph optimizer makes for one machine alone (other layouts of memory, packed weights) are not here.
"""

from __future__ import annotations

from typing import Any

from ....nn import functional as F
from .. import calls as rl
from ..registry import NodeContext, importer
from .convolution import conv
from .pooling import average_pool
from .quantization import centred, dequantize_linear, dynamic_quantize_linear, qlinear_conv, quantize_linear, saturated, type_number
from .recurrent import lstm

DOMAIN = "com.microsoft"

importer("QuantizeLinear", domain=DOMAIN)(quantize_linear)
importer("DequantizeLinear", domain=DOMAIN)(dequantize_linear)


def real(x: Any, scale: Any, zero_point: Any) -> Any:
    """Quantized numbers as what they stand for."""
    exact = x.to(rl.int32)
    return (exact if zero_point is None else exact - zero_point.to(rl.int32)).to(rl.float32) * scale


def quantized(node: NodeContext, y: Any, scale: Any, zero_point: Any, position: int) -> Any:
    """Numbers, quantized; the zero point is the input at a position."""
    return saturated(rl.round(y / scale) + zero_point.to(rl.float32), type_number(node, position, zero_point))


def with_defaults(node: NodeContext, **defaults: Any) -> NodeContext:
    """A node with the attributes that the operator of the standard has by default."""
    return NodeContext(node.kind, node.domain, node.opset, {**defaults, **node.attributes}, node.outputs, node.name, node.input_types)


@importer("QLinearAdd", "QLinearMul", domain=DOMAIN)
def qlinear_binary(
    node: NodeContext, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    first, second = real(a, a_scale, a_zero), real(b, b_scale, b_zero)
    return quantized(node, first + second if node.kind == "QLinearAdd" else first * second, y_scale, y_zero, 7)


@importer("QLinearAveragePool", "QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_average_pool(node: NodeContext, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any) -> Any:
    value, last = real(x, x_scale, x_zero), bool(node.get("channels_last", 0))
    value = rl.movedim(value, -1, 1) if last else value
    if node.kind == "QLinearAveragePool":
        y = average_pool(with_defaults(node, count_include_pad=0, ceil_mode=0), value)
    else:
        y = rl.mean(value, list(range(2, value.dim())), keepdim=True)
    return quantized(node, rl.movedim(y, 1, -1) if last else y, y_scale, y_zero, 4)


@importer("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=DOMAIN)
def qlinear_activation(node: NodeContext, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any) -> Any:
    value = real(x, x_scale, x_zero)
    if node.kind == "QLinearSigmoid":
        y = rl.sigmoid(value)
    elif node.kind == "QLinearLeakyRelu":
        y = F.leaky_relu(value, node.get("alpha", 0.01))
    elif node.get("opset", 13) >= 13:
        y = rl.softmax(value, node.get("axis", -1))
    else:
        y = rl.softmax(value.flatten(node.get("axis", 1)), -1).reshape(value.shape)
    return quantized(node, y, y_scale, y_zero, 4)


@importer("QLinearWhere", domain=DOMAIN)
def qlinear_where(
    node: NodeContext, condition: Any, x: Any, x_scale: Any, x_zero: Any, y: Any, y_scale: Any, y_zero: Any, z_scale: Any, z_zero: Any
) -> Any:
    return quantized(node, rl.where(condition, real(x, x_scale, x_zero), real(y, y_scale, y_zero)), z_scale, z_zero, 8)


@importer("QLinearConv", domain=DOMAIN)
def qlinear_conv_of_rows(
    node: NodeContext, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any, y_zero: Any, b: Any = None
) -> Any:
    """The standard's operator, perhaps of images whose channels are last."""
    last = node.get("channels_last", 0)
    y = qlinear_conv(
        with_defaults(node, group=1), rl.movedim(x, -1, 1) if last else x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b
    )
    return rl.movedim(y, 1, -1) if last else y


@importer("QLinearConcat", domain=DOMAIN)
def qlinear_concat(node: NodeContext, y_scale: Any, y_zero: Any, *parts: Any) -> Any:
    values = [real(*parts[at : at + 3]) for at in range(0, len(parts), 3)]
    return quantized(node, rl.cat(values, node["axis"]), y_scale, y_zero, 1)


@importer("QGemm", domain=DOMAIN)
def qgemm(
    node: NodeContext,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    c: Any = None,
    y_scale: Any = None,
    y_zero: Any = None,
) -> Any:
    if b_zero.numel() > 1:
        b_zero = b_zero.unsqueeze(-1 if node.get("transB", 0) else 0)
    left, right = centred(a, a_zero), centred(b, b_zero)
    total = rl.matmul(left.t() if node.get("transA", 0) else left, right.t() if node.get("transB", 0) else right)
    if c is not None:
        total = total + c.to(rl.float64)
    y = total.to(rl.float32) * (a_scale * b_scale * node.get("alpha", 1.0))
    return y if y_scale is None else quantized(node, y, y_scale, y_zero, 8)


@importer("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(
    node: NodeContext, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, bias: Any = None
) -> Any:
    y = rl.matmul(centred(a, a_zero), centred(b, b_zero)).to(rl.float32) * (a_scale * b_scale)
    return y if bias is None else y + bias


@importer("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(node: NodeContext, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    narrow, scale, zero = dynamic_quantize_linear(node, a)
    return matmul_integer_to_float(node, narrow, b, scale, b_scale, zero, b_zero, bias)


@importer("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(
    node: NodeContext, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None, p: Any = None, w_scale: Any = None,
    w_zero: Any = None, r_scale: Any = None, r_zero: Any = None,
) -> Any:  # fmt: skip
    """An LSTM with narrow weights.  ONNX Runtime rounds the inputs of its products, too, from step to step; here they are as they are."""
    inner = NodeContext(
        "LSTM", "", 14, {"direction": "forward", "input_forget": 0, "layout": 0, **node.attributes}, node.outputs, node.name
    )
    weights = []
    for each, scale, zero in ((w, w_scale, w_zero), (r, r_scale, r_zero)):
        spread = lambda part: None if part is None else part.reshape(part.shape[0], 1, -1)  # noqa: E731 (for a direction, or for each of its columns)
        weights.append(real(each, spread(scale), spread(zero)).transpose(1, 2))
    return lstm(inner, x, weights[0], weights[1], b, lengths, h, c, p)


# -- fused operators ------------------------------------------------------------------------------------------------------------------

_ACTIVATIONS: dict[str, Any] = {
    "Relu": rl.relu, "Tanh": rl.tanh, "Sigmoid": rl.sigmoid, "Gelu": F.gelu, "HardSigmoid": lambda x, a=0.2, b=0.5: rl.clamp(a * x + b, 0, 1),
    "LeakyRelu": lambda x, a=0.01: F.leaky_relu(x, a), "Clip": lambda x, low, high: rl.clamp(x, low, high), "Elu": lambda x, a=1.0: F.elu(x, a),
    "Softplus": F.softplus, "Softsign": F.softsign, "ThresholdedRelu": lambda x, a=1.0: F.threshold(x, a, 0.0),
    "ParametricSoftplus": lambda x, a, b: a * F.softplus(b * x), "ScaledTanh": lambda x, a, b: a * rl.tanh(b * x),
}  # fmt: skip


def activated(node: NodeContext, y: Any) -> Any:
    """A value with the activation that was fused into its operator."""
    name = node.get("activation", "")
    if not name:
        return y
    if name not in _ACTIVATIONS:
        raise node.not_supported(f"the activation {name!r} is not known")
    numbers = [node.get(each) for each in ("activation_alpha", "activation_beta")]
    return _ACTIVATIONS[name](y, *node.get("activation_params", [each for each in numbers if each is not None]))


@importer("FusedConv", domain=DOMAIN)
def fused_conv(node: NodeContext, x: Any, w: Any, b: Any = None, z: Any = None) -> Any:
    y = conv(with_defaults(node, group=1), x, w, b)
    return activated(node, y if z is None else y + z)


@importer("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: NodeContext, a: Any, b: Any) -> Any:
    a = rl.movedim(a, 0, -2) if node.get("transBatchA", 0) else a  # the rows are the first dimension, before those of the batch
    b = rl.movedim(b, 0, -2) if node.get("transBatchB", 0) else b
    a = rl.transpose(a, -1, -2) if node.get("transA", 0) else a
    b = rl.transpose(b, -1, -2) if node.get("transB", 0) else b
    return rl.matmul(a, b) * node.get("alpha", 1.0)


@importer("FusedGemm", domain=DOMAIN)
def fused_gemm(node: NodeContext, a: Any, b: Any, c: Any = None) -> Any:
    y = rl.matmul(a.t() if node.get("transA", 0) else a, b.t() if node.get("transB", 0) else b) * node.get("alpha", 1.0)
    return activated(node, y if c is None else y + c * node.get("beta", 1.0))


@importer("Gelu", "BiasGelu", "FastGelu", "QuickGelu", domain=DOMAIN)
def gelus(node: NodeContext, x: Any, bias: Any = None) -> Any:
    x = x if bias is None else x + bias
    if node.kind == "QuickGelu":
        return x * rl.sigmoid(node.get("alpha", 1.702) * x)
    return F.gelu(x, approximate="tanh" if node.kind == "FastGelu" else "none")


@importer("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(node: NodeContext, x: Any, skip: Any, scale: Any, shift: Any = None, bias: Any = None) -> Any:
    total = x + skip if bias is None else x + skip + bias
    return _outputs(node, F.layer_norm(total, total.shape[-1:], scale, shift, node.get("epsilon", 1e-12)), total)


@importer("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_rms_normalization(node: NodeContext, x: Any, skip: Any, scale: Any, bias: Any = None) -> Any:
    total = x + skip if bias is None else x + skip + bias
    return _outputs(node, F.rms_norm(total, total.shape[-1:], scale, node.get("epsilon", 1e-12)), total)


def _outputs(node: NodeContext, y: Any, total: Any) -> Any:
    """A normalized sum, the statistics in training that no file for inference asks for, and the sum."""
    return y if node.outputs == 1 else (y, None, None, total)[: node.outputs]


@importer("SimplifiedLayerNormalization")
def rms_normalization(node: NodeContext, x: Any, scale: Any) -> Any:
    return F.rms_norm(x, x.shape[-1:], scale, node.get("epsilon", 1e-5))


@importer("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(
    node: NodeContext, words: Any, segments: Any, word_table: Any, place_table: Any, segment_table: Any, scale: Any, shift: Any, mask: Any = None, places: Any = None
) -> Any:  # fmt: skip
    places = rl.arange(words.shape[1]) if places is None else places
    total = F.embedding(words, word_table) + F.embedding(places, place_table)
    if segments is not None:
        total = total + F.embedding(segments, segment_table)
    y = F.layer_norm(total, total.shape[-1:], scale, shift, node.get("epsilon", 1e-12))
    lengths = rl.zeros((words.shape[0],), dtype=rl.int32) if mask is None else rl.sum(mask, 1).to(rl.int32)
    return y if node.outputs == 1 else (y, lengths, total)[: node.outputs]


# -- weights of a few bits, in blocks --------------------------------------------------------------------------------------


def unpacked(data: Any, bits: int, count: int) -> Any:
    """The first so many numbers of a few bits that bytes hold along the last axis, the lowest bits first."""
    if bits not in (1, 2, 4, 8):
        raise ValueError(f"numbers of {bits} bits do not fill bytes")
    rows = data.to(rl.int32).unsqueeze(-1)
    parts = [rl.bitwise_and(rl.bitwise_right_shift(rows, shift), (1 << bits) - 1) for shift in range(0, 8, bits)]
    return rl.cat(parts, -1).flatten(-2)[..., :count]


@importer("MatMulNBits", domain=DOMAIN)
def matmul_n_bits(
    node: NodeContext, x: Any, weight: Any, scales: Any, zero_points: Any = None, groups: Any = None, bias: Any = None
) -> Any:
    if groups is not None:
        raise node.not_supported("its columns are in an order of their own (g_idx)")
    bits, size, (rows, columns) = node.get("bits", 4), node["block_size"], (node["N"], node["K"])
    blocks = -(-columns // size)
    whole = unpacked(weight.reshape(rows, blocks, -1), bits, size).to(scales.dtype)
    if zero_points is None:
        whole = whole - (1 << (bits - 1))
    else:
        packed = not zero_points.is_floating_point()
        zeros = unpacked(zero_points.reshape(rows, -1), bits, blocks) if packed else zero_points.reshape(rows, blocks)
        whole = whole - zeros.to(scales.dtype).unsqueeze(-1)
    real_weight = (whole * scales.reshape(rows, blocks, 1)).reshape(rows, blocks * size)[:, :columns]
    return F.linear(x, real_weight.to(x.dtype), bias)


@importer("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(node: NodeContext, data: Any, indices: Any, scales: Any, zero_points: Any = None) -> Any:
    axis, size, bits = node.get("gather_axis", 0) % data.dim(), node.get("block_size", 128), node.get("bits", 4)
    along = node.get("quantize_axis", 1) % data.dim()
    if type_number(node, 0, data) in (2, 3):  # bytes that hold several numbers
        data = unpacked(data, bits, data.shape[-1] * (8 // bits))
        zero_points = None if zero_points is None else unpacked(zero_points, bits, scales.shape[-1])
        usual = 1 << (bits - 1)
    else:
        usual = 0
    if axis == along:
        raise node.not_supported("it takes elements along the axis of its blocks")

    def taken(value: Any) -> Any:
        return (
            rl.index_select(value, axis, indices.flatten()).unflatten(axis, indices.shape) if indices.dim() else value.select(axis, indices)
        )

    def spread(value: Any) -> Any:
        return rl.repeat_interleave(value, size, along).narrow(along, 0, data.shape[along])

    zeros = usual if zero_points is None else taken(spread(zero_points)).to(rl.int32)
    return (taken(data).to(rl.int32) - zeros).to(scales.dtype) * taken(spread(scales))
