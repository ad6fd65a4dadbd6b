"""Samplers that draw until a number is accepted: Poisson, binomial and gamma, one number at a time.

They are the published algorithms that PyTorch uses too, with its order of draws and its float32 constants.
"""

from __future__ import annotations

import math

import numpy as np

from .mersenne_twister import UniformStream

_THIRD = float(np.float32(1.0) / np.float32(3.0))
_SQUEEZE = float(np.float32(0.0331))
# What Stirling's formula leaves out of log(k!), for small k.
_STIRLING_ERRORS = tuple(
    math.lgamma(k + 1.0) - ((k + 0.5) * math.log(k + 1.0) - (k + 1.0) + 0.5 * math.log(2.0 * math.pi)) for k in range(10)
)


def poisson(rate: float, stream: UniformStream) -> int:
    """A Poisson number; from a rate of 10 on by Hörmann's transformed rejection (PTRS), below it by multiplication."""
    if rate == 0:
        return 0
    if rate < 10:
        limit, product, count = math.exp(-rate), stream.uniform(), 0
        while product > limit:
            product *= stream.uniform()
            count += 1
        return count
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    accept_below = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = stream.uniform() - 0.5
        v = stream.uniform()
        distance = 0.5 - abs(u)
        if distance == 0:  # the hat is infinitely wide here: never accepted
            continue
        k = math.floor((2.0 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= accept_below:
            return k
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        density = k * log_rate - rate - math.lgamma(k + 1.0)
        if v == 0 or math.log(v) + math.log(inverse_alpha) - math.log(a / (distance * distance) + b) <= density:
            return k


def binomial(count: float, probability: float, stream: UniformStream) -> float:
    """How many of ``count`` trials succeed."""
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return count
    if math.isnan(probability):
        return math.nan
    rarer = min(probability, 1.0 - probability)
    sample = _binomial_by_rejection if count * rarer >= 10 else _binomial_by_waiting
    successes = sample(count, rarer, stream)
    return successes if probability <= 0.5 else count - successes


def _binomial_by_waiting(count: float, probability: float, stream: UniformStream) -> float:
    # Add up the geometric waiting times from one success to the next.
    successes, trials, log_failure = 0, 0.0, math.log1p(-probability)
    while True:
        u = stream.uniform()
        wait = math.log(u) / log_failure if u and log_failure else math.inf  # a tiny probability rounds to none
        trials += math.ceil(wait) if wait < math.inf else wait
        if trials > count:
            return successes
        successes += 1


def _binomial_by_rejection(count: float, probability: float, stream: UniformStream) -> float:
    # Hörmann's BTRS.
    spread = math.sqrt(count * probability * (1.0 - probability))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    centre = count * probability + 0.5
    accept_below = 0.92 - 4.2 / b
    odds = probability / (1.0 - probability)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((count + 1) * probability)
    while True:
        u = stream.uniform() - 0.5
        v = stream.uniform()
        distance = 0.5 - abs(u)
        if distance == 0:  # the hat is infinitely wide here: never accepted
            continue
        k = math.floor((2.0 * a / distance + b) * u + centre)
        if distance >= 0.07 and v <= accept_below:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_error(mode)
            + _stirling_error(count - mode)
            - _stirling_error(k)
            - _stirling_error(count - k)
        )
        if v == 0 or math.log(v * alpha / (a / (distance * distance) + b)) <= bound:
            return k


def _stirling_error(k: float) -> float:
    if k <= 9:
        return _STIRLING_ERRORS[int(k)]
    square = (k + 1.0) ** 2
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def standard_gamma(concentration: float, stream: UniformStream, single: bool) -> float:
    """A gamma number of scale one, by Marsaglia and Tsang; ``single`` keeps its parameters in float32."""
    if concentration == 0:
        return 0.0
    scale = 1.0
    if concentration < 1:  # raise the concentration by one and make up for it by a power
        exponent = 1.0 / concentration
        scale = (1.0 - stream.uniform()) ** (float(np.float32(exponent)) if single else exponent)
        concentration = float(np.float32(concentration + 1.0)) if single else concentration + 1.0
    d = concentration - _THIRD
    if single:
        d = float(np.float32(d))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = stream.normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1.0 - stream.uniform()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v
