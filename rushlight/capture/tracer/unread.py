"""Elements that a program has asked for while it is exported: it may print them, but a file that depended on them would be wrong."""

from __future__ import annotations

from typing import Any, NoReturn


class UnreadList:
    """What ``tolist()`` gives where its elements are no constants of the exported program: any use of them raises the error that says so."""

    __slots__ = ("_error", "_values")

    def __init__(self, values: Any, error: Exception) -> None:
        self._values = values
        self._error = error

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._error

    __getitem__ = __iter__ = __len__ = __bool__ = __contains__ = __add__ = __radd__ = __mul__ = __rmul__ = __reversed__ = __array__ = (
        _refuse
    )
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = index = count = append = extend = copy = pop = sort = _refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._values)
