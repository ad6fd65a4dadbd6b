"""Optimizers of heavyball: Muon, SOAP, Shampoo, PSGD, Scion and others, eager and compiled."""

# libraries: heavyball
import heavyball
import torch
from torch.nn import functional as F


def losses(name):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    x, y = torch.randn(16, 8), torch.randn(16, 3)
    optimizer = getattr(heavyball, name)(model.parameters(), lr=1e-2)
    found = []
    for _ in range(4):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(f"{loss.item():.5f}")
    return " ".join(found)


default = heavyball.utils.compile_mode
heavyball.utils.compile_mode = None
for name in "AdamW NAdam RMSprop LaProp ADOPT AdamC AdEMAMix SFAdamW MSAMLaProp Muon MuonLaProp SOAP KLShampoo PSGDKron PSGDPRO LATHER Scion".split():
    print(name, losses(name))
heavyball.utils.compile_mode = default
for name in "AdamW NAdam RMSprop LaProp ADOPT SFAdamW SOAP".split():
    print("compiled", name, losses(name))
