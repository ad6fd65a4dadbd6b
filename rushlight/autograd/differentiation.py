"""``backward`` and ``grad``: the public functions that run the engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.base import Spec, TensorBase, make, runtime
from ..core.declare import table
from ..core.devices import device_of, sole_accelerator
from ..core.dtypes import BY_NUMPY
from ..core.errors import DtypeError, GradientError, ShapeError
from ..core.overrides import ask_plain, dispatched
from ..core.state import fake_mode, flags, state
from .engine import refreshed, run_backward
from .graph import GradientEdge


def _as_list(value: Any) -> list[Any]:
    values = [value] if isinstance(value, (TensorBase, GradientEdge)) or value is None else value
    return [each.as_tensor() if isinstance(each, GradientEdge) else each for each in values]


def _is_edge(tensor: Any) -> bool:
    """Whether a tensor stands for an edge of the graph: it has no data, and is on no device."""
    return tensor._array.__class__ is Spec and tensor._array.device is None


def _inputs_list(inputs: Any, name: str) -> list[Any]:
    """Tensors to differentiate by: one, several, or the values of a dict; edges of the graph stand for their tensors."""
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not supported."
            )
        inputs = inputs.values()
    found = _as_list(inputs)
    if not found:
        raise GradientError(f"`inputs` argument to `{name}()` cannot be empty.")
    return found


def _starting_gradients(roots: list[Any], gradients: list[Any]) -> list[Any]:
    """The gradients of the roots: those that were passed, checked, and 1 for scalars without one."""
    found = []
    for index, (root, gradient) in enumerate(zip(roots, gradients)):
        array = root._array
        if gradient is None:
            gradient = _unit_gradient(array, root)
        elif not isinstance(gradient, TensorBase):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
        elif tuple(gradient._array.shape) != tuple(array.shape):
            raise ShapeError(
                f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and output[{index}] has a shape of {root.shape}."
            )
        elif (gradient._array.dtype.kind == "c") != (array.dtype.kind == "c"):
            raise DtypeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{index}] has a dtype of {gradient.dtype} and output[{index}] has a dtype of {root.dtype}."
            )
        found.append(gradient)
    return found


def _unit_gradient(array: Any, root: Any) -> Any:
    """The gradient of a scalar with respect to itself."""
    if array.size != 1:
        raise GradientError("grad can be implicitly created only for scalar outputs")
    if array.dtype.kind != "f" and not BY_NUMPY[array.dtype].is_floating_point:
        raise GradientError(f"grad can be implicitly created only for real scalar outputs but got {BY_NUMPY[array.dtype]}")
    if flags.overrides and dispatched((root,)):  # of a subclass that says itself what its ones are
        return table["ones_like"].call(root)
    if array.__class__ is Spec and not _is_edge(root):  # made by an op, so that a capture records it
        with fake_mode():
            return table["ones"].call(array.shape, dtype=BY_NUMPY[array.dtype], device=device_of(array))
    if array.__class__ is np.ndarray or array.__class__ is Spec:
        array = np.empty(array.shape, array.dtype)
        array.fill(1)
    elif not isinstance(array, Spec):
        function = (
            sole_accelerator.kind.shortcuts.get("ones") if array.__class__ is sole_accelerator.array_type and not flags.special else None
        )
        if function is not None:
            made = function(array)
            if made is not NotImplemented:
                return make(made)
        return table["ones"].call(array.shape, dtype=BY_NUMPY[array.dtype], device=device_of(array))
    return make(array)


def _check_roots(roots: list[Any]) -> None:
    for index, root in enumerate(roots):
        if not isinstance(root, TensorBase):
            raise TypeError(f"element {index} of tensors is of type {type(root).__name__}, not Tensor")
        refreshed(root)
        if not root._requires_grad:
            raise GradientError(
                f"element {index} of tensors does not require grad and does not have a grad_fn: nothing leads from it to a tensor "
                "that requires grad"
            )


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the sum of gradients of tensors with respect to the leaves and accumulate them into ``.grad``."""
    if state.transforms:
        raise GradientError(
            "backward() called inside a function that torch.func transforms. This is not supported, please use torch.func.grad or "
            "torch.func.vjp instead or call backward() outside of the transform."
        )
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a "
            "memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make sure to "
            "reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.", UserWarning, stacklevel=3,
        )  # fmt: skip
    if inputs is None and grad_tensors is None and isinstance(tensors, TensorBase):  # loss.backward()
        if not tensors._requires_grad or tensors._view is not None:
            _check_roots([tensors])
        retain = create_graph if retain_graph is None else retain_graph
        run_backward([tensors], [_unit_gradient(tensors._array, tensors)], retain_graph=retain, create_graph=create_graph)
        return
    roots = _as_list(tensors)
    gradients = [None] * len(roots) if grad_tensors is None else _as_list(grad_tensors)
    if len(gradients) != len(roots):
        raise GradientError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    targets = None
    if inputs is not None:
        targets = _inputs_list(inputs, "backward")
        for each in targets:
            if not refreshed(each)._requires_grad:
                raise GradientError("One of the differentiated Tensors does not require grad")
    _check_roots(roots)
    gradients = _starting_gradients(roots, gradients)
    retain = create_graph if retain_graph is None else retain_graph
    run_backward(roots, gradients, retain_graph=retain, create_graph=create_graph, targets=targets, accumulate_targets=targets is not None)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The sum of gradients of outputs with respect to the inputs, as a tuple; as a dict where the inputs are one."""
    if flags.overrides or state.function_modes:
        options = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph, "only_inputs": only_inputs,
            "allow_unused": allow_unused, "is_grads_batched": is_grads_batched, "materialize_grads": materialize_grads,
        }  # fmt: skip
        handled = ask_plain(grad, (outputs, inputs), options, (outputs, inputs))
        if handled is not NotImplemented:
            return handled
    if isinstance(inputs, Mapping):
        rest = retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads
        return dict(zip(inputs, grad(outputs, _inputs_list(inputs, "grad"), grad_outputs, *rest)))
    if is_grads_batched:
        return _for_each_gradient(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    if allow_unused is False and materialize_grads:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = bool(allow_unused) or materialize_grads
    roots, targets = _as_list(outputs), _inputs_list(inputs, "grad")
    gradients = _as_list(grad_outputs) if grad_outputs is not None else [None] * len(roots)
    if len(gradients) != len(roots):
        raise GradientError(f"got {len(roots)} outputs and {len(gradients)} gradients")
    for index, each in enumerate(targets):
        if not isinstance(each, TensorBase):
            raise TypeError(f"element {index} of inputs is of type {type(each).__name__}, not Tensor")
        if not refreshed(each)._requires_grad:
            raise GradientError("One of the differentiated Tensors does not require grad")
    _check_roots(roots)
    gradients = _starting_gradients(roots, gradients)
    retain = create_graph if retain_graph is None else retain_graph
    found = run_backward(roots, gradients, retain_graph=retain, create_graph=create_graph, targets=targets)
    for index, result in enumerate(found):
        if result is None:
            if materialize_grads:
                if _is_edge(targets[index]):
                    raise GradientError("materialize_grads cannot be used when the given input is a GradientEdge")
                found[index] = table["zeros_like"].call(targets[index].detach())
                found[index]._requires_grad = create_graph
            elif not allow_unused:
                raise GradientError(
                    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
                    "the desired behavior."
                )
    return tuple(found)


def _for_each_gradient(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: Any, create_graph: bool, allow_unused: Any, materialize_grads: bool
) -> tuple[Any, ...]:  # fmt: skip
    """``grad`` for every entry of the first dimension of the gradients of the outputs, stacked."""
    roots = _as_list(outputs)
    gradients: list[Any] = _as_list(grad_outputs) if grad_outputs is not None else [None] * len(roots)
    for root, gradient in zip(roots, gradients):
        if gradient is None:
            raise GradientError("grad can be implicitly created only for scalar outputs; with is_grads_batched=True pass grad_outputs")
        if tuple(gradient._array.shape[1:]) != tuple(root._array.shape) or not gradient._array.ndim:
            raise ShapeError(
                f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                f"the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output has a shape of {gradient.shape} and output has a shape of {root.shape}."
            )
    count = min(gradient._array.shape[0] for gradient in gradients)
    rows = []
    for index in range(count):
        last = index == count - 1 and not (create_graph if retain_graph is None else retain_graph)
        rows.append(
            grad(
                roots, inputs, [gradient[index] for gradient in gradients], retain_graph=not last, create_graph=create_graph,
                allow_unused=allow_unused, materialize_grads=materialize_grads,
            )
        )  # fmt: skip
    if not rows:
        return tuple(table["zeros"].call((0, *each._array.shape), dtype=each.dtype) for each in _as_list(inputs))
    return tuple(None if column[0] is None else table["stack"].call(list(column)) for column in zip(*rows))


runtime.differentiate = grad
