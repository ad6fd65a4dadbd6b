"""Products of matrices and determinants."""

from __future__ import annotations

from typing import Any

from ....nn.functional import linear
from .. import calls as rl
from ..registry import NodeContext, importer


@importer("MatMul")
def matmul(node: NodeContext, a: Any, b: Any) -> Any:
    return rl.matmul(a, b)


@importer("Gemm")
def gemm(node: NodeContext, a: Any, b: Any, c: Any = None) -> Any:
    if node["transB"] and not node["transA"] and node["alpha"] == 1 and (c is None or (node["beta"] == 1 and c.dim() == 1)):
        return linear(a, b, c)  # as it was before an export: the weight stays whole
    a = a.t() if node["transA"] else a
    b = b.t() if node["transB"] else b
    alpha, beta = node["alpha"], node["beta"]
    if not a.is_floating_point():
        alpha, beta = int(alpha), int(beta)
    if c is None:
        product = rl.mm(a, b)
        return product if alpha == 1 else product * alpha
    return rl.addmm(c, a, b, alpha=alpha, beta=beta)


@importer("Einsum")
def einsum(node: NodeContext, *operands: Any) -> Any:
    return rl.einsum(node.get("equation"), *operands)


@importer("Det")
def determinant(node: NodeContext, x: Any) -> Any:
    return rl.det(x)
