"""``torch.nested``: tensors whose parts differ in size.

In: a list of tensors, or values with the offsets at which parts begin.  Out: a ``NestedTensor``, on which functions of elements and of trailing
dimensions run.  ``jagged.py`` is the class; ``rules.py`` and ``shape_rules.py`` say what functions do on it.  All are loaded when the first one is made.
"""

from __future__ import annotations

from ..core.missing import listing, missing

_NAMES = "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor"
__getattr__ = missing(__name__, names={"functions": _NAMES})
__dir__ = listing(__name__, names=_NAMES.split())

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
