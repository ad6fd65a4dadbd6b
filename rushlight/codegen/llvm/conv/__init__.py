"""Convolutions: im2col with a GEMM, direct (depthwise), and Winograd; forward, transposed, and the gradient of the weight.

In: a description of ``schedule/routines/convolution.py`` and its epilogue.  Out: functions of LLVM IR.  ``cost.py`` chooses the algorithm and the blocks,
``image_routine.py`` is the frame that threads share work in; read ``convolution.py`` first.
"""
