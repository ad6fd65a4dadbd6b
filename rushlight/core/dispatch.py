"""The general path of a call: unwrap the tensors, run the kernel (or the meta rule), wrap the results, record the call.

Entry points (:mod:`rushlight.core.entry`) take a fast path for common calls on the CPU while no mode is on; all other calls come here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import recording
from .argument_checks import NUMBERS, argument_error, check_arguments, check_dtype_argument, check_out_type, warn_resized, with_type_of_out
from .base import Spec, Storage, TensorBase, View, make, mark_inference, spec_of, storage_of
from .declare import Op, call_body, table
from .devices import CPU, META, accelerator, array_kinds, as_device, device_of, device_type_of, device_types, sole_accelerator
from .dtypes import BY_NUMPY, FLOATING, can_cast, legacy_name
from .errors import (
    ArgumentError,
    DtypeError,
    GradientError,
    NotSupported,
    OperationError,
    OverlapError,
    RushlightError,
    ShapeError,
)  # fmt: skip
from .fast_paths import PLAIN_NUMBERS, build_accelerator_call, write_on_accelerator
from .in_place import check_in_place, check_partial_overlap, check_writable, overlaps_itself
from .interception import intercept, offer
from .layout import arranged
from .lazy_views import LazyArray, is_lazy, run_view, values_of
from .named_results import named_result
from .node import SavedTensor, pack_saved, rebase, refresh, remember_trace
from .placement import any_fake, common_device, device_argument, device_mismatch, factory_device, infer
from .quantized import QuantizedArray, is_quantized, run_quantized
from .sparse import SPARSE, asks_first, holds_sparse, is_sparse, run_sparse, write_sparse
from .state import flags, state
from .upcast import is_half_complex, run_in_single, run_widened

HOST = device_types["cpu"]
settle = HOST.as_array


def dispatch(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on complete positional arguments (in the order of its schema)."""
    if flags.special and (state.interceptors or flags.overrides or state.function_modes or state.dispatch_modes or state.profiler):
        handled = intercept(op, args, out)  # not asked for the op that a capture has recorded, and runs: it is off meanwhile
        if handled is not NotImplemented:
            return handled
    if op.family is None:  # a composite, or an op that a program has registered
        return dispatch_body(op, args, out)
    if sole_accelerator.kind is not None and out is None and not op.factory and (op.returns == "list" or not op.view):
        result = dispatch_on_accelerator(op, args)
        if result is not NotImplemented:
            return result
    return dispatch_general(op, args, out)


