"""pyro: stochastic variational inference with guides of one's own and automatic ones, enumeration, NUTS, and prediction."""

# libraries: pyro-ppl

import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.infer import MCMC, NUTS, SVI, JitTrace_ELBO, Predictive, Trace_ELBO, TraceEnum_ELBO, TraceMeanField_ELBO, config_enumerate
from pyro.infer.autoguide import (
    AutoDelta,
    AutoDiagonalNormal,
    AutoIAFNormal,
    AutoLaplaceApproximation,
    AutoLowRankMultivariateNormal,
    AutoMultivariateNormal,
    AutoNormal,
)
from pyro.optim import Adam, ClippedAdam

pyro.set_rng_seed(0)
xs = torch.linspace(-1, 1, 20)
ys = 0.7 * xs - 0.2 + 0.1 * torch.randn(20)


def regression(xs, ys=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    offset = pyro.sample("offset", dist.Normal(0.0, 1.0))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("data", len(xs)):
        return pyro.sample("y", dist.Normal(slope * xs + offset, noise), obs=ys)


def show(name, values):
    print(name, " ".join(f"{float(value):.3f}" for value in values))


def fit(model, guide, loss, steps, *arguments, optimizer=None):
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    svi = SVI(model, guide, optimizer or Adam({"lr": 0.05}), loss)
    return [svi.step(*arguments) for _ in range(steps)]


# a coin, as in pyro's introduction
def coin(flips):
    fairness = pyro.sample("fairness", dist.Beta(10.0, 10.0))
    for index, flip in enumerate(flips):
        pyro.sample(f"flip_{index}", dist.Bernoulli(fairness), obs=flip)


def coin_guide(flips):
    alpha = pyro.param("alpha", torch.tensor(15.0), constraint=dist.constraints.positive)
    beta = pyro.param("beta", torch.tensor(15.0), constraint=dist.constraints.positive)
    pyro.sample("fairness", dist.Beta(alpha, beta))


flips = torch.tensor([1.0] * 6 + [0.0] * 4)
losses = fit(coin, coin_guide, TraceMeanField_ELBO(), 20, flips, optimizer=ClippedAdam({"lr": 0.05}))
show("coin", losses[::5] + [pyro.param("alpha"), pyro.param("beta")])

for make in (AutoDelta, AutoNormal, AutoDiagonalNormal, AutoMultivariateNormal, AutoLowRankMultivariateNormal, AutoIAFNormal):
    pyro.clear_param_store()
    pyro.set_rng_seed(2)
    guide = make(regression) if make is not AutoIAFNormal else AutoIAFNormal(regression, hidden_dim=[8])
    losses = fit(regression, guide, Trace_ELBO(num_particles=2), 15, xs, ys)
    show(make.__name__, losses[::5])
    if make is not AutoIAFNormal:
        show("  median", [guide.median(xs, ys)[name] for name in ("slope", "offset", "noise")])

laplace = AutoLaplaceApproximation(regression)
fit(regression, laplace, Trace_ELBO(), 30, xs, ys)
show("laplace", laplace.laplace_approximation(xs, ys).loc)

guide = AutoNormal(regression)
show("jit", fit(regression, guide, JitTrace_ELBO(ignore_jit_warnings=True), 6, xs, ys))

pyro.set_rng_seed(3)
predictive = Predictive(regression, guide=guide, num_samples=5)(xs[:2])
show("predicted", predictive["y"].reshape(-1))


# a mixture, whose assignments are summed over
@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(0.0, 5.0))
    with pyro.plate("data", len(data)):
        assignment = pyro.sample("assignment", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(locs[assignment], 0.5), obs=data)


data = torch.tensor([0.1, -0.2, 3.1, 2.9, 0.3, 3.3])
hidden = AutoDelta(poutine.block(mixture, expose=["weights", "locs"]))
show("mixture", fit(mixture, hidden, TraceEnum_ELBO(max_plate_nesting=1), 20, data)[::4])
show("  found", [*hidden(data)["weights"], *hidden(data)["locs"]])

# two chains' worth of NUTS
pyro.set_rng_seed(4)
sampler = MCMC(NUTS(regression, jit_compile=False), num_samples=8, warmup_steps=8, disable_progbar=True)
sampler.run(xs, ys)
samples = sampler.get_samples()
print("nuts", {name: tuple(value.shape) for name, value in samples.items()})
print("nuts mean", " ".join(f"{float(samples[name].mean()):.1f}" for name in ("slope", "offset")))

trace = poutine.trace(
    poutine.condition(regression, {"slope": torch.tensor(0.7), "offset": torch.tensor(0.0), "noise": torch.tensor(0.1)})
).get_trace(xs, ys)
print("log joint", f"{float(trace.log_prob_sum()):.3f}")
