"""Annotations in ``__init__`` of attributes that are empty: scripts can't see them, and the author is told so."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import warnings
from typing import Any

_CONTAINERS = ("List", "Dict", "Optional")
_WORTH_A_LOOK = re.compile(r"self\s*\.\s*\w+\s*:|annotate\s*\(")


@functools.cache
def empty_annotated(kind: type) -> bool:
    """Whether ``__init__`` of a class annotates an attribute of itself that is an empty list, an empty dict or None."""
    made = vars(kind).get("__init__")
    if made is None:
        return False
    try:
        text = inspect.getsource(made)
    except (OSError, TypeError):
        return False
    if not _WORTH_A_LOOK.search(text):
        return False
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return False
    known = vars(kind).get("__annotations__", {})
    return any(_is_empty_annotated(node, known) for node in ast.walk(tree))


def _is_empty_annotated(node: ast.AST, known: Any) -> bool:
    if isinstance(node, ast.AnnAssign):
        target = node.target
        of_self = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        return of_self and target.attr not in known and _says_nothing(node.annotation, node.value)  # type: ignore[union-attr]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name == "annotate" and _says_nothing(node.args[0], node.args[1])
    return False


def _says_nothing(annotation: ast.expr, value: ast.expr | None) -> bool:
    """Whether a value does not show the type that a container's annotation says."""
    if not isinstance(annotation, ast.Subscript):
        return False
    base = annotation.value
    if (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")) not in _CONTAINERS:
        return False
    return (
        (isinstance(value, ast.List) and not value.elts)
        or (isinstance(value, ast.Dict) and not value.keys)
        or (isinstance(value, ast.Constant) and value.value is None)
    )


def warn_of_empty(kind: type) -> None:
    """Warn where annotations of a Module's ``__init__`` have no effect."""
    if empty_annotated(kind):
        warnings.warn(
            "The TorchScript type system doesn't support instance-level annotations on empty non-base types in `__init__`. Instead, either 1) use a "
            "type annotation in the class body, or 2) wrap the type in `torch.jit.Attribute`.",
            stacklevel=4,
        )
