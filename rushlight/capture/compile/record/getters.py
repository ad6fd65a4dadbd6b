"""Objects and classes of the standard library that read attributes, call methods or copy mappings, as forms that are inlined."""

from __future__ import annotations

import collections
import functools
import operator
from typing import Any

from ....core.base import TensorBase
from ..vm import operator_forms
from ..vm.frame import Inline

GETTERS = (operator.attrgetter, operator.methodcaller)
# Classes whose instances are made by a method of what they are given: the first of these that its class has.
_CONVERSIONS: dict[Any, tuple[str, ...]] = {
    int: ("__int__", "__index__"), float: ("__float__", "__index__"), complex: ("__complex__", "__float__", "__index__"), str: (),
}  # fmt: skip


def inlined_getter(recorder: Any, getter: Any, value: Any) -> Inline:
    """A call of an ``attrgetter`` or a ``methodcaller``."""
    source = recorder.sources.get(id(getter))
    if source is not None:
        recorder.guards.identity(source, getter)
    made, args = getter.__reduce__()
    if type(getter) is operator.attrgetter:
        return Inline(operator_forms.attributes_of, (value, args), {})
    if isinstance(made, functools.partial):  # with keywords
        return Inline(operator_forms.method_called, (value, made.args[0], args, made.keywords), {})
    return Inline(operator_forms.method_called, (value, args[0], args[1:], {}), {})


def copied_mapping(kind: type, args: Any, kwargs: Any) -> Inline | None:
    """``dict(mapping)`` of something that has keys and is no dict; None for anything else."""
    if kind not in (dict, collections.OrderedDict) or len(args) != 1 or isinstance(args[0], dict) or not hasattr(type(args[0]), "keys"):
        return None
    return Inline(operator_forms.dict_of, (kind, args[0], dict(kwargs)), {})


def converted_by_method(recorder: Any, kind: type, args: Any, kwargs: Any) -> Inline | None:
    """A number or text of an object, by a method in Python of its class; None where there is none."""
    if len(args) != 1 or kwargs or kind not in _CONVERSIONS or isinstance(args[0], TensorBase):
        return None
    for name in _CONVERSIONS[kind]:
        method = recorder.special(args[0], name)
        if method is not None:
            return Inline(operator_forms.number_of, (method, args[0], name, kind), {})
    return recorder.written_text(args[0], "__str__") if kind is str else None  # type: ignore[no-any-return]
