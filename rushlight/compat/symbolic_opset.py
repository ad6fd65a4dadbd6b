"""`torch.onnx.symbolic_opset7` to `20`: the symbolic functions of PyTorch's operators, which those of users call.

A name there is an operator: called with `g` and values, it makes the nodes that the operator's ops have in the opset of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.missing import missing
from ..onnx.ir import NO_PYTHON, OnnxValue
from ..onnx.opset_builder import OpsetBuilder
from ..ops import aten_calls

_absent = missing("rushlight.onnx.symbolic_opset")


def __getattr__(name: str) -> Callable[..., Any]:
    """The symbolic function of an operator."""
    if name.startswith("__") or name not in aten_calls.names("aten"):
        return _absent(name)

    def symbolic(g: OpsetBuilder, *args: Any, **kwargs: Any) -> Any:
        return g.operator(name, *args, **kwargs)

    symbolic.__name__ = symbolic.__qualname__ = name
    symbolic.__doc__ = f"The nodes of ``aten::{name}``, whose arguments follow ``g``."
    globals()[name] = symbolic
    return symbolic


def select(g: OpsetBuilder, self: Any, dim: int, index: Any) -> Any:
    """The elements at an index; one that is a vector keeps the dimension, as that of PyTorch's function does."""
    return (
        g.gather(self, index, dim) if isinstance(index, OnnxValue) and index.python is NO_PYTHON else g.operator("select", self, dim, index)
    )


def __dir__() -> list[str]:
    return sorted(aten_calls.names("aten"))
