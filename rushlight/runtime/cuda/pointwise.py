"""Pointwise ops on CUDA: one kernel for an op, its dtypes and its options, whatever functions the op is made of.

The op's kernel is traced to scalar IR, as when whole graphs are compiled, and printed as CUDA C.  Dense operands with equal strides are indexed
linearly; others are addressed by strides, with adjacent dimensions collapsed where possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...codegen.cuda.scalar_text import PRELUDE, STORED, ScalarText, computed, rounded
from ...core.array_tracer import NotExpressible
from ...core.declare import Op
from ...core.dtypes import LOW_PRECISION
from ...core.families import as_scalar, broadcast_shapes
from ...ops.pointwise.unary import ThroughDouble
from ...schedule.scalar_ir import Array, Functions, ScalarExpression, cast, scalar_kernel
from .launch import CudaKernel

_THREADS = 256
_EACH = 4  # elements per thread: enough loads in flight to saturate memory bandwidth
_MOST_DIMS = 6
_FLOAT32 = np.dtype(np.float32)
_LARGEST: dict[np.dtype[Any], Any] = {  # the largest finite number of a dtype
    np.dtype(np.float32): float(np.finfo(np.float32).max), np.dtype(np.float64): float(np.finfo(np.float64).max),
    **{np.dtype(each): int(np.iinfo(each).max) for each in (np.int8, np.int16, np.int32, np.int64)},
}  # fmt: skip
_PACKED = {"b": "b", "B": "B", "h": "h", "i": "i", "l": "q", "q": "q", "f": "f", "d": "d", "?": "?"}

# A thread computes four adjacent elements, with vector loads and stores where alignment allows.
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

    def __init__(self, op: Op | Formula, expression: ScalarExpression, operands: list[tuple[np.dtype[Any], bool]], cupy: Any) -> None:
        self.op, self.expression, self.operands, self.cupy = op, expression, operands, cupy
        self.dtype = expression.dtype
        self._flat: dict[bool, CudaKernel] = {}
        self.has_numbers = not all(is_array for _, is_array in operands)
        self._strided: dict[tuple[int, bool], CudaKernel] = {}

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

    def flat(self, vectors: bool) -> CudaKernel:
        """The kernel over dense memory; ``vectors`` says that all addresses are multiples of four elements."""
        found = self._flat.get(vectors)
        if found is None:
            text = ScalarText(lambda data: f"value(x{data}.x[k])" if self.operands[data][1] else f"a{data}")
            element = text.value(self.expression)
            body = [*text.lines, f"made.x[k] = {rounded(f'({computed(self.dtype)})({element})', self.dtype)};"]
            loads = [
                f"Four<{STORED[dtype]}> x{index} = four(a{index}, first);"
                for index, (dtype, is_array) in enumerate(self.operands)
                if is_array
            ]
            extra = {
                "VECTORS": str(int(vectors)), "RESULT": STORED[self.dtype], "LOADS": " ".join(loads), "VECTOR_BODY": "\n            ".join(body)
            }  # fmt: skip
            source = self._source(_FLAT, lambda _: "i", "i", extra).replace("__restrict__ ", "")
            made = CudaKernel(self.cupy, source, "pointwise", self._format() + "q", self.op.public_name)
            found = self._flat.setdefault(vectors, made)  # another thread may have made it too
        return found

    def strided(self, dims: int, wide: bool) -> CudaKernel:
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
            found = self._strided.setdefault((dims, wide), CudaKernel(self.cupy, source, "pointwise", format, self.op.public_name))
        return found


class PointwisePlan(NamedTuple):
    """The plan of a call of known layouts: all arguments but the addresses."""

    kernel: CudaKernel
    slower: CudaKernel  # for addresses that are not aligned
    blocks: int
    tail: tuple[int, ...]  # what follows the address of the result
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None  # of a result that is not row-major
    alignment: int
    number: float | None  # the largest that an operand which is a number may be


class PointwiseOp:
    """A pointwise op on CUDA, called with the op's values."""

    __slots__ = ("array", "count", "cupy", "defaults", "new", "op", "options", "plain", "plans", "positions", "variants")

    def __init__(self, cupy: Any, op: Op) -> None:
        self.cupy, self.op = cupy, op
        self.positions = [position for position, _ in op.tensor_positions]
        self.options = [at for at in range(len(op.parameters)) if at not in self.positions]
        self.variants: dict[Any, Variant | None] = {}
        self.array, self.count = cupy.ndarray, len(self.positions)
        self.new = cupy.ndarray.__mro__[-2].__new__  # of the class written in C: its own way of taking arguments is slow
        self.plain = self.positions == list(range(self.count)) and self.count in (1, 2)  # operands first, then options
        self.defaults = tuple([op.parameters[at].default for at in self.options])
        self.plans: dict[Any, PointwisePlan | None] = {}  # by shapes, strides and dtypes of the operands, for calls without options

    def __call__(self, *values: Any) -> Any:
        """The result, or NotImplemented where the op has no kernel for these dtypes and options."""
        if not self.plain:
            return self._many(values) if self.count > 2 else self._run(values, None)
        kind, a = self.array, values[0]
        if a.__class__ is not kind:
            return self._run(values, None)
        if self.count == 1:
            if values[1:] != self.defaults:
                return self._run(values, None)
            key: Any = (a.shape, a.strides, a.dtype)
            try:
                plan = self.plans[key]
            except KeyError:
                plan = self._first(key, values)
            if plan is None:
                return self._run(values, None)
            out = kind(plan.shape, plan.dtype, None, plan.strides)
            address = a.data.ptr
            (plan.kernel if not address % plan.alignment else plan.slower)(plan.blocks, _THREADS, address, out.data.ptr, *plan.tail)
            return out
        b = values[1]
        if values[2:] != self.defaults:
            return self._run(values, None)
        if b.__class__ is kind:
            key = (a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype)
        else:
            key = (a.shape, a.strides, a.dtype, b.__class__)
        try:
            plan = self.plans[key]
        except KeyError:
            plan = self._first(key, values)
        if plan is None:
            return self._run(values, None)
        out = kind(plan.shape, plan.dtype, None, plan.strides)
        left = a.data.ptr
        if b.__class__ is kind:
            right = b.data.ptr
            aligned = not (left | right) % plan.alignment
        else:
            right, aligned = b, not left % plan.alignment
            if plan.number is not None and not abs(b) <= plan.number:  # infinite, NaN, or to be rounded to infinity
                return self._run(values, None)
        (plan.kernel if aligned else plan.slower)(plan.blocks, _THREADS, left, right, out.data.ptr, *plan.tail)
        return out

    def single(self, a: Any) -> Any:
        """The result of one operand without options; NotImplemented where its layout is new."""
        plan = self.plans.get((a.shape, a.strides, a.dtype))
        if plan is None:
            return NotImplemented
        kernel, slower, blocks, tail, shape, dtype, strides, alignment, _ = plan
        out, address = self.new(self.array), a.data.ptr
        out._init(shape, dtype, None, strides)
        (slower if address % alignment else kernel)(blocks, _THREADS, address, out.data.ptr, *tail)
        return out

    def pair(self, a: Any, b: Any) -> Any:
        """The result of two operands, the second of which may be a number, without options; NotImplemented where their layouts are new."""
        kind = self.array
        if b.__class__ is kind:
            if a._c_contiguous and b._c_contiguous:
                plan = self.plans.get((a.shape, a.dtype, b.shape, b.dtype))
            else:
                plan = self.plans.get((a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype))
            if plan is None:
                return NotImplemented
            kernel, slower, blocks, tail, shape, dtype, strides, alignment, _ = plan
            left, right = a.data.ptr, b.data.ptr
            bits = left | right
        else:
            plan = self.plans.get((a.shape, a.strides, a.dtype, b.__class__))
            if plan is None:
                return NotImplemented
            kernel, slower, blocks, tail, shape, dtype, strides, alignment, number = plan
            if number is None or not abs(b) <= number:
                return NotImplemented
            left = bits = a.data.ptr
            right = b
        out = self.new(kind)
        out._init(shape, dtype, None, strides)
        (slower if bits % alignment else kernel)(blocks, _THREADS, left, right, out.data.ptr, *tail)
        return out

    def _many(self, values: Any) -> Any:
        """A call with more than two operands, all of them arrays, or left out."""
        kind, arrays = self.array, []
        key: list[Any] = []
        for position in self.positions:
            each = values[position]
            if each is None:
                key.append(None)
                continue
            if each.__class__ is not kind:
                return self._run(values, None)
            key += [each.shape, each.strides, each.dtype]
            arrays.append(each)
        if self.positions[-1] >= self.count or values[self.count :] != self.defaults:
            return self._run(values, None)
        try:
            plan = self.plans[tuple(key)]
        except KeyError:
            plan = self._first(tuple(key), values)
        if plan is None:
            return self._run(values, None)
        addresses, bits = [each.data.ptr for each in arrays], 0
        for address in addresses:
            bits |= address
        out = kind(plan.shape, plan.dtype, None, plan.strides)
        (plan.kernel if not bits % plan.alignment else plan.slower)(plan.blocks, _THREADS, *addresses, out.data.ptr, *plan.tail)
        return out

    def _first(self, key: Any, values: Any) -> PointwisePlan | None:
        """The plan of a call with new layouts, cached; None where it takes the general path."""
        if len(self.plans) > 4096:
            self.plans.clear()
        found = self.plans[key] = self._planned(values)
        if self.count == 2 and found is not None and all(each.__class__ is self.array and each.flags.c_contiguous for each in values[:2]):
            a, b = values[:2]
            self.plans[a.shape, a.dtype, b.shape, b.dtype] = found  # dense operands are known without their strides
        return found

    def _planned(self, values: Any) -> PointwisePlan | None:
        kind = self.array
        arrays = [each for each in values[: self.count] if each.__class__ is kind]
        if (
            not all(each.size for each in arrays)
            or len({not each.ndim for each in arrays}) > 1
            or any(each.__class__ not in (int, float, kind) and (each is not None or self.count <= 2) for each in values[: self.count])
        ):
            return None
        variant = self._variant(values)
        if variant is None:
            return None
        number = None
        if any(each.__class__ in (int, float) for each in values[: self.count]):
            taken = variant.operands[1][0]
            if (
                taken not in _LARGEST or taken.kind == "i" and values[1].__class__ is not int
            ):  # others are rounded, or refused, on the general path
                return None
            number = _LARGEST[taken]
        shape = broadcast_shapes([each.shape for each in arrays])
        if all(each.shape == shape and each.flags.c_contiguous for each in arrays):
            n = arrays[0].size
            alignment = 4 * max(each.itemsize for each in arrays)
            blocks = -(-n // (_THREADS * _EACH))
            return PointwisePlan(variant.flat(True), variant.flat(False), blocks, (n,), shape, variant.dtype, None, alignment, number)
        out = result_like(self.cupy, arrays, shape, variant.dtype)
        found = strided_plan(variant, arrays, out)
        if found is None:
            return None
        kernel, blocks, tail = found
        return PointwisePlan(kernel, kernel, blocks, tail, shape, variant.dtype, None if out.flags.c_contiguous else out.strides, 1, number)

    def _variant(self, values: Any) -> Variant | None:
        """The kernel for operands and options, traced once."""
        key: list[Any] = []
        for position in self.positions:
            value = values[position]
            if value.__class__ is self.array:
                key.append((value.dtype, value.shape == ()))
            else:
                key.append(value.__class__ if not isinstance(value, np.generic) else value.dtype)
        key += [values[at] for at in self.options]
        try:
            return self.variants[tuple(key)]
        except KeyError:
            found = self.variants.setdefault(tuple(key), self._prepare(values))
            return found
        except TypeError:  # an option that can't be part of a key
            return None

    def into(self, target: Any, values: list[Any]) -> bool:
        """Write the result to an array of the result's shape and dtype; False where it can't be."""
        return self._run(values, target) is not NotImplemented

    def write(self, a: Any, b: Any, args: tuple[Any, ...]) -> bool:
        """Write the result of two operands, the second of which may be a number, to the first; False where it can't be, or there are options."""
        if args[2:] != self.defaults:
            return False
        kind, left = self.array, a.data.ptr
        if b.__class__ is kind:
            key: Any = (a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype)
            right = b.data.ptr
            bits = left | right
        else:
            key, right, bits = (a.shape, a.strides, a.dtype, b.__class__), b, left
        try:
            plan = self.plans[key]
        except KeyError:
            plan = self._first(key, (a, b, *self.defaults))
        if plan is None:
            return False
        kernel, slower, blocks, tail, shape, dtype, strides, alignment, number = plan
        if dtype is not a.dtype or strides is not None or shape != key[0] or not a._c_contiguous:
            return False
        if number is not None and not abs(right) <= number:
            return False
        (slower if bits % alignment else kernel)(blocks, _THREADS, left, right, left, *tail)
        return True

    def _run(self, values: Any, target: Any) -> Any:
        arrays: list[Any] = []
        arguments: list[Any] = []
        shape, same = None, True
        kind = self.array
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
            if value is not None:
                arguments.append(value)
        variant = self._variant(values)
        if variant is None or (target is not None and target.dtype != variant.dtype):
            return NotImplemented
        if not same:
            return self._strided(variant, arguments, arrays, target)
        out = kind(shape, variant.dtype) if target is None else target
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
        found = strided_plan(variant, arrays, out)
        if found is None:
            return NotImplemented
        kernel, blocks, tail = found
        given = self._numbers(variant, [each.data.ptr if each.__class__ is self.array else each for each in arguments])
        kernel(blocks, _THREADS, *given, out.data.ptr, *tail)
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
            for at, position in enumerate([each for each in self.positions if values[each] is not None]):
                value = values[position]
                is_array = value.__class__ is self.cupy.ndarray
                # A number takes the dtype that it is computed in; of a narrow one it is rounded to that first.
                taken = value.dtype if is_array else (common if compute is not common and not family.wide_numbers else compute)
                if taken not in STORED or (not is_array and taken.kind == "c"):
                    return None
                kinds.append((taken, is_array))
                operand = ScalarExpression("operand", (), taken, at)
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


def strided_plan(variant: Variant, arrays: list[Any], out: Any) -> tuple[CudaKernel, int, tuple[int, ...]] | None:
    """The kernel over operands with strides, its blocks, and sizes and strides; None where there are too many dimensions."""
    sizes, rows = joined(out.shape, [*(spread_strides(each, out.shape) for each in arrays), element_strides(out)])
    if len(sizes) > _MOST_DIMS:
        return None
    extent = max((sum((size - 1) * abs(step) for size, step in zip(sizes, row)) for row in rows), default=0)
    wide = extent >= 2**31 or out.size >= 2**31 or any(step < 0 for row in rows for step in row)
    blocks = min(-(-out.size // _THREADS), 132 * 64)
    return variant.strided(len(sizes), wide), blocks, (out.size, *sizes, *[step for row in rows for step in row])


def element_strides(array: Any) -> list[int]:
    """Strides in elements."""
    size = array.itemsize
    return [step // size for step in array.strides]


def spread_strides(array: Any, shape: tuple[int, ...]) -> list[int]:
    """Strides in elements of an array broadcast to a shape."""
    missing = len(shape) - array.ndim
    return [0] * missing + [0 if size == 1 else step for size, step in zip(array.shape, element_strides(array))]


def joined(shape: tuple[int, ...], rows: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Sizes and strides with the dimensions in the memory order of the last row, adjacent ones collapsed where every row allows it."""
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


class Formula:
    """A function of arrays of one dtype and shape, written on the functions of scalar IR: a kernel that gradient rules call by a name of its own."""

    __slots__ = ("formula", "name", "variants")

    def __init__(self, name: str, formula: Callable[..., Any]) -> None:
        self.name, self.formula = name, formula
        self.variants: dict[Any, Variant] = {}

    def __call__(self, cupy: Any, *arrays: Any) -> Any:
        """The result, or NotImplemented where arrays are not contiguous, floating-point and of one shape."""
        first = arrays[0]
        dtype, shape = first.dtype, first.shape
        for each in arrays:
            if each.dtype != dtype or each.shape != shape or not each.flags.c_contiguous:
                return NotImplemented
        variant = self.variants.get(dtype)
        if variant is None:
            if dtype not in STORED or dtype.kind != "f" and dtype not in LOW_PRECISION:
                return NotImplemented
            compute = _FLOAT32 if dtype in LOW_PRECISION else dtype
            given = [Array(cast(ScalarExpression("operand", (), dtype, at), compute), shape) for at in range(len(arrays))]
            made = self.formula(Functions(), *given)
            variant = self.variants[dtype] = Variant(self, cast(made.expression, dtype), [(dtype, True)] * len(arrays), cupy)
        out = cupy.ndarray(shape, dtype)
        n = out.size
        if n:
            addresses, bits = [each.data.ptr for each in arrays], 0
            for each in addresses:
                bits |= each
            variant.flat(not bits % (4 * dtype.itemsize))(-(-n // (_THREADS * _EACH)), _THREADS, *addresses, out.data.ptr, n)
        return out

    @property
    def public_name(self) -> str:
        """Its name in errors."""
        return self.name