def dispatch_general(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op with a kernel or a meta rule on whatever devices its arguments are."""
    try:
        if out is not None:
            args = adopt_out(op, args, out) if op.factory else with_type_of_out(op, args, out)
        values, requires, kind = unwrap(op, args)
        if kind is not np.ndarray and (kind in SPARSE or (kind is MIXED and any(map(is_sparse, values)))):
            return run_sparse(op, args) if out is None else write_out(op, args, out, run_sparse(op, args))
        if kind is LazyArray and op.view:
            arrays = run_view(op.name, values[0], lambda memory: run(op, [memory, *values[1:]], memory.__class__))
        else:
            if kind is LazyArray or (kind is MIXED and any(map(is_lazy, values))):
                kind = compute_lazy(op, values)
            arrays = run(op, values, kind)
        if out is not None and not isinstance(out, (TensorBase, tuple, list)):
            raise ArgumentError(f"{op.public_name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    except Exception:
        handled = offer(op, args, out)  # an argument may be of a class with ``__torch_function__`` that is no tensor
        if handled is NotImplemented:
            check_arguments(op, args, out)
            raise
        return handled
    if op.returns is not None:
        results: Any = tuple([wrap(op, args, array, index) for index, array in enumerate(arrays)])
    else:
        results = wrap(op, args, arrays, None)
    if out is not None:
        return write_out(op, args, out, results)
    if op.factory:
        finish_factory(op, args, results)
    elif requires and state.grad_enabled:
        attach(op, args, results)
    if op.returns is not None and op.returns != "list":
        return named_result(op)(*results)
    return results


def dispatch_on_accelerator(op: Op, args: tuple[Any, ...]) -> Any:
    """A call on tensors of the one accelerator there is; NotImplemented leaves it to the general path, which also words errors."""
    call = op.accelerator_call
    if call is None:
        call = op.accelerator_call = build_accelerator_call(op, attach, wrap) if op.tensor_positions else _decline
    return call(*args)


def _decline(*args: Any) -> Any:
    """The call of an op without tensors, which is left to the general path."""
    return NotImplemented


def dispatch_body(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """Run a composite: the entry point has seen that an argument is no tensor, or that the result is to be written to another."""
    handled = offer(op, args, out)
    if handled is not NotImplemented:
        return handled
    if out is not None:
        args = with_type_of_out(op, args, out)
    if op.parameters and op.parameters[0].kind == "tensor" and not op.parameters[0].variadic and not isinstance(args[0], TensorBase):
        raise argument_error(op, 0, args[0])
    try:
        result = run_sparse(op, args) if asks_first.of(op) and holds_sparse(args) else call_body(op, args)
    except Exception:
        check_arguments(op, args, out)
        raise
    return result if out is None else write_out(op, args, out, result)


def finish_factory(op: Op, args: tuple[Any, ...], result: Any) -> None:
    """``requires_grad=True`` of a factory function."""
    for parameter, value in zip(op.parameters, args):
        if parameter.name == "requires_grad" and value:
            if BY_NUMPY[result._array.dtype].category < FLOATING:
                raise GradientError("Only Tensors of floating point and complex dtype can require gradients")
            result._requires_grad = True
        elif parameter.name == "pin_memory" and value and result._array.__class__ is np.ndarray:
            result._array = (accelerator() or HOST).pinned(result._array)


def adopt_out(op: Op, args: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    """The arguments of a factory function with ``out=``: the result has the dtype and the device of the tensor written to."""
    if not isinstance(out, TensorBase):
        raise ArgumentError(f"{op.public_name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    found = BY_NUMPY[out._array.dtype]
    values = list(args)
    for position, parameter in enumerate(op.parameters):
        if parameter.name == "dtype":
            wanted, values[position] = values[position], found
            if wanted is not None and wanted is not found:
                raise DtypeError(f"dtype {legacy_name(wanted)} does not match dtype of out parameter ({legacy_name(found)})")
        elif parameter.name == "device" and values[position] is not None and as_device(values[position]).type != out.device.type:
            raise OperationError(f"device type {values[position]} does not match device type of out parameter ({out.device})")
        elif parameter.name == "device" and out._array.__class__ is not np.ndarray:
            values[position] = out.device
        elif parameter.name == "layout" and values[position] is not None and values[position] != out.layout:
            kinds = [str(each).removeprefix("torch.").removesuffix("_coo").title() for each in (values[position], out.layout)]
            raise OperationError(f"layout {kinds[0]} does not match layout of out parameter ({kinds[1]})")
        elif parameter.name == "requires_grad" and values[position] and not (found.is_floating_point or found.is_complex):
            raise GradientError("Only Tensors of floating point and complex dtype can require gradients")
        elif parameter.name == "pin_memory":
            values[position] = False  # the memory is there
    return tuple(values)


def unwrap(op: Op, args: tuple[Any, ...]) -> tuple[list[Any], bool, Any]:
    """The arguments with arrays for tensors, whether any of them requires a gradient, and the class of the arrays."""
    values = list(args)
    requires = False
    kind: Any = None
    for position, wanted in op.tensor_positions:
        value = args[position]
        if isinstance(value, TensorBase):
            if wanted == "tensors":
                raise argument_error(op, position, value, "tuple of Tensors")
            if value._storage is not None and value._view is not None:
                refresh(value)
            array = values[position] = value._array
            if value._requires_grad:
                requires = True
            if kind is None:
                kind = array.__class__
            elif kind is not array.__class__:
                kind = MIXED
        elif wanted == "tensors":
            arrays, requires, kind = unwrap_list(op, position, value, requires, kind)
            values[position] = arrays
        elif value is None:
            if not wanted.endswith("?"):
                raise argument_error(op, position, value)
        elif wanted.startswith("operand"):
            if not isinstance(value, NUMBERS):
                raise argument_error(op, position, value)
        else:
            raise argument_error(op, position, value)
    return values, requires, kind


def unwrap_list(op: Op, position: int, value: Any, requires: bool, kind: Any) -> tuple[list[Any], bool, Any]:
    """Like ``unwrap``, for an argument that is a list of tensors."""
    if not isinstance(value, (list, tuple)):
        raise argument_error(op, position, value, "tuple of Tensors")
    arrays: list[Any] = []
    for index, each in enumerate(value):
        if isinstance(each, TensorBase):
            if each._storage is not None and each._view is not None:
                refresh(each)
            arrays.append(each._array)
            requires = requires or each._requires_grad
            if kind is None:
                kind = each._array.__class__
            elif kind is not each._array.__class__:
                kind = MIXED
        elif each is None and "None" in op.parameters[position].annotation:
            arrays.append(None)
        else:
            raise ArgumentError(f"expected Tensor as element {index} in argument {position}, but got {type(each).__name__}")
    return arrays, requires, kind


def compute_lazy(op: Op, values: list[Any]) -> Any:
    """Put the values of conjugate and negative views into the place of the views; the class of the arrays that are left."""
    kinds: set[Any] = set()
    for position, wanted in op.tensor_positions:
        value = values[position] = values_of(values[position])
        kinds.update(each.__class__ for each in (value if wanted == "tensors" else (value,)) if hasattr(each, "dtype"))
    return kinds.pop() if len(kinds) == 1 else MIXED


MIXED: Any = type("Mixed", (), {})  # in place of the class of the operands where there are several


def run(op: Op, values: list[Any], kind: Any) -> Any:
    """The arrays that an op computes from unwrapped values: by its kernel, or by its meta rule where there are no elements."""
    device_type = HOST
    sole = None if kind is np.ndarray or op.factory else array_kinds.get(kind)
    if sole is not None and sole.only is not None and not op.across_devices:
        device_type, device = sole, sole.only
    elif kind is not np.ndarray or op.factory:
        if op.factory:
            device = factory_device(op, values)
            if (device is not CPU and device == META) or state.fake or (kind is Spec and device_argument(op, values) is None):
                return infer(op, values, device)
        if kind is QuantizedArray or (kind is MIXED and any(map(is_quantized, values))):
            return run_quantized(op, values)
        if kind is not None and issubclass(kind, Spec) and kind is not Spec:
            raise OperationError(kind.outside)
        if not op.factory:
            device = common_device(op, values)
            if kind is Spec or (kind is MIXED and any_fake(op, values)):
                return infer(op, values, device)
        device_type = device_types[device.type]
    try:
        if device_type is HOST:
            result = run_widened(op, np, values) if op.widen else op.family.execute(op, np, values)
        else:
            own_kernel = device_type.kernel_for(op)
            result = own_kernel(*values) if sole is not None and own_kernel is not None else NotImplemented
            if result is NotImplemented:
                with device_type.active(device):
                    result = NotImplemented if own_kernel is None or sole is not None else own_kernel(*values)
                    if result is NotImplemented:
                        result = (run_widened if op.widen else op.family.execute)(op, device_type.arrays, values)
    except RushlightError:
        raise
    except MemoryError as error:
        raise device_type.out_of_memory(op.public_name, error) from error
    except (ValueError, TypeError, OverflowError, ArithmeticError, IndexError, np.linalg.LinAlgError) as error:
        expected = op.meta(op, values)  # raises an error that names what is wrong with the arguments
        if device_type is HOST and is_half_complex([*values, expected]):
            return run_in_single(op, values, expected)
        if device_type is not HOST and device_type.is_foreign(error):
            raise NotSupported(f"{op.public_name}() has no kernel for the device '{device}' yet: use it on the CPU") from error
        raise OperationError(f"{op.public_name}(): {error}") from error
    if op.layout and device_type is HOST:
        result = arranged(op.layout, values, result if op.returns is None else list(result))
    if op.returns is not None:
        return [each if each.__class__ is np.ndarray and device_type is HOST else device_type.as_array(each) for each in result]
    return result if result.__class__ is np.ndarray and device_type is HOST else device_type.as_array(result)


def wrap(op: Op, args: tuple[Any, ...], array: Any, index: int | None) -> Any:
    """A tensor over a result; for a view op, one that shares the input's storage and knows the chain of views."""
    result = make(array)
    if not op.view:
        if state.inference:
            mark_inference(result)
        return result
    source = args[0]
    storage = source._storage
    if storage is None:
        storage = source._storage = Storage(source._array)
    result._storage = storage
    if source._inference:
        result._inference = True
        if state.inference:
            return result
    if not op.vjp:  # no gradient flows (detach): memory and version are shared, history is not
        return result
    parent = source._view
    link = (op.call, tuple(args[-1]) if op.parameters[-1].variadic else args[1:], index)
    creation = "multiple" if index is not None else ("default" if state.grad_enabled else "inference" if state.inference else "no_grad")
    if parent is None:
        result._view = View(source, (link,), storage.version, creation)
    else:
        if creation == "default":
            creation = parent.creation
        result._view = View(parent.base, (*parent.chain, link), storage.version, creation)
    return result


def attach(op: Op, args: tuple[Any, ...], results: Any) -> None:
    """Record the call and make its outputs part of the graph."""
    if op.record is None:
        if op.vjp == {}:
            return
        recording.build(op)
    if op.returns is None:
        if results._array.dtype.kind not in "fVc":  # only floating and complex values have gradients
            return
        node = op.record(args, results)
        results._grad_fn = node
        results._requires_grad = True
    else:
        node = op.record(args, results)
        names = op.returns if op.returns != "list" else ()
        for index, result in enumerate(results):
            skip = names and names[index] in op.nondifferentiable
            if not skip and BY_NUMPY[result._array.dtype].category >= FLOATING:
                result._grad_fn = node
                result._output_index = index
                result._requires_grad = True
    if flags.special:
        finish_node(node)


def finish_node(node: Any) -> None:
    """Apply the thread's modes to a new node: hooks on saved tensors, and anomaly mode."""
    if state.saved_hooks:
        pack_saved(node)
    if state.anomaly:
        remember_trace(node)


# -- writing to tensors that exist -------------------------------------------------------------------------------


def dispatch_in_place(op: Op, args: tuple[Any, ...]) -> Any:
    """Run the in-place variant of an op: the result goes into the first argument."""
    functional = op.functional
    assert functional is not None
    if flags.special:
        handled = intercept(op, args, None)
        if handled is not NotImplemented:
            return handled
    target = args[0]
    if not isinstance(target, TensorBase):
        handled = offer(op, args, None)
        if handled is NotImplemented:
            raise argument_error(op, 0, target)
        return handled
    if target._array.__class__ is sole_accelerator.array_type and write_on_accelerator(functional, target, args):
        return target
    if functional.kernel is None:
        others = [args[position] for position, _ in op.tensor_positions if not isinstance(args[position], TensorBase)]
        handled = offer(op, args, None) if others else NotImplemented
        if handled is not NotImplemented:
            return handled
        if state.grad_enabled and target._requires_grad:  # the body may save its input
            args = (keep_copy(target), *args[1:])
        return assign(op, target, call_body(functional, args))
    try:
        values, requires, kind = unwrap(op, args)
    except Exception:
        handled = offer(op, args, None)
        if handled is NotImplemented:
            check_arguments(op, args)
            raise
        return handled
    if kind is not np.ndarray and (kind in SPARSE or (kind is MIXED and any(map(is_sparse, values)))):
        return write_sparse(op, args, requires, check_result_type)
    if kind is LazyArray or (kind is MIXED and any(map(is_lazy, values))):
        kind = compute_lazy(op, values)
    recorded = requires and state.grad_enabled and bool(functional.vjp)
    if state.grad_enabled and (requires or (target._view is not None and target._view.base._requires_grad)):
        check_in_place(target)
    check_writable(op, args)
    if recorded and functional.record is None:
        recording.build(functional)
    if recorded and "input" in functional.node_type.saved_names:
        args = (keep_copy(target), *args[1:])
    array = target._array
    if kind is QuantizedArray or (kind is MIXED and any(map(is_quantized, values))):
        array[...] = result = run_quantized(functional, values)
        array.quantizer = result.quantizer
    elif functional.in_place_kernel is not None and array.__class__ is not Spec:
        if kind is not np.ndarray:
            common_device(functional, values)
        try:
            if values[0].__class__ is np.ndarray:
                functional.in_place_kernel(np, *values)
            else:
                home = device_type_of(values[0])
                with home.active(home.device_of(array)):
                    functional.in_place_kernel(home.arrays, *values)
            if array.__class__ is LazyArray:  # the kernel has written to its values
                array[...] = values[0]
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            if isinstance(error, RushlightError):
                raise
            functional.meta(functional, values)
            check_arguments(op, args)
            raise OperationError(f"{op.public_name}(): {error}") from error
    elif not write_through(functional, array, values):
        try:
            result = run(functional, values, kind)
        except Exception:
            check_arguments(op, args)
            raise
        store(op, array, result)
    storage_of(target).version += 1
    if target._view is not None and not recorded:
        target._view.version = storage_of(target).version if not target._view.base._requires_grad else -1
    if recorded and BY_NUMPY[array.dtype].category >= FLOATING:
        node = functional.record(args, target)
        if target._storage is not None:
            for entry in node.saved:
                if entry.__class__ is SavedTensor and entry.tensor._storage is target._storage:
                    entry.version -= 1  # saved with the value it had before the write, which is gone
        if flags.special:
            finish_node(node)
        rebase(target, node, table)
    return target


def write_through(op: Op, array: Any, values: list[Any]) -> bool:
    """Have a ufunc write its result to the target directly; False where that is not possible."""
    if array.__class__ is LazyArray:
        return False
    if array.__class__ is not np.ndarray:
        into = None if array.__class__ is Spec else getattr(device_type_of(array).kernel_for(op), "into", None)
        if into is None:
            return False
        kind = sole_accelerator.array_type
        if not all(each.__class__ is kind or each.__class__ in PLAIN_NUMBERS for each in values):
            common_device(op, values)
        return bool(into(array, values))
    if op.fast is None:
        return False
    count, dtypes = op.fast
    if dtypes == "float" and array.dtype.kind != "f":
        return False
    for value in values[1:count]:
        if value.__class__ is np.ndarray:
            if value.dtype is not array.dtype or value.ndim > array.ndim:
                return False
        elif array.dtype.char not in "fd" or value.__class__ not in (int, float):  # float16 would round the number first
            return False
    if any(value is not parameter.default for parameter, value in zip(op.parameters[count:], values[count:])):
        return False
    if op.vjp == {}:  # comparisons: the result has another dtype than the operands
        return False
    try:
        (getattr(np, op.ufunc) if isinstance(op.ufunc, str) else op.ufunc)(*values[:count], out=array)
    except (ValueError, TypeError, OverflowError):
        return False  # the general path reports what is wrong
    return True


def keep_copy(target: TensorBase) -> Any:
    """A copy of the target before it is written to, with its history."""
    refresh(target)
    old = make(target._array.copy() if target._array.__class__ is not Spec else spec_of(target._array))
    if old._array.__class__ is Spec and state.capture is not None:
        state.capture.copied(old, target)
    old._grad_fn, old._output_index, old._requires_grad = target._grad_fn, target._output_index, target._requires_grad
    return old


def assign(op: Op, target: TensorBase, result: Any) -> Any:
    """The in-place form of a composite: compute the result, then copy it into the target (which records the write)."""
    if tuple(result._array.shape) != tuple(target._array.shape):
        raise ShapeError(f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result._array.shape)}")
    check_result_type(result._array.dtype, target._array.dtype)
    return table["copy_"].call(target, result)


