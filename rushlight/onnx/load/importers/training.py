"""Steps of optimizers (``ai.onnx.preview.training``)."""

from __future__ import annotations

from typing import Any

from .. import calls as rl
from ..registry import NodeContext, importer

TRAINING = "ai.onnx.preview.training"


def grouped(values: tuple[Any, ...], count: int) -> Any:
    """What belongs to each parameter, of lists of parameters, gradients and states that stand one behind the other."""
    each = len(values) // count
    return zip(*(values[index * each : (index + 1) * each] for index in range(count)))


def ungrouped(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """New parameters and states, list behind list."""
    return tuple(each for column in zip(*rows) for each in column)


@importer("Adagrad", domain=TRAINING)
def adagrad(node: NodeContext, rate: Any, step: Any, *values: Any) -> Any:
    rate = rate / (1 + step * node["decay_factor"])
    rows = []
    for x, gradient, total in grouped(values, 3):
        gradient = node["norm_coefficient"] * x + gradient
        total = total + rl.square(gradient)
        rows.append((x - rate * gradient / (rl.sqrt(total) + node["epsilon"]), total))
    return ungrouped(rows)


@importer("Adam", domain=TRAINING)
def adam(node: NodeContext, rate: Any, step: Any, *values: Any) -> Any:
    alpha, beta = node["alpha"], node["beta"]
    passed = rl.clamp(step, 1).to(rate.dtype)  # the first step has a gradient, too
    adjusted = rate * rl.sqrt(1 - rl.pow(beta, passed)) / (1 - rl.pow(alpha, passed))
    rate = rl.where(step > 0, adjusted, rate)
    rows = []
    for x, gradient, first, second in grouped(values, 4):
        gradient = node["norm_coefficient"] * x + gradient
        first = alpha * first + (1 - alpha) * gradient
        second = beta * second + (1 - beta) * rl.square(gradient)
        new = x - rate * first / (rl.sqrt(second) + node["epsilon"])
        rows.append(((1 - node["norm_coefficient_post"]) * new, first, second))
    return ungrouped(rows)


@importer("Momentum", domain=TRAINING)
def momentum(node: NodeContext, rate: Any, step: Any, *values: Any) -> Any:
    alpha = node["alpha"]
    beta = rl.where(step > 0, node["beta"], 1.0).to(rate.dtype)
    rows = []
    for x, gradient, speed in grouped(values, 3):
        gradient = node["norm_coefficient"] * x + gradient
        speed = alpha * speed + beta * gradient
        direction = gradient + alpha * speed if node["mode"] == "nesterov" else speed
        rows.append((x - rate * direction, speed))
    return ungrouped(rows)
