"""``ProcessGroup``: processes that exchange tensors.  Its methods have the names of PyTorch's, and each starts an exchange and returns a ``Work``.

Here tensors become contiguous arrays for an engine (``engines/``), and results are copied back: to strided tensors, to lists, divided
for a mean.  Each call is recorded with the user's line, for fault reports (``watch.py``).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from sys import _getframe
from time import monotonic
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..capture.compile.record.graph_breaks import Break
from ..core.base import storage_of
from ..core.state import state
from ..tensor import Tensor
from .argument_checks import check_alike, check_list, check_lists, check_root, check_some, sole
from .call_options import AllreduceOptions
from .calls import Call, user_line, user_place
from .constants import default_pg_timeout
from .debug import debug
from .engines import nccl
from .engines.alone import AloneEngine
from .engines.fake import FakeEngine, NoEngine
from .list_calls import ListCalls, _touch
from .recorded_calls import AfterOthers, _new_call, observers
from .reductions import ReduceOp, reduction
from .stores import DistBackendError, HashStore, Store
from .work import Work, pace

KEPT = 2000  # calls that are kept for comparison with other processes


def _op(opts: Any) -> Any:
    return opts if isinstance(opts, ReduceOp.RedOpType) else getattr(opts, "reduceOp", opts)


def _root(opts: Any) -> int:
    return int(getattr(opts, "rootRank", opts))


def _in_one_piece(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy(order="C")


class ProcessGroup(ListCalls):
    """Processes that exchange tensors; this process is one of them."""

    _own = True  # no class of a program

    class Options:
        """Options of a group."""

        def __init__(self, backend: str = "gloo", timeout: timedelta = default_pg_timeout) -> None:
            self.backend = backend
            self._timeout = timeout

    def __init_subclass__(cls, own: bool = False, **options: Any) -> None:
        """Classes of programs define their collectives themselves: what they leave out is refused, and never done by our engines."""
        super().__init_subclass__(**options)
        cls._own = own

    def __init__(self, *place: Any, backend: str = "gloo", name: str = "0", store: Store | None = None, description: str = "undefined",
                 engine: Any = None, ranks: Sequence[int] = (), timeout: timedelta = default_pg_timeout, watch: Any = None,
                 device_id: Any = None) -> None:  # fmt: skip
        """A group; ``place`` is its store, which may be left out, this process's rank and the number of processes, in classes of programs."""
        numbers = [each for each in place if isinstance(each, int)]
        if numbers and not self._own:
            engine = NoEngine(numbers[0], numbers[1], type(self).__name__)
        self._backend, self._name, self.group_desc = backend, name, description
        self._store = store or next((each for each in place if isinstance(each, Store)), None) or HashStore()
        self._engine: Any = engine or AloneEngine()
        self._engines: dict[str, Any] = {"cpu": self._engine}
        self._ranks = list(ranks) or list(range(self._engine.size))
        self._watch = watch
        self._device_id = device_id
        self._seconds = timeout.total_seconds()
        self._count = 0
        self._calls: deque[Call] = deque(maxlen=KEPT)
        self._now: Call | None = None
        self._started: dict[Work, None] = {}
        self._program: Any = None  # the variables of the module that has called last

    # -- what it is ----------------------------------------------------------------------------------------------

    def getRank(self) -> int:
        """The rank of this process in the group: what classes of programs may define."""
        return int(self._engine.rank)

    def getSize(self) -> int:
        """The number of processes: what classes of programs may define."""
        return int(self._engine.size)

    def getBackendName(self) -> str:
        """The name of the back-end: what classes of programs may define."""
        return self._backend

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self.getRank()

    def size(self) -> int:
        """The number of processes."""
        return self.getSize()

    def name(self) -> str:
        """The name of the back-end."""
        return self.getBackendName()

    def _get_backend_name(self) -> str:
        return self._backend

    @property
    def group_name(self) -> str:
        """The name of the group."""
        return self._name

    @property
    def bound_device_id(self) -> Any:
        """The device that was given to ``init_process_group``."""
        return self._device_id

    @property
    def supports_splitting(self) -> bool:
        """True."""
        return True

    @property
    def timeout(self) -> timedelta:
        """How long an exchange may take."""
        return timedelta(seconds=self._seconds)

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long an exchange may take."""
        self._seconds = timeout.total_seconds()
        if self._watch is not None:
            self._watch.set_limit(self)

    _set_default_timeout = set_timeout

    def _get_backend(self, device: Any) -> Any:
        """The group itself: it chooses the engine by the tensor."""
        return self

    def __repr__(self) -> str:
        many = "process" if self.size() == 1 else "processes"
        return f"<ProcessGroup of {self.size()} {many}, back-end {self._backend}>"

    def _carrier(self, tensor: Any) -> Any:
        """The engine for a tensor's device."""
        kind = tensor.device.type
        found = self._engines.get(kind)
        if found is None:
            if kind != "cuda":
                raise RuntimeError(f"No backend type associated with device type {kind}")
            found = self._engines[kind] = nccl.make(self, tensor.device.index or 0)
        return found

    def _exchange_bytes(self, array: Any) -> None:
        """Copy bytes of the group's first process to all."""
        Work([], self._engine.broadcast(array, 0), None, self, Call(self._count, "connection of GPUs", (), user_line(), self._name)).wait()

    # -- collectives ---------------------------------------------------------------------------------------------

    def allreduce(self, tensors: Any, opts: Any = ReduceOp.SUM, timeout: Any = None) -> Work:
        """Reduce a tensor over all processes, in place; several on all processes together, and each has the result."""
        check_some(tensors, "all_reduce")
        if not isinstance(tensors, Tensor) and len(tensors) > 1:
            return self._allreduce_together(tensors, _op(opts))
        tensor, op = sole(tensors, "all_reduce"), _op(opts)
        if tensor.is_sparse:
            return self._allreduce_sparse(tensor, op)
        name, factor = reduction(op, tensor.dtype, "all_reduce")
        engine, array = self._carrier(tensor), tensor._array
        call = self._note("all_reduce", tensor.dtype, tensor.numel(), op, tensors=[tensor])
        piece = _in_one_piece(array)
        if factor is not None:
            piece *= getattr(factor, "_array", factor)
        finish = None
        if op is ReduceOp.AVG and engine.segment is not None:  # divides the part that a process adds up
            name, op = "AVG", ReduceOp.SUM
        if piece is not array or op is ReduceOp.AVG:
            finish = self._back([(array, piece)], op, tensor)
        _touch(tensor)
        return self._start(call, lambda: engine.all_reduce(piece, name), [tensor], finish)

    def allreduce_now(self, tensor: Any, op: Any) -> None:
        """Reduce a tensor over all processes, and wait: the low-overhead path of the most frequent call."""
        array, watch = tensor._array, self._watch
        if not self._own:
            self.allreduce([tensor], AllreduceOptions(reduceOp=op)).wait()
            return
        if op is not ReduceOp.SUM or array.__class__ is not np.ndarray or not array.flags.c_contiguous:
            self.allreduce(tensor, op).wait()
            return
        segment = self._engine.segment
        if segment is None or watch is None or watch.fault is not None or debug.detail or observers or state.profiler is not None:
            self.allreduce(tensor, op).wait()
            return
        storage_of(tensor).version += 1
        try:
            request = segment.sum_now(array, pace.spins, self._note_sum, tensor)
            if request is None:
                return
            test = request.Test
            for _ in range(pace.spins):
                if test():
                    return
        except Exception as error:
            raise self._broken(self._now, error) from error  # type: ignore[arg-type]
        Work([tensor], request, None, self, self._now).wait()

    def _note_sum(self, tensor: Any, size: int) -> None:
        """Record a blocking sum over all processes."""
        frame = _getframe(4)  # of the program itself, as a rule
        if frame.f_globals is self._program:
            place = frame.f_code, frame.f_lasti
        else:
            place = user_place(5)
            if place is not None and place[0] is frame.f_code:
                self._program = frame.f_globals
        self._count = number = self._count + 1
        self._now = _new_call(Call, (number, "all_reduce", (tensor.dtype, size, ReduceOp.SUM), place, self._name, monotonic()))
        self._calls.append(self._now)

    def _back(self, pairs: list[tuple[Any, Any]], op: Any = None, tensor: Any = None) -> Callable[[], None]:
        """The completion of a collective: copies to non-contiguous arrays, and the division of a mean."""
        size = self.size()

        def finish() -> None:
            for array, piece in pairs:
                if array is not piece:
                    array[...] = piece.reshape(array.shape)
            if op is ReduceOp.AVG:
                with no_grad():
                    tensor.detach().div_(size)

        return finish

    def reduce(self, tensors: Any, opts: Any = 0, op: Any = None, timeout: Any = None) -> Work:
        """Reduce a tensor to one process, in place there."""
        tensor, root = sole(tensors, "reduce"), _root(opts)
        op = op if op is not None else getattr(opts, "reduceOp", ReduceOp.SUM)
        check_root("reduce", root, self.size(), getattr(opts, "rootTensor", 0))
        name, factor = reduction(op, tensor.dtype, "reduce")
        engine, array = self._carrier(tensor), tensor._array
        call = self._note("reduce", tensor.dtype, tensor.numel(), op, root, tensors=[tensor])
        piece = _in_one_piece(array)
        if factor is not None:
            piece = piece * getattr(factor, "_array", factor)
        finish = None
        if self.rank() == root:
            _touch(tensor)
            if piece is not array or op is ReduceOp.AVG:
                finish = self._back([(array, piece)], op, tensor)
        return self._start(call, lambda: engine.reduce(piece, name, root), [tensor], finish)

    def broadcast(self, tensors: Any, opts: Any = 0, timeout: Any = None, root: int | None = None) -> Work:
        """Copy a tensor of one process to all, and to all that are given."""
        count = 1 if isinstance(tensors, Tensor) else len(tensors)
        check_root("broadcast", _root(opts) if root is None else root, self.size(), getattr(opts, "rootTensor", 0), count)
        if count > 1:
            chosen = tensors[getattr(opts, "rootTensor", 0)]
            check_alike("broadcast", tensors, chosen)
            return self._spread_result(
                self.broadcast(chosen, _root(opts) if root is None else root, timeout),
                [chosen, *(each for each in tensors if each is not chosen)],
            )
        tensor, root = sole(tensors, "broadcast"), _root(opts) if root is None else root
        engine, array = self._carrier(tensor), tensor._array
        call = self._note("broadcast", tensor.dtype, tensor.numel(), root, tensors=[tensor])
        piece = _in_one_piece(array)
        finish = None
        if self.rank() != root:
            _touch(tensor)
            finish = None if piece is array else self._back([(array, piece)])
        return self._start(call, lambda: engine.broadcast(piece, root), [tensor], finish)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        """All processes' tensors, concatenated in one."""
        if output.dtype != input.dtype:
            raise TypeError("output tensor must have the same type as input tensor")
        if output.numel() != input.numel() * self.size():
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        engine, array = self._carrier(input), output._array
        call = self._note("all_gather_into_tensor", input.dtype, input.numel(), tensors=[input])
        piece, into = _in_one_piece(input._array), array if array.flags.c_contiguous else array.copy(order="C")
        _touch(output)
        finish = None if into is array else self._back([(array, into)])
        return self._start(call, lambda: engine.all_gather(into, piece), [output], finish)

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """A list of all processes' tensors; their sizes may differ, if each process gives the right ones."""
        check_some(input_tensors, "all_gather", "input ")
        if not output_tensors or isinstance(output_tensors[0], (list, tuple)):
            check_lists("all_gather", output_tensors, 1 if isinstance(input_tensors, Tensor) else len(input_tensors))
        if not isinstance(input_tensors, Tensor) and len(input_tensors) > 1:
            return self._allgather_together(output_tensors, input_tensors)
        tensor = sole(input_tensors, "all_gather", "input ")
        outputs = check_list("all_gather: invalid output tensor list at index 0", "output", output_tensors, self.size())
        check_alike("all_gather", outputs, tensor, sizes=False)
        if outputs[self.rank()].numel() != tensor.numel():
            raise RuntimeError(
                f"all_gather: invalid tensor size at index {self.rank()} of tensor_list: it has {outputs[self.rank()].numel()} elements, and the "
                f"tensor of this process {tensor.numel()}"
            )
        engine = self._carrier(tensor)
        counts, into = self._place(outputs)
        call = self._note("all_gather", tensor.dtype, sum(each.numel() for each in outputs), tensors=[tensor])
        piece = _in_one_piece(tensor._array)
        return self._start(call, lambda: engine.all_gather(into, piece, counts), outputs, self._spread(outputs, into))

    def _place(self, tensors: Sequence[Any]) -> tuple[list[int] | None, Any]:
        """Lengths of tensors (None where they are equal), and an array for their concatenation."""
        lengths = [each.numel() for each in tensors]
        array = tensors[0]._array
        into = np.empty(sum(lengths), array.dtype) if isinstance(array, np.ndarray) else _like(array, sum(lengths))
        return None if len(set(lengths)) == 1 else lengths, into

    def _spread(self, tensors: Sequence[Any], array: Any) -> Callable[[], None]:
        """What writes the parts of an array into tensors."""

        def finish() -> None:
            at = 0
            for each in tensors:
                _touch(each)
                each._array[...] = array[at : at + each.numel()].reshape(each._array.shape)
                at += each.numel()

        return finish

    def _joined(self, tensors: Sequence[Any]) -> tuple[list[int] | None, Any]:
        """Lengths of tensors, and their concatenated elements."""
        counts, into = self._place(tensors)
        at = 0
        for each in tensors:
            into[at : at + each.numel()] = each._array.reshape(-1)
            at += each.numel()
        return counts, into

    def gather(self, output_tensors: Any, input_tensors: Any, opts: Any = 0) -> Work:
        """A list of all processes' tensors, for one process."""
        tensor, root = sole(input_tensors, "gather", "input "), _root(opts)
        check_root("gather", root, self.size())
        engine = self._carrier(tensor)
        here, outputs = self.rank() == root, []
        if here:
            outputs = check_list("gather", "output", output_tensors, self.size())
            check_alike("gather", outputs, tensor)
        elif output_tensors:
            raise RuntimeError("gather: requires empty output on non-root processes")
        call = self._note("gather", tensor.dtype, tensor.numel(), root, tensors=[tensor])
        into = self._place(outputs)[1] if here else None
        piece = _in_one_piece(tensor._array)
        finish = self._spread(outputs, into) if here else None
        return self._start(call, lambda: engine.gather(into, piece, root), outputs if here else [tensor], finish)

    def scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = 0) -> Work:
        """A tensor of one process's list for each."""
        tensor, root = sole(output_tensors, "scatter", "output "), _root(opts)
        check_root("scatter", root, self.size())
        engine, array = self._carrier(tensor), tensor._array
        source, inputs = None, []
        if self.rank() == root:
            inputs = check_list("scatter", "input", input_tensors, self.size())
            check_alike("scatter", inputs, tensor)
            source = self._joined(inputs)[1]
        elif input_tensors:
            raise RuntimeError("scatter: requires empty input on non-root processes")
        call = self._note("scatter", tensor.dtype, tensor.numel(), root, tensors=inputs if source is not None else [tensor])
        piece = _in_one_piece(array)
        _touch(tensor)
        finish = None if piece is array else self._back([(array, piece)])
        return self._start(call, lambda: engine.scatter(piece, source, root), [tensor], finish)

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Reduce a list of tensors; each process gets one."""
        tensor, op = sole(output_tensors, "reduce_scatter", "output "), _op(opts)
        inputs = check_list("reduce_scatter: invalid input tensor list size, must be world size", "input", input_tensors, self.size())
        check_alike("reduce_scatter", inputs, tensor, sizes=False)
        if inputs[self.rank()].numel() != tensor.numel():
            raise RuntimeError(
                f"reduce_scatter: invalid tensor size at index {self.rank()} of input_list: it has {inputs[self.rank()].numel()} elements, and the "
                f"output {tensor.numel()}"
            )
        counts, source = self._joined(inputs)
        return self._reduce_scatter("reduce_scatter", tensor, source, op, counts)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Reduce a tensor; each process gets a part."""
        if output.dtype != input.dtype:
            raise TypeError("input tensor must be the same type as the output tensor.")
        if output.numel() * self.size() != input.numel():
            raise ValueError("input tensor must be the same size as output size times world size")
        return self._reduce_scatter("reduce_scatter_tensor", output, _in_one_piece(input._array), _op(opts), None)

    def _reduce_scatter(self, collective: str, tensor: Any, source: Any, op: Any, counts: Sequence[int] | None) -> Work:
        name, factor = reduction(op, tensor.dtype, collective)
        if factor is not None:
            source = source * getattr(factor, "_array", factor)
        engine, array = self._carrier(tensor), tensor._array
        call = self._note(collective, tensor.dtype, source.size, op, tensors=[tensor])
        piece = _in_one_piece(array)
        _touch(tensor)
        finish = self._back([(array, piece)], op, tensor) if piece is not array or op is ReduceOp.AVG else None
        return self._start(call, lambda: engine.reduce_scatter(piece, source, name, counts), [tensor], finish)

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """A tensor for each process, and one from each."""
        for kind, tensors in (("input", input_tensors), ("output", output_tensors)):
            if len(tensors) != self.size():
                raise RuntimeError(f"all_to_all: {kind} tensor list size {len(tensors)} does not match world size {self.size()}")
            check_alike(f"all_to_all: {kind} tensor list", tensors, input_tensors[0], sizes=False)
        engine = self._carrier(input_tensors[0])
        source = self._joined(input_tensors)[1]
        into = self._place(output_tensors)[1]
        outs, ins = [each.numel() for each in output_tensors], [each.numel() for each in input_tensors]
        call = self._note("all_to_all", input_tensors[0].dtype, tensors=input_tensors)
        return self._start(
            call, lambda: engine.all_to_all(into, source, outs, ins), list(output_tensors), self._spread(output_tensors, into)
        )

    def alltoall_base(self, output: Any, input: Any, output_split_sizes: Any, input_split_sizes: Any, opts: Any = None) -> Work:
        """A part of a tensor for each process, and one from each."""
        if output.dtype != input.dtype:
            raise RuntimeError("output tensor and input tensor must have the same dtype")
        engine, array = self._carrier(input), output._array
        outs, ins = self._splits(output, output_split_sizes), self._splits(input, input_split_sizes)
        if ins[self.rank()] != outs[self.rank()]:
            raise RuntimeError(
                f"all_to_all_single: this process sends itself {ins[self.rank()]} elements, and expects {outs[self.rank()]}: see the split sizes"
            )
        call = self._note("all_to_all_single", input.dtype, tensors=[input])
        source, into = _in_one_piece(input._array), _in_one_piece(array)
        _touch(output)
        finish = None if into is array else self._back([(array, into)])
        return self._start(call, lambda: engine.all_to_all(into, source, outs, ins), [output], finish)

    def _splits(self, tensor: Any, sizes: Any) -> list[int]:
        """How many elements of a tensor belong to each process; sizes are rows."""
        rows = tensor.shape[0] if tensor.dim() else 1
        row = math.prod(tensor.shape[1:])
        if not sizes:
            if rows % self.size():
                raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
            return [rows // self.size() * row] * self.size()
        if len(sizes) != self.size():
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sum(sizes) != rows:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        return [int(each) * row for each in sizes]

    def barrier(self, opts: Any = None, timeout: Any = None) -> Work:
        """Wait for all processes, and for what this one has started before."""
        call = self._note("barrier")
        before = list(self._started)
        begin = self._engine.barrier
        return self._start(call, (lambda: AfterOthers(before, begin())) if before else begin, [])

    # -- from one to one -----------------------------------------------------------------------------------------

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Work:
        """Send a tensor to a process of the group."""
        tensor = sole(tensors, "send or recv")
        engine = self._carrier(tensor)
        call = Call(self._count, "send", (tensor.dtype, tensor.numel(), f"to {self._ranks[dst]}"), user_line(), self._name, monotonic())
        self._now = call
        self._check_fault(call)
        self._profile("send", [tensor])
        piece = _in_one_piece(tensor._array)
        return self._start(call, lambda: engine.send(piece, dst, tag), [tensor], lambda: piece is None)

    def recv(self, tensors: Any, src: int | None, tag: int = 0) -> Work:
        """Receive a tensor from a process of the group, or from any."""
        tensor = sole(tensors, "send or recv")
        engine, array = self._carrier(tensor), tensor._array
        origin = "any rank" if src is None else self._ranks[src]
        call = Call(self._count, "recv", (tensor.dtype, tensor.numel(), f"from {origin}"), user_place(), self._name, monotonic())
        self._now = call
        self._check_fault(call)
        self._profile("recvAnySource" if src is None else "recv", [tensor])
        ended, self._ended = self._ended, None
        piece = _in_one_piece(array)
        _touch(tensor)
        request: Any = None

        def finish() -> None:
            if piece is not array:
                array[...] = piece
            work._outputs = [tensor] if src is not None else (tensor, request.source)
            if ended is not None:
                ended()

        try:
            request = engine.receive(piece, src, tag)
        except (ValueError, TypeError):
            raise
        except Exception as error:
            raise self._broken(call, error) from error
        work = Work([tensor], request, None, self, call)
        work._finish = finish
        return work

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Receive a tensor from any process."""
        return self.recv(tensors, None, tag)

    # -- further names of PyTorch's ------------------------------------------------------------------------------

    all_gather_single, reduce_scatter_single, all_to_all_single = _allgather_base, _reduce_scatter_base, alltoall_base

    def monitored_barrier(self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False) -> None:
        """Wait for all processes, and name those that do not come in time."""
        seconds = self._seconds if timeout is None else timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        absent = self._engine.roll_call(seconds) if self.size() > 1 else []
        if not absent:
            return
        rank, limit, first = self._ranks[self.rank()], f"{seconds * 1000:.0f} ms (at {user_line()})", self._ranks[0]
        missing = [self._ranks[each] for each in absent]
        late = f"Ranks {', '.join(map(str, missing))}" if wait_all_ranks else f"Rank {missing[0]}"
        if rank != first:
            raise RuntimeError(
                f"[Rank {rank}]: Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank "
                f"{first}: {late} failed to pass monitoredBarrier in {limit}"
            )
        if seconds <= 0:
            raise RuntimeError(f"[Rank {rank}]: Rank {rank} timed out in monitoredBarrier after {limit}: {late} did not reach it")
        raise RuntimeError(f"[Rank {rank}]: {late} failed to pass monitoredBarrier in {limit}")

    def get_group_store(self) -> Store:
        """The store of the group."""
        return self._store

    def _get_sequence_number_for_group(self) -> int:
        """How many collectives have been called."""
        return self._count

    def abort(self) -> None:
        """Release the engines without waiting for the others."""
        self._engines.clear()

    def shutdown(self) -> None:
        """Release the engines."""
        for each in self._engines.values():
            each.close()
        self._engines.clear()


def _like(array: Any, length: int) -> Any:
    """A new flat array of a length, with another one's dtype and device."""
    import cupy

    with cupy.cuda.Device(array.device.id):
        return cupy.empty(length, array.dtype)


class FakeProcessGroup(ProcessGroup, own=True):
    """One process of a group whose others do not exist: collectives complete at once, and exchange nothing.

    It shows what a process of a large group computes, without the others; numbers that would come from these are wrong.
    """

    def __init__(self, rank: int, size: int, options: Any = None, **others: Any) -> None:
        super().__init__(engine=FakeEngine(rank, size), backend="fake", **others)

    _create_internal = classmethod(lambda cls, rank, size, options=None: cls(rank, size, options))
