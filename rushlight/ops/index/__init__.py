"""Ops that read and write elements by position: indexing, gather and scatter, masks, search, sort.

In: a tensor with index or mask tensors.  Out: the elements, a copy with other elements, or positions.  Read ``indexing.py`` first (``x[i,
:, j]``).
"""
