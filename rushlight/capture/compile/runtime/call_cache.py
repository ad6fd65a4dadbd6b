"""The call cache of a compiled function: what was captured, under which guards it holds, and the shortest way to run it again.

What a call does, in order:

1. `CallCache.first` is the entry that held last.  Its ``run`` is one generated function: it evaluates the guards (in Python; after a few calls by the
   guard VM, which leaves to Python what it can't evaluate), and gives `MISS` where one does not hold.
2. ``run`` calls the entry's launcher, which compares the tensors with those it was made for and does everything in native code.  A launcher that
   refuses (NotImplemented) has done nothing.
3. Where it refuses, the guards on tensors are evaluated, the executable runs the general way, and gives the launcher for calls like this one.
4. ``run`` repeats the effects of the program on pre-existing objects, and gives its result, or the frame at the next graph break.
5. On a `MISS` the other entries of that place are tried; after the last, the program is captured and an entry is added.

One rule of invalidation: an entry is dropped when an object that its guards know by a weak reference is gone, and all are on ``reset()``.  Nothing
else is ever invalid, since guards and launchers compare everything that they rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..guards.guards import Guards

if TYPE_CHECKING:
    from ....backends.protocol import Executable


class Launcher(NamedTuple):
    """The shortest call of an executable, for arguments like those of an earlier call.

    ``call`` compares its tensors with those of the earlier call (class, dtype, sizes, strides, ``requires_grad``) and gives NotImplemented, with
    nothing done, where they differ.  It does not ask for modes: the guards have.
    """

    call: Callable[..., Any]
    leaves_gradients: bool = True  # whether assigning gradients to the tensors they belong to is left to the caller


def refuse(*args: Any) -> Any:
    """The call of a launcher that takes nothing."""
    return NotImplemented


NO_LAUNCHER = Launcher(refuse)
MISS = object()  # what an entry gives whose guards do not hold
Place = Any  # where an entry begins: None at the beginning of the function, else the frames and their instructions


class CacheEntry:
    """What was captured between two states: ``run`` checks the guards, runs the graph, repeats the effects and makes the new state."""

    def __init__(
        self,
        guards: Guards,
        module: Any,
        executable: Executable | None,
        gradients: Mapping[int, int],
        ending: str,
        ends: bool,
        source: str,
        place: tuple[str, int, str],
    ) -> None:
        self.run: Any = None  # the generated function
        self.guards = guards
        self.module = module
        self.executable = executable  # None where the graph computes nothing
        self.gradients = gradients  # of outputs: the input whose gradient each becomes
        self.launcher = NO_LAUNCHER  # until a call went the general way
        self.ending = ending  # "return", or the message of the graph break
        self.ends = ends  # whether the program is at its end: `run` gives its result, and otherwise a frame
        self.source = source
        self.place = place  # file, line and function where it begins

    def relaunch(self, args: tuple[Any, ...]) -> None:
        """After a call that went the general way: take the launcher for calls like it."""
        assert self.executable is not None
        self.launcher = self.executable.launcher(args, self.gradients)

    @property
    def alive(self) -> bool:
        """Whether the objects that the guards know by weak references are all there."""
        return all(each() is not None for each in self.guards.names.references.values())


class CallCache:
    """The entries of one function, by the place where they begin."""

    def __init__(self) -> None:
        self.first: CacheEntry | None = None  # of those at the beginning: the one that held last
        self.entries: dict[Place, list[CacheEntry]] = {None: []}

    def lookup(self, place: Place, state: Any) -> tuple[CacheEntry | None, Any]:
        """The entry whose guards hold for a state, and what it gives; None and `MISS` where there is none."""
        for entry in self.entries.get(place, ()):
            after = entry.run(state)
            if after is not MISS:
                return entry, after
        return None, MISS

    def at(self, place: Place) -> list[CacheEntry]:
        """The entries of a place that are valid; others are dropped."""
        found = self.entries.setdefault(place, [])
        if not all(each.alive for each in found):
            found[:] = [each for each in found if each.alive]
            if self.first not in found and place is None:
                self.first = None
        return found

    def all(self) -> list[CacheEntry]:
        """All entries, those at the beginning of the function first."""
        return [each for found in self.entries.values() for each in found]
