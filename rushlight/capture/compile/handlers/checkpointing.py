"""``torch.utils.checkpoint`` in a captured program: a region of the graph whose values the backward computes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.random import default_generator
from ....graph.regions import Recomputed
from ....utils.checkpoint import checkpoint
from ..guards.modes import LeftModes
from ..record.callbacks import RecordingInterpreter
from ..record.graph_breaks import Break
from ..record.registry import handles
from ..vm import operator_forms
from ..vm.exceptions import result_of
from ..vm.frame import Inline


@handles(checkpoint)
def capture_checkpoint(
    recorder: Any,
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """The function is interpreted, and its nodes are marked for the partition; a graph break where it can't be part of a graph.

    Policies of what to keep are eager mode's.  A reentrant checkpoint of inputs without gradients records none, whatever else the function reads.
    """
    reentrant = use_reentrant is None or use_reentrant
    with_gradient = any(isinstance(each, TensorBase) and each.requires_grad for each in args)
    if context_fn is not None or debug or not preserve_rng_state or reentrant and kwargs:
        return NotImplemented
    if reentrant and not with_gradient:
        return Inline(operator_forms.call_without_gradient, (function, args), {})
    region = Recomputed(recorder.tracer.graph)
    frame, pure, random, modes = recorder.frame, recorder.pure, default_generator.mark(), LeftModes()
    recorder.pure = True
    try:
        answer = recorder.call(frame, function, args, kwargs)
        if type(answer) is Inline:
            interpreter = RecordingInterpreter(recorder)
            started = interpreter.start(answer.function, answer.args, answer.kwargs)
            answer = result_of(interpreter.follow(started, lambda: not region.writes() or recorder.in_body))
        region.mark()
        return answer
    except Break as stop:
        modes.restore()
        default_generator.back(random)
        raise Break("control", name="checkpoint", reason=stop.message) from None
    finally:
        recorder.pure, recorder.frame = pure, frame
