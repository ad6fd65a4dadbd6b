"""What a Module keeps on disk: ``state_dict`` and ``load_state_dict``, with their hooks and their complaints.

Loading has two phases: first everything is checked, and all that does not fit is listed; only then is anything copied.  So a
module is either loaded or as it was.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from ...autograd import no_grad
from ...core.base import TensorBase
from ...core.node import RemovableHandle
from ...tensor.swapping import swap_tensors
from ..parameter import Parameter, is_lazy
from .module_conversion import load_by_swap, settings
from .module_hooks import add

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What did not fit in ``load_state_dict``."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


# -- steps of loading --------------------------------------------------------------------------------------------


class _Copy:
    """Loading one parameter or buffer."""

    def __init__(self, module: Any, name: str, key: str, target: Any, source: Any, assign: bool) -> None:
        self.module, self.name, self.key = module, name, key
        self.target, self.source, self.assign = target, source, assign
        self.before: Any = None
        self.swapped: Any = None  # what a swap took out

    def misfit(self) -> str | None:
        """What is wrong, if anything is."""
        target, source, key = self.target, self.source, self.key
        if not isinstance(source, TensorBase):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                f"received {type(source)}"
            )
        if is_lazy(target):
            return None
        if not target._array.ndim and source.shape == (1,) and not self.assign:
            source = self.source = source[0]  # type: ignore[index]  # files of long ago
        if source.shape != target.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, the shape in current "
                f"model is {target.shape}."
            )
        if source.is_meta and not target.is_meta and not self.assign:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {target.shape} and whose '
                f"dimensions in the checkpoint are {source.shape}, an exception occurred : "
                "('Cannot copy out of meta tensor; no data!',)."
            )
        if target.is_meta and not source.is_meta and not self.assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
                "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
                "corresponding key in the module instead of copying them in place?)",
                stacklevel=6,
            )
        return None

    def remember(self) -> None:
        """Keep what is needed to undo the step."""
        if self.assign:
            return
        target = self.target
        self.before = (type(target), target._array, target._storage) if is_lazy(target) else target.detach().clone()

    def run(self) -> None:
        """Copy, or put in place."""
        target, source = self.target, self.source
        with no_grad():
            if settings.swap and not is_lazy(target):
                try:
                    self.swapped = load_by_swap(target, source, self.assign)
                except Exception as error:
                    raise RuntimeError(
                        f"Error(s) in loading state_dict for {type(self.module).__name__}:\n\tWhile copying the parameter named "
                        f'"{self.key}", whose dimensions in the model are {target.size()} and whose dimensions in the checkpoint are '
                        f"{source.size()}, an exception occurred : {error.args}."
                    ) from error
                return
            if self.assign:
                if isinstance(target, Parameter):
                    if isinstance(source, Parameter):
                        source.requires_grad_(target.requires_grad)
                    else:
                        source = Parameter(source, target.requires_grad)
                setattr(self.module, self.name, source)
                return
            if is_lazy(target) and not is_lazy(source):
                target.materialize(source.shape)
            if not is_lazy(target) and not (target.is_meta and not source.is_meta):
                target.copy_(source)

    def undo(self) -> None:
        """Put back what was there."""
        target = self.target
        if self.swapped is not None:
            swap_tensors(target, self.swapped)
        if self.assign:
            setattr(self.module, self.name, target)
        elif isinstance(self.before, tuple):
            target.__class__, target._array, target._storage = self.before
        else:
            with no_grad():
                target.copy_(self.before)


class _ExtraState:
    """Loading what a module keeps beside parameters and buffers."""

    def __init__(self, module: Any, state: Any) -> None:
        self.module, self.state = module, state

    def remember(self) -> None:
        """Keep what is needed to undo the step."""
        self.before = self.module.get_extra_state()

    def run(self) -> None:
        """Hand the state to the module."""
        self.module.set_extra_state(self.state)

    def undo(self) -> None:
        """Hand back the state that was."""
        self.module.set_extra_state(self.before)


class _Loading(threading.local):
    """The steps that the ``load_state_dict`` under way will take once everything is known to fit; None outside of one."""

    steps: list[Any] | None = None


_loading = _Loading()


class _LoadHook:
    """A ``load_state_dict`` pre-hook, and whether it takes the module."""

    def __init__(self, function: Callable[..., Any], with_module: bool) -> None:
        self.function, self.with_module = function, with_module

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.function(module, *args) if self.with_module else self.function(*args)


class _PublicHook:
    """A hook of after ``state_dict`` that must not return anything."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> None:
        if self.function(*args) is not None:
            raise RuntimeError("state_dict post-hook must return None")


