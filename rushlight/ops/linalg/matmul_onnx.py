"""The ONNX forms of matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.symbolic import is_symbolic

_INT32 = np.dtype(np.int32)


def product(g: Any, a: Any, b: Any) -> Any:
    """``MatMul``; integers that it does not take are multiplied in a wider type, and come out the same."""
    if a.dtype.kind in "iu" and a.dtype.itemsize < 4:
        return g.cast(g.MatMul(g.cast(a, _INT32), g.cast(b, _INT32)), a.dtype)
    if b.rank == 1 and a.rank > 1 and a.node().kind() == "onnx::Transpose":  # a product that ONNX Runtime 1.31 gets wrong
        return g.squeeze(g.MatMul(a, g.unsqueeze(b, [1])), [a.rank - 1])
    return g.MatMul(a, b)


def _scaled(g: Any, x: Any, factor: Any) -> Any:
    return x if isinstance(factor, int) and factor == 1 else g.Mul(x, g.number(factor, x.dtype))


def added_form(g: Any, input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * (a @ b)``: for matrices of floats one ``Gemm``."""
    known = all(isinstance(each, (int, float, complex)) and not is_symbolic(each) for each in (beta, alpha))
    if known and a.rank == 2 and b.rank == 2 and a.dtype.kind == "f" and beta != 0 and alpha != 0:
        return g.Gemm(a, b, input, alpha=None if alpha == 1 else float(alpha), beta=None if beta == 1 else float(beta))
    result = _scaled(g, product(g, a, b), alpha)
    return g.Add(_scaled(g, input, beta), result) if not known or beta != 0 else result


def linear_form(g: Any, input: Any, weight: Any, bias: Any) -> Any:
    """A fully connected layer: one ``Gemm`` for matrices with a bias."""
    if input.rank == 2 and weight.rank == 2 and bias is not None and input.dtype.kind == "f":
        return g.Gemm(input, weight, bias, transB=1)
    result = product(g, input, weight if weight.rank == 1 else g.transpose(weight, (1, 0)))
    return result if bias is None else g.Add(result, bias)


def einsum_form(g: Any, equation: str, operands: list[Any], labels: list[list[Any]], output: list[Any]) -> Any:
    """One ``Einsum``, where sizes do not broadcast (but for those of the ellipsis) and the types are its own."""
    if any(each.dtype.kind not in "fi" or each.dtype.itemsize < 4 or each.dtype != operands[0].dtype for each in operands):
        return NotImplemented
    terms = equation.partition("->")[0].split(",")
    if len({sum(isinstance(name, int) for name in names) for names, term in zip(labels, terms) if "..." in term}) > 1:
        return NotImplemented  # ellipses of different lengths
    sizes: dict[Any, Any] = {}
    for each, names in zip(operands, labels):
        for name, size in zip(names, each.shape):
            if type(size) is int and size in (0, 1) and isinstance(name, str):
                if sizes.setdefault(name, size) != size or size == 0:
                    return NotImplemented
            elif isinstance(name, str) and sizes.setdefault(name, size) == 1 and type(sizes[name]) is int:
                return NotImplemented
    equation = equation.replace(" ", "")
    if "->" not in equation:
        letters = "".join(label for label in output if isinstance(label, str))
        equation += "->" + ("..." if len(letters) < len(output) else "") + letters
    return g.Einsum(*operands, equation=equation)
