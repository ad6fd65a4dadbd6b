"""What users' symbolic functions are written with: reading arguments, asking about values, refusing."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..core.dtypes import BY_NUMPY
from .enums import TrainingMode
from .errors import SymbolicValueError, UnsupportedOperatorError
from .globals import GLOBALS
from .ir import NO_PYTHON, OnnxValue
from .types import JitScalarType

# -- reading arguments ---------------------------------------------------------------------------------------------


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: turn arguments into the Python values that descriptors ask for.

    ``v`` a value as it is, ``i`` an int, ``is`` ints, ``f`` a float, ``fs`` floats, ``b`` a bool, ``s`` a string, ``t`` a constant
    tensor, ``none`` nothing.

        >>> @parse_args("v", "i")
        ... def symbolic(g, x, dim):
        ...     return g.op("Softmax", x, axis_i=dim)
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(arg_descriptors) < len(args):
                raise AssertionError(
                    f"A mismatch between the number of arguments ({len(args)}) and their descriptors ({len(arg_descriptors)}) was "
                    f"found at symbolic function '{function.__name__}'."
                )
            names = list(inspect.signature(function).parameters)[1:]
            values = [_parse_arg(arg, kind, name, function.__name__) for arg, kind, name in zip(args, arg_descriptors, names)]
            return function(g, *values, **kwargs)

        return wrapper

    return decorate


def _parse_arg(value: Any, descriptor: str, arg_name: str | None = None, function_name: str | None = None) -> Any:
    """An argument as a descriptor asks for it."""
    if descriptor == "v" or (descriptor == "none" and value is None):
        return value
    found = value
    if isinstance(value, OnnxValue):
        found = value.python if value.python is not NO_PYTHON else value.constant
        if found is None and value.python is NO_PYTHON:
            raise SymbolicValueError(
                f"Failed to export a node in '{function_name}': argument '{arg_name}' must be a constant to be read as '{descriptor}', and "
                "it is computed",
                value,
            )
    if found is None:
        return None
    array = found if isinstance(found, np.ndarray) else None
    if descriptor == "i":
        return int(found if array is None else array.item())
    if descriptor == "f":
        return float(found if array is None else array.item())
    if descriptor == "b":
        return bool(found if array is None else array.item())
    if descriptor == "s":
        return str(found)
    if descriptor == "t":
        return array if array is not None else np.asarray(found)
    if descriptor == "is":
        return [int(each) for each in (found if array is None else array.reshape(-1).tolist())]
    if descriptor == "fs":
        return [float(each) for each in (found if array is None else array.reshape(-1).tolist())]
    if descriptor == "none":
        return None
    raise ValueError(f"'{descriptor}' is no descriptor of an argument")


def quantized_args(*arg_q_descriptors: bool, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that leaves a symbolic function as it is: there are no quantized values in a graph here."""
    return lambda function: function


# -- asking about values -------------------------------------------------------------------------------------------


def _is_value(x: Any) -> bool:
    return isinstance(x, OnnxValue)


def _is_tensor(x: Any) -> bool:
    return isinstance(x, OnnxValue) and x.python is NO_PYTHON


def _is_constant(x: Any) -> bool:
    return not isinstance(x, OnnxValue) or x.constant is not None or x.python is not NO_PYTHON


def _is_none(x: Any) -> bool:
    return x is None or (isinstance(x, OnnxValue) and x.python is None)


def _is_list(x: Any) -> bool:
    return isinstance(x, (list, tuple)) or (isinstance(x, OnnxValue) and isinstance(x.python, (list, tuple)))


def _is_packed_list(x: Any) -> bool:
    return isinstance(x, (list, tuple))


def _unpack_list(x: Any) -> list[Any]:
    if isinstance(x, OnnxValue):
        if not isinstance(x.python, (list, tuple)):
            raise SymbolicValueError("ONNX symbolic expected a list", x)
        return list(x.python)
    return list(x)


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    """A constant as a Python value; anything else as it is."""
    return _parse_arg(value, descriptor) if _is_constant(value) else value


def _get_const(value: Any, descriptor: str, arg_name: str) -> Any:
    """A constant as a Python value; an error for anything else."""
    if not _is_constant(value):
        raise SymbolicValueError(f"ONNX symbolic expected a constant value of the '{arg_name}' argument", value)
    return _parse_arg(value, descriptor, arg_name)


def _maybe_get_scalar(value: Any) -> Any:
    """The number of a constant without dimensions; anything else as it is."""
    found = _maybe_get_const(value, "t")
    return found.item() if isinstance(found, np.ndarray) and not found.ndim else value


def _scalar(x: Any) -> Any:
    """The number of a constant with one element."""
    found = x.constant if isinstance(x, OnnxValue) else np.asarray(x)
    return None if found is None or found.size != 1 else found.reshape(()).item()


def _get_tensor_rank(x: Any) -> int | None:
    """The number of dimensions, or None where it is not known."""
    shape = x.known_shape() if isinstance(x, OnnxValue) else None
    return None if shape is None else len(shape)


def _get_tensor_sizes(x: Any, allow_nonstatic: bool = True) -> list[int | None] | None:
    """The sizes; None for a dynamic one."""
    sizes = x.type().sizes() if isinstance(x, OnnxValue) else None
    return None if sizes is not None and not allow_nonstatic and None in sizes else sizes


