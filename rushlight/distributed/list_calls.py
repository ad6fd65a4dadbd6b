"""Calls of a process group with several tensors: coalesced ones, each of which is exchanged, and lists that are exchanged together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd import no_grad
from ..core.base import storage_of
from ..nn.parallel.reducer import sum_sparse
from .argument_checks import check_alike, check_some
from .engines.shared import UFUNCS
from .recorded_calls import RecordedCalls, _both
from .reductions import ReduceOp, reduction
from .work import Work, Works


def _touch(tensor: Any) -> None:
    """Count the write, as every operation in place does, so that autograd notices it."""
    storage_of(tensor).version += 1


class ListCalls(RecordedCalls):
    """Calls with several tensors, in terms of those with one; a base of ``ProcessGroup``."""

    # -- coalesced -----------------------------------------------------------------------------------------------

    def allreduce_coalesced(self, tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None) -> Work:
        """Reduce several tensors."""
        check_some(tensors, "all_reduce_coalesced")
        if any(each.layout == tensors[0].layout and each.dtype != tensors[0].dtype for each in tensors):
            raise RuntimeError("all_reduce_coalesced: tensors must all have the same type")
        check_alike("all_reduce_coalesced", tensors, tensors[0], sizes=False)
        if tensors[0].is_sparse:
            raise RuntimeError("all_reduce_coalesced: unsupported layout: sparse tensors are reduced by all_reduce")
        different = list({id(each): each for each in tensors}.values())  # one that is given twice is reduced once
        return Works([self.allreduce(each, opts) for each in different], list(tensors))

    def allgather_coalesced(self, output_lists: Any, input_list: Any, opts: Any = None) -> Work:
        """Gather several tensors."""
        works = [self.allgather([outputs[at] for outputs in output_lists], each) for at, each in enumerate(input_list)]
        return Works(works, output_lists)

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Gather several tensors, each into one."""
        return Works([self._allgather_base(out, each) for out, each in zip(outputs, inputs, strict=True)], list(outputs))

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Reduce several tensors; each process gets a part of each."""
        return Works([self._reduce_scatter_base(out, each, opts) for out, each in zip(outputs, inputs, strict=True)], list(outputs))

    # -- together ------------------------------------------------------------------------------------------------

    def _allreduce_together(self, tensors: Sequence[Any], op: Any) -> Work:
        """Reduce the tensors of all processes to one value, which all of them get."""
        first, *others = tensors
        check_alike("all_reduce", tensors, first)
        name, _ = reduction(op, first.dtype, "all_reduce")
        for each in others:
            UFUNCS[name](first._array, each._array, out=first._array)
        _touch(first)
        return self._spread_result(self.allreduce(first, op), list(tensors))

    def _spread_result(self, work: Work, tensors: list[Any]) -> Work:
        """A work that gives what it writes to one tensor to others, too."""
        first, *others = tensors

        def spread() -> None:
            for each in others:
                _touch(each)
                each._array[...] = first._array

        work._outputs = tensors
        if work._request is None:
            spread()
        else:
            work._finish = _both(work._finish, spread)
        return work

    def _allreduce_sparse(self, tensor: Any, op: Any) -> Work:
        """Sum a sparse tensor over all processes: their entries are gathered."""
        if op is not ReduceOp.SUM:
            raise RuntimeError("unsupported reduction operation on sparse tensors: only SUM is there")
        with no_grad():
            tensor.copy_(sum_sparse(tensor, self))
        return Work([tensor])

    def _allgather_together(self, output_lists: Sequence[Sequence[Any]], inputs: Sequence[Any]) -> Work:
        """Gather several tensors of each process, in their order, to each of as many lists."""
        count, size = len(inputs), self.size()
        if len(output_lists) != count or any(len(each) != count * size for each in output_lists):
            raise RuntimeError(
                f"all_gather: invalid output tensor list: {count} tensors of each of {size} processes need {count} lists of {count * size} tensors"
            )
        first = output_lists[0]
        works = []
        for at, each in enumerate(inputs):
            work = self.allgather([first[at::count]], [each])
            for place in range(at, count * size, count):
                self._spread_result(work, [outputs[place] for outputs in output_lists])
            works.append(work)
        return Works(works, list(output_lists))
