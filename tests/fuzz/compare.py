"""Whether two outcomes of a call agree, and the smallest call on which they do not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.core.declare import table

from .calls import Array, Call, arrays_in
from .outcome import Outcome

TOLERANCE = {
    "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2), "float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-5), "float64": (1e-7, 1e-8),
    "complex128": (1e-7, 1e-8),
}  # fmt: skip
# Factors are defined up to signs, and for matrices of less than full rank up to more; the tests of each op check what they have to satisfy.
FREE_VALUES = frozenset(
    "linalg_eig linalg_eigh linalg_svd svd linalg_qr qr geqrf ormqr pca_lowrank svd_lowrank lobpcg linalg_householder_product".split()
)
# Which of several equal elements is named is not defined.
FREE_INDICES = frozenset("topk kthvalue mode median nanmedian sort argsort unique_dim".split())
ORDER = ("bfloat16", "float16", "float32", "complex64", "float64", "complex128")


def undefined(call: Call, op: Any) -> tuple[bool, bool]:
    """Whether the values of a call's results are not defined, and whether indices among them are not."""
    arrays = [each for value in (*call.args, *call.kwargs.values()) for each in arrays_in(value)]
    linear = op is not None and ".linalg." in op.source_module
    values = call.op in FREE_VALUES or (linear and not all(np.isfinite(each.values).all() for each in arrays))
    ties = call.op in FREE_INDICES and any(np.unique(each.values).size < each.values.size for each in arrays)
    return values, ties


def coarsest(call: Call, dtype: str) -> tuple[float, float]:
    """The tolerance of a result: of the coarsest floating type that goes into it."""
    given = [each.dtype for value in (*call.args, *call.kwargs.values()) for each in arrays_in(value)] + [dtype]
    if dtype.startswith(("float", "complex")) and not any(each in ORDER for each in given[:-1]):
        given.append("float32")  # integers are computed with in the default type
    return next((TOLERANCE[each] for each in ORDER if each in given), (0.0, 0.0))


def close(a: np.ndarray, b: np.ndarray, tolerance: tuple[float, float]) -> bool:
    """Whether arrays are equal but for rounding; NaN is equal to NaN."""
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        scale = max(1.0, float(np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=0.0)) ** 0.5)
        return bool(np.allclose(a, b, rtol=tolerance[0], atol=tolerance[1] * scale, equal_nan=True))


