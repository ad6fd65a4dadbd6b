"""Scaling of losses, so that small gradients survive narrow types; and of steps not taken where a gradient overflowed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from ..core.base import TensorBase, make, storage_of
from ..core.devices import accelerator, device
from ..core.errors import OperationError, ValueRangeError
from ..ops.pointwise.arithmetic import mul


class OptState(Enum):
    """How far an optimizer has come since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, and adapts it: up after quiet times, down after overflows.

    >>> scaler = GradScaler("cpu", init_scale=4.0)
    >>> scaler.get_scale()
    4.0
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device
        self._enabled = enabled
        if enabled and device != "cpu" and (device != "cuda" or accelerator() is None):
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.", UserWarning, stacklevel=2
            )
            self._enabled = False
        if not self._enabled:
            return
        assert growth_factor > 1.0, "The growth factor must be > 1.0."
        assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._init_scale = init_scale
        self._scale: Any = None  # a tensor, from the first call of scale on
        self._known: tuple[int, float] | None = None  # the version of that tensor, and its number: asking a device for it would wait
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: int | None = None  # steps without overflow since the scale last changed
        self._forget()

    def _forget(self) -> None:
        """Begin a new iteration: no optimizer has been seen."""
        self._stages: dict[int, OptState] = {}
        self._finite: dict[
            int, dict[device, Any]
        ] = {}  # by optimizer, of those that had gradients, and device: whether gradients are finite, tensors
        self._overflows: dict[int, bool] = {}  # by optimizer, once it was asked

    def _checked(self, name: str) -> tuple[float, int]:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        assert self._scale is not None, f"Attempted {name} but _scale is None.  {fix}"
        assert self._growth_tracker is not None, f"Attempted {name} but _growth_tracker is None.  {fix}"
        return self._current(), self._growth_tracker

    def _current(self) -> float:
        """The scale that its tensor holds."""
        version = storage_of(self._scale).version
        if self._known is None or self._known[0] != version:
            self._known = version, float(self._scale.item())
        return self._known[1]

    def _put(self, scale: float) -> None:
        """Change the scale, in its tensor's place."""
        self._scale.fill_(scale)
        self._known = storage_of(self._scale).version, float(np.float32(scale))

    def _overflowed(self, optimizer: int) -> bool:
        """Whether a gradient of an optimizer's is not finite: each device is asked once."""
        found = self._overflows.get(optimizer)
        if found is None:
            found = self._overflows[optimizer] = not all(each.item() for each in self._finite[optimizer].values())
        return found

    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            place: Any = outputs.device  # type: ignore[attr-defined]
            if self._scale is None:
                self._scale = make(np.full((), self._init_scale, np.float32)).to(place)
                self._known, self._growth_tracker = None, self._init_growth_tracker
            return mul(outputs, self._scale.to(place, non_blocking=True))
        if isinstance(outputs, Iterable):
            scaled = [self.scale(each) for each in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]
        raise ValueRangeError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, and note whether all are finite."""
        if not self._enabled:
            return
        scale, _ = self._checked("unscale_")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.UNSCALED:
            raise OperationError("unscale_() has already been called on this optimizer since the last update().")
        if stage is OptState.STEPPED:
            raise OperationError("unscale_() is being called after step().")
        inverse = float(np.float32(1.0 / scale))
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient._array.dtype == np.float16:
                    raise ValueRangeError("Attempting to unscale FP16 gradients.")
                gradient = gradient.detach()
                places = self._finite.setdefault(id(optimizer), {})
                finite, before = gradient.isfinite().all(), places.get(gradient.device)
                places[gradient.device] = finite if before is None else before.logical_and_(finite)
                gradient.mul_(inverse)
        self._stages[id(optimizer)] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` on unscaled gradients; left out (and None returned) if one of them is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise OperationError("Closure use is not currently supported if GradScaler is enabled.")
        self._checked("step")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.STEPPED:
            raise OperationError("step() has already been called since the last update().")
        if stage is OptState.READY:
            self.unscale_(optimizer)
        assert id(optimizer) in self._finite, "No inf checks were recorded for this optimizer."
        result = None if self._overflowed(id(optimizer)) else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what happened in this iteration, or set it."""
        if not self._enabled:
            return
        scale, tracker = self._checked("update")
        if new_scale is not None:
            if isinstance(new_scale, TensorBase):
                reason = "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with requires_grad=False."
                assert new_scale._array.size == 1 and not new_scale._requires_grad, reason
                new_scale = new_scale.item()  # type: ignore[attr-defined]
            scale = float(new_scale)
        else:
            assert self._finite, "No inf checks were recorded prior to update."
            if any(self._overflowed(each) for each in self._finite):
                scale, tracker = scale * self._backoff_factor, 0
            elif tracker + 1 == self._growth_interval:
                grown = float(np.float32(scale * self._growth_factor))
                scale, tracker = grown if np.isfinite(grown) else scale, 0
            else:
                tracker += 1
        self._put(scale)
        self._growth_tracker = tracker
        self._forget()

    # -- settings --------------------------------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1.0 if scaling is off."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._current())

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Choose by what the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale shrinks where a gradient overflowed."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Choose by what the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Choose after how many steps without overflow the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What there is to save: empty if scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was saved."""
        if not self._enabled:
            return
        if not state_dict:
            raise OperationError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._put(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled:
            assert not self._stages, (
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
            )
        fields = dict(self.__dict__)
        if self._enabled:
            fields["_init_scale"], fields["_scale"] = self.get_scale(), None
            fields["_init_growth_tracker"] = self.state_dict()["_growth_tracker"]
            fields["_growth_tracker"] = fields["_known"] = None
        return fields


__all__ = ["GradScaler", "OptState"]
