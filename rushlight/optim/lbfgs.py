"""L-BFGS: a quasi-Newton method, with a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autograd import enable_grad, no_grad
from ..ops.create.factories import zeros_like
from ..ops.pointwise.complex import view_as_real
from ..ops.shape.concat import cat
from .optimizer import Optimizer, ParamsT, check_rate

_SUFFICIENT_DECREASE, _CURVATURE, _MOST_SEARCH_STEPS = 1e-4, 0.9, 25


class LBFGS(Optimizer):
    """Steps along the gradient, corrected by the curvature that the last ``history_size`` steps have shown.

    ``step`` needs a closure, which it calls several times. All parameters are in one group.
    """

    def __init__(
        self, params: ParamsT, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_rate(lr)
        super().__init__(params, dict(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval, tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn,
        ))  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # -- all parameters as one vector ----------------------------------------------------------------------------

    def _gather_flat_grad(self) -> Any:
        parts = []
        for param in self._params:
            part = zeros_like(param) if param.grad is None else param.grad
            parts.append(_real(part).reshape(-1))
        return cat(parts, 0)

    def _add_grad(self, step_size: float, direction: Any) -> None:
        offset = 0
        for param in map(_real, self._params):
            count = param.numel()
            param.add_(direction[offset : offset + count].view_as(param), alpha=step_size)
            offset += count

    def _directional_evaluate(self, closure: Callable[[], Any], start: list[Any], t: float, direction: Any) -> _Point:
        """Loss and gradient a step away from ``start``, where the parameters are put back."""
        self._add_grad(t, direction)
        loss = float(closure())
        gradient = self._gather_flat_grad()
        for param, value in zip(self._params, start):
            param.copy_(value)
        return _Point(t, loss, gradient, float(gradient.dot(direction)))

    # -- stepping ------------------------------------------------------------------------------------------------

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Do up to ``max_iter`` iterations; the loss before the first is returned."""
        evaluate = enable_grad()(closure)
        group = self.param_groups[0]
        lr, tolerance_grad, tolerance_change = float(group["lr"]), group["tolerance_grad"], group["tolerance_change"]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        memory = self.state[self._params[0]]
        memory.setdefault("func_evals", 0)
        memory.setdefault("n_iter", 0)

        first_loss = evaluate()
        loss = float(first_loss)
        evaluations = 1
        memory["func_evals"] += 1
        gradient = self._gather_flat_grad()
        if _largest(gradient) <= tolerance_grad:
            return first_loss

        for iteration in range(1, group["max_iter"] + 1):
            memory["n_iter"] += 1
            direction = _find_direction(memory, gradient, group["history_size"])
            memory["d"] = direction
            memory["prev_flat_grad"], memory["prev_loss"] = gradient, loss
            total = float(gradient.abs().sum()) if memory["n_iter"] == 1 else 0.0
            t = memory["t"] = lr * (min(1.0, 1.0 / total) if total else 1.0)
            slope = float(gradient.dot(direction))
            if slope > -tolerance_change:
                break
            previous, spent = loss, 0
            if search is not None:
                start = [param.clone() for param in self._params]
                found, spent = _search(
                    lambda t: self._directional_evaluate(evaluate, start, t, direction),  # noqa: B023 (called at once)
                    t, _Point(0.0, loss, gradient, slope), _largest(direction), tolerance_change,
                    min(_MOST_SEARCH_STEPS, group["max_eval"] - evaluations),
                )  # fmt: skip
                t = memory["t"] = found.t
                loss, gradient = found.loss, found.gradient
                self._add_grad(t, direction)
            else:
                self._add_grad(t, direction)
                if iteration < group["max_iter"]:  # after the last step nobody asks for its gradient
                    loss = float(evaluate())
                    gradient = self._gather_flat_grad()
                    spent = 1
            evaluations += spent
            memory["func_evals"] += spent
            if (
                evaluations >= group["max_eval"]
                or _largest(gradient) <= tolerance_grad
                or _largest(direction) * abs(t) <= tolerance_change
                or abs(loss - previous) < tolerance_change
            ):
                break
        return first_loss


def _real(tensor: Any) -> Any:
    return view_as_real(tensor) if tensor.is_complex() else tensor


def _largest(vector: Any) -> float:
    return float(vector.abs().max())


