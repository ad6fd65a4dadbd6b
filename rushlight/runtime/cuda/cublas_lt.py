"""Products by cuBLASLt: the algorithm is chosen once per shapes, layouts and alignment, so that a call decides nothing.

A bias can be added in the epilogue.  The library's heuristics name several algorithms: the first is used, unless another was measured to be faster
(``measured_products.py``).
"""

from __future__ import annotations

import ctypes
from typing import Any

from ...core.errors import AcceleratorError
from .libraries import library

_TRANSPOSE_A, _TRANSPOSE_B, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8  # attributes of a product
_BATCH_COUNT, _BATCH_OFFSET = 5, 6  # of a matrix
_MOST_WORKSPACE, _REDUCTIONS, _ALIGNMENTS = 1, 3, (5, 6, 7, 8)  # of a preference
_SMALL, _SHORT = 1 << 26, 256  # multiplications, and K, of a product that is shorter than a second launch: no split-k
_ALGORITHMS = (8, 4)  # algorithms requested for measuring: with the preferred split-k reduction scheme, and with the other
_NOT_SUPPORTED = 15
_ADD_BIAS = 4
_MOST_BIASES = 256  # bias addresses whose descriptors a product caches


class _Found(ctypes.Structure):
    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("status", ctypes.c_int), ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]  # fmt: skip


