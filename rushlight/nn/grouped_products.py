"""Products of groups of matrices: ``grouped_mm``."""

from __future__ import annotations

from typing import Any

from ..core.declare import table
from ..core.errors import OperationError


def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Products of matrices that are column blocks of a tensor of two dimensions, or the batches of one of three.

    ``offs`` says where each group ends: in the rows of ``mat_a``, in the columns of ``mat_b``, or (both have two dimensions) in what is summed.

    >>> import rushlight as torch
    >>> a, b = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
    >>> grouped_mm(a, b, offs=torch.tensor([1, 3], dtype=torch.int32))
    tensor([[1., 1.],
            [2., 2.],
            [2., 2.]])
    """
    if bias is not None:
        raise OperationError("Bias not supported yet")
    dims = mat_a.dim(), mat_b.dim()
    if not set(dims) <= {2, 3}:
        raise OperationError("mat_a has to be 2 or 3d" if dims[0] not in (2, 3) else "mat_b has to be 2 or 3d")
    if (offs is not None) != (2 in dims):
        raise OperationError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise OperationError("contraction dimension of mat_a and mat_b must match")
    if offs is None:
        made = mat_a @ mat_b
    else:
        ends = offs.tolist()
        parts = list(zip([0, *ends[:-1]], ends))
        if dims == (2, 3):
            made = table["cat"].call([mat_a[start:end] @ each for (start, end), each in zip(parts, mat_b.unbind(0))], 0)
        elif dims == (3, 2):
            made = table["cat"].call([each @ mat_b[:, start:end] for (start, end), each in zip(parts, mat_a.unbind(0))], 1)
        else:
            made = table["stack"].call([mat_a[:, start:end] @ mat_b[start:end] for start, end in parts], 0)
    return made if out_dtype is None else made.to(out_dtype)


_grouped_mm = grouped_mm
