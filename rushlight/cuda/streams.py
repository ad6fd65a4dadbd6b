"""Streams and events of GPUs: queues of work, and moments in them, over CuPy's."""

from __future__ import annotations

import importlib
from typing import Any

from .. import streams
from ..core.devices import available, device, device_types
from ..core.errors import DeviceError, ValueRangeError
from ..core.missing import missing
from ..no_accelerator import NoDeviceError

__all__ = ["Event", "ExternalStream", "Stream"]


def _cupy() -> Any:
    """CuPy, where there is a GPU."""
    try:
        available("cuda")
    except DeviceError as error:
        raise NoDeviceError(f"Torch not compiled with CUDA enabled: {error}") from error
    return device_types["cuda"].cupy  # type: ignore[attr-defined]


def _index(place: Any) -> int:
    return int(importlib.import_module("rushlight.runtime.cuda.control").index_of(place))


_POOL = 32  # streams of one priority on a device: further ones are these again, as in PyTorch
_pools: dict[tuple[int, int], list[Any]] = {}  # by device and priority; streams are never destroyed, as work may still name them by handle
_taken: dict[tuple[int, int], int] = {}


def _pooled(cupy: Any, index: int, priority: int) -> Any:
    """One of a device's streams, in turns."""
    pool, turn = _pools.setdefault((index, priority), []), _taken.get((index, priority), 0)
    _taken[index, priority] = turn + 1
    if len(pool) < _POOL:
        with cupy.cuda.Device(index):
            pool.append(cupy.cuda.Stream(non_blocking=True, priority=priority))
        return pool[-1]
    return pool[turn % _POOL]


class Stream(streams.Stream):
    """A queue of work on a GPU; work in one queue is done in order, work in several at the same time."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        try:
            cupy = _cupy()
        except DeviceError as error:
            raise DeviceError(f"torch.cuda.Stream requires CUDA support: {error}") from error
        index = _index(device)
        self._wrap(_pooled(cupy, index, priority), index, priority)

    _stream: Any
    device_index: int

    def _wrap(self, stream: Any, index: int, priority: int = 0) -> None:
        self._stream, self.device_index, self.priority, self.device_type = stream, index, priority, 1

    @property
    def device(self) -> device:
        """The device of the queue."""
        return device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The handle of the queue, for other libraries."""
        return int(self._stream.ptr)

    stream_id = _as_parameter_ = cuda_stream

    def query(self) -> bool:
        """Whether all work is done."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self._stream.synchronize()

    def wait_event(self, event: Any) -> None:
        """Let work that is queued from now on wait for an event."""
        if event._event is not None:
            self._stream.wait_event(event._event)

    def wait_stream(self, stream: Any) -> None:
        """Let work that is queued from now on wait for all that another queue holds now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Any = None) -> Event:
        """An event at the end of what is queued now."""
        found = Event() if event is None else event
        found.record(self)
        return found

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        self._contexts = [*getattr(self, "_contexts", ()), context]  # a stream may be entered again inside of itself
        return self

    def __exit__(self, *exception: Any) -> None:
        self._contexts.pop().__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self.device_index) == (other.cuda_stream, other.device_index)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class _Handle:
    """A handle of a queue, as CUDA libraries in Python pass it on."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class ExternalStream(Stream):
    """A queue that another library has made."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        cuda, index = _cupy().cuda, _index(device)
        with cuda.Device(index):
            newer = hasattr(cuda.Stream, "from_external")  # of CuPy 14, which warns of the class
            self._wrap(cuda.Stream.from_external(_Handle(stream_ptr)) if newer else cuda.ExternalStream(stream_ptr, index), index)


def _note_use(stream: Stream) -> None:
    """Record that work goes to a queue of its own: backward passes wait for it, and CuPy refers to the current one only weakly."""
    if stream.cuda_stream:
        device_types["cuda"].side_streams.setdefault((stream.device_index, stream.cuda_stream), stream._stream)  # type: ignore[attr-defined]


def _of(stream: Any, index: int) -> Stream:
    found = object.__new__(Stream)
    found._wrap(stream, index)
    return found


class Event(streams.Event):
    """A moment in a queue of work, to wait for or to measure time between."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        try:
            self._cupy = _cupy()
        except DeviceError as error:
            raise DeviceError(f"torch.cuda.Event requires CUDA support: {error}") from error
        self._options = dict(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)
        self._event: Any = None
        self.enable_timing = enable_timing

    @property
    def device(self) -> device | None:
        """The device of the queue in which it was recorded."""
        return None if self._event is None else device("cuda", self._index)

    @property
    def cuda_event(self) -> int:
        """The handle of the event, for other libraries; 0 before it is recorded."""
        return 0 if self._event is None else int(self._event.ptr)

    _as_parameter_ = cuda_event

    def record(self, stream: Any = None) -> None:
        """Put the event at the end of a queue: the current one, if none is named."""
        found = current_stream() if stream is None else stream
        with self._cupy.cuda.Device(found.device_index):
            if self._event is None:
                self._event, self._index = self._cupy.cuda.Event(**self._options), found.device_index
            self._event.record(found._stream)

    def query(self) -> bool:
        """Whether what was queued before it is done."""
        return self._event is None or bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until what was queued before it is done."""
        if self._event is not None:
            self._event.synchronize()

    def wait(self, stream: Any = None) -> None:
        """Let a queue wait for it."""
        (current_stream() if stream is None else stream).wait_event(self)

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds on the GPU from this event to another one."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueRangeError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueRangeError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return float(self._cupy.cuda.get_elapsed_time(self._event, end_event._event))

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self._event is not None else "<torch.cuda.Event uninitialized>"


class GenericEvent(Event):
    """An event as ``torch.Event`` takes its arguments: the device first, the others by name."""

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        super().__init__(enable_timing, blocking, interprocess)


class StreamContext:
    """A context in which work goes to a queue; None changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        cuda = _cupy().cuda
        self._device = cuda.Device(self.stream.device_index)
        self._device.__enter__()
        self._before = cuda.get_current_stream()  # CuPy's own context forgets one that was set by its handle
        _note_use(self.stream)
        self.stream._stream.use()

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            self._before.use()
            self._device.__exit__(*exception)


def stream(stream: Any) -> StreamContext:
    """A context in which work goes to a queue; None changes nothing."""
    if stream is not None:
        _cupy()
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The queue that work goes to."""
    cupy, index = _cupy(), _index(device)
    return _of(cupy.cuda.get_current_stream(index), index)


def default_stream(device: Any = None) -> Stream:
    """The queue that work goes to where no other is named."""
    cupy = _cupy()
    return _of(cupy.cuda.Stream.null, _index(device))


def set_stream(stream: Any) -> None:
    """Let work go to a queue from now on; None changes nothing."""
    if stream is not None:
        _note_use(stream)
        stream._stream.use()


def set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    """Let work of a device go to the queue of a handle."""
    cupy = _cupy()
    with cupy.cuda.Device(device_index):
        pooled = (each for (index, _), pool in _pools.items() for each in pool if index == device_index)
        known = next((each for each in pooled if each.ptr == stream_id), None)
        if known is not None:
            set_stream(_of(known, device_index))
        else:
            set_stream(ExternalStream(stream_id, device_index) if stream_id else default_stream(device_index))


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """A queue that another library has made."""
    return ExternalStream(data_ptr, device)


__getattr__ = missing(__name__)
