"""Random numbers in ONNX: RandomUniform and RandomNormal, and what can be made of them.

The file draws anew in each run, from the runtime's stream: generators and seeds are not part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FLOAT32, _INT64 = np.dtype(np.float32), np.dtype(np.int64)


def _kind(g: Any, dtype: Any) -> Any:
    """The type to draw in: that of the result where it is a float ONNX draws."""
    if dtype.kind == "c":
        raise g.unsupported("ONNX has no complex arithmetic")
    return dtype if dtype.kind == "f" else _FLOAT32


def drawn(g: Any, name: str, shape: Any, dtype: Any, **options: float) -> Any:
    """``RandomUniform`` or ``RandomNormal`` in a shape, whose sizes may be open."""
    kind = _kind(g, dtype)
    attributes = {f"{key}_f": value for key, value in options.items()}
    if all(type(each) is int and each for each in shape):
        made = g.op(name, shape_i=list(shape) or [1], dtype_i=kind, **attributes)
        made.dtype, made.shape = kind, tuple(shape) or (1,)
        return made if shape else g.squeeze(made, [0])
    like = g.op("ConstantOfShape", g.sizes(shape), value_t=np.zeros(1, kind))
    made = g.op(f"{name}Like", like, **attributes)
    made.shape = tuple(shape)
    return made


def _like(g: Any, name: str, input: Any, **options: float) -> Any:
    """The same in the shape of a value, and the type of the result."""
    kind = _kind(g, g.outputs[0].dtype)
    attributes = {f"{key}_f": value for key, value in options.items()}
    if input.dtype != kind:
        attributes["dtype_i"] = kind
    made = g.op(f"{name}Like", input, **attributes)
    made.dtype, made.shape = kind, input.shape
    return made


def _uniform(g: Any, input: Any) -> Any:
    return _like(g, "RandomUniform", input)


def _whole(g: Any, unit: Any, low: Any, high: Any) -> Any:
    """Integers in [low, high) from numbers in [0, 1)."""
    spread = g.Floor(g.Mul(unit, g.number(high - low, unit.dtype)))
    return spread if type(low) is int and low == 0 else g.Add(spread, g.number(low, unit.dtype))


def rand_form(g: Any, size: Any, generator: Any, *rest: Any) -> Any:
    return drawn(g, "RandomUniform", g.outputs[0].shape, g.outputs[0].dtype)


def randn_form(g: Any, size: Any, generator: Any, *rest: Any) -> Any:
    return drawn(g, "RandomNormal", g.outputs[0].shape, g.outputs[0].dtype)


def _bounds(low: Any, high: Any) -> tuple[Any, Any]:
    return (0, low) if high is None or isinstance(high, (tuple, list)) else (0 if low is None else low, high)


def randint_form(g: Any, low: Any, high: Any, *rest: Any) -> Any:
    return _whole(g, drawn(g, "RandomUniform", g.outputs[0].shape, _FLOAT32), *_bounds(low, high))


def randperm_form(g: Any, n: Any, *rest: Any) -> Any:
    if type(n) is not int and g.opset < 10:
        raise g.unsupported("a permutation of an open size", since=10)
    return g.top_k(drawn(g, "RandomUniform", (n,), _FLOAT32), n, 0)[1] if type(n) is not int or n else g.constant(np.zeros(0, np.int64))


def rand_like_form(g: Any, input: Any, *rest: Any) -> Any:
    return _uniform(g, input)


def randn_like_form(g: Any, input: Any, *rest: Any) -> Any:
    return _like(g, "RandomNormal", input)


def randint_like_form(g: Any, input: Any, low: Any, high: Any, *rest: Any) -> Any:
    return _whole(g, _uniform(g, input), *_bounds(low, high))


def uniform_fill_form(g: Any, input: Any, from_: float, to: float, generator: Any) -> Any:
    return _like(g, "RandomUniform", input, low=float(from_), high=float(to))


def normal_fill_form(g: Any, input: Any, mean: float, std: float, generator: Any) -> Any:
    if std == 0:  # which runtimes refuse
        return g.expand_like(g.constant(mean, _kind(g, g.outputs[0].dtype)), input)
    return _like(g, "RandomNormal", input, mean=float(mean), scale=float(std))


def _below(g: Any, unit: Any, p: Any) -> Any:
    """Ones with a probability, in the type of the result."""
    return g.cast(g.Less(unit, p if not hasattr(p, "owner") else g.cast(p, unit.dtype)), g.outputs[0].dtype)


def bernoulli_fill_form(g: Any, input: Any, p: Any, generator: Any) -> Any:
    return _below(g, _uniform(g, input), p)


def bernoulli_form(g: Any, input: Any, p: Any, generator: Any) -> Any:
    # Not ONNX's Bernoulli, whose definition (and so its runtimes) has ones and zeros the other way round.
    return _below(g, _uniform(g, input), input if p is None else float(p))


def _exponential(g: Any, unit: Any) -> Any:
    return g.Neg(g.Log(g.Sub(1.0, unit)))  # of numbers in [0, 1): the logarithm is finite


def exponential_fill_form(g: Any, input: Any, lambd: float, generator: Any) -> Any:
    made = _exponential(g, _uniform(g, input))
    return made if lambd == 1 else g.Div(made, float(lambd))


def geometric_fill_form(g: Any, input: Any, p: float, generator: Any) -> Any:
    if p == 1:
        return g.expand_like(g.constant(1, g.outputs[0].dtype), input)
    trials = g.Ceil(g.Div(_exponential(g, _uniform(g, input)), float(-np.log1p(-p))))
    return g.clip(trials, 1.0)


def cauchy_fill_form(g: Any, input: Any, median: float, sigma: float, generator: Any) -> Any:
    angle = _like(g, "RandomUniform", input, low=-np.pi / 2, high=np.pi / 2)
    return g.Add(g.Mul(g.Tan(angle), float(sigma)), float(median))


def log_normal_fill_form(g: Any, input: Any, mean: float, std: float, generator: Any) -> Any:
    return g.Exp(normal_fill_form(g, input, mean, std, generator))


def random_fill_form(g: Any, input: Any, from_: Any, to: Any, generator: Any) -> Any:
    kind = g.outputs[0].dtype
    largest = 2 if kind.kind == "b" else (2 ** (np.finfo(kind).nmant + 1) + 1 if kind.kind == "f" else int(np.iinfo(kind).max))
    low, high = (0, largest if to is None else to) if from_ is None else ((0, from_) if to is None else (from_, to))
    return _whole(g, _uniform(g, input), low, high)


def normal_around_form(g: Any, mean: Any, std: Any, generator: Any) -> Any:
    kind = g.outputs[0].dtype
    unit = drawn(g, "RandomNormal", g.outputs[0].shape, kind)
    return g.Add(g.Mul(unit, g.number(std, kind)), g.number(mean, kind))


def normal_of_size_form(g: Any, mean: Any, std: Any, size: Any, generator: Any, *rest: Any) -> Any:
    if std == 0:
        return g.full(g.outputs[0].shape, mean, g.outputs[0].dtype)
    return drawn(g, "RandomNormal", g.outputs[0].shape, g.outputs[0].dtype, mean=float(mean), scale=float(std))


def multinomial_form(g: Any, input: Any, num_samples: Any, replacement: bool, generator: Any) -> Any:
    weights = g.Log(g.cast(input, _FLOAT32))
    if type(num_samples) is int and (replacement or num_samples == 1):
        rows = g.unsqueeze(weights, [0]) if input.rank == 1 else weights
        found = g.op("Multinomial", rows, dtype_i=_INT64, sample_size_i=num_samples)
        found.dtype, found.shape = _INT64, (rows.shape[0], num_samples)
        return g.squeeze(found, [0]) if input.rank == 1 else found
    if replacement:
        raise g.unsupported("ONNX's Multinomial draws a fixed number of samples")
    if type(num_samples) is not int and g.opset < 10:
        raise g.unsupported("an open number of samples", since=10)
    # The largest of log(weights) + Gumbel noise are a draw without replacement.
    noise = g.Neg(g.Log(_exponential(g, g.op("RandomUniformLike", weights))))
    return g.top_k(g.Add(weights, noise), num_samples, input.rank - 1)[1]
