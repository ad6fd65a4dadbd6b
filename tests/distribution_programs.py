"""Programs over ``distributions``, for any package that speaks PyTorch's language: run by the tests and by their recorder.

Each gives named values: tensors, texts (a shape, a representation) or errors, as texts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

DTYPES = ("float32", "float64")
SQUARE = [[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]]
LOWER = [[1.2, 0.0, 0.0], [0.3, 0.9, 0.0], [-0.2, 0.4, 0.7]]
FACTOR = [[0.5, 0.1], [-0.3, 0.8], [0.2, 0.2]]
PROBS = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]

# name -> parameters by name, and how the distribution is made of them; `T` is a tensor of the parameter's dtype
Maker = Callable[[Any, dict[str, Any]], Any]
FAMILIES: dict[str, tuple[dict[str, Any], Maker]] = {
    "Bernoulli": ({"probs": [0.2, 0.5, 0.9]}, lambda D, p: D.Bernoulli(**p)),
    "Bernoulli_logits": ({"logits": [-1.0, 0.3]}, lambda D, p: D.Bernoulli(**p)),
    "Bernoulli_edges": ({"probs": [0.0, 1.0]}, lambda D, p: D.Bernoulli(**p)),
    "Beta": ({"concentration1": [0.5, 2.0, 7.0], "concentration0": [1.5, 3.0, 0.8]}, lambda D, p: D.Beta(**p)),
    "Binomial": ({"probs": [0.1, 0.5, 0.8]}, lambda D, p: D.Binomial(5, **p)),
    "Binomial_logits": ({"total_count": [3.0, 40.0], "logits": [-1.0, 0.3]}, lambda D, p: D.Binomial(**p)),
    "Categorical": ({"probs": PROBS}, lambda D, p: D.Categorical(**p)),
    "Categorical_logits": ({"logits": [0.5, -1.0, 2.0]}, lambda D, p: D.Categorical(**p)),
    "Cauchy": ({"loc": [0.0, -1.0], "scale": [1.0, 0.4]}, lambda D, p: D.Cauchy(**p)),
    "Chi2": ({"df": [0.7, 3.0]}, lambda D, p: D.Chi2(**p)),
    "ContinuousBernoulli": ({"probs": [0.1, 0.4995, 0.9]}, lambda D, p: D.ContinuousBernoulli(**p)),
    "ContinuousBernoulli_logits": ({"logits": [-2.0, 0.4]}, lambda D, p: D.ContinuousBernoulli(**p)),
    "Dirichlet": ({"concentration": [[0.5, 1.0, 2.0], [3.0, 0.2, 0.4]]}, lambda D, p: D.Dirichlet(**p)),
    "Dirichlet_small": ({"concentration": [0.5, 0.3, 0.2]}, lambda D, p: D.Dirichlet(**p)),
    "Exponential": ({"rate": [0.5, 2.0]}, lambda D, p: D.Exponential(**p)),
    "FisherSnedecor": ({"df1": [1.5, 6.0], "df2": [3.0, 5.0]}, lambda D, p: D.FisherSnedecor(**p)),
    "Gamma": ({"concentration": [0.3, 1.0, 8.0], "rate": [0.5, 1.0, 2.0]}, lambda D, p: D.Gamma(**p)),
    "GeneralizedPareto": (
        {"loc": [0.0, 1.0, -1.0], "scale": [1.0, 0.5, 2.0], "concentration": [0.3, 0.0, -0.4]},
        lambda D, p: D.GeneralizedPareto(**p),
    ),
    "Geometric": ({"probs": [0.2, 0.7, 1.0]}, lambda D, p: D.Geometric(**p)),
    "Geometric_logits": ({"logits": [-1.0, 0.5]}, lambda D, p: D.Geometric(**p)),
    "Gumbel": ({"loc": [0.0, 2.0], "scale": [1.0, 0.5]}, lambda D, p: D.Gumbel(**p)),
    "HalfCauchy": ({"scale": [1.0, 0.5]}, lambda D, p: D.HalfCauchy(**p)),
    "HalfNormal": ({"scale": [1.0, 0.5]}, lambda D, p: D.HalfNormal(**p)),
    "Independent": ({"loc": [[0.0, 1.0], [2.0, -1.0]], "scale": [1.0, 0.5]}, lambda D, p: D.Independent(D.Normal(**p), 1)),
    "Independent_0": ({"probs": [0.3, 0.6]}, lambda D, p: D.Independent(D.Bernoulli(**p), 0)),
    "InverseGamma": ({"concentration": [0.8, 1.5, 4.0], "rate": [1.0, 0.5, 2.0]}, lambda D, p: D.InverseGamma(**p)),
    "Kumaraswamy": ({"concentration1": [0.5, 2.0], "concentration0": [1.5, 3.0]}, lambda D, p: D.Kumaraswamy(**p)),
    "LKJCholesky": ({"concentration": [0.6, 2.0]}, lambda D, p: D.LKJCholesky(3, **p)),
    "Laplace": ({"loc": [0.0, -1.0], "scale": [1.0, 0.4]}, lambda D, p: D.Laplace(**p)),
    "LogNormal": ({"loc": [0.0, -1.0], "scale": [1.0, 0.4]}, lambda D, p: D.LogNormal(**p)),
    "LogisticNormal": ({"loc": [[0.0, -1.0, 0.5]], "scale": [[1.0, 0.4, 0.8]]}, lambda D, p: D.LogisticNormal(**p)),
    "LowRankMultivariateNormal": (
        {"loc": [[0.0, 1.0, -1.0], [2.0, 0.0, 0.5]], "cov_factor": FACTOR, "cov_diag": [0.5, 1.0, 0.2]},
        lambda D, p: D.LowRankMultivariateNormal(**p),
    ),
    "MixtureSameFamily": (
        {"probs": [0.3, 0.7], "loc": [-1.0, 2.0], "scale": [0.5, 1.0]},
        lambda D, p: D.MixtureSameFamily(D.Categorical(p["probs"]), D.Normal(p["loc"], p["scale"])),
    ),
    "MixtureSameFamily_vectors": (
        {"probs": PROBS, "loc": [[[0.0, 1.0]] * 3, [[2.0, -1.0]] * 3], "scale": [0.5, 1.0]},
        lambda D, p: D.MixtureSameFamily(D.Categorical(p["probs"]), D.Independent(D.Normal(p["loc"], p["scale"]), 1)),
    ),
    "Multinomial": ({"probs": PROBS}, lambda D, p: D.Multinomial(4, **p)),
    "Multinomial_logits": ({"logits": [0.5, -1.0, 2.0]}, lambda D, p: D.Multinomial(3, **p)),
    "MultivariateNormal": ({"loc": [0.0, 1.0, -1.0], "covariance_matrix": SQUARE}, lambda D, p: D.MultivariateNormal(**p)),
    "MultivariateNormal_precision": (
        {"loc": [[0.0, 1.0, -1.0], [1.0, 1.0, 1.0]], "precision_matrix": SQUARE},
        lambda D, p: D.MultivariateNormal(**p),
    ),
    "MultivariateNormal_factor": ({"loc": [0.0, 1.0, -1.0], "scale_tril": [LOWER, LOWER]}, lambda D, p: D.MultivariateNormal(**p)),
    "NegativeBinomial": ({"total_count": [2.0, 5.5], "probs": [0.3, 0.6]}, lambda D, p: D.NegativeBinomial(**p)),
    "NegativeBinomial_logits": ({"logits": [-0.5, 0.4]}, lambda D, p: D.NegativeBinomial(3, **p)),
    "Normal": ({"loc": [0.0, -1.0], "scale": [1.0, 0.4]}, lambda D, p: D.Normal(**p)),
    "Normal_numbers": ({}, lambda D, p: D.Normal(0, 2.0)),
    "OneHotCategorical": ({"probs": PROBS}, lambda D, p: D.OneHotCategorical(**p)),
    "OneHotCategoricalStraightThrough": ({"logits": PROBS}, lambda D, p: D.OneHotCategoricalStraightThrough(**p)),
    "Pareto": ({"scale": [1.0, 0.5], "alpha": [0.8, 3.0]}, lambda D, p: D.Pareto(**p)),
    "Poisson": ({"rate": [0.5, 4.0, 30.0]}, lambda D, p: D.Poisson(**p)),
    "RelaxedBernoulli": ({"temperature": 0.7, "probs": [0.2, 0.6]}, lambda D, p: D.RelaxedBernoulli(**p)),
    "RelaxedBernoulli_logits": ({"temperature": 1.5, "logits": [-1.0, 0.6]}, lambda D, p: D.RelaxedBernoulli(**p)),
    "RelaxedOneHotCategorical": ({"temperature": 0.7, "probs": PROBS}, lambda D, p: D.RelaxedOneHotCategorical(**p)),
    "StudentT": ({"df": [0.5, 1.5, 4.0], "loc": [0.0, 1.0, -1.0], "scale": [1.0, 2.0, 0.5]}, lambda D, p: D.StudentT(**p)),
    "TransformedDistribution": (
        {"loc": [0.0, -1.0], "scale": [1.0, 0.4]},
        lambda D, p: D.TransformedDistribution(D.Normal(**p), [D.SigmoidTransform(), D.AffineTransform(1.0, -2.0)]),
    ),
    "TransformedDistribution_vectors": (
        {"loc": [0.0, -1.0, 0.3], "scale": [1.0, 0.4, 0.6]},
        lambda D, p: D.TransformedDistribution(D.Normal(**p), [D.TanhTransform(), D.CorrCholeskyTransform()]),
    ),
    "Uniform": ({"low": [0.0, -1.0], "high": [1.0, 0.4]}, lambda D, p: D.Uniform(**p)),
    "VonMises": ({"loc": [0.0, 1.0, -2.0], "concentration": [0.5, 3.0, 50.0]}, lambda D, p: D.VonMises(**p)),
    "Weibull": ({"scale": [1.0, 0.5], "concentration": [0.8, 3.0]}, lambda D, p: D.Weibull(**p)),
    "Wishart": ({"df": [3.5, 6.0], "covariance_matrix": SQUARE}, lambda D, p: D.Wishart(**p)),
    "Wishart_precision": ({"df": 4.0, "precision_matrix": SQUARE}, lambda D, p: D.Wishart(**p)),
    "Wishart_factor": ({"df": 4.0, "scale_tril": LOWER}, lambda D, p: D.Wishart(**p)),
}


def dtypes_of(name: str) -> tuple[str, ...]:
    """The dtypes a family is run with; PyTorch's generalized Pareto distribution stops at others than the default one."""
    return DTYPES[:1] if name == "GeneralizedPareto" else DTYPES


