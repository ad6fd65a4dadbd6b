"""The reducer: gradients in buckets, each all-reduced over a group as soon as its gradients are ready, overlapped with backward.

In: parameters whose ``.grad`` the engine fills (a hook on each says when).  Out: the same ``.grad``, averaged over the group.  Buckets are
reduced in their order on every process, so that collectives match; after the first iteration they are built again in the order in which
gradients became ready.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from sys import getrefcount
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ...autograd import no_grad
from ...autograd.engine import queue_callback
from ...core.base import TensorBase, make
from ...core.declare import exports
from ...core.dtypes import BY_NAME
from ...core.process_group import world
from ...core.state import state
from ...tensor.construct import tensor
from .buckets import UNLIMITED, Bucket, GradBucket, bucket_assignment, scale_into

FIRST_BUCKET_BYTES = 1024 * 1024  # small, so that the first reduction starts early
BROADCAST_BYTES = 250 * 1024 * 1024
_WIDE = (BY_NAME["float32"], BY_NAME["float64"])


def broadcast_coalesced(tensors: Sequence[Any], group: Any, source: int = 0) -> None:
    """Broadcast tensors from one process (a rank in the group): those of one dtype together."""
    groups: dict[Any, list[Any]] = {}
    for each in tensors:
        groups.setdefault((each.dtype, each.device), []).append(each.detach())
    with no_grad():
        for members in groups.values():
            while members:
                size = count = 0
                while count < len(members) and (count == 0 or size < BROADCAST_BYTES):
                    size += members[count].numel() * members[count].element_size()
                    count += 1
                some, members = members[:count], members[count:]
                flat = exports["", "cat"]([each.reshape(-1) for each in some])
                world.collectives.broadcast(flat, group=group, group_src=source)
                start = 0
                for each in some:
                    each.copy_(flat[start : start + each.numel()].view(each.shape))
                    start += each.numel()


def leaves_of(outputs: Iterable[Any]) -> set[int]:
    """The ids of the leaves that gradients of some tensors reach."""
    leaves: set[int] = set()
    seen: set[Any] = set()
    stack = [each._grad_fn if each._grad_fn is not None else each for each in outputs]
    while stack:
        current = stack.pop()
        if isinstance(current, TensorBase):
            leaves.add(id(current))
        elif current is not None and current not in seen:
            seen.add(current)
            stack += [edge[0] if edge.__class__ is tuple else edge for edge in current.inputs]
    return leaves


def sum_sparse(given: Any, group: Any) -> Any:
    """The sum of a sparse tensor over a group: the entries of all processes, coalesced."""
    calls, size = world.collectives, world.collectives.get_world_size(group)
    given = given.detach().coalesce()
    counts = [exports["", "zeros"](1, dtype=BY_NAME["int64"]) for _ in range(size)]
    calls.all_gather(counts, tensor([given._nnz()], dtype=BY_NAME["int64"]), group=group)
    longest = max(int(each.item()) for each in counts)
    gathered = []
    for part in (given.indices().t().contiguous(), given.values()):
        padded = exports["", "zeros"](longest, *part.shape[1:], dtype=part.dtype)
        padded[: part.shape[0]] = part
        parts = [exports["", "empty"](padded.shape, dtype=part.dtype) for _ in range(size)]
        calls.all_gather(parts, padded, group=group)
        gathered.append(exports["", "cat"]([each[: int(n.item())] for each, n in zip(parts, counts)]))
    return exports["", "sparse_coo_tensor"](gathered[0].t(), gathered[1], given.shape).coalesce()


class ReadyHook:
    """The hook of a parameter: signals that its gradient was accumulated.  A compiled graph hands the gradient over before that."""

    __slots__ = ("index", "reducer")
    receives = True

    def __init__(self, reducer: Reducer, index: int) -> None:
        self.reducer, self.index = reducer, index

    def __call__(self, parameter: Any) -> None:
        self.reducer._ready(self.index)


_numbers = count()
reducers: WeakValueDictionary[str, Reducer] = WeakValueDictionary()  # by their keys, for the nodes of compiled graphs


class Reducer:
    """Averages the gradients of parameters over a group, in buckets.

    ``prepare`` begins an iteration; hooks on the parameters count what is ready; ``finish`` runs at the end of backward.
    """

    def __init__(
        self, parameters: Sequence[Any], names: Sequence[str], group: Any, *, limits: Sequence[int], find_unused: bool = False,
        views: bool = False, static_graph: bool = False, sparse: Sequence[bool] = (), skip_unused: bool = False,
    ) -> None:  # fmt: skip
        self.parameters, self.names, self.group = list(parameters), list(names), group
        self.size, self.rank = world.collectives.get_world_size(group), world.collectives.get_rank(group)
        self.limits, self.find_unused, self.views, self.static_graph = list(limits), find_unused, views, static_graph
        self.sparse, self.skip_unused = list(sparse) or [False] * len(self.parameters), skip_unused
        self.hook: tuple[Any, Callable[[Any, Any], Any]] | None = None
        self.expecting = self.unfinished = self.rebuilt = self.learned = False
        self.unused: list[int] = []
        self.used = self._none_used()
        self.order: list[int] = []  # parameters as their gradients became ready in the first iteration
        self.triggered = [0] * len(self.parameters)  # static graph: how often each hook ran in the first iteration
        self.join_work: tuple[Any, Any, bool] | None = None
        self.divide_by_all = True  # also where some processes have no inputs left
        self.times: dict[str, int] = {}
        self.totals: dict[str, int] = {}
        self.awaited_by_backward: list[Any] = []  # futures of the exchange of buffers
        self.exposed: deque[int] = deque(maxlen=1000)  # nanoseconds that the last iterations have waited for gradients
        self.iterations = 0
        caps = self.limits if find_unused and not static_graph else [UNLIMITED]
        self._build(list(reversed(bucket_assignment(self.parameters, caps, self.sparse))))
        self.handles = [each.register_post_accumulate_grad_hook(ReadyHook(self, at)) for at, each in enumerate(self.parameters)]

    # -- buckets ---------------------------------------------------------------------------------------------------

    def _build(self, assignment: list[list[int]]) -> None:
        self.key = f"reducer {next(_numbers)}"  # changes with the buckets: graphs compiled for the old ones are invalid
        reducers[self.key] = self
        self.buckets = [Bucket(self.parameters, each) for each in assignment]
        self.place = {index: (bucket, slot) for bucket in self.buckets for slot, index in enumerate(bucket.indices)}
        for bucket in self.buckets:
            bucket.sparse = self.sparse[bucket.indices[0]]

    def rebuild(self) -> bool:
        """After the first iteration, build the buckets in the order in which gradients became ready on the first process."""
        self.check_finished()
        if self.rebuilt or len(self.order) != len(self.parameters) or (self.find_unused and not self.static_graph):
            return False
        order = tensor(self.order, dtype=BY_NAME["int64"])
        if self.size > 1:
            world.collectives.broadcast(order, group=self.group, group_src=0)
        numbers = [int(each) for each in order.tolist()]
        self._build(bucket_assignment([self.parameters[each] for each in numbers], self.limits, self.sparse, numbers))
        self.rebuilt = True
        return True

    # -- an iteration ----------------------------------------------------------------------------------------------

    def check_finished(self) -> None:
        """Raise if the last backward pass has not given every parameter its gradient."""
        if self.unfinished:
            missed = sorted(index for bucket in self.buckets for index in bucket.indices if index not in self.marked)
            raise RuntimeError(_unfinished(self, missed))

    def prepare(self, outputs: Iterable[Any] | None) -> None:
        """Begin an iteration: with outputs, the parameters that they don't depend on are unused."""
        self.check_finished()
        self.marked: set[int] = set()
        self.early: dict[int, Any] = {}  # gradients that a compiled graph has handed over
        self.next = 0
        self.awaited: set[int] = set()  # buckets that a graph has waited for, and how long it did
        self.waited = 0
        self.expecting, self.noted = True, False
        self.left = list(self.triggered)
        for bucket in self.buckets:
            bucket.pending = len(bucket.indices)
            bucket.work = None
        if self.static_graph:
            self.unused = [at for at, count in enumerate(self.triggered) if count == 0] if self.learned else []
        elif self.find_unused and outputs is not None:
            used = leaves_of(outputs)
            self.unused = [at for at, each in enumerate(self.parameters) if id(each) not in used]
        self.times = {"forward_end": time.time_ns()}

    @property
    def is_settled(self) -> bool:
        """Whether the buckets are final, so that a graph can have them as nodes."""
        return self.rebuilt or (self.find_unused and not self.static_graph)

    def lend(self, number: int) -> list[Any] | None:
        """The arrays in which a graph computes the gradients of a bucket; None where they have to be copied into it."""
        bucket = self.buckets[number]
        if bucket.sparse or not self.is_settled or self.hook is None and not self.averages(bucket):
            return None
        bucket.begin(self.views)
        bucket.begun = True
        return [each._array for each in bucket.views]

    def hand_over(self, indices: Sequence[int], gradients: Sequence[Any]) -> None:
        """Take gradients that a compiled graph has computed, before they are accumulated; complete buckets are reduced immediately."""
        if not self.expecting or not self.is_settled:
            return
        bucket = self.place[indices[0]][0]
        if (
            bucket.begun
            and state.backward_pass is None
            and not self.static_graph
            and not self.find_unused
            and bucket.indices == tuple(indices)
        ):
            self._take_whole(bucket, gradients)
            return
        for index, gradient in zip(indices, gradients):
            self._come(index, gradient)

    def _take_whole(self, bucket: Bucket, gradients: Sequence[Any]) -> None:
        """Take all gradients of a bucket from the graph of a step, which has computed most of them there."""
        if not self.marked.isdisjoint(bucket.indices):
            raise RuntimeError(_twice(self, next(each for each in bucket.indices if each in self.marked)))
        for view, gradient in zip(bucket.views, gradients):
            array, into = gradient._array, view._array
            if array is not into:
                into[...] = array.reshape(into.shape)
        self.marked.update(bucket.indices)
        if not self.noted:
            self.noted = True
            self.times["backward_start"] = time.time_ns()
        self.unfinished = True
        bucket.pending = 0
        self._launch_ready()

    def _none_used(self) -> Any:
        """Which parameters were used since gradients were last exchanged, also in iterations that exchange nothing: a flag for each."""
        return exports["", "zeros"](len(self.parameters), dtype=BY_NAME["int32"])

    def _ready(self, index: int) -> None:
        """The gradient of a parameter was accumulated."""
        if not self.expecting:
            if self.find_unused:
                self.used[index] = 1
            return
        if index in self.early:
            if self.views:
                bucket, slot = self.place[index]
                bucket.parameters[slot].grad = bucket.views[slot]
            return
        self._come(index, None)

    def _come(self, index: int, gradient: Any) -> None:
        """A gradient is ready: accumulated, or (where it is given) about to be."""
        if gradient is not None:
            self.early[index] = gradient
        if not self.rebuilt and index not in self.order:
            self.order.append(index)
        if self.find_unused or self.static_graph:
            self.used[index] = 1
        first = not self.noted
        if first:
            self.noted = True
            self.times["backward_start"] = time.time_ns()
        if self.static_graph and not self.learned:
            self.triggered[index] += 1
            if first:
                queue_callback(self._learn)
            return
        if first:
            for each in self.unused:
                self._mark(each)
            if self.find_unused and not self.static_graph:
                queue_callback(self._mark_rest)
        if self.static_graph and gradient is None:
            self.left[index] -= 1
            if self.left[index] > 0:
                return
        self._mark(index)

    def _learn(self) -> None:
        """Static graph, end of the first backward: what was not used then is never used."""
        self.learned = True
        self.unused = [at for at, count in enumerate(self.triggered) if count == 0]
        self.order += [each for each in self.unused if each not in self.order]
        for index in (*self.unused, *(each for each in self.order if each not in self.unused)):
            self._mark(index)

    def _mark_rest(self) -> None:
        """Parameters on the way to an output that the loss does not use have no gradient to wait for."""
        for index in range(len(self.parameters)):
            if index not in self.marked:
                self._mark(index)

    def _mark(self, index: int) -> None:
        if index in self.marked:
            raise RuntimeError(_twice(self, index))
        self.marked.add(index)
        self.unfinished = True
        bucket, slot = self.place[index]
        if bucket.pending == len(bucket.indices) and not bucket.begun:
            bucket.begin(self.views)
        if self.size > 1 or self.hook is not None or index in self.early:
            self._fill(bucket, slot)
        bucket.pending -= 1
        self._launch_ready()
        if self.next == len(self.buckets) and bucket.pending == 0:
            if (self.find_unused or self.static_graph) and self.size > 1:
                self.used_work = world.collectives.all_reduce(self.used, group=self.group, async_op=True)
            if state.backward_pass is not None:  # else the graph of a whole step runs, which waits for each bucket itself
                queue_callback(self.finish)

    def _launch_ready(self) -> None:
        """Start the reduction of complete buckets, in their order."""
        while self.next < len(self.buckets) and self.buckets[self.next].pending == 0:
            self._launch(self.buckets[self.next])
            self.next += 1

    def divisor(self) -> int:
        """The divisor of gradients: the number of processes, or of those that have inputs left."""
        if self.join_work is not None:
            work, count, initial = self.join_work
            work.wait()
            if not initial:
                return int(count.item())
        return int(self.size)

    def averages(self, bucket: Bucket) -> bool:
        """Whether the exchange of a bucket divides: not where sums of small floats overflow, or those divide that have inputs left."""
        return self.divide_by_all and bucket.buffer.dtype in _WIDE

    def factor(self, bucket: Bucket) -> float:
        """The factor of gradients when they are copied into a bucket."""
        return 1.0 if self.hook is not None or self.averages(bucket) else 1.0 / self.divisor()

    def _fill(self, bucket: Bucket, slot: int) -> None:
        """Copy a gradient into its bucket, divided where no hook does that."""
        parameter, view = bucket.parameters[slot], bucket.views[slot]
        gradient = parameter.grad
        if bucket.sparse:
            return
        given = self.early.get(bucket.indices[slot])
        with no_grad():
            factor = self.factor(bucket)
            if given is not None:
                self._fill_early(view, given, gradient, factor)
                return
            if gradient is None:
                view.zero_()
                return
            if gradient is view:
                if factor != 1:
                    view.mul_(factor)
                return
            scale_into(view, gradient.detach(), factor)
            if self.views:
                parameter.grad = view

    def _fill_early(self, view: Any, given: Any, present: Any, factor: float) -> None:
        """Copy a gradient that will be added to the present one into its bucket, where a graph has not computed it there."""
        if present is not None and state.backward_pass is not None:
            given = present.detach() + given
        if factor != 1 or given._array is not view._array:
            scale_into(view, given.detach().reshape(view.shape), factor)

    def _launch(self, bucket: Bucket) -> None:
        """Start the reduction of a bucket."""
        self.times.setdefault("comm_start", time.time_ns())
        at = self.buckets.index(bucket)
        if bucket.sparse:
            return
        if self.hook is not None:
            state, hook = self.hook
            given = GradBucket(at, bucket.buffer, bucket.views, bucket.parameters, at == len(self.buckets) - 1)
            bucket.work = hook(state, given)
        elif self.size > 1 and not (self.skip_unused and set(bucket.indices) <= set(self.unused)):
            bucket.work = self._exchange(bucket)

    def _exchange(self, bucket: Bucket) -> Any:
        """Start the all-reduce of a bucket: its sum or its average."""
        calls = world.collectives
        op = calls.ReduceOp.AVG if self.averages(bucket) else calls.ReduceOp.SUM
        return calls.all_reduce(bucket.buffer, op=op, group=self.group, async_op=True)

    def finish(self) -> None:
        """Wait for the reductions, and give parameters their gradients."""
        self.times["backward_end"] = time.time_ns()
        globally = None
        if (self.find_unused or self.static_graph) and self.size > 1:
            self.used_work.wait()
            globally = self.used.tolist()
        elif self.find_unused or self.static_graph:
            globally = self.used.tolist()
        with no_grad():
            for bucket in self.buckets:
                if bucket.sparse:
                    self._reduce_sparse(bucket)
                    continue
                if bucket.work is None:
                    continue
                self._await(bucket)
                self._hand_out(bucket, globally)
        self._end()

    def _await(self, bucket: Bucket) -> None:
        """Wait for the reduction of a bucket; what a hook has made of it goes into the bucket."""
        found = bucket.work.wait()
        if self.hook is not None:
            found = found[0] if isinstance(found, (list, tuple)) else found
            if found is not bucket.buffer:
                bucket.buffer.copy_(found.reshape(-1))

    def _end(self) -> None:
        """The end of an iteration."""
        self.times["comm_end"] = time.time_ns()
        self.expecting = self.unfinished = False
        for each in self.awaited_by_backward:
            each.wait()
        self.awaited_by_backward = []
        self.early = {}
        if self.find_unused or self.static_graph:
            self.used = self._none_used()
        for bucket in self.buckets:
            bucket.begun = False
        self.iterations += 1
        self._count_times()

    def wait_for(self, number: int) -> list[Any]:
        """The gradients of a bucket that the graph of a whole step has handed over, reduced."""
        bucket, begun = self.buckets[number], time.time_ns()
        self.times.setdefault("backward_end", begun)
        with no_grad():
            if bucket.work is not None:
                self._await(bucket)
        bucket.memory.count()
        self.awaited.add(number)
        self.waited += time.time_ns() - begun
        if len(self.awaited) == len(self.buckets):
            self._end()
        return bucket.views if self.views else [bucket.memory.gradient(slot) for slot in range(len(bucket.indices))]

    def _hand_out(self, bucket: Bucket, used: list[int] | None) -> None:
        bucket.memory.count()
        for slot, (index, parameter, view) in enumerate(zip(bucket.indices, bucket.parameters, bucket.views)):
            if used is not None and not used[index]:
                continue
            gradient = parameter.grad
            if self.views:
                if gradient is not view:
                    parameter.grad = view
            elif gradient is None or (getrefcount(gradient) <= _OWN and gradient.dtype == view.dtype):  # not referenced elsewhere
                parameter.grad = bucket.memory.gradient(slot)
            else:
                gradient.copy_(view)

    def _reduce_sparse(self, bucket: Bucket) -> None:
        """The average of sparse gradients: all processes' entries, put together."""
        parameter = bucket.parameters[0]
        if parameter.grad is not None and self.size > 1:
            parameter.grad = sum_sparse(parameter.grad, self.group) / self.divisor()

    # -- joining -----------------------------------------------------------------------------------------------------

    def shadow(self) -> None:
        """Take part in one iteration of the others with gradients of zero; their mean is this process's gradient, too, for an optimizer in parts."""
        works, used = [], None
        for at, bucket in enumerate(self.buckets):
            bucket.begin(self.views)
            with no_grad():
                bucket.buffer.zero_()
            if self.hook is not None:
                state, hook = self.hook
                works.append(hook(state, GradBucket(at, bucket.buffer, bucket.views, bucket.parameters, at == len(self.buckets) - 1)))
            else:
                works.append(self._exchange(bucket))
        if self.find_unused or self.static_graph:
            used = self._none_used()
            world.collectives.all_reduce(used, group=self.group)
        with no_grad():
            for bucket, work in zip(self.buckets, works):
                found = work.wait()
                if self.hook is not None:
                    bucket.buffer.copy_((found[0] if isinstance(found, (list, tuple)) else found).reshape(-1))
                self._hand_out(bucket, None if used is None else used.tolist())
        if not self.rebuilt:
            self.order = list(range(len(self.parameters)))

    # -- times -------------------------------------------------------------------------------------------------------

    def _count_times(self) -> None:
        times = self.times
        if "backward_start" not in times or "comm_start" not in times:
            return
        spans = {
            "backward_compute_time": times["backward_end"] - times["forward_end"],
            "backward_comm_time": times["comm_end"] - times["comm_start"],
            "backward_compute_comm_overlap_time": max(0, times["backward_end"] - times["comm_start"]),
            "backward_comm_exposed_time": self.waited if self.awaited else times["comm_end"] - times["backward_end"],
        }
        times.update(spans)
        self.exposed.append(spans["backward_comm_exposed_time"])
        for name, value in spans.items():
            self.totals[name] = self.totals.get(name, 0) + value


