"""``ShapeProp``: run a module on example inputs and note shape and dtype of every value."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ...core.base import TensorBase
from ...core.declare import PACKAGE
from ...graph.node import Node, map_aggregate
from ..interpreter import Interpreter


class TensorMetadata(NamedTuple):
    """What a node's tensor is like."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    """The facts of a tensor."""
    package: Any = sys.modules[PACKAGE]
    layout = None
    if include_contiguity:
        for each in (package.contiguous_format, package.channels_last, package.channels_last_3d):
            wrong = (each is package.channels_last and result.dim() != 4) or (each is package.channels_last_3d and result.dim() != 5)
            if not wrong and result.is_contiguous(memory_format=each):
                layout = each
                break
    quantized = bool(getattr(result, "is_quantized", False))
    facts: dict[str, Any] = {}
    if quantized:
        facts = {"qscheme": result.qscheme()}
        if facts["qscheme"] in (package.per_tensor_affine, package.per_tensor_symmetric):
            facts.update(scale=result.q_scale(), zero_point=result.q_zero_point())
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), layout, quantized, facts)


class ShapeProp(Interpreter):
    """Notes ``tensor_meta`` and ``type`` of each node while it runs."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Run a node, and note what it gave."""
        result = super().run_node(n)
        found = False

        def facts(value: Any) -> Any:
            nonlocal found
            if isinstance(value, TensorBase):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, facts)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module on inputs."""
        return super().run(*args)


__all__ = ["ShapeProp", "TensorMetadata"]
