"""The hooks of modules: those that hold for all of them, and the call of one that has any."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...autograd import Function, is_grad_enabled
from ...core.base import TensorBase
from ...core.node import HookTable, RemovableHandle
from ...ops.create.factories import zeros_like

_global_forward_pre_hooks = HookTable()
_global_forward_hooks = HookTable()
_global_forward_hooks_with_kwargs: dict[int, bool] = {}
_global_forward_hooks_always_called: dict[int, bool] = {}
_global_backward_pre_hooks = HookTable()
_global_backward_hooks = HookTable()
_global_parameter_registration_hooks = HookTable()
_global_buffer_registration_hooks = HookTable()
_global_module_registration_hooks = HookTable()
_full: list[bool] = []  # which kind the global backward hooks are of: they do not mix


class _Assignable(ModuleType):
    """A module whose tables of hooks may be assigned: their contents change, as all callers hold the tables themselves."""

    def __setattr__(self, name: str, value: Any) -> None:
        table = globals().get(name) if name.startswith("_global_") else None
        if isinstance(table, dict):
            table.clear()
            table.update(value)
        else:
            super().__setattr__(name, value)


def let_tables_be_assigned(module_name: str) -> None:
    """Have ``module._global_forward_hooks = OrderedDict()`` take all hooks away, which test suites do between tests."""
    sys.modules[module_name].__class__ = _Assignable


def add(table: Any, hook: Callable[..., Any], prepend: bool = False, *marks: dict[int, bool]) -> RemovableHandle:
    """Put a hook into a table, last or first, and mark its number in side tables."""
    handle = RemovableHandle(table, extra_dict=[*marks])
    table[handle.id] = hook
    for each in marks:
        each[handle.id] = True
    if prepend:
        others = {key: value for key, value in table.items() if key != handle.id}
        table.clear()
        table[handle.id] = hook
        table.update(others)
    return handle


def check_kind(is_full: bool, found: bool | None, where: str) -> None:
    """Backward hooks of both kinds do not go together."""
    if found is not None and found is not is_full:
        raise RuntimeError(f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them.")


# -- hooks for all modules ---------------------------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before every forward of every module."""
    return add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every forward of every module."""
    marks = [_global_forward_hooks_with_kwargs] if with_kwargs else []
    marks += [_global_forward_hooks_always_called] if always_call else []
    return add(_global_forward_hooks, hook, False, *marks)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return add(_global_backward_pre_hooks, hook)


def _register_global_backward(hook: Callable[..., Any], is_full: bool) -> RemovableHandle:
    check_kind(is_full, _full[0] if _full and _global_backward_hooks else None, "as a global Module hook")
    _full[:] = [is_full]
    return add(_global_backward_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward of every module."""
    return _register_global_backward(hook, True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the last operation of every module's forward went backward."""
    return _register_global_backward(hook, False)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when a parameter is registered; what it returns takes its place."""
    return add(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a buffer is registered; what it returns takes its place."""
    return add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a submodule is registered; what it returns takes its place."""
    return add(_global_module_registration_hooks, hook)


def registered(table: HookTable, module: Any, name: str, value: Any) -> Any:
    """What is registered under a name once the hooks of its kind have seen it."""
    for hook in table.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


# -- gradients of a module's inputs and outputs ------------------------------------------------------------------


class BackwardHookFunction(Function):
    """The identity on several tensors, with one node: a place where a module's gradients come together."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """Views of the tensors."""
        return tuple(each.view_as(each) for each in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients as they came."""
        return gradients


def _through_one_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """Values with their differentiable tensors led through one node, that node, and where those tensors stand."""
    positions = [i for i, each in enumerate(values) if isinstance(each, TensorBase) and each.requires_grad]
    if not positions or not is_grad_enabled():
        return values, None, positions
    passed = BackwardHookFunction.apply(*(values[i] for i in positions))
    replaced = list(values)
    for position, each in zip(positions, passed):
        replaced[position] = each
    return tuple(replaced), passed[0].grad_fn, positions


def _replaced(changed: Any, current: tuple[Any, ...], hook: str, what: str) -> tuple[Any, ...]:
    """What a hook returned instead of gradients, if it fits."""
    if changed is None:
        return current
    if not isinstance(changed, (tuple, list)) or len(changed) != len(current):
        got = len(changed) if isinstance(changed, (tuple, list)) else f"one {type(changed).__name__} and no tuple"
        raise RuntimeError(f"{hook} returned an invalid number of {what}, got {got}, but expected {len(current)}")
    return tuple(changed)


class BackwardHooks:
    """One call's full backward hooks: they see gradients of the outputs on the way in, of the inputs on the way out."""

    def __init__(self, module: Any, before: list[Any], after: list[Any]) -> None:
        self.module, self.before, self.after = module, before, after
        self.grad_outputs: Any = None
        self.input_count = 0  # how many inputs the gradients will be known of

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, led through a node that calls the hooks when the gradients of the inputs are known."""
        watched, node, positions = _through_one_node(args)
        if node is None:
            return args
        self.input_count = len(args)
        others = {i: each.detach() for i, each in enumerate(args) if isinstance(each, TensorBase) and i not in positions}

        def after(grad_inputs: Any, _: Any) -> Any:
            if self.grad_outputs is None:  # gradients that did not come in by the module's outputs
                return None
            spread: list[Any] = [None] * len(args)
            for i, each in others.items():
                spread[i] = zeros_like(each)
            for i, each in zip(positions, grad_inputs):
                spread[i] = each
            result = self.call_after(tuple(spread))
            self.grad_outputs = None
            return tuple(result[i] for i in positions)

        node.register_hook(after)
        return watched

    def call_after(self, grad_inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let the hooks see, and change, the gradients of the inputs."""
        for hook in self.after:
            changed = hook(self.module, grad_inputs, self.grad_outputs)
            grad_inputs = _replaced(changed, grad_inputs, "Backward hook", "grad_input")
        return grad_inputs

    def watch_outputs(self, result: Any) -> Any:
        """The result, led through a node that calls the hooks when the gradients of the outputs are known."""
        if not isinstance(result, (TensorBase, tuple)):
            warnings.warn(
                f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                stacklevel=3,
            )
            return result
        several = result if isinstance(result, tuple) else (result,)
        watched, node, positions = _through_one_node(several)
        if node is None:
            return result

        def before(gradients: Any) -> Any:
            spread: list[Any] = [None] * len(several)
            for position, each in zip(positions, gradients):
                spread[position] = each
            self.grad_outputs = tuple(spread)
            for hook in self.before:
                changed = hook(self.module, self.grad_outputs)
                self.grad_outputs = _replaced(changed, self.grad_outputs, "Backward pre hook", "grad_output")
            found = tuple(self.grad_outputs[i] for i in positions)
            if self.after and not self.input_count:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                    "require gradients.",
                    stacklevel=2,
                )
                self.call_after((None,))
                self.grad_outputs = None
            return found

        node.register_prehook(before)
        if not isinstance(result, tuple):
            return watched[0]
        return type(result)(*watched) if hasattr(result, "_fields") else watched


def _first_tensor(value: Any) -> Any:
    while not isinstance(value, TensorBase):
        value = next(each for each in value.values() if isinstance(each, TensorBase)) if isinstance(value, dict) else value[0]
    return value


def _watch_last_operation(module: Any, hooks: list[Any], result: Any) -> None:
    """Hooks of the older kind: they see the gradients of the last operation of the forward alone."""
    node = _first_tensor(result).grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(lambda grad_inputs, grad_outputs, hook=hook: hook(module, grad_inputs, grad_outputs))


# -- calling -----------------------------------------------------------------------------------------------------


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module's forward amid its hooks."""
    called: set[int] = set()
    result: Any = None
    try:
        args, kwargs = _before_forward(module, args, kwargs)
        before = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        global_after, own_after = list(_global_backward_hooks.values()), list(module._backward_hooks.values())
        after = (global_after if _full == [True] else []) + (own_after if module._is_full_backward_hook else [])
        older = (global_after if _full == [False] else []) + (own_after if module._is_full_backward_hook is False else [])
        watcher = BackwardHooks(module, before, after) if before or after else None
        if watcher:
            args = watcher.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for number, hook, with_kwargs in _forward_hooks(module):
            called.add(number)
            changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if changed is None else changed
        if watcher:
            result = watcher.watch_outputs(result)
        if older:
            _watch_last_operation(module, older, result)
        return result
    except Exception:
        _call_the_rest(module, args, kwargs, result, called)
        raise


def _before_forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for number, hook in [*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
        if number in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward_hooks(module: Any) -> list[tuple[int, Any, bool]]:
    """Numbers and functions of the forward hooks, and whether each wants the keyword arguments."""
    return [
        *((i, hook, i in _global_forward_hooks_with_kwargs) for i, hook in _global_forward_hooks.items()),
        *((i, hook, i in module._forward_hooks_with_kwargs) for i, hook in module._forward_hooks.items()),
    ]


def _call_the_rest(module: Any, args: Any, kwargs: Any, result: Any, called: set[int]) -> None:
    """After an error: the hooks that are to be called in any case and were not yet."""
    always = _global_forward_hooks_always_called.keys() | module._forward_hooks_always_called.keys()
    for number, hook, with_kwargs in _forward_hooks(module):
        if number not in always or number in called:
            continue
        try:
            changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if changed is None else changed
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                f"raised in forward: {error}",
                stacklevel=2,
            )
