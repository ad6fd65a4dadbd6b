"""Check gradients against finite differences."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.declare import table
from ..core.devices import device_of, device_type_of, on_device
from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import RushlightError
from ..core.sparse import holds_sparse
from ..core.state import state
from .differentiation import grad
from .engine import refreshed
from .forward_ad import dual_level, make_dual, unpack_dual
from .function import Function


class GradcheckError(RushlightError, RuntimeError):
    """A gradient does not agree with finite differences."""

    code = "RL205"


def _outputs(function: Callable[..., Any], inputs: tuple[Any, ...]) -> list[Any]:
    found = function(*inputs)
    several = found if isinstance(found, (tuple, list)) else (found,)
    return [each for each in several if isinstance(each, TensorBase)]


def _differentiable(tensors: Any) -> list[Any]:
    return [each for each in tensors if isinstance(each, TensorBase) and refreshed(each)._requires_grad]


def _host(tensor: Any) -> Any:
    """The elements of a tensor as a NumPy array."""
    return device_type_of(tensor._array).to_host(tensor._array)


def _write(tensor: Any, values: Any) -> None:
    """Write a NumPy array to a tensor, unseen by the gradient graph."""
    tensor._array[...] = on_device(np.asarray(values, tensor._array.dtype), device_of(tensor._array))


def _steps(array: Any, eps: float) -> Iterator[tuple[tuple[int, ...], Any, complex]]:
    """Every element, moved by eps; a complex one in both its directions."""
    for index in np.ndindex(*array.shape):
        yield index, eps, 1.0
        if array.dtype.kind == "c":
            yield index, eps * 1j, 1j


def _moved(function: Callable[..., Any], inputs: tuple[Any, ...], target: Any, step: Any, eps: float) -> list[np.ndarray]:
    """For every output, the central difference for a step of one input."""
    original = _host(target).copy()
    try:
        _write(target, original + step)
        above = [_host(each).copy() for each in _outputs(function, inputs)]
        _write(target, original - step)
        below = [_host(each).copy() for each in _outputs(function, inputs)]
    finally:
        _write(target, original)
    for a, b in zip(above, below):
        if a.shape != b.shape:
            raise AssertionError("Expected function to return outputs with the same shape when inputs are perturbed")
        if a.dtype != b.dtype:
            raise AssertionError("Expected function to return outputs with the same dtype when inputs are perturbed")
    return [((a - b) / (2 * eps)).reshape(-1) for a, b in zip(above, below)]


def _numerical(function: Callable[..., Any], inputs: tuple[Any, ...], target: Any, eps: float) -> list[np.ndarray]:
    """For every output, the array of derivatives by (direction of input, element of output)."""
    rows: list[list[np.ndarray]] = []
    for index, step, _ in _steps(target._array, eps):
        move = np.zeros(target._array.shape, target._array.dtype)
        move[index] = step
        rows.append(_moved(function, inputs, target, move, eps))
    if not rows:
        return []
    return [np.stack([row[k] for row in rows]) for k in range(len(rows[0]))]


def _tangents(function: Callable[..., Any], inputs: tuple[Any, ...], target: Any, tangent: np.ndarray) -> list[np.ndarray]:
    """For every output, its tangent by forward mode for a tangent of one input."""
    with dual_level():
        duals: list[Any] = []
        for each in inputs:  # the other inputs that are differentiated have a tangent, too, of zeros
            if not isinstance(each, TensorBase) or not refreshed(each)._requires_grad:
                duals.append(each)
                continue
            start = table["zeros_like"].call(each.detach())
            if each is target:
                _write(start, tangent)
            duals.append(make_dual(each.detach(), start))
        found = []
        for each in _outputs(function, tuple(duals)):
            primal, moved = unpack_dual(each)
            if moved is not None and moved._array.shape != primal._array.shape:
                raise GradcheckError(f"forward mode gave a tangent of shape {moved._array.shape} for an output of {primal._array.shape}")
            found.append(np.zeros(primal._array.size, primal._array.dtype) if moved is None else _host(moved).reshape(-1).copy())
    return found


def _forward(function: Callable[..., Any], inputs: tuple[Any, ...], target: Any) -> list[np.ndarray]:
    """The array of ``_numerical`` by forward mode: one run for every element (and direction) of the input."""
    rows: list[list[np.ndarray]] = []
    for index, _, direction in _steps(target._array, 1.0):
        tangent = np.zeros(target._array.shape, target._array.dtype)
        tangent[index] = direction
        rows.append(_tangents(function, inputs, target, tangent))
    return [np.stack([row[k] for row in rows]) for k in range(len(rows[0]))] if rows else []


def _analytical(output: Any, target: Any) -> np.ndarray:
    """The same array from backward: one backward for every element (and direction) of the output."""
    columns = []
    for index in np.ndindex(*output._array.shape):
        for direction in (1.0, 1j) if output._array.dtype.kind == "c" else (1.0,):
            seed = np.zeros(output._array.shape, output._array.dtype)
            seed[index] = direction
            start = table["zeros_like"].call(output.detach())
            _write(start, seed)
            (found,) = grad(output, [target], [start], retain_graph=True, allow_unused=True)
            gradient = np.zeros(target._array.shape, target._array.dtype) if found is None else _host(found)
            if gradient.shape != target._array.shape:
                raise GradcheckError(f"backward gave a gradient of shape {gradient.shape} for an input of shape {target._array.shape}")
            parts = gradient.reshape(-1)
            if target._array.dtype.kind == "c":  # derivative along the real, then along the imaginary direction
                parts = np.stack([parts.real, parts.imag], axis=1).reshape(-1)
            columns.append(parts)
    rows = np.stack(columns, axis=1) if columns else np.zeros((0, 0))
    if output._array.dtype.kind == "c":
        # <seed, output> with seeds 1 and 1j gives the real and the imaginary part of each output's change
        rows = rows[:, 0::2] + 1j * rows[:, 1::2]
    return rows


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func`` with respect to its inputs agree with finite differences.

    Inputs should be float64.  Raises :class:`GradcheckError` (a RuntimeError) with both values, or returns False with
    ``raise_exception=False``.  ``check_forward_ad`` compares forward mode too; ``fast_mode`` compares a random projection of each
    Jacobian in place of every element.
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if holds_sparse(inputs) or holds_sparse(_outputs(func, inputs)):  # the algorithms of sparse tensors load when one is met
        func, inputs = importlib.import_module("rushlight.autograd.sparse_inputs").opened(func, inputs, bool(masked))
    check = _Check(func, inputs, eps, atol, rtol, nondet_tol)
    try:
        check.run(check_backward_ad, check_forward_ad, fast_mode)
        if check_backward_ad and check.outputs:
            if check_undefined_grad:
                _check_undefined(func, inputs, check.targets)
            if check_batched_grad:
                check.batched()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class _Check:
    """One run of ``gradcheck``: the function, where it is checked, and how closely."""

    def __init__(
        self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float
    ) -> None:  # fmt: skip
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.targets = _differentiable(inputs)
        if not self.targets:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
            )
        for position, target in enumerate(inputs):
            if isinstance(target, TensorBase) and target._requires_grad:
                self._check_input(position, target)
        everything = _outputs(func, inputs)
        self.places = [i for i, each in enumerate(everything) if refreshed(each)._requires_grad]
        self.outputs = [everything[i] for i in self.places]

    @staticmethod
    def _check_input(position: int, target: Any) -> None:
        array = target._array
        if array.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{position} requires gradient and is not a double precision floating point or complex. This check will likely "
                "fail if all the inputs are not of double precision floating point or complex.", stacklevel=5,
            )  # fmt: skip
        if array.size and any(not step and size > 1 for step, size in zip(array.strides, array.shape)):
            raise RuntimeError(
                f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )

    def run(self, backward: bool, forward: bool, fast: bool) -> None:
        if not self.outputs:
            for target in self.targets:
                for found in _numerical(self.func, self.inputs, target, self.eps):
                    if np.issubdtype(found.dtype, np.inexact) and not np.allclose(found, 0, atol=self.atol):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        for target in self.targets:
            if fast:
                self.project(target, backward, forward)
                continue
            numerical = _numerical(self.func, self.inputs, target, self.eps)
            for place, output in zip(self.places, self.outputs) if numerical and backward else ():
                self.compare(_analytical(output, target), numerical[place], place, target, "Jacobian")
                self.twice(output, target)
            by_forward = _forward(self.func, self.inputs, target) if forward else []
            for place in self.places if numerical and forward else ():
                self.compare(by_forward[place], numerical[place], place, target, "Jacobian computed with forward mode")

    def compare(self, analytical: np.ndarray, numerical: np.ndarray, place: int, target: Any, what: str, terms: float = 1.0) -> None:
        """Refuse a Jacobian that is not the numerical one; `terms` says how many elements' worth of absolute error a sum of them may have."""
        atol = self.atol * terms
        if not analytical.size:
            return
        expected = numerical.reshape(analytical.shape)
        if np.allclose(analytical, expected, rtol=self.rtol, atol=atol):
            return
        note = ""
        if np.iscomplexobj(analytical):
            part = "real" if np.allclose(analytical.imag, expected.imag, rtol=self.rtol, atol=atol) else "imaginary"
            note = f"While considering the {part} part of complex outputs only, "
        worst = np.unravel_index(np.argmax(np.abs(analytical - expected)), analytical.shape)
        raise GradcheckError(
            f"{note}{what} mismatch for output {place} with respect to input {_position(self.inputs, target)},\n"
            f"numerical:{expected}\nanalytical:{analytical}\n"
            f"(largest difference at {tuple(int(i) for i in worst)}: {expected[worst]} against {analytical[worst]})"
        )

    def twice(self, output: Any, target: Any) -> None:
        """Refuse a backward that gives another result the second time."""
        self.alike(_analytical(output, target), _analytical(output, target))

    def alike(self, first: np.ndarray, second: np.ndarray) -> None:
        """Refuse two results of the same backward that differ."""
        if first.size and np.abs(second - first).max() > self.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient. "
                f"The tolerance for nondeterminism was {self.nondet_tol}."
            )

    def project(self, target: Any, backward: bool, forward: bool) -> None:
        """Compare the change along one random direction, seen through one random combination of the outputs."""
        stream = np.random.default_rng(0)
        direction = _random(stream, target._array)
        length = np.linalg.norm(direction.reshape(-1))
        direction = direction / length if length else direction
        numerical = _moved(self.func, self.inputs, target, self.eps * direction, self.eps)
        by_forward: list[np.ndarray] = []
        for place, output in zip(self.places, self.outputs):
            seed = _random(stream, output._array)
            weights = np.conj(seed).reshape(-1)
            expected = np.atleast_1d(np.real(np.dot(weights, numerical[place])))
            terms = float(np.abs(direction).sum() * np.abs(seed).sum())
            if backward:
                start = table["zeros_like"].call(output.detach())
                _write(start, seed)
                (found,) = grad(output, [target], [start], retain_graph=True, allow_unused=True)
                (again,) = grad(output, [target], [start], retain_graph=True, allow_unused=True)
                gradient = np.zeros(target._array.shape) if found is None else _host(found)
                reached = np.atleast_1d(np.real(np.sum(np.conj(gradient) * direction)))
                self.compare(reached, expected, place, target, "Jacobian", terms)
                if found is not None and again is not None:
                    self.alike(gradient, _host(again))
            if forward:
                by_forward = by_forward or _tangents(self.func, self.inputs, target, direction)
                reached = np.atleast_1d(np.real(np.dot(weights, by_forward[place])))
                self.compare(reached, expected, place, target, "Jacobian computed with forward mode", terms)

    def batched(self) -> None:
        """Refuse gradients for a batch of seeds that are not those for each seed."""
        stream = np.random.default_rng(0)
        for output in self.outputs:
            seeds = []
            for _ in range(2):
                seed = table["zeros_like"].call(output.detach())
                _write(seed, _random(stream, output._array))
                seeds.append(seed)
            singles = [grad(output, self.targets, [seed], retain_graph=True, allow_unused=True) for seed in seeds]
            together = grad(
                output, self.targets, [table["stack"].call(seeds)], retain_graph=True, allow_unused=True, is_grads_batched=True
            )  # fmt: skip
            for position, found in enumerate(together):
                for index, single in enumerate(singles):
                    expected = single[position]
                    if (found is None) != (expected is None) or (
                        found is not None and not np.allclose(_host(found)[index], _host(expected), rtol=self.rtol, atol=self.atol)
                    ):
                        raise GradcheckError(
                            "gradcheck or gradgradcheck failed while testing batched gradient computation: the gradients of a batch are "
                            "not those of its parts"
                        )