def store(op: Op, array: Any, result: Any) -> None:
    """Write a kernel's result to a target, with PyTorch's checks."""
    if tuple(result.shape) != tuple(array.shape):
        raise ShapeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(result.shape)}")
    check_result_type(result.dtype, array.dtype)
    if array.__class__ is not Spec:
        array[...] = result


def check_result_type(found: Any, wanted: Any) -> None:
    if found is not wanted and not can_cast(BY_NUMPY[found], BY_NUMPY[wanted]):
        raise DtypeError(f"result type {legacy_name(found)} can't be cast to the desired output type {legacy_name(wanted)}")


def write_out(op: Op, args: tuple[Any, ...], out: Any, results: Any) -> Any:
    """Write results to the tensors that the caller passed as ``out=``."""
    several = op.returns is not None or isinstance(results, tuple)
    if op.returns is None and several and isinstance(out, TensorBase) and any(each.name == "as_tuple" for each in op.parameters):
        raise OperationError(f"{op.public_name} does not support the out kwarg when as_tuple is True")
    targets = tuple(out) if several and isinstance(out, (tuple, list)) else (out,)
    sources = tuple(results) if several else (results,)
    if len(targets) != len(sources):
        raise ArgumentError(f"{op.public_name}(): expected {len(sources)} tensors as 'out', got {len(targets)}")
    for target in targets:
        if not isinstance(target, TensorBase):
            raise ArgumentError(f"{op.public_name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    if state.grad_enabled:
        inputs = [v for p, k in op.tensor_positions for v in (args[p] if k == "tensors" else (args[p],))]
        if any(isinstance(each, TensorBase) and each._requires_grad for each in (*inputs, *targets)):
            raise GradientError(
                f"{op.public_name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                "the arguments requires grad."
            )
    if not op.factory:
        wanted = next((value for parameter, value in zip(op.parameters, args) if parameter.name == "dtype" and value is not None), None)
        if wanted is not None:
            check_dtype_argument(op, wanted, targets[0])
    for number, (target, source) in enumerate(zip(targets, sources)):
        if source._array.__class__ in SPARSE or target._array.__class__ in SPARSE:
            target._array = source._array  # the target is only a name for the result: its own elements are dropped
            target._storage = None
            continue
        if target._array.dtype is not source._array.dtype:
            check_out_type(op, args, number, source._array.dtype, target._array.dtype)
        if op.has_out == "fills" and math.prod(target._array.shape) == math.prod(source._array.shape):
            source = source.reshape(target._array.shape)
        if op.has_out != "any type":
            check_result_type(source._array.dtype, target._array.dtype)
        place = device_of(target._array)
        if device_of(source._array) != place:
            raise device_mismatch(device_of(source._array), place)
        if target._array.__class__ is Spec or source._array.__class__ is Spec:
            target._array = Spec(source._array.shape, target._array.dtype, device=place)
            continue
        if target._array.shape != source._array.shape:
            if target._array.size:
                warn_resized(target._array.shape, source._array.shape)
            target._array = device_types[place.type].empty(source._array.shape, target._array.dtype, place)
            target._storage = None
        elif overlaps_itself(target._array):
            raise OverlapError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )
        elif target._storage is not None and op.tensor_positions:
            check_partial_overlap(target, [args[position] for position, kind in op.tensor_positions if kind != "tensors"])
        target._array[...] = source._array
        storage_of(target).version += 1
    if not several:
        return targets[0]
    if hasattr(results, "_fields"):
        return type(results)(*targets)
    return named_result(op)(*targets) if op.returns is not None and op.returns != "list" else out
