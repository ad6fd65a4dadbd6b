"""`torch._dynamo.backends.common`: back-ends made of compilers for forward and backward graphs."""

from __future__ import annotations

from typing import Any

from ....core.missing import missing
from ...functorch_internal.aot_autograd import aot_module_simplified

__all__ = ["AotAutograd", "aot_autograd"]
__getattr__ = missing("rushlight._dynamo.backends.common")


class AotAutograd:
    """A back-end of `torch.compile` that differentiates a graph ahead of time and gives both parts to the compilers."""

    def __init__(self, **kwargs: Any) -> None:
        self.__name__ = "compiler_fn"
        self.kwargs = kwargs

    def __call__(self, gm: Any, example_inputs: list[Any], **kwargs: Any) -> Any:
        return aot_module_simplified(gm, example_inputs, **self.kwargs)


def aot_autograd(**kwargs: Any) -> AotAutograd:
    """The back-end of ``fw_compiler`` and, where they differ, ``bw_compiler`` and ``inference_compiler``."""
    return AotAutograd(**kwargs)
