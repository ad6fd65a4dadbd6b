"""Functions of the package that are free of side effects: they are called natively on symbolic sizes, and the ops they call are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core.errors import CaptureError
from ..record.graph_breaks import Break
from ..record.registry import marked


def record_call(recorder: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function whose ops are recorded; a graph break where it asks for a value, or has control flow that can't be captured."""

    def escaped(how: str, why: str) -> None:
        raise Break("value", name=how)

    for each in (*args, *kwargs.values()):
        if isinstance(each, (list, tuple, dict)):
            recorder.guard_contents(each)
    tracer = recorder.tracer
    before, tracer.escaped = tracer.escaped, escaped
    try:
        return recorder.track_fresh(function(*args, **kwargs))
    except CaptureError as error:
        raise Break("control", name=function.__name__, reason=str(error).partition("\n")[0]) from None
    finally:
        tracer.escaped = before


marked["recorded"] = record_call
