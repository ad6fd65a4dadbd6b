"""Names of types for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from .core.devices import device as _device
from .core.dtypes import dtype as _dtype  # noqa: F401  (programs import these names)
from .core.missing import missing as _missing
from .core.quantized import qscheme as _qscheme  # noqa: F401
from .core.size import Size
from .core.symbolic.integers import SymbolicFloat as SymFloat
from .core.symbolic.integers import SymbolicInt as SymInt
from .symbols import SymBool
from .tensor import Tensor
from .tensor.layout import layout as _layout  # noqa: F401
from .tensor.storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _bytes, _complex, _float, _int, _str = builtins.bool, builtins.bytes, builtins.complex, builtins.float, builtins.int, builtins.str
_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_symsize: TypeAlias = Union[Size, Sequence[Union[int, SymInt]]]  # noqa: UP007
_dispatchkey: TypeAlias = Union[str, int]  # noqa: UP007
IntLikeType: TypeAlias = Union[int, SymInt]  # noqa: UP007
FloatLikeType: TypeAlias = Union[float, SymFloat]  # noqa: UP007
BoolLikeType: TypeAlias = Union[bool, SymBool]  # type: ignore[valid-type]  # noqa: UP007
Number: TypeAlias = Union[int, float, bool]  # noqa: UP007
_Number = (int, float, bool)
PySymType: TypeAlias = Union[SymInt, SymFloat]  # noqa: UP007
py_sym_types = (SymInt, SymFloat)
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
Device: TypeAlias = Union[_device, str, int, None]  # noqa: UP007
Storage: TypeAlias = Union[TypedStorage, UntypedStorage]  # noqa: UP007
__getattr__ = _missing(__name__)
