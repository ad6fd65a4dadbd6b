"""``error_on_graph_break`` in a capture: what it says holds at once, and again in later runs, for the breaks that follow."""

from __future__ import annotations

from typing import Any

from ..annotations import break_errors, error_on_graph_break, set_break_errors
from ..record.calls import Recorder
from ..record.registry import handles


@handles(error_on_graph_break.__enter__)
def enter(recorder: Recorder, context: Any) -> None:
    """Enter the context."""
    recorder.store_plain(context, "before", break_errors.on)
    recorder.perform(set_break_errors, recorder.load_attr(context, "error"))


@handles(error_on_graph_break.__exit__)
def leave(recorder: Recorder, context: Any, *exception: Any) -> None:
    """Leave it."""
    recorder.perform(set_break_errors, recorder.load_attr(context, "before"))
