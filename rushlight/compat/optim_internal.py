"""Private helpers of `torch.optim.optimizer` that optimizers of other libraries are written with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import set_grad_enabled
from ..compiler import is_compiling
from ..core.base import TensorBase
from ..core.declare import exports
from ..core.devices import device
from ..core.dtypes import float32, float64, get_default_dtype
from ..core.state import state
from ..tensor.tensor import Tensor
from .foreach_utils import _get_foreach_kernels_supported_devices, _get_fused_kernels_supported_devices

DeviceDict = dict[device | None, Tensor]  # the type of tables with one tensor a device


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A ``step`` that runs with gradients on where the optimizer is differentiable, and else with gradients off."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether the fused and the foreach implementation are the default for these parameters: on accelerators only."""
    if differentiable or state.capture is not None:
        return False, False
    fused, foreach = _get_fused_kernels_supported_devices(), _get_foreach_kernels_supported_devices()
    is_fused = use_fused and all(each is None or (each.device.type in fused and each.is_floating_point()) for each in params)
    return is_fused, not is_fused and all(each is None or each.device.type in foreach for each in params)


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The kinds of devices whose steps can be captured."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _get_value(x: Any) -> Any:
    """The number in a tensor; where a program is captured, the tensor."""
    return x.item() if isinstance(x, TensorBase) and not is_compiling() else x  # type: ignore[attr-defined]


def _stack_if_compiling(x: Any) -> Any:
    """Tensors as one where a program is captured."""
    return exports["", "stack"](x) if is_compiling() else x


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or of a tensor."""
    return x.sqrt() if isinstance(x, TensorBase) else x**0.5  # type: ignore[attr-defined]


def _view_as_real(params: Any, *state_and_grads: Any) -> None:
    """Complex tensors in lists, in place, as views of pairs of real numbers."""
    for index, each in enumerate(params):
        if each.is_complex():
            params[index] = exports["", "view_as_real"](each)
            for other in state_and_grads:
                other[index] = exports["", "view_as_real"](other[index])


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; all else as it is."""
    return x.squeeze() if isinstance(x, TensorBase) and x.dim() != 0 else x  # type: ignore[attr-defined]


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The type of step counters."""
    return float64 if not is_fused and get_default_dtype() is float64 else float32


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """A decorator that leaves a function as it is: whatever is captured falls back by itself."""
    return lambda func: func


def _device_dtype_check_for_fused(p: Any, cuda_unsupported: bool = False) -> None:
    """Refuse parameters that no fused implementation takes."""
    devices = [each for each in _get_fused_kernels_supported_devices() if not (cuda_unsupported and each == "cuda")]
    if p.device.type not in devices or not p.is_floating_point():
        raise RuntimeError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: {devices} but {p.dtype} and {p.device.type}"
        )