def outcome(function: Callable[[], Any]) -> Any:
    """The value, or the error as a text."""
    try:
        return function()
    except Exception as error:
        # PyTorch's texts have the blanks of its source's continued lines
        return " ".join(f"{type(error).__name__}: {error}".split()).replace("rushlight.", "torch.")


def weighted(torch: Any, value: Any) -> Any:
    """A number made of all elements, each with a weight of its own."""
    weights = torch.arange(1, value.numel() + 1, dtype=value.dtype).reshape(value.shape) / value.numel()
    return (value * weights).sum()


def family(torch: Any, name: str, dtype: str) -> dict[str, Any]:
    """Everything a distribution of a family answers."""
    D, kind = torch.distributions, getattr(torch, dtype)
    given, make = FAMILIES[name]

    def parameters() -> dict[str, Any]:
        return {key: torch.tensor(value, dtype=kind, requires_grad=True) for key, value in given.items()}

    def gradients(function: Callable[[Any], Any]) -> Any:
        leaves = parameters()
        value = weighted(torch, function(make(D, leaves)))
        return list(torch.autograd.grad(value, list(leaves.values()), allow_unused=True)) if leaves else []

    distribution = make(D, parameters())
    found: dict[str, Any] = {
        "repr": repr(distribution),
        "shapes": f"{distribution.batch_shape} {distribution.event_shape}",
        "flags": f"{distribution.has_rsample} {distribution.has_enumerate_support}",
        "support": outcome(lambda: f"{distribution.support.event_dim} {distribution.support.is_discrete}"),
    }
    torch.manual_seed(7)
    sample = distribution.sample((4,))
    found["sample"] = sample
    torch.manual_seed(8)
    found["one"] = distribution.sample()
    torch.manual_seed(9)
    found["rsample"] = outcome(lambda: distribution.rsample((2, 3)))
    found["log_prob"] = distribution.log_prob(sample)
    for attribute in ("mean", "mode", "variance", "stddev"):
        found[attribute] = outcome(lambda attribute=attribute: getattr(distribution, attribute))
    for method in ("entropy", "perplexity", "enumerate_support"):
        found[method] = outcome(getattr(distribution, method))
    found["enumerate_support_small"] = outcome(lambda: distribution.enumerate_support(expand=False))
    found["cdf"] = outcome(lambda: distribution.cdf(sample))
    quantiles = torch.tensor([0.1, 0.5, 0.7], dtype=kind).reshape((3,) + (1,) * len(distribution.batch_shape))
    found["icdf"] = outcome(lambda: distribution.icdf(quantiles.expand((3,) + tuple(distribution.batch_shape))))
    expanded = distribution.expand((2, *distribution.batch_shape))
    found["expanded"] = f"{expanded!r} {expanded.batch_shape} {expanded.event_shape}"
    torch.manual_seed(10)
    found["expanded_sample"] = expanded.sample()
    found["expanded_log_prob"] = expanded.log_prob(sample[:2])
    if distribution.has_rsample:
        torch.manual_seed(11)
        found["rsample_gradients"] = outcome(lambda: gradients(lambda each: each.rsample((2,))))
    found["log_prob_gradients"] = outcome(lambda: gradients(lambda each: each.log_prob(sample)))
    found["entropy_gradients"] = outcome(lambda: gradients(lambda each: each.entropy()))
    return found


