"""`torch._dynamo.config`: settings of the compiler."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ...capture.compile.config import settings
from ..config_module import patched

_OTHER_NAMES = {"cache_size_limit": "recompile_limit"}

# Settings of PyTorch's that have no counterpart, with its defaults: what is set can be read again, and changes nothing.
_KEPT: dict[str, Any] = {
    "accumulated_recompile_limit": 256, "allow_unspec_int_on_nn_module": False, "assume_static_by_default": True, "automatic_dynamic_shapes": True,
    "capture_dynamic_output_shape_ops": False, "capture_scalar_outputs": False, "force_parameter_static_shapes": True,
    "inline_inbuilt_nn_modules": True, "optimize_ddp": True, "skip_fwd_side_effects_in_bwd_under_checkpoint": False, "specialize_int": False,
    "compiled_autograd": False, "log_compilation_metrics": True, "suppress_errors": False, "verbose": False, "guard_nn_modules": True, "log_level": 30,
}  # fmt: skip


_hidden: set[str] = set()


class _Config(ModuleType):
    """The module: its settings are read and written as attributes.  One that is deleted is absent until it is set again, as `mock.patch` needs it."""

    def __getattr__(self, name: str) -> Any:
        if name in _hidden:
            raise AttributeError(f"torch._dynamo.config.{name} was deleted")
        return self._value(name)

    def _value(self, name: str) -> Any:
        found = vars(settings).get(_OTHER_NAMES.get(name, name), _KEPT.get(name, self))
        if found is self:
            raise AttributeError(f"torch._dynamo.config has no setting {name!r} in rushlight; there are {', '.join(vars(settings))}")
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        now = self._value(name)
        if type(value) is not type(now):
            raise TypeError(f"torch._dynamo.config.{name} is a {type(now).__name__}, and not a {type(value).__name__}")
        chosen = _OTHER_NAMES.get(name, name)
        if chosen in vars(settings):
            setattr(settings, chosen, value)
        else:
            _KEPT[name] = value
        _hidden.discard(name)

    def __delattr__(self, name: str) -> None:
        self.__getattr__(name)
        _hidden.add(name)


def patch(changes: Any = None, value: Any = None, **more: Any) -> Any:
    """Other settings for a while: ``patch(recompile_limit=2)``, ``patch("recompile_limit", 2)`` or with a dict; also a decorator."""
    return patched(sys.modules[__name__], changes, value, **more)


sys.modules[__name__].__class__ = _Config
