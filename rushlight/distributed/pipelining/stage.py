"""A stage of a pipeline: a part of a model that one process has, and its exchange with adjacent stages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...autograd.differentiation import backward
from ...core import dtypes
from ...core.dtypes import int64
from ...ops.create.factories import empty
from ...tensor import Tensor
from ...tensor.construct import tensor
from .. import collectives

__all__ = ["PipelineStage"]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The results of a module, one or several, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _tag(receiver: int, forward: bool) -> int:
    """The tag of tensors for a stage: activations from the stage before, or gradients from the one after."""
    return 2 * receiver + forward


class PipelineStage:
    """One of the consecutive parts of a model; activations come from the stage before and go to the one after, gradients the other way.

    Shapes and dtypes of activations are told by the stage that sends them, with the first of them; they stay the same.
    """

    def __init__(
        self, submodule: Any, stage_index: int, num_stages: int, device: Any, input_args: Any = None, output_args: Any = None, group: Any = None,
        dw_builder: Any = None,
    ) -> None:  # fmt: skip
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.group = collectives.member(group)
        if num_stages % self.group.size():
            raise ValueError(
                f"Pipeline group size {self.group.size()} must divide the number of stages {num_stages}: each process has as many"
            )
        if stage_index % self.group.size() != self.group.rank():
            raise ValueError(
                f"stage {stage_index} belongs to rank {stage_index % self.group.size()} of the group, and this is rank {self.group.rank()}"
            )
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._told = False  # whether the next stage knows what it will receive
        self._known: list[tuple[Any, Any]] | None = None  # shapes and dtypes of what comes from the stage before
        self.kept: dict[int, tuple[tuple[Any, ...], Any]] = {}  # inputs and outputs of microbatches that wait for their gradients
        self.sent: list[Any] = []
        self.local: dict[int, PipelineStage] = {}  # the stages of this process, which hand tensors over in its memory
        self._handed: dict[tuple[bool, int], list[Any]] = {}  # what another stage of this process has left here

    # -- exchange with adjacent stages: tensors of a stage and direction have a tag of their own, as two processes may exchange those of several stages --

    def _send(self, values: Sequence[Any], to: int, number: int, forward: bool) -> None:
        if to in self.local:
            self.local[to]._handed[forward, number] = list(values)
            return
        for each in values:
            self.sent.append(
                collectives.isend(each.contiguous(), group=self.group, group_dst=to % self.group.size(), tag=_tag(to, forward))
            )

    def _receive(self, like: Sequence[tuple[Any, Any]], source: int, number: int, forward: bool) -> list[Any]:
        if source in self.local:
            return self._handed.pop((forward, number))
        found = []
        for shape, dtype in like:
            made = empty(shape, dtype=dtype, device=self.device)
            collectives.recv(made, group=self.group, group_src=source % self.group.size(), tag=_tag(self.stage_index, forward))
            found.append(made)
        return found

    def _tell(self, results: Sequence[Any]) -> None:
        """Send shapes and dtypes of what the next stage will receive, with the first microbatch."""
        if not self._told and self.stage_index + 1 not in self.local:
            text = json.dumps([(list(each.shape), str(each.dtype).rpartition(".")[2]) for each in results]).encode()
            for part in ([len(text)], list(text)):
                self._send([tensor(part, dtype=int64)], self.stage_index + 1, 0, True)
        self._told = True

    def _inputs(self, number: int) -> tuple[Any, ...]:
        """What the stage before has computed."""
        before = self.stage_index - 1
        if self._known is None and before not in self.local:
            length = int(self._receive([((1,), int64)], before, 0, True)[0])
            text = bytes(self._receive([((length,), int64)], before, 0, True)[0].tolist())
            self._known = [(tuple(shape), getattr(dtypes, name)) for shape, name in json.loads(text)]
        found = [each.detach() for each in self._receive(self._known or (), before, number, True)]
        return tuple(each.requires_grad_() if each.dtype.is_floating_point else each for each in found)

    def forward_one_chunk(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a microbatch, and send what comes out to the next stage."""
        given = args if self.is_first else self._inputs(number)
        output = self.submod(*given, **kwargs)
        results = as_tuple(output)
        self.kept[number] = (() if self.is_first else given), results
        if not self.is_last:
            if not all(isinstance(each, Tensor) for each in results):
                raise TypeError(f"stage {self.stage_index} of a pipeline must give tensors to the next one")
            self._tell(results)
            self._send([each.detach() for each in results], self.stage_index + 1, number, True)
        return output

    def backward_one_chunk(self, number: int, loss: Any = None) -> None:
        """Run a microbatch backward: from its loss, or from the gradients that the next stage sends; send those of the inputs back."""
        inputs, results = self.kept.pop(number)
        if self.is_last:
            backward(loss)
        else:
            floats = [each for each in results if each.dtype.is_floating_point]
            found = self._receive([(each.shape, each.dtype) for each in floats], self.stage_index + 1, number, False)
            wanted = [each for each in floats if each.requires_grad]
            gradients = [gradient for each, gradient in zip(floats, found) if each.requires_grad]
            if wanted:
                backward(wanted, gradients)
        if inputs:
            floats = [each for each in inputs if each.dtype.is_floating_point]
            back = [
                each.grad if each.grad is not None else empty(each.shape, dtype=each.dtype, device=self.device).zero_() for each in floats
            ]
            self._send(back, self.stage_index - 1, number, False)

    def finish(self, divisor: int) -> None:
        """Wait until everything is sent, and divide gradients by the number of microbatches."""
        for each in self.sent:
            each.wait()
        self.sent = []
        if divisor > 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(divisor)