PAIRS = [
    (p, q)
    for p in (
        "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Exponential", "Gamma",
        "Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "LowRankMultivariateNormal", "MultivariateNormal",
        "MultivariateNormal_factor", "Normal", "OneHotCategorical", "Pareto", "Poisson", "Uniform", "Weibull", "Wishart",
    )
    for q in (
        "Bernoulli_logits", "Beta", "Binomial_logits", "Categorical_logits", "Cauchy", "ContinuousBernoulli_logits", "Dirichlet_small",
        "Exponential", "Gamma", "Geometric_logits", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal",
        "LowRankMultivariateNormal", "MultivariateNormal", "MultivariateNormal_precision", "Normal", "Normal_numbers",
        "OneHotCategorical", "Pareto", "Poisson", "Uniform", "Wishart",
    )
]  # fmt: skip


def divergences(torch: Any, dtype: str) -> dict[str, Any]:
    """KL(p || q) for the pairs, and its gradient; parameters of q are scaled, so that no two are equal."""
    D, kind = torch.distributions, getattr(torch, dtype)

    def made(name: str, scale: float) -> tuple[Any, list[Any]]:
        given, make = FAMILIES[name]
        leaves = {
            key: (torch.tensor(value, dtype=kind)[..., :2] if not name.startswith(("Low", "Multi", "Wish", "Dir", "Cat", "One", "Ind"))
                  and torch.tensor(value).dim() else torch.tensor(value, dtype=kind))
            for key, value in given.items()
        }  # fmt: skip
        leaves = {
            key: (value * scale if key in ("loc", "scale", "rate", "concentration", "alpha") else value).requires_grad_()
            for key, value in leaves.items()
        }
        return make(D, leaves), list(leaves.values())

    found = {}
    for first, second in PAIRS:

        def pair(first: str = first, second: str = second) -> Any:
            (p, p_leaves), (q, q_leaves) = made(first, 1.0), made(second, 1.1)
            kl = D.kl_divergence(p, q)
            if not kl.requires_grad:
                return [kl]
            return [kl, *torch.autograd.grad(weighted(torch, kl), p_leaves + q_leaves, allow_unused=True)]

        result = outcome(pair)
        if not (isinstance(result, str) and "No KL" in result):
            found[f"{first}/{second}"] = result
    return found


TRANSFORMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "abs": (lambda D: D.AbsTransform(), [-1.0, 2.0]),
    "affine": (lambda D: D.AffineTransform(1.0, -2.0), [-1.0, 2.0]),
    "affine_event": (lambda D: D.AffineTransform(1.0, 3.0, event_dim=1), [[-1.0, 2.0]]),
    "affine_inverse": (lambda D: D.AffineTransform(1.0, -2.0).inv, [-1.0, 2.0]),
    "cat": (lambda D: D.CatTransform([D.ExpTransform(), D.identity_transform], lengths=[1, 2]), [0.5, -1.0, 2.0]),
    "cat_last": (lambda D: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=-1, lengths=[1, 2]), [[0.5, -1.0, 2.0]]),
    "compose": (lambda D: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.SigmoidTransform()]), [0.3, -2.0]),
    "compose_mixed": (lambda D: D.ComposeTransform([D.TanhTransform(), D.StickBreakingTransform()]), [[0.3, -2.0]]),
    "corr_cholesky": (lambda D: D.CorrCholeskyTransform(), [[0.3, -2.0, 0.7]]),
    "cumulative": (lambda D: D.CumulativeDistributionTransform(D.Normal(0.0, 2.0)), [0.3, -2.0]),
    "exp": (lambda D: D.ExpTransform(), [0.3, -2.0]),
    "independent": (lambda D: D.IndependentTransform(D.ExpTransform(), 1), [[0.3, -2.0], [1.0, 0.0]]),
    "lower_cholesky": (lambda D: D.LowerCholeskyTransform(), [[0.3, 1.0], [0.2, -0.4]]),
    "positive_definite": (lambda D: D.PositiveDefiniteTransform(), [[0.3, 1.0], [0.2, -0.4]]),
    "power": (lambda D: D.PowerTransform(2.5), [0.3, 2.0]),
    "reshape": (lambda D: D.ReshapeTransform((2, 3), (3, 2)), [[[0.3, 2.0, 1.0], [0.5, 0.6, 0.7]]]),
    "sigmoid": (lambda D: D.SigmoidTransform(), [0.3, -2.0, 200.0]),
    "softmax": (lambda D: D.SoftmaxTransform(), [[0.3, -2.0, 1.0]]),
    "softplus": (lambda D: D.SoftplusTransform(), [0.3, -2.0]),
    "stack": (lambda D: D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=1), [[0.3, -0.2], [1.0, 0.5]]),
    "stick_breaking": (lambda D: D.StickBreakingTransform(), [[0.3, -2.0, 1.0]]),
    "tanh": (lambda D: D.TanhTransform(), [0.3, -2.0]),
}


