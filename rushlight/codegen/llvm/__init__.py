"""The code generator for processors: kernel plans and op routines as LLVM IR.

In: kernel plans of ``schedule/`` and descriptions of ops (convolution, attention, RNN, pooling, gather/scatter).  Out: a ``Module`` of functions in
LLVM's language, compiled by ``runtime/cpu/jit.py``.  ``ir.py`` is the IR builder, ``kernel.py`` emits a fused kernel, ``scalar_code.py`` its
expressions, ``vector_math.py`` exp and its like, ``gemm/`` and ``conv/`` the larger families.  Read ``ir.py`` first, then ``kernel.py``.
"""
