"""A stage of a pipeline: the part of a model that one process has, and its exchange with adjacent stages."""

from __future__ import annotations

from typing import Any

from ...autograd.differentiation import backward
from ...ops.create.factories import empty
from ...tensor import Tensor
from .. import collectives, objects

__all__ = ["PipelineStage"]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The results of a module, one or several, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


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
        if self.group.size() != num_stages:
            raise ValueError(
                f"Pipeline group size {self.group.size()} must be the number of stages {num_stages}: each process has one stage"
            )
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._told = False  # whether the next stage knows what it will receive
        self._known: list[tuple[Any, Any]] | None = None  # shapes and dtypes of what comes from the stage before
        self.kept: dict[int, tuple[tuple[Any, ...], Any]] = {}  # inputs and outputs of microbatches that wait for their gradients
        self.sent: list[Any] = []

    def _inputs(self) -> tuple[Any, ...]:
        """What the stage before has computed."""
        before = self.stage_index - 1
        if self._known is None:
            received: list[Any] = [None]
            objects.recv_object_list(received, group=self.group, group_src=before)
            self._known = received[0]
        found = []
        for shape, dtype in self._known:
            made = empty(shape, dtype=dtype, device=self.device)
            collectives.recv(made, group=self.group, group_src=before)
            found.append(made.requires_grad_() if made.dtype.is_floating_point else made)
        return tuple(found)

    def forward_one_chunk(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a microbatch, and send what comes out to the next stage."""
        given = args if self.is_first else self._inputs()
        output = self.submod(*given, **kwargs)
        results = as_tuple(output)
        self.kept[number] = (() if self.is_first else given), results
        if not self.is_last:
            if not all(isinstance(each, Tensor) for each in results):
                raise TypeError(f"stage {self.stage_index} of a pipeline must give tensors to the next one")
            after = self.stage_index + 1
            if not self._told:
                objects.send_object_list([[(tuple(each.shape), each.dtype) for each in results]], group=self.group, group_dst=after)
                self._told = True
            for each in results:
                self.sent.append(collectives.isend(each.detach().contiguous(), group=self.group, group_dst=after))
        return output

    def backward_one_chunk(self, number: int, loss: Any = None) -> None:
        """Run a microbatch backward: from its loss, or from the gradients that the next stage sends; send those of the inputs back."""
        inputs, results = self.kept.pop(number)
        if self.is_last:
            backward(loss)
        else:
            wanted = [each for each in results if each.requires_grad]
            gradients = []
            for each in results:
                if each.dtype.is_floating_point:
                    made = empty(each.shape, dtype=each.dtype, device=self.device)
                    collectives.recv(made, group=self.group, group_src=self.stage_index + 1)
                    gradients += [made] if each.requires_grad else []
            if wanted:
                backward(wanted, gradients)
        for each in inputs:
            if each.dtype.is_floating_point:
                gradient = each.grad if each.grad is not None else empty(each.shape, dtype=each.dtype, device=self.device).zero_()
                self.sent.append(collectives.isend(gradient.contiguous(), group=self.group, group_dst=self.stage_index - 1))

    def finish(self, divisor: int) -> None:
        """Wait until everything is sent, and divide gradients by the number of microbatches."""
        for each in self.sent:
            each.wait()
        self.sent = []
        if divisor > 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(divisor)