def _random(stream: Any, like: Any) -> np.ndarray:
    """Random numbers of a shape, complex where the array is."""
    values = stream.uniform(-1, 1, like.shape)
    return values + 1j * stream.uniform(-1, 1, like.shape) if like.dtype.kind == "c" else values


def _position(inputs: tuple[Any, ...], target: Any) -> int:
    return next(i for i, each in enumerate(inputs) if each is target)


class UndefinedGrad(Function):
    """A view whose gradient never arrives: None goes backwards from it."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:
        return inputs[0].view_as(inputs[0])

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return None


def _check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...], targets: list[Any]) -> None:
    """A gradient that never arrives must count as zero: that of each output, and of all of them."""
    count = len(_differentiable(_outputs(func, inputs)))
    alone: list[int | None] = list(range(count)) if count > 1 else []
    for skipped in (None, *alone):
        outputs = [
            UndefinedGrad.apply(each) if skipped is None or index == skipped else each
            for index, each in enumerate(_differentiable(_outputs(func, inputs)))
        ]
        try:
            found = grad(outputs, targets, [table["zeros_like"].call(each.detach()) for each in outputs], allow_unused=True)
        except RuntimeError as error:
            raise _undefined_refused("Expected backward function to handle undefined output grads. ") from error
        if any(each is not None and _host(each).any() for each in found):
            raise _undefined_refused("Expected all input grads to be undefined or zero when all output grads are undefined or zero. ")


def _undefined_refused(what: str) -> GradcheckError:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default: gradients that do not arrive are passed "
        "to backward functions as None. check_undefined_grad=False leaves that out.",
        stacklevel=6,
    )
    return GradcheckError(
        what + "Please look at 'Notes about undefined output gradients': a gradient that is None stands for zeros, also where "
        "ctx.set_materialize_grads(False) or a hook passes it on."
    )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of ``func`` agree with finite differences."""
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if holds_sparse(inputs) or holds_sparse(_outputs(func, inputs)):  # the algorithms of sparse tensors load when one is met
        func, inputs = importlib.import_module("rushlight.autograd.sparse_inputs").opened(func, inputs, bool(masked))
    outputs = _differentiable(_outputs(func, inputs))
    if grad_outputs is None:
        stream = np.random.default_rng(0)
        seeds = []
        for each in outputs:
            seed = table["zeros_like"].call(each.detach())
            _write(seed, _random(stream, each._array))
            seed._requires_grad = True
            seeds.append(seed)
    else:
        seeds = list(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else [grad_outputs]
    count = len(inputs)

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        originals, starts = arguments[:count], arguments[count:]
        enabled = state.grad_enabled
        state.grad_enabled = True
        try:
            results = _differentiable(_outputs(func, originals))
            found = grad(results, _differentiable(originals), starts, create_graph=True, allow_unused=True)
        finally:
            state.grad_enabled = enabled
        return tuple(each for each in found if each is not None and BY_NUMPY[each._array.dtype].category >= FLOATING)

    return gradcheck(
        gradients, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=False, check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )  # fmt: skip


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
