"""Settings of CUDA's libraries.  ``matmul.allow_tf32`` is what products on a GPU ask for; the others are accepted and have no effect."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

from ..core.devices import accelerator
from ..core.missing import missing
from ..core.precision import precision
from .flags import FlagGroup, check


class _Matmul(FlagGroup):
    """Settings of matrix products.  ``allow_tf32`` is another name for a precision below the highest."""

    @property
    def allow_tf32(self) -> bool:
        """Whether products on a GPU may use TF32."""
        return precision.allow_tf32

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        precision.matmul = "high" if value else "highest"


matmul = _Matmul(
    allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True, allow_fp16_accumulation=False,
    fp32_precision="none",
)  # fmt: skip


def is_built() -> bool:
    """Whether tensors can be on a GPU here."""
    return accelerator() is not None


# -- scaled_dot_product_attention --------------------------------------------------------------------------------

_KERNELS = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _switch(name: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    """The functions that set and ask whether a kernel may be used."""

    def enable(enabled: bool) -> None:
        check(f"enable_{name}_sdp", True, enabled)
        _KERNELS[name] = enabled

    def is_enabled() -> bool:
        return _KERNELS[name]

    enable.__name__ = enable.__qualname__ = f"enable_{name}_sdp"
    enable.__doc__ = f"Set whether the {name} kernel of CUDA may compute attention: accepted, there is none."
    is_enabled.__name__ = is_enabled.__qualname__ = f"{name}_sdp_enabled"
    is_enabled.__doc__ = f"Whether the {name} kernel of CUDA may compute attention."
    return enable, is_enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


def is_flash_attention_available() -> bool:
    """False: it is a kernel for GPUs."""
    return False


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Kernels of CUDA that attention may use within a ``with`` block: accepted, there are none."""
    warnings.warn("backends.cuda.sdp_kernel() is deprecated: use nn.attention.sdpa_kernel() instead.", FutureWarning, stacklevel=3)
    wanted = {"flash": enable_flash, "math": enable_math, "mem_efficient": enable_mem_efficient, "cudnn": enable_cudnn}
    before = dict(_KERNELS)
    _KERNELS.update(wanted)
    try:
        yield
    finally:
        _KERNELS.update(before)


__getattr__ = missing(__name__)