def transform(torch: Any, name: str, dtype: str) -> dict[str, Any]:
    """What a transform answers, with and without its cache."""
    make, values = TRANSFORMS[name]
    each, x = make(torch.distributions), torch.tensor(values, dtype=getattr(torch, dtype))
    y = each(x)
    found = {
        "value": y,
        "inverse": outcome(lambda: each.inv(y)),
        "log_det": outcome(lambda: each.log_abs_det_jacobian(x, y)),
        "inverse_log_det": outcome(lambda: each.inv.log_abs_det_jacobian(y, x)),
        "repr": f"{each!r} {each.inv!r}",
        "sets": outcome(lambda: f"{each.domain!r} {each.codomain!r} {each.inv.domain!r} {each.domain.event_dim} {each.codomain.event_dim}"),
        "bijective": str(each.bijective),
        "sign": outcome(lambda: str(each.sign)),
        "event_dim": outcome(lambda: str(each.event_dim)),
        "shapes": f"{each.forward_shape(x.shape)} {each.inverse_shape(y.shape)}",
        "valid": outcome(lambda: each.codomain.check(y)),
        "equal": f"{each == make(torch.distributions)} {each == torch.distributions.AffineTransform(9, 9)} {each.inv.inv is each}",
    }
    cached = each.with_cache()
    found["cache"] = outcome(lambda: f"{cached.inv(cached(x)) is x} {cached(x) is cached(x)} {cached.with_cache(0)!r}")
    return found


