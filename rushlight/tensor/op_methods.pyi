"""The methods that the op table gives to Tensor: a stub-only module.

Written by tools/generate_stubs.py from the op table: run `make generate` after changing an op's signature.
"""

# mypy: disable-error-code="override, misc"
from builtins import bool as _bool, dict as _dict, float as _float, int as _int, list as _list, memoryview as _memoryview, str as _str, tuple as _tuple, type as _type
from collections.abc import Callable, Sequence
from rushlight.core.base import TensorBase
from rushlight.tensor import op_results as _results
from rushlight.tensor.op_results import Number as _Number, Operand as _Operand
from rushlight.tensor.storage import TypedStorage as _TypedStorage, UntypedStorage as _UntypedStorage
from rushlight.tensor.tensor import Tensor
from typing import Any

class OpMethods(TensorBase):
    """The methods of Tensor that come from the op table."""

    __getattr__: None  # type: ignore[assignment]  # an unknown attribute is an error, unlike on TensorBase
    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __delitem__(self, index: Any) -> None: ...
    def __add__(self, other: _Operand) -> Tensor: ...
    def __radd__(self, other: _Operand) -> Tensor: ...
    def __iadd__(self, other: _Operand) -> Tensor: ...
    def __sub__(self, other: _Operand) -> Tensor: ...
    def __rsub__(self, other: _Operand) -> Tensor: ...
    def __isub__(self, other: _Operand) -> Tensor: ...
    def __mul__(self, other: _Operand) -> Tensor: ...
    def __rmul__(self, other: _Operand) -> Tensor: ...
    def __imul__(self, other: _Operand) -> Tensor: ...
    def __truediv__(self, other: _Operand) -> Tensor: ...
    def __rtruediv__(self, other: _Operand) -> Tensor: ...
    def __itruediv__(self, other: _Operand) -> Tensor: ...
    def __floordiv__(self, other: _Operand) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand) -> Tensor: ...
    def __ifloordiv__(self, other: _Operand) -> Tensor: ...
    def __mod__(self, other: _Operand) -> Tensor: ...
    def __rmod__(self, other: _Operand) -> Tensor: ...
    def __imod__(self, other: _Operand) -> Tensor: ...
    def __pow__(self, other: _Operand) -> Tensor: ...
    def __rpow__(self, other: _Operand) -> Tensor: ...
    def __ipow__(self, other: _Operand) -> Tensor: ...
    def __and__(self, other: _Operand) -> Tensor: ...
    def __rand__(self, other: _Operand) -> Tensor: ...
    def __iand__(self, other: _Operand) -> Tensor: ...
    def __or__(self, other: _Operand) -> Tensor: ...
    def __ror__(self, other: _Operand) -> Tensor: ...
    def __ior__(self, other: _Operand) -> Tensor: ...
    def __xor__(self, other: _Operand) -> Tensor: ...
    def __rxor__(self, other: _Operand) -> Tensor: ...
    def __ixor__(self, other: _Operand) -> Tensor: ...
    def __lshift__(self, other: _Operand) -> Tensor: ...
    def __rlshift__(self, other: _Operand) -> Tensor: ...
    def __ilshift__(self, other: _Operand) -> Tensor: ...
    def __rshift__(self, other: _Operand) -> Tensor: ...
    def __rrshift__(self, other: _Operand) -> Tensor: ...
    def __irshift__(self, other: _Operand) -> Tensor: ...
    def __matmul__(self, other: _Operand) -> Tensor: ...
    def __rmatmul__(self, other: _Operand) -> Tensor: ...
    def __eq__(self, other: _Operand) -> Tensor: ...
    def __ne__(self, other: _Operand) -> Tensor: ...
    def __lt__(self, other: _Operand) -> Tensor: ...
    def __le__(self, other: _Operand) -> Tensor: ...
    def __gt__(self, other: _Operand) -> Tensor: ...
    def __ge__(self, other: _Operand) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any:
        """What ``numpy.asarray(tensor)`` calls."""
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any:
        """What NumPy's functions call on their result: ``numpy.sin(tensor)`` is a tensor."""
    def __buffer__(self, flags: _int) -> _memoryview:
        """The buffer protocol, which Python offers to classes from 3.12 on: ``memoryview(tensor)``."""
    @property
    def __cuda_array_interface__(self) -> _dict[_str, Any]:
        """What CUDA libraries in Python read a tensor's memory by."""
    def __deepcopy__(self, memo: _dict[_int, Any]) -> Any:
        """A copy with memory of its own; views of one storage are views of one copy."""
    def __dir__(self) -> _list[_str]:
        """The attributes that can be read: those of GPUs of tensors on GPUs alone."""
    def __div__(self, other: Any) -> Any:
        """The quotient, by the name that Python 2 had for it."""
    def __dlpack__(self, *, stream: Any = -1, max_version: _tuple[_int, _int] | None = None, dl_device: Any = None, copy: _bool | None = None) -> Any:
        """A capsule by which another library can share the tensor's memory."""
    def __dlpack_device__(self) -> _tuple[_int, _int]:
        """Where the memory is, in DLPack's numbers."""
    def __idiv__(self, other: Any) -> Any:
        """The quotient in place, by the name that Python 2 had for it."""
    def __long__(self) -> _int:
        ...
    def __nonzero__(self) -> _bool:
        ...
    def __rdiv__(self, other: Any) -> Any:
        """The reflected quotient, by the name that Python 2 had for it."""
    def __reduce_ex__(self, protocol: Any) -> _tuple[Any, ...]:
        """How a tensor is pickled: class, storage, place in it, type, requires_grad; attributes as state."""
    def _coalesced_(self, coalesced: _bool) -> Any:
        """Say that indices are sorted and none comes twice, without a check."""
    def _conj(self) -> Any:
        """The conjugate view; of a complex tensor alone."""
    def _conj_physical(self) -> Any:
        """The conjugate, computed at once."""
    def _dimI(self) -> _int:
        """The number of sparse dimensions; of a dense tensor 0."""
    def _dimV(self) -> _int:
        """The number of dense dimensions."""
    def _indices(self) -> Tensor:
        """The indices of a COO tensor, coalesced or not."""
    def _is_zerotensor(self) -> _bool:
        """False: every tensor has memory for its elements."""
    @staticmethod
    def _make_subclass(cls: _type, data: Any, require_grad: _bool = False, *, dispatch_sizes_strides_policy: _str | None = None, dispatch_device: _bool = False, dispatch_layout: _bool = False, device_for_backend_keys: Any = None) -> Any:
        """A tensor of a subclass over the memory of another tensor, as a leaf."""
    @staticmethod
    def _make_wrapper_subclass(cls: _type, size: Any, strides: Any = None, storage_offset: Any = None, memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, dispatch_sizes_strides_policy: Any = None, dispatch_device: _bool = False, dispatch_layout: _bool = False, **other: Any) -> Any:
        """A tensor of a subclass that has a shape, a type and a device but no elements: its ``__torch_dispatch__`` says what operators do."""
    def _neg_view(self) -> Any:
        """The memory of a tensor, read negated."""
    def _nnz(self) -> _int:
        """The number of elements that are kept."""
    def _values(self) -> Tensor:
        """The values of a COO tensor, coalesced or not, outside the gradient graph."""
    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value of every element."""
    def abs_(self) -> Tensor:
        """The absolute value of every element."""
    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value of every element."""
    def absolute_(self) -> Tensor:
        """The absolute value of every element."""
    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose cosine each element is, between 0 and pi."""
    def acos_(self) -> Tensor:
        """The angle whose cosine each element is, between 0 and pi."""
    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """The number, not negative, whose hyperbolic cosine each element is."""
    def acosh_(self) -> Tensor:
        """The number, not negative, whose hyperbolic cosine each element is."""
    def add(self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input + alpha * other``, element by element."""
    def add_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """``input + alpha * other``, element by element."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha *`` the sum over a batch of products of matrices."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """``beta * input + alpha *`` the sum over a batch of products of matrices."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input + value * tensor1 / tensor2``."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input + value * tensor1 * tensor2``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)`` for matrices."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)`` for matrices."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * (mat @ vec)`` for a matrix and a vector."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """``beta * input + alpha * (mat @ vec)`` for a matrix and a vector."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha *`` the outer product of two vectors."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """``beta * input + alpha *`` the outer product of two vectors."""
    def adjoint(self) -> Tensor:
        """The last two dimensions exchanged, of complex tensors conjugated too."""
    def all(self, dim: Any = None, keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """Whether all elements are true (not zero), altogether or along dimensions."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close; see :func:`isclose`."""
    def amax(self, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The largest element, of all or along dimensions; the gradient is shared evenly by equals."""
    def amin(self, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The smallest element, of all or along dimensions; the gradient is shared evenly by equals."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False, axis: _int | None = ..., keepdims: _bool = ..., out: Any = None) -> _results.aminmax:
        """The smallest and the largest element, of all or along a dimension."""
    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of a complex number with the positive real axis; of a real number 0 or pi."""
    def any(self, dim: Any = None, keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """Whether any element is true (not zero), altogether or along dimensions."""
    def apply_(self, callable: Callable[[Any], Any]) -> Any:
        """Replace each element by what a Python function makes of it (slowly: one call for each)."""
    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose cosine each element is, between 0 and pi."""
    def arccos_(self) -> Tensor:
        """The angle whose cosine each element is, between 0 and pi."""
    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """The number, not negative, whose hyperbolic cosine each element is."""
    def arccosh_(self) -> Tensor:
        """The number, not negative, whose hyperbolic cosine each element is."""
    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose sine each element is, between -pi/2 and pi/2."""
    def arcsin_(self) -> Tensor:
        """The angle whose sine each element is, between -pi/2 and pi/2."""
    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic sine each element is."""
    def arcsinh_(self) -> Tensor:
        """The number whose hyperbolic sine each element is."""
    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose tangent each element is, between -pi/2 and pi/2."""
    def arctan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point ``(other, input)``, between -pi and pi."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """The angle of the point ``(other, input)``, between -pi and pi."""
    def arctan_(self) -> Tensor:
        """The angle whose tangent each element is, between -pi/2 and pi/2."""
    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic tangent each element is."""
    def arctanh_(self) -> Tensor:
        """The number whose hyperbolic tangent each element is."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The index of the largest element (the first of equals), of all in row-major order or along a dimension."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The index of the smallest element (the first of equals), of all in row-major order or along a dimension."""
    def argsort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int = ...) -> Tensor:
        """The indices that sort a tensor along a dimension."""
    def argwhere(self) -> Tensor:
        """Where elements are not zero, a position in each row."""
    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """A view by size, strides and offset (in elements) over the tensor's whole storage."""
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """Give this tensor another size, strides and offset in its memory."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """A copy of ``input`` with ``src`` in the place of ``input.as_strided(size, stride, storage_offset)``."""
    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose sine each element is, between -pi/2 and pi/2."""
    def asin_(self) -> Tensor:
        """The angle whose sine each element is, between -pi/2 and pi/2."""
    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic sine each element is."""
    def asinh_(self) -> Tensor:
        """The number whose hyperbolic sine each element is."""
    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose tangent each element is, between -pi/2 and pi/2."""
    def atan2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point ``(other, input)``, between -pi and pi."""
    def atan2_(self, other: Tensor) -> Tensor:
        """The angle of the point ``(other, input)``, between -pi and pi."""
    def atan_(self) -> Tensor:
        """The angle whose tangent each element is, between -pi/2 and pi/2."""
    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose hyperbolic tangent each element is."""
    def atanh_(self) -> Tensor:
        """The number whose hyperbolic tangent each element is."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    def bernoulli(self, p: _float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
        """Ones with the probabilities in ``input`` (or with probability ``p``), else zeros."""
    def bernoulli_(self, p: Tensor | _Number = 0.5, *, generator: Any = None) -> Tensor:
        """Ones with probability ``p``, else zeros, in the shape of ``input``; ``bernoulli_`` writes them there."""
    def bfloat16(self, *, memory_format: Any = ...) -> Any:
        """The tensor as bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each non-negative integer is there, or the sum of the weights of its occurrences."""
    def bitwise_and(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The bits that two integers have in common; of truth values, the logical and."""
    def bitwise_and_(self, other: Tensor | _Number) -> Tensor:
        """The bits that two integers have in common; of truth values, the logical and."""
    def bitwise_left_shift(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input << other``, element by element; shifted by less than 0, or by all its bits, a number becomes 0."""
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Tensor:
        """``input << other``, element by element; shifted by less than 0, or by all its bits, a number becomes 0."""
    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """The bitwise complement of integers; of booleans, the logical not."""
    def bitwise_not_(self) -> Tensor:
        """The bitwise complement of integers; of booleans, the logical not."""
    def bitwise_or(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The bits that at least one of two integers has; of truth values, the logical or."""
    def bitwise_or_(self, other: Tensor | _Number) -> Tensor:
        """The bits that at least one of two integers has; of truth values, the logical or."""
    def bitwise_right_shift(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input >> other``, element by element, with the sign kept; a shift below 0 counts as one by all bits."""
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Tensor:
        """``input >> other``, element by element, with the sign kept; a shift below 0 counts as one by all bits."""
    def bitwise_xor(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The bits that just one of two integers has; of truth values, the logical exclusive or."""
    def bitwise_xor_(self, other: Tensor | _Number) -> Tensor:
        """The bits that just one of two integers has; of truth values, the logical exclusive or."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of two batches of matrices."""
    def bool(self, *, memory_format: Any = ...) -> Any:
        """The tensor as bool."""
    def broadcast_to(self, size: Any) -> Tensor:
        """A view expanded to a shape."""
    def byte(self, *, memory_format: Any = ...) -> Any:
        """The tensor as uint8."""
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Any = None) -> Tensor:
        """Numbers of a Cauchy distribution in the shape of ``input``; ``cauchy_`` writes them there."""
    def ccol_indices(self) -> Tensor:
        """Where the columns of a CSC or BSC tensor begin."""
    def cdouble(self, *, memory_format: Any = ...) -> Any:
        """The tensor as complex128."""
    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """The smallest whole number that is not less than each element."""
    def ceil_(self) -> Tensor:
        """The smallest whole number that is not less than each element."""
    def celu(self, alpha: _int | _float = 1.0) -> Tensor:
        """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    def celu_(self, alpha: _int | _float = 1.0) -> Tensor:
        """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    def cfloat(self, *, memory_format: Any = ...) -> Any:
        """The tensor as complex64."""
    def chalf(self, *, memory_format: Any = ...) -> Any:
        """The tensor as complex numbers of half precision."""
    def char(self, *, memory_format: Any = ...) -> Any:
        """The tensor as int8."""
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The Cholesky factor of positive-definite matrices."""
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of a matrix from its Cholesky factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The solution X of ``A X = input`` from the Cholesky factor ``input2`` of A."""
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
        """At most so many parts of one size (the last may be smaller) along a dimension: a tuple of views."""
    def clamp(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
    def clamp_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
    def clamp_max(self, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Every element no larger than ``max``."""
    def clamp_max_(self, max: Tensor | _Number) -> Tensor:
        """Every element no larger than ``max``."""
    def clamp_min(self, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """Every element no smaller than ``min``."""
    def clamp_min_(self, min: Tensor | _Number) -> Tensor:
        """Every element no smaller than ``min``."""
    def clip(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
        """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
    def clip_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Every element no smaller than ``min`` and no larger than ``max``; where they contradict, ``max`` holds."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy that shares no memory with the input and is differentiable."""
    def coalesce(self) -> Tensor:
        """The same COO tensor with sorted indices, none of them twice: values of equal places are added."""
    def col_indices(self) -> Tensor:
        """The columns of the elements (or blocks) of a CSR or BSR tensor."""
    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """All choices of ``r`` elements of a vector, one a row."""
    def conj(self) -> Tensor:
        """The complex conjugate, as a view that shares the memory; a real tensor is returned itself."""
    def conj_physical(self, *, out: Tensor | None = None) -> Tensor:
        """The complex conjugate, computed at once."""
    def conj_physical_(self) -> Tensor:
        """The complex conjugate, computed at once."""
    def const_data_ptr(self) -> _int:
        """The address of the first element, for reading."""
    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The tensor itself if it is contiguous (in the given memory format), else a contiguous copy."""
    def copy_(self, src: Tensor | _Number, non_blocking: _bool = False) -> Tensor:
        """The values of ``src`` in the shape and type of ``input``; ``copy_`` writes them there."""
    def copysign(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The size of ``input`` with the sign of ``other``."""
    def copysign_(self, other: Tensor | _Number) -> Tensor:
        """The size of ``input`` with the sign of ``other``."""
    def corrcoef(self) -> Tensor:
        """The correlation matrix of variables (rows) from observations (columns)."""
    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """The cosine of every element."""
    def cos_(self) -> Tensor:
        """The cosine of every element."""
    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic cosine of every element."""
    def cosh_(self) -> Tensor:
        """The hyperbolic cosine of every element."""
    def count_nonzero(self, dim: Any = None, *, axis: Any = ...) -> Tensor:
        """How many elements are not zero, of all or along dimensions."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables (rows) from observations (columns), which may be repeated and weighted."""
    def cpu(self, memory_format: Any = ...) -> Any:
        """The tensor in the memory of the CPU: itself, if it is there."""
    def cross(self, other: Tensor, dim: _int | None = None, *, axis: _int | None = ..., out: Tensor | None = None) -> Tensor:
        """The cross product along a dimension: by default the first of size 3."""
    def crow_indices(self) -> Tensor:
        """Where the rows of a CSR or BSR tensor begin."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = ...) -> Any:
        """The tensor in the memory of a GPU."""
    def cummax(self, dim: _int = ..., *, axis: _int = ..., out: Any = None) -> _results.cummax:
        """The largest element up to each one along a dimension, and where it is."""
    def cummin(self, dim: _int = ..., *, axis: _int = ..., out: Any = None) -> _results.cummin:
        """The smallest element up to each one along a dimension, and where it is."""
    def cumprod(self, dim: _int = ..., *, dtype: Any = None, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The product of all elements up to each one, along a dimension."""
    def cumprod_(self, dim: _int = ..., *, dtype: Any = None, axis: _int = ...) -> Tensor:
        """The product of all elements up to each one, along a dimension."""
    def cumsum(self, dim: _int = ..., *, dtype: Any = None, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The sum of all elements up to each one, along a dimension."""
    def cumsum_(self, dim: _int = ..., *, dtype: Any = None, axis: _int = ...) -> Tensor:
        """The sum of all elements up to each one, along a dimension."""
    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Angles in radians from angles in degrees."""
    def deg2rad_(self) -> Tensor:
        """Angles in radians from angles in degrees."""
    def dense_dim(self) -> _int:
        """The number of dense dimensions."""
    def dequantize(self) -> Tensor:
        """The real numbers that a quantized tensor stands for, in float32."""
    def det(self) -> Tensor:
        """The determinant of square matrices."""
    def diag(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of a diagonal."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices of zeros with the last dimension as a diagonal."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """The matrix with all elements as a diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of the matrices that two dimensions span, as a last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of ``input`` with ``src`` as a diagonal."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The differences of neighbours along a dimension, ``n`` times over."""
    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """The derivative of the logarithm of the gamma function."""
    def digamma_(self) -> Tensor:
        """The derivative of the logarithm of the gamma function."""
    def dim_order(self, *, ambiguity_check: Any = False) -> _tuple[_int, ...]:
        """The dimensions from the one with the largest stride to the innermost."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The p-norm of ``input - other``."""
    def div(self, other: Tensor | _Number, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
    def divide(self, other: Tensor | _Number, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """``input / other``, element by element; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, *, memory_format: Any = ...) -> Any:
        """The tensor as float64."""
    def dsplit(self, indices_or_sections: Any) -> Any:
        """Split along the third dimension."""
    def eig(self, *args: Any, **named: Any) -> Any:
        """Raise, as PyTorch does: ``torch.linalg.eig`` took its place."""
    def elu_(self, alpha: _int | _float = 1.0, scale: _int | _float = 1.0, input_scale: _int | _float = 1.0) -> Tensor:
        """Exponential linear unit with scales."""
    def eq(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input == other``, element by element."""
    def eq_(self, other: Tensor | _Number) -> Tensor:
        """``input == other``, element by element."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and the same elements."""
    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """The error function of every element."""
    def erf_(self) -> Tensor:
        """The error function of every element."""
    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """``1 - erf(input)``, exact where ``erf`` is near 1."""
    def erfc_(self) -> Tensor:
        """``1 - erf(input)``, exact where ``erf`` is near 1."""
    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """The number whose error function each element is."""
    def erfinv_(self) -> Tensor:
        """The number whose error function each element is."""
    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """e to the power of every element."""
    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2 to the power of every element."""
    def exp2_(self) -> Tensor:
        """2 to the power of every element."""
    def exp_(self) -> Tensor:
        """e to the power of every element."""
    def expand(self, *size_: _int | Sequence[_int], size: Sequence[_int] = ...) -> Tensor:
        """A view in which dimensions of size 1 (and new leading ones) are repeated without copying."""
    def expand_as(self, other: Tensor) -> Tensor:
        """A view expanded to the shape of another tensor."""
    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """``exp(input) - 1``, exact near 0."""
    def expm1_(self) -> Tensor:
        """``exp(input) - 1``, exact near 0."""
    def exponential_(self, lambd: _float = 1, *, generator: Any = None) -> Tensor:
        """Exponential numbers of a rate in the shape of ``input``; ``exponential_`` writes them there."""
    def fill(self, value: Tensor | _Number) -> Tensor:
        """A tensor like ``input`` with every element ``value``."""
    def fill_(self, value: Tensor | _Number) -> Tensor:
        """A tensor like ``input`` with every element ``value``."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = False) -> Any:
        """Write a number to the main diagonal; ``wrap`` begins a new one behind each square block of a tall matrix."""
    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """Every element without what is behind its point."""
    def fix_(self) -> Tensor:
        """Every element without what is behind its point."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """A range of dimensions merged into one: a view where that is possible."""
    def flip(self, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
        """A copy with the order of elements reversed along dimensions."""
    def fliplr(self) -> Tensor:
        """A copy reversed from left to right, along dimension 1."""
    def flipud(self) -> Tensor:
        """A copy reversed from top to bottom, along dimension 0."""
    def float(self, *, memory_format: Any = ...) -> Any:
        """The tensor as float32."""
    def float_power(self, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input ** exponent`` in double precision."""
    def float_power_(self, exponent: Any) -> Any:
        """``self ** exponent`` in double precision, in place: of tensors of that precision alone."""
    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """The largest whole number that is not greater than each element."""
    def floor_(self) -> Tensor:
        """The largest whole number that is not greater than each element."""
    def floor_divide(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The whole number below ``input / other``: what ``//`` gives."""
    def floor_divide_(self, other: Tensor | _Number) -> Tensor:
        """The whole number below ``input / other``: what ``//`` gives."""
    def fmax(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements; if one of them is nan, the other."""
    def fmin(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements; if one of them is nan, the other."""
    def fmod(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The rest of a division, with the sign of ``input``."""
    def fmod_(self, other: Tensor | _Number) -> Tensor:
        """The rest of a division, with the sign of ``input``."""
    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """What is behind the point of each element, with its sign."""
    def frac_(self) -> Tensor:
        """What is behind the point of each element, with its sign."""
    def frexp(self, *, out: Any = None) -> _results.frexp:
        """Mantissa and exponent: ``input == mantissa * 2 ** exponent`` with the mantissa in ``[0.5, 1)``."""
    def gather(self, dim: _int = ..., index: Tensor = ..., *, sparse_grad: _bool = False, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Elements along a dimension: for ``dim=0``, ``result[i, j] = input[index[i, j], j]``."""
    def gcd(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor of two integers."""
    def gcd_(self, other: Tensor) -> Tensor:
        """The greatest common divisor of two integers."""
    def ge(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input >= other``, element by element."""
    def ge_(self, other: Tensor | _Number) -> Tensor:
        """``input >= other``, element by element."""
    def gelu_tanh_(self) -> Tensor:
        """``input * Phi(input)`` with a tanh in place of the error function."""
    def geometric_(self, p: _float, *, generator: Any = None) -> Tensor:
        """How many trials a first success takes, in the shape of ``input``; ``geometric_`` writes it there."""
    def geqrf(self, *, out: Any = None) -> _results.geqrf:
        """The QR decomposition as LAPACK packs it: R above, Householder vectors below the diagonal, and their factors."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Every product of an element of one vector with one of another."""
    @property
    def grad_dtype(self) -> Any:
        """The type of the gradients that a leaf accumulates: its own unless it was set; None lets each gradient keep its type."""
    def greater(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input > other``, element by element."""
    def greater_(self, other: Tensor | _Number) -> Tensor:
        """``input > other``, element by element."""
    def greater_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input >= other``, element by element."""
    def greater_equal_(self, other: Tensor | _Number) -> Tensor:
        """``input >= other``, element by element."""
    def gt(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input > other``, element by element."""
    def gt_(self, other: Tensor | _Number) -> Tensor:
        """``input > other``, element by element."""
    def half(self, *, memory_format: Any = ...) -> Any:
        """The tensor as float16."""
    def hardshrink(self, lambd: _int | _float = 0.5, *, out: Tensor | None = None) -> Tensor:
        """The input, with 0 for what is within ``lambd`` of 0."""
    def hardshrink_(self, lambd: _int | _float = 0.5) -> Tensor:
        """The input, with 0 for what is within ``lambd`` of 0."""
    def hardsigmoid_(self) -> Tensor:
        """``sigmoid`` made of straight lines."""
    def hardswish_(self) -> Tensor:
        """``input * hardsigmoid(input)``."""
    def hardtanh_(self, min_val: _int | _float = -1.0, max_val: _int | _float = 1.0) -> Tensor:
        """The input held between two bounds."""
    def hash_tensor(self, dim: Any = None, *, keepdim: _bool = False, mode: _int = 0) -> Any:
        """The exclusive or of the bits of all elements, or along dimensions."""
    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """0 for what is negative, 1 for what is positive, and ``values`` for 0."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """0 for what is negative, 1 for what is positive, and ``values`` for 0."""
    def histc(self, bins: _int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None) -> Tensor:
        """How many elements fall in each of equal bins between ``min`` and ``max`` (of the data, if they are the same)."""
    def histogram(self, bins: Tensor | _Number = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False, out: Any = None) -> _results.histogram:
        """The histogram of all elements, in a number of equal bins or between given edges, and the edges of the bins."""
    def hsplit(self, indices_or_sections: Any) -> Any:
        """Split along the second dimension (of a vector, the first)."""
    def hypot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``sqrt(input ** 2 + other ** 2)``, without overflow on the way."""
    def hypot_(self, other: Tensor) -> Tensor:
        """``sqrt(input ** 2 + other ** 2)``, without overflow on the way."""
    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def igamma(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The regularised lower incomplete gamma function ``P(input, other)``."""
    def igamma_(self, other: Tensor) -> Tensor:
        """The regularised lower incomplete gamma function ``P(input, other)``."""
    def igammac(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The regularised upper incomplete gamma function ``Q(input, other)``."""
    def igammac_(self, other: Tensor) -> Tensor:
        """The regularised upper incomplete gamma function ``Q(input, other)``."""
    def index_add(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., *, alpha: _Number = 1, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Add the slices of a source, times ``alpha``, to those that a vector of positions names; repeats add up."""
    def index_add_(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., *, alpha: _Number = 1, axis: _int = ...) -> Tensor:
        """Add the slices of a source, times ``alpha``, to those that a vector of positions names; repeats add up."""
    def index_copy(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Write the slices of a source over those that a vector of positions names."""
    def index_copy_(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., *, axis: _int = ...) -> Tensor:
        """Write the slices of a source over those that a vector of positions names."""
    def index_fill(self, dim: _int = ..., index: Tensor = ..., value: Tensor | _Number = ..., *, axis: _int = ...) -> Tensor:
        """Write a number over the slices that a vector of positions names."""
    def index_fill_(self, dim: _int = ..., index: Tensor = ..., value: Tensor | _Number = ..., *, axis: _int = ...) -> Tensor:
        """Write a number over the slices that a vector of positions names."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Write values at the positions (or where the masks are true) that are given for each dimension, or add them."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Write values at the positions (or where the masks are true) that are given for each dimension, or add them."""
    def index_reduce(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., reduce: _str = ..., *, include_self: _bool = True, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Reduce the slices of a source into those that a vector of positions names: "prod", "mean", "amax" or "amin"."""
    def index_reduce_(self, dim: _int = ..., index: Tensor = ..., source: Tensor = ..., reduce: _str = ..., *, include_self: _bool = True, axis: _int = ...) -> Tensor:
        """Reduce the slices of a source into those that a vector of positions names: "prod", "mean", "amax" or "amin"."""
    def index_select(self, dim: _int = ..., index: Tensor = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The slices of one dimension that a vector of positions names."""
    def indices(self) -> Tensor:
        """The indices of a coalesced COO tensor: a row for each sparse dimension."""
    def inner(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The dot products of the last dimensions; with a 0-dim tensor, the plain product."""
    def int(self, *, memory_format: Any = ...) -> Any:
        """The tensor as int32."""
    def int_repr(self) -> Tensor:
        """The integers of a quantized tensor."""
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of square matrices."""
    def ipu(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Any:
        """Move the tensor to a device of the kind ipu, if there is one."""
    def is_coalesced(self) -> _bool:
        """Whether indices are sorted and none comes twice."""
    def is_conj(self) -> _bool:
        """Whether the memory is read conjugated."""
    @property
    def is_cuda(self) -> _bool:
        """Whether the elements are in the memory of an NVIDIA GPU."""
    def is_distributed(self) -> _bool:
        """False: no tensor is spread over processes."""
    def is_neg(self) -> _bool:
        """Whether the memory is read negated."""
    def is_nonzero(self) -> _bool:
        """Whether the one element of a tensor is not 0."""
    def is_pinned(self, device: Any = None) -> _bool:
        """Whether the tensor is in page-locked memory of the host."""
    @property
    def is_quantized(self) -> _bool:
        """Whether the elements are quantized: integers that represent real numbers."""
    def is_same_size(self, other: Any) -> _bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Any) -> _bool:
        """Whether two tensors are the same elements of the same memory."""
    def is_shared(self) -> _bool:
        """Whether other processes can share the tensor's memory."""
    @property
    def is_sparse(self) -> _bool:
        """Whether it is in coordinate format (COO)."""
    @property
    def is_sparse_csr(self) -> _bool:
        """Whether it is in the format of compressed rows (CSR)."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Whether ``|input - other| <= atol + rtol * |other|``, element by element."""
    def isfinite(self) -> Tensor:
        """Whether each element is neither infinite nor not a number."""
    def isinf(self) -> Tensor:
        """Whether each element is infinite, of either sign."""
    def isnan(self) -> Tensor:
        """Whether each element is not a number."""
    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether each element is negative infinity."""
    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether each element is positive infinity."""
    def isreal(self) -> Tensor:
        """Whether the imaginary part of each element is 0."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal with these short-time spectra: frames are added up, and divided by what their windows add up to."""
    def kron(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Kronecker product: the block matrix of ``other`` times each element of ``input``."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _int = ..., keepdims: _bool = ..., out: Any = None) -> _results.kthvalue:
        """The ``k``-th smallest element (counted from 1) along a dimension, and where it is."""
    def lcm(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple of two integers."""
    def lcm_(self, other: Tensor) -> Tensor:
        """The least common multiple of two integers."""
    def ldexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``input * 2 ** other``."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``."""
    def le(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input <= other``, element by element."""
    def le_(self, other: Tensor | _Number) -> Tensor:
        """``input <= other``, element by element."""
    def leaky_relu_(self, negative_slope: _int | _float = 0.01) -> Tensor:
        """The input where it is positive, a fraction of it elsewhere."""
    def lerp(self, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input + weight * (end - input)``."""
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """``input + weight * (end - input)``."""
    def less(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input < other``, element by element."""
    def less_(self, other: Tensor | _Number) -> Tensor:
        """``input < other``, element by element."""
    def less_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input <= other``, element by element."""
    def less_equal_(self, other: Tensor | _Number) -> Tensor:
        """``input <= other``, element by element."""
    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the size of the gamma function of each element."""
    def lgamma_(self) -> Tensor:
        """The logarithm of the size of the gamma function of each element."""
    def log(self, *, out: Tensor | None = None) -> Tensor:
        """The natural logarithm of every element."""
    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of every element to the base 10."""
    def log10_(self) -> Tensor:
        """The logarithm of every element to the base 10."""
    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """``log(1 + input)``, exact near 0."""
    def log1p_(self) -> Tensor:
        """``log(1 + input)``, exact near 0."""
    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of every element to the base 2."""
    def log2_(self) -> Tensor:
        """The logarithm of every element to the base 2."""
    def log_(self) -> Tensor:
        """The natural logarithm of every element."""
    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: Any = None) -> Tensor:
        """Exponentials of normal numbers in the shape of ``input``; ``log_normal_`` writes them there."""
    def log_softmax(self, dim: _int = ..., dtype: Any = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The logarithm of :func:`softmax`, computed without overflow."""
    def logaddexp(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``log(exp(input) + exp(other))``, without overflow on the way."""
    def logaddexp2(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``log2(2 ** input + 2 ** other)``, without overflow on the way."""
    def logcumsumexp(self, dim: _int = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The logarithm of the running sum of exponentials along a dimension, computed without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; nan where a real determinant is negative."""
    def logical_and(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Whether both elements are true; anything but 0 is true."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """Whether both elements are true; anything but 0 is true."""
    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """Whether each element is false, that is 0."""
    def logical_not_(self) -> Tensor:
        """Whether each element is false, that is 0."""
    def logical_or(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Whether at least one of two elements is true; anything but 0 is true."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """Whether at least one of two elements is true; anything but 0 is true."""
    def logical_xor(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Whether just one of two elements is true; anything but 0 is true."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """Whether just one of two elements is true; anything but 0 is true."""
    def logit(self, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
        """``log(input / (1 - input))``; with ``eps``, of the input brought into ``[eps, 1 - eps]``."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """``log(input / (1 - input))``; with ``eps``, of the input brought into ``[eps, 1 - eps]``."""
    def logsumexp(self, dim: Any = ..., keepdim: _bool = False, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The logarithm of the sum of exponentials along dimensions, computed without overflow."""
    def long(self, *, memory_format: Any = ...) -> Any:
        """The tensor as int64."""
    def lstsq(self, *args: Any, **named: Any) -> Any:
        """Raise, as PyTorch does: ``torch.linalg.lstsq`` took its place."""
    def lt(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input < other``, element by element."""
    def lt_(self, other: Tensor | _Number) -> Tensor:
        """``input < other``, element by element."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Any:
        """The packed LU factors and the row exchanges; with ``get_infos`` also the first zero on the diagonal of U."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The solution of ``A X = input`` from the LU factors of A."""
    def map2_(self, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """Replace each element by what a Python function makes of it and the elements of two other tensors."""
    def map_(self, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace each element by what a Python function makes of it and the element of another tensor."""
    def masked_fill(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """``input`` with ``value`` wherever ``mask`` is true."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """``input`` with ``value`` wherever ``mask`` is true."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements of ``source``, one after the other, where ``mask`` is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements of ``source``, one after the other, where ``mask`` is true."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """A vector of the elements where ``mask`` is true."""
    def matmul(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix product; leading dimensions broadcast, and 1-dim operands are vectors."""
    def matrix_exp(self) -> Tensor:
        """The matrix exponential."""
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor:
        """A square matrix multiplied with itself n times; a negative n takes the inverse."""
    def max(self, dim: Tensor | _int | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Tensor | _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
        """The largest of all elements; with ``dim``, along it, with indices; with ``other``, the larger of each two."""
    def maximum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements; nan if one of them is."""
    def mean(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The mean of all elements, or along dimensions."""
    def median(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
        """The median (of two in the middle the lower) of all elements, or along a dimension with indices; NaN if there is one."""
    def min(self, dim: Tensor | _int | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Tensor | _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
        """The smallest of all elements; with ``dim``, along it, with indices; with ``other``, the smaller of each two."""
    def minimum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements; nan if one of them is."""
    def mish_(self) -> Tensor:
        """``input * tanh(softplus(input))``."""
    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, axis: _int = ..., keepdims: _bool = ..., out: Any = None) -> _results.mode:
        """The most frequent element along a dimension (the smallest of equally frequent ones), and where it is last."""
    def module_load(self, other: Any, assign: _bool = False) -> Any:
        """What ``load_state_dict`` puts in the place of this tensor for a value of a file."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Dimensions moved to other places; the others keep their order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Dimensions moved to other places; the others keep their order."""
    def msort(self, *, out: Tensor | None = None) -> Tensor:
        """The elements in order along the first dimension."""
    def mtia(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Any:
        """Move the tensor to a device of the kind mtia, if there is one."""
    def mul(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input * other``, element by element."""
    def mul_(self, other: Tensor | _Number) -> Tensor:
        """``input * other``, element by element."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
        """Categories drawn from each row of (unnormalised) probabilities."""
    def multiply(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input * other``, element by element."""
    def multiply_(self, other: Tensor | _Number) -> Tensor:
        """``input * other``, element by element."""
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""
    @property
    def name(self) -> None:
        """None: tensors have no names."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
        """``nan`` (0), ``posinf`` and ``neginf`` (the largest and smallest number) in the place of what is not finite."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """``nan`` (0), ``posinf`` and ``neginf`` (the largest and smallest number) in the place of what is not finite."""
    def nanmean(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The mean of the elements that are not NaN, all of them or along dimensions."""
    def nanmedian(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Any:
        """The median of the elements that are not NaN, or along a dimension with indices."""
    def nanquantile(self, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """:func:`quantile` of the elements that are not NaN."""
    def nansum(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The sum of all elements, or along dimensions, with NaN counted as 0."""
    def narrow(self, dim: _int = ..., start: Any = ..., length: _int = ..., *, axis: _int = ...) -> Tensor:
        """A view of so many indices of a dimension."""
    def narrow_copy(self, dim: _int = ..., start: Any = ..., length: _int = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """A copy of so many indices of a dimension."""
    def ne(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input != other``, element by element."""
    def ne_(self, other: Tensor | _Number) -> Tensor:
        """``input != other``, element by element."""
    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """``-input``."""
    def neg_(self) -> Tensor:
        """``-input``."""
    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """``-input``."""
    def negative_(self) -> Tensor:
        """``-input``."""
    def new(self, *args: Any, **named: Any) -> Any:
        """What the constructor of the tensor's own type gives; ``new_empty`` and ``new_tensor`` are clearer."""
    def new_empty(self, *size_: _int | Sequence[_int], dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ...) -> Tensor:
        """A tensor of the same type whose elements are whatever was in memory."""
    def new_empty_strided(self, size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of the same type and of given strides whose elements are whatever was in memory."""
    def new_full(self, size: Any, fill_value: _Number, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of the same type with every element the same."""
    def new_ones(self, *size_: _int | Sequence[_int], dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ...) -> Tensor:
        """Ones of the tensor's own type."""
    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Any:
        """A tensor with a copy of the data, of this tensor's type and on its device unless others are named."""
    def new_zeros(self, *size_: _int | Sequence[_int], dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: _bool = False, pin_memory: _bool = False, size: Sequence[_int] = ...) -> Tensor:
        """Zeros of the tensor's own type."""
    def nextafter(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The next number that the type can hold, from ``input`` towards ``other``."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """The next number that the type can hold, from ``input`` towards ``other``."""
    def nonzero(self, *, as_tuple: _bool = False, out: Tensor | None = None) -> Any:
        """Where elements are not zero: a position in each row, or (``as_tuple``) a vector of positions for each dimension."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
        """Where elements are not zero, in so many rows: cut off, or filled up with ``fill_value``."""
    def norm(self, p: Any = 'fro', dim: Any = None, keepdim: _bool = False, dtype: Any = None, *, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The norm of a tensor, or of the vectors along dimensions; ``linalg.vector_norm`` and its like are clearer."""
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Any = None) -> Tensor:
        """Normal numbers in the shape of ``input``; ``normal_`` writes them there."""
    def not_equal(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input != other``, element by element."""
    def not_equal_(self, other: Tensor | _Number) -> Tensor:
        """``input != other``, element by element."""
    def numpy(self, *, force: _bool = False) -> Any:
        """A NumPy array over the tensor's memory; ``force`` takes a tensor that requires gradients, too."""
    def orgqr(self, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The first columns of Q, as ``geqrf`` packs it (``input2`` is tau)."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The product of Q (as ``geqrf`` packs it, with tau as ``input2``), or its adjoint, with a matrix ``input3``."""
    def outer(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Every product of an element of one vector with one of another."""
    def permute(self, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
        """The dimensions in another order."""
    def pin_memory(self, device: Any = None) -> Any:
        """The tensor in page-locked memory of the host, from which an accelerator copies fastest; itself, if it is there."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The Moore-Penrose pseudo-inverse of matrices."""
    def polygamma(self, n: _int) -> Tensor:
        """The ``n``-th derivative of :func:`digamma`."""
    def polygamma_(self, n: _int) -> Tensor:
        """The ``n``-th derivative of :func:`digamma`."""
    def polygamma_method_(self, n: _int) -> Tensor:
        """The ``n``-th derivative of :func:`digamma`."""
    def positive(self) -> Tensor:
        """The tensor itself."""
    def pow(self, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input ** exponent``, element by element."""
    def pow_(self, exponent: Tensor | _Number) -> Tensor:
        """``input ** exponent``, element by element."""
    def prelu(self, weight: Tensor) -> Tensor:
        """A leaky rectifier with a learned slope, one or one for each channel (dimension 1)."""
    def prod(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The product of all elements, or along a dimension."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Write the elements of a source at positions of the tensor seen as a vector, or add them."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Write the elements of a source at positions of the tensor seen as a vector, or add them."""
    def q_per_channel_axis(self) -> _int:
        """The dimension whose indices have scales and zero points of their own."""
    def q_per_channel_scales(self) -> Tensor:
        """The scale of each channel."""
    def q_per_channel_zero_points(self) -> Tensor:
        """The zero point of each channel."""
    def q_scale(self) -> _float:
        """The scale of a tensor that is quantized as a whole."""
    def q_zero_point(self) -> _int:
        """The integer that represents zero, of a tensor that is quantized as a whole."""
    def qr(self, some: _bool = True, *, out: Any = None) -> _tuple[Tensor, Tensor]:
        """``input = Q @ R``; with ``some=False`` Q is square."""
    def qscheme(self) -> Any:
        """How the integers represent real numbers, such as ``per_tensor_affine``."""
    def quantile(self, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', axis: _int | None = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """Quantiles of all elements or along a dimension; NaN where there is one."""
    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Angles in degrees from angles in radians."""
    def rad2deg_(self) -> Tensor:
        """Angles in degrees from angles in radians."""
    def random_(self, *bounds: Any, generator: Any = None, **named: Any) -> Any:
        """Fill with whole numbers drawn evenly."""
    def ravel(self) -> Tensor:
        """All elements in one dimension, contiguous: a view where that is possible."""
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """``1 / input``."""
    def reciprocal_(self) -> Tensor:
        """``1 / input``."""
    def record_stream(self, stream: Any) -> None:
        """Say that another stream than the one a tensor was made on uses it: its memory is not given to others before that stream is done with it."""
    def reinforce(self, reward: Any) -> None:
        """Raise, as PyTorch does: stochastic nodes are gone."""
    def relu(self) -> Tensor:
        """``max(input, 0)``."""
    def relu_(self) -> Tensor:
        """``max(input, 0)``."""
    def remainder(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """The rest of a division, with the sign of ``other``: what ``%`` gives."""
    def remainder_(self, other: Tensor | _Number) -> Tensor:
        """The rest of a division, with the sign of ``other``: what ``%`` gives."""
    def renorm(self, p: _float, dim: _int = ..., maxnorm: _float = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """The slices along a dimension, with those whose p-norm is larger than ``maxnorm`` scaled down to it."""
    def renorm_(self, p: _float, dim: _int = ..., maxnorm: _float = ..., *, axis: _int = ...) -> Tensor:
        """The slices along a dimension, with those whose p-norm is larger than ``maxnorm`` scaled down to it."""
    def repeat(self, *repeats_: _int | Sequence[_int], repeats: Sequence[_int] = ...) -> Tensor:
        """The tensor copied so many times along each dimension; new dimensions go in front."""
    def repeat_interleave(self, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None, axis: _int | None = ...) -> Tensor:
        """Every element (or index of a dimension) so many times in a row; of repeats alone, the indices that this takes."""
    def reshape(self, *shape_: _int | Sequence[_int], shape: Sequence[_int] = ...) -> Tensor:
        """The same elements in another shape: a view where that is possible, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor."""
    def resize(self, *sizes: Any) -> Any:
        """Another size for the same elements, kept for old code."""
    def resize_(self, *size_: _int | Sequence[_int], memory_format: Any = None, size: Sequence[_int] = ...) -> Tensor:
        """Give this tensor another size; elements stay in the order of memory, which grows where it has to."""
    def resize_as(self, tensor: Any) -> Any:
        """The size of another tensor for the same elements, kept for old code."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
        """Give this tensor the size of another."""
    def resize_as_sparse_(self, other: Any) -> Any:
        """Give an empty sparse tensor the sizes of another."""
    def resolve_conj(self) -> Tensor:
        """A conjugate view's values in memory of their own; any other tensor itself."""
    def resolve_neg(self) -> Tensor:
        """A negative view's values in memory of their own; any other tensor itself."""
    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        """Elements moved along dimensions; what falls off one end comes in at the other."""
    def rot90(self, k: _int = 1, dims: Any = ...) -> Tensor:
        """A copy rotated by ``k`` times 90 degrees in the plane of two dimensions, from the first towards the second."""
    def round(self, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
        """The nearest whole number (of two, the even one), or number with so many ``decimals``."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """The nearest whole number (of two, the even one), or number with so many ``decimals``."""
    def row_indices(self) -> Tensor:
        """The rows of the elements (or blocks) of a CSC or BSC tensor."""
    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """``1 / sqrt(input)``."""
    def rsqrt_(self) -> Tensor:
        """``1 / sqrt(input)``."""
    def scatter(self, dim: _int = ..., index: Tensor = ..., src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Write a source along a dimension: for ``dim=0``, ``result[index[i, j], j] = src[i, j]``."""
    def scatter_(self, dim: _int = ..., index: Tensor = ..., src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None, axis: _int = ...) -> Tensor:
        """In-place version of :func:`scatter`."""
    def scatter_add(self, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Add a source along a dimension: for ``dim=0``, ``result[index[i, j], j] += src[i, j]``; repeats add up."""
    def scatter_add_(self, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., *, axis: _int = ...) -> Tensor:
        """Add a source along a dimension: for ``dim=0``, ``result[index[i, j], j] += src[i, j]``; repeats add up."""
    def scatter_elements_(self, dim: _int = ..., index: Tensor = ..., src: Tensor | _Number = ..., *, axis: _int = ...) -> Tensor:
        """Write a source tensor, or a number, where an index says: what ``scatter`` does without ``reduce``."""
    def scatter_reduce(self, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., reduce: _str = ..., *, include_self: _bool = True, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Reduce what falls on the same element: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``."""
    def scatter_reduce_(self, dim: _int = ..., index: Tensor = ..., src: Tensor = ..., reduce: _str = ..., *, include_self: _bool = True, axis: _int = ...) -> Tensor:
        """Reduce what falls on the same element: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``."""
    def select(self, dim: _int = ..., index: _int = ..., *, axis: _int = ...) -> Tensor:
        """One index of a dimension, which falls away: what ``x[i]`` calls."""
    def select_scatter(self, src: Tensor, dim: _int = ..., index: _int = ..., *, axis: _int = ...) -> Tensor:
        """A copy of ``input`` with ``src`` in the place of one index of a dimension."""
    def selu(self) -> Tensor:
        """Scaled exponential linear unit: keeps mean and variance of its inputs."""
    def selu_(self) -> Tensor:
        """Scaled exponential linear unit: keeps mean and variance of its inputs."""
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Any = None, stride: Any = None) -> Any:
        """Make the tensor one over another tensor's memory, or over a storage."""
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """The sign; of a complex number, the number of size 1 with the same angle."""
    def sgn_(self) -> Tensor:
        """The sign; of a complex number, the number of size 1 with the same angle."""
    def share_memory_(self) -> Any:
        """Move the tensor to memory that other processes share with this one: those forked from it, and those that get it through a queue."""
    def short(self, *, memory_format: Any = ...) -> Any:
        """The tensor as int16."""
    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """``1 / (1 + exp(-input))``."""
    def sigmoid_(self) -> Tensor:
        """``1 / (1 + exp(-input))``."""
    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1, as an element is negative, 0 or positive."""
    def sign_(self) -> Tensor:
        """-1, 0 or 1, as an element is negative, 0 or positive."""
    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """Whether the sign of each element is negative; that of -0.0 is."""
    def silu_(self) -> Tensor:
        """``input * sigmoid(input)``."""
    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """The sine of every element."""
    def sin_(self) -> Tensor:
        """The sine of every element."""
    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """``sin(pi * input) / (pi * input)``, and 1 at 0."""
    def sinc_(self) -> Tensor:
        """``sin(pi * input) / (pi * input)``, and 1 at 0."""
    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic sine of every element."""
    def sinh_(self) -> Tensor:
        """The hyperbolic sine of every element."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """A copy of ``input`` with ``src`` in the place of a range of one dimension."""
    def slogdet(self) -> _tuple[Tensor, Tensor]:
        """The sign of the determinant and the logarithm of its size."""
    def smm(self, mat2: Tensor) -> Tensor:
        """A sparse matrix times a dense one, as a sparse tensor."""
    def softmax(self, dim: _int = ..., dtype: Any = None, *, axis: _int = ..., out: Tensor | None = None) -> Tensor:
        """Exponentials divided by their sum along a dimension, computed without overflow."""
    def solve(self, *args: Any, **named: Any) -> Any:
        """Raise, as PyTorch does: ``torch.linalg.solve`` took its place."""
    def sort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int = ..., out: Any = None) -> _results.sort:
        """The elements in order along a dimension, and where each was; equals always keep their order, as if ``stable``."""
    def sparse_dim(self) -> _int:
        """The number of sparse dimensions; of a dense tensor 0."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the places of a sparse tensor, as a sparse tensor."""
    def sparse_resize_(self, size: Any, sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Give a COO tensor another size, in place; what is kept stays where it is."""
    def sparse_resize_and_clear_(self, size: Any, sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Give a COO tensor another size and drop what it keeps, in place."""
    def split(self, split_size_or_sections: Any = None, dim: _int = 0, *, split_size: Any = None, axis: _int = ...) -> Any:
        """Parts of one size (the last may be smaller) or of given sizes along a dimension: a tuple of views."""
    def split_with_sizes(self, split_sizes: Any, dim: _int = 0, *, axis: _int = ...) -> Any:
        """Parts of the given sizes along a dimension: a tuple of views."""
    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """The square root of every element."""
    def sqrt_(self) -> Tensor:
        """The square root of every element."""
    def square(self, *, out: Tensor | None = None) -> Tensor:
        """``input * input``."""
    def square_(self) -> Tensor:
        """``input * input``."""
    def squeeze(self, dim: Any = None, *, axis: Any = ...) -> Tensor:
        """Dimensions of size 1 left out: all, or those named."""
    def squeeze_(self, dim: Any = None, *, axis: Any = ...) -> Tensor:
        """Leave dimensions of size 1 out of this tensor's shape."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)`` of sparse ``input`` and ``mat1``, as a sparse tensor."""
    def std(self, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The standard deviation of all elements, or along dimensions: the square root of :func:`var`."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The spectra of windows that slide over a signal (or a batch of them): frequencies by frames."""
    def storage(self) -> _TypedStorage:
        """The memory behind the tensor, as elements of its type."""
    def storage_type(self) -> Any:
        """The class for storages of the tensor's type."""
    def sub(self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input - alpha * other``, element by element."""
    def sub_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """``input - alpha * other``, element by element."""
    def subtract(self, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
        """``input - alpha * other``, element by element."""
    def subtract_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """``input - alpha * other``, element by element."""
    def sum(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The sum of all elements, or along dimensions."""
    def sum_to_size(self, *size_: _int | Sequence[_int], size: Sequence[_int] = ...) -> Tensor:
        """Sum over the dimensions that broadcasting added, so that the result has the given size."""
    def svd(self, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _tuple[Tensor, Tensor, Tensor]:
        """``input = U @ diag(S) @ V.mH``; with ``compute_uv=False`` U and V are zeros."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """Exchange two dimensions of this tensor."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchange two dimensions of this tensor."""
    def symeig(self, *args: Any, **named: Any) -> Any:
        """Raise, as PyTorch does: ``torch.linalg.eigh`` took its place."""
    def t(self) -> Tensor:
        """A matrix transposed; vectors and numbers pass as they are."""
    def t_(self) -> Tensor:
        """Transpose this matrix."""
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements at positions of the tensor seen as a vector."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, axis: _int | None = ..., out: Tensor | None = None) -> Tensor:
        """Elements along a dimension at the positions that ``argmax`` and ``argsort`` give; the other dimensions broadcast."""
    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """The tangent of every element."""
    def tan_(self) -> Tensor:
        """The tangent of every element."""
    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic tangent of every element."""
    def tanh_(self) -> Tensor:
        """The hyperbolic tangent of every element."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _int = 0, *, sections: Any = None, indices: Any = None, axis: _int = ...) -> Any:
        """So many parts whose sizes differ by at most 1, or the parts between given places: a tuple of views."""
    def tile(self, *dims_: _int | Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
        """The tensor copied so many times along its last dimensions."""
    def to(self, *args: Any, memory_format: Any = None, **named: Any) -> Any:
        """The tensor with another type or on another device: ``to(dtype)``, ``to(device, dtype)``, ``to(other)``."""
    def to_dense(self, dtype: Any = None, *, masked_grad: _bool | None = None) -> Tensor:
        """The tensor with all its elements; a dense one is returned as it is."""
    def to_mkldnn(self, dtype: Any = None) -> Any:
        """The tensor in the order of oneDNN, which is not here."""
    def to_padded_tensor(self, padding: _float, output_size: Any = None) -> Any:
        """A nested tensor with its rows padded; a dense one has none."""
    def to_sparse(self, sparse_dim: _int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: _int | None = None) -> Tensor:
        """The tensor in a sparse layout, by default COO with ``sparse_dim`` sparse dimensions (all of them)."""
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """The tensor in the format of compressed columns of blocks."""
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """The tensor in the format of compressed rows of blocks."""
    def to_sparse_coo(self) -> Tensor:
        """The tensor in coordinate format."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """The tensor in the format of compressed columns."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """The tensor in the format of compressed rows."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _int = ..., out: Any = None) -> _results.topk:
        """The ``k`` largest (or smallest) elements along a dimension, in order, and where they are."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchange two dimensions of this tensor."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Any = None) -> _tuple[Tensor, Tensor]:
        """The solution X of ``A X = input`` for triangular A (or its transpose), and a copy of A."""
    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """Matrices with zeros above a diagonal."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """Matrices with zeros above a diagonal."""
    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """Matrices with zeros below a diagonal."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """Matrices with zeros below a diagonal."""
    def true_divide(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input / other``; integers become floats."""
    def true_divide_(self, other: Tensor | _Number) -> Tensor:
        """``input / other``; integers become floats."""
    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """Every element without what is behind its point."""
    def trunc_(self) -> Tensor:
        """Every element without what is behind its point."""
    def type(self, dtype: Any = None, non_blocking: _bool = False, **kwargs: Any) -> Any:
        """The name of the tensor's type, such as ``torch.FloatTensor``; with a type, the tensor in that."""
    def type_as(self, other: Any) -> Any:
        """The tensor in the type, and on the device, of another."""
    def unbind(self, dim: _int = 0, *, axis: _int = ...) -> Any:
        """All indices of a dimension, one by one: a tuple of views."""
    def unflatten(self, dim: _int = ..., sizes: Any = ..., *, axis: _int = ...) -> Tensor:
        """One dimension taken apart into several; one of the sizes may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """All windows of a size along a dimension, each ``step`` from the last, as a new last dimension."""
    def uniform_(self, *bounds: Any, generator: Any = None, **named: Any) -> Any:
        """Fill with numbers drawn evenly between two."""
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = ...) -> Any:
        """The different elements (with ``dim``, slices) in order; on request where each element went, and counts."""
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = ...) -> Any:
        """The elements (with ``dim``, slices) without those equal to the one before them."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
        """Like ``chunk``, but the parts are not tracked as views."""
    def unsafe_split(self, split_size: _int, dim: _int = 0, *, axis: _int = ...) -> Any:
        """Like ``split``, but the parts are not tracked as views."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _int = 0, *, axis: _int = ...) -> Any:
        """Like ``split_with_sizes``, but not tracked as views: write to the parts only if the input is not used again."""
    def unsqueeze(self, dim: _int = ..., *, axis: _int = ...) -> Tensor:
        """A dimension of size 1 put in at a place."""
    def unsqueeze_(self, dim: _int = ..., *, axis: _int = ...) -> Tensor:
        """Put a dimension of size 1 into this tensor's shape."""
    def untyped_storage(self) -> _UntypedStorage:
        """The memory behind the tensor, which its views share, byte by byte."""
    def values(self) -> Tensor:
        """The values of a coalesced COO tensor, or of a compressed one; they share its memory."""
    def var(self, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: Any = None, axis: Any = ..., keepdims: _bool = ..., out: Tensor | None = None) -> Tensor:
        """The variance of all elements, or along dimensions: sums of squares over ``count - correction`` (1 by default)."""
    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The dot product with the first vector conjugated."""
    def view(self, *size_: Any | Sequence[Any], dtype: Any = None, size: Sequence[Any] = ...) -> Tensor:
        """The same memory in another shape, or (given a dtype) the same bytes read as another type."""
    def view_as(self, other: Tensor) -> Tensor:
        """The same memory in the shape of another tensor."""
    @property
    def volatile(self) -> _bool:
        """False: what it said is said by ``no_grad``."""
    def vsplit(self, indices_or_sections: Any) -> Any:
        """Split along the first dimension."""
    def where(self, condition: Tensor, other: Tensor | _Number) -> Tensor:
        """``input`` where the condition holds, else ``other``."""
    def xlogy(self, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
        """``input * log(other)``, and 0 where ``input`` is 0."""
    def xlogy_(self, other: Tensor | _Number) -> Tensor:
        """``input * log(other)``, and 0 where ``input`` is 0."""
    def xpu(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Any:
        """Move the tensor to a device of the kind xpu, if there is one."""
    def zero_(self) -> Tensor:
        """Zeros in the shape of ``input``; ``zero_`` writes them there."""
