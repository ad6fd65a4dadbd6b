"""Layers and what they are called with: shared by tests/test_nn_modules.py and its recorder.

Everything is written as text or plain data, so that it can be run with either package as ``torch``.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np


class Case:
    """One layer, made by an expression, and one call of it.

    ``inputs`` are shapes (of real numbers), arrays (which are constants), or expressions; ``call`` is what is done with the layer ``m`` and the inputs
    ``x``, ``y``, ``z``.
    """

    def __init__(self, layer: str, *inputs: Any, call: str = "", train: bool = True, grad: bool = True) -> None:
        self.layer, self.inputs, self.train, self.grad = layer, inputs, train, grad
        self.call = call or f"m({', '.join('xyz'[: len(inputs)])})"

    @property
    def name(self) -> str:
        mode = "" if self.train else " in eval mode"
        return f"{self.layer}: {self.call}{mode} {list(self.shapes())}"

    def shapes(self) -> Any:
        return (each if isinstance(each, (tuple, str)) else "array" for each in self.inputs)


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def signs(count: int) -> np.ndarray:
    return np.where(np.arange(count) % 3 == 0, -1.0, 1.0).astype(np.float32)


MASK = "torch.nn.Transformer.generate_square_subsequent_mask(3)"
PADDING = "torch.tensor([[False, False, False], [False, False, True]])"
PACKED = "torch.nn.utils.rnn.pack_padded_sequence(x, [3, 1], enforce_sorted=True)"
UNSORTED = "torch.nn.utils.rnn.pack_padded_sequence(x, [1, 3], enforce_sorted=False)"
LENGTHS = "torch.tensor([4, 4]), torch.tensor([2, 1])"

CASES = [
    Case("nn.Identity(3)", (2, 3)), Case("nn.Linear(4, 3)", (2, 4)), Case("nn.Linear(4, 3, bias=False)", (4,)),
    Case("nn.Linear(4, 3, dtype=torch.float64)", "torch.arange(8.0, dtype=torch.float64).reshape(2, 4) / 7"),
    Case("nn.Bilinear(3, 2, 4)", (5, 3), (5, 2)), Case("nn.Bilinear(3, 2, 4, bias=False)", (3,), (2,)), Case("nn.LazyLinear(3)", (2, 4)),
    Case("nn.Flatten()", (2, 3, 2)), Case("nn.Flatten(0, 1)", (2, 3, 2)), Case("nn.Unflatten(1, (2, 3))", (2, 6)),
    # convolutions
    Case("nn.Conv1d(2, 3, 3)", (2, 2, 6)), Case("nn.Conv1d(2, 4, 3, 2, 1, 2, 2, False, 'reflect')", (2, 2, 8)),
    Case("nn.Conv1d(2, 3, 4, padding='same')", (2, 5)), Case("nn.Conv2d(2, 3, 3)", (1, 2, 5, 4)),
    Case("nn.Conv2d(2, 4, (3, 2), (2, 1), (1, 0), 1, 2)", (2, 2, 5, 4)), Case("nn.Conv2d(2, 2, 3, padding='same', dilation=2)", (1, 2, 5, 5)),
    Case("nn.Conv2d(1, 2, 3, padding=1, padding_mode='circular')", (1, 1, 4, 4)), Case("nn.Conv2d(1, 2, 3, padding=1, padding_mode='replicate')", (1, 4, 4)),
    Case("nn.Conv2d(1, 2, (3, 4), padding='same', padding_mode='reflect')", (1, 1, 5, 5)), Case("nn.Conv3d(1, 2, 2)", (1, 1, 3, 3, 3)),
    Case("nn.Conv3d(2, 2, (1, 2, 3), padding=(0, 1, 1), groups=2, bias=False)", (1, 2, 2, 3, 3)),
    Case("nn.ConvTranspose1d(2, 3, 3, 2, 1, 1)", (2, 2, 4)), Case("nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2)", (1, 2, 3, 3)),
    Case("nn.ConvTranspose2d(1, 1, 3, 2)", (1, 1, 3, 3), call="m(x, output_size=(8, 7))"), Case("nn.ConvTranspose2d(2, 1, 2, dilation=2, bias=False)", (2, 3, 3)),
    Case("nn.ConvTranspose3d(1, 2, 2, 2)", (1, 1, 2, 2, 2)), Case("nn.LazyConv2d(3, 2)", (1, 2, 3, 3)), Case("nn.LazyConvTranspose2d(4, 2, groups=2)", (1, 2, 3, 3)),
    Case("nn.LazyConv1d(2, 2, bias=False)", (2, 3, 4)),
    # pooling
    Case("nn.MaxPool1d(2)", (1, 2, 6)), Case("nn.MaxPool1d(3, 2, 1, return_indices=True)", (2, 7)), Case("nn.MaxPool2d((2, 3), 2, (1, 0), ceil_mode=True)", (1, 2, 5, 6)),
    Case("nn.MaxPool2d(2, dilation=2)", (2, 5, 5)), Case("nn.MaxPool3d(2)", (1, 1, 4, 4, 2)), Case("nn.AvgPool1d(3, 2, 1)", (1, 2, 7)),
    Case("nn.AvgPool2d(3, 2, 1, count_include_pad=False)", (1, 2, 5, 5)), Case("nn.AvgPool2d(2, divisor_override=3)", (1, 1, 4, 4)), Case("nn.AvgPool3d(2, ceil_mode=True)", (1, 1, 3, 4, 4)),
    Case("nn.LPPool1d(2, 3, 2)", (1, 2, 7)), Case("nn.LPPool2d(2, 2)", (1, 1, 4, 4)), Case("nn.LPPool3d(2, 2)", (1, 1, 2, 4, 2)),
    Case("nn.AdaptiveAvgPool1d(3)", (1, 2, 7)), Case("nn.AdaptiveAvgPool2d((None, 2))", (1, 2, 3, 5)), Case("nn.AdaptiveAvgPool3d(2)", (1, 1, 3, 4, 5)),
    Case("nn.AdaptiveMaxPool1d(3)", (1, 2, 7)), Case("nn.AdaptiveMaxPool2d(2, return_indices=True)", (1, 1, 5, 4)), Case("nn.AdaptiveMaxPool3d((1, 2, None))", (1, 1, 3, 4, 2)),
    Case("nn.MaxUnpool1d(2)", (1, 1, 3), ints([[1, 2, 5]])), Case("nn.MaxUnpool2d(2)", (1, 1, 2, 2), ints([[[0, 3], [9, 14]]])),
    Case("nn.MaxUnpool2d(2)", (1, 1, 2, 2), ints([[[0, 3], [9, 14]]]), call="m(x, y, output_size=(5, 5))"), Case("nn.MaxUnpool3d(2)", (1, 1, 1, 1, 2), ints([[[[0, 11]]]])),
    Case("nn.FractionalMaxPool2d(2, 3)", (1, 2, 7, 7)), Case("nn.FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True)", (1, 1, 5, 5, 5)),
    # padding
    Case("nn.ZeroPad1d((1, 2))", (1, 2, 3)), Case("nn.ZeroPad2d(1)", (2, 2, 3)), Case("nn.ZeroPad3d(1)", (1, 1, 2, 2, 2)), Case("nn.ConstantPad1d(2, 3.5)", (2, 3)),
    Case("nn.ConstantPad2d((1, 0, -1, 2), 3.5)", (1, 3, 3)), Case("nn.ConstantPad3d(1, -2.0)", (1, 1, 1, 2, 1)), Case("nn.ReflectionPad1d(2)", (1, 2, 4)),
    Case("nn.ReflectionPad2d((1, 2, 0, 1))", (1, 1, 3, 4)), Case("nn.ReflectionPad3d(1)", (1, 1, 2, 2, 3)), Case("nn.ReplicationPad1d((2, 1))", (2, 3)),
    Case("nn.ReplicationPad2d(1)", (1, 1, 2, 2)), Case("nn.ReplicationPad3d(1)", (1, 1, 1, 2, 2)), Case("nn.CircularPad1d(2)", (1, 2, 3)), Case("nn.CircularPad2d((1, 1, 2, 0))", (1, 1, 3, 3)),
    Case("nn.CircularPad3d(1)", (1, 1, 2, 2, 2)),
    # normalisation
    Case("nn.BatchNorm1d(3)", (4, 3)), Case("nn.BatchNorm1d(3)", (4, 3), train=False), Case("nn.BatchNorm1d(2, affine=False)", (3, 2, 2)), Case("nn.BatchNorm2d(2, momentum=None)", (2, 2, 2, 3)),
    Case("nn.BatchNorm2d(2, track_running_stats=False, bias=False)", (2, 2, 2, 3), train=False), Case("nn.BatchNorm3d(2, eps=0.1, momentum=0.3)", (2, 2, 1, 2, 2)), Case("nn.LazyBatchNorm1d()", (4, 3)),
    Case("nn.SyncBatchNorm(3)", (4, 3)), Case("nn.InstanceNorm1d(2)", (2, 2, 4)), Case("nn.InstanceNorm2d(2, affine=True, track_running_stats=True)", (2, 2, 2, 3)),
    Case("nn.InstanceNorm2d(2, affine=True, track_running_stats=True)", (2, 2, 2, 3), train=False), Case("nn.InstanceNorm3d(2)", (2, 2, 2, 2)), Case("nn.LazyInstanceNorm2d()", (1, 2, 2, 3)),
    Case("nn.LayerNorm(4)", (3, 4)), Case("nn.LayerNorm((2, 3), bias=False)", (2, 2, 3)), Case("nn.LayerNorm(4, 0.1, False)", (3, 4)), Case("nn.GroupNorm(2, 4)", (2, 4, 3)),
    Case("nn.GroupNorm(1, 2, affine=False)", (2, 2, 2, 2)), Case("nn.RMSNorm(4)", (3, 4)), Case("nn.RMSNorm((2, 2), 0.01, False)", (2, 2, 2)), Case("nn.LocalResponseNorm(3, 0.1)", (2, 4, 3)),
    # PyTorch's gradient of this old layer is not that of what it computes.
    Case("nn.CrossMapLRN2d(3, 0.1, 0.5, 2)", (1, 4, 2, 2), grad=False), Case("nn.CrossMapLRN2d(4, 0.1)", (1, 5, 2, 2), grad=False),
    # activations
    *(Case(f"nn.{name}", (3, 4)) for name in (
        "ReLU()", "ReLU6()", "RReLU()", "Hardtanh(-0.5, 0.7)", "Sigmoid()", "Hardsigmoid()", "Tanh()", "SiLU()", "Mish()", "Hardswish()", "ELU(0.5)",
        "CELU(2.0)", "SELU()", "GLU()", "GELU()", "GELU('tanh')", "Hardshrink()", "LeakyReLU(0.1)", "LogSigmoid()", "Softplus(2.0, 1.0)", "Softshrink(0.3)",
        "PReLU()", "PReLU(4, 0.1)", "Softsign()", "Tanhshrink()", "Threshold(0.2, 3.0)", "Softmin(1)", "Softmax(0)", "LogSoftmax(-1)",
    )),
    Case("nn.RReLU(0.1, 0.3)", (3, 4), train=False), Case("nn.ReLU(inplace=True)", (3, 4), call="m(x * 1)"), Case("nn.Softmax2d()", (2, 3, 2, 2)),
    # dropout
    Case("nn.Dropout(0.4)", (4, 5)), Case("nn.Dropout(0.4)", (4, 5), train=False), Case("nn.Dropout1d()", (3, 4, 2)), Case("nn.Dropout2d(0.3)", (2, 5, 2, 2)), Case("nn.Dropout3d(0.6)", (2, 4, 1, 2, 1)),
    Case("nn.AlphaDropout(0.3)", (4, 5)), Case("nn.FeatureAlphaDropout()", (3, 4, 2)),
    # embeddings
    Case("nn.Embedding(5, 3)", ints([0, 4], [2, 0])), Case("nn.Embedding(5, 3, padding_idx=-1)", ints(4, 1, 4)), Case("nn.Embedding(5, 3, max_norm=1.0)", ints(1, 2, 1)),
    Case("nn.Embedding(5, 3, scale_grad_by_freq=True)", ints(1, 2, 1)), Case("nn.EmbeddingBag(5, 3)", ints([0, 4, 1], [2, 0, 0])), Case("nn.EmbeddingBag(5, 3, mode='sum', padding_idx=0)", ints(0, 4, 1, 2), ints(0, 2, 2)),
    Case("nn.EmbeddingBag(5, 3, mode='max')", ints(0, 4, 1, 2), ints(0, 3)), Case("nn.EmbeddingBag(5, 3, mode='sum', include_last_offset=True)", ints(0, 4, 1), ints(0, 1, 3), (3,)),
    # recurrent
    Case("nn.RNN(3, 2)", (4, 2, 3)), Case("nn.RNN(3, 2, 2, 'relu', bidirectional=True, batch_first=True)", (2, 4, 3), (4, 2, 2)), Case("nn.RNN(3, 2, bias=False)", (4, 3)),
    Case("nn.LSTM(3, 2)", (4, 2, 3)), Case("nn.LSTM(3, 2, 2, bidirectional=True, batch_first=True)", (2, 3, 3)), Case("nn.LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)", (3, 2, 3)),
    Case("nn.LSTM(3, 4, proj_size=2)", (3, 2, 3), (1, 2, 2), (1, 2, 4), call="m(x, (y, z))"), Case("nn.LSTM(3, 2, 2, dropout=0.5)", (4, 2, 3)), Case("nn.LSTM(3, 2, bias=False)", (4, 3)),
    Case("nn.LSTM(3, 2, bidirectional=True)", (3, 2, 3), call=f"m({PACKED})"), Case("nn.LSTM(3, 2, 2)", (3, 2, 3), (2, 2, 2), (2, 2, 2), call=f"m({UNSORTED}, (y, z))"),
    Case("nn.GRU(3, 2)", (4, 2, 3)), Case("nn.GRU(3, 2, 2, True, True, 0.0, True)", (2, 3, 3), (4, 2, 2)), Case("nn.GRU(3, 2, bias=False)", (4, 3), (1, 2)), Case("nn.GRU(3, 2, bidirectional=True)", (3, 2, 3), call=f"m({UNSORTED})"),
    Case("nn.RNN(3, 2)", (3, 2, 3), call=f"m({PACKED})"), Case("nn.GRU(3, 2, 2, dropout=0.3)", (3, 2, 3), call=f"m({PACKED})"), Case("nn.RNNCell(3, 2)", (4, 3)),
    Case("nn.RNNCell(3, 2, False, 'relu')", (3,), (2,)), Case("nn.LSTMCell(3, 2)", (4, 3), (4, 2), (4, 2), call="m(x, (y, z))"), Case("nn.LSTMCell(3, 2, bias=False)", (3,)), Case("nn.GRUCell(3, 2)", (4, 3), (4, 2)),
    # transformers
    Case("nn.MultiheadAttention(4, 2)", (3, 2, 4), (3, 2, 4), (3, 2, 4)), Case("nn.MultiheadAttention(4, 2, batch_first=True)", (2, 3, 4), call=f"m(x, x, x, key_padding_mask={PADDING}, attn_mask={MASK} < 0)"),
    Case("nn.MultiheadAttention(4, 2, bias=False)", (3, 2, 4), call=f"m(x, x, x, attn_mask={MASK}, is_causal=True, need_weights=False)"),
    Case("nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)", (3, 2, 4), (2, 2, 4), call="m(x, y, y, average_attn_weights=False)"),
    Case("nn.MultiheadAttention(4, 1, kdim=3, vdim=5, dropout=0.3)", (3, 4), (2, 3), (2, 5)), Case("nn.MultiheadAttention(4, 2, dropout=0.3)", (3, 2, 4), call="m(x, x, x, need_weights=False)"),
    Case("nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)", (2, 3, 4), call=f"m(x, src_key_padding_mask={PADDING})"),
    Case("nn.TransformerEncoderLayer(4, 2, 6, 0.0, 'gelu', norm_first=True, bias=False)", (3, 2, 4), call=f"m(x, {MASK}, is_causal=True)"), Case("nn.TransformerDecoderLayer(4, 2, 6)", (3, 2, 4), (2, 2, 4)),
    Case("nn.TransformerDecoderLayer(4, 2, 6, norm_first=True, batch_first=True)", (2, 3, 4), (2, 3, 4), call=f"m(x, y, tgt_mask={MASK}, memory_key_padding_mask={PADDING})"),
    Case("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2, nn.LayerNorm(4))", (2, 3, 4), call=f"m(x, src_key_padding_mask={PADDING})", train=False),
    Case("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2)", (2, 3, 4), call=f"m(x, src_key_padding_mask={PADDING})", train=False, grad=False),
    Case("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 1)", (2, 3, 4), call=f"m(x, mask={MASK})", train=False),
    Case("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6), 2)", (3, 2, 4), (2, 2, 4), call=f"m(x, y, {MASK})", train=False), Case("nn.Transformer(4, 2, 1, 1, 6)", (3, 2, 4), (2, 2, 4)),
    # vision and distances
    Case("nn.PixelShuffle(2)", (1, 4, 2, 3)), Case("nn.PixelUnshuffle(2)", (1, 1, 4, 2)), Case("nn.ChannelShuffle(2)", (1, 4, 2, 1)), Case("nn.Upsample(scale_factor=2)", (1, 2, 3)),
    Case("nn.Upsample((3, 5), mode='bilinear')", (1, 1, 2, 3)), Case("nn.Upsample(scale_factor=(2.0, 1.5), mode='bicubic', align_corners=True)", (1, 1, 3, 4)), Case("nn.UpsamplingNearest2d(scale_factor=2)", (1, 1, 2, 2)),
    Case("nn.UpsamplingBilinear2d((3, 4))", (1, 1, 2, 2)), Case("nn.Fold((3, 4), 2)", (1, 4, 6)), Case("nn.Unfold(2, padding=1, stride=2)", (1, 2, 3, 4)), Case("nn.PairwiseDistance(3.0, keepdim=True)", (3, 4), (3, 4)),
    Case("nn.CosineSimilarity(0)", (3, 4), (3, 4)),
    # losses
    Case("nn.L1Loss()", (3, 4), (3, 4)), Case("nn.L1Loss(reduction='sum')", (3, 4), (3, 4)), Case("nn.MSELoss(reduction='none')", (3, 4), (3, 4)), Case("nn.SmoothL1Loss(beta=0.5)", (3, 4), (3, 4)), Case("nn.HuberLoss(delta=0.5)", (3, 4), (3, 4)),
    Case("nn.PoissonNLLLoss(full=True)", (3, 4), np.arange(12.0, dtype=np.float32).reshape(3, 4)), Case("nn.GaussianNLLLoss(full=True)", (3, 4), (3, 4), np.full((3, 4), 0.7, np.float32)), Case("nn.KLDivLoss(reduction='batchmean')", (3, 4), np.full((3, 4), 0.25, np.float32)),
    Case("nn.KLDivLoss(log_target=True)", (3, 4), (3, 4)), Case("nn.NLLLoss()", (3, 4), ints(0, 3, 1)), Case("nn.NLLLoss(torch.tensor([1.0, 2.0, 0.5, 1.5]), ignore_index=1)", (3, 4), ints(0, 3, 1)),
    Case("nn.CrossEntropyLoss(label_smoothing=0.1)", (3, 4), ints(0, 3, 1)), Case("nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 0.5, 1.5]))", (2, 4, 2), ints([0, 3], [1, -100])), Case("nn.CrossEntropyLoss(reduction='none')", (2, 3), np.full((2, 3), 1 / 3, np.float32)),
    Case("nn.LinearCrossEntropyLoss(3, 4, bias=True)", (2, 3), ints(0, 3)), Case("nn.LinearCrossEntropyLoss(3, 4, out_features=(2,))", (2, 3), ints([0, 3], [1, 2])),
    Case("nn.BCELoss()", "torch.linspace(0.1, 0.9, 6).reshape(2, 3)", np.array([[0, 1, 1], [1, 0, 0]], np.float32)), Case("nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0]))", (2, 3), np.array([[0, 1, 1], [1, 0, 0]], np.float32)),
    Case("nn.HingeEmbeddingLoss(0.5)", (6,), signs(6)), Case("nn.MultiLabelMarginLoss()", (2, 4), ints([3, 0, -1, 1], [1, -1, 0, 0])), Case("nn.SoftMarginLoss()", (6,), signs(6)),
    Case("nn.CosineEmbeddingLoss(0.1)", (3, 4), (3, 4), signs(3)), Case("nn.MarginRankingLoss(0.2)", (6,), (6,), signs(6)), Case("nn.MultiLabelSoftMarginLoss()", (2, 3), np.array([[0, 1, 1], [1, 0, 0]], np.float32)),
    Case("nn.MultiMarginLoss(2, 0.7, torch.tensor([1.0, 2.0, 0.5, 1.5]))", (3, 4), ints(0, 3, 1)), Case("nn.TripletMarginLoss(swap=True)", (3, 4), (3, 4), (3, 4)), Case("nn.TripletMarginWithDistanceLoss(margin=0.5)", (3, 4), (3, 4), (3, 4)),
    Case("nn.CTCLoss()", (4, 2, 5), ints([1, 2], [3, 1]), call=f"m(x.log_softmax(-1), y, {LENGTHS})"), Case("nn.AdaptiveLogSoftmaxWithLoss(8, 8, [2, 5], 2.0, True)", (4, 8), ints(0, 7, 3, 1)),
    Case("nn.AdaptiveLogSoftmaxWithLoss(8, 8, [2, 5], 2.0)", (4, 8), call="(m.log_prob(x), m.predict(x))"),
    # containers
    Case("nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))", (5, 3)), Case("nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])", (2, 3), call="m[1](m[0](x))"),
    Case("nn.ModuleDict({'a': nn.Linear(3, 2), 'b': nn.Softmax(-1)})", (2, 3), call="m['b'](m['a'](x))"), Case("nn.ParameterList([nn.Parameter(torch.ones(2)), torch.rand(2)])", (2,), call="x * m[0] + m[1]"),
    Case("nn.ParameterDict({'w': torch.rand(2, 2)})", (2,), call="m['w'] @ x"),
    # functions that draw numbers
    Case("nn.Identity()", (3, 4), call="torch.nn.functional.gumbel_softmax(m(x), 0.7)"), Case("nn.Identity()", (3, 4), call="torch.nn.functional.gumbel_softmax(m(x), hard=True, dim=0)"),
]  # fmt: skip

INITIALISERS = [
    "uniform_(torch.empty(3, 4), -1.0, 2.0)", "normal_(torch.empty(3, 4), 1.0, 2.0)", "normal_(torch.empty(5, 4), 1.0, 2.0)", "trunc_normal_(torch.empty(3, 4))", "trunc_normal_(torch.empty(20), 0.5, 2.0, -1.0, 1.5)",
    "trunc_normal_(torch.empty(9), 0.0, 1.0, 2.0, 3.0)", "constant_(torch.empty(2), 0.3)", "ones_(torch.empty(2))", "zeros_(torch.empty(2))", "eye_(torch.empty(2, 3))", "eye_(torch.empty(3, 2))", "dirac_(torch.empty(4, 2, 3), 2)",
    "dirac_(torch.empty(2, 3, 3, 3))", "xavier_uniform_(torch.empty(3, 4), 2.0)", "xavier_normal_(torch.empty(3, 4, 2))", "kaiming_uniform_(torch.empty(3, 4), 1.5)", "kaiming_uniform_(torch.empty(3, 4), mode='fan_out', nonlinearity='relu')",
    "kaiming_normal_(torch.empty(3, 4, 2), nonlinearity='selu')", "orthogonal_(torch.empty(2, 3, 2))", "orthogonal_(torch.empty(4, 3), 2.0)", "sparse_(torch.empty(4, 3), 0.5, 0.1)",
]  # fmt: skip


def draw(torch: Any, expression: str) -> list[np.ndarray]:
    """The values of an initialiser, and the next number of the stream after it."""
    torch.manual_seed(0)
    value = eval(f"torch.nn.init.{expression}", {"torch": torch})
    return [value.numpy(), torch.rand(1).numpy()]


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Real numbers that depend on a name alone, none of them near 0 or near another."""
    stream = np.random.default_rng(zlib.crc32(name.encode()))
    count = math.prod(shape)
    spread = (np.arange(count) - count / 2 + 0.5) * (3.0 / max(count, 1))
    return stream.permutation(spread).reshape(shape).astype(np.float32)


