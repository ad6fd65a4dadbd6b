"""Samples of the ops of ``ops/nn/attention_forward.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..make import Sample, cases, refused, samples


def _samples(m: Any) -> list[Sample]:
    width, heads = 4, 2
    in_weight, in_bias, out_weight, out_bias = m.real(12, 4), m.real(12), m.real(4, 4), m.real(4)
    same = [width, heads, in_weight, in_bias, None, None, False, 0.0, out_weight, out_bias]
    x, y, z = m.real(3, 2, 4), m.real(2, 2, 4), m.real(2, 2, 4)
    causal = np.triu(np.ones((3, 3), np.bool_), 1)
    padding = np.array([[False, False, True], [False, False, False]])
    separate = {
        "use_separate_proj_weight": True, "q_proj_weight": m.real(4, 4), "k_proj_weight": m.real(4, 3), "v_proj_weight": m.real(4, 5),
    }  # fmt: skip
    return [
        Sample(x, y, z, *same),
        Sample(x, y, z, *same, need_weights=False),
        Sample(x, y, z, *same, average_attn_weights=False),
        Sample(x, x, x, *same, attn_mask=causal, gradient=False),
        Sample(x, x, x, *same, attn_mask=causal, is_causal=True, need_weights=False, gradient=False),
        Sample(x, x, x, *same, attn_mask=m.real(4, 3, 3), key_padding_mask=m.real(2, 3), gradient=False),
        Sample(x, x, x, *same, attn_mask=causal, key_padding_mask=padding, need_weights=False, gradient=False),
        Sample(x[:, 0], y[:, 0], z[:, 0], *same, key_padding_mask=np.array([False, True])),
        Sample(
            x, m.real(2, 2, 3), m.real(2, 2, 5), 4, 2, None, in_bias, m.real(1, 1, 4), m.real(1, 1, 4), True, 0.0, out_weight, None,
            key_padding_mask=np.array([[False, True], [False, False]]), attn_mask=m.real(3, 2), **separate,
        ),
        Sample(x, y, z, *same, static_k=m.real(4, 5, 2), static_v=m.real(4, 5, 2), gradient=False),
        refused(x, y[0], z, *same), refused(m.real(4), m.real(4), m.real(4), *same), refused(x, y, z, 5, *same[1:]),
        refused(x, y, z, 4, 3, *same[2:]), refused(x, x, x, *same, attn_mask=m.real(2, 2)), refused(x, y, m.real(3, 2, 4), *same),
        refused(x, x, x, *same, attn_mask=m.integers(3, 3)), refused(x, x, x, *same, is_causal=True),
        refused(x, x, x, *same, key_padding_mask=m.booleans(3, 3)), refused(x, x, x, *same, attn_mask=m.real(3, 3, 3)),
    ]  # fmt: skip


samples("multi_head_attention_forward", cases(_samples))
