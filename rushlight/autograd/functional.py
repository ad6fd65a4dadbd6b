"""Derivatives of functions: Jacobians, Hessians and products with them, built on ``grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.declare import table
from ..core.errors import GradientError
from .differentiation import grad
from .grad_mode import enable_grad


def _tuple(value: Any, name: str, function: str) -> tuple[tuple[Any, ...], bool]:
    """A tuple of tensors, and whether the argument was a tuple."""
    is_tuple = isinstance(value, tuple)
    several = value if is_tuple else (value,)
    for index, each in enumerate(several):
        if not isinstance(each, TensorBase):
            where = f"the element {index} of {name}" if is_tuple else f"the {name}"
            raise TypeError(f"The {where} given to {function} must be a Tensor, but is of type {type(each).__name__}")
    return several, is_tuple


def _prepared(inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Inputs to differentiate by: new leaves, or, for higher derivatives, new nodes on the old ones."""
    if create_graph:
        return tuple(each.view_as(each) if each.requires_grad else each.detach().requires_grad_() for each in inputs)
    return tuple(each.detach().requires_grad_() for each in inputs)


def _zeros(like: Any) -> Any:
    return table["zeros_like"].call(like.detach())


def _settled(values: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    return values if create_graph else tuple(each.detach() for each in values)


def _unpack(values: tuple[Any, ...], is_tuple: bool) -> Any:
    return values if is_tuple else values[0]


def _gradients(outputs: Any, inputs: tuple[Any, ...], vectors: Any, create_graph: bool, strict: bool, name: str) -> tuple[Any, ...]:
    """``grad`` with zeros for what is independent (or an error, where that was asked for)."""
    pairs = [(o, v) for o, v in zip(outputs, vectors) if o.requires_grad]
    if not pairs:
        if strict:
            raise GradientError(f"The output of the function given to {name} is independent of all its inputs; not allowed in strict mode.")
        return tuple(_zeros(each) for each in inputs)
    found = grad(
        [o for o, _ in pairs],
        inputs,
        [v for _, v in pairs],
        create_graph=create_graph,
        retain_graph=True,
        allow_unused=True,
    )
    if strict and any(each is None for each in found):
        index = next(i for i, each in enumerate(found) if each is None)
        raise GradientError(f"The output of the function given to {name} is independent of input {index}; not allowed in strict mode.")
    return tuple(_zeros(i) if f is None else f for f, i in zip(found, inputs))


def _vector(v: Any, like: tuple[Any, ...], like_is_tuple: bool, function: str) -> tuple[Any, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise GradientError(
                f"The vector v can only be None if the user-provided function given to {function} returns a single "
                "Tensor with a single element."
            )
        return (table["ones_like"].call(like[0].detach()),)
    several, _ = _tuple(v, "v", function)
    if len(several) != len(like):
        raise GradientError(f"v has {len(several)} elements where {len(like)} are needed")
    for index, (given, wanted) in enumerate(zip(several, like)):
        if tuple(given.shape) != tuple(wanted.shape):
            raise GradientError(f"Entry {index} in v has invalid size: should be {wanted.shape} but got {given.shape}")
    return several


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and the product of a vector with its Jacobian."""
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", "vjp")
        several = _prepared(several, create_graph)
        outputs, outputs_tuple = _tuple(func(*several), "outputs of the user-provided function", "vjp")
        vector = _vector(v, outputs, outputs_tuple, "vjp")
        products = _gradients(outputs, several, vector, create_graph, strict, "vjp")
    return _unpack(_settled(outputs, create_graph), outputs_tuple), _unpack(_settled(products, create_graph), is_tuple)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and the product of its Jacobian with a vector (by differentiating a vjp by its vector)."""
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", "jvp")
        vector = _vector(v, several, is_tuple, "jvp")
        several = _prepared(several, create_graph)
        outputs, outputs_tuple = _tuple(func(*several), "outputs of the user-provided function", "jvp")
        dummies = tuple(_zeros(each).requires_grad_() for each in outputs)
        first = _gradients(outputs, several, dummies, True, strict, "jvp")
        products = _gradients(first, dummies, vector, create_graph, False, "jvp")
    return _unpack(_settled(outputs, create_graph), outputs_tuple), _unpack(_settled(products, create_graph), outputs_tuple)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: for every output and input, a tensor of shape ``output.shape + input.shape``."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError('Expected strategy to be either "forward-mode" or "reverse-mode"')
    if strict and vectorize:
        raise GradientError("torch.autograd.functional.jacobian: `strict=True` and `vectorize=True` are not supported together")
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", "jacobian")
        several = _prepared(several, create_graph)
        outputs, outputs_tuple = _tuple(func(*several), "outputs of the user-provided function", "jacobian")
        rows: list[tuple[Any, ...]] = []
        for output in outputs:
            parts: list[list[Any]] = [[] for _ in several]
            flat = output.reshape(-1)
            for index in range(flat.numel()):
                element = flat[index]
                found = _gradients((element,), several, (table["ones_like"].call(element.detach()),), create_graph, strict, "jacobian")
                for part, each in zip(parts, found):
                    part.append(each)
            rows.append(tuple(
                table["stack"].call(part).reshape(tuple(output.shape) + tuple(each.shape)) if part
                else table["zeros"].call(tuple(output.shape) + tuple(each.shape), dtype=each.dtype)
                for part, each in zip(parts, several)
            ))  # fmt: skip
    settled = tuple(_settled(row, create_graph) for row in rows)
    unpacked = tuple(_unpack(row, is_tuple) for row in settled)
    return _unpack(unpacked, outputs_tuple)


def _scalar(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def checked(*inputs: Any) -> Any:
        output = function(*inputs)
        if not isinstance(output, TensorBase):
            raise GradientError(f"The function given to {name} should return a single Tensor")
        if output._array.size != 1:
            raise GradientError(f"The Tensor returned by the function given to {name} should contain a single element")
        return output.reshape(())

    return checked


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The matrix of second derivatives of a scalar function."""
    if strict and vectorize:
        raise GradientError("torch.autograd.functional.hessian: `strict=True` and `vectorize=True` are not supported together")
    several, is_tuple = _tuple(inputs, "inputs", "hessian")
    function = _scalar(func, "hessian")

    def gradient(*arguments: Any) -> Any:
        found = jacobian(function, tuple(arguments), create_graph=True, strict=strict)
        return found if is_tuple else found[0]

    result = jacobian(gradient, tuple(several), create_graph=create_graph, strict=strict)
    return result if is_tuple else result[0]


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function, and the product of a vector with its Hessian."""
    function = _scalar(func, "vhp")
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", "vhp")
        vector = _vector(v, several, is_tuple, "vhp")
        several = _prepared(several, create_graph)
        output = function(*several)
        first = _gradients((output,), several, (table["ones_like"].call(output.detach()),), True, strict, "vhp")
        products = _gradients(first, several, vector, create_graph, strict, "vhp")
    return _settled((output,), create_graph)[0], _unpack(_settled(products, create_graph), is_tuple)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function, and the product of its Hessian with a vector (the same, as a Hessian is symmetric)."""
    return vhp(func, inputs, v, create_graph, strict)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
