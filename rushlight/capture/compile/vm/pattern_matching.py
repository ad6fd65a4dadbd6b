"""What a `match` statement asks of a subject: `case {...}` and `case Class(...)`."""

from __future__ import annotations

from typing import Any

# CPython's flags of types: what `case [...]` and `case {...}` take, and `case int(x)`, where x is the subject itself.
SEQUENCE = 1 << 5
MAPPING = 1 << 6
MATCHES_ITSELF = 1 << 22


def match_keys(subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The values of a mapping for all of the keys, or None."""
    absent = object()
    seen = set()
    values = []
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        # `get` does not make the entry that a defaultdict would.
        value = subject.get(key, absent)
        if value is absent:
            return None
        values.append(value)
    return tuple(values)


def match_class(subject: Any, kind: Any, positional: int, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The attributes of an instance that the patterns in `Class(...)` are for, or None."""
    if not isinstance(kind, type):
        match subject:
            case kind():  # Python's own error, the words of which differ from version to version
                pass
    if not isinstance(subject, kind):
        return None
    values: list[Any] = []
    wanted: list[str] = []
    if positional:
        fields = getattr(kind, "__match_args__", None)
        itself = fields is None and bool(kind.__flags__ & MATCHES_ITSELF)
        fields = () if fields is None else fields
        if not isinstance(fields, tuple):
            raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {type(fields).__name__})")
        allowed = 1 if itself else len(fields)
        if positional > allowed:
            plural = "" if allowed == 1 else "s"
            raise TypeError(f"{kind.__name__}() accepts {allowed} positional sub-pattern{plural} ({positional} given)")
        if itself:
            values.append(subject)
        else:
            wanted += fields[:positional]
    seen = set()
    for name in (*wanted, *names):
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        if name in seen:
            raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}")
        seen.add(name)
        try:
            values.append(getattr(subject, name))
        except AttributeError:
            return None
    return tuple(values)
