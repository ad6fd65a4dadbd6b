"""The objects of an archive: Modules, objects of its classes, tensors and plain values, out of its pickles.  Nothing is called that a pickle names,
but for what makes tensors and typed containers."""

from __future__ import annotations

from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from ....core.errors import CaptureError
from ....serialization.rebuild import rebuild_sparse_tensor
from ....serialization.safe_globals import Refusal, WeightsUnpickler
from ....tensor.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .code_text import ROOT


class ClassName:
    """A class of the archive, as a pickle names it."""

    __slots__ = ("qualified",)

    def __init__(self, qualified: str) -> None:
        self.qualified = qualified


def _listed(values: Any) -> list[Any]:
    """A typed list."""
    if not isinstance(values, list):
        raise UnpicklingError("the pickle has a typed list that is none")
    return values


def _tagged(value: Any, kind: Any) -> Any:
    """A container with the type that it has in the code; its items say that, too."""
    if not isinstance(kind, str):
        raise UnpicklingError("the pickle has a container whose type is no text")
    return value


# Numbers of layouts in archives.
LAYOUT_NUMBERS = {1: sparse_coo, 2: sparse_csr, 4: sparse_csc, 5: sparse_bsr, 6: sparse_bsc}


def _sparse(kind: Any, size: Any, requires_grad: Any, *parts: Any) -> Any:
    """A sparse tensor: the number of its layout, its sizes, its indices and values, and hooks, which are none."""
    if type(kind) is not int or kind not in LAYOUT_NUMBERS:
        raise UnpicklingError(f"the pickle has a sparse tensor of layout {kind!r}, which is not known here")
    made = rebuild_sparse_tensor(LAYOUT_NUMBERS[kind], (*parts[:-1], size))
    return made.requires_grad_(True) if requires_grad else made


class ObjectUnpickler(WeightsUnpickler):
    """Reads the objects of an archive; ``reader`` makes those of its classes."""

    def __init__(self, data: bytes, load_storage: Callable[[Any], Any], reader: Any, tensors: list[Any] | None = None) -> None:
        super().__init__(data, 0, load_storage)
        self.granted, self.granted_types = {}, ()  # what the user has allowed for checkpoints is not meant here
        self.reader = reader
        self.tensors = tensors or []
        self.functions: dict[str, Callable[..., Any]] = {
            **{f"torch.jit._pickle.build_{kind}list": _listed for kind in ("int", "double", "bool", "tensor")},
            "torch.jit._pickle.restore_type_tag": _tagged,
            "torch._utils._rebuild_sparse_tensor": _sparse,
            "torch.jit._pickle.build_tensor_from_id": self.tensor,
        }
        self.callable |= {id(each) for each in self.functions.values()}

    def tensor(self, number: Any) -> Any:
        """A tensor of the table that old archives have."""
        if type(number) is not int or not 0 <= number < len(self.tensors):
            raise UnpicklingError(f"the pickle names tensor {number!r}, and the archive has {len(self.tensors)}")
        return self.tensors[number]

    def find(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if module == ROOT or module.startswith(ROOT + "."):
            return ClassName(full)
        if full in self.functions:
            return self.functions[full]
        return super().find(module, name)

    def call(self, function: Any, arguments: Any) -> Any:
        if isinstance(function, ClassName):
            return self.reader.constructed(function.qualified, arguments)
        return super().call(function, arguments)

    def single(self, function: Any, argument: Any) -> tuple[Any, ...]:
        if isinstance(function, ClassName):  # a member of an enumeration, by its value
            return (argument,)
        return super().single(function, argument)

    def create(self, kind: Any, arguments: Any, named: Any) -> Any:
        if isinstance(kind, ClassName):
            if arguments:
                return self.reader.constructed(kind.qualified, arguments)
            return self.reader.created(kind.qualified)
        return super().create(kind, arguments, named)

    def build(self, target: Any, state: Any) -> None:
        if not self.reader.filled(target, state):
            super().build(target, state)


def unpickled(name: str, unpickler: WeightsUnpickler) -> Any:
    """What a pickle of the archive holds; what it may not name is told with its place."""
    try:
        return unpickler.load()
    except Refusal as error:
        raise CaptureError(f"the archive's {name} names {error}, which a model does not need: nothing of it is called") from None
    except (UnpicklingError, RecursionError) as error:
        raise CaptureError(f"the archive's {name} can't be read: {error}") from None
