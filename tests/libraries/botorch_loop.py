# ruff: noqa
"""botorch: a Gaussian process, acquisition functions, their optimization."""

# libraries: botorch gpytorch
import torch, warnings

warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
from botorch.models import SingleTaskGP, ModelListGP, MixedSingleTaskGP
from botorch.fit import fit_gpytorch_mll
from botorch.acquisition import *
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from botorch.test_functions import Branin, Hartmann
from botorch.models.transforms import Normalize, Standardize

f = Branin(negate=True)
X = torch.rand(12, 2)
Y = f(f.bounds[0] + X * (f.bounds[1] - f.bounds[0])).unsqueeze(-1)
print(Y.sum().item())
m = SingleTaskGP(X, Y, input_transform=Normalize(2), outcome_transform=Standardize(1))
mll = ExactMarginalLogLikelihood(m.likelihood, m)
fit_gpytorch_mll(mll)
p = m.posterior(torch.rand(5, 2))
print("mean", f"{p.mean.sum().item():.3f}", "var", f"{p.variance.sum().item():.3f}")
bounds = torch.stack([torch.zeros(2), torch.ones(2)])
for n, a in {
    "ucb": UpperConfidenceBound(m, beta=0.1),
    "logei": LogExpectedImprovement(m, Y.max()),
    "ei": ExpectedImprovement(m, Y.max()),
}.items():
    print(n, f"{a(torch.full((3, 1, 2), 0.3) + torch.rand(3, 1, 2) * 0.1).sum().item():.4f}")
    c, v = optimize_acqf(a, bounds, q=1, num_restarts=3, raw_samples=16)
    print(n, [round(z, 2) for z in c.flatten().tolist()])
from botorch.sampling import SobolQMCNormalSampler

s = SobolQMCNormalSampler(torch.Size([32]), seed=1)
q = qLogExpectedImprovement(m, Y.max(), sampler=s)
print("qlogei", f"{q(torch.full((2, 3, 2), 0.4) + torch.rand(2, 3, 2) * 0.1).sum().item():.4f}")
kg = qKnowledgeGradient(m, num_fantasies=4)
print("kg", f"{kg(torch.rand(1, 5, 2)).item():.2f}")