# What PyTorch says where it has no kernel for a type, and where it fails by itself.
NO_KERNEL = (
    "not implemented for '",
    "is not supported for complex",
    "Unsupported dtype",
    "does not support bool input",
    "is not implemented for torch.",
    "can't be cast to the desired output type",
    "could not infer output dtype",
    "Integral inputs not supported",
    "expected common dtype to be floating point",
    "expected scalar type",
    "Expected a floating point or complex tensor as input",
    "supports floating point, complex, and integer tensors",
    "with a bool tensor is not supported",
    "Expected both inputs to be Half, Float or Double",
    "to have one of the following scalar types: Half, BFloat16, Float, Double",
    "does not support uint8 input",
    "Scale must be Float or BFloat16",
    "may not be a boolean tensor",
    "should have the same dtype",
    "must have the same dtype",
    "tensor of complex type is not supported",
)
FAILS_ITSELF = (
    "INTERNAL ASSERT", "MKL FFT error", "could not create a primitive", "view size is not compatible with input tensor's size and stride",
    "does not support automatic differentiation", "index 0 out of range for tensor of size [0]", "cannot reshape tensor of 0 elements",
    "Only zero batch or zero channel inputs", "Expected reduction dim 0 to have non-zero size", "must have a last dimension with stride 1",
    "to view Float as Short (different element sizes), but got 0", "doesn't match the broadcast shape", "amin(): Expected reduction dim",
    "Specify the reduction dim", "ZeroTensor", "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch", "step must be nonzero",
    "to view ", "is not differentiable with respect to argument", "Autograd not support dtype",
    "a leaf Variable that requires grad is being used in an in-place operation", "ArrayRef: invalid",
)  # fmt: skip
FREE_NOT_FINITE = frozenset(
    "std_mean var_mean grid_sample grid_sampler grid_sampler_2d grid_sampler_3d upsample_bilinear _standard_gamma_grad interpolate upsample "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc convolution fake_quantize_per_channel_affine "
    "fake_quantize_per_tensor_affine dist scatter_reduce cumprod linear_cross_entropy group_norm multi_head_attention_forward stft istft "
    "polygamma special_polygamma special_airy_ai special_zeta nanmean ldexp index_reduce scaled_dot_product_attention "
    "embedding_bag batch_norm instance_norm layer_norm nn_functional_batch_norm renorm igamma igammac rnn_relu rnn_tanh gru lstm ctc_loss _dirichlet_grad "
    "logcumsumexp histc binomial poisson multi_margin_loss special_multigammaln native_group_norm native_layer_norm native_batch_norm".split()
)
# Of special functions and products of a factor of 0 the limit is given where PyTorch's formula, or that of its gradient, comes to NaN or a number.
LIMITS = frozenset("digamma special_digamma special_psi special_i1e special_i1 special_i0e special_log_ndtr add sub subtract rsub".split())
# What only PyTorch says of a call that has no overload there, and of one whose tensor has no dimensions.
NO_OVERLOAD = ("received an invalid combination of arguments", "missing 1 required positional argument", "must be Tensor, not", "must be tuple of Tensors, not Tensor")  # fmt: skip
NO_DIMENSIONS = (
    "but tensor has no dimensions",
    "tuple index out of range",
    "select(): index 0 out of range",
    "does not match previous terms",
    "Dimension out of range (expected to be in range of [-1, 0]",
)
ACCIDENTS = ("index out of range", "could not broadcast", "not enough values", "cannot reshape", "object has no attribute")


def known(call: Call, ours: Outcome, theirs: Outcome) -> str:
    """Why a difference of errors or of undefined values is deliberate (docs/differences.md, "Calls"); empty where it is not."""
    op: Any = table.get(call.op)
    arrays = [each for value in (*call.args, *call.kwargs.values()) for each in arrays_in(value)]
    empty = any(not each.values.size for each in arrays)
    finite = all(np.isfinite(each.values).all() and not (np.abs(each.values) > 1e20).any() for each in arrays)
    shapes = [[each.shape for each in one.results if isinstance(each, np.ndarray)] for one in (ours, theirs)]
    alike = bool(ours.error or theirs.error) or (ours.dtypes == theirs.dtypes and shapes[0] == shapes[1])  # but for values
    if theirs.error and any(text in theirs.message for text in NO_KERNEL):
        return "a type that PyTorch has no kernel for"
    if ours.error and any(text in ours.message for text in NO_KERNEL) and (theirs.error or empty):
        return "a type without a kernel is refused before anything else, and for empty tensors too"
    if theirs.error and not ours.error and any(text in theirs.message for text in FAILS_ITSELF):
        return "PyTorch fails by itself"
    if theirs.backward_error and not ours.backward_error:
        return "a gradient that PyTorch refuses"
    if (
        not finite
        and alike
        and (
            call.op in FREE_NOT_FINITE
            or op is not None
            and (".fft" in op.source_module or "polynomial" in call.op or ".linalg." in op.source_module)
        )
    ):
        return "numbers that are not finite in an op that mixes all of its elements"
    if not finite and alike and call.op in LIMITS and agree_where_finite(call, ours, theirs):
        return "the limit, or the sum of the parts, where PyTorch's formula gives NaN"
    if call.op in ("bucketize", "searchsorted") and any(each.values.ndim and not (np.diff(each.values.real) >= 0).all() for each in arrays):
        return "boundaries that are not sorted"
    if ours.error == "TypeError" and any(text in ours.message for text in ("must be int, not", "must be tuple of ints, not")):
        return "a float for an int is refused before anything else"
    if theirs.error == "TypeError" and "must be int, not float" in theirs.message and not ours.error:
        return "a whole number that is a float is taken where the computation takes it"
    if ours.error == "NotImplementedError" and all(not each.values.ndim for each in arrays) and not theirs.error:
        return "what is refused because of its type is refused for tensors without dimensions too"
    if "polynomial" in call.op and any(not np.isfinite(each).all() for each in theirs.results if isinstance(each, np.ndarray)):
        return "the overflow of a polynomial"
    if (
        ours.error in ("RuntimeError", "NotImplementedError")
        and not theirs.error
        and (call.op in UNCHECKED or any(text in ours.message for text in ("dtype", "type (", "can't be cast")))
    ):
        return "what PyTorch does not look at: types and sizes that do not fit together, labels and pivots that are out of range"
    if call.op.startswith("grid_sampler") and not {0, 1, 2} >= {each for each in call.args[2:3] if isinstance(each, int)} | {
        each for name, each in call.kwargs.items() if name == "interpolation_mode"
    }:
        return "a mode that there is not, for which PyTorch leaves the memory as it was"
    if theirs.error == "TypeError" and any(text in theirs.message for text in NO_OVERLOAD):
        return "arguments that PyTorch has no overload for"
    if theirs.error in ("IndexError", "ValueError") and any(text in theirs.message for text in NO_DIMENSIONS):
        return "too few dimensions, which PyTorch notices by chance"
    if (
        ours.error in ("RuntimeError", "NotImplementedError", "ValueError", "IndexError")
        and not theirs.error
        and (empty or nothing(theirs))
    ):
        if not any(text in ours.message for text in ACCIDENTS):
            return "what is refused is refused for empty tensors too"
    if call.op in DELIBERATE or (call.op in DELIBERATE_GRADIENTS and alike and not ours.error and not theirs.error):
        return "in docs/differences.md by name"
    return ""


