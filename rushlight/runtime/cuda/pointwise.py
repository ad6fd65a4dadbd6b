"""Pointwise ops on CUDA: one kernel for an op, its dtypes and its options, whatever functions the op is made of.

The op's kernel is traced to scalar IR, as when whole graphs are compiled, and printed as CUDA C.  Operands that are dense and lie alike are one
run of memory; others are addressed by strides, with neighbouring dimensions joined where they can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...codegen.cuda.scalar_text import PRELUDE, STORED, ScalarText, computed, rounded
from ...core.array_tracer import NotExpressible
from ...core.declare import Op
from ...core.dtypes import LOW_PRECISION
from ...core.families import as_scalar, broadcast_shapes
from ...ops.pointwise.unary import ThroughDouble
from ...schedule.scalar_ir import Array, Expression, Functions, cast, scalar_kernel
from .launch import Kernel

_THREADS = 256
_EACH = 4  # elements a thread computes: enough loads in flight to fill the memory's pipes
_MOST_DIMS = 6
_FLOAT32 = np.dtype(np.float32)
_PACKED = {"b": "b", "B": "B", "h": "h", "i": "i", "l": "q", "q": "q", "f": "f", "d": "d", "?": "?"}

# A thread computes four neighbours, read and written as one vector each where addresses allow it.
_FLAT = """
template <class T> struct alignas(4 * sizeof(T)) Four { T x[4]; };
template <class T> __device__ inline Four<T> four(const T* p, long long i) { return *(const Four<T>*)(p + i); }
extern "C" __global__ void pointwise(@PARAMETERS@, long long n) {
    long long first = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    #if @VECTORS@
    if (first + 4 <= n) {
        @LOADS@
        Four<@RESULT@> made;
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            @VECTOR_BODY@
        }
        *(Four<@RESULT@>*)(out + first) = made;
        return;
    }
    #endif
    for (long long i = first; i < n && i < first + 4; i++) {
        @BODY@
    }
}
"""

_STRIDED = """
extern "C" __global__ void pointwise(@PARAMETERS@, @INDEX@ n, Layout layout) {
    for (@INDEX@ i = (@INDEX@)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (@INDEX@)gridDim.x * blockDim.x) {
        @INDEX@ rest = i, @OFFSETS@;
        #pragma unroll
        for (int d = @DIMS@ - 1; d > 0; d--) {
            @INDEX@ size = (@INDEX@)layout.sizes[d], at = rest % size;
            rest /= size;
            @STEPS@
        }
        @LAST@
        @BODY@
    }
}
"""


class Variant:
    """The kernel of an op for operands of some dtypes: which operands are numbers, and the dtype of the result."""

    def __init__(self, op: Op, expression: Expression, operands: list[tuple[np.dtype[Any], bool]], cupy: Any) -> None:
        self.op, self.expression, self.operands, self.cupy = op, expression, operands, cupy
        self.dtype = expression.dtype
        self._flat: dict[bool, Kernel] = {}
        self.has_numbers = not all(is_array for _, is_array in operands)
        self._strided: dict[tuple[int, bool], Kernel] = {}

    def _source(self, template: str, at: Callable[[int], str], out: str, extra: dict[str, str]) -> str:
        text = ScalarText(lambda data: f"value(a{data}[{at(data)}])" if self.operands[data][1] else f"a{data}")
        made = text.value(self.expression)
        lines = [*text.lines, f"out[{out}] = {rounded(f'({computed(self.dtype)})({made})', self.dtype)};"]
        parameters = [
            f"const {STORED[dtype]}* __restrict__ a{index}" if is_array else f"{computed(dtype)} a{index}"
            for index, (dtype, is_array) in enumerate(self.operands)
        ]
        source = template.replace("@PARAMETERS@", ", ".join([*parameters, f"{STORED[self.dtype]}* out"])).replace("@EACH@", str(_EACH))
        for name, value in extra.items():
            source = source.replace(f"@{name}@", value)
        return PRELUDE + source.replace("@BODY@", "\n            ".join(lines))

    def _format(self) -> str:
        return (
            "".join("P" if is_array else _PACKED[dtype.char if dtype not in LOW_PRECISION else "f"] for dtype, is_array in self.operands)
            + "P"
        )

    def flat(self, vectors: bool) -> Kernel:
        """The kernel over dense memory; ``vectors`` says that all addresses are multiples of four elements."""
        found = self._flat.get(vectors)
        if found is None:
            text = ScalarText(lambda data: f"value(x{data}.x[k])" if self.operands[data][1] else f"a{data}")
            made = text.value(self.expression)
            body = [*text.lines, f"made.x[k] = {rounded(f'({computed(self.dtype)})({made})', self.dtype)};"]
            loads = [
                f"Four<{STORED[dtype]}> x{index} = four(a{index}, first);"
                for index, (dtype, is_array) in enumerate(self.operands)
                if is_array
            ]
            extra = {
                "VECTORS": str(int(vectors)), "RESULT": STORED[self.dtype], "LOADS": " ".join(loads), "VECTOR_BODY": "\n            ".join(body)
            }  # fmt: skip
            source = self._source(_FLAT, lambda _: "i", "i", extra).replace("__restrict__ ", "")
            found = self._flat[vectors] = Kernel(self.cupy, source, "pointwise", self._format() + "q", self.op.public_name)
        return found

    def strided(self, dims: int, wide: bool) -> Kernel:
        """The kernel over operands with strides, in so many dimensions; ``wide`` counts in 64 bits."""
        found = self._strided.get((dims, wide))
        if found is None:
            arrays = [index for index, (_, is_array) in enumerate(self.operands) if is_array]
            names = [f"o{index}" for index in arrays] + ["oo"]
            layout = f"struct Layout {{ long long sizes[{dims}]; long long strides[{len(names)}][{dims}]; }};\n"
            index = "long long" if wide else "unsigned int"
            extra = {
                "INDEX": index, "DIMS": str(dims), "OFFSETS": ", ".join(f"{name} = 0" for name in names),
                "STEPS": " ".join(f"{name} += at * ({index})layout.strides[{row}][d];" for row, name in enumerate(names)),
                "LAST": " ".join(f"{name} += rest * ({index})layout.strides[{row}][0];" for row, name in enumerate(names)),
            }  # fmt: skip
            source = self._source(layout + _STRIDED, lambda at: f"(long long)o{at}", "(long long)oo", extra).replace("__restrict__ ", "")
            format = self._format() + ("q" if wide else "I") + f"0q{dims * (1 + len(names))}q"
            found = self._strided[dims, wide] = Kernel(self.cupy, source, "pointwise", format, self.op.public_name)
        return found


class PointwiseOp:
    """A pointwise op on CUDA, called with the op's values."""

    __slots__ = ("array", "cupy", "defaults", "op", "options", "plain", "positions", "quick", "variants")

    def __init__(self, cupy: Any, op: Op) -> None:
        self.cupy, self.op = cupy, op
        self.positions = [position for position, _ in op.tensor_positions]
        self.options = [at for at in range(len(op.parameters)) if at not in self.positions]
        self.variants: dict[Any, Variant | None] = {}
        self.array = cupy.ndarray
        self.plain = self.positions == list(range(len(self.positions))) and len(self.positions) in (1, 2)  # operands first, then options
        self.defaults = tuple([op.parameters[at].default for at in self.options])
        self.quick: dict[Any, Variant] = {}  # by the dtypes of operands that are arrays, for calls without options

    def __call__(self, *values: Any) -> Any:
        """The result, or NotImplemented where the op has no kernel for these dtypes and options."""
        if not self.plain:
            return self._run(values, None)
        kind, a = self.array, values[0]
        if a.__class__ is not kind or not a.flags.c_contiguous:
            return self._run(values, None)
        if len(self.positions) == 1:
            variant = self.quick.get(a.dtype) if values[1:] == self.defaults else None
            if variant is None:
                return self._first(values, a.dtype)
            out = kind(a.shape, variant.dtype)
            n, source, made = out.size, a.data.ptr, out.data.ptr
            if n:
                aligned = not (source % (4 * a.itemsize) or made % (4 * out.itemsize))
                variant.flat(aligned)(-(-n // (_THREADS * _EACH)), _THREADS, source, made, n)
            return out
        b = values[1]
        if b.__class__ is not kind or b.shape != a.shape or not b.flags.c_contiguous or values[2:] != self.defaults:
            return self._run(values, None)
        key = (a.dtype, b.dtype)
        variant = self.quick.get(key)
        if variant is None:
            return self._first(values, key)
        out = kind(a.shape, variant.dtype)
        n, left, right, made = out.size, a.data.ptr, b.data.ptr, out.data.ptr
        if n:
            aligned = not (left % (4 * a.itemsize) or right % (4 * b.itemsize) or made % (4 * out.itemsize))
            variant.flat(aligned)(-(-n // (_THREADS * _EACH)), _THREADS, left, right, made, n)
        return out

    def _first(self, values: Any, key: Any) -> Any:
        """A call of dtypes that are new; later ones of the same, on arrays with dimensions, find their kernel at once."""
        result = self._run(values, None)
        if result is not NotImplemented and values[0].ndim and values[len(self.positions) :] == self.defaults:
            variant = self.variants.get((*[(each.dtype, False) for each in values[: len(self.positions)]], *self.defaults))
            if variant is not None:
                self.quick[key] = variant
        return result

    def into(self, target: Any, values: list[Any]) -> bool:
        """Write the result to an array of the result's shape and dtype; False where it can't be."""
        return self._run(values, target) is not NotImplemented

    def _run(self, values: Any, target: Any) -> Any:
        arrays: list[Any] = []
        arguments: list[Any] = []
        key: list[Any] = []
        shape, same = None, True
        kind = self.cupy.ndarray
        for position in self.positions:
            value = values[position]
            if value.__class__ is kind:
                found = value.shape
                if shape is None:
                    shape = found
                elif shape != found:
                    same = False
                if same and not value.flags.c_contiguous:
                    same = False
                arrays.append(value)
                key.append((value.dtype, found == ()))
            elif value is None:
                return NotImplemented
            else:
                key.append(value.__class__ if not isinstance(value, np.generic) else value.dtype)
            arguments.append(value)
        for at in self.options:
            key.append(values[at])
        try:
            variant = self.variants[tuple(key)]
        except KeyError:
            variant = self.variants[tuple(key)] = self._prepare(values)
        except TypeError:  # an option that can't be part of a key
            return NotImplemented
        if variant is None or (target is not None and target.dtype != variant.dtype):
            return NotImplemented
        if not same:
            return self._strided(variant, arguments, arrays, target)
        out = self.cupy.ndarray(shape, variant.dtype) if target is None else target
        if target is not None and (target.shape != shape or not target.flags.c_contiguous):
            return self._strided(variant, arguments, arrays, target)
        n = out.size
        if n:
            given = [each.data.ptr if each.__class__ is kind else each for each in arguments]
            address, bits = out.data.ptr, 0
            for value, each in zip(arguments, given):
                if value.__class__ is kind:
                    bits |= each % (4 * value.itemsize)
            if variant.has_numbers:
                given = self._numbers(variant, given)
            variant.flat(not (bits or address % (4 * out.itemsize)))(-(-n // (_THREADS * _EACH)), _THREADS, *given, address, n)
        return out

    @staticmethod
    def _numbers(variant: Variant, given: list[Any]) -> list[Any]:
        for index, (dtype, is_array) in enumerate(variant.operands):
            if not is_array:
                number = as_scalar(given[index], dtype)
                given[index] = float(number) if dtype.kind == "f" or dtype in LOW_PRECISION else number.item()
        return given

    def _strided(self, variant: Variant, arguments: list[Any], arrays: list[Any], target: Any) -> Any:
        shape = broadcast_shapes([each.shape for each in arrays])
        if target is None:
            out = result_like(self.cupy, arrays, shape, variant.dtype)
        else:
            out = target
            if out.shape != shape:
                return NotImplemented
        if not out.size:
            return out
        sizes, rows = joined(shape, [*(spread_strides(each, shape) for each in arrays), element_strides(out)])
        if len(sizes) > _MOST_DIMS:
            return NotImplemented
        extent = max((sum((size - 1) * abs(step) for size, step in zip(sizes, row)) for row in rows), default=0)
        wide = extent >= 2**31 or out.size >= 2**31 or any(step < 0 for row in rows for step in row)
        kernel = variant.strided(len(sizes), wide)
        given = self._numbers(
            variant, [each.data.ptr if hasattr(each, "data") and each.__class__ is self.cupy.ndarray else each for each in arguments]
        )
        blocks = min(-(-out.size // _THREADS), 132 * 64)
        kernel(blocks, _THREADS, *given, out.data.ptr, out.size, *sizes, *[step for row in rows for step in row])
        return out

    def _prepare(self, values: Any) -> Variant | None:
        """Trace the op; None where it has no expression."""
        try:
            op = self.op
            family = op.family.chosen(values) if hasattr(op.family, "chosen") else op.family
            operands = family.operands(op, values)
            common, dtype = family.dtypes(op, operands)
            compute = _FLOAT32 if common in LOW_PRECISION and not op.exact else common
            given, kinds = list(values), []
            for at, position in enumerate(self.positions):
                value = values[position]
                is_array = value.__class__ is self.cupy.ndarray
                # A number takes the dtype that it is computed in; of a narrow one it is rounded to that first.
                taken = value.dtype if is_array else (common if compute is not common and not family.wide_numbers else compute)
                if taken not in STORED or (not is_array and taken.kind == "c"):
                    return None
                kinds.append((taken, is_array))
                operand = Expression("operand", (), taken, at)
                given[position] = Array(cast(operand, compute), value.shape if is_array else ())
            written, kernel = scalar_kernel.of(op), op.kernel
            if written is not None:
                made = written(*given)
            elif isinstance(op.ufunc, ThroughDouble):
                made = getattr(Functions(), op.ufunc.ufunc.__name__)(*given)
            elif kernel.__class__ is str:
                made = getattr(Functions(), kernel)(*given)
            else:
                made = kernel(Functions(), *given)
            return Variant(op, cast(made.expression, dtype), kinds, self.cupy) if isinstance(made, Array) else None
        except (NotExpressible, TypeError, AttributeError, ValueError):
            return None


def element_strides(array: Any) -> list[int]:
    """Strides in elements."""
    size = array.itemsize
    return [step // size for step in array.strides]


def spread_strides(array: Any, shape: tuple[int, ...]) -> list[int]:
    """Strides in elements of an array broadcast to a shape."""
    missing = len(shape) - array.ndim
    return [0] * missing + [0 if size == 1 else step for size, step in zip(array.shape, element_strides(array))]


def joined(shape: tuple[int, ...], rows: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Sizes and strides with the dimensions in the order of the last row's memory, and neighbours joined where every row allows it."""
    order = sorted([dim for dim in range(len(shape)) if shape[dim] != 1], key=lambda dim: -abs(rows[-1][dim]))
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in rows]
    for dim in order:
        size = shape[dim]
        if sizes and all(have[-1] == row[dim] * size for have, row in zip(steps, rows)):
            sizes[-1] *= size
            for have, row in zip(steps, rows):
                have[-1] = row[dim]
        else:
            sizes.append(size)
            for have, row in zip(steps, rows):
                have.append(row[dim])
    return (sizes, steps) if sizes else ([1], [[0] for _ in rows])


def result_like(cupy: Any, arrays: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array for a result, with its dimensions in the memory order of the first operand of its shape."""
    first = next((each for each in arrays if each.shape == shape), None)
    if first is None or first.flags.c_contiguous:
        return cupy.ndarray(shape, dtype)
    order = sorted(range(len(shape)), key=lambda dim: -abs(first.strides[dim]))
    steps, step = [0] * len(shape), dtype.itemsize
    for dim in reversed(order):
        steps[dim] = step
        step *= max(shape[dim], 1)
    return cupy.ndarray(shape, dtype, strides=tuple(steps))
