# ruff: noqa
"""Diffusion, moving averages, rotary embeddings, vector quantization."""

# libraries: denoising-diffusion-pytorch ema-pytorch rotary-embedding-torch vector-quantize-pytorch
import torch
from denoising_diffusion_pytorch import Unet, GaussianDiffusion

torch.manual_seed(0)
m = Unet(dim=16, dim_mults=(1, 2), channels=3)
d = GaussianDiffusion(m, image_size=16, timesteps=20, sampling_timesteps=4)
opt = torch.optim.Adam(m.parameters(), 1e-3)
img = torch.rand(2, 3, 16, 16)
from ema_pytorch import EMA

ema = EMA(m, beta=0.9, update_every=1, update_after_step=0)
for i in range(3):
    l = d(img)
    opt.zero_grad()
    l.backward()
    opt.step()
    ema.update()
    print(f"{l.item():.5f}")
s = d.sample(batch_size=1)
print(s.shape, f"{s.mean().item():.4f}")
print(f"{sum(p.sum() for p in ema.ema_model.parameters()).item():.3f}")
from rotary_embedding_torch import RotaryEmbedding

r = RotaryEmbedding(dim=8)
q = torch.randn(1, 2, 10, 16)
print(f"{r.rotate_queries_or_keys(q).sum().item():.4f}")
from vector_quantize_pytorch import VectorQuantize, ResidualVQ, FSQ, LFQ

torch.manual_seed(0)
x = torch.randn(2, 32, 16)
for n, v in {
    "vq": VectorQuantize(dim=16, codebook_size=32),
    "km": VectorQuantize(dim=16, codebook_size=8, kmeans_init=True, kmeans_iters=3),
    "rvq": ResidualVQ(dim=16, num_quantizers=2, codebook_size=16),
    "cos": VectorQuantize(dim=16, codebook_size=32, use_cosine_sim=True),
    "lfq": LFQ(codebook_size=16, dim=16),
}.items():
    try:
        torch.manual_seed(1)
        out = v(x)
        print(n, tuple(out[0].shape), f"{out[0].sum().item():.3f}", int(out[1].sum()))
    except Exception as e:
        print(n, type(e).__name__, str(e)[:200])
f = FSQ([8, 5, 5])
y, i = f(torch.randn(2, 9, 3))
print(f"{y.sum().item():.4f}", int(i.sum()))
