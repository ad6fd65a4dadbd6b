"""Masks of attention that are rules, and attention over packed sequences."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left
from rushlight.nn.attention.varlen import AuxRequest, varlen_attn


@pytest.mark.parametrize(("make", "diagonal"), [(causal_upper_left, 0), (causal_lower_right, 2)])
def test_a_causal_bias_is_the_mask_of_its_corner(make, diagonal):
    torch.manual_seed(0)
    query, key = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(1, 2, 5, 4)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(diagonal)
    bias = make(3, 5)
    assert bias.shape == (3, 5) and torch.equal(bias._materialize(), mask) and repr(bias) == repr(mask)
    found, expected = (F.scaled_dot_product_attention(query, key, key, attn_mask=each) for each in (bias, mask))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), query), torch.autograd.grad(expected.sum(), query))
    assert torch.equal(torch.logical_not(bias), ~mask)
    compiled = torch.compile(lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=make(q.size(2), k.size(2))))
    for _ in range(2):
        torch.testing.assert_close(compiled(query, key), expected)


def test_a_causal_bias_beside_is_causal_is_refused():
    query = torch.randn(1, 1, 3, 4)
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(query, query, query, attn_mask=CausalBias(CausalVariant.UPPER_LEFT, 3, 3), is_causal=True)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 1), (0, -1)])
def test_packed_sequences_attend_to_themselves(window):
    torch.manual_seed(0)
    query, key, value = torch.randn(7, 4, 8, requires_grad=True), torch.randn(9, 2, 8), torch.randn(9, 2, 8)
    begin_q, begin_k = torch.tensor([0, 3, 3, 7], dtype=torch.int32), torch.tensor([0, 4, 5, 9], dtype=torch.int32)
    found, sums = varlen_attn(
        query, key, value, begin_q, begin_k, 4, 4, window_size=window, enable_gqa=True, return_aux=AuxRequest(lse=True)
    )
    assert found.shape == (7, 4, 8) and sums.shape == (4, 7)
    rows, columns = torch.arange(7), torch.arange(9)
    lengths = [(0, 3, 0, 4), (3, 7, 5, 9)]
    seen = torch.zeros(7, 9, dtype=torch.bool)
    for first_q, last_q, first_k, last_k in lengths:  # one mask over all tokens: no query sees another sequence
        distance = (columns - last_k) - (rows - last_q).unsqueeze(1)
        inside = ((rows >= first_q) & (rows < last_q)).unsqueeze(1) & (columns >= first_k) & (columns < last_k)
        seen |= inside & ((distance >= -window[0]) | (window[0] < 0)) & ((distance <= window[1]) | (window[1] < 0))
    expected = F.scaled_dot_product_attention(*(each.transpose(0, 1) for each in (query, key, value)), attn_mask=seen, enable_gqa=True)
    torch.testing.assert_close(found, expected.transpose(0, 1))
    scores = query.transpose(0, 1) @ key.transpose(0, 1).repeat_interleave(2, 0).transpose(1, 2) / 8**0.5
    torch.testing.assert_close(sums, scores.masked_fill(~seen, float("-inf")).logsumexp(-1))
    assert torch.autograd.grad(found.sum(), query)[0].shape == query.shape
