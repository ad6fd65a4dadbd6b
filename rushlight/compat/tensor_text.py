"""`torch._tensor_str`: how tensors are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.missing import missing
from ..tensor.printing import PRINT_OPTS, append_parts, format_elements, get_printoptions, printoptions, set_printoptions

__getattr__ = missing("rushlight._tensor_str")


def _tensor_str(self: Any, indent: int) -> str:
    """The elements in brackets."""
    return "[]" if self.numel() == 0 else format_elements(self.detach()._array, indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """Parts behind the elements, and the bracket that closes them."""
    if force_newline:
        return tensor_str + "".join(f",\n{' ' * indent}{each}" for each in suffixes) + ")"
    return append_parts(tensor_str, suffixes, indent) + ")"


def _str(self: Any, *, tensor_contents: str | None = None) -> str:
    """A tensor as text; `tensor_contents` stands in place of its elements."""
    if tensor_contents is None:
        return repr(self)
    prefix = "tensor("
    return _add_suffixes(prefix + tensor_contents, [f"dtype={self.dtype}"], len(prefix), False)


_str_intern = _str
