"""PowerSGD: gradients approximated by products of two thin matrices, and only these are all-reduced.

A gradient M of n rows and m columns is approximated by P Qᵀ of low rank.  One step of power iteration a call: P = M Q is averaged over
the processes and orthogonalized, then Q = Mᵀ P is averaged.  What the approximation leaves out is added to the next gradient (error
feedback), and Q is the start of the next call (warm start).  The futures of one bucket are chained: the reductions of P and Q run while backward
computes other buckets.
"""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np

from ....autograd import no_grad
from ....core.declare import exports
from ....core.futures import Future
from ....core.process_group import default_group, world
from ....tensor.generator import Generator
from .default_hooks import _average, allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

logger = logging.getLogger(__name__)


class PowerSGDState:
    """The rank of the approximation, and what calls of the hook keep for the next: errors and matrices."""

    def __init__(
        self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1_000, min_compression_rate: float = 2,
        use_error_feedback: bool = True, warm_start: bool = True, orthogonalization_epsilon: float = 0, random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000, batch_tensors_with_same_shape: bool = False,
    ) -> None:  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be applied "
                "after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0

    def __getstate__(self) -> dict[str, Any]:
        logger.warning("NOTE: Process group is not serializable and excluded from a saved state.")
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        logger.warning("NOTE: Process group will be set to a default group (i.e. the world size).                If a different group is desired, "
                       "please set `self.process_group` after PowerSGD state is loaded.")  # fmt: skip
        self.__dict__.update(state)

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_powerSGD_iter:
                logger.info("Start to apply PowerSGD after %s iterations.", self.iter)

    def compression_stats(self) -> tuple[float, int, int]:
        """The rate of compression, and the numbers of elements before and after it."""
        after = self.total_numel_after_compression
        return (self.total_numel_before_compression / after if after else 0, self.total_numel_before_compression, after)

    def _fill(self, matrices: list[Any]) -> None:
        """Random starts, the same on all processes: their generators have one seed and draw the same sequence."""
        drawn = Generator().manual_seed(int(self.rng.randint(1_000_000_000)))
        for each in matrices:
            each.copy_(exports["", "randn"](tuple(each.shape), dtype=each.dtype, generator=drawn))


def _orthogonalize(matrices: Any, epsilon: float = 0) -> None:
    """Make the columns of matrices orthonormal, in place (Gram-Schmidt)."""
    for at in range(matrices.shape[-1]):
        column = matrices[..., at : at + 1]
        norm = column.norm(dim=-2, keepdim=True)
        column.div_(norm + epsilon if epsilon else norm.clamp(min=1e-38))
        if at + 1 < matrices.shape[-1]:
            rest = matrices[..., at + 1 :]
            rest.sub_(column * (column * rest).sum(-2, keepdim=True))