class StateMixin:
    """The part of Module that reads and writes its state."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any
    _load_state_dict_pre_hooks: Any
    _load_state_dict_post_hooks: Any
    _version: int

    def get_extra_state(self) -> Any:
        """What a subclass wants to keep beside parameters and buffers."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: a subclass that has extra state defines it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what ``get_extra_state`` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: a subclass that has extra state defines it."
        )

    # -- writing -------------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by their full names."""
        if args:
            warnings.warn("Positional args of state_dict are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local)
            destination = destination if result is None else result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in {**self._parameters, **self._persistent_buffers()}.items():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _persistent_buffers(self) -> dict[str, Any]:
        return {name: each for name, each in self._buffers.items() if name not in self._non_persistent_buffers_set}

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict`` was filled; it may change it in place."""
        return add(self._state_dict_hooks, _PublicHook(hook))

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` is filled."""
        return add(self._state_dict_pre_hooks, hook)

    # -- reading -------------------------------------------------------------------------------------------------

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        return add(self._load_state_dict_pre_hooks, _LoadHook(hook, with_module))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the lists in place."""
        return add(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Check what belongs to this module alone; within ``load_state_dict`` the copying comes later, else at once."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        members = {**self._parameters, **self._persistent_buffers()}
        own = {name: each for name, each in members.items() if each is not None}
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        steps: list[Any] = []
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                step = _Copy(self, name, key, target, state_dict[key], assign)
                problem = step.misfit()
                if problem:
                    error_msgs.append(problem)
                else:
                    steps.append(step)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if extra in state_dict:
                steps.append(_ExtraState(self, state_dict[extra]))
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if head not in (self._modules if dot else own):
                        unexpected_keys.append(key)
        if _loading.steps is not None:
            _loading.steps += steps
            return
        for step in steps:
            step.run()

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy parameters and buffers from a ``state_dict``.

        All that does not fit is listed in one error, and nothing is changed then.  With ``strict=False`` missing and unexpected
        keys are no error; with ``assign=True`` the tensors themselves are taken instead of copies.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        steps, modules = self._plan_loading(state_dict, assign, keys, errors)
        hooked = [module for module in modules if module._load_state_dict_post_hooks]

        def mismatch() -> bool:
            return strict and bool(keys.missing_keys or keys.unexpected_keys)

        if not errors and (hooked or not mismatch()):
            doubtful = mismatch()  # unless hooks strike the keys off the lists
            if doubtful:
                for step in steps:
                    step.remember()
            for step in steps:
                step.run()
            for module in hooked:
                _call_post_hooks(module, keys)
            if doubtful and mismatch():
                for step in reversed(steps):
                    step.undo()
        if strict:
            for what, found in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if found:
                    listed = ", ".join(f'"{key}"' for key in found)
                    errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return keys

    def _plan_loading(self, state_dict: Any, assign: bool, keys: _IncompatibleKeys, errors: list[str]) -> tuple[list[Any], list[Any]]:
        """Check everything: the steps to take, and the modules in the order in which they are done."""
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        modules: list[Any] = []

        def visit(module: Any, local_state: Any, prefix: str) -> None:
            local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(local_state, prefix, local, True, *keys, errors)
            for name, child in module._modules.items():
                if child is not None:
                    start = prefix + name + "."
                    visit(child, {key: value for key, value in local_state.items() if key.startswith(start)}, start)
            modules.append(module)

        outer, _loading.steps = _loading.steps, []
        try:
            visit(self, state, "")
            return _loading.steps, modules
        finally:
            visit = None  # type: ignore[assignment]  # it refers to itself
            _loading.steps = outer


def _call_post_hooks(module: Any, keys: _IncompatibleKeys) -> None:
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                "incompatible_keys need to be modified, it should be done inplace."
            )
