"""What scheduling decisions depend on in a machine, as data: a code generator describes its machine by a :class:`Target`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_DTYPES = frozenset(np.dtype(each) for each in ("float32", "float64", "bool", "int8", "uint8", "int16", "int32", "int64"))


@dataclass(frozen=True)
class Target:
    """A machine as the scheduler sees it: what it computes, how wide, and what it costs.  The defaults describe a CPU with caches."""

    name: str
    lowerings: str = "llvm"  # the code generator whose lowerings of whole ops it has; empty: none
    vector_bits: int = 128  # the width of a vector register
    vector_registers: int = 16
    masked_access: bool = False  # whether part of a vector can be loaded and stored
    # -- what it computes
    dtypes: frozenset[np.dtype] = _DTYPES  # type: ignore[type-arg]  # half precision is stored, and computed in float32
    half_conversion: bool = True  # whether float16 can be converted to and from float32
    functions: frozenset[str] | None = None  # the functions of scalar IR (exp, tanh, ...) that it has; None: all
    matrix_products: bool = True  # whether there is a library for products that no generated kernel takes
    keeps_layouts: bool = False  # whether ops that are called lay results out like their arguments (see lowering.call_layout)
    # -- reductions
    chunk: int = 512  # float32 elements of a row that are summed before the sum goes on in float64
    tile_chunk: int = 128  # the same where a tile of rows is summed at once
    column_rows: int = 128  # rows from which on a sum over rows is taken block by block, each block in the cache ...
    cached_row: int = 1 << 14  # ... where a row has at most so many elements
    row_blocks: int = 64  # blocks that a sum over rows is split into, where there are enough rows ...
    block_rows: tuple[int, int] = (8, 128)  # ... of at least and at most so many rows
    # -- fusion
    inline_cost: int = 6  # an expression of at most this cost is recomputed by each user rather than stored
    group_limit: int = 64  # values of one fused kernel
    folds_constants: bool = False  # whether a kernel costs so much that it pays to look for numbers that need none
    sums_late: bool = False  # whether sums of partial sums run together, right before the first of them is needed
    lends_results: bool = False  # whether the memory of results is there before they are computed, and holds other values until then
    updates_early: bool = True  # whether inputs are updated as soon as their new values are known, while operands are in the cache
    # -- kernels
    recompute_cost: int = 2  # an expression of at most this cost, of at most so many loads, is recomputed in a later pass
    tile: int = 256  # rows that are worked on at once where the innermost dimension is not reduced
    unit: int = 64  # elements that the range of a parallel loop is a multiple of, so that no vector is left over
    unrolled: int = 8  # iterations of an outermost loop up to which its length is a constant in the code
    inlined_calls: int = 3  # uses of a function such as exp in one kernel that are inlined; where there are more, it is called
    scratch_bytes: int = 1 << 18  # stack memory of one kernel
    scratch_elements: int = 1 << 12  # elements of a row that stack memory is reserved for where its size is symbolic
    # -- estimates
    operation_nanoseconds: float = 0.03  # of an operation on one element
    element_nanoseconds: float = 0.1  # of moving one element


__all__ = ["Target"]