def _references() -> int:
    """How many references a gradient has that only its parameter holds, counted as `Reducer._hand_out` counts them."""
    leaf = make(np.zeros(1, np.float32))
    leaf.grad = make(np.zeros(1, np.float32))  # type: ignore[attr-defined]
    gradient = leaf.grad  # type: ignore[attr-defined]
    return getrefcount(gradient)


_OWN = _references()


def _unfinished(reducer: Reducer, missed: list[int]) -> str:
    """The message for parameters without a gradient, as PyTorch words it."""
    level = world.collectives.get_debug_level().name
    text = (
        "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has "
        "parameters that were not used in producing loss. "
    )
    if reducer.find_unused:
        text += (
            "Since `find_unused_parameters=True` is enabled, this likely  means that not all `forward` outputs participate in computing loss. "
            "You can fix this by "
        )
    else:
        text += (
            "You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by \n"
        )
    text += (
        "making sure all `forward` function outputs participate in calculating loss. \nIf you already have done the above, then the "
        "distributed data parallel module wasn't able to locate the output tensors in the return value of your module's `forward` function. "
        "Please include the loss function and the structure of the return value of `forward` of your module when reporting this issue (e.g. "
        "list, dict, iterable)."
    )
    if level != "OFF":
        names = ", ".join(reducer.names[each] for each in reversed(missed))
        text += f"\nParameters which did not receive grad for rank {reducer.rank}: {names}"
    text += f"\nParameter indices which did not receive grad for rank {reducer.rank}: {' '.join(map(str, missed))}"
    if level == "OFF":
        text += (
            "\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information "
            "about which particular parameters did not receive gradient on this rank as part of this error"
        )
    return text


def _twice(reducer: Reducer, index: int) -> str:
    """The message for a parameter whose gradient came twice."""
    return (
        "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter "
        "outside the `forward` function. Please make sure model parameters are not shared across multiple concurrent forward-backward passes. "
        "or try to use _set_static_graph() as a workaround if this module graph does not change during training loop.2) Reused parameters in "
        "multiple reentrant backward passes. For example, if you use multiple `checkpoint` functions to wrap the same part of your model, it "
        "would result in the same set of parameters been used by different reentrant backward passes multiple times, and hence marking a "
        "variable ready multiple times. DDP does not support such use cases in default. You can try to use _set_static_graph() as a workaround "
        f"if your module graph does not change over iterations.\nParameter at index {index} with name {reducer.names[index]} has been marked "
        "as ready twice. This means that multiple autograd engine  hooks have fired for this particular parameter during this iteration."
    )
