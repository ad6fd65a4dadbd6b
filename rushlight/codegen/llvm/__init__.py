"""The code generator for CPUs: kernel plans and descriptions of ops as LLVM IR.

In: kernel plans of ``schedule/`` and descriptions of ops (``schedule/routines/``: convolution, attention, RNN, pooling, gather/scatter, matmul), for which
this registers ``lowering("llvm")``.  Out: a ``Module`` of functions, printed as LLVM's text and compiled by ``runtime/cpu/jit.py``.

``instructions.py`` is the IR as data with its printer, ``ir.py`` the builder, ``vectors.py`` explicit vectors, ``module.py`` and ``outline.py`` what becomes
of the functions; ``kernel.py`` emits a fused kernel, ``scalar_code.py`` its expressions, ``vector_math.py`` exp and its like; ``gemm/`` and ``conv/`` are the
larger families.  Read ``ir.py`` first, then ``kernel.py``.
"""
