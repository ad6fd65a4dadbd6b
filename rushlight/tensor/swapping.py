"""Swapping two tensors: each object becomes the other."""

from __future__ import annotations

import weakref
from typing import Any

from ..core.base import TensorBase
from ..core.overrides import counted_array

_FIELDS = ("_array", "_grad_fn", "_output_index", "_requires_grad", "_storage")
_ABSENT = object()


def swap_tensors(t1: Any, t2: Any) -> None:
    """Swap all that two tensors are (class, values, gradient, attributes), so that who holds one of them now has the other.

    >>> import rushlight
    >>> a, b = rushlight.zeros(2), rushlight.nn.Parameter(rushlight.ones(3))
    >>> swap_tensors(a, b)
    >>> a, b
    (Parameter containing:
    tensor([1., 1., 1.], requires_grad=True), tensor([0., 0.]))
    """
    for which, each in (("t1", t1), ("t2", t2)):
        if not isinstance(each, TensorBase):
            raise TypeError(f"swap_tensors takes two tensors, but {which} is a {type(each).__name__}")
        if not all(map(counted_array.is_count, weakref.getweakrefs(each))):
            raise RuntimeError(f"Cannot swap {which} because it has weakref associated with it")
    slots = {name for kind in (type(t1), type(t2)) for each in kind.__mro__ for name in each.__dict__.get("__slots__", ())}
    if slots - {*_FIELDS, "__dict__", "__weakref__"}:
        if {name for each in type(t1).__mro__ for name in each.__dict__.get("__slots__", ())} != {
            name for each in type(t2).__mro__ for name in each.__dict__.get("__slots__", ())
        }:
            raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
        _swap(t1, t2, slots - {*_FIELDS, "__dict__", "__weakref__"})
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    _swap(t1, t2, _FIELDS)
    mine, others = dict(t1.__dict__), dict(t2.__dict__)
    for tensor, fields in ((t1, others), (t2, mine)):
        tensor.__dict__.clear()
        tensor.__dict__.update(fields)
        if type(tensor)._array is counted_array and not weakref.getweakrefs(tensor):
            counted_array.count(tensor)


def _swap(t1: Any, t2: Any, names: Any) -> None:
    for name in names:
        first, second = getattr(t1, name, _ABSENT), getattr(t2, name, _ABSENT)
        for tensor, value in ((t1, second), (t2, first)):
            if value is not _ABSENT:
                object.__setattr__(tensor, name, value)