def _fed_back(state: PowerSGDState, at: int, tensor: Any) -> Any:
    """Add the error of the last call to a gradient; a copy of the sum, or None without error feedback."""
    if not state.use_error_feedback:
        return None
    if at in state.error_dict:
        tensor.add_(state.error_dict[at])
    else:
        state.error_dict[at] = exports["", "zeros_like"](tensor)
    return tensor.clone()


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future[Any]:
    """The average of low-rank approximations of the gradients; vectors and small matrices are uncompressed."""
    group = default_group() if state.process_group is None else state.process_group
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    with no_grad():
        at = bucket.index()
        kept = _fed_back(state, at, buffer)
        whole: list[Any] = []
        by_shape: dict[Any, list[Any]] = {}
        for gradient in bucket.gradients():
            matrix = gradient.reshape(gradient.shape[0] if gradient.dim() else 1, -1)
            compressed = sum(matrix.shape) * min(*matrix.shape, state.matrix_approximation_rank)
            fits = compressed * state.min_compression_rate < matrix.numel()
            if fits:
                by_shape.setdefault(tuple(matrix.shape), []).append(gradient)
            else:
                whole.append(gradient)
            state.total_numel_before_compression += matrix.numel()
            state.total_numel_after_compression += compressed if fits else matrix.numel()
        batches = [
            batch
            for alike in by_shape.values()
            for batch in ([alike] if state.batch_tensors_with_same_shape else [[each] for each in alike])
        ]
        matrices = [exports["", "stack"]([each.reshape(each.shape[0], -1) for each in batch]) for batch in batches]
        ranks = [min(*each.shape[1:], state.matrix_approximation_rank) for each in matrices]
        p_sizes = [each.shape[0] * each.shape[1] * rank for each, rank in zip(matrices, ranks)]
        q_sizes = [each.shape[0] * each.shape[2] * rank for each, rank in zip(matrices, ranks)]
        fresh = not state.warm_start or at not in state.p_memory_dict
        if fresh:
            state.p_memory_dict[at] = exports["", "empty"](sum(p_sizes), dtype=buffer.dtype, device=buffer.device)
            state.q_memory_dict[at] = exports["", "empty"](sum(q_sizes), dtype=buffer.dtype, device=buffer.device)
        p_memory, q_memory = state.p_memory_dict[at], state.q_memory_dict[at]
        ps = [part.view(each.shape[0], each.shape[1], rank) for part, each, rank in zip(p_memory.split(p_sizes), matrices, ranks)]
        qs = [part.view(each.shape[0], each.shape[2], rank) for part, each, rank in zip(q_memory.split(q_sizes), matrices, ranks)]
        if fresh:
            state._fill(qs)
        for q in qs:
            _orthogonalize(q, state.orthogonalization_epsilon)
        for matrix, p, q in zip(matrices, ps, qs):
            p.copy_(matrix @ q)
    flat = exports["", "cat"]([each.reshape(-1) for each in whole]) if whole else exports["", "zeros"](0, dtype=buffer.dtype)
    p_work = world.collectives.all_reduce(p_memory, group=group, async_op=True) if matrices else None
    whole_future = _average(group, flat)

    def go_on(future: Future[Any]) -> Any:
        with no_grad():
            found, start = future.value(), 0
            for each in whole:
                each.copy_(found[start : start + each.numel()].view(each.shape))
                start += each.numel()
            if p_work is not None:
                p_work.wait()
                for matrix, p, q in zip(matrices, ps, qs):
                    _orthogonalize(p, state.orthogonalization_epsilon)
                    q.copy_(matrix.transpose(1, 2) @ p)
                q_memory.div_(group.size())
                world.collectives.all_reduce(q_memory, group=group)
                for batch, p, q in zip(batches, ps, qs):
                    for each, approximated in zip(batch, p @ q.transpose(1, 2)):
                        each.copy_(approximated.reshape(each.shape))
            if kept is not None:
                state.error_dict[at] = kept - buffer
            if not state.warm_start:
                state.p_memory_dict.clear()
                state.q_memory_dict.clear()
        state.maybe_increase_iter(bucket)
        return buffer

    return _Later(whole_future, go_on)


class _Later(Future[Any]):
    """A future whose value is computed by the thread that waits for it.

    The second reduction of PowerSGD is a collective, and collectives have to be called in one order on all processes: buckets are waited
    for in their order, while callbacks of futures run when a reduction happens to end.
    """

    def __init__(self, first: Future[Any], then: Any) -> None:
        super().__init__()
        self._first, self._then = first, then

    def wait(self) -> Any:
        """The value."""
        if not self.done():
            self._first.wait()
            self.set_result(self._then(self._first))
        return super().wait()

    def done(self) -> bool:
        """Whether the value was computed."""
        return self._ready.is_set()


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future[Any]:
    """The average of a low-rank approximation of the whole bucket, as one square matrix: less to send, and less exact."""
    group = default_group() if state.process_group is None else state.process_group
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    with no_grad():
        at, length = bucket.index(), buffer.numel()
        side = math.ceil(math.sqrt(length))
        rank = min(state.matrix_approximation_rank, side)
        state.total_numel_before_compression += length
        state.total_numel_after_compression += 2 * side * rank
        square = exports["", "zeros"](side * side, dtype=buffer.dtype, device=buffer.device)
        square[:length] = buffer
        kept = _fed_back(state, at, square)
        matrix = square.view(side, side)
        if not state.warm_start or at not in state.q_memory_dict:
            state.q_memory_dict[at] = exports["", "empty"]((side, rank), dtype=buffer.dtype, device=buffer.device)
            state._fill([state.q_memory_dict[at]])
        q = state.q_memory_dict[at]
        _orthogonalize(q, state.orthogonalization_epsilon)
        p = state.p_memory_dict[at] = matrix @ q
    work = world.collectives.all_reduce(p, group=group, async_op=True)

    def go_on(future: Future[Any]) -> Any:
        with no_grad():
            _orthogonalize(p, state.orthogonalization_epsilon)
            q.copy_(matrix.t() @ p).div_(group.size())
            world.collectives.all_reduce(q, group=group)
            approximated = p @ q.t()
            if kept is not None:
                state.error_dict[at] = kept - approximated.reshape(-1)
            buffer.copy_(approximated.reshape(-1)[:length])
        state.maybe_increase_iter(bucket)
        return buffer

    return _Later(work.get_future(), go_on)
