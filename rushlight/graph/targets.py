"""Names for the functions that graphs call: the way by which a reader, and printed code, finds them."""

from __future__ import annotations

import builtins
import sys
from typing import Any

from ..core.declare import PACKAGE, Op
from ..core.missing import home_module

_OPERATOR_MODULE = "_operator"  # where the functions of `operator` say they are from
_found: dict[Op, str | None] = {}


def path_of(target: Any) -> str | None:
    """The dotted path that leads to this very function or class: ``rushlight.nn.functional.gelu``, ``math.sqrt``.

    A name alone is a builtin.  None where there is no such path (a lambda, what is in no module).
    """
    op = getattr(target, "op", None)
    if isinstance(op, Op) and op.call is target:
        if op not in _found:
            _found[op] = _path_of_op(op)
        return _found[op]
    name = getattr(target, "__qualname__", None)
    module = home_module(target)
    if not isinstance(name, str) or not module or "<" in name or module == "__main__":
        return None
    if module == "builtins":
        return name if getattr(builtins, name, None) is target else None
    module = "operator" if module == _OPERATOR_MODULE else module
    if getattr(sys.modules[PACKAGE], name, None) is target:
        module = PACKAGE  # the public name of what lives deeper
    path = f"{module}.{name}"
    return path if resolve(path) is target else None


def _path_of_op(op: Op) -> str | None:
    """The public function or method; of an op that is internal, its place in the room ``ops/``."""
    candidates = [f"{PACKAGE}.{op.qualified_name}", f"{PACKAGE}.Tensor.{op.public_name}"]
    module = sys.modules.get(op.source_module)
    candidates += [f"{op.source_module}.{name}" for name, value in vars(module).items() if value is op.call]
    return next((path for path in candidates if resolve(path) is op.call), None)


def resolve(path: str) -> Any:
    """The object at a dotted path that begins with the name of a loaded package, or None."""
    first, *rest = path.split(".")
    found: Any = sys.modules.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


def display_name(target: Any) -> str:
    """A name to show to a reader: of what has no path, just what it calls itself."""
    if isinstance(target, str):
        return target
    name = path_of(target) or getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    return name if isinstance(name, str) else repr(target)
