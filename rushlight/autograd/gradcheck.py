"""Check gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.declare import table
from ..core.devices import device_of, device_type_of, on_device
from ..core.dtypes import BY_NUMPY, FLOATING
from ..core.errors import RushlightError
from ..core.state import state
from .differentiation import grad
from .engine import refreshed


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


def _numerical(function: Callable[..., Any], inputs: tuple[Any, ...], target: Any, eps: float) -> list[np.ndarray]:
    """For every output, the array of derivatives by (direction of input, element of output)."""
    array = target._array
    rows: list[list[np.ndarray]] = []
    enabled = state.grad_enabled
    state.grad_enabled = False
    try:
        for index, step, _ in _steps(array, eps):
            original = array[index]
            array[index] = original + step
            above = [_host(each).copy() for each in _outputs(function, inputs)]
            array[index] = original - step
            below = [_host(each).copy() for each in _outputs(function, inputs)]
            array[index] = original
            rows.append([((a - b) / (2 * eps)).reshape(-1) for a, b in zip(above, below)])
    finally:
        state.grad_enabled = enabled
    if not rows:
        return []
    return [np.stack([row[k] for row in rows]) for k in range(len(rows[0]))]


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
    ``raise_exception=False``.  ``fast_mode`` and the batched checks are accepted; every element is checked in any case.
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    try:
        return _check(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _check(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    undefined: bool,
) -> bool:
    targets = _differentiable(inputs)
    if not targets:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    for position, target in enumerate(inputs):
        if isinstance(target, TensorBase) and target._requires_grad and target._array.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{position} requires gradient and is not a double precision floating point or complex. This check will likely "
                "fail if all the inputs are not of double precision floating point or complex.", stacklevel=3,
            )  # fmt: skip
    outputs = _differentiable(_outputs(func, inputs))
    everything = _outputs(func, inputs)
    differentiable = [i for i, each in enumerate(everything) if refreshed(each)._requires_grad]
    if not outputs:
        for target in targets:
            for found in _numerical(func, inputs, target, eps):
                if np.iscomplexobj(found) or np.issubdtype(found.dtype, np.floating):
                    if not np.allclose(found, 0, atol=atol):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
        return True
    for target in targets:
        numerical = _numerical(func, inputs, target, eps)
        for position, index in enumerate(differentiable):
            output = outputs[position]
            if not numerical:
                continue
            analytical = _analytical(output, target)
            expected = numerical[index].reshape(analytical.shape) if analytical.size else numerical[index]
            if analytical.size and not np.allclose(analytical, expected, rtol=rtol, atol=atol, equal_nan=False):
                worst = np.unravel_index(np.argmax(np.abs(analytical - expected)), analytical.shape)
                raise GradcheckError(
                    f"Jacobian mismatch for output {index} with respect to input {_position(inputs, target)},\n"
                    f"numerical:{expected}\nanalytical:{analytical}\n"
                    f"(largest difference at {tuple(int(i) for i in worst)}: {expected[worst]} against {analytical[worst]})"
                )
            again = _analytical(output, target)
            if analytical.size and np.abs(again - analytical).max() > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient."
                )
    if undefined and len(outputs) > 1:
        _check_undefined(func, inputs, targets)
    return True


def _position(inputs: tuple[Any, ...], target: Any) -> int:
    return next(i for i, each in enumerate(inputs) if each is target)


def _check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...], targets: list[Any]) -> None:
    """A gradient that never arrives must count as zero."""
    for skip in range(len(_differentiable(_outputs(func, inputs)))):
        outputs = _differentiable(_outputs(func, inputs))
        kept = [each for i, each in enumerate(outputs) if i != skip]
        try:
            grad(kept, targets, [table["ones_like"].call(each.detach()) for each in kept], allow_unused=True)
        except (TypeError, AttributeError) as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined output gradients' "
                f"(output {skip} had none): {error}"
            ) from error


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
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    outputs = _differentiable(_outputs(func, inputs))
    if grad_outputs is None:
        stream = np.random.default_rng(0)
        seeds = []
        for each in outputs:
            seed = table["zeros_like"].call(each.detach())
            values = stream.uniform(-1, 1, each._array.shape)
            if each._array.dtype.kind == "c":
                values = values + 1j * stream.uniform(-1, 1, each._array.shape)
            _write(seed, values)
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
        check_undefined_grad=False,
    )  # fmt: skip


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
