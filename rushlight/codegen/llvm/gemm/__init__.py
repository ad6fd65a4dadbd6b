"""The GEMM family: one chooser, one micro-kernel emitter, panel packing, and calls of the BLAS that NumPy brings along.

In: the shapes, strides and start values of a product.  Out: functions of LLVM IR.  ``choose.py`` decides on tiles and between generated code and
BLAS; ``micro_kernel.py`` emits; ``panels.py`` packs; ``matmul.py`` lowers the op and is the file to read first.
"""
