"""pyro: a variational autoencoder, a hidden Markov model, normalizing flows, Gaussian processes, and distributions of its own."""

# libraries: pyro-ppl

import pyro
import pyro.contrib.gp as gp
import pyro.distributions as dist
import pyro.distributions.transforms as T
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.nn import PyroModule, PyroSample
from pyro.optim import Adam
from torch import nn


def show(name, values):
    print(name, " ".join(f"{float(value):.3f}" for value in values))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.Softplus(), nn.Linear(16, 4))
        self.decoder = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 8))

    def model(self, x):
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", x.shape[0]):
            z = pyro.sample("latent", dist.Normal(torch.zeros(x.shape[0], 2), 1.0).to_event(1))
            pyro.sample("obs", dist.Bernoulli(logits=self.decoder(z)).to_event(1), obs=x)

    def guide(self, x):
        pyro.module("encoder", self.encoder)
        with pyro.plate("data", x.shape[0]):
            loc, log_scale = self.encoder(x).chunk(2, -1)
            pyro.sample("latent", dist.Normal(loc, log_scale.exp()).to_event(1))


pyro.set_rng_seed(0)
images = (torch.rand(12, 8) > 0.5).float()
vae = VAE()
svi = SVI(vae.model, vae.guide, Adam({"lr": 0.01}), Trace_ELBO())
show("vae", [svi.step(images) for _ in range(6)])

# the bayesian network of pyro's tutorial
pyro.clear_param_store()
pyro.set_rng_seed(1)


class Network(PyroModule):
    def __init__(self):
        super().__init__()
        self.layer = PyroModule[nn.Linear](3, 1)
        self.layer.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 3]).to_event(2))
        self.layer.bias = PyroSample(dist.Normal(0.0, 10.0).expand([1]).to_event(1))

    def forward(self, x, y=None):
        sigma = pyro.sample("sigma", dist.Uniform(0.0, 10.0))
        mean = self.layer(x).squeeze(-1)
        with pyro.plate("data", x.shape[0]):
            pyro.sample("obs", dist.Normal(mean, sigma), obs=y)
        return mean


network = Network()
x = torch.randn(10, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5])
guide = pyro.infer.autoguide.AutoDiagonalNormal(network)
svi = SVI(network, guide, Adam({"lr": 0.03}), Trace_ELBO())
show("network", [svi.step(x, y) for _ in range(6)])

# pyro's own distributions
pyro.set_rng_seed(2)
families = {
    "MaskedMixture": dist.MaskedMixture(torch.tensor([True, False]), dist.Normal(0.0, 1.0), dist.Normal(3.0, 1.0)),
    "Delta": dist.Delta(torch.tensor(0.5)),
    "ZeroInflatedPoisson": dist.ZeroInflatedPoisson(torch.tensor(2.0), gate=torch.tensor(0.3)),
    "BetaBinomial": dist.BetaBinomial(torch.tensor(2.0), torch.tensor(3.0), total_count=10),
    "GammaPoisson": dist.GammaPoisson(torch.tensor(2.0), torch.tensor(3.0)),
    "DirichletMultinomial": dist.DirichletMultinomial(torch.tensor([1.0, 2.0, 3.0]), total_count=5),
    "SineSkewed": dist.SineSkewed(dist.VonMises(torch.tensor([0.0]), torch.tensor([1.0])).to_event(1), torch.tensor([0.3])),
    "Stable": dist.Stable(torch.tensor(1.5), torch.tensor(0.1)),
    "LKJ": dist.LKJ(3, torch.tensor(1.5)),
    "OMTMVN": dist.OMTMultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.0], [0.5, 2.0]])),
    "MVStudentT": dist.MultivariateStudentT(torch.tensor(4.0), torch.zeros(2), torch.eye(2)),
    "Logistic": dist.Logistic(torch.tensor(0.0), torch.tensor(2.0)),
    "AsymmetricLaplace": dist.AsymmetricLaplace(torch.tensor(0.0), torch.tensor(2.0), torch.tensor(1.5)),
    "DiscreteHMM": dist.DiscreteHMM(torch.zeros(2), torch.zeros(4, 2, 2), dist.Normal(torch.tensor([0.0, 3.0]), 1.0), duration=4),
    "GaussianHMM": dist.GaussianHMM(
        dist.MultivariateNormal(torch.zeros(2), torch.eye(2)), torch.eye(2), dist.MultivariateNormal(torch.zeros(2), torch.eye(2)),
        torch.eye(2), dist.MultivariateNormal(torch.zeros(2), torch.eye(2)), duration=3,
    ),
    "masked": dist.Normal(torch.zeros(3), 1.0).mask(torch.tensor([True, False, True])),
    "folded": dist.FoldedDistribution(dist.Normal(0.0, 1.0)),
    "mixture": dist.MixtureOfDiagNormals(torch.zeros(2, 3), torch.ones(2, 3), torch.tensor([0.3, 0.7])),
}  # fmt: skip
for name, family in families.items():
    sample = family.sample() if name != "Stable" else torch.tensor(0.7)
    if name == "Stable":
        print(name, tuple(family.sample((2,)).shape))
        continue
    show(name, [*sample.reshape(-1).float(), family.log_prob(sample).sum()])

# flows
pyro.set_rng_seed(3)
for make in (
    T.planar,
    T.radial,
    T.affine_autoregressive,
    T.affine_coupling,
    T.spline,
    T.spline_coupling,
    T.batchnorm,
    T.householder,
    T.sylvester,
    T.permute,
    T.elu,
    T.matrix_exponential,
):
    flow = make(3) if make not in (T.elu,) else make()
    target = dist.TransformedDistribution(
        dist.Normal(torch.zeros(3), 1.0).to_event(1) if make is not T.elu else dist.Normal(torch.zeros(3), 1.0), [flow]
    )
    if isinstance(flow, nn.Module):
        flow.eval()
    sample = target.rsample()
    print(make.__name__, " ".join(f"{float(value):.3f}" for value in sample))
flow = T.spline_coupling(2, count_bins=4)
target = dist.TransformedDistribution(dist.Normal(torch.zeros(2), 1.0).to_event(1), [flow])
optimizer = torch.optim.Adam(flow.parameters(), lr=0.01)
points = torch.randn(16, 2) * torch.tensor([2.0, 0.5])
losses = []
for _ in range(4):
    optimizer.zero_grad()
    loss = -target.log_prob(points).mean()
    loss.backward()
    optimizer.step()
    target.clear_cache()
    losses.append(loss)
show("flow", losses)

# a Gaussian process
pyro.clear_param_store()
pyro.set_rng_seed(4)
x = torch.linspace(0, 3, 8)
y = torch.sin(2 * x)
model = gp.models.GPRegression(x, y, gp.kernels.RBF(1, variance=torch.tensor(1.0), lengthscale=torch.tensor(0.5)), noise=torch.tensor(0.1))
show("gp", gp.util.train(model, num_steps=5))
with torch.no_grad():
    mean, variance = model(torch.tensor([0.5, 1.5]), full_cov=False)
show("gp at", [*mean, *variance])
sparse = gp.models.VariationalSparseGP(x, y, gp.kernels.Matern32(1), x[::3].clone(), gp.likelihoods.Gaussian(), jitter=1e-4)
show("sparse gp", gp.util.train(sparse, num_steps=4))
