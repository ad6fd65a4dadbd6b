"""Sparse tensors: made, converted, and computed with.

In: indices and values, dense tensors, or other sparse ones.  Out: tensors whose array is a ``SparseArray`` (``core/sparse.py``).
``rules.py`` registers how ops for all tensors run on sparse ones.  Read ``formats.py`` first: it is the algorithms, on plain arrays.
"""
