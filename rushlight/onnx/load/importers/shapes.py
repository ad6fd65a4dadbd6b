"""Operators that change sizes and order, and matrix products."""

from __future__ import annotations

from ..registry import Ints, NodeContext, Tensor, importer, ops


@importer("Identity")
def identity(node: NodeContext, x: Tensor) -> Tensor:
    """The same."""
    return x


@importer("Reshape", since=5)
def reshape(node: NodeContext, data: Tensor, shape: Ints) -> Tensor:
    """Other sizes: 0 is the size that is there (unless ``allowzero``), -1 what is left."""
    sizes = [
        data.shape[position] if each.__class__ is int and each == 0 and not node.get("allowzero") else each
        for position, each in enumerate(shape)
    ]
    return ops.reshape(data, sizes)


@importer("Shape")
def shape(node: NodeContext, x: Tensor) -> Tensor:
    """The sizes of a tensor (``operators.py`` gives them as numbers)."""
    raise node.error("sizes are numbers")


@importer("Size")
def size(node: NodeContext, x: Tensor) -> Tensor:
    """How many elements a tensor has (``operators.py`` gives that as a number)."""
    raise node.error("sizes are numbers")


@importer("Transpose")
def transpose(node: NodeContext, x: Tensor) -> Tensor:
    """Dimensions in another order, or the reverse one."""
    return ops.permute(x, tuple(node.get("perm", range(x.dim())[::-1])))


@importer("MatMul")
def matmul(node: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """Product of matrices."""
    return ops.matmul(a, b)


@importer("Gemm")
def gemm(node: NodeContext, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """alpha * a @ b + beta * c."""
    a, b = a.t() if node["transA"] else a, b.t() if node["transB"] else b
    if c is None:
        return ops.matmul(a, b) * node["alpha"] if node["alpha"] != 1 else ops.matmul(a, b)
    return ops.addmm(c, a, b, beta=node["beta"], alpha=node["alpha"])


@importer("Softmax", since=13)
def softmax(node: NodeContext, x: Tensor) -> Tensor:
    """Exponentials that sum to one along an axis."""
    return ops.softmax(x, node["axis"])


@importer("Concat")
def concat(node: NodeContext, *inputs: Tensor) -> Tensor:
    """Tensors one after the other."""
    return ops.cat(list(inputs), node["axis"])
