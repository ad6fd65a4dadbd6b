"""Entries of the table of KL divergences for pairs of different families.  Where q has no mass, infinity: ``kl.py`` has those pairs."""

from __future__ import annotations

import math
from typing import Any

import rushlight
from rushlight import Tensor

from .bernoulli import Bernoulli
from .beta import Beta
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import _euler_gamma, _infinite_like, _x_log_x, register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - rushlight.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))


def _gamma_log_normalizer(q: Any) -> Tensor:
    return q.concentration.lgamma() - q.concentration * q.rate.log()


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Any, q: Any) -> Tensor:
    log_mean = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    mean = q.rate * p.concentration1 / (p.concentration1 + p.concentration0)
    return -p.entropy() + _gamma_log_normalizer(q) - (q.concentration - 1) * log_mean + mean


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    mean, variance = p.concentration1 / total, q.scale.pow(2)
    second = (mean * (1 - mean) / (total + 1) + mean.pow(2)) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + (second - q.loc * mean + q.loc.pow(2) * 0.5) / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = math.inf
    return result


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - rushlight.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: Any, q: Any) -> Tensor:
    log_normalizer = 0.5 * (math.log(2.0 * math.pi) + rushlight.square(q.loc / q.scale)) + rushlight.log(q.scale)
    moments = (p.variance + rushlight.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * rushlight.square(q.scale))
    return -p.entropy() + log_normalizer + moments


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    # PyTorch's condition, which also holds where q is exactly the unit interval
    outside = rushlight.max(rushlight.ge(q.low, p.support.lower_bound), rushlight.le(q.high, p.support.upper_bound))
    return rushlight.where(outside, rushlight.ones_like(result) * math.inf, result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * _euler_gamma - (1 + _euler_gamma)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - ratio + rushlight.exp(ratio) * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Any, q: Any) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    moments = square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return 0.5 * rushlight.log(square * variance * 2 * math.pi) - 1 + moments / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Any, q: Any) -> Tensor:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    own = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    expected = rushlight.exp(ratio) * (1 + product.reciprocal()).pow(-p.concentration) - ratio
    return own + product.log() + p.concentration / product + expected


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Any, q: Any) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    own = 0.5 * rushlight.log(square * variance * 2 * math.pi) - p.concentration - p.concentration.lgamma()
    second = 0.5 * (p.concentration.pow(2) + p.concentration) / square
    moments = second - q.loc * p.concentration / p.rate + 0.5 * q.loc.pow(2)
    return own + (p.concentration - 1) * p.concentration.digamma() + moments / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    distance = ((p.loc + p.scale * _euler_gamma - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + (math.pi * ratio * 0.5).pow(2) / 3 + distance - (_euler_gamma + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    moments = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * rushlight.log(2 * ratio / math.pi) + ratio + moments / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Tensor:
    shift = (p.loc - q.loc) / q.scale
    ratio = p.scale / q.scale
    expected = rushlight.exp(0.5 * ratio.pow(2) - shift)
    return shift + expected - ratio.log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Tensor:
    distance = p.loc - q.loc
    scaled = distance / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * rushlight.exp(-0.5 * scaled.pow(2))
    far = distance * rushlight.erf(math.sqrt(0.5) * scaled)
    return -rushlight.log(p.scale / q.scale) + (near + far) / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Any, q: Any) -> Tensor:
    log_mean = p.scale.log() + p.alpha.reciprocal()
    mean = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - log_mean + _gamma_log_normalizer(q) + (1 - q.concentration) * log_mean + mean - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Any, q: Any) -> Tensor:
    common = p.scale / (p.alpha - 1)
    log_ratio = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    moments = p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)
    result = log_ratio - p.alpha.reciprocal() + moments / (2 * q.scale.pow(2)) - 1
    result[p.alpha <= 2] = math.inf
    return result


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    log_rest = (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    log_beta = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = (q.concentration0 - 1) * log_rest + log_beta - rushlight.log(width) - (q.concentration1 - 1) * log_mean
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = math.inf
    return result


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - rushlight.log1p(-q.probs) - q._cont_bern_log_norm()
    outside = rushlight.max(rushlight.ge(p.high, q.support.upper_bound), rushlight.le(p.low, q.support.lower_bound))
    return rushlight.where(outside, _infinite_like(result), result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p: Any, q: Any) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -width.log() + _gamma_log_normalizer(q) + (1 - q.concentration) * log_mean + q.rate * (p.high + p.low) / 2
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Tensor:
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return common.log() + 0.5 * (high + low) - common * (rushlight.exp(-high) - rushlight.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * (width.pow(2) / 12 + distance) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    log_mean = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = log_mean * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    result[p.low < q.support.lower_bound] = math.inf
    return result
