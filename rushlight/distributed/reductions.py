"""Reduction operators of collectives, and the dtypes for which each is defined."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = ["PremulSum", "ReduceOp", "reduce_op", "reduction", "supports_complex"]


class _ReduceOps(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (ReduceOp.RedOpType, PremulSum))


class ReduceOp(metaclass=_ReduceOps):
    """A reduction operator."""

    class RedOpType(Enum):
        """The kinds of reductions."""

        SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)

        __hash__ = object.__hash__  # members are singletons, and looked up in each call

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = RedOpType

    def __new__(cls, kind: Any) -> Any:
        return kind if isinstance(kind, (cls.RedOpType, PremulSum)) else cls.RedOpType(kind)


class PremulSum:
    """A sum of values that are multiplied by a factor first; the factor is a number or a tensor."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PremulSum):
            return NotImplemented
        same = self.factor == other.factor
        return bool(same) if isinstance(same, bool) else bool(same.all())

    def __hash__(self) -> int:
        return hash(PremulSum)

    def __repr__(self) -> str:
        return f"PREMUL_SUM({self.factor})"


def _make_nccl_premul_sum(factor: Any) -> PremulSum:
    """A sum of values that are multiplied by a factor first."""
    return PremulSum(factor)


class reduce_op:
    """The old name of :class:`ReduceOp`."""

    SUM, PRODUCT, MIN, MAX = ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX


_NAMES = {
    ReduceOp.SUM: "SUM", ReduceOp.AVG: "SUM", ReduceOp.PRODUCT: "PROD", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX", ReduceOp.BAND: "BAND",
    ReduceOp.BOR: "BOR", ReduceOp.BXOR: "BXOR",
}  # fmt: skip
_WORDS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX,
          "band": ReduceOp.BAND, "bor": ReduceOp.BOR, "bxor": ReduceOp.BXOR}  # fmt: skip
_BITWISE = ("BAND", "BOR", "BXOR")


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction is defined for complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def named(word: str) -> Any:
    """The reduction of a word, as functional collectives spell it: ``"sum"``, ``"avg"`` ..."""
    if not isinstance(word, str):
        return word
    if word.lower() not in _WORDS:
        raise ValueError(f"unknown reduction {word!r}: it is one of {', '.join(_WORDS)}")
    return _WORDS[word.lower()]


def reduction(op: Any, dtype: Any, collective: str) -> tuple[str, Any]:
    """What an engine is asked for: the name of its reduction, and a factor to multiply by first (None for none).

    The mean is a sum that is divided afterwards.  Raises where the reduction is not defined for the dtype.
    """
    if isinstance(op, PremulSum):
        return "SUM", op.factor
    name = _NAMES.get(op)
    if name is None:
        raise ValueError(
            f"{collective}: op must be one of torch.distributed.ReduceOp's (SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR), not {op!r}"
        )
    if dtype.is_complex and not supports_complex(op):
        raise ValueError(f"{collective} does not support {op} on complex tensors")
    if name in _BITWISE and dtype.is_floating_point:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is ReduceOp.AVG and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{collective}: the mean of {dtype} tensors is no {dtype}: result type Float can't be cast to it")
    return name, None
