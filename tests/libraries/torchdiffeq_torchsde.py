# ruff: noqa
"""Differential equations: solvers, adjoints, events, stochastic ones."""

# libraries: torchdiffeq torchsde
import torch, torch.nn as nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)


class F(nn.Module):
    def __init__(s):
        super().__init__()
        s.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        s.n = 0

    def forward(s, t, y):
        s.n += 1
        return s.net(y**3) - 0.1 * y


f = F()
y0 = torch.tensor([[2.0, 0.0], [1.0, 0.5]])
t = torch.linspace(0, 2, 6)
for m in (
    "dopri5",
    "dopri8",
    "bosh3",
    "adaptive_heun",
    "euler",
    "midpoint",
    "rk4",
    "explicit_adams",
    "implicit_adams",
    "fehlberg2",
    "scipy_solver",
):
    try:
        f.n = 0
        kw = (
            dict(options={"solver": "RK45"})
            if m == "scipy_solver"
            else dict(options=dict(step_size=0.05))
            if m in ("euler", "midpoint", "rk4", "explicit_adams", "implicit_adams")
            else {}
        )
        y = odeint(f, y0, t, method=m, **kw)
        print(m, f"{y[-1].sum().item():.4f}")
    except Exception as e:
        print(m, type(e).__name__, str(e)[:100])
opt = torch.optim.Adam(f.parameters(), 1e-2)
for i in range(3):
    y = odeint_adjoint(f, y0, t, rtol=1e-5, atol=1e-6)
    l = (y**2).mean()
    opt.zero_grad()
    l.backward()
    opt.step()
    print(f"{l.item():.6f}")
et, ey = odeint_event(
    lambda t, y: torch.stack([y[1], torch.tensor(-9.8)]), torch.tensor([10.0, 0.0]), torch.tensor(0.0), event_fn=lambda t, y: y[0]
)
print(f"{et.item():.4f} {ey[-1, 1].item():.3f}")
import torchsde


class S(nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(s):
        super().__init__()
        s.mu = nn.Linear(3, 3)
        s.si = nn.Linear(3, 3)

    def f(s, t, y):
        return s.mu(y)

    def g(s, t, y):
        return torch.sigmoid(s.si(y))


torch.manual_seed(0)
s = S()
y0 = torch.full((4, 3), 0.1)
for m in ("euler", "milstein", "srk"):
    bm = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time")
    ys = torchsde.sdeint(s, y0, torch.linspace(0, 1, 5), bm=bm, method=m, dt=0.05)
    print(m, ys.shape, f"{ys[-1].sum().item():.5f}")
S.sde_type = "stratonovich"
bm = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=7)
ys = torchsde.sdeint_adjoint(s, y0, torch.linspace(0, 1, 5), bm=bm, method="midpoint", dt=0.05)
ys.sum().backward()
print(f"{s.mu.weight.grad.sum().item():.4f}")
