"""flex_attention and the masks of blocks, against attention written out, eager and compiled."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import pytest

import rushlight as torch
from rushlight.nn.attention import SDPBackend, sdpa_kernel
from rushlight.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def causal(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


def window(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q - kv) < 3


def inputs(heads: int = 2, kv_heads: int = 2, length: int = 6, dtype: Any = torch.float64) -> Any:
    torch.manual_seed(0)
    return [torch.randn(2, each, length, 4, dtype=dtype, requires_grad=True) for each in (heads, kv_heads, kv_heads)]


def written_out(query: Any, key: Any, value: Any, change: Any = None, mask: Any = None, scale: float | None = None) -> Any:
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    batch, heads, rows, columns = scores.shape
    result = torch.zeros(batch, heads, rows, value.shape[-1], dtype=query.dtype)
    for b in range(batch):
        for h in range(heads):
            for q in range(rows):
                row = scores[b, h, q]
                if change is not None:
                    row = torch.stack([change(row[kv], *map(torch.tensor, (b, h, q, kv))) for kv in range(columns)])
                kept = [kv for kv in range(columns) if mask is None or bool(mask(*map(torch.tensor, (b, h, q, kv))))]
                if kept:
                    result[b, h, q] = torch.softmax(row[kept], -1) @ value[b, h][kept]
    return result


SLOPES = torch.tensor([0.5, 0.25], dtype=torch.float64)
DOCUMENTS = torch.tensor([0, 0, 1, 1, 1, 2])


def relative(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score + (q - kv)


def sloped(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score - SLOPES[h] * (q - kv).abs()


def capped(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return 2 * torch.tanh(score / 2)


def same_document(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return DOCUMENTS[q] == DOCUMENTS[kv]


def beyond(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return kv > q  # of the last query nothing is left


@pytest.mark.parametrize("change", [None, relative, sloped, capped])
@pytest.mark.parametrize("mask", [None, causal, same_document, and_masks(causal, window), or_masks(causal, window), beyond])
def test_scores_and_masks(change: Any, mask: Any) -> None:
    query, key, value = inputs()
    blocks = None if mask is None else create_block_mask(mask, None, None, 6, 6, device="cpu")
    want = written_out(query, key, value, change, mask)

    def attend(query: Any, key: Any, value: Any) -> Any:
        return flex_attention(query, key, value, score_mod=change, block_mask=blocks)

    found = attend(query, key, value)
    assert torch.allclose(found, want)
    weights = torch.randn_like(want)
    gradients = torch.autograd.grad((want * weights).sum(), [query, key, value])
    compiled = torch.compile(attend, fullgraph=True)
    for run in (attend, compiled, compiled):
        result = run(query, key, value)
        assert torch.allclose(result, want)
        for one, other in zip(torch.autograd.grad((result * weights).sum(), [query, key, value]), gradients):
            assert torch.allclose(one, other)


def test_groups_of_heads_scale_and_sums() -> None:
    query, key, value = inputs(4, 2)
    found, more = flex_attention(query, key, value, scale=0.3, enable_gqa=True, return_aux=AuxRequest(lse=True))
    wide = [each.repeat_interleave(2, 1) for each in (key, value)]
    assert torch.allclose(found, written_out(query, *wide, scale=0.3))
    assert torch.allclose(more.lse, torch.logsumexp(query @ wide[0].transpose(-1, -2) * 0.3, -1))
    none_left = create_block_mask(lambda b, h, q, kv: q < 0, None, None, 6, 6, device="cpu")
    result, lse = flex_attention(*inputs(), block_mask=none_left, return_lse=True)
    assert not result.any() and (lse == -math.inf).all()


def test_what_does_not_fit_is_refused() -> None:
    query, key, value = inputs()
    with pytest.raises(ValueError, match="same number of heads but got Hq=2 and Hkv=1"):
        flex_attention(query, key[:, :1], value[:, :1])
    with pytest.raises(ValueError, match="same embedding dimension but got E=4 and E=2"):
        flex_attention(query, key[..., :2], value)
    with pytest.raises(NotImplementedError, match="must be 4D"):
        flex_attention(query[0], key[0], value[0])
    with pytest.raises(AssertionError, match="Expected 4 or 5 positional args, got 1"):
        create_block_mask(lambda a: a, 1, 1, 4, 4, device="cpu")


def test_blocks_as_pytorch_counts_them() -> None:
    """Numbers that PyTorch 2.13 gives."""
    mask = create_block_mask(lambda b, h, q, kv: (q >= kv) & (q - kv < 100), 2, 3, 300, 200, device="cpu", BLOCK_SIZE=64)
    assert mask.shape == (2, 3, 300, 200) and mask.numel() == 360000 and abs(mask.sparsity() - 24.906666666666666) < 1e-9
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 2, 3, 3, 2] and mask.kv_num_blocks.dtype == torch.int32
    assert mask.kv_indices[0, 0].tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1]]
    assert mask.q_num_blocks[0, 0].tolist() == [3, 3, 3, 2]
    assert mask.q_indices[0, 0].tolist() == [[0, 1, 2, 3, 4], [1, 2, 3, 0, 4], [2, 3, 4, 0, 1], [3, 4, 0, 1, 2]]
    assert (mask[0].shape, mask[0, 1].shape, mask[:, 1:].shape) == ((1, 3, 300, 200), (1, 1, 300, 200), (2, 2, 300, 200))
    half = create_block_mask(causal, 1, None, 256, 256, device="cpu")
    assert half.sparsity() == 25.0 and half.kv_num_blocks.tolist() == [[[1, 1]]] and half.full_kv_num_blocks.tolist() == [[[0, 1]]]
    assert half.to_dense().tolist() == [[[[1, 0], [1, 1]]]]
    assert str(half) == "BlockMask(shape=(1, 1, 256, 256), sparsity=25.00%, \n(0, 0)\n██  \n████\n)"
    assert repr(half).splitlines()[1] == "    kv_num_blocks=torch.Size([1, 1, 2]),"
    assert isinstance(half.to("cpu"), BlockMask)


def test_masks_as_tensors() -> None:
    assert create_mask(causal, None, None, 2, 3, "cpu").tolist() == [[[[True, False, False], [True, True, False]]]]
    of_scores = create_mask(lambda score, b, h, q, kv: torch.where(q >= kv, score, -math.inf), None, None, 2, 2, "cpu")
    assert of_scores.tolist() == [[[[True, False], [True, True]]]]
    assert create_mask(noop_mask, 1, 2, 2, 2, "cpu").all()


def test_a_choice_of_kernels_does_not_break_the_graph() -> None:
    query, key, value = inputs()

    def attend(query: Any, key: Any, value: Any) -> Any:
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True) * 2

    compiled = torch.compile(attend, fullgraph=True)
    for _ in range(2):
        assert torch.allclose(compiled(query, key, value), attend(query, key, value))


def test_a_mask_alone_makes_no_matrix_of_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory beside the mask grows with the length, and not with its square."""
    pytest.importorskip("llvmlite")
    from rushlight.ops.nn import attention

    monkeypatch.setattr(attention, "MANY_WEIGHTS", 1 << 18)
    query, key, value = (torch.randn(1, 4, 600, 8) for _ in range(3))
    mask = create_block_mask(causal, None, None, 600, 600)
    flex_attention(query, key, value, None, mask)  # compiles
    tracemalloc.start()
    result = flex_attention(query, key, value, None, mask)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 600 * 600 * 4 / 2
    torch.testing.assert_close(result, torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True))
