# ruff: noqa
"""opacus: gradients of samples, private training."""

# libraries: opacus
import torch, torch.nn as nn, warnings

warnings.simplefilter("ignore")
from opacus import PrivacyEngine, GradSampleModule
from opacus.validators import ModuleValidator

torch.manual_seed(0)
m = ModuleValidator.fix(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)))
print(m)
X = torch.randn(32, 1, 8, 8)
y = torch.randint(0, 3, (32,))
for mode in ("hooks", "functorch", "ew"):
    try:
        import copy

        g = (
            GradSampleModule(copy.deepcopy(m))
            if mode == "hooks"
            else __import__("opacus.grad_sample", fromlist=["x"]).wrap_model(copy.deepcopy(m), grad_sample_mode=mode)
        )
        nn.functional.cross_entropy(g(X), y).backward()
        print(
            mode,
            [tuple(p.grad_sample.shape) for p in g.parameters()],
            f"{sum(p.grad_sample.abs().sum() for p in g.parameters()).item():.4f}",
        )
    except Exception as e:
        print(mode, type(e).__name__, str(e)[:200])
opt = torch.optim.SGD(m.parameters(), 0.1)
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), batch_size=8)
eng = PrivacyEngine(accountant="rdp")
m2, opt, dl = eng.make_private(
    module=m, optimizer=opt, data_loader=dl, noise_multiplier=1.0, max_grad_norm=1.0, noise_generator=torch.Generator().manual_seed(3)
)
torch.manual_seed(5)
for a, b in dl:
    opt.zero_grad()
    l = nn.functional.cross_entropy(m2(a), b)
    l.backward()
    opt.step()
    print(len(a), f"{l.item():.4f}")
print(f"{eng.get_epsilon(1e-5):.4f}")