def CONSTRAINTS(torch: Any) -> dict[str, Any]:
    """Constraints by name."""
    c = torch.distributions.constraints
    return {
        "boolean": c.boolean, "one_hot": c.one_hot, "nonnegative_integer": c.nonnegative_integer, "positive_integer": c.positive_integer,
        "integer_interval": c.integer_interval(-1, 2), "real": c.real, "real_vector": c.real_vector, "positive": c.positive,
        "nonnegative": c.nonnegative, "greater_than": c.greater_than(0.5), "less_than": c.less_than(0.5),
        "multinomial": c.multinomial(2), "unit_interval": c.unit_interval, "interval": c.interval(-0.5, 2),
        "half_open_interval": c.half_open_interval(0.0, 1.0), "simplex": c.simplex, "lower_triangular": c.lower_triangular,
        "lower_cholesky": c.lower_cholesky, "corr_cholesky": c.corr_cholesky, "square": c.square, "symmetric": c.symmetric,
        "positive_semidefinite": c.positive_semidefinite, "positive_definite": c.positive_definite,
        "independent": c.independent(c.positive, 2), "cat": c.cat([c.positive, c.real], -1, [1, 1]), "stack": c.stack([c.positive, c.real], -1),
        "mixture": c.MixtureSameFamilyConstraint(c.interval(torch.tensor([0.0, -1.0]), 1.0)),
    }  # fmt: skip


VALUES = [
    [[1.0, 0.0], [0.5, 0.5]], [[2.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]],
    [[1.0, 0.0], [0.6, 0.8]], [[-1.0, 3.0], [float("nan"), 0.25]], [[1.0, 1.0], [1.0, 1.0]],
]  # fmt: skip


def constraint(torch: Any, name: str) -> dict[str, Any]:
    """What a constraint says of some matrices, and which transforms lead into it."""
    each = CONSTRAINTS(torch)[name]
    found: dict[str, Any] = {"repr": f"{each!r} {each.is_discrete} {each.event_dim}"}
    for index, value in enumerate(VALUES):
        found[f"check{index}"] = outcome(lambda value=value: each.check(torch.tensor(value)).tolist().__repr__())
    for registry in ("biject_to", "transform_to"):
        found[registry] = outcome(lambda registry=registry: repr(getattr(torch.distributions, registry)(each)))
    return found


