"""Ops that write only to an ``out=`` of their result's own dtype, and how they say so; others write to any dtype that takes the result."""

from __future__ import annotations

from ..core.argument_checks import STRUCTURED, OutRule, exact_out
from ..core.errors import ArgumentError

_CASTABLE = "Expected {field} to be safely castable from {wanted} dtype, but got {field} with dtype {found}"
_UNPROMOTED = "Found dtype {found} but expected {wanted}"
_BOOLEAN = "{name} does not support non-boolean outputs."
_TRUTH = "{name} only supports bool tensor for result, got: {found}"

_TEXTS = {
    STRUCTURED: "gather scatter scatter_add scatter_reduce index_add index_copy index_reduce take_along_dim msort addmm addmv baddbmm "
    "linalg_cholesky linalg_eigh linalg_eigvalsh linalg_qr linalg_slogdet linalg_svd linalg_svdvals svd triangular_solve inverse linalg_det linalg_inv linalg_solve matrix_power linalg_ldl_solve bmm matmul mm "
    "mv linalg_vector_norm linalg_lu_solve lu_solve log_softmax softmax argmax argmin norm renorm diag tril triu cross linalg_cross "
    "slice_scatter alias_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy squeeze_copy t_copy "
    "transpose_copy unfold_copy unsqueeze_copy isin",
    _UNPROMOTED: "hardshrink softplus softshrink neg lerp conj_physical ceil floor frac round sgn sign trunc special_round bitwise_not fft_ifft fft_ihfft",
    _BOOLEAN: "isneginf isposinf signbit",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = {found}": "take",
    "nonzero_static: Expected out tensor to have scalar type {wanted} but got scalar type{found}": "nonzero_static",
    "nonzero: Expected out tensor to have scalar type {wanted} but got scalar type {found}": "nonzero",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is "
    "True, but we got output tensor's dtype {found} and out_int32 flag is {narrow}": "bucketize searchsorted",
    "tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with dtype {found}": "tensordot inner",
    "expected scalar type {wanted} but found {found}": "linalg_solve_triangular logsigmoid",
    "multi_dot(): expected out tensor to have dtype {wanted_c} but got {found_c}": "chain_matmul linalg_multi_dot",
    "result dtype {found} does not match input dtype {wanted}": "dot vdot",
    "linalg.matrix_norm expected out tensor dtype {wanted} but got: {found}": "linalg_matrix_norm nuclear_norm",
    "linalg.norm expected out tensor dtype {wanted} but got: {found}": "linalg_norm",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{wanted} and result has dtype {found}": "ormqr",
    "linalg.vecdot: Expected out of dtype{wanted} but found {found}": "linalg_vecdot",
    "the output given to float_power has dtype {found} but the operation's result requires dtype {wanted}": "float_power",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "Expected object of scalar type {wanted} but got scalar type {found} for argument 'out'": "complex polar",
    "nan_to_num: dtype of out: {found} should be same as input: {wanted}": "nan_to_num",
    "Expected out type to be {wanted} but got {found}": "where",
    "multinomial expects Long tensor out, got: {found}": "multinomial",
    "expected scalar_type {wanted} but found {found}": "cummax cummin logcumsumexp",
    "Expected the dtype for input and out to match, but got {wanted} for input's dtype and {found} for out's dtype.": "amax amin",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {wanted_c} and hist {found_c}": "histc",
    "quantile() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "Expected self.dtype() == output.dtype() to be true, but got false.": "narrow_copy",
}
for _text, _names in _TEXTS.items():
    exact_out.set(OutRule(_text), *_names.split())
exact_out.set(OutRule(_TRUTH, ("uint8",)), "all", "any")
exact_out.set(
    OutRule("torch.cat(): input types can't be cast to the desired output type {found}", cast=True, error=ArgumentError),
    *"cat stack hstack vstack dstack column_stack".split(),
)
exact_out.set(OutRule(_UNPROMOTED, alone=True), "abs", "clamp", "clamp_max", "clamp_min")
exact_out.set(OutRule(STRUCTURED, computes=True), "sum", "prod", "cumsum", "cumprod")
exact_out.set(OutRule(STRUCTURED, ("bool", "uint8", "int8", "int16", "int32", "int64"), computes=True), "mean")
exact_out.set(OutRule("nansum: provided dtype must match dtype of result. Got {found} and {wanted}.", computes=True), "nansum", "nanmean")
for _words in (
    "cholesky_inverse cholesky_inverse", "tensorinv linalg_tensorinv", "torch.linalg.eig linalg_eig", "cholesky_solve cholesky_solve",
    "linalg.cond linalg_cond", "tensorsolve linalg_tensorsolve", "torch.linalg.householder_product linalg_householder_product orgqr",
    "torch.geqrf geqrf", "linalg.pinv linalg_pinv", "torch.linalg.matrix_rank linalg_matrix_rank", "cholesky cholesky",
):  # fmt: skip
    _name, *_ops = _words.split()
    exact_out.set(OutRule(f"{_name}: {_CASTABLE}", cast=True), *_ops)
exact_out.set(OutRule("torch.linalg.eigvals: " + _CASTABLE.replace("{field}", "eigenvalues"), cast=True), "linalg_eigvals")
