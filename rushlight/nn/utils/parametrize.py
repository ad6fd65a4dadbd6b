"""Parameters that are functions of others: ``register_parametrization(layer, "weight", Symmetric())``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...autograd import no_grad
from ...core.base import TensorBase
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter


class _Cache:
    """What parametrized tensors are while ``cached()`` is on."""

    depth = 0
    values: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """For the time of a ``with`` block, compute each parametrized tensor once, the first time it is asked for."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


def _register_parameter_or_buffer(module: Any, name: str, X: Any) -> None:
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


def _take_over(target: Any, source: Any) -> None:
    """Give a tensor the memory of another; it stays the object that an optimizer may know."""
    if source is not target:
        target.data = source.detach()


class ParametrizationList(ModuleList):
    """The functions that make a tensor, and what they make it from: ``original``, or ``original0``, ``original1``, ..."""

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        found: Any = original
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        found = module.right_inverse(found)
                    except NotImplementedError:
                        pass  # then the tensor is taken as it is
        self.is_tensor = isinstance(found, TensorBase)
        if not (self.is_tensor or isinstance(found, Sequence)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(found).__name__}")
        self.ntensors = 1 if self.is_tensor else len(found)
        shape, dtype = original.shape, original.dtype
        if self.is_tensor:
            if found.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {found.dtype}"
                )
            if not unsafe or found is not original:
                _take_over(original, found)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for number, each in enumerate(found):
                if not isinstance(each, TensorBase):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {number} of the sequence with type {type(each).__name__}."
                    )
                if isinstance(original, Parameter):
                    each = Parameter(each, original.requires_grad)
                _register_parameter_or_buffer(self, f"original{number}", each)
        if not unsafe:
            result = self()
            _check_tensor("A parametrization must return a tensor", result)
            what = "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled."
            _check_same(what, "dtype", "unparametrized", dtype, "parametrized", result.dtype)
            _check_same(what, "shape", "unparametrized", shape, "parametrized", result.shape)

    def _originals(self) -> list[Any]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{number}") for number in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Change the originals so that the parametrized tensor becomes a value."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            values = value
            if self.is_tensor:
                _check_tensor("`right_inverse` should return a tensor", value)
                values = [value]
            elif not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            elif len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}."
                )
            for number, (original, new) in enumerate(zip(self._originals(), values)):
                _check_tensor(f"Tensor {number} returned by `right_inverse` should be a tensor", new)
                if original.dtype != new.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` has dtype {original.dtype}"
                    )
            for original, new in zip(self._originals(), values):
                _take_over(original, new)

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *others = self
        result = first(*self._originals())
        for module in others:
            result = module(result)
        return result


def _check_tensor(what: str, value: Any) -> None:
    if not isinstance(value, TensorBase):
        raise ValueError(f"{what}. Got {type(value).__name__}.")


def _check_same(what: str, field: str, before: str, a: Any, after: str, b: Any) -> None:
    if a != b:
        raise ValueError(f"{what.format(field)}\n{before} {field}: {a}\n{after} {field}: {b}")


# -- the class of a parametrized module --------------------------------------------------------------------------


def _parametrized_class(cls: type, names: Sequence[str]) -> type:
    """A subclass with properties in the place of tensors; every parametrized module has one of its own."""

    def __getstate__(self: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        replica: Any = object.__new__(cls)
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        replica.__class__ = _parametrized_class(cls, list(self.parametrizations))
        return replica

    fields: dict[str, Any] = {"__getstate__": __getstate__, "__module__": ParametrizationList.__module__}
    if not hasattr(cls, "__deepcopy__"):
        fields["__deepcopy__"] = __deepcopy__
    fields.update({name: _property(name) for name in names})
    return type(f"Parametrized{cls.__name__}", (cls,), fields)


def _property(name: str) -> property:
    def compute(self: Any) -> Any:
        if not _Cache.depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _Cache.values:
            _Cache.values[key] = self.parametrizations[name]()
        return _Cache.values[key]

    def assign(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(compute, assign)


# -- the functions -----------------------------------------------------------------------------------------------


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Recompute one of a module's parameters or buffers whenever it is used.

    >>> import rushlight as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, X):
    ...         return X.triu() + X.triu(1).T
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True

    A parametrization with a method ``right_inverse`` can be assigned to. ``unsafe`` skips the checks that types and shapes stay.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _parametrized_class(type(module), [])
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def _check_addition(module: Any, name: str, parametrization: Any) -> None:
    """A parametrization on top of others keeps type and shape, both ways."""
    present = getattr(module, name)
    changed = parametrization(present)
    _check_tensor("A parametrization must return a tensor", changed)
    what = "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled."
    _check_same(what, "dtype", f"module.{name}", present.dtype, f"parametrization(module.{name})", changed.dtype)
    _check_same(what, "shape", f"module.{name}", present.shape, f"parametrization(module.{name})", changed.shape)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(changed)
        except NotImplementedError:
            return
        _check_tensor("parametrization.right_inverse must return a tensor", back)
        what = f"The tensor returned by parametrization.right_inverse must have the same {{}} as module.{name}, unless the `unsafe` flag is enabled."
        _check_same(what, "dtype", f"module.{name}", present.dtype, "returned", back.dtype)
        _check_same(what, "shape", f"module.{name}", present.shape, "returned", back.shape)


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one for a certain tensor."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a tensor an ordinary parameter or buffer again: as it is now, or as it was before the parametrizations."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                _take_over(original, getattr(module, tensor_name))
    elif leave_parametrized:
        present = getattr(module, tensor_name)
        original = Parameter(present.detach()) if present.requires_grad else present
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give a module the parametrizations of another and what they work on, for one tensor or for all."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not is_parametrized(from_module, name):
            raise ValueError(f"Module {from_module} does not have a parametrization on {name}")
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for field in ["original"] if source.is_tensor else [f"original{number}" for number in range(source.ntensors)]:
            setattr(target, field, getattr(source, field))
    return to_module


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip
