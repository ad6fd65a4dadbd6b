"""Schedules: the order in which the stages of a process run microbatches forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...autograd import no_grad
from .microbatch import merge_chunks, split, split_args_kwargs_into_chunks
from .stage import PipelineStage

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "get_schedule_class",
]


class _Schedule:
    """The stages of this process, and the order of their microbatches: subclasses have ``order``."""

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
        specs: tuple[Any, Any, Any] = (None, None, None),
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"the number of microbatches must be positive, and is {n_microbatches}")
        self._has_backward = loss_fn is not None
        self._args_chunk_spec, self._kwargs_chunk_spec, self._output_merge_spec = specs
        self._stages, self._n_microbatches, self._loss_fn, self.scale_grads = list(stages), n_microbatches, loss_fn, scale_grads
        local = {each.stage_index: each for each in self._stages}
        for each in self._stages:
            each.local = local

    def order(self) -> Iterator[tuple[int, int, bool]]:
        """What is run, in turn: the place of a stage among those of this process, a microbatch, and whether it is run forward."""
        raise NotImplementedError

    def step(self, *args: Any, target: Any = None, losses: list[Any] | None = None, return_outputs: bool = True, **kwargs: Any) -> Any:
        """Run a batch: the first stage gets its inputs, the last its target; the last returns the outputs of all microbatches together."""
        stages, count = self._stages, self._n_microbatches
        parts, named = split_args_kwargs_into_chunks(
            args, kwargs, count, self._args_chunk_spec if args else None, self._kwargs_chunk_spec if kwargs else None
        )
        targets = split(target, count)
        last = next((each for each in stages if each.is_last), None)
        if last is not None and self._has_backward and target is None:
            raise ValueError("the last stage of a pipeline needs a target, from which its loss is computed")
        outputs: list[Any] = [None] * count
        found: dict[int, Any] = {}
        for place, number, forward in self.order():
            stage = stages[place]
            if forward:
                output = stage.forward_one_chunk(number, parts[number] if stage.is_first else (), named[number])
                if stage.is_last:
                    outputs[number] = output
                    if self._loss_fn is not None and target is not None:
                        found[number] = self._loss_fn(output, targets[number])
            elif self._has_backward:
                stage.backward_one_chunk(number, found.get(number) if stage.is_last else None)
        with no_grad():
            for each in stages:
                each.kept.clear()
                each.finish(count if self.scale_grads and self._has_backward else 1)
        if losses is not None and last is not None:
            losses[:] = [found[number].detach() for number in sorted(found)]
        return merge_chunks(outputs, self._output_merge_spec) if last is not None and return_outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run a batch without gradients."""
        before, self._has_backward = self._has_backward, False
        try:
            with no_grad():
                return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before


class PipelineScheduleSingle(_Schedule):
    """A schedule of one stage for each process."""

    def __init__(
        self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        if stage.num_stages != stage.group.size():
            raise ValueError(
                f"{type(self).__name__} runs one stage for each process: {stage.num_stages} stages, {stage.group.size()} processes"
            )
        super().__init__([stage], n_microbatches, loss_fn, scale_grads, (args_chunk_spec, kwargs_chunk_spec, output_merge_spec))


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward."""

    def order(self) -> Iterator[tuple[int, int, bool]]:
        """What is run, in turn."""
        yield from ((0, number, True) for number in range(self._n_microbatches))
        yield from ((0, number, False) for number in range(self._n_microbatches))


class Schedule1F1B(PipelineScheduleSingle):
    """As many microbatches forward as there are stages behind, then one backward for one forward: few activations are kept."""

    def order(self) -> Iterator[tuple[int, int, bool]]:
        """What is run, in turn."""
        count, stage = self._n_microbatches, self._stages[0]
        ahead = min(count, stage.num_stages - stage.stage_index)
        yield from ((0, number, True) for number in range(ahead))
        for number in range(count):
            yield 0, number, False
            if number + ahead < count:
                yield 0, number + ahead, True


class PipelineScheduleMulti(_Schedule):
    """A schedule of several stages for each process: process r of n has the stages r, r + n, r + 2n, and so on."""

    def __init__(
        self, stages: Sequence[PipelineStage], n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, use_full_backward: bool | None = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        first = stages[0]
        self.pp_group_size, self.n_local_stages = first.group.size(), len(stages)
        if len(stages) <= 1 and first.num_stages > first.group.size():
            raise ValueError("Multi-stage schedule expects all stages of this process, in a list")
        if first.num_stages != self.pp_group_size * len(stages):
            raise ValueError(
                f"{first.num_stages} stages over {self.pp_group_size} processes are {first.num_stages // self.pp_group_size} for each, not {len(stages)}"
            )
        super().__init__(
            sorted(stages, key=lambda each: each.stage_index),
            n_microbatches,
            loss_fn,
            scale_grads,
            (args_chunk_spec, kwargs_chunk_spec, output_merge_spec),
        )


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All microbatches through a stage before the process's next one; then backward, in the opposite order."""

    def order(self) -> Iterator[tuple[int, int, bool]]:
        """What is run, in turn."""
        steps = [(place, number, True) for place in range(self.n_local_stages) for number in range(self._n_microbatches)]
        yield from steps
        yield from ((place, number, False) for place, number, _ in reversed(steps))


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """Rounds of microbatches through the stages of a process in turn; after a warm-up one backward for one forward."""

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int, *args: Any, **options: Any) -> None:
        super().__init__(stages, n_microbatches, *args, **options)
        rounds = max(1, n_microbatches // self.pp_group_size)
        self.microbatches_per_round = n_microbatches // rounds
        if n_microbatches % rounds:
            raise ValueError(
                f"Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds ({rounds}), but got {n_microbatches}."
            )

    def order(self) -> Iterator[tuple[int, int, bool]]:
        """What is run, in turn."""
        own, each_round = self.n_local_stages, self.microbatches_per_round
        total = own * self._n_microbatches
        ahead = min(total, (own - 1) * each_round + 2 * (self.pp_group_size - 1 - self._stages[0].group.rank()))
        done = {(place, forward): 0 for place in range(own) for forward in (True, False)}

        def turn(step: int, forward: bool) -> tuple[int, int, bool]:
            place = step // each_round % own
            place = place if forward else own - 1 - place
            number = done[place, forward]
            done[place, forward] += 1
            return place, number, forward

        yield from (turn(step, True) for step in range(ahead))
        for step in range(total):
            if step + ahead < total:
                yield turn(step + ahead, True)
            yield turn(step, False)


def get_schedule_class(schedule_name: str) -> type[_Schedule]:
    """The schedule of a name, in any case; the names begin without \"Schedule\"."""
    known: dict[str, type[_Schedule]] = {
        "1f1b": Schedule1F1B,
        "gpipe": ScheduleGPipe,
        "interleaved1f1b": ScheduleInterleaved1F1B,
        "loopedbfs": ScheduleLoopedBFS,
        "pipelineschedulesingle": PipelineScheduleSingle,
        "pipelineschedulemulti": PipelineScheduleMulti,
    }
    if schedule_name.lower() not in known:
        raise ValueError(f"Unknown schedule name {schedule_name!r}. The valid options are {[each.__name__ for each in known.values()]}")
    return known[schedule_name.lower()]
