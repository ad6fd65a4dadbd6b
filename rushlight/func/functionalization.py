"""``functionalize``: functions whose graphs have no writes in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.errors import OperationError
from ..core.state import state


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that ``make_fx`` records as ops that make new values, with one write at the end for each argument that was written to.

    With ``remove="mutations_and_views"`` views are recorded as copies.  Called by itself it gives the results of ``func``, whose writes an
    observer can't tell from those at the end.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise OperationError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their out-of-place "
            "equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with their non-aliasing "
            "counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        record = getattr(state.capture, "functionalized", None)
        if record is None:
            return func(*args, **kwargs)
        return record(func, args, kwargs, remove == "mutations_and_views")

    return wrapped
