"""Pickles of archives: Modules, objects and typed containers in the instructions that PyTorch's reader knows."""

from __future__ import annotations

import enum
import struct
from typing import Any

from ....core.base import TensorBase
from ....core.devices import device
from ....core.dtypes import dtype
from ....core.errors import CaptureError
from ....nn.modules.module import Module
from ....ops.quantized.packed import Packed, convolution_numbers
from ....ops.quantized.rnn import CellParameters
from ....serialization.saving import StorageTable, held_storage
from ....tensor.construct import tensor
from ....tensor.layout import layout, memory_format
from ..frontend.types import BOOL, FLOAT, INT, TENSOR, DictType, ListType, OptionalType, TupleType, Type, UnionType, class_type, type_of
from ..ir.type_numbers import number_of
from .code_text import CUSTOM
from .unpickling import LAYOUT_NUMBERS

_LISTS: dict[Type, str] = {INT: "int", FLOAT: "double", BOOL: "bool", TENSOR: "tensor"}


class ObjectPickler:
    """Writes one pickle; ``writer`` knows the classes, and what Modules hold."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.out = bytearray(b"\x80\x02")
        self.table = StorageTable(legacy=False)
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []  # so that identities stay those of living objects

    def finished(self, value: Any, kind: Type | None = None) -> bytes:
        """The whole pickle."""
        self.put(value, kind)
        return bytes(self.out + b".")

    # -- instructions ------------------------------------------------------------------------------------------------------

    def text(self, value: str) -> None:
        data = value.encode()
        self.out += b"X" + struct.pack("<I", len(data)) + data

    def integer(self, value: int) -> None:
        if -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            data = value.to_bytes(8, "little", signed=True)
            self.out += b"\x8a\x08" + data

    def name(self, module: str, name: str) -> None:
        self.out += f"c{module}\n{name}\n".encode()

    def remember(self, value: Any) -> None:
        self.memo[id(value)] = number = len(self.memo)
        self.kept.append(value)
        self.out += b"r" + struct.pack("<I", number)

    def known(self, value: Any) -> bool:
        number = self.memo.get(id(value))
        if number is None:
            return False
        self.out += b"j" + struct.pack("<I", number)
        return True

    # -- values ------------------------------------------------------------------------------------------------------------

    def put(self, value: Any, kind: Type | None = None) -> None:
        """A value, of the type that the code says it has."""
        if isinstance(kind, (OptionalType, UnionType)):
            kind = kind.inner if isinstance(kind, OptionalType) and not isinstance(kind.inner, UnionType) else None
        if value is None or isinstance(value, bool):
            self.out += b"N" if value is None else b"\x88" if value else b"\x89"
        elif isinstance(value, Module):
            self.module(value)
        elif isinstance(value, TensorBase):
            self.tensor(value)
        elif isinstance(value, enum.Enum):
            self.name(*_split(self.writer.enum_name(type(value))))
            self.put(value.value)
            self.out += b"R"
        elif isinstance(value, (dtype, layout, memory_format)):
            self.integer(number_of(value))
        elif isinstance(value, int):
            if kind == FLOAT:
                self.put(float(value))
            else:
                self.integer(int(value))
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, complex):
            self.name("builtins", "complex")
            self.put((value.real, value.imag))
            self.out += b"R"
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, device):
            self.name("torch", "device")
            self.put((str(value),))
            self.out += b"R"
        elif isinstance(value, list):
            self.list(value, kind if isinstance(kind, ListType) else type_of(value))
        elif isinstance(value, tuple):
            kinds = kind.elements if isinstance(kind, TupleType) and len(kind.elements) == len(value) else (None,) * len(value)
            self.out += b"("
            for each, inner in zip(value, kinds):
                self.put(each, inner)
            self.out += b"t"
        elif isinstance(value, dict):
            self.dict(value, kind if isinstance(kind, DictType) else type_of(value))
        elif isinstance(value, (Packed, CellParameters)):
            self.packed(value)
        elif class_type(type(value)) is not None:
            self.object(value)
        else:
            raise CaptureError(f"a value of type {type(value).__name__} can't be written to an archive")

    def list(self, value: list[Any], kind: Any) -> None:
        """A list: of numbers and tensors by a function, of other things with its type."""
        special = _LISTS.get(kind.element)
        self.name("torch.jit._pickle", f"build_{special}list" if special else "restore_type_tag")
        self.out += b"(]("
        for each in value:
            self.put(each, kind.element)
        self.out += b"e"
        if not special:
            self.text(self.writer.type_text(kind, "a list"))
        self.out += b"tR"

    def dict(self, value: dict[Any, Any], kind: Any) -> None:
        """A dict with its type."""
        self.name("torch.jit._pickle", "restore_type_tag")
        self.out += b"(}("
        for key, each in value.items():
            self.put(key, kind.key)
            self.put(each, kind.value)
        self.out += b"u"
        self.text(self.writer.type_text(kind, "a dict"))
        self.out += b"tR"

    def tensor(self, value: Any) -> None:
        """A tensor over its storage."""
        if self.known(value):
            return
        if value.is_meta or value.layout.name == "jagged":
            raise CaptureError("a tensor without data, or a nested one, can't be written to an archive")
        if value.layout.name != "strided":
            self.sparse(value)
        elif value.is_quantized:
            self.quantized(value)
        else:
            self.name("torch._utils", "_rebuild_tensor_v2")
            self.out += b"("
            self.storage(value)
            for each in (int(value.storage_offset()), tuple(value.shape), tuple(value.stride()), bool(value.requires_grad)):
                self.put(each)
            self.out += b"ccollections\nOrderedDict\n)RtR"
        self.remember(value)

    def sparse(self, value: Any) -> None:
        """A sparse tensor: the number of its layout, its sizes, indices and values."""
        number = next(at for at, each in LAYOUT_NUMBERS.items() if each is value.layout)
        self.name("torch._utils", "_rebuild_sparse_tensor")
        self.out += b"("
        for each in (number, tuple(value.shape), bool(value.requires_grad), *sparse_parts(value)):
            self.put(each)
        self.out += b"ccollections\nOrderedDict\n)RtR"

    def storage(self, value: Any) -> None:
        """What a tensor's elements are in."""
        kind, name, key, place, count = self.table.identity(held_storage(value))
        self.out += b"("
        self.text(kind)
        self.name("torch", name.__name__ if isinstance(name, type) else str(name))
        self.text(key)
        self.text(place)
        self.integer(count)
        self.out += b"tQ"

    def quantized(self, value: Any) -> None:
        """A quantized tensor."""
        self.name("torch._utils", "_rebuild_qtensor")
        self.out += b"("
        self.storage(value)
        for each in (int(value.storage_offset()), tuple(value.shape), tuple(value.stride())):
            self.put(each)
        self.out += b"("
        scheme = value.qscheme().name
        self.name("torch", scheme)
        if scheme.startswith("per_tensor"):
            self.put(float(value.q_scale()))
            self.put(int(value.q_zero_point()))
        else:
            exact = scheme.endswith("float_qparams")  # zero points are floats
            self.put(value.q_per_channel_scales() if exact else value.q_per_channel_scales().double())
            self.put(value.q_per_channel_zero_points() if exact else value.q_per_channel_zero_points().long())
            self.put(int(value.q_per_channel_axis()))
        self.out += b"t"
        self.put(False)
        self.out += b"ccollections\nOrderedDict\n)RtR"

    def instance(self, qualified: str) -> None:
        """A new object of a class."""
        self.name(*_split(qualified))
        self.out += b")\x81"

    def module(self, value: Any) -> None:
        """A Module with what it holds."""
        if self.known(value):
            return
        written = self.writer.written(value)
        self.instance(written.qualified)
        if written.state is not None:
            self.put(*written.state)
        else:
            self.out += b"}("
            for name, (each, kind) in written.values.items():
                self.text(name)
                self.put(each, kind)
            self.out += b"u"
        self.out += b"b"
        self.remember(value)

    def object(self, value: Any) -> None:
        """An object of a scripted class."""
        if self.known(value):
            return
        described = class_type(type(value)).described  # type: ignore[union-attr]
        self.instance(self.writer.class_name(described))
        self.out += b"}("
        for name, kind in described.attributes.items():
            self.text(name)
            self.put(getattr(value, name), kind)
        self.out += b"ub"
        self.remember(value)

    def packed(self, value: Any) -> None:
        """The packed parameters of a quantized layer."""
        if self.known(value):
            return
        if isinstance(value, CellParameters):
            ih, hh, *biases = value.tensors
            self.instance(f"{CUSTOM}rnn.CellParamsBase")
            self.out += b"("
            halved = not ih.is_quantized  # to float16: the biases are only with the weights
            self.text("quantized_fp16" if halved else "quantized_dynamic")
            for each, kind in (([] if halved else list(biases), TENSOR), ([], FLOAT), ([] if halved else [int(value.reduce_range)], INT)):
                self.list(each, ListType(kind))
            self.out += b"]("
            self.packed(Packed(ih, biases[0]))
            self.packed(Packed(hh, biases[1]))
            self.out += b"et"
        elif not value.options:
            self.instance(f"{CUSTOM}quantized.LinearPackedParamsBase")
            self.put((value.weight if value.weight.is_quantized else value.weight.float(), value.bias))
        elif value.options.get("table"):
            self.instance(f"{CUSTOM}quantized.EmbeddingPackedParamsBase")
            self.out += b"("
            self.integer(1)  # the version
            self.list([value.weight], ListType(TENSOR))
            self.list([], ListType(FLOAT))
            self.list([8], ListType(INT))  # bits of an element
            self.out += b"t"
        else:
            numbers = convolution_numbers(value)
            self.instance(f"{CUSTOM}quantized.Conv{numbers[0]}dPackedParamsBase")
            self.out += b"("
            self.text("2")
            self.list([tensor(numbers).short(), value.weight], ListType(TENSOR))
            self.list([value.bias], ListType(OptionalType(TENSOR)))
            self.out += b"t"
        self.out += b"b"
        self.remember(value)


def sparse_parts(value: Any) -> tuple[Any, ...]:
    """The indices and the values of a sparse tensor."""
    if value.is_sparse:
        return value._indices(), value._values()
    by_row = value.layout.name in ("sparse_csr", "sparse_bsr")
    indices = (value.crow_indices(), value.col_indices()) if by_row else (value.ccol_indices(), value.row_indices())
    return *indices, value.values()


def _split(qualified: str) -> tuple[str, str]:
    module, _, name = qualified.rpartition(".")
    return module, name
