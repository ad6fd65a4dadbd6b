"""Schedules: the order in which a stage runs microbatches forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...autograd import no_grad
from ...ops.shape.concat import cat
from ...ops.shape.concat import stack as stacked
from ...tensor import Tensor
from .stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class _Schedule:
    """A stage, and the order of its microbatches: subclasses have ``order``, which gives numbers, and whether each is run forward."""

    def __init__(
        self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        if n_microbatches < 1:
            raise ValueError(f"the number of microbatches must be positive, and is {n_microbatches}")
        self._has_backward = loss_fn is not None
        self._stage, self._n_microbatches, self._loss_fn, self.scale_grads = stage, n_microbatches, loss_fn, scale_grads

    def order(self) -> Iterator[tuple[int, bool]]:
        """The microbatches as they are run."""
        raise NotImplementedError

    def _split(self, value: Any) -> list[Any]:
        """The parts of an argument: tensors along their first dimension, anything else whole."""
        count = self._n_microbatches
        if not isinstance(value, Tensor):
            return [value] * count
        if value.shape[0] < count:
            raise ValueError(f"a batch of {value.shape[0]} can't be split into {count} microbatches")
        return list(value.tensor_split(count))  # type: ignore[attr-defined]

    def step(self, *args: Any, target: Any = None, losses: list[Any] | None = None, return_outputs: bool = True, **kwargs: Any) -> Any:
        """Run a batch: the first stage gets its inputs, the last its target; the last returns the outputs of all microbatches together."""
        stage, count = self._stage, self._n_microbatches
        parts = [self._split(each) for each in args]
        named = {name: self._split(each) for name, each in kwargs.items()}
        targets = self._split(target) if target is not None else [None] * count
        if stage.is_last and self._has_backward and target is None:
            raise ValueError("the last stage of a pipeline needs a target, from which its loss is computed")
        outputs: list[Any] = [None] * count
        found: dict[int, Any] = {}
        for number, forward in self.order():
            if forward:
                given = tuple(each[number] for each in parts)
                outputs[number] = stage.forward_one_chunk(number, given, {name: each[number] for name, each in named.items()})
                if stage.is_last and self._loss_fn is not None and target is not None:
                    found[number] = self._loss_fn(outputs[number], targets[number])
            elif self._has_backward:
                stage.backward_one_chunk(number, found.get(number))
        stage.kept.clear()
        with no_grad():
            stage.finish(count if self.scale_grads and self._has_backward else 1)
        if losses is not None and stage.is_last:
            losses[:] = [found[number].detach() for number in sorted(found)]
        return _merged(outputs) if stage.is_last and return_outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run a batch without gradients."""
        before, self._has_backward = self._has_backward, False
        try:
            with no_grad():
                return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before


def _merged(outputs: list[Any]) -> Any:
    first = outputs[0]
    if isinstance(first, (tuple, list)):
        return type(first)(_merged([each[at] for each in outputs]) for at in range(len(first)))
    if not isinstance(first, Tensor):
        return outputs
    return cat(outputs, 0) if first.dim() else stacked(outputs)


class ScheduleGPipe(_Schedule):
    """All microbatches forward, then all backward."""

    def order(self) -> Iterator[tuple[int, bool]]:
        """The microbatches as they are run."""
        yield from ((number, True) for number in range(self._n_microbatches))
        yield from ((number, False) for number in range(self._n_microbatches))


class Schedule1F1B(_Schedule):
    """As many microbatches forward as there are stages behind, then one backward for one forward: few activations are kept."""

    def order(self) -> Iterator[tuple[int, bool]]:
        """The microbatches as they are run."""
        count = self._n_microbatches
        ahead = min(count, self._stage.num_stages - self._stage.stage_index)
        yield from ((number, True) for number in range(ahead))
        for number in range(count):
            yield number, False
            if number + ahead < count:
                yield number + ahead, True