class Lt:
    """A handle of cuBLASLt on one device."""

    def __init__(self, cupy: Any) -> None:
        self.library = library(cupy, "cublasLt")
        made = ctypes.c_void_p()
        self.check(self.library.cublasLtCreate(ctypes.byref(made)))
        self.handle = made.value
        self.library.cublasLtGetVersion.restype = ctypes.c_size_t
        self.version = int(self.library.cublasLtGetVersion())
        self.call = self.library.cublasLtMatmul
        self.call.argtypes = [ctypes.c_void_p] * 14 + [ctypes.c_size_t, ctypes.c_void_p]
        for name in ("cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceSetAttribute"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        self.library.cublasLtMatrixLayoutCreate.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64]
        self.library.cublasLtMatmulAlgoGetHeuristic.argtypes = [*[ctypes.c_void_p] * 7, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def check(self, status: int) -> None:
        """Raise a status of cuBLASLt as an error."""
        if status:
            raise AcceleratorError(f"cuBLASLt failed with status {status}")

    def set(self, what: str, target: Any, name: int, value: Any) -> None:
        """Set an attribute of a ``MatmulDesc``, a ``MatrixLayout`` or a ``MatmulPreference``."""
        buffer = value if isinstance(value, ctypes._SimpleCData) else ctypes.c_int32(value)
        function = getattr(self.library, f"cublasLt{what}SetAttribute")
        self.check(function(target, name, ctypes.addressof(buffer), ctypes.sizeof(buffer)))

    def create(self, what: str, *given: Any) -> ctypes.c_void_p:
        """Make a ``MatmulDesc``, a ``MatrixLayout`` or a ``MatmulPreference``."""
        made = ctypes.c_void_p()
        self.check(getattr(self.library, f"cublasLt{what}Create")(ctypes.byref(made), *given))
        return made


class LtProduct:
    """The plan of one product of column-major matrices: all arguments of a call but the addresses."""

    __slots__ = (
        "_algorithm",
        "_describe",
        "_layouts",
        "_one",
        "_operations",
        "_tail",
        "_ways",
        "_zero",
        "description",
        "found",
        "lt",
        "measured",
        "split",
        "used",
    )

    def __init__(
        self, lt: Lt, first: tuple[int, int, int], second: tuple[int, int, int], sizes: tuple[int, int, int, int], types: tuple[int, int, int],
        numbers: tuple[Any, Any], alignment: int, bias: bool, workspace: int,
    ) -> None:  # fmt: skip
        """``first`` and ``second``: whether a matrix is transposed, its leading dimension and the stride of a batch; ``sizes``: rows and columns of the
        result, K, the batch size; ``types``: of elements, of arithmetic, of the factors; ``numbers``: one and zero."""
        self.lt, self.measured = lt, False
        self.split: Any = None  # what computes it faster, in compiled programs
        self.description = (first, second, sizes, types, alignment, bias, workspace)
        rows, columns, length, count = sizes
        code, compute, scale = types
        self._describe = (compute, scale, first[0], second[0], bias)
        self._operations: dict[int, int] = {}  # by the address of the bias, for layers of one shape
        self._layouts: list[Any] = []
        for shape, step, stride in (
            ((length, rows) if first[0] else (rows, length), first[1], first[2]),
            ((columns, length) if second[0] else (length, columns), second[1], second[2]),
            ((rows, columns), rows, rows * columns),
        ):
            layout = lt.create("MatrixLayout", code, *shape, step)
            if count > 1:
                lt.set("MatrixLayout", layout, _BATCH_COUNT, count)
                lt.set("MatrixLayout", layout, _BATCH_OFFSET, ctypes.c_int64(stride))
            self._layouts.append(layout)
        short = rows * columns * length * count < _SMALL and length <= _SHORT
        self._ways = (0, 7) if short else (7, 0)  # split-k reduction schemes: none, or all
        self.found = next((found for found in (self.asked(ways, 1) for ways in self._ways) if found), [])
        lt.check(0 if self.found else _NOT_SUPPORTED)
        self._one, self._zero = (ctypes.addressof(each) for each in numbers)
        self.use(0)
        self._layouts = [each.value for each in self._layouts]

    def _operation(self, bias: int) -> int:
        """The descriptor of the operation with a bias at an address."""
        found = self._operations.get(bias)
        if found is not None:
            return found
        lt, (compute, scale, first, second, added) = self.lt, self._describe
        if len(self._operations) >= _MOST_BIASES:
            self._drop()
        made: Any = lt.create("MatmulDesc", compute, scale)
        lt.set("MatmulDesc", made, _TRANSPOSE_A, first)
        lt.set("MatmulDesc", made, _TRANSPOSE_B, second)
        if added:
            lt.set("MatmulDesc", made, _EPILOGUE, _ADD_BIAS)
            if bias:
                lt.set("MatmulDesc", made, _BIAS_POINTER, ctypes.c_void_p(bias))
        found = self._operations[bias] = made.value
        return found  # type: ignore[no-any-return]

    def _drop(self) -> None:
        for each in self._operations.values():
            self.lt.library.cublasLtMatmulDescDestroy(ctypes.c_void_p(each))
        self._operations.clear()

    def asked(self, ways: int, count: int) -> list[Any]:
        """Algorithms of the heuristics, by estimated speed; ``ways`` are the split-k reduction schemes."""
        lt, alignment, workspace = self.lt, self.description[4], self.description[-1]
        a, b, c = self._layouts
        wanted = lt.create("MatmulPreference")
        lt.set("MatmulPreference", wanted, _MOST_WORKSPACE, ctypes.c_uint64(workspace))
        for each in _ALIGNMENTS:
            lt.set("MatmulPreference", wanted, each, alignment)
        lt.set("MatmulPreference", wanted, _REDUCTIONS, ways)
        found, returned = (_Found * count)(), ctypes.c_int()
        status = lt.library.cublasLtMatmulAlgoGetHeuristic(
            lt.handle, self._operation(0), a, b, c, c, wanted, count, ctypes.addressof(found), ctypes.addressof(returned)
        )
        lt.library.cublasLtMatmulPreferenceDestroy(wanted)
        return [each for each in found[: 0 if status else returned.value] if not each.status]

    def find_more(self) -> None:
        """Query further algorithms."""
        kept = {bytes(each.algorithm): each for each in self.found}
        for ways, count in zip(self._ways, _ALGORITHMS):
            for each in self.asked(ways, count):
                kept.setdefault(bytes(each.algorithm), each)
        self.found = list(kept.values())

    def stored(self, number: int) -> bytes:
        """One of the algorithms that were found, as it is kept on disk."""
        return bytes(self.found[number])

    def restore(self, kept: bytes) -> int:
        """Add an algorithm that was kept on disk: its number; asking the heuristics for it again takes milliseconds."""
        self.found.append(_Found.from_buffer_copy(kept))
        return len(self.found) - 1

    def use(self, number: int) -> None:
        """Compute by one of the algorithms that were found."""
        self.used, workspace = number, self.description[-1]
        self._algorithm = self.found[number]
        self._tail = (ctypes.addressof(self._algorithm), workspace)

    def run(self, first: int, second: int, made: int, workspace: int, stream: int, bias: int = 0) -> None:
        """Compute, given addresses."""
        lt, (a, b, c) = self.lt, self._layouts
        operation = self._operations.get(bias)
        if operation is None:
            operation = self._operation(bias)
        algorithm, size = self._tail
        status = lt.call(
            lt.handle, operation, self._one, first, a, second, b, self._zero, made, c, made, c, algorithm, workspace, size, stream
        )
        if status:
            lt.check(status)

    def __del__(self) -> None:
        free = self.lt.library
        for each in getattr(self, "_layouts", ()):
            free.cublasLtMatrixLayoutDestroy(ctypes.c_void_p(getattr(each, "value", each)))
        if hasattr(self, "_operations"):
            self._drop()
