"""Guards of functions that are called often: the native virtual machine takes over those that it can evaluate, and Python the rest.

The guards of a segment run in Python at first.  After `CALLS` calls the back-end's guard compiler translates them for the objects that are there
now, and the segment is generated again around the native check; a call that the check refuses goes through the Python guards as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .guard import Guard, Read
from .guards import Guards

CALLS = 6  # through the Python guards, before native ones are compiled
LIMIT = 4  # how often they are compiled, where they come to refuse what the Python guards let through


class NativeCheck(Protocol):
    """What a guard compiler gives: the steps that are left to Python, and the built-in function for the others."""

    left: list[Read | Guard]

    def function(self, variables: Sequence[str]) -> Callable[[Any], Any]:
        """A function of the slots of a call that gives a tuple with the values of variables, or NotImplemented where a guard does not hold."""

    def holds(self, variable: str) -> bool:
        """Whether a variable is read by the native check."""


GuardCompiler = Callable[[Sequence[Read | Guard], Any], NativeCheck | None]


class NativeGuards:
    """Counts the calls of a segment that pass its Python guards, and generates the segment again with native ones."""

    def __init__(
        self,
        segment: Any,
        compiler: GuardCompiler,
        guards: Guards,
        program: Sequence[Read | Guard],
        rest: Sequence[str],
        namespace: dict[str, Any],
    ) -> None:
        self.segment = segment
        self.compiler = compiler
        self.guards = guards
        self.bytecode = program  # the part of the guards that is checked before the launcher runs
        self.rest = rest  # the lines of the segment after the guards
        self.namespace = namespace
        self.calls = self.made = 0

    def __call__(self, slots: Any) -> None:
        """Count a call, and from time to time compile the guards for calls like this one."""
        self.calls += 1
        if self.calls >= CALLS:
            self.calls = 0
            self.made += 1
            if self.made > LIMIT:
                self.namespace["count_call"] = bool
                self.segment.run = self.namespace["segment"]
            else:
                self.compile(slots)

    def compile(self, slots: Any) -> None:
        """Generate the segment with a native check in front; what that refuses goes to the Python guards."""
        check = self.compiler(self.bytecode, slots)
        if check is None:
            return
        printer = self.guards.printer()
        left = printer.lines(check.left, lambda guard: "return MISS")
        variables = [each for each in self.guards.variables.values() if each in printer.used | self.guards.results and check.holds(each)]
        source = ["def guarded(slots):", "    found = native_check(slots)", "    if found is NotImplemented: return segment(slots)"]
        source += [f"    {''.join(f'{each}, ' for each in variables)} = found"] if variables else []
        if left:
            source += ["    try:", *[f"        {each}" for each in left], "    except MISSING:", "        return MISS"]
        self.namespace.update(self.guards.names.values)
        self.namespace["native_check"] = check.function(variables)
        exec(compile("\n".join([*source, *self.rest, ""]), "<segment>", "exec"), self.namespace)
        self.segment.run = self.namespace["guarded"]
