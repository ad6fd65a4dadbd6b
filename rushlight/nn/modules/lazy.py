"""Lazy modules: those that learn the shape of their parameters from the first input."""

from __future__ import annotations

import itertools
from typing import Any

from ..parameter import is_lazy


def _infer_parameters(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    """Before the first forward: give the parameters their shapes, and turn the module into an ordinary one."""
    module.initialize_parameters(*args, **(kwargs or {}))
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    del module._initialize_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyModuleMixin:
    """What makes a layer lazy: ``class LazyLinear(LazyModuleMixin, Linear)`` with ``initialize_parameters(self, input)``.

    Parameters without a shape are ``UninitializedParameter``; the first forward gives them one, and the layer then becomes an
    instance of ``cls_to_become``.

    >>> import rushlight as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> _ = layer(torch.ones(1, 2))
    >>> layer
    Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: Any = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        register: Any = getattr(self, "register_forward_pre_hook")  # noqa: B009  (the other base class has it)
        self._initialize_hook = register(_infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters shapes that fit the input; every lazy class defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any(is_lazy(each) for each in itertools.chain(self._parameters.values(), self._buffers.values()))


__all__ = ["LazyModuleMixin", "is_lazy"]
