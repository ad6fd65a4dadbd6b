"""Matrix products: generated micro-kernels, and calls of the BLAS that NumPy brings along.

In: the shapes, strides and epilogue of a product.  Out: functions of LLVM IR.  Read ``small.py`` first: it decides between generated code and BLAS.
"""
