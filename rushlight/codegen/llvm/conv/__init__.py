"""Convolutions: im2col with a GEMM, direct (depthwise), and Winograd; forward, transposed, and the gradient of the weight.

In: the geometry of a convolution and its epilogue.  Out: functions of LLVM IR.  ``cost.py`` chooses the algorithm and the blocks; read
``convolution.py`` first.
"""
