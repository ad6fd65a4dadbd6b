"""Linear algebra: matrix products, contractions, factorizations, linear systems, norms.

In: vectors, matrices and batches of them (leading dimensions).  Out: products, factors, solutions.  Kernels that take several steps are in
``kernels.py``, forms for ONNX in the ``*_onnx.py`` files.  Read ``matmul.py`` first.
"""