def leaves(value: Any, tensor: type) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(value, tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves(each, tensor)]
    return []


def run_case(torch: Any, case: Case) -> tuple[dict[str, np.ndarray], str]:
    """What a case gives with a package: initial state, outputs, gradients, state after the call; and how the layer prints."""
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    torch.manual_seed(0)
    module = eval(case.layer, names)
    found: dict[str, np.ndarray] = {}
    lazy = "Lazy" in case.layer
    if not lazy:
        found.update(("initial " + name, array(value)) for name, value in module.state_dict().items())
    module.train(case.train)
    inputs = []
    for position, source in enumerate(case.inputs):
        if isinstance(source, np.ndarray):
            inputs.append(torch.from_numpy(source.copy()))
            continue
        if isinstance(source, str):
            value = eval(source, names)
        else:
            value = torch.from_numpy(numbers(f"{case.layer} {position}", source))
        inputs.append(value.requires_grad_(case.grad))
    names.update(m=module, **dict(zip("xyz", inputs)))
    torch.manual_seed(1)
    if case.grad:
        output = eval(case.call, names)
    else:
        with torch.no_grad():
            output = eval(case.call, names)
    results = leaves(output, torch.Tensor)
    found.update((f"output {i}", array(each)) for i, each in enumerate(results))
    loss = sum((each * torch.from_numpy(weights(each))).sum() for each in results if each.requires_grad)
    if case.grad and not isinstance(loss, int):
        loss.backward()
    found.update((f"gradient of input {i}", array(each.grad)) for i, each in enumerate(inputs) if each.grad is not None)
    found.update((f"gradient of {name}", array(each.grad)) for name, each in module.named_parameters() if each.grad is not None)
    states = module.state_dict() if lazy else dict(module.named_buffers())
    found.update(("final " + name, array(value)) for name, value in states.items())
    return found, repr(module)


def weights(tensor: Any) -> np.ndarray:
    """How much each element of an output counts in the loss whose gradients are compared."""
    count = math.prod(tuple(tensor.shape))
    return np.cos(np.arange(count)).reshape(tuple(tensor.shape)).astype(tensor.detach().numpy().dtype)


def array(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().numpy())
