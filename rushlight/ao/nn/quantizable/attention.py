"""Attention with several heads, of linear layers that can be observed one by one."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....core.declare import table
from ....core.dtypes import BY_NAME, quint8
from ....nn import functional as F
from ....nn.parameter import Parameter
from ....ops.quantized.quantize import quantize_per_tensor
from ...quantization.stubs import DeQuantStub, QuantStub
from ..quantized import FloatFunctional
from .recurrent import converted, observed

bool_type = BY_NAME["bool"]


class MultiheadAttention(nn.MultiheadAttention):
    """Attention whose projections are linear layers; scores and weights are computed in real numbers."""

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False,
        kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype)
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias"):
            self._parameters.pop(name, None)
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.out_proj: Any = nn.Linear(embed_dim, embed_dim, **options)
        self.linear_Q = nn.Linear(embed_dim, embed_dim, **options)
        self.linear_K = nn.Linear(self.kdim, embed_dim, **options)
        self.linear_V = nn.Linear(self.vdim, embed_dim, **options)
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """In the place of an ``nn.MultiheadAttention``, with observers."""
        if type(other) is not nn.MultiheadAttention or not hasattr(other, "qconfig"):
            raise AssertionError("The float module must be an nn.MultiheadAttention with a 'qconfig'")
        made = cls(
            other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None, other.bias_k is not None, other.add_zero_attn, other.kdim,
            other.vdim, other.batch_first,
        )  # fmt: skip
        size = other.embed_dim
        weights = [other.q_proj_weight, other.k_proj_weight, other.v_proj_weight]
        if other._qkv_same_embed_dim:
            weights = [other.in_proj_weight[at * size : (at + 1) * size] for at in range(3)]
        for at, (layer, weight) in enumerate(zip((made.linear_Q, made.linear_K, made.linear_V), weights)):
            layer.weight = Parameter(weight.detach().clone())
            if other.in_proj_bias is not None:
                layer.bias = Parameter(other.in_proj_bias[at * size : (at + 1) * size].detach().clone())
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        made.bias_k, made.bias_v = other.bias_k, other.bias_v
        made.train(other.training)
        return observed(made, other.qconfig)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Refuse: what is quantized is made by :class:`QuantizedMultiheadAttention`."""
        raise NotImplementedError("It looks like you are trying to convert a non-quantized attention: use convert()")

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """What is attended to, and the weights with which it is (None where they are not wanted)."""
        if attn_mask is not None and is_causal:
            raise AssertionError("Only allow causal mask or attn_mask")
        if is_causal:
            raise AssertionError("causal mask not supported by AO MHA module")
        if self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        length, batch, size = query.shape
        width = size // self.num_heads
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), float(width) ** -0.5)
        k, v = self.linear_K(key), self.linear_V(value)
        if self.bias_k is not None:  # one more thing that can be attended to
            k, v = (table["cat"].call([each, bias.repeat(1, batch, 1)], 0) for each, bias in ((k, self.bias_k), (v, self.bias_v)))
            attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
        q, k, v = (self._heads(each, batch, width) for each in (q, k, v))
        q, k, v = self.dequant_q(q), self.dequant_k(k), self.dequant_v(v)
        if self.add_zero_attn:
            zeros = table["zeros"].call(k.shape[0], 1, width)
            k, v = table["cat"].call([k, zeros], 1), table["cat"].call([v, zeros], 1)
            attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
        scores = self._masked(table["bmm"].call(q, k.transpose(1, 2)), batch, attn_mask, key_padding_mask)
        weights = F.dropout(table["softmax"].call(scores, -1), self.dropout, self.training)
        mixed = table["bmm"].call(weights, v)
        mixed = mixed.transpose(0, 1).contiguous().view(length, batch, size)
        result = self.out_proj(self.quant_attn_output(mixed))
        shown = self.quant_attn_output_weights(weights)
        if self.batch_first:
            result = result.transpose(0, 1)
        if not need_weights:
            return result, None
        shown = shown.view(batch, self.num_heads, length, k.shape[1])
        return result, shown.mean(1) if average_attn_weights else shown

    def _heads(self, x: Any, batch: int, width: int) -> Any:
        """The heads of all sequences one by one."""
        return x.contiguous().view(-1, batch * self.num_heads, width).transpose(0, 1)

    def _masked(self, scores: Any, batch: int, mask: Any, padding: Any) -> Any:
        """Scores without what is not to be attended to."""
        nothing = float("-inf")
        if mask is not None:
            mask = mask if mask.dim() == 3 else mask.unsqueeze(0)
            scores = scores.masked_fill(mask, nothing) if mask.dtype is bool_type else scores + mask
        if padding is not None:
            split = scores.view(batch, self.num_heads, *scores.shape[1:])
            scores = split.masked_fill(padding.to(bool_type)[:, None, None], nothing).view(scores.shape)
        return scores


def _one_more(mask: Any) -> Any:
    """A mask that lets one more thing at the end be attended to."""
    return None if mask is None else F.pad(mask, (0, 1))


class QuantizedMultiheadAttention(MultiheadAttention):
    """Attention on quantized tensors."""

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """Refuse: it is made of one that was observed."""
        raise NotImplementedError(
            "It looks like you are trying to convert a non-observed MHA module. Please, see the examples on quantizable MHAs."
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """In the place of one that was observed."""
        if type(other) is not MultiheadAttention:
            raise AssertionError(f"an observed attention is wanted, not {type(other).__name__}")
        made = converted(cls, other)
        if other.bias_k is not None:
            least, most = (float(each) for each in (min(other.bias_k.min(), 0.0), max(other.bias_k.max(), 0.0)))
            scale = (most - least) / 255 or 1.0
            for name in ("bias_k", "bias_v"):  # both with the scale of the keys
                del made._parameters[name]
                setattr(made, name, quantize_per_tensor(getattr(other, name).detach(), scale, round(-least / scale), quint8))
        return made
