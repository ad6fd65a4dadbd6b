"""Device placement: an op runs on the device of its operands, which must agree, or the one that a factory function was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Spec
from .declare import Op
from .devices import CPU, META, available, device, device_of, on_device
from .devices import default as default_device
from .errors import DeviceError, OperationError
from .layout import arranged_specs


def factory_device(op: Op, values: list[Any]) -> device:
    """The device that a factory function makes its tensor on: the one that was named, that of its operand, or the default."""
    named = device_argument(op, values)
    if named is not None:
        return available(named)
    source = values[op.tensor_positions[0][0]] if op.tensor_positions else None
    return available(default_device.device) if source is None else device_of(source)


def device_argument(op: Op, values: list[Any]) -> Any:
    """What a caller passed to an op as ``device``."""
    for parameter, value in zip(op.parameters, values):
        if parameter.name == "device":
            return value
    return None


def common_device(op: Op, values: list[Any]) -> device:
    """The device of an op's operands, which must agree; 0-dim tensors on the CPU are copied to that of the others.

    Ops that are made to read from another device are declared so (``Op.across_devices``).
    """
    if op.across_devices:
        return device_argument(op, values) or device_of(values[0])
    found: device | None = None
    scalars: list[tuple[list[Any], int]] = []  # where 0-dim operands on the CPU stand
    for position, wanted in op.tensor_positions:
        value = values[position]
        holder, indices = (value, range(len(value))) if wanted == "tensors" else (values, range(position, position + 1))
        for index in indices:
            array = holder[index]
            if array is None or not hasattr(array, "dtype") or isinstance(array, np.generic):
                continue
            if isinstance(array, Spec) and array.__class__ is not Spec:
                raise OperationError(array.outside)
            here: Any = (array.__class__ is Spec and array.device) or device_of(array)
            if (here is CPU or here == CPU) and not array.shape:
                scalars.append((holder, index))
            elif found is None:
                found = here
            elif here is not found and here != found:
                raise device_mismatch(here, found)
    if found is None:
        return CPU
    if found is not CPU and found != CPU and not any_fake(op, values):
        for holder, index in scalars:
            holder[index] = on_device(holder[index], found)
    return found


def device_mismatch(found: device, expected: device) -> DeviceError:
    """The error for operands on two devices, as PyTorch words it."""
    if META in (found, expected):
        return DeviceError(f"Tensor on device {found} is not on the expected device {expected}!")
    return DeviceError(f"Expected all tensors to be on the same device, but found at least two devices, {expected} and {found}!")


def any_fake(op: Op, values: list[Any]) -> bool:
    """Whether an operand has no elements: then the meta rule takes the place of the kernel."""
    return any(
        each.__class__ is Spec
        for position, wanted in op.tensor_positions
        for each in (values[position] if wanted == "tensors" else (values[position],))
    )


def infer(op: Op, values: list[Any], place: device) -> Any:
    """The results of an op's meta rule, on a device; a rule that moves values names another one itself."""
    found = op.meta(op, values)
    if op.layout and place == META and values[0].__class__ is Spec:
        found = arranged_specs(op.layout, values, found)
    if found.__class__ is not Spec:
        return [_placed(each, place) for each in found]
    if found.device is not None:
        return _placed(found, place)
    found.device = place  # as _placed has it, without the call
    return found


def _placed(spec: Any, place: device) -> Any:
    """A Spec that no other tensor has: one that the rule has just made, on a device; a copy of an operand, or of one that is a result already."""
    if spec.__class__ is not Spec:
        return spec
    if spec.device is not None:
        return Spec(spec.shape, spec.dtype, spec._strides, spec.device)
    spec.device = place
    return spec
