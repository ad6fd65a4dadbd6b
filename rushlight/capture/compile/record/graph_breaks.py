"""Graph breaks: each kind with its message and hint, in one table, and the errors of captures."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from ....core.errors import RushlightError
from ..vm.frame import Frame, Stop

# id -> (what happened, what to do).  The id is stable; messages may name particulars in braces.
BREAKS: dict[str, tuple[str, str]] = {
    "slow": ("a capture took longer than {limit} seconds (capture_time_limit), at {steps} instructions", "keep long loops of plain Python out of the compiled function"),
    "destructor": ("an instance of {name} is made, whose __del__ runs when it goes, which no graph says", "call a method that ends it"),
    "asked": ("the program calls graph_break()", "remove graph_break()"),
    "disabled": ("{name} is marked with disable", "remove the mark, or accept the break"),
    "builtin": ("builtin: {name} has side effects that a graph can't hold", "move it out of the compiled function, or log after it"),
    "native": ("{name} is not written in Python, and it is not known to be free of side effects", "call it outside, or mark it with allow_in_graph"),
    "hidden": ("{name} would be run by native code, where its side effects can't be captured", "call the method itself, or accept the break"),
    "truth": ("control flow depends on the value of a tensor", "torch.where chooses element by element; torch.cond keeps both branches in the graph"),
    "value": ("{name} turns the value of a tensor into a Python value", "keep it a tensor, or accept the break"),
    "function_forward": ("the forward of the Function {name} can't be captured: {reason}", "see the reason; eager mode runs it"),
    "function_backward": ("the backward of the Function {name} can't be captured: {reason}", "see the reason; eager mode runs it"),
    "effect": ("{name} of a pre-existing object is changed", "keep backward free of side effects; eager mode runs it"),
    "control": ("a function given to {name} can't be part of a graph: {reason}", "keep it to computing on tensors, without side effects and modes"),
    "changed": ("{name} was changed earlier in the same graph", "change it after the Function is applied, or accept the break"),
    "loop": ("an iterator that exists before this graph is advanced", "it is not an error: each iteration is a graph"),
    "attribute": ("the attribute {name} of a tensor is written to", "write to it outside of the compiled function"),
    "history": ("the attribute {name} of a tensor depends on its autograd history", "read it outside of the compiled function"),
    "tensor": ("{name}() of a tensor has side effects", "call it outside of the compiled function, or accept the break"),
    "gradient": ("{name} is not captured: {reason}", "register hooks outside and accept the break, or compute it all in one compiled function"),
    "exchange": ("{name} exchanges something between processes outside of graphs: {reason}", "it is not an error: what comes before and after it are graphs"),
    "nested": ("{name} works on nested tensors, which have no shape of numbers", "accept the break, or compute with values() and offsets()"),
    "sparse": ("{name} works on sparse tensors, which are more than a shape and elements", "accept the break, or keep the tensor dense"),
    "state": ("{name} changes a global mode that a graph can't hold", "enter it outside of the compiled function"),
}  # fmt: skip
QUIET = frozenset(("loop",))  # breaks that are not reported

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


class Unsupported(RushlightError, RuntimeError):
    """With ``fullgraph=True``: something in the program can't be captured."""

    code = "RL407"


class FailOnRecompileLimitHit(Unsupported):
    """With ``fullgraph=True``: a program was compiled as often as it may be, and needs another graph."""

    code = "RL417"


class RecompileError(Unsupported):
    """A program needs a second graph, and ``error_on_recompile`` is set."""

    code = "RL418"


class ConstraintViolation(RushlightError, RuntimeError):
    """A program specializes a size that was marked as dynamic."""

    code = "RL409"


class BackendFailed(RushlightError, RuntimeError):
    """A back-end raised an error that the program itself does not."""

    code = "RL410"


class Break(Stop):
    """Raised while a program is captured, to end the graph before the present instruction."""

    def __init__(self, kind: str, **particulars: Any) -> None:
        super().__init__(kind)
        self.kind = kind
        self.particulars = particulars

    @property
    def message(self) -> str:
        """What happened."""
        return BREAKS[self.kind][0].format(**self.particulars)

    def describe(self, frame: Frame | None) -> str:
        """The user's line, what happened, and what to do."""
        place = ""
        if frame is not None:
            place = f'File "{frame.code.co_filename}", line {frame.line}, in {frame.code.co_qualname}: '
        return f"{place}{self.message} (break '{self.kind}'). Hint: {BREAKS[self.kind][1]}."


class BreakRecord:
    """A break that has happened: its kind, what it was about, and where."""

    def __init__(self, stop: Break) -> None:
        self.kind = stop.kind
        self.message = stop.message
        self.hint = BREAKS[stop.kind][1]
        frame = stop.frame
        self.file = frame.code.co_filename if frame is not None else ""
        self.line = frame.line if frame is not None else 0
        self.function = frame.code.co_qualname if frame is not None else ""
        self.text = stop.describe(frame)

    def __str__(self) -> str:
        return self.text
