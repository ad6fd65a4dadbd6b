"""Policies: which submodules of a model are wrapped on their own."""

from __future__ import annotations

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...core.missing import missing
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.multihead_attention import MultiheadAttention

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
           "transformer_auto_wrap_policy", "wrap"]  # fmt: skip
__getattr__ = missing(__name__)


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every submodule."""
    return True


def lambda_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]) -> bool:
    """Submodules for which a function returns True."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type]) -> bool:
    """Submodules of some classes."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def _or_policy(module: Any, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    """What one of several policies wraps."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module: Any,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Submodules with many parameters."""
    leaves = {MultiheadAttention} if force_leaf_modules is None else force_leaf_modules
    excluded = {ModuleList, ModuleDict} if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


class _Policy(ABC):
    """Which submodules are wrapped, and with which arguments."""

    @abstractmethod
    def _run_policy(self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
        """Submodules and arguments."""


class ModuleWrapPolicy(_Policy):
    """Submodules of some classes."""

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
        kinds = tuple(self._module_classes)
        return {each: dict(root_kwargs) for each in root_module.modules() if each not in ignored_modules and isinstance(each, kinds)}

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return True if recurse else isinstance(module, tuple(self._module_classes))


class CustomPolicy(_Policy):
    """Submodules for which a function returns True, or arguments."""

    def __init__(self, lambda_fn: Callable[[Any], Any]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module: Any, ignored_modules: set[Any], root_kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
        found = {each: self._lambda_fn(each) for each in root_module.modules() if each not in ignored_modules}
        return {each: {**root_kwargs, **(given if isinstance(given, dict) else {})} for each, given in found.items() if given}


def chosen_by(policy: Any, root: Any, ignored: Any = ()) -> list[tuple[Any, str, Any, dict[str, Any]]]:
    """The submodules that a policy wraps, innermost first: with their parents and names, and arguments that it gives for them."""
    outside = {id(each) for each in ignored}
    wanted: dict[int, dict[str, Any]] | None = None
    if isinstance(policy, _Policy):
        wanted = {id(each): given for each, given in policy._run_policy(root, set(ignored), {}).items()}
    found: list[tuple[Any, str, Any, dict[str, Any]]] = []

    def decides(module: Any, recurse: bool, count: int) -> bool:
        if wanted is not None:
            return recurse or id(module) in wanted
        return bool(policy(module=module, recurse=recurse, nonwrapped_numel=count))

    def visit(module: Any) -> tuple[int, bool]:
        """How many elements of a module's parameters are in no wrapped submodule, and whether it may be wrapped itself."""
        left = sum(each.numel() for each in module.parameters())
        if not decides(module, True, left):
            return left, False
        for name, child in module.named_children():
            if id(child) in outside:
                continue
            rest, free = visit(child)
            left -= sum(each.numel() for each in child.parameters()) - rest
            if free and decides(child, False, rest):
                found.append((module, name, child, (wanted or {}).get(id(child), {})))
                left -= rest
        return left, True

    visit(root)
    return found


class _Wrapping:
    wrapper: Any = None


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A context in which ``wrap`` wraps with a class."""
    before, _Wrapping.wrapper = _Wrapping.wrapper, functools.partial(wrapper_cls, **wrapper_kwargs)
    try:
        yield
    finally:
        _Wrapping.wrapper = before


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """A module, wrapped within ``enable_wrap``."""
    return module if _Wrapping.wrapper is None else _Wrapping.wrapper(module, **wrap_overrides)
