"""The Kullback-Leibler divergence KL(p || q), by a table of pairs of families; subclasses find the nearest entry."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import rushlight
from rushlight import Tensor

from ..nn.functional import softplus
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost
from .utils import euler_constant as _euler_gamma

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """A decorator that says how the divergence of two families is computed, also for their subclasses.

    >>> @register_kl(Poisson, Geometric)
    ... def _kl_poisson_geometric(p, q):
    ...     return -p.entropy() - p.rate * rushlight.log1p(-q.probs) - q.probs.log()
    >>> del _KL_REGISTRY[Poisson, Geometric]; _KL_MEMOIZE.clear()
    """
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorator(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()  # what was found before may not be the nearest any more
        return function

    return decorator


@functools.total_ordering
class _Match:
    """Classes in the order of how near they are, the first counting most."""

    __slots__ = ["types"]

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    def __le__(self, other: _Match) -> bool:
        for mine, theirs in zip(self.types, other.types, strict=True):
            if not issubclass(mine, theirs):
                return False
            if mine is not theirs:
                break
        return True


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the nearest entry; a warning where the nearest for p is not the nearest for q."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented
    left_p, left_q = min(_Match(*pair) for pair in matches).types
    right_q, right_p = min(_Match(*reversed(pair)) for pair in matches).types
    left, right = _KL_REGISTRY[left_p, left_q], _KL_REGISTRY[right_p, right_q]
    if left is not right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q): the mean under p of the logarithm of p's density over q's.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    try:
        function = _KL_MEMOIZE[type(p), type(q)]
    except KeyError:
        function = _KL_MEMOIZE[type(p), type(q)] = _dispatch_kl(type(p), type(q))
    if function is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}")
    return function(p, q)


def _infinite_like(tensor: Tensor) -> Tensor:
    return rushlight.full_like(tensor, math.inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    return rushlight.special.xlogy(tensor, tensor)


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """The trace of ``bmat @ bmat.T``."""
    return bmat.flatten(-2).pow(2).sum(-1)


def _infinite(parameter: str, type_p: type, *types_q: type) -> None:
    """Register pairs where p has mass where q has none."""
    for type_q in types_q:
        register_kl(type_p, type_q)(lambda p, q: _infinite_like(getattr(p, parameter)))


_infinite("concentration1", Beta, Pareto)
_infinite("probs", ContinuousBernoulli, Pareto)
_infinite("rate", Exponential, Beta, ContinuousBernoulli, Pareto, Uniform)
_infinite("concentration", Gamma, Beta, ContinuousBernoulli, Pareto, Uniform)
_infinite("loc", Gumbel, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_infinite("loc", Laplace, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_infinite("loc", Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_infinite("scale", Pareto, Beta, ContinuousBernoulli, Uniform)
_infinite("rate", Poisson, Bernoulli, Binomial)


# -- two of one family ---------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones[q.probs == 0] = math.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros[q.probs == 1] = math.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    log_q = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    log_p = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    return (
        log_q - log_p
        + (p.concentration1 - q.concentration1) * rushlight.digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * rushlight.digamma(p.concentration0)
        + (total_q - total_p) * rushlight.digamma(total_p)
    )  # fmt: skip


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    more = p.total_count > q.total_count
    kl[more] = _infinite_like(kl[more])
    return kl


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    norm_p = p._cont_bern_log_norm() + rushlight.log1p(-p.probs)
    norm_q = -q._cont_bern_log_norm() - rushlight.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + norm_p + norm_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    log_ratio = total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    expected = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return log_ratio + ((p.concentration - q.concentration) * expected).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    natural_p = [each.detach().requires_grad_() for each in p._natural_params]
    log_normalizer = p._log_normalizer(*natural_p)
    gradients = rushlight.autograd.grad(log_normalizer.sum(), natural_p, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - log_normalizer
    for mine, theirs, gradient in zip(natural_p, q._natural_params, gradients, strict=True):
        result -= _sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + rushlight.lgamma(q.concentration) - rushlight.lgamma(p.concentration)
        + (p.concentration - q.concentration) * rushlight.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Tensor:
    ratio, loc_q, loc_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return -ratio.log() - loc_q + loc_p + ratio * _euler_gamma + rushlight.exp(loc_q + (1 + ratio).lgamma() - loc_p) - (1 + _euler_gamma)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - rushlight.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: Any, q: Any) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * rushlight.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: Any, q: Any) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = math.inf
    return result


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Tensor:  # Chyzak and Nielsen, 2019
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


# -- distributions made of others ----------------------------------------------------------------------------------


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


# -- multivariate normal distributions -----------------------------------------------------------------------------


def _check_events(p: Any, q: Any, low_rank: bool) -> None:
    if p.event_shape != q.event_shape:
        what = "(Low Rank) Multivariate Normals" if low_rank else "Multivariate Normals"
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


def _half_sum(log_dets: Tensor, distance: Tensor, trace: Tensor, size: int) -> Tensor:
    return 0.5 * (log_dets + distance + trace - size)


def _distance_to(p: Any, q: Any) -> Tensor:
    """The squared Mahalanobis distance of the means, by q's low-rank covariance."""
    return _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril)


def _whitened(q: Any) -> Tensor:
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return rushlight.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, True)
    solved, root = _whitened(q), q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    trace = (
        (p._unbroadcasted_cov_diag / q._unbroadcasted_cov_diag).sum(-1)
        + _batch_trace_XXT(p._unbroadcasted_cov_factor * root)
        - _batch_trace_XXT(solved * p._unbroadcasted_cov_diag.sqrt().unsqueeze(-2))
        - _batch_trace_XXT(solved.matmul(p._unbroadcasted_cov_factor))
    )
    return _half_sum(q._log_det() - p._log_det(), _distance_to(p, q), trace, p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, True)
    factor, root = p._unbroadcasted_scale_tril, q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    trace = _batch_trace_XXT(factor * root) - _batch_trace_XXT(_whitened(q).matmul(factor))
    return _half_sum(q._log_det() - 2 * p._half_log_det(), _distance_to(p, q), trace, p.event_shape[0])


def _trace_of_solution(q: Any, batch: Any, *factors: Tensor) -> Tensor:
    """The trace of inv(q's covariance) times the sum of ``factor @ factor.T``."""
    size = q.event_shape[0]
    q_factor = q._unbroadcasted_scale_tril.expand(batch + (size, size))
    solved = [rushlight.linalg.solve_triangular(q_factor, each.expand(batch + (size, each.size(-1))), upper=False) for each in factors]
    return functools.reduce(lambda one, other: one + other, map(_batch_trace_XXT, solved))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, True)
    batch = rushlight.broadcast_shapes(q._unbroadcasted_scale_tril.shape[:-2], p._unbroadcasted_cov_factor.shape[:-2])
    trace = _trace_of_solution(q, batch, p._unbroadcasted_cov_factor, rushlight.diag_embed(p._unbroadcasted_cov_diag.sqrt()))
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return _half_sum(2 * q._half_log_det() - p._log_det(), distance, trace, p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, False)
    batch = rushlight.broadcast_shapes(q._unbroadcasted_scale_tril.shape[:-2], p._unbroadcasted_scale_tril.shape[:-2])
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    trace = _trace_of_solution(q, batch, p._unbroadcasted_scale_tril)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])
