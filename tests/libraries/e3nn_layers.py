# ruff: noqa
"""e3nn: irreps, tensor products, gates."""

# libraries: e3nn
import torch
from e3nn import o3, nn as enn

torch.manual_seed(0)
irr = o3.Irreps("8x0e+4x1o+2x2e")
x = irr.randn(5, -1)
print(irr.dim, f"{x.sum().item():.4f}")
R = o3.rand_matrix()
print(f"{R.sum().item():.5f}")
D = irr.D_from_matrix(R)
print(D.shape, f"{D.sum().item():.4f}")
v = torch.randn(5, 3)
sh = o3.spherical_harmonics(o3.Irreps.spherical_harmonics(3), v, normalize=True, normalization="component")
print(f"{sh.sum().item():.5f}")
tp = o3.FullyConnectedTensorProduct(irr, "0e+1o+2e", "4x0e+2x1o")
y = tp(x, o3.Irreps("0e+1o+2e").randn(5, -1))
print(y.shape, f"{y.sum().item():.5f}")
lin = o3.Linear(irr, "3x0e+2x1o")
print(f"{lin(x).sum().item():.5f}")
g = enn.Gate("4x0e", [torch.relu], "3x0e", [torch.sigmoid], "2x1o+1x2e")
z = g(g.irreps_in.randn(4, -1))
print(z.shape, f"{z.sum().item():.5f}")
bn = enn.BatchNorm(irr)
print(f"{bn(x).sum().item():.5f}")
net = enn.FullyConnectedNet([3, 8, 5], torch.relu)
print(f"{net(v).sum().item():.5f}")
from e3nn.math import soft_one_hot_linspace

print(f"{soft_one_hot_linspace(v.norm(dim=1), 0.0, 3.0, 5, 'smooth_finite', cutoff=True).sum().item():.5f}")
print(
    f"{o3.wigner_3j(1, 1, 2).abs().sum().item():.5f} {o3.wigner_D(2, torch.tensor(0.3), torch.tensor(0.2), torch.tensor(0.1)).sum().item():.5f}"
)
l = (y**2).sum()
l.backward()
print(f"{tp.weight.grad.abs().sum().item():.4f}")
print(torch.allclose(lin(x @ D.T), lin(x) @ o3.Irreps("3x0e+2x1o").D_from_matrix(R).T, atol=1e-5))