def _get_tensor_dim_size(x: Any, dim: int) -> int | None:
    """The size of one dimension, or None where it is dynamic."""
    sizes = _get_tensor_sizes(x)
    return None if sizes is None else sizes[dim]


def _is_fp(value: Any) -> bool:
    """Whether the elements are floating-point numbers."""
    return isinstance(value, OnnxValue) and value.dtype is not None and value.dtype.kind in "fV"


def _is_bool(value: Any) -> bool:
    """Whether the elements are truth values."""
    return isinstance(value, OnnxValue) and value.dtype == np.bool_


def is_complex_value(x: OnnxValue) -> bool:
    """Whether the elements are complex numbers."""
    return x.dtype is not None and x.dtype.kind == "c"


def _try_get_scalar_type(*args: Any) -> JitScalarType | None:
    """The element type of the first value that has one."""
    for each in args:
        if isinstance(each, OnnxValue) and each.dtype is not None:
            return JitScalarType.from_dtype(BY_NUMPY[each.dtype])
    return None


def args_have_same_dtype(args: Any) -> bool:
    """Whether all values are of one element type."""
    return len({each.dtype for each in args if isinstance(each, OnnxValue)}) <= 1


# -- making nodes --------------------------------------------------------------------------------------------------


def _unsqueeze_helper(g: Any, input: OnnxValue, axes_i: Any) -> OnnxValue:
    return g.unsqueeze(input, axes_i)  # type: ignore[no-any-return]


def _squeeze_helper(g: Any, input: OnnxValue, axes_i: Any) -> OnnxValue:
    return g.squeeze(input, axes_i)  # type: ignore[no-any-return]


def _reducesum_helper(g: Any, input: OnnxValue, axes_i: Any = None, keepdims_i: int = 1, noop_with_empty_axes_i: int = 0) -> OnnxValue:
    return g.reduce("ReduceSum", input, axes_i, bool(keepdims_i))  # type: ignore[no-any-return]


def _slice_helper(g: Any, input: OnnxValue, axes: Any, starts: Any, ends: Any, steps: Any = None) -> OnnxValue:
    return g.slice(input, starts, ends, axes, steps)  # type: ignore[no-any-return]


def _select_helper(g: Any, self: OnnxValue, dim: int, index: Any, apply_reshape: bool = True) -> OnnxValue:
    return g.gather(self, index, dim)  # type: ignore[no-any-return]


def _topk_helper(g: Any, input: OnnxValue, k: Any, dim: int, largest: bool = True, sorted: bool = False, out: Any = None) -> Any:
    return g.top_k(input, k, dim, largest, sorted)


def _reshape_helper(g: Any, input: OnnxValue, shape: Any, allowzero: int = 0) -> OnnxValue:
    if isinstance(shape, OnnxValue) and shape.python is not NO_PYTHON:
        shape = shape.python
    return g.op("Reshape", input, shape if isinstance(shape, OnnxValue) else g.sizes(shape))  # type: ignore[no-any-return]


def _size_helper(g: Any, self: OnnxValue, dim: Any) -> OnnxValue:
    return g.number(g.size(self, _parse_arg(dim, "i")))  # type: ignore[no-any-return]


def _maybe_cast_to_type(g: Any, value: OnnxValue, jit_type: Any) -> OnnxValue:
    return g.cast(value, jit_type.dtype())  # type: ignore[no-any-return]


# -- refusing ------------------------------------------------------------------------------------------------------


def _unimplemented(op: str, msg: str, value: Any = None) -> None:
    """Warn that a form is not there; the export then fails or falls back."""
    if GLOBALS.operator_export_type == 0:
        _onnx_unsupported(f"{op}, {msg}", value)
    warnings.warn(f"ONNX export failed on {op} because {msg} not supported", stacklevel=2)


def _onnx_unsupported(op_name: str, value: Any = None) -> NoReturn:
    """Refuse: the op has no form here; in fallback modes it is written as PyTorch's own."""
    raise UnsupportedOperatorError(
        op_name, message=f"Unsupported: ONNX export of operator {op_name}. Open a feature request, or register a form for it with "
        "onnx.register_custom_op_symbolic.",
    )  # fmt: skip


def _onnx_opset_unsupported(op_name: str, current_opset: int, supported_opset: int, value: Any = None) -> NoReturn:
    """Refuse: the op has a form only from a later opset on."""
    raise UnsupportedOperatorError(op_name, current_opset, supported_opset)


def _onnx_opset_unsupported_detailed(op_name: str, current_opset: int, supported_opset: int, reason: str, value: Any = None) -> NoReturn:
    """Refuse with a reason."""
    raise UnsupportedOperatorError(
        op_name, current_opset, supported_opset,
        f"Unsupported: ONNX export of {op_name} in opset {current_opset}. {reason}. Please try opset version {supported_opset}.",
    )  # fmt: skip


def check_training_mode(op_train_mode: int, op_name: str) -> None:
    """Warn where an op's mode is not that of the export."""
    if GLOBALS.training_mode not in (TrainingMode.PRESERVE, TrainingMode.TRAINING if op_train_mode else TrainingMode.EVAL):
        mode = f"train={bool(op_train_mode)}"
        warnings.warn(
            f"ONNX export mode is set to {GLOBALS.training_mode}, but operator '{op_name}' is set to {mode}. Exporting with {mode}.",
            stacklevel=2,
        )
