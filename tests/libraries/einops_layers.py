# libraries: einops
"""einops: rearrange, reduce, repeat, einsum and the layers."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
x = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5).requires_grad_()
print(rearrange(x, "b c (h p) w -> b (c p) h w", p=2).shape, rearrange(x, "b c h w -> (b h) (c w)").sum().item())
print(reduce(x, "b c (h 2) w -> b c h w", "max").sum().item(), reduce(x, "b c h w -> b c", "mean").tolist())
print(repeat(x, "b c h w -> b (2 c) h (w r)", r=3).shape, einsum(x, x, "b c h w, b d h w -> b c d").sum().item())
packed, sizes = pack([x, x[:, :1]], "b * h w")
print(packed.shape, sizes, [each.shape for each in unpack(packed, sizes, "b * h w")])
net = torch.nn.Sequential(
    Rearrange("b c h w -> b h w c"), EinMix("b h w c -> b h w d", weight_shape="c d", c=3, d=2), Reduce("b h w d -> b d", "sum")
)
torch.manual_seed(1)
with torch.no_grad():
    net[1].weight.copy_(torch.randn_like(net[1].weight))
out = net(x)
out.sum().backward()
print([round(v, 3) for v in out.flatten().tolist()], round(x.grad.sum().item(), 3))