def agree_where_finite(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """Whether results and gradients agree but for places where one of them, or PyTorch's gradient alone, is not finite."""
    if ours.error or theirs.error or ours.aliases != theirs.aliases or bool(ours.backward_error) != bool(theirs.backward_error):
        return False
    spread = any(
        not np.isfinite(each).all() for value in (*call.args, *call.kwargs.values()) for each in (x.values for x in arrays_in(value))
    )
    for a, b, tolerance in (
        *((a, b, coarsest(call, "")) for a, b in zip(ours.results, theirs.results)),
        *((a, b, tuple(10 * each for each in coarsest(call, ""))) for a, b in zip(ours.gradients, theirs.gradients)),
    ):
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            both = np.isfinite(a) & np.isfinite(b)
            if not spread or not close(a[both], b[both], tolerance):  # type: ignore[arg-type]
                return False
        elif a is not None or b is not None:
            return False
    return True


def nothing(outcome: Outcome) -> bool:
    """Whether results have no elements."""
    return any(isinstance(each, np.ndarray) and not each.size for each in outcome.results)


def wrong_in_two_ways(call: Call, ours: Outcome, theirs: Outcome, ask: Callable[[Call], tuple[Outcome, Outcome]]) -> bool:
    """Whether both raise the same once one of two things is mended: then the call was wrong in both, and each names one of them."""
    if not (ours.error and theirs.error):
        return False
    for other in (*simpler(call), *mended(call)):
        here, there = ask(other)
        kept = here.message[:25] == ours.message[:25] or there.message[:25] == theirs.message[:25]
        if kept and here.error == there.error and here.error in (ours.error, theirs.error):
            return True
    return False


def mended(call: Call) -> list[Call]:
    """Calls that lack one thing that can be wrong: other types, other numbers, other dimensions."""
    found = []
    for part in ("args", "kwargs"):
        values = getattr(call, part)
        for at in range(len(values)) if part == "args" else list(values):
            for replaced in alternatives(values[at]):
                other = copy.deepcopy(call)
                getattr(other, part)[at] = replaced
                found.append(other)
    return found


def alternatives(value: Any) -> list[Any]:
    """Ordinary values for an argument."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [each for each in (0, 1, -1, int(value) if abs(value) < 2**62 else 0) if each != value or type(each) is not type(value)]
    if isinstance(value, Array):
        kinds = [Array(value.values.real.astype(np.float64), "float32"), Array(np.nan_to_num(value.values.real).astype(np.int64), "int64")]
        shapes = [Array(np.ones((2,) * ndim), value.dtype if value.dtype in TOLERANCE else "float32") for ndim in (1, 2, 3, 4)]
        zeros = [Array(np.zeros_like(value.values), value.dtype)] if value.values.size else []
        return [*kinds, *zeros, *shapes]
    return []


DELIBERATE = frozenset("_standard_gamma_grad as_strided_scatter fractional_max_pool2d _pad_packed_sequence lobpcg".split())
UNCHECKED = frozenset("ctc_loss lu_unpack gru lstm rnn_tanh rnn_relu _sample_dirichlet _standard_gamma max_unpool1d max_unpool2d max_unpool3d conv_tbc fractional_max_pool3d_with_indices _pack_padded_sequence matrix_exp linalg_matrix_exp".split())  # fmt: skip
DELIBERATE_GRADIENTS = frozenset(
    "std var std_mean var_mean block_diag conj_physical histogramdd ldexp special_bessel_j1 affine_grid_generator".split()
)  # and what they share with their arguments


def difference(call: Call, ours: Outcome, theirs: Outcome, strides: bool = False) -> str:
    """How our outcome differs from PyTorch's, in a line; empty where it does not, or where that is known and deliberate."""
    said = any_difference(call, ours, theirs, strides)
    return "" if said and known(call, ours, theirs) else said


def steps(outcome: Outcome) -> list[list[int]]:
    """The strides of results, in dimensions that have more than one place."""
    arrays = [each for each in outcome.results if isinstance(each, np.ndarray)]
    return [[step for step, size in zip(strides, array.shape) if size > 1] for strides, array in zip(outcome.strides, arrays)]


def any_difference(call: Call, ours: Outcome, theirs: Outcome, strides: bool = False) -> str:
    """How our outcome differs from PyTorch's, in a line; empty where it does not."""
    if ours.error or theirs.error:
        if ours.error == theirs.error or (ours.error, theirs.error) == ("NotImplementedError", "RuntimeError"):
            return ""  # what catches theirs catches ours
        return f"{f'raises {ours.error}: {ours.message[:120]}' if ours.error else 'no error'}; PyTorch {f'raises {theirs.error}: {theirs.message[:120]}' if theirs.error else 'gives a result'}"
    if len(ours.results) != len(theirs.results):
        return f"{len(ours.results)} results; PyTorch {len(theirs.results)}"
    free, ties = undefined(call, table.get(call.op))
    for at, (a, b) in enumerate(zip(ours.results, theirs.results)):
        if ours.dtypes[at] != theirs.dtypes[at]:
            return f"result {at} is {ours.dtypes[at] or type(a).__name__}; PyTorch {theirs.dtypes[at] or type(b).__name__}"
        if isinstance(a, np.ndarray):
            if a.shape != b.shape:
                return f"result {at} has shape {a.shape}; PyTorch {b.shape}"
            if free or (ties and ours.dtypes[at] == "int64" and at):
                continue
            if not close(a, b, coarsest(call, ours.dtypes[at])):
                return f"result {at} is {a.reshape(-1)[:6]}; PyTorch {b.reshape(-1)[:6]}"
        elif a != b and not (isinstance(a, float) and isinstance(b, float) and np.isclose(a, b, equal_nan=True)):
            return f"result {at} is {a!r}; PyTorch {b!r}"
    if ours.aliases != theirs.aliases:
        return f"results share memory with arguments {ours.aliases}; PyTorch {theirs.aliases}"
    if strides and steps(ours) != steps(theirs) and all(each.size > 1 for each in theirs.results if isinstance(each, np.ndarray)):
        return f"strides {ours.strides}; PyTorch {theirs.strides}"
    if ours.backward_error or theirs.backward_error:
        if bool(ours.backward_error) == bool(theirs.backward_error):
            return ""
        return f"backward: {ours.backward_error or 'no error'} {ours.message[:100]}; PyTorch {theirs.backward_error or 'no error'} {theirs.message[:100]}"
    for at, (a, b) in enumerate(zip(ours.gradients, theirs.gradients) if not free and not ties else ()):
        if (a is None) != (b is None):
            if b is None and not np.any(a) or a is None and not np.any(b):
                continue
            return f"gradient {at} is {'None' if a is None else 'there'}; PyTorch {'None' if b is None else 'there'}"
        if a is not None and not close(a, b, tuple(10 * each for each in coarsest(call, "")) or (0, 0)):  # type: ignore[arg-type]
            return f"gradient {at} is {a.reshape(-1)[:6]}; PyTorch {b.reshape(-1)[:6]}"
    return ""


def difference_of_programs(ours: Outcome, theirs: Outcome) -> str:
    """How our outcome of a program differs from PyTorch's, in a line; empty where it does not."""
    if ours.error or theirs.error:
        return (
            ""
            if ours.error == theirs.error
            else f"{ours.error or 'no error'}: {ours.message[:120]}; PyTorch {theirs.error or 'no error'}: {theirs.message[:120]}"
        )
    if ours.dtypes != theirs.dtypes:
        return f"results of {ours.dtypes}; PyTorch {theirs.dtypes}"
    for at, (a, b) in enumerate(zip(ours.results, theirs.results)):
        if isinstance(a, str) and a != b:
            return f"result {at} is {a}; PyTorch {b}"
        if isinstance(a, np.ndarray) and not close(
            a, b, {"float16": (2e-2, 1e-2), "bfloat16": (8e-2, 4e-2)}.get(ours.dtypes[at], (1e-3, 1e-4))
        ):
            return f"result {at} is {a.shape} {a.reshape(-1)[:5]}; PyTorch {b.shape} {b.reshape(-1)[:5]}"
    return ""


def simpler(call: Call) -> list[Call]:
    """Calls a step simpler than a call."""
    found = []

    def changed(change: Callable[[Call], None]) -> None:
        other = copy.deepcopy(call)
        change(other)
        found.append(other)

    places: list[Any] = [*[("args", at) for at in range(len(call.args))], *[("kwargs", name) for name in call.kwargs]]
    for name in call.kwargs:
        changed(lambda other, name=name: other.kwargs.pop(name))
    if call.out is not None:
        changed(lambda other: setattr(other, "out", None))
    if call.gradient:
        changed(lambda other: setattr(other, "gradient", False))
    for part, at in places:
        value = getattr(call, part)[at]
        for number, each in enumerate(arrays_in(value)):

            def edit(other: Call, update: Callable[[Array], None], part: str = part, at: Any = at, number: int = number) -> None:
                update(arrays_in(getattr(other, part)[at])[number])

            if each.layout != "contiguous":
                changed(lambda other, edit=edit: edit(other, lambda array: setattr(array, "layout", "contiguous")))
            for dim, size in enumerate(each.values.shape):
                if size > 1:

                    def halve(array: Array, dim: int = dim, size: int = size) -> None:
                        array.values = np.take(array.values, range(size // 2), dim)

                    changed(lambda other, edit=edit, halve=halve: edit(other, halve))
    return found


def shrink(call: Call, differs: Callable[[Call], bool], steps: int = 40) -> Call:
    """The simplest call that still differs, found greedily."""
    for _ in range(steps):
        for other in simpler(call):
            if differs(other):
                call = other
                break
        else:
            return call
    return call
