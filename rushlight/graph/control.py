"""Control flow in a graph: functions that take other functions, given as sub-graphs of the node that calls them.

These are what a ``call_function`` node with "bodies" calls: here they simply run; a capture, a printer or an exporter looks at
the node and its bodies instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.declare import lookup
from ..core.dtypes import BY_NAME


class Unset:
    """The value of a variable that is not assigned on the path that was taken; it is never read."""

    _only: Any = None

    def __new__(cls) -> Unset:
        if cls._only is None:
            cls._only = object.__new__(cls)
        return cls._only  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return "<not assigned>"

    def __reduce__(self) -> Any:
        return (Unset, ())


UNSET = Unset()
Bodies = dict[str, Callable[..., Any]]


def branch(condition: Any, *inputs: Any, bodies: Bodies) -> Any:
    """Run the body "then" or "otherwise" on the inputs.

    >>> branch(True, 3, bodies={"then": lambda x: (x + 1,), "otherwise": lambda x: (x,)})
    (4,)
    """
    return bodies["then"](*inputs) if condition else bodies["otherwise"](*inputs)


def loop(
    count: Any, condition: Any, carried: tuple[Any, ...], inputs: tuple[Any, ...] = (), *, bodies: Bodies, scans: tuple[Any, ...] = ()
) -> tuple[Any, ...]:
    """Run the body up to ``count`` times (None: without end), as long as the condition holds; returns what is carried along.

    The body gets the number of the iteration, what is carried, and the inputs; it returns the condition for the next one and
    what is carried on.  With ``scans`` (type and shape of each) it returns further tensors, which are stacked.

    >>> loop(3, True, (0,), bodies={"body": lambda i, total: (True, total + i)})
    (3,)
    """
    body = bodies["body"]
    if scans:
        return _scan(count, condition, carried, inputs, body, scans)
    if count is None:
        index = 0
        while condition:
            condition, *carried = body(index, *carried, *inputs)  # type: ignore[assignment]
            index += 1
        return tuple(carried)
    if condition:
        for index in range(count):
            condition, *carried = body(index, *carried, *inputs)  # type: ignore[assignment]
            if not condition:
                break
    return tuple(carried)


def _scan(count: Any, condition: Any, carried: Any, inputs: Any, body: Any, scans: tuple[Any, ...]) -> tuple[Any, ...]:
    """A loop whose iterations also give tensors that are stacked."""
    rows: list[list[Any]] = [[] for _ in scans]
    index, width = 0, len(carried)
    while condition and (count is None or index < count):
        condition, *results = body(index, *carried, *inputs)
        carried = tuple(results[:width])
        for row, each in zip(rows, results[width:]):
            row.append(each)
        index += 1
    empty = [lookup("zeros").call(0, *shape, dtype=BY_NAME[name]) for name, shape in scans]
    return (*carried, *(lookup("stack").call(row, 0) if row else none for row, none in zip(rows, empty)))


def within(context: Any, *inputs: Any, bodies: Bodies) -> Any:
    """Run the body inside a context manager, such as ``no_grad()``."""
    with context:
        return bodies["body"](*inputs)


CONTROL = frozenset((branch, loop, within))
