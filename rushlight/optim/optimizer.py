"""Optimizer: what all optimizers share — parameter groups, state on disk, hooks."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.base import TensorBase
from ..core.missing import missing
from ..core.node import HookTable, RemovableHandle
from ..tensor.legacy import typename

ParamsT: TypeAlias = Iterable[Any] | Iterable[dict[str, Any]] | Iterable[tuple[str, Any]]
StateDict: TypeAlias = dict[str, Any]


class _RequiredParameter:
    """Stands in ``defaults`` for an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _RequiredParameter()
_global_optimizer_pre_hooks = HookTable()
_global_optimizer_post_hooks = HookTable()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return _global_optimizer_pre_hooks.add(hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return _global_optimizer_post_hooks.add(hook)


_HOOKS = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


class Optimizer:
    """Base class of all optimizers: subclass it, pass the options' defaults to ``__init__``, and write ``step``.

    >>> import rushlight as torch
    >>> weight = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.5)
    >>> (weight * weight).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0., 0.], requires_grad=True)
    """

    _optimizer_step_pre_hooks: HookTable
    _optimizer_step_post_hooks: HookTable
    _optimizer_state_dict_pre_hooks: HookTable
    _optimizer_state_dict_post_hooks: HookTable
    _optimizer_load_state_dict_pre_hooks: HookTable
    _optimizer_load_state_dict_post_hooks: HookTable

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, HookTable())
        self._patch_step_function()
        if isinstance(params, TensorBase):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {typename(params)}")
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, HookTable())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        groups = []
        for number, group in enumerate(self.param_groups):
            options = [f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"]
            groups.append(f"Parameter Group {number}\n" + "".join(options))
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    # -- stepping ------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; a closure recomputes loss and gradients, and its loss is returned."""
        raise NotImplementedError(f"{type(self).__name__} defines no step()")

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
        """Lists of tensors split by the device and dtype of the first list's tensors, and where each tensor was."""
        found: dict[Any, Any] = {}
        for index, first in enumerate(tensorlistlist[0]):
            lists, places = found.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
            places.append(index)
            for target, source in zip(lists, tensorlistlist):
                target.extend(source[index : index + 1])
        return found

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a ``step`` so that it runs the hooks of the optimizer and those of all optimizers."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
            if not (before or after or _global_optimizer_pre_hooks or _global_optimizer_post_hooks):
                return func(*args, **kwargs)
            for hook in (*_global_optimizer_pre_hooks.values(), *before.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                    args, kwargs = changed
            result = func(*args, **kwargs)
            for hook in (*after.values(), *_global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return result

        return wrapper

    def _patch_step_function(self) -> None:
        """Give the class's own ``step`` its hooks, once."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            hooked: Any = self.profile_hook_step(cls.step)
            hooked.hooked = True
            cls.step = hooked  # type: ignore[method-assign]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                elif param.grad.grad_fn is not None:
                    param.grad.detach_().zero_()
                else:
                    param.grad.requires_grad_(False).zero_()

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return self._optimizer_step_pre_hooks.add(hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._optimizer_step_post_hooks.add(hook)

    # -- parameter groups ----------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a dict with ``params`` and options of their own; what it leaves out is taken from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, TensorBase):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
                "between runs. Please use a list instead."
            )
        params = list(params)
        named = [each for each in params if isinstance(each, tuple)]
        if named:
            if len(named) < len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        param_group["params"] = params
        for param in params:
            if not isinstance(param, TensorBase):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(set(params)) < len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        present = {param for group in self.param_groups for param in group["params"]}
        if not present.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            kind = "with" if "param_names" in param_group else "without"
            raise ValueError(
                f"all optimizer param groups should be with/without names. cannot add param group {kind} names to the optimizer"
            )
        self.param_groups.append(param_group)

    # -- state on disk -------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """The state by number of the parameter, and the groups with numbers for parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers.setdefault(id(param), len(numbers)) for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, TensorBase) else key: value for key, value in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over a ``state_dict``; if it does not fit, an error is raised and nothing has changed."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(own["params"]) != len(group["params"]) for own, group in zip(self.param_groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        of_number: dict[Any, Any] = {}
        for own, group in zip(self.param_groups, saved):
            for number, param in zip(group["params"], own["params"]):
                of_number[number] = (param, bool(group.get("capturable") or group.get("fused")))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            if number in of_number:
                param, on_device = of_number[number]
                state[param] = _fit(value, param, on_device)
            else:
                state[number] = value
        for own, group in zip(self.param_groups, saved):
            group["params"] = own["params"]
            if "param_names" in own:
                group["param_names"] = own["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def register_state_dict_pre_hook(self, hook: Callable[[Any], None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[[Any, StateDict], Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; what it returns replaces the result."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[[Any, StateDict], Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; what it returns is loaded instead."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[[Any], None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _add(table: HookTable, hook: Callable[..., Any], first: bool) -> RemovableHandle:
    handle = table.add(hook)
    if first:
        others = {key: table.pop(key) for key in list(table) if key != handle.id}
        table.update(others)
    return handle


def _fit(value: Any, param: Any, on_device: bool, key: Any = None) -> Any:
    """A value of a loaded state, in its parameter's type and place; a step counter keeps its own type."""
    if isinstance(value, TensorBase):
        if key == "step":
            return value.float() if on_device else value  # type: ignore[attr-defined]
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)  # type: ignore[attr-defined]
        return value.to(device=param.device)  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {name: _fit(each, param, on_device, name) for name, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fit(each, param, on_device, key) for each in value)  # type: ignore[call-arg]
    return value


# -- what options may be -----------------------------------------------------------------------------------------


def check_rate(lr: Any) -> None:
    """A learning rate is a number, or a tensor of one, and not negative."""
    if isinstance(lr, TensorBase) and lr._array.size != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_not_negative(**options: Any) -> None:
    """Refuse options below zero, by the name that PyTorch's messages use."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Any) -> None:
    """Check that decay rates of running averages are in [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def check_implementations(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """``foreach`` and ``fused`` choose between implementations that give the same numbers; not all go together."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_tensor_rate(lr: Any, foreach: bool | None, capturable: bool) -> None:
    """PyTorch's foreach implementations take a rate as a tensor only where they can be captured."""
    if isinstance(lr, TensorBase) and foreach and not capturable:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)

__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]
