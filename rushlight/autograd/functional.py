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
            which = f"value at index {index}" if is_tuple else f"given {name}"
            raise TypeError(
                f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has type {type(each)}."
            )
    return several, is_tuple


_STRICT = "This is not allowed in strict mode"
_CONSTANT = {  # what strict mode says of a value that nothing differentiable leads to
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner "
    "from the input when running in strict mode.",
    "grad_inputs": f"The gradient with respect to input {{}} is independent of the inputs of the user-provided function. {_STRICT}.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is independent of "
    f"the input. {_STRICT}. You should ensure that your function is twice differentiable and that the jacobian depends on the inputs (this "
    "would be violated by a linear function for example).",
    "hessian": f"The hessian of the user-provided function with respect to input {{}} is independent of the input. {_STRICT}. You should ensure "
    "that your function is thrice differentiable and that the hessian depends on the inputs.",
}
_INDEPENDENT = {  # and of a gradient that is not there
    "outputs": f"The output of the user-provided function is independent of input {{}}. {_STRICT}.",
    "element": f"Output {{output}} of the user-provided function is independent of input {{}}. {_STRICT}.",
    "grad_outputs": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double backward "
    f"trick to compute forward mode gradients. {_STRICT}.",
    "jacobian": f"The jacobian of the user-provided function is independent of input {{}}. {_STRICT}.",
}


def _check_strict(values: Any, what: str, strict: bool) -> None:
    """Refuse values that depend on nothing, in strict mode."""
    for index, each in enumerate(values if strict else ()):
        if not each.requires_grad:
            raise GradientError(_CONSTANT[what].format(index))


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


def _gradients(
    outputs: Any, inputs: tuple[Any, ...], vectors: Any, create_graph: bool, strict: bool, what: str, output: int = 0, final: bool = False
) -> tuple[Any, ...]:
    """``grad`` with zeros for what is independent (or an error, where that was asked for)."""
    pairs = [(o, v) for o, v in zip(outputs, vectors) if o.requires_grad]
    found: Any = [None] * len(inputs)
    if pairs:
        found = grad([o for o, _ in pairs], inputs, [v for _, v in pairs], create_graph=create_graph, retain_graph=True, allow_unused=True)
    for index, each in enumerate(found if strict else ()):
        if each is None:
            raise GradientError(_INDEPENDENT[what].format(index, output=output))
        if create_graph and not each.requires_grad and (what != "outputs" or final):
            which = "hessian" if what == "jacobian" else "jacobian"
            raise GradientError(
                f"The {which} of the user-provided function is independent of input {index}. {_STRICT} when create_graph=True."
            )
    return tuple(_zeros(i) if f is None else f for f, i in zip(found, inputs))


def _vector(v: Any, like: tuple[Any, ...], like_is_tuple: bool, function: str) -> tuple[Any, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise GradientError(
                f"The vector v can only be None if {'the user-provided function returns' if function == 'vjp' else 'the input to the user-provided function is'} a "
                "single Tensor with a single element."
            )
        return (table["ones_like"].call(like[0].detach()),)
    several, _ = _tuple(v, "v", function)
    if len(several) != len(like):
        if not like_is_tuple:
            raise GradientError("The given v should contain a single Tensor.")
        raise GradientError(f"v is a tuple of invalid length: should be {len(like)} but got {len(several)}.")
    for index, (given, wanted) in enumerate(zip(several, like)):
        if tuple(given.shape) != tuple(wanted.shape):
            entry = f"Entry {index} in " if like_is_tuple else ""
            raise GradientError(f"{entry}v has invalid size: should be {wanted.shape} but got {given.shape}.")
    return several


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and the product of a vector with its Jacobian."""
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", "vjp")
        several = _prepared(several, create_graph)
        outputs, outputs_tuple = _tuple(func(*several), "outputs of the user-provided function", "vjp")
        _check_strict(outputs, "outputs", strict)
        vector = _vector(v, outputs, outputs_tuple, "vjp")
        products = _gradients(outputs, several, vector, create_graph, strict, "outputs", final=True)
    return _unpack(_settled(outputs, create_graph), outputs_tuple), _unpack(_settled(products, create_graph), is_tuple)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and the product of its Jacobian with a vector (by differentiating a vjp by its vector)."""
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", "jvp")
        vector = _vector(v, several, is_tuple, "jvp")
        several = _prepared(several, create_graph)
        outputs, outputs_tuple = _tuple(func(*several), "outputs of the user-provided function", "jvp")
        _check_strict(outputs, "outputs", strict)
        dummies = tuple(_zeros(each).requires_grad_() for each in outputs)
        first = _gradients(outputs, several, dummies, True, strict, "outputs")
        _check_strict(first, "grad_inputs", strict)
        products = _gradients(first, dummies, vector, create_graph, strict, "grad_outputs")
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
        _check_strict(outputs, "outputs", strict)
        rows: list[tuple[Any, ...]] = []
        for number, output in enumerate(outputs):
            parts: list[list[Any]] = [[] for _ in several]
            flat = output.reshape(-1)
            for index in range(flat.numel()):
                element = flat[index]
                seed = table["ones_like"].call(element.detach())
                found = _gradients((element,), several, (seed,), create_graph, strict, "element", number)
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


def _scalar(function: Callable[..., Any], name: str, strict: bool) -> Callable[..., Any]:
    def checked(*inputs: Any) -> Any:
        output = function(*inputs)
        several, is_tuple = _tuple(output, "outputs of the user-provided function", name)
        _check_strict(several, "outputs", strict)
        if is_tuple:
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
    function = _scalar(func, "hessian", strict)

    def gradient(*arguments: Any) -> Any:
        found = jacobian(function, tuple(arguments), create_graph=True)
        _check_strict(found, "jacobian", strict)
        return found if is_tuple else found[0]

    result = jacobian(gradient, tuple(several), create_graph=create_graph, strict=strict)
    return result if is_tuple else result[0]


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function, and the product of a vector with its Hessian."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function, and the product of its Hessian with a vector (the same, as a Hessian is symmetric)."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(name: str, func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple[Any, Any]:
    function = _scalar(func, name, strict)
    with enable_grad():
        several, is_tuple = _tuple(inputs, "inputs", name)
        vector = _vector(v, several, is_tuple, name)
        several = _prepared(several, create_graph)
        output = function(*several)
        first = _gradients((output,), several, (table["ones_like"].call(output.detach()),), True, strict, "outputs")
        _check_strict(first, "jacobian", strict)
        products = _gradients(first, several, vector, create_graph, strict, "jacobian")
    return _settled((output,), create_graph)[0], _unpack(_settled(products, create_graph), is_tuple)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
