"""Segments that are called often: their guards are left to a function of the back-end's that looks at all of it at once, where it has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

CALLS = 6  # through the guards, before such a function is made
LIMIT = 4  # how often it is made, where it comes to refuse what the guards let through


class Watched:
    """Called by the guards of a segment as often as they are asked, with what the call begins with."""

    def __init__(
        self, segment: Any, watch: Callable[..., Any], lines: Sequence[Any], rest: Sequence[str], namespace: dict[str, Any]
    ) -> None:
        self.segment = segment
        self.watch = watch
        self.lines = lines  # of the guards: those that are asked before the back-end is
        self.rest = rest  # of the segment
        self.namespace = namespace
        self.calls = self.made = 0

    def __call__(self, slots: Any) -> None:
        """Count a call; have a function made for calls like this one."""
        self.calls += 1
        if self.calls >= CALLS:
            self.calls = 0
            self.made += 1
            if self.made > LIMIT:
                self.namespace["watched"] = bool
                self.segment.run = self.namespace["segment"]
            else:
                self.make(slots)

    def make(self, slots: Any) -> None:
        """Write the segment anew, with the function in the place of the guards; what that refuses goes to the guards."""
        found = self.watch(self.lines, self.namespace, slots, "\n".join(self.rest))
        if found is None:
            return
        look, names, left = found
        source = ["def shorter(slots):", "    found = look(slots)", "    if found is NotImplemented: return segment(slots)"]
        source += [f"    {''.join(f'{each}, ' for each in names)} = found"] if names else []
        if left:
            source += ["    try:", *[f"        {each if isinstance(each, str) else f'if not ({each[1]}): return MISS'}" for each in left]]
            source += ["    except MISSING:", "        return MISS"]
        self.namespace["look"] = look
        exec(compile("\n".join([*source, *self.rest, ""]), "<segment>", "exec"), self.namespace)
        self.segment.run = self.namespace["shorter"]
