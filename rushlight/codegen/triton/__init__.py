"""Kernel plans as Triton kernels: the source of one Python module for each schedule, readable, and run by Triton's interpreter where there is no GPU.

In: a schedule for ``TARGET``.  Out: a `GeneratedModule`: the text of a module with a kernel for each fused group and a function ``run`` that launches them in
order, with calls of ops between them.  ``kernel.py`` emits one plan, ``expressions.py`` its scalar expressions; ``device_functions.py`` has the functions
that kernels call; ``module.py`` puts the module together.  Read ``kernel.py`` first.
"""

from ...schedule.target import Target

PERSISTENT = 1 << 14  # elements of a row (or of a tile of rows) that a program holds in registers

TARGET = Target(
    "Triton",
    lowerings="",
    matrix_products=False,  # products, convolutions and attention are calls of the ops, which have libraries of their own on a GPU
    keeps_layouts=True,
    vector_bits=32,
    column_rows=128,  # fewer are reduced by the producing kernel: a second launch takes longer
    cached_row=PERSISTENT,
    row_blocks=512,
    block_rows=(8, 256),
    group_limit=160,  # a launch, and a pass through memory, cost more than registers
    inline_cost=40,  # reading memory costs more than arithmetic
    recompute_cost=2,  # what is kept is in registers
    folds_constants=True,
    sums_late=True,
    lends_results=True,  # a graph's results are in the same memory in each replay
    updates_early=False,  # updates of many parameters become one launch
    tile=8,
    unit=1,
    inlined_calls=1 << 30,
    scratch_bytes=PERSISTENT * 8,
)

__all__ = ["PERSISTENT", "TARGET"]
