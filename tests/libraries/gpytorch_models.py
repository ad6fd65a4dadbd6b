"""gpytorch: exact Gaussian processes, stochastic variational ones, several tasks, deep kernels, classification, and linear operators."""

# libraries: gpytorch linear_operator

import math

import gpytorch
import linear_operator
import torch
from gpytorch.kernels import LinearKernel, MaternKernel, MultitaskKernel, PeriodicKernel, RBFKernel, ScaleKernel
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
from linear_operator import operators, to_dense

torch.manual_seed(0)
x = torch.linspace(0, 1, 15)
y = torch.sin(2 * math.pi * x) + 0.1 * torch.randn(15)


def show(name, values):
    print(name, " ".join(f"{float(value):.3f}" for value in values))


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(model, likelihood, x, y, steps=6):
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    model.eval()
    likelihood.eval()
    return losses


kernels = {
    "rbf": lambda: ScaleKernel(RBFKernel()),
    "matern": lambda: ScaleKernel(MaternKernel(nu=1.5)),
    "sum": lambda: ScaleKernel(RBFKernel() + PeriodicKernel()),
    "product": lambda: RBFKernel() * LinearKernel(),
}
test = torch.tensor([0.25, 0.6, 0.9])
for name, make in kernels.items():
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood, make())
    show(name, fit(model, likelihood, x, y))
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        predicted = likelihood(model(test))
        lower, upper = predicted.confidence_region()
    show("  mean", predicted.mean)
    show("  variance", predicted.variance)
    show("  region", [*lower, *upper])
    torch.manual_seed(1)
    show("  sample", model(test).sample())
    print("  log likelihood", f"{float(predicted.log_prob(torch.zeros(3))):.3f}")

# conjugate gradients and Lanczos instead of a Cholesky factor
with gpytorch.settings.max_cholesky_size(1), gpytorch.settings.cg_tolerance(1e-4), gpytorch.settings.num_trace_samples(20):
    torch.manual_seed(2)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood, ScaleKernel(RBFKernel()))
    print("iterative", " ".join(f"{float(loss):.1f}" for loss in fit(model, likelihood, x, y, 3)))

# a new observation
updated = model.get_fantasy_model(torch.tensor([0.33]), torch.tensor([0.7])) if model(test) is not None else None
show("fantasy", updated(test).mean)


class Sparse(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = CholeskyVariationalDistribution(points.size(0))
        super().__init__(VariationalStrategy(self, points, distribution, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = ScaleKernel(RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(3)
model, likelihood = Sparse(x[::3].unsqueeze(-1).clone()), gpytorch.likelihoods.GaussianLikelihood()
model.train()
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
losses = []
for _ in range(6):
    optimizer.zero_grad()
    loss = -objective(model(x.unsqueeze(-1)), y)
    loss.backward()
    optimizer.step()
    losses.append(loss)
show("svgp", losses)
model.eval()
show("  mean", model(test.unsqueeze(-1)).mean)

# classification
labels = (y > 0).float()
model, likelihood = Sparse(x[::3].unsqueeze(-1).clone()), gpytorch.likelihoods.BernoulliLikelihood()
objective = gpytorch.mlls.PredictiveLogLikelihood(likelihood, model, num_data=len(y))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = -objective(model(x.unsqueeze(-1)), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss)
show("classes", losses)


# two tasks
class Multitask(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
        self.covar_module = MultitaskKernel(RBFKernel(), num_tasks=2, rank=1)

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(4)
both = torch.stack([y, torch.cos(2 * math.pi * x)], -1)
likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
model = Multitask(x, both, likelihood)
show("tasks", fit(model, likelihood, x, both, 4))
with torch.no_grad():
    show("  mean", likelihood(model(test)).mean.reshape(-1))

# priors, constraints, deep kernels
torch.manual_seed(5)
kernel = ScaleKernel(
    RBFKernel(lengthscale_prior=gpytorch.priors.GammaPrior(3.0, 6.0)), outputscale_constraint=gpytorch.constraints.Interval(0.1, 5.0)
)
likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_prior=gpytorch.priors.LogNormalPrior(-4.0, 1.0))
show("priors", fit(Exact(x, y, likelihood, kernel), likelihood, x, y, 4))
network = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


class Deep(Exact):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.network = network

    def forward(self, x):
        return super().forward(self.network(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
show("deep", fit(Deep(x.unsqueeze(-1), y, likelihood, ScaleKernel(RBFKernel(ard_num_dims=2))), likelihood, x.unsqueeze(-1), y, 4))

# linear operators
matrix = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], requires_grad=True)
operator = linear_operator.to_linear_operator(matrix)
right = torch.tensor([1.0, 2.0, 3.0])
solution, log_det = operator.inv_quad_logdet(right.unsqueeze(-1), logdet=True)
(solution + log_det).backward()
show("operator", [solution, log_det, *matrix.grad.reshape(-1)])
diagonal = operators.DiagLinearOperator(torch.tensor([1.0, 2.0, 3.0]))
show("diagonal", to_dense(diagonal + operator.detach()).reshape(-1))
toeplitz = operators.ToeplitzLinearOperator(torch.tensor([2.0, 1.0, 0.5]))
show("toeplitz", [*(toeplitz @ right), *to_dense(toeplitz).reshape(-1)])
kronecker = operators.KroneckerProductLinearOperator(operator.detach(), operators.DiagLinearOperator(torch.tensor([1.0, 2.0])))
show("kronecker", [*kronecker.matmul(torch.ones(6)), kronecker.logdet()])
low_rank = operators.LowRankRootLinearOperator(torch.tensor([[1.0, 0.0], [0.5, 1.0], [0.2, 0.3]])).add_jitter(0.1)
show("low rank", [low_rank.logdet(), *low_rank.solve(right)])
show("torch functions", [*torch.linalg.cholesky(operator.detach()).to_dense().reshape(-1), *torch.linalg.solve(operator.detach(), right)])
