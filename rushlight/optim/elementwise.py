"""Optimizers whose step is the same arithmetic on every element of a parameter, its gradient and its running averages.

An optimizer of this kind says which state it keeps (``_initial``), which numbers a step needs (``_plan``) and what is done to
the elements (``_update``).  ``_update`` is plain arithmetic, and so it runs on two things: on NumPy arrays, in place and block
by block, and on tensors, through ops that record gradients (``differentiable=True``) and that captures see.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..autograd import enable_grad
from ..core.base import Spec, TensorBase, make, storage_of
from ..core.devices import array_kinds, device_of, device_type_of, sole_accelerator
from ..core.dtypes import BY_NUMPY, COMPLEX, FLOATING, LOW_PRECISION, default
from ..core.errors import DtypeError, NotSupported, OperationError, ShapeError
from ..core.kernel_providers import SEVERAL, faster_step
from ..core.parallel import pool
from ..core.sparse import SPARSE
from ..core.state import flags, state
from ..ops.create.factories import full_like, zeros_like
from ..ops.pointwise import unary
from ..ops.pointwise.binary import maximum
from ..ops.pointwise.complex import view_as_real
from ..ops.pointwise.where_clamp import clamp, where
from .optimizer import Optimizer

# Elements of a block: few enough that what one step reads and writes of them stays in the processor's cache.
BLOCK = 1 << 16
PARALLEL, EACH = 1 << 16, 1 << 13  # elements of all parameters from which on a parallel loop pays, and how many of each on average
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

# What `_update` may call besides operators: `xp` is numpy for arrays, and this for tensors.
# A running maximum is written to when the new one is known, so its gradient must not need the old one.
tensor_functions = SimpleNamespace(
    abs=unary.abs, clip=clamp, maximum=lambda running, new: maximum(running.clone(), new), sign=unary.sign,
    sqrt=unary.sqrt, where=where,
)  # fmt: skip


def decayed(grad: Any, param: Any, weight_decay: Any) -> Any:
    """The gradient with weight decay.  A decay that is differentiated needs the parameter as it was before the step writes to it."""
    if isinstance(weight_decay, TensorBase) and state.grad_enabled:
        param = param.clone()
    return grad + weight_decay * param


class ElementwiseOptimizer(Optimizer):
    """An optimizer that treats all elements alike."""

    _scalars: tuple[str, ...] = ("step",)  # the entries of the state that are one number

    def _initial(self, group: dict[str, Any]) -> dict[str, Any]:
        """The entries of a parameter's state and their first values, step counters included."""
        raise NotImplementedError

    def _plan(self, group: dict[str, Any], *scalars: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The next values of the scalars, and the numbers that ``_update`` is given."""
        raise NotImplementedError

    @staticmethod
    def _update(xp: Any, group: dict[str, Any], numbers: tuple[Any, ...], param: Any, grad: Any, *buffers: Any) -> None:
        """Change the parameter and the buffers in place; the gradient and what comes out of ``xp`` stay as they are."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for entries in self.state.values():  # files of long ago hold plain numbers
            for name in self._scalars if isinstance(entries, dict) else ():
                if name in entries and not isinstance(entries[name], TensorBase):
                    entries[name] = scalar_tensor(float(entries[name]))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; a closure recomputes loss and gradients, and its loss is returned."""
        loss = None
        recording = state.grad_enabled
        state.grad_enabled = differentiable = bool(self.defaults["differentiable"])
        try:
            if closure is not None:
                with enable_grad():
                    loss = closure()
            through_ops = differentiable or flags.special
            for group in self.param_groups:
                self._step_group(group, through_ops)
        finally:
            state.grad_enabled = recording
        return loss

    def _step_group(self, group: dict[str, Any], through_ops: Any) -> None:
        initial = self._initial(group)
        scalars = self._scalars
        names = [name for name in initial if name not in scalars]
        last = next(reversed(initial), None)
        update, maximize = self._update, group["maximize"]
        entries: dict[str, Any] = {}
        values: list[float] = []
        buffers: list[Any] = []
        arrays: list[Any] = []
        numbers: Any = ()
        planned_kind: Any = None  # what the numbers were made for
        planned_values: list[float] | None = None
        waiting: dict[Any, list[tuple[Any, Any, dict[str, Any]]]] = {}  # on other devices: what is updated with the same numbers
        on_host: dict[Any, tuple[Any, list[tuple[list[Any], Any, list[Any]]]]] = {}  # arrays of NumPy, by dtype and numbers
        accelerated: Any = None if through_ops else sole_accelerator.array_type
        run: list[Any] = []
        run_dtype = run_numbers = None
        for param in group["params"]:
            grad = param._grad
            if grad is None:
                continue
            array, gradient = param._array, grad._array
            if (
                array.__class__ is accelerated is gradient.__class__
                and last is None
                and planned_values is not None
                and planned_kind is None
            ):
                if array.dtype is not run_dtype or numbers is not run_numbers:  # on one accelerator, with nothing in the state
                    run_dtype, run_numbers = array.dtype, numbers
                    run = waiting.setdefault((accelerated, run_dtype, numbers), [])
                run.append((param, grad, entries))
                continue
            if gradient.__class__ in SPARSE:
                self._update_sparse(group, param, -grad if maximize else grad)
                continue
            kind = None if through_ops or array.__class__ is not np.ndarray else array.dtype
            if last is not None:
                entries = self.state[param]
                if last not in entries:
                    self._begin(entries, initial, param)
                values = [float(entries[name]._array) for name in scalars]
                buffers = [entries[name] for name in names]
                arrays = [each._array for each in buffers]
            if kind is not planned_kind or values != planned_values:
                after, numbers = self._plan(group, *values)
                if kind is not None:
                    numbers = _as_arrays(numbers, kind)
                planned_kind, planned_values = kind, values
            if entries:
                for name, value in zip(scalars, after):
                    entries[name]._array.fill(value)
            if (
                kind is None
                and not through_ops
                and type(array) is type(gradient)
                and type(array) in array_kinds
                and not isinstance(array, Spec)
            ):
                place = accelerated if array.__class__ is accelerated else device_of(array)
                waiting.setdefault((place, array.dtype, numbers), []).append((param, grad, entries))
                continue
            if kind is None:
                parts = None if array.__class__ is np.ndarray else _parts([param, grad, *buffers])
                if parts is None:
                    self._update_tensors(group, numbers, param, grad, entries, names)
                else:
                    _update_blocks(update, group, _as_arrays(numbers, parts[0].dtype), parts)
                continue
            on_host.setdefault((kind, id(numbers)), (numbers, []))[1].append(([array, gradient, *arrays], param, buffers))
        for numbers, held in on_host.values():
            self._step_on_host(group, numbers, held, names)
        for (_, _, numbers), rows in waiting.items():
            self._step_on_device(group, numbers, rows, names)

    def _step_on_host(
        self, group: dict[str, Any], numbers: tuple[Any, ...], rows: list[tuple[list[Any], Any, list[Any]]], names: list[str]
    ) -> None:
        """The steps of parameters in NumPy's arrays: in one parallel loop where there are many elements, else one by one."""
        update, maximize = self._update, group["maximize"]
        small = rows[0][0][0].dtype in (_FLOAT32, _FLOAT64)
        done: set[int] = set()
        average = EACH if pool.threads >= SEVERAL else 2 * EACH
        if sum([arrays[0].size for arrays, _, _ in rows]) >= max(PARALLEL, average * len(rows)):
            together = [arrays for arrays, _, _ in rows if alike(arrays)]
            if together and faster_step(update, group, numbers, together):
                done = {id(each) for each in together}
        for arrays, param, buffers in rows:
            if id(arrays) not in done:
                array, gradient = arrays[:2]
                try:
                    if small and array.size <= BLOCK:
                        update(np, group, numbers, array, -gradient if maximize else gradient, *arrays[2:])
                    else:
                        _update_blocks(update, group, numbers, arrays)
                except ValueError as error:
                    raise ShapeError(
                        f"{type(self).__name__} needs a gradient and a state of the parameter's shape {array.shape}, got a gradient of "
                        f"{gradient.shape} and " + ", ".join(f"{name} of {each.shape}" for name, each in zip(names, arrays[2:]))
                    ) from error
            # A gradient that needs the old values is refused from now on.
            (param._storage or storage_of(param)).version += 1
            for each in buffers:
                (each._storage or storage_of(each)).version += 1

    def _step_on_device(
        self, group: dict[str, Any], numbers: tuple[Any, ...], rows: list[tuple[Any, Any, dict[str, Any]]], names: list[str]
    ) -> None:
        """The steps of parameters on another device than the CPU: in one go where the device can, else one by one through ops."""
        if names:
            arrays, written = [], []
            for param, grad, entries in rows:
                row = [param._array, grad._array]
                written.append(param)
                for name in names:
                    buffer = entries[name]
                    row.append(buffer._array)
                    written.append(buffer)
                arrays.append(row)
        else:
            arrays, written = [[param._array, grad._array] for param, grad, _ in rows], [row[0] for row in rows]
        if device_type_of(arrays[0][0]).optimizer_step(self._update, group, numbers, arrays):
            for each in written:
                (each._storage or storage_of(each)).version += 1
            return
        for param, grad, entries in rows:
            self._update_tensors(group, numbers, param, grad, entries, names)

    def _update_sparse(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        """One parameter's step by a sparse gradient, of the optimizers that take those."""
        hint = ", please consider SparseAdam instead" if type(self).__name__ in ("Adam", "AdamW") else ""
        raise OperationError(f"{type(self).__name__} does not support sparse gradients{hint}")

    def _begin(self, entries: dict[str, Any], initial: dict[str, Any], param: Any) -> None:
        """Fill in what a parameter's state lacks."""
        for name, value in initial.items():
            if name not in entries:
                entries[name] = scalar_tensor(value) if name in self._scalars else filled_like(param, value)

    def _update_tensors(
        self, group: dict[str, Any], numbers: Any, param: Any, grad: Any, entries: dict[str, Any], names: list[str]
    ) -> None:
        """One parameter's step through ops."""
        if group["maximize"]:
            grad = -grad
        if state.grad_enabled:  # what an earlier step has saved for its gradient must not be written to
            for name in names:
                entries[name] = entries[name].clone()
        tensors = [param, grad, *(entries[name] for name in names)]
        if BY_NUMPY[param._array.dtype].category == COMPLEX:
            tensors = [view_as_real(each) for each in tensors]
        self._update(tensor_functions, group, numbers, *tensors)


def alike(arrays: list[Any]) -> bool:
    """Whether arrays are in the order of rows, of one shape and a floating-point type of one kind: then a step may treat them as long rows of numbers."""
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for each in arrays:
        if each.shape != shape or each.dtype is not dtype and each.dtype != dtype:
            return False
        flags = each.flags
        if not flags.c_contiguous or not flags.aligned:
            return False
    return BY_NUMPY[dtype].category == FLOATING and arrays[0].flags.writeable


def _parts(tensors: list[Any]) -> list[np.ndarray[Any, Any]] | None:
    """The arrays that tensors in parts (DTensors) have here, where all are alike; None where a step has to go through ops."""
    if state.grad_enabled or state.interceptors or state.dispatch_modes or state.function_modes:
        return None
    placements = getattr(tensors[0], "placements", None)
    if placements is None or any(each.is_partial() for each in placements) or not all(hasattr(each, "placements") for each in tensors):
        return None
    # A gradient may have other placements than its parameter, or be parts of a sum.
    given = [each if each.placements == placements else each.redistribute(placements=placements) for each in tensors]
    if any(now is not each for at, (now, each) in enumerate(zip(given, tensors)) if at != 1):
        return None
    arrays = [getattr(each._local_tensor, "_array", None) for each in given]
    first = arrays[0]
    if all(each.__class__ is np.ndarray and each.shape == first.shape for each in arrays):  # type: ignore[union-attr]
        return arrays if first.size else None  # type: ignore[return-value, union-attr]
    return None


def scalar_tensor(value: Any) -> Any:
    """A number of the state, as a 0-dim tensor: of float32, unless the default type is float64."""
    return make(np.array(value, np.float64 if default.numpy == np.float64 else np.float32))


def plain_rate(group: dict[str, Any]) -> float:
    """The learning rate where it is part of the state, through which no gradient flows."""
    lr = group["lr"]
    if isinstance(lr, TensorBase):
        if group["differentiable"] and lr.requires_grad:  # type: ignore[attr-defined]
            raise NotSupported("this optimizer keeps its rate in its state: steps can't be differentiated with respect to lr")
        lr = lr.item()  # type: ignore[attr-defined]
    return float(lr)


def filled_like(param: Any, value: Any) -> Any:
    """A tensor laid out as the parameter; of a complex one both parts get the value."""
    if value == 0:
        return zeros_like(param)
    complex_type = BY_NUMPY[param._array.dtype].category == COMPLEX
    return full_like(param, complex(value, value) if complex_type else value)


# By type: the numbers of the last step, and the arrays that were made of them.
_last_numbers: dict[Any, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}


def _as_arrays(numbers: tuple[Any, ...], kind: Any) -> tuple[Any, ...]:
    """Numbers as 0-dim arrays of the type that is computed in: NumPy takes those twice as fast as Python's floats."""
    known = _last_numbers.get(kind)
    if known is not None and known[0] == numbers:
        return known[1]
    if BY_NUMPY[kind].category < FLOATING:
        raise DtypeError(f"only parameters of a floating-point or complex type can be optimized, not of {BY_NUMPY[kind]}")
    computed = _FLOAT32 if kind in LOW_PRECISION else BY_NUMPY[kind].to_real().numpy
    made = tuple([np.array(each.item() if isinstance(each, TensorBase) else each, computed) for each in numbers])  # type: ignore[attr-defined]
    if all(each.__class__ is float or each.__class__ is int for each in numbers):  # a tensor may change
        _last_numbers[kind] = numbers, made
    return made


def _update_blocks(update: Any, group: dict[str, Any], numbers: Any, arrays: list[Any]) -> None:
    """Run ``_update`` over blocks of rows; narrow types are computed in float32 and rounded once, complex ones as pairs."""
    kind = arrays[0].dtype
    if BY_NUMPY[kind].category == COMPLEX:
        real = BY_NUMPY[kind].to_real().numpy
        arrays = [each[..., None].view(real) for each in arrays]
    if all(each.flags.c_contiguous for each in arrays):
        arrays = [each.reshape(-1) for each in arrays]
    count = len(arrays[0]) if arrays[0].ndim else 1
    rows = max(1, BLOCK * count // max(arrays[0].size, 1))
    for start in range(0, count, rows):
        block = arrays if count <= rows else [each[start : start + rows] for each in arrays]
        computed = [each.astype(_FLOAT32) for each in block] if kind in LOW_PRECISION else block
        param, grad, *buffers = computed
        update(np, group, numbers, param, -grad if group["maximize"] else grad, *buffers)
        if computed is not block:
            for index, (target, source) in enumerate(zip(block, computed)):
                if index != 1:
                    target[...] = source