def _find_direction(memory: dict[str, Any], gradient: Any, history_size: int) -> Any:
    """The gradient times an approximate inverse of the Hessian, built from remembered steps (the two-loop recursion)."""
    if memory["n_iter"] == 1:
        memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return -gradient
    changes, steps, inverses = memory["old_dirs"], memory["old_stps"], memory["ro"]
    change = gradient - memory["prev_flat_grad"]
    step = memory["d"] * memory["t"]
    curvature = change.dot(step)
    if curvature > 1e-10:
        if len(changes) == history_size:
            for each in (changes, steps, inverses):
                del each[0]
        changes.append(change)
        steps.append(step)
        inverses.append(1.0 / curvature)
        memory["H_diag"] = curvature / change.dot(change)
    result = -gradient
    weights = []
    for change, step, inverse in zip(reversed(changes), reversed(steps), reversed(inverses)):
        weights.append(step.dot(result) * inverse)
        result -= weights[-1] * change
    result *= memory["H_diag"]
    for change, step, inverse, weight in zip(changes, steps, inverses, reversed(weights)):
        result += (weight - change.dot(result) * inverse) * step
    return result


class _Point(NamedTuple):
    """A place on the line that is searched: how far, the loss there, its gradient, and its slope along the line."""

    t: float
    loss: float
    gradient: Any
    slope: float


def _cubic_minimum(a: _Point, b: _Point, low: float, high: float) -> float:
    """Where the cubic through two points with slopes is smallest, kept between bounds."""
    if a.t > b.t:
        a, b = b, a
    middle = a.slope + b.slope - 3 * _quotient(a.loss - b.loss, a.t - b.t)
    square = middle * middle - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    found = b.t - (b.t - a.t) * _quotient(b.slope + root - middle, b.slope - a.slope + 2 * root)
    return min(max(found, low), high)


def _quotient(one: float, other: float) -> float:
    """``one / other`` as tensors divide: by 0 it is infinite, or nan."""
    return one / other if other else one * math.inf


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with slopes is smallest: what line searches of other people take from here."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    return _cubic_minimum(_Point(x1, f1, None, g1), _Point(x2, f2, None, g2), low, high)


def _strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: Any, d: Any, f: Any, g: Any, gtd: Any, c1: float = _SUFFICIENT_DECREASE, c2: float = _CURVATURE,
    tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """The line search as others call it: the loss, the gradient and the step that were found, and how often the function was called."""

    def evaluate(step: Any) -> _Point:
        loss, gradient = obj_func(x, step, d)
        return _Point(step, loss, gradient, gradient.dot(d))

    found, spent = _search(evaluate, t, _Point(0, f, g, gtd), _largest(d), tolerance_change, max_ls, c1, c2)
    return found.loss, found.gradient, found.t, spent


def _search(
    evaluate: Callable[[float], _Point], t: float, start: _Point, scale: float, tolerance: float, most: int,
    decrease: float = _SUFFICIENT_DECREASE, curvature: float = _CURVATURE,
) -> tuple[_Point, int]:  # fmt: skip
    """A point that satisfies the strong Wolfe conditions, or the best one found; and how often the loss was evaluated."""

    def too_high(point: _Point) -> bool:
        return point.loss > start.loss + decrease * point.t * start.slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -curvature * start.slope

    # Extend the interval until it brackets a minimum.
    previous, point = start, evaluate(t)
    rounds = 0
    while rounds < most:
        if too_high(point) or (rounds > 1 and point.loss >= previous.loss):
            break
        if flat(point):
            return point, rounds + 1
        if point.slope >= 0:
            break
        nearest, farthest = point.t + 0.01 * (point.t - previous.t), point.t * 10
        previous, point = point, evaluate(_cubic_minimum(previous, point, nearest, farthest))
        rounds += 1
    else:
        previous = start
    evaluations = rounds + 1

    # Narrow the bracket; `low` is the end with the lower loss.
    low, high = (previous, point) if previous.loss <= point.loss else (point, previous)
    stuck = False
    while rounds < most and abs(high.t - low.t) * scale >= tolerance:
        left, right = sorted((low.t, high.t))
        t = _cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        near_an_end = min(right - t, t - left) < margin
        if near_an_end and (stuck or t >= right or t <= left):  # twice in a row at an end: move inwards
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            near_an_end = False
        stuck = near_an_end
        point = evaluate(t)
        evaluations += 1
        rounds += 1
        if too_high(point) or point.loss >= low.loss:
            high = point
            if high.loss < low.loss:
                low, high = high, low
        else:
            if flat(point):
                return point, evaluations
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
    return low, evaluations


__all__ = ["LBFGS"]
