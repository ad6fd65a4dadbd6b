"""How tensors go through queues and pipes: their memory is shared, and the descriptor of its file goes to the other process.

A tensor that has its memory to itself moves to shared memory, as ``share_memory_`` does, so that both processes see what either writes.
One whose memory other tensors of this process use as well is copied there.
"""

from __future__ import annotations

import sys
import weakref
from multiprocessing import context, reduction
from typing import Any

import numpy as np

from ..core.base import Spec, make
from ..core.errors import OperationError
from ..nn.parameter import Buffer, Parameter
from ..tensor import Tensor
from ..tensor.shared import map_descriptor, memory_of, shared_bytes
from ..tensor.storage import UntypedStorage

__all__ = ["StorageWeakRef", "init_reductions", "rebuild_tensor", "reduce_tensor"]


class StorageWeakRef:
    """A weak reference to a storage: two are equal if they are of the same memory, and one tells whether it is gone."""

    __slots__ = ("_reference", "cdata")

    def __init__(self, storage: Any) -> None:
        memory = getattr(storage, "_untyped_storage", storage)._storage
        self.cdata = id(memory)
        self._reference = weakref.ref(memory)

    def expired(self) -> bool:
        """Whether nothing has the storage any more."""
        return self._reference() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, StorageWeakRef) and self._reference() is not None and self._reference() is other._reference()
        )


def _place(array: Any) -> tuple[Any, int]:
    """The shared memory of an array, and where in it the array begins, in bytes."""
    memory = memory_of(array)
    start = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]  # type: ignore[arg-type]
    return memory, array.__array_interface__["data"][0] - start


class Handle:
    """Shared memory on its way to another process, which maps it once for all tensors in it."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory  # whose descriptor is closed with it
        self.descriptor, self.size = reduction.DupFd(memory.descriptor), len(memory)

    def __getstate__(self) -> Any:
        return {"descriptor": self.descriptor, "size": self.size, "memory": None}

    def map(self) -> Any:
        """The memory, in the process that has got it."""
        if self.memory is None:
            self.memory = map_descriptor(self.descriptor.detach(), self.size)
        return self.memory


def handle_of(memory: Any) -> Handle:
    """What is pickled for shared memory.  A process that is being started inherits descriptors: each is given to it once, and stays open until then."""
    starting: Any = context.get_spawning_popen()
    if starting is None:
        return Handle(memory)
    handles: dict[int, Handle] = vars(starting).setdefault("_rushlight_handles", {})
    if memory.descriptor not in handles:
        handles[memory.descriptor] = Handle(memory)
    return handles[memory.descriptor]


def rebuild_tensor(kind: type, handle: Handle, dtype: Any, offset: int, shape: Any, strides: Any, requires_grad: bool) -> Any:
    """A tensor over memory that another process has sent."""
    found: Any = make(np.ndarray(shape, dtype, handle.map(), offset, strides))
    if kind in (Parameter, Buffer):
        return Parameter(found, requires_grad) if kind is Parameter else Buffer(found)
    return found.requires_grad_(requires_grad) if requires_grad else found


def reduce_tensor(tensor: Any) -> Any:
    """What is pickled for a tensor."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    array = tensor._array
    if array.__class__ is Spec or not isinstance(array, np.ndarray) or not array.size or sys.platform == "win32":
        return tensor.__reduce_ex__(2)
    if memory_of(array) is None:
        try:
            tensor.share_memory_()
            array = tensor._array
        except OperationError:  # others use the memory as well, and would not follow
            copied = np.ndarray(array.shape, array.dtype, shared_bytes(array.nbytes))
            copied[...] = array
            array = copied
    memory, offset = _place(array)
    kind = type(tensor) if type(tensor) in (Parameter, Buffer) else Tensor
    return rebuild_tensor, (kind, handle_of(memory), array.dtype, offset, array.shape, array.strides, tensor.requires_grad)


def reduce_storage(storage: Any) -> Any:
    """What is pickled for a storage: its bytes as a tensor."""
    return _rebuild_storage, (make(np.frombuffer(bytes(storage), np.uint8).copy()),)


def _rebuild_storage(tensor: Any) -> Any:
    return tensor.untyped_storage()


def init_reductions() -> None:
    """Let the pickler of ``multiprocessing`` send tensors this way."""
    for kind in (Tensor, Parameter, Buffer):
        reduction.ForkingPickler.register(kind, reduce_tensor)
    reduction.ForkingPickler.register(UntypedStorage, reduce_storage)
