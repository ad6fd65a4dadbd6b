"""Behaviour of Modules that a program asks for before it becomes the default: how conversions replace parameters."""

from __future__ import annotations

from .core.missing import missing as _missing
from .nn.modules.module_conversion import settings as _settings

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion", "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]  # fmt: skip


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``module.to`` and its kin put new Parameters in the place of the old ones, instead of changing these."""
    _settings.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new Parameters in the place of the old ones."""
    return _settings.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether ``module.to`` and its kin, and ``load_state_dict``, swap tensors (:func:`rushlight.utils.swap_tensors`).

    A Parameter that is swapped stays the same object for an optimizer, also where its class changes. ``load_state_dict`` then asks
    each tensor's ``module_load`` for what takes its place.
    """
    _settings.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions and ``load_state_dict`` swap tensors."""
    return _settings.swap


__getattr__ = _missing(__name__)
