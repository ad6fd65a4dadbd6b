# ruff: noqa
"""x-transformers: variants of transformers."""

# libraries: x-transformers
import torch
from x_transformers import (
    TransformerWrapper,
    Decoder,
    Encoder,
    XTransformer,
    ViTransformerWrapper,
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
)


def run(n, m, *a, **k):
    try:
        torch.manual_seed(1)
        y = m(*a, **k)
        y0 = y[0] if isinstance(y, tuple) else y
        y0.float().mean().backward()
        g = sum(p.grad.abs().sum() for p in m.parameters() if p.grad is not None).item()
        print(n, tuple(y0.shape), f"{y0.float().abs().mean().item():.4f} {g:.3f}")
    except Exception as e:
        print(n, type(e).__name__, str(e)[:200])


tok = torch.randint(0, 50, (2, 16), generator=torch.Generator().manual_seed(0))
mask = torch.ones(2, 16, dtype=torch.bool)
mask[1, 10:] = False
for n, kw in {
    "plain": {},
    "flash": dict(attn_flash=True),
    "rotary": dict(rotary_pos_emb=True),
    "alibi": dict(alibi_pos_bias=True, alibi_num_heads=2),
    "t5": dict(rel_pos_bias=True),
    "rms+glu": dict(use_rmsnorm=True, ff_glu=True, ff_swish=True),
    "mqa": dict(attn_one_kv_head=True),
    "gqa": dict(attn_kv_heads=2),
    "qknorm": dict(attn_qk_norm=True),
    "sandwich": dict(sandwich_norm=True),
    "resi": dict(residual_attn=True),
    "gate": dict(gate_residual=True),
    "macaron": dict(macaron=True),
    "topk": dict(attn_sparse_topk=4),
    "talking": dict(attn_pre_talking_heads=True),
    "mem": dict(attn_num_mem_kv=4),
    "shift": dict(shift_tokens=1),
    "scalenorm": dict(use_scalenorm=True),
    "dynpos": dict(dynamic_pos_bias=True, dynamic_pos_bias_log_distance=False),
}.items():
    try:
        torch.manual_seed(0)
        m = TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4, **kw))
    except Exception as e:
        print(n, type(e).__name__, str(e)[:200])
        continue
    run(n, m, tok)
torch.manual_seed(0)
run("enc", TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=Encoder(dim=32, depth=2, heads=4)), tok, mask=mask)
torch.manual_seed(0)
run(
    "vit",
    ViTransformerWrapper(image_size=16, patch_size=4, num_classes=5, attn_layers=Encoder(dim=32, depth=2, heads=4)),
    torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0)),
)
torch.manual_seed(0)
x = XTransformer(
    dim=32, enc_num_tokens=50, enc_depth=1, enc_heads=4, enc_max_seq_len=16, dec_num_tokens=50, dec_depth=1, dec_heads=4, dec_max_seq_len=16
)
run("xt", x, tok, tok, mask=mask)
torch.manual_seed(0)
ar = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4)))
run("ar", ar, tok)
ar.eval()
print(ar.generate(tok[:, :4], 6, temperature=0.0).tolist())
torch.manual_seed(0)
run(
    "cont",
    ContinuousTransformerWrapper(dim_in=8, dim_out=5, max_seq_len=32, attn_layers=Encoder(dim=32, depth=1, heads=4)),
    torch.randn(2, 12, 8, generator=torch.Generator().manual_seed(0)),
)