BAD: dict[str, Callable[[Any, Any], Any]] = {
    "scale": lambda t, D: D.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, -1.0])),
    "scale_number": lambda t, D: D.Normal(0, -1.0),
    "nan": lambda t, D: D.Normal(float("nan"), 1.0),
    "not_tensor": lambda t, D: D.Normal(0, 1).log_prob(1.0),
    "broadcast": lambda t, D: D.Normal(t.zeros(3), 1).log_prob(t.zeros(2)),
    "nan_value": lambda t, D: D.Normal(t.zeros(3), 1).log_prob(t.tensor(float("nan"))),
    "event": lambda t, D: D.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
    "outside": lambda t, D: D.Exponential(1.0).log_prob(t.tensor([-1.0, 1.0])),
    "default": lambda t, D: D.Distribution.set_default_validate_args(2),
    "both": lambda t, D: D.Bernoulli(0.5, 0.5),
    "neither": lambda t, D: D.Binomial(3),
    "categorical": lambda t, D: D.Categorical(t.tensor(1.0)),
    "categorical_logits": lambda t, D: D.Categorical(logits=t.tensor(1.0)),
    "simplex": lambda t, D: D.Categorical(t.tensor([1.0, -0.5])),
    "category": lambda t, D: D.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "dirichlet": lambda t, D: D.Dirichlet(t.tensor(1.0)),
    "geometric": lambda t, D: D.Geometric(t.tensor([0.0, 0.5])),
    "multinomial": lambda t, D: D.Multinomial(t.tensor([1, 2]), t.ones(2)),
    "loc": lambda t, D: D.MultivariateNormal(t.tensor(1.0)),
    "no_matrix": lambda t, D: D.MultivariateNormal(t.ones(1)),
    "vector": lambda t, D: D.MultivariateNormal(t.ones(1), t.ones(1)),
    "precision_vector": lambda t, D: D.MultivariateNormal(t.ones(1), precision_matrix=t.ones(1)),
    "factor_vector": lambda t, D: D.MultivariateNormal(t.ones(1), scale_tril=t.ones(1)),
    "indefinite": lambda t, D: D.MultivariateNormal(t.ones(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "low_rank_loc": lambda t, D: D.LowRankMultivariateNormal(t.tensor(1.0), t.ones(1, 1), t.ones(1)),
    "low_rank_factor": lambda t, D: D.LowRankMultivariateNormal(t.ones(1), t.ones(1), t.ones(1)),
    "low_rank_size": lambda t, D: D.LowRankMultivariateNormal(t.ones(1), t.ones(2, 2), t.ones(1)),
    "low_rank_diagonal": lambda t, D: D.LowRankMultivariateNormal(t.ones(1), t.ones(1, 2), t.ones(2)),
    "low_rank_batch": lambda t, D: D.LowRankMultivariateNormal(t.ones(3, 2), t.ones(2, 2, 1), t.ones(2)),
    "lkj": lambda t, D: D.LKJCholesky(1),
    "uniform": lambda t, D: D.Uniform(1.0, 0.0),
    "uniform_batch": lambda t, D: D.Uniform(t.tensor([0.0, 1.0]), 1),
    "independent": lambda t, D: D.Independent(D.Normal(0, 1), 1),
    "mixture": lambda t, D: D.MixtureSameFamily(1, 2),
    "mixture_component": lambda t, D: D.MixtureSameFamily(D.Categorical(t.ones(2)), 2),
    "mixture_count": lambda t, D: D.MixtureSameFamily(D.Categorical(t.ones(2)), D.Normal(t.zeros(3), 1)),
    "mixture_batch": lambda t, D: D.MixtureSameFamily(D.Categorical(t.ones(3, 2)), D.Normal(t.zeros(2, 2), 1)),
    "wishart": lambda t, D: D.Wishart(t.tensor(3.0)),
    "wishart_df": lambda t, D: D.Wishart(t.tensor(1.0), t.eye(3)),
    "wishart_vector": lambda t, D: D.Wishart(t.tensor(3.0), t.ones(1)),
    "transformed": lambda t, D: D.TransformedDistribution(D.Normal(0, 1), 1),
    "transformed_list": lambda t, D: D.TransformedDistribution(D.Normal(0, 1), [1]),
    "transformed_shape": lambda t, D: D.TransformedDistribution(D.Normal(0, 1), D.SoftmaxTransform()),
    "kl": lambda t, D: D.kl_divergence(D.Normal(0, 1), D.LKJCholesky(3)),
    "kl_binomial": lambda t, D: D.kl_divergence(D.Binomial(2, t.tensor(0.5)), D.Binomial(3, t.tensor(0.5))),
    "kl_events": lambda t, D: D.kl_divergence(D.MultivariateNormal(t.ones(2), t.eye(2)), D.MultivariateNormal(t.ones(3), t.eye(3))),
    "kl_low_rank_events": lambda t, D: D.kl_divergence(
        D.MultivariateNormal(t.ones(2), t.eye(2)), D.LowRankMultivariateNormal(t.ones(3), t.ones(3, 1), t.ones(3))
    ),
    "kl_families": lambda t, D: D.kl_divergence(D.Bernoulli(0.5), D.Dirichlet(t.ones(2))),
    "biject": lambda t, D: D.biject_to(D.constraints.symmetric),
    "register": lambda t, D: D.biject_to.register(1, print),
    "cache_size": lambda t, D: D.ExpTransform(cache_size=2),
    "reshape": lambda t, D: D.ReshapeTransform((2,), (3,)),
    "reshape_shape": lambda t, D: D.ReshapeTransform((2, 3), (6,)).forward_shape(t.Size((2, 4))),
    "reshape_few": lambda t, D: D.ReshapeTransform((2, 3), (6,)).forward_shape(t.Size((2,))),
    "corr_shape": lambda t, D: D.CorrCholeskyTransform().forward_shape(t.Size((4,))),
    "corr_square": lambda t, D: D.CorrCholeskyTransform().inverse_shape(t.Size((4, 3))),
    "event_dim": lambda t, D: D.ReshapeTransform((2, 3), (6,)).event_dim,
    "independent_few": lambda t, D: D.IndependentTransform(D.ExpTransform(), 2)(t.ones(3)),
    "broadcast_all": lambda t, D: D.utils.broadcast_all(1, "a"),
    "triangle": lambda t, D: D.utils.vec_to_tril_matrix(t.ones(3), 1),
    "diagonal": lambda t, D: D.utils.tril_matrix_to_vec(t.ones(3, 3), 4),
    "dependent": lambda t, D: D.constraints.dependent.check(1),
    "dependent_dim": lambda t, D: D.constraints.dependent.event_dim,
    "dependent_discrete": lambda t, D: D.constraints.dependent.is_discrete,
    "expand": lambda t, D: type("Own", (D.Normal,), {"__init__": lambda self: D.Normal.__init__(self, 0, 1)})().expand((2,)),
    "enumerate": lambda t, D: D.Independent(D.Bernoulli(t.ones(2)), 1).enumerate_support(),
    "binomial_entropy": lambda t, D: D.Binomial(t.tensor([1, 2]), t.tensor([0.5, 0.5])).entropy(),
    "binomial_support": lambda t, D: D.Binomial(t.tensor([1, 2]), t.tensor([0.5, 0.5])).enumerate_support(),
    "continuous_bernoulli": lambda t, D: D.ContinuousBernoulli(t.tensor(1.5), validate_args=True),
}


def errors(torch: Any) -> dict[str, Any]:
    """What is said to mistakes."""
    return {name: outcome(lambda call=call: call(torch, torch.distributions)) for name, call in BAD.items()}


def everything(torch: Any) -> dict[str, dict[str, Any]]:
    """All programs' values, by the program's name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {f"family/{name}/{dtype}": family(torch, name, dtype) for name in FAMILIES for dtype in dtypes_of(name)}
        found |= {f"transform/{name}/{dtype}": transform(torch, name, dtype) for name in TRANSFORMS for dtype in DTYPES}
        found |= {f"constraint/{name}": constraint(torch, name) for name in CONSTRAINTS(torch)}
        found |= {f"kl/{dtype}": divergences(torch, dtype) for dtype in DTYPES}
        found["errors"] = errors(torch)
    return found
