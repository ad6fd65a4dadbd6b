"""Masks of causal attention that are a rule in place of elements: ``scaled_dot_product_attention`` takes them as ``attn_mask``."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any

from ...core.declare import table
from ...core.dtypes import bool_
from ...core.missing import missing
from ...tensor.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Which corner the diagonal of a mask begins in, where there are not as many keys as queries."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask of ``seq_len_q`` rows and ``seq_len_kv`` columns; True where a query sees a key.

    Its elements are made where something else than attention asks for them: until then one element stands for all.
    """

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        """A tensor of that shape without memory of that size."""
        return Tensor._make_subclass(cls, table["ones"].call((1, 1), dtype=bool_).expand(seq_len_q, seq_len_kv))

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant)}")
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv

    def _materialize(self, device: Any = None) -> Any:
        """The mask as an ordinary tensor."""
        diagonal = self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0
        whole = table["ones"].call((self.seq_len_q, self.seq_len_kv), dtype=bool_, device=device)
        return table["tril"].call(whole, diagonal)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return repr(self._materialize())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Attention by the rule; anything else on the elements."""
        kwargs = dict(kwargs or {})
        if func is table["scaled_dot_product_attention"].call:
            return _attention(func, *args, **kwargs)
        if func in _OF_THE_SHAPE:
            return super().__torch_function__(func, types, args, kwargs)
        return func(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value._materialize() if isinstance(value, CausalBias) else value


_OF_THE_SHAPE = frozenset(
    (Tensor.shape.__get__, Tensor.size, Tensor.dim, Tensor.numel, Tensor.dtype.__get__, Tensor.device.__get__, Tensor.ndim.__get__)  # type: ignore[attr-defined]
)


def _attention(
    attention: Any, query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float = 0.0, is_causal: bool = False, **others: Any
) -> Any:
    """Attention under the rule of a mask; where the diagonal begins in the upper left corner, it is that of ``is_causal``."""
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    if attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv:
        return attention(query, key, value, None, dropout_p, True, **others)
    return attention(query, key, value, attn_mask._materialize(query.device), dropout_p, False, **others)


def causal_upper_left(*size: int) -> CausalBias:
    """The mask in which the first query sees the first key alone."""
    rows, columns = _two(size)
    return CausalBias(CausalVariant.UPPER_LEFT, rows, columns)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask in which the last query sees all keys."""
    rows, columns = _two(size)
    return CausalBias(CausalVariant.LOWER_RIGHT, rows, columns)


def _two(size: Any) -> Any:
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors" if not size else f"a causal mask has 2 sizes, got {len(size)}")
    return size


if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
